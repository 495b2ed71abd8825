//! How often rows of tables were read and written, by index: `performance_schema.table_io_waits_summary_by_index_usage`.
//!
//! Each thread with sessions counts for itself, in memory of its own. A plan holds its thread's counts of each of its tables, so that a
//! statement looks nothing up and pays for a load and a store. What all threads have counted is added up when somebody asks. Only
//! sessions count: neither HandlerSocket nor native clients, nor what copies rows for a definition.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use shoal_cluster::Table;
use shoal_types::TableId;

/// A thread forgets what nobody uses any more when it has met so many versions of tables, and again at each multiple.
const TABLES_PER_CLEANING: usize = 1024;

/// What is done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUse {
    Fetch,
    Insert,
    Update,
    Delete,
}

/// One thread's counts of one version of a table; only sessions of that thread write them.
#[derive(Debug)]
pub struct TableCounts {
    /// Names of the indexes, by their numbers.
    indexes: Vec<String>,
    /// By index, behind them those without an index; four of each, as in [`RowUse`].
    counts: Vec<[AtomicU64; 4]>,
}

impl TableCounts {
    fn of(table: &Table) -> TableCounts {
        let indexes: Vec<String> = table.schema.indexes.iter().map(|index| index.name.clone()).collect();
        let counts = (0..=indexes.len()).map(|_| Default::default()).collect();
        TableCounts { indexes, counts }
    }

    /// `index`: by which rows were found; `None`: by none.
    #[inline]
    pub fn add(&self, index: Option<usize>, what: RowUse, rows: u64) {
        let place = index.unwrap_or(self.indexes.len()).min(self.indexes.len());
        let cell = &self.counts[place][what as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(rows), Ordering::Relaxed);
    }
}

/// The same of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowUses {
    pub fetched: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

impl RowUses {
    fn add(&mut self, counts: &[AtomicU64; 4]) {
        let [fetched, inserted, updated, deleted] = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        self.fetched += fetched;
        self.inserted += inserted;
        self.updated += updated;
        self.deleted += deleted;
    }

    fn without(self, other: RowUses) -> RowUses {
        RowUses {
            fetched: self.fetched.saturating_sub(other.fetched),
            inserted: self.inserted.saturating_sub(other.inserted),
            updated: self.updated.saturating_sub(other.updated),
            deleted: self.deleted.saturating_sub(other.deleted),
        }
    }

    pub fn plus(self, other: RowUses) -> RowUses {
        RowUses {
            fetched: self.fetched + other.fetched,
            inserted: self.inserted + other.inserted,
            updated: self.updated + other.updated,
            deleted: self.deleted + other.deleted,
        }
    }

    pub fn written(&self) -> u64 {
        self.inserted + self.updated + self.deleted
    }

    pub fn total(&self) -> u64 {
        self.fetched + self.written()
    }
}

/// What is known of one table: by the names of its indexes; `None`: without an index.
pub(crate) type UsesByIndex = HashMap<Option<String>, RowUses>;

/// One thread's counts, by table and version.
#[derive(Debug, Default)]
pub(crate) struct ThreadTableUsage(Mutex<HashMap<(TableId, u64), Arc<TableCounts>>>);

impl ThreadTableUsage {
    /// For a plan that is made. `is_present`: whether there still is a table; counts of others go from time to time.
    pub fn of_table(&self, table: &Table, is_present: impl Fn(TableId) -> bool) -> Arc<TableCounts> {
        if table.is_temporary {
            // Nobody asks, and another table may come to have its id.
            return Arc::new(TableCounts::of(table));
        }
        let key = (table.id(), u64::from(table.schema.version));
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !tables.contains_key(&key) && tables.len() % TABLES_PER_CLEANING == TABLES_PER_CLEANING - 1 {
            let has_counted = |counts: &TableCounts| {
                counts.counts.iter().flatten().any(|count| count.load(Ordering::Relaxed) > 0)
            };
            tables
                .retain(|(id, _), counts| Arc::strong_count(counts) > 1 || is_present(*id) && has_counted(counts));
        }
        Arc::clone(tables.entry(key).or_insert_with(|| Arc::new(TableCounts::of(table))))
    }
}

/// The counts of all threads.
#[derive(Debug, Default)]
pub(crate) struct TableUsage {
    threads: Mutex<HashMap<ThreadId, Arc<ThreadTableUsage>>>,
    /// What had been counted at the last TRUNCATE: nobody but its thread may write a count.
    forgotten: Mutex<HashMap<TableId, UsesByIndex>>,
}

impl TableUsage {
    /// Those of the thread that asks, where a session that begins stays.
    pub fn of_this_thread(&self) -> Arc<ThreadTableUsage> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(threads.entry(thread::current().id()).or_default())
    }

    /// What was counted, since the last TRUNCATE, of tables that there still are.
    pub fn merged(&self, is_present: impl Fn(TableId) -> bool) -> HashMap<TableId, UsesByIndex> {
        let mut merged = self.counted(is_present);
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        for (table, uses) in &mut merged {
            let Some(forgotten) = forgotten.get(table) else { continue };
            for (index, uses) in uses {
                *uses = uses.without(forgotten.get(index).copied().unwrap_or_default());
            }
        }
        merged
    }

    fn counted(&self, is_present: impl Fn(TableId) -> bool) -> HashMap<TableId, UsesByIndex> {
        let mut counted: HashMap<TableId, UsesByIndex> = HashMap::new();
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let mut tables = thread.0.lock().unwrap_or_else(PoisonError::into_inner);
            tables.retain(|(id, _), counts| is_present(*id) || Arc::strong_count(counts) > 1);
            for ((id, _), counts) in tables.iter().filter(|((id, _), _)| is_present(*id)) {
                let uses = counted.entry(*id).or_default();
                let names = counts.indexes.iter().map(Some).chain([None]);
                for (name, cells) in names.zip(&counts.counts) {
                    uses.entry(name.cloned()).or_default().add(cells);
                }
            }
        }
        counted
    }

    /// TRUNCATE TABLE.
    pub fn clear(&self) {
        let counted = self.counted(|_| true);
        *self.forgotten.lock().unwrap_or_else(PoisonError::into_inner) = counted;
    }
}
