//! The commit path: from staged writes to a log batch, and from a durable log to applied, visible, woken.
//!
//! A commit locks its partitions in the order of their ids, then the sequencer. Under the sequencer it gets its
//! timestamp, proposes its entries and appends them to the log as one batch: so timestamps rise with log positions,
//! in every partition and over all of them. When the log reports a position durable, everything before it is handed
//! back to the partitions, in log order; the newest timestamp of that becomes visible first, so that nobody who
//! has seen a row applied can take a snapshot that does not have it. Readers that are quicker than the applying wait
//! for it in the partition.
//!
//! Lock order: `completion`, then partitions by id, then `sequencer`. The log's locks come last.

use std::collections::VecDeque;
use std::sync::Arc;

use shoal_log::{
    AppendClass, BATCH_LIMIT_BYTES, Durability, LogBatch, LogError, Lsn, RECORD_HEADER_BYTES, RecordHeader,
};
use shoal_partition::{CommitStart, CommitToken, Partition};
use shoal_types::{Error, ErrorCode, Outcome, Result, Timestamp, TransactionId};

use crate::base::wait::lock;
use crate::dictionary::catalog::Catalog;
use crate::dictionary::stored::{
    KIND_ENTRY, KIND_LOG_START, KIND_SEQUENCE, KIND_VOTE, META_GROUP, group_of, sequence_record, vote_record,
};
use crate::dictionary::table::Table;
use crate::membership::requests::temporary;
use crate::node::{Node, PartitionGuard};

/// The largest entry that other replicas are sent: in one frame, with a message's head around it.
pub const ENTRY_BYTES_MAX: usize = shoal_transport::PAYLOAD_BYTES_MAX - (1 << 20);
/// The entries of one commit are one batch of the log, which has heads as well.
const COMMIT_BYTES_MAX: usize = BATCH_LIMIT_BYTES - (16 << 20);

/// What is written at a time of a transaction that is larger.
const PART_BYTES: usize = 64 << 10;

/// What the order of the log is made under.
#[derive(Default)]
pub(crate) struct Sequencer {
    batch: LogBatch,
    /// Appended and not yet handed back, in log order.
    in_flight: VecDeque<InFlight>,
    /// How many of `in_flight` belong to the batch in the making, and whether one of them must be synced.
    staged: usize,
    must_sync: bool,
    /// The last record of the meta group.
    meta_index: u64,
    /// The log takes nothing more: the node is closing.
    closed: bool,
}

/// Something in the log that is not known to be durable.
struct InFlight {
    end: Lsn,
    timestamp: Timestamp,
    token: u64,
    what: Appended,
    /// It counts for nothing before it is on the medium, whatever the durability of commits: `Outputs::must_sync`.
    must_sync: bool,
}

enum Appended {
    /// Entries of this partition, up to its output batch of this number.
    Partition(u32, u64),
    /// A change of the dictionary, up to this record of the meta group.
    Catalog(Arc<Catalog>, u64),
    /// Somebody wants to know that all before this is applied.
    Barrier,
}

/// The hand-back's own buffers.
#[derive(Default)]
pub(crate) struct Completion {
    taken: VecDeque<InFlight>,
    /// For every partition the number to report; 0: nothing.
    numbers: Vec<u64>,
    touched: Vec<u32>,
    tokens: Vec<u64>,
    catalogs: Vec<(Arc<Catalog>, u64, u64)>,
    barriers: Vec<u64>,
}

/// A commit that is in the log's memory.
#[derive(Clone, Copy, Debug)]
pub struct Appending {
    pub end: Lsn,
    /// How many partitions will signal the token.
    pub signals: u32,
    /// It is acknowledged when it is durable, and the caller sees to the flush. Otherwise it is as good as applied: the
    /// caller calls [`Node::complete`].
    pub needs_flush: bool,
}

impl Appending {
    pub(crate) const NOTHING: Appending = Appending { end: Lsn::ZERO, signals: 0, needs_flush: false };
}

