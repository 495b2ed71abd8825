//! What nodes tell each other a few times a second, and at once when it changes: what they lead, what they reach, what they
//! remember, and how they are.

use std::sync::atomic::Ordering;

use prost::Message;
use shoal_partition::{Agreement, LogEnd, Memory, NodeLife, Testimony};
use shoal_types::NodeId;

use crate::base::wait::lock;
use crate::membership::links::FRAME_NEWS;
use crate::membership::peers::{Cluster, Peer};
use crate::node::Node;

/// A process of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Life {
    #[prost(uint64, tag = "1")]
    pub node: u64,
    #[prost(uint64, tag = "2")]
    pub incarnation: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredTestimony {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(uint64, tag = "2")]
    pub start: u64,
    #[prost(uint64, tag = "3")]
    pub term: u64,
    #[prost(uint64, tag = "4")]
    pub index: u64,
    #[prost(message, repeated, tag = "5")]
    pub heard: Vec<Life>,
    #[prost(bool, tag = "6")]
    pub whole: bool,
    #[prost(bool, tag = "7")]
    pub new: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredAgreement {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(uint64, tag = "2")]
    pub term: u64,
    #[prost(uint64, tag = "3")]
    pub index: u64,
    #[prost(message, repeated, tag = "4")]
    pub lives: Vec<Life>,
}

fn stored(lives: &[NodeLife]) -> Vec<Life> {
    lives.iter().map(|&(node, incarnation)| Life { node, incarnation }).collect()
}

fn stored_agreement((&partition, agreement): (&u32, &Agreement)) -> StoredAgreement {
    let LogEnd { term, index } = agreement.newest;
    StoredAgreement { partition, term, index, lives: stored(&agreement.lives) }
}

fn testimony_of(told: &StoredTestimony) -> Testimony {
    let memory = match (told.whole, told.new) {
        (true, _) => Memory::Whole,
        (false, true) => Memory::New,
        (false, false) => Memory::Amnesiac,
    };
    let end = LogEnd { term: told.term, index: told.index };
    Testimony { memory, start: told.start, end, heard: lives(&told.heard) }
}

fn lives(stored: &[Life]) -> Vec<NodeLife> {
    stored.iter().map(|life| (life.node, life.incarnation)).collect()
}

/// What nodes tell each other.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct News {
    #[prost(message, repeated, tag = "1")]
    pub testimonies: Vec<StoredTestimony>,
    #[prost(message, repeated, tag = "9")]
    pub agreements: Vec<StoredAgreement>,
    #[prost(uint64, tag = "2")]
    pub catalog_version: u64,
    /// Partitions that the sender leads, and since which terms.
    #[prost(uint32, repeated, tag = "4")]
    pub leads: Vec<u32>,
    #[prost(uint64, repeated, tag = "5")]
    pub terms: Vec<u64>,
    #[prost(bool, tag = "6")]
    pub started: bool,
    #[prost(string, tag = "7")]
    pub mysql: String,
    #[prost(string, tag = "8")]
    pub version: String,
    /// The nodes that the sender has links to.
    #[prost(message, repeated, tag = "10")]
    pub links: Vec<Life>,
    #[prost(bool, tag = "11")]
    pub disk_is_full: bool,
}

impl Node {
    /// Tells the other nodes how things are here.
    pub(crate) fn tell_news(&self) {
        let Some(cluster) = &self.cluster else { return };
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
            agreements: lock(&cluster.agreements).iter().map(stored_agreement).collect(),
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
        let Testimony { memory, start, end, heard } =
            self.partition(partition).testimony(cluster.is_new(), heard)?;
        let (whole, new) = (memory == Memory::Whole, memory == Memory::New);
        let heard = stored(&heard);
        Some(StoredTestimony { partition, start, term: end.term, index: end.index, heard, whole, new })
    }

    /// The voters of a partition have agreed on where they go on.
    pub(crate) fn take_agreement(&self, cluster: &Cluster, partition: u32, agreement: Agreement) {
        let mut guard = self.partition(partition);
        // One that was overtaken by a later one is told on for a while.
        let is_later = |known: &Agreement| known.newest >= agreement.newest;
        let is_known = lock(&cluster.agreements).get(&partition).is_some_and(is_later);
        if is_known && !guard.is_amnesiac() {
            return;
        }
        let forgotten = guard.forget_amnesia(agreement.newest);
        if let Err(error) = forgotten {
            drop(guard);
            return self.stop(&format!("partition {partition} cannot go on: {error}"));
        }
        self.settle_and_release(partition, guard);
        lock(&cluster.agreements).insert(partition, agreement);
    }

    /// What others have agreed on counts here if it names this very process.
    fn hear_agreements(&self, cluster: &Cluster, agreements: &[StoredAgreement]) {
        for told in agreements {
            let lives = lives(&told.lives);
            if lives.contains(&cluster.me()) && self.hosted().any(|partition| partition == told.partition) {
                let newest = LogEnd { term: told.term, index: told.index };
                self.take_agreement(cluster, told.partition, Agreement { lives, newest });
            }
        }
    }

    /// Takes in what another node has told.
    pub(crate) fn hear_news(&self, from: NodeId, payload: &[u8]) {
        let (Some(cluster), Ok(news)) = (&self.cluster, News::decode(payload)) else { return };
        for (&partition, &term) in news.leads.iter().zip(&news.terms) {
            cluster.learn_leader(partition, from, term);
        }
        let led_before =
            (0..=cluster.options.partition_count()).filter(|&one| cluster.leaders.of(one) == Some(from));
        for partition in led_before.filter(|one| !news.leads.contains(one)).collect::<Vec<_>>() {
            cluster.forget_leader(partition, from);
        }
        cluster.newest_catalog.fetch_max(news.catalog_version, Ordering::AcqRel);
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
