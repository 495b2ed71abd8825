//! DATETIME.

use super::calendar;
use super::interval::{Interval, IntervalUnit};
use super::{
    Date, DateRules, DateTime, FSP_MAX, MICROS_PER_DAY, TemporalContext, Time, append_fraction, micros_per_digit,
    parse,
};
use crate::Decimal;
use crate::number::{Converted, append_padded};

impl DateTime {
    /// '0000-00-00 00:00:00'.
    pub const ZERO: DateTime = DateTime { packed: 0, fsp: 0 };
    /// 9999-12-31 23:59:59.999999.
    pub const MAX: DateTime =
        DateTime { packed: ((9999 * 13 + 12) << 5 | 31) << 41 | 23 << 36 | 59 << 30 | 59 << 24 | 999_999, fsp: 6 };

    /// A date and the time of day in microseconds (0 to 86,399,999,999).
    pub fn from_date(date: Date, micros_of_day: u64, fsp: u8) -> DateTime {
        let day = u64::from(date.year() * 13 + date.month()) << 5 | u64::from(date.day());
        let seconds = micros_of_day / 1_000_000;
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let packed = day << 41 | hour << 36 | minute << 30 | second << 24 | (micros_of_day % 1_000_000);
        DateTime { packed, fsp: fsp.min(FSP_MAX) }
    }

    /// `None`: a part out of its range or a date that the rules refuse. Order: year, month, day, hour, minute, second.
    pub fn new(parts: [u32; 6], micros: u32, fsp: u8, rules: DateRules) -> Option<DateTime> {
        let [year, month, day, hour, minute, second] = parts;
        if hour > 23 || minute > 59 || second > 59 || micros > 999_999 {
            return None;
        }
        // A zero date with a time of day is a date with zeros in it.
        let date = if hour | minute | second | micros != 0 && year | month | day == 0 {
            (!rules.no_zero_in_date).then_some(Date::ZERO)?
        } else {
            Date::new(year, month, day, rules)?
        };
        let seconds = u64::from(hour * 3600 + minute * 60 + second);
        Some(DateTime::from_date(date, seconds * 1_000_000 + u64::from(micros), fsp))
    }

    /// Without the time of day.
    pub fn date(self) -> Date {
        let months = (self.packed >> 46) as u32;
        Date::pack(months / 13, months % 13, self.day())
    }

    /// 0 to 9999.
    pub fn year(self) -> u32 {
        (self.packed >> 46) as u32 / 13
    }

    /// 0 to 12.
    pub fn month(self) -> u32 {
        (self.packed >> 46) as u32 % 13
    }

    /// 0 to 31.
    pub fn day(self) -> u32 {
        (self.packed >> 41 & 31) as u32
    }

    /// 0 to 23.
    pub fn hour(self) -> u32 {
        (self.packed >> 36 & 31) as u32
    }

    /// 0 to 59.
    pub fn minute(self) -> u32 {
        (self.packed >> 30 & 63) as u32
    }

    /// 0 to 59.
    pub fn second(self) -> u32 {
        (self.packed >> 24 & 63) as u32
    }

    /// 0 to 999,999.
    pub fn microsecond(self) -> u32 {
        (self.packed & 0xff_ffff) as u32
    }

    /// It is '0000-00-00 00:00:00'.
    pub fn is_zero(self) -> bool {
        self.packed == 0
    }

    /// The time of day in microseconds.
    pub fn micros_of_day(self) -> i64 {
        let seconds = self.hour() * 3600 + self.minute() * 60 + self.second();
        i64::from(seconds) * 1_000_000 + i64::from(self.microsecond())
    }

    /// The time of day.
    pub fn time(self) -> Time {
        Time { micros: self.micros_of_day(), fsp: self.fsp }
    }

    /// Microseconds since year 0: the measure for differences.
    pub fn micros_since_year_zero(self) -> i64 {
        i64::from(self.date().day_number()) * MICROS_PER_DAY + self.micros_of_day()
    }

    /// `None` outside 0001-01-01 to 9999-12-31.
    pub fn from_micros_since_year_zero(micros: i64, fsp: u8) -> Option<DateTime> {
        let (year, month, day) = calendar::date_of_day_number(micros.div_euclid(MICROS_PER_DAY))?;
        let micros_of_day = micros.rem_euclid(MICROS_PER_DAY) as u64;
        Some(DateTime::from_date(Date::pack(year, month, day), micros_of_day, fsp))
    }

