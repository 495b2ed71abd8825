//! UNION, INTERSECT and EXCEPT.

use shoal_expr::convert_to;
use shoal_types::{Result, SqlType, Value};

use super::key_set::KeySet;
use super::output::Output;
use super::query::run_query;
use super::subquery::key_of;
use super::{ExecContext, Flow, HashMap, RowConsumer, limit_value};
use crate::plan::{Limit, SetOperation, SetOperator};

/// Runs the terms from left to right. UNION ALL alone streams; everything else is collected.
pub async fn run(plan: &SetOperation, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    let bounds = evaluate_limit(plan.limit.as_ref(), ctx)?;
    let visible = plan.types.len();
    let mut output = Output::new(visible, None, &plan.order, bounds, false, consumer);
    let rows = collect(plan, ctx).await?;
    let mut projected = Vec::new();
    for row in rows {
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
    output.finish().await?;
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
        rows = combine(rows, other, next.operator, next.distinct, &plan.types);
    }
    Ok(rows)
}

async fn term(query: &crate::plan::QueryPlan, types: &[SqlType], ctx: &mut ExecContext<'_>) -> Result<Vec<Row>> {
    let mut rows = super::consumer::Collect::default();
    run_query(query, ctx, &mut rows).await?;
    let mut rows = rows.rows;
    for row in &mut rows {
        for (value, (sql_type, column)) in row.iter_mut().zip(types.iter().zip(&query.columns)) {
            if !value.is_null() && column.sql_type != *sql_type {
                *value = convert_to(std::mem::take(value), &column.sql_type, sql_type, &mut ctx.eval)?;
            }
        }
    }
    Ok(rows)
}

fn combine(left: Vec<Row>, right: Vec<Row>, operator: SetOperator, distinct: bool, types: &[SqlType]) -> Vec<Row> {
    match operator {
        SetOperator::Union => {
            let mut rows = left;
            rows.extend(right);
            if distinct { unique(rows, types) } else { rows }
        }
        SetOperator::Intersect | SetOperator::Except => {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::default();
            for row in &right {
                *counts.entry(key_of(row, types)).or_default() += 1;
            }
            let keep_present = operator == SetOperator::Intersect;
            let left = if distinct { unique(left, types) } else { left };
            let kept = left.into_iter().filter(|row| match counts.get_mut(&key_of(row, types)) {
                Some(count) if *count > 0 => {
                    if !distinct {
                        *count -= 1;
                    }
                    keep_present
                }
                _ => !keep_present,
            });
            kept.collect()
        }
    }
}

fn unique(rows: Vec<Row>, types: &[SqlType]) -> Vec<Row> {
    let mut seen = KeySet::default();
    rows.into_iter().filter(|row| seen.insert(&key_of(row, types))).collect()
}
