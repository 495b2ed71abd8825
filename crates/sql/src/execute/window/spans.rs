//! Runs of rows that belong together: partitions, and peers within them.

use std::ops::Range;
use std::rc::Rc;

use shoal_expr::compare;
use shoal_types::Result;

use super::rows::WindowRows;
use crate::execute::memory::{Held, StatementMemory};
use crate::plan::SortKey;
use crate::session::Interrupt;

/// Rows that are worked on between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;

/// Where runs begin; behind them all, the end of the last one.
pub struct Spans {
    starts: Vec<usize>,
    _held: Held,
}

impl Spans {
    /// The runs of sorted rows in which these keys are equal.
    ///
    /// # Errors
    /// 1041; 1317.
    pub async fn of_equal(
        rows: &WindowRows,
        keys: &[SortKey],
        memory: &Rc<StatementMemory>,
        interrupt: &Interrupt,
    ) -> Result<Spans> {
        let mut spans = Spans { starts: Vec::new(), _held: Held::new(memory) };
        if keys.is_empty() {
            spans.starts.extend((rows.len() > 0).then_some(0));
            spans.starts.push(rows.len());
            return Ok(spans);
        }
        let mut turns = Turns::default();
        for row in 0..rows.len() {
            if turns.is_due() {
                interrupt.check_between_batches().await?;
            }
            let begins = row == 0
                || keys.iter().any(|key| {
                    let (before, here) = (&rows.row(row - 1)[key.position], &rows.row(row)[key.position]);
                    compare(before, here, &key.sql_type).is_ne()
                });
            if begins {
                spans._held.add(2 * size_of::<usize>())?;
                spans.starts.push(row);
            }
        }
        spans.starts.push(rows.len());
        Ok(spans)
    }

    /// Each run, in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }

    pub fn cursor(&self) -> SpanCursor<'_> {
        SpanCursor { starts: &self.starts, place: 0 }
    }
}

/// Finds the runs of rows that come in order.
pub struct SpanCursor<'a> {
    starts: &'a [usize],
    place: usize,
}

impl SpanCursor<'_> {
    #[inline]
    pub fn of_row(&mut self, row: usize) -> Range<usize> {
        while self.starts[self.place + 1] <= row {
            self.place += 1;
        }
        self.starts[self.place]..self.starts[self.place + 1]
    }
}

/// Counts rows, and tells when the statement has to look at its interrupt.
#[derive(Default)]
pub struct Turns {
    rows: usize,
}

impl Turns {
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.rows += 1;
        self.rows.is_multiple_of(ROWS_PER_CHECK)
    }
}
