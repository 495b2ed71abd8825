//! Expressions over signed integers in parameters, evaluated without a context: what loops of stored programs consist of.

use shoal_types::Value;

use crate::expr::{Expr, Operation};
use crate::operator::{ArithmeticOperator, Comparator, CompareOperator, NumberClass};

impl Expr {
    /// The value if the expression is made of signed integers, none of them NULL, and of sums, differences and products that do not
    /// overflow. `None`: it has to be evaluated.
    pub fn signed(&self, parameters: &[Value]) -> Option<i64> {
        match self {
            Expr::Parameter(parameter) => as_signed(parameters.get(parameter.index)?),
            Expr::Literal(literal) => as_signed(&literal.value),
            Expr::Call(call) if !call.sql_type.unsigned => {
                let Operation::Arithmetic(operator, NumberClass::Integer) = &call.operation else { return None };
                let [left, right] = &call.arguments[..] else { return None };
                let (left, right) = (left.signed(parameters)?, right.signed(parameters)?);
                match operator {
                    ArithmeticOperator::Add => left.checked_add(right),
                    ArithmeticOperator::Subtract => left.checked_sub(right),
                    ArithmeticOperator::Multiply => left.checked_mul(right),
                    ArithmeticOperator::Modulo => left.checked_rem(right),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The truth of comparisons of such expressions, and of AND, OR and NOT over them.
    pub fn holds(&self, parameters: &[Value]) -> Option<bool> {
        let Expr::Call(call) = self else { return Some(self.signed(parameters)? != 0) };
        match (&call.operation, &call.arguments[..]) {
            (Operation::Compare(operator, Comparator::Integer), [left, right])
                if *operator != CompareOperator::NullSafeEqual =>
            {
                let (left, right) = (left.signed(parameters)?, right.signed(parameters)?);
                Some(operator.holds(left.cmp(&right)))
            }
            (Operation::Not, [argument]) => Some(!argument.holds(parameters)?),
            (Operation::And, terms) => {
                let mut all = true;
                for term in terms {
                    all &= term.holds(parameters)?;
                }
                Some(all)
            }
            (Operation::Or, terms) => {
                let mut any = false;
                for term in terms {
                    any |= term.holds(parameters)?;
                }
                Some(any)
            }
            _ => Some(self.signed(parameters)? != 0),
        }
    }
}

fn as_signed(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::SqlType;

    use super::*;
    use crate::build;
    use crate::{BuildContext, Coercibility, EvalContext, NoRow, Settings};

    /// Whatever it answers is what evaluation answers.
    #[test]
    fn the_short_way_and_the_long_one_agree() {
        let context = BuildContext { settings: Settings::default(), database: None };
        let slot = |index| Expr::parameter(index, SqlType::bigint(false), true, Coercibility::Numeric);
        let values = [
            Value::Int(0),
            Value::Int(1),
            Value::Int(-7),
            Value::Int(i64::MAX),
            Value::Int(i64::MIN),
            Value::Null,
        ];
        let arithmetic = [
            build::BinaryOperator::Add,
            build::BinaryOperator::Subtract,
            build::BinaryOperator::Multiply,
            build::BinaryOperator::Modulo,
            build::BinaryOperator::IntegerDivide,
            build::BinaryOperator::Less,
            build::BinaryOperator::Equal,
            build::BinaryOperator::GreaterOrEqual,
            build::BinaryOperator::NullSafeEqual,
        ];
        let zone = shoal_types::TimeZone::UTC;
        let mut answered = 0;
        for operator in arithmetic {
            let expression = build::binary(operator, slot(0), slot(1), &context).unwrap();
            let negated = build::unary(build::UnaryOperator::Not, expression.clone(), &context).unwrap();
            for left in &values {
                for right in &values {
                    let parameters = [left.clone(), right.clone()];
                    let mut eval = EvalContext::new(&parameters, &zone, 0, Settings::default());
                    if let Some(number) = expression.signed(&parameters) {
                        assert_eq!(
                            expression.eval(&NoRow, &mut eval).unwrap(),
                            Value::Int(number),
                            "{parameters:?}"
                        );
                        answered += 1;
                    }
                    for truth in [&expression, &negated] {
                        if let Some(holds) = truth.holds(&parameters) {
                            assert_eq!(truth.eval_bool(&NoRow, &mut eval).unwrap(), Some(holds), "{parameters:?}");
                            answered += 1;
                        }
                    }
                }
            }
        }
        assert!(answered > 300, "{answered}");
    }
}
