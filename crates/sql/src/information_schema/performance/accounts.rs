//! Whom sessions belong to: `accounts`, `users` and `hosts`, and the status variables of each.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use shoal_types::Value;

use crate::counters::COUNTER_NAMES;
use crate::information_schema::{Rows, row};
use crate::past_sessions::{Owner, SessionSums};

pub(in crate::information_schema) fn user_of(owner: &Owner) -> Option<String> {
    owner.as_ref().map(|(user, _)| user.clone())
}

pub(in crate::information_schema) fn host_of(owner: &Owner) -> Option<String> {
    owner.as_ref().map(|(_, host)| host.clone())
}

/// Sums over sessions, past and present, by something of their owners.
pub(in crate::information_schema) fn sums_by<K: Ord>(
    rows: &Rows<'_>,
    key: impl Fn(&Owner) -> K,
) -> BTreeMap<K, SessionSums> {
    let mut found: BTreeMap<K, SessionSums> = BTreeMap::new();
    for (owner, sums) in rows.server.past_sessions.sums() {
        found.entry(key(&owner)).or_default().add(&sums);
    }
    for session in rows.server.all_sessions() {
        let owner = Some((session.user.clone(), session.host.clone()));
        let sums = found.entry(key(&owner)).or_default();
        sums.add_counters(&session.counters);
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        sums.statements.add(&activity.statements.sums);
        sums.connections += 1;
        sums.connections_total += 1;
    }
    found
}

fn connections(mut row: Vec<Value>, sums: &SessionSums) -> Option<Vec<Value>> {
    row.extend(row![sums.connections as i64, sums.connections_total as i64, 0_u64, 0_u64]);
    (sums.connections_total > 0).then_some(row)
}

pub fn accounts(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let sums = sums_by(rows, |owner| (user_of(owner), host_of(owner)));
    sums.into_iter().filter_map(|((user, host), sums)| connections(row![user, host], &sums)).collect()
}

pub fn users(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    sums_by(rows, user_of).into_iter().filter_map(|(user, sums)| connections(row![user], &sums)).collect()
}

pub fn hosts(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    sums_by(rows, host_of).into_iter().filter_map(|(host, sums)| connections(row![host], &sums)).collect()
}

/// What sessions count for themselves.
fn status(owner: Vec<Value>, sums: &SessionSums) -> Vec<Vec<Value>> {
    let make = |(name, count): (&&str, &u64)| {
        let mut row = owner.clone();
        row.extend(row![*name, count.to_string()]);
        row
    };
    COUNTER_NAMES.iter().zip(&sums.counters).map(make).collect()
}

pub fn status_by_account(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let sums = sums_by(rows, |owner| (user_of(owner), host_of(owner)));
    sums.iter().flat_map(|((user, host), sums)| status(row![user.clone(), host.clone()], sums)).collect()
}

pub fn status_by_user(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    sums_by(rows, user_of).iter().flat_map(|(user, sums)| status(row![user.clone()], sums)).collect()
}

pub fn status_by_host(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    sums_by(rows, host_of).iter().flat_map(|(host, sums)| status(row![host.clone()], sums)).collect()
}
