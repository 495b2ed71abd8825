//! Subqueries whose results are columns of a row.
//!
//! A subquery that reads outer columns runs once for every distinct combination of them; one that does not runs once.
//! Results are kept for the whole execution of the block.

use std::rc::Rc;

use shoal_expr::{RowSource, append_exact_key, append_group_key};
use shoal_types::{Error, ErrorCode, Result, SqlType, Value};

use super::consumer::Collect;
use super::key_set::KeySet;
use super::memory::{Held, StatementMemory};
use super::{ExecContext, HashMap, RowBatch};
use crate::plan::{SubqueryColumn, SubqueryKind};

/// What a subquery came to for one binding of its outer columns.
enum Found {
    Value(Value),
    Rows(Rows),
}

struct Rows {
    /// Rows without NULLs, by their bytes in the comparison types.
    keys: KeySet,
    rows: Vec<Vec<Value>>,
    has_null: bool,
    /// What `rows` take.
    _held: Held,
}

/// Results of one subquery column by the bytes of its outer values.
pub struct SubqueryState {
    found: HashMap<Box<[u8]>, Rc<Found>>,
    /// What keys and values take.
    held: Held,
    /// How often a result was there, and how often it was not.
    hits: u64,
    misses: u64,
}

impl SubqueryState {
    fn new(memory: &Rc<StatementMemory>) -> SubqueryState {
        SubqueryState { found: HashMap::default(), held: Held::new(memory), hits: 0, misses: 0 }
    }

    /// Hardly any result is there already: to keep them costs as much as a short function does.
    fn keeps_in_vain(&self) -> bool {
        self.misses >= BINDINGS_TRIED && self.hits * HITS_WORTH_A_MISS < self.misses
    }
}

/// What a binding takes besides its key and a value's bytes.
const BINDING_BYTES: usize = 160;

/// Distinct bindings whose results are kept.
const BINDINGS_KEPT: usize = 100_000;
/// Calls of a function after which it is known whether its results come again, and how many of them pay for keeping one.
const BINDINGS_TRIED: u64 = 256;
const HITS_WORTH_A_MISS: u64 = 8;
/// Rows of a subquery that are looked at between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;

/// Fills the result columns of all rows of a batch.
pub async fn fill_columns(
    columns: &[SubqueryColumn],
    states: &mut Vec<SubqueryState>,
    batch: &mut RowBatch,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    fill_some_columns(columns, |_| true, states, batch, ctx).await
}

/// The same of those columns alone whose numbers are wanted.
pub async fn fill_some_columns(
    columns: &[SubqueryColumn],
    is_wanted: impl Fn(usize) -> bool,
    states: &mut Vec<SubqueryState>,
    batch: &mut RowBatch,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    states.resize_with(columns.len(), || SubqueryState::new(ctx.memory));
    for (_, (column, state)) in columns.iter().zip(states).enumerate().filter(|(number, _)| is_wanted(*number)) {
        for row in 0..batch.len() {
            ctx.check_between_batches().await?;
            if !is_needed(column, batch.row(row), ctx)? {
                batch.row_mut(row)[column.position] = Value::Null;
                continue;
            }
            let found = bind_and_run(column, state, batch.row(row), ctx).await?;
            let value = result(column, &found, batch.row(row), ctx).await?;
            batch.row_mut(row)[column.position] = value;
        }
    }
    Ok(())
}

/// Whether anybody looks at the result. What there is to say of that is said where the expression around is evaluated.
fn is_needed<R: RowSource + ?Sized>(column: &SubqueryColumn, row: &R, ctx: &mut ExecContext<'_>) -> Result<bool> {
    let Some(needed) = &column.needed else { return Ok(true) };
    let before = std::mem::take(&mut ctx.eval.warnings);
    let is_needed = needed.eval_bool(row, &mut ctx.eval);
    ctx.eval.warnings = before;
    Ok(is_needed? == Some(true))
}

