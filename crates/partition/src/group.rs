//! The partition's Raft group: raft-rs over the part of the log that is still in memory.
//!
//! Nothing random reaches the outcome: the election timeout is drawn from a range of one value, which the replica's
//! id chooses, and a group of one campaigns as soon as it starts. A group of one keeps no applied entry in memory;
//! a larger one keeps what `compact` has not released, for followers that fall behind.

use std::collections::VecDeque;

use raft::eraftpb::{ConfState, Entry, Message, Snapshot};
use raft::{Config, GetEntriesContext, RaftState, RawNode, ReadOnlyOption, StateRole, Storage, StorageError};
use shoal_types::{Error, Result};

use crate::api::PartitionConfig;
use crate::outputs::{HardState, LogEntry, Outputs, ReadState};

/// Entries handed to one follower in one message.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;
const MESSAGES_IN_FLIGHT_MAX: usize = 256;

/// The log as far as it is in memory: entries behind (`compacted_index`, `compacted_term`).
#[derive(Default)]
pub(crate) struct Tail {
    entries: VecDeque<Entry>,
    compacted_index: u64,
    compacted_term: u64,
    hard_state: raft::eraftpb::HardState,
    voters: Vec<u64>,
}

impl Tail {
    fn last(&self) -> (u64, u64) {
        self.entries.back().map_or((self.compacted_index, self.compacted_term), |entry| (entry.index, entry.term))
    }

    fn position(&self, index: u64) -> Option<usize> {
        index.checked_sub(self.compacted_index + 1).map(|position| position as usize)
    }

    /// Appends an entry, cutting off what it overwrites.
    fn append(&mut self, entry: Entry) {
        if let Some(position) = self.position(entry.index) {
            self.entries.truncate(position);
            self.entries.push_back(entry);
        }
    }

    fn compact(&mut self, index: u64) {
        while self.entries.front().is_some_and(|entry| entry.index <= index) {
            if let Some(entry) = self.entries.pop_front() {
                (self.compacted_index, self.compacted_term) = (entry.index, entry.term);
            }
        }
    }
}

