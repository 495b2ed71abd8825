//! Storage: the partitions of this process in memory, the log, checkpoint files, and what is waited for.
//!
//! It knows of partitions that they have entries to append and slots to signal; who else keeps them, and who leads them, is the
//! business of the layers above. The log's order is made here ([`sequencer`]); what is done with a durable log is not.

pub(crate) mod append;
pub(crate) mod deadlock;
pub(crate) mod deadlock_report;
pub(crate) mod durability;
pub(crate) mod flush;
pub(crate) mod identity;
pub(crate) mod inline_flushes;
pub(crate) mod memory;
pub(crate) mod partition_cell;
pub(crate) mod partitions;
pub(crate) mod records;
pub(crate) mod replay;
pub(crate) mod sequencer;
pub(crate) mod slices;
pub(crate) mod snapshot;
pub(crate) mod wait_for;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use shoal_log::checkpoint::{BytesPerSecond, CheckpointOptions, CheckpointStore};
use shoal_log::{Log, Lsn};
use shoal_partition::{FragmentMemory, MemoryBudget, Partition};
use shoal_transport::Transport;
use shoal_types::{Error, NodeId, Timestamp};

use crate::base::clock::{HybridClock, RowIds};
use crate::base::cluster_log::Severity;
use crate::base::events::EventLog;
use crate::base::handle::Handle;
use crate::base::options::NodeOptions;
use crate::base::router::Router;
use crate::base::throttle::Throttle;
use crate::base::wait::{WaitSlots, Waiter, lock};
use crate::storage::deadlock_report::Deadlocks;
use crate::storage::identity::Identity;
use crate::storage::inline_flushes::InlineFlushes;
use crate::storage::partition_cell::PartitionCell;
use crate::storage::sequencer::Sequencer;
use crate::storage::slices::Slices;
use crate::storage::snapshot::Snapshots;
use crate::storage::wait_for::WaitForGraph;

/// The lowest layer of a node. Everything here is shared by all threads.
pub struct Storage {
    options: NodeOptions,
    partitions: Box<[PartitionCell]>,
    router: Router,
    log: Log,
    clock: Arc<HybridClock>,
    row_ids: RowIds,
    sequencer: Mutex<Sequencer>,
    inline_flushes: InlineFlushes,
    snapshots: Snapshots,
    waits: Arc<WaitSlots>,
    graph: WaitForGraph,
    deadlocks: Deadlocks,
    slices: Arc<Slices>,
    budget: Arc<MemoryBudget>,
    /// Everything before this is applied.
    completed: AtomicU64,
    /// Where the log begins that the newest checkpoint round needs.
    checkpointed: AtomicU64,
    /// What tables were found to take.
    measured: Mutex<FragmentMemory>,
    /// How often memory in use was found to have become less.
    shrunk: AtomicU64,
    /// Held while a checkpoint file becomes the newest.
    checkpoint_files: Mutex<()>,
    throttle: Arc<Throttle>,
    checkpoints: CheckpointStore,
    identity: Mutex<Option<Identity>>,
    events: EventLog,
    /// The links, so that they are flushed together with the log.
    transport: OnceLock<Arc<Transport>>,
    stopped: AtomicBool,
    /// Called when the node stops because something broke, before the process ends.
    stop_hook: OnceLock<Box<dyn Fn() + Send + Sync>>,
    started: Instant,
    handle: Handle<Storage>,
}

/// What storage is made of.
pub(crate) struct StorageParts {
    pub(crate) options: NodeOptions,
    pub(crate) log: Log,
    pub(crate) checkpoints: CheckpointStore,
    pub(crate) router: Router,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) identity: Option<Identity>,
    /// The last record of the meta group in the log.
    pub(crate) meta_index: u64,
    pub(crate) handle: Handle<Storage>,
}

impl Storage {
    pub(crate) fn new(parts: StorageParts) -> Storage {
        let StorageParts { options, log, checkpoints, router, partitions, budget, identity, meta_index, handle } =
            parts;
        let recovered = shoal_replication::recovered(partitions.iter());
        let cluster = options.cluster.as_ref();
        let is_hosted =
            |partition: u32| cluster.is_none_or(|cluster| cluster.placement(partition).has(cluster.me));
        let events = EventLog::new(
            cluster.map(|cluster| cluster.me),
            cluster.is_some_and(|cluster| cluster.roles().management),
        );
        let cells = partitions.into_iter().enumerate();
        let cells = cells.map(|(number, partition)| PartitionCell::new(partition, is_hosted(number as u32)));
        let snapshots = Snapshots::default();
        snapshots.set_visible(recovered.visible);
        Storage {
            partitions: cells.collect(),
            router,
            clock: Arc::new(HybridClock::starting_after(recovered.clock)),
            row_ids: RowIds::starting_after(recovered.clock),
            sequencer: Mutex::new(Sequencer::after(meta_index)),
            inline_flushes: InlineFlushes::default(),
            snapshots,
            waits: Arc::new(WaitSlots::default()),
            graph: WaitForGraph::default(),
            deadlocks: Deadlocks::default(),
            slices: Arc::default(),
            budget,
            completed: AtomicU64::new(log.durable_lsn().0),
            checkpointed: AtomicU64::new(log.first_lsn().0),
            measured: Mutex::default(),
            shrunk: AtomicU64::new(0),
            checkpoint_files: Mutex::default(),
            throttle: Throttle::new(),
            checkpoints,
            identity: Mutex::new(identity),
            events,
            transport: OnceLock::new(),
            stopped: AtomicBool::new(false),
            stop_hook: OnceLock::new(),
            started: Instant::now(),
            log,
            options,
            handle,
        }
    }

