//! Committed changes: new versions come in, versions that nobody can see go out.

use std::sync::Arc;

use shoal_types::key::KeySpec;
use shoal_types::{IndexId, Result, TableSchema, Timestamp};

use super::index::BUILT;
use super::rows::{RowPlace, RowStore};
use super::{
    Fragment, NO_UNDO, OrderedIndex, PrimaryShape, Slot, Undo, VACANT_SLOT, VACANT_UNDO, layout_of, names_of,
    old_version_bytes,
};
use crate::hash_index::{HashIndex, short_hash};
use crate::sparse_slab::SparseSlab;

/// Steps of a compaction: moving a row is one; so many slots are looked at ...
const LOOKS_PER_STEP: usize = 16;
/// ... in the time of one step, and a chunk of slots is packed in the time of so many.
const STEPS_PER_CHUNK: usize = 64;

/// A version on its way into a fragment.
pub(crate) enum NewRow<'a> {
    Borrowed(&'a [u8]),
    /// Large ones stay where they are.
    Owned(Box<[u8]>),
}

impl NewRow<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            NewRow::Borrowed(bytes) => bytes,
            NewRow::Owned(bytes) => bytes,
        }
    }

    fn store(self, store: &mut RowStore) -> RowPlace {
        match self {
            NewRow::Borrowed(bytes) => store.insert(bytes),
            NewRow::Owned(bytes) => store.insert_box(bytes),
        }
    }
}

/// What applying a change left behind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Applied {
    /// Bytes to give back to the budget.
    pub(crate) released: u64,
    /// The row to look at again when the horizon has passed the change.
    pub(crate) revisit: Option<u32>,
}

impl Fragment {
    /// Makes `row` the newest version of its key, whose slot is `known` if the caller knows. The caller has charged
    /// the budget with `charge_of(row)`.
    pub(crate) fn put(
        &mut self,
        row: NewRow<'_>,
        (hash, key): (u64, &[u8]),
        known: Option<u32>,
        timestamp: Timestamp,
        horizon: Timestamp,
    ) -> Applied {
        self.bytes += self.charge_of(row.bytes());
        let mut scratch = std::mem::take(&mut self.key_buffers.0);
        let found = known.or_else(|| self.find(hash, key, &mut scratch));
        self.key_buffers.0 = scratch;
        match found {
            Some(row_id) => self.replace(row_id, row, timestamp, horizon),
            None => {
                self.add(row, hash, key, timestamp);
                Applied::default()
            }
        }
    }

    fn add(&mut self, row: NewRow<'_>, hash: u64, key: &[u8], timestamp: Timestamp) {
        self.rows += 1;
        let slot = Slot { row: RowPlace::NONE, timestamp, undo: NO_UNDO, short_hash: short_hash(hash) };
        let row_id = self.slots.insert(slot);
        for index in self.ordered.iter_mut().filter(|index| index.covers(row_id)) {
            if index.definition.id == IndexId(0) {
                index.tree.insert(key, row_id);
            } else {
                index.insert_entries(&self.layout, row.bytes(), row_id, &mut self.key_buffers.0);
                index.note_added(self.layout.row(row.bytes()));
            }
        }
        self.slots[row_id].row = row.store(&mut self.store);
        self.hash.insert(hash, row_id);
    }

    /// Adds a row of a checkpoint, whose key is not there yet, to all but the secondary indexes.
    pub(crate) fn install(&mut self, row: &[u8], (hash, key): (u64, &[u8]), timestamp: Timestamp) {
        self.bytes += self.charge_of(row);
        self.rows += 1;
        let row = self.store.insert(row);
        let slot = Slot { row, timestamp, undo: NO_UNDO, short_hash: short_hash(hash) };
        let row_id = self.slots.insert(slot);
        self.hash.insert(hash, row_id);
        if self.primary_ordered {
            self.ordered[0].tree.insert(key, row_id);
        }
    }

