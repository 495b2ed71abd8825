//! The log's file format, to the byte. All numbers are little-endian.
//!
//! The log is one stream of bytes. A position in it is an [`Lsn`]; it counts frame bytes only, so that it
//! says nothing about files. The stream lies in segment files `<sequence, 16 hex digits>.log`. Sequence
//! numbers have no gaps. A segment's file is filled with zeros (or with the frames of the segment that it
//! was before, when it is recycled) before it gets its name.
//!
//! **Segment header**: 4096 bytes at the start of the file, of which 64 are used.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic `SHOALLOG` |
//! | 8..12 | format version (2: frames at sectors; 1: at multiples of 8) |
//! | 12..16 | crc32c of bytes 0..12 and 16..64 |
//! | 16..24 | log id: a number chosen at random when the log is created |
//! | 24..32 | sequence number of the segment |
//! | 32..64 | zero |
//!
//! **Frame**: what one flush writes: one or more whole batches. It starts at a multiple of 512.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | magic `SHLF` |
//! | 4..8 | crc32c of log id, segment sequence (8 bytes each) and bytes 8.. of the frame |
//! | 8..12 | length of the frame with header and padding; a multiple of 512 |
//! | 12..16 | number of records |
//! | 16..24 | LSN of the frame's first byte |
//! | 24..32 | every byte of the stream before this LSN was durable when the frame was written |
//! | 32.. | records, then zeros up to a multiple of 512 |
//!
//! **Record**
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | group id |
//! | 8..16 | index |
//! | 16..24 | term |
//! | 24..28 | length of the payload |
//! | 28 | kind |
//! | 29 | flags: 1 = last record of its batch |
//! | 30..32 | zero |
//! | 32.. | payload |
//!
//! Why it is so:
//! - One crc over the whole frame makes every batch in it atomic: all its records survive or none.
//! - The log id and the sequence number in the crc make every frame of another log or of the file's
//!   former life invalid, whatever a recycled file still holds; nobody who does not know the log id can
//!   forge a frame inside a payload.
//! - The durable position in each frame tells a torn tail from a damaged middle: a bad frame at `x` is
//!   damage exactly when some frame behind it says that everything beyond `x` was durable. Otherwise
//!   everything from `x` on was never reported durable, and may be cut.

/// A position in the log's stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Where every log begins.
    pub const ZERO: Lsn = Lsn(0);

    /// The position `bytes` further on.
    #[must_use]
    pub fn plus(self, bytes: u64) -> Lsn {
        Lsn(self.0 + bytes)
    }

    /// How many bytes lie between `earlier` and this position.
    pub fn bytes_since(self, earlier: Lsn) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl std::fmt::Display for Lsn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// The number of a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentSequence(pub u64);

impl SegmentSequence {
    pub fn next(self) -> SegmentSequence {
        SegmentSequence(self.0 + 1)
    }

    pub fn file_name(self) -> String {
        format!("{:016x}.log", self.0)
    }

    pub fn temporary_name(self) -> String {
        format!("{:016x}.log.tmp", self.0)
    }

    /// The inverse of [`SegmentSequence::file_name`].
    pub fn from_file_name(name: &str) -> Option<SegmentSequence> {
        let digits = name.strip_suffix(".log")?;
        if digits.len() != 16 {
            return None;
        }
        let number = u64::from_str_radix(digits, 16).ok()?;
        (SegmentSequence(number).file_name() == name).then_some(SegmentSequence(number))
    }
}

pub(crate) const FORMAT_VERSION: u32 = 2;
/// A page of its own, so that no write of a frame touches the sector of the header.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = 4096;
pub(crate) const FRAME_HEADER_BYTES: usize = 32;
/// What a record takes in the log besides its payload.
pub const RECORD_HEADER_BYTES: usize = 32;
/// A sector: no flush writes to a sector that another one has written, so that two may be at it at a time, past the page cache.
pub(crate) const FRAME_ALIGNMENT: usize = 512;
/// A frame is closed and the next one begun when it has grown to this.
pub(crate) const FRAME_SOFT_LIMIT_BYTES: usize = 16 << 20;
/// The largest batch, and so (with the soft limit) the largest frame: its length fits in 32 bits.
pub const BATCH_LIMIT_BYTES: usize = 1 << 30;
const _: () =
    assert!(BATCH_LIMIT_BYTES + FRAME_SOFT_LIMIT_BYTES + FRAME_HEADER_BYTES + FRAME_ALIGNMENT < u32::MAX as usize);

const SEGMENT_MAGIC: &[u8; 8] = b"SHOALLOG";
const SEGMENT_HEADER_USED_BYTES: usize = 64;
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"SHLF";
pub(crate) const LAST_OF_BATCH: u8 = 1;

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The crc of a block whose own crc field, bytes 12..16, is left out.
pub(crate) fn header_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..])
}

