//! Commits of transactions that have a part on other nodes.

use std::sync::atomic::Ordering;

use shoal_cluster::RequestError;
use shoal_types::{NodeId, PartitionId, Result, TransactionId};

use crate::commit_driver::CommitDriver;
use crate::protocol::{self, Part};
use crate::remote::{WorkFor, commit_lost};
use crate::transaction::Transaction;
use crate::two_phase::{Participant, take_home};

impl Transaction {
    /// Commits where the writes are: in this process, at one leader elsewhere, or between several.
    pub(crate) async fn commit_between_nodes(&mut self, id: TransactionId, writers: &[u32]) -> Result<()> {
        let Some(&first) = writers.first() else {
            self.roll_back_all(id);
            return Ok(());
        };
        let node = self.participants.get(first).and_then(|one| one.node);
        let shares_log = self.node.remote().is_none_or(|remote| remote.has_single_groups())
            && self.participants.iter().all(|one| one.node == node);
        // Locks elsewhere are worth nothing if their leader has changed: it is asked, as if it were to prepare.
        let is_alone = self.participants.iter().all(|one| one.partition == first);
        if shares_log || is_alone {
            return match node {
                None => self.commit_here(id, writers).await,
                Some(node) => self.commit_at_leader(id, writers, node).await,
            };
        }
        self.commit_in_two_phases(id).await
    }

    /// Commits between several leaders. What is left to do when the outcome is known goes on without this session.
    async fn commit_in_two_phases(&mut self, id: TransactionId) -> Result<()> {
        let mut places = Vec::new();
        let mut others = Vec::new();
        for one in self.participants.iter() {
            let partition = PartitionId(one.partition);
            places.push((partition, one.node));
            others.push(Participant { partition, term: one.term, writes: one.writes });
        }
        let is_near = |partition| places.iter().any(|&(one, node)| one == partition && node.is_none());
        let Some(home) = take_home(&mut others, is_near) else {
            self.roll_back_all(id);
            return Ok(());
        };
        if !std::mem::take(&mut self.is_coordinated) {
            self.node.begin_coordinating(id);
        }
        self.counters.execute_count += 2;
        let sequences = self.sequences.clone();
        let mut driver = CommitDriver::new(&self.node, id, home, others, places, sequences);
        let outcome = driver.run().await;
        if !driver.is_finished()
            && let Some(remote) = self.node.remote()
        {
            remote.spawn(Box::pin(driver.finish()));
        }
        outcome.map(|_| ())
    }

    /// Commits at one other node, as one batch of its log: that decides.
    async fn commit_at_leader(&mut self, id: TransactionId, writers: &[u32], node: NodeId) -> Result<()> {
        let partition = writers[0];
        let others: Vec<Part> = writers[1..].iter().filter_map(|&other| self.part_in(other)).collect();
        self.begin_work(WorkFor::joining(partition), node, std::iter::empty());
        let next =
            |table: &std::sync::Arc<shoal_cluster::Table>| table.next_auto_increment.load(Ordering::Relaxed);
        let sequences = self.sequences.iter().map(|table| (table.id(), next(table)));
        protocol::put_then_commit(&mut self.frame, others.into_iter(), sequences);
        self.counters.execute_count += 1;
        let mut asked = self.send_work(partition, node, std::iter::empty());
        let reply = asked.call.as_mut().await;
        if let Err(RequestError::Lost) = reply {
            return Err(commit_lost());
        }
        self.take_reply(asked, reply)?;
        self.release_readers(id);
        Ok(())
    }

    fn part_in(&self, partition: u32) -> Option<Part> {
        let participant = self.participants.get(partition)?;
        Some(Part { partition, term: participant.term, staged: participant.writes })
    }
}
