//! A session's transaction. The signatures; the work behind them follows.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Node, Table};
use shoal_types::row::RowRef;
use shoal_types::{Error, Result, Timestamp, TransactionId};

use crate::api::*;

/// A session's transaction; reused for one transaction after the other.
pub struct Transaction {
    pub counters: TransactionCounters,
    node: Arc<Node>,
}

/// A scan in progress; batches of rows under one hold of a partition each.
pub struct TableScan {
    request: ScanRequest,
}

impl Transaction {
    /// Not begun; `begin` or the first operation starts it.
    pub fn new(node: Arc<Node>) -> Transaction {
        Transaction { counters: TransactionCounters::default(), node }
    }
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }
    pub fn begin(&mut self, _isolation: Isolation) {}
    /// The snapshot is taken now rather than at the first read.
    pub fn take_snapshot(&mut self) -> Timestamp {
        Timestamp::ZERO
    }
    /// READ COMMITTED (and autocommit) reads of the next statement see what is committed by now.
    pub fn start_statement(&mut self) {}
    pub fn is_active(&self) -> bool {
        false
    }
    pub fn has_writes(&self) -> bool {
        false
    }
    pub fn id(&self) -> Option<TransactionId> {
        None
    }
    pub fn set_lock_wait_timeout(&mut self, _timeout: Duration) {}

    /// One row by its primary key; `visit` sees it in place.
    pub async fn get<R>(
        &mut self,
        _table: &Arc<Table>,
        _primary_key: &[u8],
        _mode: ReadMode,
        _visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        Err(Error::unsupported("get"))
    }
    /// One row by its primary key at the newest committed version, without beginning anything.
    pub async fn get_newest<R>(
        &mut self,
        _table: &Arc<Table>,
        _primary_key: &[u8],
        _visit: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        Err(Error::unsupported("get_newest"))
    }
    /// Rows by primary keys, one round trip.
    pub async fn get_many(
        &mut self,
        _table: &Arc<Table>,
        _primary_keys: &[Vec<u8>],
        _mode: ReadMode,
        _visit: &mut dyn FnMut(usize, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        Err(Error::unsupported("get_many"))
    }
    /// Primary keys of the rows with these keys of a unique secondary index.
    pub async fn get_unique(
        &mut self,
        _table: &Arc<Table>,
        _index: usize,
        _keys: &[Vec<u8>],
        _mode: ReadMode,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        Err(Error::unsupported("get_unique"))
    }
    pub fn scan(&mut self, request: ScanRequest) -> TableScan {
        TableScan { request }
    }
    /// Inserts rows (encoded by `table.layout`), one round trip; the outcome of each.
    pub async fn insert_many(
        &mut self,
        _table: &Arc<Table>,
        _rows: &[Vec<u8>],
        _go_on: bool,
    ) -> Result<Vec<Inserted>> {
        Err(Error::unsupported("insert_many"))
    }
    /// Reads a row under an exclusive lock and changes it by what `decide` says.
    pub async fn modify<R>(
        &mut self,
        _table: &Arc<Table>,
        _primary_key: &[u8],
        _decide: impl FnMut(RowRef<'_>) -> Result<(Modification, R)>,
    ) -> Result<Option<(Inserted, R)>> {
        Err(Error::unsupported("modify"))
    }
    /// Replaces the row `old` by `new`, which may move to another key or partition.
    pub async fn replace_row(&mut self, _table: &Arc<Table>, _old: &[u8], _new: &[u8]) -> Result<Inserted> {
        Err(Error::unsupported("replace_row"))
    }
    /// Deletes a row that this transaction has locked.
    pub async fn delete_row(&mut self, _table: &Arc<Table>, _old: &[u8]) -> Result<()> {
        Err(Error::unsupported("delete_row"))
    }
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint(0)
    }
    pub fn rollback_to(&mut self, _savepoint: &Savepoint) {}
    /// Errors with `Outcome::Unknown` when the decision cannot be learnt.
    pub async fn commit(&mut self) -> Result<()> {
        Err(Error::unsupported("commit"))
    }
    pub fn rollback(&mut self) {}
    /// Rows in a range, roughly; cheap.
    pub fn estimate_rows(&self, _table: &Arc<Table>, _index: usize, _range: &KeyRange) -> u64 {
        0
    }
    pub fn row_count(&self, _table: &Arc<Table>) -> u64 {
        0
    }
    /// The partition (0-based) that a partition key lies in, for EXPLAIN.
    pub fn partition_of(&self, _partition_key: &[u8]) -> u32 {
        0
    }
    pub fn partition_count(&self) -> u32 {
        1
    }
}

impl TableScan {
    /// Visits the next batch (at most 256 rows of one partition). `false`: the scan is at its end.
    pub async fn next(
        &mut self,
        _transaction: &mut Transaction,
        _visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        Err(Error::unsupported(format!("scan of {}", self.request.table.name())))
    }
}
