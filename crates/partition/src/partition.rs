//! The partition's operations.

use std::sync::Arc;

use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, Result, TableId, TableSchema, Timestamp, TransactionId};

use crate::api::*;
use crate::outputs::Outputs;
use crate::scan::Cursor;

pub struct Partition {
    config: PartitionConfig,
    outputs: Outputs,
}

fn building<T>() -> Result<T> {
    Err(Error::unsupported("partition"))
}

#[allow(unused_variables)]
impl Partition {
    // ---- life ----
    /// An empty partition; `install_checkpoint_block` and `replay` may follow, then `start`.
    pub fn new(config: PartitionConfig) -> Partition {
        Partition { config, outputs: Outputs::default() }
    }
    /// In order, all blocks of one checkpoint, before any `replay`.
    pub fn install_checkpoint_block(&mut self, block: &[u8]) -> Result<()> {
        building()
    }
    /// In order, the entries of the log behind the checkpoint; entries at or before it are ignored.
    pub fn replay(&mut self, index: u64, term: u64, data: &[u8]) -> Result<()> {
        building()
    }
    /// Recovery is over: joins its Raft group; a group of one becomes leader at once (its outputs then want to be
    /// made durable and reported like any others).
    pub fn start(&mut self) -> Result<()> {
        building()
    }
    pub fn config(&self) -> &PartitionConfig {
        &self.config
    }
    /// Drain after every call, before the partition is released.
    pub fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }
    /// Everything handed out up to this `Outputs::number` is durable.
    pub fn persisted(&mut self, number: u64) -> Result<()> {
        building()
    }
    pub fn tick(&mut self) -> Result<()> {
        building()
    }
    pub fn step_message(&mut self, message: raft::eraftpb::Message) -> Result<()> {
        building()
    }
    /// Asks for the index that a linearizable read must wait for; answered in `Outputs::read_states`.
    pub fn read_index(&mut self, context: Vec<u8>) -> Result<()> {
        building()
    }
    pub fn is_leader(&self) -> bool {
        false
    }
    pub fn applied_index(&self) -> u64 {
        0
    }
    /// The first index of the log that is still needed in memory.
    pub fn first_index(&self) -> u64 {
        0
    }
    /// The log up to `index` is covered by a durable checkpoint.
    pub fn compact(&mut self, index: u64) {}

    // ---- clocks ----
    /// The newest commit timestamp proposed or applied; the next one must be later.
    pub fn newest_timestamp(&self) -> Timestamp {
        Timestamp::ZERO
    }
    /// No snapshot before `horizon` is in use or will be taken. Never moves back. Cheap; call it before `persisted`,
    /// so that versions nobody can see are dropped while they are replaced.
    pub fn set_gc_horizon(&mut self, horizon: Timestamp) {}
    /// Drops at most `max_work` versions that are behind the horizon; how many it dropped.
    pub fn collect_garbage(&mut self, max_work: usize) -> usize {
        0
    }

    // ---- definition ----
    pub fn create_fragment(&mut self, schema: Arc<TableSchema>, token: CommitToken) -> Result<()> {
        building()
    }
    pub fn drop_fragment(&mut self, table: TableId, token: CommitToken) -> Result<()> {
        building()
    }
    /// Replaces the schema; indexes that only one of the two has are built or dropped. Columns must not change their
    /// storage.
    pub fn alter_fragment(&mut self, schema: Arc<TableSchema>, token: CommitToken) -> Result<()> {
        building()
    }
    pub fn schema(&self, table: TableId) -> Option<&Arc<TableSchema>> {
        None
    }
    pub fn usage(&self, table: TableId) -> Option<FragmentUsage> {
        None
    }
    pub fn row_count(&self, table: TableId) -> u64 {
        0
    }
    /// About how many rows lie in the range, from two dives into the index.
    pub fn estimate_rows(&self, table: TableId, index: IndexId, range: &KeyRange) -> Result<u64> {
        building()
    }

    // ---- reads ----
    /// The row with this primary key (memcomparable).
    pub fn get(
        &mut self,
        view: &ReadView,
        table: TableId,
        key: &[u8],
        lock: Option<LockRequest>,
    ) -> Result<Step<Option<RowRef<'_>>>> {
        building()
    }
    /// Shows rows from the cursor's place on, in index order, at most `row_limit` (visited) rows.
    pub fn scan(
        &mut self,
        view: &ReadView,
        cursor: &mut Cursor,
        lock: Option<LockRequest>,
        row_limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> Visit,
    ) -> Result<Step<ScanState>> {
        building()
    }

    // ---- writes ----
    pub fn insert(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        building()
    }
    /// Replaces the row with the primary key that `row` holds.
    pub fn update(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        building()
    }
    pub fn delete(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        key: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        building()
    }

    // ---- transactions ----
    pub fn savepoint(&self, transaction: TransactionId) -> SavepointMark {
        SavepointMark(0)
    }
    /// Undoes the writes staged since the mark; locks stay.
    pub fn rollback_to(&mut self, transaction: TransactionId, mark: SavepointMark) {}
    pub fn has_writes(&self, transaction: TransactionId) -> bool {
        false
    }
    pub fn propose_commit(
        &mut self,
        transaction: TransactionId,
        commit_timestamp: Timestamp,
        token: CommitToken,
    ) -> Result<CommitStart> {
        building()
    }
    /// Ends the transaction without its writes. Not for a transaction whose commit was proposed.
    pub fn rollback(&mut self, transaction: TransactionId) {}
    /// Lets go of a row lock that has not been written under.
    pub fn unlock_row(&mut self, transaction: TransactionId, table: TableId, key: &[u8]) {}
    /// The operation with this token gives up waiting.
    pub fn cancel_wait(&mut self, transaction: TransactionId, token: WaitToken) {}
    /// All (waiter, holder) pairs of this partition.
    pub fn wait_edges(&self) -> Vec<(TransactionId, TransactionId)> {
        Vec::new()
    }

    // ---- checkpoints ----
    /// Pins the present state; the cursor must be given back to `end_checkpoint`.
    pub fn begin_checkpoint(&mut self) -> Result<CheckpointCursor> {
        building()
    }
    /// Appends one block of about `max_bytes` to `out`; false when there is none left.
    pub fn next_checkpoint_block(
        &mut self,
        cursor: &mut CheckpointCursor,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        building()
    }
    pub fn end_checkpoint(&mut self, cursor: CheckpointCursor) {}
}

/// A checkpoint in the making.
pub struct CheckpointCursor {
    pub(crate) index: u64,
    pub(crate) term: u64,
}

impl CheckpointCursor {
    /// The log entry whose application the checkpoint includes as its last.
    pub fn index(&self) -> u64 {
        self.index
    }
    pub fn term(&self) -> u64 {
        self.term
    }
}
