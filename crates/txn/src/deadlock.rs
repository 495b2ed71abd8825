//! Deadlocks between nodes: circles of waits that no node sees alone.
//!
//! Whoever has waited for a while asks all nodes who waits for whom in the partitions they lead, and looks for a circle
//! through itself in which it is the youngest: that one is the victim, and every waiter decides by the same rule.
//! The nodes answer at different moments, so edges are believed only if a second round of questions, begun when the first
//! was answered, finds them as well: then they all held at once.

use std::collections::{HashMap, HashSet};

use shoal_cluster::Node;
use shoal_types::TransactionId;

use crate::gather::join_all;
use crate::protocol;

/// Bits of a transaction's id that tell its age; those above name a node.
const AGE_BITS: u32 = 52;

type Edge = (TransactionId, TransactionId);

/// The later of two transactions, whatever their nodes are.
fn is_younger(one: TransactionId, other: TransactionId) -> bool {
    let age = |id: TransactionId| (id.0 & ((1 << AGE_BITS) - 1), id.0);
    age(one) > age(other)
}

/// (waiter, holder) pairs of the partitions that are led here.
pub(crate) fn local_edges(node: &Node) -> Vec<Edge> {
    let mut edges = Vec::new();
    for partition in 0..node.partition_count() {
        if let Ok(guard) = node.leader(partition) {
            edges.append(&mut guard.wait_edges());
        }
    }
    edges
}

/// The same of all nodes; one that does not answer has no edges.
async fn all_edges(node: &Node) -> HashSet<Edge> {
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
    edges.into_iter().collect()
}

/// `waiter` must give way: it is the youngest in a circle of waits over several nodes.
pub(crate) async fn is_victim_between_nodes(node: &Node, waiter: TransactionId) -> bool {
    if node.remote().is_none_or(|remote| remote.peers_with_partitions().is_empty()) {
        return false;
    }
    let mut edges = all_edges(node).await;
    if !is_youngest_in_circle(&edges, waiter) {
        return false;
    }
    let again = all_edges(node).await;
    edges.retain(|edge| again.contains(edge));
    is_youngest_in_circle(&edges, waiter)
}

fn is_youngest_in_circle(edges: &HashSet<Edge>, waiter: TransactionId) -> bool {
    let mut holders: HashMap<TransactionId, Vec<TransactionId>> = HashMap::new();
    for &(from, to) in edges {
        holders.entry(from).or_default().push(to);
    }
    let mut seen = HashSet::new();
    let mut ahead = vec![waiter];
    while let Some(next) = ahead.pop() {
        for &holder in holders.get(&next).into_iter().flatten() {
            if holder == waiter {
                return true;
            }
            if is_younger(waiter, holder) && seen.insert(holder) {
                ahead.push(holder);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(node: u64, number: u64) -> TransactionId {
        TransactionId(node << AGE_BITS | number)
    }

    #[test]
    fn of_a_circle_the_youngest_alone_is_the_victim_whatever_its_node_is() {
        let (old, middle, young) = (id(3, 1), id(1, 2), id(2, 3));
        let circle: HashSet<Edge> = [(old, middle), (middle, young), (young, old)].into();
        assert!(is_youngest_in_circle(&circle, young));
        assert!(!is_youngest_in_circle(&circle, middle) && !is_youngest_in_circle(&circle, old));
        let mut chain = circle.clone();
        chain.remove(&(young, old));
        assert!([old, middle, young].into_iter().all(|one| !is_youngest_in_circle(&chain, one)));
    }

    #[test]
    fn somebody_who_waits_for_a_circle_is_no_part_of_it() {
        let edges: HashSet<Edge> = [(id(1, 9), id(1, 2)), (id(1, 2), id(1, 1)), (id(1, 1), id(1, 2))].into();
        assert!(!is_youngest_in_circle(&edges, id(1, 9)));
        assert!(is_youngest_in_circle(&edges, id(1, 2)));
    }
}
