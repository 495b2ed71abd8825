//! AES_ENCRYPT and AES_DECRYPT (manual, "Encryption and Compression Functions").
//!
//! The key's size and the mode are `block_encryption_mode`. The cipher is asked for single blocks; the modes that chain them are
//! made of these here, because not all of MySQL's are to be had.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{self, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::{hkdf, pbkdf2};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::Function;
use super::argument::text;
use crate::context::{BlockEncryption, BlockMode, EvalContext};
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "AES_ENCRYPT",
        2,
        6,
        |d| {
            let length = d.length_of(0).saturating_add(BLOCK as u64);
            Ok(d.bytes(length)?.nullable())
        },
        |call, values, ctx| aes(call, values, ctx, true),
    )
    .takes_nulls()
    .of_statement(),
    Function::new(
        "AES_DECRYPT",
        2,
        6,
        |d| {
            let length = d.length_of(0);
            Ok(d.bytes(length)?.nullable())
        },
        |call, values, ctx| aes(call, values, ctx, false),
    )
    .takes_nulls()
    .of_statement(),
];

const BLOCK: usize = 16;
/// Of PBKDF2, without an argument that says so, and at least.
const ITERATIONS_MIN: u32 = 1000;
const ITERATIONS_MAX: u32 = 65_535;

fn aes(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>, encrypts: bool) -> Result<Value> {
    let name = if encrypts { "aes_encrypt" } else { "aes_decrypt" };
    let BlockEncryption { key_bytes, mode } = ctx.settings.block_encryption;
    let size = usize::from(key_bytes);
    let key = match values.get(3) {
        _ if values[1].is_null() => None,
        None => {
            let key = text(call, values, 1);
            if key.len() > size {
                ctx.warn(ErrorCode::AesKeySize, || {
                    format!(
                        "AES key size should be {size} bytes length or secure KDF methods hkdf or pbkdf2_hmac should be \
                         used, please provide exact AES key size or use KDF methods for better security."
                    )
                });
            }
            Some(folded_key(&key, size))
        }
        Some(_) => Some(derived_key(call, values, size)?),
    };
    let iv = initialization_vector(call, values, mode, name, ctx)?;
    let Some(key) = key.filter(|_| !values[0].is_null()) else { return Ok(Value::Null) };
    let data = text(call, values, 0).into_owned();
    let cipher = Cipher::new(&key)?;
    let outcome =
        if encrypts { Some(encrypt(&cipher, mode, &iv, data)?) } else { decrypt(&cipher, mode, &iv, data)? };
    Ok(outcome.map_or(Value::Null, Value::Str))
}

/// A key of any length as one of `size` bytes: what is beyond the end is folded into the beginning.
fn folded_key(key: &[u8], size: usize) -> Vec<u8> {
    let mut folded = vec![0; size];
    for (position, byte) in key.iter().enumerate() {
        folded[position % size] ^= byte;
    }
    folded
}

/// Errors: 3235, there is no such method; 3236; 3238, an option is NULL.
fn derived_key(call: &Call, values: &[Value], size: usize) -> Result<Vec<u8>> {
    if values[3..].iter().any(Value::is_null) {
        let message = "KDF option size is invalid, please provide valid size < 256 bytes and not NULL";
        return Err(Error::new(ErrorCode::AesInvalidKdfOptionSize, message));
    }
    let (secret, salt) = (text(call, values, 1), text(call, values, 4));
    let mut key = vec![0; size];
    match &*text(call, values, 3) {
        b"hkdf" => {
            let info = text(call, values, 5);
            let extracted = hkdf::Salt::new(hkdf::HKDF_SHA512, &salt).extract(&secret);
            let filled = extracted.expand(&[&*info], KeySize(size)).and_then(|expanded| expanded.fill(&mut key));
            filled.map_err(|_| Error::unknown("a key of this length cannot be derived"))?;
        }
        b"pbkdf2_hmac" => {
            let iterations = match values.get(5) {
                None => Some(ITERATIONS_MIN),
                Some(_) => {
                    std::str::from_utf8(&text(call, values, 5)).ok().and_then(|text| text.trim().parse().ok())
                }
            };
            let is_valid = |iterations: &u32| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(iterations);
            let Some(iterations) = iterations.filter(is_valid).and_then(NonZeroU32::new) else {
                let message = "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535, please \
                               use correct value.";
                return Err(Error::new(ErrorCode::AesInvalidKdfIterations, message));
            };
            pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, iterations, &salt, &secret, &mut key);
        }
        _ => {
            let message = "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
            return Err(Error::new(ErrorCode::AesInvalidKdfName, message));
        }
    }
    Ok(key)
}

