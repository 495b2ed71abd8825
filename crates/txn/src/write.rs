//! Inserts, updates and deletes, with the unique indexes that hidden tables keep.
//!
//! A row and its entries in hidden tables usually lie in different partitions, which are held one after the other, never
//! two at once. The base row comes first; a duplicate that a hidden table reports takes it back.

use std::sync::Arc;

use shoal_cluster::{Table, unique};
use shoal_partition::{Blocked, LockPolicy, LockRequest, ReadView, Step, WriteOutcome};
use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, NodeId, Result, TableId};

use crate::api::*;
use crate::protocol::{FoundRows, Write, WriteKind, WriteStop};
use crate::read::unique_table_of;
use crate::remote::{Patience, map_version};
use crate::transaction::Transaction;

/// Rows that are written under one hold of a partition.
pub(crate) const ROWS_PER_HOLD: usize = 256;

/// Where a run of inserts came to.
enum RunEnd {
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
    index: usize,
    pub table: TableId,
    pub old_key: Option<Vec<u8>>,
    pub new_key: Option<Vec<u8>>,
}

/// What came of a row's modification: the outcome, what the unique indexes need, what the caller's decision yielded.
type Modified<R> = (Inserted, Vec<UniqueChange>, R);

fn internal(what: &str, table: &Table) -> Error {
    Error::unknown(format!("internal: {what} in table '{}'", table.name()))
}

pub(crate) fn primary_key_of(table: &Table, row: RowRef<'_>) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    table.keys[0].append_from_row(row, &mut key);
    key
}

/// The key of a row in a unique index, unless part of it is NULL.
fn unique_key(table: &Table, index: usize, row: RowRef<'_>) -> Option<Vec<u8>> {
    let spec = &table.keys[index];
    (!spec.has_null(row)).then(|| {
        let mut key = Vec::with_capacity(16);
        spec.append_from_row(row, &mut key);
        key
    })
}

