//! The wait-for graph of the process: who waits for whom, and the search for a circle.
//!
//! A transaction waits for one thing at a time. Its edges are entered when it begins to wait, and whoever closes a
//! circle is its victim, so the graph never holds one. Edges age (a queue behind a lock moves on), so waiters come
//! back with fresh ones from time to time.

use std::collections::HashMap;
use std::sync::Mutex;

use shoal_types::TransactionId;

use crate::wait::lock;

#[derive(Default)]
pub struct WaitForGraph {
    edges: Mutex<HashMap<TransactionId, Vec<TransactionId>>>,
}

impl WaitForGraph {
    /// Enters that `waiter` waits for `holders`, in the place of what it waited for before. False, and nothing is
    /// entered, if that closes a circle.
    pub fn enter(&self, waiter: TransactionId, holders: &[TransactionId]) -> bool {
        let mut edges = lock(&self.edges);
        if closes_circle(&edges, waiter, holders) {
            edges.remove(&waiter);
            return false;
        }
        edges.insert(waiter, holders.to_vec());
        true
    }

    /// `waiter` waits no more.
    pub fn leave(&self, waiter: TransactionId) {
        lock(&self.edges).remove(&waiter);
    }

    pub fn len(&self) -> usize {
        lock(&self.edges).len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn closes_circle(
    edges: &HashMap<TransactionId, Vec<TransactionId>>,
    waiter: TransactionId,
    holders: &[TransactionId],
) -> bool {
    let mut seen = Vec::new();
    let mut ahead = holders.to_vec();
    while let Some(next) = ahead.pop() {
        if next == waiter {
            return true;
        }
        if seen.contains(&next) {
            continue;
        }
        seen.push(next);
        if let Some(further) = edges.get(&next) {
            ahead.extend_from_slice(further);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> TransactionId {
        TransactionId(number)
    }

    #[test]
    fn the_waiter_that_closes_a_circle_is_refused_and_the_others_stay() {
        let graph = WaitForGraph::default();
        assert!(graph.enter(id(1), &[id(2)]));
        assert!(graph.enter(id(2), &[id(3), id(4)]));
        assert!(graph.enter(id(5), &[id(1)]));
        assert!(!graph.enter(id(4), &[id(1)]));
        assert_eq!(graph.len(), 3);
        graph.leave(id(2));
        assert!(graph.enter(id(4), &[id(1)]));
    }
}
