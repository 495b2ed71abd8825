//! Scans: cursors over an ordered index, merged with the reader's own writes.
//!
//! A cursor's place is the last entry it looked at, as (index key, ordinal): the row id for committed rows, above all
//! row ids the number of the write for staged ones. So the partition may change between two calls, and rows that were
//! there all the time are met exactly once.
//!
//! Locking scans see the newest versions and lock each row before they show it. With `lock_gaps` they also lock the
//! part of the range that they have covered, and wait when another transaction has staged a key in the part that
//! they are about to enter. So neither side can slip a phantom past the other.

mod look;
mod merge;
mod place;

use std::ops::Bound;

use shoal_planted::{Bug, is_planted};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, IndexId, Result, TableId, Timestamp, TransactionId, key_hash};

use crate::api::*;
use crate::fragment::{Fragment, OrderedIndex};
use crate::locks::{Acquired, Grant, LockKey, LockTable, Request};
use crate::partition::{Partition, no_such_table};
use crate::ranges::{RangeLockId, range_contains};
use crate::read::locker;
use crate::transaction::lock_not_available;
use crate::workspace::{Overlay, State, Transaction, WaitingFor};
use merge::{Entry, Merge};

/// Entries that one call looks at for each row it may show: dead entries must not hold the partition for long.
const ENTRIES_PER_ROW: usize = 4;
const ENTRIES_MIN: usize = 1024;
/// Rows whose cache misses overlap.
const ROWS_AHEAD: usize = 16;
/// Ordinals from here on are numbers of staged writes.
const STAGED: u64 = 1 << 32;

/// A place in an index that survives the partition being released and changed between calls.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub(crate) table: TableId,
    pub(crate) index: IndexId,
    pub(crate) range: KeyBounds,
    pub(crate) direction: Direction,
    /// The last entry looked at.
    position: Option<(Vec<u8>, u64)>,
    /// The same for a table whose primary key is a hash index only: hash and row, or the staged writes' phase.
    hash_position: HashPosition,
    finished: bool,
    range_lock: Option<RangeLockId>,
}

#[derive(Clone, Copy, Debug)]
enum HashPosition {
    Committed(Option<(u32, u32)>),
    Staged(u32),
}

impl Cursor {
    /// A cursor in front of the first row of the range.
    pub fn new(table: TableId, index: IndexId, range: KeyBounds, direction: Direction) -> Cursor {
        Cursor {
            table,
            index,
            range,
            direction,
            position: None,
            hash_position: HashPosition::Committed(None),
            finished: false,
            range_lock: None,
        }
    }

    /// Nothing is left to show.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The keys that it goes over.
    pub fn range(&self) -> &KeyBounds {
        &self.range
    }

    /// Moves the far end of the range, seen in the cursor's direction; the place stays. So a scan is led on step by step.
    pub fn extend(&mut self, range: KeyBounds) {
        self.range = range;
    }

    /// What lies before the cursor.
    fn remaining(&self) -> KeyBounds {
        let mut range = self.range.clone();
        if let Some((key, _)) = &self.position {
            // Entries of the position's own key may still come.
            match self.direction {
                Direction::Forward => range.start = Bound::Included(key.clone()),
                Direction::Backward => range.end = Bound::Included(key.clone()),
            }
        }
        range
    }

    /// What lies behind the cursor, its place included.
    fn covered(&self) -> Option<KeyBounds> {
        if self.finished {
            return Some(self.range.clone());
        }
        let (key, _) = self.position.as_ref()?;
        let mut range = self.range.clone();
        match self.direction {
            Direction::Forward => range.end = Bound::Included(key.clone()),
            Direction::Backward => range.start = Bound::Included(key.clone()),
        }
        Some(range)
    }
}

/// Why a call's walk ended.
enum End {
    Exhausted,
    Stopped,
    Limit,
    /// At a row that another transaction has locked.
    Locked(LockKey),
}

/// What a walk does about locks.
#[derive(Clone, Copy)]
enum Access {
    /// Nothing.
    Plain,
    /// Takes them.
    Locking(TransactionId, LockRequest),
    /// Takes none, but leaves out rows that could not be locked at once in this mode.
    LeavingOutLocked(LockMode),
}

