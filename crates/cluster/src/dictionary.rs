//! The dictionary: databases, tables, accounts and variables, as versions that are never changed, and how the next one comes about.
//!
//! [`catalog`], [`table`], [`sequence`] are what sessions read. [`ddl`] changes them in a process that is the whole database; in a cluster
//! [`meta_group`] does, in rows ([`meta_rows`]) that are compacted ([`compaction`]) and that all nodes [`follow`].

pub(crate) mod catalog;
pub(crate) mod checkpoint;
pub(crate) mod compaction;
pub(crate) mod ddl;
pub(crate) mod follow;
pub(crate) mod fragments;
pub(crate) mod held_tables;
pub(crate) mod holds;
pub(crate) mod meta_group;
pub(crate) mod meta_rows;
pub(crate) mod meta_state;
pub(crate) mod metadata_lock;
pub(crate) mod numbers;
pub(crate) mod program;
pub(crate) mod recovery;
pub(crate) mod sequence;
pub(crate) mod settled_tables;
pub(crate) mod single_user;
pub(crate) mod stored;
pub(crate) mod stored_program;
pub(crate) mod system_rows;
pub(crate) mod table;
pub(crate) mod table_lock;
pub mod table_map;
pub(crate) mod temporary;
pub(crate) mod transactions;
pub mod unique;

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use shoal_types::{NodeId, Result, TableId};

use crate::base::handle::Handle;
use crate::dictionary::catalog::Catalog;
use crate::dictionary::held_tables::HeldTables;
use crate::dictionary::meta_state::MetaState;
use crate::dictionary::metadata_lock::MetadataLocks;
use crate::dictionary::recovery::DictionaryRecovery;
use crate::dictionary::single_user::SingleUser;
use crate::replication::Replication;

/// Table ids of a block, one for every node.
const TABLE_IDS_PER_BLOCK: u32 = 256;

/// The layer above replication.
pub struct Dictionary {
    replication: Replication,
    metadata_locks: Arc<MetadataLocks>,
    catalog: RwLock<Arc<Catalog>>,
    catalog_version: AtomicU64,
    /// The last record of the meta group that the published catalog has.
    catalog_index: AtomicU64,
    ddl: tokio::sync::Mutex<()>,
    next_table_id: AtomicU32,
    single_user: SingleUser,
    meta: MetaState,
    holds: HeldTables,
    /// How many definitions of this node keep everybody from their tables.
    tables_kept: Arc<AtomicUsize>,
    /// The newest version of the dictionary that anybody has told of.
    newest_catalog: AtomicU64,
    /// This node has had the dictionary as its leader had it at some moment since this node started.
    knows_catalog: AtomicBool,
    /// This node may lead what it did not lead when it looked at its fragments last.
    reconcile: AtomicBool,
    /// The dictionary is being fetched.
    following: AtomicBool,
    handle: Handle<Dictionary>,
}

impl Deref for Dictionary {
    type Target = Replication;

    #[inline]
    fn deref(&self) -> &Replication {
        &self.replication
    }
}

impl Dictionary {
    pub(crate) fn new(
        replication: Replication,
        recovered: DictionaryRecovery,
        handle: Handle<Dictionary>,
    ) -> Dictionary {
        let DictionaryRecovery { catalog, next_table_id, index, .. } = recovered;
        let metadata_locks = MetadataLocks::new(Arc::clone(replication.waits()));
        let holds = HeldTables::default();
        holds.follow(&catalog, &metadata_locks);
        Dictionary {
            metadata_locks,
            holds,
            tables_kept: Arc::default(),
            single_user: SingleUser::of(&catalog),
            catalog_version: AtomicU64::new(catalog.version),
            catalog_index: AtomicU64::new(index),
            catalog: RwLock::new(Arc::new(catalog)),
            ddl: tokio::sync::Mutex::new(()),
            next_table_id: AtomicU32::new(next_table_id.max(1)),
            meta: MetaState::default(),
            newest_catalog: AtomicU64::new(0),
            knows_catalog: AtomicBool::new(false),
            reconcile: AtomicBool::new(false),
            following: AtomicBool::new(false),
            replication,
            handle,
        }
    }

