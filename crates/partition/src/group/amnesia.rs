//! What a replica knows that may have lost the end of its log (`amnesiac`).

use raft::eraftpb::Message;

use crate::agreement::{Agreement, LogEnd};

#[derive(Default)]
pub(super) struct Amnesia {
    /// The tick of the last question.
    pub(super) asked_at: Option<u64>,
    /// Caught up once this is applied.
    pub(super) cure: Option<u64>,
    /// Nobody knew more than the newest log of that time: whoever holds it has this replica's vote.
    agreed: Option<Agreement>,
}

impl Amnesia {
    pub(super) fn votes_for(&self, request: &Message) -> bool {
        let end = LogEnd { term: request.log_term, index: request.index };
        self.agreed.as_ref().is_some_and(|agreed| end >= agreed.newest)
    }

    /// The newest log that whoever gets this replica's vote must hold, another agreement having been reached.
    pub(super) fn agree(&mut self, agreement: &Agreement) -> LogEnd {
        let newest = match &self.agreed {
            Some(known) if known.overtakes(agreement) => known.newest,
            Some(known) if !agreement.overtakes(known) => known.newest.max(agreement.newest),
            _ => agreement.newest,
        };
        let is_overtaken = self.agreed.as_ref().is_some_and(|known| known.overtakes(agreement));
        if !is_overtaken {
            self.agreed = Some(Agreement { newest, ..agreement.clone() });
        }
        // Who told how much this replica lacks is gone, with whatever nobody knows any more.
        (self.cure, self.asked_at) = (None, None);
        newest
    }
}
