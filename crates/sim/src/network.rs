//! The links between nodes: which ways are cut or slow, which links are open, how a message fares.
//!
//! A link is what two processes have of each other: it breaks when one of them dies, when a way is silent for too long,
//! or when it is reset; each side finds out in its own time, and both have to agree to a new one.

use std::collections::{BTreeMap, BTreeSet};

use shoal_types::NodeId;

/// A pair of nodes, the smaller id first.
type Pair = (NodeId, NodeId);

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    open: bool,
    /// How often it was opened.
    epoch: u64,
}

#[derive(Default)]
pub struct Network {
    /// Ways (from, to) on which everything is lost.
    cut: BTreeSet<(NodeId, NodeId)>,
    slow: BTreeMap<(NodeId, NodeId), u64>,
    links: BTreeMap<Pair, Link>,
    /// Something on the way refuses connections between these.
    refused: BTreeSet<Pair>,
}

fn pair(one: NodeId, other: NodeId) -> Pair {
    (one.min(other), one.max(other))
}

impl Network {
    pub fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        self.cut.contains(&(from, to))
    }

    /// Both ways are there.
    pub fn is_whole(&self, one: NodeId, other: NodeId) -> bool {
        !self.is_cut(one, other) && !self.is_cut(other, one)
    }

    pub fn cut(&mut self, from: NodeId, to: NodeId) {
        if from != to {
            self.cut.insert((from, to));
        }
    }

    pub fn mend(&mut self, from: NodeId, to: NodeId) {
        self.cut.remove(&(from, to));
    }

    pub fn heal(&mut self) {
        self.cut.clear();
        self.slow.clear();
        self.refused.clear();
    }

    /// No fault concerns it.
    pub fn is_calm(&self) -> bool {
        self.cut.is_empty() && self.slow.is_empty() && self.refused.is_empty()
    }

    pub fn slow_down(&mut self, from: NodeId, to: NodeId, us: u64) {
        self.slow.insert((from, to), us);
    }

    pub fn speed_up(&mut self, from: NodeId, to: NodeId) {
        self.slow.remove(&(from, to));
    }

    pub fn extra_us(&self, from: NodeId, to: NodeId) -> u64 {
        self.slow.get(&(from, to)).copied().unwrap_or(0)
    }

    pub fn refuse(&mut self, one: NodeId, other: NodeId) {
        self.refused.insert(pair(one, other));
        self.close(one, other);
    }

    pub fn admit(&mut self, one: NodeId, other: NodeId) {
        self.refused.remove(&pair(one, other));
    }

    pub fn is_refused(&self, one: NodeId, other: NodeId) -> bool {
        self.refused.contains(&pair(one, other))
    }

    // ---- links ----

    /// The open link's number, if there is an open one.
    pub fn link(&self, one: NodeId, other: NodeId) -> Option<u64> {
        self.links.get(&pair(one, other)).filter(|link| link.open).map(|link| link.epoch)
    }

    pub fn open(&mut self, one: NodeId, other: NodeId) -> u64 {
        let link = self.links.entry(pair(one, other)).or_default();
        if !link.open {
            (link.open, link.epoch) = (true, link.epoch + 1);
        }
        link.epoch
    }

    pub fn close(&mut self, one: NodeId, other: NodeId) {
        self.links.entry(pair(one, other)).or_default().open = false;
    }

    pub fn close_all(&mut self, node: NodeId) {
        for (&(one, other), link) in &mut self.links {
            if one == node || other == node {
                link.open = false;
            }
        }
    }
}
