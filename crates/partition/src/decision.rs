//! What transactions over several partitions come to, and what is kept of that (`two_phase`).

use std::collections::BTreeMap;

use shoal_types::{PartitionId, Timestamp, TransactionId};

/// What the home partition has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It commits at this timestamp.
    Commit(Timestamp),
    /// It is rolled back.
    Abort,
}

impl Decision {
    /// When it commits, if it does.
    pub(crate) fn timestamp(self) -> Option<Timestamp> {
        match self {
            Decision::Commit(timestamp) => Some(timestamp),
            Decision::Abort => None,
        }
    }
}

/// What `propose_decision` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionStart {
    /// In the log; the token comes back when it was applied.
    Proposed,
    /// Applied before, or there is nothing that it could apply to; no token will come.
    Done,
}

/// What the home partition says about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeOutcome {
    /// It was committed at this timestamp.
    Committed(Timestamp),
    /// The commit is in the log and not applied: ask again.
    InFlight,
    /// It was not committed, and it never will be.
    Aborted,
}

/// Who knows the outcome of a commit now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// This participant has applied the decision.
    Participant(PartitionId),
    /// The coordinator will not ask any more: it knows, or its process is gone.
    Coordinator,
}

/// A commit decided here that somebody has not confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Which transaction it is.
    pub transaction: TransactionId,
    /// When it was committed.
    pub timestamp: Timestamp,
    /// The participants that are to be told (again).
    pub participants: Vec<PartitionId>,
    /// The coordinator may still ask.
    pub coordinator: bool,
}

/// What a partition keeps of transactions over several.
#[derive(Default)]
pub(crate) struct TwoPhase {
    /// Prepare timestamps of the transactions whose PREPARE entry is proposed or applied here and whose decision is
    /// not applied.
    pub(crate) prepared: BTreeMap<TransactionId, Timestamp>,
    /// Commits decided here and not forgotten.
    pub(crate) decisions: BTreeMap<TransactionId, HomeDecision>,
}

/// A commit of which this partition is the home.
pub(crate) struct HomeDecision {
    pub(crate) timestamp: Timestamp,
    pub(crate) participants: Box<[PartitionId]>,
    /// The rest is the leader's own knowledge.
    pub(crate) unconfirmed: Vec<PartitionId>,
    pub(crate) coordinator_knows: bool,
    /// A FORGET entry is under way.
    pub(crate) forgetting: bool,
}

impl HomeDecision {
    pub(crate) fn new(timestamp: Timestamp, participants: Box<[PartitionId]>) -> HomeDecision {
        let unconfirmed = participants.to_vec();
        HomeDecision { timestamp, participants, unconfirmed, coordinator_knows: false, forgetting: false }
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.unconfirmed.is_empty() && self.coordinator_knows
    }
}
