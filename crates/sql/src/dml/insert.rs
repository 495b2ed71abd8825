//! INSERT and REPLACE.

use std::sync::Arc;

use shoal_expr::Expr;
use shoal_txn::foreign_keys::{Gone, WrittenRow};
use shoal_txn::new_row::{AutoIncrementSettings, duplicate_entry};
use shoal_txn::{Inserted, LockMode, LockWait, ReadMode};
use shoal_types::{Collation, Error, ErrorCode, Result, Value, WarningLevel};

use super::calls::with_calls;
use super::foreign::{prepare_delete, prepare_update, warn};
use super::row::{RowBuilder, implicit_default};
use super::rules::column_value;
use super::triggers::{Event, ungenerated};
use super::{Affected, DefaultValue, InsertPlan, InsertSource};
use crate::execute::{ExecContext, sleep_if_asked};
use crate::table_usage::RowUse;

/// Rows that go to the partitions in one round trip.
const ROWS_PER_BATCH: usize = 1024;
/// Rows that are made between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 128;
/// Bytes of rows that do.
const BYTES_PER_BATCH: usize = 4 << 20;

/// Numbers that are reserved at a time for rows whose count is not known.
pub const NUMBERS_PER_QUERY: usize = 256;

/// Settings of INSERT's surroundings.
#[derive(Clone, Copy, Debug)]
pub struct InsertSettings {
    pub auto_increment: AutoIncrementSettings,
    /// CLIENT_FOUND_ROWS: a row updated to its present values counts.
    pub found_rows: bool,
}

/// Runs an INSERT or REPLACE.
pub async fn insert(plan: &InsertPlan, settings: InsertSettings, ctx: &mut ExecContext<'_>) -> Result<Affected> {
    ctx.eval.changes_data = true;
    ctx.eval.ignore_errors = plan.ignore;
    let mut run = Insertion::new(plan, settings, ctx);
    match &plan.source {
        InsertSource::Values(rows) => {
            for (done, row) in rows.iter().enumerate() {
                run.have_numbers((rows.len() - done).min(ROWS_PER_BATCH), ctx).await?;
                let values = match plan.calls.is_empty() {
                    true => run.values_of(row, ctx)?,
                    false => run.values_with_calls(done, row, ctx).await?,
                };
                run.add_after_triggers(values, ctx).await?;
                sleep_if_asked(ctx).await?;
                run.flush_if_full(ctx).await?;
            }
        }
        InsertSource::Query(query) => {
            let types: Vec<Collation> = query.columns.iter().map(|column| column.sql_type.collation).collect();
            let found = ctx.run_collect(query, None).await?;
            for row in found.rows {
                run.have_numbers(NUMBERS_PER_QUERY, ctx).await?;
                run.add_row(row, &types, ctx).await?;
                run.flush_if_full(ctx).await?;
            }
        }
    }
    run.flush(ctx).await?;
    run.finish()
}

/// The state of one INSERT; also fed by LOAD DATA.
pub struct Insertion<'p> {
    plan: &'p InsertPlan,
    builder: RowBuilder<'p>,
    rows: Vec<Vec<u8>>,
    /// For each row, the columns of its source's tables that ON DUPLICATE KEY UPDATE may read.
    sources: Vec<Vec<Value>>,
    /// For each row, the AUTO_INCREMENT value that was generated for it.
    generated: Vec<Option<u64>>,
    bytes: usize,
    row_number: u64,
    /// Rows that a CHECK has kept out, with IGNORE.
    left_out: u64,
    affected: Affected,
    found_rows: bool,
    /// The last AUTO_INCREMENT value that was given rather than generated.
    explicit_id: Option<u64>,
    /// The first generated value that is in the table: LAST_INSERT_ID().
    first_generated: Option<u64>,
}

