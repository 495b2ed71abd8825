//! A scan's way through its ranges in one partition, here or at a leader on another node.
//!
//! The place that a scan has come to is only good at the leader where it has come to it, and in that leader's term: row ids, which
//! keep rows with equal keys apart, are a replica's own. So a scan whose leader changes under it fails, and whoever
//! has not shown any of its rows may begin it again.

use shoal_partition::{Cursor, Direction, ReadView, ScanState, Step};
use shoal_types::row::RowRef;
use shoal_types::{Error, NodeId, Result};

use crate::api::*;
use crate::interpret::{FilteredScan, WireFilter};
use crate::protocol::{self, ScanHead, ScannedRows};
use crate::remote::{Answer, Asked, WorkFor};
use crate::transaction::{Transaction, partition_range};
use crate::visitor::{Held, Visitor};

pub(crate) struct PartitionScan {
    partition: u32,
    /// The present range.
    range: usize,
    /// What lies before this key, seen in the scan's direction, is done; within the present range.
    done_to: Option<Vec<u8>>,
    /// The scan is led no further than to this key, exclusive at the upper end of what is scanned. `None`: to the end.
    led_to: Option<Vec<u8>>,
    /// It only looks at the rows that a locking scan would meet.
    looks: bool,
    position: ScanPosition,
    /// The term of the leader that has shown something; 0 before.
    term: u64,
}

/// Where in the present range.
#[derive(Clone)]
enum ScanPosition {
    Start,
    Local(Box<Cursor>),
    Remote(NodeId, Vec<u8>),
}

impl PartitionScan {
    pub fn new(partition: u32) -> PartitionScan {
        PartitionScan {
            partition,
            range: 0,
            done_to: None,
            led_to: None,
            looks: false,
            position: ScanPosition::Start,
            term: 0,
        }
    }

    /// A scan that looks at the rows ahead of this one, from its place on.
    pub fn looking_ahead(&self) -> PartitionScan {
        let (position, done_to) = (self.position.clone(), self.done_to.clone());
        PartitionScan { position, done_to, led_to: None, looks: true, ..*self }
    }

    /// Lets the scan go on to this key: exclusive if it ascends, inclusive if it descends.
    pub fn lead_to(&mut self, key: Option<Vec<u8>>) {
        self.led_to = key;
    }

    pub fn partition(&self) -> u32 {
        self.partition
    }

    /// Something has been read: it cannot begin again elsewhere.
    pub fn has_begun(&self) -> bool {
        self.term != 0
    }

    /// All ranges are done, or as much of them as the scan was led to.
    pub fn is_done(&self, request: &FilteredScan) -> bool {
        match (&self.led_to, &self.done_to) {
            (None, None) => self.range == request.ranges.len(),
            _ => self.open_ranges(request).next().is_none(),
        }
    }

