//! Which thread flushes the log, and when.
//!
//! A thread that serves one session flushes what that has appended itself: it has nothing else to do meanwhile, and saves two thread
//! switches. A thread that serves several leaves flushes to the log's writer and goes on: measured on two cores with flushes of
//! 130 us, 8 and 32 sessions made 1.2 to 1.4 times as many updates of rows of their own that way, and 1.5 times as many of one row.
//! Either way flushes wait until no session of the thread is ready to append more, but not for longer than some turns: a thread
//! that its sessions keep busy never sleeps. `flush_before_sleep`, `fall_asleep` and `wake` are called by the loop of the thread
//! (`shoal_transport::worker_loop`), `note_turn` and `flush_in_passing` by its sessions.

use std::cell::Cell;
use std::time::Instant;

use shoal_log::InlineFlush;
use shoal_types::Result;

use crate::base::errors::log_error;
use crate::base::options::FlushBy;
use crate::storage::Storage;

/// After so many turns of one session in a row a thread counts as its own.
const ALONE_AFTER: u32 = 16;
/// After so many turns without a sleep in between others are told what there is to flush and to send.
const AWAKE_TURNS: u32 = 16;

/// Whether this thread calls [`Storage::flush_before_sleep`], and what for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlushBeforeSleep {
    No,
    Clean,
    /// Sessions of the thread have appended.
    Due,
}

/// Whose turns a thread has lately run. One that runs none works for other nodes alone.
struct Turns {
    session: Cell<u32>,
    in_a_row: Cell<u32>,
    /// Since the thread slept, or came to what it does before it sleeps.
    awake: Cell<u32>,
}

impl Turns {
    const fn new() -> Turns {
        Turns { session: Cell::new(u32::MAX), in_a_row: Cell::new(ALONE_AFTER), awake: Cell::new(0) }
    }

    /// Returns whether the thread has gone without sleep for long.
    fn note(&self, session: u32) -> bool {
        match self.session.replace(session) == session {
            true => self.in_a_row.set(self.in_a_row.get().saturating_add(1)),
            false => self.in_a_row.set(0),
        }
        self.awake.set(self.awake.get() + 1);
        if self.awake.get() < AWAKE_TURNS {
            return false;
        }
        self.awake.set(0);
        true
    }

    fn is_alone(&self) -> bool {
        self.in_a_row.get() >= ALONE_AFTER
    }
}

thread_local! {
    static FLUSH_BEFORE_SLEEP: Cell<FlushBeforeSleep> = const { Cell::new(FlushBeforeSleep::No) };
    static TURNS: Turns = const { Turns::new() };
}

impl Storage {
    /// A session has its turn in this thread: a statement, or a commit. `session` is its waiter's
    /// ([`Waiter::session`](crate::Waiter::session)).
    #[inline]
    pub fn note_turn(&self, session: u32) {
        if TURNS.with(|turns| turns.note(session)) {
            self.flush_in_passing();
        }
    }

    /// For the session whose batch has to be flushed: does it in this thread if the disk is quick, or has the log's writer do it.
    /// Nothing is to be done in a thread that flushes before it sleeps.
    pub fn flush_inline(&self) -> Result<()> {
        match self.flush_later() {
            true => Ok(()),
            false => self.flush_now(),
        }
    }

    /// For the session whose batch has to be flushed: this thread does it before it sleeps, or between two turns of a long statement.
    /// Returns false if it is none that does.
    pub fn flush_later(&self) -> bool {
        let does = FLUSH_BEFORE_SLEEP.get() != FlushBeforeSleep::No;
        if does {
            FLUSH_BEFORE_SLEEP.set(FlushBeforeSleep::Due);
        }
        does
    }

    /// For a thread that does not sleep, whenever its sessions have had their turn: what they have to send leaves, and what they have
    /// appended is flushed by the log's writer.
    pub fn flush_in_passing(&self) {
        if let Some(transport) = self.transport.get() {
            transport.flush();
        }
        if FLUSH_BEFORE_SLEEP.get() == FlushBeforeSleep::Due {
            FLUSH_BEFORE_SLEEP.set(FlushBeforeSleep::Clean);
            self.wake_log_writer();
        }
    }

    /// For threads that serve many sessions, whenever no task of theirs is ready: flushes what the sessions have appended since,
    /// all of it at once. From the first call on sessions in this thread rely on it.
    pub fn flush_before_sleep(&self) {
        TURNS.with(|turns| turns.awake.set(0));
        let transport = self.transport.get();
        // What others have to make durable leaves before this node blocks for its own disk.
        if let Some(transport) = transport {
            transport.flush();
        }
        if FLUSH_BEFORE_SLEEP.replace(FlushBeforeSleep::Clean) == FlushBeforeSleep::Due {
            // What went wrong has stopped the node; that is how the sessions learn it.
            let _ = self.flush_now();
            if let Some(transport) = transport {
                transport.flush();
            }
        }
        if let Some(transport) = transport {
            transport.look();
        }
    }

    /// A thread that serves sessions does sleep now.
    pub fn fall_asleep(&self) {
        if let Some(transport) = self.transport.get() {
            transport.fall_asleep();
        }
    }

    /// A thread that serves sessions goes on after it has slept.
    pub fn wake(&self) {
        if let Some(transport) = self.transport.get() {
            transport.wake();
        }
    }

    fn flush_now(&self) -> Result<()> {
        let leaves_it = self.options().flush_by == FlushBy::Writer || !TURNS.with(Turns::is_alone);
        if leaves_it || !self.inline_flushes.is_worthwhile() {
            self.wake_log_writer();
            return Ok(());
        }
        let start = Instant::now();
        if let InlineFlush::Flushed(_) = self.log().try_flush_inline().map_err(log_error)? {
            self.inline_flushes.took(start.elapsed());
        }
        Ok(())
    }

    /// Has the log's writer flush.
    pub fn wake_log_writer(&self) {
        self.log().wake_writer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_a_sessions_own_until_another_has_its_turn_and_again_after_a_while() {
        let turns = Turns::new();
        assert!(turns.is_alone());
        turns.note(1);
        assert!(!turns.is_alone());
        (0..ALONE_AFTER).for_each(|_| _ = turns.note(1));
        assert!(turns.is_alone());
        for _ in 0..2 * ALONE_AFTER {
            turns.note(2);
            turns.note(1);
            assert!(!turns.is_alone());
        }
    }
}
