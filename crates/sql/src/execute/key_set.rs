//! Sets of keys that lie in one buffer: DISTINCT, UNION and IN keep one for each row they have seen.

use std::hash::BuildHasher;

use hashbrown::HashTable;

/// A set of byte strings.
#[derive(Debug, Default)]
pub struct KeySet {
    bytes: Vec<u8>,
    places: HashTable<(usize, usize)>,
    hasher: foldhash::fast::RandomState,
}

impl KeySet {
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.places.find(self.hasher.hash_one(key), |&(start, end)| &self.bytes[start..end] == key).is_some()
    }

    /// Adds a key; false if it is there already.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        if self.contains(key) {
            return false;
        }
        let KeySet { bytes, places, hasher } = self;
        let start = bytes.len();
        bytes.extend_from_slice(key);
        let hash = |&(start, end): &(usize, usize)| hasher.hash_one(&bytes[start..end]);
        let place = (start, bytes.len());
        places.insert_unique(hash(&place), place, hash);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_added_once_however_the_set_grows() {
        let mut set = KeySet::default();
        for round in 0..2 {
            for number in 0..1000u32 {
                assert_eq!(set.insert(&number.to_be_bytes()), round == 0);
            }
        }
        assert!(set.insert(b"") && !set.insert(b""));
    }
}
