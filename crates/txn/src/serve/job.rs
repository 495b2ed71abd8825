//! Work in progress at the leader: how far it has come, and its reply as far as it is written.
//!
//! A job can be left at any wait and gone on with later; the request is read again then, and what is done is skipped. The reply is
//! written in place, behind a head that is filled in at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shoal_cluster::{Node, PartitionGuard, Waiter};
use shoal_partition::{
    Blocked, Cursor, LockRequest, Partition, ReadView, ScanState, Step, VisitAnswer, WaitToken,
};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, Result, TableId, Timestamp};

use crate::api::KeyRange;
use crate::commit::{Unflushed, never_durable};
use crate::interpret::{Staged, WireFilter, check_frame, stage};
use crate::protocol::{self, List, Scan, SliceOf, Then, Work, WorkHead, Write, WriteStop};
use crate::read::KEYS_WARMED_MIN;
use crate::transaction::partition_range;

/// Rows and keys that are dealt with under one hold of the partition.
const PER_HOLD: usize = 256;
/// A reply that has grown to so much is sent; the coordinator asks for the rest.
const REPLY_BYTES: usize = 1 << 20;
const ROWS_MAX: u32 = 4096;
/// Rows that a scan with a condition looks at for one request: others wait for the thread.
const VISITED_MAX: u32 = 16_384;
/// Bytes of a finished job's head.
const HEAD_BYTES: usize = 13;

pub(super) enum Progress {
    Done,
    Blocked(Blocked),
    /// The leader's lease has run out in a term in which the transaction has joined: the work goes on where it is when that is renewed.
    Lapsed,
    Committing(Unflushed),
}

/// Why work is not done.
pub(super) enum Refusal {
    Error(Error),
    NotLeader,
    /// See [`Progress::Lapsed`].
    Lapsed,
    /// The transaction's part here is not what its coordinator takes it to be.
    Lost,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Error(error)
    }
}

#[derive(Default)]
pub(super) struct Job {
    /// Where the reply begins in its buffer.
    start: usize,
    /// The leader's term; 0 before the first hold.
    pub(super) term: u64,
    pub(super) staged: u32,
    writes_done: usize,
    body_begun: bool,
    keys_done: usize,
    ranges_done: usize,
    cursor: Option<Cursor>,
    rows: u32,
    /// Rows that a scan has looked at.
    visited: u32,
    /// Places of writes that were skipped.
    skipped: Vec<u32>,
}

impl Job {
    pub fn new(reply: &[u8]) -> Job {
        Job { start: reply.len(), ..Job::default() }
    }

    /// The reply so far, in a buffer of its own.
    pub fn move_into_own(&mut self, reply: &mut Vec<u8>) -> Vec<u8> {
        let own = reply.split_off(self.start);
        self.start = 0;
        own
    }

    /// The reply of a job that has ended in an entry of the log.
    pub fn reply_at_end(&self, mut reply: Vec<u8>, is_durable: bool) -> Vec<u8> {
        if !is_durable {
            self.refuse(never_durable().into(), &mut reply);
        }
        reply
    }

    pub fn refuse(&self, refusal: Refusal, reply: &mut Vec<u8>) {
        reply.truncate(self.start);
        match refusal {
            Refusal::Error(error) => protocol::put_failed(reply, self.term, self.staged, &error),
            Refusal::NotLeader => protocol::put_not_leader(reply, None),
            Refusal::Lapsed | Refusal::Lost => protocol::put_lost(reply),
        }
    }

    /// Goes on until the work is done or has to wait: under the waiter's token, or for the leader's lease.
    pub fn advance(
        &mut self,
        node: &Arc<Node>,
        work: &Work<'_>,
        waiter: Option<&mut Waiter>,
        struck_out: Option<&AtomicBool>,
        reply: &mut Vec<u8>,
    ) -> Result<Progress, Refusal> {
        match self.go_on(node, work, waiter, struck_out, reply) {
            Err(Refusal::Lapsed) => Ok(Progress::Lapsed),
            end => end,
        }
    }

