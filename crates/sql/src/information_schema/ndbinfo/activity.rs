//! Transactions, and what nodes count of them.

use std::sync::PoisonError;

use shoal_types::Value;

use super::super::Rows;
use super::super::cell::row;
use super::this_node::me;
use crate::counters::Counter;
use crate::server::Server;

/// The part of NDB's kernel that coordinates transactions, as this node does for its sessions.
const COORDINATOR: &str = "DBTC";

/// NDB's numbers and names of what is counted here.
pub(super) fn counters(server: &Server) -> Vec<Vec<Value>> {
    let totals = server.totals();
    let of = |counter: Counter| totals.get(counter as usize).copied().unwrap_or(0);
    let (commits, aborts) = (of(Counter::TransactionCommits), of(Counter::TransactionAborts));
    let keys = of(Counter::PrimaryKeyOperations) + of(Counter::UniqueKeyOperations);
    let counted = [
        (2_u64, "TRANSACTIONS", commits + aborts),
        (3, "COMMITS", commits),
        (7, "ABORTS", aborts),
        (8, "TABLE_SCANS", of(Counter::TableScans)),
        (9, "RANGE_SCANS", of(Counter::RangeScans)),
        (10, "OPERATIONS", keys),
    ];
    let node = me(server);
    counted.into_iter().map(|(id, name, value)| row![node, COORDINATOR, 1_u64, id, name, value]).collect()
}

/// Transactions of this node's sessions that have written or locked something.
pub(super) fn transactions(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let mut found = Vec::new();
    for session in server.all_sessions() {
        let Some(transaction) = session.transaction.id() else { continue };
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let (runs, seconds) = (activity.command != "Sleep", activity.since.elapsed().as_secs());
        drop(activity);
        let inactive = if runs { 0 } else { seconds };
        found.push(row![
            node,
            1_u64,
            transaction.0,
            "Started",
            Value::Null,
            u64::from(runs),
            inactive,
            node,
            session.id
        ]);
    }
    found
}

/// Places of columns in `cluster_transactions`.
const CLIENT_NODE: usize = 7;
const CLIENT: usize = 8;

/// Of the sessions of this node, with their connections.
pub(crate) fn of_this_server(rows: &Rows<'_>, transactions: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let mine = Value::UInt(u64::from(me(rows.server)));
    let own = transactions.into_iter().filter(|row| row.get(CLIENT_NODE) == Some(&mine));
    own.map(|row| std::iter::once(row.get(CLIENT).cloned().unwrap_or_default()).chain(row).collect()).collect()
}
