//! What statements have cost, by their digests.
//!
//! Whoever has SELECT on the table sees all of it: a text names tables, and a sample holds values.

use shoal_types::Value;

use super::Rows;
use super::cell::row;
use super::sys::format::format_time;
use crate::digests::Summary;

/// performance_schema tells times in these.
const PICOSECONDS: u64 = 1_000_000;

fn summaries(rows: &Rows<'_>) -> Vec<Summary> {
    rows.server.digests.summaries()
}

fn moment(rows: &Rows<'_>, micros: i64) -> Value {
    Value::DateTime(rows.variables.time_zone.from_utc_micros(micros, 6))
}

fn picoseconds(us: u64) -> u64 {
    us.saturating_mul(PICOSECONDS)
}

fn average(sum: u64, count: u64) -> u64 {
    sum / count.max(1)
}

/// The column `SCHEMA_NAME`, or `db`.
fn database(summary: &Summary) -> Option<&str> {
    Some(summary.database.as_str()).filter(|name| !name.is_empty())
}

pub fn by_digest(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |summary: &Summary| {
        let mut row = row![
            database(summary),
            summary.digest.as_deref(),
            summary.digest.as_ref().map(|_| summary.text.as_str()),
            summary.count,
            picoseconds(summary.sum_us),
            picoseconds(summary.min_us),
            picoseconds(average(summary.sum_us, summary.count)),
            picoseconds(summary.max_us),
            0_u64,
            summary.errors,
            summary.warnings,
            summary.rows_affected,
            summary.rows_sent,
            summary.rows_examined,
        ];
        // Temporary tables and joins; SELECT_SCAN; sorts; the index; CPU, memory, secondary engines.
        row.extend(std::iter::repeat_n(Value::UInt(0), 6));
        row.push(Value::UInt(summary.full_scans));
        row.extend(std::iter::repeat_n(Value::UInt(0), 4));
        row.push(Value::UInt(summary.statements_without_index));
        row.extend(std::iter::repeat_n(Value::UInt(0), 5));
        row.extend([summary.first_seen, summary.last_seen].map(|micros| moment(rows, micros)));
        row.extend([950, 990, 999].map(|of_1000| Value::UInt(picoseconds(summary.quantile_us(of_1000)))));
        let sample = &summary.sample;
        row.push(summary.digest.as_ref().map_or(Value::Null, |_| Value::Str(sample.text.clone())));
        row.extend([moment(rows, sample.seen), Value::UInt(picoseconds(sample.us))]);
        row
    };
    summaries(rows).iter().map(make).collect()
}

pub fn analysis(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let time = |us: u64| Value::Str(format_time(us.saturating_mul(1000)).into_bytes());
    analysis_with(rows, time, Value::str("   0 bytes"))
}

pub fn raw_analysis(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    analysis_with(rows, |us| Value::UInt(picoseconds(us)), Value::UInt(0))
}

/// The costliest first.
fn analysis_with(rows: &Rows<'_>, time: impl Fn(u64) -> Value, no_memory: Value) -> Vec<Vec<Value>> {
    let mut found = summaries(rows);
    found.sort_by_key(|summary| std::cmp::Reverse(summary.sum_us));
    let make = |summary: &Summary| {
        row![
            summary.digest.as_ref().map(|_| summary.text.as_str()),
            database(summary),
            if summary.statements_without_index > 0 { "*" } else { "" },
            summary.count,
            summary.errors,
            summary.warnings,
            time(summary.sum_us),
            time(summary.max_us),
            time(average(summary.sum_us, summary.count)),
            time(0),
            time(0),
            summary.rows_sent,
            average(summary.rows_sent, summary.count),
            summary.rows_examined,
            average(summary.rows_examined, summary.count),
            summary.rows_affected,
            average(summary.rows_affected, summary.count),
            0_u64,
            0_u64,
            0_u64,
            0_u64,
            no_memory.clone(),
            no_memory.clone(),
            summary.digest.as_deref(),
            moment(rows, summary.first_seen),
            moment(rows, summary.last_seen),
        ]
    };
    found.iter().map(make).collect()
}
