//! The temporary tables of a session, and the dictionary with them over it.
//!
//! A session without any sees the dictionary that all share. One that has some lays them over it: every change of either makes another
//! version, so that no plan outlives the names that it was made for.

use std::cell::RefCell;
use std::sync::Arc;

use shoal_cluster::{Catalog, Node, Table};
use shoal_types::{Result, TableId, TableSchema};

use super::Session;
use crate::execute::memory::Held;
use crate::temporary::{StoredTable, TemporaryStore};

/// What a temporary table takes beside its rows, about: its definition, here and in its node.
const TABLE_BYTES: usize = 16 << 10;

/// A table in its node, which goes with this, and what its definition takes of the session's memory.
pub struct KeptTable {
    stored: StoredTable,
    _held: Held,
}

/// Those of one session, from its first one on.
pub struct TemporaryTables {
    store: Arc<TemporaryStore>,
    tables: Vec<(Arc<Table>, KeptTable)>,
    /// Their rows are part of a transaction that may still be rolled back or committed.
    dropped: Vec<KeptTable>,
    /// The dictionary with them, as it was asked for last.
    seen: RefCell<Option<Arc<Catalog>>>,
}

impl TemporaryTables {
    fn catalog(&self, node: &Arc<Node>) -> Arc<Catalog> {
        if self.tables.is_empty() {
            return node.catalog();
        }
        let mut seen = self.seen.borrow_mut();
        match &*seen {
            Some(catalog) if catalog.shared().version == node.catalog_version() => Arc::clone(catalog),
            _ => {
                let tables: Vec<Arc<Table>> = self.tables.iter().map(|(table, _)| Arc::clone(table)).collect();
                let catalog = Catalog::with_temporary(&node.catalog(), &tables, self.store.next_version());
                Arc::clone(seen.insert(Arc::new(catalog)))
            }
        }
    }

    fn add(&mut self, table: Arc<Table>, kept: KeptTable) {
        self.change_seen(|catalog, number| catalog.with_one_more(&table, number));
        self.tables.push((table, kept));
    }

    fn remove(&mut self, id: TableId) -> Option<KeptTable> {
        let position = self.tables.iter().position(|(table, _)| table.id() == id)?;
        let (table, kept) = self.tables.swap_remove(position);
        self.change_seen(|catalog, number| catalog.with_one_less(&table, number));
        Some(kept)
    }

    /// Makes the next version of what the session saw last, if it has seen it.
    fn change_seen(&mut self, change: impl FnOnce(&Catalog, u64) -> Catalog) {
        if let Some(seen) = self.seen.get_mut() {
            *seen = Arc::new(change(seen, self.store.next_version()));
        }
    }
}

/// The dictionary as a session with these tables sees it.
pub fn catalog(node: &Arc<Node>, temporary: Option<&TemporaryTables>) -> Arc<Catalog> {
    temporary.map_or_else(|| node.catalog(), |temporary| temporary.catalog(node))
}

/// Its version.
#[inline]
pub fn catalog_version(node: &Arc<Node>, temporary: Option<&TemporaryTables>) -> u64 {
    temporary.map_or_else(|| node.catalog_version(), |temporary| temporary.catalog(node).version)
}

impl Session {
    /// The dictionary as this session sees it.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        catalog(&self.server.node, self.temporary.as_deref())
    }

    /// Its version: raised by every change of what the session sees.
    #[inline]
    pub(crate) fn catalog_version(&self) -> u64 {
        catalog_version(&self.server.node, self.temporary.as_deref())
    }

    /// The session's temporary table of this name.
    pub(crate) fn temporary_table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let tables = &self.temporary.as_ref()?.tables;
        let is_it = |table: &Table| table.schema.database == database && table.name() == name;
        tables.iter().map(|(table, _)| table).find(|table| is_it(table))
    }

    /// Where temporary tables are made. From now on the session's transactions may work there.
    pub(crate) fn temporary_store(&mut self) -> Result<Arc<TemporaryStore>> {
        if let Some(temporary) = &self.temporary {
            return Ok(Arc::clone(&temporary.store));
        }
        let store = self.server.temporary.open(&self.server.node)?;
        self.transaction.set_temporary_node(Arc::clone(store.node()));
        let temporary = TemporaryTables {
            store: Arc::clone(&store),
            tables: Vec::new(),
            dropped: Vec::new(),
            seen: RefCell::default(),
        };
        self.temporary = Some(Box::new(temporary));
        Ok(store)
    }

    /// Makes an empty table, with ids from the store, that has no name yet.
    ///
    /// # Errors
    /// 1041, 4081, 4082: there is no memory for its definition.
    pub(crate) async fn create_temporary(&mut self, schema: TableSchema) -> Result<(Arc<Table>, KeptTable)> {
        let store = self.temporary_store()?;
        let mut held = Held::new(&self.memory);
        held.add(TABLE_BYTES)?;
        let (table, stored) = store.create(schema).await?;
        Ok((table, KeptTable { stored, _held: held }))
    }

    /// The session has this table from now on, under a name that none of its temporary tables has.
    pub(crate) fn add_temporary(&mut self, table: Arc<Table>, kept: KeptTable) {
        if let Some(temporary) = &mut self.temporary {
            temporary.add(table, kept);
        }
        self.tracker.note_change();
    }

    /// The table has another definition, and the same rows.
    pub(crate) fn redefine_temporary(&mut self, table: Arc<Table>) {
        let id = table.id();
        if let Some(kept) = self.temporary.as_mut().and_then(|temporary| temporary.remove(id)) {
            self.add_temporary(table, kept);
        }
    }

    /// The table is gone for the session at once. Where a transaction has worked in temporary tables, its rows go when that ends.
    pub(crate) async fn drop_temporary(&mut self, id: TableId) {
        if let Some(kept) = self.temporary.as_mut().and_then(|temporary| temporary.remove(id)) {
            self.discard_temporary(kept).await;
            self.tracker.note_change();
        }
    }

    /// The same of one that has no name.
    pub(crate) async fn discard_temporary(&mut self, kept: KeptTable) {
        let is_used = self.transaction.has_work_in_temporary();
        match &mut self.temporary {
            Some(temporary) if is_used => temporary.dropped.push(kept),
            _ => kept.stored.discard().await,
        }
    }

    /// The transaction is over: so are the tables that it had dropped.
    #[inline]
    pub(super) fn release_dropped_tables(&mut self) {
        if let Some(temporary) = &mut self.temporary {
            temporary.dropped.clear();
        }
    }

    /// A session that begins anew has none.
    pub(super) fn forget_temporary_tables(&mut self) {
        self.transaction.forget_temporary_node();
        self.temporary = None;
    }
}