/// The result of a subquery for one row; nothing of it is kept for others.
pub async fn result_for<R: RowSource + ?Sized>(
    column: &SubqueryColumn,
    row: &R,
    ctx: &mut ExecContext<'_>,
) -> Result<Value> {
    if !is_needed(column, row, ctx)? {
        return Ok(Value::Null);
    }
    let mut state = SubqueryState::new(ctx.memory);
    let found = bind_and_run(column, &mut state, row, ctx).await?;
    result(column, &found, row, ctx).await
}

async fn bind_and_run<R: RowSource + ?Sized>(
    column: &SubqueryColumn,
    state: &mut SubqueryState,
    row: &R,
    ctx: &mut ExecContext<'_>,
) -> Result<Rc<Found>> {
    let mut bindings = Vec::with_capacity(column.outer.len());
    for (slot, expression) in &column.outer {
        bindings.push((*slot, expression.eval(row, &mut ctx.eval)?));
    }
    if column.plan.as_call().is_some() && (column.plan.is_run_each_time() || state.keeps_in_vain()) {
        return Ok(Rc::new(run(column, bindings, ctx).await?));
    }
    let mut key = Vec::new();
    for ((_, expression), (_, value)) in column.outer.iter().zip(&bindings) {
        append_exact_key(value, expression.sql_type(), &mut key);
    }
    if let Some(found) = state.found.get(key.as_slice()) {
        state.hits += 1;
        return Ok(Rc::clone(found));
    }
    state.misses += 1;
    let found = Rc::new(run(column, bindings, ctx).await?);
    if column.plan.is_run_each_time() {
        return Ok(found);
    }
    if state.found.len() >= BINDINGS_KEPT {
        state.found.clear();
        state.held.shrink_to(0);
    }
    let value_bytes = if let Found::Value(value) = &*found { value.heap_bytes() } else { 0 };
    state.held.add(key.len() + value_bytes + BINDING_BYTES)?;
    state.found.insert(key.into(), Rc::clone(&found));
    Ok(found)
}

async fn run(column: &SubqueryColumn, bindings: Vec<(usize, Value)>, ctx: &mut ExecContext<'_>) -> Result<Found> {
    let limit = match column.kind {
        SubqueryKind::Scalar | SubqueryKind::Row { .. } => Some(2),
        SubqueryKind::Exists => Some(1),
        _ => None,
    };
    if let (SubqueryKind::Scalar, Some(call)) = (&column.kind, column.plan.as_call()) {
        return ctx.call_function_with(call, bindings).await.map(Found::Value);
    }
    let mut found = ctx.run_collect_with(&column.plan, bindings, limit).await?;
    Ok(match &column.kind {
        SubqueryKind::Exists => Found::Value(Value::from(!found.rows.is_empty())),
        SubqueryKind::Scalar => Found::Value(scalar(&mut found.rows)?),
        SubqueryKind::In { types, .. } => Found::Rows(Rows::new(found, types, ctx).await?),
        SubqueryKind::Row { .. } if found.rows.len() > 1 => return Err(more_than_one_row()),
        SubqueryKind::Row { .. } | SubqueryKind::Quantified { .. } => {
            let Collect { rows, held, .. } = found;
            Found::Rows(Rows { keys: KeySet::new(ctx.memory), rows, has_null: false, _held: held })
        }
    })
}

/// The value of a scalar subquery. Errors: 1242, more than one row.
pub fn scalar(rows: &mut Vec<Vec<Value>>) -> Result<Value> {
    if rows.len() > 1 {
        return Err(more_than_one_row());
    }
    Ok(rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null))
}

fn more_than_one_row() -> Error {
    Error::new(ErrorCode::SubqueryNo1Row, "Subquery returns more than 1 row")
}

