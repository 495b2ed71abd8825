//! Rows as the protocol shows them: each value as MySQL's text protocol renders it, in utf8mb4, escaped.

use shoal_types::number::{append_i64, append_u64};
use shoal_types::row::{RowRef, little_endian_word};
use shoal_types::{BaseType, Charset, SqlType, TableSchema, TimeZone, Value};

use crate::token::{append_null, append_value, escape_from};

/// A column that is shown.
#[derive(Debug)]
pub struct ColumnText {
    /// Position in the table.
    pub column: usize,
    sql_type: SqlType,
    way: Way,
}

/// How a stored value becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// An integer as it is.
    Signed,
    Unsigned,
    /// The stored bytes.
    Bytes,
    /// Text of another character set.
    Converted(Charset),
    /// By way of a value.
    Value,
}

impl ColumnText {
    pub fn new(schema: &TableSchema, column: usize) -> ColumnText {
        let sql_type = schema.columns[column].sql_type.clone();
        let way = match sql_type.base {
            _ if sql_type.is_int() && !sql_type.zerofill => match sql_type.unsigned {
                true => Way::Unsigned,
                false => Way::Signed,
            },
            BaseType::Char | BaseType::VarChar | BaseType::Text => match foreign_charset(&sql_type) {
                Some(charset) => Way::Converted(charset),
                None => Way::Bytes,
            },
            BaseType::Geometry => Way::Bytes,
            _ => Way::Value,
        };
        ColumnText { column, sql_type, way }
    }

    /// Appends the column of a stored row.
    #[inline]
    pub fn append(&self, row: RowRef<'_>, zone: &TimeZone, out: &mut Vec<u8>) {
        if row.is_null(self.column) {
            return append_null(out);
        }
        let raw = row.raw(self.column);
        match self.way {
            Way::Bytes => append_value(raw, out),
            Way::Unsigned => append_u64(little_endian_word(raw), out),
            Way::Signed => {
                let shift = 64 - 8 * raw.len().clamp(1, 8) as u32;
                append_i64(((little_endian_word(raw) << shift) as i64) >> shift, out);
            }
            Way::Converted(charset) => append_value(&Charset::convert(raw, charset, Charset::Utf8mb4).bytes, out),
            Way::Value => self.append_slowly(&row.value(self.column, zone), out),
        }
    }

    fn append_slowly(&self, value: &Value, out: &mut Vec<u8>) {
        let label = match value {
            Value::Enum(member) => Some(member.label().to_vec()),
            Value::Set(members) => Some(members.text()),
            _ => None,
        };
        if let Some(label) = label {
            let charset = foreign_charset(&self.sql_type).unwrap_or(Charset::Utf8mb4);
            return append_value(&Charset::convert(&label, charset, Charset::Utf8mb4).bytes, out);
        }
        if let Value::Bit(bits, width) = value {
            let bytes = bits.to_be_bytes();
            return append_value(&bytes[8 - usize::from((*width).clamp(1, 64)).div_ceil(8)..], out);
        }
        let start = out.len();
        value.append_text_as(&self.sql_type, out);
        escape_from(start, out);
    }
}

/// The column's character set, if its bytes are not to be sent as they are.
fn foreign_charset(sql_type: &SqlType) -> Option<Charset> {
    match sql_type.collation.charset() {
        Charset::Latin1 => Some(Charset::Latin1),
        Charset::Binary | Charset::Ascii | Charset::Utf8mb3 | Charset::Utf8mb4 => None,
    }
}

/// Begins an answer that holds rows.
#[inline]
pub fn begin_rows(columns: &[ColumnText], out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\t");
    append_u64(columns.len() as u64, out);
}

#[inline]
pub fn append_row(columns: &[ColumnText], row: RowRef<'_>, zone: &TimeZone, out: &mut Vec<u8>) {
    for column in columns {
        out.push(b'\t');
        column.append(row, zone, out);
    }
}

#[inline]
pub fn end_rows(out: &mut Vec<u8>) {
    out.push(b'\n');
}

/// `0 1`, the answer of what has nothing to tell.
pub fn append_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\t1\n");
}

/// `0 1 <number>`.
pub fn append_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\t1\t");
    append_u64(number, out);
    out.push(b'\n');
}
