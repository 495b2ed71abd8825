//! Tables and indexes: how often they are used, and which of them nobody needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_cluster::Table;
use shoal_types::schema::TableSchema;
use shoal_types::{BaseType, Index, IndexMethod, SqlType, Value};

use super::format::Form;
use crate::information_schema::column::column_facts;
use crate::information_schema::performance::table_io::{index_names, total, usage, uses_of};
use crate::information_schema::{Rows, next_auto_increment, row};
use crate::table_usage::UsesByIndex;

pub fn table_statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_table(rows, Form::ForPeople)
}

pub fn raw_table_statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_table(rows, Form::Raw)
}

/// The most used first: times are not taken. No table has files of its own.
fn by_table(rows: &Rows<'_>, form: Form) -> Vec<Vec<Value>> {
    let mut found = usage(rows);
    found.sort_by_cached_key(|(_, uses)| std::cmp::Reverse(total(uses).total()));
    let make = |(table, uses): (Arc<Table>, UsesByIndex)| {
        let uses = total(&uses);
        let none = || form.time(0);
        let mut row = row![&table.schema.database, &table.schema.name, none()];
        for count in [uses.fetched, uses.inserted, uses.updated, uses.deleted] {
            row.extend([Value::UInt(count), none()]);
        }
        for _ in 0..2 {
            row.extend([Value::UInt(0), form.no_bytes(), none()]);
        }
        row.extend([Value::UInt(0), none()]);
        row
    };
    found.into_iter().map(make).collect()
}

pub fn index_statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_index(rows, Form::ForPeople)
}

pub fn raw_index_statistics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    by_index(rows, Form::Raw)
}

fn by_index(rows: &Rows<'_>, form: Form) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for (table, uses) in usage(rows) {
        for name in index_names(&table).into_iter().flatten() {
            let uses = uses_of(&table, &uses, &Some(name.clone()));
            let mut row = row![&table.schema.database, &table.schema.name, name];
            for count in [uses.fetched, uses.inserted, uses.updated, uses.deleted] {
                row.extend([Value::UInt(count), form.time(0)]);
            }
            found.push((uses.total(), row));
        }
    }
    found.sort_by_key(|(uses, _)| std::cmp::Reverse(*uses));
    found.into_iter().map(|(_, row)| row).collect()
}

pub fn full_scans(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    scanned(rows, Form::ForPeople)
}

pub fn raw_full_scans(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    scanned(rows, Form::Raw)
}

fn scanned(rows: &Rows<'_>, form: Form) -> Vec<Vec<Value>> {
    let mut found: Vec<(u64, Arc<Table>)> = usage(rows)
        .into_iter()
        .map(|(table, uses)| (uses_of(&table, &uses, &None).fetched, table))
        .filter(|(rows, _)| *rows > 0)
        .collect();
    found.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    let make =
        |(rows, table): (u64, Arc<Table>)| row![&table.schema.database, &table.schema.name, rows, form.time(0)];
    found.into_iter().map(make).collect()
}

/// Indexes by which no row was found since the server began; unique ones have another purpose.
pub fn unused_indexes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for (table, uses) in usage(rows) {
        let schema = &table.schema;
        for index in schema.declared_indexes().filter(|index| !index.unique && index.name != "PRIMARY") {
            if uses.get(&Some(index.name.clone())).is_none_or(|uses| uses.total() == 0) {
                found.push(row![&schema.database, &schema.name, &index.name]);
            }
        }
    }
    found
}

/// Columns with commas between them.
fn columns_of(schema: &TableSchema, index: &Index) -> String {
    let names = index.columns.iter().map(|part| schema.columns[part.column].name.as_str());
    names.collect::<Vec<_>>().join(",")
}

fn has_prefix(index: &Index) -> bool {
    index.columns.iter().any(|part| part.prefix_length > 0)
}

pub fn flattened_keys(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let of = |table: &Arc<Table>| -> Vec<Vec<Value>> {
        let schema = &table.schema;
        let ordered = schema.declared_indexes().filter(|index| index.method == IndexMethod::BTree);
        let make = |index: &Index| {
            let (unique, prefix) = (i64::from(!index.unique), i64::from(has_prefix(index)));
            row![&schema.database, &schema.name, &index.name, unique, prefix, columns_of(schema, index)]
        };
        ordered.map(make).collect()
    };
    viewer.tables().flat_map(of).collect()
}

