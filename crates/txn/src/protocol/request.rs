//! Requests.

use shoal_partition::{Direction, LockRequest, SavepointMark};
use shoal_types::{IndexId, Result, TableId, Timestamp, TransactionId};

use super::follow::Follow;
use super::kinds::*;
use super::lock::{put_lock, read_lock};
use super::slice::SliceOf;
use super::wire::*;

/// A request, borrowed from its frame.
#[derive(Debug)]
pub(crate) enum Request<'a> {
    Work(Work<'a>),
    /// Let go of the locks of these rows; no reply.
    Unlock {
        partition: u32,
        transaction: TransactionId,
        table: TableId,
        keys: List<'a, &'a [u8]>,
    },
    /// Take back the writes since the marks, partition by partition; no reply.
    RollBackTo {
        transaction: TransactionId,
        marks: List<'a, (u32, u32)>,
    },
    /// End the transaction's part in these partitions without its writes; no reply.
    RollBack {
        transaction: TransactionId,
        partitions: List<'a, u32>,
    },
    /// Who waits for whom.
    WaitEdges,
    /// What is the newest visible timestamp? The asker reads no snapshot before `horizon` any more.
    Pulse {
        horizon: Timestamp,
    },
    /// The newest visible timestamp, if all these partitions are led there; else 0.
    Visible {
        partitions: List<'a, u32>,
    },
    /// Apply what a transaction's home has decided: commit at this timestamp; `None`: abort.
    Decide {
        partition: u32,
        transaction: TransactionId,
        commit: Option<Timestamp>,
    },
    /// What has this home decided? A transaction that it has not heard of again is rolled back first.
    OutcomeOf {
        home: u32,
        transaction: TransactionId,
    },
    /// These participants have applied the decision; and the coordinator will not ask any more. No reply.
    Confirm {
        home: u32,
        transaction: TransactionId,
        coordinator: bool,
        participants: List<'a, u32>,
    },
    /// Which of these transactions of the node asked have ended?
    EndedAmong {
        transactions: List<'a, u64>,
    },
    /// What has been committed behind a place in a partition's log?
    Follow(Follow<'a>),
}

/// Writes to be staged, and what is to be done then, all in one partition.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub head: WorkHead,
    /// The tables that the transaction uses, and the versions of their definitions that it was planned by. Empty for
    /// work that neither locks nor writes.
    pub tables: List<'a, (u32, u32)>,
    pub writes: List<'a, Write<'a>>,
    pub then: Then<'a>,
}

/// For whom and in what state of the world work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkHead {
    pub partition: u32,
    /// `None` for a read that neither locks nor has writes of its own to see.
    pub transaction: Option<TransactionId>,
    /// The leader's term when the transaction joined; 0: it joins now.
    pub term: u64,
    /// The writes it has staged here so far.
    pub staged: u32,
    /// What a read without a lock sees.
    pub snapshot: Timestamp,
    pub own_writes_before: SavepointMark,
    pub lock_wait_ms: u32,
    /// How long ago the transaction joined its first partition, in milliseconds; 0: it has joined none.
    pub joined_for_ms: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Insert = 1,
    Update = 2,
    Delete = 3,
    /// A [`ChangeOfRow`](crate::interpret::ChangeOfRow) where the row lies; skipped if there is none that it concerns.
    Change = 4,
    /// Behind the primary key the row, inserted or in place of the one that has the key.
    Put = 5,
    /// Skipped if there is no row.
    DeleteIfThere = 6,
}

/// A row, or the primary key of the row that goes; or as the kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write<'a> {
    pub kind: WriteKind,
    pub table: TableId,
    pub bytes: &'a [u8],
}

impl<'a> Item<'a> for Write<'a> {
    fn read(reader: &mut FrameReader<'a>) -> Result<Write<'a>> {
        let kind = match reader.u8()? {
            1 => WriteKind::Insert,
            2 => WriteKind::Update,
            3 => WriteKind::Delete,
            4 => WriteKind::Change,
            5 => WriteKind::Put,
            6 => WriteKind::DeleteIfThere,
            _ => return Err(malformed()),
        };
        Ok(Write { kind, table: TableId(reader.u32()?), bytes: reader.bytes()? })
    }
}

