//! Running a whole query: its constant subqueries first, then its body.

use shoal_types::{Result, Value};

use super::consumer::Collect;
use super::subquery::scalar;
use super::{ExecContext, LocalFuture, RowConsumer};
use crate::plan::{ConstantSubquery, QueryBody, QueryPlan};

/// Runs a query into a consumer.
pub fn run_query<'a>(
    plan: &'a QueryPlan,
    ctx: &'a mut ExecContext<'_>,
    consumer: &'a mut dyn RowConsumer,
) -> LocalFuture<'a, Result<()>> {
    Box::pin(async move {
        if plan.constants.is_empty() {
            return run_body(plan, ctx, consumer).await;
        }
        let parameters = run_constants(&plan.constants, ctx).await?;
        ctx.with_parameters(&parameters, async |inner| run_body(plan, inner, consumer).await).await
    })
}

/// The present parameters with the results of these subqueries in their slots.
pub async fn run_constants(constants: &[ConstantSubquery], ctx: &mut ExecContext<'_>) -> Result<Vec<Value>> {
    let mut parameters = ctx.eval.parameters.to_vec();
    for constant in constants {
        let limit = if constant.exists { 1 } else { 2 };
        let run = async |inner: &mut ExecContext<'_>| run_collect(&constant.plan, inner, Some(limit)).await;
        let mut rows = ctx.with_parameters(&parameters, run).await?;
        let value = if constant.exists { Value::from(!rows.rows.is_empty()) } else { scalar(&mut rows.rows)? };
        set_slot(&mut parameters, constant.slot, value);
    }
    Ok(parameters)
}

fn set_slot(parameters: &mut Vec<Value>, slot: usize, value: Value) {
    if parameters.len() <= slot {
        parameters.resize(slot + 1, Value::Null);
    }
    parameters[slot] = value;
}

async fn run_body(plan: &QueryPlan, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    match &plan.body {
        QueryBody::Block(block) => super::block::run_block(block, ctx, consumer).await,
        QueryBody::SetOperation(operation) => super::set_operation::run(operation, ctx, consumer).await,
    }
}

/// Runs a query into memory; at most `limit` rows.
pub async fn run_collect(plan: &QueryPlan, ctx: &mut ExecContext<'_>, limit: Option<usize>) -> Result<Collect> {
    let mut rows = Collect { limit, ..Collect::new(ctx.memory) };
    run_query(plan, ctx, &mut rows).await?;
    Ok(rows)
}

/// The same with some parameter slots set.
pub async fn run_collect_with(
    plan: &QueryPlan,
    bindings: Vec<(usize, Value)>,
    ctx: &mut ExecContext<'_>,
    limit: Option<usize>,
) -> Result<Collect> {
    if bindings.is_empty() {
        return run_collect(plan, ctx, limit).await;
    }
    let mut parameters = ctx.eval.parameters.to_vec();
    for (slot, value) in bindings {
        set_slot(&mut parameters, slot, value);
    }
    ctx.with_parameters(&parameters, async |inner| run_collect(plan, inner, limit).await).await
}

impl ExecContext<'_> {
    /// Runs something with other parameters; warnings and everything else carry over.
    pub async fn with_parameters<T>(
        &mut self,
        parameters: &[Value],
        run: impl AsyncFnOnce(&mut ExecContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut inner = ExecContext {
            transaction: &mut *self.transaction,
            eval: self.eval.with_other_parameters(parameters),
            interrupt: self.interrupt,
            memory: self.memory,
            virtual_rows: self.virtual_rows,
            user_locks: self.user_locks,
            connection: self.connection,
            handlers: &mut *self.handlers,
            found_rows: 0,
            survives_kill_in_sleep: self.survives_kill_in_sleep,
        };
        let mut result = run(&mut inner).await;
        if result.is_ok()
            && let Err(killed) = super::sleep_if_asked(&mut inner).await
        {
            result = Err(killed);
        }
        self.found_rows = inner.found_rows;
        let is_sleep_interrupted = inner.eval.is_sleep_interrupted;
        let warnings = std::mem::take(&mut inner.eval.warnings);
        self.eval.warnings.append(warnings);
        self.eval.is_sleep_interrupted = is_sleep_interrupted;
        result
    }
}