impl Rows {
    async fn new(found: Collect, types: &[SqlType], ctx: &ExecContext<'_>) -> Result<Rows> {
        let Collect { rows, held, .. } = found;
        let keys = KeySet::new(ctx.memory);
        let mut kept = Rows { keys, rows: Vec::new(), has_null: false, _held: Held::new(ctx.memory) };
        for (number, row) in rows.into_iter().enumerate() {
            if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
                ctx.check_between_batches().await?;
            }
            if row.iter().any(Value::is_null) {
                kept.has_null = true;
                kept.rows.push(row);
            } else {
                kept.keys.insert(&key_of(&row, types))?;
            }
        }
        if kept.has_null {
            kept._held = held;
        }
        Ok(kept)
    }
}

/// Bytes that are equal when the rows are, in these types.
pub fn key_of(row: &[Value], types: &[SqlType]) -> Vec<u8> {
    let mut key = Vec::new();
    for (value, sql_type) in row.iter().zip(types) {
        append_group_key(value, sql_type, &mut key);
    }
    key
}

async fn result<R: RowSource + ?Sized>(
    column: &SubqueryColumn,
    found: &Found,
    row: &R,
    ctx: &mut ExecContext<'_>,
) -> Result<Value> {
    match (found, &column.kind) {
        (Found::Value(value), _) => Ok(value.clone()),
        (Found::Rows(rows), SubqueryKind::In { left, types, negated }) => {
            let values = left.iter().map(|left| left.eval(row, &mut ctx.eval)).collect::<Result<Vec<Value>>>()?;
            let member = is_member(&values, rows, types);
            Ok(member.map_or(Value::Null, |member| Value::from(member != *negated)))
        }
        (Found::Rows(rows), SubqueryKind::Row { left, compare }) => {
            let Some(found) = rows.rows.first() else { return Ok(Value::Null) };
            let mut pair =
                left.iter().map(|left| left.eval(row, &mut ctx.eval)).collect::<Result<Vec<Value>>>()?;
            pair.extend_from_slice(found);
            compare.eval(&pair[..], &mut ctx.eval)
        }
        (Found::Rows(rows), SubqueryKind::Quantified { left, compare, all }) => {
            let value = left.eval(row, &mut ctx.eval)?;
            let truth = quantified(&value, rows, compare, *all, ctx).await?;
            Ok(truth.map_or(Value::Null, Value::from))
        }
        (Found::Rows(_), _) => Ok(Value::Null),
    }
}

/// Three-valued IN.
fn is_member(values: &[Value], rows: &Rows, types: &[SqlType]) -> Option<bool> {
    if rows.keys.is_empty() && rows.rows.is_empty() {
        return Some(false);
    }
    if values.iter().any(Value::is_null) {
        return if values.len() == 1 || rows_may_equal(values, rows, types) { None } else { Some(false) };
    }
    if rows.keys.contains(&key_of(values, types)) {
        return Some(true);
    }
    if rows.has_null && rows_may_equal(values, rows, types) { None } else { Some(false) }
}

/// Some row is equal wherever neither side is NULL.
fn rows_may_equal(values: &[Value], rows: &Rows, types: &[SqlType]) -> bool {
    if values.iter().any(Value::is_null) && !rows.keys.is_empty() {
        return true;
    }
    rows.rows.iter().any(|row| {
        values.iter().zip(row).zip(types).all(|((left, right), sql_type)| {
            left.is_null() || right.is_null() || shoal_expr::compare(left, right, sql_type).is_eq()
        })
    })
}

async fn quantified(
    value: &Value,
    rows: &Rows,
    compare: &shoal_expr::Expr,
    all: bool,
    ctx: &mut ExecContext<'_>,
) -> Result<Option<bool>> {
    let mut unknown = false;
    for (number, row) in rows.rows.iter().enumerate() {
        if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
            ctx.check_between_batches().await?;
        }
        let pair = [value.clone(), row.first().cloned().unwrap_or(Value::Null)];
        match compare.eval_bool(&pair[..], &mut ctx.eval)? {
            Some(truth) if truth != all => return Ok(Some(truth)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(all) })
}
