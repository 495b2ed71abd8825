//! Columns, values, and rows in both encodings.

use std::fmt;

use super::{Reader, Result};

pub mod kind {
    //! Column types as they are numbered on the wire.
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VAR_STRING: u8 = 253;
    pub const BLOB: u8 = 252;
}

pub const FLAG_UNSIGNED: u16 = 32;
/// In the type of a parameter: the value is unsigned.
const PARAMETER_UNSIGNED: u8 = 0x80;

/// A column definition.
#[derive(Clone, Debug)]
pub struct Column {
    pub table: String,
    pub name: String,
    pub collation: u16,
    pub length: u32,
    pub kind: u8,
    pub flags: u16,
    pub decimals: u8,
}

impl Column {
    pub fn read(packet: &[u8]) -> Result<Column> {
        let mut reader = Reader::new(packet);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for _ in 0..2 {
            reader.string()?;
        }
        let table = text(reader.string()?);
        reader.string()?;
        let name = text(reader.string()?);
        reader.string()?;
        reader.length()?;
        Ok(Column {
            table,
            name,
            collation: reader.u16()?,
            length: reader.u32()?,
            kind: reader.u8()?,
            flags: reader.u16()?,
            decimals: reader.u8()?,
        })
    }
}

/// One value of a row, or one parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    /// Year, month, day, hour, minute, second, microsecond.
    DateTime([u32; 7]),
    Date(u16, u8, u8),
    /// Negative, hours in all, minutes, seconds, microseconds.
    Time(bool, u32, u8, u8, u32),
}

impl Value {
    pub fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    /// The parameter type, as two bytes.
    pub(super) fn parameter_type(&self) -> [u8; 2] {
        match self {
            Value::Null => [kind::NULL, 0],
            Value::Int(_) => [kind::LONGLONG, 0],
            Value::UInt(_) => [kind::LONGLONG, PARAMETER_UNSIGNED],
            Value::Float(_) => [kind::FLOAT, 0],
            Value::Double(_) => [kind::DOUBLE, 0],
            Value::Bytes(_) => [kind::VAR_STRING, 0],
            Value::DateTime(_) => [kind::DATETIME, 0],
            Value::Date(..) => [kind::DATE, 0],
            Value::Time(..) => [kind::TIME, 0],
        }
    }

    /// Appends the value as a parameter.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => {}
            Value::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::UInt(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Bytes(bytes) => {
                write_length(out, bytes.len());
                out.extend_from_slice(bytes);
            }
            Value::Date(year, month, day) => {
                out.push(4);
                out.extend_from_slice(&year.to_le_bytes());
                out.extend_from_slice(&[*month, *day]);
            }
            Value::DateTime([year, month, day, hour, minute, second, micros]) => {
                out.push(11);
                out.extend_from_slice(&(*year as u16).to_le_bytes());
                for part in [month, day, hour, minute, second] {
                    out.push(*part as u8);
                }
                out.extend_from_slice(&micros.to_le_bytes());
            }
            Value::Time(negative, hours, minutes, seconds, micros) => {
                out.extend_from_slice(&[12, *negative as u8]);
                out.extend_from_slice(&(hours / 24).to_le_bytes());
                out.extend_from_slice(&[(hours % 24) as u8, *minutes, *seconds]);
                out.extend_from_slice(&micros.to_le_bytes());
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = |micros: u32| match micros {
            0 => String::new(),
            _ => format!(".{micros:06}"),
        };
        match self {
            Value::Null => out.write_str("NULL"),
            Value::Int(value) => value.fmt(out),
            Value::UInt(value) => value.fmt(out),
            Value::Float(value) => value.fmt(out),
            Value::Double(value) => value.fmt(out),
            Value::Bytes(bytes) => out.write_str(&String::from_utf8_lossy(bytes)),
            Value::Date(year, month, day) => write!(out, "{year:04}-{month:02}-{day:02}"),
            Value::DateTime([year, month, day, hour, minute, second, micros]) => {
                write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{}", fraction(*micros))
            }
            Value::Time(negative, hours, minutes, seconds, micros) => write!(
                out,
                "{}{hours:02}:{minutes:02}:{seconds:02}{}",
                if *negative { "-" } else { "" },
                fraction(*micros)
            ),
        }
    }
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

/// Decodes a row of the text protocol.
pub(super) fn text_row(packet: &[u8], columns: &[Column]) -> Result<Vec<Value>> {
    let mut reader = Reader::new(packet);
    let mut row = Vec::with_capacity(columns.len());
    for _ in columns {
        row.push(match reader.nullable_string()? {
            None => Value::Null,
            Some(bytes) => Value::Bytes(bytes.to_vec()),
        });
    }
    Ok(row)
}

/// Decodes a row of the binary protocol.
pub(super) fn binary_row(packet: &[u8], columns: &[Column]) -> Result<Vec<Value>> {
    let mut reader = Reader::new(packet);
    reader.take(1)?;
    let nulls = reader.take((columns.len() + 2).div_ceil(8))?;
    let mut row = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        let bit = number + 2;
        row.push(if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            Value::Null
        } else {
            binary_value(&mut reader, column)?
        });
    }
    Ok(row)
}

