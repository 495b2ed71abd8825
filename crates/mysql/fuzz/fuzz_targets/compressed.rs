//! The compressed protocol over any bytes: what arrives, in pieces of any size, never panics, never becomes more than the packets' headers
//! promise, and takes no more memory than has arrived; what is written is read back.
//!
//! The modules are those of the crate, which keeps them to itself.

#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../src/compression/mod.rs"]
mod compression;
#[path = "../../src/packet/mod.rs"]
mod packet;

use std::rc::Rc;

use compression::{Algorithm, Codecs, Compression, Method};
use libfuzzer_sys::fuzz_target;
use packet::{PacketError, PacketReader};

/// The largest payload that is taken: small enough for inputs to go beyond it.
const LIMIT: usize = 10_000;
/// Buffers that are lent, and room that is offered beyond what is there.
const BESIDE_ARRIVED: usize = 20 << 10;

fn side(method: Method, codecs: &Rc<Codecs>, is_local: bool) -> Compression {
    let mut side = Compression::new(method, Rc::clone(codecs), is_local);
    side.expect_command(LIMIT);
    side
}

/// All that comes out of `wire`, and why it does not go on.
fn read_all(from: &mut Compression, wire: &[u8], piece: usize) -> (Vec<u8>, Option<PacketError>) {
    let (mut plain, mut room) = (Vec::new(), [0; 777]);
    for mut bytes in wire.chunks(piece) {
        while !bytes.is_empty() {
            let free = from.room();
            let count = free.len().min(bytes.len());
            free[..count].copy_from_slice(&bytes[..count]);
            from.received(count);
            bytes = &bytes[count..];
        }
        assert!(from.held_bytes() <= 2 * wire.len() + BESIDE_ARRIVED);
        loop {
            match from.read(&mut room) {
                Ok(0) => break,
                Ok(count) => plain.extend_from_slice(&room[..count]),
                Err(error) => return (plain, Some(error)),
            }
        }
        from.rest();
    }
    (plain, None)
}

/// The most that the headers of compressed packets promise: no frame is smaller than its header.
fn promised(wire: &[u8]) -> usize {
    let largest = LIMIT + (64 << 10);
    (wire.len() / 7 + 1) * largest
}

fn write_all(into: &mut Compression, plain: &[u8]) -> Vec<u8> {
    let (mut wire, mut rest) = (Vec::new(), plain);
    while !rest.is_empty() {
        match into.write(rest, |_| None) {
            0 => {
                assert!(!into.unsent().is_empty());
                wire.extend_from_slice(into.unsent());
                into.sent(into.unsent().len());
            }
            count => rest = &rest[count..],
        }
    }
    wire.extend_from_slice(into.unsent());
    into.sent(into.unsent().len());
    wire
}

/// What is in the compressed packets are packets.
fn check_packets(plain: &[u8]) {
    let mut reader = PacketReader::default();
    reader.takes_any_sequence = true;
    let mut rest = plain;
    while !rest.is_empty() {
        let room = reader.room();
        let count = room.len().min(rest.len());
        room[..count].copy_from_slice(&rest[..count]);
        reader.received(count);
        rest = &rest[count..];
        loop {
            match reader.next(LIMIT) {
                Ok(Some(range)) => assert!(reader.payload(range).len() <= LIMIT),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&[flags, level, piece], bytes)) = input.split_first_chunk::<3>() else { return };
    let algorithm = if flags & 1 == 0 { Algorithm::Zlib } else { Algorithm::Zstd };
    let (method, piece) = (Method { algorithm, level }, usize::from(piece) + 1);
    let codecs: Rc<Codecs> = Rc::default();
    let (plain, error) = read_all(&mut side(method, &codecs, false), bytes, piece);
    assert!(plain.len() <= promised(bytes));
    check_packets(&plain);
    // However it arrives, the same comes out; where it is spoilt, perhaps less of it.
    let (at_once, error_at_once) = read_all(&mut side(method, &codecs, false), bytes, bytes.len().max(1));
    assert_eq!(error.is_some(), error_at_once.is_some());
    assert!(error.is_some() || plain == at_once);
    let wire = write_all(&mut side(method, &codecs, flags & 2 != 0), bytes);
    let (again, error) = read_all(&mut side(method, &codecs, false), &wire, piece);
    assert!(error.is_none() && again == bytes);
});
