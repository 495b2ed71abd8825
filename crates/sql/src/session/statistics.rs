//! What the planner is told about stored rows.

use std::sync::Arc;

use shoal_cluster::{Node, Table};
use shoal_txn::Transaction;

use super::Session;
use crate::resolve::Statistics;
use crate::table_usage::{TableCounts, ThreadTableUsage};

/// Row counts from the partitions, and where the session's thread counts uses of rows.
pub struct NodeStatistics<'a> {
    transaction: &'a Transaction,
    usage: &'a ThreadTableUsage,
    node: &'a Node,
}

impl<'a> NodeStatistics<'a> {
    pub(crate) fn of(
        transaction: &'a Transaction,
        usage: &'a ThreadTableUsage,
        node: &'a Node,
    ) -> NodeStatistics<'a> {
        NodeStatistics { transaction, usage, node }
    }
}

impl Session {
    pub fn statistics(&self) -> NodeStatistics<'_> {
        NodeStatistics::of(&self.transaction, &self.table_usage, &self.server.node)
    }
}

impl Statistics for NodeStatistics<'_> {
    fn row_count(&self, table: &Arc<Table>) -> u64 {
        self.transaction.row_count(table)
    }

    fn usage(&self, table: &Table) -> Arc<TableCounts> {
        self.usage.of_table(table, |id| self.node.catalog().tables_by_id.contains_key(&id))
    }
}
