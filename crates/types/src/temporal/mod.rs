//! DATE, TIME, DATETIME and TIMESTAMP with MySQL's ranges, zero dates, texts and calendar arithmetic.
//!
//! Values are packed integers whose order is the order of time. A DATE or DATETIME may have a zero month or day (a
//! "zero in date"), and '0000-00-00' is a value of its own; which of them are taken is decided by [`DateRules`] when a
//! value is made, not afterwards. The digits of the fraction to show (`fsp`) travel with TIME and DATETIME but are not
//! part of the value. Nothing here reads a clock: the current date comes in by [`TemporalContext`].

mod calendar;
mod date;
mod datetime;
mod interval;
mod parse;
mod time;
mod zone;

#[cfg(test)]
mod tests;

pub(crate) use calendar::full_year;
pub use calendar::{day_number, days_in_month, days_in_year, period_add, period_diff};
pub use interval::{Interval, IntervalUnit};
pub use zone::TimeZone;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Most fractional digits of a second.
pub const FSP_MAX: u8 = 6;

/// `year << 9 | month << 5 | day`; months and days may be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub u32);

/// Signed microseconds, -838:59:59 to 838:59:59, and the fractional digits to show.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Negative for times below zero.
    pub micros: i64,
    /// Fractional digits to show, 0 to 6.
    pub fsp: u8,
}

/// `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second) << 24 | microsecond`,
/// and the fractional digits to show. Ordered by `packed` alone.
#[derive(Clone, Copy, Debug)]
pub struct DateTime {
    /// As above: order of the number is order of the moments.
    pub packed: u64,
    /// Fractional digits to show, 0 to 6.
    pub fsp: u8,
}

/// The parts of sql_mode that decide which dates are valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateRules {
    /// '0000-00-00' is refused (NO_ZERO_DATE).
    pub no_zero_date: bool,
    /// A zero month or day beside a year is refused (NO_ZERO_IN_DATE).
    pub no_zero_in_date: bool,
    /// Any day up to 31 is taken in every month (ALLOW_INVALID_DATES).
    pub allow_invalid_dates: bool,
}

/// What conversions between temporal types need to know of the session.
#[derive(Clone, Debug)]
pub struct TemporalContext {
    /// From the session's sql_mode.
    pub rules: DateRules,
    /// The session's time zone.
    pub zone: TimeZone,
    /// The statement's current date in `zone`: a TIME becomes a DATETIME of this day.
    pub today: Date,
}

impl Default for TemporalContext {
    fn default() -> TemporalContext {
        TemporalContext { rules: DateRules::default(), zone: TimeZone::UTC, today: Date::ZERO }
    }
}

/// Microseconds in one unit of the last of `fsp` fractional digits.
fn micros_per_digit(fsp: u8) -> i64 {
    const MICROS: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    MICROS[usize::from(fsp.min(FSP_MAX))]
}

/// Appends the first `fsp` digits of a fraction with its point.
fn append_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let fsp = fsp.min(FSP_MAX);
    if fsp > 0 {
        out.push(b'.');
        crate::number::append_padded(micros / micros_per_digit(fsp) as u32, usize::from(fsp), out);
    }
}

macro_rules! ordered_by {
    ($name:ident, $field:ident) => {
        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.$field == other.$field
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &$name) -> std::cmp::Ordering {
                self.$field.cmp(&other.$field)
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.$field.hash(state)
            }
        }
    };
}

// The digits to show are not part of the value.
ordered_by!(Time, micros);
ordered_by!(DateTime, packed);

macro_rules! displayed_as_text {
    ($($name:ident)*) => {
        $(impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut text = Vec::with_capacity(32);
                self.append_text(&mut text);
                f.pad(std::str::from_utf8(&text).unwrap_or_default())
            }
        })*
    };
}

displayed_as_text!(Date Time DateTime);
