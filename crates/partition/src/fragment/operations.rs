//! What a fragment counts of the operations on it, for operators.
//!
//! Whoever counts holds the partition, so plain numbers do; readers have the fragment shared, hence cells.

use std::cell::Cell;

/// Operations on one table in one partition since this process has it: at the replica that did them, but for commits, which every
/// replica counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentOperations {
    /// Rows read by their primary keys, or looked for in vain.
    pub key_reads: u64,
    /// Rows staged whose keys were new: their transactions may have rolled back.
    pub key_inserts: u64,
    /// The same of rows that were there.
    pub key_updates: u64,
    /// The same of removals.
    pub key_deletes: u64,
    /// Scans begun.
    pub scans: u64,
    /// Entries of indexes, or rows, that scans looked at.
    pub scan_rows_examined: u64,
    /// Rows that scans showed.
    pub scan_rows_returned: u64,
    /// Changes of rows that were committed.
    pub commits: u64,
}

#[derive(Default)]
pub(crate) struct Counted(Cell<FragmentOperations>);

impl Counted {
    pub(crate) fn get(&self) -> FragmentOperations {
        self.0.get()
    }

    #[inline]
    pub(crate) fn add(&self, change: impl FnOnce(&mut FragmentOperations)) {
        let mut operations = self.0.get();
        change(&mut operations);
        self.0.set(operations);
    }

    /// One call of a scan has looked at so many entries and shown so many rows.
    pub(crate) fn add_scan(&self, begins: bool, examined: usize, returned: usize) {
        self.add(|operations| {
            operations.scans += u64::from(begins);
            operations.scan_rows_examined += examined as u64;
            operations.scan_rows_returned += returned as u64;
        });
    }
}
