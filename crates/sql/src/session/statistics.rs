//! What the planner is told about stored rows.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_txn::Transaction;

use crate::resolve::Statistics;

/// Row counts from the partitions.
pub struct NodeStatistics<'a>(pub &'a Transaction);

impl Statistics for NodeStatistics<'_> {
    fn row_count(&self, table: &Arc<Table>) -> u64 {
        self.0.row_count(table)
    }
}
