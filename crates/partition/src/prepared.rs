//! Prepared transactions on every replica: built from PREPARE entries, ended by DECIDE entries.
//!
//! The leader that prepared a transaction has its workspace; every other replica, and that one after a restart, builds it
//! from the entry's bytes, with the row locks and locks of locally unique keys that those writes took, so that whoever
//! leads next goes on as if the transaction had been staged there. Other locks (of rows read, of ranges) are not
//! rebuilt: the transaction has come to its end and reads nothing more, and so its order among the others is settled.
//!
//! A replica that has ceased to lead may still hold such locks for transactions of its own: those that are not prepared give way, and
//! prepared ones keep what their entries say.

use std::ops::Range;

use shoal_planted::{Bug, is_planted};
use shoal_types::{Error, PartitionId, Result, Timestamp, TransactionId, key_hash};

use crate::api::*;
use crate::decision::Decision;
use crate::entry::{self, DecodedEntry, DecodedPrepare, DecodedWrite};
use crate::locks::{Acquired, LockKey};
use crate::partition::Partition;
use crate::workspace::{NO_ROW, NO_WRITE, State, Transaction};

impl Partition {
    /// Our own PREPARE: the workspace is there.
    pub(crate) fn apply_prepare(&mut self, id: TransactionId, home: PartitionId, timestamp: Timestamp) {
        if let Some(transaction) = self.transactions.get_mut(&id) {
            transaction.overlays.clear();
            transaction.state = State::Prepared { home, timestamp };
        }
    }

    /// Another leader's PREPARE, or one from before a restart: builds the workspace that the leader had.
    pub(crate) fn apply_decoded_prepare(&mut self, prepare: DecodedPrepare<'_>) -> Result<()> {
        let DecodedPrepare { transaction: id, home, timestamp, writes } = prepare;
        self.evict(id)?;
        let mut transaction = self.new_transaction(id);
        let mut keys = Vec::new();
        for write in writes {
            self.stage_prepared(&mut transaction, write, &mut keys);
        }
        for key in keys {
            if self.lock_prepared(id, key)? {
                transaction.locks.push(key);
            }
        }
        transaction.state = State::Prepared { home, timestamp };
        self.transactions.insert(id, transaction);
        self.two_phase.prepared.insert(id, timestamp);
        self.newest = self.newest.max(timestamp);
        self.settle_grants();
        Ok(())
    }

    /// Stages one write and lists the locks under which its leader staged it.
    fn stage_prepared(
        &mut self,
        transaction: &mut Transaction,
        write: DecodedWrite<'_>,
        locks: &mut Vec<LockKey>,
    ) {
        let (table, row) = match write {
            DecodedWrite::Put { table, row, .. } => (table, Some(row)),
            DecodedWrite::Delete { table, .. } => (table, None),
        };
        // Writes to a table whose drop came first are void, here as at the leader.
        let Some(fragment) = self.fragments.get(&table) else { return };
        let mut key_buffer = std::mem::take(&mut self.key_buffer);
        let key = match write {
            DecodedWrite::Put { row, .. } => fragment.primary_key_into(row, &mut key_buffer),
            DecodedWrite::Delete { key, .. } => key,
        };
        let hash = key_hash(key);
        let old = fragment.find(hash, key, &mut self.scratch);
        let old = old.and_then(|row_id| Some((row_id, fragment.newest(row_id)?)));
        if old.is_some() || !is_planted(Bug::InsertsUnlockedAtTakeover) {
            locks.push(LockKey::row(table, hash));
        }
        let mut unique_key = Vec::new();
        for index in fragment.ordered.iter().filter(|index| index.locally_unique) {
            let versions = [old.map(|(_, bytes)| bytes), row];
            if let [Some(old), Some(new)] = versions
                && index.same_columns(fragment.row(old), fragment.row(new))
            {
                continue;
            }
            for bytes in versions.into_iter().flatten().filter(|bytes| !index.spec.has_null(fragment.row(bytes))) {
                index.entry.each_key(fragment.row(bytes), &mut unique_key, |key| {
                    locks.push(LockKey::unique(table, index.definition.id, key_hash(key)));
                });
            }
        }
        let charge = row.map_or(0, |row| fragment.charge_of(row));
        self.config.budget.charge(charge);
        let row_id = old.map_or(NO_ROW, |(row_id, _)| row_id);
        match write {
            DecodedWrite::Put { row, .. } => transaction.stage(table, hash, key, Some(row.into()), row_id, charge),
            DecodedWrite::Delete { name, .. } => transaction.stage_delete(table, hash, key, name, row_id),
        }
        self.key_buffer = key_buffer;
    }

