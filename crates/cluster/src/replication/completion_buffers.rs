//! The buffers of handing the durable log back (`completion`), which are used again and again.

use shoal_replication::Durable;

use crate::storage::sequencer::InLog;

/// The hand-back's own buffers.
#[derive(Default)]
pub(crate) struct CompletionBuffers {
    pub(super) taken: Vec<InLog>,
    pub(super) durable: Durable,
    pub(super) tokens: Vec<u64>,
    pub(super) definitions: Vec<(Box<dyn FnOnce() + Send>, u64)>,
    pub(super) barriers: Vec<u64>,
}
