//! Hashing, compression and random bytes.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::Function;
use super::argument::{integer, text};
use super::text_format::hex_of;
use crate::context::EvalContext;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "MD5",
        1,
        1,
        |d| d.ascii_text(32),
        |call, values, _| Ok(lower_hex(&md5(&text(call, values, 0)))),
    ),
    Function::new("SHA", 1, 1, |d| d.ascii_text(40), sha1),
    Function::new("SHA1", 1, 1, |d| d.ascii_text(40), sha1),
    Function::new("SHA2", 2, 2, |d| Ok(d.ascii_text(128)?.nullable()), sha2),
    Function::new(
        "COMPRESS",
        1,
        1,
        |d| {
            let length = d.length_of(0).saturating_add(120);
            d.bytes(length)
        },
        compress,
    ),
    Function::new("UNCOMPRESS", 1, 1, |d| Ok(d.bytes(u64::from(u32::MAX))?.nullable()), uncompress),
    Function::new("UNCOMPRESSED_LENGTH", 1, 1, |d| Ok(d.integer(10)?.nullable()), uncompressed_length),
    Function::new("RANDOM_BYTES", 1, 1, |d| Ok(d.bytes(1024)?.nullable()), random_bytes).volatile().of_session(),
];

fn lower_hex(bytes: &[u8]) -> Value {
    Value::Str(hex_of(bytes).to_ascii_lowercase())
}

fn sha1(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(lower_hex(&Sha1::digest(text(call, values, 0))))
}

fn sha2(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let bits = integer(values, 1, ctx)?;
    let text = text(call, values, 0);
    Ok(match bits {
        224 => lower_hex(&Sha224::digest(text)),
        0 | 256 => lower_hex(&Sha256::digest(text)),
        384 => lower_hex(&Sha384::digest(text)),
        512 => lower_hex(&Sha512::digest(text)),
        _ => {
            ctx.warn(ErrorCode::WrongParametersToNativeFct, || {
                "Incorrect parameters in the call to native function 'sha2'".to_owned()
            });
            Value::Null
        }
    })
}

/// Rotations of MD5's rounds (RFC 1321).
const MD5_SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The digest of RFC 1321.
fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());
    for block in message.chunks_exact(64) {
        md5_block(&mut state, block);
    }
    let mut digest = [0; 16];
    for (out, word) in digest.chunks_exact_mut(4).zip(state) {
        out.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

fn md5_block(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64usize {
        let (mixed, index) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let constant = ((step as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mixed).wrapping_add(constant).wrapping_add(words[index]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(MD5_SHIFTS[step / 16][step % 4]));
    }
    for (word, added) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(added);
    }
}

/// Length (4 bytes, little-endian) and zlib stream; a point behind it if it would end in a space.
fn compress(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = text(call, values, 0);
    if text.is_empty() {
        return Ok(Value::Str(Vec::new()));
    }
    let mut result = (text.len() as u32 & 0x3FFF_FFFF).to_le_bytes().to_vec();
    let mut encoder = ZlibEncoder::new(&mut result, Compression::default());
    let written = encoder.write_all(&text).and_then(|()| encoder.finish().map(|_| ()));
    if written.is_err() {
        return Ok(Value::Null);
    }
    if result.last() == Some(&b' ') {
        result.push(b'.');
    }
    Ok(Value::Str(result))
}

fn stored_length(bytes: &[u8]) -> Option<usize> {
    let head: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    Some((u32::from_le_bytes(head) & 0x3FFF_FFFF) as usize)
}

fn uncompress(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let bytes = text(call, values, 0);
    if bytes.is_empty() {
        return Ok(Value::Str(Vec::new()));
    }
    let Some(length) = stored_length(&bytes).filter(|_| bytes.len() > 4) else {
        return corrupt(ctx);
    };
    let limit = ctx.settings.max_allowed_packet;
    if length > limit {
        ctx.warn(ErrorCode::TooBigForUncompress, || {
            format!("Uncompressed data size too large; the maximum size is {limit} (probably, length of uncompressed data was corrupted)")
        });
        return Ok(Value::Null);
    }
    let mut result = Vec::new();
    let read = ZlibDecoder::new(&bytes[4..]).take(length as u64 + 1).read_to_end(&mut result);
    if read.is_err() || result.len() != length {
        return corrupt(ctx);
    }
    Ok(Value::Str(result))
}

fn corrupt(ctx: &mut EvalContext<'_>) -> Result<Value> {
    ctx.warn(ErrorCode::ZlibZMemError, || "ZLIB: Input data corrupted".to_owned());
    Ok(Value::Null)
}

fn uncompressed_length(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let bytes = text(call, values, 0);
    if bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    match stored_length(&bytes).filter(|_| bytes.len() > 4) {
        Some(length) => Ok(Value::Int(length as i64)),
        None => corrupt(ctx),
    }
}

fn random_bytes(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let length = integer(values, 0, ctx)?;
    if !(1..=1024).contains(&length) {
        return Err(Error::new(ErrorCode::DataOutOfRange, "length value is out of range in 'random_bytes'"));
    }
    let mut bytes = vec![0; length as usize];
    ctx.session()?.random_bytes(&mut bytes);
    Ok(Value::Str(bytes))
}
