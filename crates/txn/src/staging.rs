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

/// The key of a row in a unique index, unless part of it is NULL.
pub(crate) fn unique_key(table: &Table, index: usize, row: RowRef<'_>) -> Option<Vec<u8>> {
    let spec = &table.keys[index];
    (!spec.has_null(row)).then(|| {
        let mut key = Vec::with_capacity(16);
        spec.append_from_row(row, &mut key);
        key
    })
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
        let key = |row: Option<&[u8]>| row.and_then(|row| unique_key(table, index, table.layout.row(row)));
        let (old_key, new_key) = (key(old), key(new));
        if old_key != new_key {
            changes.push(UniqueChange { index, table: unique_table_of(table, index)?, old_key, new_key });
        }
    }
    Ok(changes)
}

/// A duplicate that the base table's partition has found, which another node may lead.
pub(crate) fn duplicate(table: &Table, index: IndexId, existing: &[u8]) -> Result<Inserted> {
    let index = table.schema.indexes.iter().position(|one| one.id == index).unwrap_or(0);
    let primary_key = primary_key_of(table, table.layout.checked_row(existing)?);
    Ok(Inserted::Duplicate { index, primary_key })
}
