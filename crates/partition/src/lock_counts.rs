//! How often locks of each table were asked for, for operators.
//!
//! Locks come in runs of one table, so the counts of the last one are at hand; those of the others lie in a map.

use shoal_types::TableId;

use crate::api::LockMode;
use crate::map::Map;

/// Requests for locks of one mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockRequests {
    /// Granted at once, or held already.
    pub immediate: u64,
    /// Granted after a wait.
    pub waited: u64,
    /// Refused because of others, or given up.
    pub failed: u64,
}

impl LockRequests {
    /// All that have come to an end.
    pub fn total(self) -> u64 {
        self.immediate + self.waited + self.failed
    }
}

/// Requests for locks of a table's rows and keys since this process has the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableLockRequests {
    /// To read.
    pub shared: LockRequests,
    /// To write.
    pub exclusive: LockRequests,
}

#[derive(Default)]
pub(crate) struct LockCounts {
    last: TableId,
    of_last: TableLockRequests,
    others: Map<TableId, TableLockRequests>,
}

impl LockCounts {
    pub(crate) fn of(&self, table: TableId) -> TableLockRequests {
        match table == self.last {
            true => self.of_last,
            false => self.others.get(&table).copied().unwrap_or_default(),
        }
    }

    #[inline]
    pub(crate) fn requests(&mut self, table: TableId, mode: LockMode) -> &mut LockRequests {
        if table != self.last {
            self.change_to(table);
        }
        match mode {
            LockMode::Shared => &mut self.of_last.shared,
            LockMode::Exclusive => &mut self.of_last.exclusive,
        }
    }

    fn change_to(&mut self, table: TableId) {
        let next = self.others.remove(&table).unwrap_or_default();
        let (last, of_last) =
            (std::mem::replace(&mut self.last, table), std::mem::replace(&mut self.of_last, next));
        if of_last != TableLockRequests::default() {
            self.others.insert(last, of_last);
        }
    }

    /// The table is gone.
    pub(crate) fn forget(&mut self, table: TableId) {
        match table == self.last {
            true => self.of_last = TableLockRequests::default(),
            false => drop(self.others.remove(&table)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_their_counts_while_others_are_locked() {
        let mut counts = LockCounts::default();
        for table in [1, 1, 2, 1, 3, 2] {
            counts.requests(TableId(table), LockMode::Exclusive).immediate += 1;
        }
        counts.requests(TableId(2), LockMode::Shared).failed += 1;
        let total = |table| counts.of(TableId(table)).exclusive.total();
        assert_eq!([total(1), total(2), total(3), total(4)], [3, 2, 1, 0]);
        assert_eq!(counts.of(TableId(2)).shared, LockRequests { failed: 1, ..LockRequests::default() });
        counts.forget(TableId(1));
        assert_eq!(counts.of(TableId(1)), TableLockRequests::default());
    }
}