    /// Ends the threads of this layer, and of the large transactions.
    pub(crate) fn stop_threads(&self) {
        self.graph.stop();
        self.slices.stop();
    }

    pub fn options(&self) -> &NodeOptions {
        &self.options
    }

    #[inline]
    pub fn router(&self) -> &Router {
        &self.router
    }

    #[inline]
    pub fn log(&self) -> &Log {
        &self.log
    }

    #[inline]
    pub fn clock(&self) -> &HybridClock {
        &self.clock
    }

    /// The clock for whoever outlives the node.
    pub(crate) fn shared_clock(&self) -> &Arc<HybridClock> {
        &self.clock
    }

    /// The hidden key of a row: it rises with every row that is inserted later, on whichever node.
    pub fn next_row_id(&self) -> u64 {
        let me = self.options.cluster.as_ref().map_or(0, |cluster| cluster.me.0);
        self.row_ids.next(self.clock.tick(), me)
    }

    #[inline]
    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// The newest timestamp whose commit is visible to snapshots.
    pub fn visible(&self) -> Timestamp {
        self.snapshots.visible()
    }

    #[inline]
    pub fn waits(&self) -> &Arc<WaitSlots> {
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

    pub(crate) fn slices(&self) -> &Arc<Slices> {
        &self.slices
    }

    /// How background work makes way for others.
    pub(crate) fn throttle(&self) -> &Arc<Throttle> {
        &self.throttle
    }

    pub(crate) fn events(&self) -> &EventLog {
        &self.events
    }

    /// Something has happened that operators may want to know.
    pub(crate) fn log_event(&self, category: &str, text: &str) {
        self.events.log(Severity::Info, category, text);
    }

    pub(crate) fn log_event_as(&self, severity: Severity, category: &str, text: &str) {
        self.events.log(severity, category, text);
    }

    /// How long this process has had the directory.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The links, when they are made.
    pub(crate) fn set_transport(&self, transport: &Arc<Transport>) {
        let _ = self.transport.set(Arc::clone(transport));
    }

    /// Another node has sent what no node sends: ends its links, and makes none for a while. Other errors than those that say
    /// so are passed over.
    pub fn cut_off(&self, peer: NodeId, error: &Error) {
        if let Some(transport) = self.transport.get().filter(|_| error.is_spoilt()) {
            transport.cut_off(peer, error.message());
        }
    }

    /// What is done when the node stops for a reason. Once.
    pub(crate) fn set_stop_hook(&self, stop_hook: impl Fn() + Send + Sync + 'static) {
        let _ = self.stop_hook.set(Box::new(stop_hook));
    }

    // ---- checkpoints ----

    pub(crate) fn checkpoints(&self) -> &CheckpointStore {
        &self.checkpoints
    }

    /// Held while a checkpoint file becomes the newest.
    pub(crate) fn lock_checkpoint_files(&self) -> MutexGuard<'_, ()> {
        lock(&self.checkpoint_files)
    }

    pub(crate) fn checkpoint_options(&self) -> CheckpointOptions {
        let rate = self.options.checkpoint_bytes_per_second;
        CheckpointOptions { compress: true, throttle: Some(Box::new(BytesPerSecond::new(rate))) }
    }

    pub(crate) fn note_completed(&self, end: Lsn) {
        self.completed.fetch_max(end.0, Ordering::AcqRel);
    }

    /// Everything before this is applied.
    pub(crate) fn completed_lsn(&self) -> Lsn {
        Lsn(self.completed.load(Ordering::Acquire))
    }

    /// Where the log begins that the newest checkpoint round needs.
    pub(crate) fn checkpointed_lsn(&self) -> Lsn {
        Lsn(self.checkpointed.load(Ordering::Relaxed))
    }

    /// A checkpoint round is on disk: nothing before this is needed any more.
    pub(crate) fn cut_log(&self, low_water: Lsn) {
        self.checkpointed.store(low_water.0, Ordering::Relaxed);
        self.log.set_low_water(low_water);
    }

    // ---- the end ----

    /// Something broke that must not go on: says why and ends the process, or calls the hook of the options.
    pub fn stop(&self, reason: &str) {
        if !self.set_stopped() {
            return;
        }
        tracing::error!(reason, "the node stops");
        self.log_event_as(Severity::Alert, "node", &format!("Forced node shutdown: {reason}"));
        // If the links still take it: nobody can be waited for.
        if let Some(stop_hook) = self.stop_hook.get() {
            stop_hook();
        }
        if let Some(transport) = self.transport.get() {
            transport.flush();
        }
        (self.options.on_fatal)(reason);
    }

    /// This thread panics and holds the partition. Nothing but the hook is called: it may hold other locks too.
    #[cold]
    fn partition_panicked(&self, partition: u32) {
        if !self.set_stopped() {
            return;
        }
        (self.options.on_fatal)(&format!("a thread panicked while it held partition {partition}"));
    }

    /// From now on the node counts as stopped; false if it did before.
    fn set_stopped(&self) -> bool {
        !self.stopped.swap(true, Ordering::SeqCst)
    }

    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
