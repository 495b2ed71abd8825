//! UUIDs and internet addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use shoal_types::{Error, ErrorCode, Result, Value};

use super::Function;
use super::argument::{integer, text};
use super::text_format::{bytes_of_hex, hex_of};
use crate::context::{EvalContext, printable};
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("UUID", 0, 0, |d| d.ascii_text(36), uuid).volatile().of_session(),
    Function::new("UUID_SHORT", 0, 0, |d| d.unsigned(20), uuid_short).volatile().of_session(),
    Function::new("UUID_TO_BIN", 1, 2, |d| d.bytes(16), uuid_to_bin),
    Function::new("BIN_TO_UUID", 1, 2, |d| d.ascii_text(36), bin_to_uuid),
    Function::new(
        "IS_UUID",
        1,
        1,
        |d| d.boolean(),
        |call, values, _| Ok(Value::from(parse_uuid(&text(call, values, 0)).is_some())),
    ),
    Function::new(
        "INET_ATON",
        1,
        1,
        |d| Ok(d.unsigned(21)?.nullable()),
        |call, values, _| Ok(address_to_number(&text(call, values, 0)).map_or(Value::Null, Value::UInt)),
    ),
    Function::new("INET_NTOA", 1, 1, |d| Ok(d.ascii_text(15)?.nullable()), number_to_address),
    Function::new("INET6_ATON", 1, 1, |d| Ok(d.bytes(16)?.nullable()), inet6_aton),
    Function::new("INET6_NTOA", 1, 1, |d| Ok(d.ascii_text(39)?.nullable()), inet6_ntoa),
    Function::new(
        "IS_IPV4",
        1,
        1,
        |d| Ok(d.boolean()?.not_null()),
        |call, values, _| Ok(Value::from(!values[0].is_null() && parse_ipv4(&text(call, values, 0)).is_some())),
    )
    .takes_nulls(),
    Function::new(
        "IS_IPV6",
        1,
        1,
        |d| Ok(d.boolean()?.not_null()),
        |call, values, _| Ok(Value::from(!values[0].is_null() && parse_ipv6(&text(call, values, 0)).is_some())),
    )
    .takes_nulls(),
    Function::new(
        "IS_IPV4_COMPAT",
        1,
        1,
        |d| Ok(d.boolean()?.not_null()),
        |call, values, _| {
            let bytes = text(call, values, 0);
            let is_compatible = bytes.len() == 16 && bytes[..12] == [0; 12] && bytes[12..] > [0, 0, 0, 1][..];
            Ok(Value::from(is_compatible))
        },
    )
    .takes_nulls(),
    Function::new(
        "IS_IPV4_MAPPED",
        1,
        1,
        |d| Ok(d.boolean()?.not_null()),
        |call, values, _| {
            let bytes = text(call, values, 0);
            let is_mapped = bytes.len() == 16 && bytes[..10] == [0; 10] && bytes[10..12] == [0xFF; 2];
            Ok(Value::from(is_mapped))
        },
    )
    .takes_nulls(),
];

/// 100 ns intervals between the epoch of UUIDs (1582-10-15) and 1970.
const UUID_EPOCH_OFFSET: u64 = 0x01B2_1DD2_1381_4000;

