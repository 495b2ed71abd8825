//! The hash index of a primary key: 64-bit key hashes to row ids.
//!
//! Extendible hashing: a directory over the leading bits of a 32-bit hash points to small tables, and a table that
//! is full splits in two. So growth costs a few thousand entries at a time, never the whole index. Entries keep
//! their 32-bit hash, so that splitting never looks at rows. The caller compares keys.
//!
//! Directory order is hash order: [`HashIndex::after`] walks the entries by hash, for tables without an ordered index.

use hashbrown::HashTable;

/// A table with this many entries splits (7/8 of 4096 places).
const SEGMENT_ENTRIES_MAX: usize = 3584;
/// Beyond this depth tables grow instead: only colliding hashes get here.
const DEPTH_MAX: u32 = 22;

#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    row: u32,
}

struct Segment {
    /// The leading bits that all hashes in here share.
    depth: u32,
    entries: HashTable<Entry>,
}

pub(crate) struct HashIndex {
    depth: u32,
    directory: Vec<u32>,
    segments: Vec<Segment>,
    len: usize,
}

/// The part of a key hash that the index uses; partitioning uses the other end.
pub(crate) fn short_hash(hash: u64) -> u32 {
    hash as u32
}

/// Spreads 32 bits over the bits that `HashTable` uses: the lowest for the place, the highest for the tag.
fn table_hash(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Default for HashIndex {
    fn default() -> HashIndex {
        let segments = vec![Segment { depth: 0, entries: HashTable::new() }];
        HashIndex { depth: 0, directory: vec![0], segments, len: 0 }
    }
}

impl HashIndex {
    fn place(&self, hash: u32) -> usize {
        // Shifting by 32 is not defined for u32, so widen.
        (u64::from(hash) >> (32 - self.depth)) as usize
    }

    /// The row id for which `is_row` holds among those with this hash.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_row: impl FnMut(u32) -> bool) -> Option<u32> {
        let hash = short_hash(hash);
        let segment = &self.segments[self.directory[self.place(hash)] as usize];
        let entry = segment.entries.find(table_hash(hash), |entry| entry.hash == hash && is_row(entry.row))?;
        Some(entry.row)
    }

    /// Adds a row that is not there.
    pub(crate) fn insert(&mut self, hash: u64, row: u32) {
        let hash = short_hash(hash);
        loop {
            let number = self.directory[self.place(hash)];
            let segment = &mut self.segments[number as usize];
            if segment.entries.len() < SEGMENT_ENTRIES_MAX || segment.depth >= DEPTH_MAX {
                segment
                    .entries
                    .insert_unique(table_hash(hash), Entry { hash, row }, |entry| table_hash(entry.hash));
                self.len += 1;
                return;
            }
            self.split(number);
        }
    }

    pub(crate) fn remove(&mut self, hash: u32, row: u32) -> bool {
        let number = self.directory[self.place(hash)] as usize;
        let entries = &mut self.segments[number].entries;
        match entries.find_entry(table_hash(hash), |entry| entry.row == row) {
            Ok(entry) => {
                entry.remove();
                self.len -= 1;
                true
            }
            Err(_) => false,
        }
    }

    fn split(&mut self, number: u32) {
        let depth = self.segments[number as usize].depth;
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&segment| [segment, segment]).collect();
            self.depth += 1;
        }
        let old = std::mem::take(&mut self.segments[number as usize].entries);
        let upper_bit = 1u32 << (31 - depth);
        let upper_count = old.iter().filter(|entry| entry.hash & upper_bit != 0).count();
        let mut lower = HashTable::with_capacity(old.len() - upper_count);
        let mut upper = HashTable::with_capacity(upper_count);
        for entry in old {
            let side = if entry.hash & upper_bit != 0 { &mut upper } else { &mut lower };
            side.insert_unique(table_hash(entry.hash), entry, |entry| table_hash(entry.hash));
        }
        let upper_number = self.segments.len() as u32;
        self.segments[number as usize] = Segment { depth: depth + 1, entries: lower };
        self.segments.push(Segment { depth: depth + 1, entries: upper });
        // The segment's places are adjacent; the upper half of them moves.
        let places = 1usize << (self.depth - depth);
        let first = self.directory.iter().position(|&segment| segment == number).unwrap_or(0);
        self.directory[first + places / 2..first + places].fill(upper_number);
    }

    /// The sorted (hash, row) pairs above `after` (all, for `None`) of the first segment that has any; `None` at the
    /// end. Pairs of equal hash are always in one segment.
    pub(crate) fn after(&self, after: Option<(u32, u32)>) -> Option<Vec<(u32, u32)>> {
        let mut place = after.map_or(0, |(hash, _)| self.place(hash));
        while place < self.directory.len() {
            let segment = &self.segments[self.directory[place] as usize];
            let mut found: Vec<(u32, u32)> = segment
                .entries
                .iter()
                .map(|entry| (entry.hash, entry.row))
                .filter(|&pair| after.is_none_or(|after| pair > after))
                .collect();
            if !found.is_empty() {
                found.sort_unstable();
                return Some(found);
            }
            let places = 1usize << (self.depth - segment.depth);
            place = (place / places + 1) * places;
        }
        None
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let entries: usize = self.segments.iter().map(|segment| segment.entries.allocation_size()).sum();
        entries + self.segments.capacity() * size_of::<Segment>() + self.directory.capacity() * 4
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn spread(key: u64) -> u64 {
        shoal_types::key_hash(&key.to_be_bytes())
    }

    #[test]
    fn a_hundred_thousand_keys_are_found_through_many_splits() {
        let mut index = HashIndex::default();
        for key in 0..100_000u32 {
            index.insert(spread(u64::from(key)), key);
        }
        assert_eq!(index.len(), 100_000);
        assert!(index.segments.len() > 20);
        for key in 0..100_000u32 {
            assert_eq!(index.find(spread(u64::from(key)), |row| row == key), Some(key));
        }
        assert_eq!(index.find(spread(100_000), |_| true), None);
    }

    #[test]
    fn equal_hashes_do_not_split_forever() {
        let mut index = HashIndex::default();
        for row in 0..10_000u32 {
            index.insert(77, row);
        }
        assert_eq!(index.find(77, |row| row == 9_999), Some(9_999));
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(operations in prop::collection::vec((any::<bool>(), 0u64..300), 1..600)) {
            let mut index = HashIndex::default();
            let mut model: BTreeMap<u64, u32> = BTreeMap::new();
            for (add, key) in operations {
                let hash = spread(key);
                prop_assert_eq!(index.find(hash, |row| u64::from(row) == key).is_some(), model.contains_key(&key));
                if add && !model.contains_key(&key) {
                    index.insert(hash, key as u32);
                    model.insert(key, key as u32);
                } else if !add {
                    prop_assert_eq!(index.remove(short_hash(hash), key as u32), model.remove(&key).is_some());
                }
            }
            let mut walked = Vec::new();
            let mut after = None;
            while let Some(found) = index.after(after) {
                after = found.last().copied();
                walked.extend(found);
            }
            let mut expected: Vec<(u32, u32)> =
                model.keys().map(|&key| (short_hash(spread(key)), key as u32)).collect();
            expected.sort_unstable();
            prop_assert_eq!(walked, expected);
        }
    }
}
