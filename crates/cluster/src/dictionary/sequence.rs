//! AUTO_INCREMENT counters: values come from memory, and the log knows a bound that none of them has passed.
//!
//! The bound is raised by the commits themselves: a commit that has used values beyond it writes a new one, some
//! values ahead, in its own log batch. So nobody ever waits for it, and a value that was acknowledged is never given
//! out again after a crash; what lies between it and the bound is lost. A clean shutdown writes the exact counter.
//!
//! In a cluster every node with sessions has blocks of values to itself, so values of different nodes do not rise together;
//! what is left of a block when a node stops is lost. Values that users give are reported before their rows are written.

use std::ops::{Deref, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::wait::lock;

/// Values ahead of need: the first bound, doubled by every further one.
const FIRST_BLOCK: u64 = 16;
const LARGEST_BLOCK: u64 = 4096;

/// The next value, as an [`AtomicU64`] that callers count up, and its bound in the log.
#[derive(Debug)]
pub struct Sequence {
    next: AtomicU64,
    bound: AtomicU64,
    block: AtomicU64,
    /// In a cluster: the values that this node may give out.
    own: Mutex<Block>,
}

/// Values of a cluster's sequence.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    start: u64,
    end: u64,
    /// No other node gives out values below this any more, as far as is known here.
    known_next: u64,
    /// The greatest value that a statement here has stored without generating it.
    given: u64,
}

impl Sequence {
    /// A sequence that gives out `next` first.
    pub fn new(next: u64) -> Sequence {
        Sequence {
            next: AtomicU64::new(next),
            bound: AtomicU64::new(0),
            block: AtomicU64::new(FIRST_BLOCK),
            own: Mutex::default(),
        }
    }

    /// Values of this node's block, if so many are left behind those that were given.
    pub(super) fn take_own(&self, count: u64) -> Option<Range<u64>> {
        let mut own = lock(&self.own);
        let start = own.start.max(self.next.load(Ordering::Relaxed));
        let end = start.checked_add(count).filter(|&end| end <= own.end)?;
        own.start = end;
        self.next.fetch_max(end, Ordering::Relaxed);
        Some(start..end)
    }

    /// Values that were taken and not used, if they are the last ones that were.
    pub fn give_back(&self, numbers: Range<u64>) {
        let mut own = lock(&self.own);
        let (start, end) = (numbers.start.max(own.given.saturating_add(1)), numbers.end);
        let is_last = start < end && own.start == end;
        if is_last && self.next.compare_exchange(end, start, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            own.start = start;
        }
    }

    /// A statement stores a value that it has not generated: those generated later are greater.
    pub fn note_given(&self, number: u64) {
        let mut own = lock(&self.own);
        own.given = own.given.max(number);
        self.next.fetch_max(number.saturating_add(1), Ordering::Relaxed);
    }

    /// How many values the next block should have.
    pub(super) fn next_block(&self, count: u64) -> u64 {
        let block = self.block.load(Ordering::Relaxed);
        self.block.store((block * 2).min(LARGEST_BLOCK), Ordering::Relaxed);
        block.max(count)
    }

    /// Gives this node a block, or as many values more if it begins where the present one ends.
    pub(super) fn put_own(&self, start: u64, count: u64) {
        let mut own = lock(&self.own);
        let end = start.saturating_add(count);
        let is_continued = own.end == start && own.start < own.end;
        let first = if is_continued { own.start } else { start };
        *own = Block { start: first, end, known_next: end, given: own.given };
        self.next.fetch_max(first, Ordering::Relaxed);
    }

    /// Whether some node may still generate this value.
    pub(super) fn may_come(&self, number: u64) -> bool {
        let own = lock(&self.own);
        number >= own.end && number >= own.known_next
    }

    /// Values were given out that the log does not know of.
    #[inline]
    pub(crate) fn needs_bound(&self) -> bool {
        self.next.load(Ordering::Relaxed) > self.bound.load(Ordering::Relaxed)
    }

    /// A new bound, to be written. Called by one thread at a time.
    pub(crate) fn raise_bound(&self) -> u64 {
        let block = self.block.load(Ordering::Relaxed);
        self.block.store((block * 2).min(LARGEST_BLOCK), Ordering::Relaxed);
        let bound = self.next.load(Ordering::Relaxed).saturating_add(block);
        self.bound.store(bound, Ordering::Relaxed);
        bound
    }

    /// The counter itself as the bound, at shutdown.
    pub(crate) fn exact_bound(&self) -> u64 {
        let next = self.next.load(Ordering::Relaxed);
        self.bound.store(next, Ordering::Relaxed);
        next
    }

    pub(crate) fn bound(&self) -> u64 {
        self.bound.load(Ordering::Relaxed)
    }

    /// Goes on from what the log says.
    pub(crate) fn restore(&self, next: u64) {
        self.next.store(next.max(1), Ordering::Relaxed);
        self.bound.store(next, Ordering::Relaxed);
    }
}

impl Deref for Sequence {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        &self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_were_not_needed_are_given_out_again_unless_others_were_taken_or_given_meanwhile() {
        let sequence = Sequence::new(1);
        sequence.put_own(1, 16);
        assert_eq!(sequence.take_own(4), Some(1..5));
        sequence.give_back(3..5);
        assert_eq!(sequence.take_own(2), Some(3..5));
        assert_eq!(sequence.take_own(2), Some(5..7));
        sequence.give_back(4..5);
        assert_eq!(sequence.take_own(1), Some(7..8));
        // A value that was given is not generated, whether it was reserved or not.
        sequence.note_given(7);
        sequence.give_back(7..8);
        assert_eq!(sequence.take_own(1), Some(8..9));
        sequence.note_given(12);
        sequence.give_back(8..9);
        assert_eq!(sequence.take_own(1), Some(13..14));
    }

    #[test]
    fn a_block_that_goes_on_where_the_last_one_ends_leaves_no_gap() {
        let sequence = Sequence::new(1);
        sequence.put_own(1, 16);
        assert_eq!(sequence.take_own(10), Some(1..11));
        assert_eq!(sequence.take_own(10), None);
        sequence.put_own(17, 32);
        assert_eq!(sequence.take_own(10), Some(11..21));
        // Another node has taken values meanwhile.
        sequence.put_own(100, 16);
        assert_eq!(sequence.take_own(3), Some(100..103));
    }

    #[test]
    fn the_bound_is_ahead_of_all_values_given_out() {
        let sequence = Sequence::new(1);
        assert!(sequence.needs_bound());
        for _ in 0..10_000 {
            sequence.fetch_add(1, Ordering::Relaxed);
            if sequence.needs_bound() {
                sequence.raise_bound();
            }
            assert!(sequence.bound() >= sequence.load(Ordering::Relaxed));
        }
        assert_eq!(sequence.exact_bound(), 10_001);
    }
}
