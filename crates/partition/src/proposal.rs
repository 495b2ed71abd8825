//! What a leader has proposed and not applied.

use std::sync::Arc;

use shoal_types::{PartitionId, TableId, TableSchema, Timestamp, TransactionId};

use crate::api::CommitToken;
use crate::decision::Decision;

/// An entry of this leader that has not been applied yet.
pub(crate) struct Proposal {
    pub(crate) index: u64,
    pub(crate) term: u64,
    /// Of whoever waits for it.
    pub(crate) token: Option<CommitToken>,
    pub(crate) change: Change,
}

/// What it does when it is applied.
pub(crate) enum Change {
    /// The writes wait in the transaction's workspace.
    Commit(TransactionId, Timestamp),
    HomeCommit(TransactionId, Timestamp, Box<[PartitionId]>),
    Prepare(TransactionId, PartitionId, Timestamp),
    Decide(TransactionId, Decision),
    Forget(Vec<TransactionId>),
    Create(Arc<TableSchema>),
    Drop(TableId),
    Alter(Arc<TableSchema>),
    /// Part of a commit to come: its writes up to this number.
    Part(TransactionId, u32),
    /// Parts before are void.
    Void,
}
