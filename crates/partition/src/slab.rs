//! Numbered places for values, grown a chunk at a time so that growth never moves what is there.

/// Values a chunk.
const CHUNK: usize = 1024;

/// Values with stable `u32` numbers. Freed numbers are used again, the newest first.
pub(crate) struct Slab<T> {
    /// All chunks but the last hold exactly `CHUNK` values.
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { chunks: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self[id] = value;
            return id;
        }
        let first = self.chunks.len() <= 1;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => {
                if chunk.len() == chunk.capacity() {
                    chunk.reserve_exact(chunk.len().min(CHUNK - chunk.len()));
                }
                chunk.push(value);
            }
            _ => {
                let mut chunk = Vec::with_capacity(if first && self.chunks.is_empty() { 4 } else { CHUNK });
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
        let chunk = self.chunks.len() - 1;
        (chunk * CHUNK + self.chunks[chunk].len() - 1) as u32
    }

    /// Frees a number, leaving `empty` in its place.
    pub(crate) fn remove(&mut self, id: u32, empty: T) -> T {
        self.free.push(id);
        std::mem::replace(&mut self[id], empty)
    }

    /// Numbers in use.
    pub(crate) fn len(&self) -> usize {
        match self.chunks.last() {
            Some(last) => (self.chunks.len() - 1) * CHUNK + last.len() - self.free.len(),
            None => 0,
        }
    }

    /// Every number given out so far, used or free, is below this.
    pub(crate) fn end(&self) -> u32 {
        (self.len() + self.free.len()) as u32
    }

    /// Bytes of the chunks themselves.
    pub(crate) fn memory_bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(|chunk| chunk.capacity() * size_of::<T>()).sum();
        chunks + self.free.capacity() * size_of::<u32>()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, id: u32) -> &T {
        &self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_stable_and_used_again() {
        let mut slab = Slab::default();
        for value in 0..3000u32 {
            assert_eq!(slab.insert(value), value);
        }
        assert_eq!(slab.remove(1500, 0), 1500);
        assert_eq!(slab.len(), 2999);
        assert_eq!(slab.insert(7), 1500);
        assert_eq!(slab.end(), 3000);
        assert!((0..3000).all(|id| slab[id] == if id == 1500 { 7 } else { id }));
    }
}
