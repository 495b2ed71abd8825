//! Running one SELECT block.

use std::ops::Range;

use shoal_expr::{EvalContext, Expr};
use shoal_txn::Visit;
use shoal_types::row::RowRef;
use shoal_types::{Result, Value};

use super::aggregate::Aggregator;
use super::fetch::{MappedRow, TableReader, fill, position_map};
use super::join::{JoinState, join, join_by_subqueries, read_input};
use super::lock_in_order;
use super::output::Output;
use super::recursion::WorkingTable;
use super::set_operation::evaluate_limit;
use super::subquery::{SubqueryState, fill_columns, fill_some_columns};
use super::window::rows::WindowRows;
use super::{ExecContext, Flow, LocalFuture, RowBatch, RowConsumer, boxed};
use crate::plan::windows::Windowing;
use crate::plan::{Block, Input, TableInput};

/// Rows of a kept input that go through the rest of the pipeline together.
const BATCH_ROWS: usize = 256;

/// Runs a block into a consumer. What few blocks need is boxed: the future of all is made, and moved, for each of them.
pub async fn run_block(block: &Block, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    let bounds = evaluate_limit(block.limit.as_ref(), ctx)?;
    let distinct = block.distinct.then(|| {
        block.projection[..block.visible].iter().map(|expression| expression.sql_type().clone()).collect()
    });
    let mut output =
        Output::new(block.visible, distinct, &block.order, bounds, block.count_all_rows, ctx.memory, consumer);
    let mut run = BlockRun {
        block,
        aggregator: block.aggregation.as_ref().map(|plan| Aggregator::new(plan, ctx.memory)),
        windows: block.windowing.as_ref().map(|plan| WindowRows::new(plan.width, ctx.memory)),
        subquery_states: Vec::new(),
        projected: Vec::new(),
    };
    if !block.impossible && !output.is_full() {
        run.rows(&mut output, ctx).await?;
    }
    if let Some(aggregator) = run.aggregator.take() {
        run.groups(aggregator, &mut output, ctx).await?;
    }
    if let (Some(rows), Some(plan)) = (run.windows.take(), &block.windowing) {
        boxed(|| run.windows(plan, rows, &mut output, ctx)).await?;
    }
    super::sleep_if_asked(ctx).await?;
    output.finish(ctx.interrupt).await?;
    ctx.found_rows = output.rows_seen;
    Ok(())
}

struct BlockRun<'a> {
    block: &'a Block,
    aggregator: Option<Aggregator<'a>>,
    /// The rows that windows are computed over, while they are gathered.
    windows: Option<WindowRows>,
    subquery_states: Vec<SubqueryState>,
    projected: Vec<Value>,
}

