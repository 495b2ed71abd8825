//! What the partition wants done outside: entries made durable, messages sent, sleepers woken.
//!
//! The caller drains the vectors while it holds the partition (`drain(..)` keeps their buffers). Entries must become
//! durable in order; the caller then reports [`Outputs::number`] as it was when it drained them with
//! `Partition::persisted`.

use raft::eraftpb::{Entry, Message};

use crate::api::{CommitToken, WaitToken};

#[derive(Default)]
pub struct Outputs {
    /// Operations that may run again.
    pub woken: Vec<WaitToken>,
    /// Proposals that were applied: committed, visible, locks released.
    pub committed: Vec<CommitToken>,
    /// Proposals that another leader's log has overwritten: surely not committed, rolled back.
    pub lost: Vec<CommitToken>,
    /// Entries to append to the log.
    pub append: Vec<LogEntry>,
    /// Vote and term to make durable with (or before) `append`.
    pub hard_state: Option<HardState>,
    /// The number of the newest batch of things to make durable.
    pub number: u64,
    /// To other replicas, at once.
    pub messages: Vec<Message>,
    /// To other replicas, once everything up to `number` is durable.
    pub messages_after_persist: Vec<Message>,
    /// Read index requests that may be answered as soon as `index` is applied.
    pub read_states: Vec<ReadState>,
}

impl Outputs {
    /// There is something to make durable.
    pub fn must_persist(&self) -> bool {
        !self.append.is_empty() || self.hard_state.is_some()
    }
}

/// Raft's durable vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    pub term: u64,
    pub vote: u64,
    /// A lower bound of what is committed; a group of more than one replica applies no further at recovery.
    pub commit: u64,
}

/// An answer to `Partition::read_index`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadState {
    pub index: u64,
    pub context: Vec<u8>,
}

/// One entry of the partition's log. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct LogEntry(pub(crate) Entry);

impl LogEntry {
    /// Entries that read back from disk are given to `Partition::replay` in their parts.
    pub fn index(&self) -> u64 {
        self.0.index
    }

    pub fn term(&self) -> u64 {
        self.0.term
    }

    /// Empty for the entry by which a leader opens its term.
    pub fn data(&self) -> &[u8] {
        &self.0.data
    }
}
