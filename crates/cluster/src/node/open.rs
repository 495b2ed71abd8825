//! Opening a node: the newest checkpoints, the log behind them, then the partitions lead.
//!
//! This thread reads the log and keeps the dictionary; `recovery_threads` others each own some of the partitions: they
//! install their checkpoints and then apply the entries that reach them, in log order.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prost::Message;
use shoal_log::checkpoint::CheckpointStore;
use shoal_log::{Log, LogError, LogHooks, LogOptions, RecordRef, Recovery};
use shoal_partition::{LogStart, MemoryBudget, Partition, PartitionConfig, TAIL_BYTES_MAX};
use shoal_types::{Error, PartitionId, Result, Timestamp};

use crate::base::clock::{HybridClock, RowIds, wall_micros};
use crate::base::machine_memory::default_data_memory;
use crate::base::options::{NodeOptions, RecoveryProgress};
use crate::base::router::{PARTITIONS_MAX, Router};
use crate::base::throttle::{Company, Pace, stand_back};
use crate::base::topology::ClusterOptions;
use crate::base::wait::{WaitSlots, lock};
use crate::dictionary::catalog::{Catalog, Change};
use crate::dictionary::metadata_lock::MetadataLocks;
use crate::dictionary::single_user::SingleUser;
use crate::dictionary::stored::{
    KIND_CHANGES, KIND_ENTRY, KIND_LOG_START, KIND_MAP, KIND_SEQUENCE, KIND_VOTE, META_GROUP, StoredChanges,
    StoredDictionary, StoredMap, apply_sequence_record, group_of, read_vote,
};
use crate::membership::links::Links;
use crate::membership::peers::Cluster;
use crate::membership::remote::Peers;
use crate::node::{Node, PartitionCell, first_transaction_id};
use crate::replication::commit::{Completion, Sequencer, log_error};
use crate::replication::hand_over::Leading;
use crate::storage::deadlock::WaitForGraph;
use crate::storage::flush::InlineFlushes;
use crate::storage::identity::Identity;
use crate::storage::slices::Slices;
use crate::storage::snapshot::Snapshots;

/// Where checkpoints are, in the data directory.
pub(crate) const CHECKPOINT_DIRECTORY: &str = "checkpoints";
/// Log entries travel to the recovery threads in pieces of about so many bytes.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that may wait for a thread.
const PIECES_AHEAD: usize = 16;
/// The progress callback hears of so many bytes of the log at a time, and so often while checkpoints are being read.
const PROGRESS_BYTES: u64 = 4 << 20;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// The ends of logs that are kept in memory take this part of `DataMemory` while a replica is away; at most four times that while
/// one lags. A partition keeps so much of it at least.
const TAILS_PART: u64 = 32;
const TAIL_BYTES_MIN: u64 = 1 << 20;

/// Log entries of several partitions, one behind the other.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    records: Vec<PieceRecord>,
}

struct PieceRecord {
    partition: u32,
    kind: u8,
    index: u64,
    term: u64,
    /// Where the payload ends in the piece's bytes.
    end: usize,
}

/// What this thread learns of the dictionary.
struct DictionaryRecovery {
    router: Option<Router>,
    catalog: Catalog,
    next_table_id: u32,
    index: u64,
}

impl Node {
    /// Opens a data directory and recovers what is in it.
    pub fn open(options: NodeOptions) -> Result<Arc<Node>> {
        Node::open_with_progress(options, |_| {})
    }

