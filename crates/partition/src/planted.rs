//! Bugs on purpose: whoever checks this crate finds out with them whether the checks are any good.
//!
//! They are compiled in with the feature `planted-bugs` alone, and even then each has to be planted, for one thread. Without the
//! feature [`is_planted`] is a constant and nothing of them is left.

/// A way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Commits are acknowledged when they are proposed.
    AcknowledgeBeforeMajority,
    /// The lease is longer than the election timeout.
    LeaseLongerThanElection,
    /// A new leader aborts what is prepared without asking the home.
    GuessAbort,
    /// A replica that may have lost the end of its log votes and campaigns all the same.
    VoteAfterLostTail,
    /// Followers serve.
    BackupServes,
    /// Entries that the checkpoint covers are applied again when the log is read.
    ApplyTwiceAfterRestart,
}

impl Bug {
    pub const ALL: [Bug; 6] = [
        Bug::AcknowledgeBeforeMajority,
        Bug::LeaseLongerThanElection,
        Bug::GuessAbort,
        Bug::VoteAfterLostTail,
        Bug::BackupServes,
        Bug::ApplyTwiceAfterRestart,
    ];
}

#[cfg(feature = "planted-bugs")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Partitions that this thread drives have the bug from now on.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    pub(crate) fn is_planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}

#[cfg(feature = "planted-bugs")]
pub(crate) use switch::is_planted;
#[cfg(feature = "planted-bugs")]
pub use switch::plant;

#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}
