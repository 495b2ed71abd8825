//! Functions of times of day and durations, and of the clock.

use shoal_types::{BaseType, DateTime, Decimal, ErrorCode, Result, SqlType, Time, TimeZone, Value};

use super::argument::{integer, text};
use super::date::{add_time, expect_datetime};
use super::{Derivation, Function, ResultType};
use crate::build::types;
use crate::context::EvalContext;
use crate::convert;
use crate::expr::{Call, Expr};

pub(super) const TABLE: &[Function] = &[
    Function::new("NOW", 0, 1, now_type, |call, _, ctx| Ok(Value::DateTime(ctx.now(call.sql_type.decimals))))
        .of_statement(),
    Function::new("CURRENT_TIMESTAMP", 0, 1, now_type, |call, _, ctx| {
        Ok(Value::DateTime(ctx.now(call.sql_type.decimals)))
    })
    .of_statement(),
    Function::new("LOCALTIME", 0, 1, now_type, |call, _, ctx| {
        Ok(Value::DateTime(ctx.now(call.sql_type.decimals)))
    })
    .of_statement(),
    Function::new("LOCALTIMESTAMP", 0, 1, now_type, |call, _, ctx| {
        Ok(Value::DateTime(ctx.now(call.sql_type.decimals)))
    })
    .of_statement(),
    Function::new("CURDATE", 0, 0, |d| Ok(d.date()?.not_null()), |_, _, ctx| Ok(Value::Date(ctx.now(0).date())))
        .of_statement(),
    Function::new(
        "CURRENT_DATE",
        0,
        0,
        |d| Ok(d.date()?.not_null()),
        |_, _, ctx| Ok(Value::Date(ctx.now(0).date())),
    )
    .of_statement(),
    Function::new("CURTIME", 0, 1, current_time_type, current_time).of_statement(),
    Function::new("CURRENT_TIME", 0, 1, current_time_type, current_time).of_statement(),
    Function::new("SYSDATE", 0, 1, now_type, system_time).volatile().of_session(),
    Function::new(
        "UTC_DATE",
        0,
        0,
        |d| Ok(d.date()?.not_null()),
        |_, _, ctx| Ok(Value::Date(utc_now(ctx, 0).date())),
    )
    .of_statement(),
    Function::new("UTC_TIME", 0, 1, current_time_type, |call, _, ctx| {
        let fsp = call.sql_type.decimals;
        Ok(Value::Time(Time { fsp, ..utc_now(ctx, fsp).time() }))
    })
    .of_statement(),
    Function::new("UTC_TIMESTAMP", 0, 1, now_type, |call, _, ctx| {
        Ok(Value::DateTime(utc_now(ctx, call.sql_type.decimals)))
    })
    .of_statement(),
    Function::new("UNIX_TIMESTAMP", 0, 1, unix_timestamp_type, unix_timestamp).of_statement(),
    Function::new("FROM_UNIXTIME", 1, 2, from_unix_time_type, from_unix_time).of_statement(),
    Function::new("CONVERT_TZ", 3, 3, convert_zone_type, convert_zone),
    Function::new("TIME", 1, 1, time_type, |call, values, ctx| {
        let time = convert::to_time(&values[0], ctx)?;
        Ok(time.map_or(Value::Null, |time| Value::Time(time.round(call.sql_type.decimals))))
    }),
    Function::new("HOUR", 1, 1, part_type, |_, values, ctx| part(values, Time::hours, ctx)),
    Function::new("MINUTE", 1, 1, part_type, |_, values, ctx| part(values, Time::minutes, ctx)),
    Function::new("SECOND", 1, 1, part_type, |_, values, ctx| part(values, Time::seconds, ctx)),
    Function::new("MICROSECOND", 1, 1, part_type, |_, values, ctx| part(values, Time::subsecond_micros, ctx)),
    Function::new(
        "TIME_TO_SEC",
        1,
        1,
        |d| {
            d.expect(0, &types::time(6));
            Ok(d.integer(10)?.nullable())
        },
        |_, values, ctx| {
            let time = convert::to_time(&values[0], ctx)?;
            Ok(time.map_or(Value::Null, |time| Value::Int(time.micros / 1_000_000)))
        },
    ),
    Function::new(
        "SEC_TO_TIME",
        1,
        1,
        |d| {
            let fsp = d.fsp_of_number(0);
            d.time(fsp)
        },
        seconds_to_time,
    ),
    Function::new(
        "MAKETIME",
        3,
        3,
        |d| {
            let fsp = d.fsp_of_number(2);
            d.time(fsp)
        },
        make_time,
    ),
    Function::new(
        "TIMEDIFF",
        2,
        2,
        |d| {
            let fsp = d.fsp_of(0).max(d.fsp_of(1));
            d.time(fsp)
        },
        time_difference,
    ),
    Function::new("ADDTIME", 2, 2, add_time_type, |call, values, ctx| add_or_subtract(call, values, false, ctx)),
    Function::new("SUBTIME", 2, 2, add_time_type, |call, values, ctx| add_or_subtract(call, values, true, ctx)),
];

