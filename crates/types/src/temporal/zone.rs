//! Time zones.

use super::DateTime;

/// A session's time zone.
#[derive(Clone, Debug)]
pub struct TimeZone {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Utc,
}

impl TimeZone {
    pub const UTC: TimeZone = TimeZone { kind: Kind::Utc };

    /// 'SYSTEM', 'UTC', '+05:30' or a name of the tz database.
    pub fn parse(_name: &str) -> Option<TimeZone> {
        unimplemented!()
    }
    /// As @@time_zone shows it.
    pub fn name(&self) -> &str {
        unimplemented!()
    }
    /// Microseconds since 1970 UTC of a local time; 0 for the zero datetime.
    pub fn to_utc_micros(&self, _local: DateTime) -> i64 {
        let _ = &self.kind;
        unimplemented!()
    }
    pub fn from_utc_micros(&self, _micros: i64, _fsp: u8) -> DateTime {
        unimplemented!()
    }
    /// The local time does not exist (the clocks were put forward over it).
    pub fn is_in_gap(&self, _local: DateTime) -> bool {
        unimplemented!()
    }
}
