//! Scans over ranges of an index, in all partitions or in one.
//!
//! Unordered scans and scans of one partition show rows where they lie, range by range within partition by partition.
//! Ordered scans over several partitions copy rows in batches, one a partition, and merge them by their index keys.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_partition::{Blocked, Cursor, Direction, ReadView, SavepointMark, ScanState, Step};
use shoal_types::row::RowRef;
use shoal_types::{Error, Result};

use crate::api::*;
use crate::merge::MergedScan;
use crate::transaction::{Transaction, partition_range};

/// Rows that are shown under one hold of a partition.
pub(crate) const ROWS_PER_HOLD: usize = 256;

/// A scan in progress; batches of rows under one hold of a partition each.
pub struct TableScan {
    request: ScanRequest,
    way: Way,
    begun: bool,
}

enum Way {
    InPlace(InPlaceScan),
    Merged(MergedScan),
    Done,
}

/// Ranges in partitions, one after the other.
struct InPlaceScan {
    /// Those that are left, the present one first.
    partitions: std::ops::Range<u32>,
    range: usize,
    cursor: Option<Cursor>,
}

/// What one hold of a partition came to.
pub(crate) enum Held {
    State(ScanState),
    Wait(Blocked),
}

impl Transaction {
    /// Begins a scan. Nothing is read until its first `next`.
    pub fn scan(&mut self, mut request: ScanRequest) -> TableScan {
        let partitions = match &request.partition_key {
            Some(key) => {
                let partition = self.node.router().partition_of(key);
                partition..partition + 1
            }
            None => 0..self.node.partition_count(),
        };
        let ascending = request.ranges.windows(2).all(|pair| pair[0].start <= pair[1].start);
        if request.descending && request.ordered && ascending {
            request.ranges.reverse();
        }
        let way = if request.ranges.is_empty() {
            Way::Done
        } else if request.ordered && partitions.len() > 1 {
            Way::Merged(MergedScan::new(partitions))
        } else {
            Way::InPlace(InPlaceScan { partitions, range: 0, cursor: None })
        };
        TableScan { request, way, begun: false }
    }

    fn count_scan(&mut self, request: &ScanRequest) {
        self.counters.scan_count += 1;
        if request.partition_key.is_some() {
            self.counters.pruned_scan_count += 1;
        }
        match request.ranges.as_slice() {
            [all] if all.start.is_empty() && all.end.is_empty() => self.counters.table_scans += 1,
            _ => self.counters.range_scans += 1,
        }
    }

    /// What a scan sees in a partition.
    pub(crate) fn scan_view(&mut self, partition: u32, mode: ReadMode) -> ReadView {
        let (mut view, lock) = self.point_view(mode);
        if lock.is_some() {
            self.participants.join(partition);
        }
        view.own_writes_before = match self.participants.get(partition) {
            Some(_) => self.participants.statement_mark(partition),
            None => SavepointMark::LATEST,
        };
        view
    }
}

/// A new cursor over one of the request's ranges.
pub(crate) fn cursor_of(request: &ScanRequest, range: usize) -> Result<Cursor> {
    let table: &Arc<Table> = &request.table;
    let index = table.schema.indexes.get(request.index).ok_or_else(|| {
        Error::unknown(format!("internal: table '{}' has no index {}", table.name(), request.index))
    })?;
    let direction = if request.descending { Direction::Backward } else { Direction::Forward };
    Ok(Cursor::new(table.id(), index.id, partition_range(&request.ranges[range]), direction))
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
    pub stopped: bool,
    pub error: Option<Error>,
}

impl<'a> Visitor<'a> {
    pub fn new(visit: &'a mut dyn FnMut(RowRef<'_>) -> Result<Visit>, unlock_skipped: bool) -> Visitor<'a> {
        Visitor { visit, unlock_skipped, rows: 0, stopped: false, error: None }
    }

    pub fn see(&mut self, row: RowRef<'_>) -> shoal_partition::Visit {
        use shoal_partition::Visit as Answer;
        self.rows += 1;
        match (self.visit)(row) {
            Ok(Visit::Take) => Answer::Continue,
            Ok(Visit::Skip) if self.unlock_skipped => Answer::ContinueUnlocked,
            Ok(Visit::Skip) => Answer::Continue,
            Ok(Visit::TakeAndStop | Visit::Stop) => {
                self.stopped = true;
                Answer::Stop
            }
            Err(error) => {
                self.error = Some(error);
                Answer::Stop
            }
        }
    }
}

impl TableScan {
    /// Visits the next batch (at most 256 rows of one partition at a time). `false`: the scan is at its end.
    pub async fn next(
        &mut self,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        transaction.use_table(&self.request.table).await?;
        transaction.counters.execute_count += 1;
        if !self.begun {
            self.begun = true;
            transaction.count_scan(&self.request);
        }
        let more = match &mut self.way {
            Way::Done => Ok(false),
            Way::InPlace(scan) => scan.next(&self.request, transaction, visit).await,
            Way::Merged(scan) => scan.next(&self.request, transaction, visit).await,
        };
        if !matches!(more, Ok(true)) {
            self.way = Way::Done;
        }
        more
    }
}

impl InPlaceScan {
    async fn next(
        &mut self,
        request: &ScanRequest,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let limit = hold_limit(request);
        let unlock = transaction.isolation == Isolation::ReadCommitted;
        let mut visitor = Visitor::new(visit, unlock);
        // Empty partitions do not make a batch of their own.
        while !self.partitions.is_empty() && visitor.rows < limit {
            let partition = self.partitions.start;
            match self.hold(partition, request, transaction, limit - visitor.rows, &mut visitor)? {
                Held::Wait(blocked) => transaction.wait(partition, blocked).await?,
                Held::State(ScanState::More) => {}
                Held::State(ScanState::Done) => self.next_range(request),
            }
            if let Some(error) = visitor.error.take() {
                return Err(error);
            }
            if visitor.stopped {
                transaction.counters.read_row_count += visitor.rows as u64;
                return Ok(false);
            }
        }
        transaction.counters.read_row_count += visitor.rows as u64;
        Ok(!self.partitions.is_empty())
    }

    fn next_range(&mut self, request: &ScanRequest) {
        self.cursor = None;
        self.range += 1;
        if self.range == request.ranges.len() {
            self.range = 0;
            self.partitions.start += 1;
        }
    }

    fn hold(
        &mut self,
        partition: u32,
        request: &ScanRequest,
        transaction: &mut Transaction,
        limit: usize,
        visitor: &mut Visitor<'_>,
    ) -> Result<Held> {
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            none => none.insert(cursor_of(request, self.range)?),
        };
        let lock = transaction.lock_request(request.mode);
        let view = transaction.scan_view(partition, request.mode);
        let mut guard = transaction.node.partition(partition);
        let step = guard.scan(&view, cursor, lock, limit, &mut |row| visitor.see(row))?;
        Ok(match step {
            Step::Ready(state) => Held::State(state),
            Step::Wait(blocked) => Held::Wait(blocked),
        })
    }
}
