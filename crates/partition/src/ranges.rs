//! Range locks: what a locking scan has covered, nobody else may insert into.
//!
//! A range lock names an index and a range of its keys. Range locks of different transactions do not conflict with
//! each other, only with other transactions' writes that would put a key into the range. Those wait in the index's
//! list until a range lock of it goes away, and then look again.

use std::ops::Bound;

use hashbrown::HashMap;
use shoal_types::{IndexId, TableId, TransactionId};

use crate::api::{KeyBounds, WaitToken};
use crate::wait_for::WaitEdge;

/// A range lock, named so that the scan that took it can extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeLockId(pub(crate) u64);

struct RangeLock {
    id: RangeLockId,
    owner: TransactionId,
    range: KeyBounds,
}

struct RangeWaiter {
    transaction: TransactionId,
    token: WaitToken,
    /// What it wants to insert.
    key: Vec<u8>,
    blockers: Vec<TransactionId>,
}

#[derive(Default)]
struct IndexRanges {
    locks: Vec<RangeLock>,
    waiters: Vec<RangeWaiter>,
}

pub(crate) struct RangeLockTable {
    indexes: HashMap<(TableId, IndexId), IndexRanges, foldhash::fast::FixedState>,
    next_id: u64,
}

impl Default for RangeLockTable {
    fn default() -> RangeLockTable {
        RangeLockTable { indexes: HashMap::with_hasher(foldhash::fast::FixedState::default()), next_id: 0 }
    }
}

pub(crate) fn range_contains(range: &KeyBounds, key: &[u8]) -> bool {
    let above = match &range.start {
        Bound::Unbounded => true,
        Bound::Included(start) => key >= start.as_slice(),
        Bound::Excluded(start) => key > start.as_slice(),
    };
    above
        && match &range.end {
            Bound::Unbounded => true,
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
        }
}

/// The second range begins where the first one ends.
fn is_followed_by(first: &KeyBounds, second: &KeyBounds) -> bool {
    matches!((&first.end, &second.start), (Bound::Excluded(end), Bound::Included(start)) if end == start)
}

/// Makes a range contain another one that overlaps with it or continues it.
fn widen(range: &mut KeyBounds, other: KeyBounds) {
    let starts_earlier = match (&other.start, &range.start) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(new), Bound::Excluded(old)) => new <= old,
        (Bound::Included(new) | Bound::Excluded(new), Bound::Included(old) | Bound::Excluded(old)) => new < old,
    };
    let ends_later = match (&other.end, &range.end) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(new), Bound::Excluded(old)) => new >= old,
        (Bound::Included(new) | Bound::Excluded(new), Bound::Included(old) | Bound::Excluded(old)) => new > old,
    };
    if starts_earlier {
        range.start = other.start;
    }
    if ends_later {
        range.end = other.end;
    }
}

