//! Memcomparable keys: the order of the bytes is the order of the values, equal bytes are equal values.
//!
//! Frozen on disk and on the wire, because partitioning hashes these bytes. A part of a nullable column begins
//! with 0x00 for NULL (and nothing more) or 0x01. Integers and temporal values are big-endian with the sign bit
//! turned, floats have their order-preserving bits, DECIMAL is stored memcomparable already, strings are the
//! collation's sort key with its terminator. A descending part is the same with every byte inverted.

pub use crate::bytes::successor;

use crate::array_elements;
use crate::bytes::little_endian_word;
use crate::row::{RowLayout, RowRef, fixed_width};
use crate::schema::{Index, TableSchema};
use crate::sql_type::{BaseType, SqlType};
use crate::temporal::TimeZone;
use crate::value::Value;
use crate::{Error, Result};

/// The parts of one key, with all that encoding needs.
#[derive(Clone, Debug, Default)]
pub struct KeySpec {
    /// In the order in which the key compares them.
    pub parts: Vec<KeyPart>,
}

/// One column of a key, as its encoding needs it.
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// Position of the column in the row.
    pub column: usize,
    /// The column's, with its collation.
    pub sql_type: SqlType,
    /// A byte before the part tells NULL (lowest) from a value.
    pub nullable: bool,
    /// As in [`crate::IndexColumn`]: 0 is the whole column.
    pub prefix_length: u32,
    /// The part's bytes are inverted, so that greater values come first.
    pub descending: bool,
    /// The column keeps elements of this type; each of them makes a key. See [`KeySpec::each_key`].
    pub multi_valued: bool,
}

impl KeySpec {
    /// The key of an index's rows: all its columns, in their order.
    pub fn of_index(schema: &TableSchema, index: &Index) -> KeySpec {
        let part = |part: &crate::schema::IndexColumn| {
            let column = &schema.columns[part.column];
            KeyPart {
                column: part.column,
                sql_type: column.array_of.as_ref().unwrap_or(&column.sql_type).clone(),
                nullable: column.nullable,
                prefix_length: part.prefix_length,
                descending: part.descending,
                multi_valued: column.array_of.is_some(),
            }
        };
        KeySpec { parts: index.columns.iter().map(part).collect() }
    }

    /// The key by which an index keeps its rows: its own columns, and behind those that may be equal in several rows the
    /// primary key's. It never stands in anything but memory.
    pub fn of_entries(schema: &TableSchema, index: &Index) -> KeySpec {
        let mut spec = KeySpec::of_index(schema, index);
        // Whoever answers for uniqueness by the index itself looks for exactly these keys.
        let answers = index.unique && index.unique_table.is_none();
        if answers || index.unique && !spec.parts.iter().any(|part| part.nullable) {
            return spec;
        }
        for part in KeySpec::of_index(schema, schema.primary_key()).parts {
            let is_there = |own: &KeyPart| own.column == part.column && own.prefix_length == 0;
            if !spec.parts.iter().any(is_there) {
                spec.parts.push(part);
            }
        }
        spec
    }

    /// The key whose hash chooses the partition of a row: always ascending, without prefixes, so that equal
    /// values of two tables are neighbours.
    pub fn of_partitioning(schema: &TableSchema) -> KeySpec {
        let part = |&column: &usize| KeyPart {
            column,
            sql_type: schema.columns[column].sql_type.clone(),
            nullable: false,
            prefix_length: 0,
            descending: false,
            multi_valued: false,
        };
        KeySpec { parts: schema.partition_columns.iter().map(part).collect() }
    }

    /// Appends the key of a stored row. A row may have several keys of a multi-valued index: [`KeySpec::each_key`].
    pub fn append_from_row(&self, row: RowRef<'_>, out: &mut Vec<u8>) {
        for part in &self.parts {
            part.append_from_row(row, out);
        }
    }

    /// A row has a key for each element of an array, and none if that is empty.
    pub fn is_multi_valued(&self) -> bool {
        self.parts.iter().any(|part| part.multi_valued)
    }

    /// Shows every key of a stored row, made in `key`.
    pub fn each_key(&self, row: RowRef<'_>, key: &mut Vec<u8>, mut see: impl FnMut(&[u8])) {
        key.clear();
        let Some(place) = self.parts.iter().position(|part| part.multi_valued) else {
            self.append_from_row(row, key);
            return see(key);
        };
        let (before, part, behind) = (&self.parts[..place], &self.parts[place], &self.parts[place + 1..]);
        before.iter().for_each(|part| part.append_from_row(row, key));
        let prefix = key.len();
        let mut see_with = |element: Option<&[u8]>, key: &mut Vec<u8>| {
            key.truncate(prefix);
            match element {
                None => key.push(0),
                Some(element) => {
                    key.extend(part.nullable.then_some(1));
                    key.extend_from_slice(element);
                }
            }
            part.invert(key, prefix);
            behind.iter().for_each(|part| part.append_from_row(row, key));
            see(key);
        };
        match row.is_null(part.column) {
            true => see_with(None, key),
            false => array_elements::iter(row.raw(part.column)).for_each(|element| see_with(Some(element), key)),
        }
    }

    /// The row has this key among others.
    pub fn has_key(&self, row: RowRef<'_>, key: &[u8], buffer: &mut Vec<u8>) -> bool {
        let mut has = false;
        self.each_key(row, buffer, |one| has |= one == key);
        has
    }

