//! INTERVAL amounts.

use super::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::value::Value;

/// The units of INTERVAL, EXTRACT and TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// One number of microseconds.
    Microsecond,
    /// Seconds, which may have a fraction.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days.
    Day,
    /// Seven days.
    Week,
    /// Months.
    Month,
    /// Three months.
    Quarter,
    /// Twelve months.
    Year,
    /// `'SECONDS.MICROSECONDS'`.
    SecondMicrosecond,
    /// `'MINUTES:SECONDS.MICROSECONDS'`.
    MinuteMicrosecond,
    /// `'MINUTES:SECONDS'`.
    MinuteSecond,
    /// `'HOURS:MINUTES:SECONDS.MICROSECONDS'`.
    HourMicrosecond,
    /// `'HOURS:MINUTES:SECONDS'`.
    HourSecond,
    /// `'HOURS:MINUTES'`.
    HourMinute,
    /// `'DAYS HOURS:MINUTES:SECONDS.MICROSECONDS'`.
    DayMicrosecond,
    /// `'DAYS HOURS:MINUTES:SECONDS'`.
    DaySecond,
    /// `'DAYS HOURS:MINUTES'`.
    DayMinute,
    /// `'DAYS HOURS'`.
    DayHour,
    /// `'YEARS-MONTHS'`.
    YearMonth,
}

/// An amount of time: months, and microseconds for everything shorter. Both have the same sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The sign of both amounts.
    pub negative: bool,
    /// Years and quarters are counted in months.
    pub months: u64,
    /// Weeks, days and everything shorter, in microseconds.
    pub micros: u64,
}

const MICROS_PER_HOUR: u64 = 3600 * MICROS_PER_SECOND as u64;
const MICROS_PER_MINUTE: u64 = 60 * MICROS_PER_SECOND as u64;

impl IntervalUnit {
    /// Adding this unit to a DATE yields a DATETIME.
    pub fn has_time(self) -> bool {
        use IntervalUnit::*;
        !matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Has a part of days or longer: adding it to a TIME needs a date.
    pub fn has_date(self) -> bool {
        use IntervalUnit::*;
        !self.has_time() || matches!(self, DayMicrosecond | DaySecond | DayMinute | DayHour)
    }

    /// Counts microseconds.
    pub fn has_micros(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond)
    }

    /// Microseconds, or months (the second is set), of each part of the unit, the longest first.
    fn parts(self) -> (&'static [u64], bool) {
        use IntervalUnit::*;
        const DAY: u64 = MICROS_PER_DAY as u64;
        const SECOND: u64 = MICROS_PER_SECOND as u64;
        const ALL: [u64; 5] = [DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, SECOND, 1];
        match self {
            Microsecond => (&ALL[4..], false),
            Second => (&ALL[3..4], false),
            Minute => (&ALL[2..3], false),
            Hour => (&ALL[1..2], false),
            Day => (&ALL[..1], false),
            Week => (const { &[7 * DAY] }, false),
            Month => (&[1], true),
            Quarter => (&[3], true),
            Year => (&[12], true),
            SecondMicrosecond => (&ALL[3..], false),
            MinuteMicrosecond => (&ALL[2..], false),
            MinuteSecond => (&ALL[2..4], false),
            HourMicrosecond => (&ALL[1..], false),
            HourSecond => (&ALL[1..4], false),
            HourMinute => (&ALL[1..3], false),
            DayMicrosecond => (&ALL, false),
            DaySecond => (&ALL[..4], false),
            DayMinute => (&ALL[..3], false),
            DayHour => (&ALL[..2], false),
            YearMonth => (&[12, 1], true),
        }
    }
}

impl Interval {
    /// The amount that `INTERVAL value unit` means. `None` for NULL, for more numbers than the unit has parts and for
    /// amounts beyond every range.
    pub fn new(value: &Value, unit: IntervalUnit) -> Option<Interval> {
        if value.is_null() {
            return None;
        }
        let (parts, in_months) = unit.parts();
        if unit == IntervalUnit::Second {
            return Interval::of_seconds(value);
        }
        if let [part] = parts {
            let count = value.to_i64().value;
            let amount = count.unsigned_abs().checked_mul(*part)?;
            return Some(Interval::of(count < 0, amount, in_months));
        }
        let text = value.as_text();
        let text = text.trim_ascii_start();
        let negative = text.first() == Some(&b'-');
        let counts = read_counts(text, parts.len(), unit.has_micros())?;
        let mut amount = 0u64;
        for (count, part) in counts.iter().zip(parts) {
            amount = amount.checked_add(count.checked_mul(*part)?)?;
        }
        Some(Interval::of(negative, amount, in_months))
    }

    fn of(negative: bool, amount: u64, in_months: bool) -> Interval {
        if in_months {
            Interval { negative, months: amount, micros: 0 }
        } else {
            Interval { negative, months: 0, micros: amount }
        }
    }

    /// Seconds may have a fraction.
    fn of_seconds(value: &Value) -> Option<Interval> {
        if let Value::Int(seconds) = value {
            return Some(Interval::of(
                *seconds < 0,
                seconds.unsigned_abs().checked_mul(MICROS_PER_SECOND as u64)?,
                false,
            ));
        }
        let micros = value.to_decimal().value.truncate(6).unscaled()?;
        Some(Interval::of(micros < 0, u64::try_from(micros.unsigned_abs()).ok()?, false))
    }

    /// The same amount in the other direction.
    pub fn negated(self) -> Interval {
        Interval { negative: !self.negative, ..self }
    }

    /// The part shorter than months with its sign; `None` beyond every range.
    pub fn signed_micros(self) -> Option<i64> {
        let micros = i64::try_from(self.micros).ok()?;
        Some(if self.negative { -micros } else { micros })
    }
}

/// The numbers of a text, whatever stands between them. Of fewer numbers than wanted the leading ones are missing.
/// The last number of a unit with microseconds is a fraction: '1.5' has 500000 of them.
fn read_counts(text: &[u8], wanted: usize, last_is_fraction: bool) -> Option<Vec<u64>> {
    let mut counts = Vec::with_capacity(wanted);
    let mut last_digits = 0;
    for digits in text.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty()) {
        if counts.len() == wanted {
            return None;
        }
        let number = crate::number::parse_u64(digits);
        if number.out_of_range {
            return None;
        }
        counts.push(number.value);
        last_digits = digits.len();
    }
    if last_is_fraction
        && last_digits < 6
        && let Some(last) = counts.last_mut()
    {
        *last *= 10u64.pow(6 - last_digits as u32);
    }
    let missing = wanted - counts.len();
    counts.splice(0..0, std::iter::repeat_n(0, missing));
    Some(counts)
}