impl RangeLockTable {
    /// Some range of this index is locked.
    pub(crate) fn is_locked(&self, table: TableId, index: IndexId) -> bool {
        !self.indexes.is_empty()
            && self.indexes.get(&(table, index)).is_some_and(|ranges| !ranges.locks.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// The other transactions that keep `key` from being inserted.
    pub(crate) fn blockers(
        &self,
        table: TableId,
        index: IndexId,
        key: &[u8],
        transaction: TransactionId,
    ) -> Vec<TransactionId> {
        let Some(ranges) = self.indexes.get(&(table, index)) else {
            return Vec::new();
        };
        let blocking = |lock: &&RangeLock| lock.owner != transaction && range_contains(&lock.range, key);
        let mut blockers: Vec<TransactionId> =
            ranges.locks.iter().filter(blocking).map(|lock| lock.owner).collect();
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }

    /// Queues a write of `key` until one of its blockers lets go of a range.
    pub(crate) fn wait(
        &mut self,
        (table, index): (TableId, IndexId),
        transaction: TransactionId,
        token: WaitToken,
        key: Vec<u8>,
        blockers: Vec<TransactionId>,
    ) {
        let waiters = &mut self.indexes.entry((table, index)).or_default().waiters;
        waiters.retain(|waiter| waiter.transaction != transaction);
        waiters.push(RangeWaiter { transaction, token, key, blockers });
    }

    pub(crate) fn cancel(&mut self, table: TableId, index: IndexId, transaction: TransactionId) {
        if let Some(ranges) = self.indexes.get_mut(&(table, index)) {
            ranges.waiters.retain(|waiter| waiter.transaction != transaction);
        }
    }

    /// Extends a lock to a range. Without `id` it is a lock of the owner that the range continues, or else a new one. True if it
    /// is the owner's first in this index.
    pub(crate) fn cover(
        &mut self,
        id: &mut Option<RangeLockId>,
        table: TableId,
        index: IndexId,
        owner: TransactionId,
        range: KeyBounds,
    ) -> bool {
        let ranges = self.indexes.entry((table, index)).or_default();
        if let Some(lock) =
            id.and_then(|id| ranges.locks.iter_mut().find(|lock| lock.id == id && lock.owner == owner))
        {
            widen(&mut lock.range, range);
            return false;
        }
        let continues = |lock: &&mut RangeLock| {
            lock.owner == owner && (is_followed_by(&lock.range, &range) || is_followed_by(&range, &lock.range))
        };
        if let Some(lock) = ranges.locks.iter_mut().rev().find(continues) {
            *id = Some(lock.id);
            widen(&mut lock.range, range);
            return false;
        }
        if ranges.locks.iter().any(|lock| lock.owner == owner && lock.range == range) {
            return false;
        }
        let first = !ranges.locks.iter().any(|lock| lock.owner == owner);
        self.next_id += 1;
        *id = Some(RangeLockId(self.next_id));
        ranges.locks.push(RangeLock { id: RangeLockId(self.next_id), owner, range });
        first
    }

    /// Drops all of a transaction's locks in one index; appends the tokens of those that should look again.
    pub(crate) fn release(
        &mut self,
        table: TableId,
        index: IndexId,
        owner: TransactionId,
        woken: &mut Vec<(TransactionId, WaitToken)>,
    ) {
        let Some(ranges) = self.indexes.get_mut(&(table, index)) else {
            return;
        };
        ranges.locks.retain(|lock| lock.owner != owner);
        ranges.waiters.retain(|waiter| {
            let wakes = waiter.blockers.contains(&owner);
            if wakes {
                woken.push((waiter.transaction, waiter.token));
            }
            !wakes
        });
        if ranges.locks.is_empty() {
            self.indexes.remove(&(table, index));
        }
    }

    /// The ranges of an index that a transaction has locked, with their numbers: those among the first `looked_at_max` of all transactions.
    pub(crate) fn owned_by(
        &self,
        owner: TransactionId,
        (table, index): (TableId, IndexId),
        looked_at_max: usize,
    ) -> impl Iterator<Item = (RangeLockId, &KeyBounds)> {
        let locks = self.indexes.get(&(table, index)).into_iter().flat_map(|ranges| &ranges.locks);
        locks.take(looked_at_max).filter(move |lock| lock.owner == owner).map(|lock| (lock.id, &lock.range))
    }

    /// What a transaction waits to insert into an index.
    pub(crate) fn awaited_key(&self, waiter: TransactionId, (table, index): (TableId, IndexId)) -> Option<&[u8]> {
        let waiters = &self.indexes.get(&(table, index))?.waiters;
        waiters.iter().find(|one| one.transaction == waiter).map(|one| one.key.as_slice())
    }

    /// (waiter, blocker) pairs.
    pub(crate) fn append_edges(&self, edges: &mut Vec<WaitEdge>) {
        for RangeWaiter { transaction: waiter, blockers, .. } in
            self.indexes.values().flat_map(|ranges| &ranges.waiters)
        {
            let edge = |&blocker| WaitEdge { waiter: *waiter, blocker, is_held: true };
            edges.extend(blockers.iter().map(edge));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: (TableId, IndexId) = (TableId(1), IndexId(0));

    fn range(start: &[u8], end: &[u8]) -> KeyBounds {
        KeyBounds { start: Bound::Included(start.to_vec()), end: Bound::Excluded(end.to_vec()) }
    }

    fn blocks(table: &RangeLockTable, key: &[u8]) -> bool {
        !table.blockers(PLACE.0, PLACE.1, key, TransactionId(2)).is_empty()
    }

    #[test]
    fn ranges_that_continue_each_other_are_one_lock_in_either_direction() {
        for steps in [[range(b"b", b"d"), range(b"d", b"f")], [range(b"d", b"f"), range(b"b", b"d")]] {
            let mut table = RangeLockTable::default();
            let (owner, [first, second]) = (TransactionId(1), steps);
            assert!(table.cover(&mut None, PLACE.0, PLACE.1, owner, first));
            let mut id = None;
            assert!(!table.cover(&mut id, PLACE.0, PLACE.1, owner, second.clone()));
            assert!(!table.cover(&mut id, PLACE.0, PLACE.1, owner, second));
            assert_eq!(table.indexes[&PLACE].locks.len(), 1);
            let blocked: Vec<bool> = [b"a", b"b", b"c", b"d", b"e", b"f"].map(|key| blocks(&table, key)).to_vec();
            assert_eq!(blocked, [false, true, true, true, true, false]);
        }
    }
}
