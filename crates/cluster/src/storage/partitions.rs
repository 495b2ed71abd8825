//! The partitions of this process, and holding one of them.
//!
//! Partitions are behind one mutex each and held for short moments only; nothing that waits holds one.

use std::ops::{Deref, DerefMut};

use shoal_partition::{Partition, WaitToken};

use crate::storage::Storage;

/// A partition, held. What it wants woken is woken when it has been released.
pub struct PartitionGuard<'a> {
    guard: parking_lot::MutexGuard<'a, Partition>,
    woken: Woken<'a>,
}

struct Woken<'a> {
    storage: &'a Storage,
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
            self.woken.storage.partition_panicked(self.woken.partition);
        }
        let woken = &mut self.guard.outputs().woken;
        if !woken.is_empty() {
            self.woken.tokens = std::mem::take(woken);
        }
        self.woken.has_ending = self.guard.has_ending() || self.guard.is_building();
    }
}

impl Drop for Woken<'_> {
    /// Runs after the partition is released.
    #[inline]
    fn drop(&mut self) {
        for token in self.tokens.drain(..) {
            self.storage.waits.signal(token.0);
        }
        if self.has_ending {
            self.storage.slices.want(self.partition);
        }
    }
}

impl PartitionGuard<'_> {
    /// The term in which this replica leads: a leader's log ends with an entry of its own term. Meaningless elsewhere.
    #[inline]
    pub fn leader_term(&self) -> u64 {
        self.last_index().1
    }
}

impl Storage {
    /// Holds a partition.
    #[inline]
    pub fn partition(&self, partition: u32) -> PartitionGuard<'_> {
        let guard = self.partitions[partition as usize].partition.lock();
        PartitionGuard { guard, woken: Woken { storage: self, partition, has_ending: false, tokens: Vec::new() } }
    }

    pub fn partition_count(&self) -> u32 {
        self.router.partition_count()
    }

    /// The partitions, the meta partition among them, that this node is a voter of.
    pub(crate) fn hosted(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.partitions.len() as u32).filter(|&partition| self.partitions[partition as usize].hosted)
    }

    pub(crate) fn is_hosted(&self, partition: u32) -> bool {
        self.partitions.get(partition as usize).is_some_and(|cell| cell.hosted)
    }

    /// The meta partition of a cluster included.
    pub(crate) fn all_partitions(&self) -> usize {
        self.partitions.len()
    }
}
