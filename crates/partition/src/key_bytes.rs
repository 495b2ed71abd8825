//! The keys of what a transaction has written, one behind the other. They are not moved when there are more: a vector of a hundred
//! megabytes would be copied under a partition's hold, into fresh memory, each time that it doubles.

const CHUNK_BITS: u32 = 16;

pub(crate) struct KeyBytes {
    /// Each of 64 KiB, or as long as one key. The first one grows like any vector: most lists are short.
    chunks: Vec<Vec<u8>>,
}

impl Default for KeyBytes {
    fn default() -> KeyBytes {
        KeyBytes { chunks: vec![Vec::new()] }
    }
}

impl KeyBytes {
    /// Returns where the key begins.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8]) -> u32 {
        let last = self.chunks.len() - 1;
        let offset = self.chunks[last].len();
        if offset == 0 || offset < 1 << CHUNK_BITS && offset + key.len() <= 1 << CHUNK_BITS {
            self.chunks[last].extend_from_slice(key);
            return (last as u32) << CHUNK_BITS | offset as u32;
        }
        let mut chunk = Vec::with_capacity(key.len().max(1 << CHUNK_BITS));
        chunk.extend_from_slice(key);
        self.chunks.push(chunk);
        (last as u32 + 1) << CHUNK_BITS
    }

    #[inline]
    pub(crate) fn get(&self, start: u32, length: u32) -> &[u8] {
        let offset = (start % (1 << CHUNK_BITS)) as usize;
        &self.chunks[(start >> CHUNK_BITS) as usize][offset..offset + length as usize]
    }

    /// Forgets what begins there, and all behind it.
    pub(crate) fn truncate(&mut self, start: u32) {
        let chunk = (start >> CHUNK_BITS) as usize;
        self.chunks.truncate(chunk + 1);
        if let Some(chunk) = self.chunks.get_mut(chunk) {
            chunk.truncate((start % (1 << CHUNK_BITS)) as usize);
        }
    }

    /// About how many bytes there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        ((self.chunks.len() - 1) << CHUNK_BITS) + self.chunks.last().map_or(0, Vec::len)
    }

    pub(crate) fn capacity(&self) -> usize {
        ((self.chunks.len() - 1) << CHUNK_BITS) + self.chunks[0].capacity()
    }

    pub(crate) fn clear(&mut self) {
        self.chunks.truncate(1);
        self.chunks[0].clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_found_and_go_from_the_end() {
        let length = |number: usize| match number % 1000 {
            999 => 200_000,
            500 => 1 << CHUNK_BITS,
            _ => number * 7 % 40,
        };
        let mut keys = KeyBytes::default();
        let mut places = Vec::new();
        for number in 0..8000 {
            places.push(keys.push(&vec![number as u8; length(number)]));
        }
        for number in (0..8000).rev() {
            assert_eq!(keys.get(places[number], length(number) as u32), vec![number as u8; length(number)]);
            if number % 3 == 0 {
                keys.truncate(places[number]);
                assert!(number == 0 || keys.len() > 0);
            }
        }
        assert_eq!(keys.len(), 0);
        keys.push(b"abc");
        keys.clear();
        assert_eq!(keys.len(), 0);
    }
}
