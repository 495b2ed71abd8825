//! Numeric functions: rounding, powers, logarithms, trigonometry, RAND, CRC32.

use shoal_types::number::round_f64;
use shoal_types::{BaseType, Decimal, Error, ErrorCode, Result, SqlType, Value};

use super::argument::{double, integer, optional_integer, text};
use super::{Derivation, Function, ResultType};
use crate::arithmetic::{finite, integer_result};
use crate::build::types;
use crate::context::{EvalContext, RandomState};
use crate::convert;
use crate::expr::{Call, Expr};
use crate::operator::NumberClass;

pub(super) const TABLE: &[Function] = &[
    Function::new("ABS", 1, 1, same_class, absolute),
    Function::new("SIGN", 1, 1, |d| d.integer(2), sign),
    Function::new("CEIL", 1, 1, integral, |call, values, ctx| to_integral(call, values, true, ctx)),
    Function::new("CEILING", 1, 1, integral, |call, values, ctx| to_integral(call, values, true, ctx)),
    Function::new("FLOOR", 1, 1, integral, |call, values, ctx| to_integral(call, values, false, ctx)),
    Function::new("ROUND", 1, 2, rounded, |call, values, ctx| round(call, values, false, ctx)),
    Function::new("TRUNCATE", 2, 2, rounded, |call, values, ctx| round(call, values, true, ctx)),
    Function::new(
        "PI",
        0,
        0,
        |d| Ok(d.typed(SqlType { decimals: 6, length: 8, ..SqlType::double() })),
        |_, _, _| Ok(Value::Double(std::f64::consts::PI)),
    ),
    Function::new("ACOS", 1, 1, nullable_double, |_, values, ctx| arc(values, f64::acos, ctx)),
    Function::new("ASIN", 1, 1, nullable_double, |_, values, ctx| arc(values, f64::asin, ctx)),
    Function::new("ATAN", 1, 2, |d| d.double(), arc_tangent),
    Function::new("ATAN2", 1, 2, |d| d.double(), arc_tangent),
    Function::new("SIN", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, f64::sin, ctx)),
    Function::new("COS", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, f64::cos, ctx)),
    Function::new("TAN", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, f64::tan, ctx)),
    Function::new("COT", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, |x| 1.0 / x.tan(), ctx)),
    Function::new("DEGREES", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, f64::to_degrees, ctx)),
    Function::new("RADIANS", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, f64::to_radians, ctx)),
    Function::new("EXP", 1, 1, |d| d.double(), |call, values, ctx| real(call, values, f64::exp, ctx)),
    Function::new("SQRT", 1, 1, nullable_double, square_root),
    Function::new("POW", 2, 2, |d| d.double(), power),
    Function::new("POWER", 2, 2, |d| d.double(), power),
    Function::new("LN", 1, 1, nullable_double, |_, values, ctx| logarithm(values, f64::ln, ctx)),
    Function::new("LOG2", 1, 1, nullable_double, |_, values, ctx| logarithm(values, f64::log2, ctx)),
    Function::new("LOG10", 1, 1, nullable_double, |_, values, ctx| logarithm(values, f64::log10, ctx)),
    Function::new("LOG", 1, 2, nullable_double, logarithm_of_base),
    Function::new("RAND", 0, 1, |d| Ok(d.double()?.not_null()), random).takes_nulls().volatile().of_session(),
    Function::new(
        "CRC32",
        1,
        1,
        |d| d.unsigned(10),
        |call, values, _| Ok(Value::UInt(u64::from(crc32fast::hash(&text(call, values, 0))))),
    ),
    Function::new("CONV", 3, 3, |d| Ok(d.ascii_text(64)?.nullable()), convert_base),
    Function::new("BIN", 1, 1, |d| Ok(d.ascii_text(64)?.nullable()), |call, values, _| in_base(call, values, 2)),
    Function::new("OCT", 1, 1, |d| Ok(d.ascii_text(64)?.nullable()), |call, values, _| in_base(call, values, 8)),
    Function::new("BIT_COUNT", 1, 1, |d| d.integer(21), bit_count),
];

