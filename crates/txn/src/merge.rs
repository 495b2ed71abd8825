//! Ordered scans over several partitions: batches of copied rows, merged by index key.

use std::cmp::Ordering;
use std::ops::Range;
use std::time::Instant;

use shoal_types::key::KeySpec;
use shoal_types::row::{RowRef, fixed_width};
use shoal_types::{NodeId, Result};

use crate::api::*;
use crate::fan_out::FanOut;
use crate::interpret::FilteredScan;
use crate::partition_scan::PartitionScan;
use crate::remote::{Answer, Asked};
use crate::transaction::Transaction;
use crate::visitor::{BYTES_PER_HOLD, HOLD_MAX, Held, ROWS_PER_HOLD, ROWS_PER_LOOK};

/// Rows of a partition's first batch, when no limit says how many are wanted; later batches are larger.
const FIRST_BATCH: usize = 128;
/// The same of a scan that locks: the visitor may stop, and what it has not come to is locked.
const FIRST_LOCKED_BATCH: usize = 32;
/// Rows that a source may refuse on its way to one that is wanted, before others have their turn.
const REFUSED_MAX: usize = 1024;

/// Whether a row is wanted at all: others are not copied.
pub(crate) type Admits<'a> = dyn FnMut(RowRef<'_>) -> bool + 'a;

pub(crate) struct MergedScan {
    /// The partitions' batches.
    sources: Vec<Source>,
}

/// A partition's rows.
pub(crate) struct Source {
    pub walk: PartitionScan,
    pub batch_rows: usize,
    /// So many rows are wanted, if the walk comes to them; `None`: some, in one batch.
    pub rows_wanted: Option<usize>,
    bytes: Vec<u8>,
    rows: Vec<KeptRow>,
    next: usize,
    /// Rows since the last reset that were not admitted.
    refused: usize,
    /// It has refused so many that others have their turn.
    is_paused: bool,
}

/// A row that was copied behind its key.
struct KeptRow {
    /// The first bytes of the key as a number that is less for rows that come first: most rows need no other comparison.
    head: u64,
    /// Where key and row begin in the source's bytes, and where the row ends.
    key: usize,
    row: usize,
    end: usize,
}

/// How the order of a scan's rows is told.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// By one integer that is never NULL and never the same in two rows: keys are not made.
    ByInteger {
        column: usize,
        sign_bit: u64,
        inverts: bool,
    },
    ByKey {
        spec: &'a KeySpec,
        inverts: bool,
    },
}

impl Order<'_> {
    fn of(request: &FilteredScan, needs_keys: bool) -> Order<'_> {
        let spec = request.index_key();
        let inverts = request.descending;
        match &spec.parts[..] {
            [part] if !needs_keys && part.sql_type.is_int() && !part.nullable => {
                let bits = fixed_width(&part.sql_type).map_or(u64::BITS, |width| 8 * width as u32);
                let sign_bit = if part.sql_type.unsigned { 0 } else { 1 << (bits - 1) };
                Order::ByInteger { column: part.column, sign_bit, inverts: inverts != part.descending }
            }
            _ => Order::ByKey { spec, inverts },
        }
    }

    /// Copies a row behind its key.
    #[inline]
    fn keep(self, row: RowRef<'_>, bytes: &mut Vec<u8>, rows: &mut Vec<KeptRow>) {
        let key = bytes.len();
        let (head, inverts) = match self {
            Order::ByInteger { column, sign_bit, inverts } => (row.word(column) ^ sign_bit, inverts),
            Order::ByKey { spec, inverts } => {
                spec.append_from_row(row, bytes);
                (first_bytes(&bytes[key..]), inverts)
            }
        };
        let start = bytes.len();
        bytes.extend_from_slice(row.bytes());
        rows.push(KeptRow { head: if inverts { !head } else { head }, key, row: start, end: bytes.len() });
    }
}