/// What became of a commit.
enum Sequenced {
    Done(Appending),
    /// Nothing: the log may have no room for so many bytes. To be tried again once it has, with nothing held meanwhile.
    NoRoom(u64),
}

/// The log room that is asked for around each batch: a few entries that Raft adds of its own, and sequences.
const BATCH_EXTRA_BYTES: u64 = 512;

impl Sequencer {
    pub(crate) fn after(meta_index: u64) -> Sequencer {
        Sequencer { meta_index, ..Sequencer::default() }
    }

    /// Refuses what comes after the end. To be asked before anything is proposed.
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.closed {
            true => Err(shutting_down()),
            false => Ok(()),
        }
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Takes what a partition wants appended into the batch.
    pub(crate) fn collect(&mut self, partition: u32, guard: &mut Partition, timestamp: Timestamp, token: u64) {
        let is_single = guard.is_single();
        let outputs = guard.outputs();
        let group = group_of(partition);
        let must_sync = outputs.must_sync();
        if let Some(start) = outputs.log_start.take() {
            let header = RecordHeader { group, kind: KIND_LOG_START, index: start.index, term: start.term };
            self.batch.push(header, &[]);
        }
        // A group of one needs no vote on disk: its term is that of its last entry.
        if let Some(vote) = outputs.hard_state.take().filter(|_| !is_single) {
            let header = RecordHeader { group, kind: KIND_VOTE, index: 0, term: vote.term };
            self.batch.push(header, &vote_record(&vote));
        }
        if outputs.append.is_empty() && !must_sync {
            return;
        }
        for entry in outputs.append.drain(..) {
            let header = RecordHeader { group, kind: KIND_ENTRY, index: entry.index(), term: entry.term() };
            self.batch.push(header, entry.data());
        }
        let what = Appended::Partition(partition, outputs.number);
        self.in_flight.push_back(InFlight { end: Lsn::ZERO, timestamp, token, what, must_sync });
        self.staged += 1;
        self.must_sync |= must_sync;
    }

    /// Adds a record of the meta group.
    pub(crate) fn push_meta(&mut self, kind: u8, payload: &[u8]) {
        self.meta_index += 1;
        self.batch.push(RecordHeader { group: META_GROUP, kind, index: self.meta_index, term: 1 }, payload);
    }

    /// The batch's change of the dictionary becomes visible under `token` when it is durable.
    pub(crate) fn collect_catalog(&mut self, catalog: Arc<Catalog>, timestamp: Timestamp, token: u64) {
        let what = Appended::Catalog(catalog, self.meta_index);
        self.in_flight.push_back(InFlight { end: Lsn::ZERO, timestamp, token, what, must_sync: false });
        self.staged += 1;
    }

    pub(crate) fn raise_sequences(&mut self, tables: &[Arc<Table>]) {
        for table in tables {
            if table.next_auto_increment.needs_bound() {
                let bound = table.next_auto_increment.raise_bound();
                self.push_meta(KIND_SEQUENCE, &sequence_record(table.id(), bound));
            }
        }
    }
}

impl Node {
    /// Turns what a transaction has written in `partitions` (ascending) into one log batch. `token` gets as many signals
    /// as the result says, none if there was nothing to write. `tables` are those whose sequences were used.
    ///
    /// The caller then flushes the log or has it flushed, and waits. An error has changed nothing.
    pub fn append_commit(
        &self,
        transaction: TransactionId,
        partitions: &[u32],
        tables: &[Arc<Table>],
        token: u64,
    ) -> Result<Appending> {
        loop {
            self.check_running()?;
            let sequenced = match *partitions {
                [] => return Ok(Appending::NOTHING),
                [one] => {
                    let mut guards = [(one, self.partition(one))];
                    self.sequence_commit(transaction, &mut guards, tables, token)?
                }
                _ => {
                    let mut guards: Vec<_> = partitions.iter().map(|&one| (one, self.partition(one))).collect();
                    self.sequence_commit(transaction, &mut guards, tables, token)?
                }
            };
            match sequenced {
                Sequenced::Done(appending) => return Ok(appending),
                Sequenced::NoRoom(bytes) => self.wait_for_log_room(bytes)?,
            }
        }
    }

