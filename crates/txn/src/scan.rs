//! Scans over ranges of an index, in all partitions or in one.
//!
//! Unordered scans and scans of one partition show rows where they lie, range by range within partition by partition.
//! Ordered scans over several partitions copy rows in batches, one a partition, and merge them by their index keys.

use shoal_cluster::remote::is_not_leader;
use shoal_partition::ReadView;
use shoal_types::Result;
use shoal_types::row::RowRef;

use crate::api::*;
use crate::interpret::{FilteredScan, PushedFilter};
use crate::leader_wait::{LeaderWait, map_version};
use crate::locking_scan::LockingScan;
use crate::merge::MergedScan;
use crate::partition_scan::PartitionScan;
use crate::remote::Answer;
use crate::transaction::Transaction;
use crate::visitor::{Held, ROWS_PER_HOLD, Visitor, hold_limit};

/// A scan in progress; batches of rows under one hold of a partition each.
pub struct TableScan {
    request: FilteredScan,
    way: Way,
    begun: bool,
}

enum Way {
    InPlace(InPlaceScan),
    Merged(MergedScan),
    Locking(LockingScan),
    Done,
}

/// Ranges in partitions, one after the other.
struct InPlaceScan {
    /// Those that are left, the present one first.
    partitions: std::ops::Range<u32>,
    /// The way through the present one.
    walk: PartitionScan,
    /// First batches of partitions on other nodes, which were all asked for at once.
    ahead: Vec<(PartitionScan, Answer)>,
    /// Rows that the visitor has taken, of those that it may want.
    taken: u64,
    /// Nothing is locked: see [`Transaction::look`].
    looks: bool,
}

impl Transaction {
    /// Begins a scan. Nothing is read until its first `next`.
    pub fn scan(&mut self, request: ScanRequest) -> TableScan {
        self.scan_through(request, PushedFilter::default())
    }

    /// Shows the rows that a locking scan would come to, in their newest committed versions, and locks none. Those that SKIP LOCKED
    /// leaves out are not shown. Not for indexes without an order.
    pub fn look(&mut self, request: ScanRequest) -> TableScan {
        let request = ScanRequest { ordered: false, row_limit: None, ..request };
        let mut scan = self.scan_through(request, PushedFilter::default());
        if let Way::InPlace(scan) = &mut scan.way {
            scan.looks = true;
            scan.walk = scan.walk_of(scan.partitions.start);
        }
        scan
    }

    /// Begins a scan of the rows that pass the pushed filter, which is where the rows lie.
    pub fn scan_through(&mut self, mut request: ScanRequest, pushed: PushedFilter) -> TableScan {
        let this = self.for_table(&request.table);
        let partitions = match &request.partition_key {
            Some(key) => {
                let partition = this.node.router().partition_of(key);
                partition..partition + 1
            }
            None => 0..this.node.partition_count(),
        };
        let ascending = request.ranges.windows(2).all(|pair| pair[0].start <= pair[1].start);
        if request.descending && request.ordered && ascending {
            request.ranges.reverse();
        }
        let way = if request.ranges.is_empty() {
            Way::Done
        } else if this.locks_ahead(&request, partitions.len()) {
            Way::Locking(LockingScan::new(partitions, &request))
        } else if request.ordered && partitions.len() > 1 {
            Way::Merged(MergedScan::new(partitions, &request))
        } else {
            Way::InPlace(InPlaceScan {
                walk: PartitionScan::new(partitions.start),
                partitions,
                ahead: Vec::new(),
                taken: 0,
                looks: false,
            })
        };
        let is_merged = matches!(way, Way::Merged(_) | Way::Locking(_));
        TableScan { request: FilteredScan::new(request, pushed, is_merged), way, begun: false }
    }

    /// A scan that locks, may end early, and would have locked rows by then that it does not come to: of other partitions, or of
    /// a batch of another node.
    fn locks_ahead(&self, request: &ScanRequest, partitions: usize) -> bool {
        let is_ordered_index = request
            .table
            .schema
            .indexes
            .get(request.index)
            .is_some_and(|index| index.method == shoal_types::IndexMethod::BTree);
        request.mode.lock.is_some()
            && request.row_limit.is_some()
            && is_ordered_index
            && (request.ordered && partitions > 1 || self.node.remote().is_some())
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
    pub(crate) async fn scan_view(&mut self, partition: u32, mode: ReadMode) -> Result<ReadView> {
        let (mut view, lock) = self.point_view(mode).await?;
        if lock.is_some() || self.participants.get(partition).is_some() {
            view.own_writes_before = self.participants.statement_mark(partition);
        }
        Ok(view)
    }
}

impl TableScan {
    /// The columns of the rows that are shown: the pushed filter's, and behind them those by which the scan orders and unlocks rows. `None`: all of
    /// the table's.
    pub fn shown_columns(&self) -> Option<&[usize]> {
        self.request.columns()
    }

    /// Visits the next batch (at most 256 rows of one partition at a time, and fewer large ones). `false`: the scan is at its end.
    pub async fn next(
        &mut self,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        self.next_probing(transaction, None, visit).await
    }

    /// Rows are copied before they are shown, and those that the probe of [`TableScan::next_probing`] refuses are not: the visitor
    /// sees none of them, and the probe has seen all that it does see.
    pub fn probes_ahead(&self) -> bool {
        matches!(self.way, Way::Merged(_)) && self.request.mode.lock.is_none()
    }

