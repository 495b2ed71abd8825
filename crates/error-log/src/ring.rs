//! The newest entries of a log, in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Entries that a ring keeps, and bytes of their texts.
const ENTRIES_MAX: usize = 10_000;
const TEXT_BYTES_MAX: usize = 4 << 20;

/// The newest entries.
pub struct Ring<T>(Mutex<Kept<T>>);

struct Kept<T> {
    /// Oldest first, with the bytes of each one's text.
    entries: VecDeque<(Arc<T>, usize)>,
    text_bytes: usize,
    /// Those that had to make room.
    expired: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring(Mutex::new(Kept { entries: VecDeque::new(), text_bytes: 0, expired: 0 }))
    }
}

impl<T> Ring<T> {
    /// Adds an entry; the oldest ones go. One that is larger than the ring is not kept.
    pub fn push(&self, entry: &Arc<T>, bytes: usize) {
        if bytes > TEXT_BYTES_MAX {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entries.push_back((Arc::clone(entry), bytes));
        kept.text_bytes += bytes;
        while kept.entries.len() > ENTRIES_MAX || kept.text_bytes > TEXT_BYTES_MAX {
            let Some((_, oldest)) = kept.entries.pop_front() else { break };
            kept.text_bytes -= oldest;
            kept.expired += 1;
        }
    }

    /// The oldest first.
    pub fn entries(&self) -> Vec<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entries.iter().map(|(entry, _)| Arc::clone(entry)).collect()
    }

    /// How many entries there are, the bytes of their texts, and how many have had to make room.
    pub fn figures(&self) -> (usize, usize, u64) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.entries.len(), kept.text_bytes, kept.expired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_go() {
        let ring = Ring::default();
        for number in 0..9 {
            ring.push(&Arc::new(number), 1 << 20);
        }
        ring.push(&Arc::new(9), TEXT_BYTES_MAX + 1);
        assert_eq!(ring.entries().iter().map(|entry| **entry).collect::<Vec<i32>>(), [5, 6, 7, 8]);
        assert_eq!(ring.figures(), (4, 4 << 20, 5));
    }
}
