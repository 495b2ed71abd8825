//! What operations are called on: a client, on the thread that its links are read on.

use std::sync::Arc;

use shoal_cluster::Node;
use shoal_txn::{Isolation, ReadMode};
use shoal_types::{Result, Value};

use crate::core::Core;
use crate::events::{EventOptions, Events};
use crate::linked::{Linked, Tuple};
use crate::options::Options;
use crate::row::Row;
use crate::scan::Scan;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::write::Update;

/// A client on its own thread. Its operations are transactions of their own; reads see the newest committed version of every row.
#[derive(Clone)]
pub struct Session {
    core: Arc<Core>,
}

impl Session {
    pub(crate) fn new(core: &Arc<Core>) -> Session {
        Session { core: Arc::clone(core) }
    }

    /// For a process that is a node of its own accord, such as a server with another interface. Of the options only
    /// `lock_wait_timeout` counts. Any thread may have one.
    pub fn of_node(node: &Arc<Node>, options: Options) -> Session {
        Session::new(&Arc::new(Core::of_node(node, options)))
    }

    /// A table by the names of its database and its own.
    pub fn table(&self, database: &str, name: &str) -> Result<Table> {
        self.core.table(database, name)
    }

    /// Begins a transaction. READ COMMITTED reads the newest committed version of every row; REPEATABLE READ a snapshot of everything,
    /// taken at its first read; SERIALIZABLE locks what it reads.
    pub fn begin(&self, isolation: Isolation) -> Transaction {
        Transaction::begin(&self.core, isolation)
    }

    /// Follows tables: every change of their rows that is committed from now on, once, whoever makes it.
    pub async fn events(&self, tables: &[&Table], options: EventOptions) -> Result<Events> {
        Events::begin(&self.core, tables, options).await
    }

    pub(crate) fn auto(&self) -> Transaction {
        Transaction::auto(&self.core)
    }

    /// The row with this primary key, in its newest committed version.
    pub async fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Row>> {
        self.auto().get(table, key, ReadMode::default()).await
    }

    /// The rows with these primary keys, in the keys' order: one round trip. `None` where there is no row.
    pub async fn get_many(&self, table: &Table, keys: &[Vec<Value>]) -> Result<Vec<Option<Row>>> {
        self.auto().get_many(table, keys, ReadMode::default()).await
    }

    /// The row with this key of a unique index.
    pub async fn get_unique(&self, table: &Table, index: &str, key: &[Value]) -> Result<Option<Row>> {
        self.auto().get_unique(table, index, key, ReadMode::default()).await
    }

    /// The rows with these keys of a unique index, in the keys' order: two round trips. `None` where there is no row.
    pub async fn get_unique_many(
        &self,
        table: &Table,
        index: &str,
        keys: &[Vec<Value>],
    ) -> Result<Vec<Option<Row>>> {
        self.auto().get_unique_many(table, index, keys, ReadMode::default()).await
    }

    /// The rows that a scan finds, all at once.
    pub async fn scan(&self, table: &Table, scan: &Scan) -> Result<Vec<Row>> {
        self.auto().scan_all(table, scan).await
    }

    /// All tuples of linked operations.
    pub async fn linked(&self, linked: &Linked) -> Result<Vec<Tuple>> {
        self.auto().linked_all(linked).await
    }

    /// As [`Transaction::insert`], committed when it returns.
    pub async fn insert(&self, table: &Table, columns: &[&str], row: Vec<Value>) -> Result<Option<u64>> {
        self.auto().insert(table, columns, row).await
    }

    /// As [`Transaction::insert_many`], committed when it returns.
    pub async fn insert_many(&self, table: &Table, columns: &[&str], rows: &[Vec<Value>]) -> Result<Option<u64>> {
        self.auto().insert_many(table, columns, rows).await
    }

    /// As [`Transaction::put_many`], committed when it returns.
    pub async fn put_many(&self, table: &Table, columns: &[&str], rows: &[Vec<Value>]) -> Result<()> {
        self.auto().put_many(table, columns, rows).await
    }

    /// As [`Transaction::update`], committed when it returns.
    pub async fn update(&self, table: &Table, key: &[Value], update: &Update) -> Result<bool> {
        self.auto().update(table, key, update).await
    }

    /// As [`Transaction::update_many`], committed when it returns: all of the rows or none.
    pub async fn update_many(&self, table: &Table, keys: &[Vec<Value>], update: &Update) -> Result<u64> {
        self.auto().update_many(table, keys, update).await
    }

    /// As [`Transaction::update_unique`], committed when it returns.
    pub async fn update_unique(&self, table: &Table, index: &str, key: &[Value], update: &Update) -> Result<bool> {
        self.auto().update_unique(table, index, key, update).await
    }

    /// As [`Transaction::update_unique_many`], committed when it returns: all of the rows or none.
    pub async fn update_unique_many(
        &self,
        table: &Table,
        index: &str,
        keys: &[Vec<Value>],
        update: &Update,
    ) -> Result<u64> {
        self.auto().update_unique_many(table, index, keys, update).await
    }

    /// As [`Transaction::delete`], committed when it returns.
    pub async fn delete(&self, table: &Table, key: &[Value]) -> Result<bool> {
        self.auto().delete(table, key).await
    }

    /// As [`Transaction::delete_many`], committed when it returns: all of the rows or none.
    pub async fn delete_many(&self, table: &Table, keys: &[Vec<Value>]) -> Result<u64> {
        self.auto().delete_many(table, keys).await
    }

    /// As [`Transaction::delete_unique`], committed when it returns.
    pub async fn delete_unique(&self, table: &Table, index: &str, key: &[Value]) -> Result<bool> {
        self.auto().delete_unique(table, index, key).await
    }

    /// As [`Transaction::delete_unique_many`], committed when it returns: all of the rows or none.
    pub async fn delete_unique_many(&self, table: &Table, index: &str, keys: &[Vec<Value>]) -> Result<u64> {
        self.auto().delete_unique_many(table, index, keys).await
    }
}
