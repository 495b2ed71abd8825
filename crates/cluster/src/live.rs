//! What a node of a cluster knows of the others, and what it tells them.
//!
//! Every node tells every other a few times a second, and at once when it changes, which partitions it leads, which version of the
//! dictionary it has and which snapshots its transactions may still read. That is all the agreement there is outside
//! the Raft groups, and nothing depends on its being fresh but speed: leaders are hints, the dictionary is fetched from its
//! leader, and a horizon that is too old only keeps versions longer.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Instant;

use prost::Message;
use shoal_transport::{Call, Transport};
use shoal_types::NodeId;
use tokio::sync::mpsc;

use crate::events::EventLog;
use crate::management::ManagementState;
use crate::mesh::{FRAME_NEWS, FRAME_ROUTED};
use crate::meta_group::MetaState;
use crate::node::Node;
use crate::routes::Routes;
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
    pub(crate) routes: Routes,
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
    /// Groups that were begun by agreement that nobody knows more.
    pub(crate) begun_together: Mutex<BTreeSet<u32>>,
    pub(crate) jobs: mpsc::UnboundedSender<Job>,
    pub(crate) first_jobs: Mutex<Option<mpsc::UnboundedReceiver<Job>>>,
    pub(crate) meta: MetaState,
    pub(crate) transfers: Transfers,
    pub(crate) events: EventLog,
    pub(crate) management: ManagementState,
    /// The node is about to stop and should lead nothing.
    pub(crate) draining: AtomicBool,
    /// A partition is being handed over.
    pub(crate) hand_overs: AtomicBool,
    /// When it was looked at last where the work comes from, in milliseconds of this process.
    pub(crate) looked_at: AtomicU64,
    /// Operations of other nodes that wait here for something.
    pub(crate) underway: AtomicUsize,
    pub(crate) node: OnceLock<Weak<Node>>,
    map_version: AtomicU64,
    map_changed: tokio::sync::watch::Sender<u64>,
}

/// Another node, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub roles: Roles,
    pub incarnation: u64,
    /// It is reached, over a link or through another node.
    pub is_up: bool,
    /// Through these if it has no link.
    pub(crate) detours: Vec<NodeId>,
    /// Since when it has had no link.
    pub(crate) down_since: Option<Instant>,
    /// The newest of its lives of which there is proof that it is over.
    pub(crate) dead: u64,
    /// The nodes, and their lives, that it has links to, as it says.
    pub(crate) links: Vec<(NodeId, u64)>,
    pub(crate) is_linked: bool,
    /// Partitions of which it is not sure that it knows what it knew before it started.
    pub amnesiac: Vec<u32>,
    pub catalog_version: u64,
    pub started: bool,
    /// It has no room for what is written and should lead nothing.
    pub disk_is_full: bool,
    /// Where MySQL clients reach it.
    pub mysql: String,
    pub version: String,
    /// Why it, or this node, does not want to talk.
    pub refused: Option<String>,
}

impl Peer {
    fn unmet(roles: Roles) -> Peer {
        Peer { roles, down_since: Some(Instant::now()), ..Peer::default() }
    }

    pub(crate) fn set_linked(&mut self, is_linked: bool) {
        self.is_linked = is_linked;
        self.is_up = is_linked;
        self.down_since = (!is_linked).then(Instant::now);
        self.detours.clear();
    }

    /// What was known of an earlier life is not true of this one.
    pub(crate) fn meet(&mut self, incarnation: u64) {
        if self.incarnation != incarnation {
            self.amnesiac.clear();
            self.catalog_version = 0;
            self.started = false;
        }
        self.incarnation = incarnation;
    }
}

/// What nodes tell each other.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct News {
    /// Partitions in whose groups the sender may not vote.
    #[prost(uint32, repeated, tag = "1")]
    pub amnesiac: Vec<u32>,
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
    /// The nodes that the sender has links to, and which of their lives.
    #[prost(uint32, repeated, tag = "9")]
    pub linked: Vec<u32>,
    #[prost(uint64, repeated, tag = "10")]
    pub lives: Vec<u64>,
    #[prost(bool, tag = "11")]
    pub disk_is_full: bool,
}

