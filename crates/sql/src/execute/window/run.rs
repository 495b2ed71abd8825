//! All windows of a block, one after the other.

use shoal_expr::WindowKind;
use shoal_types::Result;

use super::aggregates::aggregates;
use super::frame::BoundFrame;
use super::ranks::ranks;
use super::rows::WindowRows;
use super::sort::sort;
use super::spans::Spans;
use super::values::values;
use crate::execute::ExecContext;
use crate::execute::memory::Held;
use crate::plan::windows::{Window, WindowStage, Windowing};
use crate::resolve::window::illegal_frame;

/// Computes the results of all window functions. Behind it the rows lie in the order of the last stage.
///
/// # Errors
/// 3586, a frame's amount is negative or NULL; those of functions; 1041; 1317.
pub async fn run(plan: &Windowing, rows: &mut WindowRows, ctx: &mut ExecContext<'_>) -> Result<()> {
    for stage in &plan.stages {
        sort(rows, &stage.keys, ctx.memory, ctx.interrupt).await?;
        for window in &stage.windows {
            run_window(stage, window, rows, ctx).await?;
        }
    }
    Ok(())
}

async fn run_window(
    stage: &WindowStage,
    window: &Window,
    rows: &mut WindowRows,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let (memory, interrupt) = (ctx.memory, ctx.interrupt);
    let frame = BoundFrame::new(&window.frame, &mut ctx.eval)?;
    let frame = frame.ok_or_else(|| illegal_frame(window.title()))?;
    let partitions = Spans::of_equal(rows, &stage.keys[..window.partition_keys], memory, interrupt).await?;
    let peers = match needs_peers(window) {
        true => Some(Spans::of_equal(rows, &stage.keys[..window.peer_keys], memory, interrupt).await?),
        false => None,
    };
    let spans = (&partitions, peers.as_ref().unwrap_or(&partitions));
    let mut held = Held::new(memory);
    for call in &window.functions {
        match &call.function.kind {
            WindowKind::Aggregate(aggregate) => {
                let called = (&**aggregate, call.position);
                aggregates(called, &frame, rows, spans, (&mut ctx.eval, &mut held), interrupt).await?;
            }
            kind if kind.is_rank() => ranks(call, rows, spans, &mut ctx.eval, interrupt).await?,
            _ => values(call, &frame, rows, spans, &mut ctx.eval, interrupt).await?,
        }
    }
    Ok(())
}

/// Somebody asks which rows ORDER BY does not tell apart.
fn needs_peers(window: &Window) -> bool {
    let has_peers = window.peer_keys > window.partition_keys;
    let asks = |kind: &WindowKind| match kind {
        WindowKind::RowNumber | WindowKind::Ntile | WindowKind::Lag | WindowKind::Lead => false,
        kind if kind.is_rank() => true,
        _ => !window.frame.by_rows,
    };
    has_peers && window.functions.iter().any(|call| asks(&call.function.kind))
}
