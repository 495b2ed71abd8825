//! Transactions at this partition: locks and waiting, savepoints, endings.
//!
//! A transaction begins here with its first lock or write and ends with `rollback` or with its commit being applied.

use shoal_types::{Error, ErrorCode, Result, TableId, TransactionId, key_hash};

use crate::api::*;
use crate::locks::{Acquired, LockKey, Request};
use crate::partition::{Partition, transaction_lost};
use crate::wait_for::WaitEdge;
use crate::workspace::{State, Transaction, WaitingFor};

/// Finished transactions whose buffers are kept.
const IDLE_TRANSACTIONS_MAX: usize = 64;

/// Memory for a transaction's lists is reserved in steps.
const WORK_STEP_BYTES: u64 = 32 << 10;
/// Copies of a log entry on its way into the log, and what is not worth counting.
const ENTRY_COPIES: u64 = 3;
const ENTRY_UNCOUNTED_BYTES: u64 = 1 << 20;

/// The end of an attempt to lock.
pub(crate) enum Locked {
    /// `true`: by this operation.
    Yes(bool),
    Skip,
    Wait(Blocked),
}

impl Partition {
    pub(crate) fn transaction(&self, id: TransactionId) -> Option<&Transaction> {
        self.transactions.get(&id).map(|transaction| &**transaction)
    }

    /// The transaction, begun if need be: at the leader alone. An error if its commit is under way.
    pub(crate) fn active(&mut self, id: TransactionId) -> Result<&mut Transaction> {
        if !self.group.is_established() && !self.transactions.contains_key(&id) {
            return Err(self.group.refusal());
        }
        let idle = &mut self.idle;
        let transaction = self.transactions.entry(id).or_insert_with(|| begun(idle, id));
        match transaction.state {
            State::Active => Ok(transaction),
            State::Leaving => Err(transaction_lost(id, self.config.id)),
            _ => Err(Error::unknown("internal: an operation of a transaction whose commit is under way")),
        }
    }

    /// The transaction, about to take a lock or to stage a write.
    ///
    /// # Errors
    /// 1206: there is no memory for more. The transaction is as it was.
    pub(crate) fn growing(&mut self, id: TransactionId) -> Result<()> {
        let transaction = self.active(id)?;
        let (wanted, reserved) = (transaction.work_bytes(), transaction.work_reserved);
        if wanted > reserved {
            let bytes = wanted - reserved + WORK_STEP_BYTES;
            self.config.budget.reserve_work(bytes)?;
            self.active(id)?.work_reserved += bytes;
        }
        Ok(())
    }

    /// Reserves memory for the log entry of a large transaction: it is made, handed to the log and written, which are as many copies.
    /// To be asked before any partition has proposed its share. What is reserved is given back with the transaction's end.
    ///
    /// # Errors
    /// 1206, and nothing has changed.
    pub fn reserve_commit(&mut self, id: TransactionId) -> Result<()> {
        let entry = self.commit_bytes_max(id) as u64 * ENTRY_COPIES;
        if entry > ENTRY_UNCOUNTED_BYTES
            && let Some(transaction) = self.transactions.get_mut(&id)
        {
            // A commit that found no room in the log asks again.
            let missing = (transaction.work_bytes() + entry).saturating_sub(transaction.work_reserved);
            self.config.budget.reserve_work(missing)?;
            transaction.work_reserved += missing;
        }
        Ok(())
    }

    /// A transaction that is not listed yet.
    pub(crate) fn new_transaction(&mut self, id: TransactionId) -> Box<Transaction> {
        begun(&mut self.idle, id)
    }

    /// Takes the lock of a row whose key the caller is about to look at, or queues for it. It may be granted before the commit of
    /// the last holder is applied: see `early`.
    pub(crate) fn lock_row(
        &mut self,
        id: TransactionId,
        key: LockKey,
        mode: LockMode,
        policy: LockPolicy,
        token: WaitToken,
    ) -> Result<Locked> {
        self.growing(id)?;
        let early = mode == LockMode::Exclusive;
        self.lock_as(Request { transaction: id, mode, token, early }, key, policy)
    }

