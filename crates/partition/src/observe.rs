//! What operators are shown of transactions and their locks.
//!
//! Nothing here changes anything. A question holds the partition for as long as its answer is copied, so locks are listed in
//! stretches ([`Partition::observed_locks`]) and a transaction's own figures are numbers that are kept anyway.
//!
//! Locks know hashes of keys and no keys. The key is that of the committed row with this hash, or of a row that the transaction has
//! staged. Where there is neither, the lock keeps others from inserting the key: InnoDB would lock the gap in which it lies.

use std::collections::BTreeMap;
use std::ops::Bound;

use shoal_types::key::KeySpec;
use shoal_types::{IndexId, TableId, TimeZone, TransactionId, Value, key_hash};

use crate::api::{KeyBounds, LockMode};
use crate::fragment::Fragment;
use crate::locks::LockKey;
use crate::partition::Partition;
use crate::ranges::{RangeLockId, range_contains};
use crate::wait_for::WaitEdge;
use crate::workspace::{NO_ROW, State, Transaction, WaitingFor};

/// Locks with waiters that one look lists.
const WAITED_LOCKS_MAX: usize = 1000;
/// So many range locks of an index are looked at for those of a transaction: there may be a hundred thousand, and they have no order.
const RANGES_LOOKED_AT_MAX: usize = 1000;
/// So many writes of a transaction are searched for the row of a locked unique key.
const UNIQUE_WRITES_MAX: usize = 32;

/// A transaction as its partition knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedTransaction {
    /// Whose it is.
    pub id: TransactionId,
    /// Locks of rows and keys that it holds here.
    pub row_locks: u64,
    /// Writes that it has staged here.
    pub writes: u64,
    /// What its lists take here, rows apart; 0 while that is little.
    pub work_bytes: u64,
    /// It waits for a lock here.
    pub is_waiting: bool,
    /// Its commit is under way or prepared, or it is being undone.
    pub is_ending: bool,
}

impl ObservedTransaction {
    /// It has nothing yet.
    pub fn nothing_of(id: TransactionId) -> ObservedTransaction {
        ObservedTransaction { id, row_locks: 0, writes: 0, work_bytes: 0, is_waiting: false, is_ending: false }
    }

    /// With what it has in another partition.
    pub fn plus(self, other: ObservedTransaction) -> ObservedTransaction {
        ObservedTransaction {
            id: self.id,
            row_locks: self.row_locks + other.row_locks,
            writes: self.writes + other.writes,
            work_bytes: self.work_bytes + other.work_bytes,
            is_waiting: self.is_waiting || other.is_waiting,
            is_ending: self.is_ending || other.is_ending,
        }
    }

    fn of(one: &Transaction) -> ObservedTransaction {
        ObservedTransaction {
            id: one.id,
            row_locks: (one.locks.len() + one.gathered) as u64,
            writes: one.writes.len() as u64,
            work_bytes: one.work_bytes(),
            is_waiting: !one.waits.is_empty(),
            is_ending: one.state != State::Active,
        }
    }
}

/// What a lock keeps others from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Locking or changing a row, or a key of a unique index.
    Record,
    /// The same, and inserting before it: a row in a range that was scanned.
    NextKey,
    /// Inserting into a range, or a key that is not there.
    Gap,
    /// Nothing: the transaction wants to insert into a range that others have locked.
    InsertIntention,
}

/// What a lock is on, in the columns of its index.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservedKey {
    /// No row tells.
    Unknown,
    /// The columns of the index, and of the primary key behind them. Of a gap: of the row behind it.
    Values(Vec<Value>),
    /// No row lies behind the gap.
    Supremum,
}

/// A lock that is held or waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedLock {
    /// Whose it is.
    pub transaction: TransactionId,
    /// It may be a hidden one, which keeps a unique index.
    pub table: TableId,
    /// Of that table.
    pub index: IndexId,
    /// With kind, table and partition it names the lock.
    pub number: u64,
    /// What it keeps others from.
    pub kind: LockKind,
    /// Ranges have none: they are exclusive.
    pub mode: LockMode,
    /// It is not granted yet.
    pub is_waiting: bool,
    /// What it is on.
    pub key: ObservedKey,
}

/// A stretch of the locks of a transaction.
#[derive(Clone, Debug, Default)]
pub struct ObservedStretch {
    /// What was found in it.
    pub locks: Vec<ObservedLock>,
    /// Where the next one begins; `None`: this was the last.
    pub next: Option<usize>,
}

