//! The words in which sessions speak with the coordinator: isolation levels, read modes, scans, outcomes, counters.

use std::sync::Arc;

use shoal_cluster::Table;
pub use shoal_partition::LockMode;

/// Isolation levels that are offered. READ UNCOMMITTED is served as READ COMMITTED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Every statement sees what was committed before it.
    ReadCommitted,
    /// All statements see one snapshot, which the first read takes.
    #[default]
    RepeatableRead,
    /// As REPEATABLE READ, but reads lock what they read.
    Serializable,
}

/// What a locking read does about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockWait {
    /// Until the lock is free or the timeout is over.
    #[default]
    Wait,
    /// NOWAIT: an error at once.
    NoWait,
    /// SKIP LOCKED: the row is left out.
    SkipLocked,
    /// As `Wait`; and what others have staged in the range is waited for, and nothing new comes into it, at READ COMMITTED too.
    WaitAndCloseGaps,
}

/// How rows are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadMode {
    /// `None`: a consistent read of the snapshot. `Some`: the newest version, locked until the transaction ends.
    pub lock: Option<LockMode>,
    /// Without meaning if nothing is locked.
    pub wait: LockWait,
}

/// A range of memcomparable keys of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// Inclusive; empty = from the beginning.
    pub start: Vec<u8>,
    /// Exclusive end; empty = no end. (An inclusive bound is the prefix's successor.)
    pub end: Vec<u8>,
}

/// What a scan visits.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// In the definition by which the keys were made.
    pub table: Arc<Table>,
    /// Position in `table.schema.indexes`.
    pub index: usize,
    /// Visited one after the other; must be disjoint and in index order when `ordered`.
    pub ranges: Vec<KeyRange>,
    /// From each range's end to its start.
    pub descending: bool,
    /// Rows of several partitions are merged into index order.
    pub ordered: bool,
    /// All ranges lie in the partition of this partition key (memcomparable): a pruned scan.
    pub partition_key: Option<Vec<u8>>,
    /// How the rows are read and locked.
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
        /// READ COMMITTED gives the lock back.
        unlock: bool,
    },
    /// The new row; its primary key is unchanged.
    Update(Vec<u8>),
    /// The row goes.
    Delete,
}

/// What became of one row of an insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The row is in.
    Done,
    /// A row with this key exists: the index (position in `schema.indexes`) and the primary key of that row.
    Duplicate {
        /// Position in `schema.indexes`.
        index: usize,
        /// Of the row that was there before, memcomparable.
        primary_key: Vec<u8>,
    },
}

/// Counts of real work, summed up into SHOW STATUS.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionCounters {
    /// Round trips to data nodes: batches of operations that were sent and waited for as one.
    pub execute_count: u64,
    /// Scans of any kind: the sum of `range_scans` and `table_scans`.
    pub scan_count: u64,
    /// Scans that visited a single partition, by its key.
    pub pruned_scan_count: u64,
    /// Rows that were read, at this node or for it at others.
    pub read_row_count: u64,
    /// Reads and writes of single rows by their primary key.
    pub primary_key_operations: u64,
    /// Reads of single rows by the key of a unique secondary index, and changes of its entries.
    pub unique_key_operations: u64,
    /// Scans with a bound.
    pub range_scans: u64,
    /// Scans of a whole index or table.
    pub table_scans: u64,
    /// Transactions that ended by COMMIT.
    pub commits: u64,
    /// Transactions that ended by ROLLBACK.
    pub rollbacks: u64,
}

/// A point to roll back to.
#[derive(Clone, Debug)]
pub struct Savepoint {
    pub(crate) own: u64,
    /// The same in temporary tables.
    pub(crate) temporary: u64,
}
