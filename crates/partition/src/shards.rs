//! A hash table that grows in small steps: when it is large it is many small tables, each of which grows by itself. One table of a
//! million entries would keep its partition for as long as it takes to move all of them, and need fresh memory for as many again.

use hashbrown::HashTable;

const SHARD_BITS: u32 = 8;
/// With so many entries one table becomes many.
const SPLIT_AT: usize = 1 << 13;

pub(crate) struct Shards<T> {
    /// One, or one for each value of some bits of the hash.
    tables: Vec<HashTable<T>>,
    length: usize,
}

impl<T> Default for Shards<T> {
    fn default() -> Shards<T> {
        Shards { tables: vec![HashTable::new()], length: 0 }
    }
}

impl<T: Copy> Shards<T> {
    /// Bits that the tables do not use themselves: their tags are the highest ones, their places the lowest.
    #[inline]
    fn shard(&self, hash: u64) -> usize {
        if self.tables.len() == 1 { 0 } else { (hash >> 40) as usize % (1 << SHARD_BITS) }
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        self.tables[self.shard(hash)].find(hash, is_it)
    }

    #[inline]
    pub(crate) fn find_mut(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&mut T> {
        let shard = self.shard(hash);
        self.tables[shard].find_mut(hash, is_it)
    }

    /// Inserts what is not there. `hash_of` yields the hash of an entry.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, value: T, hash_of: impl Fn(&T) -> u64) {
        if self.length == SPLIT_AT && self.tables.len() == 1 {
            self.split(&hash_of);
        }
        let shard = self.shard(hash);
        self.tables[shard].insert_unique(hash, value, &hash_of);
        self.length += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<T> {
        let shard = self.shard(hash);
        let entry = self.tables[shard].find_entry(hash, is_it).ok()?;
        self.length -= 1;
        Some(entry.remove().0)
    }

    #[cold]
    fn split(&mut self, hash_of: &impl Fn(&T) -> u64) {
        let one = std::mem::take(&mut self.tables);
        self.tables.resize_with(1 << SHARD_BITS, HashTable::new);
        for value in one.iter().flatten() {
            let hash = hash_of(value);
            let shard = self.shard(hash);
            self.tables[shard].insert_unique(hash, *value, hash_of);
        }
    }

    /// What has this hash, and perhaps others.
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = &T> {
        self.tables[self.shard(hash)].iter_hash(hash)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.tables.iter().flatten()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// A small table's room is kept.
    pub(crate) fn clear(&mut self) {
        self.tables.truncate(1);
        self.tables[0].clear();
        self.length = 0;
    }
}
