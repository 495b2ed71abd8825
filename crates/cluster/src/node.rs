//! A node: partitions, the log, the dictionary and what sessions share.
//!
//! Everything here is shared by all threads. Partitions are behind one mutex each and held for short moments only;
//! nothing that waits holds one.

mod keeper;
mod open;
mod thread;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use shoal_log::checkpoint::CheckpointStore;
use shoal_log::{Log, Lsn};
use shoal_partition::{FragmentMemory, MemoryBudget, Partition, WaitToken};
use shoal_types::{Result, TableId, Timestamp, TransactionId};

use self::keeper::Keeper;
use crate::base::clock::{HybridClock, RowIds, micros_of, wall_micros};
use crate::base::cluster_log::Severity;
use crate::base::options::{Durability, NodeOptions};
use crate::base::router::Router;
use crate::base::throttle::Company;
use crate::base::wait::{WaitSlots, Waiter, lock};
use crate::dictionary::catalog::Catalog;
use crate::dictionary::metadata_lock::MetadataLocks;
use crate::dictionary::single_user::SingleUser;
use crate::membership::links::Operations;
use crate::membership::peers::Cluster;
use crate::membership::remote::{Peers, Remote};
use crate::replication::commit::{Completion, Sequencer, log_error};
use crate::replication::driver::Unsent;
use crate::replication::hand_over::Leading;
use crate::storage::deadlock::WaitForGraph;
use crate::storage::flush::InlineFlushes;
use crate::storage::identity::Identity;
use crate::storage::slices::Slices;
use crate::storage::snapshot::Snapshots;

/// Table ids of a block, one for every node.
const TABLE_IDS_PER_BLOCK: u32 = 256;

/// A partition on cache lines of its own.
#[repr(align(128))]
pub(crate) struct PartitionCell {
    /// Whoever waits gets it in the end, and soon (parking_lot's eventual fairness): a long statement takes it again and again.
    pub(crate) partition: parking_lot::Mutex<Partition>,
    /// This node is a voter of the partition's group.
    pub(crate) hosted: bool,
    /// The term in which this replica leads and serves: its clock has been moved beyond the snapshots that its predecessor
    /// may have shown.
    pub(crate) serving_term: AtomicU64,
    pub(crate) unsent: Mutex<Unsent>,
    /// The lane by which its messages go.
    pub(crate) lane: AtomicU32,
    pub(crate) leading: Leading,
}

/// One process's share of the database.
pub struct Node {
    pub(crate) options: NodeOptions,
    pub(crate) partitions: Box<[PartitionCell]>,
    pub(crate) router: Router,
    pub(crate) log: Log,
    pub(crate) clock: Arc<HybridClock>,
    pub(crate) row_ids: RowIds,
    pub(crate) sequencer: Mutex<Sequencer>,
    pub(crate) completion: Mutex<Completion>,
    pub(crate) inline_flushes: InlineFlushes,
    pub(crate) snapshots: Snapshots,
    pub(crate) waits: Arc<WaitSlots>,
    pub(crate) graph: WaitForGraph,
    pub(crate) slices: Slices,
    pub(crate) metadata_locks: Arc<MetadataLocks>,
    pub(crate) catalog: RwLock<Arc<Catalog>>,
    pub(crate) catalog_version: AtomicU64,
    /// The last record of the meta group that the published catalog has.
    pub(crate) catalog_index: AtomicU64,
    pub(crate) ddl: tokio::sync::Mutex<()>,
    pub(crate) next_table_id: AtomicU32,
    pub(crate) next_transaction: AtomicU64,
    pub(crate) budget: Arc<MemoryBudget>,
    /// Everything before this is applied.
    pub(crate) completed: AtomicU64,
    /// Where the log begins that the newest checkpoint round needs.
    pub(crate) checkpointed: AtomicU64,
    pub(crate) checkpointing: Mutex<()>,
    /// What tables were found to take.
    pub(crate) measured: Mutex<FragmentMemory>,
    /// How often memory in use was found to have become less.
    pub(crate) shrunk: AtomicU64,
    /// Held while a checkpoint file becomes the newest.
    pub(crate) checkpoint_files: Mutex<()>,
    pub(crate) company: Arc<Company>,
    pub(crate) checkpoints: CheckpointStore,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) stopped: AtomicBool,
    pub(crate) remote: OnceLock<Arc<dyn Remote>>,
    pub(crate) peers: Peers,
    /// What this node knows of the cluster that it belongs to.
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) identity: Mutex<Option<Identity>>,
    pub(crate) operations: OnceLock<Arc<dyn Operations>>,
    pub(crate) started: Instant,
    /// Clients are served.
    pub(crate) serving: AtomicBool,
    pub(crate) mysql_address: OnceLock<String>,
    pub(crate) single_user: SingleUser,
}

