//! How a table's rows are reached.

use shoal_cluster::Table;
use shoal_expr::Expr;
use shoal_types::IndexMethod;

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
    /// Rows come in index order because the result shows it, not because ORDER BY asks for it: see `row_order`.
    pub in_key_order: bool,
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

    /// Has rows come in index order if that is seen and the index has an order.
    pub fn keep_order(&mut self, table: &Table, is_seen: bool) {
        let is_sorted = table.schema.indexes[self.index].method == IndexMethod::BTree;
        self.in_key_order = is_seen && (is_sorted || self.unique) && !self.may_repeat_rows(table);
    }

    /// A multi-valued index is looked through for several elements: a row may have more than one of them.
    pub fn may_repeat_rows(&self, table: &Table) -> bool {
        let several = |part: &PartAccess| match part {
            PartAccess::Equal { alternatives, .. } => alternatives.len() > 1,
            PartAccess::Null => false,
            PartAccess::Range { .. } | PartAccess::Ranges(_) | PartAccess::Prefix(_) | PartAccess::NotNull => true,
        };
        let parts = table.keys[self.index].parts.iter().zip(&self.parts);
        parts.filter(|(part, _)| part.multi_valued).any(|(_, access)| several(access))
    }

    pub fn is_full(&self) -> bool {
        self.parts.is_empty()
    }
}
