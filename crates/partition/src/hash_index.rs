//! The hash index of a primary key: 64-bit key hashes to row ids.
//!
//! Extendible hashing: a directory over the leading bits of a 32-bit hash points to segments, and a segment that is
//! full splits in two. One that has become sparse keeps its place with fewer buckets. So growing and shrinking cost a few
//! thousand entries at a time, never the whole index. A segment is an array
//! of buckets of one cache line each, so that a search as a rule costs one cache miss; entries that do not fit their
//! bucket go to the next one that has room. Entries keep their 32-bit hash: neither growing nor splitting looks at
//! rows. The caller compares keys.
//!
//! Directory order is hash order: [`HashIndex::after`] walks the entries by hash, for tables without an ordered index.

/// Entries a bucket: a cache line of 64 bytes.
const BUCKET_ENTRIES: usize = 8;
/// A segment of so many buckets splits rather than grows.
const SEGMENT_BUCKETS_MAX: usize = 512;
/// Beyond this depth segments grow instead: only colliding hashes get here.
const DEPTH_MAX: u32 = 22;

/// Hash in the upper half, row id plus one in the lower; 0 is vacant.
type Entry = u64;

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket([Entry; BUCKET_ENTRIES]);

struct Segment {
    /// The leading bits that all hashes in here share.
    depth: u32,
    len: usize,
    /// A power of two.
    buckets: Vec<Bucket>,
}

pub(crate) struct HashIndex {
    depth: u32,
    directory: Vec<u32>,
    segments: Vec<Segment>,
}

/// The part of a key hash that the index uses; partitioning uses the other end.
pub(crate) fn short_hash(hash: u64) -> u32 {
    hash as u32
}

fn entry_of(hash: u32, row: u32) -> Entry {
    (u64::from(hash) << 32) | u64::from(row + 1)
}

fn hash_of(entry: Entry) -> u32 {
    (entry >> 32) as u32
}

fn row_of(entry: Entry) -> u32 {
    entry as u32 - 1
}

impl Bucket {
    fn vacancy(&self) -> Option<usize> {
        self.0.iter().position(|&entry| entry == 0)
    }
}

impl Segment {
    fn new(depth: u32, buckets: usize) -> Segment {
        Segment { depth, len: 0, buckets: vec![Bucket::default(); buckets] }
    }

    /// The bucket where a hash belongs: by its lowest bits, as the directory takes the highest.
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    fn is_full(&self) -> bool {
        self.len >= self.buckets.len() * BUCKET_ENTRIES * 7 / 8
    }

    /// There is a vacancy: the segment is never quite full.
    fn insert(&mut self, entry: Entry) {
        let mut bucket = self.home(hash_of(entry));
        loop {
            if let Some(at) = self.buckets[bucket].vacancy() {
                self.buckets[bucket].0[at] = entry;
                self.len += 1;
                return;
            }
            bucket = self.next(bucket);
        }
    }

    /// Bucket and place of an entry. An entry is behind its home bucket only over full buckets.
    #[inline]
    fn find(&self, hash: u32, mut is_row: impl FnMut(u32) -> bool) -> Option<(usize, usize)> {
        let mut bucket = self.home(hash);
        for _ in 0..self.buckets.len() {
            let entries = &self.buckets[bucket].0;
            for (at, &entry) in entries.iter().enumerate() {
                if hash_of(entry) == hash && entry != 0 && is_row(row_of(entry)) {
                    return Some((bucket, at));
                }
            }
            if entries.contains(&0) {
                return None;
            }
            bucket = self.next(bucket);
        }
        None
    }

