//! The partition: what it is made of, its life, its tables, its clocks.
//!
//! A write walks through the crate like this. `write` takes the key's lock, checks uniqueness and range locks,
//! reserves memory and stages the row in the transaction's workspace. `commit` encodes the final writes as one log
//! entry and proposes it to the Raft group, whose entries come out in [`Outputs::append`]. When the caller reports
//! them durable ([`Partition::persisted`]) Raft commits, `commit` applies the entry (from the workspace at the leader,
//! from the bytes elsewhere), releases the locks in order of arrival and hands back the commit token.
//!
//! Invariants:
//! - A row changes only by applying a committed entry. Applying never fails for want of memory.
//! - The timestamps of commits that one entry makes rise with log indexes. Only a DECIDE entry of the two-phase commit may
//!   bring one that is earlier than others before it; the rows that it changes were locked since its PREPARE entry, so
//!   the versions of every row are in the order of their timestamps.
//! - An operation that answers `Step::Wait` has changed nothing but locks and queues.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use shoal_planted::{Bug, is_planted};
use shoal_types::{
    Error, ErrorCode, IndexId, PartitionId, Result, TableId, TableSchema, Timestamp, TransactionId,
};

use crate::api::*;
use crate::decision::TwoPhase;
use crate::entry;
use crate::fragment::{Fragment, FragmentMemory, FragmentOperations};
use crate::group::{Decided, Group};
use crate::installing::Installing;
use crate::lock_counts::{LockCounts, TableLockRequests};
use crate::locks::{Grant, LockTable};
use crate::map::Map;
use crate::outputs::{HardState, LogStart, Outputs};
use crate::pin::Pin;
use crate::proposal::Proposal;
use crate::ranges::RangeLockTable;
use crate::workspace::Transaction;

/// Room for so many rows with old versions is kept.
const GARBAGE_KEPT: usize = 4096;

/// One partition of the database, as one of its replicas has it.
pub struct Partition {
    pub(crate) config: PartitionConfig,
    pub(crate) outputs: Outputs,
    pub(crate) group: Group,
    pub(crate) decided: Decided,
    pub(crate) fragments: Map<TableId, Box<Fragment>>,
    /// Dropped while a checkpoint still reads them. Boxed as in the map that they come from.
    #[allow(clippy::vec_box)]
    pub(crate) retired: Vec<Box<Fragment>>,
    pub(crate) transactions: Map<TransactionId, Box<Transaction>>,
    /// Finished transactions' buffers, for the next ones: boxes move between here and the map.
    #[allow(clippy::vec_box)]
    pub(crate) idle: Vec<Box<Transaction>>,
    pub(crate) locks: LockTable,
    pub(crate) lock_counts: LockCounts,
    pub(crate) ranges: RangeLockTable,
    /// Locks granted by the release in progress.
    pub(crate) grants: Vec<Grant>,
    /// Proposed and not yet applied, in log order.
    pub(crate) proposals: VecDeque<Proposal>,
    /// Where the newest definition is in the log that this replica has proposed.
    pub(crate) newest_definition: u64,
    pub(crate) two_phase: TwoPhase,
    /// Large transactions that have ended and are not gone yet.
    pub(crate) ending: VecDeque<Ending>,
    /// What large transactions have left: nothing but memory.
    #[allow(clippy::vec_box)]
    pub(crate) remains: Vec<Box<Transaction>>,
    /// Tables with indexes that are being built, and who waits for one to be complete.
    pub(crate) building: Vec<TableId>,
    pub(crate) build_waiters: Vec<WaitToken>,
    /// Parts, read from the log, of commits to come.
    pub(crate) parts: BTreeMap<TransactionId, Vec<Box<[u8]>>>,
    /// Transactions that were rolled back with parts in the log, which does not say so yet.
    pub(crate) abandoned: Vec<TransactionId>,
    /// The newest timestamp of a commit or PREPARE proposed or applied, and the newest of the commits applied.
    pub(crate) newest: Timestamp,
    pub(crate) applied: Timestamp,
    /// The newest timestamp in the entries that were read back, applied or not.
    newest_read_back: Timestamp,
    pub(crate) applied_index: u64,
    pub(crate) applied_term: u64,
    pub(crate) horizon: Timestamp,
    /// Snapshots of checkpoints in the making.
    pub(crate) pins: Vec<Pin>,
    /// Rows with versions to drop once the horizon has reached the timestamp.
    pub(crate) garbage: VecDeque<(Timestamp, TableId, u32)>,
    pub(crate) installing: Installing,
    /// How often the state was replaced.
    pub(crate) epoch: u64,
    pub(crate) key_buffer: Vec<u8>,
    pub(crate) scratch: Vec<u8>,
    /// The term in which transactions here have joined, or zero.
    pub(crate) led_term: u64,
    /// Those that follow the log and have come to its end.
    pub(crate) followers: Vec<WaitToken>,
    /// Why a committed entry could not be applied: nothing goes on from there.
    broken: Option<String>,
}

