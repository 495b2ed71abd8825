//! Ordered scans over several partitions: batches of copied rows, merged by index key.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use shoal_partition::{Cursor, ScanState, Step};
use shoal_types::Result;
use shoal_types::row::RowRef;

use crate::api::*;
use crate::scan::{ROWS_PER_HOLD, cursor_of};
use crate::transaction::Transaction;

/// Rows of a partition's first batch, when no limit says how many are wanted; later batches are larger.
const FIRST_BATCH: usize = 32;

pub(crate) struct MergedScan {
    partitions: Range<u32>,
    range: usize,
    /// The partitions' batches, while a range is being read.
    sources: Vec<Source>,
    /// Sources that have rows, by their first row's key.
    heap: BinaryHeap<Head>,
}

/// A partition's rows of the present range.
struct Source {
    partition: u32,
    cursor: Cursor,
    exhausted: bool,
    batch_rows: usize,
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
    pub fn new(partitions: Range<u32>) -> MergedScan {
        MergedScan { partitions, range: 0, sources: Vec::new(), heap: BinaryHeap::new() }
    }

    pub async fn next(
        &mut self,
        request: &ScanRequest,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let mut shown = 0;
        loop {
            if self.sources.is_empty() {
                if self.range == request.ranges.len() {
                    return Ok(false);
                }
                self.open(request)?;
            }
            for source in 0..self.sources.len() {
                self.fill(source, request, transaction).await?;
            }
            if !self.show(request, transaction, &mut shown, visit)? {
                return Ok(false);
            }
            if self.heap.is_empty() && self.sources.iter().all(|source| source.exhausted && source.is_empty()) {
                self.sources.clear();
                self.range += 1;
            }
            if shown >= ROWS_PER_HOLD {
                return Ok(!self.sources.is_empty() || self.range < request.ranges.len());
            }
        }
    }

    /// Begins the present range in all partitions.
    fn open(&mut self, request: &ScanRequest) -> Result<()> {
        let wanted = request.row_limit.map_or(FIRST_BATCH, |limit| limit.clamp(1, ROWS_PER_HOLD as u64) as usize);
        for partition in self.partitions.clone() {
            self.sources.push(Source {
                partition,
                cursor: cursor_of(request, self.range)?,
                exhausted: false,
                batch_rows: wanted,
                bytes: Vec::new(),
                rows: Vec::new(),
                next: 0,
            });
        }
        Ok(())
    }

    /// Gets a source's next batch if it has no row left, and enters it in the heap.
    async fn fill(&mut self, number: usize, request: &ScanRequest, transaction: &mut Transaction) -> Result<()> {
        let source = &mut self.sources[number];
        if !source.is_empty() || source.exhausted {
            return Ok(());
        }
        source.reset();
        while source.is_empty() && !source.exhausted {
            let partition = source.partition;
            let blocked = match source.read(request, transaction)? {
                Step::Ready(state) => {
                    source.exhausted = state == ScanState::Done;
                    continue;
                }
                Step::Wait(blocked) => blocked,
            };
            // Rows before the blocked one can be shown already, but whoever waits may as well have them all.
            transaction.wait(partition, blocked).await?;
        }
        source.batch_rows = (source.batch_rows * 2).min(ROWS_PER_HOLD);
        if let Some(key) = source.first_key() {
            self.heap.push(Head { key: key.to_vec(), descending: request.descending, source: number });
        }
        Ok(())
    }

    /// Shows rows until a source needs another batch. False: the visitor wants no more.
    fn show(
        &mut self,
        request: &ScanRequest,
        transaction: &mut Transaction,
        shown: &mut usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let mut skipped: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut going_on = true;
        while *shown < ROWS_PER_HOLD
            && let Some(mut head) = self.heap.pop()
        {
            let source = &mut self.sources[head.source];
            let (partition, exhausted) = (source.partition, source.exhausted);
            let Some((row, rest)) = source.take() else { continue };
            let row = request.table.layout.row(row);
            *shown += 1;
            transaction.counters.read_row_count += 1;
            match visit(row)? {
                Visit::Take => {}
                Visit::Skip if request.mode.lock.is_some() && transaction.may_unlock(partition) => {
                    let mut key = Vec::with_capacity(16);
                    request.table.keys[0].append_from_row(row, &mut key);
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
        if let Some(id) = transaction.id() {
            for (partition, key) in skipped {
                transaction.node.partition(partition).unlock_row(id, request.table.id(), &key);
            }
        }
        Ok(going_on)
    }
}

impl Source {
    fn is_empty(&self) -> bool {
        self.next == self.rows.len()
    }

    fn reset(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.next = 0;
    }

    fn first_key(&self) -> Option<&[u8]> {
        self.rows.get(self.next).map(|&(key, row, _)| &self.bytes[key..row])
    }

    /// The first row, and the key of the one behind it.
    fn take(&mut self) -> Option<(&[u8], Option<&[u8]>)> {
        let &(_, row, end) = self.rows.get(self.next)?;
        self.next += 1;
        Some((&self.bytes[row..end], self.first_key()))
    }

    fn read(&mut self, request: &ScanRequest, transaction: &mut Transaction) -> Result<Step<ScanState>> {
        let lock = transaction.lock_request(request.mode);
        let view = transaction.scan_view(self.partition, request.mode);
        let spec = &request.table.keys[request.index];
        let (bytes, rows) = (&mut self.bytes, &mut self.rows);
        let limit = self.batch_rows;
        let mut guard = transaction.node.partition(self.partition);
        guard.scan(&view, &mut self.cursor, lock, limit, &mut |row| {
            let key_start = bytes.len();
            spec.append_from_row(row, bytes);
            let row_start = bytes.len();
            bytes.extend_from_slice(row.bytes());
            rows.push((key_start, row_start, bytes.len()));
            shoal_partition::Visit::Continue
        })
    }
}
