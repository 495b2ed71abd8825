//! Reads by key.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use shoal_cluster::{Table, unique};
use shoal_partition::{LockRequest, ReadView, Step};
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{NodeId, Result, TableId};

use crate::api::*;
use crate::at_partition::PartitionOperation;
use crate::fan_out::{FanOut, runs_of};
use crate::protocol::{self, FoundRows, malformed};
use crate::remote::{Answer, Asked, WorkFor};
use crate::transaction::Transaction;

/// Keys that are read under one hold of a partition.
const KEYS_PER_HOLD: usize = 256;
/// So many keys of one partition are worth to be warmed up before they are read.
pub(crate) const KEYS_WARMED_MIN: usize = 3;
/// Keys that are asked for in one frame.
const KEYS_PER_FRAME: usize = 4096;

impl Transaction {
    /// One row by its primary key; `visit` sees it in place.
    pub async fn get<R>(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        mode: ReadMode,
        visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        let this = self.of(table);
        this.use_table_for(table, mode).await?;
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += 1;
        let (view, lock) = this.point_view(mode).await?;
        let partition = this.home_of(table, primary_key, &view).await?;
        this.get_in(partition, table, primary_key, view, lock, visit).await
    }

    /// One row by its primary key at the newest committed version (or as this transaction wrote it), without a snapshot
    /// and without beginning anything: the read of an autocommitted single-row SELECT. No allocation, no task switch.
    pub async fn get_newest<R>(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        let this = self.of(table);
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += 1;
        let view = ReadView::newest(this.id, this.token());
        let partition = this.home_of(table, primary_key, &view).await?;
        this.get_in(partition, table, primary_key, view, None, visit).await
    }

    pub(crate) async fn get_in<R>(
        &mut self,
        partition: u32,
        table: &Table,
        primary_key: &[u8],
        view: ReadView,
        lock: Option<LockRequest>,
        visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        let visit = Some(visit);
        self.run_at(partition, GetRow { table, primary_key, view, lock, visit, result: PhantomData }).await
    }

    /// One try at a partition that is led here.
    pub(crate) fn get_held<R>(
        &mut self,
        partition: u32,
        table: TableId,
        primary_key: &[u8],
        view: &ReadView,
        lock: Option<LockRequest>,
        visit: &mut Option<impl FnOnce(Option<RowRef<'_>>) -> R>,
    ) -> Result<Step<R>> {
        let mut guard =
            Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, lock.is_some())?;
        match guard.get(view, table, primary_key, lock)? {
            Step::Ready(row) => {
                self.counters.read_row_count += u64::from(row.is_some());
                show_once(visit, row).map(Step::Ready)
            }
            Step::Wait(blocked) => Ok(Step::Wait(blocked)),
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
            None => self.search_home(table, primary_key, *view).await,
        }
    }

    async fn search_home(&mut self, table: &Table, primary_key: &[u8], mut view: ReadView) -> Result<u32> {
        let read_before = self.counters.read_row_count;
        for partition in 0..self.node.partition_count() {
            view.token = self.token();
            let is_there = self.get_in(partition, table, primary_key, view, None, |row| row.is_some()).await?;
            self.counters.read_row_count = read_before;
            if is_there {
                return Ok(partition);
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
        let this = self.of(table);
        this.use_table_for(table, mode).await?;
        this.counters.execute_count += 1;
        this.counters.primary_key_operations += primary_keys.len() as u64;
        let (view, lock) = this.point_view(mode).await?;
        let mut places = Vec::with_capacity(primary_keys.len());
        for (position, key) in primary_keys.iter().enumerate() {
            places.push((this.home_of(table, key, &view).await?, position));
        }
        let key_of = |position: usize| primary_keys[position].as_slice();
        this.get_at(&mut places, key_of, (table.id(), &table.layout), view, lock, visit).await
    }

    /// Rows by primary keys as [`Transaction::get_newest`] sees them, with one question to each node. Keys are numbered from 0;
    /// `visit(number, row)` comes partition by partition, and not at all for keys without a row.
    pub async fn get_newest_many<'k>(
        &mut self,
        table: &Arc<Table>,
        count: usize,
        key_of: impl Fn(usize) -> &'k [u8],
        visit: &mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += count as u64;
        let view = ReadView::newest(self.id, self.token());
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        for number in 0..count {
            places.push((self.home_of(table, key_of(number), &view).await?, number));
        }
        let layout = (table.id(), &table.layout);
        self.get_at(&mut places, key_of, layout, view, None, visit).await?;
        self.places = places;
        Ok(())
    }

    /// Reads keys whose partitions are known: all nodes at once, and in each of them partition by partition.
    async fn get_at<'k>(
        &mut self,
        places: &mut [(u32, usize)],
        key_of: impl Fn(usize) -> &'k [u8],
        table: (TableId, &RowLayout),
        view: ReadView,
        lock: Option<LockRequest>,
        visit: &mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        places.sort_unstable();
        if self.node.remote().is_none() {
            return self.get_here(places, &mut 0, &key_of, table.0, view, lock, visit).await;
        }
        let runs = runs_of(places, |place| place.0);
        let (table, layout) = table;
        self.fan_out(&mut GetRows { places, key_of: &key_of, table, layout, view, lock, visit }, runs).await
    }

