//! Packets: a 3-byte length, a sequence number, and up to 16 MiB - 1 bytes of payload.
//!
//! A longer payload goes on in further packets; one that ends exactly at a full packet is closed by an empty one.
//! Reading and writing are sans-IO: buffers in, buffers out, no sockets.

mod payload;
mod reader;
mod writer;

pub use payload::{Malformed, Payload};
pub use reader::{PacketError, PacketReader};
pub use writer::{PacketWriter, append_length, append_length_bytes};

/// The largest payload of one packet; a packet of this size is continued by the next.
pub const PAYLOAD_SIZE_MAX: usize = 0xff_ffff;
pub const HEADER_SIZE: usize = 4;

#[cfg(test)]
mod tests;
