//! Which peers are reached through another node: read for every frame.

use std::sync::atomic::{AtomicU32, Ordering};

use shoal_types::NodeId;

/// The way to every peer.
pub(crate) struct Routes {
    /// By the peer's node id; 0 for those that are not.
    through: Box<[AtomicU32]>,
}

impl Routes {
    pub(crate) fn new(node_id_max: u32) -> Routes {
        Routes { through: (0..=node_id_max).map(|_| AtomicU32::new(0)).collect() }
    }

    #[inline]
    pub(crate) fn through(&self, to: NodeId) -> Option<NodeId> {
        let through = self.through.get(to.0 as usize)?.load(Ordering::Acquire);
        (through != 0).then_some(NodeId(through))
    }

    pub(crate) fn set(&self, to: NodeId, through: Option<NodeId>) {
        if let Some(place) = self.through.get(to.0 as usize) {
            place.store(through.map_or(0, |node| node.0), Ordering::Release);
        }
    }
}