fn nullable_double(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &SqlType::double());
    Ok(derivation.double()?.nullable())
}

fn argument_type(derivation: &mut Derivation<'_>) -> SqlType {
    derivation.expect(0, &SqlType::double());
    derivation.type_of(0).cloned().unwrap_or_default()
}

/// The argument's class of number, with its digits.
fn same_class(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let argument = argument_type(derivation);
    let (precision, scale) = types::decimal_digits(&argument);
    let sql_type = match types::number_class(&argument) {
        NumberClass::Integer => types::bigint(argument.unsigned || argument.base == BaseType::Bit, precision + 1),
        NumberClass::Decimal => types::decimal(precision, u32::from(scale)),
        NumberClass::Double => SqlType::double(),
    };
    Ok(derivation.typed(sql_type))
}

/// BIGINT, unless the argument is a double or a decimal too long for it.
fn integral(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let argument = argument_type(derivation);
    let (precision, scale) = types::decimal_digits(&argument);
    let digits = precision - u32::from(scale);
    let sql_type = match types::number_class(&argument) {
        NumberClass::Integer => types::bigint(argument.unsigned || argument.base == BaseType::Bit, digits + 1),
        NumberClass::Decimal if digits < 18 => types::bigint(false, digits + 2),
        NumberClass::Decimal => types::decimal(digits + 1, 0),
        NumberClass::Double => SqlType { decimals: 0, ..SqlType::double() },
    };
    Ok(derivation.typed(sql_type))
}

/// BIGINT of integers, DECIMAL of decimals with as many digits behind the point as they have, or fewer if a constant says so, and
/// DOUBLE of everything else.
fn rounded(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let argument = argument_type(derivation);
    let places = if derivation.arguments.len() < 2 { Some(0) } else { derivation.constant_integer(1) };
    let (precision, scale) = types::decimal_digits(&argument);
    let sql_type = match types::number_class(&argument) {
        _ if argument.is_temporal() => SqlType::double(),
        NumberClass::Integer => types::bigint(argument.unsigned || argument.base == BaseType::Bit, precision + 1),
        NumberClass::Decimal => {
            let kept = places.map_or(scale, |places| places.clamp(0, i64::from(scale)) as u8);
            let carry = u32::from(
                derivation.name == "ROUND"
                    && places.is_some_and(|places| places < i64::from(scale) || places <= 0),
            );
            types::decimal((precision - u32::from(scale - kept) + carry).max(1), u32::from(kept))
        }
        NumberClass::Double => SqlType::double(),
    };
    Ok(derivation.typed(sql_type))
}

fn out_of_range(call: &Call) -> Error {
    let kind = if call.sql_type.unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
    convert::out_of_range(kind, call)
}

fn absolute(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    match call.sql_type.base {
        BaseType::Decimal => Ok(Value::Decimal(convert::to_decimal(&values[0], ctx)?.abs())),
        BaseType::Double => Ok(Value::Double(convert::to_f64(&values[0], ctx)?.abs())),
        _ => {
            let number = convert::to_integer(&values[0], ctx)?.abs();
            integer_result(number, &call.sql_type).ok_or_else(|| out_of_range(call))
        }
    }
}

fn sign(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let sign = match &values[0] {
        Value::Int(number) => number.signum(),
        Value::UInt(number) => i64::from(*number > 0),
        Value::Decimal(number) if number.is_zero() => 0,
        Value::Decimal(number) => {
            if number.is_negative() {
                -1
            } else {
                1
            }
        }
        other => {
            let number = convert::to_f64(other, ctx)?;
            i64::from(number > 0.0) - i64::from(number < 0.0)
        }
    };
    Ok(Value::Int(sign))
}

