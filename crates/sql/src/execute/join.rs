//! Widening batches of the joined row by one input.
//!
//! Inputs that depend on the row are fetched with the keys of the whole batch in one round trip. Inputs that do not are
//! read once and kept, hashed on their join keys if there are any.

use std::ops::Range;
use std::sync::Arc;

use shoal_expr::{EvalContext, Expr, append_group_key};
use shoal_txn::{ScanRequest, Visit};
use shoal_types::row::RowRef;
use shoal_types::{ErrorCode, Result, Value, WarningLevel};

use super::batch::KeptRows;
use super::fetch::read_all;
use super::lookup::{Lookup, leading_parts, lookup, pruning_key};
use super::memory::{Held, row_bytes};
use super::{ExecContext, Flow, HashMap, RowBatch, RowConsumer};
use crate::plan::{Input, JoinKind, JoinStep, TableInput};
use crate::table_usage::RowUse;

/// What one step keeps between batches, and between the parts of one batch.
#[derive(Default)]
pub struct JoinState {
    /// The rows of an input that does not depend on the row, in input column order.
    rows: Option<KeptRows>,
    /// Their positions by hash key; empty when there are no hash keys.
    by_key: HashMap<Box<[u8]>, Vec<u32>>,
    /// What was looked up for the rows of the batch from `place.outer` on.
    looked_up: Option<LookedUp>,
    place: PairPlace,
}

/// Inner rows that were looked up for some rows of a batch.
struct LookedUp {
    outers: Range<usize>,
    found: Vec<Vec<RowBatchRow>>,
    /// What the rows take.
    _held: Held,
}

/// What an inner row takes besides its values, and its place in the list of an outer row.
const FOUND_BYTES: usize = 16;
const FOUND_PLACE_BYTES: usize = 2 * size_of::<RowBatchRow>();
/// What a key of kept rows takes besides its bytes, and a row's place in its list.
const KEY_BYTES: usize = 144;
const POSITION_BYTES: usize = 8;

/// How far the pairs of the present outer row were tried.
#[derive(Default)]
struct PairPlace {
    /// The next of its inner rows.
    inner: usize,
    /// A pair with it was joined.
    matched: bool,
}

/// Rows whose keys are looked up in one round trip.
const ROWS_PER_LOOKUP: usize = 256;
/// Joined rows from which on the rest of a batch has to wait.
const JOINED_ROWS: usize = 2048;
/// Pairs after which it has to wait as well, however few of them are joined.
const PAIRS_TRIED: usize = 4096;
/// Rows of an input that are taken between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;

/// Joins rows of `batch` from `done` on with the step's input, and moves `done` behind the last of them that has met all of
/// its inner rows: to the batch's end or to where enough was done at a time. Call it again until all of the batch is done.
pub async fn join(
    step: &JoinStep,
    state: &mut JoinState,
    batch: &RowBatch,
    done: &mut usize,
    width: usize,
    ctx: &mut ExecContext<'_>,
) -> Result<RowBatch> {
    match &step.input {
        Input::Table(input) if input.access.depends_on_row => {
            if state.looked_up.is_none() {
                let outers = *done..batch.len().min(*done + ROWS_PER_LOOKUP);
                state.looked_up = Some(look_up(step, input, batch, outers, ctx).await?);
            }
            join_with_looked_up(step, state, batch, done, width, ctx)
        }
        _ => {
            if state.rows.is_none() {
                materialise(step, state, ctx).await?;
            }
            join_with_kept_rows(step, state, batch, done, width, ctx)
        }
    }
}

/// Keeps the columns of a derived table that are read.
struct Keeper<'a> {
    kept: KeptRows,
    columns: &'a [(usize, usize)],
}