impl Access {
    fn locker(self) -> Option<TransactionId> {
        match self {
            Access::Locking(id, _) => Some(id),
            Access::Plain | Access::LeavingOutLocked(_) => None,
        }
    }
}

/// The borrowed parts of the partition that one call walks with.
struct Walk<'a> {
    fragment: &'a Fragment,
    own: Option<&'a Transaction>,
    locks: &'a mut LockTable,
    grants: &'a mut Vec<Grant>,
    /// Locks taken by this call.
    taken: Vec<LockKey>,
    /// And so many that only the table of locks lists; the last of these.
    gathered: usize,
    last_gathered: Option<LockKey>,
    view: &'a ReadView,
    snapshot: Timestamp,
    access: Access,
    key: Vec<u8>,
    /// Rows shown by this call.
    shown: usize,
    /// Locks granted before this call that the visitor does not need.
    unlocked: Vec<LockKey>,
}

/// What a walk did about locks.
struct Took {
    taken: Vec<LockKey>,
    gathered: usize,
    unlocked: Vec<LockKey>,
}

/// What the walk does about a row.
enum Admit {
    Show { unlockable: Option<LockKey> },
    Skip,
    Locked(LockKey),
}

impl<'a> Walk<'a> {
    fn took(self) -> Took {
        Took { taken: self.taken, gathered: self.gathered, unlocked: self.unlocked }
    }

    /// Locks a committed row, if this is a locking scan.
    fn admit(&mut self, bytes: &[u8]) -> Admit {
        let access = self.access;
        let (id, request) = match access {
            Access::Plain => return Admit::Show { unlockable: None },
            Access::LeavingOutLocked(mode) if self.is_locked_by_another(bytes, mode) => return Admit::Skip,
            Access::LeavingOutLocked(_) => return Admit::Show { unlockable: None },
            Access::Locking(id, request) => (id, request),
        };
        let hash = key_hash(self.fragment.primary_key_into(bytes, &mut self.key));
        let key = LockKey::row(self.fragment.schema.id, hash);
        match self.locks.acquire(id, key, request.mode) {
            Acquired::New => {
                self.taken.push(key);
                Admit::Show { unlockable: Some(key) }
            }
            Acquired::Gathered => {
                self.gathered += 1;
                self.last_gathered = Some(key);
                Admit::Show { unlockable: Some(key) }
            }
            Acquired::Granted => Admit::Show { unlockable: Some(key) },
            Acquired::Held => Admit::Show { unlockable: None },
            Acquired::Conflict if request.policy == LockPolicy::SkipLocked => Admit::Skip,
            Acquired::Conflict => Admit::Locked(key),
        }
    }

