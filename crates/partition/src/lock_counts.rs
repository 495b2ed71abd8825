//! How often locks of each table were asked for, for operators.
//!
//! Tables take turns, so the counts of several are at hand; those of the others lie in a map.

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

/// So many tables have their counts at hand.
const AT_HAND: usize = 16;

#[derive(Clone, Copy, Default)]
struct Counted {
    table: TableId,
    requests: TableLockRequests,
}

#[derive(Default)]
pub(crate) struct LockCounts {
    /// At the place of its number: the table that was locked last of those with this place.
    at_hand: [Counted; AT_HAND],
    others: Map<TableId, TableLockRequests>,
}

fn place(table: TableId) -> usize {
    table.0 as usize % AT_HAND
}

impl LockCounts {
    pub(crate) fn of(&self, table: TableId) -> TableLockRequests {
        let counted = &self.at_hand[place(table)];
        match table == counted.table {
            true => counted.requests,
            false => self.others.get(&table).copied().unwrap_or_default(),
        }
    }

    #[inline]
    pub(crate) fn requests(&mut self, table: TableId, mode: LockMode) -> &mut LockRequests {
        if self.at_hand[place(table)].table != table {
            self.bring(table);
        }
        let requests = &mut self.at_hand[place(table)].requests;
        match mode {
            LockMode::Shared => &mut requests.shared,
            LockMode::Exclusive => &mut requests.exclusive,
        }
    }

    /// Takes the place of another table.
    #[cold]
    fn bring(&mut self, table: TableId) {
        let requests = self.others.remove(&table).unwrap_or_default();
        let other = std::mem::replace(&mut self.at_hand[place(table)], Counted { table, requests });
        if other.requests != TableLockRequests::default() {
            self.others.insert(other.table, other.requests);
        }
    }

    /// The table is gone.
    pub(crate) fn forget(&mut self, table: TableId) {
        let counted = &mut self.at_hand[place(table)];
        match table == counted.table {
            true => counted.requests = TableLockRequests::default(),
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

    #[test]
    fn tables_that_share_a_place_keep_their_counts() {
        let mut counts = LockCounts::default();
        let tables = [1, 1 + AT_HAND as u32, 1 + 2 * AT_HAND as u32].map(TableId);
        for round in 1..=3 {
            for table in tables {
                counts.requests(table, LockMode::Shared).immediate += 1;
                assert_eq!(counts.of(table).shared.total(), round);
            }
        }
        counts.forget(tables[0]);
        counts.forget(tables[2]);
        assert_eq!(tables.map(|table| counts.of(table).shared.total()), [0, 3, 0]);
    }
}