    /// Takes a lock, or queues for it.
    pub(crate) fn lock(
        &mut self,
        id: TransactionId,
        key: LockKey,
        mode: LockMode,
        policy: LockPolicy,
        token: WaitToken,
    ) -> Result<Locked> {
        self.growing(id)?;
        self.lock_as(Request { transaction: id, mode, token, early: false }, key, policy)
    }

    fn lock_as(&mut self, request: Request, key: LockKey, policy: LockPolicy) -> Result<Locked> {
        let id = request.transaction;
        let acquired = self.locks.acquire(id, key, request.mode);
        match acquired {
            Acquired::Granted => self.lock_counts.requests(key.table, request.mode).waited += 1,
            Acquired::Conflict => {}
            _ => self.lock_counts.requests(key.table, request.mode).immediate += 1,
        }
        match acquired {
            Acquired::New => {
                let many = self.config.slice_writes;
                let transaction = self.active(id)?;
                transaction.locks.push(key);
                if transaction.locks.len() == many {
                    self.locks.gather(id);
                }
                Ok(Locked::Yes(true))
            }
            Acquired::Gathered => {
                self.active(id)?.note_gathered(key.table, 1);
                Ok(Locked::Yes(true))
            }
            // Listed when it was granted.
            Acquired::Granted => Ok(Locked::Yes(true)),
            Acquired::Held => Ok(Locked::Yes(false)),
            Acquired::Conflict => self.lock_held_by_others(request, key, policy),
        }
    }

    fn lock_held_by_others(&mut self, mut request: Request, key: LockKey, policy: LockPolicy) -> Result<Locked> {
        let id = request.transaction;
        request.early &= self.active(id)?.may_lock_early;
        if request.early && self.take_over(id, key) {
            self.lock_counts.requests(key.table, request.mode).immediate += 1;
            return Ok(Locked::Yes(true));
        }
        if policy != LockPolicy::Wait {
            self.lock_counts.requests(key.table, request.mode).failed += 1;
        }
        match policy {
            LockPolicy::Wait => {
                let waits = &mut self.active(id)?.waits;
                let queued = waits.iter().any(|&(_, waiting)| waiting == WaitingFor::Lock(key));
                waits.push((request.token, WaitingFor::Lock(key)));
                Ok(Locked::Wait(Blocked { holders: self.locks.enqueue(key, request, queued) }))
            }
            LockPolicy::SkipLocked => Ok(Locked::Skip),
            LockPolicy::NoWait => Err(lock_not_available()),
        }
    }

    /// Releases a lock that this operation took and does not need. One that has come early may have to go back: that is left to
    /// the end of the transaction.
    pub(crate) fn unlock(&mut self, id: TransactionId, key: LockKey) {
        let Some(transaction) = self.transactions.get_mut(&id).filter(|one| one.predecessors.is_empty()) else {
            return;
        };
        if transaction.gathered > 0 && self.locks.release_one_gathered(id, key) {
            transaction.gathered -= 1;
            return;
        }
        if let Some(position) = (0..transaction.locks.len()).rev().find(|&place| transaction.locks[place] == key) {
            transaction.locks.swap_remove(position);
            self.locks.release(id, key, &mut self.grants);
            self.settle_grants();
        }
    }

    /// Lists granted locks with their new holders and wakes these.
    pub(crate) fn settle_grants(&mut self) {
        let mut grants = std::mem::take(&mut self.grants);
        for grant in grants.drain(..) {
            if let Some(transaction) = self.transactions.get_mut(&grant.transaction) {
                transaction.waits.retain(|&(_, waiting)| waiting != WaitingFor::Lock(grant.key));
                if grant.new {
                    transaction.locks.push(grant.key);
                }
            }
            self.outputs.woken.push(grant.token);
        }
        self.grants = grants;
    }

