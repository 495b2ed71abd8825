//! The words in which callers speak with a partition: views, locks, ranges, outcomes, outputs.
//!
//! Nothing here has behaviour beyond small conversions; the state machine is in `partition` and its neighbours.

use std::ops::Bound;
use std::sync::Arc;

use shoal_types::key::successor;
use shoal_types::row::RowRef;
use shoal_types::{IndexId, PartitionId, TableId, Timestamp, TransactionId};

use crate::budget::MemoryBudget;
use crate::time::Timing;

/// Chosen by the caller of an operation that may have to wait; handed back in [`Outputs::woken`] when the operation
/// is worth running again.
///
/// [`Outputs::woken`]: crate::Outputs::woken
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitToken(pub u64);

/// Chosen by the caller of a proposal; handed back when the proposal was applied or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitToken(pub u64);

/// What an operation came to.
#[derive(Debug)]
pub enum Step<T> {
    /// It is done: this is its result.
    Ready(T),
    /// The operation did nothing (beyond locks that it keeps) and queued; run it again once its token is woken.
    Wait(Blocked),
}

impl<T> Step<T> {
    /// The same with another result, if there is one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Step<U> {
        match self {
            Step::Ready(value) => Step::Ready(change(value)),
            Step::Wait(blocked) => Step::Wait(blocked),
        }
    }

    /// The operation need not wait.
    pub fn is_ready(&self) -> bool {
        matches!(self, Step::Ready(_))
    }
}

/// The transactions that must end (or let go of a lock) first: edges of the wait-for graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Those that must end or let go; several for shared locks.
    pub holders: Vec<TransactionId>,
}

/// How many writes a transaction has staged in one partition: a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SavepointMark(pub u32);

impl SavepointMark {
    /// All staged writes, whenever they come.
    pub const LATEST: SavepointMark = SavepointMark(u32::MAX);
}

/// What a read may see.
#[derive(Clone, Copy, Debug)]
pub struct ReadView {
    /// Versions committed at or before this are visible. `Timestamp::MAX` is the newest committed version.
    pub snapshot: Timestamp,
    /// The reader, whose own staged writes are visible. Needed for locking reads.
    pub transaction: Option<TransactionId>,
    /// Own writes staged at or after this mark are not visible: a statement that updates the rows it scans passes
    /// its start, and never meets its own changes.
    pub own_writes_before: SavepointMark,
    /// Woken when a read that had to wait can go on.
    pub token: WaitToken,
}

impl ReadView {
    /// The newest committed versions, and the transaction's own writes.
    pub fn newest(transaction: Option<TransactionId>, token: WaitToken) -> ReadView {
        ReadView { snapshot: Timestamp::MAX, transaction, own_writes_before: SavepointMark::LATEST, token }
    }
}

/// What others may do with a locked row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// They may lock it in the same way.
    Shared,
    /// They may not lock it.
    Exclusive,
}

/// What to do about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPolicy {
    /// Wait until it is free.
    Wait,
    /// Error 3572.
    NoWait,
    /// Go on as if it were not there.
    SkipLocked,
}

/// Makes a read a locking read: it sees the newest committed versions whatever the view's snapshot is.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest {
    /// How rows are locked.
    pub mode: LockMode,
    /// What to do about rows that others have locked.
    pub policy: LockPolicy,
    /// Keep others from inserting what this read would have seen (REPEATABLE READ and above): scans lock the range
    /// they covered, point reads keep the lock of a key that has no row. Without it (READ COMMITTED) only rows are
    /// locked.
    pub lock_gaps: bool,
}

/// What a scan's visitor answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitAnswer {
    /// Go on with the next row.
    Continue,
    /// The row did not match: let go of its lock if this visit acquired it (READ COMMITTED), and go on.
    ContinueUnlocked,
    /// Stop after this row.
    Stop,
}

/// How far a scan is after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanState {
    /// The range is exhausted, or the visitor stopped.
    Done,
    /// The row limit of this call was reached; call again with the same cursor.
    More,
}

/// A range of memcomparable index keys. Those of an index whose keys need not be unique have the primary key behind them, so that
/// whoever means all rows of one key bounds what begins with it: see [`KeySpec::of_entries`](shoal_types::key::KeySpec::of_entries).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBounds {
    /// Where the range begins.
    pub start: Bound<Vec<u8>>,
    /// Where the range ends.
    pub end: Bound<Vec<u8>>,
}