impl BlockRun<'_> {
    /// Every joined row.
    async fn rows(&mut self, output: &mut Output<'_>, ctx: &mut ExecContext<'_>) -> Result<()> {
        let block = self.block;
        let Some(first) = block.steps.first() else {
            let mut batch = RowBatch::new(block.width);
            batch.push_empty();
            self.rest(batch, output, ctx).await?;
            return Ok(());
        };
        if let (Some(input), Some(wanted)) = (lock_in_order::applies(block, ctx), output.limit()) {
            return boxed(|| lock_in_order::run(block, input, wanted, output, ctx)).await;
        }
        if let (Input::Table(input), [_], true) = (&first.input, &block.steps[..], block.subqueries.is_empty())
            && !self.projection_may_wait()
        {
            return self.rows_in_place(input, output, ctx).await;
        }
        if let (Input::Working, Some(table)) = (&first.input, ctx.working.clone()) {
            return boxed(|| self.working_rows(&table, output, ctx)).await;
        }
        let mut states: Vec<JoinState> = block.steps.iter().map(|_| JoinState::default()).collect();
        if let Input::Table(input) = &first.input {
            // A join that locks takes no more rows at a time than can be wanted.
            let counts = self.passes_rows_on() && (block.steps.len() == 1 || input.lock.is_some());
            let wanted = if counts { output.rows_wanted() } else { None };
            let mut reader = TableReader::open(input, wanted, ctx).await?;
            loop {
                let mut batch = RowBatch::new(block.width);
                let mut visit = |row: RowRef<'_>, eval: &mut EvalContext<'_>| {
                    fill(row, &first.columns, eval.zone, batch.push_empty());
                    Ok(Visit::Take)
                };
                let more = reader.next(input, ctx, &mut visit).await?;
                if self.widen(batch, &mut states, output, ctx).await? == Flow::Stop || !more {
                    return Ok(());
                }
            }
        }
        let rows = boxed(|| read_input(first, ctx)).await?;
        if self.is_in_place() {
            let mut places = 0..rows.row_count();
            let mut next = |row: &mut [Value]| {
                let Some(place) = places.next() else { return Ok(false) };
                for (value, &(_, position)) in rows.row(place).iter().zip(&first.columns) {
                    row[position].clone_from(value);
                }
                Ok(true)
            };
            return boxed(|| self.kept_rows_in_place(&mut next, output, ctx)).await;
        }
        for start in (0..rows.row_count()).step_by(BATCH_ROWS) {
            ctx.check_between_batches().await?;
            let mut batch = RowBatch::new(block.width);
            for row in start..rows.row_count().min(start + BATCH_ROWS) {
                let target = batch.push_empty();
                for (value, &(_, position)) in rows.row(row).iter().zip(&first.columns) {
                    target[position] = value.clone();
                }
            }
            if self.widen(batch, &mut states, output, ctx).await? == Flow::Stop {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Every row of a recursive table that this part of it has not seen, those included that come meanwhile.
    async fn working_rows(
        &mut self,
        table: &WorkingTable,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let block = self.block;
        let columns = &block.steps[0].columns;
        if self.is_in_place() {
            let mut next = |row: &mut [Value]| table.next_row(columns, row);
            return boxed(|| self.kept_rows_in_place(&mut next, output, ctx)).await;
        }
        let mut states: Vec<JoinState> = block.steps.iter().map(|_| JoinState::default()).collect();
        loop {
            ctx.check_between_batches().await?;
            let mut batch = RowBatch::new(block.width);
            while batch.len() < BATCH_ROWS {
                if !table.next_row(columns, batch.push_empty())? {
                    batch.pop();
                    break;
                }
            }
            let is_end = batch.is_empty();
            if is_end || self.widen(batch, &mut states, output, ctx).await? == Flow::Stop {
                return Ok(());
            }
        }
    }

    /// One input, and nothing that waits behind it.
    fn is_in_place(&self) -> bool {
        matches!(self.block.steps[..], [_]) && self.block.subqueries.is_empty() && !self.projection_may_wait()
    }

    /// Rows of an input that are in memory, one after the other: `next` fills the joined row, or says that there is none.
    async fn kept_rows_in_place(
        &mut self,
        next: &mut dyn FnMut(&mut [Value]) -> Result<bool>,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let block = self.block;
        let step = &block.steps[0];
        let filters: Vec<_> = step.filter.iter().chain(&block.filter).chain(&block.late_filter).collect();
        let mut row = vec![Value::Null; block.width];
        loop {
            ctx.check_between_batches().await?;
            'rows: for _ in 0..BATCH_ROWS {
                if !next(&mut row)? {
                    return Ok(());
                }
                for filter in &filters {
                    if filter.eval_bool(&row[..], &mut ctx.eval)? != Some(true) {
                        continue 'rows;
                    }
                }
                if let Some(aggregator) = &mut self.aggregator {
                    aggregator.add(&row[..], &mut ctx.eval)?;
                    continue;
                }
                self.projected.clear();
                for expression in &block.projection {
                    self.projected.push(expression.eval(&row[..], &mut ctx.eval)?);
                }
                if output.push(&mut self.projected)? == Flow::Stop {
                    return Ok(());
                }
            }
            super::sleep_if_asked(ctx).await?;
            output.trim(ctx.interrupt).await?;
            if output.wants_flush() {
                output.flush().await?;
            }
        }
    }

    /// One table, nothing that waits behind it: rows are aggregated or projected where they lie.
    async fn rows_in_place(
        &mut self,
        input: &TableInput,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let block = self.block;
        let step = &block.steps[0];
        let columns = position_map(&step.columns, block.width);
        let plain = self.plain_projection(&columns, output);
        let filters: Vec<_> = step.filter.iter().chain(&block.filter).chain(&block.late_filter).collect();
        let counts = self.passes_rows_on() && (filters.is_empty() || input.lock.is_some());
        let wanted = if counts { output.rows_wanted() } else { None };
        let mut reader = TableReader::open(input, wanted, ctx).await?;
        loop {
            let mut flow = Flow::Continue;
            let BlockRun { aggregator, windows, projected, .. } = self;
            let mut visit = |row: RowRef<'_>, eval: &mut EvalContext<'_>| {
                let mapped = MappedRow { row, columns: &columns };
                for filter in &filters {
                    if filter.eval_bool(&mapped, eval)? != Some(true) {
                        return Ok(Visit::Skip);
                    }
                }
                if let Some(aggregator) = aggregator {
                    aggregator.add(&mapped, eval)?;
                    return Ok(Visit::Take);
                }
                flow = match (&plain, windows.as_mut()) {
                    (Some(projection), _) => output.push_stored(row, projection, eval.zone)?,
                    (None, Some(rows)) => {
                        let inputs = block.row_expressions().iter();
                        rows.push_each(inputs.map(|expression| expression.eval(&mapped, eval)))?;
                        Flow::Continue
                    }
                    (None, None) => {
                        projected.clear();
                        for expression in &block.projection {
                            projected.push(expression.eval(&mapped, eval)?);
                        }
                        output.push(projected)?
                    }
                };
                Ok(if flow == Flow::Stop { Visit::TakeAndStop } else { Visit::Take })
            };
            let more = reader.next(input, ctx, &mut visit).await?;
            super::sleep_if_asked(ctx).await?;
            output.trim(ctx.interrupt).await?;
            if output.wants_flush() {
                output.flush().await?;
            }
            if flow == Flow::Stop || !more {
                return Ok(());
            }
        }
    }

    /// Rows go to the output as they come.
    fn passes_rows_on(&self) -> bool {
        self.aggregator.is_none() && self.windows.is_none()
    }

    /// GET_LOCK() waits between rows, not while the table is read.
    fn projection_may_wait(&self) -> bool {
        let never = |expression: &Expr| expression.function().is_none_or(|called| called.name != "GET_LOCK");
        !self.block.row_expressions().iter().all(|expression| expression.all(&mut |part| never(part)))
    }

    /// The projection as columns of the only table, if it is nothing else and rows pass straight through.
    fn plain_projection(&self, columns: &[usize], output: &Output<'_>) -> Option<Vec<usize>> {
        if !output.is_plain() || !self.passes_rows_on() || self.block.projection.len() != self.block.visible {
            return None;
        }
        let column = |expression: &Expr| {
            expression.as_column().map(|position| columns[position]).filter(|&column| column != usize::MAX)
        };
        self.block.projection.iter().map(column).collect()
    }

    /// The join steps behind the first one, then the rest.
    async fn widen(
        &mut self,
        mut batch: RowBatch,
        states: &mut [JoinState],
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Flow> {
        let block = self.block;
        if let Some(filter) = &block.steps[0].filter {
            let eval = &mut ctx.eval;
            batch.retain(|row| Ok::<_, shoal_types::Error>(filter.eval_bool(row, eval)? == Some(true)))?;
        }
        self.join_from(1, batch, states, output, ctx).await
    }

    /// The join steps from `number` on. What a step makes of a batch goes through the rest in parts, so that a product of
    /// tables is never in memory as a whole.
    fn join_from<'f>(
        &'f mut self,
        number: usize,
        batch: RowBatch,
        states: &'f mut [JoinState],
        output: &'f mut Output<'_>,
        ctx: &'f mut ExecContext<'_>,
    ) -> LocalFuture<'f, Result<Flow>> {
        Box::pin(async move {
            let block = self.block;
            let Some(step) = block.steps.get(number) else { return self.rest(batch, output, ctx).await };
            let mut done = 0;
            while done < batch.len() {
                ctx.check_between_batches().await?;
                let joined = match step.condition_subqueries.is_empty() {
                    true => join(step, &mut states[number], &batch, &mut done, block.width, ctx).await?,
                    false => {
                        let state = &mut states[number];
                        boxed(|| join_by_subqueries(block, step, state, &batch, &mut done, ctx)).await?
                    }
                };
                if self.join_from(number + 1, joined, states, output, ctx).await? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        })
    }

    /// Filters, subqueries, then aggregation or projection.
    async fn rest(
        &mut self,
        mut batch: RowBatch,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Flow> {
        let block = self.block;
        retain(&mut batch, block.filter.as_ref(), &mut ctx.eval)?;
        if !block.subqueries.is_empty() {
            // Those that a join has run for its pairs have their results already.
            let is_left = |number| !block.steps.iter().any(|step| step.condition_subqueries.contains(&number));
            let states = &mut self.subquery_states;
            boxed(|| fill_some_columns(&block.subqueries, is_left, states, &mut batch, ctx)).await?;
        }
        retain(&mut batch, block.late_filter.as_ref(), &mut ctx.eval)?;
        super::sleep_if_asked(ctx).await?;
        if let Some(aggregator) = &mut self.aggregator {
            for row in 0..batch.len() {
                aggregator.add(batch.row(row), &mut ctx.eval)?;
            }
            super::sleep_if_asked(ctx).await?;
            return Ok(Flow::Continue);
        }
        self.project(&batch, output, ctx).await
    }

    async fn project(
        &mut self,
        batch: &RowBatch,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Flow> {
        if self.windows.is_some() {
            return boxed(|| self.keep_for_windows(batch, ctx)).await;
        }
        let sleeps_alone = ctx.survives_kill_in_sleep && self.block.reads_no_rows();
        for row in 0..batch.len() {
            self.projected.clear();
            for expression in &self.block.projection {
                let value = match sleeps_alone {
                    true => super::eval_with_sleep(expression, batch.row(row), ctx).await?,
                    false => super::eval_with_locks(expression, batch.row(row), ctx).await?,
                };
                self.projected.push(value);
            }
            super::sleep_if_asked(ctx).await?;
            if output.push(&mut self.projected)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if output.wants_flush() {
                output.flush().await?;
            }
        }
        output.trim(ctx.interrupt).await?;
        Ok(Flow::Continue)
    }

    async fn keep_for_windows(&mut self, batch: &RowBatch, ctx: &mut ExecContext<'_>) -> Result<Flow> {
        let (Some(rows), Some(plan)) = (&mut self.windows, &self.block.windowing) else { return Ok(Flow::Stop) };
        for row in 0..batch.len() {
            self.projected.clear();
            for expression in &plan.inputs {
                self.projected.push(super::eval_with_locks(expression, batch.row(row), ctx).await?);
            }
            rows.push(&mut self.projected)?;
        }
        super::sleep_if_asked(ctx).await?;
        Ok(Flow::Continue)
    }

    /// All rows are there: the windows, then the projection over their results.
    async fn windows(
        &mut self,
        plan: &Windowing,
        mut rows: WindowRows,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        super::window::run::run(plan, &mut rows, ctx).await?;
        let columns = columns_read_once(&self.block.projection);
        let mut subquery_states = Vec::new();
        for start in (0..rows.len()).step_by(BATCH_ROWS) {
            ctx.check_between_batches().await?;
            let end = rows.len().min(start + BATCH_ROWS);
            if !plan.subqueries.is_empty() {
                fill_behind_windows(plan, start..end, &mut rows, &mut subquery_states, ctx).await?;
            }
            for row in start..end {
                self.projected.clear();
                for (expression, column) in self.block.projection.iter().zip(&columns) {
                    let value = match *column {
                        Some(column) => std::mem::take(&mut rows.row_mut(row)[column]),
                        None => expression.eval(rows.row(row), &mut ctx.eval)?,
                    };
                    self.projected.push(value);
                }
                if output.push(&mut self.projected)? == Flow::Stop {
                    return Ok(());
                }
            }
            if output.wants_flush() {
                output.flush().await?;
            }
            output.trim(ctx.interrupt).await?;
        }
        Ok(())
    }

    async fn groups(
        &mut self,
        aggregator: Aggregator<'_>,
        output: &mut Output<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let mut groups = aggregator.finish(ctx.interrupt).await?;
        let mut subquery_states = Vec::new();
        loop {
            ctx.check_between_batches().await?;
            let mut rows = groups.next_batch(&mut ctx.eval)?;
            if rows.is_empty() {
                return Ok(());
            }
            if let Some(aggregation) = &self.block.aggregation {
                if !aggregation.subqueries.is_empty() {
                    fill_columns(&aggregation.subqueries, &mut subquery_states, &mut rows, ctx).await?;
                }
                retain(&mut rows, aggregation.having.as_ref(), &mut ctx.eval)?;
            }
            if self.project(&rows, output, ctx).await? == Flow::Stop {
                return Ok(());
            }
        }
    }
}

/// Runs the subqueries that read window functions for some rows.
async fn fill_behind_windows(
    plan: &Windowing,
    range: Range<usize>,
    rows: &mut WindowRows,
    states: &mut Vec<SubqueryState>,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let mut batch = RowBatch::new(plan.width);
    range.clone().for_each(|row| {
        batch.push(rows.row(row));
    });
    fill_columns(&plan.subqueries, states, &mut batch, ctx).await?;
    for (number, row) in range.enumerate() {
        for subquery in &plan.subqueries {
            rows.keep(row, subquery.position, std::mem::take(&mut batch.row_mut(number)[subquery.position]))?;
        }
    }
    Ok(())
}

/// For each expression, the column that it is and nobody else reads.
fn columns_read_once(expressions: &[Expr]) -> Vec<Option<usize>> {
    let reads: Vec<usize> = expressions.iter().flat_map(Expr::columns_used).collect();
    let is_once = |column: &usize| reads.iter().filter(|read| *read == column).count() == 1;
    expressions.iter().map(|expression| expression.as_column().filter(is_once)).collect()
}

fn retain(batch: &mut RowBatch, filter: Option<&Expr>, eval: &mut EvalContext<'_>) -> Result<()> {
    match filter {
        Some(filter) => {
            batch.retain(|row| Ok::<_, shoal_types::Error>(filter.eval_bool(row, eval)? == Some(true)))
        }
        None => Ok(()),
    }
}
