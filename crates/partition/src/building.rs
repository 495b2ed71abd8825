//! Indexes that are built beside those who write, a stretch of rows at a time, at every replica for itself: see `fragment/building.rs`.
//! Whoever builds one waits until the leaders have it, before a definition makes it known.

use shoal_types::TableId;

use crate::api::WaitToken;
use crate::partition::Partition;

/// Rows under one hold: a fraction of a millisecond.
const ROWS_PER_SLICE: u32 = 2048;

impl Partition {
    /// Some index has no entries yet for rows that are there: [`Partition::go_on`] wants to be called.
    #[inline]
    pub fn is_building(&self) -> bool {
        !self.building.is_empty()
    }

    /// The table's indexes are to be looked at.
    pub(crate) fn note_building(&mut self, table: TableId) {
        let builds = self.fragments.get(&table).is_some_and(|fragment| fragment.is_building());
        if builds && !self.building.contains(&table) {
            self.building.push(table);
        }
    }

    pub(crate) fn build_some(&mut self) {
        let Some(&table) = self.building.first() else { return };
        let still = self.fragments.get_mut(&table).is_some_and(|fragment| {
            fragment.build_some(ROWS_PER_SLICE);
            fragment.is_building()
        });
        if !still {
            self.building.remove(0);
            self.outputs.woken.append(&mut self.build_waiters);
        }
    }

    /// Some index of one of the tables is being built here; `token` is woken when one is complete.
    pub fn await_built(&mut self, tables: &[TableId], token: WaitToken) -> bool {
        tables.iter().for_each(|&table| self.note_building(table));
        let waits = tables.iter().any(|table| self.building.contains(table));
        if waits {
            self.build_waiters.push(token);
        }
        waits
    }

    /// Rows whose entries are there, and all rows, of a table's indexes that are being built.
    pub fn build_progress(&self, table: TableId) -> Option<(u64, u64)> {
        self.fragments.get(&table)?.build_progress()
    }
}