    fn go_on(
        &mut self,
        node: &Arc<Node>,
        work: &Work<'_>,
        waiter: Option<&mut Waiter>,
        struck_out: Option<&AtomicBool>,
        reply: &mut Vec<u8>,
    ) -> Result<Progress, Refusal> {
        let turn = Turn {
            node,
            head: &work.head,
            tables: work.tables,
            token: WaitToken(waiter.as_ref().map_or(0, |waiter| waiter.token())),
            struck_out,
        };
        if turn.head.snapshot != Timestamp::MAX {
            node.clock().observe_peer(turn.head.snapshot)?;
        }
        if let Some(blocked) = self.stage(&turn, work.writes, reply)? {
            return Ok(Progress::Blocked(blocked));
        }
        if self.writes_done < work.writes.len() {
            // A write has stopped; the reply says so.
            return Ok(Progress::Done);
        }
        let blocked = match &work.then {
            Then::Nothing => {
                self.hold_once(&turn)?;
                None
            }
            Then::Read { table, lock, keys } => self.read(&turn, *table, *lock, *keys, reply)?,
            Then::Scan(scan) => self.scan(&turn, scan, reply)?,
            Then::Slice(slice) => self.slice(&turn, slice, reply)?,
            then @ (Then::Commit { .. } | Then::Prepare { .. } | Then::HomeCommit { .. }) => {
                return self.end(&turn, then, waiter, reply);
            }
        };
        Ok(match blocked {
            Some(blocked) => Progress::Blocked(blocked),
            None => {
                self.finish(&work.then, reply);
                Progress::Done
            }
        })
    }

    /// Makes sure that the head is checked even if there is nothing to do.
    pub(super) fn hold_once(&mut self, turn: &Turn<'_>) -> Result<(), Refusal> {
        if self.term == 0 {
            self.hold(turn)?;
        }
        Ok(())
    }

