//! Where an expression finds the columns of its input row.
//!
//! [`RowSource::value`] always works; the borrowed accessors serve comparisons that need no value of their own.

use shoal_types::row::{RowRef, little_endian_word};
use shoal_types::{BaseType, TimeZone, Value};

/// An input row. Positions at or past the end read as NULL.
pub trait RowSource {
    /// The column as a value; timestamps are shown in `zone`.
    fn value(&self, column: usize, zone: &TimeZone) -> Value;

    /// The column is NULL, or past the row's end.
    fn is_null(&self, column: usize) -> bool;

    /// The bits of a non-NULL column of the integer types (TINYINT to BIGINT), sign-extended; `None` if the row
    /// cannot give them without making a value.
    fn integer(&self, column: usize) -> Option<i64>;

    /// The bytes of a non-NULL string column (CHAR, VARCHAR, TEXT); `None` if the row cannot lend them.
    fn text(&self, column: usize) -> Option<&[u8]>;
}

impl RowSource for [Value] {
    fn value(&self, column: usize, _zone: &TimeZone) -> Value {
        self.get(column).cloned().unwrap_or_default()
    }

    fn is_null(&self, column: usize) -> bool {
        self.get(column).is_none_or(Value::is_null)
    }

    fn integer(&self, column: usize) -> Option<i64> {
        match self.get(column)? {
            Value::Int(number) => Some(*number),
            Value::UInt(number) => Some(*number as i64),
            _ => None,
        }
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        match self.get(column)? {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }
}

impl RowSource for Vec<Value> {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        self.as_slice().value(column, zone)
    }

    fn is_null(&self, column: usize) -> bool {
        self.as_slice().is_null(column)
    }

    fn integer(&self, column: usize) -> Option<i64> {
        self.as_slice().integer(column)
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        self.as_slice().text(column)
    }
}

impl<const N: usize> RowSource for [Value; N] {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        self.as_slice().value(column, zone)
    }

    fn is_null(&self, column: usize) -> bool {
        self.as_slice().is_null(column)
    }

    fn integer(&self, column: usize) -> Option<i64> {
        self.as_slice().integer(column)
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        self.as_slice().text(column)
    }
}

impl RowSource for RowRef<'_> {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        if column >= self.layout().column_count() {
            return Value::Null;
        }
        RowRef::value(self, column, zone)
    }

    fn is_null(&self, column: usize) -> bool {
        column >= self.layout().column_count() || RowRef::is_null(self, column)
    }

    fn integer(&self, column: usize) -> Option<i64> {
        let sql_type = self.layout().types().get(column)?;
        match sql_type.base {
            BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
                let (raw, unsigned) = (self.raw(column), sql_type.unsigned);
                Some(match *raw {
                    [a, b, c, d] if unsigned => i64::from(u32::from_le_bytes([a, b, c, d])),
                    [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
                    [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
                    _ => {
                        let shift = 64 - 8 * raw.len().clamp(1, 8) as u32;
                        let word = little_endian_word(raw) << shift;
                        if unsigned { (word >> shift) as i64 } else { (word as i64) >> shift }
                    }
                })
            }
            _ => None,
        }
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        match self.layout().types().get(column)?.base {
            BaseType::Char | BaseType::VarChar | BaseType::Text => Some(self.raw(column)),
            _ => None,
        }
    }
}

/// No columns at all: for constant expressions.
#[derive(Clone, Copy, Debug)]
pub struct NoRow;

impl RowSource for NoRow {
    fn value(&self, _column: usize, _zone: &TimeZone) -> Value {
        Value::Null
    }

    fn is_null(&self, _column: usize) -> bool {
        true
    }

    fn integer(&self, _column: usize) -> Option<i64> {
        None
    }

    fn text(&self, _column: usize) -> Option<&[u8]> {
        None
    }
}

/// Two rows side by side: columns below `split` come from `left`, the others from `right`.
#[derive(Clone, Copy, Debug)]
pub struct JoinedRow<'a, L: ?Sized, R: ?Sized> {
    /// Columns from 0 to `split`.
    pub left: &'a L,
    /// Columns from `split` on.
    pub right: &'a R,
    /// How many columns `left` has.
    pub split: usize,
}

impl<L: RowSource + ?Sized, R: RowSource + ?Sized> RowSource for JoinedRow<'_, L, R> {
    fn value(&self, column: usize, zone: &TimeZone) -> Value {
        match column.checked_sub(self.split) {
            None => self.left.value(column, zone),
            Some(column) => self.right.value(column, zone),
        }
    }

    fn is_null(&self, column: usize) -> bool {
        match column.checked_sub(self.split) {
            None => self.left.is_null(column),
            Some(column) => self.right.is_null(column),
        }
    }

    fn integer(&self, column: usize) -> Option<i64> {
        match column.checked_sub(self.split) {
            None => self.left.integer(column),
            Some(column) => self.right.integer(column),
        }
    }

    fn text(&self, column: usize) -> Option<&[u8]> {
        match column.checked_sub(self.split) {
            None => self.left.text(column),
            Some(column) => self.right.text(column),
        }
    }
}
