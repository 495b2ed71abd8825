//! How long statements took: the buckets of the histograms, as Shoal keeps them, four to each power of two of microseconds.

use shoal_types::Value;

use crate::digests::Summary;
use crate::information_schema::{Rows, row};
use crate::statement_times::{BUCKETS, bound_us};

/// Picoseconds in a microsecond.
const PICOSECONDS_PER_US: u64 = 1_000_000;

fn buckets(owner: Vec<Value>, counts: &[u64; BUCKETS]) -> Vec<Vec<Value>> {
    let total: u64 = counts.iter().sum();
    let mut below = 0;
    let make = |(number, count): (usize, &u64)| {
        below += count;
        let low = if number == 0 { 0 } else { bound_us(number - 1) };
        let times = [low, bound_us(number)].map(|us| Value::UInt(us.saturating_mul(PICOSECONDS_PER_US)));
        let mut row = owner.clone();
        row.push(Value::UInt(number as u64));
        row.extend(times);
        row.extend(row![*count, below, Value::Double(if total == 0 { 0.0 } else { below as f64 / total as f64 })]);
        row
    };
    counts.iter().enumerate().map(make).collect()
}

pub fn global(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    buckets(Vec::new(), &rows.server.statement_times.histogram())
}

/// Of digests that were counted.
pub fn by_digest(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |summary: &Summary| {
        let database = Some(summary.database.as_str()).filter(|name| !name.is_empty());
        buckets(row![database, summary.digest.as_deref()], summary.buckets())
    };
    rows.server.digests.summaries().iter().flat_map(of).collect()
}