    fn hold<'n>(&mut self, turn: &Turn<'n>) -> Result<PartitionGuard<'n>, Refusal> {
        let head = turn.head;
        let Ok(mut guard) = turn.node.leader(head.partition) else {
            // A transaction that has joined has lost what it had; work that has only read may begin again elsewhere.
            let joined = if self.term == 0 { head.term } else { self.term };
            return Err(match head.transaction.is_some() && joined != 0 {
                true => turn.refusal_of_part(head.partition, joined),
                false => Refusal::NotLeader,
            });
        };
        if turn.struck_out.is_some_and(|struck_out| struck_out.load(Ordering::Acquire)) {
            return Err(Refusal::Lost);
        }
        let term = guard.leader_term();
        if self.term == 0
            && head.term == 0
            && head.transaction.is_some()
            && turn.node.is_handed_over(head.partition, || u64::from(head.joined_for_ms))
        {
            return Err(Refusal::NotLeader);
        }
        let (joined, staged) = if self.term == 0 { (head.term, head.staged) } else { (self.term, self.staged) };
        match head.transaction {
            Some(id) if !guard.has_part(id, joined, staged) => return Err(Refusal::Lost),
            Some(_) if turn.is_outdated(&guard) => return Err(Refusal::Lost),
            Some(id) if joined == 0 => guard.join(id)?,
            None if joined != 0 && joined != term => return Err(Refusal::Lost),
            _ => {}
        }
        if self.term != 0 {
            return Ok(guard);
        }
        if head.snapshot < guard.oldest_snapshot() {
            return Err(snapshot_too_old().into());
        }
        (self.term, self.staged) = (term, head.staged);
        Ok(guard)
    }

    fn stage(
        &mut self,
        turn: &Turn<'_>,
        writes: List<'_, Write<'_>>,
        reply: &mut Vec<u8>,
    ) -> Result<Option<Blocked>, Refusal> {
        while self.writes_done < writes.len() {
            let id =
                turn.head.transaction.ok_or_else(|| Error::unknown("internal: a write without a transaction"))?;
            let mut guard = self.hold(turn)?;
            for write in writes.iter().skip(self.writes_done).take(PER_HOLD) {
                check_frame(&guard, &write).map_err(|error| turn.blame(&guard, write.table, error))?;
                let stop = match stage(&mut guard, id, write, turn.token)? {
                    Step::Ready(Staged::Done) => {
                        self.staged += 1;
                        self.writes_done += 1;
                        continue;
                    }
                    Step::Ready(Staged::Skipped) => {
                        self.skipped.push(self.writes_done as u32);
                        self.writes_done += 1;
                        continue;
                    }
                    Step::Ready(Staged::NotFound) => WriteStop::NotFound,
                    Step::Ready(Staged::Duplicate { index, row }) => {
                        WriteStop::Duplicate { index, row: row.bytes() }
                    }
                    Step::Wait(blocked) => return Ok(Some(blocked)),
                };
                protocol::put_stopped(reply, self.term, self.staged, self.writes_done as u32, stop);
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn read(
        &mut self,
        turn: &Turn<'_>,
        table: TableId,
        lock: Option<LockRequest>,
        keys: List<'_, &[u8]>,
        reply: &mut Vec<u8>,
    ) -> Result<Option<Blocked>, Refusal> {
        self.begin_body(reply);
        let view = turn.view();
        while self.keys_done < keys.len() && reply.len() - self.start < REPLY_BYTES {
            let mut guard = self.hold(turn)?;
            let run = keys.iter().skip(self.keys_done).take(PER_HOLD);
            if run.clone().nth(KEYS_WARMED_MIN - 1).is_some() {
                guard.warm(table, run.clone());
            }
            for key in run {
                match guard.get(&view, table, key, lock)? {
                    Step::Ready(None) => {}
                    Step::Ready(Some(row)) => {
                        protocol::put_u32(reply, self.keys_done as u32);
                        protocol::put_bytes(reply, row.bytes());
                        self.rows += 1;
                    }
                    Step::Wait(blocked) => return Ok(Some(blocked)),
                }
                self.keys_done += 1;
                if reply.len() - self.start >= REPLY_BYTES {
                    break;
                }
            }
        }
        self.hold_once(turn)?;
        Ok(None)
    }

    fn scan(&mut self, turn: &Turn<'_>, scan: &Scan<'_>, reply: &mut Vec<u8>) -> Result<Option<Blocked>, Refusal> {
        self.begin_body(reply);
        let view = turn.view();
        let rows_max = scan.head.rows_max.clamp(1, ROWS_MAX);
        let mut ranges = scan.ranges.iter().skip(self.ranges_done);
        let mut paused = false;
        let mut pushed = WireFilter::read(scan.pushed)?;
        while self.rows < rows_max && self.visited < VISITED_MAX && !paused {
            let Some((start, end)) = ranges.clone().next() else { break };
            let mut cursor = match self.cursor.take() {
                Some(cursor) => cursor,
                None => self.begin_range(scan, start, end)?,
            };
            let mut guard = self.hold(turn)?;
            let (rows, visited, begin) = (&mut self.rows, &mut self.visited, self.start);
            // Rows that are looked at in vain are not counted beforehand, unless they are locked.
            let limit = match pushed.has_condition() && scan.head.lock.is_none() {
                true => PER_HOLD,
                false => ((rows_max - *rows) as usize).min(PER_HOLD),
            };
            let mut failure = None;
            let mut visit = |row: RowRef<'_>| {
                *visited += 1;
                if !pushed.passes(row) {
                    return if pushed.unlocks { VisitAnswer::ContinueUnlocked } else { VisitAnswer::Continue };
                }
                if let Err(error) = put_sized(reply, |reply| pushed.append(row, reply)) {
                    failure = Some(error);
                    return VisitAnswer::Stop;
                }
                *rows += 1;
                paused = reply.len() - begin >= REPLY_BYTES;
                if paused { VisitAnswer::Stop } else { VisitAnswer::Continue }
            };
            let step = match scan.head.lock.filter(|_| scan.head.looks) {
                Some(lock) => guard.look(&view, &mut cursor, lock, limit, &mut visit).map(Step::Ready),
                None => guard.scan(&view, &mut cursor, scan.head.lock, limit, &mut visit),
            };
            drop(guard);
            if let Some(error) = failure {
                return Err(error.into());
            }
            match step? {
                Step::Ready(ScanState::Done) if paused => {
                    cursor.resume();
                    self.cursor = Some(cursor);
                }
                Step::Ready(ScanState::Done) => {
                    self.ranges_done += 1;
                    ranges.next();
                }
                Step::Ready(ScanState::More) => self.cursor = Some(cursor),
                Step::Wait(blocked) => {
                    self.cursor = Some(cursor);
                    return Ok(Some(blocked));
                }
            }
        }
        self.hold_once(turn)?;
        Ok(None)
    }

    /// Cuts some bytes out of a row; they are the whole body, behind the head.
    fn slice(
        &mut self,
        turn: &Turn<'_>,
        wanted: &SliceOf<'_>,
        reply: &mut Vec<u8>,
    ) -> Result<Option<Blocked>, Refusal> {
        let mut guard = self.hold(turn)?;
        match guard.get(&turn.view(), wanted.table, wanted.key, wanted.lock)? {
            Step::Ready(row) => {
                reply.resize(self.start + HEAD_BYTES, 0);
                wanted.slice.of(row)?.put(reply);
                Ok(None)
            }
            Step::Wait(blocked) => Ok(Some(blocked)),
        }
    }

    fn begin_range(&self, scan: &Scan<'_>, start: &[u8], end: &[u8]) -> Result<Cursor> {
        let range = partition_range(&KeyRange { start: start.to_vec(), end: end.to_vec() });
        let cursor = Cursor::new(scan.head.table, scan.head.index, range, scan.head.direction);
        match self.ranges_done == 0 && !scan.place.is_empty() {
            true => cursor.with_place(scan.place),
            false => Ok(cursor),
        }
    }

    /// Leaves room for the head and, behind it, for two counts.
    fn begin_body(&mut self, reply: &mut Vec<u8>) {
        if !self.body_begun {
            self.body_begun = true;
            reply.resize(self.start + HEAD_BYTES + 8, 0);
        }
    }

    /// Fills in the head and the counts.
    pub(super) fn finish(&mut self, then: &Then<'_>, reply: &mut Vec<u8>) {
        let mut head = Vec::with_capacity(HEAD_BYTES + 8);
        protocol::put_done(&mut head, self.term, self.staged);
        let done = match then {
            Then::Read { .. } => self.keys_done,
            Then::Scan(_) => self.ranges_done,
            Then::Slice(_) => {
                reply[self.start..self.start + HEAD_BYTES].copy_from_slice(&head);
                return;
            }
            _ => {
                reply.truncate(self.start);
                reply.extend_from_slice(&head);
                if !self.skipped.is_empty() && matches!(then, Then::Nothing | Then::Commit { .. }) {
                    protocol::put_list(reply, self.skipped.iter().copied(), protocol::put_u32);
                }
                return;
            }
        };
        protocol::put_u32(&mut head, done as u32);
        protocol::put_u32(&mut head, self.rows);
        reply[self.start..self.start + head.len()].copy_from_slice(&head);
        if let Then::Scan(_) = then {
            let place_at = reply.len();
            protocol::put_u32(reply, 0);
            if let Some(cursor) = &self.cursor {
                cursor.append_place(reply);
                let length = (reply.len() - place_at - 4) as u32;
                reply[place_at..place_at + 4].copy_from_slice(&length.to_le_bytes());
            }
        }
    }
}

/// What a job works with between two waits.
pub(super) struct Turn<'n> {
    pub node: &'n Arc<Node>,
    pub head: &'n WorkHead,
    tables: List<'n, (u32, u32)>,
    token: WaitToken,
    struck_out: Option<&'n AtomicBool>,
}

