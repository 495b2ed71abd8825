//! Joining: how a process that is no node yet becomes one, as native clients do.
//!
//! A client knows an address. It dials that as management clients do and asks; the node that answers tells everything that
//! its own configuration says about the cluster, and hands out a node id: one that the configuration keeps free (`[api]`, without a
//! role) and that no process uses. An id that was handed out is not handed out again before its process had the time to connect;
//! as nodes count apart from each other, they begin to look at different places.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use shoal_tls::NodeTls;
use shoal_transport::{CLIENT, Client, ClientError, Hello, Transporter};
use shoal_types::{Error, ErrorCode, NodeId, Result};

use crate::base::topology::{ClusterOptions, NodeEntry, Placement, Roles, TlsOptions, timing};
use crate::base::wait::lock;
use crate::membership::frames::FRAME_SERVICE;
use crate::membership::messages::{Ask, ClusterDescription, Member, PlacedPartition, Service, ServiceReply};
use crate::membership::peers::Membership;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// Error 1203, MySQL's for a server that takes no more connections of somebody.
fn no_slot(slots: usize) -> Error {
    let message = match slots {
        0 => "the cluster has no place for a native client: add an [api] section for each of them to config.ini on all nodes, \
              and restart these one after the other"
            .to_owned(),
        _ => format!(
            "all {slots} places for native clients are taken: add more [api] sections to config.ini on all nodes, and restart these \
             one after the other; or close a client"
        ),
    };
    Error::new(ErrorCode::TooManyUserConnections, message)
}

impl Membership {
    /// Answers a process that wants to join as a native client.
    pub(crate) fn hand_out_membership(&self) -> Result<ServiceReply> {
        let options = &self.options;
        let slots: Vec<NodeId> =
            options.nodes.iter().filter(|node| node.roles == Roles::default()).map(|node| node.id).collect();
        let place = options.nodes.iter().position(|node| node.id == options.me).unwrap_or(0);
        let first = if slots.is_empty() { 0 } else { place * slots.len() / options.nodes.len() };
        let is_up = |id| self.is_up(id);
        let free = lock(&self.handed_out).take(&slots, first, Instant::now(), is_up);
        let free = free.ok_or_else(|| no_slot(slots.len()))?;
        Ok(ServiceReply { membership: Some(membership(self, free)), ..ServiceReply::default() })
    }
}

fn membership(cluster: &Membership, node: NodeId) -> ClusterDescription {
    let options = &cluster.options;
    let member = |node: &NodeEntry| Member {
        node: node.id.0,
        roles: u32::from(node.roles.bits()),
        address: node.address.clone(),
    };
    let placed = |placement: &Placement| PlacedPartition {
        replicas: placement.replicas.iter().map(|node| node.0).collect(),
        witness: placement.witness.map(|node| node.0),
    };
    ClusterDescription {
        node: node.0,
        name: options.name.clone(),
        nodes: options.nodes.iter().map(member).collect(),
        placements: options.placements.iter().map(placed).collect(),
        config_hash: options.config_hash,
        heartbeat_ms: options.heartbeat.as_millis() as u64,
        election_ms: options.timing.election_ms(),
    }
}

impl ClusterDescription {
    fn into_options(self, asked: &JoinOptions) -> Result<ClusterOptions> {
        let unreadable = || Error::unknown("the node tells of a cluster that this version does not understand");
        let entry = |member: Member| NodeEntry {
            id: NodeId(member.node),
            roles: Roles::from_bits(member.roles as u8),
            address: member.address,
        };
        let placement = |placed: PlacedPartition| Placement {
            replicas: placed.replicas.into_iter().map(NodeId).collect(),
            witness: placed.witness.map(NodeId),
        };
        let options = ClusterOptions {
            name: self.name,
            me: NodeId(self.node),
            nodes: self.nodes.into_iter().map(entry).collect(),
            placements: self.placements.into_iter().map(placement).collect(),
            config_hash: self.config_hash,
            timing: timing(self.heartbeat_ms, self.election_ms).map_err(|_| unreadable())?,
            heartbeat: Duration::from_millis(self.heartbeat_ms),
            lanes: asked.lanes.clamp(1, shoal_transport::LANES_MAX),
            unsent_bytes_max: None,
            transporter: asked.transporter,
            // A client with a certificate talks to nobody without.
            tls: TlsOptions {
                own: asked.tls.clone(),
                required_by: asked.tls.iter().map(|_| NodeId(self.node)).collect(),
            },
        };
        let is_whole = options.node(options.me).is_some() && !options.placements.is_empty();
        if is_whole { Ok(options) } else { Err(unreadable()) }
    }
}

