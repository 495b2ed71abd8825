//! The commit path: from staged writes to a log batch. [`completion`](super::completion) is the other half.
//!
//! A commit locks its partitions in the order of their ids, then the sequencer. Under the sequencer it gets its
//! timestamp, proposes its entries and appends them to the log as one batch: so timestamps rise with log positions,
//! in every partition and over all of them.
//!
//! Lock order: `completion`, then partitions by id, then `sequencer`. The log's locks come last.

use std::sync::Arc;

use shoal_log::{BATCH_LIMIT_BYTES, LogError, RECORD_HEADER_BYTES};
use shoal_partition::{CommitStart, CommitToken};
use shoal_types::{Error, ErrorCode, Outcome, Result, Timestamp, TransactionId};

use crate::base::errors::{log_error, temporary};
use crate::replication::Replication;
use crate::storage::partitions::PartitionGuard;
use crate::storage::sequencer::{Appending, LoggedSequence, log_room_for};

/// The largest entry that other replicas are sent: in one frame, with a message's head around it.
pub const ENTRY_BYTES_MAX: usize = shoal_transport::PAYLOAD_BYTES_MAX - (1 << 20);
/// The entries of one commit are one batch of the log, which has heads as well.
const COMMIT_BYTES_MAX: usize = BATCH_LIMIT_BYTES - (16 << 20);

/// What is written at a time of a transaction that is larger.
const PART_BYTES: usize = 64 << 10;

/// What became of a commit.
enum Sequenced {
    Done(Appending),
    /// Nothing: the log may have no room for so many bytes. To be tried again once it has, with nothing held meanwhile.
    NoRoom(u64),
}

impl Replication {
    /// Turns what a transaction has written in `partitions` (ascending) into one log batch. `token` gets as many signals
    /// as the result says, none if there was nothing to write. `tables` are those whose sequences were used.
    ///
    /// The caller then flushes the log or has it flushed, and waits. An error has changed nothing.
    pub(crate) fn commit_writes<S: LoggedSequence>(
        &self,
        transaction: TransactionId,
        partitions: &[u32],
        tables: &[Arc<S>],
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
                let room = log_room_for(std::iter::once(part.bytes()));
                let mut sequencer = self.sequencer();
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

    /// The sequencer's lock keeps the room that it has found: nobody else appends meanwhile.
    fn sequence_commit<S: LoggedSequence>(
        &self,
        transaction: TransactionId,
        guards: &mut [(u32, PartitionGuard<'_>)],
        tables: &[Arc<S>],
        token: u64,
    ) -> Result<Sequenced> {
        guards.iter().try_for_each(|(_, guard)| guard.expect_joined(transaction))?;
        guards.iter_mut().try_for_each(|(_, guard)| guard.reserve_commit(transaction))?;
        let entries = guards.iter().map(|(_, guard)| guard.commit_bytes_max(transaction));
        self.check_size(entries.clone())?;
        let sequences = tables.iter().map(|_| RECORD_HEADER_BYTES);
        let room = log_room_for(entries.chain(sequences));
        let mut sequencer = self.sequencer();
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
