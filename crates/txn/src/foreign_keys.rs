//! Foreign keys in a transaction: what the crate `foreign-keys` wants read, locked and written is done here, in batches over all partitions.

use std::sync::Arc;

use shoal_cluster::{Catalog, Table};
pub use shoal_foreign_keys::{Gone, WrittenRow, constraint_text};
use shoal_foreign_keys::{Host, KeyBounds, Lookup, ScanLock, Tables};
use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{Error, ErrorCode, Result, TableSchema};

use crate::api::{Inserted, KeyRange, LockMode, LockWait, ReadMode, ScanRequest, Visit};
use crate::new_row::duplicate_entry;
use crate::staging::primary_key_of;
use crate::transaction::Transaction;

/// The foreign keys that changes of one table can concern.
pub type ForeignKeys = shoal_foreign_keys::ForeignKeys<Dictionary>;

/// Tables as the dictionary has them.
pub enum Dictionary {}

impl Tables for Dictionary {
    type Table = Table;

    fn schema(table: &Table) -> &TableSchema {
        &table.schema
    }

    fn layout(table: &Table) -> &RowLayout {
        &table.layout
    }

    fn keys(table: &Table) -> &[KeySpec] {
        &table.keys
    }
}

impl Lookup<Dictionary> for Catalog {
    fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        Catalog::table(self, database, name)
    }

    fn children_of(&self, database: &str, name: &str) -> Vec<&Arc<Table>> {
        Catalog::children_of(self, database, name)
    }
}

/// Of a table that is about to be written. `None`: it has to do with no foreign key.
pub fn foreign_keys_of(catalog: &Catalog, table: &Arc<Table>) -> Option<ForeignKeys> {
    if table.is_temporary {
        return None;
    }
    ForeignKeys::of(catalog.shared(), table)
}

/// Position of the unique key that consists of these columns, in whatever order.
pub fn unique_key_over(table: &Table, columns: &[usize]) -> Option<usize> {
    shoal_foreign_keys::unique_key_over(&table.schema, columns)
}

/// Position of the index that begins with these columns, in this order.
pub fn index_beginning_with(table: &Table, columns: &[usize]) -> Option<usize> {
    shoal_foreign_keys::index_beginning_with(&table.schema, columns)
}

/// Whether a row of the statement's table was deleted by a cascade of an earlier row.
pub fn is_gone(gone: &Gone, table: &Table, row: &[u8]) -> bool {
    gone.has_key(table.id(), || primary_key_of(table, table.layout.row(row)))
}

impl Transaction {
    /// For interfaces that see to no children: refuses changes and deletes of rows that others may refer to. Errors: 1235.
    pub fn check_has_no_children(&self, table: &Table) -> Result<()> {
        let schema = &table.schema;
        match self.node().catalog().children_of(&schema.database, &schema.name).first() {
            None => Ok(()),
            Some(child) => Err(Error::new(
                ErrorCode::NotSupportedYet,
                format!(
                    "Rows of table '{}' can be changed and deleted by SQL statements alone, because a foreign key of table '{}' refers to it: use \
                     UPDATE, DELETE",
                    schema.name, child.schema.name
                ),
            )),
        }
    }

    /// Locks the parents of rows that are about to be written. For each row what is wrong with it: error 1452.
    pub async fn lock_parents(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[WrittenRow<'_>],
    ) -> Result<Vec<Option<Error>>> {
        shoal_foreign_keys::lock_parents(self, keys, table, rows).await
    }

    /// Sees to the children of rows that are about to be deleted and are locked exclusively: refuses (1451), deletes them too, or sets
    /// them to NULL.
    pub async fn delete_children(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[Vec<u8>],
        gone: &mut Gone,
    ) -> Result<()> {
        shoal_foreign_keys::delete_children(self, keys, table, rows, gone).await
    }

    /// Sees to the children of rows whose keys are about to change, in pairs of old and new, locked exclusively.
    pub async fn update_children(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<()> {
        shoal_foreign_keys::update_children(self, keys, table, rows).await
    }
}

impl Host<Dictionary> for Transaction {
    type Scan = crate::TableScan;

    async fn are_there(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        keys: &[Vec<u8>],
        lock: Option<LockMode>,
    ) -> Result<Vec<bool>> {
        let mode = ReadMode { lock, wait: LockWait::Wait };
        if index != 0 {
            let found = self.get_unique(table, index, keys, mode).await?;
            return Ok(found.into_iter().map(|found| found.is_some()).collect());
        }
        let mut present = vec![false; keys.len()];
        let mut see = |position: usize, _: RowRef<'_>| {
            present[position] = true;
            Ok(())
        };
        self.get_many(table, keys, mode, &mut see).await?;
        Ok(present)
    }

    fn scan(&mut self, table: &Arc<Table>, index: usize, ranges: Vec<KeyBounds>, lock: ScanLock) -> Self::Scan {
        let wait = if lock.closes_gaps { LockWait::WaitAndCloseGaps } else { LockWait::Wait };
        let request = ScanRequest {
            table: Arc::clone(table),
            index,
            ranges: ranges.into_iter().map(|(start, end)| KeyRange { start, end }).collect(),
            descending: false,
            ordered: false,
            partition_key: None,
            mode: ReadMode { lock: Some(lock.mode), wait },
            row_limit: None,
        };
        Transaction::scan(self, request)
    }

    async fn next(&mut self, scan: &mut Self::Scan, show: &mut dyn FnMut(RowRef<'_>)) -> Result<bool> {
        let mut take = |row: RowRef<'_>| {
            show(row);
            Ok(Visit::Take)
        };
        scan.next(self, &mut take).await
    }

    async fn replace(&mut self, table: &Arc<Table>, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()> {
        let key = |row: &[u8]| primary_key_of(table, table.layout.row(row));
        let moves = |(old, new): &(Vec<u8>, Option<Vec<u8>>)| new.as_ref().is_some_and(|new| key(old) != key(new));
        if changes.iter().any(moves) {
            for (old, new) in changes {
                let Some(new) = new else { continue };
                if let Inserted::Duplicate { index, .. } = self.replace_row(table, old, new).await? {
                    return Err(duplicate_entry(table, index, new));
                }
            }
            return Ok(());
        }
        let end = self.replace_many(table, changes).await?;
        match end.duplicate {
            Some((position, Inserted::Duplicate { index, .. })) => {
                let new = changes[position].1.as_deref().unwrap_or_default();
                Err(duplicate_entry(table, index, new))
            }
            _ => Ok(()),
        }
    }
}
