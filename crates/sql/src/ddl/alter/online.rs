//! Indexes of large tables are built while others read and write.
//!
//! A first definition gives the table the indexes as ones that are being built: those who write keep them up to date, nobody reads or
//! shows them. The partitions make the entries of the rows that are there (`shoal_partition`'s `building`). Then the statement is
//! looked at again, and what it defines takes them over. Unique ones have their hidden tables filled as well (`fill_online`), and
//! what functional key parts compute is computed (`compute_online`). Both definitions have the table for themselves for a moment alone. Whatever
//! ends the statement in between, the indexes are dropped: by itself, or by the next start of a node.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{BeingFilled, Change, Node, Table, unique_table_schema};
use shoal_types::row::{PAST_ROWS_MAX, fixed_width};
use shoal_types::{
    Column, ErrorCode, Index, IndexColumn, IndexId, PastColumn, PastRows, Result, TableId, TableSchema,
};

use super::way::holds_as_it_is;
use super::{compute_online, fill_online, locked_rows};
use crate::ddl::build::BuiltTable;
use crate::ddl::publish;
use crate::ddl::running_stage::RunningStage;
use crate::definition_stages::StageKind;
use crate::resolve::Statistics;
use crate::session::Session;

/// A smaller table has its indexes made at once: that takes less than waiting twice.
pub const ROWS_MIN: u64 = 4096;

/// How often the progress is looked at.
const ROUND: Duration = Duration::from_millis(100);

/// The table with those of its new indexes that can be built beside others, and their ids; `None`: there are none.
pub fn with_building(
    table: &Table,
    built: &BuiltTable,
    mut next_table_id: impl FnMut() -> TableId,
) -> Option<(TableSchema, Vec<IndexId>)> {
    let goes_row_by_row = locked_rows::are_in_order(table);
    let table = &table.schema;
    let mut schema = table.clone();
    schema.version += 1;
    let computes = adds(built, true);
    if computes {
        add_functional_columns(&mut schema, built, goes_row_by_row)?;
    }
    let mut next = schema.indexes.iter().map(|index| index.id.0).max().unwrap_or(0) + 1;
    let mut ids = Vec::new();
    for (index, origin) in built.schema.indexes.iter().zip(&built.index_origins) {
        if origin.is_some() || index.unique && !goes_row_by_row {
            continue;
        }
        let Some(columns) = columns_before(&schema, built, index) else { continue };
        ids.push(IndexId(next));
        schema.indexes.push(Index {
            id: IndexId(next),
            columns,
            building: true,
            unique_table: index.unique.then(&mut next_table_id),
            // The optimizer does not look at it.
            invisible: true,
            ..index.clone()
        });
        next += 1;
    }
    (!ids.is_empty()).then_some((schema, ids))
}

/// Columns of functional key parts come, or others.
fn adds(built: &BuiltTable, functional: bool) -> bool {
    let mut columns = built.column_origins.iter().zip(&built.schema.columns);
    columns.any(|(origin, column)| origin.is_none() && column.is_functional() == functional)
}

/// Adds the columns of functional key parts that come, behind all others: NULL in the rows that are there. `None`: they mean other
/// columns than there are now, or would move the hidden key.
fn add_functional_columns(schema: &mut TableSchema, built: &BuiltTable, goes_row_by_row: bool) -> Option<()> {
    let mut kept = built.column_origins.iter().zip(&built.schema.columns);
    let is_same = |(origin, column): (&Option<usize>, &Column)| {
        origin.is_none_or(|origin| {
            let old = &schema.columns[origin];
            old.name == column.name && old.sql_type == column.sql_type && old.generated == column.generated
        })
    };
    let means_the_same = kept.all(is_same) && !adds(built, false);
    let has_room = !schema.has_hidden_key() && schema.past_rows.len() < PAST_ROWS_MAX;
    if !goes_row_by_row || !means_the_same || !has_room {
        return None;
    }
    let columns = built.column_origins.iter().zip(&built.schema.columns);
    let added = columns.filter(|(origin, column)| origin.is_none() && column.is_functional());
    let added: Vec<Column> = added.map(|(_, column)| column.clone()).collect();
    let width = |column: &Column| fixed_width(&column.sql_type).map(|width| width as u8);
    let widths = schema.columns.iter().map(width).collect();
    let columns = (0..schema.columns.len()).map(PastColumn::At).collect();
    schema.past_rows.push(PastRows { widths, columns });
    for rows in &mut schema.past_rows {
        rows.columns.extend(added.iter().map(|_| PastColumn::Value(None)));
    }
    schema.columns.extend(added);
    Some(())
}

/// An index's columns where they are now; `None`: some are not there yet, or hold other values.
fn columns_before(table: &TableSchema, built: &BuiltTable, index: &Index) -> Option<Vec<IndexColumn>> {
    let before = |part: &IndexColumn| {
        let column = &built.schema.columns[part.column];
        // One that was added for this statement has no origin yet, but the same name.
        let added = || table.columns.iter().position(|known| known.is_functional() && known == column);
        let origin = built.column_origins[part.column].or_else(added)?;
        let (old, new) = (&table.columns[origin], &built.schema.columns[part.column]);
        let stays = holds_as_it_is(&old.sql_type, &new.sql_type) && old.nullable == new.nullable;
        stays.then(|| IndexColumn { column: origin, ..part.clone() })
    };
    index.columns.iter().map(before).collect()
}

