//! What comes in: time, the other replicas' messages, questions.

use raft::eraftpb::{Entry, Message, MessageType};
use raft::{INVALID_ID, Raft, StateRole};
use shoal_planted::{Bug, is_planted};
use shoal_types::{Error, PartitionId, Result};

use super::read_context::{READ_HEADER_BYTES, ReadKind};
use super::{Group, raft_error};
use crate::entry;
use crate::lease::{asks_for_vote, stamp_of, take_stamp};
use crate::outputs::{Outputs, ReadState};
use crate::tail::Tail;
use crate::time::Millis;

/// A message's term may be so far ahead of this replica's: what elections in a century come to.
const TERMS_AHEAD_MAX: u64 = 1 << 32;

impl Group {
    pub(crate) fn tick(&mut self, now: Millis, outputs: &mut Outputs) -> Result<()> {
        if self.single {
            self.forget_followers();
            return Ok(());
        }
        let ticks = self.ticker.advance(now, self.timing.tick_ms);
        let (ceded, may_campaign) = (self.ceded, self.may_campaign());
        let node = self.node()?;
        for _ in 0..ticks {
            let raft = &mut node.raft;
            if !may_campaign && raft.election_elapsed + 1 >= raft.randomized_election_timeout() {
                // No campaign, but nobody to follow either.
                (raft.election_elapsed, raft.leader_id) = (0, INVALID_ID);
            }
            node.tick();
        }
        let raft = &mut node.raft;
        if raft.state == StateRole::Leader && raft.term == ceded && raft.lead_transferee.is_none() {
            // The one that was told to take over did not. It may still, so this term cannot be served in again.
            let term = raft.term;
            raft.become_follower(term, INVALID_ID);
        }
        if ticks > 0 {
            self.note_leadership();
            self.mind_witness()?;
            self.mind_amnesia()?;
            self.mind_followers(outputs);
            self.trim(outputs);
        }
        self.answer_deferred()
    }

    pub(super) fn answer_deferred(&mut self) -> Result<()> {
        for request in self.promise.due(self.ticker.count(), self.timing.promise_ticks) {
            self.lead_the_way(&request)?;
            self.node()?.step(request).map_err(raft_error)?;
        }
        Ok(())
    }

    pub(crate) fn step(&mut self, mut message: Message) -> Result<()> {
        if message.to != self.replica || message.from == self.replica || !self.voters.contains(&message.from) {
            return Ok(());
        }
        let (kind, from, term) = (message.msg_type, message.from, message.term);
        self.learn_what_is_on_disk(&mut message);
        if !self.admits(&mut message)? {
            return Ok(());
        }
        let node = self.node()?;
        match node.step(message) {
            Ok(()) => {}
            // Another node's mistake.
            Err(raft::Error::StepLocalMsg | raft::Error::StepPeerNotFound | raft::Error::ProposalDropped) => {
                return Ok(());
            }
            Err(error) => return Err(raft_error(error)),
        }
        let follows =
            node.raft.state == StateRole::Follower && node.raft.leader_id == from && node.raft.term == term;
        match kind {
            MessageType::MsgHeartbeat if follows => self.promise.give(from, self.ticker.count()),
            MessageType::MsgAppendResponse if self.is_witness() => self.hand_over()?,
            _ => {}
        }
        Ok(())
    }

    /// A message that another replica of the group may have sent, whatever has happened to it and to this one.
    pub(crate) fn check(&self, sender: u64, message: &Message) -> Result<()> {
        let (kind, from) = (message.msg_type, message.from);
        let spoilt = |what: &str| {
            let id = self.partition;
            Err(Error::unknown(format!("a message to a replica of partition {id} {what}")).as_spoilt())
        };
        // A follower passes on what another asks its leader, even if that is the one who has asked.
        let is_senders = from == sender || kind == MessageType::MsgReadIndex;
        let are_voters = [sender, from].iter().all(|replica| self.voters.contains(replica));
        if message.to != self.replica || sender == self.replica || !is_senders || !are_voters {
            return spoilt("is not from one of the others");
        }
        let Some(node) = self.running() else { return Ok(()) };
        let raft = &node.raft;
        if message.term > raft.term.saturating_add(TERMS_AHEAD_MAX) {
            return spoilt(&format!("is of term {}, and this one has come to term {}", message.term, raft.term));
        }
        if message.term == raft.term {
            use MessageType::*;
            let leads = raft.state == StateRole::Leader;
            let claims_to_lead = matches!(kind, MsgAppend | MsgHeartbeat | MsgSnapshot | MsgTimeoutNow);
            if claims_to_lead && (leads || (raft.leader_id != INVALID_ID && raft.leader_id != from)) {
                return spoilt(&format!("comes from a second leader of term {}", message.term));
            }
            let (index, last) = (message.index, raft.raft_log.last_index());
            if leads && kind == MsgAppendResponse && !message.reject && index > last {
                return spoilt(&format!("acknowledges entry {index}, and the log ends at {last}"));
            }
            let sent = stamp_of(message).filter(|_| leads && kind == MsgHeartbeatResponse);
            if sent.is_some_and(|sent| sent > self.ticker.now()) {
                return spoilt("answers a heartbeat that was not sent yet");
            }
        }
        let can_be_read = |entry: &Entry| entry::check(&entry.data).is_ok();
        if kind == MessageType::MsgAppend && !self.is_witness() && !message.entries.iter().all(can_be_read) {
            return spoilt("brings an entry that cannot be read");
        }
        Ok(())
    }