/// A partition, held. What it wants woken is woken when it has been released.
pub struct PartitionGuard<'a> {
    guard: parking_lot::MutexGuard<'a, Partition>,
    woken: Woken<'a>,
}

struct Woken<'a> {
    node: &'a Node,
    partition: u32,
    /// Large transactions have something left to do here.
    has_ending: bool,
    tokens: Vec<WaitToken>,
}

impl Deref for PartitionGuard<'_> {
    type Target = Partition;

    #[inline]
    fn deref(&self) -> &Partition {
        &self.guard
    }
}

impl DerefMut for PartitionGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Partition {
        &mut self.guard
    }
}

impl Drop for PartitionGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.woken.node.partition_panicked(self.woken.partition);
        }
        let woken = &mut self.guard.outputs().woken;
        if !woken.is_empty() {
            self.woken.tokens = std::mem::take(woken);
        }
        self.woken.has_ending = self.guard.has_ending();
    }
}

impl Drop for Woken<'_> {
    /// Runs after the partition is released.
    #[inline]
    fn drop(&mut self) {
        for token in self.tokens.drain(..) {
            self.node.waits.signal(token.0);
        }
        if self.has_ending {
            self.node.slices.want(self.partition);
        }
    }
}

/// What takes memory, and how much there is for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Rows, old versions and indexes, as they are charged to `DataMemory`.
    pub used_bytes: u64,
    pub limit_bytes: u64,
    /// Changes and locks of transactions besides rows, and log entries in the making.
    pub transactions_bytes: u64,
    /// What statements keep while they run.
    pub statements_bytes: u64,
    /// What sessions keep of statements that may come again.
    pub plans_bytes: u64,
    /// What tables were found to take last: about once a second.
    pub tables: FragmentMemory,
}

