//! Arithmetic, logical and bit operators.

use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, Collation, Result, SqlType, Value};

use super::{BuildContext, comparison, function, make_call, types};
use crate::collate::Coercibility;
use crate::expr::{Call, Expr};
use crate::functions::derive::ResultType;
use crate::operation::{ArithmeticOperator, BitOperator, CompareOperator, NumberClass, Operation};

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// DIV
    IntegerDivide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Xor,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
    SoundsLike,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    Not,
    Minus,
    Plus,
    BitNot,
    /// BINARY expr: the string with the binary collation.
    Binary,
}

pub fn binary(operator: BinaryOperator, left: Expr, right: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    use BinaryOperator as B;
    match operator {
        B::Add => arithmetic(ArithmeticOperator::Add, left, right, ctx),
        B::Subtract => arithmetic(ArithmeticOperator::Subtract, left, right, ctx),
        B::Multiply => arithmetic(ArithmeticOperator::Multiply, left, right, ctx),
        B::Divide => arithmetic(ArithmeticOperator::Divide, left, right, ctx),
        B::IntegerDivide => arithmetic(ArithmeticOperator::IntegerDivide, left, right, ctx),
        B::Modulo => arithmetic(ArithmeticOperator::Modulo, left, right, ctx),
        B::BitAnd => bits(BitOperator::And, left, right, ctx),
        B::BitOr => bits(BitOperator::Or, left, right, ctx),
        B::BitXor => bits(BitOperator::Xor, left, right, ctx),
        B::ShiftLeft => bits(BitOperator::ShiftLeft, left, right, ctx),
        B::ShiftRight => bits(BitOperator::ShiftRight, left, right, ctx),
        B::Equal => comparison(CompareOperator::Equal, left, right, ctx),
        B::NullSafeEqual => comparison(CompareOperator::NullSafeEqual, left, right, ctx),
        B::NotEqual => comparison(CompareOperator::NotEqual, left, right, ctx),
        B::Less => comparison(CompareOperator::Less, left, right, ctx),
        B::LessOrEqual => comparison(CompareOperator::LessOrEqual, left, right, ctx),
        B::Greater => comparison(CompareOperator::Greater, left, right, ctx),
        B::GreaterOrEqual => comparison(CompareOperator::GreaterOrEqual, left, right, ctx),
        B::And => and(vec![left, right], ctx),
        B::Or => or(vec![left, right], ctx),
        B::Xor => xor(left, right, ctx),
        B::Concat => function("CONCAT", vec![left, right], ctx),
        B::SoundsLike => {
            let (left, right) = (function("SOUNDEX", vec![left], ctx)?, function("SOUNDEX", vec![right], ctx)?);
            comparison(CompareOperator::Equal, left, right, ctx)
        }
    }
}

pub fn unary(operator: UnaryOperator, operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    match operator {
        UnaryOperator::Not => not(operand, ctx),
        UnaryOperator::Minus => negate(operand, ctx),
        UnaryOperator::Plus => Ok(operand),
        UnaryOperator::BitNot => bit_not(operand, ctx),
        UnaryOperator::Binary => super::binary_cast(operand, ctx),
    }
}

fn number_result(sql_type: SqlType, nullable: bool) -> ResultType {
    ResultType { sql_type, nullable, coercibility: Coercibility::Numeric, collation: Collation::BINARY }
}

pub(crate) fn truth_result(nullable: bool) -> ResultType {
    number_result(types::bigint(false, 1), nullable)
}

fn arithmetic(
    operator: ArithmeticOperator,
    mut left: Expr,
    mut right: Expr,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    left.hexadecimal_as_number();
    right.hexadecimal_as_number();
    let (left_type, right_type) = (left.sql_type().clone(), right.sql_type().clone());
    types::give_type(&mut left, &numeric_hint(&right_type));
    types::give_type(&mut right, &numeric_hint(&left_type));
    let class = result_class(operator, left.sql_type(), right.sql_type());
    let sql_type = result_type(operator, class, left.sql_type(), right.sql_type(), ctx);
    let by_zero = matches!(
        operator,
        ArithmeticOperator::Divide | ArithmeticOperator::IntegerDivide | ArithmeticOperator::Modulo
    );
    let nullable = by_zero || left.nullable() || right.nullable();
    make_call(Operation::Arithmetic(operator, class), vec![left, right], number_result(sql_type, nullable), ctx)
}

/// What an untyped parameter becomes beside an operand of this type.
fn numeric_hint(other: &SqlType) -> SqlType {
    match types::number_class(other) {
        _ if other.base == BaseType::Null => SqlType::bigint(false),
        NumberClass::Integer => SqlType::bigint(other.unsigned),
        NumberClass::Decimal => SqlType::decimal(65, 30),
        NumberClass::Double => SqlType::double(),
    }
}

