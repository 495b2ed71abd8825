//! The partition's Raft group: raft-rs over the part of the log that is still in memory (`tail`).
//!
//! Nothing random reaches the outcome: the election timeout is drawn from a range of one value, which the replica's
//! place among the voters chooses, and a group of one campaigns as soon as it starts. A group of one needs no time,
//! no lease and keeps no applied entry in memory.
//!
//! What Raft leaves open is decided beside it: when a leader may serve without asking (`lease`), which of a follower's
//! messages need not wait for its disk, what the witness gets to see (`witness`), how much of the log is kept for
//! replicas that are away and how they get what is not (`catch_up`), and what a replica that may have lost the end of
//! its log must not do (`amnesiac`). Batches to persist are numbered; [`Group::persisted`] takes the numbers back in
//! order.

mod amnesia;
mod amnesiac;
mod catch_up;
mod feeding;
mod input;
mod leader;
mod read_context;
mod witness;

pub(crate) use self::read_context::ReadKind;

use raft::eraftpb::{Entry, Message, MessageType};
use raft::{Config, INVALID_ID, RawNode, ReadOnlyOption, StateRole};
use shoal_planted::{Bug, is_planted};
use shoal_types::{Error, PartitionId, Result};

use self::amnesia::Amnesia;
use self::feeding::Feeding;
use crate::agreement::LogEnd;
use crate::api::PartitionConfig;
use crate::lease::{Lease, Promise, stamp};
use crate::outputs::{HardState, Leadership, LogEntry, LogStart, Outputs};
use crate::tail::Tail;
use crate::time::{Ticker, Timing};

/// Entries handed to one follower in one message.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;
const MESSAGES_IN_FLIGHT_MAX: usize = 256;

/// Before `start` a log is read back into the tail; afterwards Raft owns it.
enum Phase {
    Recovering(Tail),
    Running(Box<RawNode<Tail>>),
}

pub(crate) struct Group {
    phase: Phase,
    partition: PartitionId,
    replica: u64,
    voters: Vec<u64>,
    witness: Option<u64>,
    single: bool,
    life: u64,
    tail_bytes_max: u64,
    timing: Timing,
    ticker: Ticker,
    /// The number of the newest batch that has to become durable, of the newest that did, and of the newest with a
    /// vote or term in it.
    wanted: u64,
    persisted: u64,
    newest_vote: u64,
    /// Batches before Raft was last begun anew: its own numbers go on from here.
    batches_before: u64,
    lease: Lease,
    promise: Promise,
    /// The term in which this replica leads, or zero.
    leading: u64,
    /// The term in which another replica was told to take over; this one never serves in it again.
    ceded: u64,
    /// Index and term of the newest applied entry.
    applied_index: u64,
    applied_term: u64,
    /// Makes the contexts of reads unique.
    reads: u64,
    feeding: Feeding,
    /// Entries up to this are on the disk of this replica, which leads; or, at the witness, of one that has led.
    on_disk: u64,
    amnesia: Option<Amnesia>,
    /// Where the witness's log ended when the replicas agreed that it is worth nothing.
    worthless: Option<LogEnd>,
    /// Entries behind these are kept for checkpoints under way to other replicas.
    pins: Vec<u64>,
    /// Ticks for which a group of one keeps what it has applied, for those that follow its log.
    followed_ticks: u64,
    /// The rows are being replaced, or this entry at which the log began anew is not durable yet.
    installing: bool,
    restarting_at: Option<u64>,
    /// Entries read back now follow one that the checkpoint has disproved.
    void: bool,
    /// The last entry read back that did not follow what was there: it, or another in its place, has to come again.
    skipped: Option<u64>,
}

/// What one turn of Raft has decided.
#[derive(Default)]
pub(crate) struct Decided {
    pub(crate) committed: Vec<Entry>,
    /// The log begins anew here.
    pub(crate) log_start: Option<LogStart>,
}

fn raft_error(error: raft::Error) -> Error {
    Error::unknown(format!("the partition's replication group refused: {error}"))
}

/// A follower's messages that promise nothing about what its disk holds, beyond its term.
fn needs_no_entries(message: &Message) -> bool {
    use MessageType::*;
    match message.msg_type {
        MsgHeartbeatResponse | MsgReadIndex | MsgRequestPreVote | MsgRequestPreVoteResponse => true,
        MsgAppendResponse => message.reject,
        _ => false,
    }
}

