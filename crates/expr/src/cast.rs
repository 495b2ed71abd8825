//! Conversion of a value to a type: CAST and CONVERT, and the implicit conversions between branches of CASE, UNION and
//! the like.

use shoal_types::{
    BaseType, Charset, Collation, DateTime, Decimal, Error, ErrorCode, Json, Result, SqlType, Value,
};

use crate::context::{EvalContext, printable};
use crate::convert;
use crate::expr::Expr;
use crate::{characters, collate, json_value};

/// Converts a value of type `from` to type `to`, without the truncation that CAST does. NULL stays NULL.
pub fn convert_to(value: Value, from: &SqlType, to: &SqlType, ctx: &mut EvalContext<'_>) -> Result<Value> {
    change_type(value, from, to, false, ctx)
}

/// The value of `argument` as type `to`.
pub(crate) fn convert(
    value: Value,
    argument: &Expr,
    to: &SqlType,
    explicit: bool,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    change_type(value, argument.sql_type(), to, explicit, ctx)
}

fn change_type(
    value: Value,
    from: &SqlType,
    to: &SqlType,
    explicit: bool,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match to.base {
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            to_integer(&value, to.unsigned, ctx)
        }
        BaseType::Float => Ok(Value::Float(convert::to_f64(&value, ctx)? as f32)),
        BaseType::Double => Ok(Value::Double(convert::to_f64(&value, ctx)?)),
        BaseType::Decimal => to_decimal(&value, to, ctx),
        BaseType::Bit => Ok(Value::Bit(convert::to_bits(&value, ctx)?, to.length.clamp(1, 64) as u8)),
        BaseType::Year => to_year(&value, ctx),
        BaseType::Date => Ok(convert::to_date(&value, ctx)?.map_or(Value::Null, Value::Date)),
        BaseType::Time => Ok(match convert::to_time(&value, ctx)? {
            Some(time) if ctx.settings.sql_mode.time_truncate_fractional => {
                Value::Time(time.truncate(to.decimals))
            }
            Some(time) => Value::Time(time.round(to.decimals)),
            None => Value::Null,
        }),
        BaseType::DateTime | BaseType::Timestamp => Ok(match convert::to_datetime(&value, ctx)? {
            Some(datetime) => at_fsp(datetime, to.decimals, ctx).map_or(Value::Null, Value::DateTime),
            None => Value::Null,
        }),
        BaseType::Json => to_json(value, from, explicit, ctx),
        BaseType::Enum | BaseType::Set if from.labels == to.labels => Ok(value),
        _ => to_text(value, from, to, explicit, ctx),
    }
}

fn at_fsp(datetime: DateTime, fsp: u8, ctx: &EvalContext<'_>) -> Option<DateTime> {
    if ctx.settings.sql_mode.time_truncate_fractional { Some(datetime.truncate(fsp)) } else { datetime.round(fsp) }
}

/// Out of range numbers keep their 64 bits, as CAST does it.
fn to_integer(value: &Value, unsigned: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    // Numbers with a fraction are clamped, all others keep their bits.
    if !unsigned && matches!(value, Value::Decimal(_) | Value::Double(_) | Value::Float(_)) {
        return Ok(Value::Int(value.to_i64().value));
    }
    let number = convert::to_integer(value, ctx)?;
    if unsigned {
        if number < 0 && matches!(value, Value::Str(_)) {
            ctx.warn(ErrorCode::UnknownError, || {
                "Cast to unsigned converted negative integer to its positive complement".to_owned()
            });
        }
        return Ok(Value::UInt(number as u64));
    }
    if number > i128::from(i64::MAX) && matches!(value, Value::Str(_)) {
        ctx.warn(ErrorCode::UnknownError, || {
            "Cast to signed converted positive out-of-range integer to its negative complement".to_owned()
        });
    }
    Ok(Value::Int(if number > i128::from(i64::MAX) { number as u64 as i64 } else { number as i64 }))
}