    /// Makes the frame of a read.
    pub(crate) fn begin_read<'k>(
        &mut self,
        partition: u32,
        node: NodeId,
        table: TableId,
        view: ReadView,
        lock: Option<LockRequest>,
        keys: impl Iterator<Item = &'k [u8]>,
    ) {
        self.begin_work(WorkFor::reading(partition, &view, lock.is_some()), node, std::iter::empty());
        protocol::put_then_read(&mut self.frame, table, lock, keys);
    }

    /// Reads keys, from `at` on, of partitions that are led here.
    #[allow(clippy::too_many_arguments)]
    async fn get_here<'k>(
        &mut self,
        places: &[(u32, usize)],
        at: &mut usize,
        key_of: &impl Fn(usize) -> &'k [u8],
        table: TableId,
        mut view: ReadView,
        lock: Option<LockRequest>,
        visit: &mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        while *at < places.len() {
            let partition = places[*at].0;
            let mut blocked = None;
            // The partition before this one may have been waited for, under a token that is worth nothing any more.
            view.token = self.token();
            {
                let joins = lock.is_some();
                let mut guard =
                    Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, joins)?;
                let hold_end = places.len().min(*at + KEYS_PER_HOLD);
                let run = places[*at..hold_end].iter().take_while(|place| place.0 == partition);
                if run.clone().nth(KEYS_WARMED_MIN - 1).is_some() {
                    guard.warm(table, run.map(|&(_, position)| key_of(position)));
                }
                while *at < hold_end && places[*at].0 == partition {
                    let position = places[*at].1;
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
                    *at += 1;
                }
            }
            if let Some(blocked) = blocked {
                self.wait(partition, blocked).await?;
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
        let this = self.of(table);
        this.use_table_for(table, mode).await?;
        this.counters.execute_count += 1;
        this.counters.unique_key_operations += keys.len() as u64;
        let hidden = unique_table_of(table, index)?;
        let (view, lock) = this.point_view(mode).await?;
        let hidden_keys: Vec<Vec<u8>> = keys
            .iter()
            .map(|key| {
                let mut hidden_key = Vec::with_capacity(key.len() + 2);
                unique::hidden_primary_key(key, &mut hidden_key);
                hidden_key
            })
            .collect();
        let router = this.node.router();
        let mut places: Vec<(u32, usize)> =
            hidden_keys.iter().enumerate().map(|(position, key)| (router.partition_of(key), position)).collect();
        let mut found = vec![None; keys.len()];
        let mut see = |position: usize, row: RowRef<'_>| {
            found[position] = Some(unique::base_primary_key(row).to_vec());
            Ok(())
        };
        let key_of = |position: usize| hidden_keys[position].as_slice();
        this.get_at(&mut places, key_of, (hidden, unique::layout()), view, lock, &mut see).await?;
        Ok(found)
    }
}

/// The rows with keys in known partitions, shown to `visit` with the keys' numbers.
struct GetRows<'a, K> {
    /// Partitions and numbers of keys.
    places: &'a [(u32, usize)],
    key_of: &'a K,
    table: TableId,
    layout: &'a RowLayout,
    view: ReadView,
    lock: Option<LockRequest>,
    visit: &'a mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
}

