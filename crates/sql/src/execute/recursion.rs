//! WITH RECURSIVE.
//!
//! All rows that are found lie in one table that grows. A part that reads the table begins where it stopped, and sees the rows that it
//! adds itself, so one run of it goes on until there is nothing more to be found: inputs that it joins with are read and hashed once.
//! Several such parts take turns. Rows that are there when a part has read all those before them are its next round, and rounds are
//! what `cte_max_recursion_depth` counts.

use std::cell::RefCell;
use std::rc::Rc;

use shoal_expr::{EvalContext, Settings, Warnings, append_group_key};
use shoal_types::{
    BaseType, Collation, Error, ErrorCode, Result, SqlType, StoreOptions, StoreTarget, TemporalContext, Value,
    store_value,
};

use super::batch::KeptRows;
use super::key_set::KeySet;
use super::set_operation::evaluate_limit;
use super::{ExecContext, Flow, RowConsumer};
use crate::plan::{Recursion, RecursionPart};

/// Rows that are passed on between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;
/// Conditions of one run of a part that are kept.
const WARNINGS_MAX: usize = 1024;

/// The rows of a recursive table so far, and how far the part that is running has read them.
pub struct WorkingTable {
    rows: RefCell<KeptRows>,
    reader: RefCell<Reader>,
    rounds_max: u64,
}

/// How far a part has read.
#[derive(Clone, Copy, Default)]
struct Reader {
    next: usize,
    /// Its present round goes to here.
    round_end: usize,
    rounds: u64,
}

impl WorkingTable {
    /// Moves on to the next row; `None`: there is none yet.
    ///
    /// # Errors
    /// 3636: it would be one of a round too many.
    #[inline]
    fn advance(&self) -> Result<Option<usize>> {
        let mut reader = self.reader.borrow_mut();
        if reader.next == reader.round_end {
            let rows = self.rows.borrow().row_count();
            if reader.next == rows {
                return Ok(None);
            }
            reader.rounds += 1;
            if reader.rounds > self.rounds_max {
                return Err(too_deep(reader.rounds));
            }
            reader.round_end = rows;
        }
        reader.next += 1;
        Ok(Some(reader.next - 1))
    }

    /// Copies columns of the next row into a joined row; false: there is none yet. Errors: 3636.
    #[inline]
    pub fn next_row(&self, columns: &[(usize, usize)], target: &mut [Value]) -> Result<bool> {
        let Some(row) = self.advance()? else { return Ok(false) };
        let rows = self.rows.borrow();
        let row = rows.row(row);
        for &(column, position) in columns {
            target[position].clone_from(&row[column]);
        }
        Ok(true)
    }
}

fn too_deep(rounds: u64) -> Error {
    let message = format!(
        "Recursive query aborted after {rounds} iterations. Try increasing @@cte_max_recursion_depth to a larger value."
    );
    Error::new(ErrorCode::CteMaxRecursionDepth, message)
}

/// Adds the rows of one part to the table.
struct Grow<'a> {
    table: &'a WorkingTable,
    columns: &'a [(String, SqlType)],
    /// Which columns of the part's rows have to be converted, from strings of which collation; empty: none.
    converted: Vec<Option<Collation>>,
    options: StoreOptions,
    /// Rows that are there already, for a part without duplicates.
    seen: Option<&'a mut KeySet>,
    key: Vec<u8>,
    row: Vec<Value>,
    /// So many rows are enough.
    rows_max: usize,
    warnings: Warnings,
}

impl Grow<'_> {
    fn flow(&self, rows: &KeptRows) -> Flow {
        if rows.row_count() >= self.rows_max { Flow::Stop } else { Flow::Continue }
    }

    fn converted(&mut self, column: usize, value: &Value) -> Result<Value> {
        let (name, sql_type) = &self.columns[column];
        let Some(&Some(source)) = self.converted.get(column) else { return Ok(value.clone()) };
        let target = StoreTarget { sql_type, column: name, row: 1 };
        let (value, warning) = store_value(value.clone(), source, target, &self.options)?;
        if let Some(warning) = warning {
            self.warnings.push(warning.level, warning.code, || warning.message);
        }
        Ok(value)
    }
}

impl RowConsumer for Grow<'_> {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        if self.converted.is_empty() && self.seen.is_none() {
            let mut rows = self.table.rows.borrow_mut();
            rows.push(|target| {
                target.clone_from_slice(row);
                Ok(())
            })?;
            return Ok(self.flow(&rows));
        }
        let mut converted = std::mem::take(&mut self.row);
        converted.clear();
        for (column, value) in row.iter().enumerate() {
            converted.push(self.converted(column, value)?);
        }
        self.row = converted;
        if let Some(seen) = &mut self.seen {
            self.key.clear();
            for (value, (_, sql_type)) in self.row.iter().zip(self.columns) {
                append_group_key(value, sql_type, &mut self.key);
            }
            if !seen.insert(&self.key)? {
                return Ok(Flow::Continue);
            }
        }
        let mut rows = self.table.rows.borrow_mut();
        rows.push(|target| {
            target.swap_with_slice(&mut self.row);
            Ok(())
        })?;
        Ok(self.flow(&rows))
    }
}

