//! Who is let in, by which packets, and what the others are told.

use std::sync::atomic::Ordering;

use crate::common::Running;
use crate::common::raw::{BASIC, CONNECT_WITH_DB, Raw, error, fast_answer, native_answer, response};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
/// BASIC without PLUGIN_AUTH.
const OLD_CLIENT: u32 = BASIC & !(1 << 19);

/// Introduces `user` with an answer made by `plugin`, and returns the server's next packet.
fn introduce(raw: &mut Raw, user: &str, password: &str, plugin: &str) -> (Vec<u8>, Vec<u8>) {
    let challenge = raw.greeting().challenge;
    let answer = match (plugin, password) {
        (_, "") => Vec::new(),
        (NATIVE, password) => native_answer(password, &challenge),
        (_, password) => fast_answer(password, &challenge),
    };
    raw.send(1, &response(BASIC, user, &answer, None, plugin));
    (challenge, raw.receive().1)
}

fn switch_request(plugin: &str, challenge: &[u8]) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0", challenge, b"\0"].concat()
}

fn public_key(pem: &[u8]) -> OaepPublicEncryptingKey {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = std::str::from_utf8(pem).unwrap();
    assert!(text.starts_with("-----BEGIN PUBLIC KEY-----\n") && text.ends_with("-----END PUBLIC KEY-----\n"));
    let body: Vec<u8> = text.lines().filter(|line| !line.starts_with('-')).flat_map(str::bytes).collect();
    let mut der = Vec::new();
    for quad in body.chunks(4) {
        let digit = |byte: &u8| ALPHABET.iter().position(|letter| letter == byte).unwrap_or(0) as u32;
        let word = quad.iter().fold(0, |word, byte| word << 6 | digit(byte));
        der.extend_from_slice(&word.to_be_bytes()[1..4 - quad.iter().filter(|byte| **byte == b'=').count()]);
    }
    OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap()).unwrap()
}

/// Asks for the key and sends the password by it; the server's verdict.
fn send_encrypted(raw: &mut Raw, sequence: u8, password: &str, challenge: &[u8]) -> Vec<u8> {
    raw.send(sequence, &[2]);
    let (_, reply) = raw.receive();
    assert_eq!(reply[0], 1);
    let key = public_key(&reply[1..]);
    let masked: Vec<u8> = [password.as_bytes(), b"\0"]
        .concat()
        .iter()
        .zip(challenge.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    let mut ciphertext = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, &masked, &mut ciphertext, None).unwrap();
    raw.send(sequence + 2, &ciphertext);
    raw.receive().1
}

#[test]
fn a_native_password_is_proven_by_its_scramble() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    assert_eq!(introduce(&mut raw, "native", "secret", NATIVE).1[0], 0);
    raw.ping();
    let mut raw = Raw::connect(server.port);
    let (errno, text) = error(&introduce(&mut raw, "native", "wrong", NATIVE).1);
    assert_eq!(errno, 1045);
    assert_eq!(text, "#28000Access denied for user 'native'@'localhost' (using password: YES)");
    raw.expect_end();
    assert_eq!(server.fake.aborted.load(Ordering::SeqCst), 1);
}

#[test]
fn a_client_with_another_plugin_is_asked_to_switch() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    let (challenge, packet) = introduce(&mut raw, "native", "secret", SHA2);
    assert_eq!(packet, switch_request(NATIVE, &challenge));
    raw.send(3, &native_answer("secret", &challenge));
    assert_eq!(raw.receive().1[0], 0);
    raw.ping();
}

#[test]
fn a_sha2_password_goes_the_long_way_once_and_then_the_fast_path() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    let (challenge, packet) = introduce(&mut raw, "sha", "geheim", SHA2);
    assert_eq!(packet, [1, 4], "the full exchange");
    assert_eq!(send_encrypted(&mut raw, 3, "geheim", &challenge)[0], 0);
    raw.ping();
    let mut raw = Raw::connect(server.port);
    assert_eq!(introduce(&mut raw, "sha", "geheim", SHA2).1, [1, 3], "the fast path");
    assert_eq!(raw.receive().1[0], 0);
    raw.ping();
    let mut raw = Raw::connect(server.port);
    let (challenge, packet) = introduce(&mut raw, "sha", "wrong", SHA2);
    assert_eq!(packet, [1, 4], "a wrong password learns nothing from the cache");
    assert_eq!(error(&send_encrypted(&mut raw, 3, "wrong", &challenge)).0, 1045);
}

