//! What a node knows of itself, and collecting that from all nodes.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Stop;
use super::view::Known;
use crate::management::Management;
use crate::membership::messages::{Ask, NodeState, PartitionState, TransferState};
use crate::membership::peers::{Membership, Peer};

/// A node that does not answer for so long is shown as one that does not.
const STATE_TIMEOUT: Duration = Duration::from_millis(1500);

impl Management {
    /// What this node knows of itself.
    pub(crate) fn state(&self, cluster: &Membership) -> NodeState {
        let memory = self.memory_usage();
        let stopping = self.stopping();
        let transfers = self.transfers().into_iter().map(|(partition, to, progress)| TransferState {
            partition,
            to: to.0,
            sent_bytes: progress.sent_bytes,
            total_bytes: progress.total_bytes,
            elapsed_ms: progress.elapsed_ms,
        });
        NodeState {
            started: self.is_started(),
            stopping: stopping.is_some() || self.is_draining(),
            restarting: stopping == Some(Stop::Restart),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mysql: self.mysql_address(),
            uptime_ms: self.uptime().as_millis() as u64,
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

    fn partition_state(&self, cluster: &Membership, partition: u32) -> PartitionState {
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
    pub(crate) async fn collect_states(&self, cluster: &Arc<Membership>) -> Vec<Known> {
        let me = cluster.options.me;
        let peers = cluster.peers();
        let mut asked = JoinSet::new();
        for (id, _) in peers.iter().filter(|(_, peer)| peer.is_up) {
            let (cluster, id) = (Arc::clone(cluster), *id);
            asked.spawn_local(async move {
                let reply = cluster.ask_within(id, Ask::State(true), STATE_TIMEOUT).await;
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
