//! Statements that change rows: resolved into plans, then run.

mod calls;
pub mod delete;
pub mod foreign;
pub mod insert;
pub mod load;
pub mod resolve;
pub mod row;
pub mod rows;
pub mod rules;
pub mod run;
pub mod triggered;
pub mod triggers;
pub mod update;

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::Expr;
use shoal_txn::foreign_keys::ForeignKeys;

use self::rules::RowRules;
use self::triggers::TableTriggers;
use crate::plan::{Limit, QueryPlan, SortKey, TableInput};
use crate::table_usage::TableCounts;
use calls::{AssignmentCalls, RowCalls};

/// Rows that a statement changes one by one between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 64;
/// Rows that are changed or deleted at a time while more are looked for, and the bytes that do.
const ROWS_PER_BATCH: usize = 256;
const BYTES_PER_BATCH: usize = 1 << 20;

/// What a statement did, for the OK packet.
#[derive(Clone, Debug, Default)]
pub struct Affected {
    pub rows: u64,
    /// Rows that matched (UPDATE), or were tried (INSERT).
    pub found: u64,
    pub duplicates: u64,
    pub last_insert_id: u64,
    /// The first AUTO_INCREMENT value that was generated: LAST_INSERT_ID() from now on.
    pub generated_id: Option<u64>,
    pub info: String,
}

/// INSERT and REPLACE.
#[derive(Debug)]
pub struct InsertPlan {
    pub table: Arc<Table>,
    /// The columns that the source fills, in source order.
    pub targets: Vec<usize>,
    pub source: InsertSource,
    /// What the columns get that the source does not fill; one a column of the table.
    pub defaults: Vec<DefaultValue>,
    pub rules: RowRules,
    pub replace: bool,
    pub ignore: bool,
    /// Assignments over (existing row, new row): the new row's columns come after the existing row's.
    pub on_duplicate: Vec<(usize, Expr)>,
    /// Functions that values of VALUES call with columns.
    pub calls: RowCalls,
    /// The same of assignments.
    pub duplicate_calls: AssignmentCalls,
    /// Slots of subqueries.
    pub constants: Vec<crate::plan::ConstantSubquery>,
    pub usage: Arc<TableCounts>,
}

#[derive(Debug)]
pub enum InsertSource {
    /// Expressions over the row being built. `None` is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    Query(Arc<QueryPlan>),
}

/// What a column takes when a statement says nothing about it, or DEFAULT.
#[derive(Debug)]
pub enum DefaultValue {
    Expression(Expr),
    /// The type's implicit default without strict mode, error 1364 with it.
    Missing,
    AutoIncrement,
    /// It is generated, or its DEFAULT reads other columns: when those are there.
    Later,
}

/// How UPDATE and DELETE find their rows.
#[derive(Debug)]
pub struct RowFinder {
    pub input: TableInput,
    /// Over the table's columns, behind them sort keys.
    pub order_expressions: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub limit: Option<Limit>,
    pub constants: Vec<crate::plan::ConstantSubquery>,
    pub impossible: bool,
}

#[derive(Debug)]
pub struct UpdatePlan {
    pub finder: RowFinder,
    /// In order; each sees the assignments before it. `None` is DEFAULT.
    pub assignments: Vec<(usize, Expr)>,
    /// ON UPDATE CURRENT_TIMESTAMP columns that are not assigned.
    pub on_update_now: Vec<usize>,
    pub rules: RowRules,
    pub ignore: bool,
    /// The primary key may change.
    pub moves_rows: bool,
}

#[derive(Debug)]
pub struct DeletePlan {
    pub finder: RowFinder,
    /// Others refer to its rows.
    pub foreign: Option<ForeignKeys>,
    pub triggers: Option<Arc<TableTriggers>>,
    pub ignore: bool,
}

/// UPDATE of joins, and of tables whose conditions hold correlated subqueries.
#[derive(Debug)]
pub struct MultiPlan {
    /// Yields, for each target, all its columns, then all assigned values.
    pub query: Arc<QueryPlan>,
    pub targets: Vec<MultiTarget>,
    pub ignore: bool,
    /// DELETE instead of UPDATE.
    pub delete: bool,
    /// ORDER BY and LIMIT are in the query.
    pub single_table: bool,
}

#[derive(Debug)]
pub struct MultiTarget {
    pub table: Arc<Table>,
    /// Position of its first column in the query's row.
    pub first: usize,
    /// (column of the table, position of the new value in the query's row, its type).
    pub assignments: Vec<(usize, usize)>,
    pub on_update_now: Vec<usize>,
    pub rules: RowRules,
    pub usage: Arc<TableCounts>,
}
