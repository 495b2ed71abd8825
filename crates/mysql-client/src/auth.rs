//! The handshake and the two password methods.

use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::{Channel, Error, Reader, Result, read_error};

const NATIVE: &str = "mysql_native_password";
const CACHING_SHA2: &str = "caching_sha2_password";
const FAST_PATH_OK: u8 = 3;
const FULL_EXCHANGE: u8 = 4;
/// Asks for the server's public key.
const REQUEST_KEY: u8 = 2;

pub struct Greeting {
    pub version: String,
    pub connection_id: u32,
    pub salt: Vec<u8>,
    pub plugin: String,
    pub capabilities: u32,
}

pub fn read_greeting(channel: &mut Channel) -> Result<Greeting> {
    let packet = channel.receive()?;
    if packet.first() == Some(&0xff) {
        return Err(read_error(&packet));
    }
    let mut reader = Reader::new(&packet);
    if reader.u8()? != 10 {
        return Err(Error::Protocol("not protocol 10".into()));
    }
    let version = text(reader.terminated()?);
    let connection_id = reader.u32()?;
    let mut salt = reader.take(8)?.to_vec();
    reader.take(1)?;
    let lower = reader.u16()?;
    reader.take(1 + 2)?;
    let capabilities = u32::from(reader.u16()?) << 16 | u32::from(lower);
    reader.take(1 + 10)?;
    salt.extend_from_slice(reader.take(12)?);
    reader.take(1)?;
    Ok(Greeting { version, connection_id, salt, plugin: text(reader.terminated()?), capabilities })
}

/// What a client that knows the password answers to `salt`.
pub fn scramble(plugin: &str, password: &str, salt: &[u8]) -> Result<Vec<u8>> {
    if password.is_empty() {
        return Ok(Vec::new());
    }
    match plugin {
        NATIVE => {
            let once = Sha1::digest(password);
            let salted = Sha1::new().chain_update(salt).chain_update(Sha1::digest(once));
            Ok(xor(&once, &salted.finalize()))
        }
        CACHING_SHA2 => {
            let once = Sha256::digest(password);
            let salted = Sha256::new().chain_update(Sha256::digest(once)).chain_update(salt);
            Ok(xor(&once, &salted.finalize()))
        }
        other => Err(Error::Protocol(format!("unknown plugin {other}"))),
    }
}

/// Follows the server through switch requests until it says OK.
pub fn finish(channel: &mut Channel, password: &str, salt: &[u8]) -> Result<()> {
    let mut salt = salt.to_vec();
    loop {
        let packet = channel.receive()?;
        match packet.as_slice() {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => return Err(read_error(&packet)),
            [0xfe, rest @ ..] => {
                let mut reader = Reader::new(rest);
                let plugin = text(reader.terminated()?);
                let data = reader.rest();
                salt = data.strip_suffix(&[0]).unwrap_or(data).to_vec();
                channel.send(&scramble(&plugin, password, &salt)?)?;
            }
            [0x01, FAST_PATH_OK] => {}
            [0x01, FULL_EXCHANGE] => send_whole_password(channel, password, &salt)?,
            other => return Err(Error::Protocol(format!("unexpected {other:?} at login"))),
        }
    }
}

/// The password itself, readable for this server alone: within TLS, or encrypted with its public key.
fn send_whole_password(channel: &mut Channel, password: &str, salt: &[u8]) -> Result<()> {
    let mut plain = password.as_bytes().to_vec();
    plain.push(0);
    if channel.is_encrypted() {
        return Ok(channel.send(&plain)?);
    }
    channel.send(&[REQUEST_KEY])?;
    let packet = channel.receive()?;
    let key = match packet.as_slice() {
        [0x01, key @ ..] => key,
        [0xff, ..] => return Err(read_error(&packet)),
        other => return Err(Error::Protocol(format!("no public key but {other:?}"))),
    };
    let masked: Vec<u8> = plain.iter().zip(salt.iter().cycle()).map(|(byte, salt)| byte ^ salt).collect();
    let encrypted = shoal_tls::encrypt_password(key, &masked);
    let encrypted = encrypted.ok_or_else(|| Error::Protocol("the server's public key cannot be used".into()))?;
    Ok(channel.send(&encrypted)?)
}

fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(left, right)| left ^ right).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_answer_reveals_the_password_hash_to_one_who_stores_its_double() {
        let salt = b"01234567890123456789";
        let answer = scramble(NATIVE, "secret", salt).unwrap();
        let stored = Sha1::digest(Sha1::digest("secret"));
        let salted = Sha1::new().chain_update(salt).chain_update(stored).finalize();
        assert_eq!(Sha1::digest(xor(&answer, &salted)), stored);
    }

    #[test]
    fn an_empty_password_is_an_empty_answer() {
        assert!(scramble(CACHING_SHA2, "", b"salt").unwrap().is_empty());
    }
}
