//! A scan's way through its ranges in one partition, here or at a leader on another node.
//!
//! The place that a scan has come to is only good at the leader where it has come to it, and in that leader's term: row ids, which
//! keep rows with equal keys apart, are a replica's own. So a scan whose leader changes under it fails, and whoever
//! has not shown any of its rows may begin it again.

use shoal_partition::{Cursor, Direction, ReadView, ScanState, Step};
use shoal_types::row::RowRef;
use shoal_types::{Error, NodeId, Result};

use crate::api::*;
use crate::interpret::{Sifted, WireSieve};
use crate::protocol::{self, ScanHead, ScannedRows};
use crate::remote::{Answer, Asked, WorkFor};
use crate::scan::{Held, Visitor};
use crate::transaction::{Transaction, partition_range};

pub(crate) struct PartitionScan {
    partition: u32,
    /// The present range.
    range: usize,
    spot: Spot,
    /// The term of the leader that has shown something; 0 before.
    term: u64,
}

/// Where in the present range.
enum Spot {
    Start,
    Here(Box<Cursor>),
    There(NodeId, Vec<u8>),
}

impl PartitionScan {
    pub fn new(partition: u32) -> PartitionScan {
        PartitionScan { partition, range: 0, spot: Spot::Start, term: 0 }
    }

    pub fn partition(&self) -> u32 {
        self.partition
    }

    /// Something has been read: it cannot begin again elsewhere.
    pub fn has_begun(&self) -> bool {
        self.term != 0
    }

    pub fn is_done(&self, request: &Sifted) -> bool {
        self.range == request.ranges.len()
    }

    /// One hold of the partition, which is led here.
    pub fn hold(
        &mut self,
        request: &Sifted,
        transaction: &mut Transaction,
        view: &ReadView,
        limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> shoal_partition::Visit,
    ) -> Result<Held> {
        let lock = transaction.lock_request(request.mode);
        let cursor = match &mut self.spot {
            Spot::Here(cursor) => cursor,
            Spot::There(..) => return Err(transaction.lose_part(self.partition)),
            Spot::Start => {
                self.spot = Spot::Here(Box::new(cursor_of(request, self.range)?));
                let Spot::Here(cursor) = &mut self.spot else { unreachable!("it was just made") };
                cursor
            }
        };
        let (node, participants) = (&transaction.node, &mut transaction.participants);
        let mut guard =
            Transaction::hold(node, participants, &transaction.tables, self.partition, lock.is_some())?;
        let term = guard.leader_term();
        if self.term != 0 && self.term != term {
            drop(guard);
            return Err(transaction.lose_part(self.partition));
        }
        self.term = term;
        let (mut buffer, mut failure) = (Vec::new(), None);
        let refused = match lock.is_some() && transaction.isolation == Isolation::ReadCommitted {
            true => shoal_partition::Visit::ContinueUnlocked,
            false => shoal_partition::Visit::Continue,
        };
        let step = guard.scan(view, cursor, lock, limit, &mut |row| {
            request.show(row, &mut buffer, refused, &mut *visit).unwrap_or_else(|error| {
                failure = Some(error);
                shoal_partition::Visit::Stop
            })
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        Ok(match step {
            Step::Ready(ScanState::Done) => {
                self.spot = Spot::Start;
                self.range += 1;
                Held::Rows
            }
            Step::Ready(ScanState::More) => Held::Rows,
            Step::Wait(blocked) => Held::Wait(blocked),
        })
    }

    /// Asks the leader on another node for rows, of as many ranges as it takes.
    pub async fn send(
        &mut self,
        request: &Sifted,
        transaction: &mut Transaction,
        node: NodeId,
        limit: usize,
    ) -> Result<Asked> {
        let view = transaction.scan_view(self.partition, request.mode).await?;
        let lock = transaction.lock_request(request.mode);
        let place: &[u8] = match &self.spot {
            Spot::Start => &[],
            Spot::There(known, place) if *known == node => place,
            Spot::There(..) | Spot::Here(_) => return Err(transaction.lose_part(self.partition)),
        };
        let work = WorkFor { term: self.term, ..WorkFor::reading(self.partition, &view, lock.is_some()) };
        transaction.begin_work(work, node, std::iter::empty());
        let head = ScanHead {
            table: request.table.id(),
            index: index_of(request)?.id,
            direction: direction_of(request),
            lock,
            rows_max: limit as u32,
        };
        let ranges = request.ranges[self.range..].iter();
        let ranges = ranges.map(|range| (range.start.as_slice(), range.end.as_slice()));
        let unlocks = lock.is_some() && transaction.may_unlock(self.partition);
        let sieve = |out: &mut Vec<u8>| WireSieve::put(&request.sieve, unlocks, out);
        protocol::put_then_scan(&mut transaction.frame, &head, sieve, ranges, place);
        Ok(transaction.send_work(self.partition, node, std::iter::empty()))
    }

    /// Moves on to where the leader has come to; yields the rows on the way.
    pub fn receive<'a>(&mut self, request: &Sifted, answer: &'a Answer) -> Result<ScannedRows<'a>> {
        let rows = ScannedRows::read(answer.done()?)?;
        let range = self.range + rows.ranges_done as usize;
        let done = range == request.ranges.len();
        if range > request.ranges.len() || done && !rows.place.is_empty() {
            return Err(protocol::malformed());
        }
        self.range = range;
        self.term = answer.term()?;
        self.spot = match rows.place.is_empty() {
            true => Spot::Start,
            false => Spot::There(answer.node(), rows.place.to_vec()),
        };
        Ok(rows)
    }

    /// Shows the rows of an answer, and gives back the locks of those that the visitor does not want or comes not to see.
    pub fn show(
        &mut self,
        request: &Sifted,
        transaction: &mut Transaction,
        answer: &Answer,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let rows = self.receive(request, answer)?;
        let unlocks = request.mode.lock.is_some() && transaction.may_unlock(self.partition);
        let mut unlocked: Vec<Vec<u8>> = Vec::new();
        for row in rows.rows.iter() {
            let is_shown = !visitor.stopped && visitor.error.is_none();
            if !is_shown && !unlocks {
                break;
            }
            let row = request.layout().row(row);
            let is_wanted = is_shown && visitor.see(row) != shoal_partition::Visit::ContinueUnlocked;
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

/// A new cursor over one of the request's ranges.
fn cursor_of(request: &Sifted, range: usize) -> Result<Cursor> {
    let range = partition_range(&request.ranges[range]);
    Ok(Cursor::new(request.table.id(), index_of(request)?.id, range, direction_of(request)))
}

fn index_of(request: &Sifted) -> Result<&shoal_types::Index> {
    request.table.schema.indexes.get(request.index).ok_or_else(|| {
        Error::unknown(format!("internal: table '{}' has no index {}", request.table.name(), request.index))
    })
}

fn direction_of(request: &Sifted) -> Direction {
    if request.descending { Direction::Backward } else { Direction::Forward }
}
