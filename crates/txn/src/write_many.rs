//! Batches of writes of any kind: one round trip to all leaders at once, whatever the number of rows; and a batch that is a transaction
//! of its own in one partition is written and committed by one request.
//!
//! A batch is staged as a whole or not at all: a duplicate takes everything back and says which row it was. Rows that are not there
//! to be changed or deleted do not stop it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::table_map::{ById, TableMap};
use shoal_cluster::{RequestError, Table};
use shoal_partition::{ReadView, Step};
use shoal_types::{Error, NodeId, Outcome, Result, TableId};

use crate::api::*;
use crate::fan_out::{FanOut, runs_of};
use crate::interpret::{ChangeOfRow, RowChange, Staged, stage};
use crate::leader_wait::{LeaderWait, map_version};
use crate::protocol::{self, Write, WriteKind, WriteStop, put_bytes};
use crate::remote::{Answer, Asked, WorkFor, commit_lost};
use crate::staging::{ROWS_PER_HOLD, builds_unique, duplicate, primary_key_of, unique_changes};
use crate::transaction::Transaction;
use crate::write_remote::{BYTES_PER_FRAME, ROWS_PER_FRAME};

/// One write of a batch. Rows are encoded by the table's layout, keys are memcomparable.
#[derive(Clone, Debug)]
pub enum RowWrite {
    /// An error if the primary key or a unique key is there.
    Insert(Vec<u8>),
    /// Inserts the row, or puts it in place of the one that has its primary key.
    Put(Vec<u8>),
    /// Skipped if there is no row with the key that fulfils the condition. No column of a unique index or the primary key changes.
    Change {
        /// Memcomparable.
        primary_key: Vec<u8>,
        /// What becomes of the row, and under which condition.
        change: RowChange,
    },
    /// Skipped if there is no row.
    Delete {
        /// Memcomparable.
        primary_key: Vec<u8>,
    },
}

/// How a batch has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchEnd {
    /// Places in the batch of the writes that found no row, ascending.
    pub skipped: Vec<usize>,
    /// The place of a row with a key that another row has, and what `Inserted::Duplicate` tells. Nothing of the batch is staged then.
    pub duplicate: Option<(usize, Inserted)>,
}

/// A write in its partition.
struct Placed {
    partition: u32,
    /// Of the batch.
    position: usize,
    kind: WriteKind,
    table: TableId,
    bytes: Vec<u8>,
}

impl Placed {
    fn write(&self) -> Write<'_> {
        Write { kind: self.kind, table: self.table, bytes: &self.bytes }
    }
}

/// A write that has stopped a batch.
struct Stop {
    position: usize,
    table: TableId,
    inserted: Inserted,
}

/// What a round of writes came to.
#[derive(Default)]
struct Round {
    skipped: Vec<usize>,
    stop: Option<Stop>,
}

impl Transaction {
    /// Writes a batch to a table without unique secondary keys, or one that does not concern them.
    ///
    /// # Errors
    /// What a write met. The batch may be staged in part then: roll back, at least to a savepoint.
    pub async fn write_many(&mut self, table: &Arc<Table>, writes: Vec<RowWrite>) -> Result<BatchEnd> {
        let this = self.of(table);
        this.use_table_to_write(table).await?;
        let start = this.savepoint();
        let mut placed = this.place_writes(table, writes).await?;
        this.counters.execute_count += 1;
        let round = this.write_placed(table, &mut placed).await?;
        Ok(this.end_batch(table, round, &start))
    }

    /// The same as a transaction of its own, which is committed when this returns: by the same request, if all rows lie in one
    /// partition.
    ///
    /// # Errors
    /// As those of `commit`. The transaction is over.
    pub async fn write_and_commit(&mut self, table: &Arc<Table>, writes: Vec<RowWrite>) -> Result<BatchEnd> {
        let written = self.write_and_commit_inner(table, writes).await;
        match &written {
            Err(error) if error.outcome() != Outcome::NotCommitted => self.forget(),
            Err(_) => self.rollback(),
            Ok(end) if end.duplicate.is_some() => self.rollback(),
            Ok(_) => {}
        }
        written
    }

