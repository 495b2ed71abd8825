//! Large transactions: logged in parts, applied and undone in slices.
//!
//! One entry with millions of writes would hold the partition, and the log for everybody, for as long as it takes to make, to write
//! and to apply. So a large transaction goes on bit by bit, and others in between:
//!
//! - Before the commit its writes go into the log as PART entries ([`Partition::propose_part`]). These do nothing until a
//!   COMMIT_OF_PARTS entry makes them a commit; a DECIDE entry may void them, and so does the end of the process: the transaction
//!   is gone with it. Groups of one alone log parts: in others a new leader would have to tell which of them are void.
//! - A committed transaction becomes rows slice by slice ([`Partition::go_on`]). All its rows stay locked until all are
//!   there, and readers whose snapshots see the commit wait for rows that are to come, as they wait for a prepared
//!   transaction (it is listed with these). So nobody sees half of it. Entries behind it in the log are applied meanwhile: at
//!   the leader they have other rows. Entries of another leader may have the same ones, and wait.
//! - A transaction that is rolled back gives up its writes and locks slice by slice.
//!
//! Whoever needs all of it at once (a checkpoint, a definition, a copy of another replica) does the rest in one go.

use shoal_types::{Result, TableId, Timestamp, TransactionId};

use crate::api::*;
use crate::decision::Decision;
use crate::entry::{self, DecodedEntry, damaged};
use crate::partition::{Ending, Partition, transaction_lost};
use crate::proposal::Change;
use crate::workspace::{State, Transaction};

/// Writes that are freed in a slice, for each that would be applied.
const REMAINS_PER_WRITE: usize = 8;

/// A commit is told of before it is applied unless so many are behind: who writes faster than rows are made waits for them.
const TOLD_EARLY_MAX: usize = 4;

/// Part of a commit to come, as a log entry.
pub struct CommitPart {
    data: Vec<u8>,
    /// The writes before this number are in it or in parts before.
    end: u32,
    writes: u32,
}

impl CommitPart {
    /// The entry's length.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }
}

impl Partition {
    // ---- parts ----

    /// The next part of the transaction's commit, of about `bytes_max`, if there is more to write than that or some of it is in parts
    /// already. `None`: the rest goes with the commit itself.
    pub fn next_part(&self, id: TransactionId, bytes_max: usize) -> Option<CommitPart> {
        let transaction = self.transaction(id)?;
        if !self.group.is_single() {
            return None;
        }
        let (end, writes, _) = entry::next_part(transaction, bytes_max);
        let is_all = end as usize == transaction.writes.len();
        (writes > 0 && (transaction.logged > 0 || !is_all)).then(|| CommitPart {
            data: entry::encode_part(transaction, transaction.logged..end),
            end,
            writes,
        })
    }

    /// Proposes what [`Partition::next_part`] has yielded under the same hold: to be done as long as that yields something. The
    /// transaction may do nothing more than commit or roll back from then on. The token comes back when the part is durable. An error
    /// has changed nothing.
    pub fn propose_part(&mut self, id: TransactionId, part: CommitPart, token: CommitToken) -> Result<()> {
        let lost = || transaction_lost(id, self.config.id);
        let transaction = self.transaction(id).filter(|one| one.state == State::Active).ok_or_else(lost)?;
        if self.is_overtaken(transaction) {
            return Err(lost());
        }
        let CommitPart { data, end, writes } = part;
        self.propose(data, token, Change::Part(id, end))?;
        if let Some(transaction) = self.transactions.get_mut(&id) {
            transaction.logged = end;
            transaction.logged_writes += writes;
        }
        self.pump()
    }

    /// The parts of a transaction that has been rolled back are void: says so in the log. Called before anything else is proposed.
    pub(crate) fn void_parts(&mut self) -> Result<()> {
        while let Some(id) = self.abandoned.pop() {
            self.propose_entry(entry::encode_decide(id, Decision::Abort), None, Change::Void)?;
        }
        Ok(())
    }

    /// A part read from the log.
    pub(crate) fn apply_part(&mut self, transaction: TransactionId, data: &[u8]) {
        self.parts.entry(transaction).or_default().push(data.into());
    }

    /// The commit of parts that were read from the log.
    pub(crate) fn apply_commit_of_parts(
        &mut self,
        transaction: TransactionId,
        timestamp: Timestamp,
        writes: u32,
    ) -> Result<()> {
        let parts = self.parts.remove(&transaction).unwrap_or_default();
        let mut found = 0;
        for part in parts {
            let DecodedEntry::Part { writes, .. } = entry::decode(&part)? else { return Err(damaged()) };
            found += writes.len() as u32;
            self.apply_decoded_commit(writes, timestamp);
        }
        match found == writes {
            true => Ok(()),
            false => Err(damaged()),
        }
    }

