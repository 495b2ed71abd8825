//! The links to the other nodes: whom a node takes, what operations on rows are to it, and the remote half of its router.

use std::pin::Pin;
use std::sync::Arc;

use shoal_transport::{CLIENT, Hello};
use shoal_types::NodeId;

use crate::base::clock::wall_micros;
use crate::base::topology::{ClusterOptions, NodeEntry, Roles};
use crate::base::wait::{Waiter, lock};
use crate::membership::frames::FRAME_OPERATION;
use crate::membership::peers::{Membership, Peer};
use crate::membership::remote::{Call, Place, Remote, RequestError};

/// Clocks that are further apart than this are a fault of a host, not of the network.
const CLOCK_DIFFERENCE_MAX_US: u64 = 60_000_000;

/// What nodes must have in common beside the frames' own version: raised when they cannot work together any more.
pub(crate) const PROGRAM_VERSION: u32 = 9;

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
    /// Everything is done, and the reply leaves with the waiter's last signal. The function makes the reply; it is told whether all
    /// signals came, or one of them said that the thing is lost.
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

/// What transactions call.
pub(crate) struct Links {
    pub(crate) cluster: Arc<Membership>,
}

/// Why a process may not take part, in a sentence for its operator.
pub(crate) fn check_hello(cluster: &Membership, theirs: &Hello) -> Result<(), String> {
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
    let here = wall_micros();
    if here.abs_diff(theirs.wall_clock_us) > CLOCK_DIFFERENCE_MAX_US {
        return Err(format!(
            "the clocks of node {} and node {} are {} seconds apart; set them right (NTP) and start again",
            theirs.node,
            options.me,
            (here.abs_diff(theirs.wall_clock_us) + 500_000) / 1_000_000
        ));
    }
    Ok(())
}

/// Of two nodes that can both be reached, the one with the higher id dials; one that cannot be reached dials itself.
pub(crate) fn dials(options: &ClusterOptions, peer: &NodeEntry) -> bool {
    let reachable = |node: Option<&NodeEntry>| node.is_some_and(|node| node.address.is_some());
    let i_am_reachable = reachable(options.node(options.me));
    peer.address.is_some() && (!i_am_reachable || options.me > peer.id)
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
        let takes_part =
            |(_, peer): &(&NodeId, &Peer)| peer.is_up && (peer.roles.data || peer.roles.has_sessions());
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
        let Some(call) = call else { return Box::pin(std::future::ready(Err(RequestError::NotSent))) };
        Box::pin(async move {
            match call.await {
                Ok(reply) => Ok(reply.payload),
                Err(error) if error.was_sent() => Err(RequestError::Lost),
                Err(_) => Err(RequestError::NotSent),
            }
        })
    }

    fn send(&self, to: NodeId, request: &[u8]) -> bool {
        let lane = self.cluster.transport.get().and_then(|transport| transport.own_lane()).unwrap_or(0);
        self.cluster.send(to, u32::from(lane), FRAME_OPERATION, |buffer| buffer.extend_from_slice(request))
    }

    fn misplaced(&self, partition: u32, node: NodeId, hint: Option<NodeId>) {
        self.cluster.misplaced_leader(partition, node, hint);
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

    pub(crate) fn options() -> ClusterOptions {
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
            tls: Default::default(),
        }
    }

    /// Node 1 of two.
    pub(crate) fn cluster() -> Membership {
        Membership::new(options(), 1)
    }

    pub(crate) fn node_2() -> Hello {
        Hello {
            cluster: "reef".into(),
            node: NodeId(2),
            roles: 2,
            version: PROGRAM_VERSION,
            config_hash: 7,
            wall_clock_us: wall_micros(),
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