fn first_bytes(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; size_of::<u64>()];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
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
        let mut shown = 0;
        loop {
            let needs_keys = request.mode.lock.is_some();
            for number in refill(&mut self.sources, request, transaction, needs_keys, admits).await? {
                transaction.counters.read_row_count += self.sources[number].refused as u64;
            }
            if self.sources.iter().any(|source| source.is_empty() && !source.is_done(request)) {
                return Ok(true);
            }
            if !self.show(request, transaction, &mut shown, visit)? {
                return Ok(false);
            }
            if self.sources.iter().all(|source| source.is_empty() && source.is_done(request)) {
                return Ok(false);
            }
            if shown >= ROWS_PER_HOLD {
                return Ok(true);
            }
        }
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
        let (left, right) = (&self.sources[one], &self.sources[other]);
        let (Some(left_row), Some(right_row)) = (left.rows.get(left.next), right.rows.get(right.next)) else {
            return !left.is_empty();
        };
        if left_row.head != right_row.head {
            return left_row.head < right_row.head;
        }
        let by_key = match request.descending {
            false => left.key_ahead(0).cmp(&right.key_ahead(0)),
            true => right.key_ahead(0).cmp(&left.key_ahead(0)),
        };
        by_key.then(one.cmp(&other)) == Ordering::Less
    }

    /// Shows rows until a source needs another batch. False: the visitor wants no more.
    fn show(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        shown: &mut usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let mut skipped: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut bytes = 0;
        let mut going_on = true;
        let mut since = None;
        'batches: while let Some((first, second)) = self.leaders(request) {
            loop {
                if *shown >= ROWS_PER_HOLD {
                    break 'batches;
                }
                let source = &self.sources[first];
                let Some(row) = source.row_ahead(0) else { break };
                let row = request.layout().row(row);
                *shown += 1;
                bytes += row.bytes().len();
                if bytes >= BYTES_PER_HOLD
                    || shown.is_multiple_of(ROWS_PER_LOOK)
                        && since.get_or_insert_with(Instant::now).elapsed() >= HOLD_MAX
                {
                    // Enough for one batch: the others have their turn.
                    *shown = ROWS_PER_HOLD;
                }
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

/// Gets the next batches of all sources that have no row left; which sources these are. `needs_keys`: the caller asks for the rows' keys.
pub(crate) async fn refill(
    sources: &mut [Source],
    request: &FilteredScan,
    transaction: &mut Transaction,
    needs_keys: bool,
    admits: &mut Admits<'_>,
) -> Result<Vec<usize>> {
    let filled: Vec<usize> = (0..sources.len())
        .filter(|&number| sources[number].is_empty() && !sources[number].is_done(request))
        .collect();
    filled.iter().for_each(|&number| sources[number].reset());
    fill(sources, request, transaction, needs_keys, admits).await?;
    for &number in &filled {
        let source = &mut sources[number];
        source.batch_rows = (source.batch_rows * 2).min(ROWS_PER_HOLD);
    }
    Ok(filled)
}

/// Reads until no source wants more rows. Other nodes are asked at once.
pub(crate) async fn fill(
    sources: &mut [Source],
    request: &FilteredScan,
    transaction: &mut Transaction,
    needs_keys: bool,
    admits: &mut Admits<'_>,
) -> Result<()> {
    let order = Order::of(request, needs_keys);
    let wanting = (0..sources.len()).filter(|&number| sources[number].wants_rows(request)).collect();
    transaction.fan_out(&mut FillSources { sources, request, order, admits }, wanting).await
}

/// Reads for sources, by their numbers, until they want no more rows.
struct FillSources<'a, 'v> {
    sources: &'a mut [Source],
    request: &'a FilteredScan,
    order: Order<'a>,
    admits: &'a mut Admits<'v>,
}

impl FanOut for FillSources<'_, '_> {
    type Run = usize;

    const TAKES_ALL_ANSWERS: bool = false;

    fn partition_of(&self, number: &usize) -> u32 {
        self.sources[*number].walk.partition()
    }

    async fn ask(&mut self, transaction: &mut Transaction, number: &usize, node: NodeId) -> Result<Asked> {
        let source = &mut self.sources[*number];
        source.walk.send(self.request, transaction, node, source.batch_limit()).await
    }

    async fn run_here(&mut self, transaction: &mut Transaction, number: &mut usize) -> Result<()> {
        self.sources[*number].fill_here(self.request, transaction, self.order, self.admits).await
    }

    fn take(&mut self, _transaction: &mut Transaction, number: &mut usize, answer: &Answer) -> Result<()> {
        self.sources[*number].take(self.request, answer, self.order, self.admits)
    }

    fn is_done(&self, number: &usize) -> bool {
        !self.sources[*number].wants_rows(self.request)
    }

    fn may_go_on_elsewhere(&self, number: &usize) -> bool {
        !self.sources[*number].walk.has_begun()
    }
}

impl Source {
    pub fn new(walk: PartitionScan, batch_rows: usize) -> Source {
        Source {
            walk,
            batch_rows,
            rows_wanted: None,
            bytes: Vec::new(),
            rows: Vec::new(),
            next: 0,
            refused: 0,
            is_paused: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.next == self.rows.len()
    }

    pub fn is_done(&self, request: &FilteredScan) -> bool {
        self.walk.is_done(request)
    }

    fn wants_rows(&self, request: &FilteredScan) -> bool {
        let wants = match self.rows_wanted {
            Some(count) => self.rows.len() < count,
            None => self.is_empty(),
        };
        wants && !self.is_paused && !self.is_done(request)
    }

    /// Rows of one hold, or one request.
    fn batch_limit(&self) -> usize {
        match self.rows_wanted {
            Some(count) => (count - self.rows.len()).min(ROWS_PER_HOLD),
            None => self.batch_rows,
        }
    }

    pub fn reset(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.next = 0;
        self.refused = 0;
        self.is_paused = false;
    }

    /// Rows that have not been taken yet.
    pub fn rows_ahead(&self) -> usize {
        self.rows.len() - self.next
    }

    /// The key of the row that comes after so many others.
    pub fn key_ahead(&self, place: usize) -> Option<&[u8]> {
        self.rows.get(self.next + place).map(|kept| &self.bytes[kept.key..kept.row])
    }

    pub fn row_ahead(&self, place: usize) -> Option<&[u8]> {
        self.rows.get(self.next + place).map(|kept| &self.bytes[kept.row..kept.end])
    }

    /// Takes the first rows away.
    pub fn pass(&mut self, count: usize) {
        self.next += count;
    }

    /// Reads the next batch of a partition that is led here.
    async fn fill_here(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        order: Order<'_>,
        admits: &mut Admits<'_>,
    ) -> Result<()> {
        let since = Instant::now();
        while self.wants_rows(request) {
            let partition = self.walk.partition();
            let view = transaction.scan_view(partition, request.mode).await?;
            let limit = self.batch_limit();
            let (bytes, rows) = (&mut self.bytes, &mut self.rows);
            let (refused, is_paused) = (&mut self.refused, &mut self.is_paused);
            let held = self.walk.hold(request, transaction, &view, limit, &mut |row| {
                if !admits(row) {
                    *refused += 1;
                    *is_paused = *refused >= REFUSED_MAX
                        || refused.is_multiple_of(ROWS_PER_LOOK) && since.elapsed() >= HOLD_MAX;
                } else {
                    order.keep(row, bytes, rows);
                }
                match bytes.len() < BYTES_PER_HOLD && !*is_paused {
                    true => shoal_partition::VisitAnswer::Continue,
                    false => shoal_partition::VisitAnswer::Stop,
                }
            })?;
            if let Held::Wait(blocked) = held {
                // Rows before the blocked one can be shown already, but whoever waits may as well have them all.
                transaction.wait(partition, blocked).await?;
            }
        }
        Ok(())
    }

    /// Takes the rows of another node's answer.
    fn take(
        &mut self,
        request: &FilteredScan,
        answer: &Answer,
        order: Order<'_>,
        admits: &mut Admits<'_>,
    ) -> Result<()> {
        for row in self.walk.receive(request, answer)?.rows.iter() {
            let row = request.layout().checked_row(row)?;
            match admits(row) {
                true => order.keep(row, &mut self.bytes, &mut self.rows),
                false => self.refused += 1,
            }
        }
        self.is_paused = self.rows.is_empty() && self.refused > 0;
        Ok(())
    }
}
