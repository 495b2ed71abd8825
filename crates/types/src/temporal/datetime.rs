//! DATETIME.

use super::{Date, DateRules, DateTime, Interval, IntervalUnit, TemporalContext, Time};
use crate::Decimal;
use crate::number::Converted;

impl DateTime {
    pub const ZERO: DateTime = DateTime { packed: 0, fsp: 0 };

    /// A date and the time of day in microseconds (0 to 86,399,999,999).
    pub fn from_date(_date: Date, _micros_of_day: u64, _fsp: u8) -> DateTime {
        unimplemented!()
    }
    /// `None`: a part out of its range or a date that the rules refuse. Order: year, month, day, hour, minute, second.
    pub fn new(_parts: [u32; 6], _micros: u32, _fsp: u8, _rules: DateRules) -> Option<DateTime> {
        unimplemented!()
    }
    pub fn date(self) -> Date {
        unimplemented!()
    }
    pub fn year(self) -> u32 {
        self.date().year()
    }
    pub fn month(self) -> u32 {
        self.date().month()
    }
    pub fn day(self) -> u32 {
        self.date().day()
    }
    pub fn hour(self) -> u32 {
        (self.packed >> 36 & 31) as u32
    }
    pub fn minute(self) -> u32 {
        (self.packed >> 30 & 63) as u32
    }
    pub fn second(self) -> u32 {
        (self.packed >> 24 & 63) as u32
    }
    pub fn microsecond(self) -> u32 {
        (self.packed & 0xff_ffff) as u32
    }
    pub fn is_zero(self) -> bool {
        self.packed == 0
    }
    /// The time of day.
    pub fn time(self) -> Time {
        unimplemented!()
    }
    /// Microseconds since year 0: the measure for differences.
    pub fn micros_since_year_zero(self) -> i64 {
        unimplemented!()
    }
    /// `None` outside 0000-01-01 to 9999-12-31.
    pub fn from_micros_since_year_zero(_micros: i64, _fsp: u8) -> Option<DateTime> {
        unimplemented!()
    }
    /// `None` when rounding passes the end of year 9999.
    pub fn round(self, _fsp: u8) -> Option<DateTime> {
        unimplemented!()
    }
    pub fn truncate(self, _fsp: u8) -> DateTime {
        unimplemented!()
    }
    /// YYYYMMDDHHMMSS, the fraction rounded.
    pub fn to_number(self) -> i64 {
        unimplemented!()
    }
    pub fn to_decimal(self) -> Decimal {
        unimplemented!()
    }
    pub fn to_f64(self) -> f64 {
        unimplemented!()
    }
    /// YYYYMMDD, YYMMDD, YYYYMMDDHHMMSS or YYMMDDHHMMSS as a number.
    pub fn from_number(_number: i64, _rules: DateRules) -> Option<DateTime> {
        unimplemented!()
    }
    /// Any of MySQL's datetime texts; an offset suffix is turned into the context's zone. The fsp is the number of
    /// fractional digits written (at most 6, the rest rounded).
    pub fn parse(_text: &[u8], _context: &TemporalContext) -> Converted<Option<DateTime>> {
        unimplemented!()
    }
    pub fn append_text(self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
    /// DATE_ADD. `None`: outside the range (MySQL's warning 1441) or a zero in the date.
    pub fn checked_add(self, _interval: Interval) -> Option<DateTime> {
        unimplemented!()
    }
    /// TIMESTAMPDIFF(unit, self, other), whole units, towards zero. Only the simple units.
    pub fn diff(self, _other: DateTime, _unit: IntervalUnit) -> i64 {
        unimplemented!()
    }
}
