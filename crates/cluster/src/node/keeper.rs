//! Background work: checkpoints, cutting the log behind them, versions that nobody needs, memory that is free.
//!
//! A checkpoint round writes every partition's state and the dictionary, each at its own moment, while commits go on. The
//! log is cut only when the whole round is on disk, at the earliest of those moments, so whatever the round was
//! interrupted by, checkpoints and log together are complete.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prost::Message;
use shoal_log::Lsn;
use shoal_log::checkpoint::{BytesPerSecond, CheckpointOptions};
use shoal_partition::FragmentMemory;
use shoal_types::{Error, Result};
use std::sync::atomic::Ordering;

use crate::base::cluster_log::Severity;
use crate::base::wait::lock;
use crate::dictionary::stored::{META_GROUP, StoredDictionary, group_of};
use crate::node::Node;
use crate::replication::commit::log_error;

/// How often there is a look at what is to be done.
const INTERVAL: Duration = Duration::from_millis(200);
/// After a checkpoint that failed.
const RETRY_AFTER: Duration = Duration::from_secs(10);
const BLOCK_BYTES: usize = 64 << 10;
/// Old versions that are looked at under one hold of a partition, and in one partition at one look.
const GARBAGE_PER_HOLD: usize = 256;
const GARBAGE_HOLDS: usize = 256;
/// Rows and nodes that are looked at under one hold of a partition to give memory back, and holds of one partition at one look.
const COMPACTION_PER_HOLD: usize = 512;
const COMPACTION_HOLDS: usize = 128;
/// How often what tables take is summed up, and freed memory given back to the system.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);
/// Threads look for memory of theirs that others have freed when so much less is in use than a second before.
const SHRUNK_BYTES_MIN: u64 = 1 << 20;
/// A checkpoint is worth its while when the log has grown to this part of the data.
const DATA_SHARE: u64 = 4;

/// The thread's off switch.
#[derive(Default)]
pub(crate) struct Keeper {
    stop: Mutex<bool>,
    changed: Condvar,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    pub(crate) fn start(self: &Arc<Keeper>, node: Weak<Node>) -> Result<()> {
        let keeper = Arc::clone(self);
        let handle = std::thread::Builder::new()
            .name("shoal-keeper".into())
            .spawn(move || keeper.run(&node))
            .map_err(|error| Error::unknown(format!("cannot start the keeper thread: {error}")))?;
        *lock(&self.handle) = Some(handle);
        Ok(())
    }

    fn run(&self, node: &Weak<Node>) {
        let mut not_before = Instant::now();
        let (mut measured, mut in_use) = (Instant::now(), 0);
        while !self.sleep() {
            let Some(node) = node.upgrade() else { return };
            node.drop_old_versions();
            node.compact();
            if measured.elapsed() >= MEASURE_INTERVAL {
                measured = Instant::now();
                in_use = node.measure_memory(in_use);
            }
            if node.wants_checkpoint()
                && Instant::now() >= not_before
                && let Err(error) = node.checkpoint()
            {
                tracing::warn!(%error, "a checkpoint failed; the older one and the log still count");
                let text = format!("Local checkpoint failed: {error}; the older one and the log still count");
                node.log_event_as(Severity::Error, "checkpoint", &text);
                not_before = Instant::now() + RETRY_AFTER;
            }
        }
    }

    /// Sleeps for an interval; true when it is time to end.
    fn sleep(&self) -> bool {
        let stop = lock(&self.stop);
        let waited = self.changed.wait_timeout_while(stop, INTERVAL, |stop| !*stop);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *lock(&self.stop)
    }

    /// Ends the thread, and waits for it if this is another one.
    pub(crate) fn stop(&self) {
        *lock(&self.stop) = true;
        self.changed.notify_all();
        let handle = lock(&self.handle).take();
        if let Some(handle) = handle
            && handle.thread().id() != std::thread::current().id()
        {
            let _ = handle.join();
        }
    }
}

impl Node {
    fn wants_checkpoint(&self) -> bool {
        let grown = self.log.end_lsn().bytes_since(Lsn(self.checkpointed.load(Ordering::Relaxed)));
        grown >= self.options.checkpoint_log_bytes.max(self.budget.used_bytes() / DATA_SHARE)
    }

    /// Drops versions that no snapshot needs, a few under each hold.
    pub(crate) fn drop_old_versions(&self) {
        let horizon = self.horizon();
        for partition in 0..self.partition_count() {
            for _ in 0..GARBAGE_HOLDS {
                let mut guard = self.partition(partition);
                guard.set_gc_horizon(horizon);
                if guard.collect_garbage(GARBAGE_PER_HOLD) == 0 {
                    break;
                }
            }
        }
    }

    /// Moves rows together where many have gone, a few under each hold.
    fn compact(&self) {
        for partition in self.hosted() {
            for _ in 0..COMPACTION_HOLDS {
                if !self.partition(partition).compact(COMPACTION_PER_HOLD) {
                    break;
                }
            }
        }
    }

    /// Tells the budget and the status variables what tables take, and has the allocator give back what is free. `before`: what was in use
    /// last time; returns what is now.
    fn measure_memory(&self, before: u64) -> u64 {
        let all = self.hosted().map(|partition| self.partition(partition).memory());
        let sum = all.fold(FragmentMemory::default(), FragmentMemory::plus);
        self.budget.set_measured(sum.bytes(), sum.old_bytes);
        *lock(&self.measured) = sum;
        if let Some(release) = self.options.release_memory {
            release();
        }
        let in_use = sum.bytes() + self.budget.work_bytes();
        if in_use + SHRUNK_BYTES_MIN <= before {
            self.shrunk.fetch_add(1, Ordering::Release);
            self.slices.wake();
        }
        in_use
    }

