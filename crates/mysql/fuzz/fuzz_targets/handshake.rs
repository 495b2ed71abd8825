//! What a client says before it is known, over any bytes: a header of the PROXY protocol, packets, the answer to the greeting, the body of
//! COM_CHANGE_USER. None may panic, nothing that is read may be larger than what came, and what is refused has a packet that says so.
//!
//! The modules are those of the crate, which keeps them to itself.

#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../src/constants.rs"]
mod constants;
#[path = "../../src/handshake.rs"]
mod handshake;
#[path = "../../src/packet/mod.rs"]
mod packet;
#[path = "../../src/proxy.rs"]
mod proxy;
#[path = "../../src/refusal.rs"]
mod refusal;

/// What refusals tell of the rest of the crate.
mod auth {
    pub struct Locked {
        pub days: Option<(u32, u32)>,
        pub attempts: u32,
    }
}

use constants::Capabilities;
use handshake::{HandshakeResponse, Introduction, LOGIN_PAYLOAD_SIZE_MAX, is_tls_request};
use libfuzzer_sys::fuzz_target;
use packet::{PacketReader, PacketWriter};
use proxy::Beginning;

fn check_introduction(introduction: &Introduction, payload: &[u8]) {
    let attributes = introduction.attributes.iter().map(|(name, value)| name.len() + value.len());
    let texts = introduction.user.len() + introduction.plugin.len() + attributes.sum::<usize>();
    // A byte that is no UTF-8 becomes a character of three; clients without plugins mean one with a name of its own.
    assert!(texts + introduction.answer.len() <= 3 * payload.len() + 32);
    let database = introduction.database.as_ref();
    assert!(database.is_none_or(|name| !name.is_empty() && name.len() <= 3 * payload.len()));
}

fn check_payload(payload: &[u8], offered: Capabilities, is_tls: bool) {
    match HandshakeResponse::parse(payload, offered, is_tls) {
        Ok(response) => {
            assert_eq!(response.capabilities.common(offered), response.capabilities);
            assert!(is_tls || !is_tls_request(payload));
            check_introduction(&response.introduction, payload);
        }
        Err(refusal) => assert_eq!(refusal.errno, 1043),
    }
    if let Ok(introduction) = Introduction::parse_change_user(payload, offered) {
        check_introduction(&introduction, payload);
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&[flags, a, b, c, d, piece], wire)) = input.split_first_chunk::<6>() else { return };
    let (is_tls, offered) = (flags & 1 != 0, Capabilities(u32::from_le_bytes([a, b, c, d])));
    check_payload(wire, offered, is_tls);
    check_payload(wire, Capabilities::SERVER, is_tls);
    // As a connection does it, in pieces.
    let start = match proxy::beginning(wire) {
        Beginning::Header { bytes, .. } => {
            assert!(bytes <= wire.len());
            bytes
        }
        Beginning::Unfinished | Beginning::NoHeader => 0,
        Beginning::Bad => return,
    };
    let mut reader = PacketReader::default();
    for mut bytes in wire[start..].chunks(usize::from(piece) + 1) {
        while !bytes.is_empty() {
            let room = reader.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            reader.received(count);
            bytes = &bytes[count..];
        }
        loop {
            match reader.next(LOGIN_PAYLOAD_SIZE_MAX) {
                Ok(Some(range)) => check_payload(reader.payload(range), Capabilities::SERVER, is_tls),
                Ok(None) => break,
                Err(error) => {
                    let mut out = PacketWriter::default();
                    refusal::Refusal::from(error).write(Capabilities::SERVER, &mut out);
                    assert!(out.unsent().len() > packet::HEADER_SIZE);
                    return;
                }
            }
        }
    }
});