    /// Rounded half up. `None` when rounding passes the end of year 9999 or would carry into a date with zeros.
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let digit = micros_per_digit(fsp);
        let fraction = i64::from(self.microsecond());
        let rounded = (fraction + digit / 2) / digit * digit;
        if rounded < 1_000_000 {
            return Some(DateTime { packed: self.packed & !0xff_ffff | rounded as u64, fsp: fsp.min(FSP_MAX) });
        }
        let next = self.micros_of_day() - fraction + rounded;
        if next < MICROS_PER_DAY {
            return Some(DateTime::from_date(self.date(), next as u64, fsp));
        }
        if !self.date().is_complete() {
            return None;
        }
        DateTime::from_micros_since_year_zero(self.micros_since_year_zero() - fraction + rounded, fsp)
    }

    /// Cut to `fsp` fractional digits (at most 6), towards zero.
    pub fn truncate(self, fsp: u8) -> DateTime {
        let digit = micros_per_digit(fsp) as u32;
        let fraction = self.microsecond() / digit * digit;
        DateTime { packed: self.packed & !0xff_ffff | u64::from(fraction), fsp: fsp.min(FSP_MAX) }
    }

    fn to_whole_number(self) -> i64 {
        let time = self.hour() * 10_000 + self.minute() * 100 + self.second();
        i64::from(self.date().to_number()) * 1_000_000 + i64::from(time)
    }

    /// YYYYMMDDHHMMSS, the fraction rounded.
    pub fn to_number(self) -> i64 {
        self.round(0).unwrap_or(self).to_whole_number()
    }

    /// YYYYMMDDHHMMSS.ffffff with `fsp` digits after the point.
    pub fn to_decimal(self) -> Decimal {
        let fsp = self.fsp.min(FSP_MAX);
        let fraction = i64::from(self.microsecond()) / micros_per_digit(fsp);
        let power = 1_000_000 / micros_per_digit(fsp);
        Decimal::new(i128::from(self.to_whole_number()) * i128::from(power) + i128::from(fraction), fsp)
    }

    /// YYYYMMDDHHMMSS.ffffff, as near as a double comes.
    pub fn to_f64(self) -> f64 {
        self.to_whole_number() as f64 + f64::from(self.microsecond()) / 1e6
    }

    /// YYYYMMDD, YYMMDD, YYYYMMDDHHMMSS or YYMMDDHHMMSS as a number.
    pub fn from_number(number: i64, rules: DateRules) -> Option<DateTime> {
        let number = match number {
            0 => 0,
            101..=691_231 => (number + 20_000_000) * 1_000_000,
            700_101..=991_231 => (number + 19_000_000) * 1_000_000,
            1_000_101..=99_991_231 => number * 1_000_000,
            101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
            700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
            991_231_235_960..=99_999_999_999_999 => number,
            _ => return None,
        };
        let (date, time) = ((number / 1_000_000) as u32, (number % 1_000_000) as u32);
        let parts = [date / 10_000, date / 100 % 100, date % 100, time / 10_000, time / 100 % 100, time % 100];
        DateTime::new(parts, 0, 0, rules)
    }

    /// Any of MySQL's datetime texts; an offset suffix is turned into the context's zone. The fsp is the number of
    /// fractional digits written (at most 6, the rest rounded). `None`: not a datetime under the rules.
    pub fn parse(text: &[u8], context: &TemporalContext) -> Converted<Option<DateTime>> {
        parse::datetime(text, context)
    }

    /// YYYY-MM-DD HH:MM:SS with `fsp` fractional digits.
    pub fn append_text(self, out: &mut Vec<u8>) {
        self.date().append_text(out);
        out.push(b' ');
        append_padded(self.hour(), 2, out);
        out.push(b':');
        append_padded(self.minute(), 2, out);
        out.push(b':');
        append_padded(self.second(), 2, out);
        append_fraction(self.microsecond(), self.fsp, out);
    }

    /// DATE_ADD. `None`: outside the range (MySQL's warning 1441) or a zero in the date. Adding months goes to the
    /// last day of a shorter month.
    pub fn checked_add(self, interval: Interval) -> Option<DateTime> {
        let date = self.date();
        if !date.is_complete() {
            return None;
        }
        if interval.months == 0 {
            let sum = self.micros_since_year_zero().checked_add(interval.signed_micros()?)?;
            return DateTime::from_micros_since_year_zero(sum, self.fsp);
        }
        let added = i64::try_from(interval.months).ok()?;
        let added = if interval.negative { -added } else { added };
        let months = (i64::from(date.year()) * 12 + i64::from(date.month()) - 1).checked_add(added)?;
        if !(0..120_000).contains(&months) {
            return None;
        }
        let (year, month) = ((months / 12) as u32, (months % 12) as u32 + 1);
        let day = date.day().min(calendar::days_in_month(year, month));
        let moved = DateTime::from_date(Date::pack(year, month, day), self.micros_of_day() as u64, self.fsp);
        if interval.micros == 0 { Some(moved) } else { moved.checked_add(Interval { months: 0, ..interval }) }
    }

    /// TIMESTAMPDIFF(unit, self, other): whole units from `self` to `other`, cut towards zero. A compound unit counts
    /// in microseconds.
    pub fn diff(self, other: DateTime, unit: IntervalUnit) -> i64 {
        let micros = other.micros_since_year_zero() - self.micros_since_year_zero();
        match unit {
            IntervalUnit::Year => self.months_until(other) / 12,
            IntervalUnit::Quarter => self.months_until(other) / 3,
            IntervalUnit::Month => self.months_until(other),
            IntervalUnit::Week => micros / (7 * MICROS_PER_DAY),
            IntervalUnit::Day => micros / MICROS_PER_DAY,
            IntervalUnit::Hour => micros / 3_600_000_000,
            IntervalUnit::Minute => micros / 60_000_000,
            IntervalUnit::Second => micros / 1_000_000,
            _ => micros,
        }
    }

    fn months_until(self, other: DateTime) -> i64 {
        if other < self {
            return -other.months_until(self);
        }
        let months = |moment: DateTime| i64::from(moment.year()) * 12 + i64::from(moment.month());
        let within_month = |moment: DateTime| (moment.day(), moment.micros_of_day());
        months(other) - months(self) - i64::from(within_month(other) < within_month(self))
    }
}
