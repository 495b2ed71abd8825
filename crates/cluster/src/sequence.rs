//! AUTO_INCREMENT counters: values come from memory, and the log knows a bound that none of them has passed.
//!
//! The bound is raised by the commits themselves: a commit that has used values beyond it writes a new one, some
//! values ahead, in its own log batch. So nobody ever waits for it, and a value that was acknowledged is never given
//! out again after a crash; what lies between it and the bound is lost. A clean shutdown writes the exact counter.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// Values ahead of need: the first bound, doubled by every further one.
const FIRST_BLOCK: u64 = 16;
const LARGEST_BLOCK: u64 = 4096;

/// The next value, as an [`AtomicU64`] that callers count up, and its bound in the log.
#[derive(Debug)]
pub struct Sequence {
    next: AtomicU64,
    bound: AtomicU64,
    block: AtomicU64,
}

impl Sequence {
    pub fn new(next: u64) -> Sequence {
        Sequence { next: AtomicU64::new(next), bound: AtomicU64::new(0), block: AtomicU64::new(FIRST_BLOCK) }
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