impl Transaction {
    /// Inserts rows (encoded by `table.layout`), one round trip; the outcome of each. Unique secondary keys are checked and
    /// kept. A duplicate leaves nothing of its own row behind; rows after a duplicate are not tried unless `go_on`.
    pub async fn insert_many(
        &mut self,
        table: &Arc<Table>,
        rows: &[impl AsRef<[u8]>],
        go_on: bool,
    ) -> Result<Vec<Inserted>> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += rows.len() as u64;
        self.begin_writing();
        self.note_sequence(table);
        if rows.len() > 1 {
            let start = self.savepoint();
            if self.insert_all(table, rows).await? {
                return Ok(vec![Inserted::Done; rows.len()]);
            }
            // Some row is a duplicate: what that means for the others shows when they come one by one.
            self.rollback_to(&start);
        }
        let mut outcomes = Vec::with_capacity(rows.len());
        for row in rows {
            let outcome = self.insert_row(table, row.as_ref()).await?;
            let stop = outcome != Inserted::Done && !go_on;
            outcomes.push(outcome);
            if stop {
                break;
            }
        }
        Ok(outcomes)
    }

    /// Inserts rows partition by partition. False: some row is a duplicate, and it is not said how many are staged.
    async fn insert_all(&mut self, table: &Arc<Table>, rows: &[impl AsRef<[u8]>]) -> Result<bool> {
        let mut placed = Vec::with_capacity(rows.len());
        for row in rows.iter().map(AsRef::as_ref) {
            placed.push(Placed { partition: self.partition_of_row(table, row), row });
        }
        if !self.insert_placed(table.id(), &mut placed).await? {
            return Ok(false);
        }
        for &index in &table.global_unique {
            let hidden = unique_table_of(table, index)?;
            let mut entries = Vec::with_capacity(rows.len());
            for row in rows.iter().map(AsRef::as_ref) {
                let row = table.layout.row(row);
                if let Some(key) = unique_key(table, index, row) {
                    entries.push(self.hidden_row(&key, &primary_key_of(table, row))?);
                }
            }
            let mut placed: Vec<Placed<'_>> =
                entries.iter().map(|(partition, row)| Placed { partition: *partition, row }).collect();
            if !self.insert_placed(hidden, &mut placed).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Inserts rows in their partitions. False: some row is a duplicate.
    async fn insert_placed(&mut self, table: TableId, placed: &mut [Placed<'_>]) -> Result<bool> {
        placed.sort_by_key(|one| one.partition);
        match self.node.remote().is_none() {
            true => self.insert_here(table, placed, &mut 0).await,
            false => self.insert_everywhere(table, placed).await,
        }
    }

    /// Inserts rows, from `at` on, in partitions that are led here. False: some row is a duplicate.
    pub(crate) async fn insert_here(
        &mut self,
        table: TableId,
        placed: &[Placed<'_>],
        at: &mut usize,
    ) -> Result<bool> {
        while *at < placed.len() {
            let partition = placed[*at].partition;
            match self.insert_run(table, placed, at)? {
                RunEnd::Done => {}
                RunEnd::Duplicate { .. } => return Ok(false),
                RunEnd::Wait(blocked) => self.wait(partition, blocked).await?,
            }
        }
        Ok(true)
    }

    /// Inserts the rows from `at` on that lie in the same partition, under one hold of it.
    fn insert_run(&mut self, table: TableId, placed: &[Placed<'_>], at: &mut usize) -> Result<RunEnd> {
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

    /// Inserts one row; the row that has its key, if there is one.
    async fn insert_one(
        &mut self,
        table: TableId,
        partition: u32,
        row: &[u8],
    ) -> Result<Option<(IndexId, Vec<u8>)>> {
        let placed = [Placed { partition, row }];
        let mut patience = Patience::default();
        loop {
            let seen = map_version(&self.node);
            if let Some(node) = self.route(partition).await? {
                let write = Write { kind: WriteKind::Insert, table, bytes: row };
                match self.write_at(partition, node, write).await {
                    Ok(answer) => {
                        return match answer.stop()? {
                            None => Ok(None),
                            Some(WriteStop::Duplicate { index, row }) => Ok(Some((index, row.to_vec()))),
                            Some(WriteStop::NotFound) => {
                                Err(Error::unknown("internal: an insert did not find its row"))
                            }
                        };
                    }
                    Err(error) => self.try_again(&mut patience, seen, error).await?,
                }
                continue;
            }
            match self.insert_run(table, &placed, &mut 0) {
                Ok(RunEnd::Done) => return Ok(None),
                Ok(RunEnd::Duplicate { index, row }) => return Ok(Some((index, row))),
                Ok(RunEnd::Wait(blocked)) => self.wait(partition, blocked).await?,
                Err(error) => self.try_again(&mut patience, seen, error).await?,
            }
        }
    }

    async fn insert_row(&mut self, table: &Arc<Table>, row: &[u8]) -> Result<Inserted> {
        let start = self.savepoint();
        let partition = self.partition_of_row(table, row);
        if let Some((index, existing)) = self.insert_one(table.id(), partition, row).await? {
            return duplicate(table, index, &existing);
        }
        if table.global_unique.is_empty() {
            return Ok(Inserted::Done);
        }
        let changes = unique_changes(table, None, Some(row))?;
        let primary_key = primary_key_of(table, table.layout.row(row));
        self.change_unique(&changes, &primary_key, &start).await
    }

    pub(crate) fn partition_of_row(&mut self, table: &Table, row: &[u8]) -> u32 {
        self.key_buffer.clear();
        table.append_partition_key(table.layout.row(row), &mut self.key_buffer);
        self.node.router().partition_of(&self.key_buffer)
    }

    /// The hidden table's row for a key, and its partition.
    pub(crate) fn hidden_row(&mut self, key: &[u8], primary_key: &[u8]) -> Result<(u32, Vec<u8>)> {
        let row = unique::unique_row(key, primary_key)?;
        self.key_buffer.clear();
        unique::hidden_primary_key(key, &mut self.key_buffer);
        Ok((self.node.router().partition_of(&self.key_buffer), row))
    }

    /// Brings hidden tables up to date; a duplicate takes back everything since `start`.
    async fn change_unique(
        &mut self,
        changes: &[UniqueChange],
        primary_key: &[u8],
        start: &Savepoint,
    ) -> Result<Inserted> {
        self.counters.unique_key_operations += changes.len() as u64;
        for change in changes {
            if let Some(key) = &change.old_key {
                self.delete_hidden(change.table, key).await?;
            }
            let Some(key) = &change.new_key else { continue };
            let (partition, row) = self.hidden_row(key, primary_key)?;
            if let Some((_, existing)) = self.insert_one(change.table, partition, &row).await? {
                self.rollback_to(start);
                let primary_key = unique::primary_key_in(&existing)?;
                return Ok(Inserted::Duplicate { index: change.index, primary_key });
            }
        }
        Ok(Inserted::Done)
    }

    async fn delete_hidden(&mut self, hidden: TableId, key: &[u8]) -> Result<()> {
        let mut hidden_key = Vec::with_capacity(key.len() + 2);
        unique::hidden_primary_key(key, &mut hidden_key);
        let partition = self.node.router().partition_of(&hidden_key);
        match self.delete_one(hidden, partition, &hidden_key).await? {
            true => Ok(()),
            false => Err(Error::unknown("internal: a unique index has lost a key")),
        }
    }

    /// Deletes a row by its primary key; false if it is not there.
    async fn delete_one(&mut self, table: TableId, partition: u32, primary_key: &[u8]) -> Result<bool> {
        self.begin_writing();
        let mut patience = Patience::default();
        loop {
            let seen = map_version(&self.node);
            if let Some(node) = self.route(partition).await? {
                let write = Write { kind: WriteKind::Delete, table, bytes: primary_key };
                match self.write_at(partition, node, write).await {
                    Ok(answer) => return Ok(answer.stop()?.is_none()),
                    Err(error) => self.try_again(&mut patience, seen, error).await?,
                }
                continue;
            }
            match self.delete_held(table, partition, primary_key) {
                Ok(Step::Ready(is_there)) => return Ok(is_there),
                Ok(Step::Wait(blocked)) => self.wait(partition, blocked).await?,
                Err(error) => self.try_again(&mut patience, seen, error).await?,
            }
        }
    }

    fn delete_held(&mut self, table: TableId, partition: u32, primary_key: &[u8]) -> Result<Step<bool>> {
        let (id, token) = (self.begin_writing(), self.token());
        let mut guard = Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, true)?;
        Ok(match guard.delete(id, table, primary_key, token)? {
            Step::Ready(WriteOutcome::Done) => {
                Transaction::wrote(&mut self.participants, partition, primary_key.len())?;
                Step::Ready(true)
            }
            Step::Ready(_) => Step::Ready(false),
            Step::Wait(blocked) => Step::Wait(blocked),
        })
    }

    /// Stages a new version of a row whose primary key stays; a duplicate in an index that is unique in the partition.
    async fn update_one(&mut self, table: &Table, partition: u32, row: &[u8]) -> Result<Inserted> {
        self.begin_writing();
        let mut patience = Patience::default();
        loop {
            let seen = map_version(&self.node);
            if let Some(node) = self.route(partition).await? {
                let write = Write { kind: WriteKind::Update, table: table.id(), bytes: row };
                match self.write_at(partition, node, write).await {
                    Ok(answer) => return updated(table, answer.stop()?),
                    Err(error) => self.try_again(&mut patience, seen, error).await?,
                }
                continue;
            }
            match self.update_held(table, partition, row) {
                Ok(Step::Ready(outcome)) => return Ok(outcome),
                Ok(Step::Wait(blocked)) => self.wait(partition, blocked).await?,
                Err(error) => self.try_again(&mut patience, seen, error).await?,
            }
        }
    }

    fn update_held(&mut self, table: &Table, partition: u32, row: &[u8]) -> Result<Step<Inserted>> {
        let (id, token) = (self.begin_writing(), self.token());
        let mut guard = Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, true)?;
        Ok(match guard.update(id, table.id(), row, token)? {
            Step::Ready(WriteOutcome::Done) => {
                Transaction::wrote(&mut self.participants, partition, row.len())?;
                Step::Ready(Inserted::Done)
            }
            Step::Ready(WriteOutcome::Duplicate { index, row }) => {
                Step::Ready(duplicate(table, index, row.bytes())?)
            }
            Step::Ready(WriteOutcome::NotFound) => return Err(internal("a locked row is gone", table)),
            Step::Wait(blocked) => Step::Wait(blocked),
        })
    }

    /// Reads a row under an exclusive lock and changes it by what `decide` says, under one hold of the partition. Yields
    /// `None` if there is no row; a unique secondary key that exists elsewhere is `Inserted::Duplicate`.
    ///
    /// `decide` is asked again when the change had to wait.
    pub async fn modify<R>(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        mut decide: impl FnMut(RowRef<'_>) -> Result<(Modification, R)>,
    ) -> Result<Option<(Inserted, R)>> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += 1;
        let id = self.begin_writing();
        let start = self.savepoint();
        let view = ReadView::newest(Some(id), self.token());
        let partition = self.home_of(table, primary_key, &view).await?;
        self.participants.join(partition);
        let may_unlock = self.may_unlock(partition);
        let mut patience = Patience::default();
        loop {
            let seen = map_version(&self.node);
            let step = match self.route(partition).await? {
                None => self.modify_held(table, primary_key, partition, may_unlock, &mut decide),
                Some(node) => self.modify_at(table, primary_key, (partition, node), may_unlock, &mut decide).await,
            };
            let (outcome, changes, result) = match step {
                Ok(Step::Ready(Some(modified))) => modified,
                Ok(Step::Ready(None)) => return Ok(None),
                Ok(Step::Wait(blocked)) => {
                    self.wait(partition, blocked).await?;
                    continue;
                }
                Err(error) => {
                    self.try_again(&mut patience, seen, error).await?;
                    continue;
                }
            };
            if outcome != Inserted::Done || changes.is_empty() {
                return Ok(Some((outcome, result)));
            }
            let outcome = self.change_unique(&changes, primary_key, &start).await?;
            return Ok(Some((outcome, result)));
        }
    }

    /// One try of `modify`: what came of the base row, and what the unique indexes need.
    fn modify_held<R>(
        &mut self,
        table: &Table,
        primary_key: &[u8],
        partition: u32,
        may_unlock: bool,
        decide: &mut impl FnMut(RowRef<'_>) -> Result<(Modification, R)>,
    ) -> Result<Step<Option<Modified<R>>>> {
        let (id, token) = (self.begin_writing(), self.token());
        let view = ReadView::newest(Some(id), token);
        let request = self.lock_to_modify();
        let mut guard = Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, true)?;
        let row = match guard.get(&view, table.id(), primary_key, Some(request))? {
            Step::Ready(Some(row)) => row,
            Step::Ready(None) => return Ok(Step::Ready(None)),
            Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
        };
        self.counters.read_row_count += 1;
        let (modification, result) = decide(row)?;
        let new = match &modification {
            Modification::Keep { unlock } => {
                if *unlock && may_unlock {
                    guard.unlock_row(id, table.id(), primary_key);
                }
                return Ok(Step::Ready(Some((Inserted::Done, Vec::new(), result))));
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
                Transaction::wrote(&mut self.participants, partition, bytes)?;
                Step::Ready(Some((Inserted::Done, changes, result)))
            }
            Step::Ready(WriteOutcome::Duplicate { index, row }) => {
                Step::Ready(Some((duplicate(table, index, row.bytes())?, Vec::new(), result)))
            }
            Step::Ready(WriteOutcome::NotFound) => return Err(internal("a changed row has another key", table)),
            Step::Wait(blocked) => Step::Wait(blocked),
        })
    }

    fn lock_to_modify(&self) -> LockRequest {
        let lock_gaps = self.isolation != Isolation::ReadCommitted;
        LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::Wait, lock_gaps }
    }

    /// The same at a leader on another node: one round trip for the lock and the row, one for the change.
    async fn modify_at<R>(
        &mut self,
        table: &Table,
        primary_key: &[u8],
        (partition, node): (u32, NodeId),
        may_unlock: bool,
        decide: &mut impl FnMut(RowRef<'_>) -> Result<(Modification, R)>,
    ) -> Result<Step<Option<Modified<R>>>> {
        let view = ReadView::newest(self.id, self.token());
        let lock = Some(self.lock_to_modify());
        self.begin_read(partition, node, table.id(), view, lock, std::iter::once(primary_key));
        let answer = self.ask(partition, node, std::iter::empty()).await?;
        let Some((_, row)) = FoundRows::read(answer.done()?)?.rows.iter().next() else {
            return Ok(Step::Ready(None));
        };
        self.counters.read_row_count += 1;
        let (modification, result) = decide(table.layout.checked_row(row)?)?;
        let (kind, new) = match &modification {
            Modification::Keep { unlock } => {
                if *unlock && may_unlock {
                    self.unlock_rows(partition, table.id(), &[primary_key.to_vec()]);
                }
                return Ok(Step::Ready(Some((Inserted::Done, Vec::new(), result))));
            }
            Modification::Update(new) => (WriteKind::Update, Some(new.as_slice())),
            Modification::Delete => (WriteKind::Delete, None),
        };
        let changes = unique_changes(table, Some(row), new)?;
        let write = Write { kind, table: table.id(), bytes: new.unwrap_or(primary_key) };
        let written = self.write_at(partition, node, write).await?;
        Ok(Step::Ready(Some(match updated(table, written.stop()?)? {
            Inserted::Done => (Inserted::Done, changes, result),
            duplicate => (duplicate, Vec::new(), result),
        })))
    }

    /// Replaces the row `old` by `new`, which may move to another key or partition. Both encoded by `table.layout`; `old` must
    /// be locked by this transaction.
    pub async fn replace_row(&mut self, table: &Arc<Table>, old: &[u8], new: &[u8]) -> Result<Inserted> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += 1;
        self.begin_writing();
        self.note_sequence(table);
        let start = self.savepoint();
        let old_key = primary_key_of(table, table.layout.row(old));
        let new_key = primary_key_of(table, table.layout.row(new));
        let partition = self.partition_of_row(table, old);
        if old_key == new_key {
            let outcome = self.update_one(table, partition, new).await?;
            if outcome != Inserted::Done {
                return Ok(outcome);
            }
            let changes = unique_changes(table, Some(old), Some(new))?;
            return self.change_unique(&changes, &new_key, &start).await;
        }
        if !self.delete_one(table.id(), partition, &old_key).await? {
            return Err(internal("a locked row is gone", table));
        }
        let partition = self.partition_of_row(table, new);
        if let Some((index, existing)) = self.insert_one(table.id(), partition, new).await? {
            self.rollback_to(&start);
            return duplicate(table, index, &existing);
        }
        let mut changes = Vec::with_capacity(table.global_unique.len());
        for &index in &table.global_unique {
            // Even a key that stays now stands for another row.
            changes.push(UniqueChange {
                index,
                table: unique_table_of(table, index)?,
                old_key: unique_key(table, index, table.layout.row(old)),
                new_key: unique_key(table, index, table.layout.row(new)),
            });
        }
        self.change_unique(&changes, &new_key, &start).await
    }

    /// Deletes a row that this transaction has locked.
    pub async fn delete_row(&mut self, table: &Arc<Table>, old: &[u8]) -> Result<()> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += 1;
        let start = self.savepoint();
        let primary_key = primary_key_of(table, table.layout.row(old));
        let partition = self.partition_of_row(table, old);
        if !self.delete_one(table.id(), partition, &primary_key).await? {
            return Err(internal("a locked row is gone", table));
        }
        let changes = unique_changes(table, Some(old), None)?;
        self.change_unique(&changes, &primary_key, &start).await?;
        Ok(())
    }
}

/// What became of an update at a leader on another node.
fn updated(table: &Table, stop: Option<WriteStop<'_>>) -> Result<Inserted> {
    match stop {
        None => Ok(Inserted::Done),
        Some(WriteStop::Duplicate { index, row }) => duplicate(table, index, row),
        Some(WriteStop::NotFound) => Err(internal("a locked row is gone", table)),
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
