//! What the voters of a partition agree on when a crash may have taken what they had promised.
//!
//! Each tells what it remembers. Where all have told, the newest log that there is counts, and who does not know it does not vote
//! before it has caught up.

use std::sync::atomic::Ordering;

use shoal_partition::{Agreement, Incarnation, Partition, ReplicaReport};
use shoal_replication::concerns;

use crate::base::wait::lock;
use crate::membership::gossip::{StoredAgreement, agreement_of};
use crate::membership::peers::Membership;
use crate::replication::Replication;

impl Replication {
    /// The replicas here have never taken part in anything.
    pub(crate) fn is_new(&self) -> bool {
        !self.initialised.load(Ordering::Acquire)
    }

    /// What the voters here have agreed on, by partition.
    pub(crate) fn agreements(&self) -> Vec<(u32, Agreement)> {
        lock(&self.agreements).all().map(|(partition, agreement)| (partition, agreement.clone())).collect()
    }

    /// What the voters of a partition agree on, if they do; `replica` is this node's.
    fn agree(&self, cluster: &Membership, partition: u32, replica: &Partition) -> Option<Agreement> {
        let told = cluster.reports(partition);
        let others: Vec<(Incarnation, &ReplicaReport)> =
            told.iter().map(|(life, report)| (*life, report)).collect();
        shoal_replication::agree(cluster.me(), replica, self.is_new(), &others)
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
                self.take_agreement(partition, &agreement);
            }
            all_known &= !self.partition(partition).is_amnesiac();
        }
        if !all_known {
            return;
        }
        self.initialised.store(true, Ordering::Release);
        match self.note_whole() {
            Ok(noted) => self.noted_whole.store(noted, Ordering::Release),
            Err(error) => self.stop(error.message()),
        }
    }

    /// The voters of a partition have agreed on where they go on.
    fn take_agreement(&self, partition: u32, agreement: &Agreement) {
        let gives_up_log = self.partition(partition).gives_up_log(agreement);
        let identity = match gives_up_log.then(|| self.begin_to_give_up_log()).transpose() {
            Ok(identity) => identity,
            Err(error) => return self.stop(error.message()),
        };
        let mut guard = self.partition(partition);
        if !gives_up_log && guard.gives_up_log(agreement) {
            // Its log has become that one since: the next telling finds it so.
            return;
        }
        let taken = lock(&self.agreements).take(partition, &mut guard, agreement);
        if gives_up_log {
            self.noted_whole.store(false, Ordering::Release);
        }
        drop(identity);
        match taken {
            Ok(true) => self.settle_and_release(partition, guard),
            Ok(false) => {}
            Err(error) => {
                drop(guard);
                self.stop(&format!("partition {partition} cannot go on: {error}"));
            }
        }
    }

    /// What others have agreed on counts here if it names this very process.
    pub(crate) fn receive_agreements(&self, cluster: &Membership, agreements: &[StoredAgreement]) {
        for told in agreements {
            let agreement = agreement_of(told);
            let is_here = self.hosted().any(|partition| partition == told.partition);
            if is_here && concerns(&agreement, cluster.me()) {
                self.take_agreement(told.partition, &agreement);
            }
        }
    }
}