fn now_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let fsp = derivation.constant_fsp(0)?;
    Ok(derivation.datetime(fsp)?.not_null())
}

fn current_time_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let fsp = derivation.constant_fsp(0)?;
    Ok(derivation.time(fsp)?.not_null())
}

fn current_time(call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let fsp = call.sql_type.decimals;
    Ok(Value::Time(Time { fsp, ..ctx.now(fsp).time() }))
}

fn utc_now(ctx: &EvalContext<'_>, fsp: u8) -> DateTime {
    TimeZone::UTC.from_utc_micros(ctx.now_micros, 6).truncate(fsp)
}

/// SYSDATE: the clock at this moment, not at the statement's start.
fn system_time(call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let micros = ctx.session()?.clock_micros();
    let now = ctx.zone.from_utc_micros(micros, 6).truncate(call.sql_type.decimals);
    Ok(Value::DateTime(now))
}

/// BIGINT, or DECIMAL if there is a fraction to show.
fn unix_timestamp_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &types::datetime(6));
    let fsp = if derivation.arguments.is_empty() { 0 } else { derivation.fsp_of(0) };
    let sql_type = match fsp {
        0 => types::bigint(false, 12),
        fsp => SqlType::decimal(12 + u32::from(fsp), fsp),
    };
    let result = derivation.typed(sql_type);
    Ok(if derivation.arguments.is_empty() { result } else { result.nullable() })
}

/// The last moment that UNIX_TIMESTAMP and FROM_UNIXTIME know: 3001-01-18 23:59:59 UTC.
const LAST_UNIX_SECOND: i64 = 32_536_771_199;

fn unix_timestamp(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let micros = match values.first() {
        None => ctx.now_micros,
        Some(value) => match convert::to_datetime(value, ctx)? {
            Some(datetime) if datetime.date().is_complete() => ctx.zone.to_utc_micros(datetime),
            Some(_) => 0,
            None => return Ok(Value::Null),
        },
    };
    let micros = if (0..=LAST_UNIX_SECOND * 1_000_000 + 999_999).contains(&micros) { micros } else { 0 };
    if call.sql_type.is_integer() {
        return Ok(Value::Int(micros / 1_000_000));
    }
    let number = Decimal::new(i128::from(micros), 6);
    Ok(Value::Decimal(number.truncate(i32::from(call.sql_type.decimals))))
}

fn from_unix_time_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    if derivation.arguments.len() == 2 {
        let length = derivation.length_of(1).saturating_mul(10).min(1 << 16);
        return Ok(derivation.text(&[1], length)?.nullable());
    }
    let fsp = derivation.fsp_of_number(0);
    derivation.datetime(fsp)
}

fn from_unix_time(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let seconds = convert::to_decimal(&values[0], ctx)?.round(6);
    let micros = seconds.checked_mul(&Decimal::from(1_000_000i64)).and_then(|micros| micros.to_i128());
    let limit = i128::from(LAST_UNIX_SECOND) * 1_000_000 + 999_999;
    let Some(micros) = micros.filter(|micros| (0..=limit).contains(micros)) else {
        return Ok(Value::Null);
    };
    let datetime = local_time(ctx.zone, micros as i64);
    if values.len() == 2 {
        let format = text(call, values, 1);
        return Ok(super::date_format::format(&format, datetime, ctx));
    }
    Ok(datetime.round(call.sql_type.decimals).map_or(Value::Null, Value::DateTime))
}