    /// Builds the secondary indexes of a fragment whose rows have all been installed.
    pub(crate) fn finish_install(&mut self) {
        let first_secondary = usize::from(self.primary_ordered);
        let mut indexes = self.ordered.split_off(first_secondary);
        for index in &mut indexes {
            index.built_to = 0;
            self.build_all(index);
        }
        self.ordered.append(&mut indexes);
    }

    fn replace(&mut self, row_id: u32, row: NewRow<'_>, timestamp: Timestamp, horizon: Timestamp) -> Applied {
        let slot = &self.slots[row_id];
        let (old_row, old_timestamp) = (slot.row, slot.timestamp);
        self.rows += u64::from(old_row.is_none());
        let first_secondary = usize::from(self.primary_ordered);
        let old_bytes = self.store.get(old_row);
        for index in self.ordered[first_secondary..].iter_mut().filter(|index| index.covers(row_id)) {
            index.note_added(self.layout.row(row.bytes()));
            let unchanged = old_bytes
                .is_some_and(|old| index.same_columns(self.layout.row(old), self.layout.row(row.bytes())));
            if !unchanged {
                index.insert_entries(&self.layout, row.bytes(), row_id, &mut self.key_buffers.0);
            }
        }
        let row = row.store(&mut self.store);
        let slot = &mut self.slots[row_id];
        (slot.row, slot.timestamp) = (row, timestamp);
        if horizon < timestamp {
            self.keep_old(row_id, old_row, old_timestamp);
            return Applied { released: 0, revisit: Some(row_id) };
        }
        let mut released = 0;
        if !old_row.is_none() {
            released += self.forget(row_id, std::slice::from_ref(&old_row));
        }
        let dead = self.cut_all(row_id);
        released += self.forget(row_id, &dead);
        Applied { released, revisit: None }
    }

    /// Deletes the newest version of a row that is alive.
    pub(crate) fn delete(&mut self, row_id: u32, timestamp: Timestamp, horizon: Timestamp) -> Applied {
        let slot = &mut self.slots[row_id];
        let old_row = std::mem::replace(&mut slot.row, RowPlace::NONE);
        if old_row.is_none() {
            return Applied::default();
        }
        let old_timestamp = slot.timestamp;
        slot.timestamp = timestamp;
        self.rows -= 1;
        if horizon < timestamp {
            self.keep_old(row_id, old_row, old_timestamp);
            return Applied { released: 0, revisit: Some(row_id) };
        }
        let mut dead = self.cut_all(row_id);
        dead.push(old_row);
        Applied { released: self.free(row_id, &dead), revisit: None }
    }

    fn keep_old(&mut self, row_id: u32, row: RowPlace, timestamp: Timestamp) {
        self.old_bytes += old_version_bytes(row);
        let next = self.slots[row_id].undo;
        let number = self.undo.insert(Undo { row, timestamp, next });
        self.slots[row_id].undo = number;
    }

    /// Drops the versions of a row that no snapshot at or after `horizon` sees; returns the bytes given back and the
    /// number of versions dropped.
    pub(crate) fn prune(&mut self, row_id: u32, horizon: Timestamp) -> (u64, usize) {
        let slot = &self.slots[row_id];
        if slot.undo == NO_UNDO {
            return (0, 0);
        }
        if slot.timestamp <= horizon {
            let alive = !slot.row.is_none();
            let dead = self.cut_all(row_id);
            let count = dead.len();
            let released = if alive { self.forget(row_id, &dead) } else { self.free(row_id, &dead) };
            return (released, count);
        }
        // The newest old version that the horizon sees is the last one needed.
        let mut last = slot.undo;
        while self.undo[last].timestamp > horizon {
            last = self.undo[last].next;
            if last == NO_UNDO {
                return (0, 0);
            }
        }
        let rest = std::mem::replace(&mut self.undo[last].next, NO_UNDO);
        let dead = self.take_chain(rest);
        let count = dead.len();
        (self.forget(row_id, &dead), count)
    }

    fn cut_all(&mut self, row_id: u32) -> Vec<RowPlace> {
        let first = std::mem::replace(&mut self.slots[row_id].undo, NO_UNDO);
        self.take_chain(first)
    }

