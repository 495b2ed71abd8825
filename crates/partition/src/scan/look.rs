//! Looking ahead of a locking scan: which rows it would meet, without taking a lock or waiting.
//!
//! A coordinator that merges partitions looks at rows of all of them, chooses those that come first, and then has just these locked.

use shoal_types::row::RowRef;
use shoal_types::{Result, key_hash};

use super::{Access, Cursor, End, Walk, no_such_index};
use crate::api::*;
use crate::locks::LockKey;
use crate::partition::Partition;

impl Walk<'_> {
    pub(super) fn is_locked_by_another(&mut self, bytes: &[u8], mode: LockMode) -> bool {
        let hash = key_hash(self.fragment.primary_key_into(bytes, &mut self.key));
        let key = LockKey::row(self.fragment.schema.id, hash);
        let is_another = |holder| Some(holder) != self.view.transaction;
        match mode {
            LockMode::Exclusive => self.locks.holders_of(key).into_iter().any(is_another),
            LockMode::Shared => self.locks.exclusive_holder(key).is_some_and(is_another),
        }
    }
}

impl Partition {
    /// Shows the newest committed rows, and the reader's own, from the cursor's place on: those that a locking scan with this
    /// request would come to next, if nothing changes until then. With SKIP LOCKED, rows that are locked are left out; otherwise
    /// they are shown as well.
    pub fn look(
        &mut self,
        view: &ReadView,
        cursor: &mut Cursor,
        request: LockRequest,
        row_limit: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> VisitAnswer,
    ) -> Result<ScanState> {
        if cursor.finished {
            return Ok(ScanState::Done);
        }
        let fragment = self.fragment(cursor.table)?;
        if fragment.index(cursor.index).is_none() {
            return Err(no_such_index(fragment, cursor.index));
        }
        let access = match request.policy {
            LockPolicy::SkipLocked => Access::LeavingOutLocked(request.mode),
            LockPolicy::Wait | LockPolicy::NoWait => Access::Plain,
        };
        let end = self.walk_tree(view, cursor, access, None, row_limit.max(1), visit)?;
        cursor.finished = !matches!(end, End::Limit);
        Ok(if cursor.finished { ScanState::Done } else { ScanState::More })
    }
}
