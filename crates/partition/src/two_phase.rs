//! Two-phase commit between partitions: this partition as a participant and as the home of the decision.
//!
//! One of the partitions that a transaction wrote to is its *home*. The leader of every other one, a *participant*,
//! proposes a PREPARE entry with the transaction's writes. Once that is applied the writes are safe, but not visible:
//! they stay in the workspace under their locks, and every replica that applies the entry builds the same workspace
//! with the same locks, so that a new leader has them. When all participants are prepared the home partition commits
//! its own writes and the decision by one HOME_COMMIT entry; nothing before that entry is a commitment, and nothing
//! after it can change it. Participants then learn the outcome by DECIDE entries.
//!
//! A participant that hears nothing asks the home partition, [`Partition::outcome_of`]. Since a HOME_COMMIT needs the
//! transaction's workspace at the home's leader, rolling that back makes "aborted" true forever, and no record of it
//! is needed. A decision to commit is kept, in checkpoints too, until every participant has applied it and the
//! coordinator has learnt the outcome; then a FORGET entry drops it. Who has confirmed is known to the leader alone;
//! a new one asks all of them again.
//!
//! Timestamps: a prepare timestamp is later than every commit before it in this partition, and the commit's timestamp
//! is not earlier than any of its prepare timestamps. So a reader whose snapshot is before the prepare timestamp need
//! not wait; any other waits until the decision is applied. The commit's timestamp may be earlier than that of other
//! commits applied between PREPARE and DECIDE. The rows concerned were locked meanwhile: their versions stay in order.
//! A checkpoint begun in between must not show the transaction's writes: see `Pin::late`.
//!
//! Applying PREPARE and DECIDE entries is in `prepared`.
//!
//! Not here: who sends what to whom and when (the coordinator), time, and whether this replica may answer (its lease).

use shoal_types::{Error, NodeId, PartitionId, Result, TableId, Timestamp, TransactionId};

use crate::api::*;
use crate::decision::{Confirmation, Decision, DecisionStart, HomeDecision, HomeOutcome, Unconfirmed};
use crate::entry;
use crate::locks::LockKey;
use crate::partition::{Partition, transaction_lost};
use crate::proposal::Change;
use crate::workspace::{State, Transaction};

// ---- the participant ----

impl Partition {
    /// The transaction, if it can still be prepared or committed and has staged exactly so many writes here: else the leader
    /// has changed since, and early writes are gone, or a table has been defined anew.
    fn expect_active(&self, id: TransactionId, expected_writes: u32) -> Result<&Transaction> {
        let transaction = self.transaction(id).ok_or_else(|| transaction_lost(id, self.config.id))?;
        match transaction.state == State::Active {
            true if transaction.mark().0 == expected_writes && !self.is_overtaken(transaction) => Ok(transaction),
            true => Err(transaction_lost(id, self.config.id)),
            false if transaction.state == State::Leaving => Err(transaction_lost(id, self.config.id)),
            false => Err(Error::unknown("internal: the transaction's commit is under way already")),
        }
    }

    /// Proposes the transaction's writes as prepared, to be committed or aborted as the partition `home` decides. When
    /// the token comes back they are. `ReadOnly`: nothing was left to write; the transaction has ended here, and takes
    /// no part in the decision. `timestamp` must be later than [`Partition::newest_timestamp`]. An error has changed
    /// nothing.
    pub fn propose_prepare(
        &mut self,
        transaction: TransactionId,
        home: PartitionId,
        timestamp: Timestamp,
        expected_writes: u32,
        token: CommitToken,
    ) -> Result<CommitStart> {
        if home == self.config.id {
            return Err(Error::unknown("internal: a transaction's home partition commits, it does not prepare"));
        }
        let active = self.expect_active(transaction, expected_writes)?;
        if !entry::has_final_writes(active) {
            self.rollback(transaction);
            return Ok(CommitStart::ReadOnly);
        }
        self.check_later(timestamp)?;
        self.reserve_commit(transaction)?;
        let active = self.expect_active(transaction, expected_writes)?;
        let data = entry::encode_prepare(active, home, timestamp, |_| true);
        self.propose(data, token, Change::Prepare(transaction, home, timestamp))?;
        self.newest = timestamp;
        self.two_phase.prepared.insert(transaction, timestamp);
        if let Some(transaction) = self.transactions.get_mut(&transaction) {
            transaction.state = State::Preparing { timestamp };
        }
        self.pump()?;
        Ok(CommitStart::Proposed)
    }

