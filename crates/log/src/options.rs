//! What the owner of a log says and gets to hear: settings, hooks, when a batch counts as acknowledged.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::LogError;
use crate::file_system::{FileSystem, RealFileSystem};
use crate::format::Lsn;

/// When a batch counts as acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the medium.
    Disk,
    /// As soon as it is appended; it is written within 10 ms and synced every `sync_interval`.
    Replicated,
}

/// Who appends, which decides what happens when the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendClass {
    /// A statement that can fail: refused as soon as the next segment cannot be allocated, and until it is known whether that
    /// can be it is only taken where there is space (see `room`).
    User,
    /// Something that must go on (decisions, rollbacks, Raft's own records): uses the room that is left. Ends the log when there
    /// is none.
    Internal,
}

/// What an inline flush did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlineFlush {
    /// What had been appended up to this position is on the medium. It counts as durable, and `on_durable` tells, when what other
    /// threads' flushes took before it is too: mostly at once.
    Flushed(Lsn),
    /// The log's writer does it in its own time: durability is `Replicated`.
    LeftToWriter,
    /// There was nothing to flush.
    Nothing,
}

/// Settings of a log.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// A random number that marks all files of a log; used when the log is created.
    pub log_id: u64,
    /// The length of a segment's file.
    pub segment_bytes: u64,
    /// The first segment is small, so that an empty directory starts at once.
    pub first_segment_bytes: u64,
    /// How many cut segments are kept to be used again instead of being deleted.
    pub spare_segments: usize,
    /// When a batch counts as acknowledged; it can be changed later.
    pub durability: Durability,
    /// How often `Replicated` syncs (NDB's GlobalCheckpointInterval).
    pub sync_interval: Duration,
    /// How often a full disk is tried again.
    pub disk_full_retry: Duration,
    /// Without threads the owner calls `try_flush_inline` and `maintain` itself (simulation, tests).
    pub spawn_threads: bool,
    /// Where the files are.
    pub file_system: Arc<dyn FileSystem>,
}

impl LogOptions {
    /// What a server uses: segments of 64 MiB on the real file system.
    pub fn new(log_id: u64) -> LogOptions {
        LogOptions {
            log_id,
            segment_bytes: 64 << 20,
            first_segment_bytes: 1 << 20,
            spare_segments: 4,
            durability: Durability::Disk,
            sync_interval: Duration::from_millis(2000),
            disk_full_retry: Duration::from_secs(1),
            spawn_threads: true,
            file_system: Arc::new(RealFileSystem),
        }
    }
}

/// Gets the position up to which everything is durable.
pub type DurableHook = Box<dyn Fn(Lsn) + Send + Sync>;
/// Gets the reason why the log stopped.
pub type FatalHook = Box<dyn Fn(&LogError) + Send + Sync>;

/// What the log calls. Called without any lock of the log held, so that hooks may append.
pub struct LogHooks {
    /// Runs in the thread that flushed: the log writer, or the caller of `try_flush_inline`, which must
    /// therefore hold no lock that this hook takes. Two calls can overlap, and the smaller position can
    /// come second: take the maximum.
    pub on_durable: DurableHook,
    /// Runs once, after the first failed write or fsync.
    pub on_fatal: FatalHook,
}

impl LogHooks {
    /// Hooks that do nothing, for tools that wait with [`Log::wait_durable`](crate::Log::wait_durable).
    pub fn none() -> LogHooks {
        LogHooks { on_durable: Box::new(|_| {}), on_fatal: Box::new(|_| {}) }
    }
}

impl fmt::Debug for LogHooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LogHooks").finish_non_exhaustive()
    }
}
