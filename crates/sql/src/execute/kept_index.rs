//! An index of a table that a join has made for itself.
//!
//! A join that looks up keys of every batch pays for each of them. When it has looked up a good part of a table's keys, more are likely
//! to come (a recursive table walks whole trees), and reading all rows once costs less.

use std::sync::Arc;

use shoal_txn::{ScanRequest, Visit};
use shoal_types::Result;
use shoal_types::row::RowRef;

use super::batch::KeptRows;
use super::lookup::leading_parts;
use super::{ExecContext, HashMap};
use crate::plan::{JoinStep, PartAccess, TableInput};
use crate::table_usage::RowUse;

/// Fewer lookups than these are not worth it.
const LOOKUPS_MIN: u64 = 2048;
/// A lookup costs as much as reading so many rows.
const ROWS_PER_LOOKUP: u64 = 8;
/// Larger tables are not kept.
const ROWS_MAX: u64 = 2_000_000;
/// What a key takes besides its bytes, and a row's place in its list.
const KEY_BYTES: usize = 144;
const POSITION_BYTES: usize = 8;

/// Kept rows, and their positions by the bytes of their keys.
pub type KeptIndex = (KeptRows, HashMap<Box<[u8]>, Vec<u32>>);

/// How many keys a join has looked up, until it need not count any more.
#[derive(Default)]
pub struct Lookups {
    keys: u64,
    is_settled: bool,
}

impl Lookups {
    /// Counts keys that are about to be looked up. If it is likely to be cheaper, all rows are read instead.
    pub async fn count(
        &mut self,
        keys: u64,
        step: &JoinStep,
        input: &TableInput,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Option<KeptIndex>> {
        if self.is_settled {
            return Ok(None);
        }
        self.keys += keys;
        if self.keys < LOOKUPS_MIN {
            return Ok(None);
        }
        let rows = ctx.transaction.row_count(&input.table);
        let may_be_kept = rows <= ROWS_MAX && may_be_kept(input);
        if may_be_kept && self.keys.saturating_mul(ROWS_PER_LOOKUP) < rows {
            return Ok(None);
        }
        self.is_settled = true;
        if may_be_kept { read(step, input, ctx).await } else { Ok(None) }
    }
}

/// Rows are neither locked nor in an order that shows, and a row of the join has one key.
fn may_be_kept(input: &TableInput) -> bool {
    let is_one =
        |part: &PartAccess| matches!(part, PartAccess::Equal { alternatives, .. } if alternatives.len() == 1);
    let access = &input.access;
    input.lock.is_none() && !access.in_key_order && !access.unique && access.parts.iter().all(is_one)
}

/// Reads all rows; `None`: there is no memory for them.
async fn read(step: &JoinStep, input: &TableInput, ctx: &mut ExecContext<'_>) -> Result<Option<KeptIndex>> {
    let spec = leading_parts(&input.table.keys[input.access.index], input.access.parts.len());
    let mut rows = KeptRows::new(step.columns.len(), ctx.memory);
    let mut by_key: HashMap<Box<[u8]>, Vec<u32>> = HashMap::default();
    let ExecContext { transaction, eval, handlers, interrupt, .. } = ctx;
    let mut scan = transaction.scan(ScanRequest {
        table: Arc::clone(&input.table),
        index: 0,
        ranges: vec![Default::default()],
        descending: false,
        ordered: false,
        partition_key: None,
        mode: input.read_mode(),
        row_limit: None,
    });
    let (mut key, mut is_too_much) = (Vec::new(), false);
    loop {
        let mut seen = 0;
        let mut visit = |row: RowRef<'_>| {
            seen += 1;
            if let Some(filter) = &input.filter
                && filter.eval_bool(&row, eval)? != Some(true)
            {
                return Ok(Visit::Skip);
            }
            key.clear();
            spec.append_from_row(row, &mut key);
            let position = rows.row_count() as u32;
            let kept = rows.push(|target| {
                for (place, &(column, _)) in target.iter_mut().zip(&step.columns) {
                    *place = row.value(column, eval.zone);
                }
                Ok(())
            });
            let known = by_key.get_mut(key.as_slice());
            let bytes = if known.is_some() { POSITION_BYTES } else { key.len() + KEY_BYTES };
            if kept.is_err() || rows.hold(bytes).is_err() {
                is_too_much = true;
                return Ok(Visit::Stop);
            }
            match known {
                Some(positions) => positions.push(position),
                None => drop(by_key.insert(key.as_slice().into(), vec![position])),
            }
            Ok(Visit::Take)
        };
        let has_more = scan.next(transaction, &mut visit).await?;
        handlers.read_rnd_next += seen;
        input.count(RowUse::Fetch, seen);
        if is_too_much {
            return Ok(None);
        }
        if !has_more {
            return Ok(Some((rows, by_key)));
        }
        interrupt.check_between_batches().await?;
    }
}
