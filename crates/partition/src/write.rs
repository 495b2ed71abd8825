//! Inserts, updates and deletes: checked, locked, paid for, staged. Rows change when the commit is applied.

use shoal_types::{IndexId, Result, TableId, Timestamp, TransactionId, key_hash};

use crate::api::*;
use crate::btree::Probe;
use crate::locks::LockKey;
use crate::partition::{Partition, no_such_table};
use crate::read::Found;
use crate::transaction::Locked;
use crate::workspace::WaitingFor;

/// A write's outcome before the row it may point to is borrowed.
pub(crate) enum Outcome {
    Done,
    NotFound,
    Duplicate(IndexId, Found),
}

/// May a new version come in?
enum Admission {
    Yes,
    Duplicate(IndexId, Found),
    Wait(Blocked),
}

/// The key of the row that a write is about.
pub(crate) struct Target<'a> {
    pub(crate) table: TableId,
    pub(crate) hash: u64,
    pub(crate) key: &'a [u8],
}

impl Partition {
    /// Stages a new row (encoded by the table's layout). The key is locked first, so of two inserts of one key the
    /// second waits for the first to end.
    pub fn insert(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        let outcome = self.with_key_of(table, row, |partition, target| {
            match partition.lock_target(transaction, &target, token)? {
                Step::Ready(Found::Nothing) => {}
                Step::Ready(found) => return Ok(Step::Ready(Outcome::Duplicate(IndexId(0), found))),
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            }
            partition.stage_version(transaction, &target, row, Found::Nothing, token)
        })?;
        Ok(self.resolve(transaction, table, outcome))
    }

    /// Stages a new version of the row with the same primary key.
    pub fn update(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        let outcome = self.with_key_of(table, row, |partition, target| {
            match partition.lock_target(transaction, &target, token)? {
                Step::Ready(Found::Nothing) => Ok(Step::Ready(Outcome::NotFound)),
                Step::Ready(found) => partition.stage_version(transaction, &target, row, found, token),
                Step::Wait(blocked) => Ok(Step::Wait(blocked)),
            }
        })?;
        Ok(self.resolve(transaction, table, outcome))
    }

    /// Stages the row whether its key is there or not (the caller has made sure of what it replaces).
    pub fn put(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        let outcome = self.with_key_of(table, row, |partition, target| {
            match partition.lock_target(transaction, &target, token)? {
                Step::Ready(found) => partition.stage_version(transaction, &target, row, found, token),
                Step::Wait(blocked) => Ok(Step::Wait(blocked)),
            }
        })?;
        Ok(self.resolve(transaction, table, outcome))
    }

    /// Stages the removal of the row with this primary key.
    pub fn delete(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        key: &[u8],
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        let target = Target { table, hash: key_hash(key), key };
        let found = match self.lock_target(transaction, &target, token)? {
            Step::Ready(Found::Nothing) => return Ok(Step::Ready(WriteOutcome::NotFound)),
            Step::Ready(found) => found,
            Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
        };
        if let Some(blocked) = self.lock_unique_keys_of(transaction, table, found, None, token)? {
            return Ok(Step::Wait(blocked));
        }
        let name = match self.found_bytes(transaction, table, found) {
            Some(row) => {
                let fragment = self.fragment(table)?;
                fragment.counted.add(|operations| operations.key_deletes += 1);
                fragment.name_of(row)?
            }
            None => Box::default(),
        };
        let slot = self.slot_of(found);
        self.active(transaction)?.stage_delete(table, target.hash, key, &name, slot);
        Ok(Step::Ready(WriteOutcome::Done))
    }

