//! Rows that were written before columns came or went.
//!
//! A definition may add, drop and move columns without touching a row. The rows that are there stay as they lie: the upper bits of
//! their flags say which of the table's row versions they are, and a [`RowLayout`](super::RowLayout) of the present columns reads them
//! all. A column that came later has one value in all rows from before it. Whoever writes a row writes the present version.

use std::borrow::Cow;

use super::{FLAG_WIDE_ENDS, RowRef, Slot};
use crate::schema::{PastColumn, PastRows};

/// Row versions of a table beside the present one. InnoDB allows as many.
pub const PAST_ROWS_MAX: usize = 64;

/// Where the present columns are in rows of one earlier version.
#[derive(Clone, Debug)]
pub(super) struct PastLayout {
    columns: Vec<Place>,
    ends_offset: usize,
    variable_count: usize,
}

#[derive(Clone, Debug)]
enum Place {
    /// With the bit of its NULL.
    Stored(Slot, usize),
    /// `None`: NULL.
    Value(Option<Box<[u8]>>),
}

/// Rows of a version that this definition does not know yet have no columns. Nobody but who reads beside a definition meets one.
pub(super) static UNKNOWN: PastLayout = PastLayout { columns: Vec::new(), ends_offset: 1, variable_count: 0 };

impl PastLayout {
    pub(super) fn new(rows: &PastRows) -> PastLayout {
        let mut offset = 1 + rows.widths.len().div_ceil(8);
        let mut variable_count = 0;
        let mut slots = Vec::with_capacity(rows.widths.len());
        for width in &rows.widths {
            slots.push(match width {
                Some(width) => {
                    offset += usize::from(*width);
                    Slot::Fixed((offset - usize::from(*width)) as u32, *width)
                }
                None => {
                    variable_count += 1;
                    Slot::Variable(variable_count as u32 - 1)
                }
            });
        }
        let place = |column: &PastColumn| match column {
            PastColumn::At(position) => Place::Stored(slots[*position], *position),
            PastColumn::Value(value) => Place::Value(value.as_deref().map(Into::into)),
        };
        PastLayout { columns: rows.columns.iter().map(place).collect(), ends_offset: offset, variable_count }
    }

    pub(super) fn shape(&self) -> (usize, usize) {
        (self.ends_offset, self.variable_count)
    }

    pub(super) fn is_null(&self, bytes: &[u8], column: usize) -> bool {
        match self.columns.get(column) {
            Some(Place::Stored(_, bit)) => bytes[1 + bit / 8] & (1 << (bit % 8)) != 0,
            Some(Place::Value(value)) => value.is_none(),
            None => true,
        }
    }

    pub(super) fn raw<'a>(&'a self, bytes: &'a [u8], column: usize) -> &'a [u8] {
        match self.columns.get(column) {
            Some(Place::Stored(slot, _)) => slot.of(bytes, self.ends_offset, self.variable_count),
            Some(Place::Value(Some(value))) => value,
            Some(Place::Value(None)) | None => &[],
        }
    }
}

/// The row version that a row's flags name.
pub(super) fn version_of(bytes: &[u8]) -> u8 {
    bytes.first().map_or(0, |flags| flags / (FLAG_WIDE_ENDS << 1))
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
}

#[cfg(test)]
mod tests {
    use super::super::RowLayout;
    use crate::schema::{PastColumn, PastRows};
    use crate::sql_type::{BaseType, SqlType};
    use crate::{Collation, TimeZone, Value};

    fn types(texts: usize) -> Vec<SqlType> {
        let mut types = vec![SqlType::new(BaseType::Int), SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI)];
        types.extend((0..texts).map(|_| SqlType::new(BaseType::Text)));
        types
    }

    /// What was (int, varchar, text) is (text, int, bigint): the varchar is gone, and the bigint came with 7.
    fn layouts() -> (RowLayout, RowLayout) {
        let present =
            vec![SqlType::new(BaseType::Text), SqlType::new(BaseType::Int), SqlType::new(BaseType::BigInt)];
        let past = PastRows {
            widths: vec![Some(4), None, None],
            columns: vec![
                PastColumn::At(2),
                PastColumn::At(0),
                PastColumn::Value(Some(7_u64.to_le_bytes().to_vec())),
            ],
        };
        (RowLayout::new(types(1)), RowLayout::with_past(present, &[past]))
    }

    #[test]
    fn rows_from_before_a_definition_have_the_columns_that_came_with_it() {
        let (old, new) = layouts();
        for text in [vec![b'y'; 3], vec![b'z'; 70_000]] {
            let mut row = Vec::new();
            let values = [Value::Int(-5), Value::str("gone"), Value::Str(text.clone())];
            old.encode(&values, &TimeZone::UTC, &mut row).unwrap();
            let expected = [Value::Str(text), Value::Int(-5), Value::Int(7)];
            let read = new.checked_row(&row).unwrap();
            assert_eq!(read.values(&TimeZone::UTC), expected);
            let current = read.current_bytes();
            assert_ne!(&*current, &row[..]);
            let again = new.checked_row(&current).unwrap();
            assert_eq!(again.values(&TimeZone::UTC), expected);
            assert_eq!(again.current_bytes(), current);
            let mut changed = Vec::new();
            new.encode_changed(read, &[(1, Value::Null)], &TimeZone::UTC, &mut changed).unwrap();
            assert_eq!(new.row(&changed).value(1, &TimeZone::UTC), Value::Null);
            // Whoever does not know the version yet neither reads beyond it nor blames its sender.
            assert!(old.checked_row(&current).is_err_and(|error| !error.is_spoilt()));
            assert!(old.row(&current).is_null(0) && old.row(&current).raw(2).is_empty());
            assert!(new.splice(read, 0, 0, 0, b"x").is_none());
        }
    }

    #[test]
    fn a_null_of_an_earlier_row_stays_one() {
        let (old, new) = layouts();
        let mut row = Vec::new();
        old.encode(&[Value::Null, Value::Null, Value::Null], &TimeZone::UTC, &mut row).unwrap();
        assert_eq!(new.row(&row).values(&TimeZone::UTC), [Value::Null, Value::Null, Value::Int(7)]);
        for length in 0..row.len() {
            assert!(new.checked_row(&row[..length]).is_err(), "{length} bytes");
        }
    }
}