fn to_integral(call: &Call, values: &mut [Value], up: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let in_direction = |number: Decimal| if up { number.ceiling() } else { number.floor() };
    match call.sql_type.base {
        BaseType::Double => {
            let number = convert::to_f64(&values[0], ctx)?;
            Ok(Value::Double(if up { number.ceil() } else { number.floor() }))
        }
        BaseType::Decimal => Ok(Value::Decimal(in_direction(convert::to_decimal(&values[0], ctx)?))),
        _ => {
            let number = match &values[0] {
                Value::Int(number) => i128::from(*number),
                Value::UInt(number) | Value::Bit(number, _) => i128::from(*number),
                other => {
                    let number = in_direction(convert::to_decimal(other, ctx)?);
                    number.to_i128().ok_or_else(|| out_of_range(call))?
                }
            };
            integer_result(number, &call.sql_type).ok_or_else(|| out_of_range(call))
        }
    }
}

fn round(call: &Call, values: &mut [Value], truncate: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let places = optional_integer(values, 1, ctx)?.unwrap_or(0);
    let places = match values.get(1) {
        Some(Value::UInt(number)) if *number > i32::MAX as u64 => i32::MAX,
        _ => places.clamp(-400, 400) as i32,
    };
    match call.sql_type.base {
        BaseType::Double => {
            let number = convert::to_f64(&values[0], ctx)?;
            finite(round_f64(number, places, truncate), call)
        }
        BaseType::Decimal => {
            let number = convert::to_decimal(&values[0], ctx)?;
            let places = places.clamp(-81, i32::from(call.sql_type.decimals));
            let rounded = if truncate { number.truncate(places) } else { number.round(places) };
            Ok(Value::Decimal(rounded.round(i32::from(call.sql_type.decimals))))
        }
        _ => {
            let number = convert::to_integer(&values[0], ctx)?;
            let number = if places < 0 { round_integer(number, -places, truncate) } else { number };
            integer_result(number, &call.sql_type).ok_or_else(|| out_of_range(call))
        }
    }
}

/// Rounds to a multiple of 10^`digits`, half away from zero, or cuts.
fn round_integer(number: i128, digits: i32, truncate: bool) -> i128 {
    if digits > 20 {
        return 0;
    }
    let unit = 10i128.pow(digits as u32);
    let cut = number / unit * unit;
    let rest = (number - cut).abs();
    if truncate || rest * 2 < unit { cut } else { cut + unit * number.signum() }
}

fn real(call: &Call, values: &[Value], function: fn(f64) -> f64, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let result = function(double(values, 0, ctx)?);
    finite(result, call)
}

fn arc(values: &[Value], function: fn(f64) -> f64, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let number = double(values, 0, ctx)?;
    Ok(if (-1.0..=1.0).contains(&number) { Value::Double(function(number)) } else { Value::Null })
}

fn arc_tangent(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let first = double(values, 0, ctx)?;
    if values.len() == 1 {
        return Ok(Value::Double(first.atan()));
    }
    Ok(Value::Double(first.atan2(double(values, 1, ctx)?)))
}

fn square_root(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let number = double(values, 0, ctx)?;
    Ok(if number < 0.0 { Value::Null } else { Value::Double(number.sqrt()) })
}

fn power(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (base, exponent) = (double(values, 0, ctx)?, double(values, 1, ctx)?);
    finite(base.powf(exponent), call)
}

fn invalid_logarithm(ctx: &mut EvalContext<'_>) -> Result<Value> {
    ctx.warn_or_fail(ErrorCode::InvalidArgumentForLogarithm, || "Invalid argument for logarithm".to_owned())?;
    Ok(Value::Null)
}

fn logarithm(values: &[Value], function: fn(f64) -> f64, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let number = double(values, 0, ctx)?;
    if number <= 0.0 {
        return invalid_logarithm(ctx);
    }
    Ok(Value::Double(function(number)))
}

