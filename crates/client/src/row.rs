//! Rows as a client gets them: stored bytes, decoded column by column when they are asked for.

use std::sync::Arc;

use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{SqlType, TimeZone, Value};

/// The names and types of rows' columns.
#[derive(Debug)]
pub struct Shape {
    names: Vec<String>,
    layout: RowLayout,
}

impl Shape {
    /// All columns of a table, or some of them.
    pub(crate) fn of(table: &shoal_cluster::Table, columns: Option<&[usize]>) -> Shape {
        let all: Vec<usize> = (0..table.schema.columns.len()).collect();
        let columns = columns.unwrap_or(&all);
        let definitions = columns.iter().map(|&column| &table.schema.columns[column]);
        let types = definitions.clone().map(|definition| definition.sql_type.clone()).collect();
        Shape { names: definitions.map(|one| one.name.clone()).collect(), layout: RowLayout::new(types) }
    }

    /// The columns' names, in the order of the row's values.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns' types, in the order of [`Shape::names`].
    pub fn types(&self) -> &[SqlType] {
        self.layout.types()
    }

    /// The position of a column by its name, whose case does not count.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one.eq_ignore_ascii_case(name))
    }

    pub(crate) fn layout(&self) -> &RowLayout {
        &self.layout
    }
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    shape: Arc<Shape>,
    bytes: Vec<u8>,
}

impl Row {
    pub(crate) fn new(shape: &Arc<Shape>, bytes: &[u8]) -> Row {
        Row { shape: Arc::clone(shape), bytes: bytes.to_vec() }
    }

    pub(crate) fn as_ref(&self) -> RowRef<'_> {
        self.shape.layout.row(&self.bytes)
    }

    /// What it takes in memory: about what all of its values take.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The column at a position; TIMESTAMP columns are in UTC. `None`: there are not so many.
    pub fn value(&self, position: usize) -> Option<Value> {
        (position < self.shape.names.len()).then(|| self.as_ref().value(position, &TimeZone::UTC))
    }

    /// The column with a name, whose case does not count.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.value(self.shape.position(name)?)
    }

    /// All values, in the columns' order. TIMESTAMP values are in UTC.
    pub fn values(&self) -> Vec<Value> {
        self.as_ref().values(&TimeZone::UTC)
    }

    /// Its columns' names and types.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The names of its columns.
    pub fn names(&self) -> &[String] {
        &self.shape.names
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
