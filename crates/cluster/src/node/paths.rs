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
            let is_lost = !peer.detours.is_empty() && (is_missing || incarnation != peer.incarnation);
            if is_lost && cluster.lose_detours(*node, &peer.detours) {
                self.reset_peer(*node);
                if found.is_empty() {
                    // Replicas that follow it need not wait until they miss its heartbeats.
                    self.peer_lost(*node, false);
                }
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

    /// Starts over with a peer, as what was on its way to or from it may be lost: forgets what it leads, holds and reads, and rolls its
    /// transactions back.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::options::NodeOptions;
    use crate::base::topology::{ClusterOptions, NodeEntry, Placement, Roles};
    use crate::membership::links::tests::options;
    use crate::replication::driver::tests::hear_leader;

    const PARTITION: u32 = 0;
    const INCARNATION: u64 = 7;

    /// Node 1 of three, alone.
    fn node(directory: &std::path::Path) -> std::sync::Arc<Node> {
        let data = Roles { data: true, ..Roles::default() };
        let nodes = [1, 2, 3].map(NodeId);
        let cluster = ClusterOptions {
            nodes: nodes.map(|id| NodeEntry { id, roles: data, address: None }).to_vec(),
            placements: vec![Placement { replicas: nodes.to_vec(), witness: None }],
            ..options()
        };
        let options = NodeOptions {
            cluster: Some(cluster),
            data_memory: Some(1 << 20),
            background_work: false,
            ..NodeOptions::new(directory)
        };
        Node::open(options).unwrap()
    }

    /// A leader that had been reached through another node was missed only when its heartbeats had been for an election timeout: failovers
    /// took a second and more where a third of that is enough.
    #[test]
    fn followers_of_a_node_are_told_when_the_last_way_around_to_it_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let node = node(directory.path());
        let cluster = node.cluster().unwrap();
        let (leader, between) = (NodeId(2), NodeId(3));
        let change =
            |peer: NodeId, change: &dyn Fn(&mut Peer)| change(lock(&cluster.peers).entry(peer).or_default());
        change(between, &|peer| {
            peer.set_linked(true);
            peer.links = vec![(NodeId(1), cluster.incarnation), (leader, INCARNATION)];
        });
        assert!(cluster.set_detours(leader, vec![between], INCARNATION));
        hear_leader(&node, PARTITION);
        // No assertion while the partition is held: a panic under it ends the process.
        let followed = || node.partition(PARTITION).leader();
        let led_by = |expected: Option<u64>| assert_eq!(followed(), expected);
        node.find_routes();
        led_by(Some(2));
        // Node 3 has lost its link to it as well.
        change(between, &|peer| peer.links.retain(|link| link.0 != leader));
        node.find_routes();
        led_by(None);
        node.close().unwrap();
    }
}
