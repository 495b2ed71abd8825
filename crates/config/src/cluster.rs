//! The configuration as the rest of the system sees it.

use std::path::PathBuf;

use shoal_types::NodeId;

use crate::defect::Note;

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disks of a majority of its replicas.
    #[default]
    Disk,
    /// When it is in the memory of a majority; disks follow at every global checkpoint.
    Replicated,
}

/// What a node does. None of them: a slot for a tool or a native client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles {
    /// Keeps the meta partition and takes operators' commands.
    pub mgm: bool,
    /// Stores rows.
    pub data: bool,
    /// Serves MySQL clients.
    pub sql: bool,
}

/// One process of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// From 1 on; no two nodes have the same.
    pub id: NodeId,
    /// What it does.
    pub roles: Roles,
    /// `None`: a free slot, for a node without the roles mgm and data, that may start on any host.
    pub host: Option<String>,
    /// Where other nodes connect to. A management node has one port for everything, its PortNumber.
    pub server_port: u16,
    /// MySQL clients; set where the sql role is.
    pub mysql_port: Option<u16>,
    /// The address to listen on for MySQL clients; `None`: all of the host's.
    pub mysql_address: Option<String>,
    /// Its listeners for HandlerSocket.
    pub handlersocket: HandlerSocketConfig,
    /// What operators look at over HTTP; without a port nobody listens.
    pub http_port: Option<u16>,
    /// The address to listen on for that; `None`: the loopback address.
    pub http_address: Option<String>,
    /// It is encrypted.
    pub http_tls: bool,
    /// Rows by key over HTTP, if it has the sql role.
    pub http_rest: bool,
    /// Profiles of the process over HTTP.
    pub http_profiles: bool,
    /// TLS with other nodes.
    pub node_tls: NodeTlsConfig,
    /// Its variables for connections of MySQL clients, those that are given: name and value.
    pub variables: Vec<(&'static str, String)>,
    /// This node's own directory. Two nodes of one host never share it.
    pub data_dir: PathBuf,
    /// Bytes for rows and indexes; `None`: a share of the host's memory, see [`ClusterConfig::data_nodes_beside`].
    pub data_memory: Option<u64>,
    /// Bytes of a log segment; `None`: the log's own default.
    pub log_segment_bytes: Option<u64>,
    /// How fast checkpoints are written; `None`: as fast as the disk goes.
    pub checkpoint_bytes_per_second: Option<u64>,
    /// Worker threads; `None`: a share of the cores, see [`ClusterConfig::worker_threads`].
    pub execution_threads: Option<u32>,
    /// Microseconds for which a busy worker thread looks for more to do before it sleeps; `None`: the server's default.
    pub spin_us: Option<u64>,
    /// Worker threads never sleep: each has a core of its own.
    pub never_sleeps: bool,
    /// Talk to nodes of the same host through memory that both share.
    pub use_shm: bool,
    /// Keep the process's memory from being swapped out.
    pub lock_pages: bool,
    /// The CPUs for the worker threads, in order; empty: wherever the system puts them.
    pub cpus: Vec<u32>,
    /// NodeGroup as written.
    pub(crate) node_group: Option<u32>,
    /// The line of the (first) section.
    pub line: usize,
}

/// TLS between nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTlsConfig {
    /// No links through a network without it.
    pub is_required: bool,
    /// The node does not start without a certificate.
    pub requires_certificate: bool,
    /// Directories with certificates, separated by colons; the command line's come before.
    pub search_path: Option<String>,
}

/// The HandlerSocket listeners of a node with the sql role. What is `None` is as the server's variables have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerSocketConfig {
    /// For reading; without a port nobody listens.
    pub port: Option<u16>,
    /// For reading and writing.
    pub port_wr: Option<u16>,
    /// To listen on; all of the host's unless it is said.
    pub address: Option<String>,
    /// What clients of the port for reading have to show.
    pub secret: Option<String>,
    /// What clients of the port for writing have to show.
    pub secret_wr: Option<String>,
}

impl Roles {
    /// The roles of both.
    pub fn or(self, other: Roles) -> Roles {
        Roles { mgm: self.mgm || other.mgm, data: self.data || other.data, sql: self.sql || other.sql }
    }
}

impl std::fmt::Display for Roles {
    /// `data,sql`; `api` where there is none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let roles = [(self.mgm, "mgm"), (self.data, "data"), (self.sql, "sql")];
        let words: Vec<&str> = roles.into_iter().filter(|(has, _)| *has).map(|(_, word)| word).collect();
        f.write_str(if words.is_empty() { "api" } else { "" })?;
        f.write_str(&words.join(","))
    }
}