impl KeyBounds {
    /// Every key.
    pub const ALL: KeyBounds = KeyBounds { start: Bound::Unbounded, end: Bound::Unbounded };

    /// Every key that begins with `prefix` (the encoded leading parts of an index).
    pub fn with_prefix(prefix: Vec<u8>) -> KeyBounds {
        let end = successor(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        KeyBounds { start: Bound::Included(prefix), end }
    }
}

/// In which order of keys a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Rising.
    Forward,
    /// Falling.
    Backward,
}

/// What became of a write.
pub enum WriteOutcome<'a> {
    /// Staged.
    Done,
    /// There is no row with that key.
    NotFound,
    /// The key of this unique index belongs to that row already; the row is locked for the writer.
    Duplicate {
        /// Whose key it is.
        index: IndexId,
        /// The row that has it.
        row: RowRef<'a>,
    },
}

/// What `propose_commit` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitStart {
    /// In the log (`Outputs::append`); the token comes back when it was applied.
    Proposed,
    /// Nothing was written here: the transaction has ended, its locks are released, no token will come.
    ReadOnly,
}

/// What a replica is in its group just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads; whether it may serve is a matter of its lease.
    Leader,
    /// It wants to lead.
    Candidate,
    /// It follows, or waits for somebody to follow.
    Follower,
}

/// What the leader knows of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaProgress {
    /// Its id in the Raft group.
    pub replica: u64,
    /// The last entry that it is known to hold.
    pub matched: u64,
    /// It was heard within the last election timeout.
    pub active: bool,
    /// It keeps no rows.
    pub is_witness: bool,
}

/// The default of [`PartitionConfig::slice_writes`]: some hundred microseconds of work.
pub const SLICE_WRITES: usize = 512;

/// What a partition is made from.
#[derive(Clone)]
pub struct PartitionConfig {
    /// Which partition it is.
    pub id: PartitionId,
    /// This replica's id in the Raft group; not zero.
    pub replica: u64,
    /// All voters of the group, this replica included; the preferred leader comes first.
    pub voters: Vec<u64>,
    /// The voter that keeps no rows.
    pub witness: Option<u64>,
    /// How long heartbeats, elections and leases take.
    pub timing: Timing,
    /// Another number in each life of the process.
    pub life: u64,
    /// This replica may have lost the end of its log: it counts entries as persisted that are in memory alone, and the
    /// process did not end in good order; or its data directory is a new one. It neither votes nor campaigns until it
    /// has caught up.
    pub amnesia: bool,
    /// The log is kept in memory for replicas that are away as long as it takes no more than this; those that are away
    /// for longer are sent a checkpoint.
    pub tail_bytes_max: u64,
    /// Transactions with more writes are applied, and undone, in slices of so many: see [`crate::Partition::go_on`].
    pub slice_writes: usize,
    /// What pays for rows, indexes and work; shared by the partitions of a process.
    pub budget: Arc<MemoryBudget>,
}

/// A leader's term, and an entry of its log up to which everything counts there: [`Partition::disk_mark`].
///
/// [`Partition::disk_mark`]: crate::Partition::disk_mark
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMark {
    pub(crate) term: u64,
    pub(crate) index: u64,
}

/// The default of [`PartitionConfig::tail_bytes_max`].
pub const TAIL_BYTES_MAX: u64 = 64 << 20;

impl PartitionConfig {
    /// This replica is the witness.
    pub fn is_witness(&self) -> bool {
        self.witness == Some(self.replica)
    }

    /// A group of one.
    pub fn single(id: PartitionId, budget: Arc<MemoryBudget>) -> PartitionConfig {
        PartitionConfig {
            id,
            replica: 1,
            voters: vec![1],
            witness: None,
            timing: Timing::default(),
            life: 0,
            amnesia: false,
            tail_bytes_max: TAIL_BYTES_MAX,
            slice_writes: SLICE_WRITES,
            budget,
        }
    }
}

/// Rows and memory of one table in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentUsage {
    /// Which table it is.
    pub table: TableId,
    /// Rows of the newest committed state.
    pub rows: u64,
    /// Bytes charged to the budget, versions kept for snapshots included.
    pub bytes: u64,
    /// Superseded versions and deleted rows that snapshots still need.
    pub old_versions: u64,
}
