//! Rows at rest: one byte string a row, columns readable in place without decoding the others.
//!
//! ```text
//! flags 1 byte   bit 0: variable ends are u32 (else u16); bits 1 to 7: which of the table's row versions it is ([`past`])
//! nulls          one bit a column, ceil(columns / 8) bytes; a set bit is NULL
//! fixed          every fixed-size column at its own constant offset (zeros when NULL)
//! ends           for every variable-size column the end of its bytes, counted from the start of `variable`
//! variable       the bytes of the variable-size columns
//! ```
//! Integers, temporal values, BIT, ENUM and SET are little-endian of the column's width, DECIMAL is MySQL's binary
//! format (already memcomparable), strings are bytes in the column's character set (CHAR without its padding, BINARY
//! with it), JSON is its binary form.

mod past;
#[cfg(test)]
mod past_tests;
mod slot;
mod splice;

pub use past::PAST_ROWS_MAX;
pub use splice::Splice;

use std::borrow::Cow;

use self::past::PastLayout;
use self::slot::{FLAG_WIDE_ENDS, Slot, end_of};
pub use crate::bytes::little_endian_word;
use crate::decimal::{Decimal, binary_size};
use crate::schema::{PastRows, TableSchema};
use crate::sql_type::{BaseType, SqlType};
use crate::temporal::{Date, DateTime, Time, TimeZone};
use crate::value::{EnumValue, SetValue, Value};
use crate::{Error, ErrorCode, Json, Result};

/// Where each column of a table lies in its rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    types: Vec<SqlType>,
    slots: Vec<Slot>,
    fixed_offset: usize,
    ends_offset: usize,
    variable_count: usize,
    /// The version of rows that are written.
    version: u8,
    /// Of earlier versions, the first of which is 0.
    past: Vec<PastLayout>,
}

/// Bytes that a fixed-size column takes in a row; `None` for a variable-size one.
pub fn fixed_width(sql_type: &SqlType) -> Option<usize> {
    Some(match sql_type.base {
        BaseType::TinyInt | BaseType::Year => 1,
        BaseType::SmallInt => 2,
        BaseType::MediumInt | BaseType::Date => 3,
        BaseType::Int | BaseType::Float => 4,
        BaseType::BigInt | BaseType::Double | BaseType::DateTime | BaseType::Timestamp => 8,
        BaseType::Time => 6,
        BaseType::Decimal => binary_size(sql_type.length as usize, sql_type.decimals as usize),
        BaseType::Bit => (sql_type.length as usize).div_ceil(8).max(1),
        BaseType::Enum if label_count(sql_type) < 256 => 1,
        BaseType::Enum => 2,
        BaseType::Set => match label_count(sql_type).div_ceil(8) {
            0 | 1 => 1,
            width @ (2..=4) => width,
            _ => 8,
        },
        BaseType::Null => 0,
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Json | BaseType::Geometry => return None,
    })
}

fn label_count(sql_type: &SqlType) -> usize {
    sql_type.labels.as_ref().map_or(0, |labels| labels.len())
}

impl RowLayout {
    /// Of rows with columns of these types, in their order.
    pub fn new(types: Vec<SqlType>) -> RowLayout {
        let fixed_offset = 1 + types.len().div_ceil(8);
        let mut offset = fixed_offset;
        let mut variable_count = 0;
        let slots = types
            .iter()
            .map(|sql_type| match fixed_width(sql_type) {
                Some(width) => {
                    let slot = Slot::Fixed(offset as u32, width as u8);
                    offset += width;
                    slot
                }
                None => {
                    variable_count += 1;
                    Slot::Variable(variable_count as u32 - 1)
                }
            })
            .collect();
        RowLayout { types, slots, fixed_offset, ends_offset: offset, variable_count, version: 0, past: Vec::new() }
    }

    /// Of a table's rows.
    pub fn of_table(schema: &TableSchema) -> RowLayout {
        let types = schema.columns.iter().map(|column| column.sql_type.clone()).collect();
        RowLayout::with_past(types, &schema.past_rows)
    }

