//! The links to the other nodes: which frames there are, what arrives, and the router's remote half over them.
//!
//! | kind | way | payload |
//! |---|---|---|
//! | 1 Raft | one-way | partition u32, Raft message |
//! | 2 news | one-way | [`News`](crate::membership::gossip::News) |
//! | 3 events | one-way, to management nodes | what has happened on a node |
//! | 16 operation | request, or one-way when nobody wants the reply | a transaction's frame; the crate above knows it |
//! | 17 service | request | one of [`services`](crate::membership::requests) |
//! | 18 routed | both | an address and another frame's payload: see [`routes`](crate::membership::routes) |

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use shoal_partition::decode_message;
use shoal_transport::{CLIENT, Handler, Hello, PeerAddress, Responder, Transport, TransportOptions};
use shoal_types::{NodeId, Timestamp};

use crate::base::clock::HybridClock;
use crate::base::cluster_log::Severity;
use crate::base::topology::{ClusterOptions, NodeEntry, Roles};
use crate::base::wait::{Waiter, lock};
use crate::membership::peers::Cluster;
use crate::membership::remote::{Call, CallError, Place, Remote};
use crate::node::Node;

pub(crate) const FRAME_RAFT: u8 = 1;
pub(crate) const FRAME_NEWS: u8 = 2;
pub(crate) const FRAME_EVENTS: u8 = 3;
pub(crate) const FRAME_OPERATION: u8 = 16;
pub(crate) const FRAME_SERVICE: u8 = 17;
pub(crate) const FRAME_ROUTED: u8 = 18;

/// Clocks that are further apart than this are a fault of a host, not of the network.
const CLOCK_DIFFERENCE_MAX_US: u64 = 60_000_000;

/// What nodes must have in common beside the frames' own version: raised when they cannot work together any more.
const PROGRAM_VERSION: u32 = 6;

/// What the crate above does with operations on partitions that this node leads.
pub trait Operations: Send + Sync + 'static {
    /// Executes a request on the link's thread. The reply goes into `reply` at once, or comes later.
    fn serve(&self, from: NodeId, request: &[u8], reply: &mut Vec<u8>) -> Served;

    /// The process of a coordinator is gone: what it had not prepared is rolled back.
    fn coordinator_gone(&self, node: NodeId);

    /// Moves this node's clock beyond the snapshots that other nodes may be reading.
    fn observe_snapshots(&self) -> Pin<Box<dyn Future<Output = ()>>>;
}

/// How an operation was taken.
pub enum Served {
    /// The reply is in the buffer; it is empty if the request wants none.
    Done,
    /// It has to wait for somebody, and ends with the reply: dropped, it is given up.
    Later(Pin<Box<dyn Future<Output = Vec<u8>>>>),
    /// Everything is done, and the reply leaves with the waiter's last signal: the function makes it, of whether that came.
    AtSignal(Waiter, Box<dyn FnOnce(bool) -> Vec<u8> + Send>),
}

impl Served {
    /// The reply, where there is somebody to wait for it; `reply` is the buffer that was served with.
    pub async fn reply(self, reply: Vec<u8>) -> Vec<u8> {
        match self {
            Served::Done => reply,
            Served::Later(later) => later.await,
            Served::AtSignal(waiter, reply) => {
                let has_come = waiter.wait().await;
                reply(has_come)
            }
        }
    }
}

/// What the links call.
pub(crate) struct Receiver {
    pub(crate) node: Weak<Node>,
    /// The node's.
    pub(crate) clock: Arc<HybridClock>,
}

/// What transactions call.
pub(crate) struct Links {
    pub(crate) cluster: Arc<Cluster>,
}

/// An operation of another node that is not answered yet.
struct Underway(Weak<Node>);

