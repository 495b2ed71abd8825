//! Early lock release: who comes next may change a row whose commit is in the log and not yet applied.
//!
//! A commit is durable, and so applied, long after it has been proposed: were its row locks kept until then, a row could change
//! once for every flush of the log. So the exclusive lock of a row passes on when its holder's commit has been proposed, and the
//! next transaction works on the *version in flight*, in its predecessor's workspace. Its own entry comes later in the same log, so
//! it cannot be committed without its predecessor, and however many follow each other, they share a flush. (DeWitt et al.,
//! "Implementation Techniques for Main Memory Database Systems", 1984, section 5.2: pre-committed transactions.)
//!
//! - Only locks of rows that the predecessor has updated in place pass on. What it has inserted or deleted, and keys of unique
//!   indexes, stay locked until it is applied; so whether a row is there, and where, never depends on a version in flight.
//! - Only commits that this partition's log decides pass locks on: not prepared transactions.
//! - A transaction that ends without a commit of its own in this log gives such a lock back to its predecessor. If it is to be
//!   told that it has committed, it first waits until what it has seen is ([`Partition::await_predecessors`]).
//! - Scans do not take locks early, and indexes know only what is applied. So a locking scan does not begin while the transaction has a
//!   predecessor in flight whose version of a row of that table it works on: it would see the row where it was. What a predecessor has in flight
//!   in other tables is kept from the scan by its locks, and by the keys that it has staged where the scan locks gaps; where it does not, it
//!   waits for all predecessors.
//! - When this replica ceases to lead, predecessors and successors are lost, or kept, in the order of the log.

use shoal_types::{TableId, TransactionId};

use crate::api::*;
use crate::locks::LockKey;
use crate::partition::Partition;
use crate::workspace::{NO_ROW, NO_WRITE, StagedWrite, State, Transaction};

/// A commit with more writes passes no locks on: whoever waits for one waits until it is applied.
const WRITES_MAX: usize = 64;
/// Predecessors of one transaction that are kept without asking whether they are still under way.
const PREDECESSORS_KEPT: usize = 16;

/// The row is there before and after this write, in the same slot.
fn is_update(write: &StagedWrite) -> bool {
    write.row.is_some() && write.row_id != NO_ROW
}

impl Transaction {
    fn predecessor(&self, key: LockKey) -> Option<TransactionId> {
        self.predecessors.iter().find(|(lock, _)| *lock == key).map(|&(_, predecessor)| predecessor)
    }

    /// The commit is under way, by an entry of this log alone, and has updated the row of this lock.
    fn passes_on(&self, key: LockKey, writes_max: usize) -> bool {
        let mut writes = self.newest_with_hash(key.table, key.hash).peekable();
        matches!(self.state, State::Committing { .. })
            && self.writes.len() <= writes_max
            && writes.peek().is_some()
            && writes.all(is_update)
    }
}

impl Partition {
    /// Gives an exclusive row lock to a transaction that comes for it while the holder's commit is under way. False: the holder
    /// keeps it, or others wait for it.
    pub(crate) fn take_over(&mut self, id: TransactionId, key: LockKey) -> bool {
        let Some(holder) = self.locks.exclusive_holder(key) else { return false };
        let may_pass =
            self.transaction(holder).is_some_and(|holder| holder.passes_on(key, self.passing_writes_max()));
        if !may_pass || !self.locks.take_over(key, holder, id) {
            return false;
        }
        if let Some(transaction) = self.transactions.get_mut(&id) {
            transaction.locks.push(key);
        }
        self.note_predecessor(id, key, holder);
        true
    }

    /// What is applied slice by slice keeps its locks until it is rows.
    fn passing_writes_max(&self) -> usize {
        WRITES_MAX.min(self.config.slice_writes)
    }

    fn note_predecessor(&mut self, id: TransactionId, key: LockKey, predecessor: TransactionId) {
        let Some(transaction) = self.transactions.get_mut(&id) else { return };
        transaction.predecessors.push((key, predecessor));
        if transaction.predecessors.len() > PREDECESSORS_KEPT {
            let mut known = std::mem::take(&mut transaction.predecessors);
            known.retain(|(_, id)| self.transactions.contains_key(id));
            if let Some(transaction) = self.transactions.get_mut(&id) {
                transaction.predecessors = known;
            }
        }
    }

