//! An index that a client has opened: the names it said, and what they mean by the dictionary as it is now.
//!
//! Nothing of the table is held between two batches, so definitions change whenever they like. Every request compares the
//! dictionary's version with the one its index was resolved by, and resolves the names again when it is another.

use std::sync::Arc;

use shoal_cluster::{Catalog, Table};
use shoal_types::{BaseType, TableSchema};

use crate::convert::KeyShape;
use crate::host::{Account, Host, Rights};
use crate::refusal::{Outcome, Refusal};
use crate::reply::ColumnText;
use crate::request::Open;

/// What a client said in `P`.
#[derive(Debug)]
pub struct Names {
    database: String,
    table: String,
    index: String,
    columns: String,
    filter_columns: String,
}

/// What the names mean.
#[derive(Debug)]
pub struct Resolved {
    pub catalog_version: u64,
    pub table: Arc<Table>,
    /// Position in the table's indexes.
    pub index: usize,
    pub columns: Vec<ColumnText>,
    pub filter_columns: Vec<usize>,
    pub rights: Rights,
    pub key: KeyShape,
}

#[derive(Debug)]
pub struct OpenIndex {
    names: Names,
    /// `None`: the names had no meaning when they were looked at last.
    resolved: Option<Resolved>,
}

/// Who asks for an index.
pub struct Asker<'a> {
    pub host: &'a dyn Host,
    pub account: &'a Account,
    pub by_secret: bool,
}

impl OpenIndex {
    pub fn new(open: &Open<'_>, asker: &Asker<'_>) -> Outcome<OpenIndex> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let names = Names {
            database: text(open.database),
            table: text(open.table),
            index: text(open.index),
            columns: text(open.columns),
            filter_columns: text(open.filter_columns),
        };
        let resolved = Some(names.resolve(asker)?);
        Ok(OpenIndex { names, resolved })
    }

    /// What the index means by the present dictionary.
    #[inline]
    pub fn resolved(&mut self, asker: &Asker<'_>) -> Outcome<&Resolved> {
        let version = asker.host.node().catalog_version();
        let is_fresh = self.resolved.as_ref().is_some_and(|resolved| resolved.catalog_version == version);
        if !is_fresh {
            self.resolved = None;
            self.resolved = Some(self.names.resolve(asker)?);
        }
        self.resolved.as_ref().ok_or(Refusal::OPEN_TABLE)
    }
}

impl Names {
    fn resolve(&self, asker: &Asker<'_>) -> Outcome<Resolved> {
        let catalog: Arc<Catalog> = asker.host.node().catalog();
        let rights = asker.host.rights(asker.account, asker.by_secret, &self.database, &self.table);
        if rights == Rights::default() {
            return Err(Refusal::DENIED);
        }
        let table = catalog.table(&self.database, &self.table).ok_or(Refusal::OPEN_TABLE)?;
        let schema = &table.schema;
        let index = index_position(schema, &self.index).ok_or(Refusal::Request("idxnum"))?;
        let columns = column_positions(schema, &self.columns)?;
        let filter_columns = column_positions(schema, &self.filter_columns)?;
        Ok(Resolved {
            catalog_version: catalog.version,
            index,
            columns: columns.into_iter().map(|column| ColumnText::new(schema, column)).collect(),
            filter_columns,
            rights,
            key: KeyShape::of(table, index),
            table: Arc::clone(table),
        })
    }
}

impl Resolved {
    /// The filter column at a position of the request.
    pub fn filter_column(&self, position: u32) -> Outcome<usize> {
        let column = self.filter_columns.get(position as usize).copied();
        let column = column.ok_or(Refusal::Request("filterfld"))?;
        match self.table.schema.columns[column].sql_type.base {
            BaseType::Text | BaseType::Json | BaseType::Geometry => Err(Refusal::Request("filterblob")),
            _ => Ok(column),
        }
    }
}

/// By name, by position, or the primary key where nothing is said. Multi-valued indexes are for SQL alone.
fn index_position(schema: &TableSchema, name: &str) -> Option<usize> {
    let usable = |&position: &usize| {
        let index = &schema.indexes[position];
        (position > 0 || !schema.has_hidden_key()) && !index.building && !schema.is_multi_valued(index)
    };
    let position = match name.as_bytes() {
        [] => Some(0),
        [b'0'..=b'9', ..] => name.parse().ok().filter(|&position: &usize| position < schema.indexes.len()),
        _ => schema.indexes.iter().position(|index| !index.building && index.name.eq_ignore_ascii_case(name)),
    };
    position.filter(usable)
}

fn column_positions(schema: &TableSchema, names: &str) -> Outcome<Vec<usize>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let position = |name| schema.column_position(name).ok_or(Refusal::Request("fld"));
    names.split(',').map(position).collect()
}
