//! The words in which sessions speak with the coordinator: isolation levels, read modes, scans, outcomes, counters.

use std::sync::Arc;

use shoal_cluster::Table;
pub use shoal_partition::LockMode;

/// Isolation levels that are offered. READ UNCOMMITTED is served as READ COMMITTED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockWait {
    #[default]
    Wait,
    NoWait,
    SkipLocked,
}

/// How rows are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadMode {
    /// `None`: a consistent read of the snapshot. `Some`: the newest version, locked until the transaction ends.
    pub lock: Option<LockMode>,
    pub wait: LockWait,
}

/// A range of memcomparable keys of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub start: Vec<u8>,
    /// Exclusive end; empty = no end. (An inclusive bound is the prefix's successor.)
    pub end: Vec<u8>,
}

/// What a scan visits.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    pub table: Arc<Table>,
    /// Position in `table.schema.indexes`.
    pub index: usize,
    /// Visited one after the other; must be disjoint and in index order when `ordered`.
    pub ranges: Vec<KeyRange>,
    pub descending: bool,
    /// Rows of several partitions are merged into index order.
    pub ordered: bool,
    /// All ranges lie in the partition of this partition key (memcomparable): a pruned scan.
    pub partition_key: Option<Vec<u8>>,
    pub mode: ReadMode,
    /// No more rows than this many are wanted (a hint that bounds batches).
    pub row_limit: Option<u64>,
}

/// What a visitor wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// The row was taken.
    Take,
    /// The row did not match: a READ COMMITTED transaction gives its lock back.
    Skip,
    /// The row was taken and no more rows are wanted.
    TakeAndStop,
    /// The row was not taken and no more rows are wanted.
    Stop,
}

/// What to do with a row that `modify` found.
#[derive(Debug)]
pub enum Modification {
    /// Leave it. `unlock`: the row did not match, READ COMMITTED gives its lock back.
    Keep {
        unlock: bool,
    },
    /// The new row; its primary key is unchanged.
    Update(Vec<u8>),
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    Done,
    /// A row with this key exists: the index (position in `schema.indexes`) and the primary key of that row.
    Duplicate {
        index: usize,
        primary_key: Vec<u8>,
    },
}

/// Counts of real work, summed up into SHOW STATUS.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionCounters {
    /// Round trips to data nodes: batches of operations that were sent and waited for as one.
    pub execute_count: u64,
    pub scan_count: u64,
    pub pruned_scan_count: u64,
    pub read_row_count: u64,
    pub primary_key_operations: u64,
    pub unique_key_operations: u64,
    pub range_scans: u64,
    pub table_scans: u64,
    pub commits: u64,
    pub rollbacks: u64,
}

/// A point to roll back to.
#[derive(Clone, Debug)]
pub struct Savepoint(pub(crate) u64);
