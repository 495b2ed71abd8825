//! Packets out of a byte stream, decoded where they were received.

use std::ops::Range;

use super::{HEADER_SIZE, PAYLOAD_SIZE_MAX};

/// Why the stream cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// Errno 1156.
    OutOfOrder,
    /// Errno 1153: the payload would exceed the limit. Nothing was allocated for it.
    TooLarge,
    /// Errno 1157: what is compressed does not become what its header says.
    Spoilt,
}

impl std::fmt::Display for PacketError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            PacketError::OutOfOrder => "Got packets out of order",
            PacketError::TooLarge => "Got a packet bigger than 'max_allowed_packet' bytes",
            PacketError::Spoilt => "Couldn't uncompress communication packet",
        })
    }
}

impl std::error::Error for PacketError {}

/// The input buffer of a connection.
///
/// Invariant: `start <= filled <= bytes.len()`; `bytes[start..filled]` is received and not yet consumed. Of a continued
/// payload the first `joined` bytes there have already lost their headers.
#[derive(Debug, Default)]
pub struct PacketReader {
    bytes: Vec<u8>,
    start: usize,
    filled: usize,
    joined: usize,
    /// The sequence number that the next packet must carry.
    pub sequence: u8,
    /// Packets may carry any numbers: they lie in compressed packets, whose numbers count. MySQL's clients give theirs by that.
    pub takes_any_sequence: bool,
}

/// The least room that is offered to a read once there is a buffer.
const ROOM_MIN: usize = 1024;
/// Buffers that are as large do not grow by doubling any more, but by this part of theirs.
const LARGE_BYTES: usize = 16 << 20;
const LARGE_GROWTH_PART: usize = 4;

impl PacketReader {
    /// The next payload (of at most `limit` bytes), if it is there in full: where it lies in [`PacketReader::bytes`].
    pub fn next(&mut self, limit: usize) -> Result<Option<Range<usize>>, PacketError> {
        loop {
            let head = self.start + self.joined;
            let Some(header) = self.bytes[head..self.filled].first_chunk::<HEADER_SIZE>() else {
                return Ok(None);
            };
            let size = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            if header[3] != self.sequence {
                if !self.takes_any_sequence {
                    return Err(PacketError::OutOfOrder);
                }
                self.sequence = header[3];
            }
            if self.joined + size > limit {
                return Err(PacketError::TooLarge);
            }
            let body = head + HEADER_SIZE;
            if self.filled - body < size {
                return Ok(None);
            }
            self.sequence = self.sequence.wrapping_add(1);
            if self.joined == 0 && size < PAYLOAD_SIZE_MAX {
                self.start = body + size;
                return Ok(Some(body..self.start));
            }
            self.bytes.copy_within(body..self.filled, head);
            self.filled -= HEADER_SIZE;
            self.joined += size;
            if size < PAYLOAD_SIZE_MAX {
                let payload = self.start..self.start + self.joined;
                self.start = payload.end;
                self.joined = 0;
                return Ok(Some(payload));
            }
        }
    }

    /// The bytes of a payload that [`PacketReader::next`] found; valid until the next read.
    pub fn payload(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Nothing is received that was not consumed.
    pub fn is_empty(&self) -> bool {
        self.start == self.filled
    }

    pub fn is_larger_than(&self, bytes: usize) -> bool {
        self.bytes.len() > bytes
    }

    pub fn has_buffer(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Takes a buffer over; its whole length is room.
    pub fn give_buffer(&mut self, buffer: Vec<u8>) {
        debug_assert!(self.is_empty());
        self.bytes = buffer;
        (self.start, self.filled, self.joined) = (0, 0, 0);
    }

    /// Gives the buffer away. Only when nothing is left in it.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        debug_assert!(self.is_empty());
        (self.start, self.filled, self.joined) = (0, 0, 0);
        std::mem::take(&mut self.bytes)
    }

    /// Room to receive into. Grows with what has arrived, not with what a header promises.
    pub fn room(&mut self) -> &mut [u8] {
        if self.is_empty() {
            (self.start, self.filled) = (0, 0);
        } else if self.start > 0 && self.bytes.len() - self.filled < ROOM_MIN {
            self.bytes.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        let size = self.size_with_room();
        if size > self.bytes.len() {
            self.bytes.resize(size, 0);
        }
        &mut self.bytes[self.filled..]
    }

    /// Bytes that are taken while room is made: a buffer that grows is there twice until it is copied.
    pub fn bytes_for_room(&self) -> usize {
        match self.size_with_room() {
            size if size > self.bytes.len() => size + self.bytes.len(),
            size => size,
        }
    }

    /// Bytes that the buffer will have when there is room.
    fn size_with_room(&self) -> usize {
        let size = self.bytes.len();
        if size - (self.filled - self.start) >= ROOM_MIN {
            return size;
        }
        match size < LARGE_BYTES {
            true => (2 * size).max(4 * ROOM_MIN),
            false => size + size / LARGE_GROWTH_PART,
        }
    }

    /// `count` bytes were received into [`PacketReader::room`].
    pub fn received(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.bytes.len());
    }

    /// What was received and not consumed.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.filled]
    }

    /// The next `count` bytes, at most those that are there, are no packet.
    pub fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.filled);
    }

    /// What was received and not consumed. Nothing of it is left.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.bytes[self.start..self.filled].to_vec();
        (self.start, self.filled, self.joined) = (0, 0, 0);
        rest
    }

    /// Moves what was received and not consumed to the end of `other`.
    pub fn hand_over(&mut self, other: &mut PacketReader) {
        let rest = &self.bytes[self.start..self.filled];
        other.bytes.truncate(other.filled);
        other.bytes.extend_from_slice(rest);
        other.filled = other.bytes.len();
        self.start = self.filled;
    }
}