    async fn write_and_commit_inner(&mut self, table: &Arc<Table>, writes: Vec<RowWrite>) -> Result<BatchEnd> {
        self.use_table_to_write(table).await?;
        let mut placed = self.place_writes(table, writes).await?;
        let bytes: usize = placed.iter().map(|one| one.bytes.len()).sum();
        let is_small = placed.len() <= ROWS_PER_FRAME && bytes <= BYTES_PER_FRAME;
        let first = placed.first().map(|one| one.partition);
        let is_alone = |partition: &u32| {
            placed.iter().all(|one| one.partition == *partition)
                && self.participants.iter().all(|one| one.partition == *partition)
        };
        self.counters.execute_count += 1;
        if let Some(partition) = first.filter(is_alone).filter(|_| is_small)
            && let Some(round) = self.write_and_commit_at(partition, &placed).await?
        {
            return Ok(batch_end(table, round));
        }
        let round = self.write_placed(table, &mut placed).await?;
        if round.stop.is_none() {
            self.commit().await?;
        }
        Ok(batch_end(table, round))
    }

    /// One request that writes and commits, if the partition is led elsewhere.
    async fn write_and_commit_at(&mut self, partition: u32, placed: &[Placed]) -> Result<Option<Round>> {
        let mut leader_wait = LeaderWait::default();
        loop {
            let seen = map_version(&self.node);
            let Some(node) = self.route(partition).await? else { return Ok(None) };
            self.begin_work(WorkFor::joining(partition), node, placed.iter().map(Placed::write));
            let next = |table: &Arc<Table>| table.next_auto_increment.load(Ordering::Relaxed);
            let sequences = self.sequences.iter().map(|table| (table.id(), next(table)));
            protocol::put_then_commit(&mut self.frame, std::iter::empty(), sequences);
            let mut asked = self.send_work(partition, node, placed.iter().map(|one| one.bytes.len()));
            let reply = asked.call.as_mut().await;
            if let Err(RequestError::Lost) = reply {
                return Err(commit_lost());
            }
            match self.take_reply(asked, reply) {
                Ok(answer) => {
                    let mut round = Round::default();
                    round.take(placed, &answer, &self.node.catalog().tables_by_id)?;
                    if round.stop.is_none() {
                        self.end_committed();
                    }
                    return Ok(Some(round));
                }
                Err(error) => self.try_again(&mut leader_wait, seen, error).await?,
            }
        }
    }

    /// Changes rows that this transaction has locked, with the unique indexes that hidden tables keep: two round trips, whatever
    /// the number of rows. `None` in place of the new row deletes it; its primary key must not change.
    pub async fn replace_many(
        &mut self,
        table: &Arc<Table>,
        rows: &[(Vec<u8>, Option<Vec<u8>>)],
    ) -> Result<BatchEnd> {
        let this = self.of(table);
        this.use_table_to_write(table).await?;
        if builds_unique(table) {
            return this.replace_each(table, rows).await;
        }
        this.begin_writing();
        let start = this.savepoint();
        let (mut now, mut then) = (Vec::with_capacity(rows.len()), Vec::new());
        for (position, (old, new)) in rows.iter().enumerate() {
            let primary_key = primary_key_of(table, table.layout.row(old));
            for change in unique_changes(table, Some(old), new.as_deref())? {
                if let Some(key) = &change.old_key {
                    let (partition, bytes) = this.hidden_key(key);
                    let (kind, table) = (WriteKind::Delete, change.table);
                    now.push(Placed { partition, position, kind, table, bytes });
                }
                if let Some(key) = &change.new_key {
                    let (partition, bytes) = this.hidden_row(key, &primary_key)?;
                    let (kind, table) = (WriteKind::Insert, change.table);
                    then.push(Placed { partition, position, kind, table, bytes });
                }
            }
            let partition = this.partition_of_row(table, old);
            let (kind, bytes) = match new {
                Some(new) => (WriteKind::Update, new.clone()),
                None => (WriteKind::Delete, primary_key),
            };
            now.push(Placed { partition, position, kind, table: table.id(), bytes });
        }
        this.counters.execute_count += 1 + u64::from(!then.is_empty());
        let mut round = this.write_placed(table, &mut now).await?;
        if round.stop.is_none() {
            round = this.write_placed(table, &mut then).await?;
        }
        Ok(this.end_batch(table, round, &start))
    }