    /// Appends the next part of what a large transaction has written in the partition, before its commit. `None`: the rest goes with the
    /// commit. `token` gets a signal when the part is durable; the caller flushes as for a commit. An error has changed nothing.
    pub fn append_part(
        &self,
        transaction: TransactionId,
        partition: u32,
        token: u64,
    ) -> Result<Option<Appending>> {
        loop {
            self.check_running()?;
            let room = {
                let mut guard = self.partition(partition);
                guard.expect_joined(transaction)?;
                let Some(part) = guard.next_part(transaction, PART_BYTES) else { return Ok(None) };
                let room = Node::log_room_for(std::iter::once(part.bytes()));
                let mut sequencer = lock(&self.sequencer);
                sequencer.check_open()?;
                if self.log().has_room(room) {
                    guard.propose_part(transaction, part, CommitToken(token))?;
                    sequencer.collect(partition, &mut guard, Timestamp::ZERO, token);
                    return Ok(Some(Appending { signals: 1, ..self.append_batch(&mut sequencer)? }));
                }
                room
            };
            self.wait_for_log_room(room)?;
        }
    }

    /// Blocks until the log has room, or it is known that the disk has none. Nothing may be held.
    pub(crate) fn wait_for_log_room(&self, bytes: u64) -> Result<()> {
        self.log().wait_for_room(bytes).map_err(|error| self.room_error(error))
    }

    /// The log room for entries of so many bytes.
    pub(crate) fn log_room_for(entries: impl Iterator<Item = usize>) -> u64 {
        BATCH_EXTRA_BYTES + entries.map(|bytes| (bytes + RECORD_HEADER_BYTES) as u64).sum::<u64>()
    }

    /// Refuses what could not be gone on with once it is proposed: see [`judge_size`].
    pub(crate) fn check_size(&self, entries: impl Iterator<Item = usize>) -> Result<()> {
        judge_size(self.cluster.is_some(), entries)
    }

    /// Refuses what needs the log when that has stopped or its disk is full.
    pub(crate) fn check_running(&self) -> Result<()> {
        self.check_not_stopped()?;
        self.log().check_space().map_err(|error| self.room_error(error))
    }

    /// A lack of room here passes when other nodes can take over what this one leads.
    fn room_error(&self, error: LogError) -> Error {
        match error.is_disk_full() && self.has_successors() {
            true => temporary(format!("{error}; other nodes take over, restart the transaction")),
            false => log_error(error),
        }
    }

    pub(crate) fn check_not_stopped(&self) -> Result<()> {
        match self.is_stopped() {
            true => Err(shutting_down()),
            false => Ok(()),
        }
    }

