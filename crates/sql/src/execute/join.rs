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
use super::kept_index::Lookups;
use super::lateral::{KeptColumns, lateral_rows};
use super::lookup::{Lookup, leading_parts, lookup, only_key, pruning_key};
use super::memory::{Held, row_bytes};
use super::subquery::{SubqueryState, fill_some_columns};
use super::{ExecContext, HashMap, RowBatch, recursion};
use crate::plan::{Block, Input, JoinKind, JoinStep, QueryBody, TableInput};
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
    /// Of an input that is looked up row by row.
    lookups: Lookups,
    /// The rows of a lateral input for the present outer row.
    lateral: Option<KeptRows>,
    /// That row, without what nobody behind the input reads.
    outer: Vec<Value>,
    /// Of the subqueries that the condition reads.
    subqueries: Vec<SubqueryState>,
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
        Input::Lateral(_) | Input::JsonTable(_) if step.is_lateral() => {
            join_lateral(step, state, batch, done, width, ctx).await
        }
        Input::Table(input) if input.access.depends_on_row => {
            if state.looked_up.is_none() && state.rows.is_none() {
                let outers = *done..batch.len().min(*done + ROWS_PER_LOOKUP);
                match state.lookups.count(outers.len() as u64, step, input, ctx).await? {
                    Some((rows, by_key)) => (state.rows, state.by_key) = (Some(rows), by_key),
                    None => state.looked_up = Some(look_up(step, input, batch, outers, ctx).await?),
                }
            }
            match state.rows {
                Some(_) => join_with_kept_rows(step, state, batch, done, width, ctx),
                None => join_with_looked_up(step, state, batch, done, width, ctx),
            }
        }
        _ => {
            if state.rows.is_none() {
                materialise(step, state, ctx).await?;
            }
            join_with_kept_rows(step, state, batch, done, width, ctx)
        }
    }
}

/// The same where the ON condition reads results of the block's subqueries, which are run for every pair.
pub async fn join_by_subqueries(
    block: &Block,
    step: &JoinStep,
    state: &mut JoinState,
    batch: &RowBatch,
    done: &mut usize,
    ctx: &mut ExecContext<'_>,
) -> Result<RowBatch> {
    match &step.input {
        Input::Table(input) if input.access.depends_on_row => {
            let outers = *done..*done + 1;
            state.looked_up = Some(look_up(step, input, batch, outers, ctx).await?);
        }
        _ if state.rows.is_none() => materialise(step, state, ctx).await?,
        _ => {}
    }
    let outer = batch.row(*done);
    let mut key = Vec::new();
    let hashed = match (step.hash_keys.is_empty(), &state.looked_up) {
        (false, None) => {
            let expressions = step.hash_keys.iter().map(|(outer, _)| outer);
            let has_key = hash_key(expressions, outer, &mut ctx.eval, &mut key)?;
            Some(state.by_key.get(key.as_slice()).filter(|_| has_key).map_or(&[][..], |positions| positions))
        }
        _ => None,
    };
    let JoinState { rows, looked_up, place, subqueries, .. } = state;
    let count = match (&*looked_up, hashed, &*rows) {
        (Some(looked_up), ..) => looked_up.found[0].len(),
        (None, Some(positions), _) => positions.len(),
        (None, None, rows) => rows.as_ref().map_or(0, KeptRows::row_count),
    };
    let mut joined = RowBatch::new(block.width);
    let mut tried = 0;
    while tried < count {
        ctx.check_between_batches().await?;
        let mut pairs = RowBatch::new(block.width);
        let some = tried..count.min(tried + ROWS_PER_CHECK);
        tried = some.end;
        for number in some {
            let inner = match (&*looked_up, hashed, &*rows) {
                (Some(looked_up), ..) => &looked_up.found[0][number][..],
                (None, Some(positions), Some(rows)) => rows.row(positions[number] as usize),
                (None, None, Some(rows)) => rows.row(number),
                (None, _, None) => continue,
            };
            push_pair(step, outer, inner, &mut pairs);
        }
        let is_read = |number| step.condition_subqueries.contains(&number);
        fill_some_columns(&block.subqueries, is_read, subqueries, &mut pairs, ctx).await?;
        for number in 0..pairs.len() {
            joined.push(pairs.row(number));
            if keep_if(step.condition.as_ref(), &mut joined, &mut ctx.eval)? {
                place.matched = true;
                keep_if(step.filter.as_ref(), &mut joined, &mut ctx.eval)?;
            }
        }
    }
    end_outer_row(step, outer, place, &mut joined, &mut ctx.eval)?;
    *looked_up = None;
    *done += 1;
    Ok(joined)
}

