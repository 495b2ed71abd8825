//! UPDATE.

use shoal_expr::{EvalContext, RowSource};
use shoal_txn::foreign_keys::ForeignKeys;
use shoal_txn::{Inserted, Modification, Visit};
use shoal_types::row::RowRef;
use shoal_types::{Error, Index, Result, TimeZone, Value};

use super::foreign::prepare_update;
use super::row::{RowBuilder, now_for, refuse_duplicate};
use super::rows::{found_bytes, matching_rows};
use super::rules::column_value;
use super::triggers::Event;
use super::{Affected, BYTES_PER_BATCH, ROWS_PER_BATCH, ROWS_PER_CHECK, UpdatePlan, triggered};
use crate::execute::fetch::TableReader;
use crate::execute::lookup::{Lookup, lookup};
use crate::execute::{ExecContext, sleep_if_asked};
use crate::table_usage::RowUse;

/// Runs a single-table UPDATE.
pub async fn update(plan: &UpdatePlan, found_rows: bool, ctx: &mut ExecContext<'_>) -> Result<Affected> {
    ctx.eval.changes_data = true;
    ctx.eval.ignore_errors = plan.ignore;
    let mut affected = Affected::default();
    let table = &plan.finder.input.table;
    if plan.assignments.iter().any(|(column, _)| table.schema.columns[*column].auto_increment) {
        ctx.transaction.note_sequence(table);
    }
    if let Some(triggers) = plan.rules.triggers.as_ref().filter(|triggers| triggers.has(Event::Update)) {
        triggered::update(plan, triggers, &mut affected, ctx).await?;
        return Ok(finished(plan, affected, found_rows, ctx));
    }
    let foreign = plan.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys);
    if let Some(keys) = foreign {
        update_found(plan, keys, &mut affected, ctx).await?;
        return Ok(finished(plan, affected, found_rows, ctx));
    }
    match point_keys(plan, ctx)? {
        Some(keys) => {
            for (number, key) in keys.into_iter().enumerate() {
                if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
                    ctx.check_between_batches().await?;
                }
                update_by_key(plan, &key, &mut affected, ctx).await?;
            }
        }
        None if is_changed_as_found(plan) => update_as_found(plan, &mut affected, ctx).await?,
        None => {
            let mut found = matching_rows(&plan.finder, ctx).await?;
            for (number, row) in found.rows.into_iter().enumerate() {
                if number % ROWS_PER_CHECK == ROWS_PER_CHECK - 1 {
                    ctx.check_between_batches().await?;
                }
                affected.found += 1;
                update_row(plan, &row, &mut affected, ctx).await?;
                found.held.give_back(found_bytes(&row));
            }
        }
    }
    Ok(finished(plan, affected, found_rows, ctx))
}

fn finished(plan: &UpdatePlan, mut affected: Affected, found_rows: bool, ctx: &ExecContext<'_>) -> Affected {
    let changed = affected.rows;
    plan.finder.input.count(RowUse::Update, changed);
    if found_rows {
        affected.rows = affected.found;
    }
    affected.info =
        format!("Rows matched: {}  Changed: {changed}  Warnings: {}", affected.found, ctx.eval.warnings.count());
    affected
}

/// What is changed early in the statement makes no difference to what it finds later, nor to what it may do with that.
pub fn is_changed_as_found(plan: &UpdatePlan) -> bool {
    let finder = &plan.finder;
    let schema = &finder.input.table.schema;
    let generated = || plan.rules.generated.iter().map(|(column, _)| column);
    let assigned =
        || plan.assignments.iter().map(|(column, _)| column).chain(&plan.on_update_now).chain(generated());
    let concerns_index = |number: usize, index: &Index| {
        let is_in_it = |column: &usize| index.columns.iter().any(|part| part.column == *column);
        (index.unique || number == finder.input.access.index) && assigned().any(is_in_it)
    };
    let concerns_any = schema.indexes.iter().enumerate().any(|(number, index)| concerns_index(number, index));
    let needs_session = plan.assignments.iter().any(|(_, value)| value.needs_session());
    let is_all = finder.order.is_empty() && finder.limit.is_none() && !finder.impossible;
    is_all && !plan.moves_rows && !concerns_any && !needs_session
}

