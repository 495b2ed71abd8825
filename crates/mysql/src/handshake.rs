//! The greeting of the server and the first packets of the client (protocol version 10).

use crate::constants::{Capabilities, status};
use crate::packet::{Malformed, PacketWriter, Payload};
use crate::refusal::Refusal;
use shoal_types::password::{DEFAULT_PLUGIN, NATIVE_PASSWORD, SALT_SIZE};

/// The random bytes that a client mixes into its proof of the password.
pub type Challenge = [u8; SALT_SIZE];

/// Longest payload that a client may send before it is known: the connect attributes have 64 KiB.
pub const LOGIN_PAYLOAD_SIZE_MAX: usize = 80 * 1024;

const PROTOCOL_VERSION: u8 = 10;
/// Capabilities, packet size, collation and 23 zeros.
const TLS_REQUEST_SIZE: usize = 32;
/// utf8mb4_0900_ai_ci.
const DEFAULT_COLLATION: u8 = 255;
/// Of a client that does not say.
const ZSTD_LEVEL_DEFAULT: u8 = 3;
const FIRST_CHALLENGE_PART: usize = 8;

/// `offered`: what this server can do.
pub fn write_greeting(
    version: &str,
    connection_id: u32,
    challenge: &Challenge,
    offered: Capabilities,
    out: &mut PacketWriter,
) {
    let capabilities = offered.0.to_le_bytes();
    let payload = out.begin();
    payload.push(PROTOCOL_VERSION);
    payload.extend_from_slice(version.as_bytes());
    payload.push(0);
    payload.extend_from_slice(&connection_id.to_le_bytes());
    payload.extend_from_slice(&challenge[..FIRST_CHALLENGE_PART]);
    payload.push(0);
    payload.extend_from_slice(&capabilities[..2]);
    payload.push(DEFAULT_COLLATION);
    payload.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
    payload.extend_from_slice(&capabilities[2..]);
    payload.push(SALT_SIZE as u8 + 1);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(&challenge[FIRST_CHALLENGE_PART..]);
    payload.push(0);
    payload.extend_from_slice(DEFAULT_PLUGIN.as_bytes());
    payload.push(0);
    out.end();
}

/// Who the client says it is, and its first proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Introduction {
    pub user: String,
    pub database: Option<String>,
    /// The number of the client's collation.
    pub collation: u16,
    /// The plugin that made `answer`.
    pub plugin: String,
    pub answer: Vec<u8>,
    pub attributes: Vec<(String, String)>,
}

/// The client's request to go on in TLS: the beginning of its answer to the greeting, and no more.
pub fn is_tls_request(payload: &[u8]) -> bool {
    let claimed = payload.first_chunk::<4>().map(|bytes| Capabilities(u32::from_le_bytes(*bytes)));
    payload.len() == TLS_REQUEST_SIZE && claimed.is_some_and(|claimed| claimed.has(Capabilities::SSL))
}

/// The client's answer to the greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeResponse {
    /// What both sides can do.
    pub capabilities: Capabilities,
    pub introduction: Introduction,
    /// For ZSTD_COMPRESSION: the level that the client compresses at.
    pub zstd_level: u8,
}

impl HandshakeResponse {
    /// `offered`: what the greeting has said. `is_tls`: the client has asked for TLS, and this came through it.
    pub fn parse(payload: &[u8], offered: Capabilities, is_tls: bool) -> Result<HandshakeResponse, Refusal> {
        Self::parse_fields(payload, offered, is_tls).map_err(|Malformed| Refusal::bad_handshake())
    }

    fn parse_fields(payload: &[u8], offered: Capabilities, is_tls: bool) -> Result<HandshakeResponse, Malformed> {
        let mut fields = Payload::new(payload);
        let claimed = Capabilities(fields.u32()?);
        if !claimed.has(Capabilities::PROTOCOL_41) || (claimed.has(Capabilities::SSL) && !is_tls) {
            return Err(Malformed);
        }
        let capabilities = claimed.common(offered);
        let _packet_size_max = fields.u32()?;
        let collation = u16::from(fields.u8()?);
        fields.take(23)?;
        let user = text(fields.terminated()?);
        let answer = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            fields.length_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let size = fields.u8()?;
            fields.take(usize::from(size))?
        } else {
            fields.terminated_or_rest()
        };
        let database = match capabilities.has(Capabilities::CONNECT_WITH_DB) {
            true => database(fields.terminated_or_rest()),
            false => None,
        };
        let introduction = Introduction {
            user,
            database,
            collation,
            answer: answer.to_vec(),
            plugin: plugin(&mut fields, capabilities),
            attributes: attributes(&mut fields, capabilities)?,
        };
        let has_level = claimed.has(Capabilities::ZSTD_COMPRESSION) && !fields.is_empty();
        let zstd_level = if has_level { fields.u8()? } else { ZSTD_LEVEL_DEFAULT };
        Ok(HandshakeResponse { capabilities, introduction, zstd_level })
    }
}

