//! `mysql.innodb_table_stats` and `innodb_index_stats`: InnoDB's persistent statistics, as far as they are known here.
//!
//! They are counts of now, so nothing has to be collected. How many values the leading columns of an index have is not counted; of a whole
//! unique key it is the number of rows.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_types::{Index, TableId, TableSchema, Value};

use super::Rows;
use super::cell::row;
use crate::locks::figures::PAGE_BYTES;

/// InnoDB samples pages; all rows are counted here.
const SAMPLED: Value = Value::Null;

/// Rows of a table or of a unique key's hidden table, and the pages that they would take.
fn figures(rows: &Rows<'_>, id: TableId) -> (u64, u64) {
    let node = &rows.server.node;
    let usage = (0..node.partition_count()).filter_map(|number| node.partition(number).usage(id));
    let (count, bytes) = usage.fold((0, 0), |(count, bytes), one| (count + one.rows, bytes + one.bytes));
    (count, bytes.div_ceil(PAGE_BYTES))
}

fn of_tables(rows: &Rows<'_>, make: impl Fn(&Table) -> Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let catalog = rows.server.node.catalog();
    let mut tables: Vec<&Arc<Table>> =
        catalog.databases.values().flat_map(|database| database.tables.values()).collect();
    tables.sort_by(|one, other| {
        (one.schema.database.as_str(), one.name()).cmp(&(other.schema.database.as_str(), other.name()))
    });
    tables.into_iter().flat_map(|table| make(table)).collect()
}

pub fn table_stats(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_tables(rows, |table| {
        let schema = &table.schema;
        let (count, pages) = figures(rows, schema.id);
        let hidden = schema.indexes.iter().filter_map(|index| index.unique_table);
        let others: u64 = hidden.map(|id| figures(rows, id).1).sum();
        let made = rows.moment(schema.options.created_at_s);
        vec![row![&schema.database, &schema.name, made, count, pages, others]]
    })
}

pub fn index_stats(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_tables(rows, |table| {
        let schema = &table.schema;
        schema
            .declared_indexes()
            .filter(|index| index.unique)
            .flat_map(|index| of_index(rows, schema, index))
            .collect()
    })
}

fn of_index(rows: &Rows<'_>, schema: &TableSchema, index: &Index) -> Vec<Vec<Value>> {
    let (count, pages) = figures(rows, index.unique_table.unwrap_or(schema.id));
    let made = || rows.moment(schema.options.created_at_s);
    let names: Vec<&str> = index.columns.iter().map(|part| schema.columns[part.column].name.as_str()).collect();
    let distinct = format!("n_diff_pfx{:02}", names.len());
    let tell = |name: &str, value: u64, description: &str| {
        row![&schema.database, &schema.name, &index.name, made(), name, value, SAMPLED, description]
    };
    vec![tell(&distinct, count, &names.join(",")), tell("size", pages, "Number of pages in the index")]
}