    fn take_chain(&mut self, mut number: u32) -> Vec<RowPlace> {
        let mut dead = Vec::new();
        while number != NO_UNDO {
            let undo = self.undo.remove(number);
            self.old_bytes -= old_version_bytes(undo.row);
            dead.extend(Some(undo.row).filter(|row| !row.is_none()));
            number = undo.next;
        }
        dead
    }

    /// All bytes of a row, the newest first.
    pub(super) fn versions(&self, row_id: u32) -> impl Iterator<Item = &[u8]> {
        let older = self.old_versions(row_id).map(|undo| undo.row);
        std::iter::once(self.slots[row_id].row).chain(older).filter_map(|place| self.store.get(place))
    }

    /// Takes dead versions of a living slot out of the secondary indexes, except for keys that a version still has.
    fn forget(&mut self, row_id: u32, dead: &[RowPlace]) -> u64 {
        let (mut key, mut other_key) = std::mem::take(&mut self.key_buffers);
        let first_secondary = usize::from(self.primary_ordered);
        for bytes in dead.iter().filter_map(|&place| self.store.get(place)) {
            for position in first_secondary..self.ordered.len() {
                if !self.ordered[position].covers(row_id) {
                    continue;
                }
                self.ordered[position].note_gone(self.layout.row(bytes));
                let index = &self.ordered[position];
                let newest = self.newest(row_id);
                let dead_row = self.layout.row(bytes);
                if newest.is_some_and(|newest| index.same_columns(dead_row, self.layout.row(newest))) {
                    continue;
                }
                if index.entry.is_multi_valued() {
                    let gone = self.gone_keys(index, bytes, row_id);
                    for key in &gone {
                        self.ordered[position].tree.remove(key, row_id);
                    }
                    continue;
                }
                index.key_into(&self.layout, bytes, &mut key);
                let still_used = self
                    .versions(row_id)
                    .any(|version| index.key_into(&self.layout, version, &mut other_key) == key.as_slice());
                if !still_used {
                    self.ordered[position].tree.remove(&key, row_id);
                }
            }
        }
        self.key_buffers = (key, other_key);
        self.discharge(dead)
    }

