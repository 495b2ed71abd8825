//! Reads of parts of a long value: some bytes of one column of one row, cut where the row lies.
//!
//! Pieces that are read one after the other are pieces of one value if the reads see one version: all under one snapshot, or under a
//! lock that the first of them has taken.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_partition::{LockRequest, ReadView, Step};
use shoal_types::row::RowRef;
use shoal_types::{NodeId, Result};

use crate::api::ReadMode;
use crate::at_partition::PartitionOperation;
use crate::protocol::{self, ColumnSlice, Sliced};
use crate::remote::WorkFor;
use crate::transaction::Transaction;

impl Transaction {
    /// Some bytes of a column of the row with this primary key.
    pub async fn get_slice(
        &mut self,
        table: &Arc<Table>,
        primary_key: &[u8],
        mode: ReadMode,
        slice: ColumnSlice,
    ) -> Result<Sliced> {
        self.use_table(table).await?;
        self.counters.execute_count += 1;
        self.counters.primary_key_operations += 1;
        let (view, lock) = self.point_view(mode).await?;
        let partition = self.home_of(table, primary_key, &view).await?;
        self.run_at(partition, GetSlice { table, primary_key, view, lock, slice }).await?
    }
}

/// Some bytes of a column of the row with a primary key.
struct GetSlice<'a> {
    table: &'a Table,
    primary_key: &'a [u8],
    view: ReadView,
    lock: Option<LockRequest>,
    slice: ColumnSlice,
}

impl PartitionOperation for GetSlice<'_> {
    type Output = Result<Sliced>;

    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<Result<Sliced>>> {
        // Every wait has a token of its own, and the search for the row may have waited.
        self.view.token = transaction.token();
        let slice = &self.slice;
        let cut = |row: Option<RowRef<'_>>| Ok(slice.of(row)?.to_owned());
        let (table, key) = (self.table.id(), self.primary_key);
        transaction.get_held(partition, table, key, &self.view, self.lock, &mut Some(cut))
    }

    async fn try_at(
        &mut self,
        transaction: &mut Transaction,
        partition: u32,
        node: NodeId,
    ) -> Result<Result<Sliced>> {
        self.view.token = transaction.token();
        let work = WorkFor::reading(partition, &self.view, self.lock.is_some());
        transaction.begin_work(work, node, std::iter::empty());
        protocol::put_then_slice(
            &mut transaction.frame,
            self.table.id(),
            self.lock,
            self.primary_key,
            &self.slice,
        );
        let answer = transaction.ask(partition, node, std::iter::empty()).await?;
        let sliced = Sliced::read(answer.done()?);
        transaction.counters.read_row_count += u64::from(!matches!(sliced, Ok(Sliced::NoRow)));
        Ok(sliced.map(Sliced::to_owned))
    }
}
