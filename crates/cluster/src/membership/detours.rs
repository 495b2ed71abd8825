//! Ways around a path that is cut: two nodes that do not reach each other talk through a third that reaches both.
//!
//! Gossip says which nodes a node has links to. A node whose link to a peer has been down for a while looks
//! for nodes that are linked to both, and wraps its frames into frames of kind [`FRAME_ROUTED`] to the first of them, which passes
//! them on. A frame is passed on once, over a link; only the incarnation takes it that it was meant for, from an incarnation that is not
//! known to be over, and only while the receiver has no link to the sender itself.
//!
//! Frames of one lane stay in order, for the node between handles each on the lane it came by. When any of the nodes
//! that could be between goes missing, frames may have been lost that the sender believes sent: both ends then
//! treat the peer as they treat one whose link broke, and start over through another.

use shoal_transport::{Hello, Responder};
use shoal_types::{Error, NodeId, Result};

use crate::base::topology::Roles;
use crate::base::wait::lock;
use crate::membership::frames::{Address, FRAME_ROUTED};
use crate::membership::peers::{Membership, Peer};

/// What a node does with a frame that is passed on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Routed {
    /// It is for this node.
    Here,
    Onwards,
    No,
}

/// The nodes that a peer without a link can be reached through, best first, and its incarnation as they know it.
pub(crate) fn detours(
    peers: &[(NodeId, Peer)],
    to: NodeId,
    me: NodeId,
    my_incarnation: u64,
) -> (Vec<NodeId>, u64) {
    let Some((_, target)) = peers.iter().find(|(node, _)| *node == to) else { return (Vec::new(), 0) };
    let known = |peer: &Peer, node: NodeId| peer.links.iter().find(|link| link.0 == node).map(|link| link.1);
    let between = peers.iter().filter(|(node, peer)| *node != to && peer.is_linked);
    let between = between.filter(|(_, peer)| known(peer, me) == Some(my_incarnation));
    let seen: Vec<_> = between.filter_map(|(node, peer)| Some((*node, peer, known(peer, to)?))).collect();
    let newest = seen.iter().map(|&(.., incarnation)| incarnation).max().unwrap_or(0);
    if newest <= target.dead || newest < target.incarnation {
        return (Vec::new(), 0);
    }
    let mut nodes: Vec<_> = seen.iter().filter(|&&(.., incarnation)| incarnation == newest).collect();
    // Management nodes have the least to do.
    nodes.sort_unstable_by_key(|(node, peer, _)| (!peer.roles.management, *node));
    (nodes.into_iter().map(|&(node, ..)| node).collect(), newest)
}

impl Membership {
    /// The address on what goes to a peer that is reached through another.
    pub(crate) fn address(&self, to: NodeId, kind: u8) -> Address {
        let to_incarnation = lock(&self.peers).get(&to).map_or(0, |peer| peer.incarnation);
        Address { to, from: self.options.me, to_incarnation, from_incarnation: self.incarnation, kind }
    }

    /// A peer has got a link: it is reached over that and no other way from here on. True: it was reached through another
    /// node until now.
    pub(crate) fn meet_on_link(&self, node: NodeId, hello: &Hello) -> bool {
        let mut peers = lock(&self.peers);
        let peer = peers.entry(node).or_default();
        let went_around = self.routes.through(node).is_some();
        // Under the lock under which ways around are found: a peer with a link has none.
        self.routes.set(node, None);
        peer.started &= !went_around;
        peer.meet(hello.incarnation);
        peer.roles = Roles::from_bits(hello.roles);
        peer.set_linked(true);
        peer.refused = None;
        went_around
    }

    /// A peer without a link is reached through others from now on. False: there is no need.
    pub(crate) fn set_detours(&self, node: NodeId, detours: Vec<NodeId>, incarnation: u64) -> bool {
        let mut peers = lock(&self.peers);
        let peer = peers.entry(node).or_default();
        if peer.is_linked || (peer.is_up && peer.detours == detours) {
            return false;
        }
        let begins = !peer.is_up;
        peer.meet(incarnation);
        peer.is_up = true;
        self.routes.set(node, detours.first().copied());
        peer.detours = detours;
        begins
    }

