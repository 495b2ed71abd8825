//! From proposals to applied entries.

use raft::eraftpb::Entry;
use shoal_planted::{Bug, is_planted};
use shoal_types::{Error, Result, TableId, Timestamp, TransactionId, key_hash};

use crate::api::*;
use crate::entry::{self, DecodedEntry, DecodedWrite};
use crate::fragment::{Applied, NewRow};
use crate::partition::{Partition, transaction_lost};
use crate::proposal::{Change, Proposal};
use crate::workspace::{NO_ROW, NO_WRITE, State, Transaction};

/// Superseded versions that each commit clears away in passing.
const GARBAGE_PER_COMMIT: usize = 4;

impl Partition {
    /// Proposes the transaction's writes as one log entry. `commit_timestamp` must be later than
    /// [`Partition::newest_timestamp`]. An error has changed nothing: the transaction is still active.
    pub fn propose_commit(
        &mut self,
        transaction: TransactionId,
        commit_timestamp: Timestamp,
        token: CommitToken,
    ) -> Result<CommitStart> {
        let data = match self.transactions.get(&transaction) {
            Some(active) if active.state != State::Active => {
                return Err(Error::unknown("internal: the transaction's commit is under way already"));
            }
            Some(active) if self.is_overtaken(active) => {
                return Err(transaction_lost(transaction, self.config.id));
            }
            Some(active) if active.logged > 0 => {
                let writes = active.logged_writes;
                Some(entry::encode_commit_of_parts(transaction, commit_timestamp, writes))
            }
            Some(active) => entry::encode_commit(active, commit_timestamp),
            None => None,
        };
        let Some(data) = data else {
            self.rollback(transaction);
            return Ok(CommitStart::ReadOnly);
        };
        self.check_later(commit_timestamp)?;
        self.propose(data, token, Change::Commit(transaction, commit_timestamp))?;
        self.newest = commit_timestamp;
        if let Some(transaction) = self.transactions.get_mut(&transaction) {
            transaction.state = State::Committing { timestamp: commit_timestamp };
        }
        self.pass_locks_on(transaction);
        self.pump()?;
        Ok(CommitStart::Proposed)
    }

    /// How long the entry of the transaction's commit or preparation would be at most.
    pub fn commit_bytes_max(&self, transaction: TransactionId) -> usize {
        self.transaction(transaction).map_or(0, entry::commit_bytes_max)
    }

    /// Refuses a timestamp that is not later than all before it.
    pub(crate) fn check_later(&self, timestamp: Timestamp) -> Result<()> {
        if timestamp <= self.newest {
            return Err(Error::unknown(format!(
                "internal: timestamp {timestamp} is not later than {} of partition {}",
                self.newest, self.config.id
            )));
        }
        Ok(())
    }

    pub(crate) fn propose(&mut self, data: Vec<u8>, token: CommitToken, change: Change) -> Result<()> {
        self.void_parts()?;
        self.propose_entry(data, Some(token), change)
    }

    pub(crate) fn propose_entry(
        &mut self,
        data: Vec<u8>,
        token: Option<CommitToken>,
        change: Change,
    ) -> Result<()> {
        let (index, term) = self.group.propose(data)?;
        if is_planted(Bug::AcknowledgeBeforeMajority) && matches!(change, Change::Commit(..)) {
            self.outputs.committed.extend(token);
        }
        self.proposals.push_back(Proposal { index, term, token, change });
        Ok(())
    }