/// Changes rows while more are looked for: see `delete_as_found`.
async fn update_as_found(plan: &UpdatePlan, affected: &mut Affected, ctx: &mut ExecContext<'_>) -> Result<()> {
    let finder = &plan.finder;
    let table = &finder.input.table;
    let mut reader = TableReader::open(&finder.input, None, ctx).await?;
    let mut changed: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
    let mut bytes = 0;
    loop {
        let mut visit = |row: RowRef<'_>, eval: &mut EvalContext<'_>| {
            affected.found += 1;
            if let Some(new) = changed_row(plan, row, affected.found, eval)? {
                bytes += row.bytes().len() + new.len();
                changed.push((row.bytes().to_vec(), Some(new)));
            }
            Ok(Visit::Take)
        };
        let has_more = reader.next(&finder.input, ctx, &mut visit).await?;
        if !changed.is_empty() && (changed.len() >= ROWS_PER_BATCH || bytes >= BYTES_PER_BATCH || !has_more) {
            let end = ctx.transaction.replace_many(table, &changed).await?;
            if end.duplicate.is_some() {
                return Err(Error::unknown("internal: an update of no unique column has met a duplicate"));
            }
            affected.rows += changed.len() as u64;
            ctx.handlers.update += changed.len() as u64;
            changed.clear();
            bytes = 0;
        }
        if !has_more {
            return Ok(());
        }
    }
}

/// The primary keys if that is all there is to find, and rows stay where they are.
fn point_keys(plan: &UpdatePlan, ctx: &mut ExecContext<'_>) -> Result<Option<Vec<Vec<u8>>>> {
    let finder = &plan.finder;
    let access = &finder.input.access;
    if plan.moves_rows || access.index != 0 || !access.unique || finder.limit.is_some() || finder.impossible {
        return Ok(None);
    }
    let no_row: &[Value] = &[];
    match lookup(&finder.input.table, access, no_row, &mut ctx.eval)? {
        Lookup::Keys(keys) => Ok(Some(keys)),
        Lookup::Ranges(_) => Ok(None),
    }
}

/// UPDATE of columns that foreign keys consist of, or refer to.
async fn update_found(
    plan: &UpdatePlan,
    keys: &ForeignKeys,
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &plan.finder.input.table;
    let mut found = matching_rows(&plan.finder, ctx).await?;
    let batch = if plan.ignore { 1 } else { ROWS_PER_BATCH };
    for rows in found.rows.chunks(batch) {
        ctx.check_between_batches().await?;
        let mut changes = Vec::with_capacity(rows.len());
        for old in rows {
            affected.found += 1;
            found.held.give_back(found_bytes(old));
            if let Some(new) = changed_row(plan, table.layout.row(old), affected.found, &mut ctx.eval)? {
                changes.push((old.clone(), new));
            }
            sleep_if_asked(ctx).await?;
        }
        if changes.is_empty() {
            continue;
        }
        let Some(start) = prepare_update(keys, table, &changes, plan.ignore, ctx).await? else { continue };
        for (old, new) in &changes {
            ctx.handlers.update += 1;
            match ctx.transaction.replace_row(table, old, new).await? {
                Inserted::Done => affected.rows += 1,
                Inserted::Duplicate { index, .. } => {
                    // With IGNORE its children stay as they are, too.
                    ctx.transaction.rollback_to(&start);
                    refuse_duplicate(table, index, new, plan.ignore, &mut ctx.eval)?;
                }
            }
        }
    }
    Ok(())
}

enum RowChange {
    NoMatch,
    Same,
    Changed(Vec<u8>),
}

async fn update_by_key(
    plan: &UpdatePlan,
    key: &[u8],
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &plan.finder.input.table;
    let filter = plan.finder.input.filter.as_ref();
    let ExecContext { transaction, eval, handlers, .. } = ctx;
    handlers.read_key += 1;
    plan.finder.input.count(RowUse::Fetch, 1);
    let outcome = transaction
        .modify(table, key, |row: RowRef<'_>| {
            if let Some(filter) = filter
                && filter.eval_bool(&row, eval)? != Some(true)
            {
                return Ok((Modification::Keep { unlock: true }, RowChange::NoMatch));
            }
            match changed_row(plan, row, affected.found + 1, eval)? {
                Some(bytes) => Ok((Modification::Update(bytes.clone()), RowChange::Changed(bytes))),
                None => Ok((Modification::Keep { unlock: false }, RowChange::Same)),
            }
        })
        .await?;
    sleep_if_asked(ctx).await?;
    match outcome {
        None | Some((_, RowChange::NoMatch)) => {}
        Some((_, RowChange::Same)) => affected.found += 1,
        Some((Inserted::Done, RowChange::Changed(_))) => {
            affected.found += 1;
            affected.rows += 1;
            ctx.handlers.update += 1;
        }
        Some((Inserted::Duplicate { index, .. }, RowChange::Changed(bytes))) => {
            affected.found += 1;
            refuse_duplicate(table, index, &bytes, plan.ignore, &mut ctx.eval)?;
        }
    }
    Ok(())
}