impl Introduction {
    /// The body of COM_CHANGE_USER.
    pub fn parse_change_user(payload: &[u8], capabilities: Capabilities) -> Result<Introduction, Malformed> {
        let mut fields = Payload::new(payload);
        let user = text(fields.terminated()?);
        let size = fields.u8()?;
        let answer = fields.take(usize::from(size))?.to_vec();
        let database = database(fields.terminated_or_rest());
        let collation = if fields.is_empty() { 0 } else { fields.u16()? };
        let plugin = plugin(&mut fields, capabilities);
        let attributes = attributes(&mut fields, capabilities)?;
        Ok(Introduction { user, database, collation, plugin, answer, attributes })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn database(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| text(bytes))
}

/// Clients that cannot name a plugin mean the native one.
fn plugin(fields: &mut Payload<'_>, capabilities: Capabilities) -> String {
    if capabilities.has(Capabilities::PLUGIN_AUTH) && !fields.is_empty() {
        text(fields.terminated_or_rest())
    } else {
        NATIVE_PASSWORD.to_owned()
    }
}

fn attributes(fields: &mut Payload<'_>, capabilities: Capabilities) -> Result<Vec<(String, String)>, Malformed> {
    let mut attributes = Vec::new();
    if capabilities.has(Capabilities::CONNECT_ATTRS) && !fields.is_empty() {
        let mut pairs = Payload::new(fields.length_bytes()?);
        while !pairs.is_empty() {
            attributes.push((text(pairs.length_bytes()?), text(pairs.length_bytes()?)));
        }
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::append_length_bytes;
    use proptest::prelude::*;

    fn response(claimed: Capabilities, tail: &[u8]) -> Vec<u8> {
        let mut payload = claimed.0.to_le_bytes().to_vec();
        payload.extend_from_slice(&[0, 0, 0, 1, 45]);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(tail);
        payload
    }

    #[test]
    fn the_greeting_is_the_documented_bytes() {
        let mut out = PacketWriter::default();
        write_greeting("8.4.0-x", 0x01020304, b"ABCDEFGHabcdefghijkl", Capabilities::SERVER, &mut out);
        let mut expected =
            b"\x4c\0\0\0\x0a8.4.0-x\0\x04\x03\x02\x01ABCDEFGH\0\xcf\xb7\xff\x02\x00\xff\x09\x15".to_vec();
        expected.extend_from_slice(&[0; 10]);
        expected.extend_from_slice(b"abcdefghijkl\0caching_sha2_password\0");
        expected[0] = (expected.len() - 4) as u8;
        assert_eq!(out.unsent(), expected);
    }

    #[test]
    fn every_field_of_a_full_response_is_read() {
        let mut pairs = Vec::new();
        append_length_bytes(&mut pairs, b"_client_name");
        append_length_bytes(&mut pairs, b"libmysql");
        let mut tail = b"ann\0\x03xyzshop\0mysql_native_password\0".to_vec();
        append_length_bytes(&mut tail, &pairs);
        let response =
            HandshakeResponse::parse(&response(Capabilities(!(1 << 11)), &tail), Capabilities::SERVER, false)
                .unwrap();
        assert_eq!(response.capabilities, Capabilities::SERVER);
        let expected = Introduction {
            user: "ann".into(),
            database: Some("shop".into()),
            collation: 45,
            plugin: NATIVE_PASSWORD.into(),
            answer: b"xyz".to_vec(),
            attributes: vec![("_client_name".into(), "libmysql".into())],
        };
        assert_eq!(response.introduction, expected);
    }

    #[test]
    fn a_client_without_plugins_means_the_native_one() {
        let claimed = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
        let response =
            HandshakeResponse::parse(&response(claimed, b"ann\0\0"), Capabilities::SERVER, false).unwrap();
        assert_eq!(response.introduction.plugin, NATIVE_PASSWORD);
        assert_eq!(response.introduction.database, None);
    }

    #[test]
    fn the_old_protocol_and_an_answer_in_clear_that_speaks_of_tls_are_bad_handshakes() {
        for claimed in [Capabilities::SECURE_CONNECTION, Capabilities::PROTOCOL_41 | Capabilities::SSL] {
            let refusal =
                HandshakeResponse::parse(&response(claimed, b"ann\0\0"), Capabilities::SERVER, false).unwrap_err();
            assert_eq!(refusal.errno, 1043);
        }
    }

    proptest! {
        #[test]
        fn truncated_and_random_responses_never_panic(tail: Vec<u8>, claimed: u32, cut in 0usize..100) {
            let claimed = Capabilities(claimed & !(1 << 11)) | Capabilities::PROTOCOL_41;
            let bytes = response(claimed, &tail);
            let _ = HandshakeResponse::parse(&bytes, Capabilities(u32::MAX), false);
            let _ = is_tls_request(&bytes);
            let _ = HandshakeResponse::parse(&bytes[..cut.min(bytes.len())], Capabilities(u32::MAX), true);
            let _ = Introduction::parse_change_user(&tail, claimed);
        }
    }
}
