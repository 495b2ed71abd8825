//! What joins transactions to a node's links: the server of others' operations, and the work that goes on behind them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use shoal_cluster::{Node, Operations, Served};
use shoal_types::NodeId;

use crate::pulse::exchange_pulses;
use crate::serve::Server;

/// Nodes tell each other so often which snapshots they use.
const PULSE_EVERY: Duration = Duration::from_millis(100);

struct Service(Arc<Server>);

impl Operations for Service {
    fn serve(&self, from: NodeId, request: &[u8], reply: &mut Vec<u8>) -> Served {
        self.0.serve(from, request, reply)
    }

    fn coordinator_gone(&self, node: NodeId) {
        self.0.coordinator_gone(node);
    }
}

/// Has a node of a cluster serve the transactions of other nodes. Once, before its links are up.
pub fn serve_cluster(node: &Arc<Node>) {
    let Some(cluster) = node.cluster() else { return };
    node.set_operations(Arc::new(Service(Server::new(Arc::clone(node)))));
    let weak = Arc::downgrade(node);
    cluster.spawn(move || pulses(weak));
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
