//! Indexes and the constraints that are made of them.

use shoal_types::{Index, IndexMethod, TableSchema, Value};

use super::CATALOG;
use super::Rows;
use super::cell::{row, yes_no};

/// The indexes that users have declared.
fn declared(schema: &TableSchema) -> impl Iterator<Item = &Index> {
    schema.indexes.iter().skip(usize::from(schema.has_hidden_key()))
}

/// The STATISTICS rows of a table. The cardinality is that of the whole index: rows for unique ones, unknown for others.
pub(crate) fn statistics_of(schema: &TableSchema, rows: u64) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for index in declared(schema) {
        for (position, part) in index.columns.iter().enumerate() {
            let column = &schema.columns[part.column];
            let last = position + 1 == index.columns.len();
            let direction = if part.descending { "D" } else { "A" };
            let hash = index.method == IndexMethod::Hash;
            found.push(row![
                CATALOG,
                &schema.database,
                &schema.name,
                i64::from(!index.unique),
                &schema.database,
                &index.name,
                position + 1,
                &column.name,
                (!hash).then_some(direction),
                (index.unique && last).then_some(rows),
                (part.prefix_length > 0).then_some(part.prefix_length),
                Value::Null,
                if column.nullable { "YES" } else { "" },
                if hash { "HASH" } else { "BTREE" },
                "",
                &index.comment,
                yes_no(!index.invisible),
                Value::Null,
            ]);
        }
    }
    found
}

pub fn statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let node = &rows.server.node;
    let count = |id| (0..node.partition_count()).map(|number| node.partition(number).row_count(id)).sum();
    viewer.tables().flat_map(|table| statistics_of(&table.schema, count(table.id()))).collect()
}

fn constraints(schema: &TableSchema) -> impl Iterator<Item = &Index> {
    declared(schema).filter(|index| index.unique)
}

pub fn key_column_usage(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let schema = &table.schema;
        for index in constraints(schema) {
            for (position, part) in index.columns.iter().enumerate() {
                found.push(row![
                    CATALOG,
                    &schema.database,
                    &index.name,
                    CATALOG,
                    &schema.database,
                    &schema.name,
                    &schema.columns[part.column].name,
                    position + 1,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
    }
    found
}

pub fn table_constraints(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let schema = &table.schema;
        for index in constraints(schema) {
            let kind = if index.name == "PRIMARY" { "PRIMARY KEY" } else { "UNIQUE" };
            found.push(row![CATALOG, &schema.database, &index.name, &schema.database, &schema.name, kind, "YES"]);
        }
        for check in &schema.checks {
            let enforced = if check.enforced { "YES" } else { "NO" };
            found.push(row![
                CATALOG,
                &schema.database,
                &check.name,
                &schema.database,
                &schema.name,
                "CHECK",
                enforced
            ]);
        }
    }
    found
}

pub fn check_constraints(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let TableSchema { database, checks, .. } = &table.schema;
        found.extend(checks.iter().map(|check| row![CATALOG, database, &check.name, &check.expression]));
    }
    found
}
