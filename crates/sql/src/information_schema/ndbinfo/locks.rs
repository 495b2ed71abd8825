//! Locks, and who waits for them: of the partitions that a node leads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{LockKind, ObservedLock};
use shoal_txn::LockMode;
use shoal_types::{TableId, TransactionId, Value};

use super::super::Rows;
use super::super::cell::row;
use super::fragments::{for_each_fragment, kept_tables};
use super::this_node::me;
use crate::server::Server;
use crate::session::SessionShared;

/// Waits whose durations are looked for.
const WAITS_MAX: usize = 10_000;

/// A lock of a partition, and the number of the one that it waits for.
struct Shown {
    partition: u32,
    lock: ObservedLock,
    waits_for: Option<usize>,
}

/// What names a lock within its partition.
fn name_of(partition: u32, lock: &ObservedLock) -> (u32, TransactionId, TableId, u64, bool) {
    let is_range = matches!(lock.kind, LockKind::Gap | LockKind::InsertIntention);
    (partition, lock.transaction, lock.table, lock.number, is_range)
}

/// Those that are waited for, then the others; a lock's number is its place.
fn shown_locks(server: &Server) -> Vec<Shown> {
    let mut shown = Vec::new();
    for (partition, waits) in server.node.observed_lock_waits() {
        let base = shown.len();
        shown.extend(waits.locks.into_iter().map(|lock| Shown { partition, lock, waits_for: None }));
        for (waiter, blocker) in waits.edges {
            if let Some(one) = shown.get_mut(base + waiter) {
                one.waits_for.get_or_insert(base + blocker);
            }
        }
    }
    let known: HashSet<_> = shown.iter().map(|one| name_of(one.partition, &one.lock)).collect();
    let held = server.node.observed_locks().into_iter();
    let held = held.filter(|(partition, lock)| !known.contains(&name_of(*partition, lock)));
    shown.extend(held.map(|(partition, lock)| Shown { partition, lock, waits_for: None }));
    shown
}

/// How long transactions have waited, of those whose sessions are at this node.
fn waiting_since(server: &Server) -> HashMap<TransactionId, Duration> {
    server.node.wait_for_graph().list(WAITS_MAX).into_iter().map(|wait| (wait.waiter, wait.since)).collect()
}

fn mode(lock: &ObservedLock) -> &'static str {
    if lock.mode == LockMode::Shared { "S" } else { "X" }
}

/// What a lock was taken for, as far as the lock tells.
fn operation(lock: &ObservedLock) -> Option<&'static str> {
    match lock.kind {
        LockKind::InsertIntention => Some("INSERT"),
        LockKind::Gap | LockKind::NextKey => Some("SCAN"),
        LockKind::Record => (lock.mode == LockMode::Shared).then_some("READ"),
    }
}

pub(super) fn locks(server: &Server) -> Vec<Vec<Value>> {
    let (node, waiting) = (me(server), waiting_since(server));
    let make = |(number, one): (usize, &Shown)| {
        let lock = &one.lock;
        let since = waiting.get(&lock.transaction).filter(|_| lock.is_waiting);
        row![
            node,
            1_u64,
            u64::from(lock.table.0),
            one.partition,
            lock.number,
            lock.transaction.0,
            mode(lock),
            if lock.is_waiting { "W" } else { "H" },
            if lock.is_waiting { "" } else { "*" },
            operation(lock),
            since.map(|since| since.as_millis() as u64),
            number,
            one.waits_for
        ]
    };
    shown_locks(server).iter().enumerate().map(make).collect()
}

/// Operations of transactions that wait for a lock: others take too short a time to be seen.
pub(super) fn operations(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let make = |one: &Shown| {
        let lock = &one.lock;
        let kind = match (lock.kind, mode(lock)) {
            (LockKind::InsertIntention, _) => "INSERT",
            (_, "S") => "READ-SH",
            _ => "READ-EX",
        };
        // A process that is the whole database has no number of its own in its transactions.
        let home = Some(lock.transaction.node().0).filter(|&home| home != 0).unwrap_or(node);
        row![
            node,
            1_u64,
            lock.transaction.0,
            kind,
            "In lock queue",
            u64::from(lock.table.0),
            one.partition,
            home,
            Value::Null,
            home,
            Value::Null,
            Value::Null
        ]
    };
    shown_locks(server).iter().filter(|one| one.lock.is_waiting).map(make).collect()
}

/// Partitions have no clock: how long was waited is not counted.
pub(super) fn locks_per_fragment(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    for_each_fragment(server, &kept_tables(server), |kept, partition| {
        let asked = server.node.partition(partition).lock_requests(kept.id);
        let mut row = kept.named(node, partition);
        for requests in [asked.exclusive, asked.shared] {
            row.extend(row![requests.total(), requests.immediate, requests.waited, requests.failed]);
        }
        row.extend([Value::Null, Value::Null]);
        row
    })
}

/// The rows of this node's sessions, with their connections in front. `transaction`: the place of its number.
fn of_sessions(rows: &Rows<'_>, told: Vec<Vec<Value>>, transaction: usize) -> Vec<Vec<Value>> {
    let sessions = rows.server.all_sessions();
    let connection = |session: &Arc<SessionShared>| Some((session.transaction.id()?.0, session.id));
    let connections: HashMap<u64, u32> = sessions.iter().filter_map(connection).collect();
    let own = told.into_iter().filter_map(|row| match row.get(transaction) {
        Some(Value::UInt(number)) => {
            let connection = Value::UInt(u64::from(*connections.get(number)?));
            Some(std::iter::once(connection).chain(row).collect())
        }
        _ => None,
    });
    own.collect()
}

pub(crate) fn locks_of_sessions(rows: &Rows<'_>, told: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    of_sessions(rows, told, 5)
}

pub(crate) fn operations_of_sessions(rows: &Rows<'_>, told: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    of_sessions(rows, told, 2)
}
