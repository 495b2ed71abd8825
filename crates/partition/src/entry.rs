//! The log entries' format. Frozen: it lies on disk and goes to replicas.
//!
//! ```text
//! commit          1, transaction u64, commit timestamp u64, count u32, then count times:
//!                   1, table u32, length u32, row          put: the key is in the row
//!                   2, table u32, length u32, key          delete, as earlier versions wrote it
//!                   3, table u32, length u32, row          put, of a key that had no row
//!                   4, table u32, length u32, key, length u32, name
//!                                                          delete; the name is the primary key's columns as a row of their
//!                                                          own: what they are cannot be told from a key that sorts
//! create fragment 2, schema
//! drop fragment   3, table u32
//! alter fragment  4, schema
//! prepare         5, transaction u64, home partition u32, prepare timestamp u64, count u32, writes as in a commit
//! decide          6, transaction u64, 1, commit timestamp u64    commit
//!                 6, transaction u64, 2                          abort
//! home commit     7, transaction u64, commit timestamp u64, count u32, so many partitions u32,
//!                   count u32, writes as in a commit
//! forget          8, count u32, so many transactions u64
//! part            9, transaction u64, count u32, writes as in a commit
//! commit of parts 10, transaction u64, commit timestamp u64, count u32 of the writes in its parts
//! ```
//! Integers are little-endian. An empty entry opens a leader's term. Kinds 5 to 8 are the two-phase commit, see
//! `two_phase`; 9 and 10, see `large`. The log guards the bytes by checksums; decoding still checks every length.

use std::ops::Range;
use std::sync::Arc;

use shoal_types::{Error, PartitionId, Result, TableId, TableSchema, Timestamp, TransactionId};

use crate::decision::Decision;
use crate::workspace::{NO_ROW, NO_WRITE, Transaction};

const COMMIT: u8 = 1;
const CREATE_FRAGMENT: u8 = 2;
const DROP_FRAGMENT: u8 = 3;
const ALTER_FRAGMENT: u8 = 4;
const PREPARE: u8 = 5;
const DECIDE: u8 = 6;
const HOME_COMMIT: u8 = 7;
const FORGET: u8 = 8;
const PART: u8 = 9;
const COMMIT_OF_PARTS: u8 = 10;

const DECIDE_COMMIT: u8 = 1;
const DECIDE_ABORT: u8 = 2;

const PUT: u8 = 1;
const DELETE_BY_KEY: u8 = 2;
const INSERT: u8 = 3;
const DELETE: u8 = 4;

/// An entry by which a transaction of several partitions goes on. That it is forgotten is no such step.
pub(crate) fn is_of_two_phase(data: &[u8]) -> bool {
    matches!(data.first(), Some(&(PREPARE | DECIDE | HOME_COMMIT)))
}

/// When an entry commits or prepares, if it does.
pub(crate) fn timestamp_in(data: &[u8]) -> Option<Timestamp> {
    let at = match *data.first()? {
        COMMIT | HOME_COMMIT | COMMIT_OF_PARTS => 9,
        PREPARE => 13,
        DECIDE if data.get(9) == Some(&DECIDE_COMMIT) => 10,
        _ => return None,
    };
    data.get(at..)?.first_chunk().map(|bytes| Timestamp(u64::from_le_bytes(*bytes)))
}

