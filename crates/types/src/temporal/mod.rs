//! DATE, TIME, DATETIME and TIMESTAMP with MySQL's ranges and zero dates.

mod calendar;
mod date;
mod datetime;
mod interval;
mod parse;
mod time;
mod zone;

pub use calendar::{day_number, days_in_month, period_add, period_diff};
pub use interval::{Interval, IntervalUnit};
pub use zone::TimeZone;

/// `year << 9 | month << 5 | day`; months and days may be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub u32);

/// Signed microseconds, -838:59:59 to 838:59:59, and the fractional digits to show.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    pub micros: i64,
    pub fsp: u8,
}

/// `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second) << 24 | microsecond`,
/// and the fractional digits to show. Ordered by `packed` alone.
#[derive(Clone, Copy, Debug)]
pub struct DateTime {
    pub packed: u64,
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
    pub rules: DateRules,
    pub zone: TimeZone,
    /// The statement's current date in `zone`: a TIME becomes a DATETIME of this day.
    pub today: Date,
}

impl Default for TemporalContext {
    fn default() -> TemporalContext {
        TemporalContext { rules: DateRules::default(), zone: TimeZone::UTC, today: Date::ZERO }
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
