//! Passwords as accounts keep them, and the proofs that clients send instead of them.
//!
//! Two plugins: `mysql_native_password` (`*` and the hex of SHA1(SHA1(password))) and `caching_sha2_password`
//! (`$A$005$`, a salt of 20 characters and the 43 characters of SHA256-crypt over 5,000 rounds). Comparisons of secrets
//! take the same time whatever the difference. Nothing here prints or keeps a password.

use std::fs::File;
use std::io::Read;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::{Error, ErrorCode, Result};

/// The plugin of accounts from before MySQL 8; proofs are SHA-1.
pub const NATIVE_PASSWORD: &str = "mysql_native_password";
/// MySQL 8's plugin; proofs are SHA-256, of a password that the server has cached or gets in full.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
/// The plugin of accounts that name none, and the one that the server's greeting proposes.
pub const DEFAULT_PLUGIN: &str = CACHING_SHA2_PASSWORD;

/// Bytes of the salt in an account's stored password.
pub const SALT_SIZE: usize = 20;
const SHA1_SIZE: usize = 20;
const SHA256_SIZE: usize = 32;
/// 5 * 1000 rounds.
const CRYPT_PREFIX: &[u8] = b"$A$005$";
const CRYPT_ROUNDS: usize = 5000;
const CRYPT_DIGEST_SIZE: usize = 43;
const CRYPT_ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// MySQL's limit; the rounds cost time in proportion to it.
pub const PASSWORD_SIZE_MAX: usize = 256;

/// The authentication string of an account with this password, for CREATE USER ... IDENTIFIED [WITH plugin] BY.
/// Empty for the empty password. Errors: 1524 for a plugin that is not known, 1470 for a password that is too long.
pub fn hash_password(plugin: &str, password: &[u8]) -> Result<Vec<u8>> {
    check_plugin(plugin)?;
    if password.len() > PASSWORD_SIZE_MAX {
        return Err(Error::new(
            ErrorCode::WrongStringLength,
            format!("String is too long for password (should be no longer than {PASSWORD_SIZE_MAX})"),
        ));
    }
    if password.is_empty() {
        return Ok(Vec::new());
    }
    match plugin {
        NATIVE_PASSWORD => Ok(native_hash(password)),
        _ => Ok(crypt(password, &fresh_salt()?)),
    }
}

/// Errno 1524 unless `plugin` is one of the two.
pub fn check_plugin(plugin: &str) -> Result<()> {
    match plugin {
        NATIVE_PASSWORD | CACHING_SHA2_PASSWORD => Ok(()),
        other => Err(Error::new(ErrorCode::DuplicateKeyAuthPlugin, format!("Plugin '{other}' is not loaded"))),
    }
}

/// Whether `authentication_string` has the form that `plugin` keeps (for IDENTIFIED WITH ... AS '...').
pub fn is_well_formed(plugin: &str, authentication_string: &[u8]) -> bool {
    if authentication_string.is_empty() {
        return true;
    }
    match plugin {
        NATIVE_PASSWORD => native_stage2(authentication_string).is_some(),
        CACHING_SHA2_PASSWORD => crypt_salt(authentication_string).is_some(),
        _ => false,
    }
}

/// 20 random characters without NUL and '$', for salts and for the challenge of a handshake.
pub fn fresh_salt() -> Result<[u8; SALT_SIZE]> {
    let mut salt = [0; SALT_SIZE];
    fill_random(&mut salt)?;
    make_printable(&mut salt);
    Ok(salt)
}

fn fill_random(bytes: &mut [u8]) -> Result<()> {
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(bytes))
        .map_err(|error| Error::unknown(format!("no random numbers from the system: {error}")))
}

