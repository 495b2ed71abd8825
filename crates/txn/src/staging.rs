//! What writes are made of: rows for partitions, runs of inserts, the entries of unique indexes.

use shoal_cluster::Table;
use shoal_partition::{Blocked, Step, WriteOutcome};
use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, Result, TableId};

use crate::api::*;
use crate::read::unique_table_of;
use crate::transaction::Transaction;

/// Rows that are written under one hold of a partition.
pub(crate) const ROWS_PER_HOLD: usize = 256;

/// Where a run of inserts came to.
pub(crate) enum RunEnd {
    Done,
    /// The row at this place has a key that this row has.
    Duplicate {
        index: IndexId,
        row: Vec<u8>,
    },
    Wait(Blocked),
}

/// A row for a partition.
pub(crate) struct Placed<'a> {
    pub partition: u32,
    pub row: &'a [u8],
}

/// An entry of a unique index that comes or goes.
pub(crate) struct UniqueChange {
    pub index: usize,
    pub table: TableId,
    pub old_key: Option<Vec<u8>>,
    pub new_key: Option<Vec<u8>>,
    /// The index is being built: its entries need not be there yet, and another row may have taken the key before.
    pub building: bool,
}

pub(crate) fn internal(what: &str, table: &Table) -> Error {
    Error::unknown(format!("internal: {what} in table '{}'", table.name()))
}

pub(crate) fn row_gone(table: &Table) -> Error {
    internal("a locked row is gone", table)
}

pub(crate) fn primary_key_of(table: &Table, row: RowRef<'_>) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    table.keys[0].append_from_row(row, &mut key);
    key
}

/// The keys of a row in a unique index: none if part of it is NULL, several if it is multi-valued.
pub(crate) fn unique_keys(table: &Table, index: usize, row: RowRef<'_>) -> Vec<Vec<u8>> {
    let spec = &table.keys[index];
    let mut keys = Vec::new();
    if !spec.has_null(row) {
        spec.each_key(row, &mut Vec::with_capacity(16), |key| keys.push(key.to_vec()));
    }
    keys
}

impl Transaction {
    /// Inserts the rows from `at` on that lie in the same partition, under one hold of it.
    pub(crate) fn insert_run(&mut self, table: TableId, placed: &[Placed<'_>], at: &mut usize) -> Result<RunEnd> {
        let (id, token) = (self.begin_writing(), self.token());
        let partition = placed[*at].partition;
        let mut guard = Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, true)?;
        let hold_end = placed.len().min(*at + ROWS_PER_HOLD);
        while *at < hold_end && placed[*at].partition == partition {
            match guard.insert(id, table, placed[*at].row, token)? {
                Step::Ready(WriteOutcome::Done) => {
                    Transaction::wrote(&mut self.participants, partition, placed[*at].row.len())?;
                }
                Step::Ready(WriteOutcome::Duplicate { index, row }) => {
                    return Ok(RunEnd::Duplicate { index, row: row.bytes().to_vec() });
                }
                Step::Ready(WriteOutcome::NotFound) => {
                    return Err(Error::unknown("internal: an insert did not find its row"));
                }
                Step::Wait(blocked) => return Ok(RunEnd::Wait(blocked)),
            }
            *at += 1;
        }
        Ok(RunEnd::Done)
    }
}

/// The entries of unique indexes that differ between two versions of a row with the same primary key.
pub(crate) fn unique_changes(table: &Table, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<Vec<UniqueChange>> {
    let mut changes = Vec::new();
    for &index in &table.global_unique {
        if let (Some(old), Some(new)) = (old, new)
            && table.keys[index].has_same_columns(table.layout.row(old), table.layout.row(new))
        {
            continue;
        }
        let keys =
            |row: Option<&[u8]>| row.map_or_else(Vec::new, |row| unique_keys(table, index, table.layout.row(row)));
        let (mut old_keys, mut new_keys) = (keys(old), keys(new));
        if old_keys == new_keys {
            continue;
        }
        // Elements that stay keep their entries.
        let known = old_keys.clone();
        old_keys.retain(|key| !new_keys.contains(key));
        new_keys.retain(|key| !known.contains(key));
        push_changes(table, index, old_keys, new_keys, &mut changes)?;
    }
    Ok(changes)
}

/// Some unique index of the table is being built.
pub(crate) fn builds_unique(table: &Table) -> bool {
    table.global_unique.iter().any(|&index| table.schema.indexes[index].building)
}

/// Adds what becomes of the entries of a row, those that go before those that come.
pub(crate) fn push_changes(
    table: &Table,
    index: usize,
    old_keys: Vec<Vec<u8>>,
    new_keys: Vec<Vec<u8>>,
    changes: &mut Vec<UniqueChange>,
) -> Result<()> {
    let (hidden, building) = (unique_table_of(table, index)?, table.schema.indexes[index].building);
    let (mut old_keys, mut new_keys) = (old_keys.into_iter().peekable(), new_keys.into_iter().peekable());
    while old_keys.peek().is_some() || new_keys.peek().is_some() {
        let old_key = old_keys.next();
        // The last one that goes and the first one that comes are one change, as they are where there is but one.
        let new_key = if old_keys.peek().is_none() { new_keys.next() } else { None };
        changes.push(UniqueChange { index, table: hidden, old_key, new_key, building });
    }
    Ok(())
}

/// A duplicate that the base table's partition has found, which another node may lead.
pub(crate) fn duplicate(table: &Table, index: IndexId, existing: &[u8]) -> Result<Inserted> {
    let index = table.schema.indexes.iter().position(|one| one.id == index).unwrap_or(0);
    let primary_key = primary_key_of(table, table.layout.checked_row(existing)?);
    Ok(Inserted::Duplicate { index, primary_key })
}
