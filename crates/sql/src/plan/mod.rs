//! Plans: what a resolved statement does, step by step. Immutable and shared; one execution keeps its state in
//! `execute`.
//!
//! A query block works on one *joined row*: the needed columns of all its tables side by side, in positions that the
//! resolver gave out. Expressions refer to those positions. Values that come from outside a block (parameters, columns of an
//! outer query, results of uncorrelated subqueries) are parameter slots.

pub mod access;
pub mod choose;
pub mod joins;
pub mod json_table;
pub mod lateral;
pub mod recursion;
pub mod row_order;
pub mod windows;
mod written_view;

use std::sync::Arc;

use shoal_cluster::{Program, Table};
use shoal_expr::{Aggregate, Coercibility, Expr};
use shoal_types::SqlType;

use crate::frontend::ResultColumn;
pub use access::{AccessPath, ColumnRange, PartAccess, RangeBound};
pub use json_table::JsonTable;
pub use lateral::Lateral;
pub use recursion::{Recursion, RecursionPart};
use windows::Windowing;
pub use written_view::{WrittenView, invalid_view};

/// A query with a result.
#[derive(Debug)]
pub struct QueryPlan {
    pub columns: Vec<ResultColumn>,
    pub body: QueryBody,
    /// Subqueries that do not depend on any row, run once before the body, in order.
    pub constants: Vec<ConstantSubquery>,
}

#[derive(Debug)]
pub enum QueryBody {
    Block(Box<Block>),
    SetOperation(Box<SetOperation>),
    /// A table of WITH RECURSIVE that reads itself.
    Recursion(Box<Recursion>),
    /// A stored function: one row with its result.
    Call(Box<FunctionCall>),
}

/// A call of a stored function.
#[derive(Debug)]
pub struct FunctionCall {
    pub function: Arc<Program>,
    /// Over parameters alone.
    pub arguments: Vec<Expr>,
}

/// UNION, INTERSECT, EXCEPT from left to right, then ORDER BY and LIMIT of the whole.
#[derive(Debug)]
pub struct SetOperation {
    pub first: QueryPlan,
    pub rest: Vec<SetTerm>,
    /// Conversion of each column of each term (first included) to the common type; `None` where none is needed.
    pub types: Vec<SqlType>,
    pub order: Vec<SortKey>,
    pub order_expressions: Vec<Expr>,
    pub limit: Option<Limit>,
}

#[derive(Debug)]
pub struct SetTerm {
    pub operator: SetOperator,
    pub distinct: bool,
    pub query: QueryPlan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// One SELECT.
#[derive(Debug)]
pub struct Block {
    /// In join order. None: one row without columns.
    pub steps: Vec<JoinStep>,
    /// Columns of the joined row, subquery results included.
    pub width: usize,
    /// Tested on the complete joined row before any subquery is run.
    pub filter: Option<Expr>,
    /// Subqueries whose results are columns of the joined row.
    pub subqueries: Vec<SubqueryColumn>,
    /// The part of the WHERE clause that reads subquery results.
    pub late_filter: Option<Expr>,
    pub aggregation: Option<Aggregation>,
    /// Computed over the joined rows, or over the aggregation's.
    pub windowing: Option<Box<Windowing>>,
    /// Select list first (`visible` of them), then sort keys. Over the joined row, the aggregation's row, or the window row.
    pub projection: Vec<Expr>,
    pub visible: usize,
    pub distinct: bool,
    pub order: Vec<SortKey>,
    pub limit: Option<Limit>,
    /// Rows may be counted beyond the limit for FOUND_ROWS().
    pub count_all_rows: bool,
    /// Tables without any row-producing condition: `WHERE FALSE` and the like.
    pub impossible: bool,
}

impl Block {
    /// There is nothing but the select list.
    pub fn reads_no_rows(&self) -> bool {
        self.steps.is_empty() && self.aggregation.is_none() && self.windowing.is_none()
    }

    /// What is computed for each joined row that is no row of a group, or for each group.
    pub fn row_expressions(&self) -> &[Expr] {
        self.windowing.as_ref().map_or(&self.projection, |windowing| &windowing.inputs)
    }
}

impl QueryPlan {
    /// How firm the collation of a column is: of a constant less than of a table's column.
    pub fn coercibility(&self, column: usize) -> Coercibility {
        match &self.body {
            QueryBody::Block(block) => block.projection.get(column).map(Expr::coercibility),
            QueryBody::SetOperation(operation) => {
                let rest = operation.rest.iter().map(|term| term.query.coercibility(column));
                rest.chain([operation.first.coercibility(column)]).min()
            }
            QueryBody::Recursion(_) | QueryBody::Call(_) => None,
        }
        .unwrap_or(Coercibility::Implicit)
    }

    /// One SELECT without tables.
    pub fn reads_no_rows(&self) -> bool {
        matches!(&self.body, QueryBody::Block(block) if block.reads_no_rows())
    }