impl<'p> Insertion<'p> {
    /// An insertion whose rows come from `add_row`.
    pub fn new(plan: &'p InsertPlan, settings: InsertSettings, ctx: &ExecContext<'_>) -> Insertion<'p> {
        let mut builder = RowBuilder::new(&plan.table, plan.ignore, settings.auto_increment, &ctx.eval);
        if matches!(&plan.source, InsertSource::Values(rows) if rows.len() == 1) {
            // Refused even outside strict mode.
            builder.null_is_default = plan.ignore;
        }
        builder.defers_null = plan.rules.triggers.as_ref().is_some_and(|one| one.has_before(Event::Insert));
        Insertion {
            plan,
            builder,
            rows: Vec::new(),
            sources: Vec::new(),
            generated: Vec::new(),
            bytes: 0,
            row_number: 0,
            left_out: 0,
            affected: Affected::default(),
            found_rows: settings.found_rows,
            explicit_id: None,
            first_generated: None,
        }
    }

    /// The table's columns before the source's values are in: defaults.
    fn defaults(&mut self, ctx: &mut ExecContext<'_>) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.plan.defaults.len());
        for (column, default) in self.plan.defaults.iter().enumerate() {
            values.push(match default {
                // Until it is assigned, a column reads as its default in the expressions of the row.
                DefaultValue::Expression(expression) if self.plan.targets.contains(&column) => {
                    match expression.as_literal() {
                        Some(_) => self.default_value(column, expression, ctx)?,
                        None => Value::Null,
                    }
                }
                _ if self.plan.targets.contains(&column) => Value::Null,
                DefaultValue::AutoIncrement | DefaultValue::Later => Value::Null,
                // One warning a statement.
                DefaultValue::Missing if self.row_number > 1 => {
                    implicit_default(&self.plan.table.schema.columns[column].sql_type)
                }
                DefaultValue::Missing => self.builder.missing(column, &mut ctx.eval)?,
                DefaultValue::Expression(expression) => self.default_value(column, expression, ctx)?,
            });
        }
        Ok(values)
    }

    /// DEFAULT as the column will hold it: an expression may be of another type.
    fn default_value(&self, column: usize, expression: &Expr, ctx: &mut ExecContext<'_>) -> Result<Value> {
        let sql_type = expression.sql_type();
        if let Some(value) = expression.as_literal()
            && *sql_type == self.plan.table.schema.columns[column].sql_type
        {
            return Ok(value.clone());
        }
        let no_row: &[Value] = &[];
        let value = expression.eval(no_row, &mut ctx.eval)?;
        self.builder.convert(column, value, sql_type.collation, self.row_number, &mut ctx.eval)
    }

    /// A row of VALUES.
    fn values_of(&mut self, row: &[Option<Expr>], ctx: &mut ExecContext<'_>) -> Result<Vec<Value>> {
        self.row_number += 1;
        let mut values = self.defaults(ctx)?;
        for (&column, expression) in self.plan.targets.iter().zip(row) {
            values[column] = match expression {
                Some(expression) => {
                    column_value(column, expression, &values[..], &self.builder, self.row_number, &mut ctx.eval)?
                }
                None => self.default_of(column, ctx)?,
            };
        }
        self.read_defaults(row, &mut values, ctx)?;
        Ok(values)
    }

    /// The same where some of the values call functions with columns.
    async fn values_with_calls(
        &mut self,
        number: usize,
        row: &[Option<Expr>],
        ctx: &mut ExecContext<'_>,
    ) -> Result<Vec<Value>> {
        self.row_number += 1;
        let plan = self.plan;
        let mut values = self.defaults(ctx)?;
        for (place, (&column, expression)) in plan.targets.iter().zip(row).enumerate() {
            values[column] = match expression {
                Some(expression) => {
                    let calls = plan.calls.get(&(number, place)).map_or(&[][..], Vec::as_slice);
                    let (builder, row_number) = (&self.builder, self.row_number);
                    let value = |inner: &mut ExecContext<'_>| {
                        column_value(column, expression, &values[..], builder, row_number, &mut inner.eval)
                    };
                    with_calls(calls, &values, ctx, value).await?
                }
                None => self.default_of(column, ctx)?,
            };
        }
        self.read_defaults(row, &mut values, ctx)?;
        Ok(values)
    }

    /// Defaults that read other columns, where the row gives no value.
    fn read_defaults(&self, row: &[Option<Expr>], values: &mut [Value], ctx: &mut ExecContext<'_>) -> Result<()> {
        for (column, expression) in &self.plan.rules.reading_defaults {
            let place = self.plan.targets.iter().position(|target| target == column);
            if place.is_none_or(|place| row[place].is_none()) {
                values[*column] =
                    column_value(*column, expression, &*values, &self.builder, self.row_number, &mut ctx.eval)?;
            }
        }
        Ok(())
    }

    /// Adds a row, as BEFORE INSERT triggers leave it.
    async fn add_after_triggers(&mut self, mut values: Vec<Value>, ctx: &mut ExecContext<'_>) -> Result<()> {
        if self.builder.defers_null {
            self.run_before_insert(&mut values, ctx).await?;
        }
        self.add(values, ctx)
    }

    async fn run_before_insert(&mut self, values: &mut Vec<Value>, ctx: &mut ExecContext<'_>) -> Result<()> {
        let plan = self.plan;
        let Some(triggers) = &plan.rules.triggers else { return Ok(()) };
        plan.rules.complete(values, &self.builder, self.row_number, &mut ctx.eval)?;
        let number = plan.table.schema.auto_increment_column().filter(|&column| values[column].is_null());
        if let Some(column) = number {
            values[column] = ungenerated(&plan.table.schema.columns[column].sql_type);
        }
        let shown = number.map(|column| values[column].clone());
        triggers.before(Event::Insert, None, Some(values), ctx).await?;
        if let Some(column) = number.filter(|&column| shown.as_ref() == Some(&values[column])) {
            values[column] = Value::Null;
        }
        let given = |column: usize| plan.targets.contains(&column);
        self.builder.settle_nulls(values, &given, &mut ctx.eval)
    }

    fn default_of(&mut self, column: usize, ctx: &mut ExecContext<'_>) -> Result<Value> {
        match &self.plan.defaults[column] {
            DefaultValue::AutoIncrement | DefaultValue::Later => Ok(Value::Null),
            DefaultValue::Missing => self.builder.missing(column, &mut ctx.eval),
            DefaultValue::Expression(expression) => self.default_value(column, expression, ctx),
        }
    }

    /// Adds a row of source values, one a target column.
    pub async fn add_row(
        &mut self,
        mut row: Vec<Value>,
        collations: &[Collation],
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        self.row_number += 1;
        let source = row.split_off(self.plan.targets.len().min(row.len()));
        if !source.is_empty() {
            self.sources.push(source);
        }
        let mut values = self.defaults(ctx)?;
        for ((&column, value), &collation) in self.plan.targets.iter().zip(row).zip(collations) {
            values[column] = self.builder.convert(column, value, collation, self.row_number, &mut ctx.eval)?;
        }
        for (column, expression) in &self.plan.rules.reading_defaults {
            if !self.plan.targets.contains(column) {
                values[*column] =
                    column_value(*column, expression, &values[..], &self.builder, self.row_number, &mut ctx.eval)?;
            }
        }
        self.add_after_triggers(values, ctx).await
    }

    fn add(&mut self, mut values: Vec<Value>, ctx: &mut ExecContext<'_>) -> Result<()> {
        let generated = self.builder.numbering.fill(&mut values, ctx.transaction.node_of(&self.plan.table))?;
        let rules = &self.plan.rules;
        if !rules.is_empty() {
            rules.complete(&mut values, &self.builder, self.row_number, &mut ctx.eval)?;
            if !rules.permit(&values[..], self.plan.ignore, &mut ctx.eval)? {
                // A row that is left out has no source either, and is no record.
                self.sources.truncate(self.rows.len());
                self.left_out += 1;
                return Ok(());
            }
        }
        self.generated.push(generated);
        if let Some(column) = self.plan.table.schema.auto_increment_column()
            && generated.is_none()
        {
            self.explicit_id = match &values[column] {
                Value::Int(number) => u64::try_from(*number).ok(),
                Value::UInt(number) => Some(*number),
                _ => None,
            };
        }
        let mut bytes = Vec::new();
        self.builder.encode(&values, &ctx.eval, &mut bytes)?;
        self.bytes += bytes.len();
        self.rows.push(bytes);
        Ok(())
    }

    /// To be called before a row is added: in a cluster, numbers for it and for `rows` like it.
    pub async fn have_numbers(&mut self, rows: usize, ctx: &ExecContext<'_>) -> Result<()> {
        self.builder.numbering.reserve(ctx.transaction.node_of(&self.plan.table), &self.plan.table, rows).await
    }

    pub async fn flush_if_full(&mut self, ctx: &mut ExecContext<'_>) -> Result<()> {
        if self.rows.len().is_multiple_of(ROWS_PER_CHECK) {
            ctx.check_between_batches().await?;
        }
        let plan = self.plan;
        // A trigger sees the rows before its own.
        if plan.rules.triggers.is_some() {
            return self.flush(ctx).await;
        }
        // Whether a row is kept decides whether those after it have a parent.
        let in_turn = plan.ignore || plan.replace || !plan.on_duplicate.is_empty();
        if in_turn && plan.rules.foreign.as_ref().is_some_and(|keys| keys.refers_to_itself(&plan.table)) {
            return self.flush(ctx).await;
        }
        if self.rows.len() >= ROWS_PER_BATCH || self.bytes >= BYTES_PER_BATCH {
            self.flush(ctx).await?;
        }
        Ok(())
    }

    pub async fn flush(&mut self, ctx: &mut ExecContext<'_>) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.builder.numbering.report_given(ctx.transaction.node_of(&self.plan.table)).await?;
        self.lock_parents(ctx).await?;
        let rows = std::mem::take(&mut self.rows);
        let mut sources = std::mem::take(&mut self.sources);
        let generated = std::mem::take(&mut self.generated);
        self.bytes = 0;
        ctx.handlers.write += rows.len() as u64;
        let plan = self.plan;
        let in_turn = plan.replace || !plan.on_duplicate.is_empty();
        let (mut done, mut attempt, mut inserted) = (0, rows.len(), 0);
        while done < rows.len() {
            let batch = &rows[done..rows.len().min(done.saturating_add(attempt))];
            let outcomes = ctx.transaction.insert_many(&plan.table, batch, plan.ignore && !in_turn).await?;
            // What a duplicate replaces or updates decides what the rows after it meet: they wait for their turn. Where one
            // duplicate was, more are likely.
            attempt = match outcomes.last() {
                Some(Inserted::Duplicate { .. }) => 1,
                _ => attempt.saturating_mul(2),
            };
            if !plan.on_duplicate.is_empty() {
                self.check_parents_of_new(batch, &outcomes, ctx).await?;
            }
            ctx.check_between_batches().await?;
            for outcome in outcomes {
                let position = done;
                done += 1;
                if plan.replace || matches!(outcome, Inserted::Done) {
                    self.first_generated = self.first_generated.or(generated[position]);
                }
                match outcome {
                    Inserted::Done => {
                        self.affected.rows += 1;
                        inserted += 1;
                        self.after_insert(&rows[position], ctx).await?;
                    }
                    Inserted::Duplicate { index, primary_key } => {
                        let source = sources.get_mut(position).map(std::mem::take).unwrap_or_default();
                        self.duplicate(&rows[position], source, index, primary_key, ctx).await?;
                    }
                }
            }
        }
        plan.usage.add(None, RowUse::Insert, inserted);
        self.affected.found = self.row_number;
        Ok(())
    }

    async fn after_insert(&self, row: &[u8], ctx: &mut ExecContext<'_>) -> Result<()> {
        let Some(triggers) = &self.plan.rules.triggers else { return Ok(()) };
        let values = self.plan.table.layout.row(row).values(ctx.eval.zone);
        triggers.after(Event::Insert, None, Some(&values), ctx).await
    }

    /// Those of rows that were no duplicates.
    async fn check_parents_of_new(
        &self,
        batch: &[Vec<u8>],
        outcomes: &[Inserted],
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let Some(keys) = self.plan.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) else {
            return Ok(());
        };
        let new = batch.iter().zip(outcomes).filter(|(_, outcome)| **outcome == Inserted::Done);
        let written: Vec<WrittenRow<'_>> = new.map(|(new, _)| WrittenRow { new, old: None }).collect();
        let outcomes = ctx.transaction.lock_parents(keys, &self.plan.table, &written).await?;
        outcomes.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    /// Rows without a parent are refused, or left out with IGNORE. Where a duplicate may be updated instead, that is known later.
    async fn lock_parents(&mut self, ctx: &mut ExecContext<'_>) -> Result<()> {
        let plan = self.plan;
        let Some(keys) = plan.rules.foreign.as_ref().filter(|keys| keys.has_parents(&plan.table)) else {
            return Ok(());
        };
        if !ctx.checks_foreign_keys || !plan.on_duplicate.is_empty() {
            return Ok(());
        }
        let written: Vec<WrittenRow<'_>> = self.rows.iter().map(|new| WrittenRow { new, old: None }).collect();
        let outcomes = ctx.transaction.lock_parents(keys, &plan.table, &written).await?;
        let mut outcomes = outcomes.into_iter();
        if !plan.ignore {
            return outcomes.flatten().next().map_or(Ok(()), Err);
        }
        let mut kept = 0;
        for position in 0..self.rows.len() {
            if let Some(Some(error)) = outcomes.next() {
                warn(&error, ErrorCode::NoReferencedRow, ctx);
                self.affected.duplicates += 1;
                continue;
            }
            self.rows.swap(kept, position);
            self.generated.swap(kept, position);
            if !self.sources.is_empty() {
                self.sources.swap(kept, position);
            }
            kept += 1;
        }
        self.rows.truncate(kept);
        self.generated.truncate(kept);
        self.sources.truncate(kept);
        Ok(())
    }

    async fn duplicate(
        &mut self,
        row: &[u8],
        source: Vec<Value>,
        index: usize,
        primary_key: Vec<u8>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        if self.plan.replace {
            return self.replace(row, primary_key, ctx).await;
        }
        self.affected.duplicates += 1;
        if !self.plan.on_duplicate.is_empty() {
            return self.update_existing(row, source, index, primary_key, ctx).await;
        }
        let error = duplicate_entry(&self.plan.table, index, row);
        if !self.plan.ignore {
            return Err(error);
        }
        ctx.eval.warnings.push(WarningLevel::Warning, ErrorCode::DupEntry, || error.message().to_owned());
        Ok(())
    }

    /// Deletes whatever stands in the way, then inserts.
    async fn replace(&mut self, row: &[u8], first: Vec<u8>, ctx: &mut ExecContext<'_>) -> Result<()> {
        let table = &self.plan.table;
        let mut in_the_way = first;
        loop {
            if let Some(existing) = locked_row(table, &in_the_way, ctx).await? {
                let several_keys = table.schema.indexes.iter().filter(|index| index.unique).count() > 1;
                let is_same = *table.layout.row(&existing).current_bytes() == *row;
                if is_same && !several_keys && self.plan.rules.triggers.is_none() {
                    // MySQL updates in place what meets a duplicate in its last unique key; no change counts once.
                    self.affected.rows += 1;
                    return Ok(());
                }
                if let Some(keys) = self.plan.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
                    let rows = std::slice::from_ref(&existing);
                    prepare_delete(keys, table, rows, (false, &mut Gone::default()), ctx).await?;
                }
                let triggers = self.plan.rules.triggers.as_ref();
                let old = triggers.map(|_| table.layout.row(&existing).values(ctx.eval.zone));
                if let (Some(triggers), Some(old)) = (triggers, &old) {
                    triggers.before(Event::Delete, Some(old), None, ctx).await?;
                }
                ctx.transaction.delete_row(table, &existing).await?;
                if let (Some(triggers), Some(old)) = (triggers, &old) {
                    triggers.after(Event::Delete, Some(old), None, ctx).await?;
                }
                ctx.handlers.delete += 1;
                self.plan.usage.add(Some(0), RowUse::Delete, 1);
                self.affected.duplicates += 1;
                self.affected.rows += 1;
            }
            let outcome = ctx.transaction.insert_many(table, &[row.to_vec()], false).await?;
            match outcome.into_iter().next() {
                Some(Inserted::Duplicate { primary_key, .. }) => in_the_way = primary_key,
                _ => {
                    self.affected.rows += 1;
                    self.plan.usage.add(None, RowUse::Insert, 1);
                    return self.after_insert(row, ctx).await;
                }
            }
        }
    }

    /// ON DUPLICATE KEY UPDATE.
    async fn update_existing(
        &mut self,
        row: &[u8],
        source: Vec<Value>,
        index: usize,
        primary_key: Vec<u8>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let table = Arc::clone(&self.plan.table);
        let Some(existing) = locked_row(&table, &primary_key, ctx).await? else {
            return Err(duplicate_entry(&table, index, row));
        };
        let mut values = table.layout.row(&existing).values(ctx.eval.zone);
        let columns = values.len();
        values.extend(table.layout.row(row).values(ctx.eval.zone));
        values.extend(source);
        let mut builder = RowBuilder::for_update(&table, self.plan.ignore, &ctx.eval);
        builder.null_is_default = self.builder.null_is_default;
        for (place, (column, expression)) in self.plan.on_duplicate.iter().enumerate() {
            let calls = self.plan.duplicate_calls.get(&place).map_or(&[][..], Vec::as_slice);
            let value =
                with_calls(calls, &values, ctx, |inner| expression.eval(&values[..], &mut inner.eval)).await?;
            let collation = expression.sql_type().collation;
            values[*column] = builder.convert(*column, value, collation, self.row_number, &mut ctx.eval)?;
        }
        values.truncate(columns);
        self.plan.rules.complete(&mut values, &builder, self.row_number, &mut ctx.eval)?;
        let triggers = self.plan.rules.triggers.as_ref().filter(|triggers| triggers.has(Event::Update));
        let old = triggers.map(|_| table.layout.row(&existing).values(ctx.eval.zone));
        if let (Some(triggers), Some(old)) = (triggers, &old) {
            triggers.before(Event::Update, Some(old), Some(&mut values), ctx).await?;
            builder.settle_nulls(&mut values, &|_| true, &mut ctx.eval)?;
            self.plan.rules.complete(&mut values, &builder, self.row_number, &mut ctx.eval)?;
        }
        let mut changed = Vec::with_capacity(existing.len());
        self.builder.encode(&values, &ctx.eval, &mut changed)?;
        if let Some(column) = table.schema.auto_increment_column() {
            self.explicit_id = match &values[column] {
                Value::Int(number) => u64::try_from(*number).ok(),
                Value::UInt(number) => Some(*number),
                _ => self.explicit_id,
            };
        }
        if changed == existing {
            self.affected.rows += u64::from(self.found_rows);
            return Ok(());
        }
        let assigned: Vec<usize> = self.plan.on_duplicate.iter().map(|(column, _)| *column).collect();
        super::row::touch_update_columns(&table, &assigned, &mut values, &ctx.eval);
        self.plan.rules.complete(&mut values, &builder, self.row_number, &mut ctx.eval)?;
        if !self.plan.rules.permit(&values[..], self.plan.ignore, &mut ctx.eval)? {
            return Ok(());
        }
        sleep_if_asked(ctx).await?;
        changed.clear();
        self.builder.encode(&values, &ctx.eval, &mut changed)?;
        let mut start = None;
        if let Some(keys) = self.plan.rules.foreign.as_ref().filter(|_| ctx.checks_foreign_keys) {
            let change = [(existing.clone(), changed.clone())];
            start = prepare_update(keys, &table, &change, self.plan.ignore, ctx).await?;
            if start.is_none() {
                return Ok(());
            }
        }
        ctx.handlers.update += 1;
        match ctx.transaction.replace_row(&table, &existing, &changed).await? {
            Inserted::Done => {
                self.affected.rows += 2;
                self.plan.usage.add(Some(0), RowUse::Update, 1);
                match (triggers, &old) {
                    (Some(triggers), Some(old)) => {
                        triggers.after(Event::Update, Some(old), Some(&values), ctx).await
                    }
                    _ => Ok(()),
                }
            }
            Inserted::Duplicate { index, .. } => {
                let error = duplicate_entry(&table, index, &changed);
                if !self.plan.ignore {
                    return Err(error);
                }
                if let Some(start) = start {
                    ctx.transaction.rollback_to(&start);
                }
                ctx.eval.warnings.push(WarningLevel::Warning, ErrorCode::DupEntry, || error.message().to_owned());
                Ok(())
            }
        }
    }

    /// The counts and LAST_INSERT_ID of the statement.
    pub fn finish(mut self) -> Result<Affected> {
        let several = self.row_number > 1 || matches!(self.plan.source, InsertSource::Query(_));
        self.affected.last_insert_id = self.first_generated.or(self.explicit_id).unwrap_or(0);
        self.affected.generated_id = self.first_generated;
        self.affected.found = self.row_number;
        if several {
            let records = self.row_number - self.left_out;
            self.affected.info = format!("Records: {records}  Duplicates: {}", self.affected.duplicates);
        }
        Ok(self.affected)
    }
}

/// The newest version of a row, locked exclusively.
pub async fn locked_row(
    table: &Arc<shoal_cluster::Table>,
    primary_key: &[u8],
    ctx: &mut ExecContext<'_>,
) -> Result<Option<Vec<u8>>> {
    let mode = ReadMode { lock: Some(LockMode::Exclusive), wait: LockWait::Wait };
    ctx.transaction.get(table, primary_key, mode, |row| row.map(|row| row.bytes().to_vec())).await
}

/// Errors: 1136, a row has another number of values than there are columns.
pub fn wrong_value_count(row: usize) -> Error {
    Error::new(ErrorCode::WrongValueCountOnRow, format!("Column count doesn't match value count at row {row}"))
}
