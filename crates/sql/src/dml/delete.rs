//! DELETE, and UPDATE and DELETE over joins.

use std::collections::HashSet;

use shoal_expr::EvalContext;
use shoal_txn::foreign_keys::{ForeignKeys, Gone, is_gone};
use shoal_txn::new_row::duplicate_entry;
use shoal_txn::{Inserted, Modification, Visit};
use shoal_types::row::RowRef;
use shoal_types::{ErrorCode, Result, Value, WarningLevel};

use super::foreign::{prepare_delete, prepare_update};
use super::row::RowBuilder;
use super::rows::{found_bytes, matching_rows};
use super::rules::column_value;
use super::triggers::Event;
use super::{
    Affected, BYTES_PER_BATCH, DeletePlan, MultiPlan, MultiTarget, ROWS_PER_BATCH, ROWS_PER_CHECK, RowFinder,
    triggered,
};
use crate::execute::consumer::Collect;
use crate::execute::fetch::TableReader;
use crate::execute::lookup::{Lookup, lookup};
use crate::execute::memory::Held;
use crate::execute::{ExecContext, sleep_if_asked};
use crate::table_usage::RowUse;

/// What a key takes besides its bytes that a join has come to.
const SEEN_BYTES: usize = 80;

/// Runs a single-table DELETE.
pub async fn delete(plan: &DeletePlan, ctx: &mut ExecContext<'_>) -> Result<Affected> {
    ctx.eval.changes_data = true;
    ctx.eval.ignore_errors = plan.ignore;
    let finder = &plan.finder;
    let table = &finder.input.table;
    let mut affected = Affected::default();
    if let Some(triggers) = plan.triggers.as_ref().filter(|triggers| triggers.has(Event::Delete)) {
        triggered::delete(plan, triggers, &mut affected, ctx).await?;
        finder.input.count(RowUse::Delete, affected.rows);
        return Ok(affected);
    }
    if let Some(keys) = plan.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
        delete_found(plan, keys, &mut affected, ctx).await?;
        finder.input.count(RowUse::Delete, affected.rows);
        return Ok(affected);
    }
    let by_key = finder.input.access.index == 0 && finder.input.access.unique && finder.limit.is_none();
    if by_key && !finder.impossible {
        let no_row: &[Value] = &[];
        if let Lookup::Keys(keys) = lookup(table, &finder.input.access, no_row, &mut ctx.eval)? {
            for (number, key) in keys.into_iter().enumerate() {
                if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
                    ctx.check_between_batches().await?;
                }
                affected.rows += u64::from(delete_by_key(plan, &key, ctx).await?);
            }
            finder.input.count(RowUse::Delete, affected.rows);
            return Ok(affected);
        }
    }
    if finder.order.is_empty() && finder.limit.is_none() && !finder.impossible {
        affected.rows = delete_as_found(finder, ctx).await?;
    } else {
        let mut found = matching_rows(finder, ctx).await?;
        for (number, row) in found.rows.into_iter().enumerate() {
            if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
                ctx.check_between_batches().await?;
            }
            ctx.transaction.delete_row(table, &row).await?;
            found.held.give_back(found_bytes(&row));
            affected.rows += 1;
        }
    }
    ctx.handlers.delete += affected.rows;
    finder.input.count(RowUse::Delete, affected.rows);
    Ok(affected)
}

/// DELETE of rows that others refer to.
async fn delete_found(
    plan: &DeletePlan,
    keys: &ForeignKeys,
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &plan.finder.input.table;
    let mut found = matching_rows(&plan.finder, ctx).await?;
    let mut gone = Gone::default();
    let batch = if plan.ignore { 1 } else { ROWS_PER_BATCH };
    for rows in found.rows.chunks(batch) {
        ctx.check_between_batches().await?;
        found.held.give_back(rows.iter().map(|row| found_bytes(row)).sum());
        let rows: Vec<Vec<u8>> = rows.iter().filter(|row| !is_gone(&gone, table, row)).cloned().collect();
        if rows.is_empty() || !prepare_delete(keys, table, &rows, (plan.ignore, &mut gone), ctx).await? {
            continue;
        }
        let count = rows.len() as u64;
        let changes: Vec<_> = rows.into_iter().map(|row| (row, None)).collect();
        ctx.transaction.replace_many(table, &changes).await?;
        ctx.handlers.delete += count;
        affected.rows += count;
    }
    Ok(())
}

