//! What InnoDB tells of its tables and its buffer pool, as far as it is true here.
//!
//! There are no tablespaces: a table's number stands for its space. Memory is counted in pages of InnoDB's size, so that what divides
//! figures of this kind by each other comes to something sensible.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_types::row::fixed_width;
use shoal_types::{BaseType, Collation, Column, Index, SqlType, TableSchema, Value};

use super::Rows;
use super::cell::row;
use crate::account::Privileges;
use crate::locks::figures::{Figure, PAGE_BYTES, figures};

/// Columns that InnoDB adds to rows: of the transaction and the undo log; and the row id if there is no primary key.
const SYSTEM_COLUMNS: usize = 3;
const DYNAMIC_ROWS: i64 = 33;

fn may_read(rows: &Rows<'_>) -> bool {
    rows.viewer().is_global(Privileges::PROCESS)
}

/// Rows for each table, in the order of their numbers; none for whoever lacks PROCESS.
fn of_tables(rows: &Rows<'_>, make: impl Fn(&Table) -> Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    if !may_read(rows) {
        return Vec::new();
    }
    let catalog = rows.server.node.catalog();
    let mut tables: Vec<&Arc<Table>> =
        catalog.databases.values().flat_map(|database| database.tables.values()).collect();
    tables.sort_by_key(|table| table.id());
    tables.into_iter().flat_map(|table| make(table)).collect()
}

fn full_name(schema: &TableSchema) -> String {
    format!("{}/{}", schema.database, schema.name)
}

fn visible_columns(schema: &TableSchema) -> impl Iterator<Item = (usize, &Column)> {
    schema.columns.iter().enumerate().filter(|(_, column)| !column.hidden)
}

pub fn tables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_tables(rows, |table| {
        let schema = &table.schema;
        let id = u64::from(schema.id.0);
        let columns = visible_columns(schema).count() + SYSTEM_COLUMNS;
        vec![row![
            id,
            full_name(schema),
            DYNAMIC_ROWS,
            columns as i64,
            id as i64,
            "Dynamic",
            0_u64,
            "Single",
            0_i64,
            schema.past_rows.len() as i64
        ]]
    })
}

pub fn table_statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_tables(rows, |table| {
        let node = &rows.server.node;
        let partitions = 0..node.partition_count();
        let usage =
            |id| partitions.clone().filter_map(|number| node.partition(number).usage(id)).collect::<Vec<_>>();
        let pages = |bytes: u64| bytes.div_ceil(PAGE_BYTES);
        let (own, schema) = (usage(table.id()), &table.schema);
        let hidden = schema.indexes.iter().filter_map(|index| index.unique_table).flat_map(usage);
        vec![row![
            u64::from(schema.id.0),
            full_name(schema),
            "Initialized",
            own.iter().map(|one| one.rows).sum::<u64>(),
            pages(own.iter().map(|one| one.bytes).sum()),
            pages(hidden.map(|one| one.bytes).sum()),
            0_u64,
            super::next_auto_increment(table).unwrap_or(0),
            i64::from(table.metadata_lock.users()),
        ]]
    })
}

/// Those of all sessions of this node, under InnoDB's kind of names: only their sessions know how they are called.
pub fn temporary_tables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    if !may_read(rows) {
        return Vec::new();
    }
    let make = |table: Arc<Table>| {
        let id = u64::from(table.id().0);
        let columns = (visible_columns(&table.schema).count() + SYSTEM_COLUMNS) as u64;
        row![id, format!("#sql{id:x}"), columns, id]
    };
    rows.server.temporary.tables().into_iter().map(make).collect()
}

fn index_id(schema: &TableSchema, index: &Index) -> u64 {
    u64::from(schema.id.0) << 16 | u64::from(index.id.0)
}

/// The hidden key of a table without a primary key has InnoDB's name for it.
fn index_name<'a>(schema: &TableSchema, index: &'a Index) -> &'a str {
    if index.id.0 == 0 && schema.has_hidden_key() { "GEN_CLUST_INDEX" } else { &index.name }
}

pub fn indexes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_tables(rows, |table| {
        let schema = &table.schema;
        let make = |index: &Index| {
            let kind = match (index.id.0 == 0, index.unique) {
                (true, _) if schema.has_hidden_key() => 1_i64,
                (true, _) => 3,
                (false, unique) => 2 * i64::from(unique),
            };
            // The rows lie in the primary key's index; others lead to its columns.
            let fields = match index.id.0 {
                0 => visible_columns(schema).count() + SYSTEM_COLUMNS - usize::from(!schema.has_hidden_key()),
                _ => index.columns.len() + schema.primary_key().columns.len(),
            };
            let id = u64::from(schema.id.0);
            row![
                index_id(schema, index),
                index_name(schema, index),
                id,
                kind,
                fields as i64,
                0_i64,
                id as i64,
                50_i64
            ]
        };
        schema.indexes.iter().filter(|index| !index.building).map(make).collect()
    })
}