impl Storage for Tail {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let conf_state = ConfState { voters: self.voters.clone(), ..ConfState::default() };
        Ok(RaftState::new(self.hard_state.clone(), conf_state))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let first = self.position(low).ok_or(raft::Error::Store(StorageError::Compacted))?;
        let count = (high - low) as usize;
        let mut entries: Vec<Entry> = self.entries.iter().skip(first).take(count).cloned().collect();
        if entries.len() < count {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index == self.compacted_index {
            return Ok(self.compacted_term);
        }
        let position = self.position(index).ok_or(raft::Error::Store(StorageError::Compacted))?;
        match self.entries.get(position) {
            Some(entry) => Ok(entry.term),
            None => Err(raft::Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.compacted_index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().0)
    }

    fn snapshot(&self, _request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        // Checkpoints travel beside Raft's messages.
        Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}

/// Before `start` a log is read back into the tail; afterwards Raft owns it.
enum Phase {
    Recovering(Tail),
    Running(Box<RawNode<Tail>>),
}

pub(crate) struct Group {
    phase: Phase,
    replica: u64,
    single: bool,
    election_ticks: usize,
    heartbeat_ticks: usize,
    /// The number of the newest batch that has to become durable, and of the newest that did.
    wanted: u64,
    persisted: u64,
}

/// What one turn of Raft has decided.
#[derive(Default)]
pub(crate) struct Decided {
    pub(crate) committed: Vec<Entry>,
}

fn raft_error(error: raft::Error) -> Error {
    Error::unknown(format!("the partition's replication group refused: {error}"))
}

impl Group {
    pub(crate) fn new(config: &PartitionConfig) -> Group {
        let mut tail = Tail { voters: config.voters.clone(), ..Tail::default() };
        tail.hard_state.term = config.hard_state.term;
        tail.hard_state.vote = config.hard_state.vote;
        tail.hard_state.commit = config.hard_state.commit;
        Group {
            phase: Phase::Recovering(tail),
            replica: config.replica,
            single: config.voters == [config.replica],
            election_ticks: config.election_ticks,
            heartbeat_ticks: config.heartbeat_ticks,
            wanted: 0,
            persisted: 0,
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
        self.tail().compacted_index + 1
    }

    /// The log begins behind a checkpoint.
    pub(crate) fn recover_from(&mut self, index: u64, term: u64) -> Result<()> {
        let tail = self.recovering()?;
        tail.entries.clear();
        (tail.compacted_index, tail.compacted_term) = (index, term);
        Ok(())
    }

    /// Reads one entry back; `applied` entries of a group of one need not be kept.
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
        // One value to draw from, another for each replica, so that they do not all campaign at once.
        let election_tick = self.election_ticks.max(self.heartbeat_ticks + 1);
        let timeout = election_tick + (self.replica as usize % 7) * election_tick / 7;
        let config = Config {
            id: self.replica,
            applied,
            election_tick,
            min_election_tick: timeout,
            max_election_tick: timeout + 1,
            heartbeat_tick: self.heartbeat_ticks,
            max_size_per_msg: MESSAGE_BYTES_MAX,
            max_inflight_msgs: MESSAGES_IN_FLIGHT_MAX,
            check_quorum: true,
            pre_vote: true,
            read_only_option: ReadOnlyOption::LeaseBased,
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

    pub(crate) fn is_leader(&self) -> bool {
        match &self.phase {
            Phase::Running(node) => node.raft.state == StateRole::Leader,
            Phase::Recovering(_) => false,
        }
    }

    /// Hands an entry to the group; returns its index and term if this replica leads.
    pub(crate) fn propose(&mut self, data: Vec<u8>) -> Result<(u64, u64)> {
        if !self.is_leader() {
            return Err(Error::unknown("the partition's leader is elsewhere or not elected yet; try again"));
        }
        let node = self.node()?;
        node.propose(Vec::new(), data).map_err(raft_error)?;
        Ok((node.raft.raft_log.last_index(), node.raft.term))
    }

    pub(crate) fn tick(&mut self) -> Result<()> {
        self.node()?.tick();
        Ok(())
    }

    pub(crate) fn step(&mut self, message: Message) -> Result<()> {
        self.node()?.step(message).map_err(raft_error)
    }

    pub(crate) fn read_index(&mut self, context: Vec<u8>) -> Result<()> {
        self.node()?.read_index(context);
        Ok(())
    }

    pub(crate) fn persisted(&mut self, number: u64) -> Result<()> {
        self.persisted = self.persisted.max(number);
        self.node()?.on_persist_ready(number);
        Ok(())
    }

    /// Takes what Raft wants done, into `outputs` and `decided`; false if there was nothing.
    pub(crate) fn turn(&mut self, outputs: &mut Outputs, decided: &mut Decided) -> Result<bool> {
        let (wanted, persisted) = (self.wanted, self.persisted);
        let node = self.node()?;
        if !node.has_ready() {
            return Ok(false);
        }
        let mut ready = node.ready();
        let number = ready.number();
        outputs.messages.append(&mut ready.take_messages());
        outputs.messages_after_persist.append(&mut ready.take_persisted_messages());
        let read_states = ready.take_read_states().into_iter();
        outputs.read_states.extend(read_states.map(|s| ReadState { index: s.index, context: s.request_ctx }));
        decided.committed.append(&mut ready.take_committed_entries());
        if let Some(state) = ready.hs() {
            let old = &node.store().hard_state;
            if (old.term, old.vote) != (state.term, state.vote) {
                outputs.hard_state = Some(HardState { term: state.term, vote: state.vote, commit: state.commit });
            }
            let state = state.clone();
            node.mut_store().hard_state = state;
        }
        for entry in ready.take_entries() {
            outputs.append.push(LogEntry(entry.clone()));
            node.mut_store().append(entry);
        }
        let must_sync = ready.must_sync();
        node.advance_append_async(ready);
        if must_sync {
            self.wanted = number;
            outputs.number = number;
        } else if persisted >= wanted {
            // Nothing to write and nothing under way: the batch is as durable as it will be.
            node.on_persist_ready(number);
        }
        Ok(true)
    }

    /// Everything up to `index` has been applied.
    pub(crate) fn applied(&mut self, index: u64) -> Result<()> {
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
}
