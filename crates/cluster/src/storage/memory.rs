//! Memory: what takes it, and giving back what is free.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_partition::{FragmentMemory, MemoryBudget};
use shoal_types::Timestamp;

use crate::base::wait::lock;
use crate::storage::Storage;

/// Old versions that are looked at under one hold of a partition, and in one partition at one look.
const GARBAGE_PER_HOLD: usize = 256;
const GARBAGE_HOLDS: usize = 256;
/// Rows and nodes that are looked at under one hold of a partition to give memory back, and holds of one partition at one look.
const COMPACTION_PER_HOLD: usize = 512;
const COMPACTION_HOLDS: usize = 128;
/// Threads look for memory of theirs that others have freed when so much less is in use than a second before.
const SHRUNK_BYTES_MIN: u64 = 1 << 20;

/// What takes memory, and how much there is for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Rows, old versions and indexes, as they are charged to `DataMemory`.
    pub used_bytes: u64,
    /// `DataMemory`, or what was found to be free for it.
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

impl Storage {
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

    /// Drops versions from before the horizon, which no snapshot needs, a few under each hold.
    pub(crate) fn drop_old_versions(&self, horizon: Timestamp) {
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
    pub(crate) fn compact(&self) {
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
    pub(crate) fn measure_memory(&self, before: u64) -> u64 {
        let all = self.hosted().map(|partition| self.partition(partition).memory());
        let sum = all.fold(FragmentMemory::default(), FragmentMemory::plus);
        match self.options.shared_memory.is_some() {
            true => self.budget.set_measured_elsewhere(sum.bytes()),
            false => self.budget.set_measured(sum.bytes(), sum.old_bytes),
        }
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
}
