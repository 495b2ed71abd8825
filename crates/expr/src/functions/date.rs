//! Functions of dates: parts, day numbers, weeks, periods, construction.

use shoal_types::temporal::{period_add, period_diff};
use shoal_types::{BaseType, Date, DateTime, Error, ErrorCode, Interval, IntervalUnit, Result, Time, Value};

use super::argument::{integer, optional_integer};
use super::{Derivation, Function, ResultType};
use crate::build::types;
use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "DATE",
        1,
        1,
        |d| {
            expect_datetime(d);
            d.date()
        },
        |_, values, ctx| Ok(convert::to_date(&values[0], ctx)?.map_or(Value::Null, Value::Date)),
    ),
    Function::new(
        "YEAR",
        1,
        1,
        |d| part_type(d, 5),
        |_, values, ctx| match convert::to_date(&values[0], ctx)? {
            Some(date) => Ok(Value::Int(i64::from(date.year()))),
            None => Ok(Value::Null),
        },
    ),
    Function::new("MONTH", 1, 1, |d| part_type(d, 2), |_, values, ctx| part(values, Date::month, ctx)),
    Function::new("DAY", 1, 1, |d| part_type(d, 2), |_, values, ctx| part(values, Date::day, ctx)),
    Function::new("DAYOFMONTH", 1, 1, |d| part_type(d, 2), |_, values, ctx| part(values, Date::day, ctx)),
    Function::new(
        "QUARTER",
        1,
        1,
        |d| part_type(d, 1),
        |_, values, ctx| part(values, |date| date.month().div_ceil(3), ctx),
    ),
    Function::new(
        "DAYOFYEAR",
        1,
        1,
        |d| part_type(d, 3),
        |_, values, ctx| complete_part(values, Date::day_of_year, ctx),
    ),
    Function::new(
        "DAYOFWEEK",
        1,
        1,
        |d| part_type(d, 1),
        |_, values, ctx| complete_part(values, |date| (date.weekday() + 1) % 7 + 1, ctx),
    ),
    Function::new(
        "WEEKDAY",
        1,
        1,
        |d| part_type(d, 1),
        |_, values, ctx| complete_part(values, Date::weekday, ctx),
    ),
    Function::new(
        "WEEKOFYEAR",
        1,
        1,
        |d| part_type(d, 2),
        |_, values, ctx| complete_part(values, |date| date.week(3), ctx),
    ),
    Function::new("WEEK", 1, 2, |d| part_type(d, 2), week).of_statement(),
    Function::new(
        "YEARWEEK",
        1,
        2,
        |d| part_type(d, 6),
        |_, values, ctx| {
            let mode = (optional_integer(values, 1, ctx)?.unwrap_or(0) & 7) as u32;
            complete_part(values, |date| date.year_week(mode), ctx)
        },
    ),
    Function::new(
        "TO_DAYS",
        1,
        1,
        |d| part_type(d, 6),
        |_, values, ctx| complete_part(values, Date::day_number, ctx),
    ),
    Function::new("TO_SECONDS", 1, 1, |d| part_type(d, 12), to_seconds),
    Function::new(
        "FROM_DAYS",
        1,
        1,
        |d| d.date(),
        |_, values, ctx| Ok(Value::Date(Date::from_day_number(integer(values, 0, ctx)?))),
    ),
    Function::new(
        "DATEDIFF",
        2,
        2,
        |d| {
            expect_datetime(d);
            Ok(d.integer(7)?.nullable())
        },
        date_difference,
    ),
    Function::new(
        "LAST_DAY",
        1,
        1,
        |d| {
            expect_datetime(d);
            d.date()
        },
        |_, values, ctx| {
            let date = convert::to_date(&values[0], ctx)?;
            Ok(date.and_then(Date::last_day).map_or(Value::Null, Value::Date))
        },
    ),
    Function::new("MAKEDATE", 2, 2, |d| d.date(), make_date),
    Function::new("ADDDATE", 2, 2, add_days_type, |call, values, ctx| add_days(call, values, false, ctx)),
    Function::new("SUBDATE", 2, 2, add_days_type, |call, values, ctx| add_days(call, values, true, ctx)),
    Function::new(
        "PERIOD_ADD",
        2,
        2,
        |d| d.integer(6),
        |_, values, ctx| {
            let (period, months) = (period(values, 0, ctx)?, period(values, 1, ctx)?);
            period_add(period, months).map(Value::Int).ok_or_else(|| wrong_period("period_add"))
        },
    ),
    Function::new(
        "PERIOD_DIFF",
        2,
        2,
        |d| d.integer(6),
        |_, values, ctx| {
            let (first, second) = (period(values, 0, ctx)?, period(values, 1, ctx)?);
            period_diff(first, second).map(Value::Int).ok_or_else(|| wrong_period("period_diff"))
        },
    ),
    Function::new("TIMESTAMP", 1, 2, timestamp_type, timestamp),
];

