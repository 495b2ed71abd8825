//! Changes of some bytes of a long value, where its row lies: written over, appended, cut off.
//!
//! They say what is to be done, whatever the value is by then: "append" needs no length. What becomes of which bytes is found under the row's
//! lock ([`BytesChange::within`]), so that the partition can change the staged row in place.
//!
//! Positions are bytes. What lies between the end of a value and a position behind it is filled up: with zero bytes, and with spaces
//! in text. NULL begins as an empty value when something is written. Whether the bytes of a text are characters is not looked at
//! here, as pieces may end within one.

use std::borrow::Cow;

use shoal_types::row::RowRef;
use shoal_types::{BaseType, Error, ErrorCode, Result, SqlType};

use crate::protocol::{FrameReader, malformed, put_bytes, put_u64};

/// What a row may grow to by such changes: rows travel in one frame, with something around them.
pub const ROW_BYTES_MAX: usize = 60 << 20;
// The entry of a commit that writes such a row alone.
const _: () = assert!(ROW_BYTES_MAX + (1 << 20) < shoal_cluster::ENTRY_BYTES_MAX);

/// A change of some bytes of a long value, without the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BytesChange {
    /// Written behind what is there.
    Append(Vec<u8>),
    /// Written over what is there from a position on.
    WriteAt {
        /// Bytes from the value's beginning.
        position: u64,
        /// As many as are written over.
        bytes: Vec<u8>,
    },
    /// Cuts off what is behind this length. NULL and what is shorter stay as they are.
    Truncate(u64),
}

/// Bytes of a value in whose place others come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Within<'c> {
    pub at: usize,
    pub removed: usize,
    pub inserted: Cow<'c, [u8]>,
}

const APPEND: u8 = 0;
const WRITE_AT: u8 = 1;
const TRUNCATE: u8 = 2;

/// The most bytes that a column takes; `None`: it is not one of those whose values are bytes in a row.
pub fn value_bytes_max(sql_type: &SqlType) -> Option<u64> {
    match sql_type.base {
        BaseType::Text => Some(u64::from(sql_type.length)),
        BaseType::VarChar => {
            Some(u64::from(sql_type.length) * sql_type.collation.charset().char_bytes_max() as u64)
        }
        _ => None,
    }
}

impl BytesChange {
    /// What it does to a column of a row; NULL counts as empty. `None`: nothing, as NULL has no length.
    ///
    /// # Errors
    /// 1406 if the column does not take so much, 1153 if the row becomes too large.
    pub(crate) fn within(&self, row: RowRef<'_>, column: usize) -> Result<Option<Within<'_>>> {
        let sql_type = row.layout().types().get(column).ok_or_else(malformed)?;
        let limit = value_bytes_max(sql_type).ok_or_else(malformed)?;
        let length = if row.is_null(column) { 0 } else { row.raw(column).len() };
        let too_long = || too_long(column);
        let within = match self {
            BytesChange::Truncate(_) if row.is_null(column) => return Ok(None),
            BytesChange::Truncate(to) => {
                let at = usize::try_from(*to).map_or(length, |to| to.min(length));
                Within { at, removed: length - at, inserted: Cow::Borrowed(&[]) }
            }
            BytesChange::Append(bytes) => Within { at: length, removed: 0, inserted: Cow::Borrowed(bytes) },
            BytesChange::WriteAt { position, bytes } => {
                let end =
                    position.checked_add(bytes.len() as u64).filter(|&end| end <= limit).ok_or_else(too_long)?;
                let at = usize::try_from(*position).map_err(|_| too_long())?;
                check_row(row, length, length.max(end as usize))?;
                match at.checked_sub(length).filter(|&gap| gap > 0) {
                    Some(gap) => {
                        let filler = if sql_type.collation.is_binary() { 0 } else { b' ' };
                        let mut inserted = vec![filler; gap];
                        inserted.extend_from_slice(bytes);
                        Within { at: length, removed: 0, inserted: Cow::Owned(inserted) }
                    }
                    None => Within { at, removed: bytes.len().min(length - at), inserted: Cow::Borrowed(bytes) },
                }
            }
        };
        let new_length = length - within.removed + within.inserted.len();
        if new_length as u64 > limit && new_length > length {
            return Err(too_long());
        }
        check_row(row, length, new_length)?;
        Ok(Some(within))
    }

    /// The column's stored bytes afterwards; `None`: NULL.
    pub(crate) fn apply(&self, row: RowRef<'_>, column: usize) -> Result<Option<Vec<u8>>> {
        let Some(within) = self.within(row, column)? else { return Ok(None) };
        let old = if row.is_null(column) { &[] } else { row.raw(column) };
        let tail = &old[within.at + within.removed..];
        Ok(Some([&old[..within.at], &within.inserted, tail].concat()))
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            BytesChange::Append(bytes) => {
                out.push(APPEND);
                put_bytes(out, bytes);
            }
            BytesChange::WriteAt { position, bytes } => {
                out.push(WRITE_AT);
                put_u64(out, *position);
                put_bytes(out, bytes);
            }
            BytesChange::Truncate(length) => {
                out.push(TRUNCATE);
                put_u64(out, *length);
            }
        }
    }

    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<BytesChange> {
        Ok(match reader.u8()? {
            APPEND => BytesChange::Append(reader.bytes()?.to_vec()),
            WRITE_AT => BytesChange::WriteAt { position: reader.u64()?, bytes: reader.bytes()?.to_vec() },
            TRUNCATE => BytesChange::Truncate(reader.u64()?),
            _ => return Err(malformed()),
        })
    }
}