#[derive(Debug)]
pub(crate) enum Then<'a> {
    Nothing,
    Read {
        table: TableId,
        lock: Option<LockRequest>,
        keys: List<'a, &'a [u8]>,
    },
    Scan(Scan<'a>),
    Slice(SliceOf<'a>),
    /// Commit in this partition and in others that share its log, each with the transaction's term and writes there; the
    /// sequences that the transaction has used, with their next values.
    Commit {
        others: List<'a, Part>,
        sequences: List<'a, (u32, u64)>,
    },
    /// Prepare, to be committed or aborted as `home` decides.
    Prepare {
        home: u32,
    },
    /// Commit, at a timestamp later than `after`, and so decide for these participants, which are prepared.
    HomeCommit {
        after: Timestamp,
        participants: List<'a, u32>,
        sequences: List<'a, (u32, u64)>,
    },
}

/// What a transaction has in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub partition: u32,
    pub term: u64,
    pub staged: u32,
}

impl<'a> Item<'a> for Part {
    fn read(reader: &mut FrameReader<'a>) -> Result<Part> {
        Ok(Part { partition: reader.u32()?, term: reader.u64()?, staged: reader.u32()? })
    }
}

/// A scan over ranges, from a place in the first of them on.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    pub head: ScanHead,
    /// A [`WireFilter`](crate::interpret::WireFilter).
    pub pushed: &'a [u8],
    /// Start and exclusive end; empty: unbounded.
    pub ranges: List<'a, (&'a [u8], &'a [u8])>,
    /// As the reply before gave it; empty at the start of a range.
    pub place: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanHead {
    pub table: TableId,
    pub index: IndexId,
    pub direction: Direction,
    pub lock: Option<LockRequest>,
    /// Nothing is locked yet: the rows are wanted that a scan with this lock would come to.
    pub looks: bool,
    pub rows_max: u32,
}

const SCAN_BACKWARD: u8 = 1;
const SCAN_LOOKS: u8 = 2;

/// Begins a work frame: its head, its tables and its writes. One of the `put_then_` functions must follow.
pub(crate) fn put_work<'w>(
    out: &mut Vec<u8>,
    head: &WorkHead,
    tables: impl Iterator<Item = (u32, u32)>,
    writes: impl Iterator<Item = Write<'w>>,
) {
    out.push(WORK);
    put_u32(out, head.partition);
    put_u64(out, head.transaction.map_or(0, |id| id.0));
    put_u64(out, head.term);
    put_u32(out, head.staged);
    put_u64(out, head.snapshot.0);
    put_u32(out, head.own_writes_before.0);
    put_u32(out, head.lock_wait_ms);
    put_u32(out, head.joined_for_ms);
    put_list(out, tables, |out, (table, version)| {
        put_u32(out, table);
        put_u32(out, version);
    });
    put_list(out, writes, |out, write| {
        out.push(write.kind as u8);
        put_u32(out, write.table.0);
        put_bytes(out, write.bytes);
    });
}

pub(crate) fn put_then_nothing(out: &mut Vec<u8>) {
    out.push(NOTHING);
}

pub(crate) fn put_then_read<'k>(
    out: &mut Vec<u8>,
    table: TableId,
    lock: Option<LockRequest>,
    keys: impl Iterator<Item = &'k [u8]>,
) {
    out.push(READ);
    put_u32(out, table.0);
    put_lock(out, lock);
    put_list(out, keys, put_bytes);
}

pub(crate) fn put_then_scan<'k>(
    out: &mut Vec<u8>,
    head: &ScanHead,
    pushed: impl FnOnce(&mut Vec<u8>),
    ranges: impl Iterator<Item = (&'k [u8], &'k [u8])>,
    place: &[u8],
) {
    out.push(SCAN);
    put_u32(out, head.table.0);
    put_u32(out, head.index.0);
    let backward = if head.direction == Direction::Backward { SCAN_BACKWARD } else { 0 };
    out.push(backward | if head.looks { SCAN_LOOKS } else { 0 });
    put_lock(out, head.lock);
    put_u32(out, head.rows_max);
    let filter_at = out.len();
    put_u32(out, 0);
    pushed(out);
    let filter_bytes = (out.len() - filter_at - 4) as u32;
    out[filter_at..filter_at + 4].copy_from_slice(&filter_bytes.to_le_bytes());
    put_list(out, ranges, |out, (start, end)| {
        put_bytes(out, start);
        put_bytes(out, end);
    });
    put_bytes(out, place);
}

