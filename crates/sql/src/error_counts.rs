//! Which errors statements have ended with: `performance_schema.events_errors_summary_global_by_error`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Of one error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorCount {
    pub raised: u64,
    /// Microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
}

/// By number. Only statements that fail touch it.
#[derive(Debug, Default)]
pub(crate) struct ErrorCounts(Mutex<BTreeMap<u16, ErrorCount>>);

impl ErrorCounts {
    /// `now` in microseconds since 1970.
    pub fn count(&self, errno: u16, now: i64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(errno).or_insert(ErrorCount { first_seen: now, ..ErrorCount::default() });
        count.raised += 1;
        count.last_seen = now;
    }

    pub fn list(&self) -> BTreeMap<u16, ErrorCount> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// TRUNCATE TABLE.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
