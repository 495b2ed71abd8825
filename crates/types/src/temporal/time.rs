//! TIME.

use super::Time;
use crate::Decimal;
use crate::number::Converted;

impl Time {
    pub const MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;

    /// Clamped to the range.
    pub fn from_micros(_micros: i64, _fsp: u8) -> Converted<Time> {
        unimplemented!()
    }
    /// Clamped to the range; minutes, seconds and microseconds may be any size.
    pub fn from_parts(
        _negative: bool,
        _hours: u64,
        _minutes: u64,
        _seconds: u64,
        _micros: u64,
        _fsp: u8,
    ) -> Converted<Time> {
        unimplemented!()
    }
    pub fn is_negative(self) -> bool {
        self.micros < 0
    }
    pub fn hours(self) -> u32 {
        (self.micros.unsigned_abs() / 3_600_000_000) as u32
    }
    pub fn minutes(self) -> u32 {
        (self.micros.unsigned_abs() / 60_000_000 % 60) as u32
    }
    pub fn seconds(self) -> u32 {
        (self.micros.unsigned_abs() / 1_000_000 % 60) as u32
    }
    /// The fraction of the second.
    pub fn subsecond_micros(self) -> u32 {
        (self.micros.unsigned_abs() % 1_000_000) as u32
    }
    /// Rounded half away from zero to `fsp` fractional digits.
    pub fn round(self, _fsp: u8) -> Time {
        unimplemented!()
    }
    pub fn truncate(self, _fsp: u8) -> Time {
        unimplemented!()
    }
    /// HHMMSS, signed, the fraction rounded.
    pub fn to_number(self) -> i64 {
        unimplemented!()
    }
    /// HHMMSS.ffffff with `fsp` digits after the point.
    pub fn to_decimal(self) -> Decimal {
        unimplemented!()
    }
    pub fn to_f64(self) -> f64 {
        unimplemented!()
    }
    /// HHMMSS as a number. `None`: minutes or seconds above 59.
    pub fn from_number(_number: i64) -> Converted<Option<Time>> {
        unimplemented!()
    }
    /// 'D HH:MM:SS.ffffff', 'HH:MM', 'HHMMSS', or the time of a full datetime. `None`: not a time at all.
    pub fn parse(_text: &[u8]) -> Converted<Option<Time>> {
        unimplemented!()
    }
    pub fn append_text(self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
}
