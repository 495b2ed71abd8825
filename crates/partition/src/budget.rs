//! The memory budget (`DataMemory`) that all partitions of a process share.
//!
//! A write reserves what its version will cost before it is staged, so that applying a committed entry never fails
//! for want of memory. What is charged is a function of the row's bytes and its table's indexes alone
//! (`Fragment::version_charge`), so that everything given back sums up to everything taken.
//!
//! Three sums grow with work:
//! - *used*: versions of rows and their places in indexes, staged ones included: at most `DataMemory`.
//! - *work*: what transactions need besides: lists of writes, keys and locks, and log entries in the making.
//! - *excess*: what tables really take beyond *used*: pages that have become sparse and are not compacted yet.
//!
//! Together they are at most `DataMemory` and a reserve ([`MemoryBudget::total_limit_bytes`]), so that rows can still be deleted
//! when all of `DataMemory` is used up. A transaction that finds the reserve used up as well ends in error 1206.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::{Error, ErrorCode};

/// The reserve beyond `DataMemory`: this part of it, and so many bytes.
const RESERVE_PART: u64 = 8;
const RESERVE_BYTES: u64 = 96 << 20;

#[derive(Debug)]
pub struct MemoryBudget {
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
    work_bytes: AtomicU64,
    excess_bytes: AtomicU64,
}

impl MemoryBudget {
    pub fn new(limit_bytes: u64) -> MemoryBudget {
        MemoryBudget {
            limit_bytes: AtomicU64::new(limit_bytes),
            used_bytes: AtomicU64::new(0),
            work_bytes: AtomicU64::new(0),
            excess_bytes: AtomicU64::new(0),
        }
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// What transactions need besides rows.
    pub fn work_bytes(&self) -> u64 {
        self.work_bytes.load(Ordering::Relaxed)
    }

    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// What all that is counted here takes at most.
    pub fn total_limit_bytes(&self) -> u64 {
        let limit = self.limit_bytes();
        limit.saturating_add(limit / RESERVE_PART).saturating_add(RESERVE_BYTES)
    }

    /// Tells what tables were found to take.
    pub fn set_measured_bytes(&self, bytes: u64) {
        self.excess_bytes.store(bytes.saturating_sub(self.used_bytes()), Ordering::Relaxed);
    }

    fn fits(&self) -> bool {
        let excess = self.excess_bytes.load(Ordering::Relaxed);
        self.used_bytes() + self.work_bytes() + excess <= self.total_limit_bytes()
    }

    /// Takes `bytes` if they fit.
    pub(crate) fn try_reserve(&self, bytes: u64) -> bool {
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        if used.saturating_add(bytes) > self.limit_bytes() || !self.fits() {
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

    /// Takes `bytes` for a transaction if they fit.
    ///
    /// # Errors
    /// 1206 with the figures and the way out.
    pub(crate) fn reserve_work(&self, bytes: u64) -> Result<(), Error> {
        self.work_bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.fits() {
            return Ok(());
        }
        self.release_work(bytes);
        Err(Error::new(
            ErrorCode::LockTableFull,
            format!(
                "The transaction is too large for the memory that is left: DataMemory {}, {} bytes of rows and {} bytes of \
                 transactions' changes and locks in use; commit smaller parts (DELETE ... LIMIT) or raise DataMemory",
                readable_bytes(self.limit_bytes()),
                self.used_bytes(),
                self.work_bytes()
            ),
        ))
    }

    pub(crate) fn release_work(&self, bytes: u64) {
        if bytes > 0 {
            let before = self.work_bytes.fetch_sub(bytes, Ordering::Relaxed);
            debug_assert!(before >= bytes, "released {bytes} of {before} bytes of work");
        }
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
    fn work_may_take_what_rows_leave_and_a_reserve_and_no_more() {
        let budget = MemoryBudget::new(800 << 20);
        budget.charge(800 << 20);
        assert!(!budget.try_reserve(1));
        budget.reserve_work(196 << 20).unwrap();
        let error = budget.reserve_work(1).unwrap_err();
        assert_eq!(error.errno(), 1206);
        assert!(
            error.message().contains("DataMemory 800M, 838860800 bytes of rows and 205520896 bytes"),
            "{error}"
        );
        budget.release(700 << 20);
        budget.reserve_work(700 << 20).unwrap();
        assert!(!budget.try_reserve(1), "what transactions take is not there for rows");
        budget.release_work(896 << 20);
        assert!(budget.try_reserve(700 << 20));
    }

    #[test]
    fn pages_that_are_not_compacted_yet_count() {
        let budget = MemoryBudget::new(100 << 20);
        budget.charge(10 << 20);
        budget.set_measured_bytes(210 << 20);
        assert!(!budget.try_reserve(20 << 20));
        budget.set_measured_bytes(20 << 20);
        assert!(budget.try_reserve(20 << 20));
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
