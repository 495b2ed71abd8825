//! The rows of one partition for a scan that merges several: batches that are copied, each row behind its key.

use std::time::Instant;

use shoal_types::row::RowRef;
use shoal_types::{NodeId, Result};

use crate::fan_out::FanOut;
use crate::interpret::FilteredScan;
use crate::partition_scan::PartitionScan;
use crate::remote::{Answer, Asked};
use crate::transaction::Transaction;
use crate::visitor::{BYTES_PER_HOLD, HOLD_MAX, Held, ROWS_PER_HOLD, ROWS_PER_LOOK};

/// Rows that a source may refuse on its way to one that is wanted, before others have their turn.
const REFUSED_MAX: usize = 1024;
/// Rows for which there is room from the first on.
const ROWS_AT_FIRST: usize = 64;

/// Whether a row is wanted at all: others are not copied. `None`: all are.
pub(crate) type Admits<'a> = Option<&'a mut dyn FnMut(RowRef<'_>) -> bool>;

#[inline]
pub(crate) fn is_admitted(admits: &mut Admits<'_>, row: RowRef<'_>) -> bool {
    admits.as_mut().is_none_or(|admits| admits(row))
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
    pub refused: usize,
    /// It has refused so many that others have their turn.
    is_paused: bool,
}

/// A row that was copied behind its key.
struct KeptRow {
    /// See [`FilteredScan::head_of`].
    head: u128,
    /// Where key and row begin in the source's bytes, and where the row ends.
    key: usize,
    row: usize,
    end: usize,
}

/// Gets the next batches of all sources that have no row left, but for one; which sources these are.
pub(crate) async fn refill(
    sources: &mut [Source],
    but_for: Option<usize>,
    request: &FilteredScan,
    transaction: &mut Transaction,
    admits: &mut Admits<'_>,
) -> Result<Vec<usize>> {
    let filled: Vec<usize> = (0..sources.len())
        .filter(|&number| {
            but_for != Some(number) && sources[number].is_empty() && !sources[number].is_done(request)
        })
        .collect();
    if filled.is_empty() {
        return Ok(filled);
    }
    filled.iter().for_each(|&number| sources[number].reset());
    fill(sources, filled.clone(), request, transaction, admits).await?;
    for &number in &filled {
        let source = &mut sources[number];
        source.batch_rows = (source.batch_rows * 2).min(ROWS_PER_HOLD);
    }
    Ok(filled)
}

/// Reads until none of these sources wants more rows. Other nodes are asked at once.
pub(crate) async fn fill(
    sources: &mut [Source],
    numbers: Vec<usize>,
    request: &FilteredScan,
    transaction: &mut Transaction,
    admits: &mut Admits<'_>,
) -> Result<()> {
    let wanting = numbers.into_iter().filter(|&number| sources[number].wants_rows(request)).collect();
    transaction.fan_out(&mut FillSources { sources, request, admits }, wanting).await
}

/// Reads for sources, by their numbers, until they want no more rows.
struct FillSources<'a, 'v> {
    sources: &'a mut [Source],
    request: &'a FilteredScan,
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
        self.sources[*number].fill_here(self.request, transaction, self.admits).await
    }

    fn take(&mut self, _transaction: &mut Transaction, number: &mut usize, answer: &Answer) -> Result<()> {
        self.sources[*number].take(self.request, answer, self.admits)
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

    /// Copies a row behind its key.
    #[inline]
    pub fn keep(&mut self, row: RowRef<'_>, request: &FilteredScan) {
        if self.rows.is_empty() {
            let rows = self.batch_rows.min(ROWS_AT_FIRST);
            self.rows.reserve(rows);
            self.bytes.reserve((rows * (row.bytes().len() + size_of::<u128>())).min(BYTES_PER_HOLD));
        }
        let key = self.bytes.len();
        let head = request.head_of(row, &mut self.bytes);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row.bytes());
        self.rows.push(KeptRow { head, key, row: start, end: self.bytes.len() });
    }

    /// The first row comes before one of another source.
    #[inline]
    pub fn precedes(&self, other: &Source, request: &FilteredScan) -> bool {
        match other.rows.get(other.next) {
            Some(row) => self.precedes_row(row.head, other.key_ahead(0).unwrap_or_default(), request),
            None => !self.is_empty(),
        }
    }

    /// Of the first row.
    #[inline]
    pub fn head(&self) -> Option<u128> {
        self.rows.get(self.next).map(|row| row.head)
    }

    /// The first row comes before one with this head and key.
    #[inline]
    pub fn precedes_row(&self, head: u128, key: &[u8], request: &FilteredScan) -> bool {
        let Some(row) = self.rows.get(self.next) else { return false };
        if row.head != head {
            return row.head < head;
        }
        let own = &self.bytes[row.key..row.row];
        if request.descending { own > key } else { own < key }
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

    /// The walk for a while: it is to be put back.
    pub fn take_walk(&mut self) -> PartitionScan {
        let stand_in = PartitionScan::new(self.walk.partition());
        std::mem::replace(&mut self.walk, stand_in)
    }

    /// Counts a row that is not wanted; many of them, or slow ones, are a pause.
    pub fn refuse(&mut self, since: Instant) {
        self.refused += 1;
        self.is_paused = self.refused >= REFUSED_MAX
            || self.refused.is_multiple_of(ROWS_PER_LOOK) && since.elapsed() >= HOLD_MAX;
    }

    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Reads the next batch of a partition that is led here.
    async fn fill_here(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        admits: &mut Admits<'_>,
    ) -> Result<()> {
        let since = Instant::now();
        while self.wants_rows(request) {
            let partition = self.walk.partition();
            let view = transaction.scan_view(partition, request.mode).await?;
            let limit = self.batch_limit();
            let mut walk = self.take_walk();
            let held = walk.hold(request, transaction, &view, limit, &mut |row| {
                match is_admitted(admits, row) {
                    true => self.keep(row, request),
                    false => self.refuse(since),
                }
                match self.bytes.len() < BYTES_PER_HOLD && !self.is_paused {
                    true => shoal_partition::VisitAnswer::Continue,
                    false => shoal_partition::VisitAnswer::Stop,
                }
            });
            self.walk = walk;
            let held = held?;
            if let Held::Wait(blocked) = held {
                // Rows before the blocked one can be shown already, but whoever waits may as well have them all.
                transaction.wait(partition, blocked).await?;
            }
        }
        Ok(())
    }

    /// Takes the rows of another node's answer.
    fn take(&mut self, request: &FilteredScan, answer: &Answer, admits: &mut Admits<'_>) -> Result<()> {
        for row in self.walk.receive(request, answer)?.rows.iter() {
            let row = request.layout().checked_row(row)?;
            match is_admitted(admits, row) {
                true => self.keep(row, request),
                false => self.refused += 1,
            }
        }
        self.is_paused = self.rows.is_empty() && self.refused > 0;
        Ok(())
    }
}