#[derive(Debug, PartialEq)]
pub(crate) enum DecodedEntry<'a> {
    Empty,
    Commit { transaction: TransactionId, timestamp: Timestamp, writes: Vec<DecodedWrite<'a>> },
    CreateFragment(Arc<TableSchema>),
    DropFragment(TableId),
    AlterFragment(Arc<TableSchema>),
    Prepare(DecodedPrepare<'a>),
    Decide { transaction: TransactionId, decision: Decision },
    HomeCommit(DecodedHomeCommit<'a>),
    Forget(Vec<TransactionId>),
    Part { transaction: TransactionId, writes: Vec<DecodedWrite<'a>> },
    CommitOfParts { transaction: TransactionId, timestamp: Timestamp, writes: u32 },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedPrepare<'a> {
    pub(crate) transaction: TransactionId,
    pub(crate) home: PartitionId,
    pub(crate) timestamp: Timestamp,
    pub(crate) writes: Vec<DecodedWrite<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedHomeCommit<'a> {
    pub(crate) transaction: TransactionId,
    pub(crate) timestamp: Timestamp,
    pub(crate) participants: Vec<PartitionId>,
    pub(crate) writes: Vec<DecodedWrite<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodedWrite<'a> {
    /// `is_new`: surely there was no row with its key. Entries of earlier versions do not say so.
    Put { table: TableId, row: &'a [u8], is_new: bool },
    /// The name is empty in entries of earlier versions.
    Delete { table: TableId, key: &'a [u8], name: &'a [u8] },
}

/// What stands before the writes in a PREPARE, the longest; a commit of parts is shorter.
const WRITES_HEADER_BYTES_MAX: usize = 25;

/// The writes of a transaction that its commit would make, by their numbers.
fn final_writes(transaction: &Transaction) -> impl Iterator<Item = u32> + '_ {
    final_writes_in(transaction, 0..transaction.writes.len() as u32)
}

fn final_writes_in(transaction: &Transaction, range: Range<u32>) -> impl Iterator<Item = u32> + '_ {
    range.filter(|&number| {
        let write = &transaction.writes[number as usize];
        // A row that this transaction inserted and deleted again was never there.
        write.superseded_by == NO_WRITE && (write.row.is_some() || write.row_id != NO_ROW)
    })
}

/// Something is left to write.
pub(crate) fn has_final_writes(transaction: &Transaction) -> bool {
    final_writes(transaction).next().is_some()
}

/// What the entry with the transaction's writes takes at most, but for a home's list of participants.
pub(crate) fn commit_bytes_max(transaction: &Transaction) -> usize {
    match transaction.logged {
        0 => WRITES_HEADER_BYTES_MAX + measure(transaction, final_writes(transaction)).1,
        _ => WRITES_HEADER_BYTES_MAX,
    }
}

/// How many of these writes there are, and the bytes that they take.
fn measure(transaction: &Transaction, writes: impl Iterator<Item = u32>) -> (u32, usize) {
    writes.fold((0, 0), |(count, size), number| {
        let write = &transaction.writes[number as usize];
        let bytes = match &write.row {
            Some(row) => row.len(),
            None => transaction.key(number).len() + 4 + transaction.name(number).len(),
        };
        (count + 1, size + 9 + bytes)
    })
}

fn append_writes(transaction: &Transaction, count: u32, writes: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    out.extend_from_slice(&count.to_le_bytes());
    for number in writes {
        let write = &transaction.writes[number as usize];
        let (kind, bytes) = match &write.row {
            Some(row) if write.row_id == NO_ROW => (INSERT, &**row),
            Some(row) => (PUT, &**row),
            None => (DELETE, transaction.key(number)),
        };
        out.push(kind);
        out.extend_from_slice(&write.table.0.to_le_bytes());
        append_sized(bytes, out);
        if write.row.is_none() {
            append_sized(transaction.name(number), out);
        }
    }
}

fn append_sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The final writes of a transaction as one entry; `None` if nothing is left to write.
pub(crate) fn encode_commit(transaction: &Transaction, timestamp: Timestamp) -> Option<Vec<u8>> {
    let (count, size) = measure(transaction, final_writes(transaction));
    if count == 0 {
        return None;
    }
    let mut out = Vec::with_capacity(21 + size);
    out.push(COMMIT);
    out.extend_from_slice(&transaction.id.0.to_le_bytes());
    out.extend_from_slice(&timestamp.0.to_le_bytes());
    append_writes(transaction, count, final_writes(transaction), &mut out);
    Some(out)
}

/// The next writes for a part of about so many bytes: up to which number, how many, and what they take.
pub(crate) fn next_part(transaction: &Transaction, bytes_max: usize) -> (u32, u32, usize) {
    let end = transaction.writes.len() as u32;
    let (mut count, mut size) = (0, 0);
    for number in final_writes_in(transaction, transaction.logged..end) {
        if size >= bytes_max {
            return (number, count, size);
        }
        count += 1;
        size += measure(transaction, std::iter::once(number)).1;
    }
    (end, count, size)
}

/// The final writes in this range as a part of a commit to come.
pub(crate) fn encode_part(transaction: &Transaction, range: Range<u32>) -> Vec<u8> {
    let (count, size) = measure(transaction, final_writes_in(transaction, range.clone()));
    let mut out = Vec::with_capacity(13 + size);
    out.push(PART);
    out.extend_from_slice(&transaction.id.0.to_le_bytes());
    append_writes(transaction, count, final_writes_in(transaction, range), &mut out);
    out
}

/// The commit of a transaction all of whose writes are in parts before.
pub(crate) fn encode_commit_of_parts(transaction: TransactionId, timestamp: Timestamp, writes: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(21);
    out.push(COMMIT_OF_PARTS);
    out.extend_from_slice(&transaction.0.to_le_bytes());
    out.extend_from_slice(&timestamp.0.to_le_bytes());
    out.extend_from_slice(&writes.to_le_bytes());
    out
}

/// The final writes of a transaction to the tables that `has_table` knows, not decided yet.
pub(crate) fn encode_prepare(
    transaction: &Transaction,
    home: PartitionId,
    timestamp: Timestamp,
    has_table: impl Fn(TableId) -> bool,
) -> Vec<u8> {
    let writes =
        || final_writes(transaction).filter(|&number| has_table(transaction.writes[number as usize].table));
    let (count, size) = measure(transaction, writes());
    let mut out = Vec::with_capacity(25 + size);
    out.push(PREPARE);
    out.extend_from_slice(&transaction.id.0.to_le_bytes());
    out.extend_from_slice(&home.0.to_le_bytes());
    out.extend_from_slice(&timestamp.0.to_le_bytes());
    append_writes(transaction, count, writes(), &mut out);
    out
}

pub(crate) fn encode_decide(transaction: TransactionId, decision: Decision) -> Vec<u8> {
    let mut out = Vec::with_capacity(18);
    out.push(DECIDE);
    out.extend_from_slice(&transaction.0.to_le_bytes());
    match decision {
        Decision::Commit(timestamp) => {
            out.push(DECIDE_COMMIT);
            out.extend_from_slice(&timestamp.0.to_le_bytes());
        }
        Decision::Abort => out.push(DECIDE_ABORT),
    }
    out
}

/// The home partition's own writes (perhaps none) and the decision that all `participants` commit as well.
pub(crate) fn encode_home_commit(
    transaction: &Transaction,
    timestamp: Timestamp,
    participants: &[PartitionId],
) -> Vec<u8> {
    let (count, size) = measure(transaction, final_writes(transaction));
    let mut out = Vec::with_capacity(25 + 4 * participants.len() + size);
    out.push(HOME_COMMIT);
    out.extend_from_slice(&transaction.id.0.to_le_bytes());
    out.extend_from_slice(&timestamp.0.to_le_bytes());
    append_partitions(participants, &mut out);
    append_writes(transaction, count, final_writes(transaction), &mut out);
    out
}

pub(crate) fn append_partitions(partitions: &[PartitionId], out: &mut Vec<u8>) {
    out.extend_from_slice(&(partitions.len() as u32).to_le_bytes());
    for partition in partitions {
        out.extend_from_slice(&partition.0.to_le_bytes());
    }
}

pub(crate) fn encode_forget(transactions: &[TransactionId]) -> Vec<u8> {
    let mut out = Vec::with_capacity(5 + 8 * transactions.len());
    out.push(FORGET);
    out.extend_from_slice(&(transactions.len() as u32).to_le_bytes());
    for transaction in transactions {
        out.extend_from_slice(&transaction.0.to_le_bytes());
    }
    out
}

pub(crate) fn encode_create(schema: &TableSchema) -> Vec<u8> {
    with_kind(CREATE_FRAGMENT, &schema.encode())
}

pub(crate) fn encode_alter(schema: &TableSchema) -> Vec<u8> {
    with_kind(ALTER_FRAGMENT, &schema.encode())
}

pub(crate) fn encode_drop(table: TableId) -> Vec<u8> {
    with_kind(DROP_FRAGMENT, &table.0.to_le_bytes())
}

fn with_kind(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + body.len());
    out.push(kind);
    out.extend_from_slice(body);
    out
}

/// Takes fields off the front of bytes that may end too early.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(damaged)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let (head, rest) = self.bytes.split_first_chunk().ok_or_else(damaged)?;
        self.bytes = rest;
        Ok(u32::from_le_bytes(*head))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        let (head, rest) = self.bytes.split_first_chunk().ok_or_else(damaged)?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*head))
    }

    /// Bytes behind their u32 length.
    pub(crate) fn sized(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// Partitions behind their u32 count.
    pub(crate) fn partitions(&mut self) -> Result<Vec<PartitionId>> {
        let count = self.u32()? as usize;
        let bytes = self.take(count.checked_mul(4).ok_or_else(damaged)?)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers.iter().map(|&number| PartitionId(u32::from_le_bytes(number))).collect())
    }

    /// Nothing may follow.
    fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(damaged()) }
    }
}

