//! DATE.

use super::{Date, DateRules, TemporalContext};
use crate::number::Converted;

impl Date {
    pub const ZERO: Date = Date(0);
    pub const MAX: Date = Date(9999 << 9 | 12 << 5 | 31);

    /// `None` when the rules refuse the date. Zero months and days are taken unless the rules say otherwise.
    pub fn new(_year: u32, _month: u32, _day: u32, _rules: DateRules) -> Option<Date> {
        unimplemented!()
    }
    pub fn year(self) -> u32 {
        self.0 >> 9
    }
    pub fn month(self) -> u32 {
        self.0 >> 5 & 15
    }
    pub fn day(self) -> u32 {
        self.0 & 31
    }
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Neither month nor day is zero.
    pub fn is_complete(self) -> bool {
        self.month() != 0 && self.day() != 0
    }
    /// Days since year 0 (TO_DAYS).
    pub fn day_number(self) -> u32 {
        unimplemented!()
    }
    /// FROM_DAYS; the zero date outside 366 to 3652424.
    pub fn from_day_number(_number: i64) -> Date {
        unimplemented!()
    }
    /// 0 = Monday (WEEKDAY). DAYOFWEEK is `(weekday() + 1) % 7 + 1`.
    pub fn weekday(self) -> u32 {
        unimplemented!()
    }
    /// 1 to 366.
    pub fn day_of_year(self) -> u32 {
        unimplemented!()
    }
    /// WEEK(date, mode) with mode 0 to 7.
    pub fn week(self, _mode: u32) -> u32 {
        unimplemented!()
    }
    /// YEARWEEK(date, mode): year * 100 + week.
    pub fn year_week(self, _mode: u32) -> u32 {
        unimplemented!()
    }
    /// `None` for a date without a month.
    pub fn last_day(self) -> Option<Date> {
        unimplemented!()
    }
    /// YYYYMMDD.
    pub fn to_number(self) -> u32 {
        unimplemented!()
    }
    pub fn from_number(_number: i64, _rules: DateRules) -> Option<Date> {
        unimplemented!()
    }
    /// The date that a text begins with; a time part is cut off. `None`: not a date under the rules.
    pub fn parse(_text: &[u8], _context: &TemporalContext) -> Converted<Option<Date>> {
        unimplemented!()
    }
    pub fn append_text(self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
}
