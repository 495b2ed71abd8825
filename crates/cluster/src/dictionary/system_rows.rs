//! Rows of system tables: tables of bytes under keys of bytes that partitions have besides those of the dictionary.

use std::ops::Bound;
use std::sync::Arc;

use shoal_partition::{
    Cursor, Direction, KeyBounds, Partition, ReadView, ScanState, Step, VisitAnswer, WaitToken,
};
use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, Outcome, Result, TableId, TableSchema, TransactionId};

use crate::base::errors::temporary;
use crate::dictionary::Dictionary;
use crate::dictionary::fragments::{FragmentChange, propose};
use crate::dictionary::meta_state::MetaState;
use crate::dictionary::unique::{base_primary_key as second_column, hidden_primary_key};
use crate::membership::peers::Membership;
use crate::membership::remote::not_leader;
use crate::membership::requests::REQUEST_TIMEOUT;
use crate::storage::sequencer::log_room_for;

const ROWS_PER_STEP: usize = 256;

/// A change of a system table.
pub(crate) enum RowChange {
    Put(Vec<u8>),
    /// By the primary key.
    Delete(Vec<u8>),
}

pub(crate) fn primary_key(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    hidden_primary_key(name, &mut key);
    key
}

/// Visits rows of a system table by their names and contents, from a key on.
pub(crate) fn visit_rows(
    partition: &mut Partition,
    table: TableId,
    from: Option<Vec<u8>>,
    direction: Direction,
    visit: &mut dyn FnMut(&[u8], &[u8]) -> VisitAnswer,
) -> Result<()> {
    if partition.schema(table).is_none() {
        return Ok(());
    }
    let start = from.map_or(Bound::Unbounded, Bound::Included);
    let mut cursor = Cursor::new(table, IndexId(0), KeyBounds { start, ..KeyBounds::ALL }, direction);
    let view = ReadView::newest(None, WaitToken(0));
    loop {
        let mut see = |row: RowRef<'_>| visit(row.raw(0), second_column(row));
        match partition.scan(&view, &mut cursor, None, ROWS_PER_STEP, &mut see)? {
            Step::Ready(ScanState::More) => {}
            _ => return Ok(()),
        }
    }
}

impl Dictionary {
    pub(crate) fn meta_state(&self) -> Result<(&Arc<Membership>, &MetaState, u32)> {
        let cluster = self.cluster().ok_or_else(|| Error::unknown("internal: this process is no cluster"))?;
        Ok((cluster, &self.meta, cluster.options.partition_count()))
    }

    pub(crate) async fn have_fragment(&self, partition: u32, schema: TableSchema) -> Result<()> {
        if self.leader(partition)?.schema(schema.id).is_some() {
            return Ok(());
        }
        self.propose_fragments(partition, &[FragmentChange::Create(Arc::new(schema))]).await
    }

    pub(crate) async fn propose_fragments(&self, partition: u32, changes: &[FragmentChange]) -> Result<()> {
        // What Raft appends cannot be refused any more.
        self.wait_for_log_room(log_room_for(changes.iter().map(FragmentChange::entry_bytes)))?;
        let mut waiter = self.waiter();
        let token = waiter.arm(changes.len() as u32);
        let settled = {
            let mut guard = self.leader(partition)?;
            for change in changes {
                propose(&mut guard, change, token)?;
            }
            self.settle(partition, &mut guard, shoal_types::Timestamp::ZERO)?
        };
        self.flush_or_complete(settled);
        match tokio::time::timeout(REQUEST_TIMEOUT, waiter.wait()).await {
            Ok(true) => Ok(()),
            _ => Err(temporary(format!("partition {partition} could not agree on a definition; try again"))),
        }
    }

    /// Changes rows of a system table, as a transaction of its own, in this term of the leader's or in any. Callers keep out of
    /// each other's way.
    pub(crate) async fn commit_rows(
        &self,
        (partition, term): (u32, Option<u64>),
        table: TableId,
        changes: &[RowChange],
    ) -> Result<()> {
        let transaction: TransactionId = self.next_transaction_id();
        let mut waiter = self.waiter();
        {
            let mut guard = self.leader(partition)?;
            // What is staged now is committed in this term or never.
            if term.is_some_and(|term| term != guard.leader_term()) {
                return Err(not_leader(partition));
            }
            let token = WaitToken(waiter.token());
            for change in changes {
                let step = match change {
                    RowChange::Put(row) => guard.put(transaction, table, row, token).map(|step| step.is_ready()),
                    RowChange::Delete(key) => {
                        guard.delete(transaction, table, key, token).map(|step| step.is_ready())
                    }
                };
                if !matches!(step, Ok(true)) {
                    guard.rollback(transaction);
                    step?;
                    return Err(temporary("a system row is locked; try again"));
                }
            }
        }
        let token = waiter.arm(1);
        let appending = match self.append_commit(transaction, &[partition], &[], token) {
            Ok(appending) => appending,
            Err(error) => {
                // It has its locks still, which would keep all later changes of these rows out.
                self.partition(partition).rollback(transaction);
                return Err(error);
            }
        };
        if appending.signals == 0 {
            return Ok(());
        }
        self.flush_or_complete(appending);
        match tokio::time::timeout(REQUEST_TIMEOUT, waiter.wait()).await {
            Ok(true) => Ok(()),
            _ => Err(temporary("the change may have been made or not").with_outcome(Outcome::Unknown)),
        }
    }
}