/// The statement's new indexes are those that it has had built.
pub fn take_over(table: &TableSchema, built: &mut BuiltTable, ids: &[IndexId]) {
    for position in 0..built.schema.indexes.len() {
        let index = &built.schema.indexes[position];
        if built.index_origins[position].is_some() {
            continue;
        }
        let Some(columns) = columns_before(table, built, index) else { continue };
        let is_it = |known: &Index| {
            known.building && ids.contains(&known.id) && known.columns == columns && known.unique == index.unique
        };
        let found = table.indexes.iter().position(is_it);
        if found.is_some() && !built.index_origins.contains(&found) {
            built.index_origins[position] = found;
        }
    }
}

/// Completes the indexes of a table that are being built. Errors: 1062, 1205, 1317 if the statement is killed, 1297.
pub async fn build(session: &mut Session, node: &Arc<Node>, table: &Arc<Table>, ids: &[IndexId]) -> Result<()> {
    compute_online::compute(session, node, table, ids).await?;
    await_trees(session, node, table).await?;
    fill_online::fill(session, node, table, ids).await
}

async fn await_trees(session: &Session, node: &Arc<Node>, table: &Arc<Table>) -> Result<()> {
    let rows = session.statistics().row_count(table);
    let stage = RunningStage::begin(&session.shared, StageKind::ReadRows, rows);
    loop {
        match session.shared.interrupt.guard(node.await_indexes(table.id(), ROUND)).await {
            Err(error) if error.is(ErrorCode::LockWaitTimeout) => stage.set_completed(rows_done(node, table.id())),
            outcome => return outcome,
        }
    }
}

/// Rows that have their entries in this node's partitions.
fn rows_done(node: &Node, table: TableId) -> u64 {
    let in_partition = |number: u32| {
        let partition = node.partition(number);
        let rows = partition.row_count(table);
        match partition.build_progress(table) {
            Some((done, all)) => rows * done / all.max(1),
            None => rows,
        }
    };
    (0..node.partition_count()).map(in_partition).sum()
}

/// The first definition. `Ok(false)`: the table is another by now.
pub async fn begin(node: &Arc<Node>, table: &Table, schema: TableSchema) -> Result<bool> {
    publish::change(node, |catalog| {
        let is_same = |present: &Arc<Table>| present.schema.version == table.schema.version;
        Ok(match catalog.tables_by_id.get(&table.id()).is_some_and(is_same) {
            true => {
                let known = |index: &&Index| !table.schema.indexes.iter().any(|known| known.id == index.id);
                let added = schema.indexes.iter().filter(known);
                let hidden =
                    added.filter_map(|index| Some(unique_table_schema(&schema, index, index.unique_table?)));
                let mut changes: Vec<Change> = hidden.map(Change::PutTable).collect();
                changes.push(Change::PutTable(schema));
                (changes, true)
            }
            false => (Vec::new(), false),
        })
    })
    .await
}

/// Indexes that a statement has begun to build.
#[derive(Default)]
pub struct Building {
    begun: Option<(Arc<Node>, TableId)>,
    ids: Vec<IndexId>,
    _filling: Option<BeingFilled>,
}

impl Building {
    pub fn ids(&self) -> &[IndexId] {
        &self.ids
    }

    /// Those of another table, which had the statement's name before, are gone with it.
    pub fn keep_of(&mut self, table: TableId) {
        if self.begun.as_ref().is_some_and(|(_, begun)| *begun != table) {
            self.ids.clear();
        }
    }

    /// These are about to be begun.
    pub fn add(&mut self, node: &Arc<Node>, table: TableId, ids: &[IndexId]) {
        if self.begun.as_ref().is_none_or(|(_, begun)| *begun != table) {
            self.begun = Some((Arc::clone(node), table));
            self._filling = None;
            self._filling = Some(node.begin_to_fill(vec![table]));
        }
        self.ids.extend(ids);
    }

    /// The statement has ended. What it has not taken over is dropped.
    pub async fn end(mut self, node: &Arc<Node>, has_succeeded: bool) {
        let Some((_, table)) = self.begun.clone().filter(|_| !has_succeeded) else { return self.ids.clear() };
        let ids = &self.ids;
        let dropped = publish::change(node, |catalog| {
            Ok((publish::without_building(catalog, table, |index| ids.contains(&index.id)), ()))
        })
        .await;
        if dropped.is_ok() {
            self.ids.clear();
        }
    }
}

impl Drop for Building {
    /// What is left is dropped by the next definition.
    fn drop(&mut self) {
        if let (Some((node, table)), false) = (&self.begun, self.ids.is_empty()) {
            publish::abandon_indexes(node, *table, std::mem::take(&mut self.ids));
        }
    }
}