    /// It is nothing but a call of a stored function.
    pub fn as_call(&self) -> Option<&FunctionCall> {
        match &self.body {
            QueryBody::Call(call) if self.constants.is_empty() => Some(call),
            _ => None,
        }
    }

    /// It may yield something else each time, and do something each time.
    pub fn is_run_each_time(&self) -> bool {
        matches!(&self.body, QueryBody::Call(call) if !call.function.is_deterministic)
    }
}

#[derive(Debug)]
pub struct Aggregation {
    pub keys: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    /// GROUP BY: no row for no input; without it there is always one row.
    pub grouped: bool,
    pub rollup: bool,
    /// Where the row says how many of its keys have values; the others are NULL because it sums over them.
    pub level: Option<usize>,
    /// Subqueries over the row (keys, aggregates, then these).
    pub subqueries: Vec<SubqueryColumn>,
    /// Columns of the aggregation's row.
    pub width: usize,
    pub having: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct SortKey {
    /// Position in the projection.
    pub position: usize,
    pub descending: bool,
    pub sql_type: SqlType,
}

#[derive(Clone, Debug)]
pub struct Limit {
    pub count: Expr,
    pub offset: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    LeftOuter,
}

/// Adds one input to the joined row.
#[derive(Debug)]
pub struct JoinStep {
    pub input: Input,
    /// (column of the input, position in the joined row).
    pub columns: Vec<(usize, usize)>,
    pub kind: JoinKind,
    /// Hash join keys for inputs that do not depend on the row: expression over the joined row so far, expression over
    /// the input's row; both of one type.
    pub hash_keys: Vec<(Expr, Expr)>,
    /// ON conditions over the joined row including this input.
    pub condition: Option<Expr>,
    /// Which of the block's subqueries the condition reads: they are run for every pair of rows.
    pub condition_subqueries: Vec<usize>,
    /// WHERE conjuncts that can be tested once this input is there.
    pub filter: Option<Expr>,
    /// Positions of the joined row that a lateral input reads and nobody behind it.
    pub spent: Vec<usize>,
    /// For EXPLAIN and messages.
    pub name: String,
    pub possible_keys: Vec<usize>,
}

#[derive(Debug)]
pub enum Input {
    Table(TableInput),
    /// A derived table or a nested join, computed once.
    Derived(Arc<QueryPlan>),
    /// A table of information_schema: id within `information_schema`, rows made on demand.
    Virtual(crate::information_schema::VirtualTable),
    /// The rows that the table of WITH RECURSIVE around it has found and this part has not seen; always the first input.
    Working,
    /// A LATERAL derived table, run anew for each row.
    Lateral(Lateral),
    /// JSON_TABLE.
    JsonTable(Box<JsonTable>),
    /// Constant rows: VALUES ROW(..).
    Rows(Vec<Vec<Expr>>),
}

#[derive(Debug)]
pub struct TableInput {
    pub table: Arc<Table>,
    pub access: AccessPath,
    /// Conjuncts over this table's own columns (positions in the table), tested where the row lies.
    pub filter: Option<Expr>,
    pub lock: Option<shoal_txn::LockMode>,
    pub wait: shoal_txn::LockWait,
    pub usage: Arc<crate::table_usage::TableCounts>,
}

impl TableInput {
    /// The index by which its rows count as found; `None`: by none.
    pub fn counted_index(&self) -> Option<usize> {
        let has_index = !self.access.is_full() || self.access.index != 0 || self.access.ordered;
        has_index.then_some(self.access.index)
    }

    pub fn count(&self, what: crate::table_usage::RowUse, rows: u64) {
        self.usage.add(self.counted_index(), what, rows);
    }
}

/// A subquery that is run once per execution and fills parameter slots.
#[derive(Debug)]
pub struct ConstantSubquery {
    pub plan: Arc<QueryPlan>,
    pub slot: usize,
    pub exists: bool,
}

/// A subquery whose result is a column of the row.
#[derive(Clone, Debug)]
pub struct SubqueryColumn {
    pub plan: Arc<QueryPlan>,
    pub kind: SubqueryKind,
    /// Where this is not true the result is not looked at, and the subquery does not run. `None`: it always is.
    pub needed: Option<Expr>,
    /// Slots to fill from the row before the subquery runs; empty = it runs once.
    pub outer: Vec<(usize, Expr)>,
    /// Where its result goes.
    pub position: usize,
}

#[derive(Clone, Debug)]
pub enum SubqueryKind {
    Scalar,
    Exists,
    /// `left IN (subquery)`: three-valued membership. Types to compare in, one a column.
    In {
        left: Vec<Expr>,
        types: Vec<SqlType>,
        negated: bool,
    },
    /// `(a, b) op (subquery)`: one row or none. `compare` is an expression over the values of both, `left`'s first.
    Row {
        left: Vec<Expr>,
        compare: Expr,
    },
    /// `left op ANY/ALL (subquery)`: `compare` is an expression over the two values (columns 0 and 1).
    Quantified {
        left: Expr,
        compare: Expr,
        all: bool,
    },
}
