//! Sets of keys that lie in one buffer: DISTINCT, UNION and IN keep one for each row they have seen.

use std::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::HashTable;
use shoal_types::Result;

use super::memory::{Held, StatementMemory};

/// What a key takes besides its bytes: its place in a table that is rebuilt at twice the size.
const PLACE_BYTES: usize = 56;

/// A set of byte strings.
pub struct KeySet {
    bytes: Vec<u8>,
    places: HashTable<(usize, usize)>,
    hasher: foldhash::fast::RandomState,
    held: Held,
}

impl KeySet {
    pub fn new(memory: &Rc<StatementMemory>) -> KeySet {
        KeySet { bytes: Vec::new(), places: HashTable::new(), hasher: Default::default(), held: Held::new(memory) }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.places.find(self.hasher.hash_one(key), |&(start, end)| &self.bytes[start..end] == key).is_some()
    }

    /// Adds a key; false if it is there already.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool> {
        if self.contains(key) {
            return Ok(false);
        }
        // Bytes lie in a list that grows by doubling.
        self.held.add(2 * key.len() + PLACE_BYTES)?;
        let KeySet { bytes, places, hasher, .. } = self;
        let start = bytes.len();
        bytes.extend_from_slice(key);
        let hash = |&(start, end): &(usize, usize)| hasher.hash_one(&bytes[start..end]);
        let place = (start, bytes.len());
        places.insert_unique(hash(&place), place, hash);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_key_is_added_once_however_the_set_grows() {
        let budget = Arc::new(shoal_cluster::MemoryBudget::new(1 << 20));
        let mut set = KeySet::new(&StatementMemory::new(Arc::clone(&budget)));
        for round in 0..2 {
            for number in 0..1000u32 {
                assert_eq!(set.insert(&number.to_be_bytes()).unwrap(), round == 0);
            }
        }
        assert!(set.insert(b"").unwrap() && !set.insert(b"").unwrap());
        assert!((1000..10_000u32).all(|number| set.insert(&number.to_be_bytes()).unwrap()));
        assert!(budget.statement_bytes() > 400_000);
        drop(set);
        assert_eq!(budget.statement_bytes(), 0);
    }
}
