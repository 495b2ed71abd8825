//! Arithmetic and bit operators.

use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, Collation, Result, SqlType, Value};

use super::logic::number_result;
use super::{BuildContext, make_call, types};
use crate::collate::Coercibility;
use crate::expr::{Expr, Operation, ResultType};
use crate::operator::{ArithmeticOperator, BitOperator, NumberClass};

pub(crate) fn arithmetic(
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
        NumberClass::Double => {
            let increment = ctx.settings.div_precision_increment;
            SqlType { decimals: double_decimals(operator, left, right, increment), ..SqlType::double() }
        }
    }
}

/// Digits that a DOUBLE result is shown with, when both operands have a fixed number of them.
fn double_decimals(operator: ArithmeticOperator, left: &SqlType, right: &SqlType, increment: u8) -> u8 {
    let fixed = |sql_type: &SqlType| match sql_type.base {
        BaseType::Float | BaseType::Double | BaseType::Decimal => sql_type.decimals,
        BaseType::Null => 0,
        _ if sql_type.is_integer() => 0,
        _ => DECIMALS_NOT_FIXED,
    };
    let (left, right) = (fixed(left), fixed(right));
    if left >= DECIMALS_NOT_FIXED || right >= DECIMALS_NOT_FIXED {
        return DECIMALS_NOT_FIXED;
    }
    match operator {
        ArithmeticOperator::Multiply => left.saturating_add(right).min(DECIMALS_NOT_FIXED),
        ArithmeticOperator::Divide => left.max(right).saturating_add(increment).min(DECIMALS_NOT_FIXED),
        _ => left.max(right),
    }
}

pub(crate) fn negate(mut operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
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
                BaseType::Null => 0,
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

pub(crate) fn bits(
    operator: BitOperator,
    mut left: Expr,
    mut right: Expr,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
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

pub(crate) fn bit_not(mut operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
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