async fn update_row(
    plan: &UpdatePlan,
    old: &[u8],
    affected: &mut Affected,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let table = &plan.finder.input.table;
    let new = changed_row(plan, table.layout.row(old), affected.found, &mut ctx.eval)?;
    sleep_if_asked(ctx).await?;
    let Some(new) = new else { return Ok(()) };
    ctx.handlers.update += 1;
    match ctx.transaction.replace_row(table, old, &new).await? {
        Inserted::Done => {
            affected.rows += 1;
            Ok(())
        }
        Inserted::Duplicate { index, .. } => refuse_duplicate(table, index, &new, plan.ignore, &mut ctx.eval),
    }
}

/// A stored row with some columns changed, as later assignments see it.
struct Changing<'a> {
    row: RowRef<'a>,
    changes: &'a [(usize, Value)],
}

impl Changing<'_> {
    fn change(&self, column: usize) -> Option<&Value> {
        self.changes.iter().find(|(changed, _)| *changed == column).map(|(_, value)| value)
    }
}

impl RowSource for Changing<'_> {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        match self.change(column) {
            Some(value) => value.clone(),
            None => RowSource::value(&self.row, column, zone),
        }
    }

    fn is_null(&self, column: usize) -> bool {
        self.change(column).map_or_else(|| RowSource::is_null(&self.row, column), Value::is_null)
    }

    fn integer(&self, column: usize) -> Option<i64> {
        match self.change(column) {
            Some(value) => std::slice::from_ref(value).integer(0),
            None => RowSource::integer(&self.row, column),
        }
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        match self.change(column) {
            Some(Value::Str(text)) => Some(text),
            Some(_) => None,
            None => RowSource::text(&self.row, column),
        }
    }
}

/// The row with the assignments made, from left to right; `None` if nothing is different.
fn changed_row(
    plan: &UpdatePlan,
    row: RowRef<'_>,
    row_number: u64,
    eval: &mut EvalContext<'_>,
) -> Result<Option<Vec<u8>>> {
    let table = &plan.finder.input.table;
    let builder = RowBuilder::for_update(table, plan.ignore, eval);
    let mut changes: Vec<(usize, Value)> = Vec::with_capacity(plan.assignments.len() + plan.on_update_now.len());
    for (column, expression) in &plan.assignments {
        let source = Changing { row, changes: &changes };
        let value = column_value(*column, expression, &source, &builder, row_number, eval)?;
        set(&mut changes, *column, value);
    }
    generate(plan, row, &mut changes, &builder, row_number, eval)?;
    let mut bytes = Vec::with_capacity(row.bytes().len() + 16);
    table.layout.encode_changed(row, &changes, eval.zone, &mut bytes)?;
    if bytes == *row.current_bytes() {
        return Ok(None);
    }
    if !plan.on_update_now.is_empty() {
        for &column in &plan.on_update_now {
            changes.push((column, now_for(table, column, eval)));
        }
        generate(plan, row, &mut changes, &builder, row_number, eval)?;
        bytes.clear();
        table.layout.encode_changed(row, &changes, eval.zone, &mut bytes)?;
    }
    let is_permitted = plan.rules.permit(&Changing { row, changes: &changes }, plan.ignore, eval)?;
    Ok(is_permitted.then_some(bytes))
}

/// Adds what the changes make of generated columns.
fn generate(
    plan: &UpdatePlan,
    row: RowRef<'_>,
    changes: &mut Vec<(usize, Value)>,
    builder: &RowBuilder<'_>,
    row_number: u64,
    eval: &mut EvalContext<'_>,
) -> Result<()> {
    for (column, expression) in &plan.rules.generated {
        let value = column_value(*column, expression, &Changing { row, changes }, builder, row_number, eval)?;
        set(changes, *column, value);
    }
    Ok(())
}

fn set(changes: &mut Vec<(usize, Value)>, column: usize, value: Value) {
    match changes.iter_mut().find(|(changed, _)| *changed == column) {
        Some(change) => change.1 = value,
        None => changes.push((column, value)),
    }
}
