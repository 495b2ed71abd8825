//! How rows of a scan are shown to its visitor, from within a partition, and how long that may go on.

use std::time::{Duration, Instant};

use shoal_partition::Blocked;
use shoal_types::row::RowRef;
use shoal_types::{Error, Result};

use crate::api::*;

/// Rows that are shown under one hold of a partition.
pub(crate) const ROWS_PER_HOLD: usize = 256;
/// Bytes of rows that are: whoever keeps or sends them makes room first.
pub(crate) const BYTES_PER_HOLD: usize = 1 << 20;
/// How long a visitor sees rows without a pause, for others want the partition and the thread as well; and the rows after which it
/// looks at the clock.
pub(crate) const HOLD_MAX: Duration = Duration::from_millis(1);
pub(crate) const ROWS_PER_LOOK: usize = 16;

/// What one hold of a partition came to.
pub(crate) enum Held {
    Rows,
    Wait(Blocked),
}

/// Rows that one hold may show.
pub(crate) fn hold_limit(request: &ScanRequest) -> usize {
    request.row_limit.map_or(ROWS_PER_HOLD, |limit| limit.clamp(1, ROWS_PER_HOLD as u64) as usize)
}

/// How the coordinator's visitor is asked from within a partition.
pub(crate) struct Visitor<'a> {
    pub visit: &'a mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    pub unlock_skipped: bool,
    pub rows: usize,
    bytes: usize,
    /// After so many taken rows it pauses, where rows lie.
    pub takes_left: u64,
    /// It took the last row.
    took: bool,
    /// When it has shown the first rows, if there were many.
    since: Option<Instant>,
    paused: bool,
    pub stopped: bool,
    pub error: Option<Error>,
}

impl<'a> Visitor<'a> {
    pub fn new(visit: &'a mut dyn FnMut(RowRef<'_>) -> Result<Visit>, unlock_skipped: bool) -> Visitor<'a> {
        Visitor {
            visit,
            unlock_skipped,
            rows: 0,
            bytes: 0,
            takes_left: u64::MAX,
            took: false,
            since: None,
            paused: false,
            stopped: false,
            error: None,
        }
    }

    /// Sees a row where it lies, and pauses when enough rows were taken or the partition was held for long.
    pub fn see_in_place(&mut self, row: RowRef<'_>) -> shoal_partition::VisitAnswer {
        use shoal_partition::VisitAnswer;
        let answer = self.see(row);
        self.takes_left -= u64::from(self.took);
        if self.rows.is_multiple_of(ROWS_PER_LOOK) {
            self.paused |= self.since.get_or_insert_with(Instant::now).elapsed() >= HOLD_MAX;
        }
        self.paused |= self.takes_left == 0 || self.bytes >= BYTES_PER_HOLD;
        match answer {
            VisitAnswer::Continue if self.paused => VisitAnswer::Stop,
            other => other,
        }
    }

    /// Others have their turn before the next rows.
    pub fn has_enough(&self) -> bool {
        self.paused || self.bytes >= BYTES_PER_HOLD
    }

    pub fn see(&mut self, row: RowRef<'_>) -> shoal_partition::VisitAnswer {
        use shoal_partition::VisitAnswer;
        self.rows += 1;
        self.bytes += row.bytes().len();
        let answer = (self.visit)(row);
        self.took = matches!(answer, Ok(Visit::Take));
        match answer {
            Ok(Visit::Take) => VisitAnswer::Continue,
            Ok(Visit::Skip) if self.unlock_skipped => VisitAnswer::ContinueUnlocked,
            Ok(Visit::Skip) => VisitAnswer::Continue,
            Ok(Visit::TakeAndStop | Visit::Stop) => {
                self.stopped = true;
                VisitAnswer::Stop
            }
            Err(error) => {
                self.error = Some(error);
                VisitAnswer::Stop
            }
        }
    }
}