    /// The link to an incarnation of a peer has ended, and nothing leads to it. False: that incarnation is over.
    pub(crate) fn lose_link(&self, node: NodeId, incarnation: u64) -> bool {
        let mut peers = lock(&self.peers);
        let Some(peer) = peers.get_mut(&node).filter(|peer| peer.incarnation == incarnation) else { return false };
        peer.set_linked(false);
        peer.started = false;
        self.routes.set(node, None);
        true
    }

    /// A peer that was reached through these is not any more. False: that is how it was; it has got a link, or other ways around.
    pub(crate) fn lose_detours(&self, node: NodeId, detours: &[NodeId]) -> bool {
        let mut peers = lock(&self.peers);
        let reached = |peer: &&mut Peer| !peer.is_linked && peer.is_up && peer.detours == detours;
        let Some(peer) = peers.get_mut(&node).filter(reached) else { return false };
        (peer.is_up, peer.started) = (false, false);
        peer.detours.clear();
        self.routes.set(node, None);
        true
    }

    /// What to do with a frame that `between` has sent on or wants sent on.
    pub(crate) fn judge(&self, address: &Address, between: NodeId) -> Routed {
        let peers = lock(&self.peers);
        if address.to != self.options.me {
            let is_linked = |node, incarnation| {
                peers.get(&node).is_some_and(|peer| peer.is_linked && peer.incarnation == incarnation)
            };
            let goes_on = between == address.from
                && is_linked(address.from, address.from_incarnation)
                && is_linked(address.to, address.to_incarnation);
            return if goes_on { Routed::Onwards } else { Routed::No };
        }
        let is_cut_off = self.transport.get().is_some_and(|transport| transport.is_cut_off(address.from));
        let is_known = address.to_incarnation == self.incarnation
            && !is_cut_off
            && peers.get(&address.from).is_some_and(|peer| {
                !peer.is_linked && peer.detours.contains(&between) && peer.incarnation == address.from_incarnation
            });
        if is_known { Routed::Here } else { Routed::No }
    }
}

impl Membership {
    /// A frame that is passed on, without a reply. Returns what is inside if it is for this node.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn route_message<'a>(
        &self,
        between: NodeId,
        payload: &'a [u8],
    ) -> Result<Option<(Address, &'a [u8])>> {
        let (address, inside) = read_routed(payload)?;
        match (self.judge(&address, between), self.transport.get()) {
            (Routed::Here, _) => return Ok(Some((address, inside))),
            (Routed::Onwards, Some(transport)) => {
                let lane = transport.own_lane().unwrap_or(0);
                transport.send(address.to, lane, FRAME_ROUTED, |buffer| buffer.extend_from_slice(payload));
            }
            _ => {}
        }
        Ok(None)
    }

    /// The same with a request.
    pub(crate) fn route_request<'a>(
        &self,
        between: NodeId,
        payload: &'a [u8],
        mut responder: Responder,
    ) -> Result<Option<(Address, &'a [u8], Responder)>> {
        let (address, inside) = read_routed(payload)?;
        match self.judge(&address, between) {
            Routed::Here => return Ok(Some((address, inside, responder))),
            Routed::Onwards => {
                let Some(transport) = self.transport.get() else { return Ok(None) };
                let call = transport.call(address.to, FRAME_ROUTED, |buffer| buffer.extend_from_slice(payload));
                tokio::task::spawn_local(async move {
                    let answer = tokio::select! {
                        answer = call => answer,
                        () = responder.cancelled() => return,
                    };
                    match answer {
                        Ok(reply) => {
                            responder.reply(reply.kind, |buffer| buffer.extend_from_slice(&reply.payload));
                        }
                        Err(error) => responder.refuse(&error.to_string()),
                    }
                });
            }
            Routed::No => responder.refuse("there is no way to that node through this one just now"),
        }
        Ok(None)
    }
}

