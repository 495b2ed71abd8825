//! Figures that InnoDB has names for.

use crate::counters::{COUNTER_NAMES, Counter};
use crate::server::Server;

/// InnoDB's pages, in which memory is told.
pub(crate) const PAGE_BYTES: u64 = 16 << 10;

/// A row of INNODB_METRICS.
pub(crate) struct Figure {
    pub name: &'static str,
    pub subsystem: &'static str,
    pub value: u64,
    /// It only grows.
    pub is_count: bool,
    pub comment: &'static str,
}

impl Figure {
    pub fn kind(&self) -> &'static str {
        if self.is_count { "status_counter" } else { "value" }
    }
}

/// What is counted here and has a name there.
pub(crate) fn figures(server: &Server) -> Vec<Figure> {
    let node = &server.node;
    let (observed, memory, waits) = (node.observed(), node.memory_usage(), node.wait_for_graph().counts());
    let totals = server.totals();
    let counter = |counter: Counter| totals.get(counter as usize).copied().unwrap_or(0);
    debug_assert_eq!(totals.len(), COUNTER_NAMES.len());
    let served = || observed.partitions.iter().filter(|one| one.serves && !one.is_meta);
    let locks: usize = served().map(|one| one.activity.row_locks).sum();
    let millis = |time: std::time::Duration| time.as_millis() as u64;
    let over = waits.begun.saturating_sub(observed.lock_waits as u64);
    let value = |name, subsystem, value, comment| Figure { name, subsystem, value, is_count: false, comment };
    let count = |name, subsystem, value, comment| Figure { name, subsystem, value, is_count: true, comment };
    let mut found = vec![
        count("lock_deadlocks", "lock", node.deadlocks_found(), "Number of deadlocks"),
        count("lock_timeouts", "lock", waits.timeouts, "Number of lock timeouts"),
        count("lock_rec_lock_waits", "lock", waits.begun, "Number of times enqueued into record lock wait queue"),
        value("lock_rec_locks", "lock", locks as u64, "Current number of record locks on tables"),
        value(
            "lock_row_lock_current_waits",
            "lock",
            observed.lock_waits as u64,
            "Number of row locks currently being waited for",
        ),
        count(
            "lock_row_lock_time",
            "lock",
            millis(waits.time),
            "Time spent in acquiring row locks, in milliseconds",
        ),
        value(
            "lock_row_lock_time_max",
            "lock",
            millis(waits.longest),
            "The maximum time to acquire a row lock, in milliseconds",
        ),
        count("lock_row_lock_waits", "lock", waits.begun, "Number of times a row lock had to be waited for"),
        value(
            "lock_row_lock_time_avg",
            "lock",
            millis(waits.time) / over.max(1),
            "The average time to acquire a row lock, in milliseconds",
        ),
        value(
            "buffer_pool_size",
            "server",
            memory.limit_bytes,
            "Memory for rows and indexes (DataMemory), in bytes",
        ),
        value(
            "buffer_pool_bytes_data",
            "buffer",
            memory.used_bytes,
            "Memory that rows and indexes take, in bytes",
        ),
        value(
            "buffer_pool_pages_total",
            "buffer",
            memory.limit_bytes / PAGE_BYTES,
            "The same limit in pages of 16 KiB",
        ),
        value(
            "buffer_pool_pages_data",
            "buffer",
            memory.used_bytes / PAGE_BYTES,
            "The same use in pages of 16 KiB",
        ),
        count("os_log_bytes_written", "os", observed.log_end_bytes, "Bytes of log written"),
        value("log_lsn_current", "log", observed.log_end_bytes, "Current LSN value"),
        value("log_lsn_last_flush", "log", observed.log_durable_bytes, "LSN of last flush"),
        value(
            "log_lsn_checkpoint_age",
            "log",
            observed.log_since_checkpoint_bytes,
            "Current LSN value minus LSN at last checkpoint",
        ),
        value(
            "log_lsn_last_checkpoint",
            "log",
            observed.log_end_bytes - observed.log_since_checkpoint_bytes.min(observed.log_end_bytes),
            "LSN at last checkpoint",
        ),
        value(
            "trx_active_transactions",
            "transaction",
            served().map(|one| one.activity.transactions as u64).max().unwrap_or(0),
            "Transactions in the partition that has most",
        ),
        count(
            "trx_rollbacks",
            "transaction",
            counter(Counter::TransactionAborts),
            "Number of transactions rolled back",
        ),
        count(
            "trx_rollbacks_savepoint",
            "transaction",
            counter(Counter::ComRollbackToSavepoint),
            "Number of transactions rolled back to savepoint",
        ),
    ];
    let rows = counter(Counter::HandlerReadKey)
        + counter(Counter::HandlerReadNext)
        + counter(Counter::HandlerReadRndNext);
    found.extend([
        count("dml_reads", "dml", rows, "Number of rows read"),
        count("dml_inserts", "dml", counter(Counter::HandlerWrite), "Number of rows inserted"),
        count("dml_deletes", "dml", counter(Counter::HandlerDelete), "Number of rows deleted"),
        count("dml_updates", "dml", counter(Counter::HandlerUpdate), "Number of rows updated"),
    ]);
    found
}
