//! What the witness gets to see, and what it does with leadership.
//!
//! The witness votes and can be part of a majority, but while all data replicas keep up a majority does without it:
//! then the leader sends it heartbeats and no entries. Once a data replica is silent or stalls, the witness is fed: from
//! where its log ends, or, if the leader's memory no longer reaches back so far, from a snapshot that is only an index
//! and a term. The leader keeps what the missing replica needs (`catch_up`), and so the witness comes to hold it: when
//! the leader dies as well, the witness can complete the other one's log.
//!
//! Silence is one of Raft's own states: a follower that is being sent a snapshot gets no entries. The witness is put
//! into it with a snapshot that never ends.
//!
//! What the witness holds may be nowhere else but in the leader's memory, if that counts entries before its disk has them. So
//! heartbeats tell it what is on the leader's disk, and it forgets nothing before that.
//!
//! A witness that leads, because it holds the longest log, takes no proposals, never serves, feeds the data replicas and
//! hands over to the first that has everything.

use raft::eraftpb::{Message, MessageType};
use raft::{INVALID_ID, ProgressState};
use shoal_types::Result;

use super::Group;
use super::feeding::HEARTBEATS_MISSED_MAX;
use crate::api::DiskMark;

/// Data replicas that keep up for so many heartbeats do not need the witness.
const HEARTBEATS_UNTIL_SILENCE: u64 = 2;
/// A snapshot on its way to the witness counts as lost after so many heartbeats.
const HEARTBEATS_PER_SNAPSHOT: u64 = 4;
/// The snapshot that never ends.
const SILENCE: u64 = u64::MAX;

