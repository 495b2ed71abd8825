//! Who leads which partition, as far as this node has heard.
//!
//! Leaders are hints: the newest term that was heard of wins, and a node that is asked by mistake says so.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::NodeId;

/// Leaders as far as this node has heard.
pub struct Leaders {
    /// For every partition, the meta partition last: term << 16 | node; node 0 is nobody.
    known: Box<[AtomicU64]>,
}

const NODE_BITS: u32 = 16;

impl Leaders {
    /// Nobody is known to lead any of so many partitions.
    pub fn new(partitions: u32) -> Leaders {
        Leaders { known: (0..partitions).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The node that leads a partition, as far as is known.
    #[inline]
    pub fn of(&self, partition: u32) -> Option<NodeId> {
        let known = self.known.get(partition as usize)?.load(Ordering::Acquire);
        let node = (known & ((1 << NODE_BITS) - 1)) as u32;
        (node != 0).then_some(NodeId(node))
    }

    /// The term in which the partition's known leader leads; 0 before the first.
    pub fn term_of(&self, partition: u32) -> u64 {
        self.known.get(partition as usize).map_or(0, |known| known.load(Ordering::Acquire) >> NODE_BITS)
    }

    /// Somebody said that `node` leads since `term`. False: nothing new.
    pub fn learn(&self, partition: u32, node: NodeId, term: u64) -> bool {
        let Some(known) = self.known.get(partition as usize) else { return false };
        let heard = term << NODE_BITS | u64::from(node.0);
        known.fetch_max(heard, Ordering::AcqRel) < heard
    }

    /// `node` does not lead the partition any more, or is gone. False: it was not known to.
    pub fn forget(&self, partition: u32, node: NodeId) -> bool {
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

    /// `node` has answered that it does not lead the partition, or could not be reached; `hint` is who it thinks does. False: nothing new.
    pub fn misplaced(&self, partition: u32, node: NodeId, hint: Option<NodeId>) -> bool {
        let forgotten = self.forget(partition, node);
        let hint = hint.filter(|&hint| hint != node);
        hint.is_some_and(|hint| self.learn(partition, hint, self.term_of(partition))) || forgotten
    }

    /// A node has said what it leads, and since which terms: so much and no more. False: nothing new.
    pub fn hear(&self, from: NodeId, leads: &[(u32, u64)]) -> bool {
        let mut any = false;
        for &(partition, term) in leads {
            any |= self.learn(partition, from, term);
        }
        for partition in (0..self.known.len() as u32).filter(|&one| self.of(one) == Some(from)) {
            any |= !leads.iter().any(|&(led, _)| led == partition) && self.forget(partition, from);
        }
        any
    }

    /// The node leads nothing any more. False: it was not known to lead anything.
    pub fn forget_node(&self, node: NodeId) -> bool {
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
    fn what_a_node_says_no_more_that_it_leads_it_does_not_lead() {
        let leaders = Leaders::new(3);
        assert!(leaders.hear(NodeId(1), &[(0, 4), (1, 4)]));
        assert!(!leaders.hear(NodeId(1), &[(0, 4), (1, 4)]));
        leaders.learn(1, NodeId(2), 5);
        assert!(leaders.hear(NodeId(1), &[(2, 7)]));
        assert_eq!([0, 1, 2].map(|one| leaders.of(one)), [None, Some(NodeId(2)), Some(NodeId(1))]);
        assert!(leaders.misplaced(1, NodeId(2), Some(NodeId(3))));
        assert_eq!((leaders.of(1), leaders.term_of(1)), (Some(NodeId(3)), 5));
        assert!(!leaders.misplaced(1, NodeId(2), None));
    }

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
