//! The partition's Raft group: raft-rs over the part of the log that is still in memory (`tail`).
//!
//! Nothing random reaches the outcome: the election timeout is drawn from a range of one value, which the replica's
//! place among the voters chooses, and a group of one campaigns as soon as it starts. A group of one needs no time,
//! no lease and keeps no applied entry in memory.
//!
//! What Raft leaves open is decided beside it: when a leader may serve without asking (`lease`), and which of a
//! follower's messages need not wait for its disk. Batches to persist are numbered; [`Group::persisted`] takes the
//! numbers back in order.

use raft::eraftpb::{Entry, Message, MessageType};
use raft::{Config, INVALID_ID, RawNode, ReadOnlyOption, StateRole};
use shoal_types::{Error, NodeId, PartitionId, Result, Transient};

use crate::api::{PartitionConfig, Role};
use crate::lease::{Lease, Promise, asks_for_vote, stamp, take_stamp};
use crate::outputs::{HardState, Leadership, LogEntry, Outputs, ReadState};
use crate::tail::Tail;
use crate::time::{Millis, Ticker, Timing};

/// Entries handed to one follower in one message.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;
const MESSAGES_IN_FLIGHT_MAX: usize = 256;
/// Ticks between the campaigns of replicas that saw their leader die at the same time.
const CAMPAIGN_STAGGER_TICKS: usize = 2;

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
    single: bool,
    timing: Timing,
    ticker: Ticker,
    /// The number of the newest batch that has to become durable, of the newest that did, and of the newest with a
    /// vote or term in it.
    wanted: u64,
    persisted: u64,
    newest_vote: u64,
    lease: Lease,
    promise: Promise,
    /// The term in which this replica leads, or zero.
    leading: u64,
    /// The term in which another replica was told to take over; this one never serves in it again.
    ceded: u64,
    /// The term of the newest applied entry.
    applied_term: u64,
    /// Makes the contexts of reads unique.
    reads: u64,
}