pub(crate) fn put_then_commit(
    out: &mut Vec<u8>,
    others: impl Iterator<Item = Part>,
    sequences: impl Iterator<Item = (TableId, u64)>,
) {
    out.push(COMMIT);
    put_list(out, others, |out, part| {
        put_u32(out, part.partition);
        put_u64(out, part.term);
        put_u32(out, part.staged);
    });
    put_sequences(out, sequences);
}

fn put_sequences(out: &mut Vec<u8>, sequences: impl Iterator<Item = (TableId, u64)>) {
    put_list(out, sequences, |out, (table, next)| {
        put_u32(out, table.0);
        put_u64(out, next);
    });
}

pub(crate) fn put_then_prepare(out: &mut Vec<u8>, home: u32) {
    out.push(PREPARE);
    put_u32(out, home);
}

pub(crate) fn put_then_home_commit(
    out: &mut Vec<u8>,
    after: Timestamp,
    participants: impl Iterator<Item = u32>,
    sequences: impl Iterator<Item = (TableId, u64)>,
) {
    out.push(HOME_COMMIT);
    put_u64(out, after.0);
    put_list(out, participants, put_u32);
    put_sequences(out, sequences);
}

pub(crate) fn put_decide(
    out: &mut Vec<u8>,
    partition: u32,
    transaction: TransactionId,
    commit: Option<Timestamp>,
) {
    out.push(DECIDE);
    put_u32(out, partition);
    put_u64(out, transaction.0);
    put_u64(out, commit.map_or(0, |timestamp| timestamp.0));
}

pub(crate) fn put_outcome_of(out: &mut Vec<u8>, home: u32, transaction: TransactionId) {
    out.push(OUTCOME_OF);
    put_u32(out, home);
    put_u64(out, transaction.0);
}

pub(crate) fn put_confirm(
    out: &mut Vec<u8>,
    home: u32,
    transaction: TransactionId,
    coordinator: bool,
    participants: impl Iterator<Item = u32>,
) {
    out.push(CONFIRM);
    put_u32(out, home);
    put_u64(out, transaction.0);
    out.push(u8::from(coordinator));
    put_list(out, participants, put_u32);
}

pub(crate) fn put_unlock<'k>(
    out: &mut Vec<u8>,
    partition: u32,
    transaction: TransactionId,
    table: TableId,
    keys: impl Iterator<Item = &'k [u8]>,
) {
    out.push(UNLOCK);
    put_u32(out, partition);
    put_u64(out, transaction.0);
    put_u32(out, table.0);
    put_list(out, keys, put_bytes);
}

pub(crate) fn put_roll_back_to(
    out: &mut Vec<u8>,
    transaction: TransactionId,
    marks: impl Iterator<Item = (u32, SavepointMark)>,
) {
    out.push(ROLL_BACK_TO);
    put_u64(out, transaction.0);
    put_list(out, marks, |out, (partition, mark)| {
        put_u32(out, partition);
        put_u32(out, mark.0);
    });
}

pub(crate) fn put_roll_back(out: &mut Vec<u8>, transaction: TransactionId, partitions: impl Iterator<Item = u32>) {
    out.push(ROLL_BACK);
    put_u64(out, transaction.0);
    put_list(out, partitions, put_u32);
}

pub(crate) fn put_wait_edges(out: &mut Vec<u8>) {
    out.push(WAIT_EDGES);
}

pub(crate) fn put_pulse(out: &mut Vec<u8>, horizon: Timestamp) {
    out.push(PULSE);
    put_u64(out, horizon.0);
}

pub(crate) fn put_visible(out: &mut Vec<u8>, partitions: impl Iterator<Item = u32>) {
    out.push(VISIBLE);
    put_list(out, partitions, put_u32);
}