impl RowConsumer for Keeper<'_> {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        let columns = self.columns;
        self.kept.push(|target| {
            for (place, &(column, _)) in target.iter_mut().zip(columns) {
                *place = row[column].clone();
            }
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}

/// Reads an input that does not depend on other rows, in the order of `step.columns`.
pub async fn read_input(step: &JoinStep, ctx: &mut ExecContext<'_>) -> Result<KeptRows> {
    match &step.input {
        Input::Table(input) => read_all(input, &step.columns, ctx).await,
        Input::Derived(plan) => {
            let kept = KeptRows::new(step.columns.len(), ctx.memory);
            let mut keeper = Keeper { kept, columns: &step.columns };
            ctx.run_query(plan, &mut keeper).await?;
            Ok(keeper.kept)
        }
        Input::Virtual(table) => {
            let mut kept = KeptRows::new(step.columns.len(), ctx.memory);
            let (rows, warnings) = ctx.virtual_rows.rows(*table).await;
            for warning in warnings {
                ctx.eval.warnings.push(WarningLevel::Warning, ErrorCode::GetTemporaryErrmsg, || warning);
            }
            for row in rows {
                kept.push(|target| {
                    for (place, &(column, _)) in target.iter_mut().zip(&step.columns) {
                        *place = row[column].clone();
                    }
                    Ok(())
                })?;
            }
            Ok(kept)
        }
        Input::Rows(rows) => {
            let mut kept = KeptRows::new(step.columns.len(), ctx.memory);
            let no_row: &[Value] = &[];
            for row in rows {
                kept.push(|target| {
                    for (place, &(column, _)) in target.iter_mut().zip(&step.columns) {
                        *place = row[column].eval(no_row, &mut ctx.eval)?;
                    }
                    Ok(())
                })?;
            }
            Ok(kept)
        }
    }
}

async fn materialise(step: &JoinStep, state: &mut JoinState, ctx: &mut ExecContext<'_>) -> Result<()> {
    let mut rows = read_input(step, ctx).await?;
    if !step.hash_keys.is_empty() {
        let mut key = Vec::new();
        for position in 0..rows.row_count() {
            if position.is_multiple_of(ROWS_PER_CHECK) {
                ctx.check_between_batches().await?;
            }
            if hash_key(
                step.hash_keys.iter().map(|(_, inner)| inner),
                rows.row(position),
                &mut ctx.eval,
                &mut key,
            )? {
                match state.by_key.get_mut(key.as_slice()) {
                    Some(positions) => {
                        rows.hold(POSITION_BYTES)?;
                        positions.push(position as u32);
                    }
                    None => {
                        rows.hold(key.len() + KEY_BYTES)?;
                        state.by_key.insert(key.as_slice().into(), vec![position as u32]);
                    }
                }
            }
        }
    }
    state.rows = Some(rows);
    Ok(())
}

/// Fills `key` with the join key of a row; `false` if part of it is NULL.
fn hash_key<'e>(
    expressions: impl Iterator<Item = &'e Expr>,
    row: &[Value],
    eval: &mut EvalContext<'_>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    key.clear();
    for expression in expressions {
        let value = expression.eval(row, eval)?;
        if value.is_null() {
            return Ok(false);
        }
        append_group_key(&value, expression.sql_type(), key);
    }
    Ok(true)
}

fn join_with_kept_rows(
    step: &JoinStep,
    state: &mut JoinState,
    batch: &RowBatch,
    done: &mut usize,
    width: usize,
    ctx: &mut ExecContext<'_>,
) -> Result<RowBatch> {
    let JoinState { rows, by_key, place, .. } = state;
    let mut joined = RowBatch::new(width);
    let Some(rows) = rows else {
        *done = batch.len();
        return Ok(joined);
    };
    let mut key = Vec::new();
    let mut pairs = PAIRS_TRIED;
    while *done < batch.len() && joined.len() < JOINED_ROWS && pairs > 0 {
        let outer = batch.row(*done);
        let eval = &mut ctx.eval;
        let all_met = if step.hash_keys.is_empty() {
            try_pairs(
                step,
                outer,
                rows.row_count(),
                |inner| rows.row(inner),
                (place, &mut pairs),
                &mut joined,
                eval,
            )?
        } else if hash_key(step.hash_keys.iter().map(|(outer, _)| outer), outer, eval, &mut key)? {
            let found = by_key.get(key.as_slice()).map_or(&[][..], |positions| positions);
            let row = |inner: usize| rows.row(found[inner] as usize);
            try_pairs(step, outer, found.len(), row, (place, &mut pairs), &mut joined, eval)?
        } else {
            true
        };
        if all_met {
            end_outer_row(step, outer, place, &mut joined, &mut ctx.eval)?;
            *done += 1;
            pairs = pairs.saturating_sub(1);
        }
    }
    Ok(joined)
}

