//! Cursors over indexes.

use shoal_types::{IndexId, TableId};

use crate::api::{Direction, KeyRange};

/// A place in an index that survives the partition being released and changed between calls.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub(crate) table: TableId,
    pub(crate) index: IndexId,
    pub(crate) range: KeyRange,
    pub(crate) direction: Direction,
}

impl Cursor {
    pub fn new(table: TableId, index: IndexId, range: KeyRange, direction: Direction) -> Cursor {
        Cursor { table, index, range, direction }
    }
}
