//! What this node tells the others of itself, and what it does with what they tell.

use prost::Message;
use shoal_partition::{Memory, Testimony};
use shoal_types::NodeId;

use crate::base::wait::lock;
use crate::membership::frames::FRAME_NEWS;
use crate::membership::gossip::{Life, News, StoredTestimony, stored, stored_agreement, testimony_of};
use crate::membership::peers::{Cluster, Peer};
use crate::node::Node;

impl Node {
    /// Tells the other nodes how things are here.
    pub(crate) fn tell_news(&self) {
        let Some(cluster) = self.cluster() else { return };
        let bytes = self.news(cluster).encode_to_vec();
        for peer in cluster.peers_up() {
            cluster.send(peer, 0, FRAME_NEWS, |buffer| buffer.extend_from_slice(&bytes));
        }
    }

    fn news(&self, cluster: &Cluster) -> News {
        let me = cluster.options.me;
        let led = (0..=cluster.options.partition_count()).filter(|&one| cluster.leaders.of(one) == Some(me));
        let leads: Vec<u32> = led.collect();
        let life_of =
            |(node, peer): (&NodeId, &Peer)| Life { node: u64::from(node.0), incarnation: peer.incarnation };
        let mut links: Vec<Life> =
            lock(&cluster.peers).iter().filter(|(_, peer)| peer.is_linked).map(life_of).collect();
        links.sort_unstable_by_key(|life| life.node);
        News {
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

    fn testimony(&self, cluster: &Cluster, partition: u32) -> Option<StoredTestimony> {
        let heard = cluster.testimonies(partition).into_iter().map(|(life, _)| life).collect();
        let Testimony { memory, start, end, heard } = self.partition(partition).testimony(self.is_new(), heard)?;
        let (whole, new) = (memory == Memory::Whole, memory == Memory::New);
        let heard = stored(&heard);
        Some(StoredTestimony { partition, start, term: end.term, index: end.index, heard, whole, new })
    }

    /// Takes in what another node has told.
    pub(crate) fn hear_news(&self, from: NodeId, payload: &[u8]) {
        let (Some(cluster), Ok(news)) = (self.cluster(), News::decode(payload)) else { return };
        for (&partition, &term) in news.leads.iter().zip(&news.terms) {
            cluster.learn_leader(partition, from, term);
        }
        let led_before =
            (0..=cluster.options.partition_count()).filter(|&one| cluster.leaders.of(one) == Some(from));
        for partition in led_before.filter(|one| !news.leads.contains(one)).collect::<Vec<_>>() {
            cluster.forget_leader(partition, from);
        }
        self.note_newest_catalog(news.catalog_version);
        self.hear_agreements(cluster, &news.agreements);
        let links: Vec<_> = news.links.iter().map(|life| (NodeId(life.node as u32), life.incarnation)).collect();
        let mut peers = lock(&cluster.peers);
        let peer = peers.entry(from).or_default();
        let has_other_links = peer.links != links;
        peer.links = links;
        peer.testimonies = news.testimonies.iter().map(|told| (told.partition, testimony_of(told))).collect();
        peer.catalog_version = news.catalog_version;
        peer.started = news.started;
        peer.disk_is_full = news.disk_is_full;
        peer.mysql = news.mysql;
        peer.version = news.version;
        drop(peers);
        if has_other_links {
            self.find_routes();
        }
    }
}
