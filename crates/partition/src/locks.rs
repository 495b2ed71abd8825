//! Row locks: shared and exclusive, first come first served.
//!
//! A lock is named by its table and the 64-bit hash of its key, no key bytes are kept; two keys that collide share a
//! lock and only wait for each other more than they had to. An entry exists while somebody holds the lock. Who holds
//! what is listed by the transactions (`Transaction::locks`); waiters are granted in the order they came, except that
//! a holder that wants more (shared to exclusive) goes first.
//!
//! A transaction with many exclusive locks gathers them ([`LockTable::gather`]): of each one only the hash is kept then, in a set of the
//! transaction's. Such a lock becomes an entry when somebody else comes for it. Only the lock table lists these.
//!
//! An exclusive lock may pass to the next transaction before its holder has ended (early lock release): `early` says who may
//! decide on that. The table only swaps the holders.

use std::collections::VecDeque;

use shoal_types::{IndexId, TableId, TransactionId};

use crate::api::{LockMode, WaitToken};
use crate::numbers::Numbers;
use crate::segments::Segments;
use crate::shards::Shards;
use crate::wait_for::WaitEdge;

/// Without gaps: there may be millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(4))]
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

    /// The lock of this table whose place is `place`.
    fn at(table: TableId, place: u64) -> LockKey {
        let hash = (place ^ u64::from(table.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_right(24);
        LockKey { table, hash }
    }

    fn place(self) -> u64 {
        // Partitioning has used up the highest bits, which the table wants for its tags.
        self.hash.rotate_left(24) ^ u64::from(self.table.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Room for so many locks is kept.
const KEPT_ENTRIES: usize = 4096;

#[derive(Clone, Copy)]
#[repr(Rust, packed(4))]
struct Holder {
    transaction: TransactionId,
    mode: LockMode,
    /// Granted to a waiter that has not come back yet.
    fresh: bool,
}

impl Holder {
    fn is(&self, transaction: TransactionId) -> bool {
        let holder = self.transaction;
        holder == transaction
    }
}

struct Waiter {
    transaction: TransactionId,
    mode: LockMode,
    token: WaitToken,
    /// It may be granted the lock of a transaction whose commit is under way.
    early: bool,
}

/// Small: most locks have one holder and nobody waits.
struct LockEntry {
    key: LockKey,
    holder: Holder,
    contention: Option<Box<Contention>>,
}

/// The other holders of a lock, and those who wait for it.
#[derive(Default)]
struct Contention {
    other_holders: Vec<Holder>,
    queue: VecDeque<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The caller did not hold the lock before.
    New,
    /// The same, and the caller is not to list it.
    Gathered,
    /// The caller was granted the lock while it waited, and asks for the first time since.
    Granted,
    /// The caller held it already, perhaps in the weaker mode.
    Held,
    /// Not now.
    Conflict,
}

/// Who wants to wait for a lock.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) transaction: TransactionId,
    pub(crate) mode: LockMode,
    /// Given back with the grant.
    pub(crate) token: WaitToken,
    /// It may be granted the lock of a transaction whose commit is under way.
    pub(crate) early: bool,
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
    /// Where the entries of keys are.
    places: Numbers,
    entries: Segments<LockEntry>,
    /// Entries that nobody uses.
    free: Vec<u32>,
    /// Mostly none.
    gathered: Vec<Gathered>,
}

/// Exclusive locks of one transaction for which nobody else has come.
struct Gathered {
    transaction: TransactionId,
    /// `LockKey::place` of each. Different keys have different ones as surely as they have different hashes.
    places: Shards<u64>,
    /// Those for which somebody has come: they have entries.
    opened: Vec<LockKey>,
}

impl Gathered {
    #[inline]
    fn has(&self, place: u64) -> bool {
        self.places.find(place, |&other| other == place).is_some()
    }

    fn remove(&mut self, place: u64) -> bool {
        self.places.remove(place, |&other| other == place).is_some()
    }
}

impl LockEntry {
    const NOBODYS: LockEntry = LockEntry {
        key: LockKey { table: TableId(0), hash: 0 },
        holder: Holder { transaction: TransactionId(0), mode: LockMode::Shared, fresh: false },
        contention: None,
    };

    fn contention(&mut self) -> &mut Contention {
        self.contention.get_or_insert_default()
    }

    fn other_holders(&self) -> &[Holder] {
        self.contention.as_ref().map_or(&[], |contention| &contention.other_holders)
    }

    fn queue(&self) -> impl Iterator<Item = &Waiter> {
        self.contention.iter().flat_map(|contention| &contention.queue)
    }

    fn first_waiter(&self) -> Option<&Waiter> {
        self.contention.as_ref()?.queue.front()
    }

    fn nobody_waits(&self) -> bool {
        self.first_waiter().is_none()
    }

    fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.holder).chain(self.other_holders())
    }

    fn holder_mut(&mut self, transaction: TransactionId) -> Option<&mut Holder> {
        let others = self.contention.iter_mut().flat_map(|contention| &mut contention.other_holders);
        std::iter::once(&mut self.holder).chain(others).find(|holder| holder.is(transaction))
    }

    fn all_shared(&self) -> bool {
        self.holders().all(|holder| holder.mode == LockMode::Shared)
    }

    fn is_held_exclusively_by(&self, transaction: TransactionId) -> bool {
        self.holder.mode == LockMode::Exclusive && self.is_sole_holder(transaction)
    }

    fn is_sole_holder(&self, transaction: TransactionId) -> bool {
        self.other_holders().is_empty() && self.holder.is(transaction)
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
            self.contention().other_holders.push(Holder { transaction, mode, fresh: false });
            return Acquired::New;
        }
        Acquired::Conflict
    }

    /// The holders that a request conflicts with.
    fn conflicting_holders(
        &self,
        transaction: TransactionId,
        mode: LockMode,
    ) -> impl Iterator<Item = TransactionId> {
        let conflicts = move |other: LockMode| mode == LockMode::Exclusive || other == LockMode::Exclusive;
        self.holders()
            .filter(move |holder| conflicts(holder.mode) && !holder.is(transaction))
            .map(|holder| holder.transaction)
    }

    /// Appends a (waiter, blocker) pair for everything that a waiter waits for itself: who is directly ahead of it in the queue
    /// (`readers`, with no writer between, and the `writer` before them), or the holders. What those wait for follows from their
    /// own pairs, so n waiters have about n of them.
    fn append_edges_of(
        &self,
        waiter: &Waiter,
        readers: &[TransactionId],
        writer: Option<(TransactionId, bool)>,
        edges: &mut Vec<WaitEdge>,
    ) {
        let edge = |blocker, is_held| WaitEdge { waiter: waiter.transaction, blocker, is_held };
        match (waiter.mode, readers, writer) {
            (LockMode::Exclusive, [_, ..], _) => edges.extend(readers.iter().map(|&reader| edge(reader, false))),
            (_, _, Some((writer, is_held))) => edges.push(edge(writer, is_held)),
            _ => self.append_holders(waiter, edges),
        }
    }

    fn append_holders(&self, waiter: &Waiter, edges: &mut Vec<WaitEdge>) {
        let holders = self.conflicting_holders(waiter.transaction, waiter.mode);
        edges.extend(holders.map(|blocker| WaitEdge { waiter: waiter.transaction, blocker, is_held: true }));
    }

    /// Appends the pairs of the whole queue.
    fn append_edges(&self, edges: &mut Vec<WaitEdge>) {
        let (mut readers, mut writer) = (Vec::new(), None);
        // Those that hold the lock and want more are in front, each waiting for the other holders.
        let mut upgrades = true;
        for waiter in self.queue() {
            upgrades = upgrades && waiter.mode == LockMode::Exclusive && self.holds(waiter.transaction);
            match upgrades {
                true => self.append_holders(waiter, edges),
                false => self.append_edges_of(waiter, &readers, writer, edges),
            }
            match waiter.mode {
                LockMode::Shared => readers.push(waiter.transaction),
                LockMode::Exclusive => {
                    readers.clear();
                    writer = Some((waiter.transaction, upgrades));
                }
            }
        }
    }

    /// What the waiter at this place of the queue waits for itself.
    fn blockers_at(&self, position: usize) -> Vec<TransactionId> {
        let mut edges = Vec::new();
        if let Some(waiter) = self.queue().nth(position) {
            let ahead = self.contention.iter().flat_map(|contention| contention.queue.range(..position).rev());
            let (mut readers, mut writer) = (Vec::new(), None);
            for other in ahead {
                if other.mode == LockMode::Exclusive {
                    writer = Some((other.transaction, false));
                    break;
                }
                readers.push(other.transaction);
            }
            match position == 0 || waiter.mode == LockMode::Exclusive && self.holds(waiter.transaction) {
                true => self.append_holders(waiter, &mut edges),
                false => self.append_edges_of(waiter, &readers, writer, &mut edges),
            }
        }
        edges.into_iter().map(|edge| edge.blocker).collect()
    }

    fn holds(&self, transaction: TransactionId) -> bool {
        self.holders().any(|holder| holder.is(transaction))
    }

    /// Takes `transaction` off the holders; false if it was the last one and nobody can take its place.
    fn drop_holder(&mut self, transaction: TransactionId) -> bool {
        if self.holder.is(transaction) {
            match self.contention.as_mut().and_then(|contention| contention.other_holders.pop()) {
                Some(other) => self.holder = other,
                None => return false,
            }
        } else if let Some(contention) = &mut self.contention {
            contention.other_holders.retain(|holder| !holder.is(transaction));
        }
        true
    }

    /// Grants what can be granted from the head of the queue. `vacant`: the recorded holder has gone.
    fn grant(&mut self, mut vacant: bool, granted: &mut Vec<Grant>) -> bool {
        while let Some(waiter) = self.first_waiter() {
            let upgrade = !vacant && self.holds(waiter.transaction);
            let free = vacant
                || (upgrade && self.is_sole_holder(waiter.transaction))
                || (!upgrade && waiter.mode == LockMode::Shared && self.all_shared());
            if !free {
                break;
            }
            let Some(Waiter { transaction, mode, token, .. }) = self.contention().queue.pop_front() else { break };
            if upgrade {
                self.holder.mode = mode;
            } else {
                let holder = Holder { transaction, mode, fresh: true };
                if vacant {
                    self.holder = holder;
                    vacant = false;
                } else {
                    self.contention().other_holders.push(holder);
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
        if !self.gathered.is_empty()
            && let Some(acquired) = self.acquire_beside_gathered(transaction, key, mode)
        {
            return acquired;
        }
        let LockTable { places, entries, .. } = self;
        match places.find(key.place(), |number| entries[number as usize].key == key) {
            None => {
                self.add(LockEntry { key, holder: Holder { transaction, mode, fresh: false }, contention: None });
                Acquired::New
            }
            Some(number) => entries[number as usize].acquire(transaction, mode),
        }
    }

    #[inline]
    fn add(&mut self, entry: LockEntry) {
        let LockTable { places, entries, free, .. } = self;
        let place = entry.key.place();
        match free.pop() {
            Some(number) => {
                places.insert(place, number);
                entries[number as usize] = entry;
            }
            None => {
                places.insert(place, entries.len() as u32);
                entries.push(entry);
            }
        }
    }

    // ---- gathered locks ----

    /// From now on exclusive locks of this transaction for which nobody else comes are kept as hashes alone.
    #[cold]
    pub(crate) fn gather(&mut self, transaction: TransactionId) {
        if !self.gathered.iter().any(|one| one.transaction == transaction) {
            self.gathered.push(Gathered { transaction, places: Shards::default(), opened: Vec::new() });
        }
    }

    /// `None`: it goes on as if no locks were gathered.
    fn acquire_beside_gathered(
        &mut self,
        transaction: TransactionId,
        key: LockKey,
        mode: LockMode,
    ) -> Option<Acquired> {
        let place = key.place();
        let own = self.gathered.iter().position(|one| one.transaction == transaction);
        if own.is_some_and(|own| self.gathered[own].has(place)) {
            return Some(Acquired::Held);
        }
        self.open(key);
        let own = own.filter(|_| mode == LockMode::Exclusive && self.number_of(key).is_none())?;
        self.gathered[own].places.insert(place, place, |&place| place);
        Some(Acquired::Gathered)
    }

    /// Makes an entry of a gathered lock.
    fn open(&mut self, key: LockKey) {
        let place = key.place();
        let holder = self.gathered.iter_mut().find_map(|one| {
            let is_there = one.remove(place);
            is_there.then(|| {
                one.opened.push(key);
                one.transaction
            })
        });
        if let Some(transaction) = holder {
            let holder = Holder { transaction, mode: LockMode::Exclusive, fresh: false };
            self.add(LockEntry { key, holder, contention: None });
        }
    }

    fn gatherer_of(&self, key: LockKey) -> Option<TransactionId> {
        self.gathered.iter().find(|one| one.has(key.place())).map(|one| one.transaction)
    }

    /// Releases a lock that the transaction has gathered. False: it has not, or somebody has come for it.
    pub(crate) fn release_one_gathered(&mut self, transaction: TransactionId, key: LockKey) -> bool {
        let own = self.gathered.iter_mut().find(|one| one.transaction == transaction);
        own.is_some_and(|own| own.remove(key.place()))
    }

    /// Releases the locks that the transaction has gathered.
    pub(crate) fn release_gathered(&mut self, transaction: TransactionId, granted: &mut Vec<Grant>) {
        let Some(number) = self.gathered.iter().position(|one| one.transaction == transaction) else { return };
        for key in self.gathered.swap_remove(number).opened {
            self.release(transaction, key, granted);
        }
    }

    // ---- entries ----

    #[inline]
    fn number_of(&self, key: LockKey) -> Option<u32> {
        self.places.find(key.place(), |number| self.entries[number as usize].key == key)
    }

    fn entry(&self, key: LockKey) -> Option<&LockEntry> {
        self.entries.get(self.number_of(key)? as usize)
    }

    fn entry_mut(&mut self, key: LockKey) -> Option<&mut LockEntry> {
        let number = self.number_of(key)?;
        self.entries.get_mut(number as usize)
    }

    /// Queues a request that `acquire` refused and says who is directly in its way. `queued`: the transaction waits for this lock
    /// already, and comes with another token.
    pub(crate) fn enqueue(&mut self, key: LockKey, request: Request, queued: bool) -> Vec<TransactionId> {
        self.open(key);
        let Some(entry) = self.entry_mut(key) else {
            return Vec::new();
        };
        let Request { transaction, mode, token, early } = request;
        let holds = entry.holder_mut(transaction).is_some();
        let queue = &mut entry.contention().queue;
        let known = queued.then(|| queue.iter().position(|waiter| waiter.transaction == transaction)).flatten();
        let position = match known {
            Some(position) => {
                let waiter = &mut queue[position];
                waiter.token = token;
                waiter.mode = waiter.mode.max(mode);
                waiter.early &= early;
                position
            }
            None => {
                let waiter = Waiter { transaction, mode, token, early };
                if holds {
                    queue.push_front(waiter);
                    0
                } else {
                    queue.push_back(waiter);
                    queue.len() - 1
                }
            }
        };
        entry.blockers_at(position)
    }

    /// Who is directly in a waiter's way now. Looked for from the end, where whoever has just come is.
    pub(crate) fn blockers(&self, transaction: TransactionId, key: LockKey) -> Vec<TransactionId> {
        let blockers = |entry: &LockEntry| {
            let queue = &entry.contention.as_ref()?.queue;
            let position = queue.iter().rposition(|waiter| waiter.transaction == transaction)?;
            Some(entry.blockers_at(position))
        };
        self.entry(key).and_then(blockers).unwrap_or_default()
    }

    pub(crate) fn is_waited_for(&self, key: LockKey) -> bool {
        self.entry(key).is_some_and(|entry| !entry.nobody_waits())
    }

    /// The holder of an exclusive lock that nobody waits for gives it to another transaction.
    pub(crate) fn take_over(&mut self, key: LockKey, from: TransactionId, to: TransactionId) -> bool {
        match self.entry_mut(key) {
            Some(entry) if entry.nobody_waits() && entry.is_held_exclusively_by(from) => {
                entry.holder = Holder { transaction: to, mode: LockMode::Exclusive, fresh: false };
                true
            }
            _ => false,
        }
    }

    /// The holder of an exclusive lock gives it to the first waiter, if that wants the same and may have it early.
    pub(crate) fn pass_on(&mut self, key: LockKey, from: TransactionId) -> Option<Grant> {
        let entry = self.entry_mut(key)?;
        let first = entry.first_waiter()?;
        if !first.early || first.mode != LockMode::Exclusive || !entry.is_held_exclusively_by(from) {
            return None;
        }
        let Waiter { transaction, mode, token, .. } = entry.contention().queue.pop_front()?;
        entry.holder = Holder { transaction, mode, fresh: true };
        Some(Grant { transaction, key, token, new: true })
    }

    /// The reverse of `take_over` and `pass_on`: the lock goes back to the transaction that it came from. Nobody else is granted it.
    pub(crate) fn give_back(&mut self, key: LockKey, from: TransactionId, to: TransactionId) {
        if let Some(entry) = self.entry_mut(key)
            && entry.is_held_exclusively_by(from)
        {
            entry.holder = Holder { transaction: to, mode: LockMode::Exclusive, fresh: false };
        }
    }

    /// Whoever holds this lock exclusively.
    pub(crate) fn exclusive_holder(&self, key: LockKey) -> Option<TransactionId> {
        let Some(entry) = self.entry(key) else { return self.gatherer_of(key) };
        (entry.holder.mode == LockMode::Exclusive).then_some(entry.holder.transaction)
    }

    pub(crate) fn holders_of(&self, key: LockKey) -> Vec<TransactionId> {
        let holders = self.entry(key).into_iter().flat_map(|entry| entry.holders());
        holders.map(|holder| holder.transaction).chain(self.gatherer_of(key)).collect()
    }

    /// Lets go of a lock, whatever its mode.
    #[inline]
    pub(crate) fn release(&mut self, transaction: TransactionId, key: LockKey, granted: &mut Vec<Grant>) {
        let LockTable { places, entries, free, .. } = self;
        let Some(number) = places.find(key.place(), |number| entries[number as usize].key == key) else {
            return;
        };
        let entry = &mut entries[number as usize];
        let vacant = !entry.drop_holder(transaction);
        let in_use = if entry.nobody_waits() { !vacant } else { entry.grant(vacant, granted) };
        if !in_use {
            entry.contention = None;
            places.remove(key.place(), number);
            free.push(number);
        }
    }

    /// Gives up waiting, and says for what mode, if it was still waited for.
    pub(crate) fn cancel(
        &mut self,
        transaction: TransactionId,
        key: LockKey,
        granted: &mut Vec<Grant>,
    ) -> Option<LockMode> {
        let entry = self.entry_mut(key)?;
        let queue = &mut entry.contention().queue;
        let mode = queue.iter().find(|waiter| waiter.transaction == transaction).map(|waiter| waiter.mode);
        queue.retain(|waiter| waiter.transaction != transaction);
        entry.grant(false, granted);
        mode
    }

    /// The (waiter, blocker) pairs of one lock, about as many as it has waiters.
    pub(crate) fn append_edges(&self, key: LockKey, edges: &mut Vec<WaitEdge>) {
        if let Some(entry) = self.entry(key) {
            entry.append_edges(edges);
        }
    }

    /// How a transaction holds a lock.
    pub(crate) fn mode_of(&self, transaction: TransactionId, key: LockKey) -> Option<LockMode> {
        match self.entry(key) {
            Some(entry) => entry.holders().find(|holder| holder.is(transaction)).map(|holder| holder.mode),
            None => (self.gatherer_of(key)? == transaction).then_some(LockMode::Exclusive),
        }
    }

    /// Those that hold a lock, and those that wait for it (`true`), in their order.
    pub(crate) fn holders_and_waiters(&self, key: LockKey) -> Vec<(TransactionId, LockMode, bool)> {
        let Some(entry) = self.entry(key) else {
            return self.gatherer_of(key).map(|id| (id, LockMode::Exclusive, false)).into_iter().collect();
        };
        let holders = entry.holders().map(|holder| (holder.transaction, holder.mode, false));
        holders.chain(entry.queue().map(|waiter| (waiter.transaction, waiter.mode, true))).collect()
    }

    /// The locks that only this table lists, if they are of these tables: the more tables there are, the more of what is tried is no
    /// lock, which whoever looks for its row finds out.
    pub(crate) fn gathered_by<'a>(
        &'a self,
        transaction: TransactionId,
        tables: &'a [TableId],
    ) -> impl Iterator<Item = LockKey> + 'a {
        let own = self.gathered.iter().filter(move |one| one.transaction == transaction);
        own.flat_map(move |one| {
            let hashes = one.places.iter();
            let closed = hashes.flat_map(move |&place| tables.iter().map(move |&table| LockKey::at(table, place)));
            one.opened.iter().copied().chain(closed)
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() + self.gathered.iter().map(|one| one.places.len()).sum::<usize>()
    }

    /// Gives memory back that a transaction with many locks has left.
    pub(crate) fn shrink(&mut self) {
        let kept = (self.places.len() * 2).max(KEPT_ENTRIES);
        if self.entries.len() > 4 * kept {
            let gathered = std::mem::take(&mut self.gathered);
            let LockTable { places, entries, .. } = std::mem::take(self);
            self.gathered = gathered;
            let mut old = entries;
            for number in places.iter() {
                let entry = std::mem::replace(&mut old[number as usize], LockEntry::NOBODYS);
                self.places.insert(entry.key.place(), self.entries.len() as u32);
                self.entries.push(entry);
            }
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
        locks.enqueue(KEY, request(number, mode), false)
    }

    fn request(number: u64, mode: LockMode) -> Request {
        Request { transaction: transaction(number), mode, token: WaitToken(number), early: false }
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

    fn edges(locks: &LockTable) -> Vec<(u64, u64)> {
        let mut edges = Vec::new();
        locks.append_edges(KEY, &mut edges);
        edges.into_iter().map(|edge| (edge.waiter.0, edge.blocker.0)).collect()
    }

    #[test]
    fn edges_name_who_is_directly_ahead_and_the_first_waiters_name_the_holders() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Exclusive);
        let modes =
            [LockMode::Exclusive, LockMode::Shared, LockMode::Shared, LockMode::Exclusive, LockMode::Shared];
        for (number, mode) in (2..).zip(modes) {
            wait(&mut locks, number, mode);
        }
        assert_eq!(edges(&locks), [(2, 1), (3, 2), (4, 2), (5, 3), (5, 4), (6, 5)]);
        let mut all = Vec::new();
        locks.append_edges(KEY, &mut all);
        assert!(all.iter().all(|edge| edge.is_held == (edge.blocker.0 == 1)), "{all:?}");
        release(&mut locks, 1);
        assert_eq!(edges(&locks), [(3, 2), (4, 2), (5, 3), (5, 4), (6, 5)]);
        release(&mut locks, 2);
        assert_eq!(edges(&locks), [(5, 3), (5, 4), (6, 5)]);
    }

    #[test]
    fn two_holders_that_both_want_more_wait_for_each_other() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Shared);
        locks.acquire(transaction(2), KEY, LockMode::Shared);
        wait(&mut locks, 3, LockMode::Exclusive);
        assert_eq!(wait(&mut locks, 1, LockMode::Exclusive), [transaction(2)]);
        assert_eq!(wait(&mut locks, 2, LockMode::Exclusive), [transaction(1)]);
        assert_eq!(edges(&locks), [(2, 1), (1, 2), (3, 1)]);
        // 1 waits itself, and has what 3 wants.
        let mut edges = Vec::new();
        locks.append_edges(KEY, &mut edges);
        assert!(edges.iter().all(|edge| edge.is_held));
    }

    #[test]
    fn a_thousand_waiters_have_a_thousand_edges() {
        let mut locks = LockTable::default();
        locks.acquire(transaction(1), KEY, LockMode::Exclusive);
        for number in 2..1002 {
            assert_eq!(wait(&mut locks, number, LockMode::Exclusive), [transaction(number - 1)]);
        }
        assert_eq!(edges(&locks).len(), 1000);
    }

    #[test]
    fn a_lock_passes_to_the_first_waiter_if_that_may_have_it_early_and_comes_back() {
        let mut locks = LockTable::default();
        let early = |number| Request { early: true, ..request(number, LockMode::Exclusive) };
        locks.acquire(transaction(1), KEY, LockMode::Exclusive);
        locks.enqueue(KEY, early(2), false);
        locks.enqueue(KEY, request(3, LockMode::Exclusive), false);
        assert!(!locks.take_over(KEY, transaction(1), transaction(4)), "others wait");
        let grant = locks.pass_on(KEY, transaction(1)).unwrap();
        assert_eq!((grant.transaction, grant.token), (transaction(2), WaitToken(2)));
        assert!(locks.pass_on(KEY, transaction(2)).is_none(), "the next one waits until it has ended");
        assert_eq!(release(&mut locks, 1), [0u64; 0]);
        locks.give_back(KEY, transaction(2), transaction(1));
        assert_eq!(release(&mut locks, 1), [3]);
        assert!(locks.take_over(KEY, transaction(3), transaction(4)));
        assert_eq!(release(&mut locks, 4), [0u64; 0]);
        assert_eq!(locks.len(), 0);
    }

    #[test]
    fn gathered_locks_are_locks_and_become_entries_when_somebody_comes() {
        let key = |number: u64| LockKey { table: TableId(1), hash: number * 77 };
        let (one, other) = (transaction(1), transaction(2));
        let mut locks = LockTable::default();
        assert_eq!(locks.acquire(other, key(0), LockMode::Exclusive), Acquired::New);
        assert_eq!(locks.acquire(one, key(1), LockMode::Shared), Acquired::New);
        locks.gather(one);
        let place = key(7).place();
        assert_eq!(LockKey::at(TableId(1), place), key(7));
        assert_eq!(locks.acquire(one, key(0), LockMode::Exclusive), Acquired::Conflict);
        assert_eq!(locks.acquire(one, key(1), LockMode::Exclusive), Acquired::Held);
        assert_eq!(locks.acquire(one, key(2), LockMode::Shared), Acquired::New);
        for number in 3..20_000 {
            assert_eq!(locks.acquire(one, key(number), LockMode::Exclusive), Acquired::Gathered);
            assert_eq!(locks.acquire(one, key(number), LockMode::Shared), Acquired::Held);
        }
        assert_eq!((locks.len(), locks.entries.len()), (20_000, 3));
        // Who looks sees them, and who wants one waits.
        assert_eq!((locks.exclusive_holder(key(9)), locks.holders_of(key(9))), (Some(one), vec![one]));
        assert_eq!(locks.acquire(other, key(9), LockMode::Shared), Acquired::Conflict);
        assert_eq!(locks.enqueue(key(9), request(2, LockMode::Shared), false), [one]);
        assert_eq!(locks.enqueue(key(10), request(2, LockMode::Exclusive), false), [one]);
        assert_eq!((locks.len(), locks.entries.len()), (20_000, 5));
        assert_eq!(locks.acquire(one, key(9), LockMode::Exclusive), Acquired::Held);
        // One can be given up, unless somebody has come for it.
        assert!(locks.release_one_gathered(one, key(11)) && !locks.release_one_gathered(one, key(9)));
        assert_eq!(locks.acquire(other, key(11), LockMode::Exclusive), Acquired::New);
        locks.shrink();
        assert_eq!(locks.acquire(other, key(12), LockMode::Exclusive), Acquired::Conflict);
        let mut granted = Vec::new();
        locks.release_gathered(one, &mut granted);
        assert_eq!(granted.iter().map(|grant| grant.key).collect::<Vec<_>>(), [key(9), key(10)]);
        let (held, free) = ([0, 1, 2, 9, 10, 11], [3, 12, 19_999]);
        assert_eq!(locks.len(), held.len());
        assert!(held.iter().all(|&number| !locks.holders_of(key(number)).is_empty()));
        assert!(free.iter().all(|&number| locks.holders_of(key(number)).is_empty()));
    }
}
