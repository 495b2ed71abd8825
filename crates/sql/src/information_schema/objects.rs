//! Databases, tables, columns and partitions.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{Sequence, Table, View};
use shoal_types::{Collation, TableId, TableSchema, Value};

use super::cell::{row, yes_no};
use super::column::{ColumnFacts, column_facts, type_facts};
use super::visibility::shows_generated_keys;
use super::{CATALOG, DATABASES, Rows, Viewer, all_tables, database_name, table_name};
use crate::ddl::generated_key;
use crate::resolve::view::is_updatable;

/// (name, collation) of every database in sight, virtual ones included, in the order of their names. `mysql` and
/// `ndbinfo` are not listed: a dump of all databases must not try to carry them elsewhere.
fn databases(rows: &Rows<'_>) -> Vec<(String, Collation)> {
    let viewer = rows.viewer();
    let mut found: Vec<(String, Collation)> =
        viewer.databases().map(|database| (database.name.clone(), database.collation)).collect();
    let fixed = DATABASES.iter().filter(|name| !super::is_guarded(name));
    found.extend(fixed.map(|name| ((*name).to_owned(), Collation::UTF8MB3_GENERAL_CI)));
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

pub fn schemata(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |(name, collation): (String, Collation)| {
        row![CATALOG, name, collation.charset().name(), collation.name(), Value::Null, "NO"]
    };
    databases(rows).into_iter().map(make).collect()
}

pub fn schemata_extensions(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    databases(rows).into_iter().map(|(name, _)| row![CATALOG, name, ""]).collect()
}

/// (rows, bytes) of a table in these partitions.
fn usage(rows: &Rows<'_>, table: TableId, partitions: Range<u32>) -> (u64, u64) {
    let node = &rows.server.node;
    let usages = partitions.filter_map(|number| node.partition(number).usage(table));
    usages.fold((0, 0), |(rows, bytes), usage| (rows + usage.rows, bytes + usage.bytes))
}

/// TABLE_ROWS, AVG_ROW_LENGTH, DATA_LENGTH, MAX_DATA_LENGTH, INDEX_LENGTH and DATA_FREE. Indexes that lie beside the rows count
/// as data; those that are hidden tables are INDEX_LENGTH.
fn sizes(rows: &Rows<'_>, table: &Table, partitions: Range<u32>) -> Vec<Value> {
    let (count, bytes) = usage(rows, table.id(), partitions.clone());
    let hidden = table.schema.indexes.iter().filter_map(|index| index.unique_table);
    let index_bytes: u64 = hidden.map(|id| usage(rows, id, partitions.clone()).1).sum();
    row![count, bytes.checked_div(count).unwrap_or(0), bytes, 0u64, index_bytes, 0u64]
}

/// The next AUTO_INCREMENT value of a table that has such a column.
pub(crate) fn next_auto_increment(table: &Table) -> Option<u64> {
    table.schema.auto_increment_column().map(|_| table.next_auto_increment.load(Ordering::Relaxed))
}

/// Options in the way of CREATE_OPTIONS.
fn create_options(schema: &TableSchema) -> String {
    let mut options: Vec<String> =
        schema.options.other.iter().map(|(name, value)| format!("{}={value}", name.to_lowercase())).collect();
    if schema.options.partitioned_by_key {
        options.push("partitioned".to_owned());
    }
    options.join(" ")
}

/// The TABLES row of a base table.
pub(crate) fn table_row(rows: &Rows<'_>, table: &Table) -> Vec<Value> {
    let schema = &table.schema;
    let options = &schema.options;
    let mut row = row![CATALOG, &schema.database, &schema.name, "BASE TABLE", &options.engine, 10u64, "Dynamic",];
    row.extend(sizes(rows, table, 0..rows.server.node.partition_count()));
    row.extend(row![
        next_auto_increment(table),
        rows.moment(options.created_at_s),
        Value::Null,
        Value::Null,
        options.collation.name(),
        Value::Null,
        create_options(schema),
        &options.comment,
    ]);
    row
}

/// The TABLES row of a view.
pub(crate) fn view_row(view: &View) -> Vec<Value> {
    let mut row = row![CATALOG, &view.database, &view.name, "VIEW"];
    row.resize(21, Value::Null);
    row[20] = Value::str("VIEW");
    row
}

pub fn views(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let row = |view: &Arc<View>| {
        row![
            CATALOG,
            &view.database,
            &view.name,
            &view.query,
            if view.check_option.is_empty() { "NONE" } else { &view.check_option },
            yes_no(is_updatable(view)),
            format!("{}@{}", view.definer.0, view.definer.1),
            if view.is_invokers { "INVOKER" } else { "DEFINER" },
            view.collation.charset().name(),
            view.collation.name(),
        ]
    };
    rows.viewer().views().map(row).collect()
}

/// The COLUMNS rows of a view, as far as they are in sight.
pub(crate) fn columns_of_view(viewer: &Viewer, view: &View) -> Vec<Vec<Value>> {
    columns_of(viewer, &Table::new(view.schema(), Arc::new(Sequence::new(1))), true)
}

/// The TABLES row of a virtual table.
pub(crate) fn virtual_table_row(table: super::VirtualTable) -> Vec<Value> {
    let kind = if database_name(table) == "information_schema" { "SYSTEM VIEW" } else { "BASE TABLE" };
    let mut row = row![CATALOG, database_name(table), table_name(table), kind];
    row.resize(21, Value::Null);
    row[5] = Value::UInt(10);
    row[7..13].fill(Value::UInt(0));
    row[19] = Value::str("");
    row[20] = Value::str("");
    row
}

pub fn tables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let mut found: Vec<Vec<Value>> = viewer.tables().map(|table| table_row(rows, table)).collect();
    let open = |table: &super::VirtualTable| {
        !super::is_guarded(database_name(*table)) || viewer.sees_database(database_name(*table))
    };
    found.extend(all_tables().filter(open).map(virtual_table_row));
    found.extend(viewer.views().map(|view| view_row(view)));
    found
}

