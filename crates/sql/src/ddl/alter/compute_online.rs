//! The values of functional key parts, computed for the rows that are there while others write.
//!
//! The hidden columns of such parts are there from the definition on that begins to build their indexes, NULL in earlier rows, and
//! whoever writes a row computes them. Rows that nobody writes are computed here, in the order of the primary key, a batch at a time,
//! under exclusive locks. Their entries follow from that, those of unique indexes too.

use std::sync::Arc;

use shoal_cluster::{Node, Table};
use shoal_txn::new_row::duplicate_entry;
use shoal_txn::{Inserted, LockMode};
use shoal_types::{ErrorCode, IndexId, Result, TableId, Value};

use super::locked_rows::{LockedRows, PAUSE, lock_rows};
use crate::ddl::defaults;
use crate::ddl::running_stage::RunningStage;
use crate::definition_stages::StageKind;
use crate::dml::row::RowBuilder;
use crate::dml::rules::RowRules;
use crate::execute::ExecContext;
use crate::resolve::Statistics;
use crate::session::Session;

/// Rows that are locked at a time.
const ROWS_PER_BATCH: usize = 512;

/// Computes the columns of the indexes that are being built. Errors: those of the expressions, 1062, 1205, 1317.
pub async fn compute(session: &mut Session, node: &Arc<Node>, table: &Arc<Table>, ids: &[IndexId]) -> Result<()> {
    let Some((present, _)) = computed_columns(node, table.id(), ids) else { return Ok(()) };
    let stage =
        RunningStage::begin(&session.shared, StageKind::ReadRows, session.statistics().row_count(&present));
    let mut progress = Progress { stage, start: Vec::new(), done: 0 };
    // Another definition may have come in between, and have dropped them.
    while let Some((table, columns)) = computed_columns(node, table.id(), ids) {
        let (_, rules) = defaults::resolve(session, &table)?;
        let computing = Computing { table: &table, columns: &columns, rules: &rules };
        let progress = &mut progress;
        let outcome = session.with_context(&[], &[], true, async |ctx| computing.run(progress, ctx).await).await;
        let Err(error) = outcome else { return Ok(()) };
        session.transaction.rollback();
        if !error.is(ErrorCode::LockDeadlock) && !error.is(ErrorCode::TableDefChanged) {
            return Err(error);
        }
        session.clear_conditions();
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// The table as it is, and its functional columns of the indexes that are being built.
fn computed_columns(node: &Node, table: TableId, ids: &[IndexId]) -> Option<(Arc<Table>, Vec<usize>)> {
    let table = node.catalog().tables_by_id.get(&table).cloned()?;
    let schema = &table.schema;
    let building = schema.indexes.iter().filter(|index| index.building && ids.contains(&index.id));
    let parts = building.flat_map(|index| index.columns.iter().map(|part| part.column));
    let columns: Vec<usize> = parts.filter(|&column| schema.columns[column].is_functional()).collect();
    (!columns.is_empty()).then_some((table, columns))
}

struct Progress {
    stage: RunningStage,
    /// The key that the next batch begins with.
    start: Vec<u8>,
    done: u64,
}

struct Computing<'c> {
    table: &'c Arc<Table>,
    columns: &'c [usize],
    rules: &'c RowRules,
}

impl Computing<'_> {
    async fn run(&self, progress: &mut Progress, ctx: &mut ExecContext<'_>) -> Result<()> {
        let builder = RowBuilder::for_update(self.table, false, &ctx.eval);
        loop {
            ctx.check_between_batches().await?;
            ctx.transaction.start_statement();
            let batch =
                lock_rows(ctx.transaction, self.table, &progress.start, LockMode::Exclusive, ROWS_PER_BATCH);
            let LockedRows { rows, next } = batch.await?;
            let mut changed = Vec::with_capacity(rows.len());
            for row in &rows {
                progress.done += 1;
                if let Some(new) = self.computed(row, &builder, progress.done, ctx)? {
                    changed.push((row.clone(), Some(new)));
                }
            }
            let end = ctx.transaction.replace_many(self.table, &changed).await?;
            if let Some((place, Inserted::Duplicate { index, .. })) = &end.duplicate {
                let row = changed[*place].1.as_deref().unwrap_or_default();
                return Err(duplicate_entry(self.table, *index, row));
            }
            ctx.transaction.commit().await?;
            progress.stage.set_completed(progress.done);
            match next {
                Some(next) => progress.start = next,
                None => return Ok(()),
            }
        }
    }

    /// The row with its columns computed, unless they are.
    fn computed(
        &self,
        row: &[u8],
        builder: &RowBuilder<'_>,
        number: u64,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let mut values = self.table.layout.row(row).values(ctx.eval.zone);
        let before: Vec<Value> = self.columns.iter().map(|&column| values[column].clone()).collect();
        self.rules.complete(&mut values, builder, number, &mut ctx.eval)?;
        if self.columns.iter().zip(&before).all(|(&column, before)| values[column] == *before) {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(row.len() + 16);
        builder.encode(&values, &ctx.eval, &mut bytes)?;
        Ok(Some(bytes))
    }
}
