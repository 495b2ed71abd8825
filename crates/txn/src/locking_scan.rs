//! Scans that lock rows and may be ended before their ranges are: of the rows of all partitions, those are locked that come first.
//!
//! A step looks at the next rows of every partition, without locks, and chooses as many in index order as the caller can want. Then it
//! leads a locking scan in every partition just as far as the last of them. What that meets is shown: it is the truth, whatever has
//! changed since the look. So a row that comes after the last one that is shown is not locked, nor is the gap in front of it.

use shoal_types::Result;
use shoal_types::row::RowRef;

use crate::api::*;
use crate::interpret::FilteredScan;
use crate::merge_source::{Source, fill, refill};
use crate::partition_scan::PartitionScan;
use crate::transaction::Transaction;
use crate::visitor::ROWS_PER_HOLD;

pub(crate) struct LockingScan {
    /// Rows that were looked at, by partition.
    ahead: Vec<Source>,
    /// The locking scans, and the rows that they have come to in this step.
    locking: Vec<Source>,
    /// Rows that the visitor has taken, of those that it may want.
    taken: u64,
}

/// The rows of one step.
struct Chosen {
    /// How many of each partition.
    counts: Vec<usize>,
    /// The key of the last of them, and its partition; `None`: all that is left of the ranges.
    last: Option<(Vec<u8>, usize)>,
}

impl LockingScan {
    pub fn new(partitions: std::ops::Range<u32>, request: &ScanRequest) -> LockingScan {
        let batch_rows =
            request.row_limit.map_or(ROWS_PER_HOLD, |limit| limit.clamp(1, ROWS_PER_HOLD as u64) as usize);
        let locking: Vec<Source> =
            partitions.map(|partition| Source::new(PartitionScan::new(partition), batch_rows)).collect();
        let ahead = locking.iter().map(|source| Source::new(source.walk.looking_ahead(), batch_rows)).collect();
        LockingScan { ahead, locking, taken: 0 }
    }

    /// Shows the rows of at least one step, if any are left. `probe`: whether the visitor is likely to take a row.
    pub async fn next(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        probe: &mut dyn FnMut(RowRef<'_>) -> bool,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let wanted = request.row_limit.unwrap_or(u64::MAX).max(1);
        loop {
            if self.taken >= wanted {
                self.taken = 0;
            }
            refill(&mut self.ahead, None, request, transaction, &mut None).await?;
            let chosen = self.choose(request, wanted - self.taken, probe);
            self.lock(&chosen, request, transaction).await?;
            self.compare(&chosen);
            let is_any = self.locking.iter().any(|source| !source.is_empty());
            if !self.show(request, transaction, visit)? || chosen.last.is_none() {
                return Ok(false);
            }
            if is_any {
                return Ok(true);
            }
        }
    }

    /// Chooses from the rows that were looked at, in index order: until the visitor can have taken as many as are wanted, or
    /// another look is needed to go on.
    fn choose(&self, request: &FilteredScan, wanted: u64, probe: &mut dyn FnMut(RowRef<'_>) -> bool) -> Chosen {
        let mut counts = vec![0; self.ahead.len()];
        let (mut last, mut likely, mut total) = (None, 0, 0);
        while likely < wanted && total < ROWS_PER_HOLD {
            let needs_look =
                |(source, &count): (&Source, &usize)| count == source.rows_ahead() && !source.is_done(request);
            if self.ahead.iter().zip(&counts).any(needs_look) {
                break;
            }
            let heads = self.ahead.iter().zip(&counts).enumerate();
            let heads = heads.filter_map(|(number, (source, &count))| Some((source.key_ahead(count)?, number)));
            let first = match request.descending {
                false => heads.min_by_key(|&(key, number)| (key, number)),
                true => heads.min_by_key(|&(key, number)| (std::cmp::Reverse(key), number)),
            };
            let Some((key, number)) = first else { return Chosen { counts, last: None } };
            let row = self.ahead[number].row_ahead(counts[number]);
            likely += u64::from(row.is_none_or(|row| probe(request.layout().row(row))));
            counts[number] += 1;
            total += 1;
            last = Some((key, number));
        }
        Chosen { counts, last: last.map(|(key, number)| (key.to_vec(), number)) }
    }

    /// Leads the locking scans as far as the last chosen row.
    async fn lock(
        &mut self,
        chosen: &Chosen,
        request: &FilteredScan,
        transaction: &mut Transaction,
    ) -> Result<()> {
        for (number, source) in self.locking.iter_mut().enumerate() {
            source.reset();
            source.rows_wanted = Some(usize::MAX);
            let Some((key, last)) = &chosen.last else {
                source.walk.lead_to(None);
                continue;
            };
            // Rows with equal keys come partition by partition, so those of the last row's key may lie behind it.
            let mut bound = key.clone();
            if (number <= *last) != request.descending {
                bound.push(0);
            }
            source.walk.lead_to(Some(bound));
            if number == *last {
                source.rows_wanted = Some(chosen.counts[number]);
            }
        }
        let all = (0..self.locking.len()).collect();
        fill(&mut self.locking, all, request, transaction, &mut None).await
    }

    /// Where other rows were met than had been seen, one has to look again.
    fn compare(&mut self, chosen: &Chosen) {
        for ((ahead, locking), &count) in self.ahead.iter_mut().zip(&self.locking).zip(&chosen.counts) {
            let is_as_seen = locking.rows_ahead() == count
                && (0..count).all(|place| ahead.key_ahead(place) == locking.key_ahead(place));
            if is_as_seen {
                ahead.pass(count);
            } else {
                ahead.reset();
                ahead.walk = locking.walk.looking_ahead();
            }
        }
    }

    /// Shows the rows that are locked. False: the visitor wants no more.
    fn show(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let numbers = 0..self.locking.len();
        let places =
            numbers.flat_map(|number| (0..self.locking[number].rows_ahead()).map(move |place| (number, place)));
        let mut order: Vec<(usize, usize)> = places.collect();
        order.sort_by(|&(one, one_place), &(other, other_place)| {
            let keys = (self.locking[one].key_ahead(one_place), self.locking[other].key_ahead(other_place));
            let by_key = if request.descending { keys.1.cmp(&keys.0) } else { keys.0.cmp(&keys.1) };
            by_key.then(one.cmp(&other))
        });
        let mut unwanted: Vec<Vec<Vec<u8>>> = vec![Vec::new(); self.locking.len()];
        let mut going_on = true;
        for (number, place) in order {
            let source = &self.locking[number];
            let Some(row) = source.row_ahead(place) else { continue };
            let row = request.layout().row(row);
            let answer = if going_on { visit(row)? } else { Visit::Skip };
            if going_on {
                transaction.counters.read_row_count += 1;
            }
            self.taken += u64::from(answer == Visit::Take);
            going_on &= !matches!(answer, Visit::TakeAndStop | Visit::Stop);
            if answer == Visit::Skip && transaction.may_unlock(source.walk.partition()) {
                let mut key = Vec::with_capacity(16);
                request.primary_key().append_from_row(row, &mut key);
                unwanted[number].push(key);
            }
        }
        for (source, keys) in self.locking.iter_mut().zip(unwanted) {
            transaction.unlock_rows(source.walk.partition(), request.table.id(), &keys);
            source.pass(source.rows_ahead());
        }
        Ok(going_on)
    }
}
