//! Reading the rows of one input into batches.

use std::sync::Arc;

use shoal_expr::RowSource;
use shoal_txn::{ReadMode, ScanRequest, TableScan, Visit};
use shoal_types::row::RowRef;
use shoal_types::{Result, TimeZone, Value};

use super::lookup::{Lookup, lookup, pruning_key};
use super::{ExecContext, RowBatch};
use crate::plan::TableInput;

/// A stored row seen through the positions of a joined row.
pub struct MappedRow<'a> {
    pub row: RowRef<'a>,
    /// Position in the joined row -> column of the table; `usize::MAX` for positions of other inputs.
    pub columns: &'a [usize],
}

impl RowSource for MappedRow<'_> {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        match self.columns.get(column) {
            Some(&column) if column != usize::MAX => RowSource::value(&self.row, column, zone),
            _ => Value::Null,
        }
    }

    fn is_null(&self, column: usize) -> bool {
        match self.columns.get(column) {
            Some(&column) if column != usize::MAX => RowSource::is_null(&self.row, column),
            _ => true,
        }
    }

    fn integer(&self, column: usize) -> Option<i64> {
        match self.columns.get(column) {
            Some(&column) if column != usize::MAX => RowSource::integer(&self.row, column),
            _ => None,
        }
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        match self.columns.get(column) {
            Some(&column) if column != usize::MAX => RowSource::text(&self.row, column),
            _ => None,
        }
    }
}

/// The rows of a table input that does not depend on other rows, batch by batch.
pub enum TableReader {
    Scan(Box<TableScan>),
    /// Primary keys still to be read.
    Keys(Vec<Vec<u8>>),
    Done,
}

/// Keys that go to the partitions in one round trip.
const KEYS_PER_BATCH: usize = 1024;

impl TableReader {
    /// Evaluates the access path and starts reading.
    pub async fn open(
        input: &TableInput,
        row_limit: Option<u64>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<TableReader> {
        let no_row: &[Value] = &[];
        let found = lookup(&input.table, &input.access, no_row, &mut ctx.eval)?;
        if found.is_empty() {
            return Ok(TableReader::Done);
        }
        match found {
            Lookup::Keys(keys) if input.access.index == 0 => {
                ctx.handlers.read_key += keys.len() as u64;
                let mut keys = keys;
                if input.access.descending {
                    keys.reverse();
                }
                Ok(TableReader::Keys(keys))
            }
            Lookup::Keys(keys) => {
                ctx.handlers.read_key += keys.len() as u64;
                let mode = input.read_mode();
                let found = ctx.transaction.get_unique(&input.table, input.access.index, &keys, mode).await?;
                Ok(TableReader::Keys(found.into_iter().flatten().collect()))
            }
            Lookup::Ranges(ranges) => {
                let partition_key = pruning_key(&input.table, &input.access, no_row, &mut ctx.eval)?;
                if input.access.is_full() {
                    ctx.handlers.read_rnd += 1;
                } else {
                    ctx.handlers.read_key += ranges.len() as u64;
                }
                let scan = ctx.transaction.scan(ScanRequest {
                    table: Arc::clone(&input.table),
                    index: input.access.index,
                    ranges,
                    descending: input.access.descending,
                    ordered: input.access.ordered,
                    partition_key,
                    mode: input.read_mode(),
                    row_limit,
                });
                Ok(TableReader::Scan(Box::new(scan)))
            }
        }
    }

    /// Visits the next rows; those that fail the input's own filter are not shown. `false`: no more rows.
    pub async fn next(
        &mut self,
        input: &TableInput,
        ctx: &mut ExecContext<'_>,
        visit: &mut dyn FnMut(RowRef<'_>, &mut shoal_expr::EvalContext<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        ctx.check_between_batches().await?;
        let ExecContext { transaction, eval, handlers, .. } = ctx;
        let filter = input.filter.as_ref();
        let mut stopped = false;
        let mut rows = 0u64;
        let more = match self {
            TableReader::Done => false,
            TableReader::Scan(scan) => {
                let mut see = |row: RowRef<'_>| {
                    rows += 1;
                    if let Some(filter) = filter
                        && filter.eval_bool(&row, eval)? != Some(true)
                    {
                        return Ok(Visit::Skip);
                    }
                    visit(row, eval)
                };
                scan.next(transaction, &mut see).await?
            }
            TableReader::Keys(keys) => {
                let batch: Vec<Vec<u8>> = keys.drain(..keys.len().min(KEYS_PER_BATCH)).collect();
                let mut see = |_: usize, row: RowRef<'_>| {
                    if stopped {
                        return Ok(());
                    }
                    if let Some(filter) = filter
                        && filter.eval_bool(&row, eval)? != Some(true)
                    {
                        return Ok(());
                    }
                    stopped = matches!(visit(row, eval)?, Visit::Stop | Visit::TakeAndStop);
                    Ok(())
                };
                transaction.get_many(&input.table, &batch, input.read_mode(), &mut see).await?;
                !stopped && !keys.is_empty()
            }
        };
        if input.access.is_full() {
            handlers.read_rnd_next += rows;
        } else {
            handlers.read_next += rows;
        }
        if !more {
            *self = TableReader::Done;
        }
        super::sleep_if_asked(ctx).await?;
        Ok(more)
    }
}

impl TableInput {
    pub fn read_mode(&self) -> ReadMode {
        ReadMode { lock: self.lock, wait: self.wait }
    }
}

/// Copies the wanted columns of a stored row into a joined row.
pub fn fill(row: RowRef<'_>, columns: &[(usize, usize)], zone: &TimeZone, target: &mut [Value]) {
    for &(column, position) in columns {
        target[position] = row.value(column, zone);
    }
}

/// The mapping of `MappedRow` for one input.
pub fn position_map(columns: &[(usize, usize)], width: usize) -> Vec<usize> {
    let mut map = vec![usize::MAX; width];
    for &(column, position) in columns {
        map[position] = column;
    }
    map
}

/// All rows of a table as the columns that an input needs, in input order.
pub async fn read_all(
    input: &TableInput,
    columns: &[(usize, usize)],
    ctx: &mut ExecContext<'_>,
) -> Result<RowBatch> {
    let mut rows = RowBatch::new(columns.len());
    let mut reader = TableReader::open(input, None, ctx).await?;
    loop {
        let mut visit = |row: RowRef<'_>, eval: &mut shoal_expr::EvalContext<'_>| {
            let target = rows.push_empty();
            for (place, &(column, _)) in target.iter_mut().zip(columns) {
                *place = row.value(column, eval.zone);
            }
            Ok(Visit::Take)
        };
        if !reader.next(input, ctx, &mut visit).await? {
            return Ok(rows);
        }
    }
}
