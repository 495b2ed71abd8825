//! What the threads of a log share, and the short paths that touch only memory.
//!
//! Lock order: `segment`, `keeper`, `catalog`; `pending` and `durable_signal` are
//! taken last and alone. Hooks run with none of them held.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use crate::active_segment::ActiveSegment;
use crate::catalog::Catalog;
use crate::error::{IoContext, LogError, PoisonReason};
use crate::file_system::LockGuard;
use crate::format::Lsn;
use crate::manifest::Manifest;
use crate::options::{Durability, LogHooks, LogOptions};
use crate::pending::Pending;
use crate::sync::{self, Condvar, JoinHandle, Mutex, MutexGuard};

/// A mutex whose holders never leave it half changed, so that a panic elsewhere does not matter.
#[track_caller]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(crate) struct Core {
    pub options: LogOptions,
    pub data_directory: PathBuf,
    /// Where the segments and the manifest are.
    pub directory: PathBuf,
    pub hooks: LogHooks,

    pub pending: Mutex<Pending>,
    pub writer_wake: Condvar,
    pub segment: Mutex<ActiveSegment>,
    /// No flush is in flight, or one has failed.
    pub segment_idle: Condvar,
    durable: AtomicU64,
    /// What has been written, synced or not.
    pub written: AtomicU64,
    durability: AtomicU8,
    sync_interval_ms: AtomicU64,

    pub durable_signal: Mutex<()>,
    pub durable_changed: Condvar,
    /// How many threads are in `wait_durable`.
    pub durable_waiters: AtomicUsize,

    pub keeper: Mutex<Manifest>,
    pub catalog: Mutex<Catalog>,
    pub keeper_wake: Condvar,
    /// The next segment is ready, or preparing it failed.
    pub segment_prepared: Condvar,
    pub no_space: AtomicBool,
    /// A `SegmentNeed`, for the keeper while it fills the next segment.
    pub segment_need: AtomicU8,
    /// See `room`. Raised by those who find it too low.
    pub user_limit: AtomicU64,

    log_id: u64,
    poison: OnceLock<Arc<PoisonReason>>,
    told_fatal: AtomicBool,
    /// Released when the last user of the log is gone.
    _lock: Box<dyn LockGuard>,
}

/// What recovery has found out.
pub(crate) struct CoreParts {
    pub options: LogOptions,
    pub data_directory: PathBuf,
    pub directory: PathBuf,
    pub hooks: LogHooks,
    pub segment: ActiveSegment,
    pub catalog: Catalog,
    pub manifest: Manifest,
    pub end: Lsn,
    pub lock: Box<dyn LockGuard>,
}

impl Core {
    pub fn new(parts: CoreParts) -> Core {
        let interval_ms = parts.options.sync_interval.as_millis();
        Core {
            pending: Mutex::new(Pending::new(parts.end)),
            writer_wake: Condvar::new(),
            segment: Mutex::new(parts.segment),
            segment_idle: Condvar::new(),
            durable: AtomicU64::new(parts.end.0),
            written: AtomicU64::new(parts.end.0),
            durability: AtomicU8::new(encode(parts.options.durability)),
            sync_interval_ms: AtomicU64::new(u64::try_from(interval_ms).unwrap_or(u64::MAX)),
            durable_signal: Mutex::new(()),
            durable_changed: Condvar::new(),
            durable_waiters: AtomicUsize::new(0),
            log_id: parts.manifest.content.log_id,
            keeper: Mutex::new(parts.manifest),
            catalog: Mutex::new(parts.catalog),
            keeper_wake: Condvar::new(),
            segment_prepared: Condvar::new(),
            no_space: AtomicBool::new(false),
            segment_need: AtomicU8::new(0),
            user_limit: AtomicU64::new(0),
            poison: OnceLock::new(),
            told_fatal: AtomicBool::new(false),
            options: parts.options,
            data_directory: parts.data_directory,
            directory: parts.directory,
            hooks: parts.hooks,
            _lock: parts.lock,
        }
    }

    pub fn spawn(self: &Arc<Self>, name: &str, body: fn(&Core)) -> Result<JoinHandle<()>, LogError> {
        let core = Arc::clone(self);
        sync::spawn(name, move || body(&core)).context("start a thread for", &self.directory)
    }

    pub fn wake_writer(&self) {
        let pending = lock(&self.pending);
        self.wake_if(pending, true);
    }

