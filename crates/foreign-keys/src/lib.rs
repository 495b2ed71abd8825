//! Foreign keys: every row whose foreign key has no NULL has a parent, at every commit. What is locked, looked for and changed for that, and in which order; without
//! I/O.
//!
//! A child's row is written only while its transaction holds its parent's row (or the entry of the parent's unique key) with a shared
//! lock; a parent's row is deleted, or gets another key, only while its transaction holds it exclusively. So between the look for
//! children and the commit no new one can come: whoever writes one waits for the parent, and then finds none. Children are looked for
//! with locking reads, which see whatever was committed before the lock was had, and wait for children that others have staged, at any
//! isolation level: a partition in which a transaction has nothing but the parent's lock gives that back when the transaction prepares,
//! which is before the child's partition shows the child. Locks are worth nothing if the leader that gave them has changed, so a commit asks
//! those partitions too that it has only locked something in.
//!
//! All of it happens in the transaction of the statement, before the statement's own rows are written, a batch of rows at a time: one
//! round trip for the parents of a batch, one scan for its children (InnoDB: `row0ins.cc`, `row0upd.cc`, row by row). A cascade goes on
//! through the children's children, 15 levels deep.
//!
//! - [`ForeignKeys`]: the foreign keys that changes of a table can concern
//! - [`lock_parents`]: before rows are written
//! - [`delete_children`] and [`update_children`]: before rows are deleted or get other keys
//!
//! A transaction (`shoal-txn`) reads and writes rows around this; the simulator (`shoal-sim`) has partitions, events and chance. *Must not know* how rows are reached:
//! reads and writes are calls on a [`Host`].

#![warn(missing_docs)]

mod children;
mod errors;
mod links;
mod parents;

use std::sync::Arc;

pub use children::{Gone, delete_children, update_children};
pub use errors::constraint_text;
pub use links::{ForeignKeys, index_beginning_with, unique_key_over};
pub use parents::{WrittenRow, lock_parents};
pub use shoal_partition::LockMode;
use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{Result, TableId, TableSchema};

/// What stands for a table where this is used, and how it is described.
pub trait Tables {
    /// A version of a table's definition.
    type Table;

    /// As it is in the dictionary.
    fn schema(table: &Self::Table) -> &TableSchema;
    /// Of the schema's columns, hidden ones included.
    fn layout(table: &Self::Table) -> &RowLayout;
    /// The key of every index, the primary key first.
    fn keys(table: &Self::Table) -> &[KeySpec];

    /// The same for all versions of the table.
    fn id(table: &Self::Table) -> TableId {
        Self::schema(table).id
    }
}

/// A dictionary of tables.
pub trait Lookup<T: Tables> {
    /// A table by its names.
    fn table(&self, database: &str, name: &str) -> Option<&Arc<T::Table>>;
    /// The tables with foreign keys to this one, which need not be there.
    fn children_of(&self, database: &str, name: &str) -> Vec<&Arc<T::Table>>;
}

/// A range of memcomparable keys: from the first to before the second, which is empty if there is no end.
pub type KeyBounds = (Vec<u8>, Vec<u8>);

/// How a scan locks what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanLock {
    /// Of the rows.
    pub mode: LockMode,
    /// It waits for rows that others have staged in its ranges, and nothing new comes into these.
    pub closes_gaps: bool,
}

/// The transaction that everything is done in.
#[allow(async_fn_in_trait, reason = "whether it may change threads is its caller's concern")]
pub trait Host<T: Tables> {
    /// A locking scan under way.
    type Scan;

    /// Which of these keys of a unique index (sorted, each once) have a row, as of now; what is there is locked.
    async fn are_there(
        &mut self,
        table: &Arc<T::Table>,
        index: usize,
        keys: &[Vec<u8>],
        lock: Option<LockMode>,
    ) -> Result<Vec<bool>>;

    /// Begins to read and lock the newest versions of rows.
    fn scan(&mut self, table: &Arc<T::Table>, index: usize, ranges: Vec<KeyBounds>, lock: ScanLock) -> Self::Scan;

    /// Shows some more rows. False: there are no more.
    async fn next(&mut self, scan: &mut Self::Scan, show: &mut dyn FnMut(RowRef<'_>)) -> Result<bool>;

    /// Replaces rows, which may get other primary keys, or deletes those that nothing replaces. Errors: 1062.
    async fn replace(&mut self, table: &Arc<T::Table>, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()>;
}

fn primary_key<T: Tables>(table: &T::Table, row: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    T::keys(table)[0].append_from_row(T::layout(table).row(row), &mut key);
    key
}