    /// Of rows with columns of these types, and of those that lay in other ways before.
    pub fn with_past(types: Vec<SqlType>, past: &[PastRows]) -> RowLayout {
        RowLayout {
            version: past.len() as u8,
            past: past.iter().map(PastLayout::new).collect(),
            ..RowLayout::new(types)
        }
    }

    /// Of the columns, in their order.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// With hidden columns.
    pub fn column_count(&self) -> usize {
        self.types.len()
    }

    /// Reads bytes as a row of this layout. They must have been encoded by it: nothing is
    /// verified here. [`RowLayout::checked_row`] takes bytes of any origin.
    #[inline]
    pub fn row<'a>(&'a self, bytes: &'a [u8]) -> RowRef<'a> {
        let version = past::version_of(bytes);
        let past = if version == self.version { None } else { Some(self.past_layout(version)) };
        RowRef { layout: self, bytes, past }
    }

    #[cold]
    fn past_layout(&self, version: u8) -> &PastLayout {
        self.past.get(usize::from(version)).unwrap_or(&past::UNKNOWN)
    }

    /// The same with bytes that may come from anywhere. Every column of the row then lies within it; what strings hold is not
    /// looked at.
    ///
    /// # Errors
    /// The bytes are no row of this layout. 1412: a definition that is not known here yet has been there before the row.
    pub fn checked_row<'a>(&'a self, bytes: &'a [u8]) -> Result<RowRef<'a>> {
        if past::version_of(bytes) > self.version {
            let message = "Table definition has changed, please retry transaction";
            return Err(Error::new(ErrorCode::TableDefChanged, message));
        }
        match self.is_row(bytes) {
            true => Ok(self.row(bytes)),
            false => {
                let (bytes, columns) = (bytes.len(), self.types.len());
                let message = format!("internal: {bytes} bytes from another node are no row of {columns} columns");
                Err(Error::unknown(message).as_spoilt())
            }
        }
    }

    fn is_row(&self, bytes: &[u8]) -> bool {
        let Some(&flags) = bytes.first() else { return false };
        let wide = flags & FLAG_WIDE_ENDS != 0;
        let version = past::version_of(bytes);
        let (ends_offset, variable_count) = match version == self.version {
            true => (self.ends_offset, self.variable_count),
            false => self.past_layout(version).shape(),
        };
        let variable = ends_offset + variable_count * if wide { 4 } else { 2 };
        let Some(variable_bytes) = bytes.len().checked_sub(variable) else { return false };
        let mut last = 0;
        for ordinal in 0..variable_count {
            let end = end_of(bytes, ends_offset, ordinal, wide);
            if end < last {
                return false;
            }
            last = end;
        }
        last == variable_bytes
    }

    /// Appends the row of `values` (one a column, each already converted to its column's type) to `out`.
    /// Timestamps are turned from `zone` to UTC. Errors: a value that does not fit its column's class.
    pub fn encode(&self, values: &[Value], zone: &TimeZone, out: &mut Vec<u8>) -> Result<()> {
        debug_assert_eq!(values.len(), self.types.len());
        self.encode_cells(|column| Cell::New(&values[column]), zone, out)
    }

    /// Appends a copy of `old`, a row of this layout, with these columns changed. Errors: as `encode`.
    pub fn encode_changed(
        &self,
        old: RowRef<'_>,
        changes: &[(usize, Value)],
        zone: &TimeZone,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let cell = |column: usize| match changes.iter().find(|(changed, _)| *changed == column) {
            Some((_, value)) => Cell::New(value),
            None if old.is_null(column) => Cell::New(&Value::Null),
            None => Cell::Old(old.raw(column)),
        };
        self.encode_cells(cell, zone, out)
    }

