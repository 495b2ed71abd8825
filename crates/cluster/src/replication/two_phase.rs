//! The two-phase commit's entries on their way into the log.
//!
//! Which entry a partition proposes is the caller's; here it gets its timestamp and its place in the log together, as every
//! commit does. Decisions are about timestamps that others have given out: the clock is moved beyond those first, so that what
//! follows in this log is later.
//!
//! A full disk refuses what can be refused: a decision about what is prepared cannot, and has the log's reserve to go to.

use std::sync::Arc;

use shoal_partition::{CommitToken, Partition};
use shoal_types::{Result, Timestamp, TransactionId};

use crate::replication::Replication;
use crate::storage::sequencer::{Appending, LoggedSequence, log_room_for};

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryOf {
    /// The writes of this transaction, to be prepared or committed.
    Writes(TransactionId),
    /// An outcome that has been decided.
    Decision,
    /// What can as well be done another time.
    Housekeeping,
}

impl Replication {
    /// Has a partition that this node leads propose an entry, at a timestamp later than `after`, and appends it. Under
    /// the token it is said that the entry is applied: once, if `propose` answers true; not at all if it answers false.
    ///
    /// An error has changed nothing, but for those with `Outcome::Unknown`.
    pub(crate) fn propose_entry<S: LoggedSequence>(
        &self,
        partition: u32,
        entry: EntryOf,
        after: Timestamp,
        tables: &[Arc<S>],
        token: u64,
        propose: impl FnOnce(&mut Partition, Timestamp, CommitToken) -> Result<bool>,
    ) -> Result<(Timestamp, Appending)> {
        self.check_not_stopped()?;
        self.clock().observe(after);
        let (mut guard, mut sequencer) = loop {
            if entry != EntryOf::Decision {
                self.check_running()?;
            }
            let guard = self.leader(partition)?;
            let bytes = match entry {
                EntryOf::Writes(transaction) => guard.commit_bytes_max(transaction),
                EntryOf::Decision | EntryOf::Housekeeping => 0,
            };
            self.check_size([bytes].into_iter())?;
            let room = log_room_for([bytes].into_iter());
            let sequencer = self.sequencer();
            sequencer.check_open()?;
            if entry == EntryOf::Decision || self.log().has_room(room) {
                break (guard, sequencer);
            }
            drop(sequencer);
            drop(guard);
            self.wait_for_log_room(room)?;
        };
        let timestamp = self.timestamp_after(&guard);
        if !propose(&mut guard, timestamp, CommitToken(token))? {
            return Ok((timestamp, Appending::NOTHING));
        }
        sequencer.collect(partition, &mut guard, timestamp, token);
        if self.cluster.is_none() {
            sequencer.raise_sequences(tables);
        }
        let appending = self.append_batch(&mut sequencer)?;
        drop(sequencer);
        self.send_proposed(partition, &mut guard);
        Ok((timestamp, Appending { signals: 1, ..appending }))
    }
}