/// Reads an input that does not depend on other rows, in the order of `step.columns`.
pub async fn read_input(step: &JoinStep, ctx: &mut ExecContext<'_>) -> Result<KeptRows> {
    match &step.input {
        Input::Table(input) => read_all(input, &step.columns, ctx).await,
        Input::Derived(plan) => {
            let are_all = |width: usize| step.columns.iter().map(|&(column, _)| column).eq(0..width);
            if let QueryBody::Recursion(recursion) = &plan.body
                && plan.constants.is_empty()
                && recursion.limit.as_ref().is_none_or(|limit| limit.offset.is_none())
                && are_all(recursion.columns.len())
            {
                return recursion::all_rows(recursion, ctx).await;
            }
            let mut kept = KeptColumns::new(step, ctx);
            ctx.run_query(plan, &mut kept).await?;
            Ok(kept.rows)
        }
        Input::Lateral(_) | Input::JsonTable(_) => lateral_rows(step, &[], ctx).await,
        // It is always the first input, which the block reads.
        Input::Working => Ok(KeptRows::new(step.columns.len(), ctx.memory)),
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

/// Joins with an input whose rows are made anew for each outer row.
async fn join_lateral(
    step: &JoinStep,
    state: &mut JoinState,
    batch: &RowBatch,
    done: &mut usize,
    width: usize,
    ctx: &mut ExecContext<'_>,
) -> Result<RowBatch> {
    let mut joined = RowBatch::new(width);
    let mut pairs = PAIRS_TRIED;
    while *done < batch.len() && joined.len() < JOINED_ROWS && pairs > 0 {
        let rows = match state.lateral.take() {
            Some(rows) => rows,
            None => {
                state.outer.clear();
                let kept = batch.row(*done).iter().enumerate();
                let is_spent = |position: &usize| step.spent.contains(position);
                state.outer.extend(kept.map(|(position, value)| match is_spent(&position) {
                    true => Value::Null,
                    false => value.clone(),
                }));
                lateral_rows(step, batch.row(*done), ctx).await?
            }
        };
        let outer = &state.outer[..];
        let row = |inner: usize| rows.row(inner);
        let place = (&mut state.place, &mut pairs);
        if !try_pairs(step, outer, rows.row_count(), row, place, &mut joined, &mut ctx.eval)? {
            state.lateral = Some(rows);
            break;
        }
        end_outer_row(step, outer, &mut state.place, &mut joined, &mut ctx.eval)?;
        *done += 1;
        pairs = pairs.saturating_sub(1);
    }
    Ok(joined)
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

/// Fills `key` with what an outer row looks for among the kept rows; false: it finds none.
fn join_key(step: &JoinStep, outer: &[Value], eval: &mut EvalContext<'_>, key: &mut Vec<u8>) -> Result<bool> {
    match &step.input {
        Input::Table(input) if input.access.depends_on_row => {
            only_key(&input.table, &input.access, outer, eval, key)
        }
        _ => hash_key(step.hash_keys.iter().map(|(outer, _)| outer), outer, eval, key),
    }
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
        let is_by_index = matches!(&step.input, Input::Table(input) if input.access.depends_on_row);
        let all_met = if step.hash_keys.is_empty() && !is_by_index {
            try_pairs(
                step,
                outer,
                rows.row_count(),
                |inner| rows.row(inner),
                (place, &mut pairs),
                &mut joined,
                eval,
            )?
        } else if join_key(step, outer, eval, &mut key)? {
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
    push_pair(step, outer, inner, joined);
    if !keep_if(step.condition.as_ref(), joined, eval)? {
        return Ok(false);
    }
    // A pair that the filter drops has matched all the same.
    keep_if(step.filter.as_ref(), joined, eval)?;
    Ok(true)
}

fn push_pair(step: &JoinStep, outer: &[Value], inner: &[Value], joined: &mut RowBatch) {
    let row = joined.push(outer);
    for (value, &(_, position)) in inner.iter().zip(&step.columns) {
        row[position] = value.clone();
    }
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
            let mut found_for = None;
            spec.each_key(row, &mut key, |key| found_for = found_for.or_else(|| wanted.get(key)));
            if let Some(outers) = found_for {
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
