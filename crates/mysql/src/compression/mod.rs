//! The compressed protocol: packets of the stream, or parts of several, inside packets of its own.
//!
//! A compressed packet has seven bytes before its contents: their length (3 bytes), a sequence number of its own (1), and the length that
//! they have when they are uncompressed (3), which is 0 for contents that are as they are. Every packet is a zlib stream or a zstd frame by
//! itself, so contexts are a worker's, not a connection's ([`Codecs`]), and a connection that is idle has none.
//!
//! Bytes go in and come out here; sockets are the stream's. Limits: a length beyond the largest packet is refused when the header is
//! read, contents are kept as they arrive, and uncompressed straight into the room of whoever reads.

mod codecs;
mod inflow;
mod outflow;
#[cfg(test)]
mod tests;
mod worth;

pub use codecs::{Algorithm, Codecs, Method};

use std::rc::Rc;

use crate::packet::PacketError;
use inflow::Inflow;
use outflow::Outflow;

const HEADER_SIZE: usize = 7;

/// One connection's side of it.
#[derive(Debug)]
pub struct Compression {
    codecs: Rc<Codecs>,
    inflow: Inflow,
    outflow: Outflow,
    /// The number of the next packet, whoever sends it.
    sequence: u8,
    /// The largest payload of a packet that is taken.
    packet_size_max: usize,
}

impl Compression {
    /// `is_local`: the client is on this machine.
    pub fn new(method: Method, codecs: Rc<Codecs>, is_local: bool) -> Compression {
        Compression {
            codecs,
            inflow: Inflow::new(method.algorithm),
            outflow: Outflow::new(method, is_local),
            sequence: 0,
            packet_size_max: 0,
        }
    }

    /// A command may come, of at most this size.
    pub fn expect_command(&mut self, packet_size_max: usize) {
        self.packet_size_max = packet_size_max;
        if self.inflow.is_between_packets() {
            self.sequence = 0;
        }
    }

    /// The number of the next packet, either way.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Room for what the socket has.
    pub fn room(&mut self) -> &mut [u8] {
        self.inflow.room(&self.codecs)
    }

    /// `count` bytes are in the room.
    pub fn received(&mut self, count: usize) {
        self.inflow.received(count);
    }

    /// Bytes that are kept of packets which are not there in full.
    pub fn held_bytes(&self) -> usize {
        self.inflow.held_bytes()
    }

    /// Uncompressed bytes; 0: more must be received first.
    ///
    /// # Errors
    /// The stream cannot go on.
    pub fn read(&mut self, plain: &mut [u8]) -> Result<usize, PacketError> {
        self.inflow.read(plain, &mut self.sequence, self.packet_size_max, &self.codecs)
    }

    /// Nothing comes for now: an empty buffer goes back.
    pub fn rest(&mut self) {
        self.inflow.rest(&self.codecs);
    }

    /// Takes bytes to be sent; 0: what waits must be sent first.
    ///
    /// `line`: the nanoseconds that the line takes for a byte when so many are sent at a time; `None`: not known.
    pub fn write(&mut self, plain: &[u8], line: impl FnOnce(usize) -> Option<f32>) -> usize {
        self.outflow.write(plain, line, &mut self.sequence, &self.codecs)
    }

    /// What is unsent is not taken.
    pub fn note_wait(&mut self) {
        self.outflow.note_wait();
    }

    pub fn unsent(&self) -> &[u8] {
        self.outflow.unsent()
    }

    pub fn sent(&mut self, count: usize) {
        self.outflow.sent(count, &self.codecs);
    }
}
