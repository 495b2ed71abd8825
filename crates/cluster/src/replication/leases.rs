//! Who leads and serves: a leader serves in a term when its lease is confirmed and its clock is beyond what was shown before.

use std::sync::atomic::Ordering;
use std::time::Duration;

use shoal_partition::Millis;
use shoal_replication::{Standing, may_serve};
use shoal_types::{NodeId, Result, Transient};

use crate::base::wait::lock;
use crate::membership::remote::not_leader;
use crate::replication::Replication;
use crate::storage::partitions::PartitionGuard;

/// How long a node that begins to lead waits for those that may be reading snapshots.
const SNAPSHOTS_TIMEOUT: Duration = Duration::from_millis(100);

impl Replication {
    /// Holds a partition that this node leads.
    ///
    /// # Errors
    /// [`not_leader`] when it does not.
    #[inline]
    pub fn leader(&self, partition: u32) -> Result<PartitionGuard<'_>> {
        let guard = self.partition(partition);
        match may_serve(&guard, self.serving_term(partition), self.now()) {
            true => Ok(guard),
            false => Err(not_leader(partition)),
        }
    }

    /// This node leads the partition in the term still, and did serve; only its lease has run out, and the next answers of the others
    /// renew it. Transactions that have joined the partition lose nothing meanwhile.
    pub fn has_lapsed(&self, partition: u32, term: u64) -> bool {
        let guard = self.partition(partition);
        let leads = guard.is_leader() && guard.term() == term && self.serving_term(partition) == term;
        let refused = guard.check_serves(self.now()).err();
        leads && refused.is_none_or(|error| error.why_transient() == Some(Transient::NotServing))
    }

    #[inline]
    fn serving_term(&self, partition: u32) -> u64 {
        self.replicas[partition as usize].serving_term.load(Ordering::Acquire)
    }

    pub(crate) fn serves_term(&self, partition: u32, term: u64) -> bool {
        self.serving_term(partition) == term
    }

    /// A snapshot that the leader before has shown must stay what it was: nothing is committed here at a timestamp before it.
    /// Whoever reads it is asked first; who does not answer soon is not waited for.
    fn begin_to_serve(&self, partition: u32, term: u64) {
        let Some(cluster) = &self.cluster else { return };
        let serving_term = &self.replicas[partition as usize].serving_term;
        if partition == cluster.options.partition_count() {
            return serving_term.store(term, Ordering::Release);
        }
        if !lock(&self.asking).insert((partition, term)) {
            return;
        }
        let handle = self.handle.clone();
        cluster.spawn(move || async move {
            let Some(node) = handle.upgrade() else { return };
            if let Some(operations) = node.operations.get() {
                let _ = tokio::time::timeout(SNAPSHOTS_TIMEOUT, operations.observe_snapshots()).await;
            }
            node.replicas[partition as usize].serving_term.store(term, Ordering::Release);
            if let Some(cluster) = &node.cluster {
                lock(&node.asking).remove(&(partition, term));
                let guard = node.partition(partition);
                if guard.term() == term && guard.serves(node.now()) {
                    cluster.learn_leader(partition, cluster.options.me, term);
                }
            }
        });
    }

    /// Leaders tell the others that they lead; the rest is told what this replica has heard.
    pub(super) fn note_leader(&self, partition: u32, guard: &PartitionGuard<'_>, now: Millis) {
        let Some(cluster) = &self.cluster else { return };
        let me = cluster.options.me;
        if guard.is_witness() && guard.is_leader() {
            self.events().note_witness(partition, guard.term());
        }
        match Standing::of(guard, self.serving_term(partition), now) {
            Standing::Serves(term) => cluster.learn_leader(partition, me, term),
            Standing::MustAsk(term) => self.begin_to_serve(partition, term),
            Standing::Follows(leader, term) => {
                cluster.leaders.forget(partition, me);
                if let Some(leader) = leader {
                    cluster.leaders.learn(partition, NodeId(leader as u32), term);
                }
            }
        }
    }
}
