//! The order of the log: what partitions want appended becomes one batch, and is remembered until it is handed back.
//!
//! Whoever appends holds the sequencer, and gets timestamps under it: so timestamps rise with log positions.

use std::sync::Arc;

use shoal_log::{LogBatch, Lsn, RECORD_HEADER_BYTES, RecordHeader};
use shoal_partition::Partition;
use shoal_replication::{InFlight, LogRecord, take_records};
use shoal_types::{Result, TableId, Timestamp};

use crate::base::errors::shutting_down;
use crate::storage::records::{
    KIND_ENTRY, KIND_LOG_START, KIND_SEQUENCE, KIND_VOTE, META_GROUP, group_of, sequence_record, vote_record,
};

/// What the order of the log is made under.
#[derive(Default)]
pub(crate) struct Sequencer {
    pub(super) batch: LogBatch,
    /// Appended and not yet handed back, in log order.
    pub(super) in_flight: InFlight<Lsn, InLog>,
    /// The last record of the meta group.
    meta_index: u64,
    /// The log takes nothing more: the node is closing.
    closed: bool,
}

/// Something in the log that is not known to be durable.
pub(crate) struct InLog {
    pub(crate) timestamp: Timestamp,
    pub(crate) token: u64,
    pub(crate) what: Appended,
}

pub(crate) enum Appended {
    /// Entries of this partition, up to its output batch of this number.
    Partition(u32, u64),
    /// Called when all before it is applied.
    Definition(Box<dyn FnOnce() + Send>),
    /// Somebody wants to know that all before this is applied.
    Barrier,
}

/// A sequence whose values the log knows a bound of: a table's, in a process that is the whole database.
pub(crate) trait LoggedSequence {
    /// A new bound, to be written, if values were given out that the log does not know of. Called by one thread at a time.
    fn raise_bound(&self) -> Option<(TableId, u64)>;
}

/// A commit that is in the log's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Appending {
    /// Durable up to here, the commit is.
    pub end: Lsn,
    /// How many partitions will signal the token.
    pub signals: u32,
    /// It is acknowledged when it is durable, and the caller sees to the flush. Otherwise it is as good as applied: the
    /// caller calls `Node::complete`.
    pub needs_flush: bool,
}

impl Appending {
    pub(crate) const NOTHING: Appending = Appending { end: Lsn::ZERO, signals: 0, needs_flush: false };
}

/// The log room that is asked for around each batch: a few entries that Raft adds of its own, and sequences.
const BATCH_EXTRA_BYTES: u64 = 512;

/// The log room for entries of so many bytes.
pub(crate) fn log_room_for(entries: impl Iterator<Item = usize>) -> u64 {
    BATCH_EXTRA_BYTES + entries.map(|bytes| (bytes + RECORD_HEADER_BYTES) as u64).sum::<u64>()
}

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
        let group = group_of(partition);
        let taken = take_records(guard, |record| match record {
            LogRecord::Start(start) => {
                let header = RecordHeader { group, kind: KIND_LOG_START, index: start.index, term: start.term };
                self.batch.push(header, &[]);
            }
            LogRecord::Vote(vote) => {
                let header = RecordHeader { group, kind: KIND_VOTE, index: 0, term: vote.term };
                self.batch.push(header, &vote_record(&vote));
            }
            LogRecord::Entry { index, term, data } => {
                self.batch.push(RecordHeader { group, kind: KIND_ENTRY, index, term }, data);
            }
        });
        if let Some(taken) = taken {
            let what = Appended::Partition(partition, taken.number);
            self.in_flight.stage(InLog { timestamp, token, what }, taken.must_sync);
        }
    }

    /// Adds a record of the meta group.
    pub(crate) fn push_meta(&mut self, kind: u8, payload: &[u8]) {
        self.meta_index += 1;
        self.batch.push(RecordHeader { group: META_GROUP, kind, index: self.meta_index, term: 1 }, payload);
    }

    /// The last record of the meta group, the batch in the making included.
    pub(crate) fn meta_index(&self) -> u64 {
        self.meta_index
    }

    /// Has `show` called, and then the token signalled, when the batch is durable and its entries are applied.
    pub(crate) fn collect_definition(
        &mut self,
        timestamp: Timestamp,
        token: u64,
        show: impl FnOnce() + Send + 'static,
    ) {
        let what = Appended::Definition(Box::new(show));
        self.in_flight.stage(InLog { timestamp, token, what }, false);
    }

    /// Has the token signalled when everything that is in flight has been handed back. False: nothing is.
    pub(crate) fn push_barrier(&mut self, token: u64) -> bool {
        self.in_flight.push_behind(InLog { timestamp: Timestamp::ZERO, token, what: Appended::Barrier })
    }

    pub(crate) fn raise_sequences<S: LoggedSequence>(&mut self, sequences: &[Arc<S>]) {
        for sequence in sequences {
            if let Some((table, bound)) = sequence.raise_bound() {
                self.push_meta(KIND_SEQUENCE, &sequence_record(table, bound));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_asked_for_all_entries_with_their_headers_and_for_what_raft_adds() {
        assert_eq!(log_room_for([].into_iter()), BATCH_EXTRA_BYTES);
        let headers = 2 * RECORD_HEADER_BYTES as u64;
        assert_eq!(log_room_for([1000, 24].into_iter()), BATCH_EXTRA_BYTES + 1024 + headers);
    }

    #[test]
    fn a_barrier_waits_for_what_is_in_flight_and_for_nothing_else() {
        let mut sequencer = Sequencer::default();
        assert!(!sequencer.push_barrier(1), "nothing is in flight");
        sequencer.collect_definition(Timestamp(5), 2, || ());
        let batch = sequencer.in_flight.end_batch();
        sequencer.in_flight.appended(batch, Lsn(10));
        assert!(sequencer.push_barrier(3));
        let mut taken = Vec::new();
        sequencer.in_flight.take_due(Lsn(10), || Lsn(10), |in_log| taken.push(in_log.token));
        assert_eq!(taken, [2, 3]);
    }

    #[test]
    fn a_sequencer_that_is_closed_takes_nothing_more() {
        let mut sequencer = Sequencer::after(7);
        assert_eq!(sequencer.meta_index(), 7);
        sequencer.check_open().unwrap();
        sequencer.close();
        assert!(sequencer.check_open().is_err());
    }
}
