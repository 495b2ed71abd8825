//! Snapshots in use, and the horizon before which no version is needed.
//!
//! Taking a snapshot and computing the horizon happen under one mutex, and the newest visible timestamp only rises.
//! So a snapshot that is taken after the horizon was computed is never before it.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::Timestamp;

use crate::base::wait::lock;

/// What readers may see, and which snapshots they hold, so that old versions are kept for them.
#[derive(Default)]
pub struct Snapshots {
    /// Every commit up to here is durable, and applied or about to be: readers meet those and wait a moment.
    visible: AtomicU64,
    /// Snapshots in use with the number of their users, the oldest first.
    in_use: Mutex<VecDeque<(Timestamp, u32)>>,
}

impl Snapshots {
    /// The newest timestamp that a new snapshot has.
    pub fn visible(&self) -> Timestamp {
        Timestamp(self.visible.load(Ordering::Acquire))
    }

    pub(crate) fn set_visible(&self, timestamp: Timestamp) {
        self.visible.fetch_max(timestamp.0, Ordering::AcqRel);
    }

    /// Takes a snapshot of what is visible now. Give it back with `release`.
    pub fn take(&self) -> Timestamp {
        let mut in_use = lock(&self.in_use);
        let snapshot = self.visible();
        match in_use.back_mut() {
            Some((newest, users)) if *newest == snapshot => *users += 1,
            _ => in_use.push_back((snapshot, 1)),
        }
        snapshot
    }

    /// Takes a snapshot that has everything up to `timestamp`, which other nodes have shown. This node's clock must have
    /// observed it.
    pub fn take_at(&self, timestamp: Timestamp) -> Timestamp {
        self.set_visible(timestamp);
        self.take()
    }

    /// Gives back what `take` or `take_at` has yielded.
    pub fn release(&self, snapshot: Timestamp) {
        let mut in_use = lock(&self.in_use);
        if let Ok(position) = in_use.binary_search_by_key(&snapshot, |&(timestamp, _)| timestamp) {
            in_use[position].1 = in_use[position].1.saturating_sub(1);
        }
        while in_use.front().is_some_and(|&(_, users)| users == 0) {
            in_use.pop_front();
        }
    }

    /// No snapshot before this is in use or will be taken.
    pub fn horizon(&self) -> Timestamp {
        let in_use = lock(&self.in_use);
        in_use.front().map_or_else(|| self.visible(), |&(oldest, _)| oldest)
    }

    /// How many snapshots are in use.
    pub fn in_use(&self) -> usize {
        lock(&self.in_use).iter().map(|&(_, users)| users as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_is_the_oldest_snapshot_in_use_or_what_is_visible() {
        let snapshots = Snapshots::default();
        snapshots.set_visible(Timestamp(10));
        let first = snapshots.take();
        snapshots.set_visible(Timestamp(20));
        let (second, third) = (snapshots.take(), snapshots.take());
        assert_eq!((first, second, third), (Timestamp(10), Timestamp(20), Timestamp(20)));
        snapshots.set_visible(Timestamp(30));
        assert_eq!(snapshots.horizon(), first);
        snapshots.release(second);
        snapshots.release(first);
        assert_eq!(snapshots.horizon(), third);
        snapshots.release(third);
        assert_eq!((snapshots.horizon(), snapshots.in_use()), (Timestamp(30), 0));
    }
}