impl Group {
    pub(crate) fn new(config: &PartitionConfig) -> Group {
        Group {
            phase: Phase::Recovering(Tail::new(&config.voters, config.witness, Default::default())),
            partition: config.id,
            replica: config.replica,
            voters: config.voters.clone(),
            witness: config.witness,
            single: config.voters == [config.replica],
            life: config.life,
            tail_bytes_max: config.tail_bytes_max,
            timing: config.timing,
            ticker: Ticker::default(),
            wanted: 0,
            persisted: 0,
            newest_vote: 0,
            batches_before: 0,
            lease: Lease::default(),
            promise: Promise::default(),
            leading: 0,
            ceded: 0,
            applied_index: 0,
            applied_term: 0,
            reads: 0,
            feeding: Feeding::default(),
            on_disk: 0,
            amnesia: (config.amnesia && !is_planted(Bug::VoteAfterLostTail)).then(Amnesia::default),
            worthless: None,
            pins: Vec::new(),
            followed_ticks: 0,
            installing: false,
            restarting_at: None,
            void: false,
            skipped: None,
        }
    }

    fn tail(&self) -> &Tail {
        match &self.phase {
            Phase::Recovering(tail) => tail,
            Phase::Running(node) => node.store(),
        }
    }

    fn node(&mut self) -> Result<&mut RawNode<Tail>> {
        match &mut self.phase {
            Phase::Running(node) => Ok(node),
            Phase::Recovering(_) => Err(Error::unknown("the partition is still recovering")),
        }
    }

    fn running(&self) -> Option<&RawNode<Tail>> {
        match &self.phase {
            Phase::Running(node) => Some(node),
            Phase::Recovering(_) => None,
        }
    }

    fn recovering(&mut self) -> Result<&mut Tail> {
        match &mut self.phase {
            Phase::Recovering(tail) => Ok(tail),
            Phase::Running(_) => Err(Error::unknown("internal: recovery of a partition that runs")),
        }
    }

    pub(crate) fn is_single(&self) -> bool {
        self.single
    }

    /// Index and term of the last entry.
    pub(crate) fn last(&self) -> (u64, u64) {
        self.tail().last()
    }

    pub(crate) fn first_index(&self) -> u64 {
        self.tail().start().0 + 1
    }

    // ---- recovery ----

    /// The log begins behind a checkpoint, or behind a place from which on it is kept. Later entries that were read
    /// already stay if they follow that very entry.
    pub(crate) fn recover_from(&mut self, index: u64, term: u64) -> Result<()> {
        (self.applied_index, self.applied_term, self.void) = (index, term, false);
        let keeps_no_rows = self.is_witness();
        let tail = self.recovering()?;
        let start_index = tail.start().0;
        match keeps_no_rows && index < start_index {
            // It has begun anew; or the log was cut, and what has been read of it begins in the middle: it is logged again
            // further on.
            true => tail.restart_at(index, term),
            false => tail.begin_at(index, term),
        }
        self.skipped = None;
        Ok(())
    }

    /// The newest vote and term that were made durable.
    pub(crate) fn recover_hard_state(&mut self, hard_state: HardState) -> Result<()> {
        let HardState { term, vote, commit } = hard_state;
        self.recovering()?.hard_state = raft::eraftpb::HardState { term, vote, commit, ..Default::default() };
        Ok(())
    }

    /// Puts what must be in the log besides a checkpoint up to `covered` into the outputs.
    pub(crate) fn log_again(&mut self, covered: u64, is_witness: bool, outputs: &mut Outputs) {
        if self.single {
            return;
        }
        let tail = self.tail();
        if is_witness {
            let (index, term) = tail.start();
            outputs.log_start = Some(crate::outputs::LogStart { index, term });
        }
        outputs.hard_state = Some(self.hard_state());
        outputs.append.splice(0..0, tail.entries_behind(covered).map(LogEntry));
    }

    /// Reads one entry back; `applied` entries of a group of one need not be kept. In a larger group an entry may
    /// overwrite earlier ones.
    pub(crate) fn replay(&mut self, index: u64, term: u64, data: &[u8], applied: bool) -> Result<()> {
        let keeps_no_rows = self.is_witness();
        let was_void = self.void;
        let tail = self.recovering()?;
        let (start_index, start_term) = tail.start();
        if keeps_no_rows && tail.last().0 == 0 && index > 1 {
            // The log was cut; where it begins is yet to be read.
            tail.restart_at(index - 1, 0);
        }
        if index > tail.last().0 + 1 && !was_void {
            // Where a log was cut it may begin in the middle: what it lacks there is logged again further on, with all that
            // follows. See `start`.
            self.skipped = Some(index);
            return Ok(());
        }
        if self.skipped.is_some_and(|skipped| index <= skipped) {
            self.skipped = None;
        }
        let tail = self.recovering()?;
        let data = if applied { Vec::new() } else { data.to_vec() };
        let entry = Entry { index, term, data: data.into(), ..Entry::default() };
        if index <= start_index {
            tail.append(entry);
            // What follows an entry that was overwritten by a checkpoint has no place behind the checkpoint.
            self.void = index == start_index && term != start_term;
            return Ok(());
        }
        if was_void {
            return Ok(());
        }
        tail.append(entry);
        if applied {
            tail.compact(index);
        }
        Ok(())
    }

