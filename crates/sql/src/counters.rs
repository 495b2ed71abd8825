//! What SHOW STATUS counts. Each session has its own block, written by its own task alone and read by all.

use std::sync::atomic::{AtomicU64, Ordering};

/// Handler_* counts of one statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandlerCounters {
    pub read_key: u64,
    pub read_next: u64,
    /// Full scans begun.
    pub read_rnd: u64,
    /// Rows that full scans saw.
    pub read_rnd_next: u64,
    pub write: u64,
    pub update: u64,
    pub delete: u64,
}

macro_rules! counters {
    ($($name:ident $text:literal,)*) => {
        /// A status variable that sessions count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter {
            $($name,)*
        }

        /// Names as SHOW STATUS prints them, in the order of `Counter`.
        pub const COUNTER_NAMES: &[&str] = &[$($text,)*];
    };
}

counters! {
    Queries "Queries",
    Questions "Questions",
    ComSelect "Com_select",
    ComInsert "Com_insert",
    ComInsertSelect "Com_insert_select",
    ComUpdate "Com_update",
    ComUpdateMulti "Com_update_multi",
    ComDelete "Com_delete",
    ComDeleteMulti "Com_delete_multi",
    ComReplace "Com_replace",
    ComReplaceSelect "Com_replace_select",
    ComLoad "Com_load",
    ComBegin "Com_begin",
    ComCommit "Com_commit",
    ComRollback "Com_rollback",
    ComRollbackToSavepoint "Com_rollback_to_savepoint",
    ComSavepoint "Com_savepoint",
    ComReleaseSavepoint "Com_release_savepoint",
    ComSetOption "Com_set_option",
    ComShow "Com_show",
    ComChangeDb "Com_change_db",
    ComCreateTable "Com_create_table",
    ComCreateDb "Com_create_db",
    ComCreateIndex "Com_create_index",
    ComAlterTable "Com_alter_table",
    ComDropTable "Com_drop_table",
    ComDropDb "Com_drop_db",
    ComDropIndex "Com_drop_index",
    ComTruncate "Com_truncate",
    ComRenameTable "Com_rename_table",
    ComStmtPrepare "Com_stmt_prepare",
    ComStmtExecute "Com_stmt_execute",
    ComStmtClose "Com_stmt_close",
    ComStmtReset "Com_stmt_reset",
    ComStmtFetch "Com_stmt_fetch",
    ComPrepareSql "Com_prepare_sql",
    ComExecuteSql "Com_execute_sql",
    ComDeallocSql "Com_dealloc_sql",
    ComKill "Com_kill",
    ComExplain "Com_explain_other",
    ComOther "Com_other",
    HandlerCommit "Handler_commit",
    HandlerRollback "Handler_rollback",
    HandlerReadKey "Handler_read_key",
    HandlerReadFirst "Handler_read_first",
    HandlerReadNext "Handler_read_next",
    HandlerReadRndNext "Handler_read_rnd_next",
    HandlerWrite "Handler_write",
    HandlerUpdate "Handler_update",
    HandlerDelete "Handler_delete",
    SelectScan "Select_scan",
    SlowQueries "Slow_queries",
    PlanCacheHits "Shoal_plan_cache_hits",
    PlanCacheMisses "Shoal_plan_cache_misses",
    ExecuteCount "Ndb_execute_count",
    ScanCount "Ndb_scan_count",
    PrunedScanCount "Ndb_pruned_scan_count",
    ReadRowCount "Ndb_api_read_row_count",
    PrimaryKeyOperations "Ndb_api_pk_op_count",
    UniqueKeyOperations "Ndb_api_uk_op_count",
    RangeScans "Ndb_api_range_scan_count",
    TableScans "Ndb_api_table_scan_count",
    TransactionCommits "Ndb_api_trans_commit_count",
    TransactionAborts "Ndb_api_trans_abort_count",
}

/// One session's counts.
#[derive(Debug)]
pub struct Counters([AtomicU64; COUNTER_NAMES.len()]);

impl Default for Counters {
    fn default() -> Counters {
        Counters(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Counters {
    /// Only the owning session adds, so a load and a store do.
    pub fn add(&self, counter: Counter, amount: u64) {
        if amount > 0 {
            let cell = &self.0[counter as usize];
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
        }
    }

    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }

    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|cell| cell.load(Ordering::Relaxed))
    }

    pub fn reset(&self) {
        self.0.iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
    }

    pub fn add_handlers(&self, handlers: &HandlerCounters) {
        self.add(Counter::HandlerReadKey, handlers.read_key);
        self.add(Counter::HandlerReadNext, handlers.read_next);
        self.add(Counter::SelectScan, handlers.read_rnd);
        self.add(Counter::HandlerReadRndNext, handlers.read_rnd_next);
        self.add(Counter::HandlerWrite, handlers.write);
        self.add(Counter::HandlerUpdate, handlers.update);
        self.add(Counter::HandlerDelete, handlers.delete);
    }

    pub fn add_transaction(&self, work: &shoal_txn::TransactionCounters) {
        self.add(Counter::ExecuteCount, work.execute_count);
        self.add(Counter::ScanCount, work.scan_count);
        self.add(Counter::PrunedScanCount, work.pruned_scan_count);
        self.add(Counter::ReadRowCount, work.read_row_count);
        self.add(Counter::PrimaryKeyOperations, work.primary_key_operations);
        self.add(Counter::UniqueKeyOperations, work.unique_key_operations);
        self.add(Counter::RangeScans, work.range_scans);
        self.add(Counter::TableScans, work.table_scans);
        self.add(Counter::TransactionCommits, work.commits);
        self.add(Counter::TransactionAborts, work.rollbacks);
        self.add(Counter::HandlerCommit, work.commits);
        self.add(Counter::HandlerRollback, work.rollbacks);
    }
}