    /// Proposes the outcome of a prepared transaction. May come again and again; aborting a transaction that is not
    /// prepared rolls it back. An error has changed nothing.
    pub fn propose_decision(
        &mut self,
        transaction: TransactionId,
        decision: Decision,
        token: CommitToken,
    ) -> Result<DecisionStart> {
        match self.transaction(transaction).map(|transaction| transaction.state) {
            None => return Ok(DecisionStart::Done),
            Some(State::Active) if decision == Decision::Abort => {
                self.rollback(transaction);
                return Ok(DecisionStart::Done);
            }
            // It has been committed, or rolled back.
            Some(State::Applying { .. } | State::Leaving) => return Ok(DecisionStart::Done),
            Some(State::Active | State::Committing { .. }) => {
                return Err(Error::unknown(format!(
                    "internal: a decision about transaction {transaction}, which is not prepared in partition {}",
                    self.config.id
                )));
            }
            Some(State::Preparing { timestamp } | State::Prepared { timestamp, .. }) => {
                if let Decision::Commit(commit) = decision
                    && commit < timestamp
                {
                    return Err(Error::unknown(format!(
                        "internal: transaction {transaction} cannot commit at {commit}, before it was prepared \
                         at {timestamp}"
                    )));
                }
            }
        }
        let data = entry::encode_decide(transaction, decision);
        self.propose(data, token, Change::Decide(transaction, decision))?;
        self.pump()?;
        Ok(DecisionStart::Proposed)
    }

    /// All transactions that are prepared here, with their home partitions, which know the outcome.
    pub fn in_doubt(&self) -> Vec<(TransactionId, PartitionId)> {
        let home = |&id: &TransactionId| match self.transaction(id)?.state {
            State::Prepared { home, .. } => Some((id, home)),
            _ => None,
        };
        self.two_phase.prepared.keys().filter_map(home).collect()
    }

    /// The transactions that have neither prepared nor begun to commit here. What its coordinator has nothing to do with
    /// any more is to be rolled back.
    pub fn active_transactions(&self) -> Vec<TransactionId> {
        let active = self.transactions.values().filter(|transaction| transaction.state == State::Active);
        let mut active: Vec<TransactionId> = active.map(|transaction| transaction.id).collect();
        active.sort_unstable();
        active
    }

    /// Those whose coordinators are on this node: to be rolled back when the node is gone.
    pub fn transactions_of(&self, node: NodeId) -> Vec<TransactionId> {
        let mut transactions = self.active_transactions();
        transactions.retain(|id| id.node() == node);
        transactions
    }

    /// The prepared transactions that a reader at `snapshot` has to wait for if they write what it reads. A reader of
    /// the newest versions waits for those alone that may be committed already.
    pub(crate) fn prepared_before(&self, snapshot: Timestamp) -> impl Iterator<Item = TransactionId> + '_ {
        self.two_phase.prepared.keys().copied().filter(move |&id| self.blocks_readers(id, snapshot))
    }

    fn blocks_readers(&self, id: TransactionId, snapshot: Timestamp) -> bool {
        match self.transaction(id).map(|transaction| transaction.state) {
            Some(State::Preparing { timestamp }) => snapshot != Timestamp::MAX && timestamp <= snapshot,
            Some(State::Prepared { timestamp, .. } | State::Applying { timestamp, .. }) => timestamp <= snapshot,
            _ => false,
        }
    }

    /// The prepared transaction that a reader of this key at `snapshot` has to wait for.
    pub(crate) fn prepared_writer_of(
        &self,
        snapshot: Timestamp,
        table: TableId,
        hash: u64,
        key: &[u8],
    ) -> Option<TransactionId> {
        if self.two_phase.prepared.is_empty() {
            return None;
        }
        let holder = self.locks.exclusive_holder(LockKey::row(table, hash))?;
        let transaction = self.transaction(holder)?;
        let write = transaction.find(table, hash, key)?;
        let is_row = matches!(transaction.state, State::Applying { next, .. } if write < next);
        (!is_row && self.blocks_readers(holder, snapshot)).then_some(holder)
    }
}

// ---- the home ----