    /// Ends recovery. `applied` is the last entry whose effects are in the rows.
    pub(crate) fn start(&mut self, applied: u64) -> Result<()> {
        if let Some(index) = self.skipped {
            let (partition, last) = (self.partition, self.last().0);
            return Err(Error::unknown(format!(
                "the log of partition {partition} has a gap: entry {index} follows entry {last}"
            )));
        }
        let mut tail = std::mem::take(self.recovering()?);
        let (last_index, last_term) = tail.last();
        if tail.start().0 > 0 && tail.start().1 == 0 {
            let id = self.partition;
            return Err(Error::unknown(format!("the log of partition {id} does not say where it begins")));
        }
        tail.hard_state.term = tail.hard_state.term.max(last_term);
        if tail.hard_state.term > 0 && !is_planted(Bug::ForgetPromiseAtRestart) {
            // An earlier life may have answered the heartbeat of a leader whose lease goes on.
            self.promise.give(INVALID_ID, self.ticker.count());
        }
        // An amnesiac replica may know of commits that everybody has lost.
        let known = if self.amnesia.is_some() { applied } else { tail.hard_state.commit };
        tail.hard_state.commit = known.clamp(applied, last_index);
        let mut node = self.raft_over(tail, applied)?;
        if self.single {
            node.campaign().map_err(raft_error)?;
        }
        self.phase = Phase::Running(Box::new(node));
        Ok(())
    }

    /// Forgets the log, but for vote and term.
    pub(super) fn begin_anew(&mut self, outputs: &mut Outputs) -> Result<()> {
        let HardState { term, vote, .. } = self.hard_state();
        let hard_state = raft::eraftpb::HardState { term, vote, commit: 0, ..Default::default() };
        let tail = Tail::new(&self.voters, self.witness, hard_state);
        self.phase = Phase::Running(Box::new(self.raft_over(tail, 0)?));
        self.batches_before = self.wanted;
        (self.restarting_at, self.on_disk) = (None, 0);
        (self.applied_index, self.applied_term) = (0, 0);
        outputs.append.clear();
        outputs.log_start = Some(LogStart { index: 0, term: 0 });
        outputs.hard_state = Some(HardState { term, vote, commit: 0 });
        Ok(())
    }

    fn hard_state(&self) -> HardState {
        let state = &self.tail().hard_state;
        HardState { term: state.term, vote: state.vote, commit: state.commit }
    }

