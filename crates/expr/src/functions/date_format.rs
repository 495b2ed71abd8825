//! DATE_FORMAT, TIME_FORMAT, GET_FORMAT and the names of days and months (locale en_US).

use shoal_types::temporal::day_number;
use shoal_types::{Date, DateTime, Result, Time, Value};

use super::argument::text;
use super::{Derivation, Function, ResultType};
use crate::build::types;
use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "DATE_FORMAT",
        2,
        2,
        |d| {
            d.expect(0, &types::datetime(6));
            format_type(d)
        },
        date_format,
    ),
    Function::new(
        "TIME_FORMAT",
        2,
        2,
        |d| {
            d.expect(0, &types::time(6));
            format_type(d)
        },
        time_format,
    ),
    Function::new(
        "DAYNAME",
        1,
        1,
        |d| {
            d.expect(0, &types::datetime(6));
            Ok(d.ascii_text(9)?.nullable())
        },
        |_, values, ctx| {
            let date = convert::to_date(&values[0], ctx)?.filter(|date| date.is_complete());
            Ok(date.map_or(Value::Null, |date| Value::str(DAYS[date.weekday() as usize % 7])))
        },
    ),
    Function::new(
        "MONTHNAME",
        1,
        1,
        |d| {
            d.expect(0, &types::datetime(6));
            Ok(d.ascii_text(9)?.nullable())
        },
        |_, values, ctx| {
            let month = convert::to_date(&values[0], ctx)?.and_then(month_name);
            Ok(month.map_or(Value::Null, Value::str))
        },
    ),
    Function::new("GET_FORMAT", 2, 2, |d| Ok(d.ascii_text(17)?.nullable()), get_format),
];

pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn month_name(date: Date) -> Option<&'static str> {
    MONTHS.get((date.month() as usize).checked_sub(1)?).copied()
}

/// Text of the format's collation; a conversion is at most ten characters long.
fn format_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let length = derivation.length_of(1).saturating_mul(10).min(1 << 20);
    Ok(derivation.text(&[1], length)?.nullable())
}

fn date_format(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let Some(datetime) = convert::to_datetime(&values[0], ctx)? else {
        return Ok(Value::Null);
    };
    Ok(format(&text(call, values, 1), datetime, ctx))
}

/// The datetime in a format; NULL if the format asks for the name of a month or day that the date does not have, or is
/// empty.
pub(super) fn format(format: &[u8], datetime: DateTime, ctx: &EvalContext<'_>) -> Value {
    if format.is_empty() {
        return Value::Null;
    }
    let time = datetime.time();
    let mut out = Vec::with_capacity(format.len() * 2);
    let mut rest = format.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let Some(letter) = rest.next() else {
            out.push(b'%');
            break;
        };
        let known = append_time_part(letter, time, &mut out) || {
            match append_date_part(letter, datetime.date(), &mut out) {
                Some(known) => known,
                None => return Value::Null,
            }
        };
        if !known {
            out.push(letter);
        }
        if out.len() > ctx.settings.max_allowed_packet {
            return Value::Null;
        }
    }
    Value::Str(out)
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = std::io::Write::write_fmt(out, text);
}

/// 12-hour clock: 12, 1, ..., 11.
fn half_day_hour(hours: u32) -> u32 {
    (hours % 24 + 11) % 12 + 1
}

/// Appends what a letter of the time means; `false` if it is none.
fn append_time_part(letter: u8, time: Time, out: &mut Vec<u8>) -> bool {
    let (hours, minutes, seconds) = (time.hours(), time.minutes(), time.seconds());
    let half = if hours % 24 < 12 { "AM" } else { "PM" };
    match letter {
        b'f' => append(out, format_args!("{:06}", time.subsecond_micros())),
        b'H' => append(out, format_args!("{hours:02}")),
        b'k' => append(out, format_args!("{hours}")),
        b'h' | b'I' => append(out, format_args!("{:02}", half_day_hour(hours))),
        b'l' => append(out, format_args!("{}", half_day_hour(hours))),
        b'i' => append(out, format_args!("{minutes:02}")),
        b's' | b'S' => append(out, format_args!("{seconds:02}")),
        b'p' => out.extend_from_slice(half.as_bytes()),
        b'r' => append(out, format_args!("{:02}:{minutes:02}:{seconds:02} {half}", half_day_hour(hours))),
        b'T' => append(out, format_args!("{hours:02}:{minutes:02}:{seconds:02}")),
        _ => return false,
    }
    true
}

