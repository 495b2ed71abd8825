//! Where one column lies in a row.

/// In a row's flags: the ends of variable-size columns are u32.
pub(super) const FLAG_WIDE_ENDS: u8 = 1;

#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// Offset from the start of the row, width in bytes.
    Fixed(u32, u8),
    /// Ordinal among the variable-size columns.
    Variable(u32),
}

impl Slot {
    /// The stored bytes of its column.
    #[inline]
    pub(super) fn of(self, row: &[u8], ends_offset: usize, variable_count: usize) -> &[u8] {
        match self {
            Slot::Fixed(offset, width) => &row[offset as usize..offset as usize + width as usize],
            Slot::Variable(ordinal) => {
                let ordinal = ordinal as usize;
                let wide = row[0] & FLAG_WIDE_ENDS != 0;
                let end_width = if wide { 4 } else { 2 };
                let variable = ends_offset + variable_count * end_width;
                let start = if ordinal == 0 { 0 } else { end_of(row, ends_offset, ordinal - 1, wide) };
                &row[variable + start..variable + end_of(row, ends_offset, ordinal, wide)]
            }
        }
    }
}

/// The end of a variable-size column's bytes.
#[inline]
pub(super) fn end_of(row: &[u8], ends_offset: usize, ordinal: usize, wide: bool) -> usize {
    if wide {
        let at = ends_offset + ordinal * 4;
        u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]) as usize
    } else {
        let at = ends_offset + ordinal * 2;
        usize::from(u16::from_le_bytes([row[at], row[at + 1]]))
    }
}
