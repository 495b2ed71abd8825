//! Finds things in a list by their hashes. Only their numbers are kept, and half of each hash: so the table grows without looking at
//! the things themselves, which would miss the cache once for each of a million.

use crate::shards::Shards;

#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    number: u32,
}

#[derive(Default)]
pub(crate) struct Numbers {
    table: Shards<Place>,
}

/// Half of a hash.
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32 ^ hash as u32
}

/// The hash that the table sees: its tags are the highest bits, its places the lowest.
fn whole(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(half)
}

impl Numbers {
    /// The number with this hash of which `is_it` is true.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let hash = half(hash);
        self.table.find(whole(hash), |place| place.hash == hash && is_it(place.number)).map(|place| place.number)
    }

    /// Puts a number in the place of one that is there. False: it is not.
    pub(crate) fn replace(&mut self, hash: u64, old: u32, new: u32) -> bool {
        let place = self.table.find_mut(whole(half(hash)), |place| place.number == old);
        place.map(|place| place.number = new).is_some()
    }

    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        let hash = half(hash);
        self.table.insert(whole(hash), Place { hash, number }, |place| whole(place.hash));
    }

    #[inline]
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        self.table.remove(whole(half(hash)), |place| place.number == number);
    }

    /// The numbers with this hash, and perhaps others.
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = u32> {
        self.table.with_hash(whole(half(hash))).map(|place| place.number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.table.iter().map(|place| place.number)
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_hash_while_the_table_grows_and_shrinks() {
        let hash = |number: u32| u64::from(number / 2).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut numbers = Numbers::default();
        for number in 0..40_000 {
            numbers.insert(hash(number), number);
        }
        for number in 0..40_000 {
            assert_eq!(numbers.find(hash(number), |found| found == number), Some(number));
            assert!(numbers.with_hash(hash(number)).filter(|found| found / 2 == number / 2).count() == 2);
        }
        assert!(numbers.replace(hash(7), 7, 40_007) && !numbers.replace(hash(7), 7, 1));
        assert_eq!(numbers.find(hash(7), |found| found > 6), Some(40_007));
        (0..40_000).filter(|number| number % 3 != 0).for_each(|number| numbers.remove(hash(number), number));
        numbers.remove(hash(7), 40_007);
        let mut left: Vec<u32> = numbers.iter().collect();
        left.sort_unstable();
        assert!(left.iter().copied().eq((0..40_000).step_by(3)) && numbers.len() == left.len());
        numbers.clear();
        assert_eq!(numbers.find(hash(3), |_| true), None);
    }
}
