//! Numbered places for values whose numbers never change, and which takes little more than its values need when most have gone.
//!
//! Numbers come in chunks. A chunk is an array of values, used or vacant, until few of them are in use; then it can be packed
//! ([`SparseSlab::pack`]): its values lie side by side, and a map of bits says which numbers they have, as in the nodes of
//! a hash array mapped trie. A packed chunk is unpacked when its free numbers are wanted and no other chunk has any.
//! Each of these steps moves one chunk.
//!
//! Invariants: only chunks all of whose numbers have been given out are packed; a packed chunk's array is empty, so whoever finds a
//! value in an array has found it as in any list of chunks. A number that is not in use has the vacant value.
//!
//! Does not know what values mean; [`crate::slab`] is the one whose numbers may change.

/// A word of a map of bits.
const WORD: usize = u64::BITS as usize;
/// The first chunk begins with room for so many bytes, or one value.
const FIRST_BYTES: usize = 128;
/// A chunk is worth packing when at most this part of what it has room for is in use: three quarters.
const WORTH_PACKING: (usize, usize) = (3, 4);
/// Packing begins when so many chunks are worth it (in tests at once) ...
const SPARSE_CHUNKS_MIN: usize = if cfg!(test) { 1 } else { 16 };
/// ... and this part of all.
const SPARSE_PART: usize = 16;

/// A chunk has 64 times `WORDS` values.
pub(crate) struct SparseSlab<T, const WORDS: usize> {
    /// All but the last one and those that are packed hold exactly `CHUNK` values.
    chunks: Vec<Vec<T>>,
    /// What else there is to know of each chunk.
    states: Vec<Chunk<T, WORDS>>,
    vacant: T,
    in_use: usize,
    /// Chunks with free numbers, the next one to use last; some may have none any more, or be packed. No chunk is listed twice.
    open: Vec<u32>,
    /// The same of packed chunks; some may not be packed any more.
    packed: Vec<u32>,
    /// Chunks that were worth packing when they were listed.
    sparse: Vec<u32>,
    /// They are being packed.
    is_packing: bool,
}

struct Chunk<T, const WORDS: usize> {
    /// Numbers that were given out and are free.
    free: Bits<WORDS>,
    free_count: usize,
    values: Option<Box<Packed<T, WORDS>>>,
    in_open: bool,
    in_packed: bool,
    in_sparse: bool,
}

/// The values of a packed chunk.
struct Packed<T, const WORDS: usize> {
    /// The numbers that have values here, used or vacant.
    numbers: Bits<WORDS>,
    /// Values before those of each word of `numbers`.
    before: [u16; WORDS],
    values: Vec<T>,
}

#[derive(Clone, Copy)]
struct Bits<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Bits<WORDS> {
    const NONE: Bits<WORDS> = Bits([0; WORDS]);

    fn has(&self, at: usize) -> bool {
        self.0[at / WORD] & (1 << (at % WORD)) != 0
    }

    fn set(&mut self, at: usize) {
        self.0[at / WORD] |= 1 << (at % WORD);
    }

    fn clear(&mut self, at: usize) {
        self.0[at / WORD] &= !(1 << (at % WORD));
    }

    fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word * WORD + self.0[word].trailing_zeros() as usize)
    }
}

impl<T, const WORDS: usize> Packed<T, WORDS> {
    fn position(&self, at: usize) -> Option<usize> {
        let below = self.numbers.0[at / WORD] & ((1 << (at % WORD)) - 1);
        let position = usize::from(self.before[at / WORD]) + below.count_ones() as usize;
        self.numbers.has(at).then_some(position)
    }
}

impl<T, const WORDS: usize> Chunk<T, WORDS> {
    fn new() -> Chunk<T, WORDS> {
        let free = Bits::NONE;
        Chunk { free, free_count: 0, values: None, in_open: false, in_packed: false, in_sparse: false }
    }

    /// Of `room` places that take memory so few are in use that packing would be worth it.
    fn is_sparse(&self, room: usize) -> bool {
        let (part, of) = WORTH_PACKING;
        room > 0 && (WORDS * WORD - self.free_count) * of <= room * part
    }
}

impl<T: Copy, const WORDS: usize> SparseSlab<T, WORDS> {
    const CHUNK: usize = WORDS * WORD;

    #[inline]
    fn split(number: u32) -> (usize, usize) {
        (number as usize / Self::CHUNK, number as usize % Self::CHUNK)
    }

