//! The ordered index: a B+tree over (memcomparable key, row id) pairs.
//!
//! Pairs are unique, keys need not be. A node takes 60 pairs; keys of at most 8 bytes lie inline. Leaves are linked
//! both ways. Ascending loads leave full nodes behind. A [`Place`] is valid until the tree changes; what survives
//! changes is a position by key, from which [`Tree::seek`] dives again.

mod node;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::Bound;

pub(crate) use node::Probe;
use node::{FANOUT, NONE, Node};

use crate::api::KeyBounds;
use crate::slab::Slab;

/// A node with fewer pairs looks for a neighbour to merge with ...
const UNDERFULL: usize = FANOUT / 4;
/// ... and merges if together they leave room for a few inserts.
const MERGED_MAX: usize = FANOUT * 7 / 8;
/// More than enough for 2^32 pairs.
const HEIGHT_MAX: usize = 16;
/// Nodes whose memory is looked at for the sum of all.
const SAMPLED_NODES: u32 = 64;
/// Compaction is due when so many nodes are free, and this part of those in use.
const FREE_NODES_MIN: u32 = 1024;
const FREE_NODES_PART: u32 = 8;
/// Leaves that an estimate counts exactly before it guesses.
const EXACT_LEAVES: usize = 6;

pub(crate) struct Tree {
    nodes: Slab<Node>,
    root: u32,
    /// Levels of inner nodes above the leaves.
    height: usize,
    len: usize,
}

/// A pair in a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    leaf: u32,
    at: usize,
}

/// The inner nodes of a descent and the child taken in each.
struct Path {
    steps: [(u32, u16); HEIGHT_MAX],
    leaf: u32,
}

impl Default for Tree {
    fn default() -> Tree {
        let mut nodes = Slab::default();
        let root = nodes.insert(Node::new());
        Tree { nodes, root, height: 0, len: 0 }
    }
}

impl Tree {
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// What nodes take, with a guess at what those of them have beside their fixed size.
    pub(crate) fn memory_bytes(&self) -> usize {
        let end = self.nodes.end();
        let step = (end / SAMPLED_NODES).max(1);
        let sampled = (0..end).step_by(step as usize).map(|id| self.nodes[id].heap_bytes()).sum::<usize>();
        sampled * step as usize + self.nodes.memory_bytes()
    }

    #[inline]
    fn descend(&self, probe: &Probe<'_>) -> u32 {
        let mut node = self.root;
        for _ in 0..self.height {
            let inner = &self.nodes[node];
            node = inner.children[inner.child_position(probe)];
        }
        node
    }

    fn descend_with_path(&self, probe: &Probe<'_>) -> Path {
        let mut path = Path { steps: [(NONE, 0); HEIGHT_MAX], leaf: self.root };
        for level in 0..self.height {
            let inner = &self.nodes[path.leaf];
            let position = inner.child_position(probe);
            path.steps[level] = (path.leaf, position as u16);
            path.leaf = inner.children[position];
        }
        path
    }

    /// Adds a pair; false if it is there already.
    pub(crate) fn insert(&mut self, key: &[u8], row: u32) -> bool {
        let probe = Probe::new(key, u64::from(row));
        let path = self.descend_with_path(&probe);
        let leaf = &mut self.nodes[path.leaf];
        let at = leaf.lower_bound(&probe);
        if leaf.holds(at, &probe) {
            return false;
        }
        self.len += 1;
        if !leaf.is_full() {
            leaf.insert(at, &probe);
            return true;
        }
        let appending = at == FANOUT && leaf.next == NONE;
        let right_id = self.split_leaf(path.leaf, if appending { FANOUT } else { FANOUT / 2 });
        let left_count = self.nodes[path.leaf].count();
        if at > left_count || appending {
            self.nodes[right_id].insert(at - left_count, &probe);
        } else {
            self.nodes[path.leaf].insert(at, &probe);
        }
        let mut separator = Vec::new();
        self.nodes[right_id].append_key(0, &mut separator);
        let separator_row = self.nodes[right_id].row(0);
        self.insert_child(&path, separator, separator_row, right_id);
        true
    }

