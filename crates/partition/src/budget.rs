//! The memory budget (`DataMemory`) that all partitions of a process share.
//!
//! A write reserves what its version will cost before it is staged, so that applying a committed entry never fails
//! for want of memory. What is charged is a function of the row's bytes and its table's indexes alone
//! (`Fragment::version_charge`), so that everything given back sums up to everything taken.
//!
//! Five sums grow with work:
//! - *used*: versions of rows and their places in indexes, staged ones included: at most `DataMemory`.
//! - *work*: what transactions need besides: lists of writes, keys and locks, and log entries in the making.
//! - *statements*: what statements keep while they run, and their texts: rows to be sorted, groups, hash tables of joins.
//! - *plans*: what sessions keep of statements that may come again, at most a 32nd of `DataMemory` and 8 MiB.
//! - *excess*: what tables really take beyond *used*: pages that have become sparse and are not compacted yet.
//!
//! Together they are at most `DataMemory` and a reserve ([`MemoryBudget::total_limit_bytes`]), so that rows can still be deleted
//! when all of `DataMemory` is used up. A transaction that finds the reserve used up as well ends in error 1206. Statements leave
//! half of the reserve to transactions and end in error 1041.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::{Error, ErrorCode};

/// The reserve beyond `DataMemory`: this part of it, and so many bytes.
const RESERVE_PART: u64 = 8;
const RESERVE_BYTES: u64 = 96 << 20;
/// What of the reserve is not for statements.
const NOT_FOR_STATEMENTS_PART: u64 = 2;
/// What plans may take: this part of `DataMemory`, and so many bytes.
const PLANS_PART: u64 = 32;
const PLANS_BYTES: u64 = 8 << 20;
/// Old versions, or what is no rows at all, are named in errors when they take this part of `DataMemory`.
const NAMED_PART: u64 = 8;

/// What a process may use for rows, indexes and work, and what of it is used. All figures are bytes.
#[derive(Debug)]
pub struct MemoryBudget {
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
    work_bytes: AtomicU64,
    statement_bytes: AtomicU64,
    plan_bytes: AtomicU64,
    excess_bytes: AtomicU64,
    /// What tables of another node of the process, which counts here as well, were found to take.
    elsewhere_bytes: AtomicU64,
    /// Of `used_bytes`: old versions, when tables were last measured.
    old_bytes: AtomicU64,
}

impl MemoryBudget {
    /// A budget of which nothing is used.
    pub fn new(limit_bytes: u64) -> MemoryBudget {
        MemoryBudget {
            limit_bytes: AtomicU64::new(limit_bytes),
            used_bytes: AtomicU64::new(0),
            work_bytes: AtomicU64::new(0),
            statement_bytes: AtomicU64::new(0),
            plan_bytes: AtomicU64::new(0),
            excess_bytes: AtomicU64::new(0),
            elsewhere_bytes: AtomicU64::new(0),
            old_bytes: AtomicU64::new(0),
        }
    }

    /// What rows, their versions and indexes use.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// What transactions need besides rows.
    pub fn work_bytes(&self) -> u64 {
        self.work_bytes.load(Ordering::Relaxed)
    }

    /// What statements keep while they run.
    pub fn statement_bytes(&self) -> u64 {
        self.statement_bytes.load(Ordering::Relaxed)
    }

    /// What sessions keep of statements that may come again.
    pub fn plan_bytes(&self) -> u64 {
        self.plan_bytes.load(Ordering::Relaxed)
    }

    /// How much may be used.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Changes how much may be used. What is in use stays, if it is more.
    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// What all that is counted here takes at most.
    pub fn total_limit_bytes(&self) -> u64 {
        self.limit_bytes().saturating_add(self.reserve_bytes())
    }

    fn reserve_bytes(&self) -> u64 {
        self.limit_bytes() / RESERVE_PART + RESERVE_BYTES
    }

    /// Tells what tables were found to take, and what of it old versions do.
    pub fn set_measured(&self, bytes: u64, old_bytes: u64) {
        let bytes = bytes.saturating_add(self.elsewhere_bytes());
        self.excess_bytes.store(bytes.saturating_sub(self.used_bytes()), Ordering::Relaxed);
        self.old_bytes.store(old_bytes, Ordering::Relaxed);
    }

    /// The same of tables of another node of the process that counts here as well: temporary ones.
    pub fn set_measured_elsewhere(&self, bytes: u64) {
        self.elsewhere_bytes.store(bytes, Ordering::Relaxed);
    }

    /// What those were found to take.
    pub fn elsewhere_bytes(&self) -> u64 {
        self.elsewhere_bytes.load(Ordering::Relaxed)
    }

    fn all_bytes(&self) -> u64 {
        let excess = self.excess_bytes.load(Ordering::Relaxed);
        self.used_bytes() + self.work_bytes() + self.statement_bytes() + self.plan_bytes() + excess
    }