    /// The transactions whose commits are under way with timestamps up to `snapshot`; those timestamps rise. Prepared
    /// transactions are not among them: see [`Partition::prepared_before`].
    ///
    /// Whoever reads the newest versions need not wait for commits that nobody has been told of.
    pub(crate) fn commits_seen_by(&self, snapshot: Timestamp) -> impl Iterator<Item = TransactionId> + '_ {
        let snapshot = if snapshot == Timestamp::MAX { Timestamp::ZERO } else { snapshot };
        self.proposals
            .iter()
            .filter_map(|proposal| match proposal.change {
                Change::Commit(transaction, timestamp) | Change::HomeCommit(transaction, timestamp, _) => {
                    Some((transaction, timestamp))
                }
                _ => None,
            })
            .take_while(move |&(_, timestamp)| timestamp <= snapshot)
            .map(|(transaction, _)| transaction)
    }

    /// Applies a committed entry: from the proposal if it is ours, else from its bytes.
    pub(crate) fn apply_committed(&mut self, entry: &Entry) -> Result<()> {
        if entry.index <= self.applied_index {
            // A checkpoint has brought its effects.
            return Ok(());
        }
        if entry.index != self.applied_index + 1 {
            return Err(Error::unknown(format!(
                "internal: entry {} of partition {} was to be applied behind entry {}",
                entry.index, self.config.id, self.applied_index
            )));
        }
        if self.config.is_witness() {
            (self.applied_index, self.applied_term) = (entry.index, entry.term);
            return Ok(());
        }
        let mut ours = None;
        // Terms only rise along a log: an older term's proposal behind this entry has no place in it either.
        let overtaken = |proposal: &Proposal| proposal.index <= entry.index || proposal.term < entry.term;
        while self.proposals.front().is_some_and(overtaken) {
            let Some(proposal) = self.proposals.pop_front() else { break };
            if (proposal.index, proposal.term) == (entry.index, entry.term) {
                ours = Some(proposal);
            } else {
                self.lose(proposal);
            }
        }
        match ours {
            Some(proposal) => {
                self.apply_proposal(proposal)?;
                (self.applied_index, self.applied_term) = (entry.index, entry.term);
            }
            None => self.apply_encoded(entry.index, entry.term, &entry.data)?,
        }
        Ok(())
    }

    /// The state has been replaced by that of a later entry: what became of the proposals?
    pub(crate) fn settle_proposals(&mut self, index: u64, term: u64) {
        for proposal in self.proposals.drain(..) {
            // This replica was the only leader of its terms, so an entry of such a term follows all proposals of it.
            if proposal.index <= index && proposal.term == term {
                self.outputs.committed.extend(proposal.token);
            } else if proposal.index > index && proposal.term < term {
                self.outputs.lost.extend(proposal.token);
            } else {
                self.outputs.unknown.extend(proposal.token);
            }
        }
    }

    /// Another leader's entry is in the proposal's place: it will never be committed.
    fn lose(&mut self, proposal: Proposal) {
        match proposal.change {
            Change::Commit(id, _) | Change::HomeCommit(id, ..) | Change::Prepare(id, ..) => self.lose_writes(id),
            Change::Forget(transactions) => self.remember(&transactions),
            // A prepared transaction stays so until its decision comes again.
            Change::Decide(..) | Change::Create(_) | Change::Drop(_) | Change::Alter(_) => {}
            Change::Part(..) | Change::Void => {}
        }
        self.outputs.lost.extend(proposal.token);
    }

    pub(crate) fn lose_writes(&mut self, id: TransactionId) {
        self.two_phase.prepared.remove(&id);
        if let Some(transaction) = self.transactions.get_mut(&id) {
            transaction.state = State::Active;
            self.rollback(id);
        }
    }

    fn apply_proposal(&mut self, proposal: Proposal) -> Result<()> {
        let token = proposal.token;
        match proposal.change {
            Change::Commit(id, timestamp) => {
                self.apply_commit(id, timestamp, token);
                return Ok(());
            }
            Change::HomeCommit(id, timestamp, participants) => {
                self.apply_decision_made(id, timestamp, participants);
                self.apply_commit(id, timestamp, token);
                return Ok(());
            }
            Change::Decide(id, decision) => {
                self.apply_decision(id, decision, token);
                return Ok(());
            }
            Change::Prepare(id, home, timestamp) => self.apply_prepare(id, home, timestamp),
            Change::Forget(transactions) => self.apply_forget(&transactions),
            Change::Part(id, end) => {
                if let Some(transaction) = self.transactions.get_mut(&id) {
                    transaction.applied_parts = end;
                }
            }
            Change::Void => {}
            Change::Create(schema) => self.apply_create(schema),
            Change::Drop(table) => self.apply_drop(table),
            Change::Alter(schema) => self.apply_alter(schema)?,
        }
        self.outputs.committed.extend(token);
        Ok(())
    }

    fn apply_commit(&mut self, id: TransactionId, timestamp: Timestamp, token: Option<CommitToken>) {
        match self.transactions.remove(&id) {
            Some(transaction) => self.apply_transaction(transaction, timestamp, token),
            None => self.outputs.committed.extend(token),
        }
    }

    /// Makes rows of the next writes of a committed transaction, so many at most.
    pub(crate) fn apply_writes(&mut self, transaction: &mut Transaction, count_max: usize, timestamp: Timestamp) {
        let horizon = self.effective_horizon();
        let begin = match transaction.state {
            State::Applying { next, .. } => next as usize,
            _ => 0,
        };
        let end = begin.saturating_add(count_max).min(transaction.writes.len());
        for number in begin..end {
            let write = &mut transaction.writes[number];
            let row = write.row.take();
            let (table, hash, row_id, charge) = (write.table, write.hash, write.row_id, write.charge);
            let is_final = write.superseded_by == NO_WRITE;
            let fragment = self.fragments.get_mut(&table).filter(|_| is_final);
            let Some(fragment) = fragment else {
                self.config.budget.release(charge);
                continue;
            };
            fragment.counted.add(|operations| operations.commits += 1);
            let key = transaction.key(number as u32);
            let applied = match row {
                Some(row) => {
                    let known = (row_id != NO_ROW).then_some(row_id);
                    fragment.put(NewRow::Owned(row), (hash, key), known, timestamp, horizon)
                }
                None if row_id != NO_ROW => fragment.delete(row_id, timestamp, horizon),
                None => Applied::default(),
            };
            self.settle(table, timestamp, applied);
        }
        if let State::Applying { next, .. } = &mut transaction.state {
            *next = end as u32;
        }
        self.show_before_late(transaction, begin..end, timestamp);
        self.collect_garbage(GARBAGE_PER_COMMIT);
    }

    fn settle(&mut self, table: TableId, timestamp: Timestamp, applied: Applied) {
        self.config.budget.release(applied.released);
        if let Some(row) = applied.revisit {
            self.garbage.push_back((timestamp, table, row));
        }
    }

    /// Applies an entry from its bytes.
    pub(crate) fn apply_encoded(&mut self, index: u64, term: u64, data: &[u8]) -> Result<()> {
        self.go_on_to_the_end();
        let decoded = entry::decode(data)?;
        self.check_writes(&decoded)?;
        match decoded {
            DecodedEntry::Empty => {}
            DecodedEntry::Commit { timestamp, writes, .. } => self.apply_decoded_commit(writes, timestamp),
            DecodedEntry::HomeCommit(commit) => {
                self.apply_decoded_commit(commit.writes, commit.timestamp);
                let participants = commit.participants.into();
                self.apply_decision_made(commit.transaction, commit.timestamp, participants);
            }
            DecodedEntry::Prepare(prepare) => self.apply_decoded_prepare(prepare)?,
            DecodedEntry::Decide { transaction, decision } => {
                self.parts.remove(&transaction);
                self.apply_decision(transaction, decision, None);
                self.go_on_to_the_end();
            }
            DecodedEntry::Part { transaction, .. } => self.apply_part(transaction, data),
            DecodedEntry::CommitOfParts { transaction, timestamp, writes } => {
                self.apply_commit_of_parts(transaction, timestamp, writes)?;
            }
            DecodedEntry::Forget(transactions) => self.apply_forget(&transactions),
            DecodedEntry::CreateFragment(schema) => self.apply_create(schema),
            DecodedEntry::DropFragment(table) => self.apply_drop(table),
            DecodedEntry::AlterFragment(schema) => self.apply_alter(schema)?,
        }
        (self.applied_index, self.applied_term) = (index, term);
        Ok(())
    }

    /// The rows of an entry that another node has sent can be read.
    fn check_writes(&self, entry: &DecodedEntry<'_>) -> Result<()> {
        let writes = match entry {
            DecodedEntry::Commit { writes, .. } => writes,
            DecodedEntry::HomeCommit(commit) => &commit.writes,
            DecodedEntry::Prepare(prepare) => &prepare.writes,
            _ => return Ok(()),
        };
        for write in writes {
            if let DecodedWrite::Put { table, row, .. } = write
                && let Some(fragment) = self.fragments.get(table)
            {
                fragment.layout.checked_row(row).map_err(Error::as_spoilt)?;
            }
        }
        Ok(())
    }

    pub(crate) fn apply_decoded_commit(&mut self, writes: Vec<DecodedWrite<'_>>, timestamp: Timestamp) {
        for write in writes {
            self.apply_decoded(write, timestamp);
        }
        self.newest = self.newest.max(timestamp);
        self.applied = self.applied.max(timestamp);
        self.collect_garbage(GARBAGE_PER_COMMIT);
    }

    fn apply_decoded(&mut self, write: DecodedWrite<'_>, timestamp: Timestamp) {
        let horizon = self.effective_horizon();
        match write {
            DecodedWrite::Put { table, row, .. } => {
                // Writes to a table whose drop came first are void, here as at the leader.
                let Some(fragment) = self.fragments.get_mut(&table) else { return };
                self.config.budget.charge(fragment.charge_of(row));
                fragment.counted.add(|operations| operations.commits += 1);
                let key = fragment.primary_key_into(row, &mut self.key_buffer);
                let row = NewRow::Borrowed(row);
                let applied = fragment.put(row, (key_hash(key), key), None, timestamp, horizon);
                self.settle(table, timestamp, applied);
            }
            DecodedWrite::Delete { table, key, .. } => {
                let Some(fragment) = self.fragments.get_mut(&table) else { return };
                let Some(row) = fragment.find(key_hash(key), key, &mut self.scratch) else { return };
                fragment.counted.add(|operations| operations.commits += 1);
                let applied = fragment.delete(row, timestamp, horizon);
                self.settle(table, timestamp, applied);
            }
        }
    }
}
