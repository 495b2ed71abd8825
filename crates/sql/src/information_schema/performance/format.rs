//! What tables of performance_schema share.

use shoal_types::Value;

use crate::query_log::secrets::without_secrets;
use crate::statement_events::Sums;

/// Picoseconds in a nanosecond.
pub(in crate::information_schema) const PICOSECONDS_PER_NS: u64 = 1000;

pub(in crate::information_schema) fn picoseconds(ns: u64) -> u64 {
    ns.saturating_mul(PICOSECONDS_PER_NS)
}

/// A statement without passwords.
pub(in crate::information_schema) fn shown_text(text: &[u8], backslashes: bool) -> Value {
    Value::Str(without_secrets(text, backslashes).into_owned())
}

pub(in crate::information_schema) fn zeros(count: usize) -> impl Iterator<Item = Value> {
    std::iter::repeat_n(Value::UInt(0), count)
}

/// SUM, MIN, AVG and MAX of times.
pub(in crate::information_schema) fn times(sums: &Sums) -> [Value; 4] {
    [sums.sum_ns, sums.shortest_ns(), sums.average_ns(), sums.max_ns].map(|ns| Value::UInt(picoseconds(ns)))
}

/// SUM_LOCK_TIME to COUNT_SECONDARY.
pub(in crate::information_schema) fn summed_costs(sums: &Sums) -> Vec<Value> {
    let counted = [0, sums.errors, sums.warnings, sums.rows_affected, sums.rows_sent, sums.rows_examined];
    let mut row: Vec<Value> = counted.map(Value::UInt).into();
    // Temporary tables, joins and ranges; scans; sorts; statements without an index.
    row.extend(zeros(6));
    row.push(Value::UInt(sums.full_scans));
    row.extend(zeros(4));
    row.push(Value::UInt(sums.statements_without_index));
    row.extend(zeros(5));
    row
}
