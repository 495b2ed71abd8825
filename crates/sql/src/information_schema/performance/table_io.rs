//! How often rows of tables were read and written. Times are not taken: they are 0.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_cluster::Table;
use shoal_types::{TableId, Value};

use super::format::zeros;
use crate::information_schema::{Rows, row};
use crate::table_usage::{RowUses, UsesByIndex};

/// The tables in sight with what was counted of them.
pub(in crate::information_schema) fn usage(rows: &Rows<'_>) -> Vec<(Arc<Table>, UsesByIndex)> {
    let viewer = rows.viewer();
    let present = |id: TableId| viewer.catalog.tables_by_id.contains_key(&id);
    let mut counted: HashMap<TableId, UsesByIndex> = rows.server.table_usage.merged(present);
    let take = |table: &Arc<Table>| (Arc::clone(table), counted.remove(&table.id()).unwrap_or_default());
    viewer.tables().map(take).collect()
}

/// What was done to a table's rows by all of its indexes and by none.
pub(in crate::information_schema) fn total(uses: &UsesByIndex) -> RowUses {
    uses.values().fold(RowUses::default(), |sum, uses| sum.plus(*uses))
}

/// The names of a table's indexes as users know them, and at last none.
pub(in crate::information_schema) fn index_names(table: &Table) -> Vec<Option<String>> {
    table.schema.declared_indexes().map(|index| Some(index.name.clone())).chain([None]).collect()
}

/// A table without a key of its own has a hidden one: what that finds is found by none.
pub(in crate::information_schema) fn uses_of(table: &Table, uses: &UsesByIndex, name: &Option<String>) -> RowUses {
    let of = |name: &Option<String>| uses.get(name).copied().unwrap_or_default();
    match (name, table.schema.has_hidden_key()) {
        (None, true) => of(&None).plus(of(&Some(table.schema.indexes[0].name.clone()))),
        _ => of(name),
    }
}

/// COUNT_STAR to MAX_TIMER_DELETE.
fn counted(uses: RowUses) -> Vec<Value> {
    let written = uses.written();
    let counts = [uses.total(), uses.fetched, written, uses.fetched, uses.inserted, uses.updated, uses.deleted];
    counts.into_iter().flat_map(|count| [Value::UInt(count)].into_iter().chain(zeros(4))).collect()
}

pub fn by_table(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |(table, uses): (Arc<Table>, UsesByIndex)| {
        let mut row = row!["TABLE", &table.schema.database, &table.schema.name];
        row.extend(counted(total(&uses)));
        row
    };
    usage(rows).into_iter().map(make).collect()
}

pub fn by_index(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for (table, uses) in usage(rows) {
        for name in index_names(&table) {
            let mut row = row!["TABLE", &table.schema.database, &table.schema.name, name.clone()];
            row.extend(counted(uses_of(&table, &uses, &name)));
            found.push(row);
        }
    }
    found
}

pub fn objects(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |(table, uses): (Arc<Table>, UsesByIndex)| {
        let mut row = row!["TABLE", &table.schema.database, &table.schema.name, total(&uses).total()];
        row.extend(zeros(4));
        row
    };
    usage(rows).into_iter().map(make).collect()
}