    fn split_leaf(&mut self, left_id: u32, from: usize) -> u32 {
        let mut right = self.nodes[left_id].split_off(from);
        let next = self.nodes[left_id].next;
        right.previous = left_id;
        right.next = next;
        let right_id = self.nodes.insert(right);
        self.nodes[left_id].next = right_id;
        if next != NONE {
            self.nodes[next].previous = right_id;
        }
        right_id
    }

    /// Hangs a new node to the right of the path's lowest node, splitting upwards as needed.
    fn insert_child(&mut self, path: &Path, mut key: Vec<u8>, mut row: u32, mut child: u32) {
        for level in (0..self.height).rev() {
            let (node_id, position) = path.steps[level];
            let position = usize::from(position);
            let node = &mut self.nodes[node_id];
            if !node.is_full() {
                node.insert(position, &Probe::new(&key, u64::from(row)));
                node.children.insert(position + 1, child);
                return;
            }
            // Split first; the separator moves up. The appending case keeps the left node full.
            let from = if position == FANOUT { FANOUT - 1 } else { FANOUT / 2 };
            let mut right = node.split_off(from + 1);
            // `split_off` moved the children right of pair `from + 1`; the one between belongs to the right node.
            if let Some(between) = node.children.pop() {
                right.children.insert(0, between);
            }
            let (up_key, up_row) = node.pop_separator();
            let (target, at) =
                if position <= from { (&mut *node, position) } else { (&mut right, position - from - 1) };
            target.insert(at, &Probe::new(&key, u64::from(row)));
            target.children.insert(at + 1, child);
            child = self.nodes.insert(right);
            key = up_key;
            row = up_row;
        }
        let mut root = Node::new();
        root.insert(0, &Probe::new(&key, u64::from(row)));
        root.children = vec![self.root, child];
        self.root = self.nodes.insert(root);
        self.height += 1;
        debug_assert!(self.height < HEIGHT_MAX);
    }

    /// Removes a pair; false if it is not there.
    pub(crate) fn remove(&mut self, key: &[u8], row: u32) -> bool {
        let probe = Probe::new(key, u64::from(row));
        let path = self.descend_with_path(&probe);
        let leaf = &mut self.nodes[path.leaf];
        let at = leaf.lower_bound(&probe);
        if !leaf.holds(at, &probe) {
            return false;
        }
        leaf.remove(at);
        self.len -= 1;
        if leaf.count() < UNDERFULL {
            self.merge_upwards(&path);
        }
        true
    }

    fn merge_upwards(&mut self, path: &Path) {
        for level in (0..self.height).rev() {
            let (parent, position) = path.steps[level];
            let position = usize::from(position);
            let last = self.nodes[parent].children.len() - 1;
            let merged = (position < last && self.merge_pair(parent, position))
                || (position > 0 && self.merge_pair(parent, position - 1));
            if !merged || self.nodes[parent].count() >= UNDERFULL {
                break;
            }
        }
        while self.height > 0 && self.nodes[self.root].children.len() == 1 {
            let child = self.nodes[self.root].children[0];
            self.nodes.remove(self.root, Node::new());
            self.root = child;
            self.height -= 1;
        }
    }