/// The local time of a moment. A stored timestamp of 0 is the zero datetime; here it is the beginning of 1970.
fn local_time(zone: &TimeZone, micros: i64) -> DateTime {
    match micros {
        0 => DateTime { fsp: 6, ..zone.from_utc_micros(1, 6).truncate(0) },
        micros => zone.from_utc_micros(micros, 6),
    }
}

fn convert_zone_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &types::datetime(6));
    let fsp = derivation.fsp_of(0);
    derivation.datetime(fsp)
}

/// CONVERT_TZ(datetime, from, to). Outside the range of UNIX_TIMESTAMP nothing is converted.
fn convert_zone(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let zone_of = |position: usize| {
        let name = text(call, values, position);
        std::str::from_utf8(&name).ok().and_then(TimeZone::parse)
    };
    let (Some(from), Some(to)) = (zone_of(1), zone_of(2)) else {
        return Ok(Value::Null);
    };
    let Some(datetime) = convert::to_datetime(&values[0], ctx)? else {
        return Ok(Value::Null);
    };
    if !datetime.date().is_complete() {
        return Ok(Value::Null);
    }
    let micros = from.to_utc_micros(datetime);
    if !(0..=LAST_UNIX_SECOND * 1_000_000 + 999_999).contains(&micros) {
        return Ok(Value::DateTime(datetime));
    }
    Ok(Value::DateTime(local_time(&to, micros).truncate(call.sql_type.decimals)))
}

fn time_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &types::time(6));
    let fsp = derivation.fsp_of(0);
    derivation.time(fsp)
}

fn part_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &types::time(6));
    Ok(derivation.integer(10)?.nullable())
}

fn part(values: &[Value], part: fn(Time) -> u32, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let time = match &values[0] {
        Value::Date(_) => Some(Time { micros: 0, fsp: 0 }),
        other => convert::to_time(other, ctx)?,
    };
    Ok(time.map_or(Value::Null, |time| Value::Int(i64::from(part(time)))))
}

/// A TIME of these microseconds; clamped with a warning outside the range.
fn clamped_time(micros: i128, fsp: u8, shown: &str, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let limit = i128::from(Time::MAX_MICROS);
    if micros.abs() > limit {
        ctx.warn_or_fail(ErrorCode::TruncatedWrongValue, || format!("Truncated incorrect time value: '{shown}'"))?;
    }
    let micros = micros.clamp(-limit, limit) as i64;
    Ok(Value::Time(Time { micros, fsp: 6 }.round(fsp)))
}

fn seconds_to_time(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let seconds = convert::to_decimal(&values[0], ctx)?.round(6);
    let micros = seconds.checked_mul(&Decimal::from(1_000_000i64)).and_then(|micros| micros.to_i128());
    let limit = if seconds.is_negative() { i128::MIN / 2 } else { i128::MAX / 2 };
    clamped_time(micros.unwrap_or(limit), call.sql_type.decimals, &seconds.to_string(), ctx)
}

/// MAKETIME(hour, minute, second).
fn make_time(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (hour, minute) = (integer(values, 0, ctx)?, integer(values, 1, ctx)?);
    let second = convert::to_decimal(&values[2], ctx)?.round(6);
    let micros = second.checked_mul(&Decimal::from(1_000_000i64)).and_then(|micros| micros.to_i128());
    let Some(micros) = micros.filter(|micros| (0..60_000_000).contains(micros)) else {
        return Ok(Value::Null);
    };
    if !(0..60).contains(&minute) {
        return Ok(Value::Null);
    }
    let total = i128::from(hour.unsigned_abs()) * 3_600_000_000 + i128::from(minute) * 60_000_000 + micros;
    let signed = if hour < 0 { -total } else { total };
    clamped_time(signed, call.sql_type.decimals, &format!("{hour}:{minute:02}:{second}"), ctx)
}

