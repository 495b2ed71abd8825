//! Indexes that are built while others write.
//!
//! The rows are taken in the order of their numbers, a stretch at a time. Whoever writes a row before that place keeps the index up to
//! date, whoever writes one behind it leaves it to the stretch that comes. What the entries cost is summed up meanwhile, and charged
//! when the definition says that the index is there; then it is complete, or is completed.

use std::ops::Range;

use super::index::BUILT;
use super::{Fragment, OrderedIndex};

/// Keys that are sorted at a time when an index is built.
const SORTED_BYTES_MAX: usize = 64 << 20;

impl Fragment {
    /// An index has no entries for some rows.
    pub(crate) fn is_building(&self) -> bool {
        self.ordered.iter().any(|index| !index.is_built())
    }

    /// Rows whose entries are there, and all rows, of indexes that are not built yet.
    pub(crate) fn build_progress(&self) -> Option<(u64, u64)> {
        let building = self.ordered.iter().filter(|index| !index.is_built());
        let all = u64::from(self.slots.end());
        let (done, count) =
            building.fold((0, 0), |(done, count), index| (done + u64::from(index.built_to), count + 1));
        (count > 0).then_some((done, all * count))
    }

    /// Makes the entries of so many rows more, in one index. Call it as long as there are any to be made.
    pub(crate) fn build_some(&mut self, rows: u32) {
        let Some(position) = self.ordered.iter().position(|index| !index.is_built()) else { return };
        let mut index = self.ordered.remove(position);
        let end = self.slots.end().min(index.built_to.saturating_add(rows));
        self.fill_index(&mut index, end);
        self.ordered.insert(position, index);
    }

    /// Completes an index.
    pub(super) fn build_all(&self, index: &mut OrderedIndex) {
        self.fill_index(index, self.slots.end());
    }

    fn fill_index(&self, index: &mut OrderedIndex, end: u32) {
        if !index.is_built() {
            self.add_entries(index, index.built_to..end);
            index.built_to = if end == self.slots.end() { BUILT } else { end };
        }
    }

    /// Puts all versions of these rows into an index, sorted first: that is several times faster than in the order they lie.
    fn add_entries(&self, index: &mut OrderedIndex, rows: Range<u32>) {
        let mut keys = Vec::new();
        // Leading bytes, to compare most pairs without looking further; where the key lies; row.
        let mut pairs: Vec<(u64, u32, u32, u32)> = Vec::with_capacity(rows.len().min(self.slots.len()));
        let mut uncharged = 0;
        let sums_up = index.uncharged.is_some();
        let flush = |keys: &mut Vec<u8>, pairs: &mut Vec<(u64, u32, u32, u32)>, index: &mut OrderedIndex| {
            let key_of = |&(_, start, end, _): &(u64, u32, u32, u32)| &keys[start as usize..end as usize];
            pairs.sort_unstable_by(|one, other| {
                (one.0, key_of(one), one.3).cmp(&(other.0, key_of(other), other.3))
            });
            for pair in pairs.iter() {
                index.tree.insert(key_of(pair), pair.3);
            }
            pairs.clear();
            keys.clear();
        };
        let mut scratch = Vec::new();
        for row_id in rows {
            for version in self.versions(row_id) {
                let row = self.layout.row(version);
                index.entry.each_key(row, &mut scratch, |key| {
                    let start = keys.len();
                    keys.extend_from_slice(key);
                    let mut prefix = [0; 8];
                    let inline = key.len().min(8);
                    prefix[..inline].copy_from_slice(&key[..inline]);
                    pairs.push((u64::from_be_bytes(prefix), start as u32, keys.len() as u32, row_id));
                });
                if sums_up {
                    uncharged += index.charge(row);
                }
            }
            if keys.len() >= SORTED_BYTES_MAX {
                flush(&mut keys, &mut pairs, index);
            }
        }
        flush(&mut keys, &mut pairs, index);
        index.uncharged = index.uncharged.map(|sum| sum + uncharged);
    }
}

#[cfg(test)]
impl Fragment {
    /// Every index has an entry for each key of each row's versions and no other, and all versions are charged what they cost.
    pub(crate) fn check_indexes(&mut self) {
        for position in 0..self.ordered.len() {
            assert!(self.ordered[position].is_built() && self.ordered[position].uncharged.is_none());
            let mut entries = std::collections::BTreeSet::new();
            for row_id in 0..self.slots.end() {
                for version in self.versions(row_id) {
                    let entry = &self.ordered[position].entry;
                    entry.each_key(self.layout.row(version), &mut Vec::new(), |key| {
                        entries.insert((key.to_vec(), row_id));
                    });
                }
            }
            let tree = &mut self.ordered[position].tree;
            assert_eq!(tree.len(), entries.len());
            assert!(entries.iter().all(|(key, row_id)| !tree.insert(key, *row_id)), "an entry was not there");
        }
        assert_eq!(self.bytes(), self.charge_of_all());
    }
}
