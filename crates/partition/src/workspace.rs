//! What one transaction has staged, locked and waits for in this partition.
//!
//! Writes are an append-only list; each knows the write of the same key before it and the one that superseded it, so
//! that going back to a savepoint pops the list and nothing else. Only writes that nothing superseded are committed.
//! [`Overlay`]s are sorted views of the list for one index, built when a scan first wants one.

use std::collections::BTreeSet;

use std::borrow::Cow;

use hashbrown::HashMap;
use shoal_types::row::Splice;
use shoal_types::{IndexId, PartitionId, TableId, Timestamp, TransactionId};

use crate::api::{SavepointMark, WaitToken};
use crate::key_bytes::KeyBytes;
use crate::locks::LockKey;
use crate::numbers::Numbers;
use crate::segments::Segments;

pub(crate) const NO_ROW: u32 = u32::MAX;
pub(crate) const NO_WRITE: u32 = u32::MAX;
/// What a staged write and a lock take besides rows and keys: their lists, which grow by doubling, and the tables that find them.
const WRITE_WORK_BYTES: usize = 80;
const LOCK_WORK_BYTES: usize = 64;
const GATHERED_WORK_BYTES: usize = 24;
/// Less than this is not counted: buffers of this size are kept for the next transaction anyway.
const UNCOUNTED_WORK_BYTES: usize = 32 << 10;
/// Up to so many writes are searched one by one.
const LINEAR_MAX: usize = 8;

pub(crate) struct StagedWrite {
    pub(crate) table: TableId,
    /// `None` deletes, unless the row has moved on to the write that supersedes this one: see `Transaction::moved`.
    pub(crate) row: Option<Box<[u8]>>,
    /// The committed row that this replaces, or `NO_ROW`. It stays where it is: it is locked.
    pub(crate) row_id: u32,
    pub(crate) hash: u64,
    key_start: u32,
    key_length: u32,
    /// Of a deletion: the primary key's columns as a row of their own. Elsewhere empty.
    name_start: u32,
    name_length: u32,
    /// The write of the same key that this one supersedes.
    pub(crate) previous: u32,
    pub(crate) superseded_by: u32,
    /// Bytes reserved in the memory budget.
    pub(crate) charge: u64,
}

/// What leads back from a row to what it was before a change within a column: see `splice`.
pub(crate) struct Moved {
    back: Splice,
    /// What the row has reserved when it is back.
    charge: u64,
}

impl Moved {
    /// What is reserved for the way back from this change.
    pub(crate) fn charge_of(splice: &Splice) -> u64 {
        (splice.removed_bytes() as u64).next_multiple_of(16) + size_of::<Moved>() as u64
    }
}

/// Where a transaction waits, so that it can give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitingFor {
    Lock(LockKey),
    Range(TableId, IndexId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Active,
    Committing {
        timestamp: Timestamp,
    },
    /// The PREPARE entry is in the log and not applied here yet.
    Preparing {
        timestamp: Timestamp,
    },
    /// The home partition decides; a DECIDE entry tells.
    Prepared {
        home: PartitionId,
        timestamp: Timestamp,
    },
    /// Committed. Of its writes those before `next` are rows: see `large`.
    Applying {
        timestamp: Timestamp,
        next: u32,
    },
    /// Rolled back. What it has staged and locked goes away bit by bit: see `large`.
    Leaving,
}

/// One transaction's staged rows in the order of one index.
pub(crate) struct Overlay {
    pub(crate) table: TableId,
    pub(crate) index: IndexId,
    /// Writes below this number are in.
    pub(crate) consumed: u32,
    pub(crate) entries: BTreeSet<(Box<[u8]>, u32)>,
    /// Committed rows that the transaction has written, with the first write of each.
    pub(crate) replaced: HashMap<u32, u32, foldhash::fast::FixedState>,
}

