//! Rows that were written before columns came or went.
//!
//! A definition may add, drop and move columns without touching a row. The rows that are there stay as they lie: the upper bits of
//! their flags say which of the table's row versions they are, and a [`RowLayout`](super::RowLayout) of the present columns reads them
//! all. A column that came later has one value in all rows from before it. Whoever writes a row writes the present version.

use super::slot::{FLAG_WIDE_ENDS, Slot};
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
