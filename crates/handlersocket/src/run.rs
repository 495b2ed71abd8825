//! Runs: lines that follow each other, begin alike (`1 = 1 `) and go to the partitions together.
//!
//! A run answers all its lines or, when anything goes wrong, none, and leaves nothing behind: then they are run one by one, and the
//! right ones are refused.

use shoal_types::Comparison;

use crate::line::next_line;
use crate::open_index::Resolved;
use crate::request::{Head, Operation, take_operation};
use crate::token::{Tokens, number};

/// Lines that run together.
pub const LINES_MAX: usize = 128;
/// Fewer lines go the way of all others.
pub const LINES_MIN: usize = 2;

/// What the lines of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// They find one row each by `=`, and may change it.
    Find,
    Insert,
}

/// What all lines of a run begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunHead {
    pub kind: RunKind,
    pub index: u32,
    /// Parts of the key, or values of the row.
    pub parts: usize,
    /// Length of what comes before the values.
    pub bytes: usize,
}

impl RunHead {
    /// The head of the first line, if it and the next one may be a run.
    #[inline]
    pub fn of(input: &[u8]) -> Option<RunHead> {
        let (line, length) = next_line(input)?;
        let mut tokens = Tokens::new(line);
        let Ok(Head::OnIndex(index)) = Head::take(&mut tokens) else { return None };
        let kind = match take_operation(&mut tokens) {
            Ok(Operation::Find(Comparison::Equal)) => RunKind::Find,
            Ok(Operation::Insert) => RunKind::Insert,
            _ => return None,
        };
        let parts = tokens.next().and_then(number)? as usize;
        let bytes = tokens.at();
        let next = input.get(length..length + bytes)?;
        (parts > 0 && bytes <= line.len() && next == &line[..bytes]).then_some(RunHead {
            kind,
            index,
            parts,
            bytes,
        })
    }

    /// Each line means one row at most.
    pub fn finds_by_primary_key(&self, open: &Resolved) -> bool {
        self.kind == RunKind::Find && open.index == 0 && self.parts == open.key.part_count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_needs_two_lines_that_begin_alike() {
        let head = |kind, index, parts, bytes| Some(RunHead { kind, index, parts, bytes });
        assert_eq!(RunHead::of(b"1\t=\t1\t5\n1\t=\t1\t6\n"), head(RunKind::Find, 1, 1, 6));
        assert_eq!(RunHead::of(b"12\t=\t2\t5\t6\r\n12\t=\t2\t"), head(RunKind::Find, 12, 2, 7));
        assert_eq!(RunHead::of(b"1\t+\t1\t5\n1\t+\t1\t6\n"), head(RunKind::Insert, 1, 1, 6));
        for other in [
            &b"1\t=\t1\t5\n"[..],
            b"1\t=\t1\t5\n2\t=\t1\t6\n",
            b"1\t=\t1\t5\n1\t=\t2\t6\n",
            b"1\t=\t1\n1\t=\t1\n",
            b"1\t=\t\t5\n1\t=\t\t5\n",
            b"1\t>\t1\t5\n1\t>\t1\t6\n",
            b"1\t+\t1\t5\n1\t=\t1\t6\n",
            b"P\t=\t1\t5\nP\t=\t1\t6\n",
            b"\n\n",
        ] {
            assert_eq!(RunHead::of(other), None, "{}", other.escape_ascii());
        }
    }
}