pub(crate) struct Transaction {
    pub(crate) id: TransactionId,
    pub(crate) state: State,
    pub(crate) writes: Segments<StagedWrite>,
    /// Writes whose rows are with those that supersede them, and the ways back.
    pub(crate) moved: HashMap<u32, Moved, foldhash::fast::FixedState>,
    /// Writes before this number are in the log, as parts of a commit to come: so many. See `large`.
    pub(crate) logged: u32,
    pub(crate) logged_writes: u32,
    /// The same of the parts that are applied.
    pub(crate) applied_parts: u32,
    /// Keys and names, in the order of the writes.
    keys: KeyBytes,
    /// Tables that were written to, even if that was undone.
    tables: Vec<TableId>,
    /// The newest write of each key, once there are more than `LINEAR_MAX` writes.
    newest: Numbers,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) locks: Segments<LockKey>,
    /// Exclusive locks that only the table of locks lists, and whose they may be: see `locks`.
    pub(crate) gathered: usize,
    gathered_tables: Vec<TableId>,
    /// Indexes in which the transaction holds range locks.
    pub(crate) ranges: Vec<(TableId, IndexId)>,
    pub(crate) waits: Vec<(WaitToken, WaitingFor)>,
    /// Those that wait for this transaction's commit to be applied.
    pub(crate) apply_waiters: Vec<WaitToken>,
    /// Locks that this transaction was given before the commits of those that had them were applied: see `early`.
    pub(crate) predecessors: Vec<(LockKey, TransactionId)>,
    /// Its coordinator asks before it tells of a commit without writes here whether what it has read is committed.
    pub(crate) may_lock_early: bool,
    /// Bytes reserved in the memory budget besides rows.
    pub(crate) work_reserved: u64,
}

impl Transaction {
    pub(crate) fn new(id: TransactionId) -> Transaction {
        Transaction {
            id,
            state: State::Active,
            writes: Segments::default(),
            moved: HashMap::with_hasher(foldhash::fast::FixedState::default()),
            logged: 0,
            logged_writes: 0,
            applied_parts: 0,
            keys: KeyBytes::default(),
            tables: Vec::new(),
            newest: Numbers::default(),
            overlays: Vec::new(),
            locks: Segments::default(),
            gathered: 0,
            gathered_tables: Vec::new(),
            ranges: Vec::new(),
            waits: Vec::new(),
            apply_waiters: Vec::new(),
            predecessors: Vec::new(),
            may_lock_early: true,
            work_reserved: 0,
        }
    }

    /// Makes a finished transaction's buffers fit for the next one.
    pub(crate) fn reset(&mut self) {
        self.state = State::Active;
        self.writes.clear();
        self.moved.clear();
        (self.logged, self.logged_writes, self.applied_parts) = (0, 0, 0);
        self.keys.clear();
        self.tables.clear();
        self.newest.clear();
        self.overlays.clear();
        self.locks.clear();
        self.gathered = 0;
        self.gathered_tables.clear();
        self.ranges.clear();
        self.waits.clear();
        self.apply_waiters.clear();
        self.predecessors.clear();
        self.may_lock_early = true;
    }

    /// Worth keeping for reuse: not grown by a bulk load.
    pub(crate) fn is_small(&self) -> bool {
        self.writes.capacity() <= 256 && self.keys.capacity() <= 16 << 10 && self.locks.capacity() <= 1024
    }

    /// Frees memory of a transaction that is no more: so many writes, and all else with the last. True: that was all.
    pub(crate) fn free_some(&mut self, writes: usize) -> bool {
        self.writes.drop_behind(self.writes.len().saturating_sub(writes));
        self.writes.is_empty()
    }

    /// What the transaction takes besides rows, when that is much.
    #[inline]
    pub(crate) fn work_bytes(&self) -> u64 {
        let locks = self.locks.len() * LOCK_WORK_BYTES + self.gathered * GATHERED_WORK_BYTES;
        let bytes = self.writes.len() * WRITE_WORK_BYTES + locks + self.keys.len();
        bytes.saturating_sub(UNCOUNTED_WORK_BYTES) as u64
    }

    /// So many locks of this table were taken that only the table of locks lists.
    #[inline]
    pub(crate) fn note_gathered(&mut self, table: TableId, count: usize) {
        self.gathered += count;
        if !self.gathered_tables.contains(&table) {
            self.gathered_tables.push(table);
        }
    }

