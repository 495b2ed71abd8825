//! What a node of a cluster knows of the others.
//!
//! Beside what the Raft groups agree on, nodes only send each other [`Gossip`](super::gossip::Gossip). Only speed depends on how fresh it
//! is: leaders are hints, the dictionary is fetched from its leader, and a horizon that is too old only keeps versions longer.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use shoal_partition::{Incarnation, ReplicaReport};
use shoal_replication::Leaders;
use shoal_transport::{Call, Transport};
use shoal_types::NodeId;
use tokio::sync::mpsc;

use crate::base::topology::{ClusterOptions, Roles};
use crate::base::wait::lock;
use crate::membership::answers::Answers;
use crate::membership::frames::FRAME_ROUTED;
use crate::membership::handed_out::HandedOut;
use crate::membership::routes::Routes;

/// Something to do on the cluster's thread.
pub(crate) type Job = Box<dyn FnOnce() -> std::pin::Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The cluster as this node sees it.
pub struct Membership {
    pub options: ClusterOptions,
    pub(crate) leaders: Leaders,
    pub(crate) peers: Mutex<HashMap<NodeId, Peer>>,
    pub(crate) routes: Routes,
    pub(crate) transport: OnceLock<Arc<Transport>>,
    /// Tells this process from the one before it.
    pub incarnation: u64,
    pub(crate) jobs: mpsc::UnboundedSender<Job>,
    pub(crate) first_jobs: Mutex<Option<mpsc::UnboundedReceiver<Job>>>,
    /// Node ids that were given to processes that have not connected yet.
    pub(crate) handed_out: Mutex<HandedOut>,
    answers: OnceLock<Weak<dyn Answers>>,
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
    /// Since when it has had no link, or others have talked of a new incarnation that has none.
    pub(crate) down_since: Option<Instant>,
    /// The newest incarnation that others have talked of.
    pub(crate) heard_of: u64,
    /// The newest of its incarnations that is proven to be over.
    pub(crate) dead: u64,
    /// The nodes, with their incarnations, that it says it has links to.
    pub(crate) links: Vec<(NodeId, u64)>,
    pub(crate) is_linked: bool,
    /// What it tells of partitions without a leader, and of those of which it is not sure that it knows what it knew before it
    /// started.
    pub(crate) reports: BTreeMap<u32, ReplicaReport>,
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

    /// It has had no link for so long, in the incarnation that others have links to. A new one may be making its own: what it
    /// begins on a way around would be lost in that moment.
    pub(crate) fn is_without_link_for(&mut self, duration: Duration, incarnation: u64) -> bool {
        if incarnation != self.incarnation && incarnation != self.heard_of {
            self.heard_of = incarnation;
            self.down_since = self.down_since.map(|_| Instant::now());
        }
        self.down_since.is_some_and(|since| since.elapsed() >= duration)
    }

    /// Forgets what was known of an earlier incarnation.
    pub(crate) fn meet(&mut self, incarnation: u64) {
        if self.incarnation != incarnation {
            self.reports.clear();
            self.catalog_version = 0;
            self.started = false;
        }
        self.incarnation = incarnation;
    }
}

impl Membership {
    pub(crate) fn new(options: ClusterOptions, incarnation: u64) -> Membership {
        let (jobs, first_jobs) = mpsc::unbounded_channel();
        let peers = options.nodes.iter().filter(|node| node.id != options.me);
        let peers = peers.map(|node| (node.id, Peer::unmet(node.roles))).collect();
        Membership {
            leaders: Leaders::new(options.partition_count() + 1),
            peers: Mutex::new(peers),
            routes: Routes::new(options.nodes.iter().map(|node| node.id.0).max().unwrap_or(0)),
            transport: OnceLock::new(),
            incarnation,
            jobs,
            first_jobs: Mutex::new(Some(first_jobs)),
            handed_out: Mutex::default(),
            answers: OnceLock::new(),
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

    /// How many links to other nodes have ended: what was on its way on them may be lost.
    pub fn links_lost(&self) -> u64 {
        let states = self.transport().map_or(Vec::new(), |transport| transport.peer_states());
        states.iter().map(|state| state.links_lost).sum()
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

    /// `node` does not lead the partition; `hint` is who it thinks does.
    pub(crate) fn misplaced_leader(&self, partition: u32, node: NodeId, hint: Option<NodeId>) {
        if self.leaders.misplaced(partition, node, hint) {
            self.raise_map_version();
        }
    }

    /// A node has said what it leads.
    pub(crate) fn hear_leads(&self, from: NodeId, leads: &[(u32, u64)]) {
        if self.leaders.hear(from, leads) {
            self.raise_map_version();
        }
    }

    pub(crate) fn me(&self) -> Incarnation {
        (u64::from(self.options.me.0), self.incarnation)
    }

    /// What the other voters that are connected have told of a partition.
    pub(crate) fn reports(&self, partition: u32) -> Vec<(Incarnation, ReplicaReport)> {
        let peers = lock(&self.peers);
        let voters = self.options.placement(partition).voters();
        let report_of = |voter: u64| {
            let peer = peers.get(&NodeId(voter as u32)).filter(|peer| peer.is_up)?;
            Some(((voter, peer.incarnation), peer.reports.get(&partition)?.clone()))
        };
        voters.into_iter().filter(|&voter| voter != self.me().0).filter_map(report_of).collect()
    }

    /// Another node is reached.
    pub fn is_up(&self, node: NodeId) -> bool {
        lock(&self.peers).get(&node).is_some_and(|peer| peer.is_up)
    }

    /// What answers this node's requests to itself. Once.
    pub(crate) fn set_answers(&self, answers: Weak<dyn Answers>) {
        let _ = self.answers.set(answers);
    }

    /// `None` when the node is stopping.
    pub(crate) fn answers(&self) -> Option<Arc<dyn Answers>> {
        self.answers.get()?.upgrade()
    }
}