impl Cluster {
    pub(crate) fn new(options: ClusterOptions, incarnation: u64, initialised: bool) -> Cluster {
        let (jobs, first_jobs) = mpsc::unbounded_channel();
        let peers = options.nodes.iter().filter(|node| node.id != options.me);
        let peers = peers.map(|node| (node.id, Peer::unmet(node.roles))).collect();
        Cluster {
            leaders: Leaders::new(options.partition_count() + 1),
            peers: Mutex::new(peers),
            routes: Routes::new(options.nodes.iter().map(|node| node.id.0).max().unwrap_or(0)),
            transport: OnceLock::new(),
            incarnation,
            initialised: AtomicBool::new(initialised),
            newest_catalog: AtomicU64::new(0),
            knows_catalog: AtomicBool::new(false),
            reconcile: AtomicBool::new(false),
            following: AtomicBool::new(false),
            asking: Mutex::default(),
            begun_together: Mutex::default(),
            jobs,
            first_jobs: Mutex::new(Some(first_jobs)),
            meta: MetaState::default(),
            transfers: Transfers::default(),
            events: EventLog::default(),
            management: ManagementState::default(),
            draining: AtomicBool::new(false),
            underway: AtomicUsize::new(0),
            hand_overs: AtomicBool::new(false),
            looked_at: AtomicU64::new(0),
            node: OnceLock::new(),
            map_version: AtomicU64::new(0),
            map_changed: tokio::sync::watch::channel(0).0,
            options,
        }
    }

    /// Sends a one-way frame; false if there is no way.
    #[inline]
    pub(crate) fn send(&self, to: NodeId, lane: u32, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> bool {
        let Some(transport) = self.transport.get() else { return false };
        let lane = (lane % u32::from(self.options.lanes)) as u16;
        match self.routes.through(to) {
            None => transport.send(to, lane, kind, payload),
            Some(through) => {
                let address = self.address(to, kind);
                transport.send(through, lane, FRAME_ROUTED, |buffer| {
                    address.put(buffer);
                    payload(buffer);
                })
            }
        }
    }

    /// Sends a request on the lane of this thread. `None` before the links are made.
    #[inline]
    pub(crate) fn call(&self, to: NodeId, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> Option<Call> {
        let transport = self.transport.get()?;
        Some(match self.routes.through(to) {
            None => transport.call(to, kind, payload),
            Some(through) => {
                let address = self.address(to, kind);
                transport.call(through, FRAME_ROUTED, |buffer| {
                    address.put(buffer);
                    payload(buffer);
                })
            }
        })
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

    /// The node is connected, serves and has room for what is written: it may lead in this one's place.
    pub(crate) fn can_take_over(&self, node: NodeId) -> bool {
        lock(&self.peers).get(&node).is_some_and(|peer| peer.is_up && peer.started && !peer.disk_is_full)
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

    /// All other voters of a group are connected, and none of them is sure of what it knew before it started.
    pub(crate) fn others_are_amnesiac(&self, partition: u32) -> bool {
        let me = u64::from(self.options.me.0);
        let peers = lock(&self.peers);
        let voters = self.options.placement(partition).voters();
        voters.into_iter().filter(|&voter| voter != me).all(|voter| {
            peers.get(&NodeId(voter as u32)).is_some_and(|peer| peer.is_up && peer.amnesiac.contains(&partition))
        })
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
        let mut linked = cluster.peers();
        linked.retain(|(_, peer)| peer.is_linked);
        News {
            linked: linked.iter().map(|(node, _)| node.0).collect(),
            lives: linked.iter().map(|(_, peer)| peer.incarnation).collect(),
            amnesiac: self.hosted().filter(|&partition| self.knows_nothing(partition)).collect(),
            catalog_version: self.catalog_version(),
            terms: leads.iter().map(|&partition| cluster.leaders.term_of(partition)).collect(),
            leads,
            started: self.is_started(),
            disk_is_full: self.log().disk_space_low(),
            mysql: self.mysql_address(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// This replica is not sure of what it knew before it started; or it has only just agreed with all others that none of them
    /// is, and they may not have heard of that yet.
    fn knows_nothing(&self, partition: u32) -> bool {
        let guard = self.partition(partition);
        let agreed = || {
            let agreed =
                self.cluster.as_ref().is_some_and(|cluster| lock(&cluster.begun_together).contains(&partition));
            agreed && guard.leader().is_none()
        };
        !guard.is_single() && (guard.is_amnesiac() || agreed())
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
        let links: Vec<_> = news.linked.into_iter().map(NodeId).zip(news.lives).collect();
        let mut peers = lock(&cluster.peers);
        let peer = peers.entry(from).or_default();
        let has_other_links = peer.links != links;
        peer.links = links;
        peer.amnesiac = news.amnesiac;
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