pub(crate) fn put_ended_among(out: &mut Vec<u8>, transactions: impl Iterator<Item = TransactionId>) {
    out.push(ENDED_AMONG);
    put_list(out, transactions, |out, id| put_u64(out, id.0));
}

impl<'a> Request<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Request<'a>> {
        let mut reader = FrameReader::new(bytes);
        let request = match reader.u8()? {
            WORK => Request::Work(Work::read(&mut reader)?),
            UNLOCK => Request::Unlock {
                partition: reader.u32()?,
                transaction: TransactionId(reader.u64()?),
                table: TableId(reader.u32()?),
                keys: reader.list()?,
            },
            ROLL_BACK_TO => {
                Request::RollBackTo { transaction: TransactionId(reader.u64()?), marks: reader.list()? }
            }
            ROLL_BACK => {
                Request::RollBack { transaction: TransactionId(reader.u64()?), partitions: reader.list()? }
            }
            WAIT_EDGES => Request::WaitEdges,
            PULSE => Request::Pulse { horizon: Timestamp(reader.u64()?) },
            VISIBLE => Request::Visible { partitions: reader.list()? },
            DECIDE => Request::Decide {
                partition: reader.u32()?,
                transaction: TransactionId(reader.u64()?),
                commit: Some(Timestamp(reader.u64()?)).filter(|&timestamp| timestamp != Timestamp::ZERO),
            },
            OUTCOME_OF => Request::OutcomeOf { home: reader.u32()?, transaction: TransactionId(reader.u64()?) },
            CONFIRM => Request::Confirm {
                home: reader.u32()?,
                transaction: TransactionId(reader.u64()?),
                coordinator: reader.bool()?,
                participants: reader.list()?,
            },
            ENDED_AMONG => Request::EndedAmong { transactions: reader.list()? },
            FOLLOW => Request::Follow(Follow::read(&mut reader)?),
            _ => return Err(malformed()),
        };
        reader.end()?;
        Ok(request)
    }
}

impl<'a> Work<'a> {
    fn read(reader: &mut FrameReader<'a>) -> Result<Work<'a>> {
        let head = WorkHead {
            partition: reader.u32()?,
            transaction: Some(TransactionId(reader.u64()?)).filter(|&id| id != TransactionId(0)),
            term: reader.u64()?,
            staged: reader.u32()?,
            snapshot: Timestamp(reader.u64()?),
            own_writes_before: SavepointMark(reader.u32()?),
            lock_wait_ms: reader.u32()?,
            joined_for_ms: reader.u32()?,
        };
        Ok(Work { head, tables: reader.list()?, writes: reader.list()?, then: Then::read(reader)? })
    }
}

impl<'a> Then<'a> {
    fn read(reader: &mut FrameReader<'a>) -> Result<Then<'a>> {
        Ok(match reader.u8()? {
            NOTHING => Then::Nothing,
            READ => Then::Read { table: TableId(reader.u32()?), lock: read_lock(reader)?, keys: reader.list()? },
            SCAN => {
                let (table, index) = (TableId(reader.u32()?), IndexId(reader.u32()?));
                let flags = reader.u8()?;
                if flags & !(SCAN_BACKWARD | SCAN_LOOKS) != 0 {
                    return Err(malformed());
                }
                let head = ScanHead {
                    table,
                    index,
                    direction: match flags & SCAN_BACKWARD {
                        0 => Direction::Forward,
                        _ => Direction::Backward,
                    },
                    lock: read_lock(reader)?,
                    looks: flags & SCAN_LOOKS != 0,
                    rows_max: reader.u32()?,
                };
                Then::Scan(Scan { head, pushed: reader.bytes()?, ranges: reader.list()?, place: reader.bytes()? })
            }
            SLICE => Then::Slice(SliceOf::read(reader)?),
            PREPARE => Then::Prepare { home: reader.u32()? },
            HOME_COMMIT => Then::HomeCommit {
                after: Timestamp(reader.u64()?),
                participants: reader.list()?,
                sequences: reader.list()?,
            },
            COMMIT => Then::Commit { others: reader.list()?, sequences: reader.list()? },
            _ => return Err(malformed()),
        })
    }
}