    /// The same with a callback that hears how far recovery is.
    pub fn open_with_progress(
        options: NodeOptions,
        mut progress: impl FnMut(RecoveryProgress),
    ) -> Result<Arc<Node>> {
        let mut identity = match &options.cluster {
            Some(cluster) if !options.keeps_nothing => Some(Identity::open(&options.data_dir, cluster)?),
            _ => None,
        };
        let recovery = open_log(&options)?;
        let store = open_checkpoints(&options)?;
        let mut dictionary = DictionaryRecovery::from_checkpoint(&store)?;
        let is_new = recovery.is_new();
        if is_new {
            let partitions = options.cluster.as_ref().map(ClusterOptions::partition_count).or(options.partitions);
            dictionary.router = Some(Router::contiguous(partitions.unwrap_or_else(default_partitions)));
        }
        let amnesia = match &mut identity {
            Some(identity) => {
                let amnesia = identity.begin_life(options.durability);
                identity.write()?;
                amnesia
            }
            None => false,
        };
        let plan = Arc::new(ReplicaPlan { cluster: options.cluster.clone(), amnesia, life: wall_micros() });
        let budget = Arc::new(MemoryBudget::new(data_memory(&options)));
        let node_cell: Arc<OnceLock<Weak<Node>>> = Arc::default();
        let total_bytes = if options.keeps_nothing { 0 } else { bytes_on_disk(&options.data_dir) };
        let mut replay = Replay::new(options.recovery_threads, store.clone(), Arc::clone(&budget), plan);
        let done_bytes = Arc::clone(&replay.done_bytes);
        let mut report = || {
            let done_bytes = done_bytes.load(Ordering::Relaxed).min(total_bytes);
            progress(RecoveryProgress { done_bytes, total_bytes });
        };
        let mut first_error = None;
        let mut reported_bytes = 0;
        let (log, found) = recovery
            .replay(hooks(&node_cell), |record| {
                reported_bytes += record.payload.len() as u64;
                if reported_bytes >= PROGRESS_BYTES {
                    replay.done_bytes.fetch_add(std::mem::take(&mut reported_bytes), Ordering::Relaxed);
                    report();
                }
                if first_error.is_none() {
                    first_error = see(&mut replay, &mut dictionary, record).err();
                }
            })
            .map_err(log_error)?;
        if let Some(error) = first_error {
            return Err(error);
        }
        tracing::debug!(records = found.records, "the log was read");
        let router =
            dictionary.router.take().ok_or_else(|| Error::unknown("the log has no map of hash buckets"))?;
        let partitions = replay.finish(&router, report)?;
        let node = assemble(Assembly { options, log, store, router, partitions, dictionary, budget, identity });
        let _ = node_cell.set(Arc::downgrade(&node));
        if let Some(cluster) = &node.cluster {
            let _ = cluster.node.set(Arc::downgrade(&node));
            node.set_remote(Arc::new(Links { cluster: Arc::clone(cluster) }));
        }
        node.begin(is_new)?;
        node.graph.start(Arc::downgrade(&node))?;
        node.slices.start(Arc::downgrade(&node))?;
        if node.options.background_work {
            node.keeper.start(Arc::downgrade(&node))?;
        }
        Ok(node)
    }

    /// Writes what a new directory begins with, and has every partition lead.
    fn begin(&self, is_new: bool) -> Result<()> {
        {
            let mut sequencer = lock(&self.sequencer);
            if is_new {
                sequencer.push_meta(KIND_MAP, &StoredMap::of(&self.router).encode_to_vec());
            }
            for partition in self.hosted() {
                let mut guard = self.partition(partition);
                guard.start()?;
                self.remember_unsent(partition, &mut guard);
                sequencer.collect(partition, &mut guard, Timestamp::ZERO, 0);
            }
            self.append_batch(&mut sequencer)?;
        }
        let end = self.log.sync().map_err(log_error)?;
        self.complete(end);
        let leads = |partition| {
            let guard = self.partition(partition);
            guard.is_leader() || !guard.is_single()
        };
        match self.hosted().all(leads) {
            true => Ok(()),
            false => Err(Error::unknown("a partition did not become the leader of its own group")),
        }
    }
}

fn see(replay: &mut Replay, dictionary: &mut DictionaryRecovery, record: RecordRef<'_>) -> Result<()> {
    if record.group == META_GROUP {
        return dictionary.see(record);
    }
    let Some(router) = &dictionary.router else {
        return Err(Error::unknown("the log does not begin with the map of hash buckets"));
    };
    replay.see(router, record)
}

/// The parts of a node that recovery has made.
struct Assembly {
    options: NodeOptions,
    log: Log,
    store: CheckpointStore,
    router: Router,
    partitions: Vec<Partition>,
    dictionary: DictionaryRecovery,
    budget: Arc<MemoryBudget>,
    identity: Option<Identity>,
}

/// What becomes of each partition on this node.
pub(crate) struct ReplicaPlan {
    cluster: Option<ClusterOptions>,
    /// What was promised may be lost and must not be voted about.
    amnesia: bool,
    life: u64,
}

impl ReplicaPlan {
    /// What each partition keeps of its log in memory for replicas that are away: together a part of `DataMemory`.
    fn tail_bytes_max(&self, budget: &MemoryBudget) -> u64 {
        let partitions = self.cluster.as_ref().map_or(1, ClusterOptions::partition_count);
        (budget.limit_bytes() / TAILS_PART / u64::from(partitions.max(1))).clamp(TAIL_BYTES_MIN, TAIL_BYTES_MAX)
    }