    /// Shows a committed row under its lock; `None` to go on.
    fn show(&mut self, bytes: &[u8], visit: &mut dyn FnMut(RowRef<'_>) -> VisitAnswer) -> Option<End> {
        let unlockable = match self.admit(bytes) {
            Admit::Show { unlockable } => unlockable,
            Admit::Skip => return None,
            Admit::Locked(key) => return Some(End::Locked(key)),
        };
        self.shown += 1;
        match visit(self.fragment.row(bytes)) {
            VisitAnswer::Continue => None,
            VisitAnswer::Stop => Some(End::Stopped),
            VisitAnswer::ContinueUnlocked => {
                if let (Some(key), Some(id)) = (unlockable, self.access.locker()) {
                    if self.taken.last() == Some(&key) {
                        self.taken.pop();
                        self.locks.release(id, key, self.grants);
                    } else if self.last_gathered == Some(key) && self.locks.release_one_gathered(id, key) {
                        self.gathered -= 1;
                    } else {
                        self.unlocked.push(key);
                    }
                }
                None
            }
        }
    }

    /// Shows one entry of an ordered index, if its version is there and still has the entry's key.
    #[inline]
    fn look_at(
        &mut self,
        entry: Entry,
        index: &OrderedIndex,
        overlay: Option<&Overlay>,
        merge: &Merge<'_>,
        visit: &mut dyn FnMut(RowRef<'_>) -> VisitAnswer,
    ) -> Option<End> {
        let fragment = self.fragment;
        match entry {
            Entry::Staged(number) => {
                let own = self.own.filter(|own| own.is_seen(number, self.view.own_writes_before))?;
                let bytes = own.version(number)?;
                self.shown += 1;
                (visit(fragment.row(&bytes)) == VisitAnswer::Stop).then_some(End::Stopped)
            }
            Entry::Committed(place) => {
                let row = index.tree.row(place);
                let bytes = self.version(row, overlay)?;
                let sure = index.definition.id == IndexId(0) || fragment.has_one_version(row);
                if !sure {
                    let mut has_key = false;
                    index.entry.each_key(fragment.row(bytes), &mut self.key, |key| {
                        has_key |= merge.has_key(place, key);
                    });
                    if !has_key {
                        return None;
                    }
                }
                self.show(bytes, visit)
            }
        }
    }

    /// The committed version of a row that this scan shows, unless the reader has written the row itself.
    fn version(&mut self, row: u32, overlay: Option<&Overlay>) -> Option<&'a [u8]> {
        let fragment = self.fragment;
        let bytes = fragment.visible(row, self.snapshot)?;
        if let (Some(own), Some(overlay)) = (self.own, overlay) {
            if overlay.replaced.get(&row).is_some_and(|&first| first < self.view.own_writes_before.0) {
                return None;
            }
            // A version that only old snapshots see: the reader's write may name another slot, or none.
            if !fragment.newest_is_visible(row, self.snapshot) {
                let key = fragment.primary_key_into(bytes, &mut self.key);
                let mark = self.view.own_writes_before;
                if own.find_before(mark, fragment.schema.id, key_hash(key), key).is_some() {
                    return None;
                }
            }
        }
        Some(bytes)
    }
}

impl Partition {
    /// Shows rows from the cursor's place on, in index order, at most `row_limit` of them in one call. Release the
    /// partition between calls.
    pub fn scan(
        &mut self,
        view: &ReadView,
        cursor: &mut Cursor,
        lock: Option<LockRequest>,
        row_limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> VisitAnswer,
    ) -> Result<Step<ScanState>> {
        if cursor.finished {
            return Ok(Step::Ready(ScanState::Done));
        }
        let fragment = self.fragment(cursor.table)?;
        let hashed = cursor.index == IndexId(0) && !fragment.primary_ordered;
        if !hashed && fragment.index(cursor.index).is_none() {
            return Err(no_such_index(fragment, cursor.index));
        }
        if hashed && cursor.range != KeyBounds::ALL {
            return Err(Error::unknown("internal: a range scan over a hash index"));
        }
        let lock = match lock {
            Some(request) => Some((locker(view)?, request)),
            None => None,
        };
        let reads_among_slices =
            lock.is_none() && view.snapshot == Timestamp::MAX && is_planted(Bug::ReadAmongSlices);
        if self.has_ending() && !reads_among_slices {
            let snapshot = if lock.is_some() { Timestamp::MAX } else { view.snapshot };
            if let Some(writer) = self.large_writer_of(cursor.table, snapshot)
                && let Some(blocked) = self.wait_for_apply(writer, view.token)
            {
                return Ok(Step::Wait(blocked));
            }
        }
        if let Some((id, request)) = lock {
            self.growing(id)?;
            if let Some(blocked) = self.await_overlooked(id, cursor.table, request, view.token) {
                return Ok(Step::Wait(blocked));
            }
        } else {
            self.check_snapshot(view)?;
            if !reads_among_slices && let Some(blocked) = self.wait_for_commits_in(view, cursor) {
                return Ok(Step::Wait(blocked));
            }
        }
        let barrier = match lock {
            Some((_, request)) if request.policy == LockPolicy::SkipLocked => None,
            // Without gaps, new rows of others do not matter before they are committed; but prepared ones may be.
            Some((id, request)) if request.lock_gaps || !self.two_phase.prepared.is_empty() => {
                self.staged_ahead(id, cursor, !request.lock_gaps)
            }
            _ => None,
        };
        let access = lock.map_or(Access::Plain, |(id, request)| Access::Locking(id, request));
        let end = if hashed {
            self.walk_hash(view, cursor, access, barrier.map(|(_, key)| key), row_limit.max(1), visit)?
        } else {
            self.walk_tree(view, cursor, access, barrier, row_limit.max(1), visit)?
        };
        cursor.finished = matches!(end, End::Exhausted);
        if let Some((id, request)) = lock
            && request.lock_gaps
        {
            self.cover(id, cursor, hashed);
        }
        match end {
            End::Exhausted => Ok(Step::Ready(ScanState::Done)),
            End::Stopped => {
                cursor.finished = true;
                Ok(Step::Ready(ScanState::Done))
            }
            End::Limit => Ok(Step::Ready(ScanState::More)),
            End::Locked(key) => self.wait_for_row(view, lock, key),
        }
    }

