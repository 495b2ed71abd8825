//! The log as its users see it: append batches, learn what is durable, cut what is no longer needed.
//!
//! One `Log` serves all partitions of a data directory. Appending copies a [`LogBatch`] into memory under
//! a short mutex and returns its end [`Lsn`]. Whoever flushes next, the log-writer thread or a caller of
//! [`Log::try_flush_inline`], takes everything that has gathered meanwhile, writes it with one durable write, publishes
//! the durable position and reports it through [`LogHooks::on_durable`](crate::LogHooks::on_durable).
//!
//! Invariants:
//! - Flushes get their places in the order of positions; then they write side by side. A segment ends when none is under way.
//! - The durable position only grows, and everything before it is on the medium: a flush that is quicker than the one before
//!   it counts when that is done.
//! - After the first failed write or fsync nothing more is reported durable, and nothing is retried.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::LogBatch;
use crate::core::Core;
use crate::error::LogError;
use crate::format::Lsn;
use crate::options::{AppendClass, Durability, InlineFlush};
use crate::sync::{JoinHandle, Mutex, join_unless_own};

/// The write-ahead log of one data directory. Shared behind an `Arc`; closing happens on drop at the latest.
#[derive(Debug)]
pub struct Log {
    core: Arc<Core>,
    threads: Mutex<Threads>,
}

#[derive(Debug, Default)]
struct Threads {
    writer: Option<JoinHandle<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Log {
    pub(crate) fn start(core: Core) -> Result<Log, LogError> {
        let core = Arc::new(core);
        let mut threads = Threads::default();
        if core.options.spawn_threads {
            threads.writer = Some(core.spawn("shoal-log-writer", Core::run_writer)?);
            threads.keeper = Some(core.spawn("shoal-log-keeper", Core::run_keeper)?);
        }
        Ok(Log { core, threads: Mutex::new(threads) })
    }

    /// Appends a batch as one atomic unit, wakes the writer if it sleeps, and returns where the batch
    /// ends: it is durable once the durable position has reached that. Class `Internal` never blocks on the disk; class `User`
    /// does when the segments are full and it is not known whether there is space for another: it may even flush. A caller that
    /// must not block asks [`Log::has_room`].
    ///
    /// # Errors
    /// `DiskFull` (class `User` only), `BatchTooLarge`, `Poisoned`, `Closed`. Then nothing was appended.
    pub fn append(&self, batch: &LogBatch, class: AppendClass) -> Result<Lsn, LogError> {
        self.core.append(batch, class, true)
    }

    /// The same without waking the writer. The caller promises to call [`Log::try_flush_inline`] or
    /// [`Log::wake_writer`] afterwards; until then the batch may stay in memory.
    pub fn append_unflushed(&self, batch: &LogBatch, class: AppendClass) -> Result<Lsn, LogError> {
        self.core.append(batch, class, false)
    }

    /// Has the writer flush what has been appended.
    pub fn wake_writer(&self) {
        self.core.wake_writer();
    }

    /// Has the writer sync what was appended so far, whatever the durability is, and does not wait for it.
    pub fn request_sync(&self) {
        self.core.request_sync();
    }

    /// Flushes in this thread whatever nobody else has taken yet: it saves two thread switches. Blocks for one durable write.
    /// Several threads may do so at a time. A `Replicated` log is left to its writer, if it has one.
    ///
    /// # Errors
    /// `Poisoned` when this or an earlier flush failed; the fatal hook has been called.
    pub fn try_flush_inline(&self) -> Result<InlineFlush, LogError> {
        self.core.try_flush_inline()
    }

    /// Writes what has been appended, in this thread, and syncs nothing: what the writer of a `Replicated`
    /// log does between two syncs. For owners of a log without threads.
    ///
    /// # Errors
    /// `Poisoned` when this or an earlier flush failed; the fatal hook has been called.
    pub fn write_unsynced(&self) -> Result<(), LogError> {
        self.core.flush_in_this_thread(false).map(|_| ())
    }

    /// Everything before this position is on the medium.
    pub fn durable_lsn(&self) -> Lsn {
        self.core.durable()
    }

    /// Where the next batch will begin, or a little before (headers and padding are not counted yet).
    pub fn end_lsn(&self) -> Lsn {
        self.core.end()
    }

    /// True when a batch that ends at `end` may be acknowledged under the present durability mode.
    pub fn is_acknowledged(&self, end: Lsn) -> bool {
        self.core.durability() == Durability::Replicated || self.core.durable() >= end
    }

    /// Blocks until everything before `end` is on the medium, in either mode: a `Replicated` log is
    /// synced at once.
    ///
    /// # Errors
    /// `Poisoned` or `Closed` when that will not happen.
    pub fn wait_durable(&self, end: Lsn) -> Result<(), LogError> {
        self.core.wait_durable(end)
    }

    /// Writes and syncs all that has been appended so far, in either mode.
    pub fn sync(&self) -> Result<Lsn, LogError> {
        let end = self.core.end();
        self.core.wait_durable(end)?;
        Ok(end)
    }

    /// When a batch counts as acknowledged at present.
    pub fn durability(&self) -> Durability {
        self.core.durability()
    }

    /// Switches the mode; on a switch to `Disk` what is not yet synced is synced at once.
    pub fn set_durability(&self, durability: Durability) {
        self.core.set_durability(durability);
    }

    /// Sets how often `Replicated` syncs.
    pub fn set_sync_interval(&self, interval: Duration) {
        self.core.set_sync_interval(interval);
    }

    /// Says that no record before `low_water` is needed any more. Segments that lie wholly before it are
    /// recycled or deleted in the background. Smaller values than before are ignored.
    pub fn set_low_water(&self, low_water: Lsn) {
        self.core.set_low_water(low_water);
    }

    /// Where the log begins: recovery would start reading here.
    pub fn first_lsn(&self) -> Lsn {
        self.core.first_lsn()
    }

    /// The bytes that recovery would read.
    pub fn size_bytes(&self) -> u64 {
        self.core.end().bytes_since(self.core.first_lsn())
    }

    /// The disk space of all segment files, prepared and spare ones included.
    pub fn disk_bytes(&self) -> u64 {
        self.core.disk_bytes()
    }

    /// Appended bytes that no flush has taken yet: grows when the disk does not keep up.
    pub fn pending_bytes(&self) -> usize {
        self.core.pending_bytes()
    }

    /// True while the next segment cannot be allocated: user writes are refused with `DiskFull`.
    pub fn disk_space_low(&self) -> bool {
        self.core.disk_space_low()
    }

    /// The check that `append` makes for class `User`, for refusing a statement before it does any work.
    pub fn check_space(&self) -> Result<(), LogError> {
        self.core.check_space()
    }

    /// True if a batch of class `User` and of so many bytes would be taken at once. Whoever keeps others from appending meanwhile
    /// may then append it as `Internal`, which nothing refuses.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.core.has_room(bytes)
    }