    /// The same with the stored bytes of columns; `None` is NULL. Errors: bytes of another length than the column has.
    pub fn encode_replaced(
        &self,
        old: RowRef<'_>,
        changes: &[(usize, Option<&[u8]>)],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let fits = |&(column, raw): &(usize, Option<&[u8]>)| match self.slots.get(column) {
            Some(Slot::Fixed(_, width)) => raw.is_none_or(|raw| raw.len() == usize::from(*width)),
            Some(Slot::Variable(_)) => true,
            None => false,
        };
        if !changes.iter().all(fits) {
            return Err(Error::unknown("internal: stored bytes do not fit their column"));
        }
        let cell = |column: usize| match changes.iter().find(|(changed, _)| *changed == column) {
            Some((_, Some(raw))) => Cell::Old(raw),
            Some((_, None)) => Cell::New(&Value::Null),
            None if old.is_null(column) => Cell::New(&Value::Null),
            None => Cell::Old(old.raw(column)),
        };
        self.encode_cells(cell, &TimeZone::UTC, out)
    }

    /// Appends the row of this layout whose columns are these columns of another row, of the same types.
    pub fn encode_projected(&self, from: RowRef<'_>, columns: &[usize], out: &mut Vec<u8>) -> Result<()> {
        debug_assert_eq!(columns.len(), self.types.len());
        let cell = |column: usize| match from.is_null(columns[column]) {
            true => Cell::New(&Value::Null),
            false => Cell::Old(from.raw(columns[column])),
        };
        self.encode_cells(cell, &TimeZone::UTC, out)
    }

    fn encode_cells<'v>(
        &self,
        cell: impl Fn(usize) -> Cell<'v>,
        zone: &TimeZone,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        let variable = |column: usize| matches!(self.slots[column], Slot::Variable(_));
        let columns = 0..self.types.len();
        let variable_size: usize =
            columns.clone().filter(|&column| variable(column)).map(|column| cell(column).variable_size()).sum();
        let wide = variable_size > u16::MAX as usize;
        let end_width = if wide { 4 } else { 2 };
        let head = self.ends_offset + self.variable_count * end_width;
        out.reserve(head + variable_size);
        out.resize(start + head, 0);
        out[start] = self.version << 1 | if wide { FLAG_WIDE_ENDS } else { 0 };
        let variable_start = start + head;
        for column in columns {
            let cell = cell(column);
            if matches!(cell, Cell::New(Value::Null)) {
                out[start + 1 + column / 8] |= 1 << (column % 8);
            }
            match self.slots[column] {
                Slot::Fixed(offset, width) => {
                    let at = start + offset as usize;
                    let target = &mut out[at..at + width as usize];
                    match cell {
                        Cell::New(value) => write_fixed(value, &self.types[column], zone, target)?,
                        Cell::Old(raw) => target.copy_from_slice(raw),
                    }
                }
                Slot::Variable(ordinal) => {
                    match cell {
                        Cell::New(value) => append_variable(value, out)?,
                        Cell::Old(raw) => out.extend_from_slice(raw),
                    }
                    let end = (out.len() - variable_start) as u32;
                    let at = start + self.ends_offset + ordinal as usize * end_width;
                    out[at..at + end_width].copy_from_slice(&end.to_le_bytes()[..end_width]);
                }
            }
        }
        Ok(())
    }
}

/// The bytes that a column of its type stores for a value, which was converted to that type; `None`: NULL. Timestamps are turned
/// from `zone` to UTC.
///
/// # Errors
/// As `RowLayout::encode`.
pub fn encode_column(value: &Value, sql_type: &SqlType, zone: &TimeZone) -> Result<Option<Vec<u8>>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut raw = Vec::new();
    match fixed_width(sql_type) {
        Some(width) => {
            raw.resize(width, 0);
            write_fixed(value, sql_type, zone, &mut raw)?;
        }
        None => append_variable(value, &mut raw)?,
    }
    Ok(Some(raw))
}

/// What goes into a column.
enum Cell<'v> {
    New(&'v Value),
    /// The stored, non-NULL bytes of the same column of another row.
    Old(&'v [u8]),
}

impl Cell<'_> {
    fn variable_size(&self) -> usize {
        match self {
            Cell::New(Value::Str(bytes)) => bytes.len(),
            Cell::New(Value::Json(json)) => json.as_bytes().len(),
            Cell::New(_) => 0,
            Cell::Old(raw) => raw.len(),
        }
    }
}

