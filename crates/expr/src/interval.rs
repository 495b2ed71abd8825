//! INTERVAL arithmetic, EXTRACT and TIMESTAMPDIFF.

use shoal_types::{BaseType, DateTime, ErrorCode, Interval, IntervalUnit, Result, Time, Value};

use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

/// `start + INTERVAL amount unit`. A result outside the range is NULL with warning 1441.
pub(crate) fn add(
    call: &Call,
    start: &Value,
    amount: &Value,
    unit: IntervalUnit,
    subtract: bool,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    if start.is_null() || amount.is_null() {
        return Ok(Value::Null);
    }
    let overflow = |kind: &str, ctx: &mut EvalContext<'_>| {
        ctx.warn_or_fail(ErrorCode::DatetimeFunctionOverflow, || {
            format!("Datetime function: {kind} field overflow")
        })?;
        Ok(Value::Null)
    };
    let Some(mut interval) = Interval::new(amount, unit) else {
        return overflow("datetime", ctx);
    };
    if subtract {
        interval = interval.negated();
    }
    if let Value::Time(time) = start {
        return match add_to_time(*time, interval, call.sql_type.decimals) {
            Some(time) => Ok(Value::Time(time)),
            None => overflow("time", ctx),
        };
    }
    let Some(datetime) = convert::to_datetime(start, ctx)? else {
        return Ok(Value::Null);
    };
    let Some(sum) = datetime.checked_add(interval) else {
        return overflow("datetime", ctx);
    };
    Ok(match call.sql_type.base {
        BaseType::Date => Value::Date(sum.date()),
        BaseType::DateTime | BaseType::Timestamp => {
            Value::DateTime(DateTime { fsp: call.sql_type.decimals, ..sum })
        }
        _ => string_result(start, sum, unit),
    })
}

fn add_to_time(time: Time, interval: Interval, fsp: u8) -> Option<Time> {
    if interval.months != 0 {
        return None;
    }
    let micros = i128::from(interval.micros);
    let micros = if interval.negative { -micros } else { micros };
    let sum = i64::try_from(i128::from(time.micros) + micros).ok()?;
    (sum.unsigned_abs() <= Time::MAX_MICROS as u64).then_some(Time { micros: sum, fsp })
}

/// A string stays a string: a date if it was one and the unit has no time part.
fn string_result(start: &Value, sum: DateTime, unit: IntervalUnit) -> Value {
    let was_date = match start {
        Value::Str(text) => {
            let groups = text.split(|byte| !byte.is_ascii_digit()).filter(|group| !group.is_empty());
            let (count, longest) =
                groups.fold((0, 0), |(count, longest), group| (count + 1, group.len().max(longest)));
            count <= 3 && longest <= 8
        }
        Value::Int(number) => *number < 100_000_000,
        Value::UInt(number) => *number < 100_000_000,
        _ => false,
    };
    let has_time = sum.hour() != 0 || sum.minute() != 0 || sum.second() != 0 || sum.microsecond() != 0;
    let mut text = Vec::new();
    if was_date && !unit.has_time() && !has_time {
        sum.date().append_text(&mut text);
    } else {
        let fsp = if sum.microsecond() != 0 { 6 } else { 0 };
        DateTime { fsp, ..sum }.append_text(&mut text);
    }
    Value::Str(text)
}

/// EXTRACT(unit FROM value).
pub(crate) fn extract(unit: IntervalUnit, value: &Value, ctx: &mut EvalContext<'_>) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let number = if is_time_only(unit) {
        match convert_time_of(value, unit, ctx)? {
            Some(number) => number,
            None => return Ok(Value::Null),
        }
    } else {
        let Some(datetime) = convert::to_datetime(value, ctx)? else {
            return Ok(Value::Null);
        };
        of_datetime(unit, datetime, ctx)
    };
    Ok(Value::Int(number))
}

/// Units that EXTRACT takes from a TIME, whose hours may pass 24.
fn is_time_only(unit: IntervalUnit) -> bool {
    use IntervalUnit::*;
    !matches!(unit, Day | Week | Month | Quarter | Year | YearMonth)
}

fn convert_time_of(value: &Value, unit: IntervalUnit, ctx: &mut EvalContext<'_>) -> Result<Option<i64>> {
    use IntervalUnit::*;
    let with_day = matches!(unit, DayMicrosecond | DaySecond | DayMinute | DayHour);
    let (day, time) = match value {
        Value::DateTime(datetime) => (i64::from(datetime.day()), datetime.time()),
        Value::Date(date) => (i64::from(date.day()), Time { micros: 0, fsp: 0 }),
        Value::Str(text) if with_day && text.iter().filter(|byte| **byte == b'-').count() >= 2 => {
            match convert::to_datetime(value, ctx)? {
                Some(datetime) => (i64::from(datetime.day()), datetime.time()),
                None => return Ok(None),
            }
        }
        other => match convert::to_time(other, ctx)? {
            Some(time) => (0, time),
            None => return Ok(None),
        },
    };
    let (hour, minute, second) = (i64::from(time.hours()), i64::from(time.minutes()), i64::from(time.seconds()));
    let micro = i64::from(time.subsecond_micros());
    let day_hour = day * 100 + hour;
    let number = match unit {
        Microsecond => micro,
        Second => second,
        Minute => minute,
        Hour => hour,
        SecondMicrosecond => second * 1_000_000 + micro,
        MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micro,
        MinuteSecond => minute * 100 + second,
        HourMicrosecond => ((hour * 100 + minute) * 100 + second) * 1_000_000 + micro,
        HourSecond => (hour * 100 + minute) * 100 + second,
        HourMinute => hour * 100 + minute,
        DayMicrosecond => ((day_hour * 100 + minute) * 100 + second) * 1_000_000 + micro,
        DaySecond => (day_hour * 100 + minute) * 100 + second,
        DayMinute => day_hour * 100 + minute,
        DayHour => day_hour,
        Day | Week | Month | Quarter | Year | YearMonth => day,
    };
    Ok(Some(if time.is_negative() { -number } else { number }))
}

fn of_datetime(unit: IntervalUnit, datetime: DateTime, ctx: &EvalContext<'_>) -> i64 {
    i64::from(match unit {
        IntervalUnit::Day => datetime.day(),
        IntervalUnit::Week => datetime.date().week(u32::from(ctx.settings.default_week_format) & 7),
        IntervalUnit::Month => datetime.month(),
        IntervalUnit::Quarter => datetime.month().div_ceil(3),
        IntervalUnit::YearMonth => datetime.year() * 100 + datetime.month(),
        _ => datetime.year(),
    })
}

/// TIMESTAMPDIFF(unit, from, to).
pub(crate) fn difference(
    unit: IntervalUnit,
    from: &Value,
    to: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    let (Some(from), Some(to)) = (convert::to_datetime(from, ctx)?, convert::to_datetime(to, ctx)?) else {
        return Ok(Value::Null);
    };
    if !from.date().is_complete() || !to.date().is_complete() {
        return Ok(Value::Null);
    }
    Ok(Value::Int(from.diff(to, unit)))
}
