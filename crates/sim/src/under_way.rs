//! What is under way in a process from one event to the next: proposals, requests that wait, a search for deadlocks,
//! checkpoints, copies.
//!
//! What is done with it is in `server`, `deadlocks`, `keeper` and `transfer`.

use shoal_partition::{CheckpointCursor, WaitEdge};
use shoal_replication::{Receiving, Sending};
use shoal_types::{NodeId, PartitionId, Timestamp, TransactionId};

use crate::disk::CheckpointFile;
use crate::message::Request;

/// Who is told what becomes of a proposal.
pub enum Waiting {
    Commit {
        from: NodeId,
        number: u64,
        timestamp: Timestamp,
    },
    Prepare {
        from: NodeId,
        number: u64,
        timestamp: Timestamp,
    },
    Decide {
        from: NodeId,
        number: u64,
    },
    /// A decision that this participant has asked for: the home is told.
    Learnt {
        home: PartitionId,
        transaction: TransactionId,
        committed: bool,
    },
    Table,
    Nobody,
}

/// A request that waits under its token.
pub struct WaitingRequest {
    pub from: NodeId,
    pub number: u64,
    pub request: Request,
    pub transaction: Option<TransactionId>,
    pub partition: PartitionId,
    pub since_us: u64,
}

/// A search for deadlocks over all nodes.
#[derive(Default)]
pub struct DeadlockSearch {
    pub number: u64,
    pub begun_us: u64,
    /// Nodes that have not answered in this round.
    pub left: usize,
    pub edges: Vec<WaitEdge>,
    /// What the first round has found, in the second.
    pub first: Option<Vec<WaitEdge>>,
}

/// The keeper of checkpoints, and the round it is in.
#[derive(Default)]
pub struct Keeper {
    pub round: Option<Round>,
}

/// A round of checkpoints of all replicas.
pub struct Round {
    pub left: Vec<PartitionId>,
    pub low_water: u64,
    pub current: Option<Current>,
    /// The log is cut when it is durable up to here.
    pub durable_at: u64,
}

/// A checkpoint in the making.
pub struct Current {
    pub partition: PartitionId,
    pub file: CheckpointFile,
    pub low_water: u64,
    pub stage: Stage,
}

pub enum Stage {
    Writing(CheckpointCursor),
    Syncing(CheckpointCursor, u64),
}

/// A copy that another replica is sent.
pub struct Outgoing {
    pub sending: Sending,
    pub was_last: bool,
}

/// A copy all of which is here.
pub struct Installing {
    pub partition: PartitionId,
    pub copy: Receiving<CheckpointFile>,
    pub asker: (NodeId, u64),
    /// Blocks; `None` before the file is durable.
    pub installed: Option<usize>,
}
