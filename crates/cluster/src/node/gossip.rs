//! What this node tells the others of itself, and what it does with what they tell.

use prost::Message;
use shoal_partition::{Memory, ReplicaReport};
use shoal_types::{Error, NodeId, Result};

use crate::base::wait::lock;
use crate::membership::frames::FRAME_GOSSIP;
use crate::membership::gossip::{Gossip, NodeIncarnation, StoredReport, report_of, stored, stored_agreement};
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
            reports: self.hosted().filter_map(|partition| self.report(cluster, partition)).collect(),
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

    fn report(&self, cluster: &Membership, partition: u32) -> Option<StoredReport> {
        let others = cluster.reports(partition);
        let others: Vec<_> = others.iter().map(|(life, told)| (*life, told)).collect();
        let told = shoal_replication::report(&self.partition(partition), self.is_new(), &others)?;
        let ReplicaReport { memory, start, end, heard } = told;
        let (whole, new) = (memory == Memory::Whole, memory == Memory::New);
        let heard = stored(&heard);
        Some(StoredReport { partition, start, term: end.term, index: end.index, heard, whole, new })
    }

    /// Takes in what another node has told.
    ///
    /// # Errors
    /// No node tells that, and nothing of it was taken in.
    pub(crate) fn receive_gossip(&self, from: NodeId, payload: &[u8]) -> Result<()> {
        let Some(cluster) = self.cluster() else { return Ok(()) };
        let gossip = Gossip::decode(payload);
        let gossip = gossip.map_err(|_| Error::unknown("a frame with gossip cannot be read").as_spoilt())?;
        check_gossip(cluster, from, &gossip, self.newest_catalog_heard())?;
        let leads: Vec<(u32, u64)> = gossip.leads.iter().copied().zip(gossip.terms.iter().copied()).collect();
        cluster.hear_leads(from, &leads);
        self.note_newest_catalog(gossip.catalog_version);
        self.receive_agreements(cluster, &gossip.agreements);
        let links: Vec<_> = gossip.links.iter().map(|link| (NodeId(link.node as u32), link.incarnation)).collect();
        let mut peers = lock(&cluster.peers);
        let peer = peers.entry(from).or_default();
        let has_other_links = peer.links != links;
        peer.links = links;
        peer.reports = gossip.reports.iter().map(|told| (told.partition, report_of(told))).collect();
        peer.catalog_version = gossip.catalog_version;
        peer.started = gossip.started;
        peer.disk_is_full = gossip.disk_is_full;
        peer.mysql = gossip.mysql;
        peer.version = gossip.version;
        drop(peers);
        if has_other_links {
            self.find_routes();
        }
        Ok(())
    }
}

/// So far ahead of what is known here may be what a node tells: terms, and versions of the dictionary.
const AHEAD_MAX: u64 = 1 << 32;

/// Something may be new here, and nothing impossible: a leader is a voter, and neither terms nor versions jump. What they have risen to,
/// they are not forgotten for anything lower.
fn check_gossip(cluster: &Membership, from: NodeId, gossip: &Gossip, newest_catalog: u64) -> Result<()> {
    let spoilt = |what: String| Err(Error::unknown(format!("gossip says that {what}")).as_spoilt());
    if gossip.leads.len() != gossip.terms.len() {
        return spoilt("more partitions are led than terms have begun, or fewer".into());
    }
    for (&partition, &term) in gossip.leads.iter().zip(&gossip.terms) {
        let may_lead =
            partition <= cluster.options.partition_count() && cluster.options.placement(partition).has(from);
        if !may_lead {
            return spoilt(format!("a node without a replica of partition {partition} leads it"));
        }
        let known = cluster.leaders.term_of(partition);
        if term > known.saturating_add(AHEAD_MAX) {
            return spoilt(format!("partition {partition} has come to term {term}, and it was {known}"));
        }
    }
    let version = gossip.catalog_version;
    if version > newest_catalog.saturating_add(AHEAD_MAX) {
        return spoilt(format!("the dictionary has come to version {version}, and it was {newest_catalog}"));
    }
    Ok(())
}
