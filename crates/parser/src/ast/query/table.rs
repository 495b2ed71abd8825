//! Table references of FROM, UPDATE and multi-table DELETE.

use super::{Expr, JsonResponse, Query};
use crate::ast::{DataType, Ident, ObjectName};

/// A table with the joins that follow it, applied from left to right.
#[derive(Debug, Clone, PartialEq)]
pub struct TableReference {
    pub base: TableFactor,
    pub joins: Vec<Join>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    /// `NATURAL`: `condition` is None.
    pub natural: bool,
    /// Usually a single factor; holds joins itself for `a JOIN b JOIN c ON .. ON ..`.
    pub right: TableReference,
    pub condition: Option<JoinCondition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN and CROSS JOIN, which mean the same in MySQL.
    Inner,
    Left,
    Right,
    /// STRAIGHT_JOIN: inner, with the left table read first.
    Straight,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    On(Expr),
    Using(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum TableFactor {
    Table {
        name: ObjectName,
        /// PARTITION (p0, ..); empty: all.
        partitions: Vec<Ident>,
        alias: Option<Ident>,
        hints: Vec<IndexHint>,
    },
    Derived {
        lateral: bool,
        query: Box<Query>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    JsonTable(Box<JsonTable>),
    /// A parenthesised list: `(a, b JOIN c)`; also the ODBC form `{OJ ..}`.
    Nested(Vec<TableReference>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    pub action: IndexHintAction,
    pub scope: Option<IndexHintScope>,
    /// Index names or prefixes, `PRIMARY` included; empty is allowed for USE INDEX ().
    pub indexes: Vec<Ident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintAction {
    Use,
    Ignore,
    Force,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintScope {
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    pub document: Expr,
    pub path: Vec<u8>,
    pub columns: Vec<JsonTableColumn>,
    pub alias: Option<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "lists of these are short and nearly all Path")]
pub enum JsonTableColumn {
    Ordinality(Ident),
    Path {
        name: Ident,
        data_type: DataType,
        /// `EXISTS PATH`.
        exists: bool,
        path: Vec<u8>,
        on_empty: Option<JsonResponse>,
        on_error: Option<JsonResponse>,
    },
    Nested {
        path: Vec<u8>,
        columns: Vec<JsonTableColumn>,
    },
}