/// Tries an outer row with its inner rows from `place` on, as long as there are `pairs` left and not too many have been joined.
/// True: it has met all of them.
fn try_pairs<'r>(
    step: &JoinStep,
    outer: &[Value],
    inner_count: usize,
    inner_row: impl Fn(usize) -> &'r [Value],
    (place, pairs): (&mut PairPlace, &mut usize),
    joined: &mut RowBatch,
    eval: &mut EvalContext<'_>,
) -> Result<bool> {
    while place.inner < inner_count {
        if *pairs == 0 || joined.len() >= JOINED_ROWS {
            return Ok(false);
        }
        *pairs -= 1;
        place.matched |= add_pair(step, outer, inner_row(place.inner), joined, eval)?;
        place.inner += 1;
    }
    Ok(true)
}

/// An outer row has met all of its inner rows: an outer join keeps it if it found none.
fn end_outer_row(
    step: &JoinStep,
    outer: &[Value],
    place: &mut PairPlace,
    joined: &mut RowBatch,
    eval: &mut EvalContext<'_>,
) -> Result<()> {
    if !std::mem::take(place).matched && step.kind == JoinKind::LeftOuter {
        joined.push(outer);
        keep_if(step.filter.as_ref(), joined, eval)?;
    }
    Ok(())
}

/// Adds the pair if the ON condition holds.
fn add_pair(
    step: &JoinStep,
    outer: &[Value],
    inner: &[Value],
    joined: &mut RowBatch,
    eval: &mut EvalContext<'_>,
) -> Result<bool> {
    let row = joined.push(outer);
    for (value, &(_, position)) in inner.iter().zip(&step.columns) {
        row[position] = value.clone();
    }
    if !keep_if(step.condition.as_ref(), joined, eval)? {
        return Ok(false);
    }
    // A pair that the filter drops has matched all the same.
    keep_if(step.filter.as_ref(), joined, eval)?;
    Ok(true)
}

/// Takes the last row away again unless it fulfils the condition.
fn keep_if(condition: Option<&Expr>, joined: &mut RowBatch, eval: &mut EvalContext<'_>) -> Result<bool> {
    if let Some(condition) = condition
        && condition.eval_bool(joined.row(joined.len() - 1), eval)? != Some(true)
    {
        joined.pop();
        return Ok(false);
    }
    Ok(true)
}

/// Which outer rows, counted from the first of those looked up, want which key.
type Wanted = HashMap<Vec<u8>, Vec<u32>>;

async fn look_up(
    step: &JoinStep,
    input: &TableInput,
    batch: &RowBatch,
    outers: Range<usize>,
    ctx: &mut ExecContext<'_>,
) -> Result<LookedUp> {
    let mut found: Vec<Vec<RowBatchRow>> = outers.clone().map(|_| Vec::new()).collect();
    let wanted = wanted_keys(input, batch, outers.clone(), &mut ctx.eval)?;
    let mut held = Held::new(ctx.memory);
    if input.access.unique {
        fetch_unique(step, input, wanted, (&mut found, &mut held), ctx).await?;
    } else {
        fetch_equal(step, input, batch, outers.start, wanted, (&mut found, &mut held), ctx).await?;
    }
    Ok(LookedUp { outers, found, _held: held })
}

fn join_with_looked_up(
    step: &JoinStep,
    state: &mut JoinState,
    batch: &RowBatch,
    done: &mut usize,
    width: usize,
    ctx: &mut ExecContext<'_>,
) -> Result<RowBatch> {
    let JoinState { looked_up, place, .. } = state;
    let mut joined = RowBatch::new(width);
    let Some(LookedUp { outers, found, .. }) = looked_up else { return Ok(joined) };
    let mut pairs = PAIRS_TRIED;
    while *done < outers.end {
        let inner_rows = &found[*done - outers.start];
        let (outer, row) = (batch.row(*done), |inner: usize| &*inner_rows[inner]);
        if !try_pairs(step, outer, inner_rows.len(), row, (place, &mut pairs), &mut joined, &mut ctx.eval)? {
            return Ok(joined);
        }
        end_outer_row(step, outer, place, &mut joined, &mut ctx.eval)?;
        *done += 1;
    }
    *looked_up = None;
    Ok(joined)
}

type RowBatchRow = Arc<[Value]>;

fn take_row(step: &JoinStep, row: RowRef<'_>, eval: &EvalContext<'_>) -> RowBatchRow {
    step.columns.iter().map(|&(column, _)| row.value(column, eval.zone)).collect()
}