fn wrong_period(function: &str) -> Error {
    Error::new(ErrorCode::WrongArguments, format!("Incorrect arguments to {function}"))
}

/// A period or a number of months: numbers far outside the calendar are cut, which keeps them outside.
fn period(values: &[Value], position: usize, ctx: &mut EvalContext<'_>) -> Result<i64> {
    const LIMIT: i64 = 1 << 40;
    Ok(integer(values, position, ctx)?.clamp(-LIMIT, LIMIT))
}

/// Untyped parameters of a temporal function are datetimes.
pub(super) fn expect_datetime(derivation: &mut Derivation<'_>) {
    for position in 0..derivation.arguments.len() {
        derivation.expect(position, &types::datetime(6));
    }
}

fn part_type(derivation: &mut Derivation<'_>, length: u32) -> Result<ResultType> {
    derivation.expect(0, &types::datetime(6));
    Ok(derivation.integer(length)?.nullable())
}

fn part(values: &[Value], part: fn(Date) -> u32, ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(match convert::to_date(&values[0], ctx)? {
        Some(date) => Value::Int(i64::from(part(date))),
        None => Value::Null,
    })
}

/// NULL for a date with a zero in it.
fn complete_date(value: &Value, ctx: &mut EvalContext<'_>) -> Result<Option<Date>> {
    Ok(convert::to_date(value, ctx)?.filter(|date| date.is_complete()))
}

fn complete_part(values: &[Value], part: impl Fn(Date) -> u32, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let date = complete_date(&values[0], ctx)?;
    Ok(date.map_or(Value::Null, |date| Value::Int(i64::from(part(date)))))
}

fn week(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mode = match optional_integer(values, 1, ctx)? {
        Some(mode) => (mode & 7) as u32,
        None => u32::from(ctx.settings.default_week_format) & 7,
    };
    complete_part(values, |date| date.week(mode), ctx)
}

fn to_seconds(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let datetime = convert::to_datetime(&values[0], ctx)?.filter(|datetime| datetime.date().is_complete());
    Ok(datetime.map_or(Value::Null, |datetime| {
        let days = i64::from(datetime.date().day_number());
        Value::Int(days * 86_400 + datetime.time().micros.div_euclid(1_000_000))
    }))
}

fn date_difference(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    match (complete_date(&values[0], ctx)?, complete_date(&values[1], ctx)?) {
        (Some(first), Some(second)) => {
            Ok(Value::Int(i64::from(first.day_number()) - i64::from(second.day_number())))
        }
        _ => Ok(Value::Null),
    }
}

/// MAKEDATE(year, day of year).
fn make_date(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (year, day) = (integer(values, 0, ctx)?, integer(values, 1, ctx)?);
    if !(0..=9999).contains(&year) || day <= 0 {
        return Ok(Value::Null);
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let first = i64::from(shoal_types::temporal::day_number(year as u32, 1, 1));
    let date = Date::from_day_number(first.saturating_add(day - 1));
    Ok(if date.is_zero() { Value::Null } else { Value::Date(date) })
}

/// ADDDATE and SUBDATE with a number of days have the type of DATE_ADD with a DAY interval.
fn add_days_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &types::datetime(6));
    let fsp = derivation.fsp_of(0);
    match derivation.type_of(0).map(|sql_type| sql_type.base) {
        Some(BaseType::Date) => derivation.date(),
        Some(BaseType::DateTime | BaseType::Timestamp) => derivation.datetime(fsp),
        Some(BaseType::Time) => derivation.time(fsp),
        _ => Ok(derivation.ascii_text(29)?.nullable()),
    }
}

fn add_days(call: &Call, values: &mut [Value], subtract: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let days = Value::Int(integer(values, 1, ctx)?);
    crate::interval::add(call, &values[0], &days, IntervalUnit::Day, subtract, ctx)
}

fn timestamp_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    derivation.expect(0, &types::datetime(6));
    derivation.expect(1, &types::time(6));
    let fsp = derivation.fsp_of(0).max(if derivation.arguments.len() > 1 { derivation.fsp_of(1) } else { 0 });
    derivation.datetime(fsp)
}

/// TIMESTAMP(datetime) and TIMESTAMP(datetime, time).
fn timestamp(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let fsp = call.sql_type.decimals;
    let Some(datetime) = convert::to_datetime(&values[0], ctx)? else {
        return Ok(Value::Null);
    };
    let sum = match values.get(1) {
        None => datetime.round(fsp),
        Some(time) => match convert::to_time(time, ctx)? {
            Some(time) => add_time(datetime, time),
            None => None,
        },
    };
    Ok(sum.map_or(Value::Null, |sum| Value::DateTime(DateTime { fsp, ..sum })))
}

/// `None` outside the range of DATETIME.
pub(super) fn add_time(datetime: DateTime, time: Time) -> Option<DateTime> {
    let interval = Interval { negative: time.is_negative(), months: 0, micros: time.micros.unsigned_abs() };
    datetime.checked_add(interval)
}