fn binary_value(reader: &mut Reader<'_>, column: &Column) -> Result<Value> {
    let unsigned = column.flags & FLAG_UNSIGNED != 0;
    Ok(match column.kind {
        kind::TINY if unsigned => Value::UInt(reader.u8()? as u64),
        kind::TINY => Value::Int(reader.u8()? as i8 as i64),
        kind::SHORT | kind::YEAR if unsigned => Value::UInt(reader.u16()? as u64),
        kind::SHORT | kind::YEAR => Value::Int(reader.u16()? as i16 as i64),
        kind::LONG | kind::INT24 if unsigned => Value::UInt(reader.u32()? as u64),
        kind::LONG | kind::INT24 => Value::Int(reader.u32()? as i32 as i64),
        kind::LONGLONG if unsigned => Value::UInt(reader.u64()?),
        kind::LONGLONG => Value::Int(reader.u64()? as i64),
        kind::FLOAT => Value::Float(f32::from_bits(reader.u32()?)),
        kind::DOUBLE => Value::Double(f64::from_bits(reader.u64()?)),
        kind::DATE => {
            let parts = moment(reader)?;
            Value::Date(parts[0] as u16, parts[1] as u8, parts[2] as u8)
        }
        kind::DATETIME | kind::TIMESTAMP => Value::DateTime(moment(reader)?),
        kind::TIME => duration(reader)?,
        _ => Value::Bytes(reader.string()?.to_vec()),
    })
}

fn moment(reader: &mut Reader<'_>) -> Result<[u32; 7]> {
    let length = reader.u8()?;
    let mut parts = [0; 7];
    if length >= 4 {
        parts[0] = reader.u16()? as u32;
        parts[1] = reader.u8()? as u32;
        parts[2] = reader.u8()? as u32;
    }
    if length >= 7 {
        for part in &mut parts[3..6] {
            *part = reader.u8()? as u32;
        }
    }
    if length >= 11 {
        parts[6] = reader.u32()?;
    }
    Ok(parts)
}

fn duration(reader: &mut Reader<'_>) -> Result<Value> {
    let length = reader.u8()?;
    if length < 8 {
        return Ok(Value::Time(false, 0, 0, 0, 0));
    }
    let negative = reader.u8()? != 0;
    let days = reader.u32()?;
    let (hours, minutes, seconds) = (reader.u8()?, reader.u8()?, reader.u8()?);
    let micros = if length >= 12 { reader.u32()? } else { 0 };
    Ok(Value::Time(negative, days * 24 + hours as u32, minutes, seconds, micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_several_days_counts_its_hours() {
        let mut bytes = Vec::new();
        let time = Value::Time(true, 50, 1, 2, 500_000);
        time.write(&mut bytes);
        assert_eq!(duration(&mut Reader::new(&bytes)).unwrap(), time);
        assert_eq!(time.to_string(), "-50:01:02.500000");
    }

    #[test]
    fn lengths_take_the_shortest_form() {
        for (length, bytes) in [(250, 1), (251, 3), (65_535, 3), (65_536, 4), (1 << 24, 9)] {
            let mut out = Vec::new();
            write_length(&mut out, length);
            assert_eq!(out.len(), bytes);
            assert_eq!(Reader::new(&out).length().unwrap(), length as u64);
        }
    }
}