fn ordinal_suffix(day: u32) -> &'static str {
    match (day / 10 % 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// Appends what a letter of the date means; `Some(false)` if it is none, `None` if the date does not have it.
fn append_date_part(letter: u8, date: Date, out: &mut Vec<u8>) -> Option<bool> {
    let (year, month, day) = (date.year(), date.month(), date.day());
    let complete = || date.is_complete().then_some(date);
    // A zero day is the day before the first.
    let weekday = || {
        let first = i64::from(day_number(year, month.max(1), 1));
        let number = first + i64::from(day) - if month == 0 { 32 } else { 1 };
        (year != 0 || month != 0).then(|| Date::from_day_number(number).weekday())
    };
    match letter {
        b'Y' => append(out, format_args!("{year:04}")),
        b'y' => append(out, format_args!("{:02}", year % 100)),
        b'm' => append(out, format_args!("{month:02}")),
        b'c' => append(out, format_args!("{month}")),
        b'M' => out.extend_from_slice(month_name(date)?.as_bytes()),
        b'b' => out.extend_from_slice(&month_name(date)?.as_bytes()[..3]),
        b'd' => append(out, format_args!("{day:02}")),
        b'e' => append(out, format_args!("{day}")),
        b'D' => append(out, format_args!("{day}{}", ordinal_suffix(day))),
        b'W' => out.extend_from_slice(DAYS[weekday()? as usize % 7].as_bytes()),
        b'a' => out.extend_from_slice(&DAYS[weekday()? as usize % 7].as_bytes()[..3]),
        b'w' => append(out, format_args!("{}", (weekday()? + 1) % 7)),
        b'j' => append(out, format_args!("{:03}", complete()?.day_of_year())),
        b'U' => append(out, format_args!("{:02}", complete()?.week(0))),
        b'u' => append(out, format_args!("{:02}", complete()?.week(1))),
        b'V' => append(out, format_args!("{:02}", complete()?.week(2))),
        b'v' => append(out, format_args!("{:02}", complete()?.week(3))),
        b'X' => append(out, format_args!("{:04}", complete()?.year_week(2) / 100)),
        b'x' => append(out, format_args!("{:04}", complete()?.year_week(3) / 100)),
        _ => return Some(false),
    }
    Some(true)
}

/// TIME_FORMAT: only the letters of the time mean anything; those of the date are zeros or NULL.
fn time_format(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let Some(time) = convert::to_time(&values[0], ctx)? else {
        return Ok(Value::Null);
    };
    let format = text(call, values, 1);
    if format.is_empty() {
        return Ok(Value::Null);
    }
    let mut out = Vec::with_capacity(format.len() * 2);
    if time.is_negative() {
        out.push(b'-');
    }
    let mut rest = format.iter().copied();
    while let Some(byte) = rest.next() {
        let letter = match byte {
            b'%' => rest.next(),
            other => {
                out.push(other);
                continue;
            }
        };
        match letter {
            None => out.push(b'%'),
            Some(letter) if append_time_part(letter, time, &mut out) => {}
            Some(letter) => match append_date_part(letter, Date::ZERO, &mut out) {
                Some(true) => {}
                Some(false) => out.push(letter),
                None => return Ok(Value::Null),
            },
        }
    }
    Ok(Value::Str(out))
}

/// GET_FORMAT(kind, standard).
fn get_format(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let kind = text(call, values, 0).to_ascii_uppercase();
    let standard = text(call, values, 1).to_ascii_uppercase();
    let format = match (kind.as_slice(), standard.as_slice()) {
        (b"DATE", b"USA") => "%m.%d.%Y",
        (b"DATE", b"JIS" | b"ISO") => "%Y-%m-%d",
        (b"DATE", b"EUR") => "%d.%m.%Y",
        (b"DATE", b"INTERNAL") => "%Y%m%d",
        (b"DATETIME", b"USA" | b"EUR") => "%Y-%m-%d %H.%i.%s",
        (b"DATETIME", b"JIS" | b"ISO") => "%Y-%m-%d %H:%i:%s",
        (b"DATETIME", b"INTERNAL") => "%Y%m%d%H%i%s",
        (b"TIME", b"USA") => "%h:%i:%s %p",
        (b"TIME", b"JIS" | b"ISO") => "%H:%i:%s",
        (b"TIME", b"EUR") => "%H.%i.%s",
        (b"TIME", b"INTERNAL") => "%H%i%s",
        _ => return Ok(Value::Null),
    };
    Ok(Value::str(format))
}