    /// Lets go of a row lock under which nothing has been written (READ COMMITTED: the row did not match).
    pub fn unlock_row(&mut self, transaction: TransactionId, table: TableId, key: &[u8]) {
        let hash = key_hash(key);
        let written = |transaction: &Transaction| {
            transaction.state != State::Active || transaction.find(table, hash, key).is_some()
        };
        if self.transaction(transaction).is_some_and(|transaction| !written(transaction)) {
            self.unlock(transaction, LockKey::row(table, hash));
        }
    }

    /// The operation with this token gives up waiting. What it has locked so far stays locked.
    pub fn cancel_wait(&mut self, id: TransactionId, token: WaitToken) {
        let Some(transaction) = self.transactions.get_mut(&id) else {
            return;
        };
        let Some(position) = transaction.waits.iter().position(|&(waiting, _)| waiting == token) else {
            return;
        };
        match transaction.waits.swap_remove(position).1 {
            WaitingFor::Lock(key) => {
                if let Some(mode) = self.locks.cancel(id, key, &mut self.grants) {
                    self.lock_counts.requests(key.table, mode).failed += 1;
                }
                self.settle_grants();
            }
            WaitingFor::Range(table, index) => self.ranges.cancel(table, index, id),
        }
    }

    /// Who is directly in a wait's way now. `blocked` is what it began with: whoever was ahead in a lock's queue may have given up since.
    pub fn blockers(&self, id: TransactionId, token: WaitToken, blocked: &Blocked) -> Vec<TransactionId> {
        let waits = self.transactions.get(&id).map_or(&[][..], |transaction| &transaction.waits[..]);
        match waits.iter().find(|&&(waiting, _)| waiting == token) {
            Some(&(_, WaitingFor::Lock(key))) => self.locks.blockers(id, key),
            Some((_, WaitingFor::Range(..))) | None => blocked.holders.clone(),
        }
    }