/// Deletes rows while more are looked for, some hundred at a time: a statement over millions of them never has all of them in
/// its own memory, and each partition is held once for many.
async fn delete_as_found(finder: &RowFinder, ctx: &mut ExecContext<'_>) -> Result<u64> {
    let table = &finder.input.table;
    let mut reader = TableReader::open(&finder.input, None, ctx).await?;
    let mut found: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
    let (mut deleted, mut bytes) = (0, 0);
    loop {
        let mut visit = |row: RowRef<'_>, _: &mut EvalContext<'_>| {
            bytes += row.bytes().len();
            found.push((row.bytes().to_vec(), None));
            Ok(Visit::Take)
        };
        let has_more = reader.next(&finder.input, ctx, &mut visit).await?;
        if !found.is_empty() && (found.len() >= ROWS_PER_BATCH || bytes >= BYTES_PER_BATCH || !has_more) {
            ctx.transaction.replace_many(table, &found).await?;
            deleted += found.len() as u64;
            found.clear();
            bytes = 0;
        }
        if !has_more {
            return Ok(deleted);
        }
    }
}

async fn delete_by_key(plan: &DeletePlan, key: &[u8], ctx: &mut ExecContext<'_>) -> Result<bool> {
    let filter = plan.finder.input.filter.as_ref();
    let ExecContext { transaction, eval, handlers, .. } = ctx;
    handlers.read_key += 1;
    plan.finder.input.count(RowUse::Fetch, 1);
    let outcome = transaction
        .modify(&plan.finder.input.table, key, |row: RowRef<'_>| {
            if let Some(filter) = filter
                && filter.eval_bool(&row, eval)? != Some(true)
            {
                return Ok((Modification::Keep { unlock: true }, false));
            }
            Ok((Modification::Delete, true))
        })
        .await?;
    let deleted = matches!(outcome, Some((_, true)));
    handlers.delete += u64::from(deleted);
    sleep_if_asked(ctx).await?;
    Ok(deleted)
}

/// Runs a multi-table UPDATE or DELETE: all matching rows are found and locked first.
pub async fn run_multi(plan: &MultiPlan, found_rows: bool, ctx: &mut ExecContext<'_>) -> Result<Affected> {
    ctx.eval.changes_data = true;
    ctx.eval.ignore_errors = plan.ignore;
    let Collect { rows, mut held, .. } = ctx.run_collect(&plan.query, None).await?;
    let mut affected = Affected::default();
    let mut gone = Gone::default();
    for target in &plan.targets {
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        for (number, row) in rows.iter().enumerate() {
            if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
                ctx.check_between_batches().await?;
            }
            change_target(plan, target, row, (&mut seen, &mut held, &mut gone), &mut affected, ctx).await?;
        }
    }
    if !plan.delete {
        affected.info = format!(
            "Rows matched: {}  Changed: {}  Warnings: {}",
            affected.found,
            affected.rows,
            ctx.eval.warnings.count()
        );
        if found_rows {
            affected.rows = affected.found;
        }
    }
    Ok(affected)
}

