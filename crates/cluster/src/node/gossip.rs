//! What this node tells the others of itself, and what it does with what they tell.

use prost::Message;
use shoal_partition::{Memory, Testimony};
use shoal_types::NodeId;

use crate::base::wait::lock;
use crate::membership::frames::FRAME_GOSSIP;
use crate::membership::gossip::{
    Gossip, NodeIncarnation, StoredTestimony, stored, stored_agreement, testimony_of,
};
use crate::membership::peers::{Membership, Peer};
use crate::node::Node;

impl Node {
    /// Tells the other nodes how things are here.
    pub(crate) fn send_gossip(&self) {
        let Some(cluster) = self.cluster() else { return };
        let bytes = self.gossip(cluster).encode_to_vec();
        for peer in cluster.peers_up() {
            cluster.send(peer, 0, FRAME_GOSSIP, |buffer| buffer.extend_from_slice(&bytes));
        }
    }

    fn gossip(&self, cluster: &Membership) -> Gossip {
        let me = cluster.options.me;
        let led = (0..=cluster.options.partition_count()).filter(|&one| cluster.leaders.of(one) == Some(me));
        let leads: Vec<u32> = led.collect();
        let incarnation_of = |(node, peer): (&NodeId, &Peer)| NodeIncarnation {
            node: u64::from(node.0),
            incarnation: peer.incarnation,
        };
        let mut links: Vec<NodeIncarnation> =
            lock(&cluster.peers).iter().filter(|(_, peer)| peer.is_linked).map(incarnation_of).collect();
        links.sort_unstable_by_key(|link| link.node);
        Gossip {
            links,
            testimonies: self.hosted().filter_map(|partition| self.testimony(cluster, partition)).collect(),
            agreements: self
                .agreements()
                .iter()
                .map(|(partition, known)| stored_agreement(*partition, known))
                .collect(),
            catalog_version: self.catalog_version(),
            terms: leads.iter().map(|&partition| cluster.leaders.term_of(partition)).collect(),
            leads,
            started: self.is_started(),
            disk_is_full: self.log().disk_space_low(),
            mysql: self.mysql_address(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn testimony(&self, cluster: &Membership, partition: u32) -> Option<StoredTestimony> {
        let heard = cluster.testimonies(partition).into_iter().map(|(incarnation, _)| incarnation).collect();
        let Testimony { memory, start, end, heard } = self.partition(partition).testimony(self.is_new(), heard)?;
        let (whole, new) = (memory == Memory::Whole, memory == Memory::New);
        let heard = stored(&heard);
        Some(StoredTestimony { partition, start, term: end.term, index: end.index, heard, whole, new })
    }

    /// Takes in what another node has told.
    pub(crate) fn receive_gossip(&self, from: NodeId, payload: &[u8]) {
        let (Some(cluster), Ok(gossip)) = (self.cluster(), Gossip::decode(payload)) else { return };
        for (&partition, &term) in gossip.leads.iter().zip(&gossip.terms) {
            cluster.learn_leader(partition, from, term);
        }
        let led_before =
            (0..=cluster.options.partition_count()).filter(|&one| cluster.leaders.of(one) == Some(from));
        for partition in led_before.filter(|one| !gossip.leads.contains(one)).collect::<Vec<_>>() {
            cluster.forget_leader(partition, from);
        }
        self.note_newest_catalog(gossip.catalog_version);
        self.receive_agreements(cluster, &gossip.agreements);
        let links: Vec<_> = gossip.links.iter().map(|link| (NodeId(link.node as u32), link.incarnation)).collect();
        let mut peers = lock(&cluster.peers);
        let peer = peers.entry(from).or_default();
        let has_other_links = peer.links != links;
        peer.links = links;
        peer.testimonies = gossip.testimonies.iter().map(|told| (told.partition, testimony_of(told))).collect();
        peer.catalog_version = gossip.catalog_version;
        peer.started = gossip.started;
        peer.disk_is_full = gossip.disk_is_full;
        peer.mysql = gossip.mysql;
        peer.version = gossip.version;
        drop(peers);
        if has_other_links {
            self.find_routes();
        }
    }
}