    /// The same with a guess at what the visitor will take. Locking scans with a row limit ask for it, so that rows which the
    /// visitor only skips do not cost a step each; of others see [`TableScan::probes_ahead`].
    pub async fn next_probing(
        &mut self,
        transaction: &mut Transaction,
        mut probe: Option<&mut dyn FnMut(RowRef<'_>) -> bool>,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let transaction = transaction.of(&self.request.table);
        transaction.use_table_for(&self.request.table, self.request.mode).await?;
        transaction.counters.execute_count += 1;
        if !self.begun {
            self.begun = true;
            transaction.count_scan(&self.request);
        }
        let more = match &mut self.way {
            Way::Done => Ok(false),
            Way::InPlace(scan) => scan.next(&self.request, transaction, visit).await,
            Way::Merged(scan) if self.request.mode.lock.is_none() => {
                scan.next(&self.request, transaction, &mut probe, visit).await
            }
            Way::Merged(scan) => scan.next(&self.request, transaction, &mut None, visit).await,
            Way::Locking(scan) => {
                let mut all = |_: RowRef<'_>| true;
                scan.next(&self.request, transaction, probe.unwrap_or(&mut all), visit).await
            }
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
        request: &FilteredScan,
        transaction: &mut Transaction,
        visit: &mut dyn FnMut(RowRef<'_>) -> Result<Visit>,
    ) -> Result<bool> {
        let limit = hold_limit(request);
        let unlock = transaction.isolation == Isolation::ReadCommitted;
        let mut visitor = Visitor::new(visit, unlock);
        let takes_max = request.row_limit.filter(|_| request.mode.lock.is_some()).unwrap_or(u64::MAX).max(1);
        if self.taken >= takes_max {
            self.taken = 0;
        }
        visitor.takes_left = takes_max - self.taken;
        let mut leader_wait = LeaderWait::default();
        // Empty partitions do not make a batch of their own.
        while !self.partitions.is_empty() && visitor.rows < limit {
            let seen = map_version(&transaction.node);
            let step = match self.take_ahead() {
                Some(answer) => self.walk.show(request, transaction, &answer, &mut visitor),
                None => self.step(request, transaction, limit - visitor.rows, &mut visitor).await,
            };
            match step {
                Ok(()) => {}
                Err(error) if self.walk.has_begun() => return Err(error),
                Err(error) => transaction.try_again(&mut leader_wait, seen, error).await?,
            }
            if let Some(error) = visitor.error.take() {
                return Err(error);
            }
            if visitor.stopped {
                for (mut walk, answer) in self.ahead.drain(..) {
                    walk.show(request, transaction, &answer, &mut visitor)?;
                }
                transaction.counters.read_row_count += visitor.rows as u64;
                return Ok(false);
            }
            if visitor.has_enough() {
                break;
            }
            if self.walk.is_done(request) {
                self.partitions.start += 1;
                self.walk = self.walk_of(self.partitions.start);
            }
        }
        self.taken = takes_max - visitor.takes_left;
        transaction.counters.read_row_count += visitor.rows as u64;
        Ok(!self.partitions.is_empty())
    }

    fn walk_of(&self, partition: u32) -> PartitionScan {
        let walk = PartitionScan::new(partition);
        if self.looks { walk.looking_ahead() } else { walk }
    }

    /// The first batch of the present partition, if it was asked for with others.
    fn take_ahead(&mut self) -> Option<Answer> {
        let position = self.ahead.iter().position(|(walk, _)| walk.partition() == self.partitions.start)?;
        let (walk, answer) = self.ahead.swap_remove(position);
        self.walk = walk;
        Some(answer)
    }

    /// Its first batch has come, with others.
    fn is_ahead(&self, partition: u32) -> bool {
        self.ahead.iter().any(|(walk, _)| walk.partition() == partition)
    }

    /// One hold of the present partition, or one request to its leader.
    async fn step(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        limit: usize,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let partition = self.walk.partition();
        let Some(node) = transaction.route(partition).await? else {
            let view = transaction.scan_view(partition, request.mode).await?;
            // Whoever locks rows where they lie stops at the last one that is wanted.
            let limit = if request.mode.lock.is_some() { ROWS_PER_HOLD } else { limit };
            let held = self.walk.hold(request, transaction, &view, limit, &mut |row| visitor.see_in_place(row))?;
            return match held {
                Held::Wait(blocked) => transaction.wait(partition, blocked).await,
                Held::Rows => Ok(()),
            };
        };
        if !self.walk.has_begun() && (request.mode.lock.is_none() || request.row_limit.is_none()) {
            return self.ask_all(request, transaction, limit).await;
        }
        let asked = self.walk.send(request, transaction, node, limit).await?;
        let answer = transaction.gather(vec![asked]).await.remove(0).1?;
        self.walk.show(request, transaction, &answer, visitor)
    }

    /// Asks for the first batches of all partitions that are left and are led elsewhere.
    async fn ask_all(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        limit: usize,
    ) -> Result<()> {
        let (mut walks, mut asked) = (Vec::new(), Vec::new());
        for partition in self.partitions.clone() {
            if self.is_ahead(partition) {
                // It has answered, and another one is asked once more.
                continue;
            }
            if let Some(node) = transaction.route(partition).await? {
                let mut walk = self.walk_of(partition);
                asked.push(walk.send(request, transaction, node, limit).await?);
                walks.push(walk);
            }
        }
        let mut lost = None;
        for (walk, (_, answer)) in walks.into_iter().zip(transaction.gather(asked).await) {
            match answer {
                Ok(answer) => self.ahead.push((walk, answer)),
                // It is asked again when its turn comes.
                Err(error) if is_not_leader(&error) => lost = Some(error),
                Err(error) => return Err(error),
            }
        }
        let present = self.partitions.start;
        match lost {
            Some(error) if !self.is_ahead(present) => Err(error),
            _ => Ok(()),
        }
    }
}
