//! What users and hosts have done.

use std::collections::{BTreeMap, BTreeSet};

use shoal_types::Value;

use super::format::Form;
use crate::counters::Counter;
use crate::information_schema::performance::accounts::{host_of, sums_by, user_of};
use crate::information_schema::{Rows, row};
use crate::past_sessions::{Owner, SessionSums};
use crate::statement_events::{EventKind, Sums};

/// What a row is about, and what of its owners is counted beside it.
type Part = fn(&Owner) -> Option<String>;

fn summary(rows: &Rows<'_>, of: Part, others: Part, form: Form) -> Vec<Vec<Value>> {
    let mut partners: BTreeMap<Option<String>, BTreeSet<Option<String>>> = BTreeMap::new();
    for (owner, sums) in sums_by(rows, Owner::clone) {
        if sums.connections_total > 0 {
            partners.entry(of(&owner)).or_default().insert(others(&owner));
        }
    }
    let mut found: Vec<(Option<String>, SessionSums)> = sums_by(rows, of).into_iter().collect();
    found.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.statements.total().sum_ns));
    let make = |(name, sums): (Option<String>, SessionSums)| {
        let total = sums.statements.total();
        let mut row = row![name.as_deref().unwrap_or("background"), total.count];
        row.extend([form.time(total.sum_ns), form.time(total.average_ns())]);
        row.extend(row![sums.counters[Counter::SelectScan as usize], 0_u64, form.time(0)]);
        row.extend(row![sums.connections, sums.connections_total]);
        row.extend(row![partners.get(&name).map_or(0, BTreeSet::len) as i64, form.no_bytes(), form.no_bytes()]);
        row
    };
    found.into_iter().map(make).collect()
}

pub fn user_summary(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    summary(rows, user_of, host_of, Form::ForPeople)
}

pub fn raw_user_summary(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    summary(rows, user_of, host_of, Form::Raw)
}

pub fn host_summary(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    summary(rows, host_of, user_of, Form::ForPeople)
}

pub fn raw_host_summary(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    summary(rows, host_of, user_of, Form::Raw)
}

/// What the statements of each have cost, the costliest first.
fn by_latency(rows: &Rows<'_>, of: Part, form: Form) -> Vec<Vec<Value>> {
    let totals = sums_by(rows, of).into_iter().map(|(name, sums)| (name, sums.statements.total()));
    let mut found: Vec<(Option<String>, Sums)> = totals.collect();
    found.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.sum_ns));
    let make = |(name, sums): (Option<String>, Sums)| {
        let mut row = row![name.as_deref().unwrap_or("background"), sums.count];
        row.extend(costs(&sums, form));
        row
    };
    found.into_iter().map(make).collect()
}

/// `total_latency` to `full_scans`.
fn costs(sums: &Sums, form: Form) -> Vec<Value> {
    let mut row: Vec<Value> = [sums.sum_ns, sums.max_ns, 0, 0].map(|ns| form.time(ns)).into();
    row.extend(row![sums.rows_sent, sums.rows_examined, sums.rows_affected, sums.full_scans]);
    row
}

pub fn user_by_latency(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_latency(rows, user_of, Form::ForPeople)
}

pub fn raw_user_by_latency(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_latency(rows, user_of, Form::Raw)
}

pub fn host_by_latency(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_latency(rows, host_of, Form::ForPeople)
}

pub fn raw_host_by_latency(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_latency(rows, host_of, Form::Raw)
}

/// By kind of statement, the costliest of each first.
fn by_type(rows: &Rows<'_>, of: Part, form: Form) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for (name, sums) in sums_by(rows, of) {
        let mut kinds: Vec<_> = EventKind::ALL.iter().map(|kind| (kind, sums.statements.get(*kind))).collect();
        kinds.retain(|(_, sums)| sums.count > 0);
        kinds.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.sum_ns));
        for (kind, sums) in kinds {
            let kind = kind.name().rsplit('/').next().unwrap_or_default();
            let mut row = row![name.as_deref().unwrap_or("background"), kind, sums.count];
            row.extend(costs(&sums, form));
            found.push(row);
        }
    }
    found
}

pub fn user_by_type(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_type(rows, user_of, Form::ForPeople)
}

pub fn raw_user_by_type(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_type(rows, user_of, Form::Raw)
}

pub fn host_by_type(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_type(rows, host_of, Form::ForPeople)
}

pub fn raw_host_by_type(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_type(rows, host_of, Form::Raw)
}
