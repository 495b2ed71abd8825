//! Bytes that begin at an address which the kernel takes for direct writes.

use crate::batch::DOUBLED_BYTES_MAX;
use crate::format::FRAME_ALIGNMENT;

/// A growing run of bytes whose first one lies at a multiple of [`FRAME_ALIGNMENT`].
#[derive(Debug, Default)]
pub(crate) struct AlignedBytes {
    storage: Vec<u8>,
    /// Where in `storage` the bytes begin.
    start: usize,
}

impl AlignedBytes {
    pub fn len(&self) -> usize {
        self.storage.len() - self.start
    }

    pub fn capacity(&self) -> usize {
        self.storage.capacity()
    }

    pub fn clear(&mut self) {
        self.storage.truncate(self.start);
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.storage[self.start..]
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..]
    }

    /// Lets `write` append `count` bytes. They lie where they are told to only if it appends no more.
    pub fn append_with(&mut self, count: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.reserve(count);
        write(&mut self.storage);
    }

    /// Grows to `length` bytes with zeros behind what is there.
    pub fn pad_to(&mut self, length: usize) {
        self.reserve(length.saturating_sub(self.len()));
        self.storage.resize(self.start + length, 0);
    }

    fn reserve(&mut self, count: usize) {
        let wanted = self.storage.len() + count;
        if wanted <= self.storage.capacity() {
            return;
        }
        let doubled = if wanted > DOUBLED_BYTES_MAX { 0 } else { self.storage.capacity() * 2 };
        // The frame's end is padded: without room for that, all of it would be copied once more.
        let capacity = wanted.max(doubled) + 2 * FRAME_ALIGNMENT;
        let mut grown: Vec<u8> = Vec::with_capacity(capacity);
        let start = grown.as_ptr().align_offset(FRAME_ALIGNMENT).min(FRAME_ALIGNMENT);
        grown.resize(start, 0);
        grown.extend_from_slice(self.as_slice());
        *self = AlignedBytes { storage: grown, start };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_stays_aligned_however_much_is_appended() {
        let mut bytes = AlignedBytes::default();
        let mut expected = Vec::new();
        for round in 0..200usize {
            let piece = vec![round as u8; round * 7];
            bytes.append_with(piece.len(), |target| target.extend_from_slice(&piece));
            expected.extend_from_slice(&piece);
            assert!(bytes.len() == 0 || bytes.as_slice().as_ptr().align_offset(FRAME_ALIGNMENT) == 0);
            assert_eq!(bytes.as_slice(), expected);
        }
        bytes.pad_to(expected.len().next_multiple_of(FRAME_ALIGNMENT));
        assert_eq!(bytes.len() % FRAME_ALIGNMENT, 0);
        bytes.clear();
        assert_eq!(bytes.len(), 0);
    }
}
