//! Statements that change or move rows.

use super::{
    ColumnName, Expr, FieldFormat, Ident, Limit, LineFormat, ObjectName, OrderItem, Query, TableReference, With,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePriority {
    Low,
    High,
    Delayed,
    /// LOAD DATA CONCURRENT.
    Concurrent,
}

/// INSERT and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub hints: Option<Vec<u8>>,
    pub replace: bool,
    pub priority: Option<WritePriority>,
    pub ignore: bool,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    /// The column list; None when there was none, which means all columns. `SET a = 1` fills it too.
    pub columns: Option<Vec<ColumnName>>,
    pub source: InsertSource,
    /// `AS new [(columns)]`.
    pub row_alias: Option<Ident>,
    pub row_alias_columns: Vec<Ident>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assignment>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// Rows of expressions; an empty row takes every default.
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub hints: Option<Vec<u8>>,
    pub with: Option<With>,
    pub low_priority: bool,
    pub ignore: bool,
    /// One plain table, or several and joins (multi-table form, without ORDER BY and LIMIT).
    pub tables: Vec<TableReference>,
    pub assignments: Vec<Assignment>,
    pub selection: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub hints: Option<Vec<u8>>,
    pub with: Option<With>,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    pub target: DeleteTarget,
    pub selection: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DeleteTarget {
    Single {
        table: ObjectName,
        alias: Option<Ident>,
        partitions: Vec<Ident>,
    },
    /// `DELETE t1, t2 FROM ..` and `DELETE FROM t1, t2 USING ..`.
    Multiple {
        tables: Vec<ObjectName>,
        from: Vec<TableReference>,
    },
}

/// LOAD DATA and LOAD XML.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    pub xml: bool,
    pub priority: Option<WritePriority>,
    pub local: bool,
    pub path: Vec<u8>,
    pub duplicates: DuplicateHandling,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    pub charset: Option<String>,
    /// LOAD XML's ROWS IDENTIFIED BY.
    pub row_tag: Option<Vec<u8>>,
    pub fields: FieldFormat,
    pub lines: LineFormat,
    pub ignore_lines: u64,
    /// Columns and variables that take the file's fields; empty: all columns.
    pub targets: Vec<LoadTarget>,
    pub assignments: Vec<Assignment>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LoadTarget {
    Column(ColumnName),
    UserVariable(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateHandling {
    Error,
    Ignore,
    Replace,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub procedure: ObjectName,
    pub arguments: Vec<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a statement holds one, in a box")]
pub enum Handler {
    Open { table: ObjectName, alias: Option<Ident> },
    Read { table: ObjectName, read: HandlerRead, selection: Option<Expr>, limit: Option<Limit> },
    Close { table: ObjectName },
}

#[derive(Debug, Clone, PartialEq)]
pub enum HandlerRead {
    /// Without an index: FIRST or NEXT of the table's own order.
    Scan(HandlerMove),
    Index {
        index: Ident,
        to: HandlerMove,
    },
    Key {
        index: Ident,
        operator: HandlerOperator,
        values: Vec<Expr>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerMove {
    First,
    Next,
    Previous,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerOperator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
