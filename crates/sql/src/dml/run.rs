//! Plans that change rows are run.

use shoal_types::Result;

use super::insert::{self, InsertSettings};
use super::{Affected, delete, rows, update};
use crate::execute::ExecContext;
use crate::session::plans::{Plan, PlanKind};

/// Runs a plan that changes rows.
pub async fn run(plan: &Plan, settings: InsertSettings, ctx: &mut ExecContext<'_>) -> Result<Affected> {
    let constants = match &plan.kind {
        PlanKind::Insert(insert) => &insert.constants[..],
        PlanKind::Update(update) => &update.finder.constants[..],
        PlanKind::Delete(delete) => &delete.finder.constants[..],
        _ => &[],
    };
    let bound = rows::constant_parameters(constants, ctx).await?;
    let found_rows = settings.found_rows;
    let run = async |ctx: &mut ExecContext<'_>| match &plan.kind {
        PlanKind::Insert(plan) => insert::insert(plan, settings, ctx).await,
        PlanKind::Update(plan) => update::update(plan, found_rows, ctx).await,
        PlanKind::Delete(plan) => delete::delete(plan, ctx).await,
        PlanKind::Multi(plan) => delete::run_multi(plan, found_rows, ctx).await,
        PlanKind::PointSelect { .. } | PlanKind::Select { .. } => Ok(Affected::default()),
    };
    match bound {
        Some(parameters) => ctx.with_parameters(&parameters, run).await,
        None => run(ctx).await,
    }
}