    /// `vacant`: what numbers have that are not in use.
    pub(crate) fn new(vacant: T) -> SparseSlab<T, WORDS> {
        SparseSlab {
            chunks: Vec::new(),
            states: Vec::new(),
            vacant,
            in_use: 0,
            open: Vec::new(),
            packed: Vec::new(),
            sparse: Vec::new(),
            is_packing: false,
        }
    }

    /// Gives out a number: a free one if there is any.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        self.in_use += 1;
        match self.chunk_with_free() {
            Some(chunk) => {
                let state = &mut self.states[chunk];
                let at = state.free.first().expect("an open chunk has a free number");
                state.free.clear(at);
                state.free_count -= 1;
                self.chunks[chunk][at] = value;
                (chunk * Self::CHUNK + at) as u32
            }
            None => self.append(value),
        }
    }

    /// A chunk with free numbers, not packed.
    #[inline]
    fn chunk_with_free(&mut self) -> Option<usize> {
        while let Some(&chunk) = self.open.last() {
            let chunk = chunk as usize;
            if self.states[chunk].free_count > 0 && !self.chunks[chunk].is_empty() {
                return Some(chunk);
            }
            self.open.pop();
            self.states[chunk].in_open = false;
        }
        while let Some(chunk) = self.packed.pop() {
            let chunk = chunk as usize;
            self.states[chunk].in_packed = false;
            if self.states[chunk].free_count > 0 && self.chunks[chunk].is_empty() {
                self.unpack(chunk);
                self.list_open(chunk);
                return Some(chunk);
            }
        }
        None
    }

    fn append(&mut self, value: T) -> u32 {
        match self.chunks.last_mut() {
            Some(chunk) if !chunk.is_empty() && chunk.len() < Self::CHUNK => {
                if chunk.len() == chunk.capacity() {
                    chunk.reserve_exact(chunk.len().min(Self::CHUNK - chunk.len()));
                }
                chunk.push(value);
            }
            _ => {
                let few = (FIRST_BYTES / size_of::<T>().max(1)).clamp(1, Self::CHUNK);
                let mut chunk = Vec::with_capacity(if self.chunks.is_empty() { few } else { Self::CHUNK });
                chunk.push(value);
                self.chunks.push(chunk);
                self.states.push(Chunk::new());
            }
        }
        self.end() - 1
    }

    /// Frees a number that is in use.
    pub(crate) fn remove(&mut self, number: u32) -> T {
        let (chunk, at) = Self::split(number);
        let vacant = self.vacant;
        let value = std::mem::replace(&mut self[number], vacant);
        let state = &mut self.states[chunk];
        debug_assert!(!state.free.has(at));
        state.free.set(at);
        state.free_count += 1;
        self.in_use -= 1;
        if !state.in_open {
            self.list_open(chunk);
        }
        if !self.states[chunk].in_sparse && self.states[chunk].is_sparse(self.room(chunk)) {
            self.states[chunk].in_sparse = true;
            self.sparse.push(chunk as u32);
        }
        value
    }

    fn list_open(&mut self, chunk: usize) {
        let is_packed = self.chunks[chunk].is_empty();
        let state = &mut self.states[chunk];
        let (is_listed, list) = match is_packed {
            true => (&mut state.in_packed, &mut self.packed),
            false => (&mut state.in_open, &mut self.open),
        };
        if !std::mem::replace(is_listed, true) {
            list.push(chunk as u32);
        }
    }

    /// Values that a chunk has memory for; 0 for one that is not to be packed.
    fn room(&self, chunk: usize) -> usize {
        match &self.states[chunk].values {
            Some(packed) => packed.values.len(),
            None if self.chunks[chunk].len() == Self::CHUNK => Self::CHUNK,
            None => 0,
        }
    }

    /// Numbers in use.
    pub(crate) fn len(&self) -> usize {
        self.in_use
    }

    /// Every number given out so far, used or free, is below this.
    pub(crate) fn end(&self) -> u32 {
        match self.chunks.last() {
            Some(last) if last.is_empty() => (self.chunks.len() * Self::CHUNK) as u32,
            Some(last) => ((self.chunks.len() - 1) * Self::CHUNK + last.len()) as u32,
            None => 0,
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (chunk, at) = Self::split(number);
        let array = self.chunks.get_mut(chunk)?;
        if array.is_empty() {
            let packed = self.states[chunk].values.as_mut()?;
            let position = packed.position(at)?;
            return Some(&mut packed.values[position]);
        }
        array.get_mut(at)
    }

    #[inline(never)]
    fn packed_value(&self, number: u32) -> &T {
        let (chunk, at) = Self::split(number);
        let packed = self.states.get(chunk).and_then(|state| state.values.as_ref());
        let value = packed.and_then(|packed| Some(&packed.values[packed.position(at)?]));
        value.unwrap_or(&self.vacant)
    }

    /// Packs chunks where few values are left, so many at most. False: there is nothing left to do.
    pub(crate) fn pack(&mut self, chunks_max: usize) -> bool {
        let due = SPARSE_CHUNKS_MIN.max(self.chunks.len() / SPARSE_PART);
        if !self.is_packing && self.sparse.len() < due {
            return false;
        }
        self.is_packing = true;
        for _ in 0..chunks_max {
            let Some(chunk) = self.sparse.pop() else {
                self.is_packing = false;
                self.shrink_lists();
                return false;
            };
            let chunk = chunk as usize;
            self.states[chunk].in_sparse = false;
            if self.states[chunk].is_sparse(self.room(chunk)) {
                self.pack_chunk(chunk);
            }
        }
        true
    }

    fn pack_chunk(&mut self, chunk: usize) {
        let state = &self.states[chunk];
        let mut values = Vec::with_capacity(Self::CHUNK - state.free_count);
        let (mut numbers, mut before) = (Bits::NONE, [0; WORDS]);
        for (word, before) in before.iter_mut().enumerate() {
            *before = values.len() as u16;
            numbers.0[word] = !state.free.0[word];
            let in_use = (0..WORD).map(|bit| word * WORD + bit).filter(|&at| numbers.has(at));
            values.extend(in_use.map(|at| self[(chunk * Self::CHUNK + at) as u32]));
        }
        self.chunks[chunk] = Vec::new();
        let packed = (!values.is_empty()).then(|| Box::new(Packed { numbers, before, values }));
        self.states[chunk].values = packed;
        self.list_open(chunk);
    }

    fn unpack(&mut self, chunk: usize) {
        let first = chunk * Self::CHUNK;
        self.chunks[chunk] = (first..first + Self::CHUNK).map(|number| self[number as u32]).collect();
        self.states[chunk].values = None;
    }

    /// The lists may have been as long as there were chunks; what remains is a few numbers each.
    fn shrink_lists(&mut self) {
        for list in [&mut self.open, &mut self.packed, &mut self.sparse] {
            if list.capacity() > 2 * list.len() + Self::CHUNK {
                list.shrink_to_fit();
            }
        }
    }

    /// Bytes of the chunks as far as they are used: what lies behind was never touched.
    pub(crate) fn memory_bytes(&self) -> usize {
        let arrays: usize = self.chunks.iter().map(Vec::len).sum();
        let packed = self.states.iter().filter_map(|state| state.values.as_ref());
        let packed: usize =
            packed.map(|packed| size_of::<Packed<T, WORDS>>() + packed.values.len() * size_of::<T>()).sum();
        let lists = self.open.capacity() + self.packed.capacity() + self.sparse.capacity();
        arrays * size_of::<T>()
            + packed
            + self.chunks.capacity() * size_of::<Vec<T>>()
            + self.states.capacity() * size_of::<Chunk<T, WORDS>>()
            + lists * size_of::<u32>()
    }
}