fn column_row(database: &str, table: &str, ordinal: usize, facts: ColumnFacts, privileges: &str) -> Vec<Value> {
    row![
        CATALOG,
        database,
        table,
        facts.name,
        ordinal,
        facts.default,
        yes_no(facts.nullable),
        facts.data_type,
        facts.character_length,
        facts.octet_length,
        facts.numeric_precision,
        facts.numeric_scale,
        facts.datetime_precision,
        facts.charset,
        facts.collation,
        facts.column_type,
        facts.key,
        facts.extra,
        privileges,
        facts.comment,
        facts.generation,
        Value::Null,
    ]
}

/// The COLUMNS rows of a base table, as far as they are in sight.
pub(crate) fn columns_of(viewer: &Viewer, table: &Table, shows_generated_keys: bool) -> Vec<Vec<Value>> {
    let schema = generated_key::shown(&table.schema, shows_generated_keys);
    let privileges = viewer.columns(table);
    let shown = schema.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
    let row = |(ordinal, (position, column)): (usize, (usize, &shoal_types::Column))| {
        let privileges = privileges(&column.name)?;
        let facts = column_facts(&schema, position);
        Some(column_row(&schema.database, &schema.name, ordinal + 1, facts, &privileges))
    };
    shown.enumerate().filter_map(row).collect()
}

/// The COLUMNS rows of a virtual table.
pub(crate) fn columns_of_virtual(table: super::VirtualTable) -> Vec<Vec<Value>> {
    let row = |(position, column): (usize, crate::frontend::ResultColumn)| {
        let facts =
            ColumnFacts { nullable: !column.flags.not_null, name: column.name, ..type_facts(&column.sql_type) };
        column_row(database_name(table), table_name(table), position + 1, facts, "select")
    };
    super::columns(table).into_iter().enumerate().map(row).collect()
}

pub fn columns(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let shows = shows_generated_keys(rows.variables);
    let mut found: Vec<Vec<Value>> = viewer.tables().flat_map(|table| columns_of(&viewer, table, shows)).collect();
    let open = |table: &super::VirtualTable| {
        !super::is_guarded(database_name(*table)) || viewer.sees_database(database_name(*table))
    };
    found.extend(all_tables().filter(open).flat_map(columns_of_virtual));
    found.extend(viewer.views().flat_map(|view| columns_of_view(&viewer, view)));
    found
}

/// The columns that choose a row's partition, as PARTITION BY KEY would name them.
fn partition_expression(schema: &TableSchema) -> String {
    let names = schema.partition_columns.iter().map(|&column| format!("`{}`", schema.columns[column].name));
    names.collect::<Vec<_>>().join(",")
}

pub fn partitions(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    viewer.tables().flat_map(|table| partitions_of(rows, table)).collect()
}

fn partitions_of(rows: &Rows<'_>, table: &Arc<Table>) -> Vec<Vec<Value>> {
    let node = &rows.server.node;
    let schema = &table.schema;
    let row = |number: u32| {
        let mut row = row![
            CATALOG,
            &schema.database,
            &schema.name,
            format!("p{number}"),
            Value::Null,
            u64::from(number) + 1,
            Value::Null,
            "KEY",
            Value::Null,
            (!schema.has_hidden_key()).then(|| partition_expression(schema)),
            Value::Null,
            Value::Null,
        ];
        row.extend(sizes(rows, table, number..number + 1));
        row.resize(25, Value::Null);
        row[18] = rows.moment(schema.options.created_at_s);
        row[22] = Value::str("");
        row[23] = Value::str("0");
        row
    };
    (0..node.partition_count()).map(row).collect()
}
