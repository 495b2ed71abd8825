//! Replies.

use shoal_partition::{HomeOutcome, WaitEdge};
use shoal_types::{Error, ErrorCode, IndexId, NodeId, Outcome, Result, Timestamp, TransactionId};

use super::wire::*;

/// How work has ended.
#[derive(Clone, Debug)]
pub(crate) enum Status<'a> {
    /// All of it is done; what was read.
    Done(&'a [u8]),
    /// This one of the writes met a row (or none) and did nothing; those before it are staged, nothing came after it.
    Stopped(WriteStop<'a>),
    Failed(Error),
    /// The partition has no leader here; nothing was done. Who may lead it.
    NotLeader(Option<NodeId>),
    /// What the transaction had here is gone, or not what its coordinator takes it to be; nothing was done.
    Lost,
}

const DONE: u8 = 0;
const STOPPED: u8 = 1;
const FAILED: u8 = 2;
const NOT_LEADER: u8 = 3;
const LOST: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteStop<'a> {
    /// The row has the key of this unique index.
    Duplicate {
        index: IndexId,
        row: &'a [u8],
    },
    NotFound,
}

/// What every reply to work begins with.
#[derive(Clone, Debug)]
pub(crate) struct WorkReply<'a> {
    /// The term in which the transaction takes part here.
    pub term: u64,
    /// The writes it has staged here by now.
    pub staged: u32,
    /// If a write has stopped, its place among those of the request.
    pub stopped_at: u32,
    pub status: Status<'a>,
}

/// Begins a reply to work; what was read follows.
pub(crate) fn put_done(out: &mut Vec<u8>, term: u64, staged: u32) {
    put_reply(out, DONE, term, staged);
}

fn put_reply(out: &mut Vec<u8>, status: u8, term: u64, staged: u32) {
    out.push(status);
    put_u64(out, term);
    put_u32(out, staged);
}

pub(crate) fn put_stopped(out: &mut Vec<u8>, term: u64, staged: u32, number: u32, stop: WriteStop<'_>) {
    put_reply(out, STOPPED, term, staged);
    put_u32(out, number);
    match stop {
        WriteStop::Duplicate { index, row } => {
            out.push(1);
            put_u32(out, index.0);
            put_bytes(out, row);
        }
        WriteStop::NotFound => out.push(0),
    }
}

pub(crate) fn put_failed(out: &mut Vec<u8>, term: u64, staged: u32, error: &Error) {
    put_reply(out, FAILED, term, staged);
    put_error(out, error);
}

pub(crate) fn put_not_leader(out: &mut Vec<u8>, hint: Option<NodeId>) {
    put_reply(out, NOT_LEADER, 0, 0);
    put_u32(out, hint.map_or(0, |node| node.0));
}

pub(crate) fn put_lost(out: &mut Vec<u8>) {
    put_reply(out, LOST, 0, 0);
}

fn put_error(out: &mut Vec<u8>, error: &Error) {
    put_u32(out, u32::from(error.errno()));
    out.push(match error.outcome() {
        Outcome::NotCommitted => 0,
        Outcome::Committed => 1,
        Outcome::Unknown => 2,
    });
    out.push(u8::from(error.rolls_back_transaction()));
    put_bytes(out, error.message().as_bytes());
}

fn read_error(reader: &mut FrameReader<'_>) -> Result<Error> {
    let errno = u16::try_from(reader.u32()?).map_err(|_| malformed())?;
    let outcome = match reader.u8()? {
        0 => Outcome::NotCommitted,
        1 => Outcome::Committed,
        2 => Outcome::Unknown,
        _ => return Err(malformed()),
    };
    let rolls_back = reader.bool()?;
    let message = String::from_utf8_lossy(reader.bytes()?).into_owned();
    let code = ErrorCode::from_errno(errno).unwrap_or(ErrorCode::UnknownError);
    let error = Error::new(code, message).with_outcome(outcome);
    Ok(if rolls_back { error.rolling_back_transaction() } else { error })
}

impl<'a> WorkReply<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<WorkReply<'a>> {
        let mut reader = FrameReader::new(bytes);
        let status = reader.u8()?;
        let (term, staged) = (reader.u64()?, reader.u32()?);
        let mut stopped_at = 0;
        let status = match status {
            DONE => return Ok(WorkReply { term, staged, stopped_at, status: Status::Done(reader.rest()) }),
            STOPPED => {
                stopped_at = reader.u32()?;
                let stop = match reader.bool()? {
                    true => WriteStop::Duplicate { index: IndexId(reader.u32()?), row: reader.bytes()? },
                    false => WriteStop::NotFound,
                };
                Status::Stopped(stop)
            }
            FAILED => Status::Failed(read_error(&mut reader)?),
            NOT_LEADER => Status::NotLeader(Some(NodeId(reader.u32()?)).filter(|&node| node != NodeId(0))),
            LOST => Status::Lost,
            _ => return Err(malformed()),
        };
        reader.end()?;
        Ok(WorkReply { term, staged, stopped_at, status })
    }
}

/// The places of the writes that were skipped, from the body of a reply to work that only writes, or commits as well.
pub(crate) fn read_skipped(body: &[u8]) -> Result<Vec<u32>> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = FrameReader::new(body);
    let skipped: List<'_, u32> = reader.list()?;
    reader.end()?;
    Ok(skipped.iter().collect())
}

