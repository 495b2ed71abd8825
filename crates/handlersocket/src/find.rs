//! Finding: which of the rows that the index yields are shown, and the answer.

use shoal_txn::{Transaction, Visit};
use shoal_types::row::RowRef;
use shoal_types::{Comparison, Error, ErrorCode, Result, StoreOptions};

use crate::filter::{Filters, Verdict};
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::{append_row, begin_rows, end_rows};
use crate::request::Request;
use crate::search::{Key, show_rows};
use crate::token;

/// An answer does not grow beyond this; a request for more gets an error (1153).
pub const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What a request needs besides the index.
pub struct Tools<'a> {
    pub transaction: &'a mut Transaction,
    pub key: &'a mut Key,
    pub buffer: &'a mut Vec<u8>,
    pub options: &'a StoreOptions,
}

/// Counts rows off: filters first, then the offset, then the limit.
pub struct Selection {
    pub filters: Filters,
    offset: u32,
    left: u32,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Taken,
    /// It matches, and is one of those that the offset leaves out.
    Passed,
    Skipped,
    /// It is not wanted, and none after it.
    Ended,
}

impl Selection {
    pub fn new(filters: Filters, request: &Request) -> Selection {
        Selection { filters, offset: request.offset, left: request.limit }
    }

    /// What would become of the row, without counting it.
    pub fn judge(&mut self, row: RowRef<'_>) -> Choice {
        if self.left == 0 {
            return Choice::Ended;
        }
        match self.filters.judge(row) {
            Verdict::Stops => Choice::Ended,
            Verdict::Skipped => Choice::Skipped,
            Verdict::Passes if self.offset > 0 => Choice::Passed,
            Verdict::Passes => Choice::Taken,
        }
    }

    /// Counts a row that has been judged.
    pub fn count(&mut self, choice: Choice) {
        match choice {
            Choice::Taken => self.left -= 1,
            Choice::Passed => self.offset -= 1,
            Choice::Ended => self.left = 0,
            Choice::Skipped => {}
        }
    }

    pub fn choose(&mut self, row: RowRef<'_>) -> Choice {
        let choice = self.judge(row);
        self.count(choice);
        choice
    }

    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// How many rows it can still take, if every row counts.
    pub fn row_limit(&self) -> Option<u64> {
        self.filters.is_empty().then(|| u64::from(self.left) + u64::from(self.offset))
    }
}

/// Checks that the index has the parts that the request names.
pub fn check_parts(open: &Resolved, request: &Request) -> Outcome {
    let listed = request.list_part.map_or(0, |part| part as usize + 1);
    if request.values.len() > open.key.part_count() || listed > request.values.len() {
        return Err(Refusal::Request("kpnum"));
    }
    Ok(())
}

/// One row by its primary key, and nothing else asked for.
pub fn is_simple(open: &Resolved, comparison: Comparison, request: &Request) -> bool {
    comparison == Comparison::Equal
        && open.index == 0
        && request.values.len() == open.key.part_count()
        && request.offset == 0
        && request.filters.is_empty()
        && request.list_part.is_none()
}

/// The short way: the row is copied from where it is stored into the answer.
#[inline]
pub async fn find_simply(
    open: &Resolved,
    request: &Request,
    line: &[u8],
    tools: Tools<'_>,
    out: &mut Vec<u8>,
) -> Outcome {
    let Tools { transaction, key, buffer, options } = tools;
    key.encode(open, request, None, line, options, buffer)?;
    begin_rows(&open.columns, out);
    let zone = &options.temporal.zone;
    let show = |row: Option<RowRef<'_>>| {
        if let Some(row) = row {
            append_row(&open.columns, row, zone, out);
        }
        end_rows(out);
    };
    transaction.get_newest(&open.table, &key.bytes, show).await?;
    Ok(())
}

pub async fn find(
    open: &Resolved,
    comparison: Comparison,
    request: &Request,
    line: &[u8],
    tools: Tools<'_>,
    out: &mut Vec<u8>,
) -> Outcome {
    let Tools { transaction, key, buffer, options } = tools;
    let filters = Filters::prepare(&request.filters, line, open, options, buffer)?;
    let mut selection = Selection::new(filters, request);
    let zone = &options.temporal.zone;
    let start = out.len();
    begin_rows(&open.columns, out);
    for place in places(request, line)? {
        key.encode(open, request, place, line, options, buffer)?;
        // Of each value of a list there is one row.
        let row_limit = if place.is_some() { Some(1) } else { selection.row_limit() };
        let mut visit = |row: RowRef<'_>| {
            let choice = selection.choose(row);
            if choice == Choice::Taken {
                append_row(&open.columns, row, zone, out);
                check_size(out.len() - start)?;
            }
            Ok(match choice {
                Choice::Taken if selection.is_done() || place.is_some() => Visit::TakeAndStop,
                Choice::Taken => Visit::Take,
                Choice::Passed | Choice::Skipped if place.is_none() => Visit::Skip,
                _ => Visit::Stop,
            })
        };
        show_rows(transaction, open, comparison, key, row_limit, &mut visit).await?;
        if selection.is_done() {
            break;
        }
    }
    end_rows(out);
    Ok(())
}

/// The places in the request's list, or one key without a list.
///
/// # Errors
/// A value of the list is NULL.
pub fn places(request: &Request, line: &[u8]) -> Outcome<impl Iterator<Item = Option<usize>> + use<>> {
    if request.list.iter().any(|span| token::value(span.of(line), &mut Vec::new()).is_none()) {
        return Err(Refusal::SYNTAX);
    }
    let listed = request.list_part.is_some();
    let count = if listed { request.list.len() } else { 1 };
    Ok((0..count).map(move |place| listed.then_some(place)))
}

/// # Errors
/// 1153: the answer grows too large.
pub fn check_size(bytes: usize) -> Result<()> {
    if bytes <= ANSWER_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the answer is larger than {} MiB; ask for fewer rows", ANSWER_BYTES_MAX >> 20);
    Err(Error::new(ErrorCode::NetPacketTooLarge, message))
}
