//! Snapshots that checkpoints in the making hold (`checkpoint`).

use shoal_types::{TableId, Timestamp};

use crate::fragment::Fragment;
use crate::map::Map;

/// The snapshot of a checkpoint in the making.
pub(crate) struct Pin {
    pub(crate) number: u64,
    pub(crate) timestamp: Timestamp,
    /// No version that a snapshot from here on sees may be dropped.
    pub(crate) floor: Timestamp,
    /// Rows that were changed since with timestamps up to the pin's, and those timestamps: the checkpoint shows what was
    /// there before. A row cannot be changed so twice: a transaction is prepared later than all commits before it.
    pub(crate) late: Map<(TableId, u32), Timestamp>,
}

impl Pin {
    /// The version of a row that belongs to the checkpoint.
    pub(crate) fn version<'a>(&self, fragment: &'a Fragment, row: u32) -> Option<(Timestamp, &'a [u8])> {
        let mut snapshot = self.timestamp;
        if !self.late.is_empty()
            && let Some(late) = self.late.get(&(fragment.schema.id, row))
        {
            snapshot = Timestamp(late.0.saturating_sub(1));
        }
        fragment.visible_version(row, snapshot)
    }
}