/// What a read found.
#[derive(Debug)]
pub(crate) struct FoundRows<'a> {
    /// Keys that were looked up; those behind them must be asked for again.
    pub keys_done: u32,
    /// Rows with the places of their keys in the request.
    pub rows: List<'a, (u32, &'a [u8])>,
}

impl<'a> FoundRows<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<FoundRows<'a>> {
        let mut reader = FrameReader::new(bytes);
        let found = FoundRows { keys_done: reader.u32()?, rows: reader.list()? };
        reader.end()?;
        Ok(found)
    }
}

/// What a scan found.
#[derive(Debug)]
pub(crate) struct ScannedRows<'a> {
    /// Ranges that are exhausted.
    pub ranges_done: u32,
    pub rows: List<'a, &'a [u8]>,
    /// Where to go on in the range behind those that are exhausted; empty: at its start.
    pub place: &'a [u8],
}

impl<'a> ScannedRows<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<ScannedRows<'a>> {
        let mut reader = FrameReader::new(bytes);
        let scanned = ScannedRows { ranges_done: reader.u32()?, rows: reader.list()?, place: reader.bytes()? };
        reader.end()?;
        Ok(scanned)
    }
}

pub(crate) fn put_edges(out: &mut Vec<u8>, edges: &[WaitEdge]) {
    put_list(out, edges.iter(), |out, edge| {
        put_u64(out, edge.waiter.0);
        put_u64(out, edge.blocker.0);
        put_u32(out, edge.is_held.into());
    });
}

pub(crate) fn read_edges(bytes: &[u8], edges: &mut Vec<WaitEdge>) -> Result<()> {
    let mut reader = FrameReader::new(bytes);
    let list: List<'_, (u64, (u64, u32))> = reader.list()?;
    reader.end()?;
    edges.extend(list.iter().map(|(waiter, (blocker, is_held))| WaitEdge {
        waiter: TransactionId(waiter),
        blocker: TransactionId(blocker),
        is_held: is_held != 0,
    }));
    Ok(())
}

pub(crate) fn read_timestamp(bytes: &[u8]) -> Result<Timestamp> {
    let mut reader = FrameReader::new(bytes);
    let timestamp = Timestamp(reader.u64()?);
    reader.end()?;
    Ok(timestamp)
}

/// Rows of a table in a partition, by the leader's count.
pub(crate) type TableRows = ((u32, u32), u64);

/// The answer to a pulse: the newest visible timestamp, and how many rows the tables have in the partitions led there.
#[derive(Debug)]
pub(crate) struct PulseReply<'a> {
    pub visible: Timestamp,
    /// Partition and table, rows.
    pub rows: List<'a, TableRows>,
}

pub(crate) fn put_pulse_reply(out: &mut Vec<u8>, visible: Timestamp, rows: impl Iterator<Item = TableRows>) {
    put_u64(out, visible.0);
    put_list(out, rows, |out, ((partition, table), rows)| {
        put_u32(out, partition);
        put_u32(out, table);
        put_u64(out, rows);
    });
}

impl<'a> PulseReply<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<PulseReply<'a>> {
        let mut reader = FrameReader::new(bytes);
        let reply = PulseReply { visible: Timestamp(reader.u64()?), rows: reader.list()? };
        reader.end()?;
        Ok(reply)
    }
}

pub(crate) fn put_ended(out: &mut Vec<u8>, transactions: impl Iterator<Item = u64>) {
    put_list(out, transactions, put_u64);
}

pub(crate) fn read_ended(bytes: &[u8]) -> Result<Vec<TransactionId>> {
    let mut reader = FrameReader::new(bytes);
    let list: List<'_, u64> = reader.list()?;
    reader.end()?;
    Ok(list.iter().map(TransactionId).collect())
}

/// The answer to a decision: it is applied, or it is not and somebody has to see to it again.
pub(crate) fn put_decided(out: &mut Vec<u8>, is_applied: bool) {
    out.push(u8::from(is_applied));
}

pub(crate) fn read_decided(bytes: &[u8]) -> Result<bool> {
    let mut reader = FrameReader::new(bytes);
    let is_applied = reader.bool()?;
    reader.end()?;
    Ok(is_applied)
}

/// The answer about an outcome; `None`: this node does not lead the home.
pub(crate) fn put_outcome(out: &mut Vec<u8>, outcome: Option<HomeOutcome>) {
    let (tag, timestamp) = match outcome {
        None => (0, Timestamp::ZERO),
        Some(HomeOutcome::Committed(timestamp)) => (1, timestamp),
        Some(HomeOutcome::InFlight) => (2, Timestamp::ZERO),
        Some(HomeOutcome::Aborted) => (3, Timestamp::ZERO),
    };
    out.push(tag);
    put_u64(out, timestamp.0);
}

pub(crate) fn read_outcome(bytes: &[u8]) -> Result<Option<HomeOutcome>> {
    let mut reader = FrameReader::new(bytes);
    let (tag, timestamp) = (reader.u8()?, Timestamp(reader.u64()?));
    reader.end()?;
    match tag {
        0 => Ok(None),
        1 => Ok(Some(HomeOutcome::Committed(timestamp))),
        2 => Ok(Some(HomeOutcome::InFlight)),
        3 => Ok(Some(HomeOutcome::Aborted)),
        _ => Err(malformed()),
    }
}
