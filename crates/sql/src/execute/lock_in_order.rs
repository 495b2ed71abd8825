//! A locking read of one table whose ORDER BY no index serves, with a LIMIT: rows are looked at, sorted, and locked in their order until
//! there are enough.
//!
//! Whoever locked while reading would have locked all rows before the first one is chosen. That is what REPEATABLE READ asks for, since a
//! range that was examined must not change; but not READ COMMITTED, and not SKIP LOCKED: workers that share a queue would find nothing free.
//!
//! Primary keys of a list, sorted as ORDER BY says, are locked one after the other under every isolation level: what comes behind the last
//! row that is wanted need not be looked at.

use std::sync::Arc;

use shoal_expr::{EvalContext, Expr};
use shoal_txn::{Isolation, LockWait, ScanRequest, Visit};
use shoal_types::row::RowRef;
use shoal_types::{IndexMethod, Result, Value};

use super::ExecContext;
use super::fetch::{MappedRow, position_map};
use super::lookup::{Lookup, lookup, prefix_range, pruning_key};
use super::memory::{Held, row_bytes};
use super::output::Output;
use super::sort::compare_rows;
use super::sort_in_turns::sort_in_turns;
use crate::plan::{AccessPath, Block, Input, PartAccess, TableInput};
use crate::table_usage::RowUse;

/// What a row takes besides its values and its key: places in lists that grow.
const ROW_PLACE_BYTES: usize = 128;

/// The table to be read this way, if the block is such a read.
pub fn applies<'b>(block: &'b Block, ctx: &ExecContext<'_>) -> Option<&'b TableInput> {
    let [step] = &block.steps[..] else { return None };
    let Input::Table(input) = &step.input else { return None };
    input.lock?;
    let by_keys = descending_keys(block, input).is_some();
    let locks_results_alone = by_keys || may_look_ahead(input, ctx);
    let is_sorted = !block.order.is_empty() && block.limit.is_some() && !block.distinct && !block.count_all_rows;
    let has_order = input.table.schema.indexes[input.access.index].method == IndexMethod::BTree;
    // What is evaluated is evaluated again under the lock.
    let filters = filters(block, input);
    let is_repeatable = filters.chain(&block.projection).all(|expression| !expression.needs_session());
    (locks_results_alone
        && is_sorted
        && (has_order || by_keys)
        && is_repeatable
        && !is_one_row(&input.access)
        && !input.access.may_repeat_rows(&input.table)
        && block.aggregation.is_none()
        && block.windowing.is_none()
        && block.subqueries.is_empty())
    .then_some(input)
}

/// Rows that are looked at and not chosen need not be locked.
fn may_look_ahead(input: &TableInput, ctx: &ExecContext<'_>) -> bool {
    input.wait == LockWait::SkipLocked || ctx.transaction.isolation() == Isolation::ReadCommitted
}

/// ORDER BY sorts a list of primary keys; whether from the last to the first.
fn descending_keys(block: &Block, input: &TableInput) -> Option<bool> {
    if !input.access.unique || input.access.index != 0 {
        return None;
    }
    let fixed =
        |part: &PartAccess| matches!(part, PartAccess::Equal { alternatives, .. } if alternatives.len() == 1);
    let parts = input.table.schema.primary_key().columns.iter().zip(&input.access.parts);
    let (fixed, listed): (Vec<_>, Vec<_>) = parts.partition(|(_, access)| fixed(access));
    let mut listed = listed.iter();
    let mut backwards = None;
    for key in &block.order {
        let position = block.projection[key.position].as_column()?;
        let (column, _) = block.steps[0].columns.iter().find(|(_, place)| *place == position)?;
        if fixed.iter().any(|(part, _)| part.column == *column) {
            continue;
        }
        let (part, _) = listed.next()?;
        let opposite = part.descending != key.descending;
        if part.column != *column || *backwards.get_or_insert(opposite) != opposite {
            return None;
        }
    }
    backwards
}

/// At most one key is looked for.
fn is_one_row(access: &AccessPath) -> bool {
    let is_one = |part: &PartAccess| match part {
        PartAccess::Equal { alternatives, .. } => alternatives.len() == 1,
        _ => false,
    };
    access.unique && access.parts.iter().all(is_one)
}

fn filters<'b>(block: &'b Block, input: &'b TableInput) -> impl Iterator<Item = &'b Expr> {
    let of_step = block.steps.first().and_then(|step| step.filter.as_ref());
    input.filter.iter().chain(of_step).chain(&block.filter).chain(&block.late_filter)
}

