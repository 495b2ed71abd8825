//! The rows of inputs that are made for one row of those before them: LATERAL derived tables and JSON_TABLE.

use shoal_types::{Result, Value};

use super::batch::KeptRows;
use super::json_table::json_rows;
use super::{ExecContext, Flow, RowConsumer};
use crate::plan::{Input, JoinStep};

/// Keeps the columns of a query's rows that a join step wants.
pub struct KeptColumns<'s> {
    pub rows: KeptRows,
    columns: &'s [(usize, usize)],
}

impl<'s> KeptColumns<'s> {
    pub fn new(step: &'s JoinStep, ctx: &ExecContext<'_>) -> KeptColumns<'s> {
        KeptColumns { rows: KeptRows::new(step.columns.len(), ctx.memory), columns: &step.columns }
    }
}

impl RowConsumer for KeptColumns<'_> {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        self.rows.push(|target| {
            for (place, &(column, _)) in target.iter_mut().zip(self.columns) {
                place.clone_from(&row[column]);
            }
            Ok(())
        })?;
        Ok(Flow::Continue)
    }
}

/// The rows of a lateral input for an outer row, in the order of `step.columns`.
pub async fn lateral_rows(step: &JoinStep, outer: &[Value], ctx: &mut ExecContext<'_>) -> Result<KeptRows> {
    ctx.check_between_batches().await?;
    let mut kept = KeptColumns::new(step, ctx);
    match &step.input {
        Input::Lateral(lateral) => {
            let mut bindings = Vec::with_capacity(lateral.outer.len());
            for (slot, expression) in &lateral.outer {
                bindings.push((*slot, expression.eval(outer, &mut ctx.eval)?));
            }
            ctx.run_query_with(&lateral.plan, bindings, &mut kept).await?;
        }
        Input::JsonTable(table) => json_rows(table, outer, &mut kept, ctx).await?,
        _ => {}
    }
    Ok(kept.rows)
}
