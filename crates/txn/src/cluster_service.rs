//! What joins transactions to a node's links: the server of others' operations, and the work that goes on behind them.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use shoal_cluster::{Node, Operations, Served};
use shoal_types::NodeId;

use crate::deadlock::break_cycles_between_nodes;
use crate::pulse::exchange_pulses;
use crate::serve::Server;

/// Nodes tell each other so often which snapshots they use.
const PULSE_EVERY: Duration = Duration::from_millis(100);
/// What is in doubt at one look and at the next is asked for.
const RESOLVE_EVERY: Duration = Duration::from_millis(250);
/// The locks of a transaction whose coordinator lost its link, and whose leader did not, are held for as long as two looks are apart.
const ORPHANS_EVERY: Duration = Duration::from_secs(2);
/// While somebody waits for a lock, the nodes are asked so often who waits for whom.
const DEADLOCKS_EVERY: Duration = Duration::from_millis(25);

struct Service(Arc<Server>);

impl Operations for Service {
    fn serve(&self, from: NodeId, request: &[u8], reply: &mut Vec<u8>) -> Served {
        self.0.serve(from, request, reply)
    }

    fn coordinator_gone(&self, node: NodeId) {
        self.0.end_transactions_of(node);
    }

    fn observe_snapshots(&self) -> Pin<Box<dyn Future<Output = ()>>> {
        let node = Arc::clone(self.0.node());
        Box::pin(async move { exchange_pulses(&node).await })
    }
}

/// Has a node of a cluster serve the transactions of other nodes. Once, before its links are up.
pub fn serve_cluster(node: &Arc<Node>) {
    let Some(cluster) = node.cluster() else { return };
    let server = Server::new(Arc::clone(node));
    node.set_operations(Arc::new(Service(Arc::clone(&server))));
    let (weak, resolving) = (Arc::downgrade(node), Arc::downgrade(&server));
    cluster.spawn(move || pulses(weak));
    let orphans = resolving.clone();
    let waiting = resolving.clone();
    cluster.spawn(move || {
        every(DEADLOCKS_EVERY, waiting, async |server| break_cycles_between_nodes(server.node()).await)
    });
    cluster.spawn(move || every(RESOLVE_EVERY, resolving, async |server| server.resolve().await));
    cluster.spawn(move || every(ORPHANS_EVERY, orphans, async |server| server.end_orphans().await));
}

/// Does something from time to time, as long as the server lives.
async fn every(period: Duration, server: Weak<Server>, work: impl AsyncFn(&Arc<Server>)) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let Some(server) = server.upgrade() else { return };
        // Whoever hangs is asked again the next time.
        let _ = tokio::time::timeout(period * 5, work(&server)).await;
    }
}

async fn pulses(node: Weak<Node>) {
    let mut ticks = tokio::time::interval(PULSE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let Some(node) = node.upgrade() else { return };
        // A peer that hangs must not hold up the others for long.
        let _ = tokio::time::timeout(PULSE_EVERY * 10, exchange_pulses(&node)).await;
    }
}
