//! One table's metadata lock: who uses the table is a number, and a definition keeps newcomers out with
//! two bits of it, and writers with a third.

use std::sync::atomic::{AtomicU32, Ordering};

/// A definition waits for the table: newcomers stay out.
pub(super) const WANTED: u32 = 1 << 31;
/// A definition has the table.
pub(super) const HELD: u32 = 1 << 30;
/// A definition copies the table's rows: who reads goes on, who wants to write waits.
pub(super) const FROZEN: u32 = 1 << 29;
pub(super) const USERS: u32 = FROZEN - 1;

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

    /// Nobody may write to the table for now, nor lock its rows for that.
    #[inline]
    pub fn is_frozen(&self) -> bool {
        self.state.load(Ordering::Relaxed) & FROZEN != 0
    }

    /// A definition waits for all who use the table.
    pub(super) fn is_wanted(&self) -> bool {
        self.state.load(Ordering::Relaxed) & WANTED != 0
    }

    /// Gives the table to the definition that waits for it, if nobody uses it.
    pub(super) fn try_hold(&self) -> bool {
        let frozen = self.state.load(Ordering::Relaxed) & FROZEN;
        let (wanted, held) = (WANTED | frozen, WANTED | HELD | frozen);
        self.state.compare_exchange(wanted, held, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// How many transactions use the table.
    pub fn users(&self) -> u32 {
        self.state.load(Ordering::Relaxed) & USERS
    }
}
