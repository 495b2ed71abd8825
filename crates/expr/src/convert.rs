//! Values as numbers, texts and temporal values, with MySQL's warnings for what is lost.
//!
//! The conversions themselves are those of `shoal-types`; this module adds the conditions that an expression raises.

use std::borrow::Cow;

use shoal_types::{Date, DateTime, Decimal, ErrorCode, Result, Time, Value};

use crate::context::EvalContext;

/// The value as a DOUBLE; 0 for NULL.
pub(crate) fn to_f64(value: &Value, ctx: &mut EvalContext<'_>) -> Result<f64> {
    match value {
        Value::Int(number) => Ok(*number as f64),
        Value::UInt(number) => Ok(*number as f64),
        Value::Double(number) => Ok(*number),
        other => {
            let converted = other.to_f64();
            if converted.truncated || (converted.out_of_range && is_textual(other)) {
                ctx.warn_truncated("DOUBLE", &other.as_text())?;
            }
            Ok(converted.value)
        }
    }
}

pub(crate) fn to_decimal(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Decimal> {
    match value {
        Value::Decimal(number) => Ok(*number),
        Value::Int(number) => Ok(Decimal::from(*number)),
        Value::UInt(number) => Ok(Decimal::from(*number)),
        other => {
            let converted = other.to_decimal();
            if converted.truncated && is_textual(other) {
                ctx.warn_truncated("DECIMAL", &other.as_text())?;
            }
            Ok(converted.value)
        }
    }
}

/// The value as an integer in the range of BIGINT or BIGINT UNSIGNED; fractions are rounded.
pub(crate) fn to_integer(value: &Value, ctx: &mut EvalContext<'_>) -> Result<i128> {
    match value {
        Value::Null => Ok(0),
        Value::Int(number) => Ok(i128::from(*number)),
        Value::UInt(number) | Value::Bit(number, _) => Ok(i128::from(*number)),
        Value::Year(year) => Ok(i128::from(*year)),
        other => {
            let signed = other.to_i64();
            if signed.out_of_range && signed.value > 0 {
                let unsigned = other.to_u64();
                if unsigned.truncated || (unsigned.out_of_range && is_textual(other)) {
                    ctx.warn_truncated("INTEGER", &other.as_text())?;
                }
                return Ok(i128::from(unsigned.value));
            }
            if (signed.truncated || signed.out_of_range) && is_textual(other) {
                ctx.warn_truncated("INTEGER", &other.as_text())?;
            }
            Ok(i128::from(signed.value))
        }
    }
}

/// The value as a signed integer argument of a function: clamped.
pub(crate) fn to_i64(value: &Value, ctx: &mut EvalContext<'_>) -> Result<i64> {
    if let Value::Int(number) = value {
        return Ok(*number);
    }
    let number = to_integer(value, ctx)?;
    Ok(number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// The 64 bits of the value as bit operators see it.
pub(crate) fn to_bits(value: &Value, ctx: &mut EvalContext<'_>) -> Result<u64> {
    match value {
        Value::Int(number) => Ok(*number as u64),
        Value::UInt(number) | Value::Bit(number, _) => Ok(*number),
        other => {
            let number = to_integer(other, ctx)?;
            Ok(if number < 0 { number as i64 as u64 } else { number as u64 })
        }
    }
}

/// Truth in a condition; `None` for NULL.
pub(crate) fn to_truth(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Option<bool>> {
    match value {
        Value::Null => Ok(None),
        Value::Int(number) => Ok(Some(*number != 0)),
        Value::UInt(number) | Value::Bit(number, _) => Ok(Some(*number != 0)),
        Value::Decimal(number) => Ok(Some(!number.is_zero())),
        Value::Str(_) => Ok(Some(to_f64(value, ctx)? != 0.0)),
        other => Ok(other.to_bool()),
    }
}

/// The text of a value; strings are lent.
pub(crate) fn text(value: &Value) -> Cow<'_, [u8]> {
    value.as_text()
}

pub(crate) fn into_text(value: Value) -> Vec<u8> {
    match value {
        Value::Str(text) => text,
        other => other.to_text(),
    }
}

/// The value as a datetime; `None` with a warning when it is not one.
pub(crate) fn to_datetime(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Option<DateTime>> {
    match value {
        Value::Null => Ok(None),
        Value::DateTime(datetime) => Ok(Some(*datetime)),
        Value::Date(date) => Ok(Some(DateTime::from_date(*date, 0, 0))),
        other => {
            let converted = other.to_datetime(&ctx.temporal());
            report_temporal("datetime", converted.value.is_none(), converted.truncated, other, ctx)?;
            Ok(converted.value)
        }
    }
}

pub(crate) fn to_date(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Option<Date>> {
    match value {
        Value::Null => Ok(None),
        Value::DateTime(datetime) => Ok(Some(datetime.date())),
        Value::Date(date) => Ok(Some(*date)),
        other => {
            let converted = other.to_date(&ctx.temporal());
            report_temporal("datetime", converted.value.is_none(), converted.truncated, other, ctx)?;
            Ok(converted.value)
        }
    }
}

pub(crate) fn to_time(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Option<Time>> {
    match value {
        Value::Null => Ok(None),
        Value::DateTime(datetime) => Ok(Some(datetime.time())),
        Value::Time(time) => Ok(Some(*time)),
        other => {
            let converted = other.to_time();
            if converted.value.is_none() || converted.truncated || converted.out_of_range {
                ctx.warn_truncated("time", &other.as_text())?;
            }
            Ok(converted.value)
        }
    }
}

fn report_temporal(
    kind: &str,
    is_missing: bool,
    is_truncated: bool,
    value: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<()> {
    if is_missing {
        ctx.warn_incorrect(kind, &value.as_text())
    } else if is_truncated {
        ctx.warn_truncated(kind, &value.as_text())
    } else {
        Ok(())
    }
}

fn is_textual(value: &Value) -> bool {
    matches!(value, Value::Str(_) | Value::Json(_))
}

/// 1690 for an expression that is shown as `expression`.
pub(crate) fn out_of_range(kind: &str, expression: &dyn std::fmt::Display) -> shoal_types::Error {
    shoal_types::Error::new(ErrorCode::DataOutOfRange, format!("{kind} value is out of range in '{expression}'"))
}

/// An integer whatever its variant.
pub(crate) fn plain_integer(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) | Value::Bit(number, _) => i128::from(*number),
        Value::Year(year) => i128::from(*year),
        _ => return None,
    })
}
