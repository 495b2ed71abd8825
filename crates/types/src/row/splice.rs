//! Changes within a variable-size column, made in the row's own bytes.
//!
//! A value of many megabytes that grows piece by piece is not to be copied for every piece. A [`Splice`] replaces some bytes of one
//! column, moves what lies behind them and corrects the columns' ends; what it yields besides the row is the splice that takes it
//! back, which is as large as what was removed. It knows all that it needs of the layout by itself, so it can be applied by whoever
//! keeps the bytes.
//!
//! The row is afterwards what the layout would have encoded. Where that takes other than moving bytes - a NULL, ends of another
//! width, or a row of an earlier version - there is no splice.

use super::slot::{FLAG_WIDE_ENDS, Slot, end_of};
use super::{RowLayout, RowRef};

/// A change of some bytes of one column, for one version of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    ends_offset: u32,
    variable_count: u32,
    /// Of the column among the variable-size ones.
    ordinal: u32,
    /// Position in the column.
    at: u32,
    removed: u32,
    inserted: Box<[u8]>,
}

impl RowLayout {
    /// The change that puts `inserted` in the place of `removed` bytes at `at` in a column of the row. `None`: the column is NULL,
    /// has a fixed size or not so many bytes, or the row would need ends of another width.
    pub fn splice(
        &self,
        row: RowRef<'_>,
        column: usize,
        at: usize,
        removed: usize,
        inserted: &[u8],
    ) -> Option<Splice> {
        let Some(Slot::Variable(ordinal)) = self.slots.get(column).copied() else { return None };
        if row.past.is_some() || row.is_null(column) || at.checked_add(removed)? > row.raw(column).len() {
            return None;
        }
        let wide = row.bytes()[0] & FLAG_WIDE_ENDS != 0;
        let variable_size =
            end_of(row.bytes(), self.ends_offset, self.variable_count - 1, wide) - removed + inserted.len();
        if wide != (variable_size > usize::from(u16::MAX)) {
            return None;
        }
        u32::try_from(row.bytes().len() + inserted.len()).ok()?;
        Some(Splice {
            ends_offset: self.ends_offset as u32,
            variable_count: self.variable_count as u32,
            ordinal,
            at: at as u32,
            removed: removed as u32,
            inserted: inserted.into(),
        })
    }
}

impl Splice {
    /// Bytes that it keeps beside its own.
    pub fn kept_bytes(&self) -> usize {
        self.inserted.len()
    }

    /// Bytes that it takes out of the row.
    pub fn removed_bytes(&self) -> usize {
        self.removed as usize
    }

    /// The row afterwards, and the splice that takes the change back. `row` must be the version that the splice was made for.
    pub fn apply(&self, row: Box<[u8]>) -> (Box<[u8]>, Splice) {
        let mut row = row.into_vec();
        let width = if row[0] & FLAG_WIDE_ENDS != 0 { 4 } else { 2 };
        let ends = self.ends_offset as usize;
        let variable = ends + self.variable_count as usize * width;
        let column = match self.ordinal {
            0 => variable,
            ordinal => variable + read_end(&row, ends, ordinal - 1, width),
        };
        let (start, removed, inserted) = (column + self.at as usize, self.removed as usize, self.inserted.len());
        let old: Box<[u8]> = row[start..start + removed].into();
        let length = row.len();
        if inserted > removed {
            row.reserve_exact(inserted - removed);
            row.resize(length + inserted - removed, 0);
        }
        row.copy_within(start + removed..length, start + inserted);
        row.truncate(length - removed + inserted);
        row[start..start + inserted].copy_from_slice(&self.inserted);
        for ordinal in self.ordinal..self.variable_count {
            let end = read_end(&row, ends, ordinal, width) - removed + inserted;
            let at = ends + ordinal as usize * width;
            row[at..at + width].copy_from_slice(&(end as u32).to_le_bytes()[..width]);
        }
        let back = Splice { removed: inserted as u32, inserted: old, ..*self };
        (row.into_boxed_slice(), back)
    }
}

fn read_end(row: &[u8], ends: usize, ordinal: u32, width: usize) -> usize {
    let at = ends + ordinal as usize * width;
    let mut end = [0; 4];
    end[..width].copy_from_slice(&row[at..at + width]);
    u32::from_le_bytes(end) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_type::{BaseType, SqlType};
    use crate::{Collation, TimeZone, Value};

    fn layout() -> RowLayout {
        RowLayout::new(vec![
            SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI),
            SqlType::new(BaseType::Int),
            SqlType::new(BaseType::Text),
            SqlType::new(BaseType::Text),
        ])
    }

    fn row(values: [&[u8]; 3]) -> Box<[u8]> {
        let text = |bytes: &[u8]| Value::Str(bytes.to_vec());
        let mut row = Vec::new();
        let values = [text(values[0]), Value::Int(7), text(values[1]), text(values[2])];
        layout().encode(&values, &TimeZone::UTC, &mut row).unwrap();
        row.into()
    }

    #[test]
    fn a_spliced_row_is_the_row_of_the_changed_values_and_can_be_taken_back() {
        let layout = layout();
        for middle in [vec![], b"abcdef".to_vec(), vec![b'x'; 70_000]] {
            for (at, removed) in
                [(0, 0), (0, middle.len()), (middle.len() / 2, middle.len() / 3), (middle.len(), 0)]
            {
                for inserted in [&b""[..], b"y", b"12345678"] {
                    let mut changed = middle.clone();
                    changed.splice(at..at + removed, inserted.iter().copied());
                    let old = row([b"head", &middle, b"tail"]);
                    let splice = layout.splice(layout.row(&old), 2, at, removed, inserted);
                    let expected = row([b"head", &changed, b"tail"]);
                    let Some(splice) = splice else {
                        assert_ne!(old[0], expected[0], "refused at {at}, {removed} removed");
                        continue;
                    };
                    assert_eq!(old[0], expected[0]);
                    let (new, back) = splice.apply(old.clone());
                    assert_eq!(new, expected);
                    assert_eq!(back.apply(new), (old, splice));
                }
            }
        }
    }

    #[test]
    fn what_is_not_a_move_of_bytes_is_no_splice() {
        let layout = layout();
        let mut null = Vec::new();
        let values = [Value::str("a"), Value::Int(1), Value::Null, Value::str("b")];
        layout.encode(&values, &TimeZone::UTC, &mut null).unwrap();
        assert_eq!(layout.splice(layout.row(&null), 2, 0, 0, b"x"), None);
        let old = row([b"head", b"middle", b"tail"]);
        for (column, at, removed) in [(1, 0, 0), (2, 7, 0), (2, 3, 4), (2, usize::MAX, 1), (9, 0, 0)] {
            assert_eq!(layout.splice(layout.row(&old), column, at, removed, b"x"), None);
        }
        assert_eq!(layout.splice(layout.row(&old), 2, 0, 0, &[0; 65_536]), None);
    }
}