    /// What is left to be scanned of a range: start and exclusive end, empty if there is none.
    fn open_part<'a>(&'a self, request: &'a FilteredScan, range: usize) -> (&'a [u8], &'a [u8]) {
        let KeyRange { start, end } = &request.ranges[range];
        let (low, high) = match request.descending {
            false => (&self.done_to, &self.led_to),
            true => (&self.led_to, &self.done_to),
        };
        let start = low.as_ref().map_or(start, |low| low.max(start));
        let end = high.as_ref().filter(|&high| end.is_empty() || high < end).unwrap_or(end);
        (start, end)
    }

    /// The ranges that are left, by their numbers, with what is left of each.
    fn open_ranges<'a>(
        &'a self,
        request: &'a FilteredScan,
    ) -> impl Iterator<Item = (usize, (&'a [u8], &'a [u8]))> + Clone {
        let parts = (self.range..request.ranges.len()).map(|range| (range, self.open_part(request, range)));
        parts.filter(|(_, (start, end))| end.is_empty() || start < end)
    }

    /// A range is done as far as the scan may go in it, which was to this end of its open part.
    fn end_range(&mut self, request: &FilteredScan, range: usize, part: &KeyRange) {
        let end = if request.descending { &part.start } else { &part.end };
        let is_led_on = self.led_to.as_ref() == Some(end);
        (self.range, self.done_to) = if is_led_on { (range, self.led_to.clone()) } else { (range + 1, None) };
        self.position = ScanPosition::Start;
    }

    /// One hold of the partition, which is led here.
    pub fn hold(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        view: &ReadView,
        limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> shoal_partition::VisitAnswer,
    ) -> Result<Held> {
        let Some((number, (start, end))) = self.open_ranges(request).next() else {
            if self.led_to.is_none() {
                self.range = request.ranges.len();
            }
            return Ok(Held::Rows);
        };
        let part = KeyRange { start: start.to_vec(), end: end.to_vec() };
        let lock = transaction.lock_request(request.mode);
        let cursor = match &mut self.position {
            ScanPosition::Remote(..) => return Err(transaction.lose_part(self.partition)),
            ScanPosition::Local(cursor) => {
                cursor.extend(partition_range(&part));
                cursor
            }
            ScanPosition::Start => {
                let (index, direction) = (index_of(request)?.id, direction_of(request));
                let cursor = Cursor::new(request.table.id(), index, partition_range(&part), direction);
                self.position = ScanPosition::Local(Box::new(cursor));
                let ScanPosition::Local(cursor) = &mut self.position else { unreachable!("it was just made") };
                cursor
            }
        };
        let (node, participants) = (&transaction.node, &mut transaction.participants);
        let joins = lock.is_some() && !self.looks;
        let mut guard = Transaction::hold(node, participants, &transaction.tables, self.partition, joins)?;
        let term = guard.leader_term();
        if self.term != 0 && self.term != term {
            drop(guard);
            return Err(transaction.lose_part(self.partition));
        }
        self.term = term;
        let (mut buffer, mut failure, mut stopped) = (Vec::new(), None, false);
        let refused = match lock.is_some() && transaction.isolation == Isolation::ReadCommitted {
            true => shoal_partition::VisitAnswer::ContinueUnlocked,
            false => shoal_partition::VisitAnswer::Continue,
        };
        let mut show = |row: RowRef<'_>| {
            let answer = request.show(row, &mut buffer, refused, &mut *visit).unwrap_or_else(|error| {
                failure = Some(error);
                shoal_partition::VisitAnswer::Stop
            });
            stopped |= answer == shoal_partition::VisitAnswer::Stop;
            answer
        };
        let step = match lock.filter(|_| self.looks) {
            Some(lock) => Step::Ready(guard.look(view, cursor, lock, limit, &mut show)?),
            None => guard.scan(view, cursor, lock, limit, &mut show)?,
        };
        if let Some(error) = failure {
            return Err(error);
        }
        Ok(match step {
            Step::Ready(ScanState::Done) if stopped => {
                // The visitor may only be pausing.
                cursor.resume();
                self.range = number;
                Held::Rows
            }
            Step::Ready(ScanState::Done) => {
                self.end_range(request, number, &part);
                Held::Rows
            }
            Step::Ready(ScanState::More) => {
                self.range = number;
                Held::Rows
            }
            Step::Wait(blocked) => {
                self.range = number;
                Held::Wait(blocked)
            }
        })
    }

    /// Asks the leader on another node for rows, of as many ranges as it takes.
    pub async fn send(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        node: NodeId,
        limit: usize,
    ) -> Result<Asked> {
        let view = transaction.scan_view(self.partition, request.mode).await?;
        let lock = transaction.lock_request(request.mode);
        let place: &[u8] = match &self.position {
            ScanPosition::Start => &[],
            ScanPosition::Remote(known, place) if *known == node => place,
            ScanPosition::Remote(..) | ScanPosition::Local(_) => return Err(transaction.lose_part(self.partition)),
        };
        let looks = self.looks && lock.is_some();
        let work =
            WorkFor { term: self.term, ..WorkFor::reading(self.partition, &view, lock.is_some() && !looks) };
        transaction.begin_work(work, node, std::iter::empty());
        let head = ScanHead {
            table: request.table.id(),
            index: index_of(request)?.id,
            direction: direction_of(request),
            lock,
            looks,
            rows_max: limit as u32,
        };
        let ranges = self.open_ranges(request).map(|(_, part)| part);
        let unlocks = lock.is_some() && !looks && transaction.may_unlock(self.partition);
        let pushed = |out: &mut Vec<u8>| WireFilter::put(&request.pushed, unlocks, out);
        protocol::put_then_scan(&mut transaction.frame, &head, pushed, ranges, place);
        Ok(transaction.send_work(self.partition, node, std::iter::empty()))
    }

    /// Moves on to where the leader has come to; yields the rows on the way.
    pub fn receive<'a>(&mut self, request: &FilteredScan, answer: &'a Answer) -> Result<ScannedRows<'a>> {
        let rows = ScannedRows::read(answer.done()?)?;
        let done = rows.ranges_done as usize;
        let asked = self.open_ranges(request).count();
        if done > asked || done == asked && !rows.place.is_empty() {
            return Err(protocol::malformed());
        }
        let last_done = done.checked_sub(1).and_then(|last| self.open_ranges(request).nth(last));
        let last_done =
            last_done.map(|(range, (start, end))| (range, KeyRange { start: start.to_vec(), end: end.to_vec() }));
        let present = self.open_ranges(request).nth(done).map(|(range, _)| range);
        match (last_done, present) {
            (Some((range, part)), None) => self.end_range(request, range, &part),
            (_, Some(range)) if range != self.range => (self.range, self.done_to) = (range, None),
            (None, None) if self.led_to.is_none() => self.range = request.ranges.len(),
            _ => {}
        }
        self.term = answer.term()?;
        self.position = match rows.place.is_empty() {
            true => ScanPosition::Start,
            false => ScanPosition::Remote(answer.node(), rows.place.to_vec()),
        };
        Ok(rows)
    }

    /// Shows the rows of an answer, and gives back the locks of those that the visitor does not want or comes not to see.
    pub fn show(
        &mut self,
        request: &FilteredScan,
        transaction: &mut Transaction,
        answer: &Answer,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let rows = self.receive(request, answer)?;
        let unlocks = request.mode.lock.is_some() && !self.looks && transaction.may_unlock(self.partition);
        let mut unlocked: Vec<Vec<u8>> = Vec::new();
        for row in rows.rows.iter() {
            let is_shown = !visitor.stopped && visitor.error.is_none();
            if !is_shown && !unlocks {
                break;
            }
            let row = request.layout().checked_row(row)?;
            let is_wanted = is_shown && visitor.see(row) != shoal_partition::VisitAnswer::ContinueUnlocked;
            if unlocks && !is_wanted {
                let mut key = Vec::with_capacity(16);
                request.primary_key().append_from_row(row, &mut key);
                unlocked.push(key);
            }
        }
        transaction.unlock_rows(self.partition, request.table.id(), &unlocked);
        Ok(())
    }
}

fn index_of(request: &FilteredScan) -> Result<&shoal_types::Index> {
    request.table.schema.indexes.get(request.index).ok_or_else(|| {
        Error::unknown(format!("internal: table '{}' has no index {}", request.table.name(), request.index))
    })
}

fn direction_of(request: &FilteredScan) -> Direction {
    if request.descending { Direction::Backward } else { Direction::Forward }
}
