//! How long statements took, by kind: histograms that cost a statement two loads and two stores.
//!
//! Each thread with sessions has histograms of its own, in cache lines of its own, and all its sessions count in them; they are merged
//! when somebody asks. Buckets are as in HdrHistogram: four to each power of two of microseconds, so a bound is at most a quarter off.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use crate::counters::Counter;

/// What a statement was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
    Other,
}

/// Names of the kinds, in the order of `StatementKind`.
pub(crate) const KIND_NAMES: [&str; 5] = ["select", "insert", "update", "delete", "other"];

/// Of a power of two, as a power of two.
const STEPS_BITS: u32 = 2;
const STEPS: u64 = 1 << STEPS_BITS;
/// As a power of two of microseconds: from 2^27 us on, some 134 s, all is one bucket.
pub const POWERS: u32 = 27;
/// Times below four microseconds have a bucket each; then four to a power of two, and one for all beyond.
pub const BUCKETS: usize = (STEPS as u32 + (POWERS - STEPS_BITS) * STEPS as u32 + 1) as usize;

/// The times of one kind of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// How many fell into each.
    pub buckets: [u64; BUCKETS],
    /// All of them together.
    pub sum_us: u64,
    /// Those of them that failed.
    pub errors: u64,
}

impl Default for Times {
    fn default() -> Times {
        Times { buckets: [0; BUCKETS], sum_us: 0, errors: 0 }
    }
}

impl Times {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// The bucket of a time.
#[inline]
pub(crate) fn bucket_of(us: u64) -> usize {
    if us < STEPS {
        return us as usize;
    }
    let power = us.ilog2();
    if power >= POWERS {
        return BUCKETS - 1;
    }
    let step = (us >> (power - STEPS_BITS)) & (STEPS - 1);
    (u64::from(power - STEPS_BITS) * STEPS + STEPS + step) as usize
}

/// Microseconds that a bucket's times are below; the last one has no bound but `u64::MAX`.
pub fn bound_us(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    if next <= STEPS {
        return next;
    }
    if next >= BUCKETS as u64 {
        return u64::MAX;
    }
    let (power, step) = (next / STEPS - 1, next % STEPS);
    (STEPS + step) << power
}

#[derive(Debug)]
struct Cells {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
    errors: AtomicU64,
}

/// One thread's times. Nobody else's counts are in its cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ThreadTimes([Cells; KIND_NAMES.len()]);

impl Default for ThreadTimes {
    fn default() -> ThreadTimes {
        ThreadTimes(std::array::from_fn(|_| Cells {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_us: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        }))
    }
}

impl ThreadTimes {
    /// Counts a statement. Only sessions of one thread do, so loads and stores are enough.
    #[inline]
    pub fn record(&self, kind: StatementKind, us: u64, failed: bool) {
        let cells = &self.0[kind as usize];
        let add = |cell: &AtomicU64, amount| {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
        };
        add(&cells.buckets[bucket_of(us)], 1);
        add(&cells.sum_us, us);
        if failed {
            add(&cells.errors, 1);
        }
    }
}

/// The times of all threads.
#[derive(Debug, Default)]
pub(crate) struct StatementTimes {
    threads: Mutex<HashMap<ThreadId, Arc<ThreadTimes>>>,
    /// What was in the buckets at the last TRUNCATE. Monitoring goes on with all of it.
    forgotten: Mutex<Option<Box<[u64; BUCKETS]>>>,
}

impl StatementTimes {
    /// Those of the thread that asks, where a session that begins stays.
    pub fn of_this_thread(&self) -> Arc<ThreadTimes> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(threads.entry(std::thread::current().id()).or_default())
    }

    /// By kind, in the order of [`KIND_NAMES`].
    pub fn merged(&self) -> [Times; KIND_NAMES.len()] {
        let mut merged: [Times; KIND_NAMES.len()] = Default::default();
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).values() {
            for (times, cells) in merged.iter_mut().zip(&thread.0) {
                for (sum, cell) in times.buckets.iter_mut().zip(&cells.buckets) {
                    *sum += cell.load(Ordering::Relaxed);
                }
                times.sum_us += cells.sum_us.load(Ordering::Relaxed);
                times.errors += cells.errors.load(Ordering::Relaxed);
            }
        }
        merged
    }

    /// How many statements of all kinds fell into each bucket since the last TRUNCATE.
    pub fn histogram(&self) -> [u64; BUCKETS] {
        let mut counts = self.buckets();
        if let Some(forgotten) = &*self.forgotten.lock().unwrap_or_else(PoisonError::into_inner) {
            counts.iter_mut().zip(&**forgotten).for_each(|(count, old)| *count = count.saturating_sub(*old));
        }
        counts
    }

    fn buckets(&self) -> [u64; BUCKETS] {
        let mut counts = [0; BUCKETS];
        for times in self.merged() {
            counts.iter_mut().zip(times.buckets).for_each(|(sum, count)| *sum += count);
        }
        counts
    }

    /// TRUNCATE TABLE events_statements_histogram_global.
    pub fn forget_histogram(&self) {
        let counts = self.buckets();
        *self.forgotten.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(counts));
    }
}

/// The kind of a planned statement, by what it is counted as.
#[inline]
pub(crate) fn kind_of(counter: Counter) -> StatementKind {
    match counter {
        Counter::ComSelect => StatementKind::Select,
        Counter::ComInsert | Counter::ComInsertSelect | Counter::ComReplace | Counter::ComReplaceSelect => {
            StatementKind::Insert
        }
        Counter::ComUpdate | Counter::ComUpdateMulti => StatementKind::Update,
        Counter::ComDelete | Counter::ComDeleteMulti => StatementKind::Delete,
        _ => StatementKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_below_the_bound_of_its_bucket_and_not_of_the_one_before() {
        for us in (0..5000).chain((12..40).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 7])) {
            let bucket = bucket_of(us);
            assert!(us < bound_us(bucket), "{us}");
            assert!(bucket == 0 || us >= bound_us(bucket - 1), "{us} in {bucket}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert!((0..BUCKETS - 2).all(|bucket| bound_us(bucket) < bound_us(bucket + 1)));
        assert_eq!(bound_us(BUCKETS - 2), 1 << POWERS);
    }

    #[test]
    fn threads_count_for_themselves_and_are_merged() {
        let times = StatementTimes::default();
        let count = |us, failed| times.of_this_thread().record(StatementKind::Update, us, failed);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || (0..100).for_each(|one| count(thread * 100 + one, one == 7)));
            }
        });
        let merged = times.merged();
        let updates = &merged[StatementKind::Update as usize];
        assert_eq!((updates.count(), updates.sum_us, updates.errors), (400, 399 * 200, 4));
        assert_eq!(merged[StatementKind::Select as usize], Times::default());
    }
}