impl Partition {
    /// Proposes the transaction's writes here and, by the same entry, the decision that all `participants`, which
    /// are prepared, commit. `timestamp` must not be earlier than any of their prepare timestamps and must be later
    /// than [`Partition::newest_timestamp`]. There may be no participants: the decision is kept all the same until the
    /// coordinator has confirmed it. An error has changed nothing.
    pub fn propose_home_commit(
        &mut self,
        transaction: TransactionId,
        timestamp: Timestamp,
        participants: &[PartitionId],
        expected_writes: u32,
        token: CommitToken,
    ) -> Result<()> {
        self.expect_active(transaction, expected_writes)?;
        self.reserve_commit(transaction)?;
        let active = self.expect_active(transaction, expected_writes)?;
        self.check_later(timestamp)?;
        let data = entry::encode_home_commit(active, timestamp, participants);
        self.propose(data, token, Change::HomeCommit(transaction, timestamp, participants.into()))?;
        self.newest = timestamp;
        if let Some(transaction) = self.transactions.get_mut(&transaction) {
            transaction.state = State::Committing { timestamp };
        }
        self.pass_locks_on(transaction);
        self.pump()
    }

    /// The outcome of a transaction whose home this is. One that is still active is rolled back first. The caller has
    /// made sure that this replica leads, that its lease holds, and that it has applied an entry of its own term.
    pub fn outcome_of(&mut self, transaction: TransactionId) -> HomeOutcome {
        if let Some(decision) = self.two_phase.decisions.get(&transaction) {
            return HomeOutcome::Committed(decision.timestamp);
        }
        match self.transaction(transaction).map(|transaction| transaction.state) {
            Some(State::Active) => {
                self.rollback(transaction);
                HomeOutcome::Aborted
            }
            None | Some(State::Leaving) => HomeOutcome::Aborted,
            Some(_) => HomeOutcome::InFlight,
        }
    }

    /// Somebody concerned knows the outcome. Unknown transactions are forgotten ones.
    pub fn confirm(&mut self, transaction: TransactionId, confirmation: Confirmation) {
        let Some(decision) = self.two_phase.decisions.get_mut(&transaction) else {
            return;
        };
        match confirmation {
            Confirmation::Participant(partition) => decision.unconfirmed.retain(|&other| other != partition),
            Confirmation::Coordinator => decision.coordinator_knows = true,
        }
    }

    /// The decisions that wait for confirmations.
    pub fn unconfirmed(&self) -> Vec<Unconfirmed> {
        let waiting = self.two_phase.decisions.iter().filter(|(_, decision)| !decision.is_confirmed());
        waiting
            .map(|(&transaction, decision)| Unconfirmed {
                transaction,
                timestamp: decision.timestamp,
                participants: decision.unconfirmed.clone(),
                coordinator: !decision.coordinator_knows,
            })
            .collect()
    }

    /// Proposes to forget all decisions that everybody has confirmed; false if there are none. Worth calling from time
    /// to time rather than for each.
    pub fn propose_forget(&mut self, token: CommitToken) -> Result<bool> {
        let confirmed = |decision: &HomeDecision| decision.is_confirmed() && !decision.forgetting;
        let decisions = self.two_phase.decisions.iter();
        let transactions: Vec<TransactionId> =
            decisions.filter(|(_, decision)| confirmed(decision)).map(|(&id, _)| id).collect();
        if transactions.is_empty() {
            return Ok(false);
        }
        self.propose(entry::encode_forget(&transactions), token, Change::Forget(transactions.clone()))?;
        for id in transactions {
            if let Some(decision) = self.two_phase.decisions.get_mut(&id) {
                decision.forgetting = true;
            }
        }
        self.pump()?;
        Ok(true)
    }

    /// A HOME_COMMIT has been applied.
    pub(crate) fn apply_decision_made(
        &mut self,
        id: TransactionId,
        timestamp: Timestamp,
        participants: Box<[PartitionId]>,
    ) {
        self.two_phase.decisions.insert(id, HomeDecision::new(timestamp, participants));
    }

    pub(crate) fn apply_forget(&mut self, transactions: &[TransactionId]) {
        for id in transactions {
            self.two_phase.decisions.remove(id);
        }
    }

    /// The FORGET entry was lost.
    pub(crate) fn remember(&mut self, transactions: &[TransactionId]) {
        for id in transactions {
            if let Some(decision) = self.two_phase.decisions.get_mut(id) {
                decision.forgetting = false;
            }
        }
    }
}
