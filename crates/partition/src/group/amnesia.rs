//! What a replica knows that may have lost the end of its log (`amnesiac`).

use raft::eraftpb::Message;

use crate::agreement::LogEnd;

#[derive(Default)]
pub(super) struct Amnesia {
    /// The tick of the last question.
    pub(super) asked_at: Option<u64>,
    /// Caught up once this is applied.
    pub(super) cure: Option<u64>,
    /// Nobody knows more than a log that ends here: whoever holds it has this replica's vote.
    pub(super) newest: Option<LogEnd>,
}

impl Amnesia {
    pub(super) fn votes_for(&self, request: &Message) -> bool {
        self.newest.is_some_and(|newest| LogEnd { term: request.log_term, index: request.index } >= newest)
    }
}
