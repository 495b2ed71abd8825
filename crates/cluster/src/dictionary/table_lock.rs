//! One table's metadata lock: who uses the table is a number, and a definition keeps newcomers out with two bits of it.

use std::sync::atomic::{AtomicU32, Ordering};

/// A definition waits for the table: newcomers stay out.
pub(super) const WANTED: u32 = 1 << 31;
/// A definition has the table.
pub(super) const HELD: u32 = 1 << 30;
pub(super) const USERS: u32 = HELD - 1;

/// One table's lock, shared by all versions of its definition.
#[derive(Debug, Default)]
pub struct MetadataLock {
    pub(super) state: AtomicU32,
}

impl MetadataLock {
    /// Counts one more user, unless a definition is in the way.
    #[inline]
    pub(super) fn try_share(&self, uses_others: bool) -> bool {
        let closed = if uses_others { HELD } else { HELD | WANTED };
        let mut state = self.state.load(Ordering::Relaxed);
        while state & closed == 0 {
            match self.state.compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => state = changed,
            }
        }
        false
    }

    /// How many transactions use the table.
    pub fn users(&self) -> u32 {
        self.state.load(Ordering::Relaxed) & USERS
    }
}