    /// Merges child `position + 1` of `parent` into child `position` if the two are small enough.
    fn merge_pair(&mut self, parent: u32, position: usize) -> bool {
        let left_id = self.nodes[parent].children[position];
        let right_id = self.nodes[parent].children[position + 1];
        let inner = !self.nodes[left_id].children.is_empty();
        let sum = self.nodes[left_id].count() + self.nodes[right_id].count() + usize::from(inner);
        let one_is_empty = self.nodes[left_id].count() == 0 || self.nodes[right_id].count() == 0;
        if sum > MERGED_MAX && !(one_is_empty && sum <= FANOUT) {
            return false;
        }
        let right = self.nodes.remove(right_id, Node::new());
        if inner {
            let mut key = Vec::new();
            self.nodes[parent].append_key(position, &mut key);
            let row = self.nodes[parent].row(position);
            let left = &mut self.nodes[left_id];
            let count = left.count();
            left.insert(count, &Probe::new(&key, u64::from(row)));
        } else {
            self.nodes[left_id].next = right.next;
            if right.next != NONE {
                self.nodes[right.next].previous = left_id;
            }
        }
        self.nodes[left_id].absorb(&right);
        let parent = &mut self.nodes[parent];
        parent.remove(position);
        parent.children.remove(position + 1);
        true
    }

    /// Moves nodes to lower numbers, so many at most, where many are free: the chunks behind them go. False: there is nothing
    /// left to do.
    pub(crate) fn compact(&mut self, steps: usize) -> bool {
        let (end, used) = (self.nodes.end(), self.nodes.len() as u32);
        if end - used <= FREE_NODES_MIN.max(used / FREE_NODES_PART) {
            return false;
        }
        let mut moves = self.nodes.begin_moves();
        let (mut left, mut unused) = (true, None);
        for _ in 0..steps {
            let Some((from, to)) = self.nodes.next_move(&mut moves) else {
                left = false;
                break;
            };
            if !self.move_last_node(from, to) {
                (left, unused) = (false, Some(to));
                break;
            }
        }
        self.nodes.end_moves(moves, unused);
        left
    }

    /// Gives the last node the number of a free one, everywhere where it is known.
    fn move_last_node(&mut self, from: u32, to: u32) -> bool {
        let Some(parent) = self.parent_of(from) else { return false };
        match parent {
            Some((parent, position)) => self.nodes[parent].children[position] = to,
            None => self.root = to,
        }
        let (previous, next) = (self.nodes[from].previous, self.nodes[from].next);
        if previous != NONE {
            self.nodes[previous].next = to;
        }
        if next != NONE {
            self.nodes[next].previous = to;
        }
        self.nodes.move_last(to);
        true
    }

    /// The inner node above a node, and the position in it; `Some(None)` for the root. `None` if no search leads there.
    fn parent_of(&self, id: u32) -> Option<Option<(u32, usize)>> {
        if id == self.root {
            return Some(None);
        }
        if self.nodes[id].count() == 0 {
            return None;
        }
        let mut key = Vec::new();
        self.nodes[id].append_key(0, &mut key);
        let probe = Probe::new(&key, u64::from(self.nodes[id].row(0)));
        let mut node = self.root;
        for _ in 0..self.height {
            let position = self.nodes[node].child_position(&probe);
            let child = self.nodes[node].children[position];
            if child == id {
                return Some(Some((node, position)));
            }
            node = child;
        }
        None
    }

    // ---- reading ----

    /// The first pair that is not below the probe.
    #[inline]
    pub(crate) fn seek(&self, probe: &Probe<'_>) -> Option<Place> {
        let leaf = self.descend(probe);
        self.at_or_after(leaf, self.nodes[leaf].lower_bound(probe))
    }

    /// The last pair below the probe.
    pub(crate) fn seek_before(&self, probe: &Probe<'_>) -> Option<Place> {
        let leaf = self.descend(probe);
        self.before(leaf, self.nodes[leaf].lower_bound(probe))
    }

    pub(crate) fn first(&self) -> Option<Place> {
        let mut node = self.root;
        for _ in 0..self.height {
            node = self.nodes[node].children[0];
        }
        self.at_or_after(node, 0)
    }

    pub(crate) fn last(&self) -> Option<Place> {
        let mut node = self.root;
        for _ in 0..self.height {
            let children = &self.nodes[node].children;
            node = children[children.len() - 1];
        }
        self.before(node, self.nodes[node].count())
    }

    #[inline]
    pub(crate) fn next(&self, place: Place) -> Option<Place> {
        self.at_or_after(place.leaf, place.at + 1)
    }

