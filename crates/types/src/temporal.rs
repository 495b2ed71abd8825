//! DATE, TIME, DATETIME and TIMESTAMP with MySQL's ranges and zero dates.

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

impl PartialEq for Time {
    fn eq(&self, other: &Time) -> bool {
        self.micros == other.micros
    }
}

impl PartialEq for DateTime {
    fn eq(&self, other: &DateTime) -> bool {
        self.packed == other.packed
    }
}

/// A session's time zone.
#[derive(Clone, Debug)]
pub struct TimeZone;

impl TimeZone {
    pub const UTC: TimeZone = TimeZone;

    /// Microseconds since 1970 UTC of a local time; 0 for the zero datetime.
    pub fn to_utc_micros(&self, _local: DateTime) -> i64 {
        0
    }

    pub fn from_utc_micros(&self, _micros: i64, fsp: u8) -> DateTime {
        DateTime { packed: 0, fsp }
    }
}
