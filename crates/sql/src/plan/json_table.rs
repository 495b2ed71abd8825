//! JSON_TABLE: rows made of the parts of a document.

use shoal_expr::Expr;
use shoal_types::json::JsonPath;
use shoal_types::{SqlType, Value};

/// A document and the rows that are made of it.
#[derive(Debug)]
pub struct JsonTable {
    /// JSON, or UTF-8 text. Over the joined row so far.
    pub document: Expr,
    /// The values that a row each is made of, and of those its columns.
    pub rows: JsonRows,
    /// Columns of all levels.
    pub width: usize,
}

/// What a path finds, each with the columns made of it.
#[derive(Debug)]
pub struct JsonRows {
    pub path: JsonPath,
    /// Positions of the columns that count rows.
    pub ordinals: Vec<usize>,
    pub columns: Vec<JsonColumn>,
    /// NESTED PATH: rows within each of these; one after the other, not each with each.
    pub nested: Vec<JsonRows>,
}

/// A column of a JSON_TABLE.
#[derive(Debug)]
pub struct JsonColumn {
    pub position: usize,
    pub name: String,
    pub sql_type: SqlType,
    /// From the row's value on.
    pub path: JsonPath,
    /// EXISTS PATH: whether it finds anything.
    pub exists: bool,
    pub on_empty: JsonResponse,
    pub on_error: JsonResponse,
}

/// What a column has instead of a value.
#[derive(Debug)]
pub enum JsonResponse {
    Null,
    Error,
    /// Of the column's type.
    Default(Value),
}