impl Underway {
    fn begin(node: &Arc<Node>) -> Underway {
        if let Some(cluster) = &node.cluster {
            cluster.underway.fetch_add(1, Ordering::Relaxed);
        }
        Underway(Arc::downgrade(node))
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if let Some(cluster) = self.0.upgrade().as_ref().and_then(|node| node.cluster.as_ref()) {
            cluster.underway.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Handler for Receiver {
    fn check(&self, theirs: &Hello) -> Result<(), String> {
        let Some(node) = self.node.upgrade() else { return Err("the node is stopping; try again later".into()) };
        match &node.cluster {
            Some(cluster) => {
                let checked = check_hello(cluster, theirs);
                if let Err(reason) = &checked {
                    node.note_refused(theirs.node, reason);
                }
                checked
            }
            None => Err("this process is a database of its own and takes no nodes".into()),
        }
    }

    fn clock(&self) -> u64 {
        self.clock.latest().0
    }

    fn observe_clock(&self, clock: u64) {
        self.clock.observe_peer(Timestamp(clock));
    }

    fn on_message(&self, from: NodeId, kind: u8, payload: &[u8]) {
        let Some(node) = self.node.upgrade().filter(|_| from != CLIENT) else { return };
        match kind {
            FRAME_RAFT => node.receive_raft(payload),
            FRAME_NEWS => node.hear_news(from, payload),
            FRAME_EVENTS => node.hear_events(from, payload),
            FRAME_ROUTED => {
                if let Some((address, inside)) = node.route_message(from, payload)
                    && address.kind != FRAME_ROUTED
                {
                    self.on_message(address.from, address.kind, inside);
                }
            }
            FRAME_OPERATION => {
                if let Some(operations) = node.operations.get()
                    && let Served::Later(rest) = operations.serve(from, payload, &mut Vec::new())
                {
                    tokio::task::spawn_local(async move {
                        let _ = rest.await;
                    });
                }
            }
            _ => tracing::debug!(%from, kind, "a frame of an unknown kind was ignored"),
        }
    }

    fn on_request(&self, from: NodeId, kind: u8, payload: &[u8], mut responder: Responder) {
        let Some(node) = self.node.upgrade() else { return };
        match kind {
            FRAME_SERVICE => node.serve_request(from, payload, responder),
            _ if from == CLIENT => responder.refuse("clients of this port may send management commands only"),
            FRAME_ROUTED => {
                if let Some((address, inside, responder)) = node.route_request(from, payload, responder) {
                    match address.kind {
                        FRAME_ROUTED => responder.refuse("a frame was to be passed on twice"),
                        kind => self.on_request(address.from, kind, inside, responder),
                    }
                }
            }
            FRAME_OPERATION => {
                let Some(operations) = node.operations.get() else { return };
                let mut reply = Vec::new();
                match operations.serve(from, payload, &mut reply) {
                    Served::Done => {
                        responder.reply(0, |buffer| buffer.extend_from_slice(&reply));
                    }
                    Served::Later(rest) => {
                        let underway = Underway::begin(&node);
                        tokio::task::spawn_local(async move {
                            let _underway = underway;
                            let finished = tokio::select! {
                                reply = rest => Some(reply),
                                () = responder.cancelled() => None,
                            };
                            if let Some(reply) = finished {
                                responder.reply(0, |buffer| buffer.extend_from_slice(&reply));
                            }
                        });
                    }
                    Served::AtSignal(waiter, reply) => {
                        let underway = Underway::begin(&node);
                        waiter.call(move |has_come| {
                            let _underway = underway;
                            let reply = reply(has_come);
                            responder.reply(0, |buffer| buffer.extend_from_slice(&reply));
                        });
                    }
                }
            }
            _ => responder.refuse("the request is of an unknown kind"),
        }
    }

    fn on_up(&self, peer: NodeId, hello: &Hello) {
        let Some(node) = self.node.upgrade().filter(|_| peer != CLIENT) else { return };
        let Some(cluster) = &node.cluster else { return };
        match cluster.meet_on_link(peer, hello) {
            // Frames that are still on their way around would come behind those on the link: they are dropped.
            true => node.forget_doings_of(peer),
            false => cluster.raise_map_version(),
        }
        lock(&cluster.handed_out).forget(peer);
        tracing::info!(%peer, "a node is connected");
        node.forget_refusal(peer);
        node.log_event("connection", &format!("Node {peer} Connected"));
        node.tell_news();
    }

    fn on_down(&self, peer: NodeId, incarnation: u64) {
        let Some(node) = self.node.upgrade() else { return };
        let Some(cluster) = &node.cluster else { return };
        {
            let mut peers = lock(&cluster.peers);
            let Some(known) = peers.get_mut(&peer).filter(|known| known.incarnation == incarnation) else {
                return;
            };
            known.set_linked(false);
        }
        tracing::info!(%peer, "a node is not connected any more");
        node.log_event_as(Severity::Alert, "connection", &format!("Node {peer} Disconnected"));
        node.lose_peer(peer);
        node.find_routes();
    }

    fn on_dead(&self, peer: NodeId, incarnation: u64) {
        let Some(node) = self.node.upgrade().filter(|_| peer != CLIENT) else { return };
        if let Some(cluster) = &node.cluster {
            lock(&cluster.peers).entry(peer).or_default().dead = incarnation;
        }
        node.find_routes();
        node.log_event_as(Severity::Alert, "node", &format!("Node {peer} is dead: its process is gone"));
        node.peer_died(peer);
    }

    fn on_refused(&self, peer: NodeId, reason: &str) {
        let Some(node) = self.node.upgrade().filter(|_| peer != CLIENT) else { return };
        let Some(cluster) = &node.cluster else { return };
        let told_before = lock(&cluster.peers).entry(peer).or_default().refused.replace(reason.to_owned());
        if told_before.as_deref() != Some(reason) {
            tracing::warn!(%peer, reason, "a node refuses to talk");
            let text = format!("Node {peer} and this node refuse each other: {reason}");
            node.log_event_as(Severity::Warning, "connection", &text);
            node.refused_by(peer, reason);
        }
    }
}

/// Why a process may not take part, in a sentence for its operator.
fn check_hello(cluster: &Cluster, theirs: &Hello) -> Result<(), String> {
    let options = &cluster.options;
    // Management clients need not know the cluster's name.
    if theirs.node == CLIENT && theirs.cluster.is_empty() {
        return Ok(());
    }
    if theirs.cluster != options.name {
        return Err(format!(
            "the cluster here is called '{}', not '{}'; check the Name in the [system] section of config.ini and the data directory",
            options.name, theirs.cluster
        ));
    }
    if theirs.node == CLIENT {
        return Ok(());
    }
    let Some(known) = options.node(theirs.node) else {
        return Err(format!(
            "node {} is not in the configuration of node {}; add it to config.ini on all nodes, or start with another --node-id",
            theirs.node, options.me
        ));
    };
    if theirs.node == options.me {
        return Err(format!(
            "node {} is this very node; start the other process with another --node-id",
            options.me
        ));
    }
    if Roles::from_bits(theirs.roles) != known.roles {
        return Err(format!(
            "node {} has the roles {} here, not {}; use the same config.ini on all nodes",
            theirs.node,
            known.roles,
            Roles::from_bits(theirs.roles)
        ));
    }
    if theirs.version != PROGRAM_VERSION {
        return Err(format!(
            "node {} runs another version of Shoal than node {} ({} and {PROGRAM_VERSION}); install the same one on all nodes",
            theirs.node, options.me, theirs.version
        ));
    }
    if theirs.config_hash != options.config_hash {
        return Err(format!(
            "the configurations of node {} and node {} differ in what must be alike (nodes, replicas, partitions, heartbeats); \
             copy one config.ini to all nodes and restart the one that is behind",
            theirs.node, options.me
        ));
    }
    let here = crate::base::clock::wall_micros();
    if here.abs_diff(theirs.wall_clock_us) > CLOCK_DIFFERENCE_MAX_US {
        return Err(format!(
            "the clocks of node {} and node {} are {} seconds apart; set them right (NTP) and start again",
            theirs.node,
            options.me,
            here.abs_diff(theirs.wall_clock_us) / 1_000_000
        ));
    }
    Ok(())
}

/// Of two nodes that can both be reached, the one with the higher id dials; one that cannot be reached dials itself.
fn dials(options: &ClusterOptions, peer: &NodeEntry) -> bool {
    let reachable = |node: Option<&NodeEntry>| node.is_some_and(|node| node.address.is_some());
    let i_am_reachable = reachable(options.node(options.me));
    peer.address.is_some() && (!i_am_reachable || options.me > peer.id)
}

impl Node {
    /// Makes the links to the other nodes. `listener` is where they reach this one. Every worker thread then calls
    /// `Transport::start_worker`.
    pub fn open_links(
        self: &Arc<Self>,
        workers: usize,
        listener: Option<std::net::TcpListener>,
    ) -> shoal_types::Result<Arc<Transport>> {
        let cluster = self.cluster.as_ref();
        let cluster =
            cluster.ok_or_else(|| shoal_types::Error::unknown("internal: this process is no cluster"))?;
        let options = &cluster.options;
        let others = options.nodes.iter().filter(|node| node.id != options.me);
        let peers = others.map(|node| PeerAddress {
            node: node.id,
            address: node.address.clone(),
            dial: dials(options, node),
        });
        let me = Hello {
            cluster: options.name.clone(),
            node: options.me,
            roles: options.roles().bits(),
            version: PROGRAM_VERSION,
            config_hash: options.config_hash,
            incarnation: cluster.incarnation,
            ..Hello::default()
        };
        let defaults = TransportOptions::default();
        let transport = Transport::new(
            TransportOptions {
                me,
                peers: peers.collect(),
                lanes: options.lanes,
                transporter: options.transporter,
                workers,
                heartbeat: options.heartbeat,
                unsent_bytes_max: options.unsent_bytes_max.unwrap_or(defaults.unsent_bytes_max),
                ..defaults
            },
            Arc::new(Receiver { node: Arc::downgrade(self), clock: Arc::clone(&self.clock) }),
        );
        if let Some(listener) = listener {
            transport.listen(listener);
        }
        let _ = cluster.transport.set(Arc::clone(&transport));
        Ok(transport)
    }

    fn receive_raft(&self, payload: &[u8]) {
        let Some((partition, rest)) = payload.split_first_chunk::<4>() else { return };
        let partition = u32::from_le_bytes(*partition);
        let hosted = self.partitions.get(partition as usize).is_some_and(|cell| cell.hosted);
        match decode_message(rest) {
            Ok(message) if hosted => self.step_replica(partition, message),
            Ok(_) => tracing::debug!(partition, "a message for a partition that is not here was ignored"),
            Err(error) => tracing::warn!(partition, %error, "a replica's message is damaged"),
        }
    }

    /// Proof that a process is gone: its groups need not wait for its leases to end.
    pub(crate) fn peer_died(&self, peer: NodeId) {
        for partition in self.hosted().collect::<Vec<_>>() {
            let mut guard = self.partition(partition);
            if guard.is_single() {
                continue;
            }
            if let Err(error) = guard.peer_died(u64::from(peer.0)) {
                drop(guard);
                return self.stop(&format!("partition {partition} cannot go on: {error}"));
            }
            self.settle_and_release(partition, guard);
        }
    }

    pub(crate) fn coordinator_gone(&self, peer: NodeId) {
        if let Some(operations) = self.operations.get() {
            operations.coordinator_gone(peer);
        }
    }
}

impl Remote for Links {
    fn node(&self) -> NodeId {
        self.cluster.options.me
    }

    fn place(&self, partition: u32) -> Place {
        match self.cluster.leaders.of(partition) {
            Some(node) if node == self.cluster.options.me => Place::Local,
            Some(node) => Place::Remote(node),
            None => Place::Unknown,
        }
    }

    fn peers(&self) -> Vec<NodeId> {
        let peers = lock(&self.cluster.peers);
        let takes_part = |(_, peer): &(&NodeId, &crate::membership::peers::Peer)| {
            peer.is_up && (peer.roles.data || peer.roles.has_sessions())
        };
        peers.iter().filter(takes_part).map(|(&node, _)| node).collect()
    }

    fn peers_with_partitions(&self) -> Vec<NodeId> {
        let peers = lock(&self.cluster.peers);
        peers.iter().filter(|(_, peer)| peer.is_up && peer.roles.data).map(|(&node, _)| node).collect()
    }

    fn has_single_groups(&self) -> bool {
        self.cluster.options.placements.iter().all(|placement| placement.voters().len() == 1)
    }

    fn call(&self, to: NodeId, request: &[u8]) -> Call {
        let call = self.cluster.call(to, FRAME_OPERATION, |buffer| buffer.extend_from_slice(request));
        let Some(call) = call else { return Box::pin(std::future::ready(Err(CallError::NotSent))) };
        Box::pin(async move {
            match call.await {
                Ok(reply) => Ok(reply.payload),
                Err(error) if error.was_sent() => Err(CallError::Lost),
                Err(_) => Err(CallError::NotSent),
            }
        })
    }

    fn send(&self, to: NodeId, request: &[u8]) -> bool {
        let lane = self.cluster.transport.get().and_then(|transport| transport.own_lane()).unwrap_or(0);
        self.cluster.send(to, u32::from(lane), FRAME_OPERATION, |buffer| buffer.extend_from_slice(request))
    }

    fn misplaced(&self, partition: u32, node: NodeId, hint: Option<NodeId>) {
        self.cluster.forget_leader(partition, node);
        if let Some(hint) = hint.filter(|&hint| hint != node) {
            self.cluster.learn_leader(partition, hint, self.cluster.leaders.term_of(partition));
        }
    }

    fn map_version(&self) -> u64 {
        self.cluster.map_version()
    }

    fn map_changed(&self, seen: u64) -> Pin<Box<dyn Future<Output = ()>>> {
        let mut changes = self.cluster.map_changes();
        Box::pin(async move {
            while *changes.borrow_and_update() == seen {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::topology::Placement;

    fn options() -> ClusterOptions {
        let data = Roles { data: true, ..Roles::default() };
        let node = |id| NodeEntry { id: NodeId(id), roles: data, address: None };
        ClusterOptions {
            name: "reef".into(),
            me: NodeId(1),
            nodes: vec![node(1), node(2)],
            placements: vec![Placement { replicas: vec![NodeId(1), NodeId(2)], witness: None }],
            config_hash: 7,
            timing: shoal_partition::Timing::default(),
            heartbeat: Duration::from_millis(100),
            lanes: 1,
            unsent_bytes_max: None,
            transporter: shoal_transport::Transporter::default(),
        }
    }

    /// Node 1 of two.
    pub(crate) fn cluster() -> Cluster {
        Cluster::new(options(), 1, false)
    }

    #[test]
    fn a_link_changes_the_map_once_whether_the_peer_was_reached_before_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let node = Node::open(crate::NodeOptions {
            cluster: Some(options()),
            data_memory: Some(1 << 20),
            background_work: false,
            ..crate::NodeOptions::new(directory.path())
        });
        let node = node.unwrap();
        let receiver = Receiver { node: Arc::downgrade(&node), clock: Arc::clone(&node.clock) };
        let cluster = node.cluster.as_ref().unwrap();
        for is_reached in [false, true] {
            lock(&cluster.peers).entry(NodeId(2)).or_default().set_linked(false);
            if is_reached {
                assert!(cluster.set_detours(NodeId(2), vec![NodeId(3)], 0));
            }
            let before = cluster.map_version();
            receiver.on_up(NodeId(2), &node_2());
            assert_eq!(cluster.map_version(), before + 1, "reached through another: {is_reached}");
        }
    }

    fn node_2() -> Hello {
        Hello {
            cluster: "reef".into(),
            node: NodeId(2),
            roles: 2,
            version: PROGRAM_VERSION,
            config_hash: 7,
            wall_clock_us: crate::base::clock::wall_micros(),
            ..Hello::default()
        }
    }

    #[test]
    fn whoever_may_not_take_part_hears_what_to_do() {
        let cluster = cluster();
        assert_eq!(check_hello(&cluster, &node_2()), Ok(()));
        let refusal = |change: &dyn Fn(&mut Hello)| {
            let mut hello = node_2();
            change(&mut hello);
            check_hello(&cluster, &hello).unwrap_err()
        };
        assert!(refusal(&|hello| hello.cluster = "atoll".into()).contains("called 'reef', not 'atoll'"));
        assert!(refusal(&|hello| hello.cluster = String::new()).contains("called 'reef', not ''"));
        assert!(refusal(&|hello| hello.node = NodeId(3)).contains("add it to config.ini"));
        assert!(refusal(&|hello| hello.node = NodeId(1)).contains("another --node-id"));
        assert!(refusal(&|hello| hello.roles = 1).contains("has the roles data here, not mgm"));
        assert!(refusal(&|hello| hello.version += 1).contains("another version of Shoal"));
        assert!(refusal(&|hello| hello.config_hash = 8).contains("copy one config.ini"));
        assert!(refusal(&|hello| hello.wall_clock_us -= 600_000_000).contains("clocks"));
    }

    #[test]
    fn clients_need_not_know_the_cluster_s_name_but_must_not_know_another() {
        let cluster = cluster();
        let hello = |name: &str| Hello { cluster: name.into(), ..Hello::default() };
        assert_eq!(check_hello(&cluster, &hello("")), Ok(()));
        assert_eq!(check_hello(&cluster, &hello("reef")), Ok(()));
        assert!(check_hello(&cluster, &hello("atoll")).is_err());
    }
}