impl<T: Copy, const WORDS: usize> std::ops::Index<u32> for SparseSlab<T, WORDS> {
    type Output = T;

    /// The vacant value for a number that is not in use.
    #[inline]
    fn index(&self, number: u32) -> &T {
        let (chunk, at) = Self::split(number);
        match self.chunks.get(chunk).and_then(|array| array.get(at)) {
            Some(value) => value,
            None => self.packed_value(number),
        }
    }
}

impl<T: Copy, const WORDS: usize> std::ops::IndexMut<u32> for SparseSlab<T, WORDS> {
    /// Of a number in use.
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        self.get_mut(number).expect("a number in use has a value")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const VACANT: u32 = u32::MAX;

    type Sixteen = SparseSlab<u32, 16>;
    const CHUNK: usize = 16 * WORD;

    fn pack_all(slab: &mut Sixteen) {
        while slab.pack(1) {}
    }

    #[test]
    fn numbers_are_dense_stable_and_used_again() {
        let mut slab = Sixteen::new(VACANT);
        for value in 0..3000u32 {
            assert_eq!(slab.insert(value), value);
        }
        assert_eq!(slab.remove(1500), 1500);
        assert_eq!((slab.len(), slab[1500]), (2999, VACANT));
        assert_eq!(slab.insert(7), 1500);
        assert_eq!(slab.end(), 3000);
        assert!((0..3000).all(|number| slab[number] == if number == 1500 { 7 } else { number }));
    }