struct KeySize(usize);

impl hkdf::KeyType for KeySize {
    fn len(&self) -> usize {
        self.0
    }
}

/// Errors: 1582, the mode needs one; 1882, it is too short.
fn initialization_vector(
    call: &Call,
    values: &[Value],
    mode: BlockMode,
    name: &str,
    ctx: &mut EvalContext<'_>,
) -> Result<[u8; BLOCK]> {
    let mut iv = [0; BLOCK];
    if mode == BlockMode::Ecb {
        if values.len() > 2 {
            ctx.warn(ErrorCode::OptionIgnored, || "<IV> option ignored".to_owned());
        }
        return Ok(iv);
    }
    if values.len() < 3 {
        let message = format!("Incorrect parameter count in the call to native function '{name}'");
        return Err(Error::new(ErrorCode::WrongParamcountToNativeFct, message));
    }
    let given = text(call, values, 2);
    let Some(first) = given.get(..BLOCK) else {
        let message = format!(
            "The initialization vector supplied to {name} is too short. Must be at least {BLOCK} bytes long"
        );
        return Err(Error::new(ErrorCode::AesInvalidIv, message));
    };
    iv.copy_from_slice(first);
    Ok(iv)
}

/// The block cipher under one key.
struct Cipher {
    encrypting: EncryptingKey,
    decrypting: DecryptingKey,
}

impl Cipher {
    fn new(key: &[u8]) -> Result<Cipher> {
        let algorithm = match key.len() {
            16 => &cipher::AES_128,
            24 => &cipher::AES_192,
            _ => &cipher::AES_256,
        };
        let unbound = || UnboundCipherKey::new(algorithm, key);
        let made = unbound().and_then(EncryptingKey::ecb).and_then(|encrypting| {
            let decrypting = unbound().and_then(DecryptingKey::ecb)?;
            Ok(Cipher { encrypting, decrypting })
        });
        made.map_err(|_| failed())
    }

    /// Whole blocks, each by itself.
    fn encrypt(&self, blocks: &mut [u8]) -> Result<()> {
        self.encrypting.encrypt(blocks).map(|_| ()).map_err(|_| failed())
    }

    fn decrypt(&self, blocks: &mut [u8]) -> Result<()> {
        self.decrypting.decrypt(blocks, DecryptionContext::None).map(|_| ()).map_err(|_| failed())
    }
}

fn failed() -> Error {
    Error::unknown("the AES cipher refused its key or its blocks")
}

fn encrypt(cipher: &Cipher, mode: BlockMode, iv: &[u8; BLOCK], mut data: Vec<u8>) -> Result<Vec<u8>> {
    if matches!(mode, BlockMode::Ecb | BlockMode::Cbc) {
        let padding = BLOCK - data.len() % BLOCK;
        data.resize(data.len() + padding, padding as u8);
    }
    match mode {
        BlockMode::Ecb => cipher.encrypt(&mut data)?,
        BlockMode::Cbc => {
            let mut previous = *iv;
            for block in data.chunks_exact_mut(BLOCK) {
                block.iter_mut().zip(previous).for_each(|(byte, before)| *byte ^= before);
                cipher.encrypt(block)?;
                previous.copy_from_slice(block);
            }
        }
        _ => stream(cipher, mode, iv, &mut data, true)?,
    }
    Ok(data)
}

