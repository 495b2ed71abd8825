//! A client that sends and shows raw packets, so that it can also misbehave.

use std::io::{Read, Write};
use std::net::TcpStream;

use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::PATIENCE;

pub const LOCAL_FILES: u32 = 1 << 7;
pub const CONNECT_WITH_DB: u32 = 1 << 3;
pub const DEPRECATE_EOF: u32 = 1 << 24;
pub const SESSION_TRACK: u32 = 1 << 23;
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
/// PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
pub const BASIC: u32 = 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19;

pub struct Raw {
    pub stream: TcpStream,
}

/// What the greeting says that a client needs.
pub struct Greeting {
    pub connection_id: u32,
    pub challenge: Vec<u8>,
}

impl Raw {
    pub fn connect(port: u16) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Raw { stream }
    }

    /// Logged in as root, whose password is empty.
    pub fn root(port: u16) -> Raw {
        Raw::root_with(port, 0)
    }

    pub fn root_with(port: u16, capabilities: u32) -> Raw {
        let mut raw = Raw::connect(port);
        raw.greeting();
        raw.send(1, &response(BASIC | capabilities, "root", b"", None, "caching_sha2_password"));
        let (sequence, ok) = raw.receive();
        assert_eq!((sequence, ok[0]), (2, 0), "login: {ok:?}");
        raw
    }

    pub fn greeting(&mut self) -> Greeting {
        let (sequence, packet) = self.receive();
        assert_eq!((sequence, packet[0]), (0, 10));
        let rest = &packet[1 + packet[1..].iter().position(|byte| *byte == 0).unwrap() + 1..];
        let connection_id = u32::from_le_bytes(rest[..4].try_into().unwrap());
        let challenge = [&rest[4..12], &rest[31..43]].concat();
        assert!(rest.ends_with(b"\0caching_sha2_password\0"));
        Greeting { connection_id, challenge }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        // A server that has already hung up is for the reading side to notice.
        let _ = self.stream.write_all(bytes);
    }

    pub fn send(&mut self, sequence: u8, payload: &[u8]) {
        self.bytes(&packet(sequence, payload));
    }

    pub fn command(&mut self, code: u8, body: &[u8]) {
        self.send(0, &[&[code], body].concat());
    }

    pub fn query(&mut self, sql: &str) {
        self.command(3, sql.as_bytes());
    }

    pub fn try_receive(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some((header[3], payload))
    }

    pub fn receive(&mut self) -> (u8, Vec<u8>) {
        self.try_receive().expect("a packet")
    }

    /// An error packet's number and text, with the sequence number before them.
    pub fn receive_error(&mut self) -> (u8, u16, String) {
        let (sequence, payload) = self.receive();
        let (errno, text) = error(&payload);
        (sequence, errno, text)
    }

    /// Receives exactly these bytes.
    pub fn expect(&mut self, expected: &[u8]) {
        let mut received = vec![0; expected.len()];
        self.stream.read_exact(&mut received).unwrap_or_else(|error| panic!("{error}, not {expected:?}"));
        assert_eq!(received, expected, "{}", String::from_utf8_lossy(&received));
    }

    /// The server hangs up without another byte.
    pub fn expect_end(&mut self) {
        let mut rest = Vec::new();
        let ended = self.stream.read_to_end(&mut rest);
        let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(ended.as_ref().map_or_else(is_reset, |_| rest.is_empty()), "{ended:?} {rest:?}");
    }

    pub fn ping(&mut self) {
        self.command(14, b"");
        self.expect(b"\x07\0\0\x01\0\0\0\x02\0\0\0");
    }
}

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes[3] = sequence;
    bytes.extend_from_slice(payload);
    bytes
}

pub fn error(payload: &[u8]) -> (u16, String) {
    assert_eq!(payload[0], 0xff, "{}", String::from_utf8_lossy(payload));
    (u16::from_le_bytes([payload[1], payload[2]]), String::from_utf8_lossy(&payload[3..]).into_owned())
}

/// A handshake response.
pub fn response(capabilities: u32, user: &str, answer: &[u8], database: Option<&str>, plugin: &str) -> Vec<u8> {
    let mut payload = capabilities.to_le_bytes().to_vec();
    payload.extend_from_slice(&[0, 0, 0, 64, 255]);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(user.as_bytes());
    payload.push(0);
    payload.push(answer.len() as u8);
    payload.extend_from_slice(answer);
    if let Some(database) = database {
        payload.extend_from_slice(database.as_bytes());
        payload.push(0);
    }
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    payload
}

pub fn native_answer(password: &str, challenge: &[u8]) -> Vec<u8> {
    let stage1 = Sha1::digest(password);
    let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(stage1)).finalize();
    stage1.iter().zip(mask.iter()).map(|(left, right)| left ^ right).collect()
}

pub fn fast_answer(password: &str, challenge: &[u8]) -> Vec<u8> {
    let stage1 = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(stage1)).chain_update(challenge).finalize();
    stage1.iter().zip(mask.iter()).map(|(left, right)| left ^ right).collect()
}
