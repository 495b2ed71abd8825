//! What a node of a cluster knows of the others, and what it tells them.
//!
//! Every node tells every other a few times a second, and at once when it changes, which partitions it leads, which version of the
//! dictionary it has and which snapshots its transactions may still read. That is all the agreement there is outside
//! the Raft groups, and nothing depends on its being fresh but speed: leaders are hints, the dictionary is fetched from its
//! leader, and a horizon that is too old only keeps versions longer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use prost::Message;
use shoal_partition::{Agreement, LogEnd, Memory, NodeLife, Partition, Testimony};
use shoal_transport::Transport;
use shoal_types::NodeId;
use tokio::sync::mpsc;

use crate::events::EventLog;
use crate::management::ManagementState;
use crate::mesh::FRAME_NEWS;
use crate::meta_group::MetaState;
use crate::node::Node;
use crate::topology::{ClusterOptions, Leaders, Roles};
use crate::transfer::Transfers;
use crate::wait::lock;

/// Something to do on the cluster's thread.
pub(crate) type Job = Box<dyn FnOnce() -> std::pin::Pin<Box<dyn Future<Output = ()>>> + Send>;

/// A node's side of the cluster.
pub struct Cluster {
    pub options: ClusterOptions,
    pub(crate) leaders: Leaders,
    pub(crate) peers: Mutex<HashMap<NodeId, Peer>>,
    pub(crate) transport: OnceLock<Arc<Transport>>,
    /// Tells this process from the one before it.
    pub incarnation: u64,
    /// The replicas of this node's data directory have taken part in the cluster: what they do not know, others do.
    pub(crate) initialised: AtomicBool,
    /// The newest version of the dictionary that anybody has told of.
    pub(crate) newest_catalog: AtomicU64,
    /// This node has had the dictionary as its leader had it at some moment since this node started.
    pub(crate) knows_catalog: AtomicBool,
    /// This node may lead what it did not lead when it looked at its fragments last.
    pub(crate) reconcile: AtomicBool,
    /// The dictionary is being fetched.
    pub(crate) following: AtomicBool,
    /// Partitions that this node begins to lead, and their terms: it asks who reads which snapshots.
    pub(crate) asking: Mutex<BTreeSet<(u32, u64)>>,
    /// By partition: what its voters have agreed on, this node's present life among them.
    pub(crate) agreements: Mutex<BTreeMap<u32, Agreement>>,
    pub(crate) jobs: mpsc::UnboundedSender<Job>,
    pub(crate) first_jobs: Mutex<Option<mpsc::UnboundedReceiver<Job>>>,
    pub(crate) meta: MetaState,
    pub(crate) transfers: Transfers,
    pub(crate) events: EventLog,
    pub(crate) management: ManagementState,
    /// The node is about to stop and should lead nothing.
    pub(crate) draining: AtomicBool,
    pub(crate) node: OnceLock<Weak<Node>>,
    map_version: AtomicU64,
    map_changed: tokio::sync::watch::Sender<u64>,
}

/// Another node, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub roles: Roles,
    pub incarnation: u64,
    pub is_up: bool,
    /// What it tells of partitions without a leader, and of those of which it is not sure that it knows what it knew before it
    /// started.
    pub(crate) testimonies: BTreeMap<u32, Testimony>,
    pub catalog_version: u64,
    pub started: bool,
    /// Where MySQL clients reach it.
    pub mysql: String,
    pub version: String,
    /// Why it, or this node, does not want to talk.
    pub refused: Option<String>,
}

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
}

impl Cluster {
    pub(crate) fn new(options: ClusterOptions, incarnation: u64, initialised: bool) -> Cluster {
        let (jobs, first_jobs) = mpsc::unbounded_channel();
        let peers = options.nodes.iter().filter(|node| node.id != options.me);
        let peers = peers.map(|node| (node.id, Peer { roles: node.roles, ..Peer::default() })).collect();
        Cluster {
            leaders: Leaders::new(options.partition_count() + 1),
            peers: Mutex::new(peers),
            transport: OnceLock::new(),
            incarnation,
            initialised: AtomicBool::new(initialised),
            newest_catalog: AtomicU64::new(0),
            knows_catalog: AtomicBool::new(false),
            reconcile: AtomicBool::new(false),
            following: AtomicBool::new(false),
            asking: Mutex::default(),
            agreements: Mutex::default(),
            jobs,
            first_jobs: Mutex::new(Some(first_jobs)),
            meta: MetaState::default(),
            transfers: Transfers::default(),
            events: EventLog::default(),
            management: ManagementState::default(),
            draining: AtomicBool::new(false),
            node: OnceLock::new(),
            map_version: AtomicU64::new(0),
            map_changed: tokio::sync::watch::channel(0).0,
            options,
        }
    }

