//! `performance_schema.error_log`, and what status variables tell of it.

use std::sync::Arc;

use shoal_error_log::Entry;
use shoal_types::Value;

use super::Rows;
use super::cell::row;

pub fn error_log(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |entry: &Arc<Entry>| {
        row![
            Value::DateTime(rows.variables.time_zone.from_utc_micros(entry.at_us, 6)),
            entry.connection,
            entry.priority.name(),
            entry.code(),
            entry.subsystem,
            &entry.text,
        ]
    };
    shoal_error_log::entries().iter().map(make).collect()
}

/// As MySQL has them; `Shoal_error_log_lost` are entries that no file took.
pub fn status() -> Vec<(&'static str, String)> {
    let figures = shoal_error_log::figures();
    vec![
        ("Error_log_buffered_bytes", figures.bytes.to_string()),
        ("Error_log_buffered_events", figures.entries.to_string()),
        ("Error_log_expired_events", figures.expired.to_string()),
        ("Error_log_latest_write", figures.newest_us.to_string()),
        ("Shoal_error_log_lost", figures.lost.to_string()),
    ]
}
