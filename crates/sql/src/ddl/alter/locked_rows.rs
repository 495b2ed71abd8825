//! The rows of a table that others use, in the order of the primary key, locked a batch at a time.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::Table;
use shoal_txn::{KeyRange, LockMode, LockWait, ReadMode, ScanRequest, Transaction, Visit};
use shoal_types::key::successor;
use shoal_types::row::RowRef;
use shoal_types::{IndexMethod, Result};

/// No more rows are taken at a time, however few they are.
const BYTES_PER_BATCH: usize = 4 << 20;
/// A batch that lost a deadlock, or met another definition of the table, is tried again after this.
pub const PAUSE: Duration = Duration::from_millis(5);

/// Rows that are locked until the transaction ends.
pub struct LockedRows {
    pub rows: Vec<Vec<u8>>,
    /// The key that the next batch begins with; `None`: these were the last ones.
    pub next: Option<Vec<u8>>,
}

/// A table's rows can be gone through in order.
pub fn are_in_order(table: &Table) -> bool {
    table.schema.primary_key().method == IndexMethod::BTree
}

/// Locks the next rows, from a key of the primary key on, `rows_max` at most.
pub async fn lock_rows(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    start: &[u8],
    lock: LockMode,
    rows_max: usize,
) -> Result<LockedRows> {
    let mut scan = transaction.scan(ScanRequest {
        table: Arc::clone(table),
        index: 0,
        ranges: vec![KeyRange { start: start.to_vec(), end: Vec::new() }],
        descending: false,
        ordered: true,
        partition_key: None,
        mode: ReadMode { lock: Some(lock), wait: LockWait::Wait },
        row_limit: Some(rows_max as u64),
    });
    let (mut rows, mut bytes) = (Vec::with_capacity(rows_max), 0);
    let mut is_full = false;
    let mut take = |row: RowRef<'_>| {
        bytes += row.bytes().len();
        rows.push(row.bytes().to_vec());
        is_full = rows.len() == rows_max || bytes >= BYTES_PER_BATCH;
        Ok(if is_full { Visit::TakeAndStop } else { Visit::Take })
    };
    while scan.next(transaction, &mut take).await? {}
    let next = rows.last().filter(|_| is_full).and_then(|row: &Vec<u8>| {
        let mut key = Vec::with_capacity(16);
        table.keys[0].append_from_row(table.layout.row(row), &mut key);
        successor(&key)
    });
    Ok(LockedRows { rows, next })
}
