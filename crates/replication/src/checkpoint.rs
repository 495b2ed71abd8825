//! Checkpoints of a node's replicas, each at its own moment, while commits go on.
//!
//! The log may be cut behind a round of them. So each yields a position before which nothing of its partition is needed any more: what had
//! been handed back before it began; and the log has all that the checkpoint does not cover behind that.

use shoal_partition::{CheckpointCursor, Partition};
use shoal_planted::{Bug, is_planted};

/// How a checkpoint of a replica begins.
pub enum Checkpoint {
    /// Not at all: what is here is neither the old state nor the new one.
    None,
    /// What there is has been logged once more, and counts when the log is durable to its end. A witness has nothing else.
    Logged,
    /// Write the blocks, make the log durable to its end (other partitions may have a share in what is in them), then ask
    /// [`may_finish`] under one hold with making the file count.
    Writing(CheckpointCursor),
}

/// Begins a checkpoint, and says up to where the log is not needed for the partition any more when it is done. All before `completed` was
/// handed back before the partition was held, and all before `checkpointed` is in older checkpoints. The partition is to be settled
/// before it is let go.
pub fn begin_checkpoint<P>(partition: &mut Partition, completed: P, checkpointed: P) -> (P, Checkpoint) {
    if partition.is_installing() && !is_planted(Bug::CheckpointWhileInstalling) {
        return (checkpointed, Checkpoint::None);
    }
    if partition.is_witness() {
        partition.log_again(0);
        return (completed, Checkpoint::Logged);
    }
    let cursor = partition.begin_checkpoint();
    if !partition.is_single() {
        // Entries that are durable but not committed yet have no other place. Under one hold with the beginning: what is applied
        // may be dropped from memory at any time.
        partition.log_again(cursor.index());
    }
    (completed, Checkpoint::Writing(cursor))
}

/// The newest file counts: it must not be older than the state that another node's copy has brought meanwhile.
pub fn may_finish(partition: &Partition, cursor: &CheckpointCursor) -> bool {
    partition.is_current(cursor)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shoal_partition::{MemoryBudget, PartitionConfig};
    use shoal_types::PartitionId;

    use super::*;
    use crate::Sending;

    fn partition(replica: u64, voters: &[u64]) -> Partition {
        let single = PartitionConfig::single(PartitionId(0), Arc::new(MemoryBudget::new(1 << 20)));
        let mut partition = Partition::new(PartitionConfig { replica, voters: voters.to_vec(), ..single });
        partition.start().unwrap();
        let number = partition.outputs().number;
        partition.persisted(number).unwrap();
        partition
    }

    /// Between the question whether a copy is being installed and the beginning of a checkpoint the keeper waited for the lock on the
    /// checkpoint files, which the copy's receiver held. The checkpoint then held the rows that had been installed by then, and counted
    /// as the newest.
    #[test]
    fn neither_a_checkpoint_nor_a_transfer_begins_while_a_copy_is_being_installed() {
        let mut leader = partition(2, &[2]);
        let mut sending = Sending::begin(&mut leader, 1).unwrap();
        let mut follower = partition(1, &[1, 2, 3]);
        follower.begin_install().unwrap();
        loop {
            assert!(matches!(begin_checkpoint(&mut follower, 20, 10), (10, Checkpoint::None)));
            assert!(Sending::begin(&mut follower, 1).is_err());
            let piece = sending.next(&mut leader, 1).unwrap();
            if piece.last {
                break;
            }
            follower.install_checkpoint_block(&piece.block).unwrap();
        }
        follower.finish_install().unwrap();
        assert!(matches!(begin_checkpoint(&mut follower, 20, 10), (20, Checkpoint::Writing(_))));
        assert!(Sending::begin(&mut follower, 1).is_ok());
        sending.end(&mut leader);
    }
}
