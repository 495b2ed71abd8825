//! Inserts, updates and deletes, with the unique indexes that hidden tables keep.
//!
//! A row and its entries in hidden tables usually lie in different partitions, which are held one after the other, never
//! two at once. The base row comes first; a duplicate that a hidden table reports takes it back.

use std::sync::Arc;

use shoal_cluster::{Table, unique};
use shoal_partition::ReadView;
use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, Result, TableId};

use crate::api::*;
use crate::read::unique_table_of;
use crate::staging::{
    Placed, RunEnd, UniqueChange, duplicate, primary_key_of, push_changes, row_gone, unique_changes, unique_keys,
};
use crate::transaction::Transaction;
use crate::write_one::{DeleteOne, InsertOne, Modified, ModifyOne, UpdateOne};

impl Transaction {
    /// Inserts rows (encoded by `table.layout`), one round trip; the outcome of each. Unique secondary keys are checked and
    /// kept. A duplicate leaves nothing of its own row behind; rows after a duplicate are not tried unless `go_on`.
    pub async fn insert_many(
        &mut self,
        table: &Arc<Table>,
        rows: &[impl AsRef<[u8]>],
        go_on: bool,
    ) -> Result<Vec<Inserted>> {
        let this = self.of(table);
        this.use_table_to_write(table).await?;
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += rows.len() as u64;
        this.begin_writing();
        this.note_sequence(table);
        if rows.len() > 1 {
            let start = this.savepoint();
            if this.insert_all(table, rows).await? {
                return Ok(vec![Inserted::Done; rows.len()]);
            }
            // Some row is a duplicate: what that means for the others shows when they come one by one.
            this.rollback_to(&start);
        }
        let mut outcomes = Vec::with_capacity(rows.len());
        for row in rows {
            let outcome = this.insert_row(table, row.as_ref()).await?;
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
                for key in unique_keys(table, index, row) {
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

    /// Inserts one row; the row that has its key, if there is one.
    async fn insert_one(
        &mut self,
        table: TableId,
        partition: u32,
        row: &[u8],
    ) -> Result<Option<(IndexId, Vec<u8>)>> {
        self.run_at(partition, InsertOne { table, row }).await
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
        self.change_unique(&changes, (&primary_key, &primary_key), &start).await
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

    /// Brings hidden tables up to date for a row whose primary key was the first and is the second; a duplicate takes back everything
    /// since `start`.
    async fn change_unique(
        &mut self,
        changes: &[UniqueChange],
        (old_primary_key, primary_key): (&[u8], &[u8]),
        start: &Savepoint,
    ) -> Result<Inserted> {
        self.counters.unique_key_operations += changes.len() as u64;
        for change in changes {
            match &change.old_key {
                Some(key) if change.building => self.delete_own_entry(change.table, key, old_primary_key).await?,
                Some(key) => self.delete_hidden(change.table, key).await?,
                None => {}
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

    /// Deletes the entry of a row in an index that is being built, if it is there: the key's entry may be another row's, with which
    /// the build will fail.
    async fn delete_own_entry(&mut self, hidden: TableId, key: &[u8], primary_key: &[u8]) -> Result<()> {
        let Some(table) = self.node.catalog().tables_by_id.get(&hidden).cloned() else { return Ok(()) };
        let mut hidden_key = Vec::with_capacity(key.len() + 2);
        unique::hidden_primary_key(key, &mut hidden_key);
        let partition = self.node.router().partition_of(&hidden_key);
        let mode = ReadMode { lock: Some(LockMode::Exclusive), wait: LockWait::Wait };
        let (view, lock) = self.point_view(mode).await?;
        let is_own = |row: Option<RowRef<'_>>| row.is_some_and(|row| unique::base_primary_key(row) == primary_key);
        if self.get_in(partition, &table, &hidden_key, view, lock, is_own).await? {
            self.delete_one(hidden, partition, &hidden_key).await?;
        }
        Ok(())
    }

    /// Deletes a row by its primary key; false if it is not there.
    async fn delete_one(&mut self, table: TableId, partition: u32, primary_key: &[u8]) -> Result<bool> {
        self.begin_writing();
        self.run_at(partition, DeleteOne { table, primary_key }).await
    }

    /// Stages a new version of a row whose primary key stays; a duplicate in an index that is unique in the partition.
    async fn update_one(&mut self, table: &Table, partition: u32, row: &[u8]) -> Result<Inserted> {
        self.begin_writing();
        self.run_at(partition, UpdateOne { table, row }).await
    }

    /// Reads a row under an exclusive lock and changes it by what `decide` says, under one hold of the partition. Yields
    /// `None` if there is no row; a unique secondary key that exists elsewhere is `Inserted::Duplicate`.
    ///
    /// `decide` is asked again when the change had to wait.
    pub async fn modify<R>(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        decide: impl FnMut(RowRef<'_>) -> Result<(Modification, R)>,
    ) -> Result<Option<(Inserted, R)>> {
        let this = self.of(table);
        this.use_table_to_write(table).await?;
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += 1;
        let id = this.begin_writing();
        let start = this.savepoint();
        let view = ReadView::newest(Some(id), this.token());
        let partition = this.home_of(table, primary_key, &view).await?;
        this.participants.join(partition);
        let may_unlock = this.may_unlock(partition);
        let modify = ModifyOne::new(table, primary_key, may_unlock, decide);
        let Some(Modified { outcome, changes, result }) = this.run_at(partition, modify).await? else {
            return Ok(None);
        };
        if outcome != Inserted::Done || changes.is_empty() {
            return Ok(Some((outcome, result)));
        }
        let outcome = this.change_unique(&changes, (primary_key, primary_key), &start).await?;
        Ok(Some((outcome, result)))
    }

    /// Replaces the row `old` by `new`, which may move to another key or partition. Both encoded by `table.layout`; `old` must
    /// be locked by this transaction.
    pub async fn replace_row(&mut self, table: &Arc<Table>, old: &[u8], new: &[u8]) -> Result<Inserted> {
        let this = self.of(table);
        this.use_table_to_write(table).await?;
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += 1;
        this.begin_writing();
        this.note_sequence(table);
        let start = this.savepoint();
        let old_key = primary_key_of(table, table.layout.row(old));
        let new_key = primary_key_of(table, table.layout.row(new));
        let partition = this.partition_of_row(table, old);
        if old_key == new_key {
            let outcome = this.update_one(table, partition, new).await?;
            if outcome != Inserted::Done {
                return Ok(outcome);
            }
            let changes = unique_changes(table, Some(old), Some(new))?;
            return this.change_unique(&changes, (&old_key, &new_key), &start).await;
        }
        if !this.delete_one(table.id(), partition, &old_key).await? {
            return Err(row_gone(table));
        }
        let partition = this.partition_of_row(table, new);
        if let Some((index, existing)) = this.insert_one(table.id(), partition, new).await? {
            this.rollback_to(&start);
            return duplicate(table, index, &existing);
        }
        let mut changes = Vec::with_capacity(table.global_unique.len());
        for &index in &table.global_unique {
            // Even a key that stays now stands for another row.
            let keys = |row| unique_keys(table, index, table.layout.row(row));
            push_changes(table, index, keys(old), keys(new), &mut changes)?;
        }
        this.change_unique(&changes, (&old_key, &new_key), &start).await
    }

    /// Deletes a row that this transaction has locked.
    pub async fn delete_row(&mut self, table: &Arc<Table>, old: &[u8]) -> Result<()> {
        let this = self.of(table);
        this.use_table_to_write(table).await?;
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += 1;
        let start = this.savepoint();
        let primary_key = primary_key_of(table, table.layout.row(old));
        let partition = this.partition_of_row(table, old);
        if !this.delete_one(table.id(), partition, &primary_key).await? {
            return Err(row_gone(table));
        }
        let changes = unique_changes(table, Some(old), None)?;
        this.change_unique(&changes, (&primary_key, &primary_key), &start).await?;
        Ok(())
    }
}