/// What a password that is chosen at random is made of: of each of these at least one character, so that no policy refuses it.
const PASSWORD_CHARACTERS: [&[u8]; 4] =
    [b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789", b"!#$%&()*+,-./:;<=>?@[]^_{|}~"];

/// A password of `length` characters, at least 4, chosen at random.
pub fn random_password(length: usize) -> Result<String> {
    let all = PASSWORD_CHARACTERS.concat();
    loop {
        let mut bytes = vec![0; length.max(PASSWORD_CHARACTERS.len())];
        fill_random(&mut bytes)?;
        for byte in &mut bytes {
            // Each character is as likely as any other: what is beyond the last whole multiple is drawn again.
            while usize::from(*byte) >= 256 / all.len() * all.len() {
                fill_random(std::slice::from_mut(byte))?;
            }
            *byte = all[usize::from(*byte) % all.len()];
        }
        let has_all = PASSWORD_CHARACTERS.iter().all(|class| bytes.iter().any(|byte| class.contains(byte)));
        if has_all && let Ok(password) = String::from_utf8(bytes) {
            return Ok(password);
        }
    }
}

/// Turns random bytes into characters that may stand in a salt: 7 bits, neither NUL nor '$'.
pub fn make_printable(salt: &mut [u8]) {
    for byte in salt {
        *byte &= 0x7f;
        if matches!(*byte, 0 | b'$') {
            *byte += 1;
        }
    }
}

/// `*` and 40 hex digits.
fn native_hash(password: &[u8]) -> Vec<u8> {
    let digest = Sha1::digest(Sha1::digest(password));
    let mut text = vec![b'*'];
    for byte in digest.iter() {
        text.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    text
}

fn native_stage2(authentication_string: &[u8]) -> Option<[u8; SHA1_SIZE]> {
    let hex = authentication_string.strip_prefix(b"*")?;
    if hex.len() != 2 * SHA1_SIZE {
        return None;
    }
    let mut digest = [0; SHA1_SIZE];
    for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
        let high = (pair[0] as char).to_digit(16)?;
        let low = (pair[1] as char).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(digest)
}

/// Checks the answer `SHA1(password) xor SHA1(challenge, SHA1(SHA1(password)))` of a client.
pub fn verify_native(authentication_string: &[u8], challenge: &[u8], answer: &[u8]) -> bool {
    let Some(stage2) = native_stage2(authentication_string) else { return false };
    if answer.len() != SHA1_SIZE {
        return false;
    }
    let mask = Sha1::new().chain_update(challenge).chain_update(stage2).finalize();
    let stage1: Vec<u8> = answer.iter().zip(mask.iter()).map(|(left, right)| left ^ right).collect();
    equal(&Sha1::digest(stage1), &stage2)
}

/// What the server caches of a password that was proven in full: SHA256(SHA256(password)).
pub type FastDigest = [u8; SHA256_SIZE];

/// What [`FastDigest`] is of a password.
pub fn fast_digest(password: &[u8]) -> FastDigest {
    Sha256::digest(Sha256::digest(password)).into()
}

/// Checks the answer `SHA256(password) xor SHA256(SHA256(SHA256(password)), challenge)` of a client.
pub fn verify_fast(digest: &FastDigest, challenge: &[u8], answer: &[u8]) -> bool {
    if answer.len() != SHA256_SIZE {
        return false;
    }
    let mask = Sha256::new().chain_update(digest).chain_update(challenge).finalize();
    let stage1: Vec<u8> = answer.iter().zip(mask.iter()).map(|(left, right)| left ^ right).collect();
    equal(&Sha256::digest(stage1), digest)
}

/// Checks a password against `$A$005$` salt and digest. Takes milliseconds on purpose, whatever the string holds: an
/// account without a usable string costs the same as one with it.
pub fn verify_crypt(authentication_string: &[u8], password: &[u8]) -> bool {
    let password = &password[..password.len().min(PASSWORD_SIZE_MAX + 1)];
    match crypt_salt(authentication_string) {
        Some(salt) => equal(&crypt(password, salt), authentication_string) && password.len() <= PASSWORD_SIZE_MAX,
        None => {
            std::hint::black_box(crypt(password, &[b'x'; SALT_SIZE]));
            false
        }
    }
}

/// Checks a password that came in full against what either plugin keeps; the empty one is kept as nothing. Takes as long whatever is kept.
pub fn verify_clear(authentication_string: &[u8], password: &[u8]) -> bool {
    let is_crypted = verify_crypt(authentication_string, password);
    let is_native = equal(&native_hash(password), authentication_string);
    match (authentication_string.is_empty(), password.is_empty()) {
        (false, false) => is_crypted || is_native,
        (kept_empty, is_empty) => kept_empty && is_empty,
    }
}

fn crypt_salt(authentication_string: &[u8]) -> Option<&[u8]> {
    let rest = authentication_string.strip_prefix(CRYPT_PREFIX)?;
    (rest.len() == SALT_SIZE + CRYPT_DIGEST_SIZE).then(|| &rest[..SALT_SIZE])
}

/// SHA256-crypt (Drepper's specification) with MySQL's prefix and salt of 20 characters. The crate sha-crypt cannot be used: it cuts
/// salts to the specification's 16 characters, as `crypt(3)` does and MySQL does not.
fn crypt(password: &[u8], salt: &[u8]) -> Vec<u8> {
    let mut text = CRYPT_PREFIX.to_vec();
    text.extend_from_slice(salt);
    append_crypt_base64(&crypt_digest(password, salt), &mut text);
    text
}

fn crypt_digest(password: &[u8], salt: &[u8]) -> [u8; SHA256_SIZE] {
    let alternate = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut start = Sha256::new().chain_update(password).chain_update(salt);
    start.update(stretch(&alternate, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        match bits & 1 {
            1 => start.update(alternate),
            _ => start.update(password),
        }
        bits >>= 1;
    }
    let mut digest: [u8; SHA256_SIZE] = start.finalize().into();

    let mut of_password = Sha256::new();
    for _ in 0..password.len() {
        of_password.update(password);
    }
    let password_bytes = stretch(&of_password.finalize(), password.len());
    let mut of_salt = Sha256::new();
    for _ in 0..16 + usize::from(digest[0]) {
        of_salt.update(salt);
    }
    let salt_bytes = stretch(&of_salt.finalize(), salt.len());

    for round in 0..CRYPT_ROUNDS {
        let odd = round % 2 == 1;
        let mut hash = Sha256::new();
        hash.update(if odd { &password_bytes[..] } else { &digest[..] });
        if !round.is_multiple_of(3) {
            hash.update(&salt_bytes);
        }
        if !round.is_multiple_of(7) {
            hash.update(&password_bytes);
        }
        hash.update(if odd { &digest[..] } else { &password_bytes[..] });
        digest = hash.finalize().into();
    }
    digest
}

/// `digest` over and over, cut to `size` bytes.
fn stretch(digest: &[u8], size: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(size).collect()
}

fn append_crypt_base64(digest: &[u8; SHA256_SIZE], out: &mut Vec<u8>) {
    // The specification's order of bytes: three columns, each next triple rotated by one column.
    let (mut first, mut second, mut third) = (0, 10, 20);
    for _ in 0..10 {
        append_sextets(digest[first], digest[second], digest[third], 4, out);
        (first, second, third) = (third + 1, first + 1, second + 1);
    }
    append_sextets(0, digest[31], digest[30], 3, out);
}

fn append_sextets(high: u8, middle: u8, low: u8, count: usize, out: &mut Vec<u8>) {
    let mut word = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
    for _ in 0..count {
        out.push(CRYPT_ALPHABET[(word & 63) as usize]);
        word >>= 6;
    }
}

/// Compares without stopping at the first difference.
fn equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let difference = left.iter().zip(right).fold(0, |difference, (left, right)| difference | (left ^ right));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &[u8] = b"abcdefghijklmnopqrst";

    fn native_answer(password: &[u8], challenge: &[u8]) -> Vec<u8> {
        let stage1 = Sha1::digest(password);
        let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(stage1)).finalize();
        stage1.iter().zip(mask.iter()).map(|(left, right)| left ^ right).collect()
    }

    fn fast_answer(password: &[u8], challenge: &[u8]) -> Vec<u8> {
        let stage1 = Sha256::digest(password);
        let mask = Sha256::new().chain_update(Sha256::digest(stage1)).chain_update(challenge).finalize();
        stage1.iter().zip(mask.iter()).map(|(left, right)| left ^ right).collect()
    }

    #[test]
    fn a_random_password_has_characters_of_every_class_and_is_another_each_time() {
        for length in [4, 5, 20, 255] {
            let password = random_password(length).unwrap();
            assert_eq!(password.len(), length);
            for class in PASSWORD_CHARACTERS {
                assert!(password.bytes().any(|byte| class.contains(&byte)), "{password}");
            }
        }
        assert_ne!(random_password(20).unwrap(), random_password(20).unwrap());
    }

    #[test]
    fn sha256_crypt_agrees_with_the_specification() {
        let mut digest = Vec::new();
        append_crypt_base64(&crypt_digest(b"Hello world!", b"saltstring"), &mut digest);
        assert_eq!(digest, b"5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
    }

    #[test]
    fn a_native_hash_is_the_one_of_the_manual() {
        let hash = hash_password(NATIVE_PASSWORD, b"mypass").unwrap();
        assert_eq!(hash, b"*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
    }

    #[test]
    fn only_the_right_password_is_accepted() {
        for password in [&b"secret"[..], b"x", &[b'p'; 200]] {
            let native = hash_password(NATIVE_PASSWORD, password).unwrap();
            assert!(verify_native(&native, CHALLENGE, &native_answer(password, CHALLENGE)));
            assert!(!verify_native(&native, CHALLENGE, &native_answer(b"wrong", CHALLENGE)));
            assert!(!verify_native(&native, CHALLENGE, &native_answer(password, b"tsrqponmlkjihgfedcba")));
            let digest = fast_digest(password);
            assert!(verify_fast(&digest, CHALLENGE, &fast_answer(password, CHALLENGE)));
            assert!(!verify_fast(&digest, CHALLENGE, &fast_answer(b"wrong", CHALLENGE)));
            let crypted = hash_password(CACHING_SHA2_PASSWORD, password).unwrap();
            assert!(is_well_formed(CACHING_SHA2_PASSWORD, &crypted));
            assert!(verify_crypt(&crypted, password));
            for kept in [&crypted, &native] {
                assert!(verify_clear(kept, password) && !verify_clear(kept, b"wrong") && !verify_clear(kept, b""));
            }
            assert!(!verify_clear(b"", password) && verify_clear(b"", b""));
            assert!(!verify_crypt(&crypted, b"wrong"));
        }
    }

    #[test]
    fn broken_strings_and_answers_are_refused() {
        assert!(!verify_native(b"*12", CHALLENGE, &[0; 20]));
        assert!(!verify_native(b"", CHALLENGE, b""));
        assert!(!verify_fast(&[0; 32], CHALLENGE, &[0; 31]));
        assert!(!verify_crypt(b"$A$005$short", b"x"));
        assert!(!verify_crypt(b"", b""));
        assert!(!is_well_formed(NATIVE_PASSWORD, b"*zz"));
        assert!(hash_password("sha256_password", b"x").is_err_and(|error| error.errno() == 1524));
        assert!(hash_password(NATIVE_PASSWORD, &[b'x'; 257]).is_err_and(|error| error.errno() == 1470));
    }

    #[test]
    fn salts_hold_neither_zero_nor_dollar() {
        let mut salt: Vec<u8> = (0..=255).collect();
        make_printable(&mut salt);
        assert!(salt.iter().all(|byte| !matches!(byte, 0 | b'$' | 128..)));
        assert_ne!(fresh_salt().unwrap(), fresh_salt().unwrap());
    }
}