    /// The keys of a dead version in a multi-valued index that no version has any more.
    fn gone_keys(&self, index: &OrderedIndex, dead: &[u8], row_id: u32) -> Vec<Vec<u8>> {
        let (mut key, mut buffer, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        index.entry.each_key(self.layout.row(dead), &mut key, |key| {
            let has_key = |version| index.entry.has_key(self.layout.row(version), key, &mut buffer);
            if !self.versions(row_id).any(has_key) {
                gone.push(key.to_vec());
            }
        });
        gone
    }

    /// Frees the slot of a row that nobody can see any more, all of whose versions are in `dead`.
    fn free(&mut self, row_id: u32, dead: &[RowPlace]) -> u64 {
        for bytes in dead.iter().filter_map(|&place| self.store.get(place)) {
            for index in self.ordered.iter_mut().filter(|index| index.covers(row_id)) {
                index.note_gone(self.layout.row(bytes));
                index.remove_entries(&self.layout, bytes, row_id, &mut self.key_buffers.0);
            }
        }
        self.hash.remove(self.slots[row_id].short_hash, row_id);
        self.slots.remove(row_id);
        self.discharge(dead)
    }

    fn discharge(&mut self, dead: &[RowPlace]) -> u64 {
        let released = dead.iter().filter_map(|&place| self.store.get(place)).map(|row| self.charge_of(row)).sum();
        dead.iter().for_each(|&place| self.store.remove(place));
        self.bytes -= released;
        released
    }

    /// Packs slots where few are left, moves rows out of pages that have become sparse, and nodes of indexes out of the way of memory
    /// that is free behind them. Does so many steps at most; false: there is nothing left to do.
    pub(crate) fn compact(&mut self, steps: usize) -> bool {
        let chunks = (steps / STEPS_PER_CHUNK).max(1);
        if self.slots.pack(chunks) || self.undo.pack(chunks) {
            return true;
        }
        if !self.store.is_compacting() {
            self.compacted = 0;
            self.forget_unused();
            if !self.store.is_sparse() || !self.store.begin_compaction() {
                return self.compact_trees(steps);
            }
        }
        let slots = self.slots.end();
        let mut looks = steps * LOOKS_PER_STEP;
        while self.store.is_compacting() && looks > 0 {
            let at = self.compacted;
            let place = match at.checked_sub(slots) {
                None => self.slots.get_mut(at).map(|slot| &mut slot.row),
                Some(old) if old < self.undo.end() => self.undo.get_mut(old).map(|undo| &mut undo.row),
                // Versions were put before the place meanwhile: chains grow at any number.
                Some(_) => {
                    self.compacted = 0;
                    return true;
                }
            };
            if let Some(place) = place
                && self.store.is_leaving(*place)
            {
                *place = self.store.relocate(*place);
                looks = looks.saturating_sub(LOOKS_PER_STEP - 1);
            }
            self.compacted += 1;
            looks = looks.saturating_sub(1);
        }
        true
    }

    /// Lists that nothing is in any more begin anew.
    fn forget_unused(&mut self) {
        if self.undo.len() == 0 && self.undo.end() > 0 {
            self.undo = SparseSlab::new(VACANT_UNDO);
        }
        if self.slots.len() == 0 && self.slots.end() > 0 {
            self.slots = SparseSlab::new(VACANT_SLOT);
            self.hash = HashIndex::default();
        }
    }

    fn compact_trees(&mut self, steps: usize) -> bool {
        self.ordered.iter_mut().any(|index| index.tree.compact(steps))
    }

    /// Takes a new definition of the table: indexes are dropped, or built from every version there is. Returns what
    /// all versions were charged before and are charged now.
    pub(crate) fn alter(&mut self, schema: Arc<TableSchema>) -> Result<(u64, u64)> {
        let before = self.bytes;
        if self.schema.columns == schema.columns && self.schema.indexes == schema.indexes {
            // Its rows need not be looked at.
            self.schema = schema;
            return Ok((before, before));
        }
        let mut old = std::mem::take(&mut self.ordered);
        self.layout = layout_of(&schema);
        self.names = names_of(&schema);
        self.primary = KeySpec::of_index(&schema, schema.primary_key());
        self.shape = PrimaryShape::of(&self.primary);
        let definitions = schema.indexes.iter().filter(|index| index.id.0 != 0 || self.primary_ordered);
        let mut charges_change = false;
        let mut charged_now = 0;
        for definition in definitions {
            let mut index = OrderedIndex::new(&schema, definition);
            let same = |other: &OrderedIndex| {
                other.definition.id == definition.id
                    && schema.keeps_parts(&self.schema, &other.definition, definition)
                    && other.entry.parts.len() == index.entry.parts.len()
            };
            if let Some(position) = old.iter().position(same) {
                let known = old.swap_remove(position);
                (index.tree, index.built_to, index.uncharged) = (known.tree, known.built_to, known.uncharged);
                if !definition.building && index.uncharged.is_some() {
                    self.build_all(&mut index);
                    charged_now += index.uncharged.take().unwrap_or(0);
                }
            } else {
                index.built_to = if self.slots.end() == 0 { BUILT } else { 0 };
                if !definition.building {
                    self.build_all(&mut index);
                    charges_change = true;
                }
            }
            self.ordered.push(index);
        }
        // What a version costs follows from its bytes and the indexes that are built.
        charges_change |= old.iter().any(|index| index.uncharged.is_none());
        self.schema = schema;
        self.bytes = if charges_change { self.charge_of_all() } else { self.bytes + charged_now };
        Ok((before, self.bytes))
    }

    pub(super) fn charge_of_all(&self) -> u64 {
        let charge = |row_id| self.versions(row_id).map(|version| self.charge_of(version)).sum::<u64>();
        (0..self.slots.end()).map(charge).sum()
    }
}