    /// Memory that one thread has allocated and another one has freed stays with the first until that looks: the allocator cannot do it
    /// for it. So threads that fill tables ask when memory in use has become less. `seen`: what the thread's last call returned.
    pub fn release_memory(&self, seen: u64) -> u64 {
        let shrunk = self.shrunk.load(Ordering::Acquire);
        if shrunk != seen
            && let Some(release) = self.options.release_memory
        {
            release();
        }
        shrunk
    }

    /// Writes a checkpoint of everything and cuts the log behind it. One at a time; others wait.
    pub fn checkpoint(&self) -> Result<()> {
        let _one_at_a_time = lock(&self.checkpointing);
        let begun = Instant::now();
        let mut low_water = self.checkpoint_dictionary()?;
        for partition in self.hosted().collect::<Vec<_>>() {
            low_water = low_water.min(self.checkpoint_partition(partition)?);
        }
        self.checkpointed.store(low_water.0, Ordering::Relaxed);
        self.log.set_low_water(low_water);
        self.log_event("checkpoint", &format!("Local checkpoint completed in {} ms", begun.elapsed().as_millis()));
        Ok(())
    }

    fn completed_lsn(&self) -> Lsn {
        Lsn(self.completed.load(Ordering::Acquire))
    }

    fn checkpoint_options(&self) -> CheckpointOptions {
        let rate = self.options.checkpoint_bytes_per_second;
        CheckpointOptions { compress: true, throttle: Some(Box::new(BytesPerSecond::new(rate))) }
    }

    /// Nothing before the position that this yields is needed for the dictionary any more.
    fn checkpoint_dictionary(&self) -> Result<Lsn> {
        let low_water = self.completed_lsn();
        // The catalog is published before its index: an index that is too small only has changes made twice.
        let index = self.catalog_index.load(Ordering::Acquire);
        let catalog = self.catalog();
        let next_table_id = self.next_table_id.load(Ordering::Relaxed);
        let stored = StoredDictionary::of(&catalog, &self.router, next_table_id, index);
        let mut writer = self.checkpoints.create(META_GROUP, &[], self.checkpoint_options()).map_err(log_error)?;
        for block in stored.encode_to_vec().chunks(BLOCK_BYTES) {
            writer.append(block).map_err(log_error)?;
        }
        self.log.sync().map_err(log_error)?;
        let finished = writer.finish().map_err(log_error)?;
        self.checkpoints.remove_older(META_GROUP, finished.number).map_err(log_error)?;
        Ok(low_water)
    }

    /// The same for a partition.
    fn checkpoint_partition(&self, partition: u32) -> Result<Lsn> {
        let group = group_of(partition);
        if self.partition(partition).is_installing() {
            // What is here is neither the old state nor the new one.
            return Ok(Lsn(self.checkpointed.load(Ordering::Relaxed)));
        }
        if self.partition(partition).is_witness() {
            return self.log_witness_again(partition);
        }
        let mut writer = {
            let _one_at_a_time = lock(&self.checkpoint_files);
            self.checkpoints.create(group, &[], self.checkpoint_options()).map_err(log_error)?
        };
        let low_water = self.completed_lsn();
        let mut guard = self.partition(partition);
        let mut cursor = guard.begin_checkpoint();
        if !guard.is_single() {
            // Entries that are durable but not committed yet have no other place. Under one hold with the beginning: what
            // is applied may be dropped from memory at any time.
            guard.log_again(cursor.index());
        }
        self.settle_and_release(partition, guard);
        let mut block = Vec::with_capacity(BLOCK_BYTES * 2);
        let written = loop {
            block.clear();
            if self.keeper.is_stopping() {
                break Err(Error::unknown("the node is stopping"));
            }
            match self.partition(partition).next_checkpoint_block(&mut cursor, BLOCK_BYTES, &mut block) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            if let Err(error) = writer.append(&block) {
                break Err(log_error(error));
            }
        };
        let finished = written.and_then(|()| {
            // What is in the checkpoint must be in the log as well: other partitions may have a share in it.
            self.log.sync().map_err(log_error)?;
            let _one_at_a_time = lock(&self.checkpoint_files);
            // The newest file counts: it must not be older than the state that another node's copy has brought meanwhile.
            match self.partition(partition).is_current(&cursor) {
                true => writer.finish().map_err(log_error),
                false => Err(Error::unknown(format!("partition {partition} was replaced by a copy meanwhile"))),
            }
        });
        self.partition(partition).end_checkpoint(cursor);
        let finished = finished?;
        self.checkpoints.remove_older(group, finished.number).map_err(log_error)?;
        Ok(low_water)
    }

    /// Logs all that a witness keeps once more, so that nothing before the position that this yields is needed for it.
    fn log_witness_again(&self, partition: u32) -> Result<Lsn> {
        let low_water = self.completed_lsn();
        let mut guard = self.partition(partition);
        guard.log_again(0);
        self.settle_and_release(partition, guard);
        // The log is cut behind this.
        self.log.sync().map_err(log_error)?;
        Ok(low_water)
    }
}