impl Group {
    /// The other data replicas.
    pub(super) fn data_peers(&self) -> impl Iterator<Item = u64> + '_ {
        self.voters.iter().copied().filter(|&voter| voter != self.replica && Some(voter) != self.witness)
    }

    /// Decides whether the witness is fed, if this replica leads and has one.
    pub(super) fn mind_witness(&mut self) -> Result<()> {
        if self.leading == 0 {
            return Ok(());
        }
        let Some(witness) = self.witness.filter(|_| !self.is_witness()) else {
            return self.hand_over();
        };
        let (tick, heartbeat_ticks) = (self.ticker.count(), self.timing.heartbeat_ticks);
        self.note_end(tick, heartbeat_ticks);
        let healthy = self.data_replicas_keep_up() && tick >= self.feeding.ailing_until;
        if !healthy {
            self.feeding.healthy_since = None;
            if self.feeding.silent {
                self.feeding.silent = false;
                return self.resume_feeding(witness);
            }
            return self.repeat_lost_snapshot(witness, tick, heartbeat_ticks * HEARTBEATS_PER_SNAPSHOT);
        }
        let since = *self.feeding.healthy_since.get_or_insert(tick);
        if !self.feeding.silent && tick - since >= heartbeat_ticks * HEARTBEATS_UNTIL_SILENCE {
            self.feeding.silent = true;
            if let Some(progress) = self.node()?.raft.mut_prs().get_mut(witness) {
                progress.become_snapshot(SILENCE);
            }
        }
        Ok(())
    }

    /// Remembers how long the log is, once a heartbeat.
    fn note_end(&mut self, tick: u64, heartbeat_ticks: u64) {
        let due = self.feeding.ends.is_empty() || tick - self.feeding.looked_at >= heartbeat_ticks;
        if due {
            let end = self.running().map_or(0, |node| node.raft.raft_log.last_index());
            self.feeding.looked_at = tick;
            self.feeding.ends.push_back(end);
            if self.feeding.ends.len() as u64 > HEARTBEATS_MISSED_MAX {
                self.feeding.ends.pop_front();
            }
        }
    }

    fn data_replicas_keep_up(&self) -> bool {
        let patience_ms = HEARTBEATS_MISSED_MAX * self.timing.heartbeat_ticks * self.timing.tick_ms;
        let now = self.ticker.now();
        let end = self.feeding.ends.front().copied().unwrap_or(u64::MAX);
        self.data_peers().all(|replica| {
            let heard = self.lease.answered(replica).is_some_and(|heard| now.since(heard) <= patience_ms);
            heard && self.progress(replica).is_some_and(|(matched, _)| matched >= end)
        })
    }

    pub(crate) fn disk_mark(&self) -> Option<DiskMark> {
        let node = self.running().filter(|_| self.leading != 0 && self.witness.is_some() && !self.is_witness())?;
        Some(DiskMark { term: self.leading, index: node.raft.raft_log.persisted })
    }

    pub(crate) fn note_on_disk(&mut self, mark: DiskMark) {
        // What was in the log in an earlier term may have been replaced.
        if mark.term == self.leading && !self.is_witness() {
            self.on_disk = self.on_disk.max(mark.index);
        }
    }

    /// In a heartbeat's index, of which Raft makes no use.
    pub(super) fn tell_what_is_on_disk(&self, heartbeat: &mut Message) {
        if self.witness == Some(heartbeat.to) {
            heartbeat.index = self.on_disk;
        }
    }

    pub(super) fn learn_what_is_on_disk(&mut self, message: &mut Message) {
        if message.msg_type == MessageType::MsgHeartbeat && self.is_witness() && message.term >= self.term() {
            self.on_disk = self.on_disk.max(std::mem::take(&mut message.index));
        }
    }

    /// A leader whose witness is being fed needs no more of its log than this on its disk before it forgets the rest.
    pub(super) fn forgets_up_to(&self, limit: u64) -> u64 {
        let is_fed = self.leading != 0 && self.witness.is_some() && !self.feeding.silent;
        if self.is_witness() || is_fed { limit.min(self.on_disk) } else { limit }
    }

    /// From where its log ends, as far as is known.
    fn resume_feeding(&mut self, witness: u64) -> Result<()> {
        let node = self.node()?;
        let last = node.raft.raft_log.last_index();
        if let Some(progress) = node.raft.mut_prs().get_mut(witness) {
            progress.snapshot_failure();
            progress.become_probe();
            if progress.matched == 0 {
                progress.next_idx = last + 1;
            }
            node.raft.send_append(witness);
        }
        Ok(())
    }

    fn repeat_lost_snapshot(&mut self, witness: u64, tick: u64, patience_ticks: u64) -> Result<()> {
        let node = self.node()?;
        let state = node.raft.prs().get(witness).map(|progress| progress.state);
        if state != Some(ProgressState::Snapshot) {
            self.feeding.snapshot_since = None;
            return Ok(());
        }
        let since = *self.feeding.snapshot_since.get_or_insert(tick);
        if tick - since < patience_ticks {
            return Ok(());
        }
        self.feeding.snapshot_since = None;
        self.resume_feeding(witness)
    }

    /// Whoever asks a witness for its vote and lacks entries that it holds cannot be elected: the witness campaigns in its place with
    /// the next tick, to hand them over.
    pub(super) fn lead_the_way(&mut self, request: &Message) -> Result<()> {
        // Its own vote is bound as well: a request of an earlier term is not kept until the promise ends.
        let is_bound = self.promise.binds(self.ticker.count(), self.timing.promise_ticks);
        if !self.is_witness() || !self.may_campaign() || is_bound {
            return Ok(());
        }
        let own = self.last();
        let raft = &mut self.node()?.raft;
        if (request.log_term, request.index) < (own.1, own.0) && raft.leader_id == INVALID_ID {
            raft.election_elapsed = raft.randomized_election_timeout();
        }
        Ok(())
    }

    /// A witness that leads does so no longer than it must.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        if !self.is_witness() || self.leading == 0 || self.ceded == self.leading {
            return Ok(());
        }
        let last = self.last().0;
        let heir = self
            .data_peers()
            .find(|&replica| self.progress(replica).is_some_and(|(matched, active)| active && matched == last));
        if let Some(heir) = heir {
            self.node()?.transfer_leader(heir);
        }
        Ok(())
    }
}