    #[test]
    fn what_is_left_of_many_values_lies_packed_under_its_old_numbers() {
        let mut slab = Sixteen::new(VACANT);
        let kept = |number: &u32| number.is_multiple_of(10);
        (0..100_000u32).for_each(|value| assert_eq!(slab.insert(value), value));
        let full = slab.memory_bytes();
        (0..100_000).filter(|number| !kept(number)).for_each(|number| assert_eq!(slab.remove(number), number));
        pack_all(&mut slab);
        // The last chunk is not full, so it stays as it is; each chunk has its head, its maps of bits and its places in lists.
        let left = 10_000 * size_of::<u32>() + 98 * 440 + CHUNK * size_of::<u32>();
        assert!(slab.memory_bytes() < left, "{} of {full}, expected {left}", slab.memory_bytes());
        assert!((0..100_000).all(|number| slab[number] == if kept(&number) { number } else { VACANT }));
        assert_eq!(slab[1_000_000], VACANT);
        assert!(slab.get_mut(7).is_none() && slab.get_mut(10) == Some(&mut 10));
        let mut numbers: Vec<u32> = (0..90_000).map(|_| slab.insert(1)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq((0..100_000).filter(|number| !kept(number))));
        assert!((0..100_000).all(|number| slab[number] == if kept(&number) { number } else { 1 }));
        assert_eq!((slab.end(), slab.insert(2)), (100_000, 100_000));
    }

    #[test]
    fn a_slab_that_fills_and_empties_again_and_again_does_not_grow() {
        let mut slab = Sixteen::new(VACANT);
        let mut numbers: Vec<u32> = (0..50_000).map(|value| slab.insert(value)).collect();
        let full = slab.memory_bytes();
        for round in 0..20 {
            let gone = numbers.extract_if(.., |number| *number % 20 != round).collect::<Vec<u32>>();
            gone.into_iter().for_each(|number| assert!(slab.remove(number) != VACANT));
            pack_all(&mut slab);
            assert!(slab.memory_bytes() < full / 4, "round {round}: {} of {full}", slab.memory_bytes());
            numbers.extend((numbers.len()..50_000).map(|value| slab.insert(value as u32)));
            assert_eq!((slab.len(), slab.end()), (50_000, 50_000));
        }
    }

    /// What happens to a slab: values come, go one by one, go but for every so manieth, or chunks are packed.
    type Wave = (u8, usize, u32);

    fn check_against_a_map<const WORDS: usize>(waves: &[Wave]) {
        let mut slab = SparseSlab::<u32, WORDS>::new(VACANT);
        let mut model = BTreeMap::new();
        for &(choice, count, seed) in waves {
            match choice {
                0 | 1 => (0..count as u32).for_each(|value| {
                    let there = model.insert(slab.insert(value), value);
                    assert_eq!(there, None);
                }),
                2 => (0..count as u32).for_each(|round| {
                    let from = seed.wrapping_mul(round | 1) % slab.end().max(1);
                    if let Some((number, value)) =
                        model.range(from..).next().map(|(&number, &value)| (number, value))
                    {
                        assert_eq!(slab.remove(number), value);
                        model.remove(&number);
                    }
                }),
                3 => {
                    let (every, from) = (seed % 9 + 2, (seed >> 8) % slab.end().max(1));
                    let gone = model.extract_if(from.., |number, _| number % every != 0);
                    gone.for_each(|(number, value)| assert_eq!(slab.remove(number), value));
                }
                _ => drop((0..count % 40).map(|_| slab.pack(1)).collect::<Vec<bool>>()),
            }
            assert_eq!(slab.len(), model.len());
            for number in 0..slab.end() + 1 {
                assert_eq!(slab[number], model.get(&number).copied().unwrap_or(VACANT));
            }
        }
        for (&number, &value) in &model {
            assert_eq!(slab.get_mut(number), Some(&mut { value }));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn behaves_like_a_map(waves in prop::collection::vec((0u8..6, 1usize..3000, any::<u32>()), 1..24)) {
            check_against_a_map::<16>(&waves);
            check_against_a_map::<2>(&waves);
            check_against_a_map::<1>(&waves);
        }
    }
}
