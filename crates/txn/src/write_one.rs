//! Writes of one row, at its partition's leader.

use std::marker::PhantomData;

use shoal_cluster::{PartitionGuard, Table};
use shoal_partition::{LockPolicy, LockRequest, ReadView, Step, WaitToken, WriteOutcome};
use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, NodeId, Result, TableId, TransactionId};

use crate::api::*;
use crate::at_partition::PartitionOperation;
use crate::participants::Participants;
use crate::protocol::{FoundRows, Write, WriteKind, WriteStop};
use crate::staging::{Placed, RunEnd, UniqueChange, duplicate, internal, row_gone, unique_changes};
use crate::transaction::Transaction;

/// Inserts a row; the row that has its key, and the index, if there is one.
pub(crate) struct InsertOne<'a> {
    pub table: TableId,
    pub row: &'a [u8],
}

impl PartitionOperation for InsertOne<'_> {
    type Output = Option<(IndexId, Vec<u8>)>;

    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<Self::Output>> {
        let placed = [Placed { partition, row: self.row }];
        Ok(match transaction.insert_run(self.table, &placed, &mut 0)? {
            RunEnd::Done => Step::Ready(None),
            RunEnd::Duplicate { index, row } => Step::Ready(Some((index, row))),
            RunEnd::Wait(blocked) => Step::Wait(blocked),
        })
    }

    async fn try_at(
        &mut self,
        transaction: &mut Transaction,
        partition: u32,
        node: NodeId,
    ) -> Result<Self::Output> {
        let write = Write { kind: WriteKind::Insert, table: self.table, bytes: self.row };
        match transaction.write_at(partition, node, write).await?.stop()? {
            None => Ok(None),
            Some(WriteStop::Duplicate { index, row }) => Ok(Some((index, row.to_vec()))),
            Some(WriteStop::NotFound) => Err(Error::unknown("internal: an insert did not find its row")),
        }
    }
}

/// Deletes a row by its primary key; false if it is not there.
pub(crate) struct DeleteOne<'a> {
    pub table: TableId,
    pub primary_key: &'a [u8],
}

impl PartitionOperation for DeleteOne<'_> {
    type Output = bool;

    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<bool>> {
        let mut held = transaction.hold_to_write(partition)?;
        Ok(match held.guard.delete(held.id, self.table, self.primary_key, held.token)? {
            Step::Ready(WriteOutcome::Done) => {
                held.wrote(self.primary_key.len())?;
                Step::Ready(true)
            }
            Step::Ready(_) => Step::Ready(false),
            Step::Wait(blocked) => Step::Wait(blocked),
        })
    }

    async fn try_at(&mut self, transaction: &mut Transaction, partition: u32, node: NodeId) -> Result<bool> {
        let write = Write { kind: WriteKind::Delete, table: self.table, bytes: self.primary_key };
        Ok(transaction.write_at(partition, node, write).await?.stop()?.is_none())
    }
}

/// Stages a new version of a row whose primary key stays; a duplicate in an index that is unique in the partition.
pub(crate) struct UpdateOne<'a> {
    pub table: &'a Table,
    pub row: &'a [u8],
}

impl PartitionOperation for UpdateOne<'_> {
    type Output = Inserted;

    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<Inserted>> {
        let mut held = transaction.hold_to_write(partition)?;
        Ok(match held.guard.update(held.id, self.table.id(), self.row, held.token)? {
            Step::Ready(WriteOutcome::Done) => {
                held.wrote(self.row.len())?;
                Step::Ready(Inserted::Done)
            }
            Step::Ready(WriteOutcome::Duplicate { index, row }) => {
                Step::Ready(duplicate(self.table, index, row.bytes())?)
            }
            Step::Ready(WriteOutcome::NotFound) => return Err(row_gone(self.table)),
            Step::Wait(blocked) => Step::Wait(blocked),
        })
    }

    async fn try_at(&mut self, transaction: &mut Transaction, partition: u32, node: NodeId) -> Result<Inserted> {
        let write = Write { kind: WriteKind::Update, table: self.table.id(), bytes: self.row };
        updated(self.table, transaction.write_at(partition, node, write).await?.stop()?)
    }
}

/// Reads a row under an exclusive lock and changes it by what `decide` says, under one hold of the partition.
pub(crate) struct ModifyOne<'a, D, R> {
    table: &'a Table,
    primary_key: &'a [u8],
    /// The row's lock may be let go of.
    may_unlock: bool,
    decide: D,
    result: PhantomData<R>,
}

/// What came of a row's modification; without one the row was not there.
pub(crate) struct Modified<R> {
    pub outcome: Inserted,
    /// What the unique indexes need.
    pub changes: Vec<UniqueChange>,
    /// What the caller's decision yielded.
    pub result: R,
}

impl<'a, R, D: FnMut(RowRef<'_>) -> Result<(Modification, R)>> ModifyOne<'a, D, R> {
    pub fn new(table: &'a Table, primary_key: &'a [u8], may_unlock: bool, decide: D) -> ModifyOne<'a, D, R> {
        ModifyOne { table, primary_key, may_unlock, decide, result: PhantomData }
    }
}

