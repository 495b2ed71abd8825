//! DATE.

use super::calendar;
use super::{Date, DateRules, DateTime, TemporalContext};
use crate::number::{Converted, append_padded};

impl Date {
    /// '0000-00-00'.
    pub const ZERO: Date = Date(0);
    /// 9999-12-31.
    pub const MAX: Date = Date(9999 << 9 | 12 << 5 | 31);

    /// `None` when the date does not exist or the rules refuse it. Zero months and days are taken unless the rules say
    /// otherwise.
    pub fn new(year: u32, month: u32, day: u32, rules: DateRules) -> Option<Date> {
        if year > 9999 || month > 12 || day > 31 {
            return None;
        }
        if year | month | day == 0 {
            return (!rules.no_zero_date).then_some(Date::ZERO);
        }
        if month == 0 || day == 0 {
            return (!rules.no_zero_in_date).then_some(Date::pack(year, month, day));
        }
        let exists = rules.allow_invalid_dates || day <= calendar::days_in_month(year, month);
        exists.then_some(Date::pack(year, month, day))
    }

    pub(super) fn pack(year: u32, month: u32, day: u32) -> Date {
        Date(year << 9 | month << 5 | day)
    }

    /// 0 to 9999.
    pub fn year(self) -> u32 {
        self.0 >> 9
    }

    /// 0 to 12.
    pub fn month(self) -> u32 {
        self.0 >> 5 & 15
    }

    /// 0 to 31.
    pub fn day(self) -> u32 {
        self.0 & 31
    }

    /// It is '0000-00-00'. Dates with only a zero month or day are not.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Neither month nor day is zero.
    pub fn is_complete(self) -> bool {
        self.month() != 0 && self.day() != 0
    }

    /// Whether the rules would take this date.
    pub fn is_valid(self, rules: DateRules) -> bool {
        Date::new(self.year(), self.month(), self.day(), rules).is_some()
    }

    /// Days since year 0 (TO_DAYS).
    pub fn day_number(self) -> u32 {
        calendar::day_number(self.year(), self.month(), self.day())
    }

    /// FROM_DAYS; the zero date outside 366 to 3652424.
    pub fn from_day_number(number: i64) -> Date {
        calendar::date_of_day_number(number).map_or(Date::ZERO, |(year, month, day)| Date::pack(year, month, day))
    }

    /// 0 = Monday (WEEKDAY). DAYOFWEEK is `(weekday() + 1) % 7 + 1`.
    pub fn weekday(self) -> u32 {
        calendar::weekday_of(self.day_number(), false)
    }

    /// 1 to 366.
    pub fn day_of_year(self) -> u32 {
        (self.day_number() + 1).saturating_sub(calendar::day_number(self.year(), 1, 1))
    }

    /// WEEK(date, mode) with mode 0 to 7.
    pub fn week(self, mode: u32) -> u32 {
        self.year_and_week(mode).1
    }

    /// YEARWEEK(date, mode): year * 100 + week.
    pub fn year_week(self, mode: u32) -> u32 {
        let (year, week) = self.year_and_week(mode | 2);
        year * 100 + week
    }

    /// The year to which WEEK's number in this mode counts, and the number.
    pub fn year_and_week(self, mode: u32) -> (u32, u32) {
        calendar::year_and_week(self.year(), self.month(), self.day(), mode & 7)
    }

    /// `None` for a date without a month.
    pub fn last_day(self) -> Option<Date> {
        let days = calendar::days_in_month(self.year(), self.month());
        (days > 0).then(|| Date::pack(self.year(), self.month(), days))
    }

    /// YYYYMMDD.
    pub fn to_number(self) -> u32 {
        self.year() * 10_000 + self.month() * 100 + self.day()
    }

    /// From YYYYMMDD, YYMMDD, or with a time of day, which is dropped.
    pub fn from_number(number: i64, rules: DateRules) -> Option<Date> {
        DateTime::from_number(number, rules).map(DateTime::date)
    }

    /// The date that a text begins with. `None`: not a date under the rules. `rounded`: a time of day was dropped.
    pub fn parse(text: &[u8], context: &TemporalContext) -> Converted<Option<Date>> {
        let parsed = DateTime::parse(text, context);
        let drops_time = parsed.value.is_some_and(|value| value.micros_of_day() != 0);
        Converted { rounded: parsed.rounded | drops_time, ..parsed.map(|value| value.map(DateTime::date)) }
    }

    /// YYYY-MM-DD.
    pub fn append_text(self, out: &mut Vec<u8>) {
        append_padded(self.year(), 4, out);
        out.push(b'-');
        append_padded(self.month(), 2, out);
        out.push(b'-');
        append_padded(self.day(), 2, out);
    }
}
