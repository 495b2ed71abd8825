//! Subqueries of INSERT that are run for a row: in VALUES, and in ON DUPLICATE KEY UPDATE.

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
        let mut results = Vec::new();
        if !subqueries.is_empty() {
            for number in expression.columns_used().into_iter().filter_map(number_of) {
                if results.len() <= number {
                    results.resize(number + 1, Value::Null);
                }
                if let Some(subquery) = subqueries.get(number) {
                    results[number] = result_for(subquery, row, ctx).await?;
                }
            }
        }
        Ok(RowWithResults { row, results })
    }
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
