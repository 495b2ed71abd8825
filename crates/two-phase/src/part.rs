//! The leader's side of a transaction's end: what a partition proposes for it.

use shoal_partition::{CommitStart, CommitToken, Partition};
use shoal_types::{PartitionId, Result, Timestamp, TransactionId};

/// How a transaction's part in a partition ends.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// It has no other parts.
    Commit,
    /// It is prepared, and waits for what the home decides.
    Prepare {
        /// The partition whose log decides.
        home: PartitionId,
    },
    /// Here, and with the decision for these, which are prepared.
    HomeCommit {
        /// The other partitions of the transaction.
        participants: &'a [PartitionId],
    },
}

/// What a coordinator takes its transaction to have in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartHere {
    /// Whose part it is.
    pub transaction: TransactionId,
    /// The term of the leader with which it was staged.
    pub term: u64,
    /// Writes staged.
    pub writes: u32,
}

/// Has the partition propose the entry that ends the transaction's part, at a timestamp later than all there is in it. `None`: the part
/// is not what it is taken for, and nothing was done. `CommitStart::ReadOnly`: nothing was to write, and it has ended.
///
/// # Errors
/// Nothing has changed.
pub fn propose_end(
    partition: &mut Partition,
    part: PartHere,
    end: End<'_>,
    timestamp: Timestamp,
    token: CommitToken,
) -> Result<Option<CommitStart>> {
    let PartHere { transaction, term, writes } = part;
    if !partition.has_part(transaction, term, writes) {
        return Ok(None);
    }
    match end {
        End::Commit => partition.propose_commit(transaction, timestamp, token),
        End::Prepare { home } => partition.propose_prepare(transaction, home, timestamp, writes, token),
        End::HomeCommit { participants } => {
            let proposed = partition.propose_home_commit(transaction, timestamp, participants, writes, token);
            proposed.map(|()| CommitStart::Proposed)
        }
    }
    .map(Some)
}