/// Version 1: time, clock sequence and node, the last two random.
fn uuid(_call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let session = ctx.session()?;
    let mut random = [0u8; 10];
    session.random_bytes(&mut random);
    // The digit below the microsecond is random, so that two calls in one microsecond differ.
    let ticks = (session.clock_micros() as u64).wrapping_mul(10).wrapping_add(u64::from(random[8] % 10));
    let time = ticks.wrapping_add(UUID_EPOCH_OFFSET);
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&(time as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((time >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    bytes[8..].copy_from_slice(&random[..8]);
    bytes[8] = bytes[8] & 0x3F | 0x80;
    // A node that is no hardware address has the multicast bit set.
    bytes[10] |= 1;
    Ok(Value::Str(print_uuid(&bytes)))
}

fn uuid_short(_call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let session = ctx.session()?;
    let mut random = [0u8; 1];
    session.random_bytes(&mut random);
    let micros = session.clock_micros() as u64;
    Ok(Value::UInt((micros << 8 | u64::from(random[0])) & (u64::MAX >> 1)))
}

fn print_uuid(bytes: &[u8; 16]) -> Vec<u8> {
    let digits = hex_of(bytes).to_ascii_lowercase();
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join(&b'-')
}

/// 32 digits, with hyphens in their places or without any, perhaps in braces.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text = match text {
        [b'{', inner @ .., b'}'] => inner,
        other => other,
    };
    let digits = if text.len() == 36 {
        let is_hyphenated = [8, 13, 18, 23].iter().all(|at| text[*at] == b'-');
        if !is_hyphenated {
            return None;
        }
        text.iter().copied().filter(|byte| *byte != b'-').collect()
    } else {
        text.to_vec()
    };
    if digits.len() != 32 {
        return None;
    }
    bytes_of_hex(&digits)?.try_into().ok()
}

fn wrong_value(kind: &str, value: &[u8], function: &str) -> Error {
    Error::new(
        ErrorCode::TruncatedWrongValue,
        format!("Incorrect {kind} value: '{}' for function {function}", printable(value)),
    )
}

/// With a true second argument the time parts are exchanged, so that the bytes sort by time.
fn uuid_to_bin(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let swap = integer(values, 1, ctx)? != 0;
    let text = text(call, values, 0);
    let Some(bytes) = parse_uuid(&text) else {
        return Err(wrong_value("string", &text, "uuid_to_bin"));
    };
    if !swap {
        return Ok(Value::Str(bytes.to_vec()));
    }
    Ok(Value::Str([&bytes[6..8], &bytes[4..6], &bytes[..4], &bytes[8..]].concat()))
}

fn bin_to_uuid(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let swap = integer(values, 1, ctx)? != 0;
    let bytes = text(call, values, 0);
    let Ok(bytes) = <[u8; 16]>::try_from(&*bytes) else {
        return Err(wrong_value("string", &bytes, "bin_to_uuid"));
    };
    if !swap {
        return Ok(Value::Str(print_uuid(&bytes)));
    }
    let mut plain = bytes;
    plain[..4].copy_from_slice(&bytes[4..8]);
    plain[4..6].copy_from_slice(&bytes[2..4]);
    plain[6..8].copy_from_slice(&bytes[..2]);
    Ok(Value::Str(print_uuid(&plain)))
}

/// INET_ATON: also the short forms `127.1` and `127.0.1`.
fn address_to_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = Vec::new();
    for part in text.split('.') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_number { part.parse::<u64>().ok() } else { None };
        parts.push(number.filter(|number| *number <= 255)?);
    }
    let (last, head) = parts.split_last()?;
    if parts.len() > 4 {
        return None;
    }
    let mut number = 0;
    for (index, part) in head.iter().enumerate() {
        number |= part << (24 - 8 * index);
    }
    Some(number | last)
}

fn number_to_address(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let number = convert::to_integer(&values[0], ctx)?;
    Ok(match u32::try_from(number) {
        Ok(number) => Value::str(Ipv4Addr::from(number).to_string()),
        Err(_) => Value::Null,
    })
}

fn parse_ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn parse_ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn inet6_aton(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = text(call, values, 0);
    if let Some(address) = parse_ipv4(&text) {
        return Ok(Value::Str(address.octets().to_vec()));
    }
    Ok(parse_ipv6(&text).map_or(Value::Null, |address| Value::Str(address.octets().to_vec())))
}

fn inet6_ntoa(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let is_bytes = call.arguments.first().is_some_and(|argument| argument.sql_type().is_binary_string());
    let bytes = text(call, values, 0);
    if !is_bytes {
        return Ok(Value::Null);
    }
    if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
        return Ok(Value::str(Ipv4Addr::from(octets).to_string()));
    }
    match <[u8; 16]>::try_from(&*bytes) {
        Ok(octets) => Ok(Value::str(Ipv6Addr::from(octets).to_string())),
        Err(_) => Ok(Value::Null),
    }
}
