//! Peers that are met, lost, found dead, or reached through others: what the layers are told of it.

use std::time::Duration;

use shoal_types::NodeId;

use crate::base::wait::lock;
use crate::membership::detours::detours;
use crate::membership::peers::Peer;
use crate::node::Node;

/// A link that broke may be back at once, one that never was may be being made, and the peer may be dead: after so long a
/// way around is looked for.
const DETOUR_AFTER: Duration = Duration::from_millis(300);

impl Node {
    /// Looks for ways around for the peers without links, and gives up those that are no more. Takes no partition while
    /// it holds what it knows of the peers.
    pub(crate) fn find_routes(&self) {
        let Some(cluster) = self.cluster() else { return };
        if lock(&cluster.peers).values().all(|peer| peer.is_linked) {
            return;
        }
        let known = cluster.peers();
        for (node, peer) in known.iter().filter(|(_, peer)| !peer.is_linked) {
            let (found, incarnation) = match self.is_cut_off(*node) {
                true => (Vec::new(), peer.incarnation),
                false => detours(&known, *node, cluster.options.me, cluster.incarnation),
            };
            let is_missing = peer.detours.iter().any(|old| !found.contains(old));
            if !peer.detours.is_empty() && (is_missing || incarnation != peer.incarnation) {
                self.lose_peer(*node);
            }
            let is_due = |peer: &mut Peer| peer.is_without_link_for(DETOUR_AFTER, incarnation);
            if !found.is_empty() && lock(&cluster.peers).get_mut(node).is_some_and(is_due) {
                self.go_around(*node, peer, found, incarnation);
            }
        }
    }

    fn is_cut_off(&self, node: NodeId) -> bool {
        let transport = self.cluster().and_then(|cluster| cluster.transport());
        transport.is_some_and(|transport| transport.is_cut_off(node))
    }

    /// A peer is reached through others from now on.
    fn go_around(&self, node: NodeId, before: &Peer, detours: Vec<NodeId>, incarnation: u64) {
        let Some(cluster) = self.cluster() else { return };
        if incarnation != before.incarnation && before.incarnation != 0 {
            // It has a newer incarnation: the older one is over.
            self.peer_lost(node, true);
        }
        let through = detours[0];
        if !cluster.set_detours(node, detours, incarnation) {
            return;
        }
        cluster.raise_map_version();
        self.log_event("connection", &format!("Node {node} is reached through node {through}"));
        self.send_gossip();
    }

    /// What was on its way to or from a peer may be lost: its transactions are rolled back here, and what it leads is
    /// not to be reached until it speaks again.
    pub(crate) fn lose_peer(&self, peer: NodeId) {
        let Some(cluster) = self.cluster() else { return };
        if let Some(known) = lock(&cluster.peers).get_mut(&peer) {
            known.is_up = false;
            known.started = false;
            known.detours.clear();
            cluster.routes.set(peer, None);
        }
        self.reset_peer(peer);
    }

    /// Starts over with a peer: forgets what it leads, holds and reads, and rolls its transactions back.
    pub(crate) fn reset_peer(&self, peer: NodeId) {
        let Some(cluster) = self.cluster() else { return };
        cluster.leaders.forget_node(peer);
        cluster.raise_map_version();
        self.forget_peer_horizon(peer);
        self.release_definitions_of(peer);
        self.free_tables_of(peer);
        self.coordinator_gone(peer);
    }
}
