//! Compressed packets to the bytes that are in them.

use super::HEADER_SIZE;
use super::codecs::{Algorithm, Codecs, Decompressor};
use crate::packet::PacketError;

/// The least room that is offered to a read.
const ROOM_MIN: usize = 1024;
/// A packet may hold as much besides its largest payload: headers, and small packets that go with it.
const BESIDE_PAYLOAD: usize = 64 << 10;

/// Invariant: `start <= filled <= bytes.len()`; `bytes[start..filled]` is received and not consumed.
#[derive(Debug)]
pub struct Inflow {
    algorithm: Algorithm,
    bytes: Vec<u8>,
    start: usize,
    filled: usize,
    open: Option<Open>,
}

/// A packet whose header is read: bytes of it that are left.
#[derive(Debug)]
enum Open {
    AsIs { left: usize },
    Compressed { left: usize, plain_left: usize, decompressor: Option<Decompressor> },
}

impl Inflow {
    pub fn new(algorithm: Algorithm) -> Inflow {
        Inflow { algorithm, bytes: Vec::new(), start: 0, filled: 0, open: None }
    }

    pub fn is_between_packets(&self) -> bool {
        self.open.is_none()
    }

    pub fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Grows with what has arrived, not with what a header promises.
    pub fn room(&mut self, codecs: &Codecs) -> &mut [u8] {
        if self.bytes.capacity() == 0 {
            self.bytes = codecs.lend_buffer();
        }
        if self.start == self.filled {
            (self.start, self.filled) = (0, 0);
        }
        if self.bytes.capacity() - self.filled < ROOM_MIN && self.start > 0 {
            self.bytes.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        let size = self.bytes.capacity().max(self.filled + ROOM_MIN);
        self.bytes.resize(size, 0);
        &mut self.bytes[self.filled..]
    }

    pub fn received(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.bytes.len());
    }

    pub fn rest(&mut self, codecs: &Codecs) {
        if self.start == self.filled {
            (self.start, self.filled) = (0, 0);
            codecs.take_back_buffer(std::mem::take(&mut self.bytes));
        }
    }

    pub fn read(
        &mut self,
        plain: &mut [u8],
        sequence: &mut u8,
        packet_size_max: usize,
        codecs: &Codecs,
    ) -> Result<usize, PacketError> {
        while !plain.is_empty() {
            let received = &self.bytes[self.start..self.filled];
            match &mut self.open {
                None => {
                    let Some(&[a, b, c, number, x, y, z]) = received.first_chunk::<HEADER_SIZE>() else {
                        return Ok(0);
                    };
                    let left = u32::from_le_bytes([a, b, c, 0]) as usize;
                    let plain_left = u32::from_le_bytes([x, y, z, 0]) as usize;
                    let is_expected = number == *sequence;
                    *sequence = number.wrapping_add(1);
                    if !is_expected {
                        return Err(PacketError::OutOfOrder);
                    }
                    if left.max(plain_left) > packet_size_max.saturating_add(BESIDE_PAYLOAD) {
                        return Err(PacketError::TooLarge);
                    }
                    self.start += HEADER_SIZE;
                    self.open = Some(match plain_left {
                        0 => Open::AsIs { left },
                        _ => Open::Compressed { left, plain_left, decompressor: None },
                    });
                }
                Some(Open::AsIs { left: 0 }) => self.open = None,
                Some(Open::AsIs { left }) => {
                    let count = (*left).min(received.len()).min(plain.len());
                    plain[..count].copy_from_slice(&received[..count]);
                    *left -= count;
                    self.start += count;
                    if *left == 0 {
                        self.open = None;
                    }
                    return Ok(count);
                }
                Some(Open::Compressed { left, plain_left, decompressor }) => {
                    // All of it or nothing: a context is in use for a moment only.
                    let Some(compressed) = received.get(..*left) else { return Ok(0) };
                    if decompressor.is_none() {
                        *decompressor = codecs.decompressor(self.algorithm);
                    }
                    let Some(running) = decompressor else { return Err(PacketError::Spoilt) };
                    // One byte more than was promised is one too many.
                    let (room, mut beyond) = ((*plain_left).min(plain.len()), [0; 1]);
                    let into = if *plain_left == 0 { &mut beyond[..] } else { &mut plain[..room] };
                    let progress = running.step(compressed, into).ok_or(PacketError::Spoilt)?;
                    if progress.produced > *plain_left
                        || progress.consumed + progress.produced == 0 && !progress.is_end
                    {
                        return Err(PacketError::Spoilt);
                    }
                    *left -= progress.consumed;
                    *plain_left -= progress.produced;
                    self.start += progress.consumed;
                    if progress.is_end {
                        if *left > 0 || *plain_left > 0 {
                            return Err(PacketError::Spoilt);
                        }
                        if let Some(done) = decompressor.take() {
                            codecs.take_back(done);
                        }
                        self.open = None;
                    }
                    if progress.produced > 0 {
                        return Ok(progress.produced);
                    }
                }
            }
        }
        Ok(0)
    }
}