fn result_class(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> NumberClass {
    let classes = (types::number_class(left), types::number_class(right));
    match (operator, classes) {
        (ArithmeticOperator::IntegerDivide, _) => NumberClass::Integer,
        (_, (NumberClass::Double, _) | (_, NumberClass::Double)) => NumberClass::Double,
        (ArithmeticOperator::Divide, _) => NumberClass::Decimal,
        (_, (NumberClass::Integer, NumberClass::Integer)) => NumberClass::Integer,
        _ => NumberClass::Decimal,
    }
}

fn result_type(
    operator: ArithmeticOperator,
    class: NumberClass,
    left: &SqlType,
    right: &SqlType,
    ctx: &BuildContext<'_>,
) -> SqlType {
    let is_unsigned =
        |sql_type: &SqlType| sql_type.unsigned || matches!(sql_type.base, BaseType::Year | BaseType::Bit);
    let (left_digits, left_scale) = types::decimal_digits(left);
    let (right_digits, right_scale) = types::decimal_digits(right);
    let (left_scale, right_scale) = (u32::from(left_scale), u32::from(right_scale));
    let (left_integer, right_integer) = (left_digits - left_scale, right_digits - right_scale);
    match class {
        NumberClass::Integer => {
            let unsigned = match operator {
                ArithmeticOperator::Modulo => is_unsigned(left),
                ArithmeticOperator::Subtract if ctx.settings.sql_mode.no_unsigned_subtraction => false,
                _ => is_unsigned(left) || is_unsigned(right),
            };
            let digits = match operator {
                ArithmeticOperator::Multiply => left_digits + right_digits,
                ArithmeticOperator::IntegerDivide => left_integer,
                ArithmeticOperator::Modulo => left_digits.max(right_digits),
                _ => left_digits.max(right_digits) + 1,
            };
            types::bigint(unsigned, (digits + u32::from(!unsigned)).min(if unsigned { 20 } else { 21 }))
        }
        NumberClass::Decimal => {
            let (precision, scale) = match operator {
                ArithmeticOperator::Multiply => (left_digits + right_digits, left_scale + right_scale),
                ArithmeticOperator::Divide => {
                    let increment = u32::from(ctx.settings.div_precision_increment);
                    (left_digits + right_scale + increment, left_scale + increment)
                }
                ArithmeticOperator::Modulo => {
                    let scale = left_scale.max(right_scale);
                    (left_integer.max(right_integer) + scale, scale)
                }
                _ => {
                    let scale = left_scale.max(right_scale);
                    (left_integer.max(right_integer) + 1 + scale, scale)
                }
            };
            types::decimal(precision, scale)
        }
        NumberClass::Double => SqlType { decimals: double_decimals(operator, left, right), ..SqlType::double() },
    }
}

/// Digits that a DOUBLE result is shown with, when both operands have a fixed number of them.
fn double_decimals(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> u8 {
    let fixed = |sql_type: &SqlType| match sql_type.base {
        BaseType::Float | BaseType::Double | BaseType::Decimal => sql_type.decimals,
        _ if sql_type.is_integer() => 0,
        _ => DECIMALS_NOT_FIXED,
    };
    let (left, right) = (fixed(left), fixed(right));
    if left >= DECIMALS_NOT_FIXED || right >= DECIMALS_NOT_FIXED {
        return DECIMALS_NOT_FIXED;
    }
    match operator {
        ArithmeticOperator::Multiply => left.saturating_add(right).min(DECIMALS_NOT_FIXED),
        ArithmeticOperator::Divide => DECIMALS_NOT_FIXED,
        _ => left.max(right),
    }
}

fn negate(mut operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    operand.hexadecimal_as_number();
    types::give_type(&mut operand, &SqlType::double());
    // -9223372036854775808 is a BIGINT although its digits alone are not.
    if let Expr::Literal(literal) = &operand
        && let Value::UInt(number) = literal.value
        && number == 1 << 63
    {
        return Ok(Expr::literal(Value::Int(i64::MIN), types::bigint(false, 20)));
    }
    let operand_type = operand.sql_type();
    let (class, sql_type) = match types::number_class(operand_type) {
        NumberClass::Integer => {
            let is_huge = matches!(operand.as_literal(), Some(Value::UInt(number)) if *number > 1 << 63);
            if is_huge {
                (NumberClass::Decimal, SqlType::decimal(20, 0))
            } else {
                let (digits, _) = types::decimal_digits(operand_type);
                (NumberClass::Integer, types::bigint(false, (digits + 1).min(21)))
            }
        }
        NumberClass::Decimal => {
            let (precision, scale) = types::decimal_digits(operand_type);
            (NumberClass::Decimal, types::decimal(precision, u32::from(scale)))
        }
        NumberClass::Double => {
            let decimals = match operand_type.base {
                BaseType::Float | BaseType::Double => operand_type.decimals,
                _ => DECIMALS_NOT_FIXED,
            };
            (NumberClass::Double, SqlType { decimals, ..SqlType::double() })
        }
    };
    let nullable = operand.nullable();
    make_call(Operation::Negate(class), vec![operand], number_result(sql_type, nullable), ctx)
}

/// Both operands are byte strings (and not a bare hexadecimal literal), so the operator works byte by byte.
fn works_on_bytes(left: &Expr, right: &Expr) -> bool {
    let is_bytes = |expr: &Expr| expr.sql_type().is_binary_string();
    let is_literal = |expr: &Expr| matches!(expr, Expr::Literal(_));
    is_bytes(left) && is_bytes(right) && !(is_literal(left) && is_literal(right))
}

fn bits(operator: BitOperator, mut left: Expr, mut right: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    types::give_type(&mut left, &SqlType::bigint(true));
    types::give_type(&mut right, &SqlType::bigint(true));
    let is_shift = matches!(operator, BitOperator::ShiftLeft | BitOperator::ShiftRight);
    // Bytes work with bytes; a literal alone among them is one of them only beside a string that is none.
    if is_shift || !right.sql_type().is_binary_string() || matches!(right, Expr::Literal(_)) {
        left.hexadecimal_as_number();
    }
    if is_shift || !left.sql_type().is_binary_string() || matches!(left, Expr::Literal(_)) {
        right.hexadecimal_as_number();
    }
    let on_bytes = if is_shift {
        left.sql_type().is_binary_string() && !matches!(left, Expr::Literal(_))
    } else {
        works_on_bytes(&left, &right)
    };
    let nullable = left.nullable() || right.nullable();
    let result = if on_bytes {
        byte_result(left.sql_type(), nullable)
    } else {
        number_result(types::bigint(true, 21), nullable)
    };
    make_call(Operation::Bits(operator), vec![left, right], result, ctx)
}

fn byte_result(sql_type: &SqlType, nullable: bool) -> ResultType {
    ResultType {
        sql_type: types::as_text(sql_type, Collation::BINARY),
        nullable,
        coercibility: Coercibility::Coercible,
        collation: Collation::BINARY,
    }
}

fn bit_not(mut operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    types::give_type(&mut operand, &SqlType::bigint(true));
    operand.hexadecimal_as_number();
    let nullable = operand.nullable();
    let on_bytes = operand.sql_type().is_binary_string() && !matches!(operand, Expr::Literal(_));
    let result = if on_bytes {
        byte_result(operand.sql_type(), nullable)
    } else {
        number_result(types::bigint(true, 21), nullable)
    };
    make_call(Operation::BitNot, vec![operand], result, ctx)
}

/// AND of any number of terms; nested ANDs are flattened. No terms: true.
pub fn and(terms: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    chain(terms, Operation::And, ctx)
}

/// OR of any number of terms; nested ORs are flattened. No terms: false.
pub fn or(terms: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    chain(terms, Operation::Or, ctx)
}

fn chain(terms: Vec<Expr>, operation: Operation, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut flat = Vec::with_capacity(terms.len());
    for mut term in terms {
        types::give_type(&mut term, &SqlType::bigint(false));
        match term {
            Expr::Call(call) if call.operation == operation => {
                let Call { arguments, .. } = *call;
                flat.extend(arguments);
            }
            other => flat.push(other),
        }
    }
    let neutral = operation == Operation::And;
    let flat_is_free = flat.iter().all(Expr::is_deterministic);
    if flat_is_free && flat.iter().any(|term| literal_truth(term) == Some(!neutral)) {
        return Ok(Expr::boolean(!neutral));
    }
    flat.retain(|term| literal_truth(term) != Some(neutral));
    match flat.len() {
        0 => return Ok(Expr::boolean(neutral)),
        1 if is_truth_valued(&flat[0]) => return Ok(flat.remove(0)),
        _ => {}
    }
    let nullable = flat.iter().any(Expr::nullable);
    make_call(operation, flat, truth_result(nullable), ctx)
}

/// The truth of a literal; `None` for NULL and anything else.
fn literal_truth(term: &Expr) -> Option<bool> {
    match term.as_literal()? {
        // Texts are left to warn at run time.
        Value::Str(_) => None,
        value => value.to_bool(),
    }
}

/// Yields 0, 1 or NULL and nothing else.
fn is_truth_valued(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => call.operation.is_boolean(),
        Expr::Literal(literal) => matches!(literal.value, Value::Null | Value::Int(0 | 1)),
        _ => false,
    }
}

fn xor(left: Expr, right: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let nullable = left.nullable() || right.nullable();
    make_call(Operation::Xor, vec![left, right], truth_result(nullable), ctx)
}

/// NOT; a comparison, BETWEEN, IN, LIKE, IS is turned around instead, so that it stays usable for ranges.
pub fn not(operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut operand = operand;
    types::give_type(&mut operand, &SqlType::bigint(false));
    if let Expr::Call(call) = &mut operand {
        let turned = match &mut call.operation {
            Operation::Compare(operator, _) => match operator.negated() {
                Some(negated) => {
                    *operator = negated;
                    true
                }
                None => false,
            },
            Operation::Between { negated, .. }
            | Operation::In { negated, .. }
            | Operation::IsNull { negated }
            | Operation::IsTruth { negated, .. }
            | Operation::Like { negated, .. } => {
                *negated = !*negated;
                true
            }
            _ => false,
        };
        if turned {
            return Ok(operand);
        }
    }
    let nullable = operand.nullable();
    make_call(Operation::Not, vec![operand], truth_result(nullable), ctx)
}