    /// Takes an entry out and lets those that went past its full bucket move up.
    fn remove(&mut self, bucket: usize, at: usize) {
        let (mut hole, mut place) = (bucket, at);
        let mut was_full = self.buckets[hole].vacancy().is_none();
        self.buckets[hole].0[place] = 0;
        self.len -= 1;
        let mut next = hole;
        while was_full {
            next = self.next(next);
            if next == hole {
                return;
            }
            was_full = self.buckets[next].vacancy().is_none();
            let mask = self.buckets.len() - 1;
            let distance = (next.wrapping_sub(hole)) & mask;
            let displaced = self.buckets[next].0.iter().position(|&entry| {
                let travelled = next.wrapping_sub(self.home(hash_of(entry))) & mask;
                entry != 0 && travelled >= distance
            });
            if let Some(from) = displaced {
                self.buckets[hole].0[place] = std::mem::take(&mut self.buckets[next].0[from]);
                (hole, place) = (next, from);
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        self.buckets.iter().flat_map(|bucket| bucket.0).filter(|&entry| entry != 0)
    }

    fn grow(&mut self) {
        self.resize(self.buckets.len() * 2);
    }

    /// Half as many buckets would be three quarters full at most.
    fn is_sparse(&self) -> bool {
        self.buckets.len() > 1 && self.len <= self.buckets.len() / 2 * BUCKET_ENTRIES * 3 / 4
    }

    fn resize(&mut self, buckets: usize) {
        let mut resized = Segment::new(self.depth, buckets);
        self.entries().for_each(|entry| resized.insert(entry));
        *self = resized;
    }
}

impl Default for HashIndex {
    fn default() -> HashIndex {
        HashIndex { depth: 0, directory: vec![0], segments: vec![Segment::new(0, 1)] }
    }
}

impl HashIndex {
    fn place(&self, hash: u32) -> usize {
        // Shifting by 32 is not defined for u32, so widen.
        (u64::from(hash) >> (32 - self.depth)) as usize
    }

    fn segment(&self, hash: u32) -> &Segment {
        &self.segments[self.directory[self.place(hash)] as usize]
    }

    /// The row id for which `is_row` holds among those with this hash.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_row: impl FnMut(u32) -> bool) -> Option<u32> {
        let hash = short_hash(hash);
        let segment = self.segment(hash);
        segment.find(hash, is_row).map(|(bucket, at)| row_of(segment.buckets[bucket].0[at]))
    }

    /// The first row with this short hash, if any: likely the one that `find` would find.
    #[inline]
    pub(crate) fn guess(&self, hash: u64) -> Option<u32> {
        self.find(hash, |_| true)
    }

    /// Adds a row that is not there.
    pub(crate) fn insert(&mut self, hash: u64, row: u32) {
        let hash = short_hash(hash);
        loop {
            let number = self.directory[self.place(hash)];
            let segment = &mut self.segments[number as usize];
            if !segment.is_full() {
                segment.insert(entry_of(hash, row));
                return;
            }
            if segment.buckets.len() < SEGMENT_BUCKETS_MAX || segment.depth >= DEPTH_MAX {
                segment.grow();
            } else {
                self.split(number);
            }
        }
    }

    pub(crate) fn remove(&mut self, hash: u32, row: u32) -> bool {
        let number = self.directory[self.place(hash)] as usize;
        let segment = &mut self.segments[number];
        match segment.find(hash, |found| found == row) {
            Some((bucket, at)) => {
                segment.remove(bucket, at);
                if segment.is_sparse() {
                    segment.resize(segment.buckets.len() / 2);
                }
                true
            }
            None => false,
        }
    }

    fn split(&mut self, number: u32) {
        let depth = self.segments[number as usize].depth;
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&segment| [segment, segment]).collect();
            self.depth += 1;
        }
        let upper_bit = 1u32 << (31 - depth);
        let mut lower = Segment::new(depth + 1, SEGMENT_BUCKETS_MAX / 2);
        let mut upper = Segment::new(depth + 1, SEGMENT_BUCKETS_MAX / 2);
        for entry in self.segments[number as usize].entries() {
            let side = if hash_of(entry) & upper_bit != 0 { &mut upper } else { &mut lower };
            if side.is_full() {
                side.grow();
            }
            side.insert(entry);
        }
        let upper_number = self.segments.len() as u32;
        self.segments[number as usize] = lower;
        self.segments.push(upper);
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
                .entries()
                .map(|entry| (hash_of(entry), row_of(entry)))
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
        let buckets: usize = self.segments.iter().map(|segment| segment.buckets.capacity()).sum();
        buckets * size_of::<Bucket>()
            + self.segments.capacity() * size_of::<Segment>()
            + self.directory.capacity() * 4
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.len).sum()
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
    fn an_index_that_has_lost_most_keys_gives_their_memory_back_and_can_grow_again() {
        let mut index = HashIndex::default();
        (0..100_000u32).for_each(|key| index.insert(spread(u64::from(key)), key));
        let full = index.memory_bytes();
        let goes = |key: &u32| !key.is_multiple_of(10);
        for key in (0..100_000u32).filter(goes) {
            assert!(index.remove(short_hash(spread(u64::from(key))), key));
        }
        assert!(index.memory_bytes() * 6 < full, "{} of {full}", index.memory_bytes());
        for key in 0..100_000u32 {
            let found = index.find(spread(u64::from(key)), |row| row == key);
            assert_eq!(found, Some(key).filter(|key| !goes(key)));
        }
        (0..100_000u32).filter(goes).for_each(|key| index.insert(spread(u64::from(key)), key));
        assert_eq!((index.len(), index.memory_bytes()), (100_000, full));
        assert!((0..100_000u32).all(|key| index.find(spread(u64::from(key)), |row| row == key).is_some()));
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
        /// Few distinct hashes, so that buckets overflow, wrap around and close up again.
        #[test]
        fn crowded_buckets_lose_nothing(
            operations in prop::collection::vec((0u8..10, 0u32..12, 0u32..12), 1..800), add_bias in 3u8..9
        ) {
            let mut index = HashIndex::default();
            let mut model = std::collections::BTreeSet::new();
            for (choice, hash, row) in operations {
                // Hashes that differ in the highest bits alone share their home bucket.
                let hash = (hash % 3) | (hash << 28);
                let there = model.contains(&(hash, row));
                prop_assert_eq!(index.find(u64::from(hash), |found| found == row).is_some(), there);
                if choice < add_bias && !there {
                    index.insert(u64::from(hash), row);
                    model.insert((hash, row));
                } else if choice >= add_bias {
                    prop_assert_eq!(index.remove(hash, row), model.remove(&(hash, row)));
                }
            }
            prop_assert_eq!(index.len(), model.len());
            for (hash, row) in model {
                prop_assert!(index.remove(hash, row));
            }
            prop_assert_eq!(index.len(), 0);
        }

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