fn to_decimal(value: &Value, to: &SqlType, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let precision = to.length.clamp(1, 65) as u8;
    let number = convert::to_decimal(value, ctx)?.round(i32::from(to.decimals));
    if number.fits(precision, to.decimals) {
        return Ok(Value::Decimal(number));
    }
    let text = value.as_text();
    ctx.warn_or_fail(ErrorCode::WarnDataOutOfRange, || {
        format!("Out of range value for column '{}' at row 1", printable(&text))
    })?;
    let limit = Decimal::max_value(precision, to.decimals);
    Ok(Value::Decimal(if number.is_negative() { -limit } else { limit }))
}

fn to_year(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let number = match value {
        Value::Year(year) => return Ok(Value::Year(*year)),
        Value::Date(date) => i128::from(date.year()),
        Value::DateTime(datetime) => i128::from(datetime.year()),
        Value::Time(_) => i128::from(ctx.now(0).year()),
        other => convert::to_integer(other, ctx)?,
    };
    let short_text = matches!(value, Value::Str(text) if text.len() < 4);
    let year = match number {
        0 if short_text => 2000,
        0 => 0,
        1..=69 => number + 2000,
        70..=99 => number + 1900,
        1901..=2155 => number,
        _ => {
            ctx.warn_truncated("YEAR", &value.as_text())?;
            return Ok(Value::Null);
        }
    };
    Ok(Value::Year(year as u16))
}

fn to_json(value: Value, from: &SqlType, explicit: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    match value {
        Value::Json(json) => Ok(Value::Json(json)),
        Value::Str(text) if explicit => {
            if from.collation == Collation::BINARY {
                return Ok(Value::Json(Json::from_tree(&json_value::of_typed_value(
                    &Value::Str(text),
                    from.collation,
                ))));
            }
            let text = Charset::convert(&text, from.collation.charset(), Charset::Utf8mb4);
            json_value::parse(&text.bytes, 1, "cast_as_json").map(Value::Json)
        }
        other => {
            let connection = collate::collation_of(from, ctx.settings.collation_connection);
            Ok(Value::Json(Json::from_tree(&json_value::of_typed_value(&other, connection))))
        }
    }
}

fn to_text(
    value: Value,
    from: &SqlType,
    to: &SqlType,
    explicit: bool,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    let mut text = match value {
        Value::Str(text) => text,
        other => {
            let mut text = Vec::new();
            other.append_text_as(from, &mut text);
            text
        }
    };
    let source = collate::collation_of(from, to.collation).charset();
    let target = to.collation.charset();
    if source != target && target != Charset::Binary && !text.is_ascii() {
        let conversion = Charset::convert(&text, source, target);
        if conversion.malformed {
            ctx.warn_or_fail(ErrorCode::InvalidCharacterString, || {
                let hex: String = text.iter().take(6).map(|byte| format!("{byte:02X}")).collect();
                format!("Invalid {} character string: '{hex}'", target.name())
            })?;
            if source == Charset::Binary {
                return Ok(Value::Null);
            }
        }
        text = conversion.bytes.into_owned();
    }
    if explicit && to.length != u32::MAX {
        fit_length(&mut text, to, ctx)?;
    }
    Ok(Value::Str(text))
}

/// CHAR(n) cuts characters off, BINARY(n) also fills with zero bytes.
fn fit_length(text: &mut Vec<u8>, to: &SqlType, ctx: &mut EvalContext<'_>) -> Result<()> {
    let end = characters::offset(to.collation, text, to.length as usize);
    if end < text.len() {
        let is_binary = to.collation == Collation::BINARY;
        let kind = format!("{}({})", if is_binary { "BINARY" } else { "CHAR" }, to.length);
        ctx.warn_truncated(&kind, text)?;
        text.truncate(end);
    }
    if to.base == BaseType::Char && to.collation == Collation::BINARY {
        if to.length as usize > ctx.settings.max_allowed_packet {
            return Err(Error::new(
                ErrorCode::WarnAllowedPacketOverflowed,
                "Result of cast_as_binary() was larger than max_allowed_packet",
            ));
        }
        text.resize(to.length as usize, 0);
    }
    Ok(())
}
