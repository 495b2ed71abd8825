//! What joins transactions to a node's links: the server of others' operations, and the work that goes on behind them.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use shoal_cluster::{Node, Operations, Served};
use shoal_types::NodeId;

use crate::deadlock::break_cycles_between_nodes;
use crate::pulse::exchange_pulses;
use crate::serve::Server;

/// Nodes tell each other so often which snapshots they use.
const PULSE_EVERY: Duration = Duration::from_millis(100);
/// What is in doubt at one look and at the next is asked for.
const RESOLVE_EVERY: Duration = Duration::from_millis(250);
/// The same after a loss.
const RESOLVE_EVERY_AFTER_LOSS: Duration = Duration::from_millis(25);
/// The locks of a transaction that its coordinator has ended without this node's knowledge are held for as long as two looks are apart.
const ORPHANS_EVERY: Duration = Duration::from_secs(2);
/// The same after a loss.
const ORPHANS_EVERY_AFTER_LOSS: Duration = Duration::from_millis(100);
/// What tells of an end may have been on a link that broke, and the node behind it be gone: for a while after that the looks follow closely on
/// each other.
const LOSS_LASTS: Duration = Duration::from_secs(2);
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
        every(DEADLOCKS_EVERY, DEADLOCKS_EVERY * 5, waiting, async |server| {
            break_cycles_between_nodes(server.node()).await
        })
    });
    cluster.spawn(move || {
        let mut looks = Looks::new(RESOLVE_EVERY, Instant::now());
        every(RESOLVE_EVERY_AFTER_LOSS, RESOLVE_EVERY * 5, resolving, async move |server| {
            if looks.are_due(links_lost(server), Instant::now()) {
                server.resolve().await;
            }
        })
    });
    cluster.spawn(move || {
        let mut looks = Looks::new(ORPHANS_EVERY, Instant::now());
        every(ORPHANS_EVERY_AFTER_LOSS, ORPHANS_EVERY * 5, orphans, async move |server| {
            if looks.are_due(links_lost(server), Instant::now()) {
                server.end_orphans().await;
            }
        })
    });
}

fn links_lost(server: &Server) -> u64 {
    server.node().cluster().map_or(0, |cluster| cluster.links_lost())
}

/// When to look for what transactions have left behind whose coordinators are gone.
struct Looks {
    period: Duration,
    links_lost: u64,
    loss_ends: Instant,
    next: Instant,
}

impl Looks {
    /// `period`: without a loss.
    fn new(period: Duration, now: Instant) -> Looks {
        Looks { period, links_lost: 0, loss_ends: now, next: now }
    }

    /// `links_lost`: how many links to other nodes have ended so far.
    fn are_due(&mut self, links_lost: u64, now: Instant) -> bool {
        if std::mem::replace(&mut self.links_lost, links_lost) != links_lost {
            self.loss_ends = now + LOSS_LASTS;
        }
        let is_due = now >= self.next || now < self.loss_ends;
        if is_due {
            self.next = now + self.period;
        }
        is_due
    }
}

/// Does something from time to time, for `patience` at most each time, as long as the server lives.
async fn every(
    period: Duration,
    patience: Duration,
    server: Weak<Server>,
    mut work: impl AsyncFnMut(&Arc<Server>),
) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let Some(server) = server.upgrade() else { return };
        // Whoever hangs is asked again the next time.
        let _ = tokio::time::timeout(patience, work(&server)).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_follow_closely_on_each_other_for_a_while_after_a_link_has_ended() {
        let begin = Instant::now();
        let mut looks = Looks::new(Duration::from_secs(2), begin);
        let mut times = |links_lost: u64, from_ms: u64, to_ms: u64| {
            let ticks = (from_ms..to_ms).step_by(100).map(|ms| begin + Duration::from_millis(ms));
            ticks.filter(|&now| looks.are_due(links_lost, now)).count()
        };
        assert_eq!(times(0, 0, 4000), 2);
        assert_eq!(times(1, 4000, 6000), 20);
        assert_eq!(times(1, 6000, 10_000), 2);
        assert_eq!(times(3, 10_000, 13_000), 20);
    }
}