    /// The parts by which rows that a scan has found by one element of an array are in order.
    pub fn without_elements(mut self) -> KeySpec {
        self.parts.retain(|part| !part.multi_valued);
        self
    }

    /// Appends the key of the leading `values.len()` parts. The values must have been converted to the columns'
    /// types. Timestamps are turned from `zone` to UTC.
    pub fn append_from_values(&self, values: &[Value], zone: &TimeZone, out: &mut Vec<u8>) -> Result<()> {
        for (part, value) in self.parts.iter().zip(values) {
            part.append_value(value, zone, out)?;
        }
        Ok(())
    }

    /// The columns have the same bytes in both rows, so the keys are equal; the converse need not hold.
    pub fn has_same_columns(&self, one: RowRef<'_>, other: RowRef<'_>) -> bool {
        self.parts.iter().all(|part| {
            let null = one.is_null(part.column);
            null == other.is_null(part.column) && (null || one.raw(part.column) == other.raw(part.column))
        })
    }

    /// Some part of the row's key is NULL (such keys are never duplicates of each other).
    pub fn has_null(&self, row: RowRef<'_>) -> bool {
        self.parts.iter().any(|part| part.nullable && row.is_null(part.column))
    }
}

impl KeyPart {
    #[inline]
    fn append_from_row(&self, row: RowRef<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        if row.is_null(self.column) {
            out.push(0);
        } else {
            if self.nullable {
                out.push(1);
            }
            append_raw(row.raw(self.column), &self.sql_type, self.prefix_length, out);
        }
        self.invert(out, start);
    }

    fn invert(&self, out: &mut [u8], start: usize) {
        if self.descending {
            for byte in &mut out[start..] {
                *byte = !*byte;
            }
        }
    }

    /// It is a column of TINYINT to BIGINT that can hold the number.
    fn takes(&self, number: i128) -> bool {
        let bits = match fixed_width(&self.sql_type) {
            Some(width) if self.sql_type.is_int() => 8 * width as u32,
            _ => return false,
        };
        match self.sql_type.unsigned {
            true => (0..1 << bits).contains(&number),
            false => (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number),
        }
    }

    fn append_integer(&self, bits: u64, out: &mut Vec<u8>) {
        let width = fixed_width(&self.sql_type).unwrap_or(8);
        append_raw(&bits.to_le_bytes()[..width], &self.sql_type, 0, out);
    }

    /// Appends one value as this part of a key. TIMESTAMP values are in `zone`. Values that do not fit the type are
    /// errors, as is JSON, which no key holds.
    pub fn append_value(&self, value: &Value, zone: &TimeZone, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        if value.is_null() {
            out.push(0);
        } else {
            if self.nullable {
                out.push(1);
            }
            match value {
                Value::Str(text) => append_raw(text, &self.sql_type, self.prefix_length, out),
                Value::Int(number) if self.takes(i128::from(*number)) => self.append_integer(*number as u64, out),
                Value::UInt(number) if self.takes(i128::from(*number)) => self.append_integer(*number, out),
                Value::Json(_) => return Err(Error::unsupported("JSON as a key")),
                other => {
                    let layout = RowLayout::new(vec![self.sql_type.clone()]);
                    let mut row = Vec::with_capacity(32);
                    layout.encode(std::slice::from_ref(other), zone, &mut row)?;
                    append_raw(layout.row(&row).raw(0), &self.sql_type, 0, out);
                }
            }
        }
        self.invert(out, start);
        Ok(())
    }
}

/// Appends the memcomparable form of one stored, non-NULL column.
pub fn append_raw(raw: &[u8], sql_type: &SqlType, prefix_length: u32, out: &mut Vec<u8>) {
    match sql_type.base {
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            append_big_endian(raw, !sql_type.unsigned, out)
        }
        BaseType::Time | BaseType::Timestamp => append_big_endian(raw, true, out),
        BaseType::Bit | BaseType::Year | BaseType::Date | BaseType::DateTime | BaseType::Enum | BaseType::Set => {
            append_big_endian(raw, false, out)
        }
        BaseType::Float => {
            let number = f32::from_bits(little_endian_word(raw) as u32);
            out.extend_from_slice(&ordered_bits(f64::from(number)).to_be_bytes());
        }
        BaseType::Double => {
            let number = f64::from_bits(little_endian_word(raw));
            out.extend_from_slice(&ordered_bits(number).to_be_bytes());
        }
        BaseType::Decimal => out.extend_from_slice(raw),
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Json | BaseType::Geometry => {
            let limit = (prefix_length > 0).then_some(prefix_length as usize);
            sql_type.collation.append_sort_key(raw, limit, out);
        }
        BaseType::Null => {}
    }
}

fn append_big_endian(raw: &[u8], signed: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(raw.iter().rev());
    if signed && let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

/// Bits that order as the numbers do; -0 equals 0.
fn ordered_bits(number: f64) -> u64 {
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_of_a_prefix_is_behind_everything_that_begins_with_it() {
        assert_eq!(successor(b"ab").unwrap(), b"ac");
        assert_eq!(successor(&[1, 0xFF]).unwrap(), [2]);
        assert_eq!(successor(&[0xFF, 0xFF]), None);
    }
}