    /// The sequencer's lock keeps the room that it has found: nobody else appends meanwhile.
    fn sequence_commit(
        &self,
        transaction: TransactionId,
        guards: &mut [(u32, PartitionGuard<'_>)],
        tables: &[Arc<Table>],
        token: u64,
    ) -> Result<Sequenced> {
        guards.iter().try_for_each(|(_, guard)| guard.expect_joined(transaction))?;
        guards.iter_mut().try_for_each(|(_, guard)| guard.reserve_commit(transaction))?;
        let entries = guards.iter().map(|(_, guard)| guard.commit_bytes_max(transaction));
        self.check_size(entries.clone())?;
        let sequences = tables.iter().map(|_| RECORD_HEADER_BYTES);
        let room = Node::log_room_for(entries.chain(sequences));
        let mut sequencer = lock(&self.sequencer);
        sequencer.check_open()?;
        if !self.log().has_room(room) {
            return Ok(Sequenced::NoRoom(room));
        }
        if self.cluster.is_some() {
            guards.iter().for_each(|(_, guard)| self.clock().observe(guard.newest_timestamp()));
        }
        let timestamp = self.clock().tick();
        let mut signals = 0;
        for (partition, guard) in guards.iter_mut() {
            match guard.propose_commit(transaction, timestamp, CommitToken(token)) {
                Ok(CommitStart::Proposed) => {
                    signals += 1;
                    sequencer.collect(*partition, guard, timestamp, token);
                }
                Ok(CommitStart::ReadOnly) => {}
                Err(error) if signals == 0 => return Err(error),
                Err(error) => {
                    self.stop(&format!("a partition refused its share of a commit: {error}"));
                    return Err(error.with_outcome(Outcome::Unknown));
                }
            }
        }
        if signals == 0 {
            return Ok(Sequenced::Done(Appending::NOTHING));
        }
        if self.cluster.is_none() {
            sequencer.raise_sequences(tables);
        }
        let appending = self.append_batch(&mut sequencer)?;
        drop(sequencer);
        for (partition, guard) in guards.iter_mut() {
            self.send_proposed(*partition, guard);
        }
        Ok(Sequenced::Done(Appending { signals, ..appending }))
    }

    /// Appends what has been collected. After an error the partitions have entries that the log has not: the node
    /// stops.
    pub(crate) fn append_batch(&self, sequencer: &mut Sequencer) -> Result<Appending> {
        let needs_flush = self.log().durability() == Durability::Disk;
        let must_sync = std::mem::take(&mut sequencer.must_sync) && !needs_flush;
        let appended = match needs_flush {
            true => self.log().append_unflushed(&sequencer.batch, AppendClass::Internal),
            // The log's writer sees to it in its own time.
            false => self.log().append(&sequencer.batch, AppendClass::Internal),
        };
        sequencer.batch.clear();
        let staged = std::mem::take(&mut sequencer.staged);
        match appended {
            Ok(end) => {
                for in_flight in sequencer.in_flight.iter_mut().rev().take(staged) {
                    in_flight.end = end;
                }
                if must_sync {
                    // It is handed back when it is durable.
                    self.log().request_sync();
                }
                Ok(Appending { end, signals: 0, needs_flush })
            }
            Err(error) => {
                self.stop(&format!("the log refused a batch: {error}"));
                Err(log_error(error).with_outcome(Outcome::Unknown))
            }
        }
    }

    /// Hands everything before `end` back to the partitions. Called when the log reports it durable, or at once when
    /// commits need not be durable.
    pub fn complete(&self, end: Lsn) {
        let mut completion = lock(&self.completion);
        let Completion { taken, numbers, touched, tokens, catalogs, barriers } = &mut *completion;
        {
            let mut sequencer = lock(&self.sequencer);
            let is_due = |first: &InFlight| {
                first.end <= end
                    && first.end > Lsn::ZERO
                    && (!first.must_sync || self.log().durable_lsn() >= first.end)
            };
            while sequencer.in_flight.front().is_some_and(is_due) {
                taken.extend(sequencer.in_flight.pop_front());
            }
        }
        let Some(last) = taken.back() else {
            self.note_completed(end);
            return;
        };
        let end = end.min(last.end);
        let newest = taken.iter().map(|in_flight| in_flight.timestamp).max();
        self.snapshots().set_visible(newest.unwrap_or(Timestamp::ZERO));
        numbers.resize(self.partitions.len(), 0);
        for in_flight in taken.drain(..) {
            match in_flight.what {
                Appended::Partition(partition, number) => {
                    let wanted = &mut numbers[partition as usize];
                    if *wanted == 0 {
                        touched.push(partition);
                    }
                    *wanted = number;
                }
                Appended::Catalog(catalog, meta_index) => {
                    catalogs.push((catalog, meta_index, in_flight.token));
                }
                Appended::Barrier => barriers.push(in_flight.token),
            }
        }
        let horizon = self.horizon();
        let mut again = Vec::new();
        for partition in touched.drain(..) {
            let number = std::mem::take(&mut numbers[partition as usize]);
            let mut guard = self.partition(partition);
            guard.set_gc_horizon(horizon);
            if let Err(error) = guard.persisted(number) {
                // Nobody is told that anything was committed.
                drop(guard);
                self.stop(&format!("partition {partition} cannot apply its log: {error}"));
                continue;
            }
            if !guard.is_single() {
                again.extend(self.settle_persisted(partition, guard, number));
                continue;
            }
            let outputs = guard.outputs();
            tokens.extend(outputs.committed.drain(..).map(|token| token.0));
            outputs.lost.clear();
            drop(guard);
            for token in tokens.drain(..) {
                self.waits().signal(token);
            }
        }
        // A definition is shown when its fragments are there.
        for (catalog, meta_index, token) in catalogs.drain(..) {
            self.publish_catalog(catalog, meta_index);
            self.waits().signal(token);
        }
        for token in barriers.drain(..) {
            self.waits().signal(token);
        }
        self.note_completed(end);
        drop(completion);
        for appending in again {
            self.see_to(appending);
        }
    }

    /// Waits until everything that has been appended so far is applied.
    pub async fn wait_until_applied(&self) -> Result<()> {
        let waiter = self.waiter();
        {
            // Nobody is in the middle of handing back.
            let _completion = lock(&self.completion);
            let mut sequencer = lock(&self.sequencer);
            let Some(last) = sequencer.in_flight.back() else { return Ok(()) };
            let (end, timestamp) = (last.end, last.timestamp);
            let what = Appended::Barrier;
            let barrier = InFlight { end, timestamp, token: waiter.token(), what, must_sync: false };
            sequencer.in_flight.push_back(barrier);
        }
        self.wake_log_writer();
        match waiter.wait().await {
            true => Ok(()),
            false => Err(Error::unknown("the log stopped")),
        }
    }

    /// Tells all that wait for the log that it will not come.
    pub(crate) fn lose_in_flight(&self) {
        let tokens: Vec<u64> =
            lock(&self.sequencer).in_flight.drain(..).map(|in_flight| in_flight.token).collect();
        for token in tokens {
            self.waits().signal_lost(token);
        }
    }
}

fn shutting_down() -> Error {
    Error::new(ErrorCode::ServerShutdown, "Server shutdown in progress")
}

/// The log's errors as statements report them.
pub(crate) fn log_error(error: LogError) -> Error {
    if error.is_disk_full() {
        return Error::new(ErrorCode::DiskFull, format!("Error on disk full: {error}"));
    }
    match error {
        LogError::Closed => shutting_down(),
        other => Error::unknown(other.to_string()),
    }
}

/// An entry that would not go from replica to replica would be in the way of all behind it, and a batch that the log does not take
/// would end the node.
///
/// # Errors
/// 1197.
fn judge_size(is_replicated: bool, entries: impl Iterator<Item = usize>) -> Result<()> {
    let (mut total, mut largest) = (0usize, 0);
    for bytes in entries {
        total = total.saturating_add(bytes);
        largest = largest.max(bytes);
    }
    let (bytes, limit, of_what) = match is_replicated && largest > ENTRY_BYTES_MAX {
        true => (largest, ENTRY_BYTES_MAX, "rows in one partition"),
        false => (total, COMMIT_BYTES_MAX, "rows"),
    };
    if bytes <= limit {
        return Ok(());
    }
    let message = format!(
        "The transaction's {of_what} are {} MiB, more than the {} MiB that go at a time; do it in parts",
        bytes.div_ceil(1 << 20),
        limit >> 20
    );
    Err(Error::new(ErrorCode::TransCacheFull, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_no_larger_than_an_entry_and_a_batch_may_be() {
        let half = COMMIT_BYTES_MAX / 2;
        assert!(judge_size(true, [ENTRY_BYTES_MAX; 4].into_iter()).is_ok());
        assert!(judge_size(false, [half, half].into_iter()).is_ok());
        for (is_replicated, entries) in
            [(true, vec![1, ENTRY_BYTES_MAX + 1]), (false, vec![half, half, 2]), (true, vec![ENTRY_BYTES_MAX; 17])]
        {
            let error = judge_size(is_replicated, entries.into_iter()).unwrap_err();
            assert_eq!((error.errno(), error.outcome()), (1197, Outcome::NotCommitted), "{error}");
        }
    }
}
