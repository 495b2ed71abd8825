//! An index of a table that a join has made for itself.
//!
//! A join that looks up keys of every batch pays for each of them. When it has looked up a good part of a table's keys, more are likely
//! to come (a recursive table walks whole trees), and reading all rows once costs less.

use std::sync::Arc;

use shoal_txn::{ScanRequest, Visit};
use shoal_types::row::RowRef;
use shoal_types::{Result, Value};

use super::lookup::leading_parts;
use super::memory::{Held, row_bytes};
use super::{ExecContext, HashMap};
use crate::plan::{JoinStep, TableInput};
use crate::table_usage::RowUse;

/// Fewer lookups than these are not worth it.
const LOOKUPS_MIN: u64 = 4096;
/// So many lookups cost as much as reading a row does, times this.
const ROWS_PER_LOOKUP: u64 = 4;
/// Larger tables are not kept.
const ROWS_MAX: u64 = 2_000_000;
/// What a row, and a key, takes besides its values and bytes.
const ROW_BYTES: usize = 32;
const KEY_BYTES: usize = 112;

/// Columns of an input's rows, shared by all rows that they are joined with.
pub type SharedRow = Arc<[Value]>;

/// The rows of an input by the bytes of their keys.
pub struct KeptIndex {
    rows: HashMap<Box<[u8]>, Vec<SharedRow>>,
    _held: Held,
}

/// What a join knows of its lookups so far.
#[derive(Default)]
pub enum Lookups {
    /// It has looked up so many keys.
    #[default]
    None,
    Counted(u64),
    Kept(KeptIndex),
    /// The rows are too many for the memory that there is.
    TooMany,
}

impl Lookups {
    /// Counts keys that are about to be looked up; all rows are read now if that is likely to be cheaper.
    pub async fn count(
        &mut self,
        keys: u64,
        step: &JoinStep,
        input: &TableInput,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Option<&KeptIndex>> {
        let before = match self {
            Lookups::None => 0,
            Lookups::Counted(before) => *before,
            Lookups::Kept(_) | Lookups::TooMany => return Ok(self.kept()),
        };
        *self = Lookups::Counted(before + keys);
        let is_free = input.lock.is_none() && !input.access.in_key_order && !input.access.unique;
        if !is_free || before + keys < LOOKUPS_MIN {
            return Ok(None);
        }
        let rows = ctx.transaction.row_count(&input.table);
        if rows <= ROWS_MAX && (before + keys).saturating_mul(ROWS_PER_LOOKUP) >= rows {
            *self = match KeptIndex::read(step, input, ctx).await? {
                Some(kept) => Lookups::Kept(kept),
                None => Lookups::TooMany,
            };
        }
        Ok(self.kept())
    }

    fn kept(&self) -> Option<&KeptIndex> {
        match self {
            Lookups::Kept(kept) => Some(kept),
            _ => None,
        }
    }
}

impl KeptIndex {
    /// Reads all rows; `None`: there is no memory for them.
    async fn read(step: &JoinStep, input: &TableInput, ctx: &mut ExecContext<'_>) -> Result<Option<KeptIndex>> {
        let spec = leading_parts(&input.table.keys[input.access.index], input.access.parts.len());
        let mut kept = KeptIndex { rows: HashMap::default(), _held: Held::new(ctx.memory) };
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
            let mut rows = 0;
            let mut visit = |row: RowRef<'_>| {
                rows += 1;
                if let Some(filter) = &input.filter
                    && filter.eval_bool(&row, eval)? != Some(true)
                {
                    return Ok(Visit::Skip);
                }
                key.clear();
                spec.append_from_row(row, &mut key);
                let values: SharedRow =
                    step.columns.iter().map(|&(column, _)| row.value(column, eval.zone)).collect();
                let mut bytes = row_bytes(&values) + ROW_BYTES;
                if !kept.rows.contains_key(key.as_slice()) {
                    bytes += key.len() + KEY_BYTES;
                }
                if kept._held.add(bytes).is_err() {
                    is_too_much = true;
                    return Ok(Visit::Stop);
                }
                match kept.rows.get_mut(key.as_slice()) {
                    Some(known) => known.push(values),
                    None => drop(kept.rows.insert(key.as_slice().into(), vec![values])),
                }
                Ok(Visit::Take)
            };
            let has_more = scan.next(transaction, &mut visit).await?;
            handlers.read_rnd_next += rows;
            input.count(RowUse::Fetch, rows);
            if is_too_much {
                return Ok(None);
            }
            if !has_more {
                return Ok(Some(kept));
            }
            interrupt.check_between_batches().await?;
        }
    }

    /// The rows that have a key.
    pub fn rows(&self, key: &[u8]) -> &[SharedRow] {
        self.rows.get(key).map_or(&[], Vec::as_slice)
    }
}