pub(crate) fn damaged() -> Error {
    Error::unknown("a log entry or checkpoint block is damaged: its fields do not fit its length")
}

pub(crate) fn decode(data: &[u8]) -> Result<DecodedEntry<'_>> {
    let mut reader = Reader::new(data);
    if reader.is_empty() {
        return Ok(DecodedEntry::Empty);
    }
    match reader.byte()? {
        COMMIT => decode_commit(&mut reader),
        CREATE_FRAGMENT => Ok(DecodedEntry::CreateFragment(Arc::new(TableSchema::decode(&data[1..])?))),
        ALTER_FRAGMENT => Ok(DecodedEntry::AlterFragment(Arc::new(TableSchema::decode(&data[1..])?))),
        DROP_FRAGMENT => Ok(DecodedEntry::DropFragment(TableId(reader.u32()?))),
        PREPARE => {
            let entry = decode_prepare(&mut reader)?;
            reader.end()?;
            Ok(DecodedEntry::Prepare(entry))
        }
        DECIDE => decode_decide(&mut reader),
        HOME_COMMIT => decode_home_commit(&mut reader),
        FORGET => decode_forget(&mut reader),
        PART => {
            let (transaction, writes) = (TransactionId(reader.u64()?), decode_writes(&mut reader)?);
            reader.end()?;
            Ok(DecodedEntry::Part { transaction, writes })
        }
        COMMIT_OF_PARTS => {
            let (transaction, timestamp) = (TransactionId(reader.u64()?), Timestamp(reader.u64()?));
            let writes = reader.u32()?;
            reader.end()?;
            Ok(DecodedEntry::CommitOfParts { transaction, timestamp, writes })
        }
        kind => {
            Err(Error::unknown(format!("a log entry has the unknown kind {kind}: written by a newer version?")))
        }
    }
}

