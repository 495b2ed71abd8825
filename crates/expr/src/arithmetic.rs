//! `+ - * / DIV %`, unary minus and the bit operators on values.

use shoal_types::{Decimal, Error, ErrorCode, Result, SqlType, Value};

use crate::context::EvalContext;
use crate::convert;
use crate::convert::plain_integer;
use crate::expr::Call;
use crate::operator::{ArithmeticOperator, BitOperator, NumberClass};

/// Evaluates a binary arithmetic call on its operands. A quotient has more digits than its type shows: see `at_type_scale`.
pub(crate) fn evaluate(
    operator: ArithmeticOperator,
    class: NumberClass,
    call: &Call,
    left: &Value,
    right: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    match class {
        NumberClass::Integer => integers(operator, call, left, right, ctx),
        NumberClass::Decimal => decimals(operator, call, left, right, ctx),
        NumberClass::Double => doubles(operator, call, left, right, ctx),
    }
}

fn integers(
    operator: ArithmeticOperator,
    call: &Call,
    left: &Value,
    right: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    if operator == ArithmeticOperator::IntegerDivide {
        return integer_division(call, left, right, ctx);
    }
    let (first, second) = (convert::to_integer(left, ctx)?, convert::to_integer(right, ctx)?);
    // Both are in the range of BIGINT or BIGINT UNSIGNED, so only a product can pass the range of i128.
    let result = match operator {
        ArithmeticOperator::Add => first + second,
        ArithmeticOperator::Subtract => first - second,
        ArithmeticOperator::Multiply => first.checked_mul(second).ok_or_else(|| out_of_range(call))?,
        ArithmeticOperator::Modulo if second == 0 => return ctx.division_by_zero(),
        ArithmeticOperator::Modulo => first % second,
        ArithmeticOperator::IntegerDivide | ArithmeticOperator::Divide => {
            return decimals(operator, call, left, right, ctx);
        }
    };
    integer_result(result, &call.sql_type).ok_or_else(|| out_of_range(call))
}

/// The integer as a value of an integer type, if it is in the range of BIGINT (UNSIGNED).
pub(crate) fn integer_result(number: i128, sql_type: &SqlType) -> Option<Value> {
    if sql_type.unsigned {
        u64::try_from(number).ok().map(Value::UInt)
    } else {
        i64::try_from(number).ok().map(Value::Int)
    }
}

fn out_of_range(call: &Call) -> Error {
    let kind = match (call.sql_type.is_integer(), call.sql_type.unsigned) {
        (true, true) => "BIGINT UNSIGNED",
        (true, false) => "BIGINT",
        _ if matches!(call.sql_type.base, shoal_types::BaseType::Decimal) => "DECIMAL",
        _ => "DOUBLE",
    };
    convert::out_of_range(kind, call)
}

/// DIV: of integers exactly, of other numbers as decimals whose quotient is cut.
fn integer_division(call: &Call, left: &Value, right: &Value, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let quotient = match (plain_integer(left), plain_integer(right)) {
        (Some(_), Some(0)) => return ctx.division_by_zero(),
        (Some(first), Some(second)) => first / second,
        _ => {
            let (first, second) = (convert::to_decimal(left, ctx)?, convert::to_decimal(right, ctx)?);
            if second.is_zero() {
                return ctx.division_by_zero();
            }
            let quotient = first.checked_integer_div(&second).and_then(|quotient| quotient.to_i128());
            quotient.ok_or_else(|| out_of_range(call))?
        }
    };
    integer_result(quotient, &call.sql_type).ok_or_else(|| out_of_range(call))
}

fn decimals(
    operator: ArithmeticOperator,
    call: &Call,
    left: &Value,
    right: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    let (first, second) = (convert::to_decimal(left, ctx)?, convert::to_decimal(right, ctx)?);
    let result = match operator {
        ArithmeticOperator::Add => first.checked_add(&second),
        ArithmeticOperator::Subtract => first.checked_sub(&second),
        ArithmeticOperator::Multiply => first.checked_mul(&second),
        _ if second.is_zero() => return ctx.division_by_zero(),
        ArithmeticOperator::Divide => {
            let quotient = first.checked_div(&second, ctx.settings.div_precision_increment);
            return quotient.map(Value::Decimal).ok_or_else(|| out_of_range(call));
        }
        ArithmeticOperator::Modulo => first.checked_rem(&second),
        ArithmeticOperator::IntegerDivide => first.checked_integer_div(&second),
    };
    let result = result.ok_or_else(|| out_of_range(call))?;
    if call.sql_type.is_integer() {
        let number = result.to_i128().ok_or_else(|| out_of_range(call))?;
        return integer_result(number, &call.sql_type).ok_or_else(|| out_of_range(call));
    }
    Ok(Value::Decimal(at_declared_scale(result, &call.sql_type)))
}

/// A quotient, which comes with more digits, at the scale of its type; other values as they are.
pub(crate) fn at_type_scale(value: Value, sql_type: &SqlType) -> Value {
    match value {
        Value::Decimal(number) => Value::Decimal(at_declared_scale(number, sql_type)),
        other => other,
    }
}