/// What is needed to make a row of the output from one of the table.
struct Projection<'b> {
    block: &'b Block,
    input: &'b TableInput,
    columns: Vec<usize>,
}

impl Projection<'_> {
    /// The output's row, unless a filter drops it.
    fn row(&self, row: RowRef<'_>, eval: &mut EvalContext<'_>) -> Result<Option<Vec<Value>>> {
        if let Some(filter) = &self.input.filter
            && filter.eval_bool(&row, eval)? != Some(true)
        {
            return Ok(None);
        }
        let mapped = MappedRow { row, columns: &self.columns };
        let step_filter = self.block.steps[0].filter.iter();
        for filter in step_filter.chain(&self.block.filter).chain(&self.block.late_filter) {
            if filter.eval_bool(&mapped, eval)? != Some(true) {
                return Ok(None);
            }
        }
        let values = self.block.projection.iter().map(|expression| expression.eval(&mapped, eval));
        values.collect::<Result<Vec<Value>>>().map(Some)
    }
}

/// Locks rows in the block's order and passes them on, `wanted` at most.
pub async fn run(
    block: &Block,
    input: &TableInput,
    wanted: u64,
    output: &mut Output<'_>,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let projection = Projection { block, input, columns: position_map(&block.steps[0].columns, block.width) };
    let mut taken = 0;
    let keys = match descending_keys(block, input).filter(|_| !may_look_ahead(input, ctx)) {
        Some(descending) => sorted_keys(input, descending, ctx)?,
        None => keys_in_order(&projection, ctx).await?,
    };
    for key in keys {
        if taken == wanted {
            break;
        }
        ctx.check_between_batches().await?;
        let ExecContext { transaction, eval, .. } = ctx;
        let see = |row: Option<RowRef<'_>>| row.map_or(Ok(None), |row| projection.row(row, eval));
        input.count(RowUse::Fetch, 1);
        let row = transaction.get(&input.table, &key, input.read_mode(), see).await??;
        if let Some(mut row) = row {
            taken += 1;
            output.push(&mut row)?;
        }
    }
    Ok(())
}

/// The keys of the list in their order.
fn sorted_keys(input: &TableInput, descending: bool, ctx: &mut ExecContext<'_>) -> Result<Vec<Vec<u8>>> {
    let no_row: &[Value] = &[];
    let Lookup::Keys(mut keys) = lookup(&input.table, &input.access, no_row, &mut ctx.eval)? else {
        return Ok(Vec::new());
    };
    ctx.handlers.read_key += keys.len() as u64;
    keys.sort_unstable();
    if descending {
        keys.reverse();
    }
    Ok(keys)
}

/// The primary keys of the rows that the read would return without its LIMIT, in order; no row is locked.
async fn keys_in_order(projection: &Projection<'_>, ctx: &mut ExecContext<'_>) -> Result<Vec<Vec<u8>>> {
    let input = projection.input;
    let no_row: &[Value] = &[];
    let ranges = match lookup(&input.table, &input.access, no_row, &mut ctx.eval)? {
        Lookup::Ranges(ranges) => ranges,
        Lookup::Keys(keys) => keys.into_iter().map(prefix_range).collect(),
    };
    ctx.handlers.read_key += ranges.len() as u64;
    let partition_key = pruning_key(&input.table, &input.access, no_row, &mut ctx.eval)?;
    let mut scan = ctx.transaction.look(ScanRequest {
        table: Arc::clone(&input.table),
        index: input.access.index,
        ranges,
        descending: false,
        ordered: false,
        partition_key,
        mode: input.read_mode(),
        row_limit: None,
    });
    let (mut rows, mut keys): (Vec<Vec<Value>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    let mut held = Held::new(ctx.memory);
    loop {
        ctx.check_between_batches().await?;
        let ExecContext { transaction, eval, handlers, .. } = ctx;
        let mut see = |row: RowRef<'_>| {
            handlers.read_next += 1;
            let Some(values) = projection.row(row, eval)? else { return Ok(Visit::Skip) };
            let mut key = Vec::with_capacity(16);
            input.table.keys[0].append_from_row(row, &mut key);
            held.add(row_bytes(&values) + key.capacity() + ROW_PLACE_BYTES)?;
            rows.push(values);
            keys.push(key);
            Ok(Visit::Take)
        };
        if !scan.next(transaction, &mut see).await? {
            break;
        }
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let compare = |&left: &usize, &right: &usize| compare_rows(&rows[left], &rows[right], &projection.block.order);
    sort_in_turns(&mut order, compare, ctx.interrupt).await?;
    Ok(order.into_iter().map(|place| std::mem::take(&mut keys[place])).collect())
}