/// Error 1406. The coordinator knows the column's name, the leader its place.
fn too_long(column: usize) -> Error {
    Error::new(ErrorCode::DataTooLong, format!("Data too long for column {} of the table", column + 1))
}

/// Error 1153, if the row becomes too large with a value of another length.
fn check_row(row: RowRef<'_>, length: usize, new_length: usize) -> Result<()> {
    let bytes = row.bytes().len() - length + new_length;
    match bytes > ROW_BYTES_MAX && new_length > length {
        true => {
            let message = format!(
                "A row of {bytes} bytes is larger than the {} MiB that may go from node to node; divide the value \
                 among several rows",
                ROW_BYTES_MAX >> 20
            );
            Err(Error::new(ErrorCode::NetPacketTooLarge, message))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::row::RowLayout;
    use shoal_types::{Collation, TimeZone, Value};

    use super::*;

    fn layout() -> RowLayout {
        let text = |length, collation| SqlType { length, collation, ..SqlType::new(BaseType::Text) };
        RowLayout::new(vec![
            SqlType::new(BaseType::Int),
            text(u32::MAX, Collation::BINARY),
            text(255, Collation::UTF8MB4_0900_AI_CI),
            SqlType::varchar(5, Collation::UTF8MB4_0900_AI_CI),
        ])
    }

    fn apply(column: usize, old: Option<&str>, change: &BytesChange) -> Result<Option<String>> {
        let layout = layout();
        let mut values = vec![Value::Int(1), Value::Null, Value::Null, Value::Null];
        values[column] = old.map_or(Value::Null, Value::str);
        let mut row = Vec::new();
        layout.encode(&values, &TimeZone::UTC, &mut row).unwrap();
        let mut wire = Vec::new();
        change.put(&mut wire);
        let mut reader = FrameReader::new(&wire);
        assert_eq!(&BytesChange::read(&mut reader).unwrap(), change);
        reader.end().unwrap();
        Ok(change.apply(layout.row(&row), column)?.map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    fn at(position: u64, bytes: &str) -> BytesChange {
        BytesChange::WriteAt { position, bytes: bytes.into() }
    }

    #[test]
    fn bytes_are_written_over_appended_filled_up_and_cut_off() {
        let append = |bytes: &str| BytesChange::Append(bytes.into());
        let cut = BytesChange::Truncate;
        for (column, old, change, new) in [
            (1, Some("abc"), append("de"), Some("abcde")),
            (1, None, append("de"), Some("de")),
            (1, None, append(""), Some("")),
            (1, Some("abc"), at(1, "X"), Some("aXc")),
            (1, Some("abc"), at(2, "XY"), Some("abXY")),
            (1, Some("abc"), at(3, "XY"), Some("abcXY")),
            (1, Some("abc"), at(5, "X"), Some("abc\0\0X")),
            (2, Some("abc"), at(5, "X"), Some("abc  X")),
            (2, None, at(2, "X"), Some("  X")),
            (1, Some("abc"), cut(1), Some("a")),
            (1, Some("abc"), cut(9), Some("abc")),
            (1, Some("abc"), cut(u64::MAX), Some("abc")),
            (1, None, cut(1), None),
            (3, Some("12345"), append("67890"), Some("1234567890")),
        ] {
            assert_eq!(apply(column, old, &change).unwrap().as_deref(), new, "{change:?} of {old:?}");
        }
    }

    #[test]
    fn what_a_column_or_a_row_does_not_take_is_refused_before_it_is_made() {
        let errno = |column, change: &BytesChange| apply(column, Some("abc"), change).unwrap_err().errno();
        assert_eq!(errno(2, &BytesChange::Append(vec![b'x'; 253])), 1406);
        assert_eq!(errno(2, &at(255, "x")), 1406);
        assert_eq!(errno(3, &BytesChange::Append(vec![b'x'; 18])), 1406);
        assert_eq!(errno(1, &at(u64::MAX, "x")), 1406);
        assert_eq!(errno(1, &at(u64::from(u32::MAX) - 1, "x")), 1153);
        assert_eq!(errno(1, &at(ROW_BYTES_MAX as u64, "x")), 1153);
        assert!(apply(0, None, &at(0, "x")).is_err());
        assert!(BytesChange::read(&mut FrameReader::new(&[9])).is_err());
    }
}