    /// Has the writer sync what is there, without waiting for it.
    pub fn request_sync(&self) {
        let mut pending = lock(&self.pending);
        pending.sync_wanted |= self.durability() == Durability::Replicated;
        self.wake_if(pending, true);
    }

    pub fn wake_if(&self, mut pending: MutexGuard<'_, Pending>, due: bool) {
        if due && pending.writer_parked {
            pending.writer_parked = false;
            drop(pending);
            self.writer_wake.notify_one();
        }
    }

    pub fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::SeqCst))
    }

    /// Publishes a durable position, under the segment's lock.
    pub fn publish_durable(&self, durable: Lsn) {
        self.durable.store(durable.0, Ordering::SeqCst);
    }

    /// Wakes the threads in `wait_durable`.
    pub fn signal_waiters(&self) {
        // Both sides use sequentially consistent operations: either the waiter sees the position that
        // was published before this load, or this load sees the waiter.
        if self.durable_waiters.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.durable_signal));
            self.durable_changed.notify_all();
        }
    }

    pub fn end(&self) -> Lsn {
        lock(&self.pending).end()
    }

    pub fn pending_bytes(&self) -> usize {
        lock(&self.pending).waiting_bytes()
    }

    pub fn durability(&self) -> Durability {
        match self.durability.load(Ordering::Relaxed) {
            0 => Durability::Disk,
            _ => Durability::Replicated,
        }
    }

    pub fn set_durability(&self, durability: Durability) {
        self.durability.store(encode(durability), Ordering::SeqCst);
        self.wake_writer();
    }

    pub fn sync_interval(&self) -> Duration {
        Duration::from_millis(self.sync_interval_ms.load(Ordering::Relaxed))
    }

    pub fn set_sync_interval(&self, interval: Duration) {
        let milliseconds = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self.sync_interval_ms.store(milliseconds, Ordering::Relaxed);
        self.wake_writer();
    }

    pub fn log_id(&self) -> u64 {
        self.log_id
    }

    pub fn disk_space_low(&self) -> bool {
        self.no_space.load(Ordering::Relaxed)
    }

    pub fn check_space(&self) -> Result<(), LogError> {
        match self.disk_space_low() {
            true => Err(self.disk_full()),
            false => Ok(()),
        }
    }

    pub fn disk_full(&self) -> LogError {
        LogError::DiskFull { directory: self.data_directory.clone(), segment_bytes: self.options.segment_bytes }
    }

    pub fn check_poison(&self) -> Result<(), LogError> {
        match self.poison.get() {
            None => Ok(()),
            Some(reason) => Err(LogError::Poisoned { reason: Arc::clone(reason) }),
        }
    }

    pub fn is_poisoned(&self) -> bool {
        self.poison.get().is_some()
    }

    /// Nothing counts as durable from now on. Whoever fails while it holds the segment says so before it lets go of it: the next
    /// flush would take the place of the one that failed, and count it in. What is left to do is [`Core::poison`]'s.
    pub fn note_failure(&self, cause: &LogError) {
        let reason = Arc::new(PoisonReason { message: cause.to_string(), disk_full: cause.is_disk_full() });
        let _ = self.poison.set(reason);
    }

    /// Ends the log. Called with no lock held. Returns what every later call will get.
    pub fn poison(&self, cause: &LogError) -> LogError {
        self.note_failure(cause);
        let error = self.check_poison().err().unwrap_or(LogError::Closed);
        {
            let mut pending = lock(&self.pending);
            pending.writer_parked = false;
        }
        self.writer_wake.notify_all();
        drop(lock(&self.catalog));
        self.keeper_wake.notify_all();
        self.segment_prepared.notify_all();
        drop(lock(&self.durable_signal));
        self.durable_changed.notify_all();
        if !self.told_fatal.swap(true, Ordering::SeqCst) {
            (self.hooks.on_fatal)(&error);
        }
        error
    }

    /// The writer flushes what there is and ends.
    pub fn refuse_appends(&self) {
        let mut pending = lock(&self.pending);
        pending.closed = true;
        pending.writer_parked = false;
        drop(pending);
        self.writer_wake.notify_all();
    }
}

fn encode(durability: Durability) -> u8 {
    match durability {
        Durability::Disk => 0,
        Durability::Replicated => 1,
    }
}
