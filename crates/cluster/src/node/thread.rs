//! The cluster's thread: ticks the replicas, sends gossip, follows the dictionary, and runs jobs that nobody waits for.
//!
//! It must come round often, or leases run out. So nothing on it blocks for longer than a flush, and long work awaits between its
//! pieces.

use std::sync::{Arc, Weak};
use std::time::Duration;

use shoal_types::{Error, Result};
use tokio::time::MissedTickBehavior;

use crate::base::wait::lock;
use crate::membership::peers::Job;
use crate::node::Node;

const TICK_MIN: Duration = Duration::from_millis(5);
/// Gossip is sent after so many ticks even if nothing has changed.
const TICKS_PER_GOSSIP: u32 = 20;
/// Locks that are kept for definitions of other nodes are asked about after so many ticks.
const TICKS_PER_LOOK_AT_LOCKS: u32 = 100;

impl Node {
    /// Starts the thread of a node that belongs to a cluster. It ends when the node is stopped or gone.
    pub fn start_cluster_thread(self: &Arc<Self>) -> Result<()> {
        let Some(cluster) = self.cluster() else { return Ok(()) };
        let jobs = lock(&cluster.first_jobs).take();
        let Some(jobs) = jobs else { return Ok(()) };
        self.open_cluster_log();
        let period = Duration::from_millis(cluster.options.timing.tick_ms()).max(TICK_MIN);
        let node = Arc::downgrade(self);
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => tokio::task::LocalSet::new().block_on(&runtime, run(&node, period, jobs)),
                Err(error) => {
                    if let Some(node) = node.upgrade() {
                        node.stop(&format!("the cluster's thread cannot start: {error}"));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("shoal-cluster".into()).spawn(body);
        thread.map(|_| ()).map_err(|error| Error::unknown(format!("cannot start the cluster's thread: {error}")))
    }

    /// One turn of the thread.
    fn cluster_tick(&self, turn: u32, told: &mut u64) {
        let Some(cluster) = self.cluster() else { return };
        self.tick_replicas();
        self.leave_amnesia();
        let version = cluster.map_version();
        let map_changed = version != *told;
        if turn.is_multiple_of(TICKS_PER_GOSSIP) || map_changed {
            *told = version;
            self.find_routes();
            self.send_gossip();
        }
        self.watch_leaders(cluster);
        self.forward_events();
        self.check_leadership();
        self.check_dictionary(map_changed);
        if turn.is_multiple_of(TICKS_PER_LOOK_AT_LOCKS) {
            self.check_locks();
        }
    }
}

async fn run(node: &Weak<Node>, period: Duration, mut jobs: tokio::sync::mpsc::UnboundedReceiver<Job>) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut turn = 0u32;
    let mut told = 0;
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                let Some(node) = node.upgrade().filter(|node| !node.is_closed()) else { return };
                let transport = node.cluster().and_then(|cluster| cluster.transport());
                match transport {
                    // One write a peer.
                    Some(transport) => transport.gather(|| node.cluster_tick(turn, &mut told)),
                    None => node.cluster_tick(turn, &mut told),
                }
                turn = turn.wrapping_add(1);
            }
            Some(job) = jobs.recv() => {
                tokio::task::spawn_local(job());
            }
        }
    }
}
