//! Where the rows of temporary tables are: a node in this process that keeps nothing and that no other node knows of.
//!
//! It is opened when the first temporary table is made. It has them as hidden tables, so that plans, access paths, indexes and
//! transactions are those of other tables; which session calls which of them by what name, that session alone knows
//! (`session/temporary`). A table goes with its [`StoredTable`], so nothing is left of a session that vanishes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use shoal_cluster::{Change, Node, NodeOptions, Table, temporary_table_id};
use shoal_types::{Error, Result, TableId, TableSchema};

use crate::ddl::publish;

/// The node of a process's temporary tables, once there have been some.
#[derive(Default)]
pub(crate) struct TemporaryNode(Mutex<Option<Arc<TemporaryStore>>>);

impl TemporaryNode {
    /// Opens it if it is not open. `own`: the process's node, whose memory it shares.
    pub fn open(&self, own: &Node) -> Result<Arc<TemporaryStore>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*open {
            return Ok(Arc::clone(store));
        }
        let store = TemporaryStore::open(own)?;
        *open = Some(Arc::clone(&store));
        Ok(store)
    }

    /// How many temporary tables there are, and the memory that they take.
    pub fn figures(&self) -> (u64, u64) {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map_or((0, 0), |store| (store.tables.load(Ordering::Relaxed), store.memory_bytes()))
    }
}

/// The temporary tables of all sessions of a process.
pub(crate) struct TemporaryStore {
    node: Arc<Node>,
    /// Ids that were given out.
    ids: AtomicU32,
    /// Versions of sessions' dictionaries that were given out.
    versions: AtomicU64,
    tables: AtomicU64,
    /// To the thread that drops tables.
    unwanted: Sender<TableId>,
}

impl TemporaryStore {
    fn open(own: &Node) -> Result<Arc<TemporaryStore>> {
        let node = Node::open(NodeOptions::for_temporary_tables(own.options(), own.memory_budget()))?;
        let (unwanted, dropped) = channel();
        let dropper = Arc::clone(&node);
        std::thread::Builder::new()
            .name("shoal-temporary".into())
            .spawn(move || drop_tables(&dropper, &dropped))
            .map_err(|error| Error::unknown(format!("cannot start the thread of temporary tables: {error}")))?;
        let tables = AtomicU64::new(0);
        Ok(Arc::new(TemporaryStore {
            node,
            ids: AtomicU32::default(),
            versions: AtomicU64::default(),
            tables,
            unwanted,
        }))
    }

    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// An id that no table has.
    pub fn next_id(&self) -> TableId {
        let catalog = self.node.catalog();
        loop {
            let id = temporary_table_id(self.ids.fetch_add(1, Ordering::Relaxed));
            if !catalog.tables_by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// A number that no version of any session's dictionary has had.
    pub fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed)
    }

    fn memory_bytes(&self) -> u64 {
        self.node.partition(0).memory().bytes()
    }

    /// Makes an empty table, with ids from here. The table is what sessions work with.
    pub async fn create(self: &Arc<TemporaryStore>, schema: TableSchema) -> Result<(Arc<Table>, StoredTable)> {
        let id = schema.id;
        self.tables.fetch_add(1, Ordering::Relaxed);
        let stored = StoredTable { id, store: Arc::clone(self) };
        let hidden = TableSchema { database: String::new(), ..schema.clone() };
        self.node.change(publish::put_new_table(hidden)).await?;
        let catalog = self.node.catalog();
        let hidden = catalog.tables_by_id.get(&id);
        let hidden = hidden.ok_or_else(|| Error::unknown("internal: a new table is not in the dictionary"))?;
        Ok((Arc::new(Table::temporary(hidden, schema)), stored))
    }
}

/// A temporary table, which goes with this.
pub(crate) struct StoredTable {
    id: TableId,
    store: Arc<TemporaryStore>,
}

impl StoredTable {
    /// Drops the table now. Its memory is free when this returns.
    pub async fn discard(self) {
        let store = Arc::clone(&self.store);
        // If this fails the thread that drops tables fails as well: the node has stopped.
        let _ = store.node.change(vec![Change::DropTable(self.id)]).await;
    }
}

impl Drop for StoredTable {
    fn drop(&mut self) {
        self.store.tables.fetch_sub(1, Ordering::Relaxed);
        // Nobody is there to take it when the process ends.
        let _ = self.store.unwanted.send(self.id);
    }
}

/// Drops tables that nobody wants any more, as many at a time as there are.
fn drop_tables(node: &Arc<Node>, unwanted: &Receiver<TableId>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
    while let Ok(first) = unwanted.recv() {
        let catalog = node.catalog();
        let ids = std::iter::once(first).chain(unwanted.try_iter());
        let changes: Vec<Change> =
            ids.filter(|id| catalog.tables_by_id.contains_key(id)).map(Change::DropTable).collect();
        if !changes.is_empty() && runtime.block_on(node.change(changes)).is_err() {
            // The node has stopped, and the process with it.
            return;
        }
    }
}