    /// What is applied of commits to come, as PART entries.
    pub(crate) fn logged_parts(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let mut logging: Vec<&Transaction> = self
            .transactions
            .values()
            .map(|one| &**one)
            .filter(|one| one.applied_parts > 0 && one.is_undecided())
            .collect();
        logging.sort_unstable_by_key(|one| one.id);
        let own = logging.into_iter().map(|one| entry::encode_part(one, 0..one.applied_parts));
        own.chain(self.parts.values().flatten().map(|part| part.to_vec()))
    }

    // ---- slices ----

    /// Makes rows of what a transaction has written, at once or slice by slice, and ends it. Its commit is told of at once: whoever would
    /// see it waits.
    pub(crate) fn apply_transaction(
        &mut self,
        mut transaction: Box<Transaction>,
        timestamp: Timestamp,
        mut token: Option<CommitToken>,
    ) {
        self.applied = self.applied.max(timestamp);
        if self.ending.len() < TOLD_EARLY_MAX || transaction.writes.len() <= self.config.slice_writes {
            self.outputs.committed.extend(token.take());
        }
        if transaction.writes.len() <= self.config.slice_writes {
            self.apply_writes(&mut transaction, usize::MAX, timestamp);
            self.finish(transaction);
            return;
        }
        let id = transaction.id;
        transaction.state = State::Applying { timestamp, next: 0 };
        transaction.overlays.clear();
        self.two_phase.prepared.insert(id, timestamp);
        self.transactions.insert(id, transaction);
        self.ending.push_back(Ending { id, token });
    }

    /// Ends a transaction that is not listed any more without its writes, at once or slice by slice.
    pub(crate) fn undo_transaction(&mut self, mut transaction: Box<Transaction>) {
        let id = transaction.id;
        if transaction.logged > 0 {
            self.abandoned.push(id);
        }
        if transaction.writes.len().max(transaction.locks.len()) <= self.config.slice_writes {
            let released = transaction.truncate(SavepointMark(0));
            self.config.budget.release(released);
            self.finish(transaction);
            return;
        }
        transaction.state = State::Leaving;
        self.end_waits(&mut transaction);
        self.transactions.insert(id, transaction);
        self.ending.push_back(Ending { id, token: None });
        // Who was behind it in a queue may have been granted the lock.
        self.settle_grants();
    }

    /// Large transactions have ended and are not gone yet: [`Partition::go_on`] wants to be called.
    #[inline]
    pub fn has_ending(&self) -> bool {
        !self.ending.is_empty() || !self.remains.is_empty()
    }

    /// Does a slice of what large transactions that have ended leave to do, or of an index that is being built. Call it until
    /// [`Partition::has_ending`] and [`Partition::is_building`] say no, and release the partition in between.
    pub fn go_on(&mut self) {
        let Some(&Ending { id, token }) = self.ending.front() else {
            return if self.remains.is_empty() { self.build_some() } else { self.free_remains() };
        };
        let Some(mut transaction) = self.transactions.remove(&id) else {
            self.ending.pop_front();
            return;
        };
        let slice = self.config.slice_writes.max(1);
        let has_writes = match transaction.state {
            State::Applying { timestamp, next } => {
                self.apply_writes(&mut transaction, slice, timestamp);
                (next as usize) < transaction.writes.len()
            }
            _ => {
                let staged = transaction.writes.len();
                let released = transaction.truncate(SavepointMark(staged.saturating_sub(slice) as u32));
                self.config.budget.release(released);
                staged > 0
            }
        };
        if has_writes || transaction.locks.len() > slice {
            if !has_writes {
                // Every row is there: whoever gets a lock finds it.
                self.release_locks(&mut transaction, slice);
            }
            self.transactions.insert(id, transaction);
            self.settle_grants();
            return;
        }
        self.ending.pop_front();
        self.two_phase.prepared.remove(&id);
        self.finish(transaction);
        self.outputs.committed.extend(token);
    }

    /// Frees some of the memory that large transactions have left.
    fn free_remains(&mut self) {
        if let Some(transaction) = self.remains.last_mut()
            && transaction.free_some(self.config.slice_writes * REMAINS_PER_WRITE)
        {
            self.remains.pop();
        }
    }

    /// Does all that large transactions which have ended leave to do.
    pub(crate) fn go_on_to_the_end(&mut self) {
        while self.has_ending() {
            self.go_on();
        }
    }

    /// A committed transaction that has written to the table and is not applied, which a reader at `snapshot` would see. Scans wait
    /// for all of it: looking where its writes are would take longer.
    pub(crate) fn large_writer_of(&self, table: TableId, snapshot: Timestamp) -> Option<TransactionId> {
        self.ending.iter().find_map(|&Ending { id, .. }| {
            let transaction = self.transaction(id)?;
            match transaction.state {
                State::Applying { timestamp, .. } if timestamp <= snapshot && transaction.writes_table(table) => {
                    Some(id)
                }
                _ => None,
            }
        })
    }
}