/// Evaluates the lookups of a batch: every distinct key with the outer rows that want it.
fn wanted_keys(
    input: &TableInput,
    batch: &RowBatch,
    outers: Range<usize>,
    eval: &mut EvalContext<'_>,
) -> Result<Wanted> {
    let mut wanted = Wanted::with_capacity_and_hasher(outers.len(), Default::default());
    for (outer, position) in outers.enumerate() {
        let keys = match lookup(&input.table, &input.access, batch.row(position), eval)? {
            Lookup::Keys(keys) => keys,
            Lookup::Ranges(ranges) => ranges.into_iter().map(|range| range.start).collect(),
        };
        for key in keys {
            wanted.entry(key).or_default().push(outer as u32);
        }
    }
    Ok(wanted)
}

fn passes(input: &TableInput, row: RowRef<'_>, eval: &mut EvalContext<'_>) -> Result<bool> {
    match &input.filter {
        Some(filter) => Ok(filter.eval_bool(&row, eval)? == Some(true)),
        None => Ok(true),
    }
}

async fn fetch_unique(
    step: &JoinStep,
    input: &TableInput,
    wanted: Wanted,
    (found, held): (&mut [Vec<RowBatchRow>], &mut Held),
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let (mut keys, mut outers): (Vec<Vec<u8>>, Vec<Vec<u32>>) = wanted.into_iter().unzip();
    ctx.handlers.read_key += keys.len() as u64;
    input.count(RowUse::Fetch, keys.len() as u64);
    if input.access.index != 0 {
        let primary =
            ctx.transaction.get_unique(&input.table, input.access.index, &keys, input.read_mode()).await?;
        let present = primary.into_iter().zip(outers).filter_map(|(key, outer)| key.map(|key| (key, outer)));
        (keys, outers) = present.unzip();
    }
    let ExecContext { transaction, eval, .. } = ctx;
    let mut visit = |position: usize, row: RowRef<'_>| {
        if passes(input, row, eval)? {
            let values = take_row(step, row, eval);
            held.add(row_bytes(&values) + FOUND_BYTES + outers[position].len() * FOUND_PLACE_BYTES)?;
            for &outer in &outers[position] {
                found[outer as usize].push(Arc::clone(&values));
            }
        }
        Ok(())
    };
    transaction.get_many(&input.table, &keys, input.read_mode(), &mut visit).await
}

/// Lookups that depend on the row are equalities on leading parts (the planner sees to it): one scan over all of them, rows find their outer rows by key.
async fn fetch_equal(
    step: &JoinStep,
    input: &TableInput,
    batch: &RowBatch,
    start: usize,
    wanted: Wanted,
    (found, held): (&mut [Vec<RowBatchRow>], &mut Held),
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut starts: Vec<Vec<u8>> = wanted.keys().cloned().collect();
    starts.sort_unstable();
    ctx.handlers.read_key += starts.len() as u64;
    let partition_key = match wanted.values().next() {
        Some(outers) if wanted.len() == 1 => {
            let row = batch.row(start + outers[0] as usize);
            pruning_key(&input.table, &input.access, row, &mut ctx.eval)?
        }
        _ => None,
    };
    let spec = leading_parts(&input.table.keys[input.access.index], input.access.parts.len());
    let ExecContext { transaction, eval, handlers, interrupt, .. } = ctx;
    let mut scan = transaction.scan(ScanRequest {
        table: Arc::clone(&input.table),
        index: input.access.index,
        ranges: starts.into_iter().map(super::lookup::prefix_range).collect(),
        descending: false,
        ordered: input.access.in_key_order,
        partition_key,
        mode: input.read_mode(),
        row_limit: None,
    });
    let mut key = Vec::new();
    loop {
        let mut rows = 0;
        let mut visit = |row: RowRef<'_>| {
            rows += 1;
            if !passes(input, row, eval)? {
                return Ok(Visit::Skip);
            }
            key.clear();
            spec.append_from_row(row, &mut key);
            if let Some(outers) = wanted.get(&key) {
                let values = take_row(step, row, eval);
                held.add(row_bytes(&values) + FOUND_BYTES + outers.len() * FOUND_PLACE_BYTES)?;
                for &outer in outers {
                    found[outer as usize].push(Arc::clone(&values));
                }
            }
            Ok(Visit::Take)
        };
        let has_more = scan.next(transaction, &mut visit).await?;
        handlers.read_next += rows;
        input.count(RowUse::Fetch, rows);
        if !has_more {
            return Ok(());
        }
        interrupt.check_between_batches().await?;
    }
}
