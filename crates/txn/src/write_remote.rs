//! Writes at leaders on other nodes.

use std::ops::Range;

use shoal_types::{NodeId, Result, TableId};

use crate::fan_out::{FanOut, runs_of};
use crate::protocol::{self, Write, WriteKind};
use crate::remote::{Answer, Asked, WorkFor};
use crate::staging::Placed;
use crate::transaction::Transaction;

/// Rows and bytes that go in one frame.
pub(crate) const ROWS_PER_FRAME: usize = 4096;
pub(crate) const BYTES_PER_FRAME: usize = 1 << 20;

/// How many of the rows go in the next frame; one at least.
fn rows_of_frame(rows: &[Placed<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |one: &&Placed<'_>| {
        bytes += one.row.len();
        bytes <= BYTES_PER_FRAME
    };
    rows.iter().take(ROWS_PER_FRAME).take_while(fits).count().max(1)
}

impl Transaction {
    /// One write, one round trip.
    pub(crate) async fn write_at(&mut self, partition: u32, node: NodeId, write: Write<'_>) -> Result<Answer> {
        self.begin_work(WorkFor::joining(partition), node, std::iter::once(write));
        protocol::put_then_nothing(&mut self.frame);
        self.ask(partition, node, std::iter::once(write.bytes.len())).await
    }

    /// Inserts rows, sorted by partition, wherever these are led: other nodes are all asked at once. False: some row is a
    /// duplicate.
    pub(crate) async fn insert_everywhere(&mut self, table: TableId, placed: &[Placed<'_>]) -> Result<bool> {
        let runs = runs_of(placed, |one| one.partition);
        let mut insert = InsertRows { table, placed, has_duplicate: false };
        self.fan_out(&mut insert, runs).await?;
        Ok(!insert.has_duplicate)
    }
}

/// Inserts rows until one of them is a duplicate.
struct InsertRows<'a> {
    table: TableId,
    placed: &'a [Placed<'a>],
    has_duplicate: bool,
}

impl<'a> InsertRows<'a> {
    /// What goes in the next frame.
    fn of_frame(&self, run: &Range<usize>) -> &'a [Placed<'a>] {
        let run = &self.placed[run.clone()];
        &run[..rows_of_frame(run)]
    }
}

impl FanOut for InsertRows<'_> {
    type Run = Range<usize>;

    const TAKES_ALL_ANSWERS: bool = true;

    fn partition_of(&self, run: &Range<usize>) -> u32 {
        self.placed[run.start].partition
    }

    async fn ask(&mut self, transaction: &mut Transaction, run: &Range<usize>, node: NodeId) -> Result<Asked> {
        let (rows, partition, table) = (self.of_frame(run), self.partition_of(run), self.table);
        let writes = rows.iter().map(|one| Write { kind: WriteKind::Insert, table, bytes: one.row });
        transaction.begin_work(WorkFor::joining(partition), node, writes);
        protocol::put_then_nothing(&mut transaction.frame);
        Ok(transaction.send_work(partition, node, rows.iter().map(|one| one.row.len())))
    }

    async fn run_here(&mut self, transaction: &mut Transaction, run: &mut Range<usize>) -> Result<()> {
        let placed = &self.placed[..run.end];
        self.has_duplicate |= !transaction.insert_here(self.table, placed, &mut run.start).await?;
        Ok(())
    }

    fn take(&mut self, _transaction: &mut Transaction, run: &mut Range<usize>, answer: &Answer) -> Result<()> {
        self.has_duplicate |= answer.stop()?.is_some();
        run.start += self.of_frame(run).len();
        Ok(())
    }

    fn is_done(&self, run: &Range<usize>) -> bool {
        run.is_empty()
    }

    fn is_over(&self) -> bool {
        self.has_duplicate
    }
}