    /// Who uses which tables, and who changes their definitions.
    #[inline]
    pub fn metadata_locks(&self) -> &Arc<MetadataLocks> {
        &self.metadata_locks
    }

    /// The dictionary as it is now.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Raised by every change of the dictionary.
    #[inline]
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    pub(crate) fn publish_catalog(&self, catalog: Arc<Catalog>, meta_index: u64) {
        let version = catalog.version;
        let old = {
            let mut present = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
            for id in catalog.touched_since(&present) {
                if !present.tables_by_id.contains_key(&id)
                    && let Some(table) = catalog.tables_by_id.get(&id)
                {
                    table.set_since(version);
                }
            }
            self.holds.follow(&catalog, &self.metadata_locks);
            std::mem::replace(&mut *present, Arc::clone(&catalog))
        };
        for id in catalog.touched_since(&old) {
            let Some(table) = old.tables_by_id.get(&id) else { continue };
            if !catalog.tables_by_id.get(&id).is_some_and(|newer| Arc::ptr_eq(newer, table)) {
                table.set_stale();
            }
        }
        self.single_user.follow(&catalog);
        self.catalog_index.store(meta_index, Ordering::Release);
        self.catalog_version.store(version, Ordering::Release);
    }

    /// An id that no table has had. In a cluster every node has ids of its own.
    pub fn next_table_id(&self) -> TableId {
        match self.cluster() {
            None => TableId(self.next_table_id.fetch_add(1, Ordering::Relaxed)),
            Some(cluster) => {
                let block = self.next_table_id.fetch_add(TABLE_IDS_PER_BLOCK, Ordering::Relaxed);
                TableId(block / TABLE_IDS_PER_BLOCK * TABLE_IDS_PER_BLOCK + cluster.options.me.0)
            }
        }
    }

    /// No table has this id or a higher one, as far as this node knows.
    pub(crate) fn next_free_table_id(&self) -> u32 {
        self.next_table_id.load(Ordering::Relaxed)
    }

    /// As some other node has said it.
    pub(crate) fn note_next_table_id(&self, next: u32) {
        self.next_table_id.fetch_max(next, Ordering::Relaxed);
    }

    /// A table has this id: later ones are higher.
    pub(crate) fn note_table_id(&self, id: TableId) {
        let next = match self.cluster() {
            None => id.0 + 1,
            Some(_) => (id.0 / TABLE_IDS_PER_BLOCK + 1) * TABLE_IDS_PER_BLOCK,
        };
        self.next_table_id.fetch_max(next, Ordering::Relaxed);
    }

    /// The only node that serves statements on tables; `None`: all do.
    #[inline]
    pub fn single_user_node(&self) -> Option<NodeId> {
        self.single_user.get()
    }

    /// Before a statement that uses tables.
    ///
    /// # Errors
    /// Another node is in single user mode. The transaction is rolled back.
    #[inline]
    pub fn check_single_user(&self) -> Result<()> {
        match self.single_user.get() {
            None => Ok(()),
            Some(node) => self.check_is_single_user(node),
        }
    }

    #[cold]
    fn check_is_single_user(&self, node: NodeId) -> Result<()> {
        if self.cluster().is_none_or(|cluster| cluster.options.me == node) {
            return Ok(());
        }
        Err(single_user::refusal(node))
    }

    /// Somebody has told of this version of the dictionary.
    pub(crate) fn note_newest_catalog(&self, version: u64) {
        self.newest_catalog.fetch_max(version, Ordering::AcqRel);
    }

    pub(crate) fn newest_catalog_heard(&self) -> u64 {
        self.newest_catalog.load(Ordering::Acquire)
    }

    /// This node has had the dictionary since it started.
    pub(crate) fn knows_catalog(&self) -> bool {
        self.knows_catalog.load(Ordering::Acquire)
    }
}
