//! What other threads may see of a session's transaction.
//!
//! Written by the session alone, a number at a time and without a lock, so what is read together need not have been true together.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use shoal_types::{TableId, TransactionId};

use crate::api::Isolation;

/// Tables in use that are named; of those beyond only their number is known.
pub const TABLES_SHOWN_MAX: usize = 16;

/// A session's transaction, and all that come after it, as others see them.
#[derive(Debug, Default)]
pub struct ShownTransaction {
    /// 0: none.
    id: AtomicU64,
    isolation: AtomicU8,
    table_count: AtomicU32,
    tables: [AtomicU32; TABLES_SHOWN_MAX],
    /// 0: none.
    awaited_table: AtomicU32,
}

impl ShownTransaction {
    /// `None` as long as nothing was locked or written.
    pub fn id(&self) -> Option<TransactionId> {
        Some(self.id.load(Ordering::Relaxed)).filter(|&id| id != 0).map(TransactionId)
    }

    /// Of the transaction that is open, or of the last one.
    pub fn isolation(&self) -> Isolation {
        match self.isolation.load(Ordering::Relaxed) {
            0 => Isolation::RepeatableRead,
            1 => Isolation::ReadCommitted,
            _ => Isolation::Serializable,
        }
    }

    /// Tables whose definitions the transaction keeps from changing; the first [`TABLES_SHOWN_MAX`] of them.
    pub fn tables(&self) -> Vec<TableId> {
        let count = (self.table_count() as usize).min(TABLES_SHOWN_MAX);
        self.tables[..count].iter().map(|table| TableId(table.load(Ordering::Relaxed))).collect()
    }

    /// How many these are in all.
    pub fn table_count(&self) -> u32 {
        self.table_count.load(Ordering::Relaxed)
    }

    /// The table that it wants to use while a definition is in the way.
    pub fn awaited_table(&self) -> Option<TableId> {
        Some(self.awaited_table.load(Ordering::Relaxed)).filter(|&id| id != 0).map(TableId)
    }

    #[inline]
    pub(crate) fn set_id(&self, id: Option<TransactionId>) {
        self.id.store(id.map_or(0, |id| id.0), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn set_isolation(&self, isolation: Isolation) {
        let number = match isolation {
            Isolation::RepeatableRead => 0,
            Isolation::ReadCommitted => 1,
            Isolation::Serializable => 2,
        };
        self.isolation.store(number, Ordering::Relaxed);
    }

    /// The transaction uses one more table, and `before` so many others.
    #[inline]
    pub(crate) fn add_table(&self, table: TableId, before: usize) {
        if let Some(place) = self.tables.get(before) {
            place.store(table.0, Ordering::Relaxed);
        }
        self.table_count.store(before as u32 + 1, Ordering::Relaxed);
    }

    /// It uses the first `count` alone.
    pub(crate) fn forget_tables(&self, count: usize) {
        self.table_count.store(count as u32, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn release_tables(&self) {
        self.table_count.store(0, Ordering::Relaxed);
        self.awaited_table.store(0, Ordering::Relaxed);
    }

    pub(crate) fn set_awaited_table(&self, table: Option<TableId>) {
        self.awaited_table.store(table.map_or(0, |table| table.0), Ordering::Relaxed);
    }
}