    /// The tables of locks that only the table of locks lists.
    pub(crate) fn gathered_tables(&self) -> &[TableId] {
        &self.gathered_tables
    }

    pub(crate) fn key(&self, write: u32) -> &[u8] {
        let write = &self.writes[write as usize];
        self.keys.get(write.key_start, write.key_length)
    }

    /// The name of what a deletion deletes.
    pub(crate) fn name(&self, write: u32) -> &[u8] {
        let write = &self.writes[write as usize];
        self.keys.get(write.name_start, write.name_length)
    }

    /// Where the row of this write has moved.
    #[inline]
    pub(crate) fn moved_of(&self, write: u32) -> Option<&Moved> {
        if self.moved.is_empty() { None } else { self.moved.get(&write) }
    }

    fn is_write_of(&self, number: u32, table: TableId, hash: u64, key: &[u8]) -> bool {
        let write = &self.writes[number as usize];
        write.hash == hash && write.table == table && self.key(number) == key
    }

    /// The newest write of a key.
    pub(crate) fn find(&self, table: TableId, hash: u64, key: &[u8]) -> Option<u32> {
        if self.writes.len() <= LINEAR_MAX {
            (0..self.writes.len() as u32).rev().find(|&number| self.is_write_of(number, table, hash, key))
        } else {
            self.newest.find(hash, |number| self.is_write_of(number, table, hash, key))
        }
    }

    /// The writes of keys with this hash that nothing has superseded.
    pub(crate) fn newest_with_hash(&self, table: TableId, hash: u64) -> impl Iterator<Item = &StagedWrite> {
        let linear = self.writes.iter().take(if self.writes.len() <= LINEAR_MAX { LINEAR_MAX } else { 0 });
        let indexed = (self.writes.len() > LINEAR_MAX).then(|| self.newest.with_hash(hash));
        let indexed = indexed.into_iter().flatten().map(|number| &self.writes[number as usize]);
        linear
            .chain(indexed)
            .filter(move |write| write.hash == hash && write.table == table && write.superseded_by == NO_WRITE)
    }

    /// The newest write of a key before the mark.
    pub(crate) fn find_before(&self, mark: SavepointMark, table: TableId, hash: u64, key: &[u8]) -> Option<u32> {
        let mut number = self.find(table, hash, key)?;
        while number >= mark.0 {
            number = self.writes[number as usize].previous;
            if number == NO_WRITE {
                return None;
            }
        }
        Some(number)
    }

    /// The write is what a reader with this mark sees of its key.
    pub(crate) fn is_seen(&self, number: u32, mark: SavepointMark) -> bool {
        let superseded_by = self.writes[number as usize].superseded_by;
        number < mark.0 && (superseded_by == NO_WRITE || superseded_by >= mark.0)
    }

    pub(crate) fn stage(
        &mut self,
        table: TableId,
        hash: u64,
        key: &[u8],
        row: Option<Box<[u8]>>,
        row_id: u32,
        charge: u64,
    ) {
        let number = self.writes.len() as u32;
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
        let previous = self.find(table, hash, key);
        let (key_start, row_id) = match previous {
            Some(previous) => {
                let previous = &mut self.writes[previous as usize];
                previous.superseded_by = number;
                (previous.key_start, previous.row_id)
            }
            None => (self.keys.push(key), row_id),
        };
        self.writes.push(StagedWrite {
            table,
            row,
            row_id,
            hash,
            key_start,
            key_length: key.len() as u32,
            name_start: 0,
            name_length: 0,
            previous: previous.unwrap_or(NO_WRITE),
            superseded_by: NO_WRITE,
            charge,
        });
        match self.writes.len() {
            0..=LINEAR_MAX => {}
            length if length == LINEAR_MAX + 1 => self.index_all(),
            _ => self.index_one(number, previous),
        }
    }

    /// Stages a deletion. `name`: the primary key's columns as a row of their own.
    pub(crate) fn stage_delete(&mut self, table: TableId, hash: u64, key: &[u8], name: &[u8], row_id: u32) {
        self.stage(table, hash, key, None, row_id, 0);
        if let Some(write) = self.writes.last_mut() {
            write.name_start = self.keys.push(name);
            write.name_length = name.len() as u32;
        }
    }

