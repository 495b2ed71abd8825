//! Statements of a kind that deserve a look, by their digests.

use shoal_types::Value;

use super::format::{Form, percent};
use crate::digests::Summary;
use crate::information_schema::{Rows, row};

/// Nanoseconds in a microsecond.
const NS_PER_US: u64 = 1000;

/// Neither sorts nor temporary tables are counted by statement.
pub fn none(_: &Rows<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

fn moment(rows: &Rows<'_>, micros: i64) -> Value {
    Value::DateTime(rows.variables.time_zone.from_utc_micros(micros, 6))
}

fn time(form: Form, us: u64) -> Value {
    form.time(us.saturating_mul(NS_PER_US))
}

fn average(sum: u64, count: u64) -> u64 {
    (sum + count / 2) / count.max(1)
}

/// The columns `query` and `db`.
fn head(summary: &Summary) -> Vec<Value> {
    let database = Some(summary.database.as_str()).filter(|name| !name.is_empty());
    row![summary.digest.as_ref().map(|_| summary.text.as_str()), database]
}

/// The columns `first_seen`, `last_seen` and `digest`.
fn tail(rows: &Rows<'_>, summary: &Summary) -> Vec<Value> {
    row![moment(rows, summary.first_seen), moment(rows, summary.last_seen), summary.digest.as_deref()]
}

pub fn with_errors(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = rows.server.digests.summaries();
    found.retain(|summary| summary.errors > 0 || summary.warnings > 0);
    found.sort_by_key(|summary| std::cmp::Reverse((summary.errors, summary.warnings)));
    let make = |summary: &Summary| {
        let mut row = head(summary);
        row.extend(row![summary.count, summary.errors, percent(summary.errors, summary.count)]);
        row.extend(row![summary.warnings, percent(summary.warnings, summary.count)]);
        row.extend(tail(rows, summary));
        row
    };
    found.iter().map(make).collect()
}

pub fn with_full_scans(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    scanning(rows, Form::ForPeople)
}

pub fn raw_with_full_scans(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    scanning(rows, Form::Raw)
}

/// Those that scan most often first.
fn scanning(rows: &Rows<'_>, form: Form) -> Vec<Vec<Value>> {
    let mut found = rows.server.digests.summaries();
    found.retain(|summary| summary.statements_without_index > 0 && !summary.text.starts_with("SHOW"));
    let share = |summary: &Summary| summary.statements_without_index * 100 / summary.count.max(1);
    found.sort_by_key(|summary| std::cmp::Reverse((share(summary), summary.sum_us)));
    let make = |summary: &Summary| {
        let mut row = head(summary);
        row.extend(row![summary.count, time(form, summary.sum_us), summary.statements_without_index, 0_u64]);
        row.push(Value::Double(share(summary) as f64));
        row.extend(row![summary.rows_sent, summary.rows_examined]);
        row.extend(row![average(summary.rows_sent, summary.count), average(summary.rows_examined, summary.count)]);
        row.extend(tail(rows, summary));
        row
    };
    found.iter().map(make).collect()
}

pub fn slowest(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    above_percentile(rows, Form::ForPeople)
}

pub fn raw_slowest(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    above_percentile(rows, Form::Raw)
}

/// Digests whose average time not more than one in twenty exceeds.
fn above_percentile(rows: &Rows<'_>, form: Form) -> Vec<Vec<Value>> {
    let mut found = rows.server.digests.summaries();
    let mean = |summary: &Summary| summary.sum_us / summary.count.max(1);
    found.sort_by_key(|summary| std::cmp::Reverse(mean(summary)));
    let least = found.get(found.len() / 20).map_or(0, mean);
    found.retain(|summary| mean(summary) >= least);
    let make = |summary: &Summary| {
        let mut row = head(summary);
        row.extend(row![if summary.statements_without_index > 0 { "*" } else { "" }, summary.count]);
        row.extend(row![summary.errors, summary.warnings]);
        row.extend([summary.sum_us, summary.max_us, mean(summary)].map(|us| time(form, us)));
        row.extend(row![summary.rows_sent, average(summary.rows_sent, summary.count)]);
        row.extend(row![summary.rows_examined, average(summary.rows_examined, summary.count)]);
        row.extend(tail(rows, summary));
        row
    };
    found.iter().map(make).collect()
}
