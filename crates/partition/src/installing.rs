//! How far a checkpoint of another replica is installed (`install`).

use raft::eraftpb::Entry;
use shoal_types::TableId;

/// What has been read of a checkpoint that is being installed.
#[derive(Default)]
pub(crate) struct Installing {
    pub(crate) begun: bool,
    pub(crate) ended: bool,
    pub(crate) table: Option<TableId>,
    pub(crate) rows: u64,
    pub(crate) undecided: u64,
    /// The partition runs.
    pub(crate) running: bool,
    /// What was applied before a running partition's state was first replaced.
    pub(crate) replaced: Option<u64>,
    pub(crate) held_back: Vec<Entry>,
}

impl Installing {
    /// Keeps committed entries for later while rows are being replaced; true if it does.
    pub(crate) fn holds_back(&mut self, committed: &mut Vec<Entry>) -> bool {
        if self.running {
            self.held_back.append(committed);
        }
        self.running
    }
}
