//! Sums of statements by kind: of all, of an account, a user, a host, a thread.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use shoal_types::Value;

use super::accounts::{host_of, sums_by, user_of};
use super::format::{summed_costs, times};
use crate::information_schema::{Rows, row};
use crate::past_sessions::SessionSums;
use crate::statement_events::{EventKind, SumsByKind};

/// The rows of one owner: one for each kind of statement, as in MySQL also of those that there were none of.
fn rows_of(owner: Vec<Value>, sums: &SumsByKind) -> Vec<Vec<Value>> {
    let make = |kind: &EventKind| {
        let sums = sums.get(*kind);
        let mut row = owner.clone();
        row.extend(row![kind.name(), sums.count]);
        row.extend(times(&sums));
        row.extend(summed_costs(&sums));
        row
    };
    EventKind::ALL.iter().map(make).collect()
}

pub fn global(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let all: BTreeMap<(), SessionSums> = sums_by(rows, |_| ());
    rows_of(Vec::new(), &all.into_values().next().unwrap_or_default().statements)
}

pub fn by_account(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let sums = sums_by(rows, |owner| (user_of(owner), host_of(owner)));
    sums.into_iter().flat_map(|((user, host), sums)| rows_of(row![user, host], &sums.statements)).collect()
}

pub fn by_user(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let sums = sums_by(rows, user_of);
    sums.into_iter().flat_map(|(user, sums)| rows_of(row![user], &sums.statements)).collect()
}

pub fn by_host(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let sums = sums_by(rows, host_of);
    sums.into_iter().flat_map(|(host, sums)| rows_of(row![host], &sums.statements)).collect()
}

pub fn by_thread(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for session in rows.server.all_sessions() {
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend(rows_of(row![session.id], &activity.statements.sums));
    }
    found
}