fn append_variable(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null => {}
        Value::Str(bytes) => out.extend_from_slice(bytes),
        Value::Json(json) => out.extend_from_slice(json.as_bytes()),
        other => return Err(mismatch(other)),
    }
    Ok(())
}

fn mismatch(value: &Value) -> Error {
    Error::unknown(format!("internal: value {value:?} was not converted to its column's type"))
}

fn write_fixed(value: &Value, sql_type: &SqlType, zone: &TimeZone, out: &mut [u8]) -> Result<()> {
    let word: u64 = match (value, sql_type.base) {
        (Value::Null, _) => return Ok(()),
        (Value::Decimal(decimal), BaseType::Decimal) => {
            decimal.write_binary(sql_type.length as usize, sql_type.decimals as usize, out);
            return Ok(());
        }
        (Value::Float(number), BaseType::Float) => u64::from(number.to_bits()),
        (Value::Double(number), BaseType::Double) => number.to_bits(),
        (Value::Date(date), BaseType::Date) => u64::from(date.0),
        (Value::Time(time), BaseType::Time) => time.micros as u64,
        (Value::DateTime(datetime), BaseType::DateTime) => datetime.packed,
        (Value::DateTime(datetime), BaseType::Timestamp) => zone.to_utc_micros(*datetime) as u64,
        (Value::Year(year), BaseType::Year) => u64::from(year.saturating_sub(1900)),
        (Value::Bit(bits, _), BaseType::Bit) => *bits,
        (Value::Enum(member), BaseType::Enum) => u64::from(member.index),
        (Value::Set(members), BaseType::Set) => members.bits,
        (Value::Int(number), _) if sql_type.is_integer() => *number as u64,
        (Value::UInt(number), _) if sql_type.is_integer() => *number,
        (other, _) => return Err(mismatch(other)),
    };
    let width = out.len();
    out.copy_from_slice(&word.to_le_bytes()[..width]);
    Ok(())
}

/// A row in place.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    /// It was written before the present version of rows.
    past: Option<&'a PastLayout>,
}

impl<'a> RowRef<'a> {
    /// The row as it would be written now.
    pub fn current_bytes(&self) -> Cow<'a, [u8]> {
        if self.past.is_none() {
            return Cow::Borrowed(self.bytes);
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() + 16);
        // A row's own columns fit their places.
        match self.layout.encode_replaced(*self, &[], &mut bytes) {
            Ok(()) => Cow::Owned(bytes),
            Err(_) => Cow::Borrowed(self.bytes),
        }
    }

    /// As the row is stored.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// By which the row is read.
    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }

    /// The column holds NULL.
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        match self.past {
            None => self.bytes[1 + column / 8] & (1 << (column % 8)) != 0,
            Some(past) => past.is_null(self.bytes, column),
        }
    }

    /// The stored bytes of a column: little-endian for integers and temporal values, the text of strings.
    /// Meaningless (zeros or empty) when the column is NULL.
    #[inline]
    pub fn raw(&self, column: usize) -> &'a [u8] {
        match self.past {
            None => self.layout.slots[column].of(self.bytes, self.layout.ends_offset, self.layout.variable_count),
            Some(past) => past.raw(self.bytes, column),
        }
    }

    /// The fixed-size column as an unsigned little-endian word.
    #[inline]
    pub fn word(&self, column: usize) -> u64 {
        little_endian_word(self.raw(column))
    }

    /// The column as a value; timestamps are shown in `zone`.
    pub fn value(&self, column: usize, zone: &TimeZone) -> Value {
        if self.is_null(column) {
            return Value::Null;
        }
        decode_column(self.raw(column), &self.layout.types[column], zone)
    }

    /// All columns, decoded; TIMESTAMP values in `zone`.
    pub fn values(&self, zone: &TimeZone) -> Vec<Value> {
        (0..self.layout.types.len()).map(|column| self.value(column, zone)).collect()
    }

    /// Where the fixed-size part begins.
    pub fn fixed_offset(&self) -> usize {
        self.layout.fixed_offset
    }
}

