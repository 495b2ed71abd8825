//! How a table's rows are reached.

use shoal_expr::Expr;

/// A way into a table. The expressions are constants of the execution, or read the joined row so far.
#[derive(Debug, Default)]
pub struct AccessPath {
    /// Position in `schema.indexes`; 0 is the primary key.
    pub index: usize,
    /// Leading parts of the index. Empty: the whole index.
    pub parts: Vec<PartAccess>,
    /// Every part of the primary key, or of a unique index, is an equality: at most one row for each combination.
    pub unique: bool,
    /// Rows are wanted in index order.
    pub ordered: bool,
    pub descending: bool,
    /// Some expression reads the joined row: the input is fetched for each batch of outer rows.
    pub depends_on_row: bool,
    /// Equality on every partitioning column, as (part expressions in partition key order): the scan is pruned.
    pub pruning: Option<Vec<Expr>>,
    /// Rough number of rows that one lookup yields, for EXPLAIN and join order.
    pub estimated_rows: u64,
}

#[derive(Debug)]
pub enum PartAccess {
    /// One of these values: `=` has one, IN several. `<=>` may meet NULL.
    Equal { alternatives: Vec<Expr>, null_safe: bool },
    /// Always the last part.
    Range { low: Option<RangeBound>, high: Option<RangeBound> },
    /// `a BETWEEN 1 AND 5 OR a = 7 OR ...`: any of these; always the last part.
    Ranges(Vec<ColumnRange>),
    /// `LIKE 'prefix%'`; always the last part.
    Prefix(Expr),
    /// IS NULL.
    Null,
    /// IS NOT NULL; always the last part.
    NotNull,
}

/// One range of a disjunction over a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRange {
    pub low: Option<RangeBound>,
    pub high: Option<RangeBound>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RangeBound {
    pub value: Expr,
    pub inclusive: bool,
}

impl AccessPath {
    /// The whole table through its primary key.
    pub fn full() -> AccessPath {
        AccessPath { estimated_rows: 1000, ..AccessPath::default() }
    }

    pub fn is_full(&self) -> bool {
        self.parts.is_empty()
    }
}
