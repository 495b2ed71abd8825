//! Ordered scans over several partitions: batches of copied rows, merged by index key.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Instant;

use shoal_types::key::KeySpec;
use shoal_types::row::RowRef;
use shoal_types::{NodeId, Result};

use crate::api::*;
use crate::fan_out::FanOut;
use crate::interpret::FilteredScan;
use crate::partition_scan::PartitionScan;
use crate::remote::{Answer, Asked};
use crate::transaction::Transaction;
use crate::visitor::{BYTES_PER_HOLD, HOLD_MAX, Held, ROWS_PER_HOLD, ROWS_PER_LOOK};

/// Rows of a partition's first batch, when no limit says how many are wanted; later batches are larger.
const FIRST_BATCH: usize = 32;

pub(crate) struct MergedScan {
    /// The partitions' batches.
    sources: Vec<Source>,
    /// Sources that have rows, by their first row's key.
    heap: BinaryHeap<Head>,
}

/// A partition's rows.
pub(crate) struct Source {
    pub walk: PartitionScan,
    pub batch_rows: usize,
    /// So many rows are wanted, if the walk comes to them; `None`: some, in one batch.
    pub rows_wanted: Option<usize>,
    bytes: Vec<u8>,
    /// Where each row's key and its row begin in `bytes`, and where it ends.
    rows: Vec<(usize, usize, usize)>,
    next: usize,
}

/// A source's first row in the heap: the greatest is the next in scan order.
struct Head {
    key: Vec<u8>,
    descending: bool,
    source: usize,
}

impl Head {
    fn order(&self, other: &Head) -> Ordering {
        let order = self.key.cmp(&other.key);
        let order = if self.descending { order } else { order.reverse() };
        order.then(other.source.cmp(&self.source))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.order(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.order(other)
    }
}

impl MergedScan {
    pub fn new(partitions: Range<u32>, request: &ScanRequest) -> MergedScan {
        let batch_rows =
            request.row_limit.map_or(FIRST_BATCH, |limit| limit.clamp(1, ROWS_PER_HOLD as u64) as usize);
        let source = |partition| Source::new(PartitionScan::new(partition), batch_rows);
        MergedScan { sources: partitions.map(source).collect(), heap: BinaryHeap::new() }
    }

    pub async fn next(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let mut shown = 0;
        loop {
            self.fill(request, transaction).await?;
            if !self.show(request, transaction, &mut shown, visit)? {
                return Ok(false);
            }
            let is_done = self.sources.iter().all(|source| source.is_empty() && source.walk.is_done(request));
            if is_done && self.heap.is_empty() {
                return Ok(false);
            }
            if shown >= ROWS_PER_HOLD {
                return Ok(true);
            }
        }
    }

    /// Gets the next batches of all sources that have no row left, and enters them in the heap.
    async fn fill(&mut self, request: &FilteredScan, transaction: &mut Transaction) -> Result<()> {
        for number in refill(&mut self.sources, request, transaction).await? {
            if let Some(key) = self.sources[number].first_key() {
                let head = Head { key: key.to_vec(), descending: request.descending, source: number };
                self.heap.push(head);
            }
        }
        Ok(())
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
        while *shown < ROWS_PER_HOLD
            && let Some(mut head) = self.heap.pop()
        {
            let source = &mut self.sources[head.source];
            let (partition, exhausted) = (source.walk.partition(), source.walk.is_done(request));
            let Some((row, rest)) = source.next_row() else { continue };
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
                    break;
                }
            }
            match rest {
                Some(key) => {
                    head.key.clear();
                    head.key.extend_from_slice(key);
                    self.heap.push(head);
                }
                None if exhausted => {}
                None => break,
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

/// Gets the next batches of all sources that have no row left; which sources these are.
pub(crate) async fn refill(
    sources: &mut [Source],
    request: &FilteredScan,
    transaction: &mut Transaction,
) -> Result<Vec<usize>> {
    let filled: Vec<usize> = (0..sources.len())
        .filter(|&number| sources[number].is_empty() && !sources[number].is_done(request))
        .collect();
    filled.iter().for_each(|&number| sources[number].reset());
    fill(sources, request, transaction).await?;
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
) -> Result<()> {
    let wanting = (0..sources.len()).filter(|&number| sources[number].wants_rows(request)).collect();
    transaction.fan_out(&mut FillSources { sources, request }, wanting).await
}

/// Reads for sources, by their numbers, until they want no more rows.
struct FillSources<'a> {
    sources: &'a mut [Source],
    request: &'a FilteredScan,
}

impl FanOut for FillSources<'_> {
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
        self.sources[*number].fill_here(self.request, transaction).await
    }

    fn take(&mut self, _transaction: &mut Transaction, number: &mut usize, answer: &Answer) -> Result<()> {
        self.sources[*number].take(self.request, answer)
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
        Source { walk, batch_rows, rows_wanted: None, bytes: Vec::new(), rows: Vec::new(), next: 0 }
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
        wants && !self.is_done(request)
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
    }

    fn first_key(&self) -> Option<&[u8]> {
        self.key_ahead(0)
    }

    /// Rows that have not been taken yet.
    pub fn rows_ahead(&self) -> usize {
        self.rows.len() - self.next
    }

    /// The key of the row that comes after so many others.
    pub fn key_ahead(&self, place: usize) -> Option<&[u8]> {
        self.rows.get(self.next + place).map(|&(key, row, _)| &self.bytes[key..row])
    }

    pub fn row_ahead(&self, place: usize) -> Option<&[u8]> {
        self.rows.get(self.next + place).map(|&(_, row, end)| &self.bytes[row..end])
    }

    /// Takes the first rows away.
    pub fn pass(&mut self, count: usize) {
        self.next += count;
    }

    /// The first row, and the key of the one behind it.
    fn next_row(&mut self) -> Option<(&[u8], Option<&[u8]>)> {
        let &(_, row, end) = self.rows.get(self.next)?;
        self.next += 1;
        Some((&self.bytes[row..end], self.first_key()))
    }

    /// Reads the next batch of a partition that is led here.
    async fn fill_here(&mut self, request: &FilteredScan, transaction: &mut Transaction) -> Result<()> {
        while self.wants_rows(request) {
            let partition = self.walk.partition();
            let view = transaction.scan_view(partition, request.mode).await?;
            let spec = request.index_key();
            let limit = self.batch_limit();
            let (bytes, rows) = (&mut self.bytes, &mut self.rows);
            let held = self.walk.hold(request, transaction, &view, limit, &mut |row| {
                keep(spec, row, bytes, rows);
                match bytes.len() < BYTES_PER_HOLD {
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
    fn take(&mut self, request: &FilteredScan, answer: &Answer) -> Result<()> {
        let spec = request.index_key();
        for row in self.walk.receive(request, answer)?.rows.iter() {
            keep(spec, request.layout().checked_row(row)?, &mut self.bytes, &mut self.rows);
        }
        Ok(())
    }
}

/// Copies a row behind its key.
fn keep(spec: &KeySpec, row: RowRef<'_>, bytes: &mut Vec<u8>, rows: &mut Vec<(usize, usize, usize)>) {
    let key_start = bytes.len();
    spec.append_from_row(row, bytes);
    let row_start = bytes.len();
    bytes.extend_from_slice(row.bytes());
    rows.push((key_start, row_start, bytes.len()));
}