    fn wait_for_row(
        &mut self,
        view: &ReadView,
        lock: Option<(TransactionId, LockRequest)>,
        key: LockKey,
    ) -> Result<Step<ScanState>> {
        let Some((id, request)) = lock else {
            return Err(Error::unknown("internal: a scan without locks met one"));
        };
        if request.policy == LockPolicy::NoWait {
            return Err(lock_not_available());
        }
        let waits = &mut self.active(id)?.waits;
        let queued = waits.iter().any(|&(_, waiting)| waiting == WaitingFor::Lock(key));
        waits.push((view.token, WaitingFor::Lock(key)));
        let request = Request { transaction: id, mode: request.mode, token: view.token, early: false };
        let holders = self.locks.enqueue(key, request, queued);
        Ok(Step::Wait(Blocked { holders }))
    }

    /// Locks what the cursor has covered so far.
    fn cover(&mut self, id: TransactionId, cursor: &mut Cursor, hashed: bool) {
        let covered = if hashed { Some(KeyBounds::ALL) } else { cursor.covered() };
        let Some(range) = covered else { return };
        let (table, index) = (cursor.table, cursor.index);
        let first = self.ranges.cover(&mut cursor.range_lock, table, index, id, range);
        if first && let Some(transaction) = self.transactions.get_mut(&id) {
            transaction.ranges.push((table, index));
        }
    }

    /// The nearest key in the cursor's remaining range that another transaction has staged, and the lock of its row.
    /// `prepared`: only what is perhaps committed already.
    fn staged_ahead(&mut self, id: TransactionId, cursor: &Cursor, prepared: bool) -> Option<(Vec<u8>, LockKey)> {
        let fragment = self.fragments.get(&cursor.table)?;
        let index = fragment.index(cursor.index);
        let remaining = cursor.remaining();
        let mut nearest: Option<(Vec<u8>, LockKey)> = None;
        for other in self.transactions.values_mut() {
            if other.id == id || other.writes.is_empty() || !other.writes_table(cursor.table) {
                continue;
            }
            if prepared && !matches!(other.state, State::Prepared { .. }) {
                continue;
            }
            other.build_overlay(cursor.table, cursor.index, |row, see| see_keys(fragment, index, row, see));
            let Some(overlay) = other.overlay(cursor.table, cursor.index) else { continue };
            for (key, number) in merge::staged_in(overlay, &remaining, cursor.direction) {
                if !other.is_seen(*number, SavepointMark::LATEST) {
                    continue;
                }
                let nearer = nearest.as_ref().is_none_or(|(known, _)| match cursor.direction {
                    Direction::Forward => **key < **known,
                    Direction::Backward => **key > **known,
                });
                if nearer {
                    let lock = LockKey::row(cursor.table, other.writes[*number as usize].hash);
                    nearest = Some((key.to_vec(), lock));
                }
                break;
            }
        }
        nearest
    }

    /// Makes a snapshot reader wait for a commit under way, not later than its snapshot, that takes a row into the
    /// range, or changes one in it.
    fn wait_for_commits_in(&mut self, view: &ReadView, cursor: &Cursor) -> Option<Blocked> {
        let nothing_under_way = view.snapshot == Timestamp::MAX || self.proposals.is_empty();
        if nothing_under_way && self.two_phase.prepared.is_empty() {
            return None;
        }
        let fragment = self.fragments.get(&cursor.table)?;
        let mut key = Vec::new();
        let (committing, prepared) = (self.commits_seen_by(view.snapshot), self.prepared_before(view.snapshot));
        let holder = committing.chain(prepared).find(|&id| {
            let Some(other) = self.transaction(id).filter(|other| other.writes_table(cursor.table)) else {
                return false;
            };
            if other.writes.len() > self.config.slice_writes {
                // Looking where they are would take longer than most waits.
                return true;
            }
            other.writes.iter().filter(|write| write.table == cursor.table).any(|write| {
                let Some(index) = fragment.index(cursor.index) else { return true };
                let old = Some(write.row_id).filter(|&row| row != crate::workspace::NO_ROW);
                let old = old.and_then(|row| fragment.newest(row));
                let mut is_in_range = false;
                for row in old.into_iter().chain(write.row.as_deref()) {
                    index.entry.each_key(fragment.row(row), &mut key, |key| {
                        is_in_range |= range_contains(&cursor.range, key);
                    });
                }
                is_in_range
            })
        })?;
        self.wait_for_apply(holder, view.token)
    }

