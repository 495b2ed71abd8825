//! What the partition wants done outside: entries made durable, messages sent, sleepers woken.
//!
//! The caller drains the vectors while it holds the partition (`drain(..)` keeps their buffers), and then:
//!
//! 1. sends `messages`, in any order, at once;
//! 2. writes `log_start`, `hard_state` and `append` to its log, in this order and behind what earlier drains gave. All
//!    of it may share one sync. Before step 3 it is synced whatever the durability is if `must_sync` says so; other entries
//!    count as persisted in memory where commits are `replicated` and not yet on disk;
//! 3. reports [`Outputs::number`], as it was when it drained, with `Partition::persisted`;
//! 4. then, and not before step 3 is done, sends `messages_after_persist` of that drain.
//!
//! Messages may be lost, doubled and overtake each other. But between two lives of one replica's process there is an
//! order: what the earlier life sent never arrives after `Partition::peer_died` was called for it, nor after anything
//! that the later life sent.

use raft::eraftpb::{Entry, Message};

use crate::api::{CommitToken, WaitToken};

/// What operations on a partition want done; see the head of this file for the order.
#[derive(Default)]
pub struct Outputs {
    /// Operations that may run again.
    pub woken: Vec<WaitToken>,
    /// Proposals that were applied: committed, visible, locks released.
    pub committed: Vec<CommitToken>,
    /// Proposals that another leader's log has overwritten: surely not committed, rolled back.
    pub lost: Vec<CommitToken>,
    /// Proposals that this replica will never learn the fate of: it fell behind, and its state came from elsewhere.
    pub unknown: Vec<CommitToken>,
    /// The log begins behind this entry, and what it held before is void unless it follows that very entry. Given back
    /// with `Partition::recover_from` when the log is read.
    pub log_start: Option<LogStart>,
    /// Vote and term.
    pub hard_state: Option<HardState>,
    /// Entries to append to the log. In groups of several an entry overwrites an earlier one of the same index and
    /// all that follow that.
    pub append: Vec<LogEntry>,
    /// The number of the newest batch of things to make durable.
    pub number: u64,
    /// To other replicas, at once.
    pub messages: Vec<Message>,
    /// To other replicas, once everything up to `number` is durable.
    pub messages_after_persist: Vec<Message>,
    /// Read index requests that may be answered as soon as `index` is applied.
    pub read_states: Vec<ReadState>,
    /// Replicas, as of the last tick, that lack entries which this leader no longer has: they need a checkpoint. See
    /// `Partition::begin_install`.
    pub wants_checkpoint: Vec<u64>,
    /// Who leads, if that has changed.
    pub leadership: Option<Leadership>,
}

impl Outputs {
    /// There is something to make durable.
    pub fn must_persist(&self) -> bool {
        !self.append.is_empty() || self.hard_state.is_some() || self.log_start.is_some()
    }

    /// There is something that others rely on even if all replicas' processes end at once: votes, and what partitions tell each
    /// other about a transaction that they have in common. Were such an entry lost after a majority had it in memory, half of
    /// the transaction would be left.
    pub fn must_sync(&self) -> bool {
        self.hard_state.is_some() || self.log_start.is_some() || self.append.iter().any(LogEntry::is_of_two_phase)
    }
}

/// The entry that a log begins behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStart {
    /// The entry's index.
    pub index: u64,
    /// The entry's term.
    pub term: u64,
}

/// What a replica knows of its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The term that this replica is in.
    pub term: u64,
    /// This replica itself, another one, or nobody that is known.
    pub leader: Option<u64>,
}

/// Raft's durable vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    /// The newest term that this replica knows.
    pub term: u64,
    /// The replica that it has voted for in this term, or zero.
    pub vote: u64,
    /// A lower bound of what is committed; a group of more than one replica applies no further at recovery.
    pub commit: u64,
}

/// An answer to `Partition::read_index`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadState {
    /// What was committed when the question came: reads that have applied this are up to date.
    pub index: u64,
    /// As it was given with the question.
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

    /// The term of the leader that proposed it.
    pub fn term(&self) -> u64 {
        self.0.term
    }

    /// PREPARE, DECIDE or the home's commit.
    fn is_of_two_phase(&self) -> bool {
        crate::entry::is_of_two_phase(self.data())
    }

    /// Empty for the entry by which a leader opens its term.
    pub fn data(&self) -> &[u8] {
        &self.0.data
    }
}
