//! Whether a partition is being handed over to another leader, and where its work comes from (`hand_over`).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shoal_partition::Millis;
use shoal_replication::HandOver;
use shoal_types::NodeId;

use crate::base::wait::lock;

/// Less work than this between two looks is not worth a move.
const WORK_MIN: u32 = 200;

/// One partition's way from one leader to the next, and where its work comes from.
pub(crate) struct Leading {
    /// No new transaction may join.
    pub(super) closed: AtomicBool,
    pub(super) handing_over: Mutex<Option<HandOver>>,
    /// Operations since the last look, by the data replica whose sessions asked for them.
    asked: Box<[(NodeId, AtomicU32)]>,
    asked_by_others: AtomicU32,
    /// Looks in a row at which another replica asked for nearly everything; and at which none did.
    pub(super) elsewhere: AtomicU32,
    pub(super) balanced: AtomicU32,
}

/// The origins of a partition's work between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nearly all of it is another replica's.
    Elsewhere(NodeId),
    /// Most of it is this node's own.
    Here,
    Balanced,
}

impl Leading {
    pub(crate) fn new(replicas: &[NodeId]) -> Leading {
        Leading {
            closed: AtomicBool::new(false),
            handing_over: Mutex::default(),
            asked: replicas.iter().map(|&node| (node, AtomicU32::new(0))).collect(),
            asked_by_others: AtomicU32::new(0),
            elsewhere: AtomicU32::new(0),
            balanced: AtomicU32::new(0),
        }
    }

    /// See [`HandOver::admits`].
    #[cold]
    pub(super) fn admits(&self, joined_for_ms: u64, now: Millis) -> bool {
        lock(&self.handing_over).is_none_or(|handing_over| handing_over.admits(joined_for_ms, now))
    }

    #[inline]
    pub(super) fn note(&self, from: NodeId) {
        let known = self.asked.iter().find(|(node, _)| *node == from);
        known.map_or(&self.asked_by_others, |(_, count)| count).fetch_add(1, Ordering::Relaxed);
    }

    /// Where the work since the last look came from.
    pub(super) fn look(&self, me: NodeId) -> Origin {
        let counts = self.asked.iter().map(|(node, count)| (*node, count.swap(0, Ordering::Relaxed)));
        let counts: Vec<(NodeId, u32)> = counts.collect();
        let others = self.asked_by_others.swap(0, Ordering::Relaxed);
        origin_of(me, &counts, others)
    }
}

fn origin_of(me: NodeId, counts: &[(NodeId, u32)], others: u32) -> Origin {
    let sum = counts.iter().map(|&(_, count)| u64::from(count)).sum::<u64>() + u64::from(others);
    let is_nearly_all = |count: u32| u64::from(count) * 10 >= sum * 8;
    match counts.iter().max_by_key(|&&(_, count)| count) {
        Some(&(node, count)) if count >= WORK_MIN && node != me && is_nearly_all(count) => Origin::Elsewhere(node),
        Some(&(node, count)) if count >= WORK_MIN && node == me && u64::from(count) * 10 >= sum * 6 => {
            Origin::Here
        }
        _ => Origin::Balanced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId(1);
    const OTHER: NodeId = NodeId(2);

    #[test]
    fn leading_follows_work_that_comes_from_one_replica_alone() {
        assert_eq!(origin_of(ME, &[(ME, 100), (OTHER, 900)], 0), Origin::Elsewhere(OTHER));
        assert_eq!(origin_of(ME, &[(ME, 900), (OTHER, 100)], 0), Origin::Here);
        assert_eq!(origin_of(ME, &[(ME, 500), (OTHER, 500)], 0), Origin::Balanced);
        assert_eq!(origin_of(ME, &[(ME, 300), (OTHER, 700)], 0), Origin::Balanced);
        // Sessions of a node without data cannot have it nearer.
        assert_eq!(origin_of(ME, &[(ME, 0), (OTHER, 500)], 500), Origin::Balanced);
        assert_eq!(origin_of(ME, &[(ME, 0), (OTHER, WORK_MIN - 1)], 0), Origin::Balanced);
        assert_eq!(origin_of(ME, &[], 5000), Origin::Balanced);
        assert_eq!(origin_of(ME, &[(ME, u32::MAX), (OTHER, u32::MAX)], u32::MAX), Origin::Balanced);
    }
}