/// What one turn of Raft has decided.
#[derive(Default)]
pub(crate) struct Decided {
    pub(crate) committed: Vec<Entry>,
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
        let HardState { term, vote, commit } = config.hard_state;
        let hard_state = raft::eraftpb::HardState { term, vote, commit, ..Default::default() };
        let mut promise = Promise::default();
        if term > 0 {
            // To whoever led before the restart.
            promise.give(INVALID_ID, 0);
        }
        Group {
            phase: Phase::Recovering(Tail::new(&config.voters, config.witness, hard_state)),
            partition: config.id,
            replica: config.replica,
            voters: config.voters.clone(),
            single: config.voters == [config.replica],
            timing: config.timing,
            ticker: Ticker::default(),
            wanted: 0,
            persisted: 0,
            newest_vote: 0,
            lease: Lease::default(),
            promise,
            leading: 0,
            ceded: 0,
            applied_term: 0,
            reads: 0,
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

    /// The log begins behind a checkpoint, or behind a place from which on a witness keeps it.
    pub(crate) fn recover_from(&mut self, index: u64, term: u64) -> Result<()> {
        self.applied_term = term;
        self.recovering()?.restart_at(index, term);
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
        let state = &tail.hard_state;
        outputs.hard_state = Some(HardState { term: state.term, vote: state.vote, commit: state.commit });
        outputs.append.splice(0..0, tail.entries_behind(covered).map(LogEntry));
    }

    /// Reads one entry back; `applied` entries of a group of one need not be kept. In a larger group an entry may
    /// overwrite earlier ones.
    pub(crate) fn replay(&mut self, index: u64, term: u64, data: &[u8], applied: bool) -> Result<()> {
        let tail = self.recovering()?;
        if index > tail.last().0 + 1 {
            let last = tail.last().0;
            return Err(Error::unknown(format!("the log has a gap: entry {index} follows entry {last}")));
        }
        let data = if applied { Vec::new() } else { data.to_vec() };
        tail.append(Entry { index, term, data: data.into(), ..Entry::default() });
        if applied {
            tail.compact(index);
        }
        Ok(())
    }

    /// Ends recovery. `applied` is the last entry whose effects are in the rows.
    pub(crate) fn start(&mut self, applied: u64) -> Result<()> {
        let mut tail = std::mem::take(self.recovering()?);
        let (last_index, last_term) = tail.last();
        tail.hard_state.term = tail.hard_state.term.max(last_term);
        tail.hard_state.commit = tail.hard_state.commit.clamp(applied, last_index);
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
        let mut node = RawNode::new(&config, tail, &logger).map_err(raft_error)?;
        if self.single {
            node.campaign().map_err(raft_error)?;
        }
        self.phase = Phase::Running(Box::new(node));
        Ok(())
    }

    /// One value to draw from, another for each replica, so that they do not all campaign at once; the preferred
    /// leader's is the shortest.
    fn election_timeout_ticks(&self) -> usize {
        let election_ticks = self.timing.election_ticks as usize;
        let place = self.voters.iter().position(|&voter| voter == self.replica).unwrap_or(0);
        election_ticks + place * election_ticks.div_ceil(4)
    }

    // ---- who leads ----

    pub(crate) fn role(&self) -> Role {
        match self.running().map(|node| node.raft.state) {
            Some(StateRole::Leader) => Role::Leader,
            Some(StateRole::Candidate | StateRole::PreCandidate) => Role::Candidate,
            _ => Role::Follower,
        }
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.role() == Role::Leader
    }

    pub(crate) fn term(&self) -> u64 {
        match &self.phase {
            Phase::Recovering(tail) => tail.hard_state.term.max(tail.last().1),
            Phase::Running(node) => node.raft.term,
        }
    }

    pub(crate) fn leader(&self) -> Option<u64> {
        self.running().map(|node| node.raft.leader_id).filter(|&leader| leader != INVALID_ID)
    }

    /// The term in which this replica leads, or zero, as of the last turn.
    pub(crate) fn leading(&self) -> u64 {
        self.leading
    }

    /// Leads, and everything from before its term is applied: transactions may join. Leaves the lease open.
    pub(crate) fn is_established(&self) -> bool {
        self.single || (self.leading != 0 && self.applied_term == self.leading && self.ceded != self.leading)
    }

    pub(crate) fn serves(&self, now: Millis) -> bool {
        self.single || (self.is_established() && self.lease.holds(now))
    }

    /// Why this replica does not do what only a serving leader may do.
    pub(crate) fn refusal(&self) -> Error {
        let id = self.partition;
        if self.leading == 0 {
            let leader = self.leader().filter(|&leader| leader != self.replica).map(|id| NodeId(id as u32));
            let text = match leader {
                Some(leader) => format!("partition {id} is led by node {leader}; try again there"),
                None => format!("partition {id} has no leader at the moment; try again"),
            };
            return Error::transient(Transient::NotLeader { leader }, text);
        }
        if self.is_handing_over() {
            let text = format!("partition {id} is being handed over to another node; try again");
            return Error::transient(Transient::HandingOver, text);
        }
        let text =
            format!("partition {id} is not ready to serve: its leader waits for the other nodes; try again");
        Error::transient(Transient::NotServing, text)
    }

    fn is_handing_over(&self) -> bool {
        self.ceded == self.leading || self.running().is_some_and(|node| node.raft.lead_transferee.is_some())
    }

    /// Hands an entry to the group; returns its index and term if this replica leads.
    pub(crate) fn propose(&mut self, data: Vec<u8>) -> Result<(u64, u64)> {
        if !self.single && (!self.is_established() || self.is_handing_over()) {
            return Err(self.refusal());
        }
        let node = self.node()?;
        node.propose(Vec::new(), data).map_err(raft_error)?;
        Ok((node.raft.raft_log.last_index(), node.raft.term))
    }

    /// Tells another replica to take over once it has everything.
    pub(crate) fn transfer_leader(&mut self, to: u64) -> Result<()> {
        if self.leading == 0 {
            return Err(self.refusal());
        }
        if !self.voters.contains(&to) {
            return Err(Error::unknown(format!("node {to} holds no replica of partition {}", self.partition)));
        }
        if to != self.replica {
            self.node()?.transfer_leader(to);
        }
        Ok(())
    }

    /// The replica's process is gone for certain.
    pub(crate) fn peer_died(&mut self, replica: u64) -> Result<()> {
        self.promise.void(replica);
        self.lease.forget(replica);
        let others = self.voters.iter().filter(|&&voter| voter != replica);
        let place = others.take_while(|&&voter| voter != self.replica).count();
        let node = self.node()?;
        if node.raft.state == StateRole::Leader {
            node.report_unreachable(replica);
        } else if node.raft.leader_id == replica {
            node.raft.leader_id = INVALID_ID;
            if place == 0 {
                node.campaign().map_err(raft_error)?;
            } else {
                let timeout = node.raft.randomized_election_timeout();
                let elapsed = timeout.saturating_sub(place * CAMPAIGN_STAGGER_TICKS);
                node.raft.election_elapsed = node.raft.election_elapsed.max(elapsed);
            }
        }
        self.answer_deferred()
    }

    // ---- time and messages ----

    pub(crate) fn tick(&mut self, now: Millis) -> Result<()> {
        if self.single {
            return Ok(());
        }
        let ticks = self.ticker.advance(now, self.timing.tick_ms);
        let ceded = self.ceded;
        let node = self.node()?;
        for _ in 0..ticks {
            node.tick();
        }
        let raft = &mut node.raft;
        if raft.state == StateRole::Leader && raft.term == ceded && raft.lead_transferee.is_none() {
            // The one that was told to take over did not. It may still, so this term cannot be served in again.
            let term = raft.term;
            raft.become_follower(term, INVALID_ID);
        }
        self.answer_deferred()
    }

    fn answer_deferred(&mut self) -> Result<()> {
        for request in self.promise.due(self.ticker.count(), self.timing.election_ticks) {
            self.node()?.step(request).map_err(raft_error)?;
        }
        Ok(())
    }

    pub(crate) fn step(&mut self, mut message: Message) -> Result<()> {
        if message.to != self.replica || message.from == self.replica || !self.voters.contains(&message.from) {
            return Ok(());
        }
        let (tick, election_ticks) = (self.ticker.count(), self.timing.election_ticks);
        let (kind, from) = (message.msg_type, message.from);
        let node = self.node()?;
        match kind {
            _ if asks_for_vote(&message) => {
                let refuses = node.raft.state != StateRole::Leader && message.term > node.raft.term;
                if refuses && self.promise.defers(&message, tick, election_ticks) {
                    return Ok(());
                }
            }
            MessageType::MsgHeartbeat if message.term >= node.raft.term => {
                let last = node.raft.raft_log.last_index();
                if message.commit > last {
                    return Err(lost_entries(self.partition, message.commit, last));
                }
            }
            MessageType::MsgHeartbeatResponse => {
                let sent = take_stamp(&mut message);
                if let Some(sent) = sent.filter(|_| self.leading != 0 && message.term == self.leading) {
                    self.lease.extend(from, sent, self.voters.len() / 2, self.timing.lease_ms);
                }
            }
            _ => {}
        }
        let term = message.term;
        let node = self.node()?;
        node.step(message).map_err(raft_error)?;
        let follows =
            node.raft.state == StateRole::Follower && node.raft.leader_id == from && node.raft.term == term;
        if kind == MessageType::MsgHeartbeat && follows {
            self.promise.give(from, tick);
        }
        Ok(())
    }

    /// Asks for the index that a linearizable read must see; the answer may never come.
    pub(crate) fn read_index(&mut self, context: &[u8]) -> Result<()> {
        self.reads += 1;
        // Raft takes equal contexts for the same request.
        let mut unique = Vec::with_capacity(READ_HEADER_BYTES + context.len());
        unique.extend_from_slice(&self.replica.to_le_bytes());
        unique.extend_from_slice(&self.reads.to_le_bytes());
        unique.extend_from_slice(context);
        self.node()?.read_index(unique);
        Ok(())
    }

    // ---- turns ----

    pub(crate) fn persisted(&mut self, number: u64) -> Result<()> {
        self.persisted = self.persisted.max(number);
        self.node()?.on_persist_ready(number);
        Ok(())
    }

    /// Notices that this replica's leadership has begun or ended.
    fn note_leadership(&mut self) {
        let Phase::Running(node) = &mut self.phase else { return };
        let leading = if node.raft.state == StateRole::Leader { node.raft.term } else { 0 };
        if leading != self.leading {
            self.leading = leading;
            self.lease.clear();
            // Heartbeats at once, for the lease.
            node.ping();
        }
    }

    /// Takes what Raft wants done, into `outputs` and `decided`; false if there was nothing.
    pub(crate) fn turn(&mut self, outputs: &mut Outputs, decided: &mut Decided) -> Result<bool> {
        if !self.single {
            self.note_leadership();
        }
        let (wanted, persisted) = (self.wanted, self.persisted);
        let node = self.node()?;
        if !node.has_ready() {
            return Ok(false);
        }
        let mut ready = node.ready();
        let number = ready.number();
        decided.committed.append(&mut ready.take_committed_entries());
        if ready.ss().is_some() {
            let leader = Some(node.raft.leader_id).filter(|&leader| leader != INVALID_ID);
            outputs.leadership = Some(Leadership { term: node.raft.term, leader });
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
        for state in ready.take_read_states() {
            outputs.read_states.extend(answered_read(state));
        }
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
            node.on_persist_ready(number);
        }
        self.send(messages, after_persist, outputs);
        Ok(true)
    }

    fn send(&mut self, messages: Vec<Message>, after_persist: Vec<Message>, outputs: &mut Outputs) {
        for mut message in messages {
            match message.msg_type {
                MessageType::MsgHeartbeat => stamp(&mut message, self.ticker.now()),
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
        self.applied_term = term;
        let single = self.single;
        let node = self.node()?;
        if index <= node.raft.raft_log.applied {
            return Ok(());
        }
        node.advance_apply_to(index);
        if single {
            node.mut_store().compact(index);
        }
        Ok(())
    }

    /// Entries up to `index` (applied ones) are not needed in memory any more.
    pub(crate) fn compact(&mut self, index: u64) {
        match &mut self.phase {
            Phase::Recovering(tail) => tail.compact(index),
            Phase::Running(node) => node.mut_store().compact(index),
        }
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

/// Replica and number, before a read's own context.
const READ_HEADER_BYTES: usize = 16;

fn answered_read(state: raft::ReadState) -> Option<ReadState> {
    let context = state.request_ctx.get(READ_HEADER_BYTES..)?.to_vec();
    Some(ReadState { index: state.index, context })
}

fn lost_entries(partition: PartitionId, known: u64, last: u64) -> Error {
    Error::unknown(format!(
        "partition {partition} has lost entries of its log: the leader knows that this node held entry {known}, and the \
         log ends at {last}; was the data directory exchanged or restored? Start this node with an empty data \
         directory, so that it fetches everything from the other nodes"
    ))
}