#[test]
fn a_local_client_may_send_its_password_in_clear_but_not_rubbish() {
    let server = Running::start();
    for (password, expected) in [(&b"geheim\0"[..], 0), (b"wrong\0", 0xff), (b"geheim", 0xff), (b"", 0xff)] {
        let mut raw = Raw::connect(server.port);
        let (_, packet) = introduce(&mut raw, "sha", "guess", SHA2);
        assert_eq!(packet, [1, 4]);
        raw.send(3, password);
        assert_eq!(raw.receive().1[0], expected, "{password:?}");
    }
}

#[test]
fn an_unknown_user_walks_the_same_packets() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    let (challenge, packet) = introduce(&mut raw, "nobody", "guess", SHA2);
    assert_eq!(packet, [1, 4]);
    let (errno, text) = error(&send_encrypted(&mut raw, 3, "guess", &challenge));
    assert_eq!(errno, 1045);
    assert_eq!(text, "#28000Access denied for user 'nobody'@'localhost' (using password: YES)");
    let mut raw = Raw::connect(server.port);
    let (_, packet) = introduce(&mut raw, "nobody", "", SHA2);
    assert!(error(&packet).1.ends_with("'nobody'@'localhost' (using password: NO)"));
}

#[test]
fn an_empty_password_fits_only_an_account_without_one() {
    let server = Running::start();
    for (user, expected) in [("root", 0), ("native_empty", 0), ("native", 0xff), ("sha", 0xff)] {
        let mut raw = Raw::connect(server.port);
        let plugin = if user.starts_with("native") { NATIVE } else { SHA2 };
        assert_eq!(introduce(&mut raw, user, "", plugin).1[0], expected, "{user}");
    }
    let mut raw = Raw::connect(server.port);
    assert_eq!(error(&introduce(&mut raw, "root", "guess", SHA2).1).0, 1045);
}

#[test]
fn locked_accounts_and_old_clients_are_told_why() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    assert_eq!(error(&introduce(&mut raw, "locked", "", NATIVE).1).0, 3118);
    let mut raw = Raw::connect(server.port);
    raw.greeting();
    raw.send(1, &response(OLD_CLIENT, "sha", b"", None, ""));
    assert_eq!(raw.receive_error().1, 1251);
}

#[test]
fn a_client_without_plugins_uses_the_native_one() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    let challenge = raw.greeting().challenge;
    raw.send(1, &response(OLD_CLIENT, "native", &native_answer("secret", &challenge), None, ""));
    assert_eq!(raw.receive().1[0], 0);
}

#[test]
fn an_unknown_database_ends_the_login() {
    let server = Running::start();
    let mut raw = Raw::connect(server.port);
    raw.greeting();
    raw.send(1, &response(BASIC | CONNECT_WITH_DB, "root", b"", Some("missing"), SHA2));
    assert_eq!(raw.receive_error().1, 1049);
    raw.expect_end();
}

#[test]
fn change_user_asks_for_a_fresh_proof() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.command(0x11, b"native\0\0shop\0\xff\0mysql_native_password\0");
    let (_, packet) = raw.receive();
    let challenge = packet[packet.len() - 21..packet.len() - 1].to_vec();
    assert_eq!(packet, switch_request(NATIVE, &challenge));
    raw.send(2, &native_answer("secret", &challenge));
    assert_eq!(raw.receive().1[0], 0);
    raw.ping();
    raw.command(0x11, b"native\0\0\0\xff\0mysql_native_password\0");
    let (_, packet) = raw.receive();
    assert_ne!(packet[packet.len() - 21..packet.len() - 1], challenge);
    raw.send(2, &native_answer("secret", &challenge));
    assert_eq!(raw.receive_error().1, 1045, "an answer to an old challenge proves nothing");
    raw.expect_end();
}