    /// Waits until there is room for a batch of class `User`, if need be by flushing: no lock may be held that the hooks take.
    ///
    /// # Errors
    /// `DiskFull` when there is no space on the disk for it; `Poisoned`, `Closed`.
    pub fn wait_for_room(&self, bytes: u64) -> Result<(), LogError> {
        self.core.wait_for_room(bytes)
    }

    /// Prepares the next segment and cuts the log now, in this thread: what the keeper thread does.
    pub fn maintain(&self) -> Result<(), LogError> {
        self.core.maintain()
    }

    /// The number the log was created with.
    pub fn log_id(&self) -> u64 {
        self.core.log_id()
    }

    /// The data directory.
    pub fn directory(&self) -> PathBuf {
        self.core.data_directory.clone()
    }

    /// Makes everything durable, refuses further appends and ends the threads.
    ///
    /// # Errors
    /// `Poisoned` when not everything could be made durable.
    pub fn close(&self) -> Result<(), LogError> {
        let outcome = self.core.close();
        self.join();
        outcome
    }

    fn join(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A hook may hold the last reference to the log: then this is one of the threads.
        threads.writer.take().into_iter().for_each(join_unless_own);
        self.core.stop_keeper();
        threads.keeper.take().into_iter().for_each(join_unless_own);
    }
}

impl Drop for Log {
    /// Ends the threads; the writer flushes first. Without threads nothing is flushed.
    fn drop(&mut self) {
        self.core.refuse_appends();
        self.join();
    }
}
