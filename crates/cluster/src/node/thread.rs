//! The cluster's thread: lets time pass in the replicas, tells the news, follows the dictionary, runs what nobody waits for.
//!
//! It must come round often, or leases run out: nothing on it blocks for longer than a flush, and long work awaits between its pieces.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use shoal_types::{Error, Result};
use tokio::time::MissedTickBehavior;

use crate::base::wait::lock;
use crate::membership::peers::Job;
use crate::node::Node;

const TICK_MIN: Duration = Duration::from_millis(5);
/// News are told again after so many ticks even if nothing has changed.
const TICKS_PER_NEWS: u32 = 4;

impl Node {
    /// Starts the thread of a node that belongs to a cluster. It ends when the node is stopped or gone.
    pub fn start_cluster_thread(self: &Arc<Self>) -> Result<()> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
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
    fn cluster_tick(self: &Arc<Self>, turn: u32, told: &mut u64) {
        let Some(cluster) = &self.cluster else { return };
        self.tick_replicas();
        self.leave_amnesia();
        let version = cluster.map_version();
        if version != *told {
            // Whoever begins to lead sees to it that the fragments are those of the dictionary.
            cluster.reconcile.store(true, Ordering::Release);
        }
        if turn.is_multiple_of(TICKS_PER_NEWS) || version != *told {
            *told = version;
            self.find_routes();
            self.tell_news();
        }
        self.watch_leaders(cluster);
        self.forward_events();
        self.mind_leading();
        let meta_leader = cluster.leaders.of(cluster.options.meta_partition().0);
        let behind = cluster.newest_catalog.load(Ordering::Acquire) > self.catalog_version();
        let unknown = !cluster.knows_catalog.load(Ordering::Acquire);
        if meta_leader.is_some() && (behind || unknown || cluster.reconcile.load(Ordering::Acquire)) {
            self.follow_catalog();
        }
    }

    /// Fetches what the dictionary has that this node has not.
    fn follow_catalog(self: &Arc<Self>) {
        let Some(cluster) = &self.cluster else { return };
        if cluster.following.swap(true, Ordering::AcqRel) {
            return;
        }
        let node = Arc::downgrade(self);
        cluster.reconcile.store(false, Ordering::Release);
        let wanted = cluster.newest_catalog.load(Ordering::Acquire);
        cluster.spawn(move || async move {
            let Some(node) = node.upgrade() else { return };
            let again = match node.have_catalog(wanted).await {
                Ok(_) => false,
                Err(error) => {
                    tracing::debug!(%error, "the dictionary could not be followed yet");
                    true
                }
            };
            if let Some(cluster) = &node.cluster {
                cluster.reconcile.fetch_or(again, Ordering::AcqRel);
                cluster.following.store(false, Ordering::Release);
            }
        });
    }

    /// A replica that knows that nobody knows more is one like the others: when the cluster begins, and when all of it went down
    /// at once without everything being durable.
    fn leave_amnesia(&self) {
        let Some(cluster) = &self.cluster else { return };
        if cluster.noted_whole.load(Ordering::Acquire) {
            return;
        }
        let mut all_known = true;
        for partition in self.hosted() {
            let guard = self.partition(partition);
            if guard.is_single() || !guard.is_amnesiac() {
                continue;
            }
            let agreement = cluster.agree(partition, &guard);
            drop(guard);
            if let Some(agreement) = agreement {
                self.take_agreement(cluster, partition, agreement);
            }
            all_known &= !self.partition(partition).is_amnesiac();
        }
        if !all_known {
            return;
        }
        cluster.initialised.store(true, Ordering::Release);
        cluster.noted_whole.store(true, Ordering::Release);
        if let Err(error) = self.note_whole() {
            self.stop(error.message());
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
                let transport = node.cluster.as_ref().and_then(|cluster| cluster.transport.get());
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