/// Runs a recursive table into a consumer.
pub async fn run(plan: &Recursion, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    let (rows, offset) = find(plan, ctx).await?;
    let end = rows.row_count();
    for position in offset.min(end)..end {
        if position.is_multiple_of(ROWS_PER_CHECK) {
            ctx.check_between_batches().await?;
        }
        if consumer.push(rows.row(position))? == Flow::Stop {
            break;
        }
        if consumer.wants_flush() {
            consumer.flush().await?;
        }
    }
    ctx.found_rows = end as u64;
    Ok(())
}

/// All rows of a recursive table that has no OFFSET.
pub async fn all_rows(plan: &Recursion, ctx: &mut ExecContext<'_>) -> Result<KeptRows> {
    find(plan, ctx).await.map(|(rows, _)| rows)
}

/// The rows of a recursive table up to its LIMIT, and how many of them OFFSET leaves out.
async fn find(plan: &Recursion, ctx: &mut ExecContext<'_>) -> Result<(KeptRows, usize)> {
    let (offset, limit) = evaluate_limit(plan.limit.as_ref(), ctx)?;
    let rows_max = limit.map_or(u64::MAX, |limit| limit.saturating_add(offset));
    let mut run = RecursionRun {
        plan,
        table: Rc::new(WorkingTable {
            rows: RefCell::new(KeptRows::new(plan.columns.len(), ctx.memory)),
            reader: RefCell::default(),
            rounds_max: ctx.programs.recursion_depth_max(),
        }),
        seen: KeySet::new(ctx.memory),
        rows_max: usize::try_from(rows_max).unwrap_or(usize::MAX),
    };
    if run.rows_max > 0 {
        run.all_parts(ctx).await?;
    }
    let rows = run.table.rows.replace(KeptRows::new(0, ctx.memory));
    Ok((rows, usize::try_from(offset).unwrap_or(usize::MAX)))
}

struct RecursionRun<'a> {
    plan: &'a Recursion,
    table: Rc<WorkingTable>,
    seen: KeySet,
    rows_max: usize,
}

impl RecursionRun<'_> {
    fn row_count(&self) -> usize {
        self.table.rows.borrow().row_count()
    }

    async fn all_parts(&mut self, ctx: &mut ExecContext<'_>) -> Result<()> {
        for seed in &self.plan.seeds {
            self.part(seed, ctx).await?;
        }
        let mut readers = vec![Reader::default(); self.plan.members.len()];
        loop {
            let before = self.row_count();
            for (member, reader) in self.plan.members.iter().zip(&mut readers) {
                self.table.reader.replace(*reader);
                let around = ctx.working.replace(Rc::clone(&self.table));
                let outcome = self.part(member, ctx).await;
                ctx.working = around;
                outcome?;
                *reader = *self.table.reader.borrow();
            }
            if self.row_count() == before || self.plan.members.len() == 1 {
                return Ok(());
            }
        }
    }

    async fn part(&mut self, part: &RecursionPart, ctx: &mut ExecContext<'_>) -> Result<()> {
        if self.row_count() >= self.rows_max {
            return Ok(());
        }
        let columns = &self.plan.columns;
        let converted = part.query.columns.iter().zip(columns);
        let mut converted: Vec<Option<Collation>> = converted
            .map(|(found, (_, kept))| (!holds_all(kept, &found.sql_type)).then_some(found.sql_type.collation))
            .collect();
        if converted.iter().all(Option::is_none) {
            converted.clear();
        }
        let mut grow = Grow {
            table: &self.table,
            columns,
            converted,
            options: store_options(&ctx.eval),
            seen: part.distinct.then_some(&mut self.seen),
            key: Vec::new(),
            row: Vec::with_capacity(columns.len()),
            rows_max: self.rows_max,
            warnings: Warnings::with_limit(WARNINGS_MAX),
        };
        let outcome = ctx.run_query(&part.query, &mut grow).await;
        ctx.eval.warnings.append(grow.warnings);
        outcome
    }
}

/// Every value of the other type is one of the column's type as it is.
fn holds_all(kept: &SqlType, found: &SqlType) -> bool {
    match kept.base {
        BaseType::BigInt => found.is_int() && found.unsigned == kept.unsigned,
        _ if kept.is_int() => found.base == kept.base && found.unsigned == kept.unsigned,
        BaseType::Double => found.base == BaseType::Double,
        BaseType::Char | BaseType::VarChar | BaseType::Text => {
            found.base == kept.base && found.collation == kept.collation && found.length <= kept.length
        }
        BaseType::Decimal => {
            found.base == BaseType::Decimal && found.decimals == kept.decimals && found.length <= kept.length
        }
        _ => found == kept,
    }
}

/// What does not fit is treated as by INSERT.
fn store_options(eval: &EvalContext<'_>) -> StoreOptions {
    let Settings { sql_mode: mode, .. } = eval.settings;
    let rules = shoal_types::DateRules {
        no_zero_date: mode.no_zero_date && mode.strict,
        no_zero_in_date: mode.no_zero_in_date && mode.strict,
        allow_invalid_dates: mode.allow_invalid_dates,
    };
    let temporal = TemporalContext { rules, zone: eval.zone.clone(), today: eval.now(0).date() };
    StoreOptions { strict: mode.strict, ignore: false, temporal }
}
