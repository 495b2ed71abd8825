//! Stored functions of columns in VALUES and ON DUPLICATE KEY UPDATE: called before the value that they are part of, in its turn, with what the row's
//! columns are by then. Their results are in parameter slots.

use std::collections::HashMap;

use shoal_types::{Result, Value};

use crate::execute::subquery::scalar;
use crate::execute::{ExecContext, LocalFuture};
use crate::plan::SubqueryColumn;

/// The calls of one value, in their order: a later one may take what an earlier one yields.
pub type Calls = Vec<SubqueryColumn>;
/// Those of VALUES, by the row and the place in it.
pub type RowCalls = HashMap<(usize, usize), Calls>;
/// Those of assignments, by their places.
pub type AssignmentCalls = HashMap<usize, Calls>;

/// Does something with an expression's calls made, over the row's columns so far.
pub async fn with_calls<T>(
    calls: &[SubqueryColumn],
    row: &[Value],
    ctx: &mut ExecContext<'_>,
    work: impl FnOnce(&mut ExecContext<'_>) -> Result<T>,
) -> Result<T> {
    if calls.is_empty() {
        return work(ctx);
    }
    // Rare, and not to be in the task of every connection.
    let called: LocalFuture<'_, Result<Vec<Value>>> = Box::pin(parameters_with(calls, row, ctx));
    let parameters = called.await?;
    ctx.with_parameters(&parameters, async |inner| work(inner)).await
}

/// The statement's parameters with the calls' results.
async fn parameters_with(
    calls: &[SubqueryColumn],
    row: &[Value],
    ctx: &mut ExecContext<'_>,
) -> Result<Vec<Value>> {
    let mut parameters = ctx.eval.parameters.to_vec();
    for call in calls {
        let value = ctx.with_parameters(&parameters, async |inner| result_of(call, row, inner).await).await?;
        if parameters.len() <= call.position {
            parameters.resize(call.position + 1, Value::Null);
        }
        parameters[call.position] = value;
    }
    Ok(parameters)
}

async fn result_of(call: &SubqueryColumn, row: &[Value], ctx: &mut ExecContext<'_>) -> Result<Value> {
    ctx.check_between_batches().await?;
    if let Some(needed) = &call.needed
        && needed.eval_bool(row, &mut ctx.eval)? != Some(true)
    {
        return Ok(Value::Null);
    }
    let mut bindings = Vec::with_capacity(call.outer.len());
    for (slot, expression) in &call.outer {
        bindings.push((*slot, expression.eval(row, &mut ctx.eval)?));
    }
    scalar(&mut ctx.run_collect_with(&call.plan, bindings, Some(2)).await?.rows)
}