impl Node {
    /// Holds a partition.
    #[inline]
    pub fn partition(&self, partition: u32) -> PartitionGuard<'_> {
        let guard = self.partitions[partition as usize].partition.lock();
        PartitionGuard { guard, woken: Woken { node: self, partition, has_ending: false, tokens: Vec::new() } }
    }

    pub fn partition_count(&self) -> u32 {
        self.router.partition_count()
    }

    #[inline]
    pub fn router(&self) -> &Router {
        &self.router
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    pub fn clock(&self) -> &HybridClock {
        &self.clock
    }

    /// The hidden key of a row whose table needs its sequence for an AUTO_INCREMENT column.
    pub fn next_row_id(&self) -> u64 {
        let me = self.cluster.as_ref().map_or(0, |cluster| cluster.options.me.0);
        self.row_ids.next(self.clock.tick(), me)
    }

    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    pub fn waits(&self) -> &WaitSlots {
        &self.waits
    }

    /// A slot to wait in.
    pub fn waiter(&self) -> Waiter {
        self.waits.waiter()
    }

    /// Who waits for whom.
    pub fn wait_for_graph(&self) -> &WaitForGraph {
        &self.graph
    }

    /// Who uses which tables, and who changes their definitions.
    #[inline]
    pub fn metadata_locks(&self) -> &Arc<MetadataLocks> {
        &self.metadata_locks
    }

    pub fn next_transaction_id(&self) -> TransactionId {
        TransactionId(self.next_transaction.fetch_add(1, Ordering::Relaxed))
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

    pub(crate) fn note_completed(&self, end: Lsn) {
        self.completed.fetch_max(end.0, Ordering::AcqRel);
    }

    /// An id that no table has had. In a cluster every node has ids of its own.
    pub fn next_table_id(&self) -> TableId {
        match &self.cluster {
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
        let next = match &self.cluster {
            None => id.0 + 1,
            Some(_) => (id.0 / TABLE_IDS_PER_BLOCK + 1) * TABLE_IDS_PER_BLOCK,
        };
        self.next_table_id.fetch_max(next, Ordering::Relaxed);
    }

    /// The other nodes and this node's place among them.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.as_ref()
    }

    /// What executes operations that other nodes ask for. Once, before the links are up.
    pub fn set_operations(&self, operations: Arc<dyn Operations>) {
        let _ = self.operations.set(operations);
    }

    /// Clients are served from now on, at this address if this node has sessions.
    pub fn set_serving(&self, mysql_address: Option<String>) {
        if let Some(address) = mysql_address {
            let _ = self.mysql_address.set(address);
        }
        self.serving.store(true, Ordering::Release);
        self.log_event("startup", concat!("Started (version ", env!("CARGO_PKG_VERSION"), ")"));
    }

    pub(crate) fn is_started(&self) -> bool {
        self.serving.load(Ordering::Acquire)
    }

    pub(crate) fn mysql_address(&self) -> String {
        self.mysql_address.get().cloned().unwrap_or_default()
    }

    pub fn memory_usage(&self) -> MemoryUsage {
        MemoryUsage {
            used_bytes: self.budget.used_bytes(),
            limit_bytes: self.budget.limit_bytes(),
            transactions_bytes: self.budget.work_bytes(),
            statements_bytes: self.budget.statement_bytes(),
            plans_bytes: self.budget.plan_bytes(),
            tables: *crate::base::wait::lock(&self.measured),
        }
    }

    /// What all that grows with work is counted at.
    pub fn memory_budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Changes the memory for rows and indexes.
    pub fn set_data_memory(&self, bytes: u64) {
        self.budget.set_limit_bytes(bytes);
    }

    /// When commits are acknowledged from now on. The directory says durably that acknowledgements come from memory before the
    /// first one does, and no longer when everything that was acknowledged so is on the disk.
    ///
    /// # Errors
    /// The directory or the log cannot be written; a node that acknowledges from memory already goes on so.
    pub fn set_durability(&self, durability: Durability) -> Result<()> {
        let mut identity = lock(&self.identity);
        if durability == Durability::Replicated {
            if let Some(identity) = identity.as_mut().filter(|identity| !identity.replicated) {
                identity.replicated = true;
                identity.write()?;
            }
            self.log.set_durability(durability);
            return Ok(());
        }
        {
            // Whoever appends decides under this lock whether that is acknowledged from memory.
            let _sequencer = lock(&self.sequencer);
            self.log.set_durability(durability);
        }
        self.log.sync().map_err(log_error)?;
        match &mut *identity {
            Some(identity) if identity.replicated && self.is_whole() => {
                identity.replicated = false;
                identity.write()
            }
            _ => Ok(()),
        }
    }

    /// No replica here lacks what an earlier process has promised.
    fn is_whole(&self) -> bool {
        self.hosted().all(|partition| !self.partition(partition).is_amnesiac())
    }

    /// The replicas have caught up with whatever an earlier process has promised.
    pub(crate) fn note_whole(&self) -> Result<()> {
        let mut identity = lock(&self.identity);
        let Some(identity) = &mut *identity else { return Ok(()) };
        // Under this lock the log is not between two modes: in `disk` all that was acknowledged is on the disk.
        let replicated = self.log.durability() == Durability::Replicated;
        if identity.initialised && identity.replicated == replicated {
            return Ok(());
        }
        (identity.initialised, identity.replicated) = (true, replicated);
        identity.write()
    }

    pub fn options(&self) -> &NodeOptions {
        &self.options
    }

    /// The newest timestamp whose commit is visible to snapshots.
    pub fn visible(&self) -> Timestamp {
        self.snapshots.visible()
    }

    /// Something broke that must not go on: says why and ends the process, or calls the hook of the options.
    pub fn stop(&self, reason: &str) {
        if !self.set_stopped() {
            return;
        }
        tracing::error!(reason, "the node stops");
        self.log_event_as(Severity::Alert, "node", &format!("Forced node shutdown: {reason}"));
        // If the links still take it: nobody can be waited for.
        self.forward_events();
        if let Some(transport) = self.cluster.as_ref().and_then(|cluster| cluster.transport.get()) {
            transport.flush();
        }
        (self.options.on_fatal)(reason);
    }

    /// From now on the node counts as stopped; false if it did before.
    pub(crate) fn set_stopped(&self) -> bool {
        !self.stopped.swap(true, Ordering::SeqCst)
    }

    /// The node has been closed or stopped.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_stopped() || self.keeper.is_stopping()
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Writes what a clean start wants to know, makes everything durable and closes the log.
    pub fn close(&self) -> Result<()> {
        self.keeper.stop();
        self.close_cluster_log();
        self.write_exact_sequences()?;
        self.log.close().map_err(log_error)?;
        // Whoever has not caught up with what an earlier process has lost leaves that to the next one.
        let is_whole = self.is_whole();
        match &mut *lock(&self.identity) {
            Some(identity) => {
                identity.clean = is_whole;
                identity.write()
            }
            None => Ok(()),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.keeper.stop();
        self.graph.stop();
        self.slices.stop();
    }
}

/// The first transaction id after a start: later than all before it, since they count slower than microseconds.
pub(crate) fn first_transaction_id(newest: Timestamp) -> u64 {
    const NODE: u64 = 1;
    NODE << 52 | wall_micros().max(micros_of(newest) + 1) & ((1 << 52) - 1)
}