/// The address on a frame that is passed on, and what is inside. Only such a frame that nobody has to pass on again.
fn read_routed(payload: &[u8]) -> Result<(Address, &[u8])> {
    let read = Address::read(payload).filter(|(address, _)| address.kind != FRAME_ROUTED);
    read.ok_or_else(|| Error::unknown("a frame to be passed on has no address, or is one that was").as_spoilt())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const ME: NodeId = NodeId(1);
    const TARGET: NodeId = NodeId(2);

    fn linked(incarnation: u64, links: &[(u32, u64)]) -> Peer {
        let links = links.iter().map(|&(node, life)| (NodeId(node), life)).collect();
        let mut peer = Peer { incarnation, links, ..Peer::default() };
        peer.set_linked(true);
        peer
    }

    #[test]
    fn whoever_reaches_both_lives_is_a_way_around_and_management_nodes_come_first() {
        let target = Peer { incarnation: 20, ..Peer::default() };
        let mut manager = linked(40, &[(1, 10), (2, 20)]);
        manager.roles = Roles { management: true, ..Roles::default() };
        let peers = |target: &Peer| {
            vec![
                (TARGET, target.clone()),
                (NodeId(3), linked(30, &[(1, 10), (2, 20)])),
                (NodeId(4), manager.clone()),
                // Does not see the target; sees another incarnation of this node; is not linked itself.
                (NodeId(5), linked(50, &[(1, 10)])),
                (NodeId(6), linked(60, &[(1, 9), (2, 20)])),
                (NodeId(7), Peer { links: vec![(ME, 10), (TARGET, 20)], ..Peer::default() }),
            ]
        };
        let found = |target: &Peer| detours(&peers(target), TARGET, ME, 10);
        assert_eq!(found(&target), (vec![NodeId(4), NodeId(3)], 20));
        // Whom all the others know as dead, or as older than the incarnation this node has met, is not there.
        assert_eq!(found(&Peer { dead: 20, ..target.clone() }).0, []);
        assert_eq!(found(&Peer { incarnation: 21, ..target.clone() }).0, []);
        // A newer incarnation is met through the others.
        assert_eq!(found(&Peer { incarnation: 19, ..target }).1, 20);
    }

    /// A node that starts was reached on a way around before it had the time to make its links: what it began was lost with the first
    /// of them.
    #[test]
    fn a_new_incarnation_has_the_time_to_make_its_links() {
        let long_ago = Instant::now().checked_sub(Duration::from_secs(60));
        let after = Duration::from_secs(30);
        let mut peer = Peer { incarnation: 20, down_since: long_ago, ..Peer::default() };
        assert!(peer.is_without_link_for(after, 20));
        assert!(!peer.is_without_link_for(after, 21));
        assert!(!peer.is_without_link_for(after, 21));
        peer.down_since = long_ago;
        assert!(peer.is_without_link_for(after, 21));
        peer.set_linked(true);
        assert!(!peer.is_without_link_for(after, 22));
    }

    #[test]
    fn a_peer_with_a_link_is_reached_over_that_alone() {
        let cluster = crate::membership::links::tests::cluster();
        let hello = Hello { node: TARGET, incarnation: 20, ..Hello::default() };
        assert!(cluster.set_detours(TARGET, vec![NodeId(3)], 20));
        assert_eq!(cluster.routes.through(TARGET), Some(NodeId(3)));
        assert!(cluster.meet_on_link(TARGET, &hello), "it was reached through another node");
        // Somebody had looked for a way around just before.
        assert!(!cluster.set_detours(TARGET, vec![NodeId(3)], 20));
        assert_eq!(cluster.routes.through(TARGET), None);
        assert!(!cluster.meet_on_link(TARGET, &hello));
    }

    /// A peer that got its link while somebody found that the way around was lost once counted as not reached for as long as it had
    /// that link: no transaction of it was asked about, and nothing of what it led was found.
    #[test]
    fn a_way_around_that_is_lost_too_late_takes_no_link_away() {
        let cluster = crate::membership::links::tests::cluster();
        let hello = Hello { node: TARGET, incarnation: 20, ..Hello::default() };
        let detours = [NodeId(3)];
        assert!(cluster.set_detours(TARGET, detours.to_vec(), 20));
        cluster.meet_on_link(TARGET, &hello);
        assert!(!cluster.lose_detours(TARGET, &detours));
        assert!(cluster.is_up(TARGET));
        assert!(!cluster.lose_link(TARGET, 19), "of another incarnation");
        assert!(cluster.is_up(TARGET));
        assert!(cluster.lose_link(TARGET, 20));
        assert!(!cluster.is_up(TARGET));
        assert!(cluster.set_detours(TARGET, detours.to_vec(), 20));
        assert!(!cluster.lose_detours(TARGET, &[NodeId(4)]), "others were found");
        assert!(cluster.lose_detours(TARGET, &detours));
        assert!(!cluster.is_up(TARGET));
        assert_eq!(cluster.routes.through(TARGET), None);
    }
}
