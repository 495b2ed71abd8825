//! Queries: SELECT, VALUES, TABLE, set operations, WITH.
//!
//! An expression may hold a query and a query holds expressions and table references, so those are parts of this module.

mod expr;
mod table;

pub use expr::*;
pub use table::*;

use super::{Ident, ObjectName, SelectInto};

/// A query expression with what applies to all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    /// FOR UPDATE / FOR SHARE / LOCK IN SHARE MODE.
    pub locking: Vec<LockingClause>,
    /// INTO, at the end or between the select list and FROM.
    pub into: Option<SelectInto>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// `VALUES ROW(..), ROW(..)`.
    Values(Vec<Vec<Expr>>),
    /// `TABLE name`.
    Table(ObjectName),
    /// A query in parentheses with its own ORDER BY, LIMIT or INTO.
    Parenthesised(Box<Query>),
    SetOperations(Box<SetOperations>),
}

/// Terms combined from left to right. INTERSECT binds tighter than the others and so arrives as a nested `SetOperations`
/// unless the whole list is INTERSECT.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperations {
    pub first: QueryBody,
    pub rest: Vec<SetOperationTerm>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetOperationTerm {
    pub operator: SetOperator,
    pub all: bool,
    pub body: QueryBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTableExpression>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommonTableExpression {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// The text of `/*+ .. */` hints, without the comment marks.
    pub hints: Option<Vec<u8>>,
    pub options: SelectOptions,
    pub items: Vec<SelectItem>,
    /// Comma-separated table references; empty without FROM. `FROM DUAL` is empty too, with `from_dual`.
    pub from: Vec<TableReference>,
    pub from_dual: bool,
    pub selection: Option<Expr>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Expr>,
    pub windows: Vec<NamedWindow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectOptions {
    pub distinct: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub no_cache: bool,
    pub calc_found_rows: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`.
    Wildcard,
    /// `table.*` or `schema.table.*`.
    QualifiedWildcard(ObjectName),
    Expression {
        expr: Expr,
        /// The name after AS (or without AS), given as an identifier or a string.
        alias: Option<String>,
        /// The source of the expression: the column's name when there is no alias and it is not a plain column.
        text: Vec<u8>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GroupBy {
    pub items: Vec<Expr>,
    pub with_rollup: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    pub name: Ident,
    pub specification: WindowSpecification,
}

/// Counts are literals, parameters or (in stored programs) local variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub count: Expr,
    pub offset: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LockingClause {
    pub strength: LockStrength,
    /// The names after OF; empty: all tables.
    pub of: Vec<ObjectName>,
    pub wait: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStrength {
    Update,
    /// FOR SHARE and LOCK IN SHARE MODE.
    Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}