    /// Partitions with the meta partition of a cluster.
    fn count(&self, router: &Router) -> u32 {
        router.partition_count() + u32::from(self.cluster.is_some())
    }

    fn hosts(&self, partition: u32) -> bool {
        self.cluster.as_ref().is_none_or(|cluster| cluster.placement(partition).has(cluster.me))
    }

    fn config(&self, partition: u32, budget: &Arc<MemoryBudget>) -> PartitionConfig {
        let single = PartitionConfig::single(PartitionId(partition), Arc::clone(budget));
        let single = PartitionConfig { tail_bytes_max: self.tail_bytes_max(budget), ..single };
        let Some(cluster) = &self.cluster else { return single };
        let placement = cluster.placement(partition);
        let replica = u64::from(cluster.me.0);
        let voters = placement.voters();
        if voters == [replica] || !placement.has(cluster.me) {
            return PartitionConfig { replica, voters: vec![replica], ..single };
        }
        let witness = placement.witness;
        PartitionConfig {
            replica,
            voters,
            witness: witness.map(|node| u64::from(node.0)),
            timing: cluster.timing,
            amnesia: self.amnesia,
            life: self.life,
            ..single
        }
    }
}

/// Between two attempts to lock the directory.
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// Waits for a process that has the directory and is about to leave it.
fn open_log(options: &NodeOptions) -> Result<Recovery> {
    let deadline = Instant::now() + options.lock_patience;
    loop {
        match Log::open(&options.data_dir, log_options(options)) {
            Err(LogError::Locked { .. }) if Instant::now() < deadline => std::thread::sleep(LOCK_AGAIN_AFTER),
            opened => return opened.map_err(log_error),
        }
    }
}

fn assemble(parts: Assembly) -> Arc<Node> {
    let Assembly { options, log, store, router, partitions, dictionary, budget, identity } = parts;
    let initialised = identity.as_ref().is_none_or(|identity| identity.initialised);
    let incarnation = wall_micros();
    let cluster = options.cluster.clone().map(|cluster| Arc::new(Cluster::new(cluster, incarnation, initialised)));
    let is_hosted = |partition: u32| {
        cluster.as_ref().is_none_or(|cluster| cluster.options.placement(partition).has(cluster.options.me))
    };
    let leading = |partition: u32| {
        let placement = cluster.as_ref().map(|cluster| cluster.options.placement(partition));
        Leading::new(&placement.map_or(Vec::new(), |placement| placement.replicas))
    };
    let cells = partitions.into_iter().enumerate().map(|(number, partition)| PartitionCell {
        partition: parking_lot::Mutex::new(partition),
        hosted: is_hosted(number as u32),
        serving_term: AtomicU64::new(0),
        unsent: Mutex::default(),
        lane: AtomicU32::new(number as u32),
        leading: leading(number as u32),
    });
    let cells: Box<[PartitionCell]> = cells.collect();
    let newest =
        cells.iter().map(|cell| cell.partition.lock().newest_timestamp()).max().unwrap_or(Timestamp::ZERO);
    let snapshots = Snapshots::default();
    snapshots.set_visible(newest);
    let completed = AtomicU64::new(log.durable_lsn().0);
    let waits = Arc::new(WaitSlots::default());
    Arc::new(Node {
        metadata_locks: MetadataLocks::new(Arc::clone(&waits)),
        waits,
        partitions: cells,
        router,
        clock: Arc::new(HybridClock::starting_after(newest)),
        row_ids: RowIds::starting_after(newest),
        sequencer: Mutex::new(Sequencer::after(dictionary.index)),
        completion: Mutex::new(Completion::default()),
        inline_flushes: InlineFlushes::default(),
        snapshots,
        graph: WaitForGraph::default(),
        slices: Slices::default(),
        single_user: SingleUser::of(&dictionary.catalog),
        catalog_version: AtomicU64::new(dictionary.catalog.version),
        catalog_index: AtomicU64::new(dictionary.index),
        catalog: RwLock::new(Arc::new(dictionary.catalog)),
        ddl: tokio::sync::Mutex::new(()),
        next_table_id: AtomicU32::new(dictionary.next_table_id.max(1)),
        next_transaction: AtomicU64::new(first_transaction_id(newest)),
        budget,
        completed,
        checkpointed: AtomicU64::new(log.first_lsn().0),
        checkpointing: Mutex::default(),
        measured: Mutex::default(),
        shrunk: AtomicU64::new(0),
        checkpoint_files: Mutex::default(),
        company: Company::new(),
        checkpoints: store,
        keeper: Arc::default(),
        log,
        stopped: AtomicBool::new(false),
        remote: OnceLock::new(),
        peers: Peers::default(),
        cluster,
        identity: Mutex::new(identity),
        operations: OnceLock::new(),
        started: Instant::now(),
        serving: AtomicBool::new(false),
        mysql_address: OnceLock::new(),
        options,
    })
}

