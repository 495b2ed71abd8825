//! The end of a job that ends its transaction's part: a commit here alone, a PREPARE, or the home's commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{Appending, EntryOf, Node, Table, Waiter};
use shoal_partition::CommitStart;
use shoal_types::{Error, PartitionId, Result, TableId, Timestamp, TransactionId};

use super::job::{Job, Progress, Refusal, Turn};
use crate::commit::Unflushed;
use crate::protocol::{self, List, Part, Then};
use crate::two_phase::{End, PartHere, propose_end};

impl Job {
    /// Appends the entry that the work ends with. The reply is ready, to be sent when that is applied.
    pub(super) fn end(
        &mut self,
        turn: &Turn<'_>,
        then: &Then<'_>,
        waiter: Option<&mut Waiter>,
        reply: &mut Vec<u8>,
    ) -> Result<Progress, Refusal> {
        self.hold_once(turn)?;
        let Some((id, waiter)) = turn.head.transaction.zip(waiter) else {
            return Err(Error::unknown("internal: a commit without a transaction").into());
        };
        let appending = match then {
            Then::Commit { others, sequences } if others.len() > 0 => {
                let tables = tables_of(turn.node, *sequences);
                let appending = self.commit_together(turn, id, *others, &tables, waiter)?;
                self.finish(then, reply);
                appending
            }
            Then::Commit { sequences, .. } => {
                let (_, appending) = self.append(turn, id, Timestamp::ZERO, *sequences, waiter, End::Commit)?;
                self.finish(then, reply);
                appending
            }
            Then::Prepare { home } => {
                let end = End::Prepare { home: PartitionId(*home) };
                let (timestamp, appending) =
                    self.append(turn, id, Timestamp::ZERO, List::default(), waiter, end)?;
                self.finish(then, reply);
                let is_prepared = appending.signals > 0;
                protocol::put_u64(reply, if is_prepared { timestamp.0 } else { 0 });
                appending
            }
            Then::HomeCommit { after, participants, sequences } => {
                turn.node.clock().observe_peer(*after)?;
                let participants: Vec<PartitionId> = participants.iter().map(PartitionId).collect();
                let end = End::HomeCommit { participants: &participants };
                let (timestamp, appending) = self.append(turn, id, *after, *sequences, waiter, end)?;
                self.finish(then, reply);
                protocol::put_u64(reply, timestamp.0);
                appending
            }
            Then::Nothing | Then::Read { .. } | Then::Scan(_) | Then::Slice(_) => {
                return Err(Error::unknown("internal: work that does not end a transaction").into());
            }
        };
        if appending.signals == 0 {
            return Ok(Progress::Done);
        }
        if !appending.needs_flush {
            turn.node.complete(appending.end);
            if waiter.is_done() {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::Committing(Unflushed::new(turn.node, appending)))
    }

    /// Appends one entry of this partition, if the transaction still has there what it is taken to have.
    fn append(
        &self,
        turn: &Turn<'_>,
        id: TransactionId,
        after: Timestamp,
        sequences: List<'_, (u32, u64)>,
        waiter: &mut Waiter,
        end: End<'_>,
    ) -> Result<(Timestamp, Appending), Refusal> {
        let tables = tables_of(turn.node, sequences);
        let part = PartHere { transaction: id, term: self.term, writes: self.staged };
        let mut is_lost = false;
        let token = waiter.arm(1);
        let appended = turn.node.append_entry(
            turn.head.partition,
            EntryOf::Writes(id),
            after,
            &tables,
            token,
            |partition, timestamp, token| {
                let proposed = propose_end(partition, part, end, timestamp, token)?;
                is_lost = proposed.is_none();
                Ok(proposed == Some(CommitStart::Proposed))
            },
        );
        match appended {
            _ if is_lost => Err(Refusal::Lost),
            Ok(appended) => Ok(appended),
            Err(error) if error.why_transient().is_some() => {
                Err(turn.refusal_of_part(turn.head.partition, self.term))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Commits in several partitions of this node as one batch of its log.
    fn commit_together(
        &self,
        turn: &Turn<'_>,
        id: TransactionId,
        others: List<'_, Part>,
        tables: &[Arc<Table>],
        waiter: &mut Waiter,
    ) -> Result<Appending, Refusal> {
        let mut partitions = vec![turn.head.partition];
        for part in others.iter() {
            check_part(turn, id, &part)?;
            partitions.push(part.partition);
        }
        partitions.sort_unstable();
        partitions.dedup();
        let token = waiter.arm(partitions.len() as u32);
        let appending = turn.node.append_commit(id, &partitions, tables, token)?;
        for _ in appending.signals..partitions.len() as u32 {
            turn.node.waits().signal(token);
        }
        Ok(appending)
    }
}

/// The transaction has in another partition of this node what its coordinator takes it to have.
fn check_part(turn: &Turn<'_>, id: TransactionId, part: &Part) -> Result<(), Refusal> {
    // Term 0 is for what joins now: nothing that is committed.
    if part.term == 0 || part.partition >= turn.node.partition_count() {
        return Err(Refusal::Lost);
    }
    let guard = turn.node.leader(part.partition).map_err(|_| turn.refusal_of_part(part.partition, part.term))?;
    match guard.has_part(id, part.term, part.staged) {
        true => Ok(()),
        false => Err(Refusal::Lost),
    }
}

/// The tables whose sequences the transaction has used, moved to where its coordinator has come.
fn tables_of(node: &Node, sequences: List<'_, (u32, u64)>) -> Vec<Arc<Table>> {
    if sequences.len() == 0 {
        return Vec::new();
    }
    let catalog = node.catalog();
    let used = |(table, next): (u32, u64)| {
        let table = catalog.tables_by_id.get(&TableId(table))?;
        table.next_auto_increment.fetch_max(next, Ordering::Relaxed);
        Some(Arc::clone(table))
    };
    sequences.iter().filter_map(used).collect()
}