/// `None`: it was not encrypted with this key.
fn decrypt(cipher: &Cipher, mode: BlockMode, iv: &[u8; BLOCK], mut data: Vec<u8>) -> Result<Option<Vec<u8>>> {
    if !matches!(mode, BlockMode::Ecb | BlockMode::Cbc) {
        stream(cipher, mode, iv, &mut data, false)?;
        return Ok(Some(data));
    }
    if data.is_empty() || !data.len().is_multiple_of(BLOCK) {
        return Ok(None);
    }
    let encrypted = if mode == BlockMode::Cbc { data.clone() } else { Vec::new() };
    cipher.decrypt(&mut data)?;
    let before = iv.iter().chain(&encrypted);
    data.iter_mut().zip(before).filter(|_| mode == BlockMode::Cbc).for_each(|(byte, before)| *byte ^= before);
    let padding = usize::from(data[data.len() - 1]);
    let text_end = data.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding));
    let is_padding = |end: &usize| data[*end..].iter().all(|byte| usize::from(*byte) == padding);
    let Some(end) = text_end.filter(is_padding) else { return Ok(None) };
    data.truncate(end);
    Ok(Some(data))
}

/// The modes that make a stream of key bits: CFB of 1, 8 or 128 bits, and OFB.
fn stream(cipher: &Cipher, mode: BlockMode, iv: &[u8; BLOCK], data: &mut [u8], encrypts: bool) -> Result<()> {
    let mut register = *iv;
    match mode {
        BlockMode::Cfb1 => {
            for byte in data.iter_mut() {
                let mut out = 0;
                for bit in (0..8).rev() {
                    let mut block = register;
                    cipher.encrypt(&mut block)?;
                    let given = *byte >> bit & 1;
                    let made = given ^ block[0] >> 7;
                    out |= made << bit;
                    let fed_back = if encrypts { made } else { given };
                    register = (u128::from_be_bytes(register) << 1 | u128::from(fed_back)).to_be_bytes();
                }
                *byte = out;
            }
        }
        BlockMode::Cfb8 => {
            for byte in data.iter_mut() {
                let mut block = register;
                cipher.encrypt(&mut block)?;
                let given = *byte;
                *byte ^= block[0];
                let fed_back = if encrypts { *byte } else { given };
                register = (u128::from_be_bytes(register) << 8 | u128::from(fed_back)).to_be_bytes();
            }
        }
        _ => {
            for part in data.chunks_mut(BLOCK) {
                cipher.encrypt(&mut register)?;
                for (byte, key) in part.iter_mut().zip(&mut register) {
                    let given = *byte;
                    *byte ^= *key;
                    match mode {
                        BlockMode::Ofb => {}
                        _ if encrypts => *key = *byte,
                        _ => *key = given,
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|byte| u8::from_str_radix(&text[2 * byte..2 * byte + 2], 16).unwrap()).collect()
    }

    /// NIST SP 800-38A, appendix F: the first blocks under AES-128.
    #[test]
    fn modes_encrypt_as_their_standard_says() {
        let cipher = Cipher::new(&hex("2b7e151628aed2a6abf7158809cf4f3c")).unwrap();
        let iv: [u8; BLOCK] = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let plain = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        for (mode, expected) in [
            (BlockMode::Ecb, "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"),
            (BlockMode::Cbc, "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"),
            (BlockMode::Cfb1, "68b3"),
            (BlockMode::Cfb8, "3b79424c9c0dd436bace9e0ed4586a4f32b9"),
            (BlockMode::Cfb128, "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b"),
            (BlockMode::Ofb, "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825"),
        ] {
            let expected = hex(expected);
            let encrypted = encrypt(&cipher, mode, &iv, plain.clone()).unwrap();
            assert_eq!(encrypted[..expected.len()], expected, "{mode:?}");
            assert_eq!(decrypt(&cipher, mode, &iv, encrypted).unwrap(), Some(plain.clone()), "{mode:?}");
        }
    }

    #[test]
    fn what_was_not_encrypted_is_nothing() {
        let cipher = Cipher::new(&[7; 32]).unwrap();
        for data in [vec![], vec![1; 15], vec![1; 17], vec![9; 32]] {
            assert_eq!(decrypt(&cipher, BlockMode::Ecb, &[0; BLOCK], data).unwrap(), None);
        }
    }
}