/// LOG(x) and LOG(base, x).
fn logarithm_of_base(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values.len() == 1 {
        return logarithm(values, f64::ln, ctx);
    }
    let (base, number) = (double(values, 0, ctx)?, double(values, 1, ctx)?);
    if base <= 0.0 || base == 1.0 || number <= 0.0 {
        return invalid_logarithm(ctx);
    }
    Ok(Value::Double(number.ln() / base.ln()))
}

/// RAND() draws from the session's generator. RAND(constant) has a generator of its own for the statement, which the
/// constant seeds once; RAND(expression) is seeded anew for every row.
fn random(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let Some(argument) = call.arguments.first() else {
        return Ok(Value::Double(ctx.session()?.random_state().next_number()));
    };
    let seed = RandomState::from_seed(integer(values, 0, ctx)?);
    if matches!(argument, Expr::Literal(_) | Expr::Parameter(_)) {
        let state = ctx.random.entry(std::ptr::from_ref(call) as usize).or_insert(seed);
        return Ok(Value::Double(state.next_number()));
    }
    let mut state = seed;
    Ok(Value::Double(state.next_number()))
}

/// CONV(number, from, to): bases 2 to 36; a negative base means a signed number.
fn convert_base(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (from, to) = (integer(values, 1, ctx)?, integer(values, 2, ctx)?);
    let is_base = |base: i64| (2..=36).contains(&base.saturating_abs());
    if !is_base(from) || !is_base(to) {
        return Ok(Value::Null);
    }
    let digits = match &values[0] {
        Value::Bit(number, _) => number.to_string().into_bytes(),
        _ => text(call, values, 0).into_owned(),
    };
    let Some(number) = parse_in_base(&digits, from.unsigned_abs() as u32, from < 0) else {
        return Ok(Value::Null);
    };
    Ok(Value::Str(print_in_base(number, to)))
}

/// BIN and OCT.
fn in_base(call: &Call, values: &mut [Value], base: i64) -> Result<Value> {
    let number = match &values[0] {
        Value::Bit(number, _) => *number,
        Value::Int(number) => *number as u64,
        Value::UInt(number) => *number,
        _ => match parse_in_base(&text(call, values, 0), 10, false) {
            Some(number) => number,
            None => return Ok(Value::Null),
        },
    };
    Ok(Value::Str(print_in_base(number, base)))
}

/// The leading digits of the text in a base, clamped to 64 bits. `None` for an empty text.
fn parse_in_base(text: &[u8], base: u32, signed: bool) -> Option<u64> {
    let text = text.trim_ascii_start();
    if text.is_empty() {
        return None;
    }
    let (negative, digits) = match text[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut number = 0u128;
    for digit in digits.iter().map_while(|byte| char::from(*byte).to_digit(base)) {
        number = (number * u128::from(base) + u128::from(digit)).min(1 << 64);
    }
    if signed {
        let limit = if negative { 1u128 << 63 } else { (1 << 63) - 1 };
        number = number.min(limit);
    }
    let clamped = u64::try_from(number).unwrap_or(u64::MAX);
    Some(if negative && (signed || number <= u128::from(u64::MAX)) { clamped.wrapping_neg() } else { clamped })
}

fn print_in_base(number: u64, base: i64) -> Vec<u8> {
    let negative = base < 0 && (number as i64) < 0;
    let mut rest = if negative { number.wrapping_neg() } else { number };
    let base = base.unsigned_abs();
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(rest % base) as usize]);
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    if negative {
        digits.push(b'-');
    }
    digits.reverse();
    digits
}

fn bit_count(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let is_bytes = call.arguments.first().is_some_and(|argument| argument.sql_type().is_binary_string());
    if let (true, Value::Str(bytes)) = (is_bytes, &values[0]) {
        return Ok(Value::Int(bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()));
    }
    Ok(Value::Int(i64::from(convert::to_bits(&values[0], ctx)?.count_ones())))
}