fn log_options(options: &NodeOptions) -> LogOptions {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let log_id = nanoseconds ^ u64::from(std::process::id()).rotate_left(40);
    LogOptions {
        segment_bytes: options.log_segment_bytes,
        first_segment_bytes: options.first_log_segment_bytes,
        durability: options.durability,
        sync_interval: options.global_checkpoint_interval,
        file_system: Arc::clone(&options.file_system),
        ..LogOptions::new(log_id)
    }
}

fn hooks(node: &Arc<OnceLock<Weak<Node>>>) -> LogHooks {
    let of = |node: &Arc<OnceLock<Weak<Node>>>| {
        let node = Arc::clone(node);
        move || node.get().and_then(Weak::upgrade)
    };
    let (durable, fatal) = (of(node), of(node));
    LogHooks {
        on_durable: Box::new(move |end| {
            if let Some(node) = durable() {
                node.complete(end);
            }
        }),
        on_fatal: Box::new(move |error| {
            if let Some(node) = fatal() {
                node.stop(&error.to_string());
                node.lose_in_flight();
            }
        }),
    }
}

fn open_checkpoints(options: &NodeOptions) -> Result<CheckpointStore> {
    let directory = options.data_dir.join(CHECKPOINT_DIRECTORY);
    CheckpointStore::open(Arc::clone(&options.file_system), &directory).map_err(log_error)
}

fn default_partitions() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores as u32).clamp(2, PARTITIONS_MAX)
}

fn data_memory(options: &NodeOptions) -> u64 {
    options.data_memory.unwrap_or_else(|| default_data_memory(options.data_nodes_of_host))
}

impl DictionaryRecovery {
    fn from_checkpoint(store: &CheckpointStore) -> Result<DictionaryRecovery> {
        let mut dictionary =
            DictionaryRecovery { router: None, catalog: Catalog::default(), next_table_id: 1, index: 0 };
        let Some(mut latest) = store.latest(META_GROUP).map_err(log_error)? else {
            return Ok(dictionary);
        };
        let mut bytes = Vec::new();
        while let Some(block) = latest.reader.next_block().map_err(log_error)? {
            bytes.extend_from_slice(block);
        }
        let mut stored = StoredDictionary::decode(bytes.as_slice())
            .map_err(|error| Error::unknown(format!("the dictionary's checkpoint is damaged: {error}")))?;
        dictionary.router = Some(stored.router()?);
        dictionary.catalog = stored.catalog()?;
        dictionary.next_table_id = stored.next_table_id;
        dictionary.index = stored.index;
        Ok(dictionary)
    }

    fn see(&mut self, record: RecordRef<'_>) -> Result<()> {
        if record.index <= self.index {
            return Ok(());
        }
        self.index = record.index;
        let damaged = |error| Error::unknown(format!("a record of the dictionary is damaged: {error}"));
        match record.kind {
            KIND_MAP => self.router = Some(StoredMap::decode(record.payload).map_err(damaged)?.router()?),
            KIND_CHANGES => {
                for change in StoredChanges::decode(record.payload).map_err(damaged)?.changes()? {
                    self.catalog.apply(&change)?;
                    if let Change::PutTable(schema) = &change {
                        self.next_table_id = self.next_table_id.max(schema.id.0 + 1);
                    }
                }
                self.catalog.version += 1;
            }
            KIND_SEQUENCE => apply_sequence_record(&self.catalog, record.payload)?,
            kind => return Err(Error::unknown(format!("the log has a record of the unknown kind {kind}"))),
        }
        Ok(())
    }
}

/// The reading side of a replay: sorts entries by thread.
struct Replay {
    plan: Arc<ReplicaPlan>,
    recovery_threads: usize,
    store: CheckpointStore,
    budget: Arc<MemoryBudget>,
    threads: Vec<ReplayThread>,
    /// Bytes of checkpoints and log that were read.
    done_bytes: Arc<AtomicU64>,
    company: Arc<Company>,
    /// Hears when a thread ends.
    done: Receiver<()>,
    ended: Sender<()>,
}

