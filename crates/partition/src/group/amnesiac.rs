//! A replica that may have lost the end of its log.
//!
//! It may have acknowledged entries that it no longer has, and the leader may have counted on it. If it helped to
//! elect a leader that lacks them as well, they would be gone. So until it has caught up it neither votes nor campaigns:
//! it asks the leader for a read index. Whatever an earlier life of this replica has acknowledged was known to the
//! leader by then, for between two lives messages keep their order; and so everything that was committed on its word is
//! covered by the answer. Once that is applied here, the replica is as good as any.
//!
//! When so many voters are in this state that no leader can be elected, nobody answers. Then they agree on the newest log there
//! is (`agreement`): its holder is like any other from then on, the others vote for it or for who holds more.
//!
//! The leader, too, has to forget what it was told: it would neither send the lost entries again, nor believe the
//! replica that they are missing. The question carries the end of the replica's log for that.

use raft::INVALID_ID;
use raft::eraftpb::Message;
use shoal_types::Result;

use super::Group;
use super::read_context::{READ_HEADER_BYTES, ReadKind};
use crate::agreement::{Agreement, LogEnd};
use crate::outputs::Outputs;

impl Group {
    pub(crate) fn is_amnesiac(&self) -> bool {
        self.amnesia.is_some()
    }

    /// Nobody has the rows that this log goes on from.
    pub(crate) fn gives_up_log(&self, agreement: &Agreement) -> bool {
        self.is_witness() && !self.is_leader() && agreement.worthless == Some(self.end())
    }

    /// Nobody has more than what was agreed on. True if the log has begun anew.
    pub(crate) fn forget_amnesia(&mut self, agreement: &Agreement, outputs: &mut Outputs) -> Result<bool> {
        self.worthless = agreement.worthless.or(self.worthless);
        let is_worthless = self.gives_up_log(agreement);
        if self.leader().is_some() && !is_worthless {
            // Somebody goes on already, and brings this replica up to date.
            return Ok(false);
        }
        if is_worthless {
            // What it gives up it lacks from now on, as if it had lost it.
            self.begin_anew(outputs)?;
            self.amnesia.get_or_insert_default();
        }
        let end = self.end();
        if let Some(amnesia) = &mut self.amnesia {
            if end >= amnesia.agree(agreement) {
                self.amnesia = None;
            }
            // Whoever led before this life is gone as well.
            self.promise.void(INVALID_ID);
        }
        Ok(is_worthless)
    }

    /// The witness has not heard yet that its log is worth nothing: as a leader it could feed nobody, and its log would be another one.
    pub(super) fn asks_with_a_worthless_log(&self, request: &Message) -> bool {
        let end = LogEnd { term: request.log_term, index: request.index };
        self.witness == Some(request.from) && self.worthless == Some(end)
    }

    fn end(&self) -> LogEnd {
        let (index, term) = self.last();
        LogEnd { term, index }
    }

    /// Asks again and again, until an answer has come and is fulfilled.
    pub(super) fn mind_amnesia(&mut self) -> Result<()> {
        let (tick, heartbeat_ticks) = (self.ticker.count(), self.timing.heartbeat_ticks);
        let leader = self.leader();
        let Some(amnesia) = &mut self.amnesia else { return Ok(()) };
        if amnesia.cure.is_some_and(|cure| cure <= self.applied_index && !self.installing) {
            self.amnesia = None;
            return Ok(());
        }
        if leader.is_none() || amnesia.asked_at.is_some_and(|asked| tick - asked < heartbeat_ticks) {
            return Ok(());
        }
        amnesia.asked_at = Some(tick);
        let (index, term) = self.last();
        let end = [index.to_le_bytes(), term.to_le_bytes()].concat();
        self.read_index(ReadKind::Amnesiac, &end)
    }

    pub(super) fn learn_cure(&mut self, header: &[u8], index: u64) {
        let own = [self.replica.to_le_bytes(), self.life.to_le_bytes()].concat();
        if let Some(amnesia) = self.amnesia.as_mut().filter(|_| header.starts_with(&own)) {
            amnesia.cure.get_or_insert(index);
        }
    }

    /// At the leader: does an amnesiac ask, and does its log end before where it was known to?
    pub(super) fn heed_amnesiac(&mut self, question: &Message) {
        let context = question.entries.first().map_or(&[][..], |entry| &entry.data[..]);
        let Some((header, end)) = context.split_at_checked(READ_HEADER_BYTES) else { return };
        let Some((index, term)) =
            end.split_first_chunk().and_then(|(index, rest)| Some((index, rest.first_chunk()?)))
        else {
            return;
        };
        if self.leading == 0 || header[READ_HEADER_BYTES - 1] != ReadKind::Amnesiac as u8 {
            return;
        }
        let (index, term) = (u64::from_le_bytes(*index), u64::from_le_bytes(*term));
        let from = question.from;
        if self.witness == Some(from) {
            self.feeding.note_ailing(self.ticker.count(), self.timing.heartbeat_ticks);
        }
        let Ok(node) = self.node() else { return };
        let last = node.raft.raft_log.last_index();
        let known = node.raft.raft_log.match_term(index, term);
        let Some(progress) = node.raft.mut_prs().get_mut(from) else { return };
        progress.committed_index = progress.committed_index.min(index);
        if progress.matched > 0 && (!known || index < progress.matched) {
            progress.matched = 0;
            progress.snapshot_failure();
            progress.become_probe();
            progress.next_idx = last + 1;
        }
        // It takes no heartbeat's word for what is committed.
        node.raft.send_append(from);
    }
}
