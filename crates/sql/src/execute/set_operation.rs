//! UNION, INTERSECT and EXCEPT.

use shoal_expr::convert_to;
use shoal_types::{Result, SqlType, Value};

use super::key_set::KeySet;
use super::output::Output;
use super::query::run_query;
use super::subquery::key_of;
use super::{ExecContext, Flow, HashMap, RowConsumer, limit_value};
use crate::plan::{Limit, SetOperation, SetOperator};
use crate::session::Interrupt;

/// Rows that are worked on between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;

/// Runs the terms from left to right. UNION ALL alone streams; everything else is collected.
pub async fn run(plan: &SetOperation, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    let bounds = evaluate_limit(plan.limit.as_ref(), ctx)?;
    let visible = plan.types.len();
    let mut output = Output::new(visible, None, &plan.order, bounds, false, consumer);
    let rows = collect(plan, ctx).await?;
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

async fn collect(plan: &SetOperation, ctx: &mut ExecContext<'_>) -> Result<Vec<Row>> {
    let mut rows = term(&plan.first, &plan.types, ctx).await?;
    for next in &plan.rest {
        let other = term(&next.query, &plan.types, ctx).await?;
        rows = combine(rows, other, (next.operator, next.distinct), &plan.types, ctx.interrupt).await?;
    }
    Ok(rows)
}

async fn term(query: &crate::plan::QueryPlan, types: &[SqlType], ctx: &mut ExecContext<'_>) -> Result<Vec<Row>> {
    let mut rows = super::consumer::Collect::default();
    run_query(query, ctx, &mut rows).await?;
    let mut rows = rows.rows;
    for rows in rows.chunks_mut(ROWS_PER_CHECK) {
        ctx.check_between_batches().await?;
        for row in rows {
            for (value, (sql_type, column)) in row.iter_mut().zip(types.iter().zip(&query.columns)) {
                if !value.is_null() && column.sql_type != *sql_type {
                    *value = convert_to(std::mem::take(value), &column.sql_type, sql_type, &mut ctx.eval)?;
                }
            }
        }
    }
    Ok(rows)
}

async fn combine(
    left: Vec<Row>,
    right: Vec<Row>,
    (operator, distinct): (SetOperator, bool),
    types: &[SqlType],
    interrupt: &Interrupt,
) -> Result<Vec<Row>> {
    if operator == SetOperator::Union {
        let mut rows = left;
        rows.extend(right);
        return if distinct { unique(rows, types, interrupt).await } else { Ok(rows) };
    }
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::default();
    for rows in right.chunks(ROWS_PER_CHECK) {
        interrupt.check_between_batches().await?;
        for row in rows {
            *counts.entry(key_of(row, types)).or_default() += 1;
        }
    }
    let keep_present = operator == SetOperator::Intersect;
    let left = if distinct { unique(left, types, interrupt).await? } else { left };
    let is_kept = |row: &Row| match counts.get_mut(&key_of(row, types)) {
        Some(count) if *count > 0 => {
            if !distinct {
                *count -= 1;
            }
            keep_present
        }
        _ => !keep_present,
    };
    filter_in_turns(left, is_kept, interrupt).await
}

async fn unique(rows: Vec<Row>, types: &[SqlType], interrupt: &Interrupt) -> Result<Vec<Row>> {
    let mut seen = KeySet::default();
    filter_in_turns(rows, |row| seen.insert(&key_of(row, types)), interrupt).await
}

async fn filter_in_turns(
    rows: Vec<Row>,
    mut is_kept: impl FnMut(&Row) -> bool,
    interrupt: &Interrupt,
) -> Result<Vec<Row>> {
    let mut kept = Vec::new();
    let mut rows = rows.into_iter();
    while rows.len() > 0 {
        kept.extend(rows.by_ref().take(ROWS_PER_CHECK).filter(&mut is_kept));
        interrupt.check_between_batches().await?;
    }
    Ok(kept)
}