pub(crate) fn encode_segment_header(log_id: u64, sequence: SegmentSequence) -> Vec<u8> {
    let mut bytes = vec![0; SEGMENT_HEADER_BYTES as usize];
    bytes[..8].copy_from_slice(SEGMENT_MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&log_id.to_le_bytes());
    bytes[24..32].copy_from_slice(&sequence.0.to_le_bytes());
    let crc = header_crc(&bytes[..SEGMENT_HEADER_USED_BYTES]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// What is wrong with a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    Damaged(&'static str),
    Version(u32),
}

/// Reads a segment header: the log id and the sequence number.
pub(crate) fn decode_segment_header(bytes: &[u8]) -> Result<(u64, SegmentSequence), HeaderFault> {
    let damaged = HeaderFault::Damaged;
    let used =
        bytes.get(..SEGMENT_HEADER_USED_BYTES).ok_or(damaged("the file is shorter than a segment header"))?;
    if &used[..8] != SEGMENT_MAGIC {
        return Err(damaged("this is not a log segment"));
    }
    if u32_at(used, 12) != Some(header_crc(used)) {
        return Err(damaged("the checksum of the segment header does not match"));
    }
    match u32_at(used, 8) {
        Some(FORMAT_VERSION) => {}
        version => return Err(HeaderFault::Version(version.unwrap_or(0))),
    }
    match (u64_at(used, 16), u64_at(used, 24)) {
        (Some(log_id), Some(sequence)) => Ok((log_id, SegmentSequence(sequence))),
        _ => Err(damaged("the file is shorter than a segment header")),
    }
}

/// The fixed part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub crc: u32,
    pub length: u32,
    pub records: u32,
    pub lsn: Lsn,
    pub durable_before: Lsn,
}

impl FrameHeader {
    /// Reads the header if it could be one; the crc is not checked.
    pub fn decode(bytes: &[u8]) -> Option<FrameHeader> {
        if bytes.get(..4)? != FRAME_MAGIC {
            return None;
        }
        let header = FrameHeader {
            crc: u32_at(bytes, 4)?,
            length: u32_at(bytes, 8)?,
            records: u32_at(bytes, 12)?,
            lsn: Lsn(u64_at(bytes, 16)?),
            durable_before: Lsn(u64_at(bytes, 24)?),
        };
        let length = header.length as usize;
        (length >= FRAME_HEADER_BYTES && length.is_multiple_of(FRAME_ALIGNMENT)).then_some(header)
    }
}

/// The start value of the crc of every frame of one segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameSeed(u32);

impl FrameSeed {
    pub fn new(log_id: u64, sequence: SegmentSequence) -> FrameSeed {
        let crc = crc32c::crc32c(&log_id.to_le_bytes());
        FrameSeed(crc32c::crc32c_append(crc, &sequence.0.to_le_bytes()))
    }

    pub fn crc(self, frame: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, &frame[8..])
    }
}

/// Completes a frame in place: `frame` holds room for the header, the records and the padding.
pub(crate) fn seal_frame(frame: &mut [u8], seed: FrameSeed, records: u32, lsn: Lsn, durable_before: Lsn) {
    let length = frame.len() as u32;
    frame[..4].copy_from_slice(&FRAME_MAGIC);
    frame[8..12].copy_from_slice(&length.to_le_bytes());
    frame[12..16].copy_from_slice(&records.to_le_bytes());
    frame[16..24].copy_from_slice(&lsn.0.to_le_bytes());
    frame[24..32].copy_from_slice(&durable_before.0.to_le_bytes());
    let crc = seed.crc(frame);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_header_round_trips_and_every_flipped_bit_is_seen() {
        let bytes = encode_segment_header(7, SegmentSequence(9));
        assert_eq!(decode_segment_header(&bytes), Ok((7, SegmentSequence(9))));
        for bit in 0..SEGMENT_HEADER_USED_BYTES * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_segment_header(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_format_is_named_and_not_called_damage() {
        let mut bytes = encode_segment_header(7, SegmentSequence(9));
        bytes[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
        let crc = header_crc(&bytes[..SEGMENT_HEADER_USED_BYTES]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(decode_segment_header(&bytes), Err(HeaderFault::Version(FORMAT_VERSION + 1)));
    }

    #[test]
    fn only_names_that_we_would_write_are_segments() {
        let name = SegmentSequence(0xab).file_name();
        assert_eq!(SegmentSequence::from_file_name(&name), Some(SegmentSequence(0xab)));
        for other in ["ab.log", "+0000000000000ab.log", "00000000000000AB.log", "LOCK"] {
            assert_eq!(SegmentSequence::from_file_name(other), None, "{other}");
        }
    }

    #[test]
    fn a_frame_of_another_log_or_segment_has_another_checksum() {
        let seal = |log_id, sequence| {
            let mut frame = vec![0; FRAME_HEADER_BYTES];
            frame.extend_from_slice(b"abc");
            frame.resize(FRAME_ALIGNMENT, 0);
            let seed = FrameSeed::new(log_id, SegmentSequence(sequence));
            seal_frame(&mut frame, seed, 0, Lsn(16), Lsn(8));
            FrameHeader::decode(&frame).map(|header| (header.crc, header.length))
        };
        assert_eq!(seal(1, 1).map(|(_, length)| length), Some(FRAME_ALIGNMENT as u32));
        assert_ne!(seal(1, 1), seal(1, 2));
        assert_ne!(seal(1, 1), seal(2, 1));
    }
}
