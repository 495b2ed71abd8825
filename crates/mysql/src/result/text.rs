//! Values of the text protocol: each a string with its length, or 0xfb for NULL.

use shoal_types::number::{append_i64, append_u64};
use shoal_types::row::{RowRef, little_endian_word};
use shoal_types::{BaseType, TimeZone, Value};

use super::{ColumnEncoder, append_measured, bit_bytes};
use crate::packet::append_length_bytes;

const NULL: u8 = 0xfb;

pub fn append_value(value: &Value, column: &ColumnEncoder, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Str(text) => column.append_string(text, out),
        Value::Enum(member) => column.append_string(member.label(), out),
        Value::Set(members) => column.append_string(&members.text(), out),
        Value::Bit(bits, width) => {
            let (bytes, start) = bit_bytes(*bits, *width);
            append_length_bytes(out, &bytes[start..]);
        }
        Value::Int(number) if !column.sql_type.zerofill => append_measured(out, |out| append_i64(*number, out)),
        Value::UInt(number) if !column.sql_type.zerofill => append_measured(out, |out| append_u64(*number, out)),
        Value::Json(json) if column.conversion.is_some() => {
            let mut text = Vec::new();
            json.append_text(&mut text);
            column.append_string(&text, out);
        }
        other => append_measured(out, |out| other.append_text_as(&column.sql_type, out)),
    }
}

/// Column `position` of a stored row, without a value in between where that pays.
pub fn append_stored(
    row: &RowRef<'_>,
    position: usize,
    column: &ColumnEncoder,
    zone: &TimeZone,
    out: &mut Vec<u8>,
) {
    if row.is_null(position) {
        return out.push(NULL);
    }
    let raw = row.raw(position);
    let sql_type = &row.layout().types()[position];
    match sql_type.base {
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Geometry => column.append_string(raw, out),
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt
            if !sql_type.zerofill =>
        {
            let word = little_endian_word(raw);
            let shift = 64 - 8 * raw.len().clamp(1, 8) as u32;
            append_measured(out, |out| match sql_type.unsigned {
                true => append_u64(word, out),
                false => append_i64(((word << shift) as i64) >> shift, out),
            });
        }
        _ => append_value(&row.value(position, zone), column, out),
    }
}
