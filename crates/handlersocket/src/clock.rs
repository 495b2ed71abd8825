//! The server's clock as columns hold it.

use shoal_types::{Column, Date, TimeZone, Value};

/// CURRENT_TIMESTAMP for a column.
pub fn now_of(column: &Column, zone: &TimeZone, now_micros: i64) -> Value {
    Value::DateTime(zone.from_utc_micros(now_micros, 6).truncate(column.sql_type.decimals))
}

pub fn today(zone: &TimeZone, now_micros: i64) -> Date {
    zone.from_utc_micros(now_micros, 0).date()
}