    #[inline]
    pub(crate) fn previous(&self, place: Place) -> Option<Place> {
        self.before(place.leaf, place.at)
    }

    #[inline]
    fn at_or_after(&self, mut leaf: u32, mut at: usize) -> Option<Place> {
        while at >= self.nodes[leaf].count() {
            leaf = self.nodes[leaf].next;
            at = 0;
            if leaf == NONE {
                return None;
            }
        }
        Some(Place { leaf, at })
    }

    fn before(&self, mut leaf: u32, mut at: usize) -> Option<Place> {
        while at == 0 {
            leaf = self.nodes[leaf].previous;
            if leaf == NONE {
                return None;
            }
            at = self.nodes[leaf].count();
        }
        Some(Place { leaf, at: at - 1 })
    }

    #[inline]
    pub(crate) fn row(&self, place: Place) -> u32 {
        self.nodes[place.leaf].row(place.at)
    }

    /// The rows of the pairs from a place on.
    pub(crate) fn rows_from<'r>(&self, place: Place, rows: &'r mut [u32]) -> &'r [u32] {
        let mut place = Some(place);
        let mut count = 0;
        while let Some(here) = place.filter(|_| count < rows.len()) {
            rows[count] = self.row(here);
            count += 1;
            place = self.next(here);
        }
        &rows[..count]
    }

    pub(crate) fn append_key(&self, place: Place, out: &mut Vec<u8>) {
        self.nodes[place.leaf].append_key(place.at, out);
    }

    /// How the pair's key compares to the probe's key, rows aside.
    #[inline]
    pub(crate) fn compare_key(&self, place: Place, probe: &Probe<'_>) -> Ordering {
        self.nodes[place.leaf].compare_key(place.at, probe)
    }

    /// The first pair of a range.
    pub(crate) fn range_start(&self, range: &KeyBounds) -> Option<Place> {
        match &range.start {
            Bound::Unbounded => self.first(),
            Bound::Included(key) => self.seek(&Probe::before(key)),
            Bound::Excluded(key) => self.seek(&Probe::behind(key)),
        }
    }

    /// The last pair of a range.
    pub(crate) fn range_last(&self, range: &KeyBounds) -> Option<Place> {
        match &range.end {
            Bound::Unbounded => self.last(),
            Bound::Included(key) => self.seek_before(&Probe::behind(key)),
            Bound::Excluded(key) => self.seek_before(&Probe::before(key)),
        }
    }

    /// About how many pairs lie in the range: exact within a few leaves, else from the places in the inner nodes.
    pub(crate) fn estimate(&self, range: &KeyBounds) -> u64 {
        let (Some(first), Some(last)) = (self.range_start(range), self.range_last(range)) else {
            return 0;
        };
        let mut counted = 0;
        let mut leaf = first.leaf;
        for _ in 0..EXACT_LEAVES {
            if leaf == last.leaf {
                return (counted + last.at + 1).saturating_sub(first.at) as u64;
            }
            counted += self.nodes[leaf].count();
            leaf = self.nodes[leaf].next;
            if leaf == NONE {
                return 0;
            }
        }
        let (start, end) = (self.fraction(first), self.fraction(last));
        if end < start { 0 } else { ((end - start) * self.len as f64).round().max(1.0) as u64 }
    }

    /// How far into the tree a place lies, 0 to 1, as if the children of a node were all of one size.
    fn fraction(&self, place: Place) -> f64 {
        let mut key = Vec::new();
        self.append_key(place, &mut key);
        let probe = Probe::new(&key, u64::from(self.row(place)));
        let (mut low, mut width, mut node) = (0.0, 1.0, self.root);
        for _ in 0..self.height {
            let inner = &self.nodes[node];
            let position = inner.child_position(&probe);
            width /= inner.children.len() as f64;
            low += width * position as f64;
            node = inner.children[position];
        }
        low + width * place.at as f64 / self.nodes[node].count().max(1) as f64
    }
}