impl Turn<'_> {
    /// Why nothing is done for a transaction that has joined the partition in this term, where this node does not serve now.
    pub fn refusal_of_part(&self, partition: u32, joined: u64) -> Refusal {
        let is_struck_out = self.struck_out.is_some_and(|struck_out| struck_out.load(Ordering::Acquire));
        match !is_struck_out && self.node.has_lapsed(partition, joined) {
            true => Refusal::Lapsed,
            false => Refusal::Lost,
        }
    }

    /// The transaction was planned by a definition that this partition has passed, or that it does not know yet.
    fn is_outdated(&self, partition: &Partition) -> bool {
        let passed = |(table, version): (u32, u32)| {
            partition.schema(TableId(table)).is_none_or(|present| present.version > version)
        };
        self.tables.iter().any(passed)
    }

    /// A row that does not fit is its sender's fault, unless that knows a newer version of the table than there is here yet. Who knows an
    /// older one has been refused before, and its rows could be read.
    fn blame(&self, partition: &Partition, table: TableId, error: Error) -> Error {
        let is_ahead = |(planned, version): (u32, u32)| {
            planned == table.0 && partition.schema(table).is_some_and(|present| present.version < version)
        };
        match self.tables.iter().any(is_ahead) {
            true => Error::unknown(error.message()),
            false => error,
        }
    }

    fn view(&self) -> ReadView {
        ReadView {
            snapshot: self.head.snapshot,
            transaction: self.head.transaction,
            own_writes_before: self.head.own_writes_before,
            token: self.token,
        }
    }
}

/// What `put` appends, behind its length.
fn put_sized(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    protocol::put_u32(out, 0);
    put(out)?;
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn snapshot_too_old() -> Error {
    let message =
        "Got temporary error: the snapshot is too old, versions that it needs are gone; restart the transaction";
    Error::new(ErrorCode::GetTemporaryErrmsg, message).rolling_back_transaction()
}