/// Whether `index` serves nothing that `other` would not serve as well.
fn is_redundant(schema: &TableSchema, index: &Index, other: &Index) -> bool {
    let (columns, others) = (columns_of(schema, index), columns_of(schema, other));
    if columns == others {
        // Of two that are the same the unique one stays, then the one whose name comes first.
        let name = |index: &Index| if index.name == "PRIMARY" { String::new() } else { index.name.clone() };
        return match index.unique == other.unique {
            true => name(index) > name(other),
            false => other.unique,
        };
    }
    let is_beginning = !index.unique && others.starts_with(&format!("{columns},"));
    let goes_beyond_unique = other.unique && columns.starts_with(&format!("{others},"));
    is_beginning || goes_beyond_unique
}

pub fn redundant_indexes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let mut found = Vec::new();
    for table in viewer.tables() {
        let schema = &table.schema;
        let ordered: Vec<&Index> =
            schema.declared_indexes().filter(|index| index.method == IndexMethod::BTree).collect();
        for index in &ordered {
            for other in ordered.iter().filter(|other| other.name != index.name) {
                if is_redundant(schema, index, other) {
                    found.push(redundant_row(schema, index, other));
                }
            }
        }
    }
    found
}

fn redundant_row(schema: &TableSchema, index: &Index, other: &Index) -> Vec<Value> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let drop = format!(
        "ALTER TABLE {}.{} DROP INDEX {}",
        quoted(&schema.database),
        quoted(&schema.name),
        quoted(&index.name)
    );
    let mut row = row![&schema.database, &schema.name];
    for one in [index, other] {
        row.extend(row![&one.name, columns_of(schema, one), i64::from(!one.unique)]);
    }
    row.extend(row![i64::from(has_prefix(index) || has_prefix(other)), drop]);
    row
}

/// The greatest number of a column.
fn greatest(sql_type: &SqlType) -> Option<u64> {
    let bits = match sql_type.base {
        BaseType::TinyInt => 8,
        BaseType::SmallInt => 16,
        BaseType::MediumInt => 24,
        BaseType::Int => 32,
        BaseType::BigInt => 64,
        _ => return None,
    };
    Some(u64::MAX >> (64 - bits + u32::from(!sql_type.unsigned)))
}

/// Those that are nearest to their ends first.
pub fn auto_increment(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let viewer = rows.viewer();
    let mut found = Vec::new();
    for table in viewer.tables() {
        let schema = &table.schema;
        let Some(position) = schema.auto_increment_column() else { continue };
        let sql_type = &schema.columns[position].sql_type;
        let (Some(greatest), Some(next)) = (greatest(sql_type), next_auto_increment(table)) else { continue };
        let facts = column_facts(schema, position);
        let ratio = (next as f64 / greatest as f64 * 10_000.0).round() / 10_000.0;
        let mut row = row![&schema.database, &schema.name, facts.name, facts.data_type, facts.column_type];
        row.extend(row![i64::from(!sql_type.unsigned), i64::from(sql_type.unsigned), greatest, next]);
        row.push(Value::Double(ratio));
        found.push((ratio, row));
    }
    found.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    found.into_iter().map(|(_, row)| row).collect()
}

/// How many objects of each kind a database has.
pub fn object_overview(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut counts: BTreeMap<(String, &str), i64> = BTreeMap::new();
    for table in rows.viewer().tables() {
        *counts.entry((table.schema.database.clone(), "BASE TABLE")).or_default() += 1;
        for index in table.schema.declared_indexes() {
            let kind = match index.method {
                IndexMethod::Hash => "INDEX (HASH)",
                _ => "INDEX (BTREE)",
            };
            *counts.entry((table.schema.database.clone(), kind)).or_default() += index.columns.len() as i64;
        }
    }
    counts.into_iter().map(|((database, kind), count)| row![database, kind, count]).collect()
}
