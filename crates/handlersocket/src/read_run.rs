//! Runs of simple finds: lines that follow each other and ask one index for one row each by its whole primary key.
//!
//! They are what most batches consist of. Their keys are taken off the lines first, then go to the partitions together, so that each
//! partition is held once and its cache misses overlap, and each other node is asked once. Rows come in the order of the partitions
//! and are put aside; answers are in the order of the lines. Such lines have nothing behind the key but a limit.

use shoal_txn::Transaction;
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, Result, StoreOptions};

use crate::line::next_line;
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::{append_row, begin_rows, end_rows};
use crate::run::{LINES_MAX, LINES_MIN, RunHead};
use crate::search::append_primary_key;
use crate::token::{Tokens, number};

/// Rows that take more than this together are for single reads, which end the batch in time.
const ROW_BYTES_MAX: usize = 256 * 1024;

/// The keys of a run, and the rows that they have found; used again and again.
#[derive(Debug, Default)]
pub struct ReadRun {
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    rows: Vec<u8>,
    /// Where each line's row lies; an empty place is no row.
    places: Vec<(u32, u32)>,
    /// Bytes of the input that the lines take.
    input_bytes: usize,
}

impl ReadRun {
    /// Takes the keys of the lines that belong to the run; false if that is not worth it.
    pub fn collect(
        &mut self,
        head: RunHead,
        open: &Resolved,
        input: &[u8],
        options: &StoreOptions,
        buffer: &mut Vec<u8>,
    ) -> bool {
        self.keys.clear();
        self.key_ends.clear();
        self.input_bytes = 0;
        if !head.finds_by_primary_key(open) || !open.rights.select {
            return false;
        }
        let prefix = &input[..head.bytes];
        while self.key_ends.len() < LINES_MAX {
            let rest = &input[self.input_bytes..];
            let Some((line, length)) = next_line(rest) else { break };
            let Some(values) = line.strip_prefix(prefix) else { break };
            let before = self.keys.len();
            if !append_key(open, values, options, buffer, &mut self.keys) {
                self.keys.truncate(before);
                break;
            }
            self.key_ends.push(self.keys.len() as u32);
            self.input_bytes += length;
        }
        self.key_ends.len() >= LINES_MIN
    }

    pub fn line_count(&self) -> usize {
        self.key_ends.len()
    }

    pub fn input_bytes(&self) -> usize {
        self.input_bytes
    }

    /// Finds the rows and appends the answers; appends nothing if it fails.
    pub async fn answer(
        &mut self,
        open: &Resolved,
        transaction: &mut Transaction,
        options: &StoreOptions,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let ReadRun { keys, key_ends, rows, places, .. } = self;
        rows.clear();
        places.clear();
        places.resize(key_ends.len(), (0, 0));
        let key_of = |line: usize| {
            let start = line.checked_sub(1).map_or(0, |before| key_ends[before]);
            &keys[start as usize..key_ends[line] as usize]
        };
        let zone = &options.temporal.zone;
        let mut visit = |line: usize, row: RowRef<'_>| -> Result<()> {
            let start = rows.len();
            append_row(&open.columns, row, zone, rows);
            places[line] = (start as u32, rows.len() as u32);
            if rows.len() > ROW_BYTES_MAX { Err(too_large()) } else { Ok(()) }
        };
        transaction
            .get_newest_many(&open.table, key_ends.len(), key_of, &mut visit)
            .await
            .map_err(Refusal::from)?;
        for &(start, end) in &*places {
            begin_rows(&open.columns, out);
            out.extend_from_slice(&rows[start as usize..end as usize]);
            end_rows(out);
        }
        Ok(())
    }
}

/// The run's lines are to be read one by one; no client sees this.
#[cold]
fn too_large() -> Error {
    Error::new(ErrorCode::NetPacketTooLarge, "the rows are too large to be read together")
}

/// Encodes the key of a line; false if more than a limit comes behind them, or something is wrong with them.
#[inline]
fn append_key(
    open: &Resolved,
    values: &[u8],
    options: &StoreOptions,
    buffer: &mut Vec<u8>,
    key: &mut Vec<u8>,
) -> bool {
    let mut tokens = Tokens::new(values);
    if !append_primary_key(open, &mut tokens, options, buffer, key) {
        return false;
    }
    // A limit changes nothing where there is one row at most; an offset does.
    tokens.is_at_end()
        || tokens.next().and_then(number).is_some()
            && (tokens.is_at_end() || tokens.next().and_then(number) == Some(0) && tokens.is_at_end())
}
