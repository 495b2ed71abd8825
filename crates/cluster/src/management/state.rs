//! What a node knows of itself, as it travels to the management node that was asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shoal_types::NodeId;
use tokio::task::JoinSet;

use super::Stop;
use crate::membership::peers::{Cluster, Peer};
use crate::membership::requests::Ask;
use crate::node::Node;

/// A node that does not answer for so long is shown as one that does not.
const STATE_PATIENCE: Duration = Duration::from_millis(1500);

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NodeState {
    #[prost(bool, tag = "1")]
    pub started: bool,
    #[prost(bool, tag = "2")]
    pub stopping: bool,
    #[prost(bool, tag = "3")]
    pub restarting: bool,
    #[prost(string, tag = "4")]
    pub version: String,
    /// Where MySQL clients reach it.
    #[prost(string, tag = "5")]
    pub mysql: String,
    #[prost(uint64, tag = "6")]
    pub uptime_ms: u64,
    #[prost(uint32, tag = "7")]
    pub process: u32,
    #[prost(uint64, tag = "8")]
    pub memory_used_bytes: u64,
    #[prost(uint64, tag = "9")]
    pub memory_limit_bytes: u64,
    #[prost(uint64, tag = "10")]
    pub catalog_version: u64,
    /// What it waits for before it is started.
    #[prost(string, tag = "11")]
    pub waits_for: String,
    /// The only node that serves statements; 0: all do.
    #[prost(uint32, tag = "12")]
    pub single_user: u32,
    #[prost(message, repeated, tag = "13")]
    pub partitions: Vec<PartitionState>,
    #[prost(message, repeated, tag = "14")]
    pub transfers: Vec<TransferState>,
    /// What tables were found to take, and what of it is free; nodes of earlier versions do not say.
    #[prost(uint64, tag = "15")]
    pub memory_rows_bytes: u64,
    #[prost(uint64, tag = "16")]
    pub memory_free_bytes: u64,
    #[prost(uint64, tag = "17")]
    pub memory_indexes_bytes: u64,
    #[prost(uint64, tag = "18")]
    pub memory_transactions_bytes: u64,
    /// Plans that are kept included.
    #[prost(uint64, tag = "19")]
    pub memory_statements_bytes: u64,
    /// Of the pages of rows and of the indexes: old versions.
    #[prost(uint64, tag = "20")]
    pub memory_old_versions_bytes: u64,
}

/// A replica, or a witness, of a partition; the meta partition is one more than the last.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PartitionState {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    /// Its leader, and its lease holds.
    #[prost(bool, tag = "2")]
    pub serves: bool,
    #[prost(uint64, tag = "3")]
    pub term: u64,
    #[prost(uint64, tag = "4")]
    pub applied: u64,
    #[prost(uint64, tag = "5")]
    pub last: u64,
    #[prost(bool, tag = "6")]
    pub amnesiac: bool,
    #[prost(bool, tag = "7")]
    pub witness: bool,
    /// From the leader: the nodes whose replicas lack something that is committed.
    #[prost(uint32, repeated, tag = "8")]
    pub behind: Vec<u32>,
}

/// A copy that is on its way from this node.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TransferState {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(uint32, tag = "2")]
    pub to: u32,
    #[prost(uint64, tag = "3")]
    pub sent_bytes: u64,
    #[prost(uint64, tag = "4")]
    pub total_bytes: u64,
    #[prost(uint64, tag = "5")]
    pub elapsed_ms: u64,
}

/// What is known here of a node of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub id: NodeId,
    /// What links tell; of this node itself it is made up.
    pub peer: Peer,
    /// Its own answer; `None`: it is not connected, or does not answer in time.
    pub state: Option<NodeState>,
}

impl Node {
    /// What this node knows of itself.
    pub(crate) fn state(&self, cluster: &Cluster) -> NodeState {
        let memory = self.memory_usage();
        let stopping = cluster.management.stopping();
        let transfers = self.transfers().into_iter().map(|(partition, to, progress)| TransferState {
            partition,
            to: to.0,
            sent_bytes: progress.sent_bytes,
            total_bytes: progress.total_bytes,
            elapsed_ms: progress.elapsed_ms,
        });
        NodeState {
            started: self.is_started(),
            stopping: stopping.is_some() || cluster.draining.load(Ordering::Relaxed),
            restarting: stopping == Some(Stop::Restart),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mysql: self.mysql_address(),
            uptime_ms: self.started.elapsed().as_millis() as u64,
            process: std::process::id(),
            memory_used_bytes: memory.used_bytes,
            memory_limit_bytes: memory.limit_bytes,
            memory_rows_bytes: memory.tables.row_bytes,
            memory_free_bytes: memory.tables.free_bytes,
            memory_indexes_bytes: memory.tables.index_bytes,
            memory_transactions_bytes: memory.transactions_bytes,
            memory_statements_bytes: memory.statements_bytes + memory.plans_bytes,
            memory_old_versions_bytes: memory.tables.old_bytes,
            catalog_version: self.catalog_version(),
            waits_for: if self.is_started() { String::new() } else { self.what_is_missing().unwrap_or_default() },
            single_user: self.single_user_node().map_or(0, |node| node.0),
            partitions: self.hosted().map(|partition| self.partition_state(cluster, partition)).collect(),
            transfers: transfers.collect(),
        }
    }

    fn partition_state(&self, cluster: &Cluster, partition: u32) -> PartitionState {
        let guard = self.partition(partition);
        let serves = guard.is_single() || guard.serves(self.now());
        let others = cluster.options.placement(partition).replicas.into_iter();
        let others = others.filter(|&node| serves && node != cluster.options.me);
        PartitionState {
            partition,
            serves,
            term: guard.term(),
            applied: guard.applied_index(),
            last: guard.last_index().0,
            amnesiac: !guard.is_single() && guard.is_amnesiac(),
            witness: guard.is_witness(),
            behind: others.filter(|node| !guard.is_caught_up(u64::from(node.0))).map(|node| node.0).collect(),
        }
    }

    /// Asks all nodes at once how they are, this one included; in the order of their ids.
    pub(crate) async fn collect_states(self: &Arc<Self>, cluster: &Cluster) -> Vec<Known> {
        let me = cluster.options.me;
        let peers = cluster.peers();
        let mut asked = JoinSet::new();
        for (id, _) in peers.iter().filter(|(_, peer)| peer.is_up) {
            let (node, id) = (Arc::clone(self), *id);
            asked.spawn_local(async move {
                let reply = node.ask_within(id, Ask::State(true), STATE_PATIENCE).await;
                (id, reply.ok().and_then(|reply| reply.state))
            });
        }
        let mine = Peer {
            roles: cluster.options.roles(),
            incarnation: cluster.incarnation,
            is_up: true,
            ..Peer::default()
        };
        let mut known = vec![Known { id: me, peer: mine, state: Some(self.state(cluster)) }];
        known.extend(peers.into_iter().map(|(id, peer)| Known { id, peer, state: None }));
        while let Some(answered) = asked.join_next().await {
            let Ok((id, state)) = answered else { continue };
            if let Some(one) = known.iter_mut().find(|one| one.id == id) {
                one.state = state;
            }
        }
        known.sort_unstable_by_key(|one| one.id);
        known
    }
}
