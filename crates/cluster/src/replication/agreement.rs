//! What the voters of a partition agree on when a crash may have taken what they had promised.
//!
//! Each tells what it remembers. Where all have told, the newest log that there is counts, and who does not know it does not vote
//! before it has caught up.

use std::sync::atomic::Ordering;

use shoal_partition::{Agreement, LogEnd, NodeLife, Partition, Testimony};

use crate::base::wait::lock;
use crate::membership::gossip::{StoredAgreement, incarnations};
use crate::membership::peers::Membership;
use crate::replication::Replication;

impl Replication {
    /// The replicas here have never taken part in anything.
    pub(crate) fn is_new(&self) -> bool {
        !self.initialised.load(Ordering::Acquire)
    }

    /// What the voters here have agreed on, by partition.
    pub(crate) fn agreements(&self) -> Vec<(u32, Agreement)> {
        lock(&self.agreements).iter().map(|(&partition, agreement)| (partition, agreement.clone())).collect()
    }

    /// What the voters of a partition agree on, if they do; `replica` is this node's.
    fn agree(&self, cluster: &Membership, partition: u32, replica: &Partition) -> Option<Agreement> {
        let told = cluster.testimonies(partition);
        let placement = cluster.options.placement(partition);
        if told.len() + 1 < placement.voters().len() {
            return None;
        }
        let others: Vec<(NodeLife, &Testimony)> =
            told.iter().map(|(life, testimony)| (*life, testimony)).collect();
        let own = replica.testimony(self.is_new(), Vec::new())?;
        Agreement::of(cluster.me(), &own, &others, placement.witness.map(|node| u64::from(node.0)))
    }

    /// A replica that knows that nobody knows more is one like the others: when the cluster begins, and when all of it went down
    /// at once without everything being durable.
    pub(crate) fn leave_amnesia(&self) {
        let Some(cluster) = &self.cluster else { return };
        if self.noted_whole.load(Ordering::Acquire) {
            return;
        }
        let mut all_known = true;
        for partition in self.hosted() {
            let guard = self.partition(partition);
            if guard.is_single() || !guard.is_amnesiac() {
                continue;
            }
            let agreement = self.agree(cluster, partition, &guard);
            drop(guard);
            if let Some(agreement) = agreement {
                self.take_agreement(partition, agreement);
            }
            all_known &= !self.partition(partition).is_amnesiac();
        }
        if !all_known {
            return;
        }
        self.initialised.store(true, Ordering::Release);
        self.noted_whole.store(true, Ordering::Release);
        if let Err(error) = self.note_whole() {
            self.stop(error.message());
        }
    }

    /// The voters of a partition have agreed on where they go on.
    fn take_agreement(&self, partition: u32, agreement: Agreement) {
        let mut guard = self.partition(partition);
        // One that was overtaken by a later one is told on for a while.
        let is_later = |known: &Agreement| known.newest >= agreement.newest;
        let is_known = lock(&self.agreements).get(&partition).is_some_and(is_later);
        if is_known && !guard.is_amnesiac() {
            return;
        }
        let forgotten = guard.forget_amnesia(agreement.newest);
        if let Err(error) = forgotten {
            drop(guard);
            return self.stop(&format!("partition {partition} cannot go on: {error}"));
        }
        self.settle_and_release(partition, guard);
        lock(&self.agreements).insert(partition, agreement);
    }

    /// What others have agreed on counts here if it names this very process.
    pub(crate) fn receive_agreements(&self, cluster: &Membership, agreements: &[StoredAgreement]) {
        for told in agreements {
            let lives = incarnations(&told.incarnations);
            if lives.contains(&cluster.me()) && self.hosted().any(|partition| partition == told.partition) {
                let newest = LogEnd { term: told.term, index: told.index };
                self.take_agreement(told.partition, Agreement { lives, newest });
            }
        }
    }
}