    /// The same row by row, while a unique index is being built: whose its entries are has to be looked at.
    async fn replace_each(&mut self, table: &Arc<Table>, rows: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<BatchEnd> {
        let start = self.savepoint();
        for (position, (old, new)) in rows.iter().enumerate() {
            let outcome = match new {
                Some(new) => self.replace_row(table, old, new).await?,
                None => self.delete_row(table, old).await.map(|()| Inserted::Done)?,
            };
            if outcome != Inserted::Done {
                self.rollback_to(&start);
                return Ok(BatchEnd { skipped: Vec::new(), duplicate: Some((position, outcome)) });
            }
        }
        Ok(BatchEnd::default())
    }

    fn end_batch(&mut self, table: &Table, round: Round, start: &Savepoint) -> BatchEnd {
        if round.stop.is_some() {
            self.rollback_to(start);
        }
        batch_end(table, round)
    }

    async fn place_writes(&mut self, table: &Arc<Table>, writes: Vec<RowWrite>) -> Result<Vec<Placed>> {
        self.begin_writing();
        self.counters.primary_key_operations += writes.len() as u64;
        let view = ReadView::newest(self.id, self.token());
        let mut placed = Vec::with_capacity(writes.len());
        for (position, write) in writes.into_iter().enumerate() {
            let (partition, kind, bytes) = match write {
                RowWrite::Insert(row) => {
                    self.note_sequence(table);
                    (self.partition_of_row(table, &row), WriteKind::Insert, row)
                }
                RowWrite::Put(row) => {
                    self.note_sequence(table);
                    let mut bytes = Vec::with_capacity(row.len() + 24);
                    put_bytes(&mut bytes, &primary_key_of(table, table.layout.row(&row)));
                    bytes.extend_from_slice(&row);
                    (self.partition_of_row(table, &row), WriteKind::Put, bytes)
                }
                RowWrite::Change { primary_key, change } => {
                    let mut bytes = Vec::with_capacity(primary_key.len() + 32);
                    ChangeOfRow::put(&primary_key, &change, &mut bytes);
                    (self.home_of(table, &primary_key, &view).await?, WriteKind::Change, bytes)
                }
                RowWrite::Delete { primary_key } => {
                    (self.home_of(table, &primary_key, &view).await?, WriteKind::DeleteIfThere, primary_key)
                }
            };
            placed.push(Placed { partition, position, kind, table: table.id(), bytes });
        }
        Ok(placed)
    }

    /// Writes in their partitions, wherever these are led: other nodes are all asked at once.
    async fn write_placed(&mut self, table: &Table, placed: &mut [Placed]) -> Result<Round> {
        placed.sort_by_key(|one| one.partition);
        let runs = runs_of(placed, |one| one.partition);
        let mut write = WriteRows { table, placed, round: Round::default() };
        self.fan_out(&mut write, runs).await?;
        Ok(write.round)
    }

    /// Writes, from `at` on, in a partition that is led here.
    async fn write_here(
        &mut self,
        table: &Table,
        placed: &[Placed],
        at: &mut usize,
        round: &mut Round,
    ) -> Result<()> {
        while *at < placed.len() && round.stop.is_none() {
            let (id, token, partition) = (self.begin_writing(), self.token(), placed[*at].partition);
            let mut blocked = None;
            {
                let mut guard =
                    Transaction::hold(&self.node, &mut self.participants, &self.tables, partition, true)?;
                let hold_end = placed.len().min(*at + ROWS_PER_HOLD);
                let deleted = placed[*at..hold_end].iter().filter(|one| one.kind == WriteKind::Delete);
                guard.warm(table.id(), deleted.map(|one| &*one.bytes));
                while *at < hold_end {
                    let one = &placed[*at];
                    match stage(&mut guard, id, one.write(), token)? {
                        Step::Ready(Staged::Done) => {
                            Transaction::wrote(&mut self.participants, partition, one.bytes.len())?;
                        }
                        Step::Ready(Staged::Skipped) => round.skipped.push(one.position),
                        Step::Ready(Staged::NotFound) => return Err(gone()),
                        Step::Ready(Staged::Duplicate { index, row }) => {
                            let inserted = match one.table == table.id() {
                                true => duplicate(table, index, row.bytes())?,
                                false => hidden_duplicate(row.bytes())?,
                            };
                            round.stop = Some(Stop { position: one.position, table: one.table, inserted });
                            break;
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

    /// Where a hidden table has a key, and its primary key there.
    fn hidden_key(&mut self, key: &[u8]) -> (u32, Vec<u8>) {
        let mut bytes = Vec::with_capacity(key.len() + 2);
        shoal_cluster::unique::hidden_primary_key(key, &mut bytes);
        (self.node.router().partition_of(&bytes), bytes)
    }
}

/// Writes of any kind, until one of them stops the batch.
struct WriteRows<'a> {
    table: &'a Table,
    placed: &'a [Placed],
    round: Round,
}

impl<'a> WriteRows<'a> {
    /// What goes in the next frame.
    fn of_frame(&self, run: &Range<usize>) -> &'a [Placed] {
        let run = &self.placed[run.clone()];
        &run[..writes_of_frame(run)]
    }
}

impl FanOut for WriteRows<'_> {
    type Run = Range<usize>;

    const TAKES_ALL_ANSWERS: bool = true;

    fn partition_of(&self, run: &Range<usize>) -> u32 {
        self.placed[run.start].partition
    }

    async fn ask(&mut self, transaction: &mut Transaction, run: &Range<usize>, node: NodeId) -> Result<Asked> {
        let (writes, partition) = (self.of_frame(run), self.partition_of(run));
        transaction.begin_work(WorkFor::joining(partition), node, writes.iter().map(Placed::write));
        protocol::put_then_nothing(&mut transaction.frame);
        Ok(transaction.send_work(partition, node, writes.iter().map(|one| one.bytes.len())))
    }

    async fn run_here(&mut self, transaction: &mut Transaction, run: &mut Range<usize>) -> Result<()> {
        let placed = &self.placed[..run.end];
        transaction.write_here(self.table, placed, &mut run.start, &mut self.round).await
    }

    fn take(&mut self, transaction: &mut Transaction, run: &mut Range<usize>, answer: &Answer) -> Result<()> {
        let writes = self.of_frame(run);
        self.round.take(writes, answer, &transaction.node.catalog().tables_by_id)?;
        run.start += writes.len();
        Ok(())
    }

    fn is_done(&self, run: &Range<usize>) -> bool {
        run.is_empty()
    }

    fn is_over(&self) -> bool {
        self.round.stop.is_some()
    }
}

impl Round {
    /// Takes account of a leader's answer to some of the writes.
    fn take(&mut self, writes: &[Placed], answer: &Answer, tables: &TableMap<ById>) -> Result<()> {
        let position = |place: u32| writes.get(place as usize).ok_or_else(protocol::malformed);
        let Some(stop) = answer.stop()? else {
            for place in answer.skipped()? {
                self.skipped.push(position(place)?.position);
            }
            return Ok(());
        };
        let at = position(answer.stopped_at()?)?;
        let WriteStop::Duplicate { index, row } = stop else { return Err(gone()) };
        let inserted = match tables.get(&at.table).filter(|table| !table.schema.database.is_empty()) {
            Some(table) => duplicate(table, index, row)?,
            None => hidden_duplicate(row)?,
        };
        self.stop = Some(Stop { position: at.position, table: at.table, inserted });
        Ok(())
    }
}

/// A duplicate that a hidden table's partition has found; the index is told by the table.
fn hidden_duplicate(row: &[u8]) -> Result<Inserted> {
    Ok(Inserted::Duplicate { index: 0, primary_key: shoal_cluster::unique::primary_key_in(row)? })
}

fn batch_end(table: &Table, mut round: Round) -> BatchEnd {
    round.skipped.sort_unstable();
    let duplicate = round.stop.map(|stop| {
        let hidden = table.schema.indexes.iter().position(|index| index.unique_table == Some(stop.table));
        let inserted = match (hidden, stop.inserted) {
            (Some(index), Inserted::Duplicate { primary_key, .. }) => Inserted::Duplicate { index, primary_key },
            (_, inserted) => inserted,
        };
        (stop.position, inserted)
    });
    BatchEnd { skipped: round.skipped, duplicate }
}

fn gone() -> Error {
    Error::unknown("internal: a locked row, or a key of a unique index, is gone")
}

/// How many of the writes go in the next frame; one at least.
fn writes_of_frame(writes: &[Placed]) -> usize {
    let mut bytes = 0;
    let fits = |one: &&Placed| {
        bytes += one.bytes.len();
        bytes <= BYTES_PER_FRAME
    };
    writes.iter().take(ROWS_PER_FRAME).take_while(fits).count().max(1)
}
