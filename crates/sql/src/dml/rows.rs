//! Finding and locking the rows that UPDATE and DELETE change.

use shoal_expr::EvalContext;
use shoal_txn::Visit;
use shoal_types::row::RowRef;
use shoal_types::{Result, Value};

use super::RowFinder;
use crate::execute::ExecContext;
use crate::execute::fetch::TableReader;
use crate::execute::memory::{Held, row_bytes};
use crate::execute::set_operation::evaluate_limit;
use crate::execute::sort::compare_rows;
use crate::execute::sort_in_turns::sort_in_turns;

/// The stored bytes of rows, and what they take.
pub struct FoundRows {
    pub rows: Vec<Vec<u8>>,
    pub held: Held,
}

/// What a row that was found takes; it can be given back when the row is gone.
pub fn found_bytes(row: &[u8]) -> usize {
    row.len() + ROW_PLACE_BYTES
}

/// Its allocation, and its place in a list that grows.
const ROW_PLACE_BYTES: usize = 64;

/// Collects the stored bytes of every matching row, locked, in the statement's order and within its LIMIT.
pub async fn matching_rows(finder: &RowFinder, ctx: &mut ExecContext<'_>) -> Result<FoundRows> {
    let mut held = Held::new(ctx.memory);
    if finder.impossible {
        return Ok(FoundRows { rows: Vec::new(), held });
    }
    let (_, limit) = evaluate_limit(finder.limit.as_ref(), ctx)?;
    let wanted = if finder.order.is_empty() { limit } else { None };
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut keys: Vec<Vec<Value>> = Vec::new();
    if limit == Some(0) {
        return Ok(FoundRows { rows: found, held });
    }
    // Keys are only there for the sort.
    let mut keys_held = Held::new(ctx.memory);
    let mut reader = TableReader::open(&finder.input, wanted, ctx).await?;
    loop {
        let mut visit = |row: RowRef<'_>, eval: &mut EvalContext<'_>| {
            held.add(found_bytes(row.bytes()))?;
            found.push(row.bytes().to_vec());
            if !finder.order.is_empty() {
                let values = finder.order_expressions.iter().map(|expression| expression.eval(&row, eval));
                let key = values.collect::<Result<Vec<Value>>>()?;
                keys_held.add(row_bytes(&key) + ROW_PLACE_BYTES)?;
                keys.push(key);
            }
            let full = wanted.is_some_and(|wanted| found.len() as u64 >= wanted);
            Ok(if full { Visit::TakeAndStop } else { Visit::Take })
        };
        if !reader.next(&finder.input, ctx, &mut visit).await? {
            break;
        }
    }
    if !finder.order.is_empty() {
        let mut order: Vec<usize> = (0..found.len()).collect();
        let compare = |&left: &usize, &right: &usize| compare_rows(&keys[left], &keys[right], &finder.order);
        sort_in_turns(&mut order, compare, ctx.interrupt).await?;
        found = order.into_iter().map(|position| std::mem::take(&mut found[position])).collect();
    }
    if let Some(limit) = limit {
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(FoundRows { rows: found, held })
}

/// Parameters with the results of the statement's constant subqueries behind them; `None` if it has none.
pub async fn constant_parameters(
    constants: &[crate::plan::ConstantSubquery],
    ctx: &mut ExecContext<'_>,
) -> Result<Option<Vec<Value>>> {
    if constants.is_empty() {
        return Ok(None);
    }
    ctx.run_constants(constants).await.map(Some)
}
