//! Packets into one reusable output buffer, written by a single system call.

use super::{HEADER_SIZE, PAYLOAD_SIZE_MAX};

/// The output buffer of a connection. Payloads are appended to what [`PacketWriter::begin`] returns, up to
/// [`PacketWriter::end`]; the header's place is kept free and filled in at the end.
#[derive(Debug, Default)]
pub struct PacketWriter {
    bytes: Vec<u8>,
    /// Bytes at the front that the socket has taken.
    sent: usize,
    /// Where the header of the open packet lies.
    open: usize,
    /// The sequence number of the next packet.
    pub sequence: u8,
}

impl PacketWriter {
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.open = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_SIZE]);
        &mut self.bytes
    }

    pub fn end(&mut self) {
        let size = self.bytes.len() - self.open - HEADER_SIZE;
        if size >= PAYLOAD_SIZE_MAX {
            return self.end_large(size);
        }
        self.write_header(self.open, size);
    }

    /// Forgets the open packet.
    pub fn abandon(&mut self) {
        self.bytes.truncate(self.open);
    }

    fn write_header(&mut self, at: usize, size: usize) {
        let header = (size as u32) | u32::from(self.sequence) << 24;
        self.bytes[at..at + HEADER_SIZE].copy_from_slice(&header.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Splits a payload that does not fit one packet: moves its parts apart, the last one first.
    fn end_large(&mut self, size: usize) {
        let body = self.open + HEADER_SIZE;
        let full_parts = size / PAYLOAD_SIZE_MAX;
        self.bytes.resize(self.bytes.len() + full_parts * HEADER_SIZE, 0);
        for part in (1..=full_parts).rev() {
            let from = body + part * PAYLOAD_SIZE_MAX;
            let until = (from + PAYLOAD_SIZE_MAX).min(body + size);
            self.bytes.copy_within(from..until, from + part * HEADER_SIZE);
        }
        for part in 0..=full_parts {
            let at = self.open + part * (HEADER_SIZE + PAYLOAD_SIZE_MAX);
            self.write_header(at, PAYLOAD_SIZE_MAX.min(size - part * PAYLOAD_SIZE_MAX));
        }
    }

    /// A packet whose payload is at hand.
    pub fn packet(&mut self, payload: &[u8]) {
        self.begin().extend_from_slice(payload);
        self.end();
    }

    /// Finished packets that wait to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// The socket took `count` bytes.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.bytes.len() {
            self.sent = 0;
            self.bytes.clear();
        }
    }

    pub fn has_buffer(&self) -> bool {
        self.bytes.capacity() > 0
    }

    pub fn give_buffer(&mut self, buffer: Vec<u8>) {
        debug_assert!(self.bytes.is_empty());
        self.bytes = buffer;
    }

    /// Gives the buffer away. Only when everything was sent.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        debug_assert!(self.bytes.is_empty());
        std::mem::take(&mut self.bytes)
    }
}

/// A length-encoded integer.
pub fn append_length(out: &mut Vec<u8>, length: u64) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            let [low, high] = (length as u16).to_le_bytes();
            out.extend_from_slice(&[0xfc, low, high]);
        }
        0x1_0000..=0xff_ffff => {
            let [low, middle, high, _] = (length as u32).to_le_bytes();
            out.extend_from_slice(&[0xfd, low, middle, high]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

/// A string with its length-encoded size before it.
pub fn append_length_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    append_length(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
