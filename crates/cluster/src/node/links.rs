//! The links to the other nodes: making them, and what arrives over them on its way to the layer that it is for.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use shoal_tls::Identity;
use shoal_transport::{CLIENT, Handler, Hello, PeerAddress, Responder, Transport, TransportOptions};
use shoal_types::{Error, NodeId, Result, Timestamp};

use crate::base::clock::HybridClock;
use crate::base::cluster_log::Severity;
use crate::base::wait::lock;
use crate::membership::frames::{
    FRAME_EVENTS, FRAME_GOSSIP, FRAME_OPERATION, FRAME_RAFT, FRAME_ROUTED, FRAME_SERVICE,
};
use crate::membership::links::{PROGRAM_VERSION, Served, check_hello, dials};
use crate::node::Node;

/// What the links call.
pub(crate) struct Receiver {
    pub(crate) node: Weak<Node>,
    /// The node's.
    pub(crate) clock: Arc<HybridClock>,
}

/// An operation of another node that is not answered yet.
struct Underway(Weak<Node>);

impl Underway {
    fn begin(node: &Arc<Node>) -> Underway {
        node.underway.fetch_add(1, Ordering::Relaxed);
        Underway(Arc::downgrade(node))
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if let Some(node) = self.0.upgrade() {
            node.underway.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Handler for Receiver {
    fn check(&self, theirs: &Hello) -> Result<(), String> {
        let Some(node) = self.node.upgrade() else { return Err("the node is stopping; try again later".into()) };
        match node.cluster() {
            Some(cluster) => {
                let checked = check_hello(cluster, theirs);
                if let Err(reason) = &checked {
                    node.events().note_refused(theirs.node, reason);
                }
                checked
            }
            None => Err("this process is a database of its own and takes no nodes".into()),
        }
    }

    fn clock(&self) -> u64 {
        self.clock.latest().0
    }

    fn observe_clock(&self, clock: u64) -> Result<(), String> {
        self.clock.observe_peer(Timestamp(clock)).map_err(|error| error.message().to_owned())
    }

    fn on_message(&self, from: NodeId, kind: u8, payload: &[u8]) {
        let Some(node) = self.node.upgrade().filter(|_| from != CLIENT) else { return };
        let received = match kind {
            FRAME_RAFT => node.receive_raft(from, payload),
            FRAME_GOSSIP => node.receive_gossip(from, payload),
            FRAME_EVENTS => node.receive_events(from, payload),
            FRAME_ROUTED => {
                let Some(cluster) = node.cluster() else { return };
                match cluster.route_message(from, payload) {
                    Ok(Some((address, inside))) => {
                        self.on_message(address.from, address.kind, inside);
                        Ok(())
                    }
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            FRAME_OPERATION => {
                if let Some(operations) = node.operations()
                    && let Served::Later(rest) = operations.serve(from, payload, &mut Vec::new())
                {
                    tokio::task::spawn_local(async move {
                        let _ = rest.await;
                    });
                }
                Ok(())
            }
            _ => Err(unknown_kind(kind)),
        };
        if let Err(error) = received {
            node.cut_off(from, &error);
        }
    }

    fn on_request(&self, from: NodeId, kind: u8, payload: &[u8], mut responder: Responder) {
        let Some(node) = self.node.upgrade() else { return };
        match kind {
            FRAME_SERVICE => node.serve_request(from, payload, responder),
            _ if from == CLIENT => responder.refuse("clients of this port may send management commands only"),
            FRAME_ROUTED => {
                let Some(cluster) = node.cluster() else { return };
                match cluster.route_request(from, payload, responder) {
                    Ok(Some((address, inside, responder))) => {
                        self.on_request(address.from, address.kind, inside, responder);
                    }
                    Ok(None) => {}
                    Err(error) => node.cut_off(from, &error),
                }
            }
            FRAME_OPERATION => {
                let Some(operations) = node.operations() else { return };
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
            _ => node.cut_off(from, &unknown_kind(kind)),
        }
    }

    fn on_up(&self, peer: NodeId, hello: &Hello) {
        let Some(node) = self.node.upgrade().filter(|_| peer != CLIENT) else { return };
        let Some(cluster) = node.cluster() else { return };
        match cluster.meet_on_link(peer, hello) {
            // Frames that are still on their way around would come behind those on the link: they are dropped.
            true => node.reset_peer(peer),
            false => cluster.raise_map_version(),
        }
        lock(&cluster.handed_out).forget(peer);
        tracing::info!(%peer, "a node is connected");
        node.events().forget_refusal(peer);
        node.log_event("connection", &format!("Node {peer} Connected"));
        node.send_gossip();
    }

    fn on_down(&self, peer: NodeId, incarnation: u64) {
        let Some(node) = self.node.upgrade() else { return };
        let Some(cluster) = node.cluster() else { return };
        if !cluster.lose_link(peer, incarnation) {
            return;
        }
        tracing::info!(%peer, "a node is not connected any more");
        node.log_event_as(Severity::Alert, "connection", &format!("Node {peer} Disconnected"));
        node.reset_peer(peer);
        node.peer_lost(peer, false);
        node.find_routes();
    }

    fn on_dead(&self, peer: NodeId, incarnation: u64) {
        let Some(node) = self.node.upgrade().filter(|_| peer != CLIENT) else { return };
        if let Some(cluster) = node.cluster() {
            lock(&cluster.peers).entry(peer).or_default().dead = incarnation;
        }
        node.find_routes();
        node.log_event_as(Severity::Alert, "node", &format!("Node {peer} is dead: its process is gone"));
        node.peer_lost(peer, true);
    }

    fn on_cut_off(&self, peer: NodeId, reason: &str, pause: Duration) {
        let Some(node) = self.node.upgrade() else { return };
        let pause_ms = pause.as_millis();
        tracing::warn!(%peer, reason, pause_ms, "a node is cut off");
        let text = format!("Node {peer} is cut off for {pause_ms} ms: {reason}");
        node.log_event_as(Severity::Alert, "connection", &text);
        // It may have been reached through another node.
        node.find_routes();
    }

    fn on_kept_away(&self, peer: NodeId, reason: &str) {
        let Some(node) = self.node.upgrade() else { return };
        tracing::warn!(%peer, reason, "a node has cut this one off");
        node.log_event_as(Severity::Alert, "connection", reason);
    }

    fn on_untrusted(&self, claimed: Option<Identity>, reason: &str) {
        let Some(node) = self.node.upgrade() else { return };
        tracing::warn!(?claimed, reason, "a stranger without a certificate of this cluster");
        node.events().note_untrusted(claimed, reason);
    }

    fn on_refused(&self, peer: NodeId, reason: &str) {
        let Some(node) = self.node.upgrade().filter(|_| peer != CLIENT) else { return };
        let Some(cluster) = node.cluster() else { return };
        let told_before = lock(&cluster.peers).entry(peer).or_default().refused.replace(reason.to_owned());
        if told_before.as_deref() != Some(reason) {
            tracing::warn!(%peer, reason, "a node refuses to talk");
            let text = format!("Node {peer} and this node refuse each other: {reason}");
            node.log_event_as(Severity::Warning, "connection", &text);
            node.refused_by(peer, reason);
        }
    }
}

/// Nodes of one cluster run one version, which the handshake has seen to.
fn unknown_kind(kind: u8) -> Error {
    Error::unknown(format!("a frame is of the unknown kind {kind}")).as_spoilt()
}

impl Node {
    /// Makes the links to the other nodes. `listener` is where they reach this one. Every worker thread then calls
    /// `Transport::start_worker`.
    pub fn open_links(
        self: &Arc<Self>,
        workers: usize,
        listener: Option<std::net::TcpListener>,
    ) -> Result<Arc<Transport>> {
        let cluster = self.cluster();
        let cluster = cluster.ok_or_else(|| Error::unknown("internal: this process is no cluster"))?;
        let options = &cluster.options;
        let others = options.nodes.iter().filter(|node| node.id != options.me);
        let peers = others.map(|node| PeerAddress {
            node: node.id,
            address: node.address.clone(),
            dial: dials(options, node),
            requires_tls: options.tls.required_by.contains(&node.id),
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
                tls: options.tls.own.clone(),
                requires_tls: options.tls.required_by.contains(&options.me),
                workers,
                heartbeat: options.heartbeat,
                unsent_bytes_max: options.unsent_bytes_max.unwrap_or(defaults.unsent_bytes_max),
                ..defaults
            },
            Arc::new(Receiver { node: Arc::downgrade(self), clock: Arc::clone(self.shared_clock()) }),
        );
        if let Some(listener) = listener {
            transport.listen(listener);
        }
        let _ = cluster.transport.set(Arc::clone(&transport));
        self.set_transport(&transport);
        Ok(transport)
    }

    /// Operations of other nodes are not answered yet.
    pub fn serves_others(&self) -> bool {
        self.underway.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::options::NodeOptions;
    use crate::membership::links::tests::{node_2, options};

    #[test]
    fn a_link_changes_the_map_once_whether_the_peer_was_reached_before_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let node = Node::open(NodeOptions {
            cluster: Some(options()),
            data_memory: Some(1 << 20),
            background_work: false,
            ..NodeOptions::new(directory.path())
        });
        let node = node.unwrap();
        let receiver = Receiver { node: Arc::downgrade(&node), clock: Arc::clone(node.shared_clock()) };
        let cluster = node.cluster().unwrap();
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
}
