//! Ordered scans over several partitions, merged by index key.
//!
//! Batches of rows are copied, one a partition. The last partition that is led here is not: it is walked over while the others have rows,
//! and what of theirs comes before a row of it is shown first.

use std::ops::Range;
use std::time::Instant;

use shoal_partition::VisitAnswer;
use shoal_types::Result;
use shoal_types::row::RowRef;

use crate::api::*;
use crate::interpret::FilteredScan;
use crate::leader_wait::{LeaderWait, map_version};
use crate::merge_source::{Admits, Source, is_admitted, refill};
use crate::partition_scan::PartitionScan;
use crate::transaction::Transaction;
use crate::visitor::{BYTES_PER_HOLD, HOLD_MAX, Held, ROWS_PER_HOLD, ROWS_PER_LOOK};

/// Rows of a partition's first batch, when no limit says how many are wanted; later batches are larger.
const FIRST_BATCH: usize = 128;
/// The same of a scan that locks: the visitor may stop, and what it has not come to is locked.
const FIRST_LOCKED_BATCH: usize = 32;

pub(crate) struct MergedScan {
    /// The partitions' batches.
    sources: Vec<Source>,
}

/// What was shown between two pauses.
#[derive(Default)]
struct Shown {
    rows: usize,
    bytes: usize,
    since: Option<Instant>,
    /// Enough for one batch: the others have their turn.
    is_enough: bool,
}

impl Shown {
    #[inline]
    fn add(&mut self, row: RowRef<'_>) {
        self.rows += 1;
        self.bytes += row.bytes().len();
        self.is_enough = self.rows >= ROWS_PER_HOLD
            || self.bytes >= BYTES_PER_HOLD
            || self.rows.is_multiple_of(ROWS_PER_LOOK)
                && self.since.get_or_insert_with(Instant::now).elapsed() >= HOLD_MAX;
    }
}

impl MergedScan {
    pub fn new(partitions: Range<u32>, request: &ScanRequest) -> MergedScan {
        let first_batch = if request.mode.lock.is_some() { FIRST_LOCKED_BATCH } else { FIRST_BATCH };
        let batch_rows =
            request.row_limit.map_or(first_batch, |limit| limit.clamp(1, ROWS_PER_HOLD as u64) as usize);
        let source = |partition| Source::new(PartitionScan::new(partition), batch_rows);
        MergedScan { sources: partitions.map(source).collect() }
    }

    pub async fn next(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        admits: &mut Admits<'_>,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let mut shown = Shown::default();
        let mut leader_wait = LeaderWait::default();
        let locks = request.mode.lock.is_some();
        loop {
            let in_place = if locks { None } else { self.next_in_place(request, transaction).await? };
            for number in refill(&mut self.sources, in_place, request, transaction, admits).await? {
                transaction.counters.read_row_count += self.sources[number].refused as u64;
            }
            let lacks_rows = |(number, source): (usize, &Source)| {
                in_place != Some(number) && source.is_empty() && !source.is_done(request)
            };
            if self.sources.iter().enumerate().any(lacks_rows) {
                return Ok(true);
            }
            let goes_on = match in_place {
                Some(number) => {
                    let seen = map_version(&transaction.node);
                    match self.walk_in_place(number, request, transaction, &mut shown, admits, visit).await {
                        Err(error) if self.sources[number].walk.has_begun() => return Err(error),
                        Err(error) => transaction.try_again(&mut leader_wait, seen, error).await.map(|()| true)?,
                        Ok(goes_on) => goes_on,
                    }
                }
                None => self.show(request, transaction, &mut shown, visit)?,
            };
            if !goes_on || self.sources.iter().all(|source| source.is_empty() && source.is_done(request)) {
                return Ok(false);
            }
            if shown.is_enough || in_place.is_some_and(|number| self.sources[number].is_paused()) {
                return Ok(true);
            }
        }
    }

    /// The source whose rows are not copied, if it is its turn. It is always the last one that is led here: where sources took turns, each
    /// would only come as far as the one row that the other has left.
    async fn next_in_place(&self, request: &FilteredScan, transaction: &mut Transaction) -> Result<Option<usize>> {
        for (number, source) in self.sources.iter().enumerate().rev() {
            let is_over = source.is_empty() && source.is_done(request);
            if !is_over && transaction.route(source.walk.partition()).await?.is_none() {
                return Ok(source.is_empty().then_some(number));
            }
        }
        Ok(None)
    }

    /// The source whose row comes next in scan order, and the one behind it.
    fn leaders(&self, request: &FilteredScan) -> Option<(usize, Option<usize>)> {
        let mut leaders: Option<(usize, Option<usize>)> = None;
        for number in (0..self.sources.len()).filter(|&number| !self.sources[number].is_empty()) {
            leaders = Some(match leaders {
                None => (number, None),
                Some((first, _)) if self.is_before(number, first, request) => (number, Some(first)),
                Some((first, second)) => {
                    let comes_second = second.is_none_or(|second| self.is_before(number, second, request));
                    (first, if comes_second { Some(number) } else { second })
                }
            });
        }
        leaders
    }