/// Who waits for whose lock.
#[derive(Clone, Debug, Default)]
pub struct ObservedWaits {
    /// Locks that are waited for: as their holders have them, and as those want them who wait.
    pub locks: Vec<ObservedLock>,
    /// (who waits, whom it waits for) as places in `locks`. Who stands behind another one in a lock's queue waits for that one.
    pub edges: Vec<(usize, usize)>,
}

/// The row of a lock: its index, the values of the key, and the primary key's bytes if it is a row of that.
struct Named {
    index: IndexId,
    key: ObservedKey,
    primary_key: Option<Vec<u8>>,
}

enum Listed<'a> {
    Range((TableId, IndexId), RangeLockId, &'a KeyBounds),
    Lock(LockKey),
    /// Of this table or another one of the transaction's.
    Gathered(LockKey),
}

impl Partition {
    /// The transactions that have something here.
    pub fn observed_transactions(&self) -> Vec<ObservedTransaction> {
        self.transactions.values().map(|one| ObservedTransaction::of(one)).collect()
    }

    /// One of them.
    pub fn observed_transaction(&self, id: TransactionId) -> Option<ObservedTransaction> {
        self.transaction(id).map(ObservedTransaction::of)
    }

    /// A stretch of the locks that a transaction holds: of `count` candidates from the place `from` on. Not each of them need be a lock, so what is
    /// found may be fewer, or none.
    pub fn observed_locks(&self, id: TransactionId, from: usize, count: usize) -> ObservedStretch {
        let Some(transaction) = self.transaction(id) else { return ObservedStretch::default() };
        let ranges = transaction.ranges.iter().flat_map(|&place| {
            let owned = self.ranges.owned_by(id, place, RANGES_LOOKED_AT_MAX);
            owned.map(move |(number, range)| Listed::Range(place, number, range))
        });
        let listed = transaction.locks.iter().map(|&key| Listed::Lock(key));
        let tables = transaction.gathered_tables();
        let gathered = self.locks.gathered_by(id, tables).map(Listed::Gathered);
        let show = |one: Listed<'_>| match one {
            Listed::Range(place, number, range) => Some(self.observed_range(id, place, number, range)),
            Listed::Lock(key) => Some(self.observed_held(id, key, &self.named(key, &[id]))),
            Listed::Gathered(key) => {
                let named = self.named(key, &[id]);
                // Of several tables only those are believed that lead to a row.
                let is_lock = tables.len() == 1 || named.key != ObservedKey::Unknown;
                is_lock.then(|| self.observed_held(id, key, &named))
            }
        };
        let mut looked_at = 0;
        let candidates = ranges.chain(listed).chain(gathered).skip(from).take(count);
        let locks = candidates.inspect(|_| looked_at += 1).filter_map(show).collect();
        ObservedStretch { locks, next: (looked_at == count).then_some(from + count) }
    }

    fn observed_held(&self, id: TransactionId, key: LockKey, named: &Named) -> ObservedLock {
        let mode = self.locks.mode_of(id, key).unwrap_or(LockMode::Exclusive);
        self.observed_lock(id, key, mode, false, named)
    }

    /// All locks that are waited for here, up to a bound.
    pub fn observed_waits(&self) -> ObservedWaits {
        let mut waits = ObservedWaits::default();
        let mut keys: Vec<LockKey> = Vec::new();
        for transaction in self.transactions.values() {
            for &(_, waiting) in &transaction.waits {
                match waiting {
                    WaitingFor::Lock(key) => keys.push(key),
                    WaitingFor::Range(table, index) if waits.locks.len() < WAITED_LOCKS_MAX => {
                        self.add_range_wait(transaction.id, (table, index), &mut waits)
                    }
                    WaitingFor::Range(..) => {}
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys.truncate(WAITED_LOCKS_MAX);
        for key in keys {
            if waits.locks.len() >= WAITED_LOCKS_MAX {
                break;
            }
            self.add_lock_waits(key, &mut waits);
        }
        waits
    }

    /// A wait of a transaction for another one: what it wants, and what that one has or waits for itself.
    pub fn observed_wait(
        &self,
        waiter: TransactionId,
        blocker: TransactionId,
    ) -> Option<(ObservedLock, ObservedLock)> {
        for &(_, waiting) in &self.transaction(waiter)?.waits {
            let mut waits = ObservedWaits::default();
            match waiting {
                WaitingFor::Range(table, index) => self.add_range_wait(waiter, (table, index), &mut waits),
                WaitingFor::Lock(key) => {
                    let both = self.locks.holders_and_waiters(key);
                    let one = both.iter().find(|(id, _, is_waiting)| *id == waiter && *is_waiting);
                    let other = both.iter().find(|(id, ..)| *id == blocker);
                    if let (Some(one), Some(other)) = (one, other) {
                        let named = self.named(key, &[waiter, blocker]);
                        let show = |&(id, mode, is_waiting): &(TransactionId, LockMode, bool)| {
                            self.observed_lock(id, key, mode, is_waiting, &named)
                        };
                        waits.locks.extend([show(one), show(other)]);
                        waits.edges.push((0, 1));
                    }
                }
            }
            let edge = waits.edges.iter().find(|(_, blocking)| waits.locks[*blocking].transaction == blocker);
            if let Some(&(waiting, blocking)) = edge {
                return Some((waits.locks[waiting].clone(), waits.locks[blocking].clone()));
            }
        }
        None
    }

    /// The columns of an index, and of the primary key behind them, of the version of a row that has this key in it: a committed
    /// one or a staged one.
    pub fn observed_key(
        &self,
        table: TableId,
        index: IndexId,
        key: &[u8],
        primary_key: &[u8],
    ) -> Option<Vec<Value>> {
        let fragment = self.fragments.get(&table)?;
        let index = fragment.index(index)?;
        let hash = key_hash(primary_key);
        let committed = fragment.find(hash, primary_key, &mut Vec::new());
        let committed = committed.and_then(|row| fragment.any_version(row));
        let staged = self
            .transactions
            .values()
            .filter_map(|one| one.writes.get(one.find(table, hash, primary_key)? as usize)?.row.as_deref());
        let mut buffer = Vec::new();
        let mut rows = committed.into_iter().chain(staged);
        let row = rows.find(|row| index.spec.has_key(fragment.row(row), key, &mut buffer))?;
        Some(values_of(fragment, &index.spec, true, row))
    }

    fn add_lock_waits(&self, key: LockKey, waits: &mut ObservedWaits) {
        let both = self.locks.holders_and_waiters(key);
        let holders: Vec<TransactionId> = both.iter().filter(|(.., waits)| !waits).map(|(id, ..)| *id).collect();
        let named = self.named(key, &holders);
        let first = waits.locks.len();
        waits.locks.extend(
            both.iter().map(|&(id, mode, is_waiting)| self.observed_lock(id, key, mode, is_waiting, &named)),
        );
        let places: BTreeMap<(TransactionId, bool), usize> = both
            .iter()
            .enumerate()
            .map(|(place, &(id, _, is_waiting))| ((id, is_waiting), first + place))
            .collect();
        let place = |id: TransactionId, is_waiting: bool| places.get(&(id, is_waiting)).copied();
        let mut edges: Vec<WaitEdge> = Vec::new();
        self.locks.append_edges(key, &mut edges);
        for edge in edges {
            if let (Some(waiting), Some(blocking)) = (place(edge.waiter, true), place(edge.blocker, !edge.is_held))
            {
                waits.edges.push((waiting, blocking));
            }
        }
    }

    fn add_range_wait(&self, waiter: TransactionId, place: (TableId, IndexId), waits: &mut ObservedWaits) {
        let Some(key) = self.ranges.awaited_key(waiter, place) else { return };
        let waiting = waits.locks.len();
        waits.locks.push(ObservedLock {
            transaction: waiter,
            table: place.0,
            index: place.1,
            number: key_hash(key),
            kind: LockKind::InsertIntention,
            mode: LockMode::Exclusive,
            is_waiting: true,
            key: self.key_behind(place, Bound::Included(key)),
        });
        for blocker in self.ranges.blockers(place.0, place.1, key, waiter) {
            let mut owned = self.ranges.owned_by(blocker, place, RANGES_LOOKED_AT_MAX);
            if let Some((number, range)) = owned.find(|(_, range)| range_contains(range, key)) {
                waits.edges.push((waiting, waits.locks.len()));
                waits.locks.push(self.observed_range(blocker, place, number, range));
            }
        }
    }

    fn observed_range(
        &self,
        id: TransactionId,
        place: (TableId, IndexId),
        number: RangeLockId,
        range: &KeyBounds,
    ) -> ObservedLock {
        let behind = match &range.end {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(end) => Bound::Excluded(end.as_slice()),
            Bound::Excluded(end) => Bound::Included(end.as_slice()),
        };
        ObservedLock {
            transaction: id,
            table: place.0,
            index: place.1,
            number: number.0,
            kind: LockKind::Gap,
            mode: LockMode::Exclusive,
            is_waiting: false,
            key: self.key_behind(place, behind),
        }
    }

    fn observed_lock(
        &self,
        id: TransactionId,
        key: LockKey,
        mode: LockMode,
        is_waiting: bool,
        named: &Named,
    ) -> ObservedLock {
        let table = key.table;
        let is_in_range = |primary_key: &Vec<u8>| {
            let mut ranges = self.ranges.owned_by(id, (table, IndexId(0)), RANGES_LOOKED_AT_MAX);
            !is_waiting && ranges.any(|(_, range)| range_contains(range, primary_key))
        };
        let kind = match (&named.key, &named.primary_key) {
            (ObservedKey::Unknown, _) if !is_waiting => LockKind::Gap,
            (_, Some(primary_key)) if is_in_range(primary_key) => LockKind::NextKey,
            _ => LockKind::Record,
        };
        let key_of_lock = named.key.clone();
        ObservedLock {
            transaction: id,
            table,
            index: named.index,
            number: key.hash,
            kind,
            mode,
            is_waiting,
            key: key_of_lock,
        }
    }

    /// The row that a lock is on: a committed one, or one that these transactions have staged.
    fn named(&self, key: LockKey, transactions: &[TransactionId]) -> Named {
        let nothing = Named { index: IndexId(0), key: ObservedKey::Unknown, primary_key: None };
        let Some(fragment) = self.fragments.get(&key.table) else { return nothing };
        let staged = || {
            let known = transactions.iter().filter_map(|&id| self.transaction(id));
            known.flat_map(|one| one.newest_with_hash(key.table, key.hash)).find_map(|write| write.row.as_deref())
        };
        if let Some(row) = fragment.with_key_hash(key.hash).or_else(staged) {
            let values = match fragment.schema.database.is_empty() {
                // A hidden table's second column tells whose row the key is.
                true => fragment.row(row).values(&TimeZone::UTC),
                false => values_of(fragment, &fragment.primary, false, row),
            };
            let mut primary_key = Vec::new();
            fragment.primary_key_into(row, &mut primary_key);
            return Named { key: ObservedKey::Values(values), primary_key: Some(primary_key), ..nothing };
        }
        let known = transactions.iter().filter_map(|&id| self.transaction(id));
        let unique = known.filter_map(|one| unique_key(fragment, one, key)).next();
        unique.map_or(nothing, |(index, values)| Named {
            index,
            key: ObservedKey::Values(values),
            primary_key: None,
        })
    }

    /// The first entry of an index from a place on.
    fn key_behind(&self, (table, index): (TableId, IndexId), start: Bound<&[u8]>) -> ObservedKey {
        let start = match start {
            Bound::Unbounded => return ObservedKey::Supremum,
            Bound::Included(key) => Bound::Included(key.to_vec()),
            Bound::Excluded(key) => Bound::Excluded(key.to_vec()),
        };
        let Some(fragment) = self.fragments.get(&table) else { return ObservedKey::Unknown };
        let Some(index) = fragment.index(index) else { return ObservedKey::Supremum };
        let place = index.tree.range_start(&KeyBounds { start, end: Bound::Unbounded });
        let row = place.and_then(|place| fragment.any_version(index.tree.row(place)));
        row.map_or(ObservedKey::Supremum, |row| {
            ObservedKey::Values(values_of(fragment, &index.spec, index.definition.id.0 != 0, row))
        })
    }
}

/// The columns of a key, and of the primary key behind them if that is wanted.
fn values_of(fragment: &Fragment, key: &KeySpec, with_primary: bool, row: &[u8]) -> Vec<Value> {
    let columns = key.parts.iter().map(|part| part.column);
    let behind = fragment.primary.parts.iter().map(|part| part.column).filter(|_| with_primary);
    let row = fragment.row(row);
    columns.chain(behind).map(|column| row.value(column, &TimeZone::UTC)).collect()
}

/// The locally unique key that a lock is on, out of what the transaction has written or replaced.
fn unique_key(fragment: &Fragment, transaction: &Transaction, key: LockKey) -> Option<(IndexId, Vec<Value>)> {
    let table = fragment.schema.id;
    let unique: Vec<_> = fragment.ordered.iter().filter(|index| index.locally_unique).collect();
    if unique.is_empty() {
        return None;
    }
    let writes = transaction.writes.iter().filter(|write| write.table == table).take(UNIQUE_WRITES_MAX);
    let rows = writes.flat_map(|write| {
        let replaced = Some(write.row_id).filter(|&row| row != NO_ROW).and_then(|row| fragment.newest(row));
        [write.row.as_deref(), replaced]
    });
    let mut buffer = Vec::new();
    for row in rows.flatten() {
        for index in &unique {
            let row_ref = fragment.row(row);
            let mut is_locked = false;
            index.entry.each_key(row_ref, &mut buffer, |one| {
                is_locked |= LockKey::unique(table, index.definition.id, key_hash(one)) == key;
            });
            if is_locked && !index.spec.has_null(row_ref) {
                return Some((index.definition.id, values_of(fragment, &index.spec, true, row)));
            }
        }
    }
    None
}
