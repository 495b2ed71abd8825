//! Hashing, compression and random bytes.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::Function;
use super::argument::{integer, text};
use super::text_format::hex_of;
use crate::context::EvalContext;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("MD5", 1, 1, |d| d.ascii_text(32), md5),
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

fn md5(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(lower_hex(&Md5::digest(text(call, values, 0))))
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
