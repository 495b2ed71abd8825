//! Values as bytes: a class byte, then the value. Integers are variable-length, seven bits a byte, least significant
//! first (signed ones zigzag); strings have their length in front.

use std::sync::Arc;

use super::damaged;
use crate::decimal::Decimal;
use crate::error::Result;
use crate::value::{EnumValue, SetValue, Value};
use crate::{Date, DateTime, Json, Time};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const STR: u8 = 6;
const DATE: u8 = 7;
const TIME: u8 = 8;
const DATETIME: u8 = 9;
const YEAR: u8 = 10;
const BIT: u8 = 11;
const ENUM: u8 = 12;
const SET: u8 = 13;
const JSON: u8 = 14;

/// Appends a value in a compact form that tells its own class.
pub fn append_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Int(number) => {
            out.push(INT);
            append_signed(*number, out);
        }
        Value::UInt(number) => {
            out.push(UINT);
            append_unsigned(*number, out);
        }
        Value::Float(number) => {
            out.push(FLOAT);
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        Value::Double(number) => {
            out.push(DOUBLE);
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        Value::Decimal(decimal) => {
            out.push(DECIMAL);
            let (magnitude, scale, negative) = decimal.to_parts();
            let length = magnitude.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            out.extend_from_slice(&[scale << 1 | u8::from(negative), length as u8]);
            out.extend_from_slice(&magnitude[..length]);
        }
        Value::Str(text) => {
            out.push(STR);
            append_bytes(text, out);
        }
        Value::Date(date) => {
            out.push(DATE);
            append_unsigned(u64::from(date.0), out);
        }
        Value::Time(time) => {
            out.extend_from_slice(&[TIME, time.fsp]);
            append_signed(time.micros, out);
        }
        Value::DateTime(moment) => {
            out.extend_from_slice(&[DATETIME, moment.fsp]);
            out.extend_from_slice(&moment.packed.to_le_bytes());
        }
        Value::Year(year) => {
            out.push(YEAR);
            append_unsigned(u64::from(*year), out);
        }
        Value::Bit(bits, width) => {
            out.extend_from_slice(&[BIT, *width]);
            append_unsigned(*bits, out);
        }
        Value::Enum(member) => {
            out.push(ENUM);
            append_unsigned(u64::from(member.index), out);
            append_labels(&member.labels, out);
        }
        Value::Set(members) => {
            out.push(SET);
            append_unsigned(members.bits, out);
            append_labels(&members.labels, out);
        }
        Value::Json(json) => {
            out.push(JSON);
            append_bytes(json.as_bytes(), out);
        }
    }
}

/// Takes one value off the front of `bytes`. After an error `bytes` is of no use.
pub fn read_value(bytes: &mut &[u8]) -> Result<Value> {
    let class = take_byte(bytes)?;
    Ok(match class {
        NULL => Value::Null,
        INT => Value::Int(take_signed(bytes)?),
        UINT => Value::UInt(take_unsigned(bytes)?),
        FLOAT => Value::Float(f32::from_bits(u32::from_le_bytes(take_array(bytes)?))),
        DOUBLE => Value::Double(f64::from_bits(u64::from_le_bytes(take_array(bytes)?))),
        DECIMAL => Value::Decimal(take_decimal(bytes)?),
        STR => Value::Str(take_bytes(bytes)?.to_vec()),
        DATE => Value::Date(take_date(bytes)?),
        TIME => {
            let fsp = take_fsp(bytes)?;
            let micros = take_signed(bytes)?;
            if !(-Time::MAX_MICROS..=Time::MAX_MICROS).contains(&micros) {
                return Err(damaged("a time out of range"));
            }
            Value::Time(Time { micros, fsp })
        }
        DATETIME => {
            let fsp = take_fsp(bytes)?;
            let packed = u64::from_le_bytes(take_array(bytes)?);
            if packed > DateTime::MAX.packed {
                return Err(damaged("a datetime out of range"));
            }
            Value::DateTime(DateTime { packed, fsp })
        }
        YEAR => match take_unsigned(bytes)? {
            year @ (0 | 1901..=2155) => Value::Year(year as u16),
            _ => return Err(damaged("a year out of range")),
        },
        BIT => match take_byte(bytes)? {
            width @ 1..=64 => Value::Bit(take_unsigned(bytes)?, width),
            _ => return Err(damaged("a BIT of an impossible width")),
        },
        ENUM => {
            let index = u16::try_from(take_unsigned(bytes)?).map_err(|_| damaged("an ENUM index out of range"))?;
            Value::Enum(EnumValue { index, labels: take_labels(bytes)? })
        }
        SET => Value::Set(SetValue { bits: take_unsigned(bytes)?, labels: take_labels(bytes)? }),
        JSON => Value::Json(Json::from_bytes(take_bytes(bytes)?.to_vec())),
        _ => return Err(damaged("a value of an unknown class")),
    })
}

fn append_unsigned(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn append_signed(number: i64, out: &mut Vec<u8>) {
    append_unsigned((number << 1 ^ number >> 63) as u64, out);
}

fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    append_unsigned(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn append_labels(labels: &[Box<[u8]>], out: &mut Vec<u8>) {
    append_unsigned(labels.len() as u64, out);
    for label in labels {
        append_bytes(label, out);
    }
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8> {
    let (&first, rest) = bytes.split_first().ok_or_else(|| damaged("a value is cut off"))?;
    *bytes = rest;
    Ok(first)
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk().ok_or_else(|| damaged("a value is cut off"))?;
    *bytes = rest;
    Ok(*head)
}

fn take_unsigned(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            break;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(damaged("an integer is too long"))
}

fn take_signed(bytes: &mut &[u8]) -> Result<i64> {
    let word = take_unsigned(bytes)?;
    Ok((word >> 1) as i64 ^ -((word & 1) as i64))
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(take_unsigned(bytes)?).unwrap_or(usize::MAX);
    let (head, rest) = bytes.split_at_checked(length).ok_or_else(|| damaged("a string is cut off"))?;
    *bytes = rest;
    Ok(head)
}

fn take_labels(bytes: &mut &[u8]) -> Result<Arc<[Box<[u8]>]>> {
    let count = take_unsigned(bytes)?;
    // Every label takes at least one byte, so the count is bounded before anything is allocated for it.
    if count > bytes.len() as u64 {
        return Err(damaged("more labels than bytes"));
    }
    (0..count).map(|_| take_bytes(bytes).map(Box::from)).collect()
}

fn take_fsp(bytes: &mut &[u8]) -> Result<u8> {
    match take_byte(bytes)? {
        fsp @ 0..=6 => Ok(fsp),
        _ => Err(damaged("more than 6 fractional digits")),
    }
}

fn take_date(bytes: &mut &[u8]) -> Result<Date> {
    match u32::try_from(take_unsigned(bytes)?) {
        Ok(packed) if packed <= Date::MAX.0 && Date(packed).month() <= 12 => Ok(Date(packed)),
        _ => Err(damaged("a date out of range")),
    }
}

fn take_decimal(bytes: &mut &[u8]) -> Result<Decimal> {
    let head = take_byte(bytes)?;
    let length = usize::from(take_byte(bytes)?);
    let mut magnitude = [0u8; 32];
    let (digits, rest) = bytes.split_at_checked(length).ok_or_else(|| damaged("a decimal is cut off"))?;
    magnitude.get_mut(..length).ok_or_else(|| damaged("a decimal is too long"))?.copy_from_slice(digits);
    *bytes = rest;
    Decimal::from_parts(&magnitude, head >> 1, head & 1 == 1).ok_or_else(|| damaged("a decimal out of range"))
}
