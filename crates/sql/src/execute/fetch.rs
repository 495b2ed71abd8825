//! Reading the rows of one input into batches.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use shoal_expr::{EvalContext, Expr, RowSource, Warnings};
use shoal_txn::{KeyRange, ReadMode, ScanRequest, TableScan, Transaction, Visit};
use shoal_types::row::RowRef;
use shoal_types::{Result, TimeZone, Value};

use super::ExecContext;
use super::batch::KeptRows;
use super::lookup::{Lookup, lookup, pruning_key};
use crate::plan::TableInput;
use crate::table_usage::RowUse;

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
    /// Of a multi-valued index range by range, where rows may have elements in several.
    Scan(Box<TableScan>, Option<Box<ElementRanges>>),
    /// Keys of the input's index still to be read, so many in one round trip.
    Keys(Vec<Vec<u8>>, usize),
    Done,
}

/// Ranges of a multi-valued index that are read one after the other. A row that has elements in several of them is shown in the first.
pub struct ElementRanges {
    request: ScanRequest,
    ranges: Vec<KeyRange>,
    /// The one that is being read.
    present: usize,
}

impl ElementRanges {
    /// The row was shown in an earlier range.
    fn was_shown(&self, row: RowRef<'_>, key: &mut Vec<u8>) -> bool {
        let earlier = &self.ranges[..self.present];
        let holds = |range: &KeyRange, key: &[u8]| {
            range.start.as_slice() <= key && (range.end.is_empty() || key < range.end.as_slice())
        };
        let mut was_shown = false;
        if !earlier.is_empty() {
            let spec = &self.request.table.keys[self.request.index];
            spec.each_key(row, key, |key| was_shown |= earlier.iter().any(|range| holds(range, key)));
        }
        was_shown
    }

    fn scan(&self, transaction: &mut Transaction) -> TableScan {
        let ranges = vec![self.ranges[self.present].clone()];
        transaction.scan(ScanRequest { ranges, ..self.request.clone() })
    }
}

/// Keys that go to the partitions in one round trip.
const KEYS_PER_BATCH: usize = 1024;
/// Bytes of rows that are shown at a time; more are read again, and then fewer at a time: whoever keeps or sends them makes room
/// first.
const BYTES_PER_BATCH: usize = 1 << 20;
const KEYS_OF_LARGE_ROWS: usize = 8;

/// Whether a row is likely to pass the filter when it will have been locked. Without a trace: the filter is evaluated again then,
/// with what it has to say.
fn is_likely(filter: &Expr, row: RowRef<'_>, eval: &mut EvalContext<'_>) -> bool {
    let warnings = std::mem::replace(&mut eval.warnings, Warnings::with_limit(0));
    let passes = filter.eval_bool(&row, eval);
    eval.warnings = warnings;
    !matches!(passes, Ok(Some(false) | None))
}

/// One behind the other in the index.
fn are_in_order(ranges: &[KeyRange]) -> bool {
    ranges.windows(2).all(|pair| !pair[0].end.is_empty() && pair[0].end <= pair[1].start)
}