fn sign_extend(word: u64, width: usize) -> i64 {
    let shift = 64 - 8 * width.clamp(1, 8) as u32;
    ((word << shift) as i64) >> shift
}

/// The stored, non-NULL bytes of a column as a value.
pub fn decode_column(raw: &[u8], sql_type: &SqlType, zone: &TimeZone) -> Value {
    match sql_type.base {
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            let word = little_endian_word(raw);
            if sql_type.unsigned { Value::UInt(word) } else { Value::Int(sign_extend(word, raw.len())) }
        }
        BaseType::Float => Value::Float(f32::from_bits(little_endian_word(raw) as u32)),
        BaseType::Double => Value::Double(f64::from_bits(little_endian_word(raw))),
        BaseType::Decimal => {
            Value::Decimal(Decimal::read_binary(raw, sql_type.length as usize, sql_type.decimals as usize))
        }
        BaseType::Bit => Value::Bit(little_endian_word(raw), sql_type.length as u8),
        BaseType::Year => match little_endian_word(raw) as u16 {
            0 => Value::Year(0),
            year => Value::Year(year + 1900),
        },
        BaseType::Date => Value::Date(Date(little_endian_word(raw) as u32)),
        BaseType::Time => {
            Value::Time(Time { micros: sign_extend(little_endian_word(raw), raw.len()), fsp: sql_type.decimals })
        }
        BaseType::DateTime => {
            Value::DateTime(DateTime { packed: little_endian_word(raw), fsp: sql_type.decimals })
        }
        BaseType::Timestamp => {
            Value::DateTime(zone.from_utc_micros(little_endian_word(raw) as i64, sql_type.decimals))
        }
        BaseType::Enum => Value::Enum(EnumValue {
            index: little_endian_word(raw) as u16,
            labels: sql_type.labels.clone().unwrap_or_default(),
        }),
        BaseType::Set => Value::Set(SetValue {
            bits: little_endian_word(raw),
            labels: sql_type.labels.clone().unwrap_or_default(),
        }),
        BaseType::Json => Value::Json(Json::from_bytes(raw.to_vec())),
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Geometry => Value::Str(raw.to_vec()),
        BaseType::Null => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    fn layout() -> RowLayout {
        RowLayout::new(vec![
            SqlType::new(BaseType::Int),
            SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI),
            SqlType { unsigned: true, ..SqlType::new(BaseType::SmallInt) },
            SqlType::new(BaseType::Text),
        ])
    }

    #[test]
    fn a_changed_row_is_the_row_of_the_changed_values() {
        let layout = layout();
        let texts =
            [Value::Null, Value::Str(Vec::new()), Value::Str(vec![b'x'; 9]), Value::Str(vec![b'y'; 70_000])];
        for (text, other) in texts.iter().flat_map(|text| texts.iter().map(move |other| (text, other))) {
            let mut values = vec![Value::Int(-7), text.clone(), Value::Null, other.clone()];
            let mut old = Vec::new();
            layout.encode(&values, &TimeZone::UTC, &mut old).unwrap();
            for change in [(0, Value::Int(5)), (1, other.clone()), (2, Value::UInt(3)), (3, text.clone())] {
                let mut changed = Vec::new();
                layout
                    .encode_changed(layout.row(&old), std::slice::from_ref(&change), &TimeZone::UTC, &mut changed)
                    .unwrap();
                let before = std::mem::replace(&mut values[change.0], change.1);
                let mut expected = Vec::new();
                layout.encode(&values, &TimeZone::UTC, &mut expected).unwrap();
                assert_eq!(changed, expected);
                values[change.0] = before;
            }
        }
    }

    #[test]
    fn replaced_and_projected_columns_are_those_of_the_values() {
        let layout = layout();
        let values = [Value::Int(-7), Value::Null, Value::UInt(3), Value::str("tail")];
        let mut row = Vec::new();
        layout.encode(&values, &TimeZone::UTC, &mut row).unwrap();
        let row = layout.row(&row);
        let mut replaced = Vec::new();
        let changes: [(usize, Option<&[u8]>); 3] = [(0, Some(&[9, 0, 0, 0])), (1, Some(b"new")), (3, None)];
        layout.encode_replaced(row, &changes, &mut replaced).unwrap();
        let expected = [Value::Int(9), Value::str("new"), Value::UInt(3), Value::Null];
        assert_eq!(layout.row(&replaced).values(&TimeZone::UTC), expected);
        for wrong in [(0, Some(&[9u8][..])), (4, None)] {
            assert!(layout.encode_replaced(row, &[wrong], &mut Vec::new()).is_err());
        }
        let some = RowLayout::new(vec![layout.types()[3].clone(), layout.types()[1].clone()]);
        let mut projected = Vec::new();
        some.encode_projected(row, &[3, 1], &mut projected).unwrap();
        assert_eq!(some.row(&projected).values(&TimeZone::UTC), [Value::str("tail"), Value::Null]);
    }

    #[test]
    fn a_row_gives_back_what_was_put_in() {
        let layout = layout();
        for text_size in [0, 5, 70_000] {
            let values = vec![Value::Int(-7), Value::Null, Value::UInt(65_535), Value::Str(vec![b'x'; text_size])];
            let mut bytes = vec![9, 9];
            layout.encode(&values, &TimeZone::UTC, &mut bytes).unwrap();
            assert_eq!(layout.row(&bytes[2..]).values(&TimeZone::UTC), values);
        }
    }

    #[test]
    fn a_value_of_another_class_is_refused() {
        let values = vec![Value::str("x"), Value::Null, Value::Null, Value::Null];
        assert!(layout().encode(&values, &TimeZone::UTC, &mut Vec::new()).is_err());
    }

    /// A short row in a frame was read beyond its end.
    #[test]
    fn bytes_that_are_no_row_are_refused_and_others_are_read_without_a_panic() {
        let json = SqlType::new(BaseType::Json);
        let decimal = SqlType { length: 10, decimals: 3, ..SqlType::new(BaseType::Decimal) };
        let mut types = layout().types().to_vec();
        types.extend([json, decimal].map(|base| base));
        types.extend([BaseType::DateTime, BaseType::Timestamp, BaseType::Time, BaseType::Date].map(SqlType::new));
        let layout = RowLayout::new(types);
        let mut sound = Vec::new();
        let values = vec![Value::Null; layout.column_count()];
        layout.encode(&values, &TimeZone::UTC, &mut sound).unwrap();
        assert_eq!(layout.checked_row(&sound).unwrap().values(&TimeZone::UTC), values);
        for length in 0..sound.len() {
            assert!(layout.checked_row(&sound[..length]).is_err(), "{length} bytes");
        }
        assert!(layout.checked_row(&[&sound[..], b"x"].concat()).is_err(), "a byte too many");
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        let mut read = 0;
        for _ in 0..200_000 {
            let mut bytes = sound.clone();
            bytes.extend((0..random(40)).map(|_| 0));
            for _ in 0..=random(12) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            // Every so often the ends fit what there is.
            if random(4) > 0 {
                bytes[0] = 0;
                let variable = layout.ends_offset + layout.variable_count * 2;
                let left = bytes.len() - variable;
                let mut last = 0;
                for ordinal in 0..layout.variable_count {
                    last =
                        if ordinal + 1 == layout.variable_count { left } else { last + random(left - last + 1) };
                    let at = layout.ends_offset + ordinal * 2;
                    bytes[at..at + 2].copy_from_slice(&(last as u16).to_le_bytes());
                }
            }
            if let Ok(row) = layout.checked_row(&bytes) {
                read += 1;
                for value in row.values(&TimeZone::UTC) {
                    let _ = value.to_text();
                }
            }
        }
        assert!(read > 50_000, "{read}");
    }
}