    fn raft_over(&self, tail: Tail, applied: u64) -> Result<RawNode<Tail>> {
        let election_tick = self.timing.election_ticks as usize;
        let timeout = self.election_timeout_ticks();
        let config = Config {
            id: self.replica,
            applied,
            election_tick,
            min_election_tick: timeout,
            max_election_tick: timeout + 1,
            heartbeat_tick: self.timing.heartbeat_ticks as usize,
            max_size_per_msg: MESSAGE_BYTES_MAX,
            max_inflight_msgs: MESSAGES_IN_FLIGHT_MAX,
            check_quorum: true,
            pre_vote: true,
            read_only_option: ReadOnlyOption::Safe,
            // Followers learn what is committed with the next entry or heartbeat.
            skip_bcast_commit: true,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        RawNode::new(&config, tail, &logger).map_err(raft_error)
    }

    // ---- turns ----

    pub(crate) fn persisted(&mut self, number: u64) -> Result<()> {
        self.persisted = self.persisted.max(number);
        let restarting_at = self.restarting_at;
        let number = number.saturating_sub(self.batches_before);
        let node = self.node()?;
        node.on_persist_ready(number);
        if let Some(index) = restarting_at
            && node.raft.raft_log.persisted >= index
        {
            node.advance_apply_to(index.max(node.raft.raft_log.applied));
            self.restarting_at = None;
        }
        Ok(())
    }

    /// Notices that this replica's leadership has begun or ended.
    fn note_leadership(&mut self) {
        let Phase::Running(node) = &mut self.phase else { return };
        let leading = if node.raft.state == StateRole::Leader { node.raft.term } else { 0 };
        if leading != self.leading {
            self.leading = leading;
            self.lease.clear();
            self.feeding = Feeding::default();
            if !self.is_witness() {
                self.on_disk = 0;
            }
            let Phase::Running(node) = &mut self.phase else { return };
            // Heartbeats at once, for the lease.
            node.ping();
        }
    }

    /// Takes what Raft wants done, into `outputs` and `decided`; false if there was nothing.
    pub(crate) fn turn(&mut self, outputs: &mut Outputs, decided: &mut Decided) -> Result<bool> {
        if !self.single {
            self.note_leadership();
        }
        let (wanted, persisted, batches_before) = (self.wanted, self.persisted, self.batches_before);
        let node = self.node()?;
        if !node.has_ready() {
            return Ok(false);
        }
        let mut ready = node.ready();
        let number = ready.number() + batches_before;
        decided.committed.append(&mut ready.take_committed_entries());
        if ready.ss().is_some() {
            let leader = Some(node.raft.leader_id).filter(|&leader| leader != INVALID_ID);
            outputs.leadership = Some(Leadership { term: node.raft.term, leader });
        }
        let snapshot = ready.snapshot().get_metadata();
        let log_start = LogStart { index: snapshot.index, term: snapshot.term };
        if log_start.index > 0 {
            node.mut_store().restart_at(log_start.index, log_start.term);
            outputs.append.clear();
            outputs.log_start = Some(log_start);
            decided.log_start = Some(log_start);
        }
        let mut votes = false;
        if let Some(state) = ready.hs() {
            let old = &node.store().hard_state;
            if (old.term, old.vote) != (state.term, state.vote) {
                outputs.hard_state = Some(HardState { term: state.term, vote: state.vote, commit: state.commit });
                votes = true;
            }
            let state = state.clone();
            node.mut_store().hard_state = state;
        }
        for entry in ready.take_entries() {
            outputs.append.push(LogEntry(entry.clone()));
            node.mut_store().append(entry);
        }
        let answers = ready.take_read_states();
        let (messages, after_persist) = (ready.take_messages(), ready.take_persisted_messages());
        let must_sync = ready.must_sync();
        node.advance_append_async(ready);
        if must_sync {
            self.wanted = number;
            outputs.number = number;
            if votes {
                self.newest_vote = number;
            }
        } else if persisted >= wanted {
            // Nothing to write and nothing under way: the batch is as durable as it will be.
            node.on_persist_ready(number - batches_before);
        }
        if log_start.index > 0 {
            self.restarting_at = Some(log_start.index);
        }
        self.send(messages, after_persist, outputs);
        self.take_answers(answers, outputs);
        Ok(true)
    }

    fn send(&mut self, messages: Vec<Message>, after_persist: Vec<Message>, outputs: &mut Outputs) {
        for mut message in messages {
            match message.msg_type {
                MessageType::MsgHeartbeat => {
                    stamp(&mut message, self.ticker.now());
                    self.tell_what_is_on_disk(&mut message);
                }
                MessageType::MsgTimeoutNow => self.ceded = self.leading,
                _ => {}
            }
            outputs.messages.push(message);
        }
        let term_is_durable = self.newest_vote <= self.persisted;
        for message in after_persist {
            if term_is_durable && needs_no_entries(&message) {
                outputs.messages.push(message);
            } else {
                outputs.messages_after_persist.push(message);
            }
        }
    }

    /// The entry has been applied, with all before it.
    pub(crate) fn applied(&mut self, index: u64, term: u64) -> Result<()> {
        if index >= self.applied_index {
            (self.applied_index, self.applied_term) = (index, term);
        }
        let single = self.single;
        let node = self.node()?;
        if index <= node.raft.raft_log.applied {
            return Ok(());
        }
        node.advance_apply_to(index);
        if single {
            self.trim_single(index);
        }
        Ok(())
    }

    // ---- the other replicas ----

    /// The leader's view of a voter: the last entry it is known to hold, and when it was last heard.
    pub(crate) fn progress(&self, replica: u64) -> Option<(u64, bool)> {
        let node = self.running().filter(|_| self.leading != 0)?;
        let now = self.ticker.now();
        if replica == self.replica {
            return Some((node.raft.raft_log.persisted, true));
        }
        let matched = node.raft.prs().get(replica)?.matched;
        let heard = self.lease.answered(replica);
        Some((matched, heard.is_some_and(|heard| now.since(heard) < self.timing.election_ms())))
    }

    pub(crate) fn commit_index(&self) -> u64 {
        match &self.phase {
            Phase::Recovering(tail) => tail.hard_state.commit,
            Phase::Running(node) => node.raft.raft_log.committed,
        }
    }
}
