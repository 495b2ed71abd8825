//! Deadlocks between nodes: cycles of waits that no node sees alone.
//!
//! While somebody has waited for a moment in partitions led here, this node asks all others, again and again, who waits for whom in
//! theirs: one question to each, whatever the number of waiters. Of a cycle the youngest is the victim, by a rule that is the same
//! everywhere, and the node at which that one waits ends its wait.
//! The nodes answer at different moments, so edges are believed only if a second round of questions, begun when the first
//! was answered, finds them as well: then they all held at once.

use std::sync::Arc;
use std::time::Duration;

use crate::gather::join_all;
use crate::protocol;
use shoal_cluster::Node;
use shoal_partition::{WaitEdge, victims, victims_of_both};

/// Waits that are younger are not asked about: most end by themselves.
const SUSPECT_AFTER: Duration = Duration::from_millis(25);
/// Who waits for whom in the partitions that are led here.
pub(crate) fn local_edges(node: &Node) -> Vec<WaitEdge> {
    let mut edges = Vec::new();
    for partition in 0..node.partition_count() {
        if let Ok(guard) = node.leader(partition) {
            edges.append(&mut guard.wait_edges());
        }
    }
    edges
}

/// The same of all nodes; one that does not answer has no edges.
async fn all_edges(node: &Node) -> Vec<WaitEdge> {
    let mut edges = local_edges(node);
    if let Some(remote) = node.remote() {
        let mut request = Vec::new();
        protocol::put_wait_edges(&mut request);
        let calls = remote.peers_with_partitions().into_iter().map(|peer| remote.call(peer, &request)).collect();
        for reply in join_all(calls).await.into_iter().flatten() {
            // What cannot be read has no edges either.
            let _ = protocol::read_edges(&reply, &mut edges);
        }
    }
    edges
}

/// One look for cycles over several nodes: their victims that wait here have their waits ended.
pub(crate) async fn break_cycles_between_nodes(node: &Arc<Node>) {
    let has_peers = node.remote().is_some_and(|remote| !remote.peers_with_partitions().is_empty());
    if !has_peers || !node.wait_for_graph().has_waited(SUSPECT_AFTER) {
        return;
    }
    let edges = all_edges(node).await;
    if victims(&edges).is_empty() {
        return;
    }
    let again = all_edges(node).await;
    for victim in victims_of_both(&edges, &again).into_iter().filter(|&victim| node.wait_for_graph().waits(victim))
    {
        let deadlock = node.deadlock_between_nodes(victim, &again);
        if node.condemn(victim) {
            node.report_deadlock(deadlock);
        }
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::TransactionId;

    use super::*;

    fn id(node: u64, number: u64) -> TransactionId {
        TransactionId(node << 52 | number)
    }

    #[test]
    fn of_a_cycle_the_youngest_alone_is_the_victim_whatever_its_node_is() {
        let (old, middle, young) = (id(3, 1), id(1, 2), id(2, 3));
        let pairs = [(old, middle), (middle, young), (young, old), (id(1, 9), young)];
        let mut edges = pairs.map(|(waiter, blocker)| WaitEdge { waiter, blocker, is_held: true }).to_vec();
        for _ in 0..edges.len() {
            assert_eq!(victims(&edges), [young]);
            edges.rotate_left(1);
        }
        edges.retain(|edge| (edge.waiter, edge.blocker) != (young, old));
        assert!(victims(&edges).is_empty());
    }
}
