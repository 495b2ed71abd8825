//! Which errors statements have ended with: `performance_schema.events_errors_summary_global_by_error`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// More than threads that serve sessions, on most machines.
const SHARDS: usize = 64;

thread_local! {
    /// The shard of this thread: threads take them in turn.
    static SHARD: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS
    };
}

/// Of one error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorCount {
    pub raised: u64,
    /// Microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
}

impl ErrorCount {
    fn add(&mut self, other: ErrorCount) {
        self.raised += other.raised;
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
    }
}

/// By number. Only statements that fail touch it, each thread its own shard; whoever reads takes all of them together.
#[derive(Debug)]
pub(crate) struct ErrorCounts([Shard; SHARDS]);

/// On a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(Mutex<BTreeMap<u16, ErrorCount>>);

impl Default for ErrorCounts {
    fn default() -> ErrorCounts {
        ErrorCounts(std::array::from_fn(|_| Shard::default()))
    }
}

impl ErrorCounts {
    /// `now` in microseconds since 1970.
    pub fn count(&self, errno: u16, now: i64) {
        let one = ErrorCount { raised: 1, first_seen: now, last_seen: now };
        let mut counts = self.0[SHARD.with(|shard| *shard)].0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(errno).and_modify(|count| count.add(one)).or_insert(one);
    }

    pub fn list(&self) -> BTreeMap<u16, ErrorCount> {
        let mut sums: BTreeMap<u16, ErrorCount> = BTreeMap::new();
        for shard in &self.0 {
            for (&errno, &count) in shard.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                sums.entry(errno).and_modify(|sum| sum.add(count)).or_insert(count);
            }
        }
        sums
    }

    /// TRUNCATE TABLE.
    pub fn clear(&self) {
        for shard in &self.0 {
            shard.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_threads_are_counted_together() {
        let counts = ErrorCounts::default();
        std::thread::scope(|scope| {
            for thread in 0..5 {
                let counts = &counts;
                scope.spawn(move || {
                    for moment in 0..100 {
                        counts.count(1146, 10 * moment + thread);
                    }
                });
            }
        });
        counts.count(1062, 7);
        let expected = [
            (1062, ErrorCount { raised: 1, first_seen: 7, last_seen: 7 }),
            (1146, ErrorCount { raised: 500, first_seen: 0, last_seen: 994 }),
        ];
        assert_eq!(counts.list(), BTreeMap::from(expected));
        counts.clear();
        assert!(counts.list().is_empty());
    }
}