fn decode_commit<'a>(reader: &mut Reader<'a>) -> Result<DecodedEntry<'a>> {
    let (transaction, timestamp) = (TransactionId(reader.u64()?), Timestamp(reader.u64()?));
    Ok(DecodedEntry::Commit { transaction, timestamp, writes: decode_writes(reader)? })
}

fn decode_prepare<'a>(reader: &mut Reader<'a>) -> Result<DecodedPrepare<'a>> {
    Ok(DecodedPrepare {
        transaction: TransactionId(reader.u64()?),
        home: PartitionId(reader.u32()?),
        timestamp: Timestamp(reader.u64()?),
        writes: decode_writes(reader)?,
    })
}

fn decode_decide<'a>(reader: &mut Reader<'a>) -> Result<DecodedEntry<'a>> {
    let transaction = TransactionId(reader.u64()?);
    let decision = match reader.byte()? {
        DECIDE_COMMIT => Decision::Commit(Timestamp(reader.u64()?)),
        DECIDE_ABORT => Decision::Abort,
        _ => return Err(damaged()),
    };
    reader.end()?;
    Ok(DecodedEntry::Decide { transaction, decision })
}

fn decode_home_commit<'a>(reader: &mut Reader<'a>) -> Result<DecodedEntry<'a>> {
    let entry = DecodedHomeCommit {
        transaction: TransactionId(reader.u64()?),
        timestamp: Timestamp(reader.u64()?),
        participants: reader.partitions()?,
        writes: decode_writes(reader)?,
    };
    reader.end()?;
    Ok(DecodedEntry::HomeCommit(entry))
}

