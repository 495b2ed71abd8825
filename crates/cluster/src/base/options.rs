//! What a node is opened with, and how recovery reports on itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use shoal_log::Durability;
use shoal_log::file_system::{FileSystem, RealFileSystem};
use shoal_log::volatile::VolatileFileSystem;
use shoal_partition::MemoryBudget;

use crate::base::report::report;
use crate::base::topology::ClusterOptions;

/// Gets the reason why a node cannot go on.
pub type FatalHook = Arc<dyn Fn(&str) + Send + Sync>;

/// The exit code of a process whose node could not go on.
pub const FATAL_EXIT_CODE: i32 = 74;

/// Bytes for rows of a node that has none, and of its log's segments.
const FREE_NODE_MEMORY: u64 = 64 << 20;
const FREE_NODE_SEGMENT: u64 = 1 << 20;

/// The log of temporary tables is cut when it has grown by so much.
const TEMPORARY_LOG_BYTES: u64 = 64 << 20;

/// Which thread writes and syncs the log when a commit waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushBy {
    /// A thread that has one session does it itself as long as the disk is quick, which saves two thread switches; for one that has several
    /// the writer does it, while the thread goes on (`flush.rs`).
    #[default]
    Worker,
    /// The log's writer thread.
    Writer,
}

/// Settings of a node. Those that are fixed when the data directory is created say so.
#[derive(Clone)]
pub struct NodeOptions {
    /// Made if it is not there. One process at a time has it.
    pub data_dir: PathBuf,
    /// How long to wait for another process to leave the directory.
    pub lock_timeout: Duration,
    /// Fixed at creation. `None`: one per core, at least two. A range scan dives into every one of them.
    pub partitions: Option<u32>,
    /// Bytes for rows and indexes. `None`: a share of the machine's memory or of the control group's.
    pub data_memory: Option<u64>,
    /// What other nodes of this process count memory at, to count it there as well instead of at a budget of `data_memory`.
    pub shared_memory: Option<Arc<MemoryBudget>>,
    /// Data nodes that divide the memory of this host, this one included.
    pub data_nodes_of_host: u32,
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Which thread syncs the log.
    pub flush_by: FlushBy,
    /// How often a `Replicated` log is synced.
    pub global_checkpoint_interval: Duration,
    /// Size of the log's files.
    pub log_segment_bytes: u64,
    /// Size of the first one, which small databases never fill.
    pub first_log_segment_bytes: u64,
    /// A checkpoint is written when the log has grown by so much since the last one.
    pub checkpoint_log_bytes: u64,
    /// How fast checkpoints are written; 0: as fast as the disk goes.
    pub checkpoint_bytes_per_second: u64,
    /// How long a busy worker thread looks for more to do before it sleeps; [`NEVER_SLEEP`](crate::worker_loop::NEVER_SLEEP): for ever.
    pub spin: Duration,
    /// Threads that read checkpoints and log back.
    pub recovery_threads: usize,
    /// The disk, or what tests put in its place.
    pub file_system: Arc<dyn FileSystem>,
    /// The node keeps no directory: nothing of it is there when it starts again.
    pub keeps_nothing: bool,
    /// Checkpoints and garbage collection by themselves. Without it the owner calls `Node::checkpoint`.
    pub background_work: bool,
    /// The cluster that the node belongs to; `None`: it is a database of its own.
    pub cluster: Option<ClusterOptions>,
    /// Where a management node writes the cluster's log; `None`: into the data directory.
    pub cluster_log_dir: Option<PathBuf>,
    /// Gives memory that the allocator holds free for the calling thread, or for nobody, back to the system. Called every second, and by
    /// threads that hold memory when others have freed it.
    pub release_memory: Option<fn()>,
    /// Called once. By default it says why in the error log and ends the process.
    pub on_fatal: FatalHook,
}

impl NodeOptions {
    /// A database of its own in this directory, with the default of everything else.
    pub fn new(data_dir: impl Into<PathBuf>) -> NodeOptions {
        NodeOptions {
            data_dir: data_dir.into(),
            lock_timeout: Duration::ZERO,
            partitions: None,
            data_memory: None,
            shared_memory: None,
            data_nodes_of_host: 1,
            durability: Durability::Disk,
            flush_by: FlushBy::default(),
            global_checkpoint_interval: Duration::from_millis(2000),
            log_segment_bytes: 64 << 20,
            first_log_segment_bytes: 1 << 20,
            checkpoint_log_bytes: 512 << 20,
            checkpoint_bytes_per_second: 0,
            spin: Duration::from_micros(200),
            recovery_threads: 2,
            file_system: Arc::new(RealFileSystem),
            keeps_nothing: false,
            background_work: true,
            cluster: None,
            cluster_log_dir: None,
            release_memory: None,
            on_fatal: Arc::new(|reason| {
                report(&format!("stopping: {reason}"));
                std::process::exit(FATAL_EXIT_CODE);
            }),
        }
    }

    /// Of a node in which only work begins: it has no replicas, and its log is in memory.
    pub fn without_directory(cluster: ClusterOptions) -> NodeOptions {
        NodeOptions {
            data_memory: Some(FREE_NODE_MEMORY),
            log_segment_bytes: FREE_NODE_SEGMENT,
            first_log_segment_bytes: FREE_NODE_SEGMENT,
            file_system: Arc::new(VolatileFileSystem::default()),
            keeps_nothing: true,
            background_work: false,
            cluster: Some(cluster),
            ..NodeOptions::new("/")
        }
    }

    /// Of the node that has the temporary tables of a process whose own node has these options. What it writes into its log is
    /// forgotten, so commits wait for nothing, and rows count as those of that node do. One partition, because a session's tables
    /// are nobody else's: nothing is won by spreading them.
    pub fn for_temporary_tables(own: &NodeOptions, memory: &Arc<MemoryBudget>) -> NodeOptions {
        NodeOptions {
            partitions: Some(1),
            shared_memory: Some(Arc::clone(memory)),
            durability: Durability::Replicated,
            checkpoint_log_bytes: TEMPORARY_LOG_BYTES,
            recovery_threads: 1,
            file_system: Arc::new(VolatileFileSystem::forgetful()),
            keeps_nothing: true,
            release_memory: own.release_memory,
            on_fatal: Arc::clone(&own.on_fatal),
            ..NodeOptions::new("/")
        }
    }
}

impl std::fmt::Debug for NodeOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NodeOptions").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

/// How far recovery has come. `total_bytes` is what lies on disk; not all of it need be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// Read so far.
    pub done_bytes: u64,
    /// To be read, at most.
    pub total_bytes: u64,
}