    /// Sends a one-way frame; false if there is no link.
    #[inline]
    pub(crate) fn send(&self, to: NodeId, lane: u32, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self.transport.get() {
            Some(transport) => transport.send(to, (lane % u32::from(self.options.lanes)) as u16, kind, payload),
            None => false,
        }
    }

    pub fn transport(&self) -> Option<&Arc<Transport>> {
        self.transport.get()
    }

    /// The nodes that are connected.
    pub fn peers_up(&self) -> Vec<NodeId> {
        let peers = lock(&self.peers);
        let mut up: Vec<NodeId> = peers.iter().filter(|(_, peer)| peer.is_up).map(|(&node, _)| node).collect();
        up.sort_unstable();
        up
    }

    /// Every other node that is known.
    pub fn peers(&self) -> Vec<(NodeId, Peer)> {
        let mut peers: Vec<_> = lock(&self.peers).iter().map(|(&node, peer)| (node, peer.clone())).collect();
        peers.sort_unstable_by_key(|&(node, _)| node);
        peers
    }

    /// The node is connected and serves.
    pub(crate) fn is_started(&self, node: NodeId) -> bool {
        lock(&self.peers).get(&node).is_some_and(|peer| peer.is_up && peer.started)
    }

    /// Runs something on the cluster's thread.
    pub fn spawn<F>(&self, job: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        // After the end there is nobody to do it for.
        let _ = self.jobs.send(Box::new(move || Box::pin(job())));
    }

    pub(crate) fn map_version(&self) -> u64 {
        self.map_version.load(Ordering::Acquire)
    }

    /// Who leads what, or who is there, has changed.
    pub(crate) fn raise_map_version(&self) {
        let version = self.map_version.fetch_add(1, Ordering::AcqRel) + 1;
        self.map_changed.send_modify(|known| *known = version);
    }

    pub(crate) fn map_changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.map_changed.subscribe()
    }

    pub(crate) fn learn_leader(&self, partition: u32, node: NodeId, term: u64) {
        if self.leaders.learn(partition, node, term) {
            self.raise_map_version();
        }
    }

    pub(crate) fn forget_leader(&self, partition: u32, node: NodeId) {
        if self.leaders.forget(partition, node) {
            self.raise_map_version();
        }
    }

    /// The replicas here have never taken part in anything.
    fn is_new(&self) -> bool {
        !self.initialised.load(Ordering::Acquire)
    }

    fn me(&self) -> NodeLife {
        (u64::from(self.options.me.0), self.incarnation)
    }

    /// What the other voters that are connected have told of a partition.
    fn testimonies(&self, partition: u32) -> Vec<(NodeLife, Testimony)> {
        let peers = lock(&self.peers);
        let voters = self.options.placement(partition).voters();
        let testimony_of = |voter: u64| {
            let peer = peers.get(&NodeId(voter as u32)).filter(|peer| peer.is_up)?;
            Some(((voter, peer.incarnation), peer.testimonies.get(&partition)?.clone()))
        };
        voters.into_iter().filter(|&voter| voter != self.me().0).filter_map(testimony_of).collect()
    }

    /// What the voters of a partition agree on, if they do; `replica` is this node's.
    pub(crate) fn agree(&self, partition: u32, replica: &Partition) -> Option<Agreement> {
        let told = self.testimonies(partition);
        let placement = self.options.placement(partition);
        if told.len() + 1 < placement.voters().len() {
            return None;
        }
        let others: Vec<(NodeLife, &Testimony)> =
            told.iter().map(|(life, testimony)| (*life, testimony)).collect();
        let own = replica.testimony(self.is_new(), Vec::new())?;
        Agreement::of(self.me(), &own, &others, placement.witness.map(|node| u64::from(node.0)))
    }
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
        News {
            testimonies: self.hosted().filter_map(|partition| self.testimony(cluster, partition)).collect(),
            agreements: lock(&cluster.agreements).iter().map(stored_agreement).collect(),
            catalog_version: self.catalog_version(),
            terms: leads.iter().map(|&partition| cluster.leaders.term_of(partition)).collect(),
            leads,
            started: self.is_started(),
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
            self.stop(&format!("partition {partition} cannot go on: {error}"));
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
        let mut peers = lock(&cluster.peers);
        let peer = peers.entry(from).or_default();
        peer.testimonies = news.testimonies.iter().map(|told| (told.partition, testimony_of(told))).collect();
        peer.catalog_version = news.catalog_version;
        peer.started = news.started;
        peer.mysql = news.mysql;
        peer.version = news.version;
    }
}