    /// Runs `operation` with the primary key of `row`.
    fn with_key_of(
        &mut self,
        table: TableId,
        row: &[u8],
        operation: impl FnOnce(&mut Partition, Target<'_>) -> Result<Step<Outcome>>,
    ) -> Result<Step<Outcome>> {
        let mut key = std::mem::take(&mut self.key_buffer);
        let fragment = self.fragments.get(&table).ok_or_else(|| no_such_table(table))?;
        fragment.primary_key_into(row, &mut key);
        let outcome = operation(self, Target { table, hash: key_hash(&key), key: &key });
        self.key_buffer = key;
        outcome
    }

    /// Locks a key exclusively and looks what is there.
    pub(crate) fn lock_target(
        &mut self,
        id: TransactionId,
        target: &Target<'_>,
        token: WaitToken,
    ) -> Result<Step<Found>> {
        let key = LockKey::row(target.table, target.hash);
        match self.lock_row(id, key, LockMode::Exclusive, LockPolicy::Wait, token)? {
            Locked::Wait(blocked) => Ok(Step::Wait(blocked)),
            _ => Ok(Step::Ready(self.locate(id, target.table, target.hash, target.key)?)),
        }
    }

    /// Stages `row` in the place of `old`, if uniqueness, range locks and the budget let it.
    pub(crate) fn stage_version(
        &mut self,
        id: TransactionId,
        target: &Target<'_>,
        row: &[u8],
        old: Found,
        token: WaitToken,
    ) -> Result<Step<Outcome>> {
        match self.admit(id, target, row, old, token)? {
            Admission::Yes => {}
            Admission::Duplicate(index, found) => return Ok(Step::Ready(Outcome::Duplicate(index, found))),
            Admission::Wait(blocked) => return Ok(Step::Wait(blocked)),
        }
        let fragment = self.fragment(target.table)?;
        let charge = fragment.charge_of(row);
        if !self.config.budget.try_reserve(charge) {
            return Err(self.full(&fragment.schema.name));
        }
        fragment.counted.add(|operations| match old {
            Found::Nothing => operations.key_inserts += 1,
            _ => operations.key_updates += 1,
        });
        // The lock was taken in this very call, so the transaction is active.
        let slot = self.slot_of(old);
        self.active(id)?.stage(target.table, target.hash, target.key, Some(row.into()), slot, charge);
        Ok(Step::Ready(Outcome::Done))
    }

    fn admit(
        &mut self,
        id: TransactionId,
        target: &Target<'_>,
        row: &[u8],
        old: Found,
        token: WaitToken,
    ) -> Result<Admission> {
        let fragment = self.fragment(target.table)?;
        if fragment.ordered.iter().any(|index| index.locally_unique) {
            if let Some(blocked) = self.lock_unique_keys_of(id, target.table, old, Some(row), token)? {
                return Ok(Admission::Wait(blocked));
            }
            match self.check_unique_keys(id, target, row, old, token)? {
                Admission::Yes => {}
                other => return Ok(other),
            }
        }
        if self.ranges.is_empty() {
            return Ok(Admission::Yes);
        }
        Ok(match self.check_range_locks(id, target.table, row, old, token)? {
            Some(blocked) => Admission::Wait(blocked),
            None => Admission::Yes,
        })
    }

    /// Waits if `row` would bring a key into a range that another transaction has locked.
    fn check_range_locks(
        &mut self,
        id: TransactionId,
        table: TableId,
        row: &[u8],
        old: Found,
        token: WaitToken,
    ) -> Result<Option<Blocked>> {
        let mut key = std::mem::take(&mut self.scratch);
        let fragment = self.fragment(table)?;
        let old_bytes = self.found_bytes(id, table, old);
        let mut blocked = None;
        // A hash-only primary key is locked as a whole, under index 0.
        let primary = (!fragment.primary_ordered && old_bytes.is_none()).then_some(IndexId(0));
        for index_id in fragment.ordered.iter().map(|index| index.definition.id).chain(primary) {
            if !self.ranges.is_locked(table, index_id) {
                continue;
            }
            let mut blocking = None;
            let mut see = |key: &[u8]| {
                if blocking.is_none() {
                    let holders = self.ranges.blockers(table, index_id, key, id);
                    blocking = (!holders.is_empty()).then(|| (key.to_vec(), holders));
                }
            };
            match fragment.index(index_id) {
                None => see(&[]),
                Some(index) => {
                    let new = fragment.row(row);
                    if !old_bytes.is_some_and(|old| index.same_columns(fragment.row(old), new)) {
                        index.entry.each_key(new, &mut key, see);
                    }
                }
            }
            if let Some((blocked_key, holders)) = blocking {
                key = blocked_key;
                blocked = Some((index_id, holders));
                break;
            }
        }
        self.scratch = key;
        let Some((index, holders)) = blocked else {
            return Ok(None);
        };
        self.ranges.wait((table, index), id, token, self.scratch.clone(), holders.clone());
        self.active(id)?.waits.push((token, WaitingFor::Range(table, index)));
        Ok(Some(Blocked { holders }))
    }

    /// Locks the locally unique keys that `old` gives up (all of them for a delete): nobody may take them before the
    /// transaction has ended.
    fn lock_unique_keys_of(
        &mut self,
        id: TransactionId,
        table: TableId,
        old: Found,
        new: Option<&[u8]>,
        token: WaitToken,
    ) -> Result<Option<Blocked>> {
        let fragment = self.fragment(table)?;
        if !fragment.ordered.iter().any(|index| index.locally_unique) {
            return Ok(None);
        }
        let Some(old) = self.found_bytes(id, table, old) else {
            return Ok(None);
        };
        let old = fragment.row(old);
        let mut keys = Vec::new();
        for index in fragment.ordered.iter().filter(|index| index.locally_unique && !index.spec.has_null(old)) {
            if !new.is_some_and(|new| index.same_columns(old, fragment.row(new))) {
                index.entry.each_key(old, &mut Vec::new(), |key| {
                    keys.push(LockKey::unique(table, index.definition.id, key_hash(key)));
                });
            }
        }
        for key in keys {
            if let Locked::Wait(blocked) = self.lock(id, key, LockMode::Exclusive, LockPolicy::Wait, token)? {
                return Ok(Some(blocked));
            }
        }
        Ok(None)
    }

    /// Locks the locally unique keys that `row` takes and looks for their owners.
    fn check_unique_keys(
        &mut self,
        id: TransactionId,
        target: &Target<'_>,
        row: &[u8],
        old: Found,
        token: WaitToken,
    ) -> Result<Admission> {
        let fragment = self.fragment(target.table)?;
        let old_bytes = self.found_bytes(id, target.table, old);
        let mut taken: Vec<(IndexId, Vec<u8>)> = Vec::new();
        for index in fragment.ordered.iter().filter(|index| index.locally_unique) {
            let new = fragment.row(row);
            let unchanged = old_bytes.is_some_and(|old| index.same_columns(fragment.row(old), new));
            if !unchanged && !index.spec.has_null(new) {
                index.entry.each_key(new, &mut Vec::new(), |key| {
                    taken.push((index.definition.id, key.to_vec()));
                });
            }
        }
        for (index, key) in taken {
            let lock = LockKey::unique(target.table, index, key_hash(&key));
            if let Locked::Wait(blocked) = self.lock(id, lock, LockMode::Exclusive, LockPolicy::Wait, token)? {
                return Ok(Admission::Wait(blocked));
            }
            let owner = self.owner_of_unique_key(id, target, index, &key)?;
            if owner != Found::Nothing {
                return Ok(Admission::Duplicate(index, owner));
            }
        }
        Ok(Admission::Yes)
    }

    /// The row other than the target that has this key in a unique index, own writes included.
    fn owner_of_unique_key(
        &mut self,
        id: TransactionId,
        target: &Target<'_>,
        index_id: IndexId,
        key: &[u8],
    ) -> Result<Found> {
        let fragment = self.fragments.get(&target.table).ok_or_else(|| no_such_table(target.table))?;
        let Some(index) = fragment.index(index_id) else {
            return Ok(Found::Nothing);
        };
        let mut own = self.transactions.get_mut(&id);
        let mut buffer = Vec::new();
        let probe = Probe::before(key);
        let mut place = index.tree.seek(&probe);
        while let Some(here) = place.filter(|&here| index.tree.compare_key(here, &probe).is_eq()) {
            let row = index.tree.row(here);
            place = index.tree.next(here);
            let Some(bytes) = fragment.visible(row, Timestamp::MAX) else { continue };
            if !index.entry.has_key(fragment.row(bytes), key, &mut buffer) {
                continue;
            }
            let primary = fragment.primary_key_into(bytes, &mut buffer);
            let hash = key_hash(primary);
            let overwritten = own.as_ref().is_some_and(|own| own.find(target.table, hash, primary).is_some());
            if primary != target.key && !overwritten {
                return Ok(Found::Committed(row));
            }
        }
        let Some(own) = own.as_mut().filter(|own| own.writes_table(target.table)) else {
            return Ok(Found::Nothing);
        };
        own.build_overlay(target.table, index_id, |row, see| {
            index.entry.each_key(fragment.layout.row(row), &mut buffer, see);
        });
        let start = (Box::<[u8]>::from(key), 0);
        let Some(overlay) = own.overlay(target.table, index_id) else {
            return Ok(Found::Nothing);
        };
        let staged = overlay.entries.range(start..).take_while(|(other, _)| **other == *key);
        let newest = |&number: &u32| own.is_seen(number, SavepointMark::LATEST) && own.key(number) != target.key;
        Ok(staged.map(|&(_, number)| number).find(newest).map_or(Found::Nothing, Found::Staged))
    }

    pub(crate) fn resolve(
        &self,
        transaction: TransactionId,
        table: TableId,
        outcome: Step<Outcome>,
    ) -> Step<WriteOutcome<'_>> {
        outcome.map(|outcome| match outcome {
            Outcome::Done => WriteOutcome::Done,
            Outcome::NotFound => WriteOutcome::NotFound,
            Outcome::Duplicate(index, found) => {
                let row = self.found_bytes(transaction, table, found);
                match row.zip(self.fragments.get(&table)) {
                    Some((row, fragment)) => WriteOutcome::Duplicate { index, row: fragment.row(row) },
                    None => WriteOutcome::NotFound,
                }
            }
        })
    }
}
