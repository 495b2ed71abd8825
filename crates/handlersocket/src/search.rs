//! From the values of a request to the rows that it means.
//!
//! A whole key of a unique index is looked up; anything else is a scan over a range of the index, in its order. `>` and `>=` run
//! to the index's end, `<` and `<=` backwards to its beginning.

use std::sync::Arc;

use shoal_txn::{KeyRange, LockMode, LockWait, ReadMode, ScanRequest, TableScan, Transaction, Visit};
use shoal_types::key::successor;
use shoal_types::row::RowRef;
use shoal_types::{Comparison, Result, StoreOptions};

use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::request::Request;
use crate::token::{self, Tokens};

/// A key, or the leading parts of one.
#[derive(Debug, Default)]
pub struct Key {
    pub bytes: Vec<u8>,
    parts: usize,
    has_null: bool,
    /// Where the partition key within it ends, if it has all of that.
    partition_key_end: Option<usize>,
}

impl Key {
    /// Encodes the key of a request; `listed` is the place in its list of the value that the listed part takes.
    pub fn encode(
        &mut self,
        open: &Resolved,
        request: &Request,
        listed: Option<usize>,
        line: &[u8],
        options: &StoreOptions,
        buffer: &mut Vec<u8>,
    ) -> Outcome {
        self.bytes.clear();
        self.parts = request.values.len();
        self.has_null = false;
        self.partition_key_end = None;
        let partition_key_parts = open.table.partition_key.parts.len();
        for (position, span) in request.values.iter().enumerate() {
            let span = match (listed, request.list_part) {
                (Some(place), Some(part)) if part as usize == position => &request.list[place],
                _ => span,
            };
            let text = token::value(span.of(line), buffer);
            self.has_null |= text.is_none();
            open.key.append_part(&open.table, open.index, position, text, options, &mut self.bytes)?;
            if position + 1 == partition_key_parts {
                self.partition_key_end = Some(self.bytes.len());
            }
        }
        Ok(())
    }

    /// The key of at most one row.
    pub fn is_whole(&self, open: &Resolved) -> bool {
        open.key.is_unique && self.parts == open.key.part_count() && !self.has_null
    }

    fn range(&self, comparison: Comparison) -> Option<KeyRange> {
        let behind = || successor(&self.bytes);
        let (start, end) = match comparison {
            Comparison::Equal => (self.bytes.clone(), behind().unwrap_or_default()),
            Comparison::Greater => (behind()?, Vec::new()),
            Comparison::GreaterOrEqual => (self.bytes.clone(), Vec::new()),
            Comparison::Less => (Vec::new(), self.bytes.clone()),
            Comparison::LessOrEqual => (Vec::new(), behind().unwrap_or_default()),
            Comparison::NotEqual => return None,
        };
        Some(KeyRange { start, end })
    }

    /// The partition key, where equality of the key fixes it.
    fn partition_key(&self, open: &Resolved, comparison: Comparison) -> Option<Vec<u8>> {
        let is_fixed = comparison == Comparison::Equal && open.index == 0 && open.table.partition_key_is_prefix;
        self.partition_key_end.filter(|_| is_fixed).map(|end| self.bytes[..end].to_vec())
    }
}

/// Encodes a whole primary key from the tokens that come next; false if they are not one.
#[inline]
pub fn append_primary_key(
    open: &Resolved,
    tokens: &mut Tokens<'_>,
    options: &StoreOptions,
    buffer: &mut Vec<u8>,
    key: &mut Vec<u8>,
) -> bool {
    (0..open.key.part_count()).all(|position| {
        let Some(value) = tokens.next() else { return false };
        let text = token::value(value, buffer);
        open.key.append_part(&open.table, 0, position, text, options, key).is_ok()
    })
}

/// How rows that are found are read.
pub fn read_mode(locks: bool) -> ReadMode {
    ReadMode { lock: locks.then_some(LockMode::Exclusive), wait: LockWait::Wait }
}

/// The primary key of the row that a whole key of a secondary index means; the key itself for the primary one.
pub async fn primary_key<'k>(
    transaction: &mut Transaction,
    open: &Resolved,
    key: &'k Key,
    mode: ReadMode,
) -> Result<Option<std::borrow::Cow<'k, [u8]>>> {
    if open.index == 0 {
        return Ok(Some(key.bytes.as_slice().into()));
    }
    let keys = std::slice::from_ref(&key.bytes);
    let found = transaction.get_unique(&open.table, open.index, keys, mode).await?;
    Ok(found.into_iter().next().flatten().map(Into::into))
}

/// The index can be asked for single rows.
pub fn is_lookup(open: &Resolved, comparison: Comparison, key: &Key) -> bool {
    let has_hidden_table = open.table.schema.indexes[open.index].unique_table.is_some();
    comparison == Comparison::Equal && key.is_whole(open) && (open.index == 0 || has_hidden_table)
}

/// A scan of the rows that the comparison holds for. `row_limit`: how many are wanted, if that is known.
pub fn scan(
    transaction: &mut Transaction,
    open: &Resolved,
    comparison: Comparison,
    key: &Key,
    mode: ReadMode,
    row_limit: Option<u64>,
) -> Outcome<TableScan> {
    if open.key.is_hash {
        return Err(Refusal::unordered_index());
    }
    Ok(transaction.scan(ScanRequest {
        table: Arc::clone(&open.table),
        index: open.index,
        ranges: key.range(comparison).into_iter().collect(),
        descending: matches!(comparison, Comparison::Less | Comparison::LessOrEqual),
        ordered: true,
        partition_key: key.partition_key(open, comparison),
        mode,
        row_limit,
    }))
}

/// Shows the rows that the comparison holds for, without locks.
pub async fn show_rows(
    transaction: &mut Transaction,
    open: &Resolved,
    comparison: Comparison,
    key: &Key,
    row_limit: Option<u64>,
    visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
) -> Outcome {
    let mode = read_mode(false);
    if is_lookup(open, comparison, key) {
        if let Some(primary_key) = primary_key(transaction, open, key, mode).await? {
            let show = |row: Option<RowRef<'_>>| row.map_or(Ok(Visit::Skip), &mut *visit);
            match open.index {
                0 => transaction.get_newest(&open.table, &primary_key, show).await??,
                _ => transaction.get(&open.table, &primary_key, mode, show).await??,
            };
        }
        return Ok(());
    }
    let mut scan = scan(transaction, open, comparison, key, mode, row_limit)?;
    while scan.next(transaction, visit).await? {}
    Ok(())
}
