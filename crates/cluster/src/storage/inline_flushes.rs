//! Whether it pays that sessions flush the log in their own threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Slower flushes are left to the log's writer: two thread switches count for little beside them.
const INLINE_FLUSH_US_MAX: u64 = 2000;
/// One in so many is tried nevertheless.
const INLINE_FLUSH_TRIAL: u64 = 64;

/// How long flushes in sessions' own threads have taken of late.
#[derive(Default)]
pub(crate) struct InlineFlushes {
    average_us: AtomicU64,
    asked: AtomicU64,
}

impl InlineFlushes {
    pub(super) fn is_worthwhile(&self) -> bool {
        self.average_us.load(Ordering::Relaxed) <= INLINE_FLUSH_US_MAX
            || self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(INLINE_FLUSH_TRIAL)
    }

    pub(super) fn took(&self, time: Duration) {
        let average = self.average_us.load(Ordering::Relaxed);
        self.average_us.store((average * 7 + time.as_micros() as u64) / 8, Ordering::Relaxed);
    }
}