impl NodeConfig {
    /// `host:port` for other nodes; nobody dials a node without a host.
    pub fn server_address(&self) -> Option<String> {
        let host = self.host.as_deref()?;
        Some(if host.contains(':') {
            format!("[{host}]:{}", self.server_port)
        } else {
            format!("{host}:{}", self.server_port)
        })
    }
}

/// A checked configuration: whatever it says can be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Of the cluster: nodes of another one are refused.
    pub name: String,
    /// In the order of their ids.
    pub nodes: Vec<NodeConfig>,
    /// Copies of every partition on data nodes: 1, 2 or 3.
    pub replicas: u32,
    /// Between two signs of life on a link, and of a leader in a group.
    pub heartbeat_ms: u64,
    /// A follower that hears nothing for so long asks for an election. At least four heartbeats.
    pub election_timeout_ms: u64,
    /// How long a statement waits for a row lock; `None`: as the session's `innodb_lock_wait_timeout` says.
    pub lock_wait_timeout_ms: Option<u64>,
    /// When commits are acknowledged.
    pub durability: Durability,
    /// How often `Replicated` logs are synced.
    pub global_checkpoint_interval_ms: u64,
    /// Partitions that hold tables; the meta partition comes on top of them.
    pub partitions: u32,
    /// Connections between every pair of nodes.
    pub connection_pool: u32,
    /// Bytes that may wait on one connection before it takes no more; `None`: the transport's own default.
    pub send_buffer_bytes: Option<u64>,
    /// What was accepted and deserves a word, in the order of the lines.
    pub notes: Vec<Note>,
}

impl ClusterConfig {
    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Option<&NodeConfig> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Nodes that store rows, by id.
    pub fn data_nodes(&self) -> impl Iterator<Item = &NodeConfig> {
        self.nodes.iter().filter(|node| node.roles.data)
    }

    /// Management nodes, by id.
    pub fn mgm_nodes(&self) -> impl Iterator<Item = &NodeConfig> {
        self.nodes.iter().filter(|node| node.roles.mgm)
    }

    /// Worker threads of `node` on a host with so many cores: as many as the file says; else nodes of one host that have rows or sessions
    /// share its cores (more threads than cores wait for each other), and one that has neither needs but one.
    pub fn worker_threads(&self, node: &NodeConfig, cores: usize) -> usize {
        let is_busy = |one: &NodeConfig| one.roles.data || one.roles.sql;
        // A node without a host in the file may be anywhere.
        let is_beside = |one: &NodeConfig| {
            one.host.is_some() && host_key(one.host.as_deref()) == host_key(node.host.as_deref())
        };
        let others = self.nodes.iter().filter(|one| one.id != node.id && is_busy(one) && is_beside(one)).count();
        let share = if is_busy(node) { cores / (1 + others) } else { 1 };
        node.execution_threads.map_or(share, |threads| threads as usize).max(1)
    }

    /// Data nodes on the host of `node`, which divide its memory: that one included.
    pub fn data_nodes_beside(&self, node: &NodeConfig) -> u32 {
        let is_beside = |one: &&NodeConfig| {
            one.id != node.id
                && one.host.is_some()
                && host_key(one.host.as_deref()) == host_key(node.host.as_deref())
        };
        1 + self.data_nodes().filter(is_beside).count() as u32
    }

    /// Nodes that serve MySQL clients, by id.
    pub fn sql_nodes(&self) -> impl Iterator<Item = &NodeConfig> {
        self.nodes.iter().filter(|node| node.roles.sql)
    }

    /// The same on all nodes that may run together. It covers what must agree between them at any moment: everything
    /// in [`placement_hash`](ClusterConfig::placement_hash), and the times that leases and elections rest on. Whatever
    /// may differ while nodes are restarted one after the other is left out: memory, threads, hosts, ports, durability,
    /// and nodes that are neither mgm nor data.
    pub fn hash(&self) -> u64 {
        let times = format!("{};{};{}", self.placement_hash(), self.heartbeat_ms, self.election_timeout_ms);
        xxhash_rust::xxh3::xxh3_64(times.as_bytes())
    }

    /// What a data directory is tied to from its creation on: the cluster's name and where every partition lives.
    pub fn placement_hash(&self) -> u64 {
        let mut text = format!("shoal placement 1;{};{}", self.name, self.replicas);
        for placement in self.partition_map().iter().chain([&self.meta_placement()]) {
            text.push_str(&format!(";{placement}"));
        }
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    }
}

/// The same for all ways to write this machine. Free slots share a key: they are thought of as one host.
pub(crate) fn host_key(host: Option<&str>) -> String {
    let host = host.unwrap_or_default().to_ascii_lowercase();
    if is_localhost(&host) { "localhost".to_owned() } else { host }
}

pub(crate) fn is_localhost(host: &str) -> bool {
    ["localhost", "::1"].iter().any(|local| host.eq_ignore_ascii_case(local)) || host.starts_with("127.")
}
