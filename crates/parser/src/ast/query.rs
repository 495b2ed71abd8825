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
    /// WITH before the query.
    pub with: Option<With>,
    /// What it selects.
    pub body: QueryBody,
    /// ORDER BY of the whole result; empty: any order.
    pub order_by: Vec<OrderItem>,
    /// LIMIT of the whole result.
    pub limit: Option<Limit>,
    /// `FOR UPDATE`, `FOR SHARE OF t`, `LOCK IN SHARE MODE`, one for each clause; empty: rows are not locked.
    pub locking: Vec<LockingClause>,
    /// INTO, at the end or between the select list and FROM.
    pub into: Option<SelectInto>,
}

/// What a query selects, before ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `SELECT ..`.
    Select(Box<Select>),
    /// `VALUES ROW(..), ROW(..)`.
    Values(Vec<Vec<Expr>>),
    /// `TABLE name`.
    Table(ObjectName),
    /// A query in parentheses with its own ORDER BY, LIMIT or INTO.
    Parenthesised(Box<Query>),
    /// `.. UNION ..` and its kin.
    SetOperations(Box<SetOperations>),
}

/// Terms combined from left to right. INTERSECT binds tighter than the others and so arrives as a nested `SetOperations`
/// unless the whole list is INTERSECT.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperations {
    /// The leftmost term.
    pub first: QueryBody,
    /// The others, each with the operator before it; at least one.
    pub rest: Vec<SetOperationTerm>,
}

/// `UNION | INTERSECT | EXCEPT [ALL] body`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperationTerm {
    /// The operator before the term.
    pub operator: SetOperator,
    /// ALL; without it, equal rows are one.
    pub all: bool,
    /// The term.
    pub body: QueryBody,
}

/// Operators between queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// UNION.
    Union,
    /// INTERSECT.
    Intersect,
    /// EXCEPT.
    Except,
}

/// `WITH [RECURSIVE] name AS (..), ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// RECURSIVE: a table may name itself.
    pub recursive: bool,
    /// At least one; each may name those before it.
    pub tables: Vec<CommonTableExpression>,
}

/// `name [(columns)] AS (query)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTableExpression {
    /// The name of the query within the statement.
    pub name: Ident,
    /// Names for the query's columns; empty: its own.
    pub columns: Vec<Ident>,
    /// The query in the parentheses.
    pub query: Box<Query>,
}

/// `SELECT [options] items FROM .. WHERE .. GROUP BY .. HAVING .. WINDOW ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// The text of `/*+ .. */` hints, without the comment marks.
    pub hints: Option<Vec<u8>>,
    /// Words between SELECT and the items.
    pub options: SelectOptions,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// Comma-separated table references; empty without FROM. `FROM DUAL` is empty too, with `from_dual`.
    pub from: Vec<TableReference>,
    /// `FROM DUAL`.
    pub from_dual: bool,
    /// WHERE.
    pub selection: Option<Expr>,
    /// GROUP BY; `None` with an aggregate in the items: all rows are one group.
    pub group_by: Option<GroupBy>,
    /// HAVING.
    pub having: Option<Expr>,
    /// The WINDOW clause.
    pub windows: Vec<NamedWindow>,
}

/// Words behind SELECT. All but DISTINCT and SQL_CALC_FOUND_ROWS are hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectOptions {
    /// DISTINCT and DISTINCTROW.
    pub distinct: bool,
    /// HIGH_PRIORITY.
    pub high_priority: bool,
    /// STRAIGHT_JOIN: tables are joined in the order of FROM.
    pub straight_join: bool,
    /// SQL_SMALL_RESULT.
    pub small_result: bool,
    /// SQL_BIG_RESULT.
    pub big_result: bool,
    /// SQL_BUFFER_RESULT.
    pub buffer_result: bool,
    /// SQL_NO_CACHE.
    pub no_cache: bool,
    /// SQL_CALC_FOUND_ROWS: FOUND_ROWS() tells how many rows there are without LIMIT.
    pub calc_found_rows: bool,
}

/// One element of the select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`.
    Wildcard,
    /// `table.*` or `schema.table.*`.
    QualifiedWildcard(ObjectName),
    /// `expr [[AS] alias]`.
    Expression {
        /// The expression.
        expr: Expr,
        /// The name after AS (or without AS), given as an identifier or a string.
        alias: Option<String>,
        /// The source of the expression: the column's name when there is no alias and it is not a plain column.
        text: Vec<u8>,
    },
}

/// `expr [ASC | DESC]` of an ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// What rows are ordered by; an integer literal is the position of a select item.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// `GROUP BY items [WITH ROLLUP]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupBy {
    /// What makes a group; an integer literal is the position of a select item.
    pub items: Vec<Expr>,
    /// WITH ROLLUP: with rows for the groups of each prefix of the items.
    pub with_rollup: bool,
}

/// `name AS (..)` of the WINDOW clause.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// The name, for OVER and for other windows.
    pub name: Ident,
    /// What is in the parentheses.
    pub specification: WindowSpecification,
}

/// `LIMIT [offset,] count` and `LIMIT count [OFFSET offset]`. Counts are literals, parameters or (in stored programs)
/// local variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// How many rows at most.
    pub count: Expr,
    /// How many rows are left out before them; `None`: none.
    pub offset: Option<Expr>,
}

/// `FOR UPDATE | SHARE [OF tables] [NOWAIT | SKIP LOCKED]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LockingClause {
    /// Which lock.
    pub strength: LockStrength,
    /// The names after OF; empty: all tables.
    pub of: Vec<ObjectName>,
    /// What to do about locks of others.
    pub wait: LockWait,
}

/// Which lock the rows that are read get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStrength {
    /// FOR UPDATE: an exclusive one.
    Update,
    /// FOR SHARE and LOCK IN SHARE MODE.
    Share,
}

/// What to do about a row that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Wait for it.
    Wait,
    /// NOWAIT: fail.
    NoWait,
    /// SKIP LOCKED: leave the row out.
    SkipLocked,
}
