//! The temporary tables of a session, and the dictionary with them over it.
//!
//! A session without any sees the dictionary that all share. One that has some lays them over it: every change of either makes another
//! version, so that no plan outlives the names that it was made for.

use std::cell::RefCell;
use std::sync::Arc;

use shoal_cluster::{Catalog, Table};
use shoal_types::{Result, TableId};

use super::Session;
use crate::temporary::{StoredTable, TemporaryStore};

/// Those of one session, from its first one on.
pub struct TemporaryTables {
    store: Arc<TemporaryStore>,
    tables: Vec<(Arc<Table>, StoredTable)>,
    /// Their rows are part of a transaction that may still be rolled back or committed.
    dropped: Vec<StoredTable>,
    /// The dictionary with them, as it was asked for last.
    seen: RefCell<Option<Arc<Catalog>>>,
}

impl TemporaryTables {
    fn catalog(&self, session: &Session) -> Arc<Catalog> {
        let node = &session.server.node;
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

    fn remove(&mut self, id: TableId) -> Option<StoredTable> {
        self.seen.take();
        let position = self.tables.iter().position(|(table, _)| table.id() == id)?;
        Some(self.tables.swap_remove(position).1)
    }
}

impl Session {
    /// The dictionary as this session sees it.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        match &self.temporary {
            None => self.server.node.catalog(),
            Some(temporary) => temporary.catalog(self),
        }
    }

    /// Its version: raised by every change of what the session sees.
    #[inline]
    pub(crate) fn catalog_version(&self) -> u64 {
        match &self.temporary {
            None => self.server.node.catalog_version(),
            Some(temporary) => temporary.catalog(self).version,
        }
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

    /// The session has this table from now on, under a name that none of its temporary tables has.
    pub(crate) fn add_temporary(&mut self, table: Arc<Table>, stored: StoredTable) {
        if let Some(temporary) = &mut self.temporary {
            temporary.seen.take();
            temporary.tables.push((table, stored));
        }
        self.tracker.note_change();
    }

    /// The table has another definition, and the same rows.
    pub(crate) fn redefine_temporary(&mut self, table: Arc<Table>) {
        let id = table.id();
        if let Some(stored) = self.temporary.as_mut().and_then(|temporary| temporary.remove(id)) {
            self.add_temporary(table, stored);
        }
    }

    /// The table is gone for the session at once. Where a transaction has worked in temporary tables, its rows go when that ends.
    pub(crate) async fn drop_temporary(&mut self, id: TableId) {
        if let Some(stored) = self.temporary.as_mut().and_then(|temporary| temporary.remove(id)) {
            self.discard_temporary(stored).await;
            self.tracker.note_change();
        }
    }

    /// The same of one that has no name.
    pub(crate) async fn discard_temporary(&mut self, stored: StoredTable) {
        let is_used = self.transaction.has_work_in_temporary();
        match &mut self.temporary {
            Some(temporary) if is_used => temporary.dropped.push(stored),
            _ => stored.discard().await,
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