    /// The first row of one source comes before that of the other.
    #[inline]
    fn is_before(&self, one: usize, other: usize, request: &FilteredScan) -> bool {
        self.sources[one].precedes(&self.sources[other], request)
    }

    /// Walks on in a partition that is led here while no other source lacks rows. False: the visitor wants no more.
    async fn walk_in_place(
        &mut self,
        number: usize,
        request: &FilteredScan,
        transaction: &mut Transaction,
        shown: &mut Shown,
        admits: &mut Admits<'_>,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let partition = self.sources[number].walk.partition();
        let view = transaction.scan_view(partition, request.mode).await?;
        self.sources[number].reset();
        let mut walk = self.sources[number].take_walk();
        let mut visiting = Visiting { visit, failure: None, is_stopped: false };
        let (before, since) = (shown.rows, Instant::now());
        let mut key = Vec::new();
        let mut leaders = self.leaders(request);
        let mut next_head = leaders.and_then(|(first, _)| self.sources[first].head());
        let held = walk.hold(request, transaction, &view, ROWS_PER_HOLD, &mut |row| {
            if !is_admitted(admits, row) {
                let source = &mut self.sources[number];
                source.refuse(since);
                return if source.is_paused() { VisitAnswer::Stop } else { VisitAnswer::Continue };
            }
            key.clear();
            let head = request.head_of(row, &mut key);
            while next_head.is_some_and(|next| next <= head)
                && let Some((first, second)) = leaders
                && (next_head != Some(head) || self.sources[first].precedes_row(head, &key, request))
            {
                let source = &mut self.sources[first];
                let ahead = source.row_ahead(0).map(|row| request.layout().row(row));
                if ahead.is_some_and(|row| !visiting.see(row, shown)) {
                    return VisitAnswer::Stop;
                }
                source.pass(1);
                if source.is_empty() && !source.is_done(request) {
                    self.sources[number].keep(row, request);
                    return VisitAnswer::Stop;
                }
                let stays_first = second.is_none_or(|second| self.is_before(first, second, request));
                if !stays_first || self.sources[first].is_empty() {
                    leaders = self.leaders(request);
                }
                next_head = leaders.and_then(|(first, _)| self.sources[first].head());
            }
            match visiting.see(row, shown) && !shown.is_enough {
                true => VisitAnswer::Continue,
                false => VisitAnswer::Stop,
            }
        });
        let source = &mut self.sources[number];
        source.walk = walk;
        transaction.counters.read_row_count += (shown.rows - before + source.refused) as u64;
        if let Some(error) = visiting.failure {
            return Err(error);
        }
        if let Held::Wait(blocked) = held? {
            transaction.wait(partition, blocked).await?;
        }
        Ok(!visiting.is_stopped)
    }

    /// Shows rows until a source needs another batch. False: the visitor wants no more.
    fn show(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        shown: &mut Shown,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let mut skipped: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut going_on = true;
        'batches: while let Some((first, second)) = self.leaders(request) {
            loop {
                if shown.is_enough {
                    break 'batches;
                }
                let source = &self.sources[first];
                let Some(row) = source.row_ahead(0) else { break };
                let row = request.layout().row(row);
                shown.add(row);
                transaction.counters.read_row_count += 1;
                let partition = source.walk.partition();
                match visit(row)? {
                    Visit::Take => {}
                    Visit::Skip if request.mode.lock.is_some() && transaction.may_unlock(partition) => {
                        let mut key = Vec::with_capacity(16);
                        request.primary_key().append_from_row(row, &mut key);
                        skipped.push((partition, key));
                    }
                    Visit::Skip => {}
                    Visit::TakeAndStop | Visit::Stop => {
                        going_on = false;
                        break 'batches;
                    }
                }
                let source = &mut self.sources[first];
                source.pass(1);
                match source.is_empty() {
                    true if source.is_done(request) => break,
                    true => break 'batches,
                    false if second.is_some_and(|second| !self.is_before(first, second, request)) => break,
                    false => {}
                }
            }
        }
        skipped.sort_unstable();
        for run in skipped.chunk_by(|one, other| one.0 == other.0) {
            let keys: Vec<Vec<u8>> = run.iter().map(|(_, key)| key.clone()).collect();
            transaction.unlock_rows(run[0].0, request.table.id(), &keys);
        }
        Ok(going_on)
    }
}

/// A visitor that is asked from within a partition.
struct Visiting<'a> {
    visit: &'a mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    failure: Option<shoal_types::Error>,
    is_stopped: bool,
}

impl Visiting<'_> {
    /// Whether it wants more rows.
    #[inline]
    fn see(&mut self, row: RowRef<'_>, shown: &mut Shown) -> bool {
        shown.add(row);
        match (self.visit)(row) {
            Ok(Visit::Take | Visit::Skip) => return true,
            Ok(Visit::TakeAndStop | Visit::Stop) => self.is_stopped = true,
            Err(error) => self.failure = Some(error),
        }
        false
    }
}