    /// (waiter, blocker) pairs: this partition's part of the wait-for graph. Who waits for a lock waits for those ahead of it in the
    /// queue as well, which follows from the pairs of the next one: so there are about as many as waiters.
    pub fn wait_edges(&self) -> Vec<WaitEdge> {
        let mut edges = Vec::new();
        let waits = self.transactions.values().flat_map(|transaction| &transaction.waits);
        let mut keys: Vec<LockKey> = waits
            .filter_map(|&(_, waiting)| match waiting {
                WaitingFor::Lock(key) => Some(key),
                WaitingFor::Range(..) => None,
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            self.locks.append_edges(key, &mut edges);
        }
        self.ranges.append_edges(&mut edges);
        edges
    }

    /// The transaction begins here, if it has not yet, whether it comes to lock anything or not. Its coordinator is on another node
    /// and does not ask for [`Partition::await_predecessors`]: it gets no locks early.
    pub fn join(&mut self, transaction: TransactionId) -> Result<()> {
        self.active(transaction)?.may_lock_early = false;
        Ok(())
    }

    /// What the transaction has here is what its coordinator takes it to have: it has joined in the leader's present term and
    /// staged so many writes since. `term` 0: it joins now.
    ///
    /// A part may have ended without its coordinator's knowledge: with the leader's term, because the coordinator was taken
    /// to be gone, or with a definition. One that had only locked is told by its being known here at all: were it to begin again, it would
    /// write what it has made of rows that others have changed since.
    pub fn has_part(&self, transaction: TransactionId, term: u64, writes: u32) -> bool {
        match self.transaction(transaction) {
            Some(known) => {
                let same_term = term == 0 || term == self.last_index().1;
                same_term && known.state != State::Leaving && known.mark().0 == writes && !self.is_overtaken(known)
            }
            None => term == 0 && writes == 0,
        }
    }

    /// Refuses a transaction of which there is nothing here (any more). To be asked before a commit of what it has written: the
    /// leader's term may have ended since, or a table may have been defined anew.
    pub fn expect_joined(&self, id: TransactionId) -> Result<()> {
        match self.transaction(id) {
            Some(known) if known.state != State::Leaving && !self.is_overtaken(known) => Ok(()),
            _ => Err(transaction_lost(id, self.config.id)),
        }
    }

    /// How far the transaction has written here.
    pub fn savepoint(&self, transaction: TransactionId) -> SavepointMark {
        self.transaction(transaction).map_or(SavepointMark(0), |transaction| transaction.mark())
    }

    /// Undoes the writes staged since the mark; locks stay.
    pub fn rollback_to(&mut self, transaction: TransactionId, mark: SavepointMark) {
        if let Some(transaction) = self.transactions.get_mut(&transaction)
            && transaction.state == State::Active
        {
            let released = transaction.truncate(mark);
            self.config.budget.release(released);
        }
    }

    /// The transaction has staged something here.
    pub fn has_writes(&self, transaction: TransactionId) -> bool {
        self.transaction(transaction).is_some_and(|transaction| !transaction.writes.is_empty())
    }

    /// Ends a transaction without its writes. One whose commit is under way or that is prepared is left alone: the log
    /// decides.
    pub fn rollback(&mut self, id: TransactionId) {
        let committing = |transaction: &Transaction| transaction.state != State::Active;
        if self.transaction(id).is_some_and(committing) {
            return;
        }
        if let Some(transaction) = self.transactions.remove(&id) {
            self.undo_transaction(transaction);
        }
    }

    /// Operations of a transaction that still wait run again.
    pub(crate) fn end_waits(&mut self, transaction: &mut Transaction) {
        for (token, waiting) in transaction.waits.drain(..) {
            self.outputs.woken.push(token);
            match waiting {
                WaitingFor::Lock(key) => {
                    if let Some(mode) = self.locks.cancel(transaction.id, key, &mut self.grants) {
                        self.lock_counts.requests(key.table, mode).failed += 1;
                    }
                }
                WaitingFor::Range(table, index) => self.ranges.cancel(table, index, transaction.id),
            }
        }
    }

    /// Releases so many of its locks at most. The grants are to be settled.
    pub(crate) fn release_locks(&mut self, transaction: &mut Transaction, count_max: usize) {
        let first = transaction.locks.len().saturating_sub(count_max);
        for number in first..transaction.locks.len() {
            let key = transaction.locks[number];
            if transaction.predecessors.is_empty() || !self.give_back(transaction, key) {
                self.locks.release(transaction.id, key, &mut self.grants);
            }
        }
        transaction.locks.truncate(first);
        if first == 0 {
            self.locks.release_gathered(transaction.id, &mut self.grants);
        }
    }

    /// Releases all that a transaction (already taken out of the map) holds. Operations of it that still wait run again, and
    /// find that it has ended.
    pub(crate) fn finish(&mut self, mut transaction: Box<Transaction>) {
        let id = transaction.id;
        self.config.budget.release_work(std::mem::take(&mut transaction.work_reserved));
        self.end_waits(&mut transaction);
        self.release_locks(&mut transaction, usize::MAX);
        let mut woken = Vec::new();
        for &(table, index) in &transaction.ranges {
            self.ranges.release(table, index, id, &mut woken);
        }
        for (waiter, token) in woken {
            if let Some(waiter) = self.transactions.get_mut(&waiter) {
                waiter.waits.retain(|&(waiting, _)| waiting != token);
            }
            self.outputs.woken.push(token);
        }
        self.outputs.woken.append(&mut transaction.apply_waiters);
        self.settle_grants();
        if transaction.writes.len() > self.config.slice_writes {
            self.remains.push(transaction);
        } else if self.idle.len() < IDLE_TRANSACTIONS_MAX && transaction.is_small() {
            transaction.reset();
            self.idle.push(transaction);
        }
    }
}

/// A transaction with no writes and locks, in used buffers if there are any.
#[allow(clippy::vec_box)]
fn begun(idle: &mut Vec<Box<Transaction>>, id: TransactionId) -> Box<Transaction> {
    match idle.pop() {
        Some(mut transaction) => {
            transaction.id = id;
            transaction
        }
        None => Box::new(Transaction::new(id)),
    }
}

/// Error 3572, for NOWAIT.
pub(crate) fn lock_not_available() -> Error {
    Error::new(
        ErrorCode::LockNowait,
        "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
    )
}