impl TableReader {
    /// Evaluates the access path and starts reading. `row_limit`: more rows of those that the visitor of `next` takes are not wanted
    /// at a time, so a locking read locks none behind them.
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
        // How many rows have to be read for those that pass a filter is not known.
        let row_limit = row_limit.filter(|_| input.lock.is_some() || input.filter.is_none());
        match found {
            Lookup::Keys(mut keys) => {
                ctx.handlers.read_key += keys.len() as u64;
                if input.access.in_key_order {
                    keys.sort_unstable();
                }
                if input.access.descending && input.access.index == 0 {
                    keys.reverse();
                }
                let batch = row_limit.filter(|_| input.lock.is_some()).unwrap_or(KEYS_PER_BATCH as u64);
                Ok(TableReader::Keys(keys, batch.clamp(1, KEYS_PER_BATCH as u64) as usize))
            }
            Lookup::Ranges(ranges) => {
                let partition_key = pruning_key(&input.table, &input.access, no_row, &mut ctx.eval)?;
                if input.access.is_full() {
                    ctx.handlers.read_rnd += 1;
                } else {
                    ctx.handlers.read_key += ranges.len() as u64;
                }
                let mut request = ScanRequest {
                    table: Arc::clone(&input.table),
                    index: input.access.index,
                    descending: input.access.descending,
                    ordered: input.access.ordered || input.access.in_key_order && are_in_order(&ranges),
                    ranges,
                    partition_key,
                    mode: input.read_mode(),
                    row_limit,
                };
                if input.access.may_repeat_rows(&input.table) {
                    let ranges = std::mem::take(&mut request.ranges);
                    let elements = ElementRanges { request, ranges, present: 0 };
                    let scan = elements.scan(ctx.transaction);
                    return Ok(TableReader::Scan(Box::new(scan), Some(Box::new(elements))));
                }
                Ok(TableReader::Scan(Box::new(ctx.transaction.scan(request)), None))
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
        let (mut rows, mut keys_read) = (0u64, 0);
        let more = match self {
            TableReader::Done => false,
            TableReader::Scan(scan, elements) => {
                let eval = RefCell::new(eval);
                let probed = filter.filter(|filter| !filter.needs_session());
                // Rows that are copied before they are shown pass the filter where they lie.
                let is_filtered_ahead = probed.is_some() && scan.probes_ahead();
                let (refused, failure) = (Cell::new(0), Cell::new(None));
                let mut probe = |row: RowRef<'_>| {
                    let Some(filter) = probed else { return true };
                    let eval = &mut eval.borrow_mut();
                    if !is_filtered_ahead {
                        return is_likely(filter, row, eval);
                    }
                    let passes = filter.eval_bool(&row, eval).unwrap_or_else(|error| {
                        failure.set(Some(error));
                        None
                    });
                    refused.set(refused.get() + u64::from(passes != Some(true)));
                    passes == Some(true)
                };
                let mut key = Vec::new();
                let mut see = |row: RowRef<'_>| {
                    let eval = &mut eval.borrow_mut();
                    rows += 1;
                    if let Some(filter) = filter.filter(|_| !is_filtered_ahead)
                        && filter.eval_bool(&row, eval)? != Some(true)
                    {
                        return Ok(Visit::Skip);
                    }
                    if elements.as_ref().is_some_and(|elements| elements.was_shown(row, &mut key)) {
                        return Ok(Visit::Take);
                    }
                    let answer = visit(row, eval)?;
                    stopped |= matches!(answer, Visit::Stop | Visit::TakeAndStop);
                    Ok(answer)
                };
                let more =
                    scan.next_probing(transaction, probed.is_some().then_some(&mut probe), &mut see).await?;
                if let Some(error) = failure.take() {
                    return Err(error);
                }
                rows += refused.get();
                match elements {
                    Some(elements) if !more && !stopped && elements.present + 1 < elements.ranges.len() => {
                        elements.present += 1;
                        **scan = elements.scan(transaction);
                        true
                    }
                    _ => more,
                }
            }
            TableReader::Keys(keys, per_batch) => {
                let mut wanted: Vec<Vec<u8>> = keys.drain(..keys.len().min(*per_batch)).collect();
                let mut batch = Vec::new();
                keys_read = wanted.len() as u64;
                if input.access.index != 0 {
                    let mode = input.read_mode();
                    let found = transaction.get_unique(&input.table, input.access.index, &wanted, mode).await?;
                    let present = wanted.into_iter().zip(found).filter_map(|(key, found)| Some((key, found?)));
                    (wanted, batch) = present.unzip();
                }
                let primary = if input.access.index == 0 { &wanted } else { &batch };
                let (mut bytes, mut postponed) = (0, Vec::new());
                let mut see = |position: usize, row: RowRef<'_>| {
                    if stopped {
                        return Ok(());
                    }
                    if bytes >= BYTES_PER_BATCH {
                        postponed.push(position);
                        return Ok(());
                    }
                    bytes += row.bytes().len();
                    if let Some(filter) = filter
                        && filter.eval_bool(&row, eval)? != Some(true)
                    {
                        return Ok(());
                    }
                    stopped = matches!(visit(row, eval)?, Visit::Stop | Visit::TakeAndStop);
                    Ok(())
                };
                if input.access.in_key_order && primary.len() > 1 {
                    let found = get_in_order(transaction, input, primary).await?;
                    for (position, row) in &found.rows {
                        see(*position, input.table.layout.row(row))?;
                    }
                    postponed = found.postponed;
                } else {
                    transaction.get_many(&input.table, primary, input.read_mode(), &mut see).await?;
                }
                if !postponed.is_empty() {
                    keys_read -= postponed.len() as u64;
                    let again: Vec<_> =
                        postponed.iter().map(|&place| std::mem::take(&mut wanted[place])).collect();
                    keys.splice(..0, again);
                    *per_batch = if input.access.in_key_order { 1 } else { KEYS_OF_LARGE_ROWS };
                }
                !stopped && !keys.is_empty()
            }
        };
        if input.access.is_full() {
            handlers.read_rnd_next += rows;
        } else {
            handlers.read_next += rows;
        }
        input.count(RowUse::Fetch, rows + keys_read);
        if !more {
            *self = TableReader::Done;
        }
        super::sleep_if_asked(ctx).await?;
        Ok(more)
    }
}

/// Copies of rows in the order of the keys that were asked for, and the keys, by their positions, for which there was no room.
struct InOrder {
    rows: Vec<(usize, Vec<u8>)>,
    postponed: Vec<usize>,
}

/// Reads rows by primary keys, which come partition by partition, into the keys' order.
async fn get_in_order(transaction: &mut Transaction, input: &TableInput, keys: &[Vec<u8>]) -> Result<InOrder> {
    let mut found = InOrder { rows: Vec::with_capacity(keys.len()), postponed: Vec::new() };
    let mut bytes = 0;
    let mut keep = |position: usize, row: RowRef<'_>| {
        match bytes < BYTES_PER_BATCH {
            true => found.rows.push((position, row.bytes().to_vec())),
            false => found.postponed.push(position),
        }
        bytes += row.bytes().len();
        Ok(())
    };
    transaction.get_many(&input.table, keys, input.read_mode(), &mut keep).await?;
    found.rows.sort_unstable_by_key(|(position, _)| *position);
    if let Some(first) = found.postponed.iter().min().copied() {
        // What comes behind a row that is not here waits for it.
        let behind = found.rows.partition_point(|(position, _)| *position < first);
        found.postponed.extend(found.rows.drain(behind..).map(|(position, _)| position));
        found.postponed.sort_unstable();
    }
    Ok(found)
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
) -> Result<KeptRows> {
    let mut rows = KeptRows::new(columns.len(), ctx.memory);
    let mut reader = TableReader::open(input, None, ctx).await?;
    loop {
        let mut visit = |row: RowRef<'_>, eval: &mut shoal_expr::EvalContext<'_>| {
            rows.push(|target| {
                for (place, &(column, _)) in target.iter_mut().zip(columns) {
                    *place = row.value(column, eval.zone);
                }
                Ok(())
            })?;
            Ok(Visit::Take)
        };
        if !reader.next(input, ctx, &mut visit).await? {
            return Ok(rows);
        }
    }
}
