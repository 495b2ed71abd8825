//! One node: up to [`FANOUT`] sorted (key, row) pairs and, in inner nodes, one child more than pairs.
//!
//! The first 8 key bytes lie inline as a big-endian number, padded with zeros; the rest of a longer key lies in the
//! node's heap behind its length. `tails[i]` is the length of a key of at most 8 bytes, or else `heap offset + 9`.

use std::cmp::Ordering;

/// Pairs a node. With 16 bytes a pair the whole node is just under 1 KiB, an allocator's size class.
pub(super) const FANOUT: usize = 60;
pub(super) const NONE: u32 = u32::MAX;

const SHORT_KEY_MAX: usize = 8;
const HEAP_BASE: u32 = SHORT_KEY_MAX as u32 + 1;

/// A key and row as searches compare them. `row` may be above every row id: behind all entries of the key.
#[derive(Clone, Copy)]
pub(crate) struct Probe<'a> {
    prefix: u64,
    tail: &'a [u8],
    /// The key's length if at most 8, else 9.
    length_class: u32,
    row: u64,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(key: &'a [u8], row: u64) -> Probe<'a> {
        let mut prefix = [0u8; SHORT_KEY_MAX];
        let inline = key.len().min(SHORT_KEY_MAX);
        prefix[..inline].copy_from_slice(&key[..inline]);
        Probe {
            prefix: u64::from_be_bytes(prefix),
            tail: &key[inline..],
            length_class: key.len().min(SHORT_KEY_MAX + 1) as u32,
            row,
        }
    }

    pub(crate) fn before(key: &'a [u8]) -> Probe<'a> {
        Probe::new(key, 0)
    }

    pub(crate) fn behind(key: &'a [u8]) -> Probe<'a> {
        Probe::new(key, u64::MAX)
    }
}

pub(super) struct Node {
    prefixes: [u64; FANOUT],
    rows: [u32; FANOUT],
    tails: [u32; FANOUT],
    heap: Vec<u8>,
    /// Heap bytes that no pair uses.
    garbage: u32,
    count: u16,
    /// Neighbours of a leaf.
    pub(super) previous: u32,
    pub(super) next: u32,
    /// Child `i` holds what is below pair `i`, child `i + 1` what is not. Empty in a leaf.
    pub(super) children: Vec<u32>,
}

impl Node {
    pub(super) fn new() -> Node {
        Node {
            prefixes: [0; FANOUT],
            rows: [0; FANOUT],
            tails: [0; FANOUT],
            heap: Vec::new(),
            garbage: 0,
            count: 0,
            previous: NONE,
            next: NONE,
            children: Vec::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.count)
    }

    pub(super) fn row(&self, at: usize) -> u32 {
        self.rows[at]
    }

    fn tail(&self, at: usize) -> &[u8] {
        match self.tails[at].checked_sub(HEAP_BASE) {
            None => &[],
            Some(offset) => {
                let (length, start) = read_length(&self.heap, offset as usize);
                &self.heap[start..start + length]
            }
        }
    }

    /// Appends the key of a pair.
    pub(super) fn append_key(&self, at: usize, out: &mut Vec<u8>) {
        let inline = (self.tails[at] as usize).min(SHORT_KEY_MAX);
        out.extend_from_slice(&self.prefixes[at].to_be_bytes()[..inline]);
        out.extend_from_slice(self.tail(at));
    }

    /// How a pair's key (without its row) compares to the probe's.
    #[inline]
    pub(super) fn compare_key(&self, at: usize, probe: &Probe<'_>) -> Ordering {
        self.prefixes[at].cmp(&probe.prefix).then_with(|| {
            let class = self.tails[at].min(HEAP_BASE);
            if class == HEAP_BASE && probe.length_class == HEAP_BASE {
                self.tail(at).cmp(probe.tail)
            } else {
                // Equal but for padding: the shorter key is a prefix of the longer one.
                class.cmp(&probe.length_class)
            }
        })
    }

    fn compare(&self, at: usize, probe: &Probe<'_>) -> Ordering {
        self.compare_key(at, probe).then_with(|| u64::from(self.rows[at]).cmp(&probe.row))
    }

    /// The first pair that is not below the probe.
    #[inline]
    pub(super) fn lower_bound(&self, probe: &Probe<'_>) -> usize {
        let prefixes = &self.prefixes[..self.count()];
        let mut low = prefixes.partition_point(|&prefix| prefix < probe.prefix);
        if low == prefixes.len() || prefixes[low] != probe.prefix {
            return low;
        }
        let mut high = low + prefixes[low..].partition_point(|&prefix| prefix == probe.prefix);
        while low < high {
            let middle = (low + high) / 2;
            if self.compare(middle, probe) == Ordering::Less { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The child that a descent for the probe goes to.
    #[inline]
    pub(super) fn child_position(&self, probe: &Probe<'_>) -> usize {
        let at = self.lower_bound(probe);
        let equal = at < self.count() && self.compare(at, probe) == Ordering::Equal;
        at + usize::from(equal)
    }

    pub(super) fn holds(&self, at: usize, probe: &Probe<'_>) -> bool {
        at < self.count() && self.compare(at, probe) == Ordering::Equal
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() == FANOUT
    }

    pub(super) fn insert(&mut self, at: usize, probe: &Probe<'_>) {
        let count = self.count();
        let tail = if probe.length_class < HEAP_BASE { probe.length_class } else { self.store_tail(probe.tail) };
        self.prefixes.copy_within(at..count, at + 1);
        self.rows.copy_within(at..count, at + 1);
        self.tails.copy_within(at..count, at + 1);
        self.prefixes[at] = probe.prefix;
        self.rows[at] = probe.row as u32;
        self.tails[at] = tail;
        self.count += 1;
    }

    pub(super) fn remove(&mut self, at: usize) {
        let count = self.count();
        let tail = self.tail(at).len();
        if tail > 0 {
            self.garbage += (tail + length_width(tail)) as u32;
        }
        self.prefixes.copy_within(at + 1..count, at);
        self.rows.copy_within(at + 1..count, at);
        self.tails.copy_within(at + 1..count, at);
        self.count -= 1;
        if self.count == 0 {
            self.heap = Vec::new();
            self.garbage = 0;
        }
    }

    fn store_tail(&mut self, tail: &[u8]) -> u32 {
        let need = tail.len() + length_width(tail.len());
        if self.heap.len() + need > self.heap.capacity() {
            if self.garbage as usize > self.heap.len() / 4 {
                self.compact();
            }
            self.heap.reserve_exact(need.max(self.heap.len() / 4));
        }
        append_tail(&mut self.heap, tail)
    }

    fn compact(&mut self) {
        let mut heap = Vec::with_capacity(self.heap.len() - self.garbage as usize);
        for at in 0..self.count() {
            if self.tails[at] >= HEAP_BASE {
                self.tails[at] = append_tail(&mut heap, self.tail(at));
            }
        }
        self.heap = heap;
        self.garbage = 0;
    }

    /// Appends a pair of another node.
    fn push_from(&mut self, other: &Node, at: usize) {
        let to = self.count();
        self.prefixes[to] = other.prefixes[at];
        self.rows[to] = other.rows[at];
        self.tails[to] = if other.tails[at] < HEAP_BASE {
            other.tails[at]
        } else {
            append_tail(&mut self.heap, other.tail(at))
        };
        self.count += 1;
    }

    /// Moves the pairs from `from` on (and their children, those right of them) to a new node.
    pub(super) fn split_off(&mut self, from: usize) -> Node {
        let mut right = Node::new();
        for at in from..self.count() {
            right.push_from(self, at);
        }
        self.count = from as u16;
        if !self.heap.is_empty() {
            self.compact();
        }
        if !self.children.is_empty() {
            right.children = self.children.split_off(from + 1);
        }
        right
    }

    /// Takes the last pair off an inner node whose last child has moved away: it separates the two halves.
    pub(super) fn pop_separator(&mut self) -> (Vec<u8>, u32) {
        let at = self.count() - 1;
        let mut key = Vec::new();
        self.append_key(at, &mut key);
        let row = self.rows[at];
        self.remove(at);
        (key, row)
    }

    /// Appends all pairs (and children) of the right neighbour.
    pub(super) fn absorb(&mut self, right: &Node) {
        for at in 0..right.count() {
            self.push_from(right, at);
        }
        self.children.extend_from_slice(&right.children);
    }

    /// What it takes beside its fixed size.
    pub(super) fn heap_bytes(&self) -> usize {
        self.heap.capacity() + self.children.capacity() * size_of::<u32>()
    }
}

fn length_width(length: usize) -> usize {
    if length < 0x80 { 1 } else { 4 }
}

/// One byte below 128, else four with the highest bit set; then the bytes. Returns the tail reference.
fn append_tail(heap: &mut Vec<u8>, tail: &[u8]) -> u32 {
    let offset = heap.len() as u32;
    if tail.len() < 0x80 {
        heap.push(tail.len() as u8);
    } else {
        heap.extend_from_slice(&(tail.len() as u32 | 1 << 31).to_be_bytes());
    }
    heap.extend_from_slice(tail);
    offset + HEAP_BASE
}

fn read_length(heap: &[u8], at: usize) -> (usize, usize) {
    let first = heap[at];
    if first < 0x80 {
        (usize::from(first), at + 1)
    } else {
        let word = u32::from_be_bytes([first, heap[at + 1], heap[at + 2], heap[at + 3]]);
        ((word & !(1 << 31)) as usize, at + 4)
    }
}
