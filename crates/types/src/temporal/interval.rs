//! INTERVAL amounts.

use crate::value::Value;

/// The units of INTERVAL, EXTRACT and TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

/// An amount of time in parts, all of one sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    pub negative: bool,
    pub months: u64,
    pub days: u64,
    pub micros: u128,
}

impl IntervalUnit {
    /// Adding this unit to a DATE yields a DATETIME.
    pub fn has_time(self) -> bool {
        unimplemented!()
    }
    /// Adding this unit yields microseconds.
    pub fn has_micros(self) -> bool {
        unimplemented!()
    }
}

impl Interval {
    /// The amount that `INTERVAL value unit` means. `None` for NULL and for amounts beyond every range.
    pub fn new(_value: &Value, _unit: IntervalUnit) -> Option<Interval> {
        unimplemented!()
    }
    pub fn negated(self) -> Interval {
        Interval { negative: !self.negative, ..self }
    }
}