/// A transaction that has ended and is not gone yet.
pub(crate) struct Ending {
    pub(crate) id: TransactionId,
    /// Of whoever is told of the commit at its end.
    pub(crate) token: Option<CommitToken>,
}

pub(crate) fn no_such_table(table: TableId) -> Error {
    Error::new(ErrorCode::NoSuchTable, format!("Table with id {table} doesn't exist"))
}

/// Error 1297: the coordinator must roll the transaction back.
pub(crate) fn transaction_lost(transaction: TransactionId, partition: PartitionId) -> Error {
    Error::new(
        ErrorCode::GetTemporaryErrmsg,
        format!(
            "Transaction {transaction} lost what it had in partition {partition}, whose leader has changed, or a table \
             of its; run it again"
        ),
    )
    .rolling_back_transaction()
}

/// Everything but rows that a partition holds on to, for tests and status displays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Transactions with locks or writes here.
    pub transactions: usize,
    /// Locks of rows that are held.
    pub row_locks: usize,
    /// Entries that were proposed here and have not been applied.
    pub proposals: usize,
    /// Transactions whose PREPARE entry is in the log and whose decision has not been applied.
    pub prepared: usize,
    /// Decisions made here that not everybody concerned has confirmed.
    pub decisions: usize,
    /// Questions of followers that wait for something to be applied.
    pub followers: usize,
    /// Versions that are kept for snapshots.
    pub old_versions: u64,
}

impl Partition {
    /// An empty partition. `install_checkpoint_block` and then `replay` may follow, `start` must.
    pub fn new(config: PartitionConfig) -> Partition {
        Partition {
            group: Group::new(&config),
            config,
            outputs: Outputs::default(),
            decided: Decided::default(),
            fragments: Map::default(),
            retired: Vec::new(),
            transactions: Map::default(),
            idle: Vec::new(),
            locks: LockTable::default(),
            lock_counts: LockCounts::default(),
            ranges: RangeLockTable::default(),
            grants: Vec::new(),
            proposals: VecDeque::new(),
            newest_definition: 0,
            two_phase: TwoPhase::default(),
            ending: VecDeque::new(),
            remains: Vec::new(),
            building: Vec::new(),
            build_waiters: Vec::new(),
            parts: BTreeMap::new(),
            abandoned: Vec::new(),
            newest: Timestamp::ZERO,
            newest_read_back: Timestamp::ZERO,
            applied: Timestamp::ZERO,
            applied_index: 0,
            applied_term: 0,
            horizon: Timestamp::ZERO,
            pins: Vec::new(),
            garbage: VecDeque::new(),
            installing: Installing::default(),
            epoch: 0,
            key_buffer: Vec::new(),
            scratch: Vec::new(),
            led_term: 0,
            followers: Vec::new(),
            broken: None,
        }
    }

    /// What the partition was made from.
    pub fn config(&self) -> &PartitionConfig {
        &self.config
    }