struct ReplayThread {
    sender: SyncSender<Piece>,
    piece: Piece,
    /// Pieces that have been replayed, to be filled again: touching memory for the first time is what costs most here.
    used: Receiver<Piece>,
    handle: std::thread::JoinHandle<Result<Vec<Partition>>>,
}

impl Replay {
    fn new(
        recovery_threads: usize,
        store: CheckpointStore,
        budget: Arc<MemoryBudget>,
        plan: Arc<ReplicaPlan>,
    ) -> Replay {
        let (ended, done) = channel();
        Replay {
            plan,
            recovery_threads,
            store,
            budget,
            threads: Vec::new(),
            done_bytes: Arc::default(),
            company: Company::new(),
            done,
            ended,
        }
    }

    /// Starts the threads. Partition `p` belongs to thread `p % threads`.
    fn start(&mut self, router: &Router) -> Result<()> {
        let partitions = self.plan.count(router);
        let count = (self.recovery_threads.max(1) as u32).min(partitions);
        for number in 0..count {
            let (sender, receiver) = sync_channel(PIECES_AHEAD);
            let (giver, used) = channel();
            let (store, budget) = (self.store.clone(), Arc::clone(&self.budget));
            let (done_bytes, ended) = (Arc::clone(&self.done_bytes), self.ended.clone());
            let company = Arc::clone(&self.company);
            let own: Vec<u32> = (number..partitions).step_by(count as usize).collect();
            let plan = Arc::clone(&self.plan);
            let handle = std::thread::Builder::new()
                .name("shoal-recovery".into())
                .spawn(move || {
                    stand_back();
                    let recovered = recover_partitions(
                        &plan,
                        &store,
                        &budget,
                        (&done_bytes, Pace::start(&company)),
                        &own,
                        count,
                        (&receiver, &giver),
                    );
                    let _ = ended.send(());
                    recovered
                })
                .map_err(|error| Error::unknown(format!("cannot start a recovery thread: {error}")))?;
            self.threads.push(ReplayThread { sender, piece: Piece::default(), used, handle });
        }
        Ok(())
    }

    fn see(&mut self, router: &Router, record: RecordRef<'_>) -> Result<()> {
        if self.threads.is_empty() {
            self.start(router)?;
        }
        if ![KIND_ENTRY, KIND_VOTE, KIND_LOG_START].contains(&record.kind) {
            return Err(Error::unknown(format!("the log has a record of the unknown kind {}", record.kind)));
        }
        let partition =
            u32::try_from(record.group - 1).ok().filter(|&partition| partition < self.plan.count(router));
        let Some(partition) = partition else {
            return Err(Error::unknown(format!("the log has an entry of the unknown group {}", record.group)));
        };
        let count = self.threads.len();
        let thread = &mut self.threads[partition as usize % count];
        thread.piece.bytes.extend_from_slice(record.payload);
        let end = thread.piece.bytes.len();
        let (kind, index, term) = (record.kind, record.index, record.term);
        thread.piece.records.push(PieceRecord { partition, kind, index, term, end });
        if thread.piece.bytes.len() >= PIECE_BYTES {
            // A thread that has gone has an error to tell, which `finish` collects.
            let next = thread.used.try_recv().unwrap_or_default();
            let _ = thread.sender.send(std::mem::replace(&mut thread.piece, next));
        }
        Ok(())
    }

    /// All partitions, by id.
    fn finish(mut self, router: &Router, mut report: impl FnMut()) -> Result<Vec<Partition>> {
        if self.threads.is_empty() {
            self.start(router)?;
        }
        let mut handles = Vec::with_capacity(self.threads.len());
        for mut thread in self.threads {
            let _ = thread.sender.send(std::mem::take(&mut thread.piece));
            handles.push(thread.handle);
        }
        let mut partitions = Vec::with_capacity(router.partition_count() as usize);
        for handle in handles {
            while !handle.is_finished() && self.done.recv_timeout(PROGRESS_INTERVAL).is_err() {
                report();
            }
            partitions.extend(handle.join().map_err(|_| Error::unknown("internal: a recovery thread failed"))??);
        }
        partitions.sort_unstable_by_key(|partition| partition.config().id);
        Ok(partitions)
    }
}

