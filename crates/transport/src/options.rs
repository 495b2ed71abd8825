//! What a transport is told when it is made.

use std::sync::Arc;
use std::time::Duration;

use shoal_tls::NodeTls;
use shoal_types::NodeId;

use crate::cut_off::CutOffPauses;
use crate::frame::PAYLOAD_BYTES_MAX;
use crate::hello::{CLUSTER_NAME_BYTES_MAX, DETAILS_BYTES_MAX, Hello, LANES_MAX, NODE_ID_MAX};
use crate::socket::Transporter;

/// Another node, as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// Its id in the configuration.
    pub node: NodeId,
    /// `host:port` where the node listens; none for nodes that only dial.
    pub address: Option<String>,
    /// Whether this side dials. Exactly one side of a pair does.
    pub dial: bool,
    /// The node takes no links through a network without TLS.
    pub requires_tls: bool,
}

/// What a transport is made from.
#[derive(Clone, Debug)]
pub struct TransportOptions {
    /// What this node says about itself; see `Hello` for the fields that are filled in.
    pub me: Hello,
    /// The other nodes that the configuration names.
    pub peers: Vec<PeerAddress>,
    /// Links that this node keeps to each peer that it dials.
    pub lanes: u16,
    /// Worker threads that call `start_worker`; lane k lives on worker k modulo this.
    pub workers: usize,
    /// A link on which nothing was sent for this long sends a ping.
    pub heartbeat: Duration,
    /// A link on which nothing came for more than this many heartbeats is closed.
    pub heartbeats_missed_max: u32,
    /// How long a dialled connection may take to be there.
    pub connect_timeout: Duration,
    /// How long the other side may take to say hello.
    pub handshake_timeout: Duration,
    /// The longest pause between two attempts to dial; the first pauses are a few milliseconds.
    pub redial_pause_max: Duration,
    /// How long a peer is kept away, the first time, whose frames cannot be what a node sends. Each time is twice as long as the one
    /// before.
    pub cut_off_pause: Duration,
    /// The longest such time.
    pub cut_off_pause_max: Duration,
    /// The best that is used to nodes of the same host; to others it is always TCP.
    pub transporter: Transporter,
    /// This node's certificate, for links through a network.
    pub tls: Option<Arc<NodeTls>>,
    /// No links through a network, and no clients, without TLS.
    pub requires_tls: bool,
    /// Bytes that may wait on one link before one-way frames are dropped and calls wait.
    pub unsent_bytes_max: usize,
}

/// What links need to know of the options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkOptions {
    pub heartbeat: Duration,
    pub heartbeats_missed_max: u32,
    pub unsent_bytes_max: usize,
    pub cut_off: CutOffPauses,
}

impl Default for TransportOptions {
    fn default() -> Self {
        TransportOptions {
            me: Hello::default(),
            peers: Vec::new(),
            lanes: 1,
            workers: 1,
            heartbeat: Duration::from_millis(100),
            heartbeats_missed_max: 8,
            connect_timeout: Duration::from_secs(1),
            handshake_timeout: Duration::from_secs(3),
            redial_pause_max: Duration::from_millis(500),
            cut_off_pause: Duration::from_secs(1),
            cut_off_pause_max: Duration::from_secs(60),
            transporter: Transporter::default(),
            tls: None,
            requires_tls: false,
            unsent_bytes_max: 16 << 20,
        }
    }
}

// A frame of the largest size must fit a buffer length on the wire.
const _: () = assert!(PAYLOAD_BYTES_MAX < u32::MAX as usize);

impl TransportOptions {
    /// Panics with what is wrong: options come from code, not from users.
    pub(crate) fn assert_valid(&self) {
        assert!(self.me.node.0 <= NODE_ID_MAX, "node id {} of at most {NODE_ID_MAX}", self.me.node);
        assert!(self.me.cluster.len() <= CLUSTER_NAME_BYTES_MAX, "a cluster's name is that long at most");
        assert!(self.me.details.len() <= DETAILS_BYTES_MAX, "details are that long at most");
        assert!((1..=LANES_MAX).contains(&self.lanes), "{} lanes of 1 to {LANES_MAX}", self.lanes);
        assert!(self.workers > 0, "at least one worker serves the links");
        for peer in &self.peers {
            assert!((1..=NODE_ID_MAX).contains(&peer.node.0), "peer {} of 1 to {NODE_ID_MAX}", peer.node);
            assert!(!peer.dial || peer.address.is_some(), "peer {} is dialled at an address", peer.node);
        }
    }

    pub(crate) fn link(&self) -> LinkOptions {
        LinkOptions {
            heartbeat: self.heartbeat,
            heartbeats_missed_max: self.heartbeats_missed_max,
            unsent_bytes_max: self.unsent_bytes_max,
            cut_off: CutOffPauses { first: self.cut_off_pause, max: self.cut_off_pause_max },
        }
    }

    /// How long a process that may be gone is given to answer. Less than the handshake that waits for it.
    pub(crate) fn answer_deadline(&self) -> Duration {
        (self.heartbeat * 2).clamp(Duration::from_millis(200), self.handshake_timeout / 2)
    }
}