    fn fits(&self) -> bool {
        self.all_bytes() <= self.total_limit_bytes()
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

    /// Takes `bytes` for what a statement keeps while it runs, if they fit.
    ///
    /// # Errors
    /// 1041 with the figures and the way out.
    pub fn reserve_statement(&self, bytes: u64) -> Result<(), Error> {
        self.statement_bytes.fetch_add(bytes, Ordering::Relaxed);
        let limit = self.total_limit_bytes() - self.reserve_bytes() / NOT_FOR_STATEMENTS_PART;
        if self.all_bytes() <= limit {
            return Ok(());
        }
        self.release_statement(bytes);
        Err(Error::new(
            ErrorCode::OutOfResources,
            format!(
                "The statement needs more memory than is left: DataMemory {}, {} bytes of rows, {} bytes of transactions' changes \
                 and locks and {} bytes of statements' texts, sorts, groups and joins in use, {bytes} bytes more wanted; let it read \
                 less (WHERE, LIMIT, fewer columns), add an index in whose order it can read, or raise DataMemory",
                readable_bytes(self.limit_bytes()),
                self.used_bytes(),
                self.work_bytes(),
                self.statement_bytes()
            ),
        ))
    }

    /// Takes `bytes` that a statement keeps already, whether they fit or not.
    pub fn charge_statement(&self, bytes: u64) {
        self.statement_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives back what a statement has reserved.
    pub fn release_statement(&self, bytes: u64) {
        let before = self.statement_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "released {bytes} of {before} bytes of statements");
    }

    /// Takes `bytes` for a plan that may be wanted again, if there is room for that.
    pub fn try_reserve_plan(&self, bytes: u64) -> bool {
        let plans = self.plan_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let fits = plans <= self.limit_bytes() / PLANS_PART + PLANS_BYTES && self.fits();
        if !fits {
            self.release_plans(bytes);
        }
        fits
    }

    /// Gives back what plans have reserved.
    pub fn release_plans(&self, bytes: u64) {
        let before = self.plan_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "released {bytes} of {before} bytes of plans");
    }

    /// Error 1114 with the figures and the way out. `old_bytes`: of old versions in the partition that is asked.
    pub(crate) fn full(&self, table: &str, old_bytes: u64) -> Error {
        let is_much = |bytes: u64| bytes >= self.limit_bytes() / NAMED_PART;
        let old_bytes = old_bytes.max(self.old_bytes.load(Ordering::Relaxed));
        let (used, work, statements) = (self.used_bytes(), self.work_bytes(), self.statement_bytes());
        let others = match is_much(work + statements) {
            true => format!(", {work} by transactions' changes and locks, {statements} by statements"),
            false => String::new(),
        };
        let way_out = match is_much(old_bytes) {
            true => format!(
                "{old_bytes} bytes are old versions that open snapshots need: end transactions that have been open for long, or \
                 raise DataMemory"
            ),
            false => "raise DataMemory or delete rows".to_owned(),
        };
        let limit = readable_bytes(self.limit_bytes());
        Error::new(
            ErrorCode::RecordFileFull,
            format!(
                "The table '{table}' is full: DataMemory {limit} used up ({used} bytes in use{others}); {way_out}"
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
        budget.set_measured(210 << 20, 0);
        assert!(!budget.try_reserve(20 << 20));
        budget.set_measured(20 << 20, 0);
        assert!(budget.try_reserve(20 << 20));
    }

    #[test]
    fn the_error_names_table_limit_and_use() {
        let budget = MemoryBudget::new(512 << 20);
        budget.charge(5);
        let error = budget.full("t", 0);
        assert_eq!(error.errno(), 1114);
        assert_eq!(
            error.message(),
            "The table 't' is full: DataMemory 512M used up (5 bytes in use); raise DataMemory or delete rows"
        );
    }

    #[test]
    fn the_error_names_old_versions_and_what_is_no_rows_when_they_are_much_of_it() {
        let budget = MemoryBudget::new(512 << 20);
        budget.charge(300 << 20);
        budget.reserve_work(200 << 20).unwrap();
        budget.set_measured(300 << 20, 63 << 20);
        assert!(!budget.full("t", 1 << 20).message().contains("old versions"));
        let message = budget.full("t", 65 << 20).message().to_owned();
        assert!(
            message.contains("; 68157440 bytes are old versions that open snapshots need: end trans"),
            "{message}"
        );
        assert!(message.contains("209715200 by transactions' changes and locks, 0 by statements"), "{message}");
        budget.set_measured(300 << 20, 100 << 20);
        assert!(budget.full("t", 0).message().contains("104857600 bytes are old versions"));
    }

    #[test]
    fn plans_have_a_share_of_their_own() {
        let budget = MemoryBudget::new(320 << 20);
        assert!(budget.try_reserve_plan(18 << 20));
        assert!(!budget.try_reserve_plan(1));
        budget.release_plans(18 << 20);
        budget.charge(320 << 20);
        budget.reserve_work(136 << 20).unwrap();
        assert!(!budget.try_reserve_plan(1));
        assert_eq!(budget.plan_bytes(), 0);
    }

    #[test]
    fn statements_leave_half_of_the_reserve_to_transactions() {
        let budget = MemoryBudget::new(800 << 20);
        budget.charge(700 << 20);
        let error = budget.reserve_statement(199 << 20).unwrap_err();
        assert_eq!((error.errno(), budget.statement_bytes()), (1041, 0), "{error}");
        budget.reserve_statement(198 << 20).unwrap();
        assert!(budget.reserve_statement(1).is_err());
        budget.reserve_work(98 << 20).unwrap();
        assert!(budget.reserve_work(1).is_err());
        budget.release_statement(198 << 20);
        assert!(budget.try_reserve(100 << 20));
    }
}