    /// What Raft is to know of a message; false if nothing.
    fn admits(&mut self, message: &mut Message) -> Result<bool> {
        let (tick, promise_ticks) = (self.ticker.count(), self.timing.promise_ticks);
        let (may_campaign, amnesiac, is_witness) =
            (self.may_campaign(), self.amnesia.is_some(), self.is_witness());
        let withholds = self.amnesia.as_ref().is_some_and(|amnesia| !amnesia.votes_for(message))
            || self.asks_with_a_worthless_log(message);
        let raft = &self.node()?.raft;
        match message.msg_type {
            _ if asks_for_vote(message) => {
                // In this replica's own term as well: it may have come to it without a vote.
                let refuses = raft.state != StateRole::Leader && message.term >= raft.term;
                let ignored = withholds || (refuses && self.promise.defers(message, tick, promise_ticks));
                if !ignored {
                    self.lead_the_way(message)?;
                }
                Ok(!ignored)
            }
            MessageType::MsgTimeoutNow => Ok(may_campaign && !is_witness),
            // Rows do not come this way.
            MessageType::MsgSnapshot => Ok(is_witness && !is_before_commits(raft, message)),
            MessageType::MsgAppend => Ok(!is_witness || !is_before_commits(raft, message)),
            MessageType::MsgHeartbeat if message.term >= raft.term => {
                let (last, committed) = (raft.raft_log.last_index(), raft.raft_log.committed);
                if amnesiac {
                    // The leader still counts on entries that this replica may have lost.
                    message.commit = message.commit.min(committed);
                }
                if message.commit > last {
                    return Err(lost_entries(self.partition, message.commit, last));
                }
                Ok(true)
            }
            MessageType::MsgHeartbeatResponse => {
                let sent = take_stamp(message);
                if let Some(sent) = sent.filter(|_| self.leading != 0 && message.term == self.leading) {
                    let too_long = is_planted(Bug::LeaseLongerThanElection);
                    let lease_ms = if too_long { self.timing.election_ms() * 3 } else { self.timing.lease_ms };
                    self.lease.extend(message.from, sent, self.voters.len() / 2, lease_ms);
                }
                Ok(true)
            }
            MessageType::MsgReadIndex => {
                self.heed_amnesiac(message);
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// Asks for the index that a linearizable read must see; the answer may never come.
    pub(crate) fn read_index(&mut self, kind: ReadKind, context: &[u8]) -> Result<()> {
        self.reads += 1;
        // Raft takes equal contexts for the same request.
        let mut unique = Vec::with_capacity(READ_HEADER_BYTES + context.len());
        for part in [self.replica, self.life, self.reads] {
            unique.extend_from_slice(&part.to_le_bytes());
        }
        unique.push(kind as u8);
        unique.extend_from_slice(context);
        self.node()?.read_index(unique);
        Ok(())
    }

    pub(super) fn take_answers(&mut self, answers: Vec<raft::ReadState>, outputs: &mut Outputs) {
        for answer in answers {
            match answer.request_ctx.split_at_checked(READ_HEADER_BYTES) {
                Some((header, _)) if header[READ_HEADER_BYTES - 1] == ReadKind::Amnesiac as u8 => {
                    self.learn_cure(header, answer.index);
                }
                Some((_, context)) => {
                    outputs.read_states.push(ReadState { index: answer.index, context: context.to_vec() });
                }
                None => {}
            }
        }
    }
}
fn lost_entries(partition: PartitionId, known: u64, last: u64) -> Error {
    Error::unknown(format!(
        "partition {partition} has lost entries of its log: the leader knows that this node held entry {known}, and the \
         log ends at {last}; was the data directory exchanged or restored? Start this node with an empty data \
         directory, so that it fetches everything from the other nodes"
    ))
}

/// Whether a leader's message lies before what a witness holds for committed, and nothing in it shows that the leader's log is the one that
/// the witness's goes on from. Raft answers such a message with all that is committed here. That is true of one history, and no word
/// for a leader that goes on from older rows, because those that this log goes on from are lost (`agreement`).
fn is_before_commits(raft: &Raft<Tail>, message: &Message) -> bool {
    let log = &raft.raft_log;
    let start = log.first_index() - 1;
    if message.msg_type == MessageType::MsgSnapshot {
        let metadata = message.get_snapshot().get_metadata();
        return metadata.index < log.committed
            && (metadata.index < start || !log.match_term(metadata.index, metadata.term));
    }
    if message.index >= log.committed {
        return false;
    }
    // The first place that both know: if it is the same there, so is all before.
    let term = match start.checked_sub(message.index) {
        None | Some(0) => Some(message.log_term),
        Some(ahead) => message.entries.get(ahead as usize - 1).map(|entry| entry.term),
    };
    term.is_none_or(|term| !log.match_term(start.max(message.index), term))
}
