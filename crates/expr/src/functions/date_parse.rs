//! STR_TO_DATE.

use shoal_types::temporal::days_in_month;
use shoal_types::{BaseType, Date, DateRules, DateTime, Result, SqlType, Time, Value};

use super::argument::text;
use super::date_format::{DAYS, MONTHS};
use super::{Derivation, Function, ResultType};
use crate::build::types;
use crate::context::{EvalContext, printable};
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[Function::new("STR_TO_DATE", 2, 2, result_type, string_to_date)];

const DATE_LETTERS: &[u8] = b"abcDdejMmUuVvWwXxYy";
const TIME_LETTERS: &[u8] = b"fHhIiklprSsT";

/// Which parts a format speaks of: (date, time, fraction).
fn parts_of(format: &[u8]) -> (bool, bool, bool) {
    let mut letters = Vec::new();
    let mut bytes = format.iter();
    while let Some(byte) = bytes.next() {
        if *byte == b'%' {
            letters.extend(bytes.next().copied());
        }
    }
    let any_of = |wanted: &[u8]| letters.iter().any(|letter| wanted.contains(letter));
    (any_of(DATE_LETTERS), any_of(TIME_LETTERS), letters.contains(&b'f'))
}

/// DATE, TIME or DATETIME by a constant format; DATETIME(6) otherwise.
fn result_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let parts = match derivation.arguments.get(1).and_then(|format| format.as_literal()) {
        Some(Value::Str(format)) => parts_of(format),
        _ => (true, true, true),
    };
    let fsp = if parts.2 { 6 } else { 0 };
    let sql_type = match parts {
        (true, false, _) | (false, false, _) => SqlType { length: 10, ..SqlType::new(BaseType::Date) },
        (false, true, _) => types::time(fsp),
        (true, true, _) => types::datetime(fsp),
    };
    Ok(derivation.typed(sql_type).nullable())
}

fn string_to_date(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (source, format) = (text(call, values, 0), text(call, values, 1));
    let fields = parse(&source, &format);
    let sql_mode = ctx.settings.sql_mode;
    let value = fields.and_then(|fields| fields.finish(&call.sql_type, parts_of(&format).0));
    let is_refused = |value: &Value| match value {
        Value::Date(date) => refuses(*date, sql_mode.no_zero_date, sql_mode.no_zero_in_date),
        Value::DateTime(datetime) => refuses(datetime.date(), sql_mode.no_zero_date, sql_mode.no_zero_in_date),
        _ => false,
    };
    match value {
        Some(value) if !is_refused(&value) => Ok(value),
        _ => {
            ctx.warn_or_fail(shoal_types::ErrorCode::WrongValueForType, || {
                let kind = match call.sql_type.base {
                    BaseType::Time => "time",
                    _ => "datetime",
                };
                format!("Incorrect {kind} value: '{}' for function str_to_date", printable(&source))
            })?;
            Ok(Value::Null)
        }
    }
}

fn refuses(date: Date, no_zero_date: bool, no_zero_in_date: bool) -> bool {
    if date.is_zero() { no_zero_date } else { no_zero_in_date && !date.is_complete() }
}

#[derive(Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    afternoon: Option<bool>,
    twelve_hours: bool,
    day_of_year: Option<u32>,
    /// 0 = Sunday.
    weekday: Option<u32>,
    /// The week, whether weeks begin on Sunday, whether the year is the week's own.
    week: Option<(u32, bool, bool)>,
    week_year: Option<u32>,
}

/// A reader of the source text.
struct Reader<'t> {
    rest: &'t [u8],
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Up to `digits` digits, at least one.
    fn number(&mut self, digits: usize) -> Option<u32> {
        let count = self.rest.iter().take(digits).take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let (head, tail) = self.rest.split_at(count);
        self.rest = tail;
        std::str::from_utf8(head).ok()?.parse().ok()
    }

    /// The index of the name that the text begins with, without regard to case.
    fn name(&mut self, names: &[&str], length: Option<usize>) -> Option<u32> {
        for (index, name) in names.iter().enumerate() {
            let name = &name.as_bytes()[..length.unwrap_or(name.len()).min(name.len())];
            if self.rest.len() >= name.len() && self.rest[..name.len()].eq_ignore_ascii_case(name) {
                self.rest = &self.rest[name.len()..];
                return Some(index as u32);
            }
        }
        None
    }

    fn skip_while(&mut self, test: fn(&u8) -> bool) {
        let count = self.rest.iter().take_while(|byte| test(byte)).count();
        self.rest = &self.rest[count..];
    }
}

/// Reads the source by the format; `None` if it does not follow it. What is left of the source is ignored.
fn parse(source: &[u8], format: &[u8]) -> Option<Fields> {
    let mut fields = Fields::default();
    let mut reader = Reader { rest: source };
    parse_into(&mut fields, &mut reader, format)?;
    Some(fields)
}

fn parse_into(fields: &mut Fields, reader: &mut Reader<'_>, format: &[u8]) -> Option<()> {
    let mut letters = format.iter().copied();
    while let Some(byte) = letters.next() {
        reader.skip_blanks();
        if byte.is_ascii_whitespace() {
            continue;
        }
        if byte != b'%' {
            let (first, tail) = reader.rest.split_first()?;
            if *first != byte {
                return None;
            }
            reader.rest = tail;
            continue;
        }
        let letter = letters.next()?;
        parse_field(fields, reader, letter)?;
    }
    Some(())
}

