//! The memory budget (`DataMemory`) that all partitions of a process share.
//!
//! A write reserves what its version will cost before it is staged, so that applying a committed entry never fails
//! for want of memory. What is charged is a function of the row's bytes and its table's indexes alone
//! (`Fragment::version_charge`), so that everything given back sums up to everything taken.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::{Error, ErrorCode};

#[derive(Debug)]
pub struct MemoryBudget {
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
}

impl MemoryBudget {
    pub fn new(limit_bytes: u64) -> MemoryBudget {
        MemoryBudget { limit_bytes: AtomicU64::new(limit_bytes), used_bytes: AtomicU64::new(0) }
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` if they fit.
    pub(crate) fn try_reserve(&self, bytes: u64) -> bool {
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        if used.saturating_add(bytes) > self.limit_bytes() {
            self.release(bytes);
            return false;
        }
        true
    }

    /// Takes `bytes` whether they fit or not: for state that is committed already.
    pub(crate) fn charge(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: u64) {
        let before = self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "released {bytes} of {before} bytes");
    }

    /// Error 1114 with the figures and the way out.
    pub(crate) fn full(&self, table: &str) -> Error {
        Error::new(
            ErrorCode::RecordFileFull,
            format!(
                "The table '{table}' is full: DataMemory {} used up ({} bytes in use); raise DataMemory or delete rows",
                readable_bytes(self.limit_bytes()),
                self.used_bytes()
            ),
        )
    }
}

/// `536870912` as `512M`; figures that are no round number of a unit stay in bytes.
fn readable_bytes(bytes: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_that_does_not_fit_takes_nothing() {
        let budget = MemoryBudget::new(100);
        assert!(budget.try_reserve(60));
        assert!(!budget.try_reserve(41));
        assert_eq!(budget.used_bytes(), 60);
        assert!(budget.try_reserve(40));
    }

    #[test]
    fn the_error_names_table_limit_and_use() {
        let budget = MemoryBudget::new(512 << 20);
        budget.charge(5);
        let error = budget.full("t");
        assert_eq!(error.errno(), 1114);
        assert_eq!(
            error.message(),
            "The table 't' is full: DataMemory 512M used up (5 bytes in use); raise DataMemory or delete rows"
        );
    }
}
