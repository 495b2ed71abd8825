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
use crate::protocol::{self, ColumnSlice, Sliced};
use crate::remote::{Patience, WorkFor, map_version};
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
        let (mut view, lock) = self.point_view(mode).await?;
        let partition = self.home_of(table, primary_key, &view).await?;
        let mut patience = Patience::default();
        loop {
            let seen = map_version(&self.node);
            // Every wait has a token of its own, and the search for the row may have waited.
            view.token = self.token();
            let step = match self.route(partition).await? {
                None => {
                    let cut = |row: Option<RowRef<'_>>| Ok(slice.of(row)?.to_owned());
                    self.get_held(partition, table.id(), primary_key, &view, lock, &mut Some(cut))
                }
                Some(node) => {
                    let place = (partition, node);
                    self.ask_slice(place, table, primary_key, &view, lock, &slice).await.map(Step::Ready)
                }
            };
            match step {
                Ok(Step::Ready(sliced)) => return sliced,
                Ok(Step::Wait(blocked)) => self.wait(partition, blocked).await?,
                Err(error) => self.try_again(&mut patience, seen, error).await?,
            }
        }
    }

    /// Asks the leader on another node.
    async fn ask_slice(
        &mut self,
        (partition, node): (u32, NodeId),
        table: &Table,
        primary_key: &[u8],
        view: &ReadView,
        lock: Option<LockRequest>,
        slice: &ColumnSlice,
    ) -> Result<Result<Sliced>> {
        let work = WorkFor::reading(partition, view, lock.is_some());
        self.begin_work(work, node, std::iter::empty());
        protocol::put_then_slice(&mut self.frame, table.id(), lock, primary_key, slice);
        let answer = self.ask(partition, node, std::iter::empty()).await?;
        let sliced = Sliced::read(answer.done()?);
        self.counters.read_row_count += u64::from(!matches!(sliced, Ok(Sliced::NoRow)));
        Ok(sliced.map(Sliced::to_owned))
    }
}