impl<R, D: FnMut(RowRef<'_>) -> Result<(Modification, R)>> PartitionOperation for ModifyOne<'_, D, R> {
    type Output = Option<Modified<R>>;

    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<Self::Output>> {
        let (table, primary_key) = (self.table, self.primary_key);
        let request = transaction.lock_to_modify();
        let mut held = transaction.hold_to_write(partition)?;
        let (id, token, guard) = (held.id, held.token, &mut held.guard);
        let view = ReadView::newest(Some(id), token);
        let row = match guard.get(&view, table.id(), primary_key, Some(request))? {
            Step::Ready(Some(row)) => row,
            Step::Ready(None) => return Ok(Step::Ready(None)),
            Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
        };
        held.counters.read_row_count += 1;
        let (modification, result) = (self.decide)(row)?;
        let new = match &modification {
            Modification::Keep { unlock } => {
                if *unlock && self.may_unlock {
                    guard.unlock_row(id, table.id(), primary_key);
                }
                return Ok(Step::Ready(Some(Modified { outcome: Inserted::Done, changes: Vec::new(), result })));
            }
            Modification::Update(new) => Some(new.as_slice()),
            Modification::Delete => None,
        };
        let changes = match table.global_unique.is_empty() {
            true => Vec::new(),
            false => unique_changes(table, Some(row.bytes()), new)?,
        };
        let step = match new {
            Some(new) => guard.update(id, table.id(), new, token)?,
            None => guard.delete(id, table.id(), primary_key, token)?,
        };
        Ok(match step {
            Step::Ready(WriteOutcome::Done) => {
                let bytes = new.map_or(primary_key.len(), <[u8]>::len);
                held.wrote(bytes)?;
                Step::Ready(Some(Modified { outcome: Inserted::Done, changes, result }))
            }
            Step::Ready(WriteOutcome::Duplicate { index, row }) => {
                let outcome = duplicate(table, index, row.bytes())?;
                Step::Ready(Some(Modified { outcome, changes: Vec::new(), result }))
            }
            Step::Ready(WriteOutcome::NotFound) => {
                return Err(internal("a changed row has another key", table));
            }
            Step::Wait(blocked) => Step::Wait(blocked),
        })
    }

    /// One round trip for the lock and the row, one for the change.
    async fn try_at(
        &mut self,
        transaction: &mut Transaction,
        partition: u32,
        node: NodeId,
    ) -> Result<Self::Output> {
        let (table, primary_key) = (self.table, self.primary_key);
        let view = ReadView::newest(transaction.id, transaction.token());
        let lock = Some(transaction.lock_to_modify());
        transaction.begin_read(partition, node, table.id(), view, lock, std::iter::once(primary_key));
        let answer = transaction.ask(partition, node, std::iter::empty()).await?;
        let Some((_, row)) = FoundRows::read(answer.done()?)?.rows.iter().next() else { return Ok(None) };
        transaction.counters.read_row_count += 1;
        let (modification, result) = (self.decide)(table.layout.checked_row(row)?)?;
        let (kind, new) = match &modification {
            Modification::Keep { unlock } => {
                if *unlock && self.may_unlock {
                    transaction.unlock_rows(partition, table.id(), &[primary_key.to_vec()]);
                }
                return Ok(Some(Modified { outcome: Inserted::Done, changes: Vec::new(), result }));
            }
            Modification::Update(new) => (WriteKind::Update, Some(new.as_slice())),
            Modification::Delete => (WriteKind::Delete, None),
        };
        let changes = unique_changes(table, Some(row), new)?;
        let write = Write { kind, table: table.id(), bytes: new.unwrap_or(primary_key) };
        let written = transaction.write_at(partition, node, write).await?;
        Ok(Some(match updated(table, written.stop()?)? {
            Inserted::Done => Modified { outcome: Inserted::Done, changes, result },
            outcome => Modified { outcome, changes: Vec::new(), result },
        }))
    }
}

/// A partition that is held for a write, and what the transaction notes of it.
struct HeldToWrite<'t> {
    guard: PartitionGuard<'t>,
    partition: u32,
    id: TransactionId,
    token: WaitToken,
    participants: &'t mut Participants,
    counters: &'t mut TransactionCounters,
}

impl HeldToWrite<'_> {
    #[inline]
    fn wrote(&mut self, bytes: usize) -> Result<()> {
        Transaction::wrote(self.participants, self.partition, bytes)
    }
}

impl Transaction {
    #[inline]
    fn hold_to_write(&mut self, partition: u32) -> Result<HeldToWrite<'_>> {
        let (id, token) = (self.begin_writing(), self.token());
        let Transaction { node, participants, tables, counters, .. } = self;
        let guard = Transaction::hold(node, participants, tables, partition, true)?;
        Ok(HeldToWrite { guard, partition, id, token, participants, counters })
    }

    fn lock_to_modify(&self) -> LockRequest {
        let lock_gaps = self.isolation != Isolation::ReadCommitted;
        LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::Wait, lock_gaps }
    }
}

/// What became of an update at a leader on another node.
fn updated(table: &Table, stop: Option<WriteStop<'_>>) -> Result<Inserted> {
    match stop {
        None => Ok(Inserted::Done),
        Some(WriteStop::Duplicate { index, row }) => duplicate(table, index, row),
        Some(WriteStop::NotFound) => Err(row_gone(table)),
    }
}
