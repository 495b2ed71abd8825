//! Numbered places for values, grown a chunk at a time so that growth never moves what is there; values can be moved to the lowest numbers.
//! Where numbers must not change there is [`crate::sparse_slab`].

/// Values a chunk.
const CHUNK: usize = 1024;
/// The first chunk begins with room for so many bytes, or one value.
const FIRST_BYTES: usize = 128;

/// Values with stable `u32` numbers. Freed numbers are used again, the newest first.
pub(crate) struct Slab<T> {
    /// All chunks but the last hold exactly `CHUNK` values.
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
}

/// Moves in the making: the free numbers, the lowest last, of which so many have gone with the end of the slab.
pub(crate) struct Moves {
    free: Vec<u32>,
    cut: usize,
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
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => {
                if chunk.len() == chunk.capacity() {
                    chunk.reserve_exact(chunk.len().min(CHUNK - chunk.len()));
                }
                chunk.push(value);
            }
            _ => {
                let few = (FIRST_BYTES / size_of::<T>().max(1)).clamp(1, CHUNK);
                let mut chunk = Vec::with_capacity(if self.chunks.is_empty() { few } else { CHUNK });
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
        self.end() as usize - self.free.len()
    }

    /// Every number given out so far, used or free, is below this.
    pub(crate) fn end(&self) -> u32 {
        match self.chunks.last() {
            Some(last) => ((self.chunks.len() - 1) * CHUNK + last.len()) as u32,
            None => 0,
        }
    }

    // ---- giving chunks back: values move from the last numbers to the lowest free ones ----

    /// Begins moves; nothing is inserted or removed before [`Slab::end_moves`].
    pub(crate) fn begin_moves(&mut self) -> Moves {
        let mut free = std::mem::take(&mut self.free);
        free.sort_unstable_by(|one, other| other.cmp(one));
        Moves { free, cut: 0 }
    }

    /// Gives up what is free at the end; then the last number, which is in use, and a lower one that is free, if there is one.
    /// The caller moves the value by [`Slab::move_last`].
    pub(crate) fn next_move(&mut self, moves: &mut Moves) -> Option<(u32, u32)> {
        while moves.free.get(moves.cut).is_some_and(|&free| free + 1 == self.end()) {
            moves.cut += 1;
            self.pop();
        }
        if moves.cut == moves.free.len() {
            return None;
        }
        Some((self.end().checked_sub(1)?, moves.free.pop()?))
    }

    pub(crate) fn move_last(&mut self, to: u32) {
        if let Some(value) = self.pop() {
            self[to] = value;
        }
    }

    /// `unused`: the free number of a move that was not made.
    pub(crate) fn end_moves(&mut self, mut moves: Moves, unused: Option<u32>) {
        moves.free.extend(unused);
        moves.free.drain(..moves.cut);
        if moves.free.capacity() > 2 * moves.free.len() + CHUNK {
            moves.free.shrink_to_fit();
        }
        self.free = moves.free;
    }

    fn pop(&mut self) -> Option<T> {
        let value = self.chunks.last_mut()?.pop();
        if self.chunks.last().is_some_and(Vec::is_empty) {
            self.chunks.pop();
        }
        value
    }

    /// Bytes of the chunks as far as they are used: what lies behind was never touched.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.end() as usize * size_of::<T>() + self.free.capacity() * size_of::<u32>()
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

    #[test]
    fn values_move_to_the_lowest_free_numbers_and_the_chunks_behind_them_go() {
        let mut slab = Slab::default();
        let kept = |value: u32| value.is_multiple_of(7);
        for value in 0..10_000u32 {
            slab.insert(value);
        }
        for value in (0..10_000).filter(|&value| !kept(value)) {
            slab.remove(value, u32::MAX);
        }
        let before = slab.memory_bytes();
        let mut moves = slab.begin_moves();
        while let Some((from, to)) = slab.next_move(&mut moves) {
            assert!(to < from && slab[to] == u32::MAX && kept(slab[from]));
            slab.move_last(to);
        }
        slab.end_moves(moves, None);
        assert_eq!((slab.len() as u32, slab.end()), (1429, 1429));
        let mut values: Vec<u32> = (0..slab.end()).map(|number| slab[number]).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq((0..10_000).filter(|&value| kept(value))));
        assert!(slab.memory_bytes() * 4 < before);
        assert_eq!(slab.insert(1), 1429);
    }
}
