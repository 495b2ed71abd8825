//! Indexes and the constraints that are made of them.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_txn::foreign_keys::unique_key_over;
use shoal_types::{ForeignKey, Index, IndexMethod, ReferentialAction, TableSchema, Value};

use super::CATALOG;
use super::Rows;
use super::cell::{row, yes_no};
use super::visibility::shows_generated_keys;
use crate::ddl::generated_key::shown;

/// The STATISTICS rows of a table. The cardinality is that of the whole index: rows for unique ones, unknown for others.
pub(crate) fn statistics_of(schema: &TableSchema, rows: u64) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for index in schema.declared_indexes() {
        for (position, part) in index.columns.iter().enumerate() {
            let column = &schema.columns[part.column];
            let expression = column.generated.as_ref().filter(|_| column.hidden).map(|(text, _)| text.as_str());
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
                (!column.hidden).then_some(column.name.as_str()),
                (!hash).then_some(direction),
                (index.unique && last).then_some(rows),
                (part.prefix_length > 0).then_some(part.prefix_length),
                Value::Null,
                if column.nullable { "YES" } else { "" },
                if hash { "HASH" } else { "BTREE" },
                "",
                &index.comment,
                yes_no(!index.invisible),
                expression,
            ]);
        }
    }
    found
}

pub fn statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let node = &rows.server.node;
    let count = |id| (0..node.partition_count()).map(|number| node.partition(number).row_count(id)).sum();
    let shows = shows_generated_keys(rows.variables);
    let of_table = |table: &Arc<Table>| statistics_of(&shown(&table.schema, shows), count(table.id()));
    viewer.tables().flat_map(of_table).collect()
}

fn constraints(schema: &TableSchema) -> impl Iterator<Item = &Index> {
    schema.declared_indexes().filter(|index| index.unique)
}

pub fn key_column_usage(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let schema = &*shown(&table.schema, shows_generated_keys(rows.variables));
        for index in constraints(schema) {
            let parts = index.columns.iter().enumerate();
            for (position, part) in parts.filter(|(_, part)| !schema.columns[part.column].hidden) {
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
        for key in &schema.foreign_keys {
            for (position, (column, parent_column)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                found.push(row![
                    CATALOG,
                    &schema.database,
                    &key.name,
                    CATALOG,
                    &schema.database,
                    &schema.name,
                    column,
                    position + 1,
                    position + 1,
                    &key.parent.0,
                    &key.parent.1,
                    parent_column,
                ]);
            }
        }
    }
    found
}

pub fn table_constraints(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let schema = &*shown(&table.schema, shows_generated_keys(rows.variables));
        for index in constraints(schema) {
            let kind = if index.name == "PRIMARY" { "PRIMARY KEY" } else { "UNIQUE" };
            found.push(row![CATALOG, &schema.database, &index.name, &schema.database, &schema.name, kind, "YES"]);
        }
        for key in &schema.foreign_keys {
            let (database, name) = (&schema.database, &schema.name);
            found.push(row![CATALOG, database, &key.name, database, name, "FOREIGN KEY", "YES"]);
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

/// The unique key of the parent that a foreign key refers to.
fn referenced_key(rows: &Rows<'_>, key: &ForeignKey) -> Option<String> {
    let catalog = rows.server.node.catalog();
    let parent = catalog.table(&key.parent.0, &key.parent.1)?;
    let columns: Option<Vec<usize>> =
        key.parent_columns.iter().map(|name| parent.schema.column_position(name)).collect();
    let index = unique_key_over(parent, &columns?)?;
    Some(parent.schema.indexes[index].name.clone())
}

pub fn referential_constraints(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let TableSchema { database, name, foreign_keys, .. } = &table.schema;
        for key in foreign_keys {
            found.push(row![
                CATALOG,
                database,
                &key.name,
                CATALOG,
                &key.parent.0,
                referenced_key(rows, key),
                "NONE",
                key.on_update.text(),
                key.on_delete.text(),
                name,
                &key.parent.1,
            ]);
        }
    }
    found
}

/// `database/name`, as InnoDB has it.
fn innodb_name(database: &str, name: &str) -> String {
    format!("{database}/{name}")
}

pub fn innodb_foreign(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    /// What InnoDB's bits are of the actions of a DELETE; those of an UPDATE are two higher.
    fn bits(action: ReferentialAction, (cascade, set_null, no_action): (u64, u64, u64)) -> u64 {
        match action {
            ReferentialAction::Cascade => cascade,
            ReferentialAction::SetNull => set_null,
            ReferentialAction::NoAction => no_action,
            ReferentialAction::Restrict => 0,
        }
    }
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        let TableSchema { database, name, foreign_keys, .. } = &table.schema;
        for key in foreign_keys {
            let kind = bits(key.on_delete, (1, 2, 16)) | bits(key.on_update, (4, 8, 32));
            found.push(row![
                innodb_name(database, &key.name),
                innodb_name(database, name),
                innodb_name(&key.parent.0, &key.parent.1),
                key.columns.len(),
                kind,
            ]);
        }
    }
    found
}

pub fn innodb_foreign_cols(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for table in rows.viewer().tables() {
        for key in &table.schema.foreign_keys {
            let id = innodb_name(&table.schema.database, &key.name);
            for (position, (column, parent_column)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                found.push(row![&id, column, parent_column, position + 1]);
            }
        }
    }
    found
}
