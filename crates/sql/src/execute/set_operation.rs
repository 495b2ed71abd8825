//! UNION, INTERSECT and EXCEPT.

use shoal_expr::convert_to;
use shoal_types::{Result, SqlType, Value};

use std::rc::Rc;

use super::consumer::Collect;
use super::key_set::KeySet;
use super::memory::StatementMemory;
use super::output::Output;
use super::subquery::key_of;
use super::{ExecContext, Flow, HashMap, RowConsumer, limit_value};
use crate::plan::{Limit, SetOperation, SetOperator};
use crate::session::Interrupt;

/// Rows that are worked on between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;
/// What a counted key takes besides its bytes.
const COUNT_BYTES: usize = 112;

/// Runs the terms from left to right. UNION ALL alone streams; everything else is collected.
pub async fn run(plan: &SetOperation, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    let bounds = evaluate_limit(plan.limit.as_ref(), ctx)?;
    let visible = plan.types.len();
    let mut output = Output::new(visible, None, &plan.order, bounds, false, ctx.memory, consumer);
    let Collect { rows, held, .. } = collect(plan, ctx).await?;
    let mut projected = Vec::new();
    for (number, row) in rows.into_iter().enumerate() {
        if number.is_multiple_of(ROWS_PER_CHECK) {
            output.trim(ctx.interrupt).await?;
            ctx.check_between_batches().await?;
        }
        projected.clear();
        projected.extend_from_slice(&row);
        for expression in &plan.order_expressions {
            projected.push(expression.eval(&row[..], &mut ctx.eval)?);
        }
        if output.push(&mut projected)? == Flow::Stop {
            break;
        }
        if output.wants_flush() {
            output.flush().await?;
        }
    }
    drop(held);
    output.finish(ctx.interrupt).await?;
    ctx.found_rows = output.rows_seen;
    Ok(())
}

/// (OFFSET, LIMIT).
pub fn evaluate_limit(limit: Option<&Limit>, ctx: &mut ExecContext<'_>) -> Result<(u64, Option<u64>)> {
    let Some(limit) = limit else { return Ok((0, None)) };
    let no_row: &[Value] = &[];
    let count = limit_value(&limit.count.eval(no_row, &mut ctx.eval)?)?;
    let offset = match &limit.offset {
        Some(offset) => limit_value(&offset.eval(no_row, &mut ctx.eval)?)?,
        None => 0,
    };
    Ok((offset, Some(count)))
}

type Row = Vec<Value>;

async fn collect(plan: &SetOperation, ctx: &mut ExecContext<'_>) -> Result<Collect> {
    let mut rows = term(&plan.first, &plan.types, ctx).await?;
    for next in &plan.rest {
        let other = term(&next.query, &plan.types, ctx).await?;
        rows = combine(rows, other, (next.operator, next.distinct), &plan.types, ctx).await?;
    }
    Ok(rows)
}

async fn term(query: &crate::plan::QueryPlan, types: &[SqlType], ctx: &mut ExecContext<'_>) -> Result<Collect> {
    let mut found = Collect::new(ctx.memory);
    ctx.run_query(query, &mut found).await?;
    for rows in found.rows.chunks_mut(ROWS_PER_CHECK) {
        ctx.check_between_batches().await?;
        for row in rows {
            for (value, (sql_type, column)) in row.iter_mut().zip(types.iter().zip(&query.columns)) {
                if !value.is_null() && column.sql_type != *sql_type {
                    *value = convert_to(std::mem::take(value), &column.sql_type, sql_type, &mut ctx.eval)?;
                }
            }
        }
    }
    Ok(found)
}

async fn combine(
    mut left: Collect,
    right: Collect,
    (operator, distinct): (SetOperator, bool),
    types: &[SqlType],
    ctx: &ExecContext<'_>,
) -> Result<Collect> {
    let (memory, interrupt) = (ctx.memory, ctx.interrupt);
    left.held.take_over(right.held);
    if operator == SetOperator::Union {
        left.rows.extend(right.rows);
        if distinct {
            left.rows = unique(left.rows, types, memory, interrupt).await?;
        }
        return Ok(left);
    }
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::default();
    for rows in right.rows.chunks(ROWS_PER_CHECK) {
        interrupt.check_between_batches().await?;
        for row in rows {
            let key = key_of(row, types);
            left.held.add(key.len() + COUNT_BYTES)?;
            *counts.entry(key).or_default() += 1;
        }
    }
    let keep_present = operator == SetOperator::Intersect;
    if distinct {
        left.rows = unique(left.rows, types, memory, interrupt).await?;
    }
    let is_kept = |row: &Row| {
        Ok(match counts.get_mut(&key_of(row, types)) {
            Some(count) if *count > 0 => {
                if !distinct {
                    *count -= 1;
                }
                keep_present
            }
            _ => !keep_present,
        })
    };
    left.rows = filter_in_turns(left.rows, is_kept, interrupt).await?;
    Ok(left)
}

async fn unique(
    rows: Vec<Row>,
    types: &[SqlType],
    memory: &Rc<StatementMemory>,
    interrupt: &Interrupt,
) -> Result<Vec<Row>> {
    let mut seen = KeySet::new(memory);
    filter_in_turns(rows, |row| seen.insert(&key_of(row, types)), interrupt).await
}

async fn filter_in_turns(
    rows: Vec<Row>,
    mut is_kept: impl FnMut(&Row) -> Result<bool>,
    interrupt: &Interrupt,
) -> Result<Vec<Row>> {
    let mut kept = Vec::new();
    let mut rows = rows.into_iter();
    while rows.len() > 0 {
        for row in rows.by_ref().take(ROWS_PER_CHECK) {
            if is_kept(&row)? {
                kept.push(row);
            }
        }
        interrupt.check_between_batches().await?;
    }
    Ok(kept)
}
