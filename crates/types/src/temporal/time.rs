//! TIME.

use super::interval::Interval;
use super::{Date, DateTime, FSP_MAX, Time, append_fraction, micros_per_digit, parse};
use crate::Decimal;
use crate::number::{Converted, append_padded, append_u64};

impl Time {
    /// 00:00:00.
    pub const ZERO: Time = Time { micros: 0, fsp: 0 };
    /// 838:59:59.
    pub const MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;
    /// 838:59:59 as HHMMSS.
    const MAX_NUMBER: i64 = 8_385_959;

    /// Clamped to the range.
    pub fn from_micros(micros: i64, fsp: u8) -> Converted<Time> {
        let clamped = micros.clamp(-Time::MAX_MICROS, Time::MAX_MICROS);
        Converted {
            out_of_range: clamped != micros,
            ..Converted::exact(Time { micros: clamped, fsp: fsp.min(FSP_MAX) })
        }
    }

    /// Clamped to the range; minutes, seconds and microseconds may be any size.
    pub fn from_parts(
        negative: bool,
        hours: u64,
        minutes: u64,
        seconds: u64,
        micros: u64,
        fsp: u8,
    ) -> Converted<Time> {
        let seconds =
            hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60)).saturating_add(seconds);
        let total = seconds.saturating_mul(1_000_000).saturating_add(micros);
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        Time::from_micros(if negative { -total } else { total }, fsp)
    }

    /// Below zero.
    pub fn is_negative(self) -> bool {
        self.micros < 0
    }

    /// 0 to 838, without the sign.
    pub fn hours(self) -> u32 {
        (self.micros.unsigned_abs() / 3_600_000_000) as u32
    }

    /// 0 to 59, without the sign.
    pub fn minutes(self) -> u32 {
        (self.micros.unsigned_abs() / 60_000_000 % 60) as u32
    }

    /// 0 to 59, without the sign.
    pub fn seconds(self) -> u32 {
        (self.micros.unsigned_abs() / 1_000_000 % 60) as u32
    }

    /// The fraction of the second.
    pub fn subsecond_micros(self) -> u32 {
        (self.micros.unsigned_abs() % 1_000_000) as u32
    }

    /// Rounded half away from zero to `fsp` fractional digits, clamped to the range.
    pub fn round(self, fsp: u8) -> Time {
        let digit = micros_per_digit(fsp);
        let half = if self.micros < 0 { -digit / 2 } else { digit / 2 };
        Time::from_micros((self.micros.saturating_add(half)) / digit * digit, fsp).value
    }

    /// Cut to `fsp` fractional digits (at most 6), towards zero.
    pub fn truncate(self, fsp: u8) -> Time {
        let digit = micros_per_digit(fsp);
        Time { micros: self.micros / digit * digit, fsp: fsp.min(FSP_MAX) }
    }

    /// Adds an interval without months. `None`: it has months, or the result is out of range.
    pub fn checked_add(self, interval: Interval) -> Option<Time> {
        if interval.months != 0 {
            return None;
        }
        let sum = self.micros.checked_add(interval.signed_micros()?)?;
        (sum.abs() <= Time::MAX_MICROS).then_some(Time { micros: sum, fsp: self.fsp })
    }

    fn to_whole_number(self) -> i64 {
        let number =
            i64::from(self.hours()) * 10_000 + i64::from(self.minutes()) * 100 + i64::from(self.seconds());
        if self.is_negative() { -number } else { number }
    }

    /// HHMMSS, signed, the fraction rounded.
    pub fn to_number(self) -> i64 {
        self.round(0).to_whole_number()
    }

    /// HHMMSS.ffffff with `fsp` digits after the point.
    pub fn to_decimal(self) -> Decimal {
        let fsp = self.fsp.min(FSP_MAX);
        let fraction = i64::from(self.subsecond_micros()) / micros_per_digit(fsp);
        let fraction = if self.is_negative() { -fraction } else { fraction };
        let power = 1_000_000 / micros_per_digit(fsp);
        Decimal::new(i128::from(self.to_whole_number()) * i128::from(power) + i128::from(fraction), fsp)
    }

    /// HHMMSS.ffffff, signed, as near as a double comes.
    pub fn to_f64(self) -> f64 {
        let fraction = f64::from(self.subsecond_micros()) / 1e6;
        self.to_whole_number() as f64 + if self.is_negative() { -fraction } else { fraction }
    }

    /// HHMMSS as a number; greater ones may be whole datetimes. `None`: minutes or seconds above 59.
    pub fn from_number(number: i64) -> Converted<Option<Time>> {
        const SHORTEST_DATETIME: i64 = 10_000_000_000;
        if number.unsigned_abs() > Time::MAX_NUMBER as u64 {
            let rules = super::DateRules { allow_invalid_dates: true, ..Default::default() };
            if number >= SHORTEST_DATETIME
                && let Some(datetime) = DateTime::from_number(number, rules)
            {
                return Converted { rounded: true, ..Converted::exact(Some(datetime.time())) };
            }
            return Time::from_micros(if number < 0 { -i64::MAX } else { i64::MAX }, 0).map(Some);
        }
        let magnitude = number.unsigned_abs();
        let (hours, minutes, seconds) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
        if minutes > 59 || seconds > 59 {
            return Converted { out_of_range: true, ..Converted::truncated(None) };
        }
        Time::from_parts(number < 0, hours, minutes, seconds, 0, 0).map(Some)
    }

    /// 'D HH:MM:SS.ffffff', 'HH:MM', 'HHMMSS', or the time of a full datetime. `None`: not a time at all. The fsp is
    /// the number of fractional digits written (at most 6, the rest rounded).
    pub fn parse(text: &[u8]) -> Converted<Option<Time>> {
        parse::time(text)
    }

    /// The datetime of this time on the day `today`; `None` outside the range of dates.
    pub fn on_day(self, today: Date) -> Option<DateTime> {
        let base = DateTime::from_date(today, 0, self.fsp);
        DateTime::from_micros_since_year_zero(base.micros_since_year_zero() + self.micros, self.fsp)
    }

    /// [-]HH:MM:SS with `fsp` fractional digits; hours may have three digits.
    pub fn append_text(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        match self.hours() {
            hours @ 0..100 => append_padded(hours, 2, out),
            hours => append_u64(u64::from(hours), out),
        }
        out.push(b':');
        append_padded(self.minutes(), 2, out);
        out.push(b':');
        append_padded(self.seconds(), 2, out);
        append_fraction(self.subsecond_micros(), self.fsp, out);
    }
}
