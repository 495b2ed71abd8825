//! Tables whose past is settled: the outcome is known of everything that was ever prepared in them.
//!
//! Metadata locks tell that no transaction uses a table any more, but a transaction is done with when its coordinator is: what
//! it has prepared on other nodes may wait for its outcome still, for long if its home cannot be reached. Whoever
//! defines a table anew has it settled first, on all nodes. The leaders of all partitions say so, each for its own; what a
//! leader has said once holds for those after it as long as nothing is written to the table.
//!
//! That is sure only of a table whose version has been raised since ([`Dictionary::exclusive_tables`] does not): partitions refuse
//! what was planned on an earlier one (`shoal_partition`'s `definition`).

use std::sync::Arc;
use std::time::Duration;

use shoal_partition::WaitToken;
use shoal_types::{Result, TableId};
use tokio::time::Instant;

use crate::base::errors::temporary;
use crate::dictionary::Dictionary;
use crate::dictionary::metadata_lock::timed_out;
use crate::dictionary::table::Table;
use crate::membership::messages::{Ask, SettleTables};
use crate::membership::peers::Membership;
use crate::membership::requests::{REQUEST_TIMEOUT, RETRY_AFTER};

/// A node is asked again after so long: the partition that it waits for may be led elsewhere by then.
const ROUND: Duration = Duration::from_millis(500);

/// What is awaited of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedOf {
    /// The outcome of all that was prepared.
    Transactions,
    /// That indexes have all rows.
    Indexes,
}

/// What has become of the partitions that a node leads.
#[derive(Default)]
pub(crate) struct Settled {
    pub settled: Vec<u32>,
    /// How many others it leads.
    pub open: u64,
}

impl Dictionary {
    /// Waits until the outcome of all that was prepared in these tables is known and applied. Nobody may use them meanwhile.
    ///
    /// # Errors
    /// 1205 when that takes too long; 1297 when a partition has no leader.
    pub async fn settle_tables(&self, tables: &[Arc<Table>], timeout: Duration) -> Result<()> {
        let unique = |table: &Arc<Table>| {
            let indexes = table.schema.indexes.clone();
            indexes.into_iter().filter_map(|index| index.unique_table)
        };
        let ids: Vec<TableId> =
            tables.iter().map(|table| table.id()).chain(tables.iter().flat_map(unique)).collect();
        self.settle(&ids, AwaitedOf::Transactions, Instant::now() + timeout).await
    }

    /// Waits until the leaders of all partitions have built the indexes of a table that are being built.
    ///
    /// # Errors
    /// As [`Dictionary::settle_tables`].
    pub async fn await_indexes(&self, table: TableId, timeout: Duration) -> Result<()> {
        self.settle(&[table], AwaitedOf::Indexes, Instant::now() + timeout).await
    }

    async fn settle(&self, ids: &[TableId], what: AwaitedOf, deadline: Instant) -> Result<()> {
        match self.cluster() {
            Some(cluster) => self.settle_everywhere(cluster, ids, what, deadline).await,
            None => match self.settle_here(ids, what, deadline).await.open {
                0 => Ok(()),
                _ => Err(timed_out()),
            },
        }
    }

    /// Waits, until the deadline, for the tables to be settled in the partitions that are led here.
    pub(crate) async fn settle_here(&self, tables: &[TableId], what: AwaitedOf, deadline: Instant) -> Settled {
        let mut waiter = self.waiter();
        let mut result = Settled::default();
        let mut partition = 0;
        while partition < self.partition_count() {
            let token = WaitToken(waiter.arm(1));
            let is_open = self.leader(partition).map(|mut guard| match what {
                AwaitedOf::Transactions => guard.await_settled(tables, token),
                AwaitedOf::Indexes => guard.await_built(tables, token),
            });
            match is_open {
                Ok(true) if Instant::now() < deadline => {
                    // Time may be over, or the partition led by another: either shows when it is looked at again.
                    let _ = tokio::time::timeout_at(deadline, waiter.wait()).await;
                    continue;
                }
                Ok(true) => result.open += 1,
                Ok(false) => result.settled.push(partition),
                Err(_) => {}
            }
            partition += 1;
        }
        result
    }

    async fn settle_everywhere(
        &self,
        cluster: &Membership,
        tables: &[TableId],
        what: AwaitedOf,
        deadline: Instant,
    ) -> Result<()> {
        let mut settled = vec![false; self.partition_count() as usize];
        let mut leaderless_since = None;
        loop {
            let round = Instant::now();
            let timeout = deadline.saturating_duration_since(round).min(ROUND);
            let mut open = 0;
            for node in cluster.members_up() {
                let tables = tables.iter().map(|table| table.0).collect();
                let ask = Ask::SettleTables(SettleTables {
                    tables,
                    timeout_ms: timeout.as_millis() as u64,
                    indexes: what == AwaitedOf::Indexes,
                });
                // Who does not answer leads nothing, or is asked again.
                let Ok(reply) = cluster.ask_within(node, ask, ROUND * 2).await else { continue };
                open += reply.value;
                for partition in reply.partitions {
                    if let Some(settled) = settled.get_mut(partition as usize) {
                        *settled = true;
                    }
                }
            }
            let Some(missing) = settled.iter().position(|&settled| !settled) else { return Ok(()) };
            let now = Instant::now();
            if now >= deadline {
                return Err(timed_out());
            }
            if open > 0 {
                leaderless_since = None;
            } else if now >= *leaderless_since.get_or_insert(now) + REQUEST_TIMEOUT {
                return Err(temporary(format!("partition {missing} has no leader just now")));
            }
            tokio::time::sleep_until(round + RETRY_AFTER).await;
        }
    }
}