/// How a process wants to take part.
#[derive(Clone, Debug, Default)]
pub struct JoinOptions {
    /// Links to each node.
    pub lanes: u16,
    /// The best way to nodes of the same host.
    pub transporter: Transporter,
    /// The client's certificate. With it, nothing is said to anybody without TLS, but within this host.
    pub tls: Option<Arc<NodeTls>>,
}

/// Why a process has no place.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// A sentence for every address where nobody answers.
    #[error("{0}")]
    Unreachable(String),
    /// What the node says.
    #[error("{0}")]
    Refused(Error),
}

/// Asks the first of these nodes that answers for a place in its cluster, and for what a node of that has to know. The place is kept
/// for a few seconds: open the node at once.
///
/// # Errors
/// See [`JoinError`].
pub fn join(addresses: &[String], options: &JoinOptions) -> Result<ClusterOptions, JoinError> {
    let me = Hello { node: CLIENT, lanes: 1, ..Hello::default() };
    let mut failures = Vec::new();
    for address in addresses {
        match ask_to_join(address, &me, options.tls.as_deref()) {
            Ok(reply) => return read_membership(address, &reply, options).map_err(JoinError::Refused),
            Err(error) => failures.push(error.to_string()),
        }
    }
    Err(JoinError::Unreachable(match failures.is_empty() {
        true => "no address of a node is known: give HOST:PORT of a management node".to_owned(),
        false => failures.join("; "),
    }))
}

fn read_membership(address: &str, reply: &[u8], options: &JoinOptions) -> Result<ClusterOptions> {
    let unreadable = || Error::unknown(format!("{address} answers in a way this version does not know"));
    let reply = ServiceReply::decode(reply).map_err(|_| unreadable())?.into_result()?;
    reply.membership.ok_or_else(unreadable)?.into_options(options)
}

fn ask_to_join(address: &str, me: &Hello, tls: Option<&NodeTls>) -> Result<Vec<u8>, ClientError> {
    let mut client = Client::connect_with(address, me, CONNECT_TIMEOUT, tls)?;
    let service = Service { ask: Some(Ask::Join(true)) };
    Ok(client.call(FRAME_SERVICE, &service.encode_to_vec(), REPLY_TIMEOUT)?.payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_membership_is_the_configuration_with_another_node_in_it() {
        let cluster = crate::membership::links::tests::cluster();
        let told = membership(&cluster, NodeId(2));
        let asked = JoinOptions { lanes: 3, transporter: Transporter::Tcp, tls: None };
        let options = told.into_options(&asked).unwrap();
        assert_eq!((options.me, options.lanes, options.name.as_str()), (NodeId(2), 3, "reef"));
        assert_eq!(options.placements, cluster.options.placements);
        assert_eq!(options.timing.election_ms(), cluster.options.timing.election_ms());
        let strange = ClusterDescription { node: 9, ..membership(&cluster, NodeId(2)) };
        assert!(strange.into_options(&JoinOptions::default()).is_err());
    }

    #[test]
    fn without_a_place_the_error_says_what_to_add() {
        assert!(no_slot(0).message().contains("[api] section"));
        assert!(no_slot(4).message().contains("all 4 places"));
    }
}
