//! Row locks: shared and exclusive, first come first served.
//!
//! A lock is named by its table and the 64-bit hash of its key, no key bytes are kept; two keys that collide share a
//! lock and only wait for each other more than they had to. An entry exists while somebody holds the lock. Who holds
//! what is listed by the transactions (`Transaction::locks`); waiters are granted in the order they came, except that
//! a holder that wants more (shared to exclusive) goes first.

use std::collections::VecDeque;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use shoal_types::{IndexId, TableId, TransactionId};

use crate::api::{LockMode, WaitToken};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockKey {
    pub(crate) table: TableId,
    pub(crate) hash: u64,
}

impl LockKey {
    pub(crate) fn row(table: TableId, hash: u64) -> LockKey {
        LockKey { table, hash }
    }

    /// The key of a unique index that is unique within the partition.
    pub(crate) fn unique(table: TableId, index: IndexId, hash: u64) -> LockKey {
        LockKey { table, hash: hash.rotate_left(17) ^ u64::from(index.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    fn place(self) -> u64 {
        // Partitioning has used up the highest bits, which the table wants for its tags.
        self.hash.rotate_left(24) ^ u64::from(self.table.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Room for so many locks is kept.
const KEPT_ENTRIES: usize = 4096;

struct Holder {
    transaction: TransactionId,
    mode: LockMode,
    /// Granted to a waiter that has not come back yet.
    fresh: bool,
}

struct Waiter {
    transaction: TransactionId,
    mode: LockMode,
    token: WaitToken,
}

/// Small: most locks have one holder and nobody waits.
struct LockEntry {
    key: LockKey,
    holder: Holder,
    crowd: Option<Box<Crowd>>,
}

/// Whoever else has to do with a lock.
#[derive(Default)]
struct Crowd {
    other_holders: Vec<Holder>,
    queue: VecDeque<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The caller did not hold the lock before.
    New,
    /// The caller was granted the lock while it waited, and asks for the first time since.
    Granted,
    /// The caller held it already, perhaps in the weaker mode.
    Held,
    /// Not now.
    Conflict,
}

/// A waiter that got its lock.
pub(crate) struct Grant {
    pub(crate) transaction: TransactionId,
    pub(crate) key: LockKey,
    pub(crate) token: WaitToken,
    /// It did not hold the lock in any mode before.
    pub(crate) new: bool,
}

#[derive(Default)]
pub(crate) struct LockTable {
    entries: HashTable<LockEntry>,
}

impl LockEntry {
    fn crowd(&mut self) -> &mut Crowd {
        self.crowd.get_or_insert_default()
    }

    fn other_holders(&self) -> &[Holder] {
        self.crowd.as_ref().map_or(&[], |crowd| &crowd.other_holders)
    }

    fn queue(&self) -> impl Iterator<Item = &Waiter> {
        self.crowd.iter().flat_map(|crowd| &crowd.queue)
    }

    fn first_waiter(&self) -> Option<&Waiter> {
        self.crowd.as_ref()?.queue.front()
    }

    fn nobody_waits(&self) -> bool {
        self.first_waiter().is_none()
    }

    fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.holder).chain(self.other_holders())
    }

    fn holder_mut(&mut self, transaction: TransactionId) -> Option<&mut Holder> {
        let others = self.crowd.iter_mut().flat_map(|crowd| &mut crowd.other_holders);
        std::iter::once(&mut self.holder).chain(others).find(|holder| holder.transaction == transaction)
    }

    fn all_shared(&self) -> bool {
        self.holders().all(|holder| holder.mode == LockMode::Shared)
    }

    fn is_sole_holder(&self, transaction: TransactionId) -> bool {
        self.other_holders().is_empty() && self.holder.transaction == transaction
    }

    fn acquire(&mut self, transaction: TransactionId, mode: LockMode) -> Acquired {
        let sole = self.other_holders().is_empty();
        if let Some(holder) = self.holder_mut(transaction) {
            if mode > holder.mode {
                if !sole {
                    return Acquired::Conflict;
                }
                holder.mode = mode;
            }
            let fresh = std::mem::take(&mut holder.fresh);
            return if fresh { Acquired::Granted } else { Acquired::Held };
        }
        if mode == LockMode::Shared && self.nobody_waits() && self.all_shared() {
            self.crowd().other_holders.push(Holder { transaction, mode, fresh: false });
            return Acquired::New;
        }
        Acquired::Conflict
    }

    /// Those that a request has to wait for: holders and earlier waiters in its way.
    fn blockers(&self, transaction: TransactionId, mode: LockMode) -> Vec<TransactionId> {
        let conflicts = |other: LockMode| mode == LockMode::Exclusive || other == LockMode::Exclusive;
        let holders = self.holders().filter(|holder| conflicts(holder.mode)).map(|holder| holder.transaction);
        let upgrade = self.holders().any(|holder| holder.transaction == transaction);
        let ahead = self
            .queue()
            .take_while(|waiter| waiter.transaction != transaction && !upgrade)
            .filter(|waiter| conflicts(waiter.mode))
            .map(|waiter| waiter.transaction);
        let mut blockers: Vec<TransactionId> =
            holders.chain(ahead).filter(|&other| other != transaction).collect();
        blockers.dedup();
        blockers
    }

    /// Takes `transaction` off the holders; false if it was the last one and nobody can take its place.
    fn drop_holder(&mut self, transaction: TransactionId) -> bool {
        if self.holder.transaction == transaction {
            match self.crowd.as_mut().and_then(|crowd| crowd.other_holders.pop()) {
                Some(other) => self.holder = other,
                None => return false,
            }
        } else if let Some(crowd) = &mut self.crowd {
            crowd.other_holders.retain(|holder| holder.transaction != transaction);
        }
        true
    }

    /// Grants what can be granted from the head of the queue. `vacant`: the recorded holder has gone.
    fn grant(&mut self, mut vacant: bool, granted: &mut Vec<Grant>) -> bool {
        while let Some(waiter) = self.first_waiter() {
            let upgrade = !vacant && self.holders().any(|holder| holder.transaction == waiter.transaction);
            let free = vacant
                || (upgrade && self.is_sole_holder(waiter.transaction))
                || (!upgrade && waiter.mode == LockMode::Shared && self.all_shared());
            if !free {
                break;
            }
            let Some(Waiter { transaction, mode, token }) = self.crowd().queue.pop_front() else { break };
            if upgrade {
                self.holder.mode = mode;
            } else {
                let holder = Holder { transaction, mode, fresh: true };
                if vacant {
                    self.holder = holder;
                    vacant = false;
                } else {
                    self.crowd().other_holders.push(holder);
                }
            }
            granted.push(Grant { transaction, key: self.key, token, new: !upgrade });
        }
        !vacant
    }
}

impl LockTable {
    /// Takes the lock if nobody is in the way or ahead.
    #[inline]
    pub(crate) fn acquire(&mut self, transaction: TransactionId, key: LockKey, mode: LockMode) -> Acquired {
        match self.entries.entry(key.place(), |entry| entry.key == key, |entry| entry.key.place()) {
            Entry::Vacant(vacant) => {
                vacant.insert(LockEntry { key, holder: Holder { transaction, mode, fresh: false }, crowd: None });
                Acquired::New
            }
            Entry::Occupied(mut occupied) => occupied.get_mut().acquire(transaction, mode),
        }
    }

    fn entry_mut(&mut self, key: LockKey) -> Option<&mut LockEntry> {
        self.entries.find_mut(key.place(), |entry| entry.key == key)
    }

    /// Queues a request that `acquire` refused and says who is in its way.
    pub(crate) fn enqueue(
        &mut self,
        transaction: TransactionId,
        key: LockKey,
        mode: LockMode,
        token: WaitToken,
    ) -> Vec<TransactionId> {
        let Some(entry) = self.entry_mut(key) else {
            return Vec::new();
        };
        let holds = entry.holder_mut(transaction).is_some();
        let queue = &mut entry.crowd().queue;
        match queue.iter_mut().find(|waiter| waiter.transaction == transaction) {
            Some(waiter) => {
                waiter.token = token;
                waiter.mode = waiter.mode.max(mode);
            }
            None => {
                let waiter = Waiter { transaction, mode, token };
                if holds { queue.push_front(waiter) } else { queue.push_back(waiter) }
            }
        }
        entry.blockers(transaction, mode)
    }

    /// Whoever holds this lock exclusively.
    pub(crate) fn exclusive_holder(&self, key: LockKey) -> Option<TransactionId> {
        let holder = &self.entries.find(key.place(), |entry| entry.key == key)?.holder;
        (holder.mode == LockMode::Exclusive).then_some(holder.transaction)
    }

    pub(crate) fn holders_of(&self, key: LockKey) -> Vec<TransactionId> {
        let entry = self.entries.find(key.place(), |entry| entry.key == key);
        entry.into_iter().flat_map(|entry| entry.holders()).map(|holder| holder.transaction).collect()
    }

    /// Lets go of a lock, whatever its mode.
    #[inline]
    pub(crate) fn release(&mut self, transaction: TransactionId, key: LockKey, granted: &mut Vec<Grant>) {
        let Ok(mut occupied) = self.entries.find_entry(key.place(), |entry| entry.key == key) else {
            return;
        };
        let entry = occupied.get_mut();
        let vacant = !entry.drop_holder(transaction);
        let in_use = if entry.nobody_waits() { !vacant } else { entry.grant(vacant, granted) };
        if !in_use {
            occupied.remove();
        }
    }

    /// Gives up waiting.
    pub(crate) fn cancel(&mut self, transaction: TransactionId, key: LockKey, granted: &mut Vec<Grant>) {
        if let Some(entry) = self.entry_mut(key) {
            entry.crowd().queue.retain(|waiter| waiter.transaction != transaction);
            entry.grant(false, granted);
        }
    }

    /// All (waiter, blocker) pairs.
    pub(crate) fn append_edges(&self, edges: &mut Vec<(TransactionId, TransactionId)>) {
        for entry in &self.entries {
            for waiter in entry.queue() {
                let blockers = entry.blockers(waiter.transaction, waiter.mode);
                edges.extend(blockers.into_iter().map(|blocker| (waiter.transaction, blocker)));
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Gives memory back that a transaction with many locks has left.
    pub(crate) fn shrink(&mut self) {
        let kept = (self.entries.len() * 2).max(KEPT_ENTRIES);
        if self.entries.capacity() > 4 * kept {
            self.entries.shrink_to(kept, |entry| entry.key.place());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LockKey = LockKey { table: TableId(1), hash: 42 };

    fn transaction(number: u64) -> TransactionId {
        TransactionId(number)
    }

    fn wait(locks: &mut LockTable, number: u64, mode: LockMode) -> Vec<TransactionId> {
        assert_eq!(locks.acquire(transaction(number), KEY, mode), Acquired::Conflict);
        locks.enqueue(transaction(number), KEY, mode, WaitToken(number))
    }

    fn release(locks: &mut LockTable, number: u64) -> Vec<u64> {
        let mut granted = Vec::new();
        locks.release(transaction(number), KEY, &mut granted);
        granted.into_iter().map(|grant| grant.token.0).collect()
    }

    #[test]
    fn waiters_are_granted_in_the_order_they_came() {
        let mut locks = LockTable::default();
        assert_eq!(locks.acquire(transaction(1), KEY, LockMode::Exclusive), Acquired::New);
        for number in 2..=4 {
            wait(&mut locks, number, LockMode::Exclusive);
        }
        for number in 1..=3 {
            assert_eq!(release(&mut locks, number), [number + 1]);
        }
        assert_eq!(release(&mut locks, 4), [0u64; 0]);
        assert_eq!(locks.len(), 0);
    }

    #[test]
    fn a_reader_does_not_overtake_a_waiting_writer() {
        let mut locks = LockTable::default();
        assert_eq!(locks.acquire(transaction(1), KEY, LockMode::Shared), Acquired::New);
        assert_eq!(wait(&mut locks, 2, LockMode::Exclusive), [transaction(1)]);
        assert_eq!(wait(&mut locks, 3, LockMode::Shared), [transaction(2)]);
        wait(&mut locks, 4, LockMode::Shared);
        assert_eq!(release(&mut locks, 1), [2]);
        assert_eq!(release(&mut locks, 2), [3, 4]);
    }

    #[test]
    fn an_upgrade_goes_before_the_queue_and_waits_for_the_other_holders_only() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Shared);
        locks.acquire(transaction(2), KEY, LockMode::Shared);
        wait(&mut locks, 3, LockMode::Exclusive);
        assert_eq!(wait(&mut locks, 1, LockMode::Exclusive), [transaction(2)]);
        assert_eq!(release(&mut locks, 2), [1]);
        assert_eq!(locks.acquire(transaction(1), KEY, LockMode::Exclusive), Acquired::Held);
        assert_eq!(release(&mut locks, 1), [3]);
    }

    #[test]
    fn a_cancelled_waiter_lets_those_behind_it_pass() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Shared);
        wait(&mut locks, 2, LockMode::Exclusive);
        wait(&mut locks, 3, LockMode::Shared);
        let mut granted = Vec::new();
        locks.cancel(transaction(2), KEY, &mut granted);
        assert_eq!(granted.len(), 1);
        assert_eq!(granted[0].token, WaitToken(3));
        assert!(granted[0].new);
    }

    #[test]
    fn a_lock_granted_while_waiting_is_told_once() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Exclusive);
        wait(&mut locks, 2, LockMode::Exclusive);
        release(&mut locks, 1);
        assert_eq!(locks.acquire(transaction(2), KEY, LockMode::Exclusive), Acquired::Granted);
        assert_eq!(locks.acquire(transaction(2), KEY, LockMode::Exclusive), Acquired::Held);
    }

    #[test]
    fn edges_name_holders_and_those_ahead() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Exclusive);
        wait(&mut locks, 2, LockMode::Exclusive);
        wait(&mut locks, 3, LockMode::Exclusive);
        let mut edges = Vec::new();
        locks.append_edges(&mut edges);
        let pair = |a, b| (transaction(a), transaction(b));
        assert_eq!(edges, [pair(2, 1), pair(3, 1), pair(3, 2)]);
    }
}