/// An exact result may have a longer fraction than its type shows (30 digits at most).
pub(crate) fn at_declared_scale(number: Decimal, sql_type: &SqlType) -> Decimal {
    if number.scale() == sql_type.decimals { number } else { number.round(i32::from(sql_type.decimals)) }
}

fn doubles(
    operator: ArithmeticOperator,
    call: &Call,
    left: &Value,
    right: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    let (first, second) = (convert::to_f64(left, ctx)?, convert::to_f64(right, ctx)?);
    let result = match operator {
        ArithmeticOperator::Add => first + second,
        ArithmeticOperator::Subtract => first - second,
        ArithmeticOperator::Multiply => first * second,
        _ if second == 0.0 => return ctx.division_by_zero(),
        ArithmeticOperator::Divide => first / second,
        ArithmeticOperator::Modulo => first % second,
        ArithmeticOperator::IntegerDivide => return integer_division(call, left, right, ctx),
    };
    finite(result, call)
}

/// A DOUBLE result, or 1690 when it is infinite or not a number.
pub(crate) fn finite(number: f64, call: &Call) -> Result<Value> {
    if number.is_finite() { Ok(Value::Double(number)) } else { Err(convert::out_of_range("DOUBLE", call)) }
}

pub(crate) fn negate(class: NumberClass, call: &Call, value: &Value, ctx: &mut EvalContext<'_>) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match class {
        NumberClass::Integer => {
            let number = -convert::to_integer(value, ctx)?;
            integer_result(number, &call.sql_type).ok_or_else(|| out_of_range(call))
        }
        NumberClass::Decimal => Ok(Value::Decimal(-convert::to_decimal(value, ctx)?)),
        NumberClass::Double => Ok(Value::Double(-convert::to_f64(value, ctx)?)),
    }
}

/// Bit operators on 64 bits; on two binary strings of one length byte by byte.
pub(crate) fn bits(
    operator: BitOperator,
    call: &Call,
    left: &Value,
    right: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    if call.sql_type.is_string() {
        return binary_strings(operator, left, right, ctx);
    }
    let (first, second) = (convert::to_bits(left, ctx)?, convert::to_bits(right, ctx)?);
    let shift = |shifted: Option<u64>| shifted.unwrap_or(0);
    let distance = u32::try_from(second).unwrap_or(u32::MAX);
    Ok(Value::UInt(match operator {
        BitOperator::And => first & second,
        BitOperator::Or => first | second,
        BitOperator::Xor => first ^ second,
        BitOperator::ShiftLeft => shift(first.checked_shl(distance)),
        BitOperator::ShiftRight => shift(first.checked_shr(distance)),
    }))
}

fn binary_strings(operator: BitOperator, left: &Value, right: &Value, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let first = convert::text(left);
    if matches!(operator, BitOperator::ShiftLeft | BitOperator::ShiftRight) {
        let distance = convert::to_bits(right, ctx)?;
        return Ok(Value::Str(shift_bytes(&first, distance, operator == BitOperator::ShiftLeft)));
    }
    let second = convert::text(right);
    if first.len() != second.len() {
        return Err(Error::new(
            ErrorCode::WrongArguments,
            "Binary operands of bitwise operators must be of equal length",
        ));
    }
    let combine = |(first, second): (&u8, &u8)| match operator {
        BitOperator::And => first & second,
        BitOperator::Or => first | second,
        _ => first ^ second,
    };
    Ok(Value::Str(first.iter().zip(second.iter()).map(combine).collect()))
}

/// Shifts a string of bits, the first byte highest.
fn shift_bytes(bytes: &[u8], distance: u64, left: bool) -> Vec<u8> {
    let mut out = vec![0u8; bytes.len()];
    let whole = usize::try_from(distance / 8).unwrap_or(usize::MAX);
    let part = (distance % 8) as u32;
    for (index, slot) in out.iter_mut().enumerate() {
        let at = |offset: Option<usize>| offset.and_then(|offset| bytes.get(offset)).copied().unwrap_or(0);
        // The byte that lands here, and its neighbour that spills into it.
        let (near, far) = if left {
            let near = index.checked_add(whole);
            (at(near), at(near.and_then(|near| near.checked_add(1))))
        } else {
            let near = index.checked_sub(whole);
            (at(near), at(near.and_then(|near| near.checked_sub(1))))
        };
        *slot = if part == 0 {
            near
        } else if left {
            near << part | far >> (8 - part)
        } else {
            near >> part | far << (8 - part)
        };
    }
    out
}

/// `~`
pub(crate) fn bit_not(call: &Call, value: &Value, ctx: &mut EvalContext<'_>) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if call.sql_type.is_string() {
        return Ok(Value::Str(convert::text(value).iter().map(|byte| !byte).collect()));
    }
    Ok(Value::UInt(!convert::to_bits(value, ctx)?))
}