    /// Stages a change within the row of this write, the newest of its key. `charge` is what the changed row has reserved, `kept`
    /// what the way back has.
    pub(crate) fn stage_splice(&mut self, number: u32, splice: &Splice, charge: u64, kept: u64) {
        let key = self.key(number).to_vec();
        let write = &mut self.writes[number as usize];
        let Some(row) = write.row.take() else { return };
        let (row, back) = splice.apply(row);
        self.moved.insert(number, Moved { back, charge: write.charge });
        write.charge = kept;
        let (table, hash, row_id) = (write.table, write.hash, write.row_id);
        self.stage(table, hash, &key, Some(row), row_id, charge);
    }

    /// The row as this write has staged it; `None`: it has deleted it.
    pub(crate) fn version(&self, number: u32) -> Option<Cow<'_, [u8]>> {
        let mut ways = Vec::new();
        let mut number = number;
        while let Some(moved) = self.moved_of(number) {
            ways.push(&moved.back);
            number = self.writes[number as usize].superseded_by;
        }
        let write = &self.writes[number as usize];
        let row = write.row.as_deref()?;
        if ways.is_empty() {
            return Some(Cow::Borrowed(row));
        }
        let back = ways.into_iter().rev().fold(Box::from(row), |row, back| back.apply(row).0);
        Some(Cow::Owned(back.into()))
    }

    fn index_all(&mut self) {
        self.newest.clear();
        for number in 0..self.writes.len() as u32 {
            if self.writes[number as usize].superseded_by == NO_WRITE {
                self.index_one(number, None);
            }
        }
    }

    /// Makes `number` the newest write of its key, in the place of `previous`.
    fn index_one(&mut self, number: u32, previous: Option<u32>) {
        let hash = self.writes[number as usize].hash;
        if !previous.is_some_and(|previous| self.newest.replace(hash, previous, number)) {
            self.newest.insert(hash, number);
        }
    }

    /// Nothing of its commit has been applied, and nobody has decided against it.
    pub(crate) fn is_undecided(&self) -> bool {
        matches!(self.state, State::Active | State::Committing { .. })
    }

    pub(crate) fn mark(&self) -> SavepointMark {
        SavepointMark(self.writes.len() as u32)
    }

    /// Drops the writes since the mark; returns the bytes they had reserved.
    pub(crate) fn truncate(&mut self, mark: SavepointMark) -> u64 {
        let mut released = 0;
        while self.writes.len() > mark.0 as usize {
            let number = self.writes.len() as u32 - 1;
            let indexed = self.writes.len() > LINEAR_MAX;
            let Some(write) = self.writes.pop() else { break };
            released += write.charge;
            if write.name_length > 0 {
                self.keys.truncate(write.name_start);
            }
            match self.writes.get_mut(write.previous as usize) {
                None => self.keys.truncate(write.key_start),
                Some(previous) => {
                    previous.superseded_by = NO_WRITE;
                    let moved = if self.moved.is_empty() { None } else { self.moved.remove(&write.previous) };
                    // When nothing is to remain, nothing has to be restored.
                    if mark.0 > 0
                        && let (Some(moved), Some(row)) = (moved, write.row)
                    {
                        previous.row = Some(moved.back.apply(row).0);
                        released += previous.charge;
                        released -= moved.charge;
                        previous.charge = moved.charge;
                    }
                }
            }
            if indexed {
                match write.previous {
                    NO_WRITE => self.newest.remove(write.hash, number),
                    previous => _ = self.newest.replace(write.hash, number, previous),
                }
            }
        }
        self.overlays.retain(|overlay| overlay.consumed <= mark.0);
        released
    }

    /// The transaction may have staged writes of this table.
    pub(crate) fn writes_table(&self, table: TableId) -> bool {
        self.tables.contains(&table)
    }

    /// The transaction has written to this table, or has locks of it, or waits for some.
    pub(crate) fn uses(&self, table: TableId) -> bool {
        let waits_for = |(_, waiting): &(WaitToken, WaitingFor)| match waiting {
            WaitingFor::Lock(key) => key.table == table,
            WaitingFor::Range(other, _) => *other == table,
        };
        self.writes_table(table)
            || self.locks.iter().any(|key| key.table == table)
            || self.gathered_tables.contains(&table)
            || self.ranges.iter().any(|&(other, _)| other == table)
            || self.waits.iter().any(waits_for)
    }

    /// The overlay of an index as far as it was built, if it was.
    pub(crate) fn overlay(&self, table: TableId, index: IndexId) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.table == table && overlay.index == index)
    }

    /// Brings the overlay of an index up to date. `index_key` appends the index key of a row.
    pub(crate) fn build_overlay(
        &mut self,
        table: TableId,
        index: IndexId,
        mut each_key: impl FnMut(&[u8], &mut dyn FnMut(&[u8])),
    ) -> &Overlay {
        let position = self.overlays.iter().position(|overlay| overlay.table == table && overlay.index == index);
        let position = position.unwrap_or_else(|| {
            let replaced = HashMap::with_hasher(foldhash::fast::FixedState::default());
            self.overlays.push(Overlay { table, index, consumed: 0, entries: BTreeSet::new(), replaced });
            self.overlays.len() - 1
        });
        let overlay = &mut self.overlays[position];
        for number in overlay.consumed..self.writes.len() as u32 {
            let write = &self.writes[number as usize];
            if write.table != table {
                continue;
            }
            if write.row_id != NO_ROW {
                overlay.replaced.entry(write.row_id).or_insert(number);
            }
            // A row that has moved on has the same keys.
            let mut bearer = write;
            let mut bearer_number = number;
            while !self.moved.is_empty() && self.moved.contains_key(&bearer_number) {
                bearer_number = bearer.superseded_by;
                bearer = &self.writes[bearer_number as usize];
            }
            if let Some(row) = &bearer.row {
                each_key(row, &mut |key| {
                    overlay.entries.insert((key.into(), number));
                });
            }
        }
        overlay.consumed = self.writes.len() as u32;
        overlay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn key(number: u32) -> [u8; 4] {
        number.to_be_bytes()
    }

    fn stage(transaction: &mut Transaction, number: u32, value: u8) {
        transaction.stage(TABLE, u64::from(number), &key(number), Some(vec![value].into()), NO_ROW, 10);
    }

    fn value(transaction: &Transaction, number: u32) -> Option<u8> {
        let write = transaction.find(TABLE, u64::from(number), &key(number))?;
        transaction.writes[write as usize].row.as_ref().map(|row| row[0])
    }

    #[test]
    fn going_back_restores_every_earlier_write_whatever_the_number() {
        for count in [1, 3, 8, 9, 10, 40] {
            let mut transaction = Transaction::new(TransactionId(1));
            for number in 0..count {
                stage(&mut transaction, number, 1);
            }
            let mark = transaction.mark();
            for number in 0..count * 2 {
                stage(&mut transaction, number, 2);
            }
            assert_eq!(value(&transaction, count - 1), Some(2));
            assert_eq!(transaction.truncate(mark), u64::from(count) * 20);
            for number in 0..count * 2 {
                assert_eq!(value(&transaction, number), (number < count).then_some(1));
            }
            assert_eq!(transaction.truncate(SavepointMark(0)), u64::from(count) * 10);
            assert_eq!(value(&transaction, 0), None);
            assert_eq!(transaction.keys.len(), 0);
        }
    }

    #[test]
    fn a_mark_hides_later_writes() {
        let mut transaction = Transaction::new(TransactionId(1));
        stage(&mut transaction, 1, 1);
        let mark = transaction.mark();
        stage(&mut transaction, 1, 2);
        stage(&mut transaction, 2, 3);
        assert_eq!(transaction.find_before(mark, TABLE, 1, &key(1)), Some(0));
        assert_eq!(transaction.find_before(mark, TABLE, 2, &key(2)), None);
        assert!(transaction.is_seen(0, mark) && !transaction.is_seen(1, mark));
        assert!(!transaction.is_seen(0, SavepointMark::LATEST) && transaction.is_seen(1, SavepointMark::LATEST));
    }
}
