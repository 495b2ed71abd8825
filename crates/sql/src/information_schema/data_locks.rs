//! `performance_schema.data_locks` and `data_lock_waits`: locks of rows and ranges in the partitions that this node leads.
//!
//! Locks that somebody waits for are all there, with their waits, so that the two tables can be joined. Of others a transaction with
//! very many shows the first (`LOCKS_OF_TRANSACTION_MAX`). A transaction's row for a table as a whole tells how it uses it:
//! nobody waits for that.

use std::collections::{BTreeMap, HashSet};

use shoal_cluster::ObservedLock;
use shoal_txn::LockMode;
use shoal_types::{TableId, TransactionId, Value};

use super::Rows;
use super::cell::row;
use crate::locks::names::{LockNames, lock_id, lock_mode, lock_status};
use crate::locks::owners::Owners;
use crate::locks::transactions::LockWaits;

pub(super) const ENGINE: &str = "INNODB";

/// Something to tell locks apart by.
fn instance(partition: u32, lock: &ObservedLock) -> u64 {
    lock.number.rotate_left(16) ^ u64::from(lock.table.0) << 32 ^ u64::from(partition)
}

pub fn data_locks(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let node = &rows.server.node;
    let (names, owners) = (LockNames::new(node), Owners::of(rows.server.all_sessions()));
    let waits = LockWaits::of(rows.server);
    let contended = waits
        .found
        .iter()
        .flat_map(|(partition, waits)| waits.locks.iter().map(|lock| (*partition, lock.clone())));
    let mut seen: HashSet<String> = HashSet::new();
    let mut tables: BTreeMap<(TransactionId, TableId), LockMode> = BTreeMap::new();
    let mut found = Vec::new();
    for (partition, lock) in contended.chain(node.observed_locks()) {
        let id = lock_id(partition, &lock);
        let Some(place) = names.place(&lock) else { continue };
        if !seen.insert(id.clone()) {
            continue;
        }
        let of_table = tables.entry((lock.transaction, place.table.id())).or_insert(LockMode::Shared);
        *of_table = (*of_table).max(lock.mode);
        found.push(row![
            ENGINE,
            id,
            lock.transaction.0,
            owners.thread(lock.transaction),
            Value::Null,
            place.database(),
            place.table.name(),
            format!("p{partition}"),
            Value::Null,
            place.index_name(),
            instance(partition, &lock),
            "RECORD",
            lock_mode(&lock),
            lock_status(&lock),
            names.data(&lock, &place),
        ]);
    }
    let mut all: Vec<Vec<Value>> = tables
        .into_iter()
        .filter_map(|((transaction, id), mode)| {
            let table = names.table(id)?;
            Some(row![
                ENGINE,
                format!("{}:{}", transaction.0, id.0),
                transaction.0,
                owners.thread(transaction),
                Value::Null,
                &table.schema.database,
                table.name(),
                Value::Null,
                Value::Null,
                Value::Null,
                u64::from(id.0),
                "TABLE",
                if mode == LockMode::Exclusive { "IX" } else { "IS" },
                "GRANTED",
                Value::Null,
            ])
        })
        .collect();
    all.append(&mut found);
    all
}

pub fn data_lock_waits(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let (names, owners) = (LockNames::new(&rows.server.node), Owners::of(rows.server.all_sessions()));
    let waits = LockWaits::of(rows.server);
    let side = |partition: u32, lock: &ObservedLock| {
        row![
            lock_id(partition, lock),
            lock.transaction.0,
            owners.thread(lock.transaction),
            Value::Null,
            instance(partition, lock)
        ]
    };
    let known = waits.pairs().filter(|(_, wanted, _)| names.place(wanted).is_some());
    known
        .map(|(partition, wanted, blocking)| {
            let mut row = row![ENGINE];
            row.extend(side(partition, wanted));
            row.extend(side(partition, blocking));
            row
        })
        .collect()
}