    /// Brings the reader's own overlay of the index up to date, if it has written to the table what it may see.
    fn prepare_own_overlay(&mut self, view: &ReadView, cursor: &Cursor) -> bool {
        if view.own_writes_before == SavepointMark(0) {
            return false;
        }
        let Some(fragment) = self.fragments.get(&cursor.table) else { return false };
        let own = view.transaction.and_then(|id| self.transactions.get_mut(&id));
        let Some(own) = own.filter(|own| !own.writes.is_empty() && own.writes_table(cursor.table)) else {
            return false;
        };
        let index = fragment.index(cursor.index);
        own.build_overlay(cursor.table, cursor.index, |row, see| see_keys(fragment, index, row, see));
        true
    }

    fn walk<'a>(
        &'a mut self,
        view: &'a ReadView,
        table: TableId,
        access: Access,
        with_own: bool,
    ) -> Result<Walk<'a>> {
        let fragment = self.fragments.get(&table).ok_or_else(|| no_such_table(table))?;
        let own = view.transaction.filter(|_| with_own).and_then(|id| self.transactions.get(&id));
        let snapshot = if access.locker().is_some() { Timestamp::MAX } else { view.snapshot };
        let own = own.map(|own| &**own);
        let (locks, grants) = (&mut self.locks, &mut self.grants);
        Ok(Walk {
            fragment,
            own,
            locks,
            grants,
            taken: Vec::new(),
            gathered: 0,
            last_gathered: None,
            view,
            snapshot,
            access,
            key: Vec::new(),
            shown: 0,
            unlocked: Vec::new(),
        })
    }

    /// Lists the locks that a walk took, and wakes those that its unlocking let through.
    fn settle_walk(&mut self, id: Option<TransactionId>, table: TableId, took: Took) {
        let Took { taken, gathered, unlocked } = took;
        if let Some(id) = id {
            if let Some(transaction) = self.transactions.get_mut(&id) {
                let before = transaction.locks.len();
                transaction.locks.extend(taken);
                if gathered > 0 {
                    transaction.note_gathered(table, gathered);
                }
                let many = self.config.slice_writes;
                if before < many && transaction.locks.len() >= many {
                    self.locks.gather(id);
                }
            }
            for key in unlocked {
                self.unlock(id, key);
            }
        }
        self.settle_grants();
    }

    fn walk_tree(
        &mut self,
        view: &ReadView,
        cursor: &mut Cursor,
        access: Access,
        barrier: Option<(Vec<u8>, LockKey)>,
        row_limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> VisitAnswer,
    ) -> Result<End> {
        let with_own = self.prepare_own_overlay(view, cursor);
        let mut walk = self.walk(view, cursor.table, access, with_own)?;
        let fragment = walk.fragment;
        let index = fragment.index(cursor.index).ok_or_else(|| no_such_index(fragment, cursor.index))?;
        let overlay = walk.own.and_then(|own| own.overlay(cursor.table, cursor.index));
        let mut merge = Merge::new(&index.tree, overlay, cursor);
        let entry_limit = (row_limit * ENTRIES_PER_ROW).max(ENTRIES_MIN);
        let begins = cursor.position.is_none();
        let (mut looked_at, mut last) = (0, None);
        let end = loop {
            let Some(entry) = merge.peek() else {
                break match &barrier {
                    Some((_, key)) => End::Locked(*key),
                    None => End::Exhausted,
                };
            };
            if let Some((key, lock)) = &barrier
                && merge.reaches(&entry, key)
            {
                break End::Locked(*lock);
            }
            if walk.shown == row_limit || looked_at == entry_limit {
                break End::Limit;
            }
            if looked_at % ROWS_AHEAD == 0 {
                let ahead = ROWS_AHEAD.min(row_limit - walk.shown);
                fragment.warm(merge.rows_ahead(&mut [0; ROWS_AHEAD][..ahead]));
            }
            looked_at += 1;
            let ended = walk.look_at(entry, index, overlay, &merge, visit);
            if let Some(End::Locked(key)) = ended {
                break End::Locked(key);
            }
            last = Some(entry);
            if let Some(end) = ended {
                break end;
            }
            merge.advance(entry);
        };
        let position = last.map(|entry| merge.position_of(entry));
        drop(merge);
        // One that has to wait before its first row begins again.
        let waits = matches!(end, End::Locked(_)) && position.is_none();
        fragment.counted.add_scan(begins && !waits, looked_at, walk.shown);
        if position.is_some() {
            cursor.position = position;
        }
        let took = walk.took();
        self.settle_walk(access.locker(), cursor.table, took);
        Ok(end)
    }

    /// The scan of a table that has no ordered primary key: committed rows by hash, then the reader's own writes.
    fn walk_hash(
        &mut self,
        view: &ReadView,
        cursor: &mut Cursor,
        access: Access,
        barrier: Option<LockKey>,
        row_limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> VisitAnswer,
    ) -> Result<End> {
        if let Some(key) = barrier {
            return Ok(End::Locked(key));
        }
        let with_own = self.prepare_own_overlay(view, cursor);
        let mut walk = self.walk(view, cursor.table, access, with_own)?;
        let fragment = walk.fragment;
        let overlay = walk.own.and_then(|own| own.overlay(cursor.table, cursor.index));
        let begins = matches!(cursor.hash_position, HashPosition::Committed(None));
        let mut looked_at = 0;
        let mut end = None;
        'walk: while let HashPosition::Committed(after) = cursor.hash_position {
            let Some(slots) = fragment.slots_after(after) else {
                cursor.hash_position = HashPosition::Staged(0);
                break;
            };
            for (hash, row) in slots {
                if walk.shown == row_limit {
                    end = Some(End::Limit);
                    break 'walk;
                }
                looked_at += 1;
                if let Some(bytes) = walk.version(row, overlay) {
                    end = walk.show(bytes, visit);
                }
                if !matches!(end, Some(End::Locked(_))) {
                    cursor.hash_position = HashPosition::Committed(Some((hash, row)));
                }
                if end.is_some() {
                    break 'walk;
                }
            }
        }
        while end.is_none()
            && let (HashPosition::Staged(number), Some(own)) = (cursor.hash_position, walk.own)
            && (number as usize) < own.writes.len()
        {
            if walk.shown == row_limit {
                end = Some(End::Limit);
                break;
            }
            cursor.hash_position = HashPosition::Staged(number + 1);
            let write = &own.writes[number as usize];
            let seen = write.table == cursor.table && own.is_seen(number, view.own_writes_before);
            if seen && let Some(bytes) = own.version(number) {
                walk.shown += 1;
                end = (visit(fragment.row(&bytes)) == VisitAnswer::Stop).then_some(End::Stopped);
            }
        }
        // One that has to wait before its first row begins again.
        let waits =
            matches!(end, Some(End::Locked(_))) && matches!(cursor.hash_position, HashPosition::Committed(None));
        fragment.counted.add_scan(begins && !waits, looked_at, walk.shown);
        let took = walk.took();
        self.settle_walk(access.locker(), cursor.table, took);
        Ok(end.unwrap_or(End::Exhausted))
    }
}

/// Shows the keys of a staged row in an index; in a table that has a hash index alone all rows are alike.
fn see_keys(fragment: &Fragment, index: Option<&OrderedIndex>, row: &[u8], see: &mut dyn FnMut(&[u8])) {
    match index {
        Some(index) => index.entry.each_key(fragment.row(row), &mut Vec::with_capacity(16), see),
        None => see(&[]),
    }
}

fn no_such_index(fragment: &Fragment, index: IndexId) -> Error {
    let table = &fragment.schema.name;
    Error::new(ErrorCode::KeyDoesNotExist, format!("Key '#{index}' doesn't exist in table '{table}'"))
}