fn decode_forget<'a>(reader: &mut Reader<'a>) -> Result<DecodedEntry<'a>> {
    let count = reader.u32()? as usize;
    let bytes = reader.take(count.checked_mul(8).ok_or_else(damaged)?)?;
    reader.end()?;
    let (numbers, _) = bytes.as_chunks::<8>();
    Ok(DecodedEntry::Forget(numbers.iter().map(|&number| TransactionId(u64::from_le_bytes(number))).collect()))
}

fn decode_writes<'a>(reader: &mut Reader<'a>) -> Result<Vec<DecodedWrite<'a>>> {
    let count = reader.u32()?;
    let mut writes = Vec::with_capacity(count.min(1024) as usize);
    for _ in 0..count {
        writes.push(decode_write(reader)?);
    }
    Ok(writes)
}

#[inline]
fn decode_write<'a>(reader: &mut Reader<'a>) -> Result<DecodedWrite<'a>> {
    let kind = reader.byte()?;
    let table = TableId(reader.u32()?);
    let bytes = reader.sized()?;
    Ok(match kind {
        PUT | INSERT => DecodedWrite::Put { table, row: bytes, is_new: kind == INSERT },
        DELETE_BY_KEY => DecodedWrite::Delete { table, key: bytes, name: &[] },
        DELETE => DecodedWrite::Delete { table, key: bytes, name: reader.sized()? },
        _ => return Err(damaged()),
    })
}

