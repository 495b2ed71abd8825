//! Which nodes make up a cluster, and which of them keep which partition.
//!
//! All of it follows from the configuration and never changes while the cluster lives.

use std::sync::Arc;
use std::time::Duration;

use shoal_partition::Timing;
use shoal_tls::NodeTls;
use shoal_transport::Transporter;
use shoal_types::{NodeId, PartitionId, Result};

/// What a node is for; any mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// It keeps the dictionary, with the other management nodes, and takes management clients.
    pub management: bool,
    /// It keeps rows.
    pub data: bool,
    /// It takes SQL clients.
    pub sql: bool,
}

impl Roles {
    /// As they travel: bit 0 management, 1 data, 2 SQL.
    pub fn bits(self) -> u8 {
        u8::from(self.management) | u8::from(self.data) << 1 | u8::from(self.sql) << 2
    }

    /// Transactions begin there: of SQL sessions, or of the native client that a node without a role is.
    pub fn has_sessions(self) -> bool {
        self.sql || self == Roles::default()
    }

    /// The reverse of [`Roles::bits`]; other bits do not count.
    pub fn from_bits(bits: u8) -> Roles {
        Roles { management: bits & 1 != 0, data: bits & 2 != 0, sql: bits & 4 != 0 }
    }
}

impl std::fmt::Display for Roles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [(self.management, "mgm"), (self.data, "data"), (self.sql, "sql")];
        let names: Vec<&str> = names.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        formatter.write_str(if names.is_empty() { "api" } else { "" })?;
        formatter.write_str(&names.join(","))
    }
}

/// One node as the configuration has it.
#[derive(Clone, Debug)]
pub struct NodeEntry {
    /// The number in the configuration.
    pub id: NodeId,
    /// None at all is a slot for native clients (`[api]`).
    pub roles: Roles,
    /// Where other nodes reach it, `HOST:PORT`. Nodes that only ask others have none.
    pub address: Option<String>,
}

/// Who keeps a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Nodes with rows, the preferred leader first.
    pub replicas: Vec<NodeId>,
    /// The third voter of a group of two.
    pub witness: Option<NodeId>,
}

impl Placement {
    /// All voters as Raft knows them.
    pub fn voters(&self) -> Vec<u64> {
        self.replicas.iter().chain(&self.witness).map(|node| u64::from(node.0)).collect()
    }

    /// It votes in the partition's group: with rows or as the witness.
    pub fn has(&self, node: NodeId) -> bool {
        self.replicas.contains(&node) || self.witness == Some(node)
    }
}

/// TLS between nodes.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// This node's certificate.
    pub own: Option<Arc<NodeTls>>,
    /// Nodes that have no links through a network without it.
    pub required_by: Vec<NodeId>,
}

/// What a node of a cluster is told.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Nodes of clusters with other names are refused.
    pub name: String,
    /// This node.
    pub me: NodeId,
    /// All nodes of the configuration, this one included.
    pub nodes: Vec<NodeEntry>,
    /// One for every partition.
    pub placements: Vec<Placement>,
    /// Nodes whose configuration differs in what must be alike have other values here.
    pub config_hash: u64,
    /// Heartbeats, elections and leases.
    pub timing: Timing,
    /// How often nodes show each other a sign of life.
    pub heartbeat: Duration,
    /// Links between two nodes.
    pub lanes: u16,
    /// Bytes that may wait on one link before it takes no more; `None`: the transport's default.
    pub unsent_bytes_max: Option<usize>,
    /// The best way to nodes of the same host.
    pub transporter: Transporter,
    /// Of links through a network.
    pub tls: TlsOptions,
}

/// How long the replicas of nodes wait that show each other signs of life every `heartbeat_ms`. Leaders speak twice as often: leases,
/// which others wait for when a leader's connections are closed, are short then, and still outlast heartbeats that are late.
///
/// # Errors
/// The two do not go together.
pub fn timing(heartbeat_ms: u64, election_ms: u64) -> Result<Timing> {
    Timing::new((heartbeat_ms / 2).max(1), election_ms)
}

impl ClusterOptions {
    /// Partitions with tables; the dictionary's is not counted.
    pub fn partition_count(&self) -> u32 {
        self.placements.len() as u32
    }

    /// The partition that keeps the dictionary: one more than those with tables.
    pub fn meta_partition(&self) -> PartitionId {
        PartitionId(self.partition_count())
    }

    /// Of all partitions and the meta partition.
    pub fn placement(&self, partition: u32) -> Placement {
        match self.placements.get(partition as usize) {
            Some(placement) => placement.clone(),
            None => Placement { replicas: self.management_nodes(), witness: None },
        }
    }

    /// In the configuration's order: the voters of the meta partition.
    pub fn management_nodes(&self) -> Vec<NodeId> {
        self.nodes.iter().filter(|node| node.roles.management).map(|node| node.id).collect()
    }

    /// This node's.
    pub fn roles(&self) -> Roles {
        self.node(self.me).map_or_else(Roles::default, |node| node.roles)
    }

    /// `None`: the configuration has no node with this id.
    pub fn node(&self, id: NodeId) -> Option<&NodeEntry> {
        self.nodes.iter().find(|node| node.id == id)
    }
}
