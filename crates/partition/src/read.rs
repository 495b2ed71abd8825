//! Point reads.

use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, Result, TableId, Timestamp, TransactionId, key_hash};

use crate::api::*;
use crate::locks::LockKey;
use crate::partition::{Partition, no_such_table};
use crate::transaction::Locked;
use crate::workspace::NO_ROW;

/// Keys whose cache misses overlap.
const KEYS_WARMED: usize = 16;

/// Where a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the reader's own workspace, by the number of the write.
    Staged(u32),
    /// In this slot.
    Committed(u32),
    /// In the workspace of a transaction whose commit is under way, by the number of the write: see `early`.
    InFlight(TransactionId, u32),
    Nothing,
}

impl Partition {
    /// The row with this primary key (memcomparable, all parts), as the view sees it. A read without a lock takes
    /// none and allocates nothing; it waits only if a commit before its snapshot is under way for this very key, or a
    /// prepared transaction writes it whose outcome is not known here.
    pub fn get(
        &mut self,
        view: &ReadView,
        table: TableId,
        key: &[u8],
        lock: Option<LockRequest>,
    ) -> Result<Step<Option<RowRef<'_>>>> {
        let hash = key_hash(key);
        if lock.is_none() {
            self.check_snapshot(view)?;
        }
        match lock {
            None if self.two_phase.prepared.is_empty()
                && (view.snapshot == Timestamp::MAX || self.proposals.is_empty()) => {}
            None => {
                if let Some(blocked) = self.wait_for_commit_of(view, table, hash, key) {
                    return Ok(Step::Wait(blocked));
                }
            }
            Some(request) => match self.lock_for_get(view, table, hash, key, request)? {
                Locked::Yes(_) => {}
                Locked::Skip => return Ok(Step::Ready(None)),
                Locked::Wait(blocked) => return Ok(Step::Wait(blocked)),
            },
        }
        let mut staged = None;
        if let Some(id) = view.transaction
            && let Some(transaction) = self.transactions.get(&id)
            && let Some(number) = transaction.find_before(view.own_writes_before, table, hash, key)
        {
            let write = &transaction.writes[number as usize];
            if transaction.moved_of(number).is_some() {
                return Err(Error::unknown("internal: a point read of what its transaction has changed since"));
            }
            staged = Some(write);
        }
        let fragment = self.fragments.get(&table).ok_or_else(|| no_such_table(table))?;
        let bytes = match staged {
            Some(write) => write.row.as_deref(),
            None if lock.is_none() => {
                let row = fragment.find(hash, key, &mut self.scratch);
                row.and_then(|row| fragment.visible(row, view.snapshot))
            }
            None => {
                let id = locker(view)?;
                match self.version_in_flight(id, table, hash, key) {
                    Some((writer, number)) => self.found_bytes(id, table, Found::InFlight(writer, number)),
                    None => {
                        let row = fragment.find(hash, key, &mut self.scratch);
                        row.and_then(|row| fragment.newest(row))
                    }
                }
            }
        };
        fragment.counted.add(|operations| operations.key_reads += 1);
        Ok(Step::Ready(bytes.map(|bytes| fragment.row(bytes))))
    }

    /// Brings the rows of keys that are about to be read into the processor's caches, all at a time. Worth it for four
    /// keys or more; changes nothing.
    pub fn warm<'k>(&self, table: TableId, keys: impl Iterator<Item = &'k [u8]>) {
        let Some(fragment) = self.fragments.get(&table) else { return };
        let mut rows = [0; KEYS_WARMED];
        let mut count = 0;
        for key in keys {
            if let Some(row) = fragment.guess(key_hash(key)) {
                rows[count] = row;
                count += 1;
            }
            if count == KEYS_WARMED {
                fragment.warm(&rows);
                count = 0;
            }
        }
        fragment.warm(&rows[..count]);
    }

    fn lock_for_get(
        &mut self,
        view: &ReadView,
        table: TableId,
        hash: u64,
        key: &[u8],
        request: LockRequest,
    ) -> Result<Locked> {
        self.fragment(table)?;
        let id = locker(view)?;
        let lock_key = LockKey::row(table, hash);
        let locked = self.lock_row(id, lock_key, request.mode, request.policy, view.token)?;
        if let Locked::Yes(true) = locked
            && !request.lock_gaps
            && self.locate(id, table, hash, key)? == Found::Nothing
        {
            self.unlock(id, lock_key);
        }
        Ok(locked)
    }

    /// Where the newest version of a key is, as its (locking) transaction sees it.
    pub(crate) fn locate(&mut self, id: TransactionId, table: TableId, hash: u64, key: &[u8]) -> Result<Found> {
        if let Some(transaction) = self.transactions.get(&id)
            && let Some(number) = transaction.find(table, hash, key)
        {
            let deleted = transaction.writes[number as usize].row.is_none();
            return Ok(if deleted { Found::Nothing } else { Found::Staged(number) });
        }
        if let Some((writer, number)) = self.version_in_flight(id, table, hash, key) {
            return Ok(Found::InFlight(writer, number));
        }
        let fragment = self.fragments.get(&table).ok_or_else(|| no_such_table(table))?;
        let row = fragment.find(hash, key, &mut self.scratch).filter(|&row| fragment.newest(row).is_some());
        Ok(row.map_or(Found::Nothing, Found::Committed))
    }

    /// The bytes of what `locate` found.
    pub(crate) fn found_bytes(&self, id: TransactionId, table: TableId, found: Found) -> Option<&[u8]> {
        match found {
            Found::Staged(number) => self.transaction(id)?.writes[number as usize].row.as_deref(),
            Found::Committed(row) => self.fragments.get(&table)?.newest(row),
            Found::InFlight(writer, number) => self.transaction(writer)?.writes[number as usize].row.as_deref(),
            Found::Nothing => None,
        }
    }

    /// The slot of the committed row that a write in the place of what `locate` found replaces.
    pub(crate) fn slot_of(&self, found: Found) -> u32 {
        match found {
            Found::Committed(row) => row,
            Found::InFlight(writer, number) => {
                self.transaction(writer).map_or(NO_ROW, |writer| writer.writes[number as usize].row_id)
            }
            Found::Staged(_) | Found::Nothing => NO_ROW,
        }
    }

    /// Refuses snapshots of which this replica does not have all versions any more, or never had.
    #[inline]
    pub(crate) fn check_snapshot(&self, view: &ReadView) -> Result<()> {
        match view.snapshot >= self.oldest_snapshot() {
            true => Ok(()),
            false => Err(snapshot_too_old()),
        }
    }

    /// Makes the reader wait if a commit under way, not later than its snapshot, writes this key.
    fn wait_for_commit_of(&mut self, view: &ReadView, table: TableId, hash: u64, key: &[u8]) -> Option<Blocked> {
        let writes =
            |id: &TransactionId| self.transaction(*id).is_some_and(|other| other.find(table, hash, key).is_some());
        // The last of those that change it one after the other.
        let holder = self
            .commits_seen_by(view.snapshot)
            .filter(writes)
            .last()
            .or_else(|| self.prepared_writer_of(view.snapshot, table, hash, key))?;
        self.wait_for_apply(holder, view.token)
    }

    pub(crate) fn wait_for_apply(&mut self, holder: TransactionId, token: WaitToken) -> Option<Blocked> {
        self.transactions.get_mut(&holder)?.apply_waiters.push(token);
        Some(Blocked { holders: vec![holder] })
    }
}

/// Error 1297 after which the transaction is gone.
#[cold]
fn snapshot_too_old() -> shoal_types::Error {
    let message = "Got temporary error: another replica has taken over, and does not have the rows as they were when the \
        transaction began; it was rolled back, restart it";
    shoal_types::Error::new(ErrorCode::GetTemporaryErrmsg, message).rolling_back_transaction()
}

/// The transaction that a locking read locks for.
pub(crate) fn locker(view: &ReadView) -> Result<TransactionId> {
    view.transaction.ok_or_else(|| shoal_types::Error::unknown("internal: a locking read without a transaction"))
}