fn bytes_on_disk(directory: &Path) -> u64 {
    let files = ["log", CHECKPOINT_DIRECTORY].into_iter().filter_map(|name| directory.join(name).read_dir().ok());
    files.flatten().flatten().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// The body of a recovery thread.
fn recover_partitions(
    plan: &ReplicaPlan,
    store: &CheckpointStore,
    budget: &Arc<MemoryBudget>,
    (done_bytes, mut pace): (&AtomicU64, Pace),
    own: &[u32],
    threads: u32,
    (pieces, used): (&Receiver<Piece>, &Sender<Piece>),
) -> Result<Vec<Partition>> {
    let mut partitions = Vec::with_capacity(own.len());
    for &id in own {
        let mut partition = Partition::new(plan.config(id, budget));
        if plan.hosts(id)
            && let Some(mut latest) = store.latest(group_of(id)).map_err(log_error)?
        {
            while let Some(block) = latest.reader.next_block().map_err(log_error)? {
                partition.install_checkpoint_block(block)?;
                pace.keep();
            }
            done_bytes.fetch_add(latest.reader.file_bytes(), Ordering::Relaxed);
        }
        partitions.push(partition);
    }
    for mut piece in pieces {
        let mut start = 0;
        for record in piece.records.drain(..) {
            let partition = &mut partitions[(record.partition / threads) as usize];
            let payload = &piece.bytes[start..record.end];
            start = record.end;
            match record.kind {
                KIND_VOTE => partition.recover_hard_state(read_vote(record.term, payload)?)?,
                KIND_LOG_START => {
                    partition.recover_from(LogStart { index: record.index, term: record.term })?;
                }
                _ => {
                    // Nobody will ask for a state before the end of the log.
                    partition.set_gc_horizon(partition.newest_timestamp());
                    partition.replay(record.index, record.term, payload)?;
                }
            }
        }
        piece.bytes.clear();
        // Whoever reads the log may have ended.
        let _ = used.send(piece);
        pace.keep();
    }
    Ok(partitions)
}

#[cfg(test)]
mod tests {
    use shoal_types::NodeId;

    use super::*;
    use crate::base::options::Durability;
    use crate::base::topology::{NodeEntry, Placement, Roles};

    fn options(directory: &Path, durability: Durability) -> NodeOptions {
        let data = Roles { data: true, ..Roles::default() };
        let node = |id| NodeEntry { id: NodeId(id), roles: data, address: None };
        let cluster = ClusterOptions {
            name: "reef".into(),
            me: NodeId(1),
            nodes: vec![node(1), node(2)],
            placements: vec![Placement { replicas: vec![NodeId(1), NodeId(2)], witness: None }; 2],
            config_hash: 0,
            heartbeat: Duration::from_millis(100),
            timing: shoal_partition::Timing::default(),
            lanes: 1,
            unsent_bytes_max: None,
            transporter: shoal_transport::Transporter::default(),
        };
        NodeOptions {
            durability,
            background_work: false,
            cluster: Some(cluster),
            data_memory: Some(64 << 20),
            ..NodeOptions::new(directory)
        }
    }

    fn is_amnesiac(node: &Node) -> bool {
        node.partition(0).is_amnesiac()
    }

    /// It was judged by the durability of the life that begins: after `SET GLOBAL commit_durability='replicated'` and a crash, a replica
    /// whose configuration says `disk` voted without what it had acknowledged from memory.
    #[test]
    fn a_replica_is_amnesiac_if_the_life_that_crashed_acknowledged_from_memory_at_any_time() {
        let directory = tempfile::tempdir().unwrap();
        let open = |durability| Node::open(options(directory.path(), durability)).unwrap();
        let node = open(Durability::Disk);
        node.note_whole().unwrap();
        drop(node);
        // The directory has taken part; nothing was promised from memory.
        let node = open(Durability::Disk);
        assert!(!is_amnesiac(&node));
        node.set_durability(Durability::Replicated).unwrap();
        drop(node);
        // As the configuration file says.
        let node = open(Durability::Disk);
        assert!(is_amnesiac(&node));
        // A crash before it has caught up changes nothing, nor does a sync of what little it has.
        node.set_durability(Durability::Replicated).unwrap();
        node.set_durability(Durability::Disk).unwrap();
        drop(node);
        let node = open(Durability::Disk);
        assert!(is_amnesiac(&node));
        // It has caught up, and all that it acknowledges is on the disk.
        node.note_whole().unwrap();
        drop(node);
        let node = open(Durability::Disk);
        assert!(!is_amnesiac(&node));
        // Back in `disk` mode, everything from the time in memory is on the disk.
        node.set_durability(Durability::Replicated).unwrap();
        node.set_durability(Durability::Disk).unwrap();
        drop(node);
        assert!(!is_amnesiac(&open(Durability::Disk)));
    }
}