pub fn fields(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_tables(rows, |table| {
        let schema = &table.schema;
        let of_index = |index: &Index| {
            let parts = index.columns.iter().enumerate();
            let shown = parts.filter(|(_, part)| !schema.columns[part.column].hidden);
            shown
                .map(|(place, part)| row![index_id(schema, index), &schema.columns[part.column].name, place])
                .collect::<Vec<_>>()
        };
        schema.indexes.iter().filter(|index| !index.building).flat_map(of_index).collect()
    })
}

/// InnoDB's main types of columns.
fn main_type(sql_type: &SqlType) -> i64 {
    match sql_type.base {
        BaseType::Char if sql_type.collation == Collation::BINARY => 3,
        BaseType::VarChar if sql_type.collation == Collation::BINARY => 4,
        BaseType::Char => 13,
        BaseType::VarChar => 12,
        BaseType::Text | BaseType::Json => 5,
        BaseType::Geometry => 14,
        BaseType::Float => 9,
        BaseType::Double => 10,
        BaseType::Decimal | BaseType::Time | BaseType::DateTime | BaseType::Timestamp | BaseType::Bit => 3,
        _ => 6,
    }
}

/// The protocol's number of a column's type.
fn protocol_type(sql_type: &SqlType) -> i64 {
    match sql_type.base {
        BaseType::TinyInt => 1,
        BaseType::SmallInt => 2,
        BaseType::Int => 3,
        BaseType::Float => 4,
        BaseType::Double => 5,
        BaseType::Timestamp => 7,
        BaseType::BigInt => 8,
        BaseType::MediumInt => 9,
        BaseType::Date => 10,
        BaseType::Time => 11,
        BaseType::DateTime => 12,
        BaseType::Year => 13,
        BaseType::VarChar => 15,
        BaseType::Bit => 16,
        BaseType::Json => 245,
        BaseType::Decimal => 246,
        BaseType::Text => 252,
        BaseType::Geometry => 255,
        _ => 254,
    }
}

pub fn columns(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    const NOT_NULL: i64 = 256;
    const UNSIGNED: i64 = 512;
    const BINARY: i64 = 1024;
    of_tables(rows, |table| {
        let schema = &table.schema;
        let make = |(place, column): (usize, &Column)| {
            let sql_type = &column.sql_type;
            let kind = main_type(sql_type);
            let is_text = matches!(kind, 5 | 12 | 13) && sql_type.collation != Collation::BINARY;
            let collation = if is_text { i64::from(sql_type.collation.id()) << 16 } else { 0 };
            let flags = [(!column.nullable, NOT_NULL), (sql_type.unsigned, UNSIGNED), (!is_text, BINARY)];
            let flags: i64 = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
            let char_bytes =
                if matches!(kind, 12 | 13) { sql_type.collation.charset().char_bytes_max() } else { 1 };
            let text_bytes = i64::from(sql_type.length) * char_bytes as i64;
            let length = fixed_width(sql_type).map_or(text_bytes, |width| width as i64);
            row![
                u64::from(schema.id.0),
                &column.name,
                place,
                kind,
                collation | flags | protocol_type(sql_type),
                length,
                0_i64,
                Value::Null
            ]
        };
        visible_columns(schema).map(make).collect()
    })
}

pub fn buffer_pool(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    if !may_read(rows) {
        return Vec::new();
    }
    let memory = rows.server.node.memory_usage();
    let pages = |bytes: u64| bytes / PAGE_BYTES;
    let used = pages(memory.used_bytes);
    let mut row = row![0_u64, pages(memory.limit_bytes), pages(memory.limit_bytes).saturating_sub(used), used];
    // Everything is in memory: nothing is read, evicted or written back.
    let zeros = "UUUUUUUUffUUUfffUUUUUUffUUUU".chars();
    row.extend(zeros.map(|kind| if kind == 'f' { Value::Double(0.0) } else { Value::UInt(0) }));
    // HIT_RATE: of a thousand.
    row[21] = Value::UInt(1000);
    vec![row]
}

pub fn metrics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    if !may_read(rows) {
        return Vec::new();
    }
    let started = rows.moment(
        u64::try_from(rows.server.clock_micros() / 1_000_000).unwrap_or(0).saturating_sub(rows.server.uptime_s()),
    );
    let elapsed = i64::try_from(rows.server.uptime_s()).unwrap_or(i64::MAX);
    let make = |figure: Figure| {
        let count = i64::try_from(figure.value).unwrap_or(i64::MAX);
        row![
            figure.name,
            figure.subsystem,
            count,
            Value::Null,
            Value::Null,
            Value::Null,
            count,
            Value::Null,
            Value::Null,
            Value::Null,
            started.clone(),
            Value::Null,
            elapsed,
            Value::Null,
            "enabled",
            figure.kind(),
            figure.comment,
        ]
    };
    figures(rows.server).into_iter().map(make).collect()
}
