//! `mysql.slow_log` and `mysql.general_log`: what the logs keep in memory with `log_output=TABLE`.

use shoal_types::{Time, Value};

use super::Rows;
use super::cell::row;
use crate::account::Privileges;

/// Whoever reads these reads what others have asked for.
fn may_read(rows: &Rows<'_>) -> bool {
    rows.viewer().is_global(Privileges::SELECT)
}

fn moment(rows: &Rows<'_>, micros: i64) -> Value {
    Value::DateTime(rows.variables.time_zone.from_utc_micros(micros, 6))
}

fn duration(micros: u64) -> Value {
    Value::Time(Time::from_micros(i64::try_from(micros).unwrap_or(i64::MAX), 6).value)
}

/// As a number of the signed columns that MySQL has for it.
fn count(number: u64) -> Value {
    Value::Int(i64::from(i32::try_from(number).unwrap_or(i32::MAX)))
}

pub fn slow_log(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    if !may_read(rows) {
        return Vec::new();
    }
    let entries = rows.server.query_logs.slow_rows.entries();
    let make = |entry: &std::sync::Arc<crate::query_log::SlowEntry>| {
        row![
            moment(rows, entry.started),
            &entry.user_host,
            duration(entry.query_time),
            duration(0),
            count(entry.rows_sent),
            count(entry.rows_examined),
            &entry.database,
            0_i64,
            0_i64,
            1_u64,
            Value::Str(entry.text.clone()),
            u64::from(entry.connection),
        ]
    };
    entries.iter().map(make).collect()
}

pub fn general_log(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    if !may_read(rows) {
        return Vec::new();
    }
    let make = |entry: &std::sync::Arc<crate::query_log::GeneralEntry>| {
        row![
            moment(rows, entry.at),
            &entry.user_host,
            u64::from(entry.connection),
            1_u64,
            entry.command,
            Value::Str(entry.text.clone()),
        ]
    };
    rows.server.query_logs.general_rows.entries().iter().map(make).collect()
}