    /// Takes a lock that the log says this transaction has; whoever holds it got it from this replica when it led, and
    /// is as good as rolled back. True if the lock was not held before.
    fn lock_prepared(&mut self, id: TransactionId, key: LockKey) -> Result<bool> {
        let mut rebuilt = Vec::new();
        loop {
            match self.locks.acquire(id, key, LockMode::Exclusive) {
                Acquired::New => return Ok(true),
                Acquired::Gathered | Acquired::Granted | Acquired::Held => return Ok(false),
                Acquired::Conflict => {
                    for holder in self.locks.holders_of(key) {
                        match self.transaction(holder).map(|holder| holder.state) {
                            Some(State::Prepared { home, timestamp }) if !rebuilt.contains(&holder) => {
                                rebuilt.push(holder);
                                self.rebuild_prepared(holder, home, timestamp)?;
                            }
                            Some(State::Active) => self.evict(holder)?,
                            _ => return Err(self.contradiction(holder)),
                        }
                    }
                }
            }
        }
    }

    /// Makes of a transaction that was prepared here what its entry makes of it elsewhere: it lets go of what it has only read.
    fn rebuild_prepared(&mut self, id: TransactionId, home: PartitionId, timestamp: Timestamp) -> Result<()> {
        let Some(transaction) = self.transaction(id) else { return Ok(()) };
        let data = entry::encode_prepare(transaction, home, timestamp, |_| true);
        self.lose_writes(id);
        self.go_on_to_the_end();
        match entry::decode(&data)? {
            DecodedEntry::Prepare(prepare) => self.apply_decoded_prepare(prepare),
            _ => Err(self.contradiction(id)),
        }
    }

    fn contradiction(&self, holder: TransactionId) -> Error {
        Error::unknown(format!(
            "the log of partition {} contradicts itself: two transactions hold one lock, one of them is {holder}",
            self.config.id
        ))
    }

    /// Rolls back a transaction whose coordinator has lost it, and wakes its waiting operations so that they see it.
    pub(crate) fn evict(&mut self, id: TransactionId) -> Result<()> {
        let Some(transaction) = self.transactions.get(&id) else {
            return Ok(());
        };
        if transaction.state != State::Active {
            return Err(self.contradiction(id));
        }
        self.rollback(id);
        self.go_on_to_the_end();
        Ok(())
    }

    /// Ends a prepared transaction; nothing if it is not (any more).
    pub(crate) fn apply_decision(&mut self, id: TransactionId, decision: Decision, token: Option<CommitToken>) {
        let is_applying = |one: &Transaction| matches!(one.state, State::Applying { .. });
        if self.transaction(id).is_some_and(is_applying) || self.two_phase.prepared.remove(&id).is_none() {
            self.outputs.committed.extend(token);
            return;
        }
        let Some(mut transaction) = self.transactions.remove(&id) else {
            self.outputs.committed.extend(token);
            return;
        };
        match decision {
            Decision::Commit(timestamp) => {
                self.recharge(&mut transaction);
                self.lower_pins(timestamp);
                self.newest = self.newest.max(timestamp);
                self.apply_transaction(transaction, timestamp, token);
            }
            Decision::Abort => {
                self.undo_transaction(transaction);
                self.outputs.committed.extend(token);
            }
        }
    }

    /// Checkpoints in the making whose timestamps are not earlier than this commit, which came late, show what was there before.
    pub(crate) fn show_before_late(
        &mut self,
        transaction: &Transaction,
        writes: Range<usize>,
        timestamp: Timestamp,
    ) {
        if !self.pins.iter().any(|pin| pin.timestamp >= timestamp) {
            return;
        }
        for number in writes.start as u32..writes.end as u32 {
            let write = &transaction.writes[number as usize];
            if write.superseded_by != NO_WRITE {
                continue;
            }
            let Some(fragment) = self.fragments.get(&write.table) else { continue };
            if let Some(row) = fragment.find(write.hash, transaction.key(number), &mut self.scratch) {
                for pin in self.pins.iter_mut().filter(|pin| pin.timestamp >= timestamp) {
                    pin.late.insert((write.table, row), timestamp);
                }
            }
        }
    }

    /// Checkpoints in the making were begun before this commit, whose timestamp may be earlier than theirs all the
    /// same: what it replaces stays until they are written.
    fn lower_pins(&mut self, timestamp: Timestamp) {
        let before = Timestamp(timestamp.0.saturating_sub(1));
        for pin in self.pins.iter_mut().filter(|pin| pin.timestamp >= timestamp) {
            pin.floor = pin.floor.min(before);
        }
    }

    /// A table may have been altered while the transaction was prepared, and a version may cost something else now.
    fn recharge(&mut self, transaction: &mut Transaction) {
        for write in transaction.writes.iter_mut() {
            let Some(fragment) = self.fragments.get(&write.table) else { continue };
            let charge = write.row.as_deref().map_or(0, |row| fragment.charge_of(row));
            if charge != write.charge {
                self.config.budget.charge(charge);
                self.config.budget.release(write.charge);
                write.charge = charge;
            }
        }
    }
}
