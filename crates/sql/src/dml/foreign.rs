//! Writing rows that foreign keys concern: what must be there before, and what goes along.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_txn::Savepoint;
use shoal_txn::foreign_keys::{ForeignKeys, Gone, WrittenRow};
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use crate::execute::ExecContext;

/// What a statement tells of a row that it leaves out, with IGNORE.
pub fn warn(error: &Error, code: ErrorCode, ctx: &mut ExecContext<'_>) {
    ctx.eval.warnings.push(WarningLevel::Warning, code, || error.message().to_owned());
}

/// Sees to it that rows may become others: their parents are there, their children follow. Yields where to roll back to if they cannot be
/// written after all. Errors: 1451, 1452 and what cascades meet; with `ignore` these two are warnings, and `None`: they stay as they are.
pub async fn prepare_update(
    keys: &ForeignKeys,
    table: &Arc<Table>,
    rows: &[(Vec<u8>, Vec<u8>)],
    ignore: bool,
    ctx: &mut ExecContext<'_>,
) -> Result<Option<Savepoint>> {
    let start = ctx.transaction.savepoint();
    let written: Vec<WrittenRow<'_>> = rows.iter().map(|(old, new)| WrittenRow { new, old: Some(old) }).collect();
    let outcomes = ctx.transaction.lock_parents(keys, table, &written).await?;
    let outcome = match outcomes.into_iter().flatten().next() {
        Some(error) => Err(error),
        None => ctx.transaction.update_children(keys, table, rows).await,
    };
    Ok(settle(outcome, &start, ignore, ctx)?.then_some(start))
}

/// Whether rows may be deleted: their children go along.
pub async fn prepare_delete(
    keys: &ForeignKeys,
    table: &Arc<Table>,
    rows: &[Vec<u8>],
    (ignore, gone): (bool, &mut Gone),
    ctx: &mut ExecContext<'_>,
) -> Result<bool> {
    let start = ctx.transaction.savepoint();
    let outcome = ctx.transaction.delete_children(keys, table, rows, gone).await;
    settle(outcome, &start, ignore, ctx)
}

fn settle(outcome: Result<()>, start: &Savepoint, ignore: bool, ctx: &mut ExecContext<'_>) -> Result<bool> {
    let Err(error) = outcome else { return Ok(true) };
    for code in [ErrorCode::RowIsReferenced, ErrorCode::NoReferencedRow] {
        if ignore && error.is(code) {
            ctx.transaction.rollback_to(start);
            warn(&error, code, ctx);
            return Ok(false);
        }
    }
    Err(error)
}