/// A temporal argument: with a date or without one.
enum Moment {
    Day(DateTime),
    Duration(Time),
}

/// The argument as a datetime if it has a date, else as a time.
fn moment(value: &Value, argument: Option<&Expr>, ctx: &mut EvalContext<'_>) -> Result<Option<Moment>> {
    let has_date = match value {
        Value::Date(_) | Value::DateTime(_) => true,
        Value::Str(text) => looks_like_datetime(text),
        // A number too long for a time.
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => value.to_f64().value >= 1e10,
        _ => argument.is_some_and(|argument| {
            matches!(argument.sql_type().base, BaseType::Date | BaseType::DateTime | BaseType::Timestamp)
        }),
    };
    if has_date {
        return Ok(convert::to_datetime(value, ctx)?.map(Moment::Day));
    }
    Ok(convert::to_time(value, ctx)?.map(Moment::Duration))
}

/// The text holds a date and a time: two hyphens and something behind a blank, or at least 12 digits.
fn looks_like_datetime(text: &[u8]) -> bool {
    let trimmed = text.trim_ascii();
    let hyphens = trimmed.iter().skip(1).filter(|byte| **byte == b'-').count();
    let has_time = trimmed.iter().any(|byte| matches!(byte, b' ' | b'T'));
    let digits = trimmed.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (hyphens >= 2 && has_time) || digits >= 12
}

fn time_difference(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let first = moment(&values[0], call.arguments.first(), ctx)?;
    let second = moment(&values[1], call.arguments.get(1), ctx)?;
    let micros = match (first, second) {
        (Some(Moment::Day(first)), Some(Moment::Day(second))) => {
            i128::from(first.micros_since_year_zero()) - i128::from(second.micros_since_year_zero())
        }
        (Some(Moment::Duration(first)), Some(Moment::Duration(second))) => {
            i128::from(first.micros) - i128::from(second.micros)
        }
        _ => return Ok(Value::Null),
    };
    clamped_time(micros, call.sql_type.decimals, "timediff", ctx)
}

fn add_time_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    if derivation
        .arguments
        .iter()
        .any(|argument| matches!(argument, Expr::Parameter(parameter) if parameter.untyped))
    {
        expect_datetime(derivation);
    }
    let fsp = derivation.fsp_of(0).max(derivation.fsp_of(1));
    match derivation.type_of(0).map(|sql_type| sql_type.base) {
        Some(BaseType::Time) => derivation.time(fsp),
        Some(BaseType::Date | BaseType::DateTime | BaseType::Timestamp) => derivation.datetime(fsp),
        _ => Ok(derivation.ascii_text(29)?.nullable()),
    }
}

/// ADDTIME and SUBTIME: the second argument is always a time; of a string the result is a string.
fn add_or_subtract(call: &Call, values: &mut [Value], subtract: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let Some(first) = moment(&values[0], call.arguments.first(), ctx)? else {
        return Ok(Value::Null);
    };
    let second = match moment(&values[1], call.arguments.get(1), ctx)? {
        Some(Moment::Duration(time)) => time,
        _ => return Ok(Value::Null),
    };
    let second = if subtract { Time { micros: -second.micros, ..second } } else { second };
    let is_text = call.sql_type.is_string();
    let fsp_of_sum =
        |micros: i64| if is_text { if micros % 1_000_000 == 0 { 0 } else { 6 } } else { call.sql_type.decimals };
    let sum = match first {
        Moment::Day(datetime) => match add_time(datetime, second) {
            Some(sum) => Value::DateTime(DateTime { fsp: fsp_of_sum(i64::from(sum.microsecond())), ..sum }),
            None => return Ok(Value::Null),
        },
        Moment::Duration(time) => {
            let micros = i128::from(time.micros) + i128::from(second.micros);
            clamped_time(micros, fsp_of_sum((micros % 1_000_000) as i64), "addtime", ctx)?
        }
    };
    Ok(if is_text { Value::Str(sum.to_text()) } else { sum })
}
