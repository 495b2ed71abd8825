//! A replica's records in the log: what it wants appended, and what is read back at the next start.

use shoal_partition::{HardState, LogStart, Partition};
use shoal_types::Result;

/// One record of a replica.
#[derive(Clone, Copy, Debug)]
pub enum LogRecord<'a> {
    /// The log begins anew behind this entry: what lies before is in a checkpoint.
    Start(LogStart),
    /// The term, the vote and how far is committed.
    Vote(HardState),
    /// An entry of the group's log.
    Entry {
        /// Its place in the group's log.
        index: u64,
        /// The term of the leader that proposed it.
        term: u64,
        /// What it says, as the partition encodes it.
        data: &'a [u8],
    },
}

/// What was taken for the log at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The partition is told that everything up to this output batch is durable.
    pub number: u64,
    /// It counts for nothing before it is on the medium, whatever the durability of commits: `Outputs::must_sync`.
    pub must_sync: bool,
}

/// Hands over what a partition wants appended, in the order in which it has to be. `None`: there is nothing.
#[inline]
pub fn take_records(partition: &mut Partition, mut write: impl FnMut(LogRecord<'_>)) -> Option<Batch> {
    let is_single = partition.is_single();
    let outputs = partition.outputs();
    let must_sync = outputs.must_sync();
    if let Some(start) = outputs.log_start.take() {
        write(LogRecord::Start(start));
    }
    // A group of one needs no vote on disk: its term is that of its last entry.
    if let Some(vote) = outputs.hard_state.take().filter(|_| !is_single) {
        write(LogRecord::Vote(vote));
    }
    if outputs.append.is_empty() && !must_sync {
        return None;
    }
    for entry in outputs.append.drain(..) {
        write(LogRecord::Entry { index: entry.index(), term: entry.term(), data: entry.data() });
    }
    Some(Batch { number: outputs.number, must_sync })
}

/// Gives a partition that has not started one of its records, in log order and behind its checkpoint.
pub fn replay(partition: &mut Partition, record: LogRecord<'_>) -> Result<()> {
    match record {
        LogRecord::Start(start) => partition.recover_from(start),
        LogRecord::Vote(vote) => partition.recover_hard_state(vote),
        LogRecord::Entry { index, term, data } => {
            // Nobody will ask for a state before the end of the log.
            partition.set_gc_horizon(partition.newest_timestamp());
            partition.replay(index, term, data)
        }
    }
}
