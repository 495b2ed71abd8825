//! A read of some bytes of one column of one row: the request and its reply.

use shoal_partition::LockRequest;
use shoal_types::row::RowRef;
use shoal_types::{Result, TableId};

use super::kinds::SLICE;
use super::lock::{put_lock, read_lock};
use super::wire::*;

/// No reply has more bytes of a value than so many; the coordinator asks for the rest.
pub const SLICE_BYTES_MAX: u32 = 1 << 20;

/// Which bytes of a column are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSlice {
    /// Position in the table's rows.
    pub column: usize,
    /// Bytes from the value's beginning.
    pub offset: u64,
    /// Bytes; at most [`SLICE_BYTES_MAX`] come at once.
    pub length: u32,
    /// Also wanted: how much of the value, from its beginning, is well formed in its character set.
    pub checks: bool,
}

/// What a column has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sliced<B = Vec<u8>> {
    /// There is no row with the key.
    NoRow,
    /// There is a row, and the column is NULL.
    Null,
    /// Bytes of the value.
    Value {
        /// Of the whole value.
        length: u64,
        /// Bytes that are well formed; not looked at, it is the whole value.
        well_formed: u64,
        /// Fewer than were wanted where the value ends, or at most [`SLICE_BYTES_MAX`].
        bytes: B,
    },
}

/// The row whose column is wanted.
#[derive(Debug)]
pub(crate) struct SliceOf<'a> {
    pub table: TableId,
    pub lock: Option<LockRequest>,
    pub key: &'a [u8],
    pub slice: ColumnSlice,
}

const NO_ROW: u8 = 0;
const NULL: u8 = 1;
const VALUE: u8 = 2;

pub(crate) fn put_then_slice(
    out: &mut Vec<u8>,
    table: TableId,
    lock: Option<LockRequest>,
    key: &[u8],
    slice: &ColumnSlice,
) {
    out.push(SLICE);
    put_u32(out, table.0);
    put_lock(out, lock);
    put_bytes(out, key);
    put_u32(out, slice.column as u32);
    put_u64(out, slice.offset);
    put_u32(out, slice.length);
    out.push(u8::from(slice.checks));
}

impl<'a> SliceOf<'a> {
    pub fn read(reader: &mut FrameReader<'a>) -> Result<SliceOf<'a>> {
        Ok(SliceOf {
            table: TableId(reader.u32()?),
            lock: read_lock(reader)?,
            key: reader.bytes()?,
            slice: ColumnSlice {
                column: reader.u32()? as usize,
                offset: reader.u64()?,
                length: reader.u32()?,
                checks: reader.bool()?,
            },
        })
    }
}

impl ColumnSlice {
    /// The wanted part of a row.
    pub(crate) fn of<'r>(&self, row: Option<RowRef<'r>>) -> Result<Sliced<&'r [u8]>> {
        let Some(row) = row else { return Ok(Sliced::NoRow) };
        let sql_type = row.layout().types().get(self.column).ok_or_else(malformed)?;
        if row.is_null(self.column) {
            return Ok(Sliced::Null);
        }
        let value = row.raw(self.column);
        let start = usize::try_from(self.offset).map_or(value.len(), |start| start.min(value.len()));
        let end = value.len().min(start + self.length.min(SLICE_BYTES_MAX) as usize);
        let well_formed = match self.checks {
            true => sql_type.collation.charset().well_formed_length(value),
            false => value.len(),
        };
        Ok(Sliced::Value {
            length: value.len() as u64,
            well_formed: well_formed as u64,
            bytes: &value[start..end],
        })
    }
}

impl<'r> Sliced<&'r [u8]> {
    pub(crate) fn to_owned(self) -> Sliced {
        match self {
            Sliced::NoRow => Sliced::NoRow,
            Sliced::Null => Sliced::Null,
            Sliced::Value { length, well_formed, bytes } => {
                Sliced::Value { length, well_formed, bytes: bytes.to_vec() }
            }
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Sliced::NoRow => out.push(NO_ROW),
            Sliced::Null => out.push(NULL),
            Sliced::Value { length, well_formed, bytes } => {
                out.push(VALUE);
                put_u64(out, *length);
                put_u64(out, *well_formed);
                out.extend_from_slice(bytes);
            }
        }
    }

    pub(crate) fn read(bytes: &'r [u8]) -> Result<Sliced<&'r [u8]>> {
        let mut reader = FrameReader::new(bytes);
        let sliced = match reader.u8()? {
            NO_ROW => Sliced::NoRow,
            NULL => Sliced::Null,
            VALUE => {
                let (length, well_formed) = (reader.u64()?, reader.u64()?);
                return Ok(Sliced::Value { length, well_formed, bytes: reader.rest() });
            }
            _ => return Err(malformed()),
        };
        reader.end()?;
        Ok(sliced)
    }
}
