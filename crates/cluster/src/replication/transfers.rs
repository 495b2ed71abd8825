//! The transfers of checkpoints that are under way (`transfer`).

use std::collections::HashMap;
use std::sync::Mutex;

use shoal_log::checkpoint::CheckpointWriter;
use shoal_replication::Copies;
use shoal_types::NodeId;

/// Transfers that are under way.
#[derive(Default)]
pub(crate) struct Transfers {
    pub(super) outgoing: Mutex<HashMap<(u32, NodeId), Progress>>,
    pub(super) incoming: Mutex<Copies<CheckpointWriter>>,
}

/// How far a transfer is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub sent_bytes: u64,
    /// About how many there will be.
    pub total_bytes: u64,
    pub elapsed_ms: u64,
}
