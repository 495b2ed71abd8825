//! Commits of transactions that have a part on other nodes.

use std::sync::atomic::Ordering;

use shoal_cluster::CallError;
use shoal_types::{Error, NodeId, Result, TransactionId};

use crate::protocol::{self, Part};
use crate::remote::{WorkFor, commit_lost};
use crate::transaction::Transaction;

impl Transaction {
    /// Commits where the writes are: in this process, at one leader elsewhere, or between several.
    pub(crate) async fn commit_between_nodes(&mut self, id: TransactionId, writers: &[u32]) -> Result<()> {
        let Some(&first) = writers.first() else {
            self.roll_back_all(id);
            return Ok(());
        };
        let node_of = |partition: u32| self.participants.get(partition).and_then(|one| one.node);
        let node = node_of(first);
        let is_one_node = writers.iter().all(|&partition| node_of(partition) == node);
        let single_groups = self.node.remote().is_none_or(|remote| remote.has_single_groups());
        if writers.len() == 1 || is_one_node && single_groups {
            return match node {
                None => self.commit_here(id, writers).await,
                Some(node) => self.commit_at_leader(id, writers, node).await,
            };
        }
        Err(Error::unsupported("transactions that write to partitions on several nodes"))
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
        if let Err(CallError::Lost) = reply {
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
