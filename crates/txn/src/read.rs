//! Reads by key.

use std::sync::Arc;

use shoal_cluster::{Table, unique};
use shoal_partition::{LockRequest, ReadView, Step};
use shoal_types::row::RowRef;
use shoal_types::{Result, TableId};

use crate::api::*;
use crate::transaction::Transaction;

/// Keys that are read under one hold of a partition.
const KEYS_PER_HOLD: usize = 256;

impl Transaction {
    /// One row by its primary key; `visit` sees it in place.
    pub async fn get<R>(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        mode: ReadMode,
        visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += 1;
        let (view, lock) = self.point_view(mode);
        let partition = self.home_of(table, primary_key, &view).await?;
        self.get_in(partition, table.id(), primary_key, view, lock, visit).await
    }

    /// One row by its primary key at the newest committed version (or as this transaction wrote it), without a snapshot
    /// and without beginning anything: the read of an autocommitted single-row SELECT. No allocation, no task switch.
    pub async fn get_newest<R>(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += 1;
        let view = ReadView::newest(self.id, self.token());
        let partition = self.home_of(table, primary_key, &view).await?;
        self.get_in(partition, table.id(), primary_key, view, None, visit).await
    }

    async fn get_in<R>(
        &mut self,
        partition: u32,
        table: TableId,
        primary_key: &[u8],
        mut view: ReadView,
        lock: Option<LockRequest>,
        visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        if lock.is_some() {
            self.participants.join(partition);
        }
        loop {
            let blocked = {
                let mut guard = self.node.partition(partition);
                match guard.get(&view, table, primary_key, lock)? {
                    Step::Ready(row) => {
                        self.counters.read_row_count += u64::from(row.is_some());
                        return Ok(visit(row));
                    }
                    Step::Wait(blocked) => blocked,
                }
            };
            self.wait(partition, blocked).await?;
            view.token = self.token();
        }
    }

    /// The partition of a primary key. Where the key's bytes do not tell, the one that has the row.
    pub(crate) async fn home_of(&mut self, table: &Table, primary_key: &[u8], view: &ReadView) -> Result<u32> {
        let mut buffer = std::mem::take(&mut self.key_buffer);
        let found =
            table.partition_key_of(primary_key, &mut buffer).map(|key| self.node.router().partition_of(key));
        self.key_buffer = buffer;
        match found {
            Some(partition) => Ok(partition),
            None => self.search_home(table.id(), primary_key, *view).await,
        }
    }

    async fn search_home(&mut self, table: TableId, primary_key: &[u8], mut view: ReadView) -> Result<u32> {
        for partition in 0..self.node.partition_count() {
            loop {
                let blocked = match self.node.partition(partition).get(&view, table, primary_key, None)? {
                    Step::Ready(Some(_)) => return Ok(partition),
                    Step::Ready(None) => break,
                    Step::Wait(blocked) => blocked,
                };
                self.wait(partition, blocked).await?;
                view.token = self.token();
            }
        }
        Ok(0)
    }

    /// Rows by primary keys, one round trip; `visit(position in keys, row)` in key order of each partition. Keys without
    /// a row are not visited.
    pub async fn get_many(
        &mut self,
        table: &Arc<Table>,
        primary_keys: &[Vec<u8>],
        mode: ReadMode,
        visit: &mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += primary_keys.len() as u64;
        let (view, lock) = self.point_view(mode);
        let mut places = Vec::with_capacity(primary_keys.len());
        for (position, key) in primary_keys.iter().enumerate() {
            places.push((self.home_of(table, key, &view).await?, position));
        }
        let key_of = |position: usize| primary_keys[position].as_slice();
        self.get_at(&mut places, key_of, table.id(), view, lock, visit).await
    }

    /// Reads keys whose partitions are known, partition by partition.
    async fn get_at<'k>(
        &mut self,
        places: &mut [(u32, usize)],
        key_of: impl Fn(usize) -> &'k [u8],
        table: TableId,
        mut view: ReadView,
        lock: Option<LockRequest>,
        visit: &mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        places.sort_unstable();
        let mut at = 0;
        while at < places.len() {
            let partition = places[at].0;
            if lock.is_some() {
                self.participants.join(partition);
            }
            let mut blocked = None;
            {
                let mut guard = self.node.partition(partition);
                let hold_end = places.len().min(at + KEYS_PER_HOLD);
                while at < hold_end && places[at].0 == partition {
                    let position = places[at].1;
                    match guard.get(&view, table, key_of(position), lock)? {
                        Step::Ready(None) => {}
                        Step::Ready(Some(row)) => {
                            self.counters.read_row_count += 1;
                            visit(position, row)?;
                        }
                        Step::Wait(on) => {
                            blocked = Some(on);
                            break;
                        }
                    }
                    at += 1;
                }
            }
            if let Some(blocked) = blocked {
                self.wait(partition, blocked).await?;
                view.token = self.token();
            }
        }
        Ok(())
    }

    /// Primary keys of the rows with these keys of a unique secondary index (position in `schema.indexes`; full key, no
    /// NULLs), one round trip.
    pub async fn get_unique(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        keys: &[Vec<u8>],
        mode: ReadMode,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.unique_key_operations += keys.len() as u64;
        let hidden = unique_table_of(table, index)?;
        let (view, lock) = self.point_view(mode);
        let hidden_keys: Vec<Vec<u8>> = keys
            .iter()
            .map(|key| {
                let mut hidden_key = Vec::with_capacity(key.len() + 2);
                unique::hidden_primary_key(key, &mut hidden_key);
                hidden_key
            })
            .collect();
        let router = self.node.router();
        let mut places: Vec<(u32, usize)> =
            hidden_keys.iter().enumerate().map(|(position, key)| (router.partition_of(key), position)).collect();
        let mut found = vec![None; keys.len()];
        let mut see = |position: usize, row: RowRef<'_>| {
            found[position] = Some(unique::base_primary_key(row).to_vec());
            Ok(())
        };
        let key_of = |position: usize| hidden_keys[position].as_slice();
        self.get_at(&mut places, key_of, hidden, view, lock, &mut see).await?;
        Ok(found)
    }
}

/// The hidden table of a unique index.
pub(crate) fn unique_table_of(table: &Table, index: usize) -> Result<TableId> {
    let definition = table.schema.indexes.get(index);
    definition.and_then(|definition| definition.unique_table).ok_or_else(|| {
        shoal_types::Error::unknown(format!("internal: index {index} of '{}' has no hidden table", table.name()))
    })
}