    /// What the operations so far want done. Drain it after every call, before the partition is released.
    pub fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }

    // ---- recovery ----

    /// Reads one log entry back after a restart, in log order; entries that the checkpoint covers change nothing. A
    /// group of one applies it at once, since its durable entries are all committed; a larger one when it has learnt
    /// that it is committed.
    pub fn replay(&mut self, index: u64, term: u64, data: &[u8]) -> Result<()> {
        self.check_installed()?;
        let apply = self.group.is_single();
        if apply && index <= self.applied_index {
            return Ok(());
        }
        self.group.replay(index, term, data, apply)?;
        self.newest_read_back = self.newest_read_back.max(entry::timestamp_in(data).unwrap_or_default());
        let again = is_planted(Bug::ApplyTwiceAfterRestart) && index <= self.applied_index;
        if apply || (again && !self.config.is_witness()) {
            let (index, term) = if again { (self.applied_index, self.applied_term) } else { (index, term) };
            self.apply_encoded(index, term, data)?;
        }
        Ok(())
    }

    /// Reads an [`Outputs::log_start`] back, in log order: all entries read before are void.
    pub fn recover_from(&mut self, start: LogStart) -> Result<()> {
        self.check_installed()?;
        if start.index > self.applied_index && !self.is_witness() {
            return Err(Error::unknown(format!(
                "the log of partition {} begins behind entry {}, but the newest checkpoint ends at {}: a checkpoint \
                 file is missing; start this node with an empty data directory, so that it fetches everything \
                 from the other nodes",
                self.config.id, start.index, self.applied_index
            )));
        }
        if self.is_witness() {
            (self.applied_index, self.applied_term) = (start.index, start.term);
        }
        self.group.recover_from(self.applied_index, self.applied_term)
    }

    /// Reads a vote back, in log order: the newest counts.
    pub fn recover_hard_state(&mut self, hard_state: HardState) -> Result<()> {
        self.group.recover_hard_state(hard_state)
    }

    /// Puts the vote and all entries behind `covered` into the outputs once more, so that the log before them can go. What a
    /// witness keeps begins with where its log begins.
    pub fn log_again(&mut self, covered: u64) {
        self.group.log_again(covered, self.config.is_witness(), &mut self.outputs);
    }

    /// This replica votes and keeps no rows.
    pub fn is_witness(&self) -> bool {
        self.config.is_witness()
    }

    /// Ends recovery and joins the group. A group of one leads from here on; its outputs want the usual treatment.
    pub fn start(&mut self) -> Result<()> {
        self.check_installed()?;
        // Their transactions ended with the process.
        self.parts.clear();
        self.group.start(self.applied_index)?;
        self.pump()
    }

    /// Does what Raft wants until it wants nothing more. After an error nothing is applied any more: what Raft had handed out with
    /// the entry that failed is gone, and later entries would be applied over the gap.
    pub(crate) fn pump(&mut self) -> Result<()> {
        if let Some(reason) = &self.broken {
            return Err(Error::unknown(reason.clone()));
        }
        self.pump_on().inspect_err(|error| self.broken = Some(error.message().to_owned()))
    }

    /// An entry could not be applied: the state is of no use any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    fn pump_on(&mut self) -> Result<()> {
        while self.group.turn(&mut self.outputs, &mut self.decided)? {
            if let Some(start) = self.decided.log_start.take()
                && self.config.is_witness()
            {
                (self.applied_index, self.applied_term) = (start.index, start.term);
            }
            let mut committed = std::mem::take(&mut self.decided.committed);
            if self.installing.holds_back(&mut committed) {
                continue;
            }
            if let Some(last) = committed.last() {
                let (index, term) = (last.index, last.term);
                for entry in committed.drain(..) {
                    self.apply_committed(&entry)?;
                }
                self.group.applied(index, term)?;
                if !self.followers.is_empty() {
                    self.outputs.woken.append(&mut self.followers);
                }
            }
            self.decided.committed = committed;
        }
        if !self.group.is_single() {
            self.note_leadership();
        }
        Ok(())
    }

    /// The newest entry whose effects are here.
    pub fn applied_index(&self) -> u64 {
        self.applied_index
    }

    /// The term of that entry.
    pub fn applied_term(&self) -> u64 {
        self.applied_term
    }

    /// Index and term of the newest entry of the log, committed or not.
    pub fn last_index(&self) -> (u64, u64) {
        self.group.last()
    }

    /// The first index of the log that is kept in memory.
    pub fn first_index(&self) -> u64 {
        self.group.first_index()
    }

    // ---- clocks ----

    /// The newest timestamp of a commit or PREPARE proposed or applied here; the next one must be later. A clock that
    /// others besides this partition's leader drive must observe it before it ticks for this partition.
    pub fn newest_timestamp(&self) -> Timestamp {
        self.newest
    }

    /// No entry that a start has found in rows and log is newer, whether it is known to be committed or not. It may be, and somebody
    /// may have seen it, with all other partitions as of then: a clock goes on after it.
    pub fn newest_recovered(&self) -> Timestamp {
        self.newest.max(self.newest_read_back)
    }

    /// The newest commit applied here. The latest of all partitions is what a snapshot is taken at.
    pub fn applied_timestamp(&self) -> Timestamp {
        self.applied
    }

    /// No snapshot before `horizon` is in use or will be taken any more. Never moves back. It costs nothing: call it
    /// before `persisted`, so that versions nobody can see are dropped while they are replaced.
    pub fn set_gc_horizon(&mut self, horizon: Timestamp) {
        self.horizon = self.horizon.max(horizon);
    }

    /// Snapshots before this cannot be shown here: versions that they need are gone, or were never in the checkpoint that
    /// this replica was built from. Callers refuse them where another replica, or this one before a restart, took them.
    pub fn oldest_snapshot(&self) -> Timestamp {
        self.horizon
    }

    /// The horizon, as far as checkpoints let it.
    pub(crate) fn effective_horizon(&self) -> Timestamp {
        self.pins.iter().fold(self.horizon, |horizon, pin| horizon.min(pin.floor))
    }

    /// Drops at most about `max_work` versions that no snapshot needs. 0: there is nothing left to do; many versions of one row
    /// go with the first of them, and those of dropped tables have gone before.
    pub fn collect_garbage(&mut self, max_work: usize) -> usize {
        let horizon = self.effective_horizon();
        let mut dropped = 0;
        let mut looked_at = 0;
        while dropped < max_work && looked_at < max_work {
            match self.garbage.front() {
                Some(&(timestamp, ..)) if timestamp <= horizon => {}
                _ => break,
            }
            let Some((_, table, row)) = self.garbage.pop_front() else { break };
            looked_at += 1;
            if let Some(fragment) = self.fragments.get_mut(&table) {
                let (released, count) = fragment.prune(row, horizon);
                self.config.budget.release(released);
                dropped += count;
            }
        }
        dropped.max(looked_at)
    }

    /// Error 1114 for a table here.
    pub(crate) fn full(&self, table: &str) -> Error {
        let old = self.fragments.values().map(|fragment| fragment.memory_of_old_versions()).sum();
        self.config.budget.full(table, old)
    }

    // ---- tables ----

    pub(crate) fn fragment(&self, table: TableId) -> Result<&Fragment> {
        self.fragments.get(&table).map(|fragment| &**fragment).ok_or_else(|| no_such_table(table))
    }

    /// A table's definition, if this partition has the table.
    pub fn schema(&self, table: TableId) -> Option<&Arc<TableSchema>> {
        self.fragments.get(&table).map(|fragment| &fragment.schema)
    }

    /// All tables, by id.
    pub fn tables(&self) -> Vec<TableId> {
        let mut tables: Vec<TableId> = self.fragments.keys().copied().collect();
        tables.sort_unstable();
        tables
    }

    /// These bytes, which come from another node, are a row of the table.
    pub fn check_row(&self, table: TableId, row: &[u8]) -> Result<()> {
        self.fragment(table)?.layout.checked_row(row).map(|_| ()).map_err(Error::as_spoilt)
    }

    /// Rows and memory of a table, if this partition has the table.
    pub fn usage(&self, table: TableId) -> Option<FragmentUsage> {
        self.fragments.get(&table).map(|fragment| fragment.usage())
    }

    /// What a table takes of the process's memory at present.
    pub fn measured_memory(&self, table: TableId) -> FragmentMemory {
        self.fragments.get(&table).map_or(FragmentMemory::default(), |fragment| fragment.memory())
    }

    /// What was done with a table here.
    pub fn operations(&self, table: TableId) -> FragmentOperations {
        self.fragments.get(&table).map_or(FragmentOperations::default(), |fragment| fragment.counted.get())
    }

    /// How often locks of a table's rows and keys were asked for here.
    pub fn lock_requests(&self, table: TableId) -> TableLockRequests {
        self.lock_counts.of(table)
    }

    /// What all tables take of memory, those that a checkpoint still reads included.
    pub fn memory(&self) -> FragmentMemory {
        let all = self.fragments.values().chain(&self.retired);
        all.map(|fragment| fragment.memory()).fold(FragmentMemory::default(), FragmentMemory::plus)
    }

    /// Gives memory back that tables no longer use: moves rows and nodes of indexes together, so many at most. False: there is
    /// nothing left to do.
    pub fn compact(&mut self, steps: usize) -> bool {
        self.locks.shrink();
        if self.garbage.capacity() > 4 * self.garbage.len().max(GARBAGE_KEPT) {
            self.garbage.shrink_to(GARBAGE_KEPT);
        }
        self.fragments.values_mut().any(|fragment| fragment.compact(steps))
    }

    /// Rows of the newest committed state.
    pub fn row_count(&self, table: TableId) -> u64 {
        self.fragments.get(&table).map_or(0, |fragment| fragment.rows())
    }

    /// About how many rows lie in a range of an ordered index: exact when they are few.
    pub fn estimate_rows(&self, table: TableId, index: IndexId, range: &KeyBounds) -> Result<u64> {
        let fragment = self.fragment(table)?;
        match fragment.index(index) {
            Some(index) => Ok(index.tree.estimate(range)),
            None => Ok(fragment.rows()),
        }
    }

    /// What the partition holds on to just now.
    pub fn activity(&self) -> Activity {
        Activity {
            transactions: self.transactions.len(),
            row_locks: self.locks.len(),
            proposals: self.proposals.len(),
            prepared: self.two_phase.prepared.len(),
            decisions: self.two_phase.decisions.len(),
            followers: self.followers.len(),
            old_versions: self.fragments.values().map(|fragment| fragment.usage().old_versions).sum(),
        }
    }
}
