//! The oldest snapshots that other nodes' transactions may read.

use std::collections::BTreeMap;

use shoal_types::{NodeId, Timestamp};

/// What peers have said of theirs.
#[derive(Debug, Default)]
pub struct PeerHorizons {
    oldest: BTreeMap<NodeId, Timestamp>,
}

impl PeerHorizons {
    /// A peer's transactions read no snapshot before `horizon` any more.
    pub fn note(&mut self, node: NodeId, horizon: Timestamp) {
        let known = self.oldest.entry(node).or_insert(horizon);
        *known = (*known).max(horizon);
    }

    /// The least of these peers' horizons; a peer that has not spoken yet holds everything back.
    pub fn least(&self, peers: impl IntoIterator<Item = NodeId>) -> Timestamp {
        let of = |peer| self.oldest.get(&peer).copied().unwrap_or(Timestamp::ZERO);
        peers.into_iter().map(of).min().unwrap_or(Timestamp::MAX)
    }

    /// The process of this peer is gone; its successor has to speak first.
    pub fn forget(&mut self, node: NodeId) {
        self.oldest.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_of_peers_rises_alone_and_a_silent_peer_holds_it_back() {
        let mut horizons = PeerHorizons::default();
        let (first, second) = (NodeId(2), NodeId(3));
        assert_eq!(horizons.least([]), Timestamp::MAX);
        horizons.note(first, Timestamp(10));
        assert_eq!(horizons.least([first, second]), Timestamp::ZERO);
        horizons.note(second, Timestamp(20));
        horizons.note(first, Timestamp(5));
        assert_eq!(horizons.least([first, second]), Timestamp(10));
        horizons.forget(first);
        assert_eq!((horizons.least([first]), horizons.least([second])), (Timestamp::ZERO, Timestamp(20)));
    }
}
