//! Table references of FROM, UPDATE and multi-table DELETE.

use super::{Expr, JsonResponse, Query};
use crate::ast::{DataType, Ident, ObjectName};

/// A table with the joins that follow it, applied from left to right.
#[derive(Debug, Clone, PartialEq)]
pub struct TableReference {
    /// The first table.
    pub base: TableFactor,
    /// In the order they are written.
    pub joins: Vec<Join>,
}

/// `kind JOIN right [ON .. | USING (..)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Which rows without a partner stay.
    pub kind: JoinKind,
    /// `NATURAL`: `condition` is None.
    pub natural: bool,
    /// Usually a single factor; holds joins itself for `a JOIN b JOIN c ON .. ON ..`.
    pub right: TableReference,
    /// ON or USING; `None`: every pair of rows, or NATURAL.
    pub condition: Option<JoinCondition>,
}

/// The words before JOIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN and CROSS JOIN, which mean the same in MySQL.
    Inner,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
    /// STRAIGHT_JOIN: inner, with the left table read first.
    Straight,
}

/// Which pairs of rows a join keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    /// `ON condition`.
    On(Expr),
    /// `USING (columns)`: equal in these, which both sides have.
    Using(Vec<Ident>),
}

/// One table, or what stands for one.
#[derive(Debug, Clone, PartialEq)]
pub enum TableFactor {
    /// `name [PARTITION (..)] [[AS] alias] [hints]`. Also a view or a name of WITH.
    Table {
        /// The table.
        name: ObjectName,
        /// PARTITION (p0, ..); empty: all.
        partitions: Vec<Ident>,
        /// The name it has in the statement; `None`: its own.
        alias: Option<Ident>,
        /// USE INDEX and its kin.
        hints: Vec<IndexHint>,
    },
    /// `[LATERAL] (query) [AS] alias [(columns)]`.
    Derived {
        /// LATERAL: the query may name tables before it in FROM.
        lateral: bool,
        /// The query in the parentheses.
        query: Box<Query>,
        /// MySQL demands one.
        alias: Option<Ident>,
        /// Names for the query's columns; empty: its own.
        columns: Vec<Ident>,
    },
    /// `JSON_TABLE(..)`.
    JsonTable(Box<JsonTable>),
    /// A parenthesised list: `(a, b JOIN c)`; also the ODBC form `{OJ ..}`.
    Nested(Vec<TableReference>),
}

/// `USE | IGNORE | FORCE INDEX [FOR ..] (indexes)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// What to do with the indexes.
    pub action: IndexHintAction,
    /// For which part of the statement; `None`: for all.
    pub scope: Option<IndexHintScope>,
    /// Index names or prefixes, `PRIMARY` included; empty is allowed for USE INDEX ().
    pub indexes: Vec<Ident>,
}

/// The first word of an index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintAction {
    /// USE: no other index.
    Use,
    /// IGNORE: not these.
    Ignore,
    /// FORCE: as USE, and a scan of the table only if none of them helps.
    Force,
}

/// The words behind FOR in an index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintScope {
    /// FOR JOIN: to find rows.
    Join,
    /// FOR ORDER BY.
    OrderBy,
    /// FOR GROUP BY.
    GroupBy,
}

/// `JSON_TABLE(document, path COLUMNS (..)) [AS] alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// The document; it may name tables before it in FROM.
    pub document: Expr,
    /// The path that gives one row for each value it finds.
    pub path: Vec<u8>,
    /// At least one.
    pub columns: Vec<JsonTableColumn>,
    /// MySQL demands one.
    pub alias: Option<Ident>,
}

/// One element of COLUMNS.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "lists of these are short and nearly all Path")]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`: the row's number, from one.
    Ordinality(Ident),
    /// `name type [EXISTS] PATH 'path' [.. ON EMPTY] [.. ON ERROR]`.
    Path {
        /// The column's name.
        name: Ident,
        /// The column's type.
        data_type: DataType,
        /// `EXISTS PATH`.
        exists: bool,
        /// From the row's value on.
        path: Vec<u8>,
        /// What the path of nothing gives; `None`: NULL.
        on_empty: Option<JsonResponse>,
        /// What a value that cannot be converted gives; `None`: NULL.
        on_error: Option<JsonResponse>,
    },
    /// `NESTED [PATH] 'path' COLUMNS (..)`: several rows for one of the outer columns.
    Nested {
        /// From the row's value on.
        path: Vec<u8>,
        /// The columns of the inner rows.
        columns: Vec<JsonTableColumn>,
    },
}
