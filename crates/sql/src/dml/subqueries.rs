//! Subqueries of INSERT that are run for a row: in VALUES, and in ON DUPLICATE KEY UPDATE.

use std::collections::BTreeSet;

use shoal_expr::{Expr, RowSource};
use shoal_types::{Result, TimeZone, Value};

use crate::execute::ExecContext;
use crate::execute::subquery::result_for;
use crate::plan::SubqueryColumn;
use crate::resolve::scope::SUBQUERY_BASE;

/// A row, and behind it what the subqueries that an expression reads came to.
pub struct RowWithResults<'r> {
    row: &'r [Value],
    results: Vec<Value>,
}

impl<'r> RowWithResults<'r> {
    /// Runs the subqueries that the expression reads; others stay NULL.
    pub async fn of(
        expression: &Expr,
        row: &'r [Value],
        subqueries: &[SubqueryColumn],
        ctx: &mut ExecContext<'_>,
    ) -> Result<RowWithResults<'r>> {
        let mut found = RowWithResults { row, results: Vec::new() };
        if !subqueries.is_empty() {
            for number in numbers_needed(expression, subqueries) {
                let value = result_for(&subqueries[number], &found, ctx).await?;
                found.results.resize(number, Value::Null);
                found.results.push(value);
            }
        }
        Ok(found)
    }
}

/// The subqueries that an expression reads, and those that they read, which have lower numbers.
fn numbers_needed(expression: &Expr, subqueries: &[SubqueryColumn]) -> BTreeSet<usize> {
    let numbers_in = |expression: &Expr| expression.columns_used().into_iter().filter_map(number_of);
    let mut numbers = BTreeSet::new();
    let mut open: Vec<usize> = numbers_in(expression).collect();
    while let Some(number) = open.pop() {
        let Some(subquery) = subqueries.get(number).filter(|_| numbers.insert(number)) else { continue };
        open.extend(subquery.row_expressions().flat_map(numbers_in));
    }
    numbers
}

/// Which subquery it is whose result has this position.
fn number_of(position: usize) -> Option<usize> {
    position.checked_sub(SUBQUERY_BASE)
}

impl RowSource for RowWithResults<'_> {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        match number_of(column) {
            Some(number) => RowSource::value(&self.results[..], number, zone),
            None => RowSource::value(self.row, column, zone),
        }
    }

    fn is_null(&self, column: usize) -> bool {
        match number_of(column) {
            Some(number) => RowSource::is_null(&self.results[..], number),
            None => RowSource::is_null(self.row, column),
        }
    }

    fn integer(&self, column: usize) -> Option<i64> {
        match number_of(column) {
            Some(number) => RowSource::integer(&self.results[..], number),
            None => RowSource::integer(self.row, column),
        }
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        match number_of(column) {
            Some(number) => RowSource::text(&self.results[..], number),
            None => RowSource::text(self.row, column),
        }
    }
}
