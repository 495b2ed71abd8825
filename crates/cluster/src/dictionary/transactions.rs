//! Commits as transactions ask for them: with the tables whose sequences they have used.

use std::sync::Arc;

use shoal_partition::{CommitToken, Partition};
use shoal_types::{Result, Timestamp, TransactionId};

use crate::dictionary::Dictionary;
use crate::dictionary::table::Table;
use crate::replication::two_phase::EntryOf;
use crate::storage::sequencer::Appending;

impl Dictionary {
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
        self.commit_writes(transaction, partitions, tables, token)
    }

    /// Has a partition that this node leads propose an entry, at a timestamp later than `after`, and appends it. Under
    /// the token it is said that the entry is applied: once, if `propose` answers true; not at all if it answers false.
    ///
    /// An error has changed nothing, but for those with `Outcome::Unknown`.
    pub fn append_entry(
        &self,
        partition: u32,
        entry: EntryOf,
        after: Timestamp,
        tables: &[Arc<Table>],
        token: u64,
        propose: impl FnOnce(&mut Partition, Timestamp, CommitToken) -> Result<bool>,
    ) -> Result<(Timestamp, Appending)> {
        self.propose_entry(partition, entry, after, tables, token, propose)
    }
}
