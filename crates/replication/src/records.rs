//! A replica's records in the log: what it wants appended, and what is read back at the next start.

use shoal_partition::{HardState, LogStart, Partition};
use shoal_types::{Result, Timestamp};

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

/// Where a node goes on that has read its replicas back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Everything up to then is in the rows.
    pub visible: Timestamp,
    /// Its clock begins behind this. An entry of one partition that is not known to be committed may have been seen, in a snapshot in
    /// which another partition, too, was as it was then: nothing is committed there that is not later.
    pub clock: Timestamp,
}

/// Where a node with these replicas goes on.
pub fn recovered<'p>(partitions: impl Iterator<Item = &'p Partition> + Clone) -> Recovered {
    let newest = partitions.clone().map(Partition::newest_recovered).max().unwrap_or_default();
    Recovered { visible: partitions.map(Partition::newest_timestamp).max().unwrap_or_default(), clock: newest }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shoal_partition::{MemoryBudget, PartitionConfig};
    use shoal_types::PartitionId;

    use super::*;

    /// A leader of one partition once committed before the time of a snapshot that had shown it without: all nodes had died, and what
    /// the snapshot had shown of another partition was in its log, not yet known to be committed.
    #[test]
    fn a_clock_begins_behind_all_that_is_in_the_logs_whether_it_is_known_to_be_committed_or_not() {
        let single = PartitionConfig::single(PartitionId(0), Arc::new(MemoryBudget::new(1 << 20)));
        let mut partition = Partition::new(PartitionConfig { voters: vec![1, 2, 3], replica: 1, ..single });
        // Without writes: a commit, a PREPARE, a decision.
        let number = |value: u64| value.to_le_bytes();
        let none = 0u32.to_le_bytes();
        let entries = [
            [&[1][..], &number(7), &number(100), &none].concat(),
            [&[5][..], &number(8), &none, &number(300), &none].concat(),
            [&[6][..], &number(9), &[1], &number(200)].concat(),
            [&[6][..], &number(10), &[2]].concat(),
            Vec::new(),
        ];
        let mut clocks = Vec::new();
        for (index, data) in (1..).zip(&entries) {
            replay(&mut partition, LogRecord::Entry { index, term: 1, data }).unwrap();
            let Recovered { visible, clock } = recovered([&partition].into_iter());
            assert_eq!(visible, Timestamp::ZERO);
            clocks.push(clock.0);
        }
        assert_eq!(clocks, [100, 300, 300, 300, 300]);
    }
}
