//! Replicas that were away: how much of the log the others keep for them, and checkpoints for those that need more.
//!
//! Entries that are applied are kept in memory only for others to fetch. Every replica keeps the newest ones, a quarter of
//! `tail_bytes_max`: a follower is to lead some day, and a leader's follower may lose what it had not synced. A leader
//! also keeps what each data replica lacks, within `tail_bytes_max` for one that is away and four times as much for one
//! that answers; beyond that the replica gets a checkpoint. The witness holds its log for others alone; when that
//! passes the bound, the older half goes, as far as a leader has it on its disk.
//!
//! A checkpoint is streamed beside Raft's messages. For Raft its installation is a snapshot that has come: the log
//! begins anew behind it, unless it holds that very entry already.

use raft::eraftpb::{Entry, Message, MessageType};
use raft::{INVALID_ID, StateRole};
use shoal_types::{Error, Result};

use super::Group;
use crate::changes::Gap;
use crate::outputs::{LogStart, Outputs};

/// A replica that answers may lack so many times `tail_bytes_max`.
const BYTES_FOR_ACTIVE: u64 = 4;
/// Whoever follows the log of a group of one asks more often than this.
const FOLLOWED_MS: u64 = 30_000;
/// Everybody keeps this part of `tail_bytes_max`.
const PART_KEPT: u64 = 4;

impl Group {
    /// Finds the data replicas that the log in memory no longer reaches.
    pub(super) fn mind_followers(&mut self, outputs: &mut Outputs) {
        outputs.wants_checkpoint.clear();
        if self.leading == 0 || self.is_witness() {
            return;
        }
        let active = |&replica: &u64| self.progress(replica).is_some_and(|(_, active)| active);
        let replicas: Vec<u64> = self.data_peers().filter(active).collect();
        let Ok(node) = self.node() else { return };
        let start = node.store().start().0;
        for replica in replicas {
            let Some(progress) = node.raft.mut_prs().get_mut(replica) else { continue };
            if progress.next_idx > start {
                continue;
            }
            if progress.committed_index >= start {
                // An answer that came late has led the leader astray: the replica holds what it knows to be committed,
                // unless it has crashed since. The next heartbeat's answer tells.
                progress.next_idx = progress.committed_index + 1;
                progress.committed_index = 0;
                progress.resume();
                node.raft.send_append(replica);
            } else {
                outputs.wants_checkpoint.push(replica);
            }
        }
    }

    /// Forgets entries that nobody is going to ask for.
    pub(super) fn trim(&mut self, outputs: &mut Outputs) {
        let bytes = self.tail().bytes();
        let within = |bytes| self.tail().index_within(bytes);
        let bound = self.tail_bytes_max;
        // Raft may not know yet that a checkpoint's entries are applied: it wants them persisted first.
        let applied = self.running().map_or(0, |node| node.raft.raft_log.applied);
        let mut limit = self.pins.iter().fold(self.forgets_up_to(applied), |limit, &pin| limit.min(pin));
        if self.is_witness() {
            if bytes <= bound {
                return;
            }
            limit = limit.min(within(bound / 2));
        } else {
            limit = limit.min(within(bound / PART_KEPT));
        }
        if self.leading != 0 {
            for replica in self.data_peers() {
                let (matched, active) = self.progress(replica).unwrap_or_default();
                let bound = if active { bound * BYTES_FOR_ACTIVE } else { bound };
                limit = limit.min(matched.max(within(bound)));
            }
        }
        let keeps_no_rows = self.is_witness();
        let Ok(node) = self.node() else { return };
        let before = node.store().start();
        node.mut_store().compact(limit);
        let (index, term) = node.store().start();
        if keeps_no_rows && (index, term) != before {
            outputs.log_start = Some(LogStart { index, term });
        }
    }

    // ---- those that follow the log from outside ----

    /// The entries behind one, committed or not.
    ///
    /// # Errors
    /// It is not in this log, or not in memory any more.
    pub(crate) fn log_behind(
        &self,
        index: u64,
        term: u64,
    ) -> std::result::Result<impl Iterator<Item = &Entry> + '_, Gap> {
        let tail = self.tail();
        match tail.term_of(index) {
            Some(known) if known == term => Ok(tail.after(index)),
            None if index < tail.start().0 => Err(Gap::Compacted),
            _ => Err(Gap::Lost),
        }
    }

    /// Somebody follows this log: a group of one keeps some of what is applied for a while, as larger ones always do.
    pub(crate) fn note_follower(&mut self) {
        self.followed_ticks = FOLLOWED_MS / self.timing.tick_ms();
    }

    pub(super) fn forget_followers(&mut self) {
        if self.followed_ticks > 0 {
            self.followed_ticks -= 1;
            if self.followed_ticks == 0 {
                self.trim_single(self.applied_index);
            }
        }
    }

    /// Forgets what a group of one has applied and nobody follows.
    pub(super) fn trim_single(&mut self, applied: u64) {
        let limit = match self.followed_ticks {
            0 => applied,
            _ => applied.min(self.tail().index_within(self.tail_bytes_max / PART_KEPT)),
        };
        if let Ok(node) = self.node() {
            node.mut_store().compact(limit);
        }
    }

    pub(crate) fn pin_log(&mut self, index: u64) {
        self.pins.push(index);
    }

    pub(crate) fn unpin_log(&mut self, index: u64) {
        if let Some(position) = self.pins.iter().position(|&pin| pin == index) {
            self.pins.swap_remove(position);
        }
    }

    /// The rows are about to be replaced: no campaigns until they are.
    pub(crate) fn begin_install(&mut self) -> Result<()> {
        if self.is_leader() || self.single || self.is_witness() {
            let id = self.partition;
            return Err(Error::unknown(format!(
                "internal: partition {id} does not follow, it takes no checkpoint"
            )));
        }
        let raft = &mut self.node()?.raft;
        if raft.state != StateRole::Follower {
            let term = raft.term;
            raft.become_follower(term, INVALID_ID);
        }
        self.installing = true;
        Ok(())
    }

    /// No rows were touched.
    pub(crate) fn abort_install(&mut self) {
        self.installing = false;
    }

    /// The rows are those of this entry; its checkpoint is durable. The leader is told, and goes on from there.
    pub(crate) fn finish_install(&mut self, index: u64, term: u64) -> Result<()> {
        self.installing = false;
        (self.applied_index, self.applied_term) = (index, term);
        let replica = self.replica;
        let node = self.node()?;
        let snapshot = node.store().metadata_snapshot(index, term);
        // False where the log holds that entry already: then it is known to be committed now.
        node.raft.restore(snapshot);
        let (to, term, commit) = (node.raft.leader_id, node.raft.term, node.raft.raft_log.committed);
        if to != INVALID_ID {
            let kind = MessageType::MsgAppendResponse;
            let answer = Message { msg_type: kind, from: replica, to, term, index, commit, ..Message::default() };
            node.raft.msgs.push(answer);
        }
        Ok(())
    }
}