    /// Passes the locks of rows that a commit, just proposed, has updated to those that wait for them.
    pub(crate) fn pass_locks_on(&mut self, id: TransactionId) {
        let Some(transaction) =
            self.transactions.get(&id).filter(|one| one.writes.len() <= self.passing_writes_max())
        else {
            return;
        };
        let mut granted = Vec::new();
        for write in transaction.writes.iter().filter(|write| write.superseded_by == NO_WRITE && is_update(write))
        {
            let key = LockKey::row(write.table, write.hash);
            if self.locks.is_waited_for(key) && transaction.passes_on(key, usize::MAX) {
                granted.extend(self.locks.pass_on(key, id));
            }
        }
        for grant in granted {
            self.note_predecessor(grant.transaction, grant.key, id);
            self.grants.push(grant);
        }
        self.settle_grants();
    }

    /// The write in flight that is the newest version of a key which this transaction has locked, if there is one.
    pub(crate) fn version_in_flight(
        &self,
        id: TransactionId,
        table: TableId,
        hash: u64,
        key: &[u8],
    ) -> Option<(TransactionId, u32)> {
        let lock = LockKey::row(table, hash);
        let mut successor = self.transaction(id)?;
        loop {
            let id = successor.predecessor(lock)?;
            // One that is not there any more has been applied, and all before it.
            let predecessor = self.transaction(id)?;
            // Locks are named by hashes: it may have written another key.
            match predecessor.find(table, hash, key) {
                Some(write) => return Some((id, write)),
                None => successor = predecessor,
            }
        }
    }

    /// Where a lock goes that its holder does not need any more: to the predecessor whose commit is still under way, if there is
    /// one. True if it went there.
    pub(crate) fn give_back(&mut self, transaction: &Transaction, key: LockKey) -> bool {
        let predecessor = transaction.predecessor(key).filter(|id| self.transactions.contains_key(id));
        let Some(predecessor) = predecessor else { return false };
        self.locks.give_back(key, transaction.id, predecessor);
        if let Some(grant) = self.locks.pass_on(key, predecessor) {
            self.note_predecessor(grant.transaction, key, predecessor);
            self.grants.push(grant);
        }
        true
    }

    /// Makes the caller wait while something that the transaction may have seen is in the log and not applied. To be asked before
    /// it is told that the transaction has committed, if that has written nothing here: its own commit would come later in
    /// the log.
    pub fn await_predecessors(&mut self, id: TransactionId, token: WaitToken) -> Option<Blocked> {
        let transaction = self.transactions.get(&id)?;
        if transaction.predecessors.is_empty() {
            return None;
        }
        let under_way = |(_, id): &&(LockKey, TransactionId)| self.transactions.contains_key(id);
        match transaction.predecessors.iter().rev().find(under_way) {
            Some(&(_, predecessor)) => self.wait_for_apply(predecessor, token),
            None => {
                self.transactions.get_mut(&id)?.predecessors.clear();
                None
            }
        }
    }

    /// Makes a locking scan of a table wait for predecessors that it could overlook.
    pub(crate) fn await_overlooked(
        &mut self,
        id: TransactionId,
        table: TableId,
        request: LockRequest,
        token: WaitToken,
    ) -> Option<Blocked> {
        if !request.lock_gaps || request.policy == LockPolicy::SkipLocked {
            return self.await_predecessors(id, token);
        }
        let could_be = |(key, id): &&(LockKey, TransactionId)| {
            let of_table = key.table;
            of_table == table && self.transactions.contains_key(id)
        };
        let predecessors = &self.transactions.get(&id)?.predecessors;
        let &(_, predecessor) = predecessors.iter().rev().find(could_be)?;
        self.wait_for_apply(predecessor, token)
    }

    /// The transaction has a lock that came early, and its predecessor's commit is still under way.
    pub fn has_predecessors(&self, id: TransactionId) -> bool {
        let under_way = |(_, id): &(LockKey, TransactionId)| self.transactions.contains_key(id);
        self.transaction(id).is_some_and(|transaction| transaction.predecessors.iter().any(under_way))
    }
}