impl<K> GetRows<'_, K> {
    /// What goes in the next frame.
    fn of_frame(&self, run: &Range<usize>) -> &[(u32, usize)] {
        &self.places[run.start..run.end.min(run.start + KEYS_PER_FRAME)]
    }
}

impl<'k, K: Fn(usize) -> &'k [u8]> FanOut for GetRows<'_, K> {
    type Run = Range<usize>;

    const TAKES_ALL_ANSWERS: bool = false;

    fn partition_of(&self, run: &Range<usize>) -> u32 {
        self.places[run.start].0
    }

    async fn ask(&mut self, transaction: &mut Transaction, run: &Range<usize>, node: NodeId) -> Result<Asked> {
        let partition = self.partition_of(run);
        let keys = self.of_frame(run).iter().map(|&(_, number)| (self.key_of)(number));
        transaction.begin_read(partition, node, self.table, self.view, self.lock, keys);
        Ok(transaction.send_work(partition, node, std::iter::empty()))
    }

    async fn run_here(&mut self, transaction: &mut Transaction, run: &mut Range<usize>) -> Result<()> {
        let places = &self.places[..run.end];
        let (table, view, lock) = (self.table, self.view, self.lock);
        transaction.get_here(places, &mut run.start, self.key_of, table, view, lock, self.visit).await
    }

    fn take(&mut self, transaction: &mut Transaction, run: &mut Range<usize>, answer: &Answer) -> Result<()> {
        let found = FoundRows::read(answer.done()?)?;
        let asked = self.of_frame(run).len();
        for (place, row) in found.rows.iter() {
            let place = Some(place as usize).filter(|&place| place < asked).ok_or_else(malformed)?;
            transaction.counters.read_row_count += 1;
            (self.visit)(self.places[run.start + place].1, self.layout.checked_row(row)?)?;
        }
        run.start += Some(found.keys_done as usize).filter(|&done| done <= asked).ok_or_else(malformed)?;
        Ok(())
    }

    fn is_done(&self, run: &Range<usize>) -> bool {
        run.is_empty()
    }
}

/// The row with a primary key, shown to `visit`.
struct GetRow<'a, V, R> {
    table: &'a Table,
    primary_key: &'a [u8],
    view: ReadView,
    lock: Option<LockRequest>,
    visit: Option<V>,
    result: PhantomData<R>,
}

impl<R, V: FnOnce(Option<RowRef<'_>>) -> R> PartitionOperation for GetRow<'_, V, R> {
    type Output = R;

    #[inline]
    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<R>> {
        // Every wait has a token of its own, and the caller may have waited since it made the view.
        self.view.token = transaction.token();
        let (table, key) = (self.table.id(), self.primary_key);
        transaction.get_held(partition, table, key, &self.view, self.lock, &mut self.visit)
    }

    async fn try_at(&mut self, transaction: &mut Transaction, partition: u32, node: NodeId) -> Result<R> {
        self.view.token = transaction.token();
        let keys = std::iter::once(self.primary_key);
        transaction.begin_read(partition, node, self.table.id(), self.view, self.lock, keys);
        let answer = transaction.ask(partition, node, std::iter::empty()).await?;
        let found = FoundRows::read(answer.done()?)?;
        let row = found.rows.iter().next().map(|(_, row)| self.table.layout.checked_row(row)).transpose()?;
        transaction.counters.read_row_count += u64::from(row.is_some());
        show_once(&mut self.visit, row)
    }
}

fn show_once<R>(visit: &mut Option<impl FnOnce(Option<RowRef<'_>>) -> R>, row: Option<RowRef<'_>>) -> Result<R> {
    let visit = visit.take().ok_or_else(|| shoal_types::Error::unknown("internal: a row was read twice"))?;
    Ok(visit(row))
}

/// The hidden table of a unique index.
pub(crate) fn unique_table_of(table: &Table, index: usize) -> Result<TableId> {
    let definition = table.schema.indexes.get(index);
    definition.and_then(|definition| definition.unique_table).ok_or_else(|| {
        shoal_types::Error::unknown(format!("internal: index {index} of '{}' has no hidden table", table.name()))
    })
}