/// These bytes are an entry, as far as that can be told without the tables. Costs a few nanoseconds a write.
pub(crate) fn check(data: &[u8]) -> Result<()> {
    let header_bytes = match data.first() {
        Some(&COMMIT) => 17,
        Some(&PART) => 9,
        Some(&PREPARE) => 21,
        _ => return decode(data).map(drop),
    };
    let mut reader = Reader::new(data);
    reader.take(header_bytes)?;
    for _ in 0..reader.u32()? {
        decode_write(&mut reader)?;
    }
    reader.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction() -> Transaction {
        let mut transaction = Transaction::new(TransactionId(7));
        transaction.stage(TableId(1), 10, b"a", Some(b"row a".as_slice().into()), NO_ROW, 0);
        transaction.stage_delete(TableId(1), 11, b"b", b"name b", 5);
        transaction.stage(TableId(2), 12, b"c", Some(b"row c".as_slice().into()), NO_ROW, 0);
        transaction.stage_delete(TableId(2), 12, b"c", b"name c", NO_ROW);
        transaction.stage(TableId(3), 13, b"d", Some(b"row d".as_slice().into()), 6, 0);
        transaction
    }

    const WRITES: [DecodedWrite<'static>; 3] = [
        DecodedWrite::Put { table: TableId(1), row: b"row a", is_new: true },
        DecodedWrite::Delete { table: TableId(1), key: b"b", name: b"name b" },
        DecodedWrite::Put { table: TableId(3), row: b"row d", is_new: false },
    ];

    #[test]
    fn a_commit_holds_the_final_writes_alone() {
        let data = encode_commit(&transaction(), Timestamp(99)).unwrap();
        let writes = WRITES.into();
        let expected = DecodedEntry::Commit { transaction: TransactionId(7), timestamp: Timestamp(99), writes };
        assert_eq!(decode(&data).unwrap(), expected);
        assert!(data.len() <= commit_bytes_max(&transaction()));
    }

    #[test]
    fn a_delete_of_an_earlier_version_has_no_name() {
        let mut data = vec![COMMIT];
        [7u64, 99].iter().for_each(|number| data.extend_from_slice(&number.to_le_bytes()));
        data.extend_from_slice(&[1, 0, 0, 0, DELETE_BY_KEY, 5, 0, 0, 0, 1, 0, 0, 0, b'k']);
        let writes = vec![DecodedWrite::Delete { table: TableId(5), key: b"k", name: &[] }];
        let expected = DecodedEntry::Commit { transaction: TransactionId(7), timestamp: Timestamp(99), writes };
        assert_eq!(decode(&data).unwrap(), expected);
    }

    #[test]
    fn the_entries_of_two_phase_commit_come_back_as_they_were_written() {
        let transaction = transaction();
        let prepare = encode_prepare(&transaction, PartitionId(4), Timestamp(99), |table| table != TableId(3));
        let expected = DecodedPrepare {
            transaction: TransactionId(7),
            home: PartitionId(4),
            timestamp: Timestamp(99),
            writes: WRITES[..2].iter().map(copy).collect(),
        };
        assert_eq!(decode(&prepare).unwrap(), DecodedEntry::Prepare(expected));
        for decision in [Decision::Commit(Timestamp(5)), Decision::Abort] {
            let expected = DecodedEntry::Decide { transaction: TransactionId(8), decision };
            assert_eq!(decode(&encode_decide(TransactionId(8), decision)).unwrap(), expected);
        }
        let participants = vec![PartitionId(1), PartitionId(9)];
        let home_commit = encode_home_commit(&transaction, Timestamp(100), &participants);
        let expected = DecodedHomeCommit {
            transaction: TransactionId(7),
            timestamp: Timestamp(100),
            participants,
            writes: WRITES.into(),
        };
        assert_eq!(decode(&home_commit).unwrap(), DecodedEntry::HomeCommit(expected));
        let forgotten = vec![TransactionId(3), TransactionId(u64::MAX)];
        assert_eq!(decode(&encode_forget(&forgotten)).unwrap(), DecodedEntry::Forget(forgotten));
    }

    fn copy(write: &DecodedWrite<'static>) -> DecodedWrite<'static> {
        match *write {
            DecodedWrite::Put { table, row, is_new } => DecodedWrite::Put { table, row, is_new },
            DecodedWrite::Delete { table, key, name } => DecodedWrite::Delete { table, key, name },
        }
    }

    #[test]
    fn an_entry_cut_short_anywhere_is_refused() {
        let transaction = transaction();
        let entries = [
            encode_commit(&transaction, Timestamp(99)).unwrap(),
            encode_prepare(&transaction, PartitionId(4), Timestamp(99), |_| true),
            encode_decide(TransactionId(8), Decision::Commit(Timestamp(5))),
            encode_decide(TransactionId(8), Decision::Abort),
            encode_home_commit(&transaction, Timestamp(100), &[PartitionId(1), PartitionId(9)]),
            encode_forget(&[TransactionId(3), TransactionId(4)]),
            encode_part(&transaction, 0..3),
        ];
        for data in entries {
            check(&data).unwrap();
            for length in 1..data.len() {
                assert!(decode(&data[..length]).is_err(), "{length} of {} bytes of {data:?}", data.len());
                assert!(check(&data[..length]).is_err(), "{length} of {} bytes of {data:?}", data.len());
            }
            assert!(check(&[&data[..], b"x"].concat()).is_err());
        }
    }

    #[test]
    fn counts_beyond_the_entry_are_refused() {
        for mut data in [encode_forget(&[]), encode_home_commit(&transaction(), Timestamp(1), &[])] {
            let count = data.len().min(21) - 4;
            data[count..count + 4].copy_from_slice(&u32::MAX.to_le_bytes());
            assert!(decode(&data).is_err());
        }
    }
}