async fn change_target(
    plan: &MultiPlan,
    target: &MultiTarget,
    row: &[Value],
    (seen, held, gone): (&mut HashSet<Vec<u8>>, &mut Held, &mut Gone),
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &target.table;
    let present = &row[target.first..target.first + table.schema.columns.len()];
    let key_is_null = table.schema.primary_key().columns.iter().any(|part| present[part.column].is_null());
    if key_is_null {
        // The outer join found no row for this table.
        return Ok(());
    }
    let mut old = Vec::new();
    table.layout.encode(present, ctx.eval.zone, &mut old)?;
    let mut key = Vec::new();
    table.keys[0].append_from_row(table.layout.row(&old), &mut key);
    held.add(key.len() + SEEN_BYTES)?;
    if !seen.insert(key) {
        return Ok(());
    }
    affected.found += 1;
    if plan.delete {
        if let Some(keys) = target.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
            if is_gone(gone, table, &old) {
                return Ok(());
            }
            if !prepare_delete(keys, table, std::slice::from_ref(&old), (plan.ignore, gone), ctx).await? {
                return Ok(());
            }
        }
        let triggers = target.rules.triggers.as_ref();
        if let Some(triggers) = triggers {
            triggers.before(Event::Delete, Some(present), None, ctx).await?;
        }
        ctx.transaction.delete_row(table, &old).await?;
        ctx.handlers.delete += 1;
        target.usage.add(Some(0), RowUse::Delete, 1);
        affected.rows += 1;
        return match triggers {
            Some(triggers) => triggers.after(Event::Delete, Some(present), None, ctx).await,
            None => Ok(()),
        };
    }
    let mut builder = RowBuilder::for_update(table, plan.ignore, &ctx.eval);
    let triggers = target.rules.triggers.as_ref().filter(|triggers| triggers.has(Event::Update));
    builder.defers_null = triggers.is_some_and(|triggers| triggers.has_before(Event::Update));
    let mut values = present.to_vec();
    for (column, expression) in &target.in_turn {
        values[*column] = column_value(*column, expression, &values[..], &builder, affected.found, &mut ctx.eval)?;
    }
    for &(column, position) in target.assignments.iter().filter(|_| target.in_turn.is_empty()) {
        let collation = plan.query.columns[position].sql_type.collation;
        let value = row[position].clone();
        values[column] = builder.convert(column, value, collation, affected.found, &mut ctx.eval)?;
    }
    target.rules.complete(&mut values, &builder, affected.found, &mut ctx.eval)?;
    if let Some(triggers) = triggers {
        triggers.before(Event::Update, Some(present), Some(&mut values), ctx).await?;
        builder.settle_nulls(&mut values, &|_| true, &mut ctx.eval)?;
        target.rules.complete(&mut values, &builder, affected.found, &mut ctx.eval)?;
    }
    let mut new = Vec::new();
    builder.encode(&values, &ctx.eval, &mut new)?;
    if new == old {
        return Ok(());
    }
    super::row::set_now(table, &target.on_update_now, &mut values, &ctx.eval);
    target.rules.complete(&mut values, &builder, affected.found, &mut ctx.eval)?;
    if !target.rules.permit(&values[..], plan.ignore, &mut ctx.eval)? {
        return Ok(());
    }
    new.clear();
    builder.encode(&values, &ctx.eval, &mut new)?;
    let mut start = None;
    if let Some(keys) = target.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
        let change = [(old.clone(), new.clone())];
        start = prepare_update(keys, table, &change, plan.ignore, ctx).await?;
        if start.is_none() {
            return Ok(());
        }
    }
    ctx.handlers.update += 1;
    match ctx.transaction.replace_row(table, &old, &new).await? {
        Inserted::Done => {
            affected.rows += 1;
            target.usage.add(Some(0), RowUse::Update, 1);
            if let Some(triggers) = triggers {
                triggers.after(Event::Update, Some(present), Some(&values), ctx).await?;
            }
        }
        Inserted::Duplicate { index, .. } => {
            let error = duplicate_entry(table, index, &new);
            if !plan.ignore {
                return Err(error);
            }
            if let Some(start) = start {
                ctx.transaction.rollback_to(&start);
            }
            ctx.eval.warnings.push(WarningLevel::Warning, ErrorCode::DupEntry, || error.message().to_owned());
        }
    }
    Ok(())
}
