//! A batch: the records that survive a crash together or not at all.

use crate::error::LogError;
use crate::format::{BATCH_LIMIT_BYTES, LAST_OF_BATCH, Lsn, RECORD_HEADER_BYTES, u32_at, u64_at};

/// A batch that grew beyond this gives its memory back.
const KEPT_BYTES: usize = 4 << 20;
/// Buffers double until they have grown to this, and then take no more than they need: a large record is mostly alone.
pub(crate) const DOUBLED_BYTES_MAX: usize = 4 << 20;

fn reserve_for(bytes: &mut Vec<u8>, more: usize) {
    match bytes.len() + more > DOUBLED_BYTES_MAX {
        true => bytes.reserve_exact(more),
        false => bytes.reserve(more),
    }
}

/// What a record says about itself. The log gives no meaning to any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// The group (a partition's Raft group) that the record belongs to.
    pub group: u64,
    /// What the record is; the caller's.
    pub kind: u8,
    /// Its place in the group's own log; the caller's.
    pub index: u64,
    /// The group's term in which it was made; the caller's.
    pub term: u64,
}

/// A record as recovery shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// As the header that it was appended with.
    pub group: u64,
    /// As the header that it was appended with.
    pub kind: u8,
    /// As the header that it was appended with.
    pub index: u64,
    /// As the header that it was appended with.
    pub term: u64,
    /// The bytes that were appended.
    pub payload: &'a [u8],
    /// Where the record starts in the log: it may be cut once the low water is beyond this.
    pub lsn: Lsn,
    /// True for the last record of a batch.
    pub ends_batch: bool,
}

/// Records to be appended as one atomic unit. Meant to be cleared and used again, so that appending
/// allocates nothing.
#[derive(Debug, Default)]
pub struct LogBatch {
    bytes: Vec<u8>,
    last_record: usize,
    records: u32,
}

impl LogBatch {
    /// An empty batch.
    pub fn new() -> LogBatch {
        LogBatch::default()
    }

    /// Adds one record.
    pub fn push(&mut self, header: RecordHeader, payload: &[u8]) {
        self.push_parts(header, &[payload]);
    }

    /// Adds one record whose payload is the concatenation of `parts`.
    pub fn push_parts(&mut self, header: RecordHeader, parts: &[&[u8]]) {
        let payload_bytes: usize = parts.iter().map(|part| part.len()).sum();
        self.last_record = self.bytes.len();
        self.records = self.records.saturating_add(1);
        reserve_for(&mut self.bytes, RECORD_HEADER_BYTES + payload_bytes);
        self.bytes.extend_from_slice(&header.group.to_le_bytes());
        self.bytes.extend_from_slice(&header.index.to_le_bytes());
        self.bytes.extend_from_slice(&header.term.to_le_bytes());
        // A length beyond 32 bits makes the batch too large, which `encoded` refuses.
        let length = u32::try_from(payload_bytes).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(&[header.kind, 0, 0, 0]);
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
    }

    /// Adds all records of another batch behind the records of this one.
    pub fn extend_from(&mut self, other: &LogBatch) {
        if other.is_empty() {
            return;
        }
        self.last_record = self.bytes.len() + other.last_record;
        self.records = self.records.saturating_add(other.records);
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Forgets the records and keeps the memory, unless a large batch has made it grow.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        self.records = 0;
        self.last_record = 0;
    }

    /// It has no records.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Records that were pushed since it was empty.
    pub fn record_count(&self) -> u32 {
        self.records
    }

    /// The bytes that the batch takes in the log.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Copies the encoded records behind `target`, the last one marked as the end of the batch.
    pub(crate) fn copy_to(&self, target: &mut Vec<u8>) {
        let start = target.len();
        target.extend_from_slice(&self.bytes);
        target[start + self.last_record + 29] |= LAST_OF_BATCH;
    }

    pub(crate) fn check_size(&self) -> Result<(), LogError> {
        if self.bytes.len() > BATCH_LIMIT_BYTES {
            return Err(LogError::BatchTooLarge {
                bytes: self.bytes.len() as u64,
                limit: BATCH_LIMIT_BYTES as u64,
            });
        }
        Ok(())
    }
}

/// Splits the body of a frame into records. `None` instead of a record means that the body does not
/// hold what its header promised.
pub(crate) struct Records<'a> {
    pub body: &'a [u8],
    pub lsn: Lsn,
    pub remaining: u32,
}

impl<'a> Records<'a> {
    pub fn next_record(&mut self) -> Option<RecordRef<'a>> {
        self.remaining = self.remaining.checked_sub(1)?;
        let body = self.body;
        let length = u32_at(body, 24)? as usize;
        let end = RECORD_HEADER_BYTES.checked_add(length)?;
        let record = RecordRef {
            group: u64_at(body, 0)?,
            index: u64_at(body, 8)?,
            term: u64_at(body, 16)?,
            kind: *body.get(28)?,
            ends_batch: *body.get(29)? & LAST_OF_BATCH != 0,
            payload: body.get(RECORD_HEADER_BYTES..end)?,
            lsn: self.lsn,
        };
        self.body = &body[end..];
        self.lsn = self.lsn.plus(end as u64);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(index: u64) -> RecordHeader {
        RecordHeader { group: 3, kind: 4, index, term: 5 }
    }

    #[test]
    fn records_come_back_as_they_were_pushed_and_the_last_ends_the_batch() {
        let mut batch = LogBatch::new();
        batch.push(header(1), b"one");
        let mut second = LogBatch::new();
        second.push_parts(header(2), &[b"tw", b"", b"o"]);
        batch.extend_from(&second);
        batch.extend_from(&LogBatch::new());
        let mut bytes = Vec::new();
        batch.copy_to(&mut bytes);
        let mut records = Records { body: &bytes, lsn: Lsn(100), remaining: batch.record_count() };
        let mut seen = Vec::new();
        while let Some(record) = records.next_record() {
            seen.push((record.index, record.payload.to_vec(), record.lsn, record.ends_batch));
        }
        assert_eq!(seen, vec![(1, b"one".to_vec(), Lsn(100), false), (2, b"two".to_vec(), Lsn(135), true)]);
    }

    #[test]
    fn a_large_record_takes_its_own_length_and_leaves_nothing_behind() {
        let mut batch = LogBatch::new();
        batch.push(header(1), &vec![7; 16 << 20]);
        assert!(batch.bytes.capacity() < 17 << 20, "{}", batch.bytes.capacity());
        let mut pending = crate::pending::Pending::new(Lsn(0));
        pending.push(&batch);
        let mut taken = std::collections::VecDeque::new();
        pending.take(&mut taken);
        assert!(taken[0].bytes.capacity() < 17 << 20, "{}", taken[0].bytes.capacity());
        batch.clear();
        assert_eq!(batch.bytes.capacity(), 0);
    }

    #[test]
    fn a_body_that_is_too_short_for_its_records_ends_early() {
        let mut batch = LogBatch::new();
        batch.push(header(1), b"one");
        let mut bytes = Vec::new();
        batch.copy_to(&mut bytes);
        for length in 0..bytes.len() {
            let mut records = Records { body: &bytes[..length], lsn: Lsn(0), remaining: 1 };
            assert_eq!(records.next_record(), None, "{length} bytes");
        }
    }
}
