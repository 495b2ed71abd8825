//! UPDATE and DELETE of a table with triggers: row by row.

use shoal_txn::Inserted;
use shoal_txn::foreign_keys::{Gone, is_gone};
use shoal_types::{Result, Value};

use super::foreign::{prepare_delete, prepare_update};
use super::row::{RowBuilder, refuse_duplicate, set_now};
use super::rows::{found_bytes, matching_rows};
use super::rules::column_value;
use super::triggers::{Event, TableTriggers};
use super::{Affected, DeletePlan, UpdatePlan};
use crate::execute::{ExecContext, sleep_if_asked};

pub async fn update(
    plan: &UpdatePlan,
    triggers: &TableTriggers,
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let mut found = matching_rows(&plan.finder, ctx).await?;
    for old in std::mem::take(&mut found.rows) {
        ctx.check_between_batches().await?;
        affected.found += 1;
        update_row(plan, triggers, &old, affected, ctx).await?;
        found.held.give_back(found_bytes(&old));
    }
    Ok(())
}

async fn update_row(
    plan: &UpdatePlan,
    triggers: &TableTriggers,
    stored: &[u8],
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &plan.finder.input.table;
    let row = affected.found;
    let old = table.layout.row(stored).values(ctx.eval.zone);
    let mut builder = RowBuilder::for_update(table, plan.ignore, &ctx.eval);
    builder.defers_null = triggers.has_before(Event::Update);
    let mut values = old.clone();
    for (column, expression) in &plan.assignments {
        values[*column] = column_value(*column, expression, &values[..], &builder, row, &mut ctx.eval)?;
    }
    sleep_if_asked(ctx).await?;
    plan.rules.complete(&mut values, &builder, row, &mut ctx.eval)?;
    if values != old {
        set_now(table, &plan.on_update_now, &mut values, &ctx.eval);
        plan.rules.complete(&mut values, &builder, row, &mut ctx.eval)?;
    }
    triggers.before(Event::Update, Some(&old), Some(&mut values), ctx).await?;
    if builder.defers_null {
        builder.settle_nulls(&mut values, &|_| true, &mut ctx.eval)?;
        plan.rules.complete(&mut values, &builder, row, &mut ctx.eval)?;
    }
    let mut new = Vec::with_capacity(stored.len() + 16);
    builder.encode(&values, &ctx.eval, &mut new)?;
    let is_changed = new[..] != *table.layout.row(stored).current_bytes();
    if is_changed && !write(plan, stored, &new, &values, affected, ctx).await? {
        return Ok(());
    }
    triggers.after(Event::Update, Some(&old), Some(&values), ctx).await
}

/// Whether the row was changed.
async fn write(
    plan: &UpdatePlan,
    old: &[u8],
    new: &[u8],
    values: &[Value],
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<bool> {
    let table = &plan.finder.input.table;
    if !plan.rules.permit(values, plan.ignore, &mut ctx.eval)? {
        return Ok(false);
    }
    let mut start = None;
    if let Some(keys) = plan.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
        let change = [(old.to_vec(), new.to_vec())];
        start = prepare_update(keys, table, &change, plan.ignore, ctx).await?;
        if start.is_none() {
            return Ok(false);
        }
    }
    ctx.handlers.update += 1;
    match ctx.transaction.replace_row(table, old, new).await? {
        Inserted::Done => {
            affected.rows += 1;
            Ok(true)
        }
        Inserted::Duplicate { index, .. } => {
            if let Some(start) = start {
                ctx.transaction.rollback_to(&start);
            }
            refuse_duplicate(table, index, new, plan.ignore, &mut ctx.eval)?;
            Ok(false)
        }
    }
}

pub async fn delete(
    plan: &DeletePlan,
    triggers: &TableTriggers,
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &plan.finder.input.table;
    let mut found = matching_rows(&plan.finder, ctx).await?;
    let mut gone = Gone::default();
    for stored in std::mem::take(&mut found.rows) {
        ctx.check_between_batches().await?;
        found.held.give_back(found_bytes(&stored));
        let old = table.layout.row(&stored).values(ctx.eval.zone);
        triggers.before(Event::Delete, Some(&old), None, ctx).await?;
        if let Some(keys) = plan.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
            let rows = std::slice::from_ref(&stored);
            if is_gone(&gone, table, &stored)
                || !prepare_delete(keys, table, rows, (plan.ignore, &mut gone), ctx).await?
            {
                continue;
            }
        }
        ctx.transaction.delete_row(table, &stored).await?;
        ctx.handlers.delete += 1;
        affected.rows += 1;
        triggers.after(Event::Delete, Some(&old), None, ctx).await?;
    }
    Ok(())
}