fn parse_field(fields: &mut Fields, reader: &mut Reader<'_>, letter: u8) -> Option<()> {
    match letter {
        b'Y' => fields.year = reader.number(4)?,
        b'y' => {
            let year = reader.number(2)?;
            fields.year = if year < 70 { 2000 + year } else { 1900 + year };
        }
        b'm' | b'c' => fields.month = reader.number(2)?,
        b'M' => fields.month = reader.name(&MONTHS, None)? + 1,
        b'b' => fields.month = reader.name(&MONTHS, Some(3))? + 1,
        b'd' | b'e' => fields.day = reader.number(2)?,
        b'D' => {
            fields.day = reader.number(2)?;
            let suffix = reader.rest.get(..2)?;
            suffix.iter().all(u8::is_ascii_alphabetic).then_some(())?;
            reader.rest = &reader.rest[2..];
        }
        b'h' | b'I' | b'l' => {
            fields.hour = reader.number(2)?;
            fields.twelve_hours = true;
        }
        b'H' | b'k' => fields.hour = reader.number(2)?,
        b'i' => fields.minute = reader.number(2)?,
        b's' | b'S' => fields.second = reader.number(2)?,
        b'f' => {
            let before = reader.rest.len();
            let number = reader.number(6)?;
            let digits = before - reader.rest.len();
            fields.micros = number * 10u32.pow(6 - digits as u32);
        }
        b'p' => {
            let half = reader.name(&["AM", "PM"], None)?;
            fields.afternoon = Some(half == 1);
        }
        b'W' => fields.weekday = Some((reader.name(&DAYS, None)? + 1) % 7),
        b'a' => fields.weekday = Some((reader.name(&DAYS, Some(3))? + 1) % 7),
        b'w' => fields.weekday = Some(reader.number(1)?),
        b'j' => fields.day_of_year = Some(reader.number(3)?),
        b'U' | b'V' => fields.week = Some((reader.number(2)?, true, letter == b'V')),
        b'u' | b'v' => fields.week = Some((reader.number(2)?, false, letter == b'v')),
        b'X' | b'x' => fields.week_year = Some(reader.number(4)?),
        b'r' => parse_into(fields, reader, b"%I:%i:%S %p")?,
        b'T' => parse_into(fields, reader, b"%H:%i:%S")?,
        b'.' => reader.skip_while(u8::is_ascii_punctuation),
        b'@' => reader.skip_while(u8::is_ascii_alphabetic),
        b'#' => reader.skip_while(u8::is_ascii_digit),
        b'%' => {
            let tail = reader.rest.strip_prefix(b"%")?;
            reader.rest = tail;
        }
        _ => return None,
    }
    Some(())
}

impl Fields {
    fn hour_of_day(&self) -> Option<u32> {
        if !self.twelve_hours {
            return self.afternoon.is_none().then_some(self.hour);
        }
        if !(1..=12).contains(&self.hour) {
            return None;
        }
        let hour = self.hour % 12;
        Some(if self.afternoon == Some(true) { hour + 12 } else { hour })
    }

    /// The value of the type, if the parts are in their ranges.
    fn finish(&self, sql_type: &SqlType, has_date: bool) -> Option<Value> {
        let hour = self.hour_of_day()?;
        let is_time = hour <= 23 && self.minute <= 59 && self.second <= 59;
        if !is_time {
            return None;
        }
        let seconds = (u64::from(hour) * 60 + u64::from(self.minute)) * 60 + u64::from(self.second);
        let micros = seconds * 1_000_000 + u64::from(self.micros);
        if sql_type.base == BaseType::Time {
            return Some(Value::Time(Time { micros: micros as i64, fsp: sql_type.decimals }));
        }
        let date = if has_date { self.date()? } else { Date::ZERO };
        if sql_type.base == BaseType::Date {
            return Some(Value::Date(date));
        }
        Some(Value::DateTime(DateTime::from_date(date, micros, sql_type.decimals)))
    }

    fn date(&self) -> Option<Date> {
        if let Some(day) = self.day_of_year.filter(|day| *day > 0) {
            return later(self.year, day - 1);
        }
        if let (Some((week, sunday_first, own_year)), Some(weekday)) = (self.week, self.weekday) {
            let year = if own_year { self.week_year? } else { self.year };
            return date_of_week(year, week, weekday, sunday_first, own_year);
        }
        let is_day = self.day == 0 || self.month == 0 || self.day <= days_in_month(self.year, self.month);
        if self.month > 12 || self.day > 31 || !is_day {
            return None;
        }
        Date::new(self.year, self.month, self.day, DateRules::default())
    }
}

/// The date some days after the first of January.
fn later(year: u32, days: u32) -> Option<Date> {
    let first = i64::from(shoal_types::temporal::day_number(year, 1, 1));
    let date = Date::from_day_number(first + i64::from(days));
    (!date.is_zero()).then_some(date)
}

/// The date of a weekday (0 = Sunday) of a week of a year.
fn date_of_week(year: u32, week: u32, weekday: u32, sunday_first: bool, own_year: bool) -> Option<Date> {
    if week > 53 || weekday > 6 || (own_year && week == 0) || year > 9999 {
        return None;
    }
    let first = i64::from(shoal_types::temporal::day_number(year, 1, 1));
    let first_weekday = i64::from(Date::from_day_number(first).weekday());
    let (week, weekday) = (i64::from(week), i64::from(weekday));
    let days = if sunday_first {
        let first_weekday = (first_weekday + 1) % 7;
        let offset = if first_weekday == 0 { 0 } else { 7 } - first_weekday;
        offset + (week - 1) * 7 + weekday
    } else {
        let weekday = (weekday + 6) % 7;
        let offset = if first_weekday <= 3 { 0 } else { 7 } - first_weekday;
        offset + (week - 1) * 7 + weekday
    };
    let date = Date::from_day_number(first + days);
    (!date.is_zero()).then_some(date)
}
