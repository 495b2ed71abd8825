//! Who leads which partition, as far as this node has heard.
//!
//! Leaders are hints: the newest term that was heard of wins, and a node that is asked by mistake says so.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::NodeId;

/// Leaders as far as this node has heard.
pub(crate) struct Leaders {
    /// For every partition, the meta partition last: term << 16 | node; node 0 is nobody.
    known: Box<[AtomicU64]>,
}

const NODE_BITS: u32 = 16;

impl Leaders {
    pub(crate) fn new(partitions: u32) -> Leaders {
        Leaders { known: (0..partitions).map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    pub(crate) fn of(&self, partition: u32) -> Option<NodeId> {
        let known = self.known.get(partition as usize)?.load(Ordering::Acquire);
        let node = (known & ((1 << NODE_BITS) - 1)) as u32;
        (node != 0).then_some(NodeId(node))
    }

    pub(crate) fn term_of(&self, partition: u32) -> u64 {
        self.known.get(partition as usize).map_or(0, |known| known.load(Ordering::Acquire) >> NODE_BITS)
    }

    /// Somebody said that `node` leads since `term`. False: nothing new.
    pub(crate) fn learn(&self, partition: u32, node: NodeId, term: u64) -> bool {
        let Some(known) = self.known.get(partition as usize) else { return false };
        let heard = term << NODE_BITS | u64::from(node.0);
        known.fetch_max(heard, Ordering::AcqRel) < heard
    }

    /// `node` does not lead the partition any more, or is gone. False: it was not known to.
    pub(crate) fn forget(&self, partition: u32, node: NodeId) -> bool {
        let Some(known) = self.known.get(partition as usize) else { return false };
        let mut present = known.load(Ordering::Acquire);
        while present & ((1 << NODE_BITS) - 1) == u64::from(node.0) && node.0 != 0 {
            let without = present >> NODE_BITS << NODE_BITS;
            match known.compare_exchange_weak(present, without, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(changed) => present = changed,
            }
        }
        false
    }

    pub(crate) fn forget_node(&self, node: NodeId) -> bool {
        let mut any = false;
        for partition in 0..self.known.len() as u32 {
            any |= self.forget(partition, node);
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_term_wins_and_a_leader_that_is_gone_is_forgotten() {
        let leaders = Leaders::new(2);
        assert_eq!(leaders.of(0), None);
        leaders.learn(0, NodeId(2), 5);
        leaders.learn(0, NodeId(1), 4);
        assert_eq!((leaders.of(0), leaders.term_of(0)), (Some(NodeId(2)), 5));
        leaders.forget(0, NodeId(1));
        assert_eq!(leaders.of(0), Some(NodeId(2)));
        leaders.forget_node(NodeId(2));
        assert_eq!(leaders.of(0), None);
        leaders.learn(0, NodeId(2), 4);
        assert_eq!(leaders.of(0), None);
        leaders.learn(0, NodeId(1), 6);
        assert_eq!(leaders.of(0), Some(NodeId(1)));
    }
}
