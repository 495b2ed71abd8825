//! The log entries' format. Frozen: it lies on disk and goes to replicas.
//!
//! ```text
//! commit          1, transaction u64, commit timestamp u64, count u32, then count times:
//!                   1, table u32, length u32, row          put: the key is in the row
//!                   2, table u32, length u32, key          delete
//! create fragment 2, schema
//! drop fragment   3, table u32
//! alter fragment  4, schema
//! ```
//! Integers are little-endian. An empty entry opens a leader's term. Kinds 5 and 6 are kept for the two-phase commit
//! between partitions of different logs. The log guards the bytes by checksums; decoding still checks every length.

use std::sync::Arc;

use shoal_types::{Error, Result, TableId, TableSchema, Timestamp};

use crate::workspace::{NO_ROW, NO_WRITE, Transaction};

const COMMIT: u8 = 1;
const CREATE_FRAGMENT: u8 = 2;
const DROP_FRAGMENT: u8 = 3;
const ALTER_FRAGMENT: u8 = 4;

const PUT: u8 = 1;
const DELETE: u8 = 2;

#[derive(Debug)]
pub(crate) enum DecodedEntry<'a> {
    Empty,
    Commit { timestamp: Timestamp, writes: Vec<DecodedWrite<'a>> },
    CreateFragment(Arc<TableSchema>),
    DropFragment(TableId),
    AlterFragment(Arc<TableSchema>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodedWrite<'a> {
    Put { table: TableId, row: &'a [u8] },
    Delete { table: TableId, key: &'a [u8] },
}

/// The final writes of a transaction as one entry; `None` if nothing is left to write.
pub(crate) fn encode_commit(transaction: &Transaction, timestamp: Timestamp) -> Option<Vec<u8>> {
    let final_writes = || {
        (0..transaction.writes.len() as u32).filter(|&number| {
            let write = &transaction.writes[number as usize];
            // A row that this transaction inserted and deleted again was never there.
            write.superseded_by == NO_WRITE && (write.row.is_some() || write.row_id != NO_ROW)
        })
    };
    let (mut count, mut size) = (0u32, 21);
    for number in final_writes() {
        let bytes = transaction.writes[number as usize].row.as_deref().unwrap_or(transaction.key(number));
        count += 1;
        size += 9 + bytes.len();
    }
    if count == 0 {
        return None;
    }
    let mut out = Vec::with_capacity(size);
    out.push(COMMIT);
    out.extend_from_slice(&transaction.id.0.to_le_bytes());
    out.extend_from_slice(&timestamp.0.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    for number in final_writes() {
        let write = &transaction.writes[number as usize];
        let (kind, bytes) = match &write.row {
            Some(row) => (PUT, &**row),
            None => (DELETE, transaction.key(number)),
        };
        out.push(kind);
        out.extend_from_slice(&write.table.0.to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }
    Some(out)
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
        kind => {
            Err(Error::unknown(format!("a log entry has the unknown kind {kind}: written by a newer version?")))
        }
    }
}

fn decode_commit<'a>(reader: &mut Reader<'a>) -> Result<DecodedEntry<'a>> {
    // The transaction's id is for people and tools that read logs.
    reader.u64()?;
    let timestamp = Timestamp(reader.u64()?);
    let count = reader.u32()?;
    let mut writes = Vec::with_capacity(count.min(1024) as usize);
    for _ in 0..count {
        let kind = reader.byte()?;
        let table = TableId(reader.u32()?);
        let bytes = reader.sized()?;
        writes.push(match kind {
            PUT => DecodedWrite::Put { table, row: bytes },
            DELETE => DecodedWrite::Delete { table, key: bytes },
            _ => return Err(damaged()),
        });
    }
    Ok(DecodedEntry::Commit { timestamp, writes })
}

#[cfg(test)]
mod tests {
    use shoal_types::TransactionId;

    use super::*;

    fn transaction() -> Transaction {
        let mut transaction = Transaction::new(TransactionId(7));
        transaction.stage(TableId(1), 10, b"a", Some(b"row a".as_slice().into()), NO_ROW, 0);
        transaction.stage(TableId(1), 11, b"b", None, 5, 0);
        transaction.stage(TableId(2), 12, b"c", Some(b"row c".as_slice().into()), NO_ROW, 0);
        transaction.stage(TableId(2), 12, b"c", None, NO_ROW, 0);
        transaction
    }

    #[test]
    fn a_commit_holds_the_final_writes_alone() {
        let data = encode_commit(&transaction(), Timestamp(99)).unwrap();
        let DecodedEntry::Commit { timestamp, writes } = decode(&data).unwrap() else {
            panic!("not a commit");
        };
        assert_eq!(timestamp, Timestamp(99));
        let expected = [
            DecodedWrite::Put { table: TableId(1), row: b"row a" },
            DecodedWrite::Delete { table: TableId(1), key: b"b" },
        ];
        assert_eq!(writes, expected);
    }

    #[test]
    fn a_commit_cut_short_anywhere_is_refused() {
        let data = encode_commit(&transaction(), Timestamp(99)).unwrap();
        for length in 1..data.len() {
            assert!(decode(&data[..length]).is_err(), "{length} of {} bytes", data.len());
        }
    }
}
