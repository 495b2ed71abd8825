//! Runs of simple finds: lines that follow each other and ask one index for one row each by its whole primary key.
//!
//! They are what most batches consist of. Their keys are taken off the lines first, then go to the partitions together, so that each
//! partition is held once and its cache misses overlap, and each other node is asked once. Rows come in the order of the partitions
//! and are put aside; answers are in the order of the lines.
//!
//! Lines belong to a run when they begin with the same bytes (`1 = 1 `) and have nothing behind the key but a limit. A run answers all its
//! lines or, when anything goes wrong, none: then they are run one by one, and the right ones are refused.

use shoal_txn::Transaction;
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, Result, StoreOptions};

use crate::line::next_line;
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::{append_row, begin_rows, end_rows};
use crate::request::{Comparison, Head, Operation, take_operation};
use crate::token::{self, Tokens, number};

/// Lines that are read together.
const LINES_MAX: usize = 128;
/// Fewer lines go the way of all others.
const LINES_MIN: usize = 2;
/// Rows that take more than this together are for single reads, which end the batch in time.
const ROW_BYTES_MAX: usize = 256 * 1024;

/// What all lines of a run begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunHead {
    pub index: u32,
    parts: usize,
    /// Length of what comes before the key.
    bytes: usize,
}

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

impl RunHead {
    /// The head of the first line, if it and the next one may be a run.
    #[inline]
    pub fn of(input: &[u8]) -> Option<RunHead> {
        let (line, length) = next_line(input)?;
        let mut tokens = Tokens::new(line);
        let Ok(Head::OnIndex(index)) = Head::take(&mut tokens) else { return None };
        let Ok(Operation::Find(Comparison::Equal)) = take_operation(&mut tokens) else { return None };
        let parts = tokens.next().and_then(number)? as usize;
        let bytes = tokens.at();
        let next = input.get(length..length + bytes)?;
        (parts > 0 && bytes <= line.len() && next == &line[..bytes]).then_some(RunHead { index, parts, bytes })
    }
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
        if open.index != 0 || head.parts != open.key.part_count() || !open.rights.select {
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

/// Encodes the values of a line; false if more than a limit comes behind them, or something is wrong with them.
#[inline]
fn append_key(
    open: &Resolved,
    values: &[u8],
    options: &StoreOptions,
    buffer: &mut Vec<u8>,
    key: &mut Vec<u8>,
) -> bool {
    let mut tokens = Tokens::new(values);
    for position in 0..open.key.part_count() {
        let Some(value) = tokens.next() else { return false };
        let text = token::value(value, buffer);
        if open.key.append_part(&open.table, 0, position, text, options, key).is_err() {
            return false;
        }
    }
    // A limit changes nothing where there is one row at most; an offset does.
    tokens.is_at_end()
        || tokens.next().and_then(number).is_some()
            && (tokens.is_at_end() || tokens.next().and_then(number) == Some(0) && tokens.is_at_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_needs_two_lines_that_begin_alike() {
        assert_eq!(RunHead::of(b"1\t=\t1\t5\n1\t=\t1\t6\n"), Some(RunHead { index: 1, parts: 1, bytes: 6 }));
        assert_eq!(RunHead::of(b"12\t=\t2\t5\t6\r\n12\t=\t2\t").map(|head| head.bytes), Some(7));
        for other in [
            &b"1\t=\t1\t5\n"[..],
            b"1\t=\t1\t5\n2\t=\t1\t6\n",
            b"1\t=\t1\t5\n1\t=\t2\t6\n",
            b"1\t=\t1\n1\t=\t1\n",
            b"1\t=\t\t5\n1\t=\t\t5\n",
            b"1\t>\t1\t5\n1\t>\t1\t6\n",
            b"1\t+\t1\t5\n1\t+\t1\t6\n",
            b"P\t=\t1\t5\nP\t=\t1\t6\n",
            b"\n\n",
        ] {
            assert_eq!(RunHead::of(other), None, "{}", other.escape_ascii());
        }
    }
}
