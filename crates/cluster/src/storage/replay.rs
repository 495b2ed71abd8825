//! Reading a data directory back: checkpoints, and the entries of the log behind them.
//!
//! One thread reads the log; `recovery_threads` others each own some of the partitions: they install their checkpoints and then
//! apply the entries that reach them, in log order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shoal_log::checkpoint::CheckpointStore;
use shoal_log::{Log, LogError, LogOptions, RecordRef, Recovery};
use shoal_partition::{LogStart, MemoryBudget, Partition, PartitionConfig, TAIL_BYTES_MAX};
use shoal_replication::{LogRecord, ReplicaPlan, replay};
use shoal_types::{Error, PartitionId, Result};

use crate::base::errors::log_error;
use crate::base::machine_memory::default_data_memory;
use crate::base::options::NodeOptions;
use crate::base::router::Router;
use crate::base::throttle::{Pace, Throttle, lower_priority};
use crate::base::topology::ClusterOptions;
use crate::storage::records::{KIND_ENTRY, KIND_LOG_START, KIND_VOTE, group_of, read_vote};

/// Where checkpoints are, in the data directory.
pub(crate) const CHECKPOINT_DIRECTORY: &str = "checkpoints";
/// Log entries travel to the recovery threads in pieces of about so many bytes.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that may wait for a thread.
const PIECES_AHEAD: usize = 16;
/// So often the progress callback hears while checkpoints are being read.
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

/// What becomes of each partition on this node.
pub(crate) struct PartitionPlans {
    pub(crate) cluster: Option<ClusterOptions>,
    /// What was promised may be lost and must not be voted about.
    pub(crate) amnesia: bool,
    pub(crate) incarnation: u64,
    /// Nobody will ask for what is in its log.
    pub(crate) keeps_nothing: bool,
}

impl PartitionPlans {
    /// What each partition keeps of its log in memory for replicas that are away: together a part of `DataMemory`.
    fn tail_bytes_max(&self, budget: &MemoryBudget) -> u64 {
        if self.keeps_nothing {
            return TAIL_BYTES_MIN;
        }
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
        let plan = ReplicaPlan {
            replica: u64::from(cluster.me.0),
            voters: placement.voters(),
            witness: placement.witness.map(|node| u64::from(node.0)),
            timing: cluster.timing,
            amnesia: self.amnesia,
            life: self.incarnation,
        };
        plan.config(single)
    }
}

/// Between two attempts to lock the directory.
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// Waits for a process that has the directory and is about to leave it.
pub(crate) fn open_log(options: &NodeOptions) -> Result<Recovery> {
    let deadline = Instant::now() + options.lock_timeout;
    loop {
        match Log::open(&options.data_dir, log_options(options)) {
            Err(LogError::Locked { .. }) if Instant::now() < deadline => std::thread::sleep(LOCK_AGAIN_AFTER),
            opened => return opened.map_err(log_error),
        }
    }
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

pub(crate) fn open_checkpoints(options: &NodeOptions) -> Result<CheckpointStore> {
    let directory = options.data_dir.join(CHECKPOINT_DIRECTORY);
    CheckpointStore::open(Arc::clone(&options.file_system), &directory).map_err(log_error)
}

pub(crate) fn data_memory(options: &NodeOptions) -> u64 {
    options.data_memory.unwrap_or_else(|| default_data_memory(options.data_nodes_of_host))
}

/// The reading side of a replay: sorts entries by thread.
pub(crate) struct Replay {
    plan: Arc<PartitionPlans>,
    recovery_threads: usize,
    store: CheckpointStore,
    budget: Arc<MemoryBudget>,
    threads: Vec<ReplayThread>,
    /// Bytes of checkpoints and log that were read.
    pub(crate) done_bytes: Arc<AtomicU64>,
    throttle: Arc<Throttle>,
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
    pub(crate) fn new(
        recovery_threads: usize,
        store: CheckpointStore,
        budget: Arc<MemoryBudget>,
        plan: Arc<PartitionPlans>,
    ) -> Replay {
        let (ended, done) = channel();
        Replay {
            plan,
            recovery_threads,
            store,
            budget,
            threads: Vec::new(),
            done_bytes: Arc::default(),
            throttle: Throttle::new(),
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
            let throttle = Arc::clone(&self.throttle);
            let own: Vec<u32> = (number..partitions).step_by(count as usize).collect();
            let plan = Arc::clone(&self.plan);
            let handle = std::thread::Builder::new()
                .name("shoal-recovery".into())
                .spawn(move || {
                    lower_priority();
                    let recovered = recover_partitions(
                        &plan,
                        &store,
                        &budget,
                        (&done_bytes, Pace::start(&throttle)),
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

    pub(crate) fn see(&mut self, router: &Router, record: RecordRef<'_>) -> Result<()> {
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
    pub(crate) fn finish(mut self, router: &Router, mut report: impl FnMut()) -> Result<Vec<Partition>> {
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

pub(crate) fn bytes_on_disk(directory: &Path) -> u64 {
    let files = ["log", CHECKPOINT_DIRECTORY].into_iter().filter_map(|name| directory.join(name).read_dir().ok());
    files.flatten().flatten().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// The body of a recovery thread.
fn recover_partitions(
    plan: &PartitionPlans,
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
            let record = match record.kind {
                KIND_VOTE => LogRecord::Vote(read_vote(record.term, payload)?),
                KIND_LOG_START => LogRecord::Start(LogStart { index: record.index, term: record.term }),
                _ => LogRecord::Entry { index: record.index, term: record.term, data: payload },
            };
            replay(partition, record)?;
        }
        piece.bytes.clear();
        // Whoever reads the log may have ended.
        let _ = used.send(piece);
        pace.keep();
    }
    Ok(partitions)
}
