//! Bugs on purpose: with them the simulator shows that its checkers find mistakes.
//!
//! They are compiled in with the feature `planted-bugs` alone, and even then each one has to be planted, for one thread. Without
//! the feature [`is_planted`] is a constant and nothing of them is left.

/// A mistake that somebody could make, and the part of the product that would make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Coordinator: participants are told to commit before the home has committed.
    DecideBeforeHome,
    /// Coordinator: a home that does not answer is taken for one that has not committed.
    AbortWhenHomeIsSilent,
    /// Foreign keys: a child's parent is read and not locked.
    ReadParentWithoutLock,
    /// Foreign keys: children that others have staged are not waited for. (This one was real, at READ COMMITTED.)
    LookPastStagedChildren,
    /// Resolver: a home that is about to decide is taken for one that has decided to abort.
    TakeInFlightForAborted,
    /// Partition: commits are acknowledged when they are proposed.
    AcknowledgeBeforeMajority,
    /// Partition: followers serve.
    BackupServes,
    /// Partition: a new leader aborts what is prepared without asking the home.
    GuessAbort,
    /// Partition: a leader that takes over prepared transactions does not lock the keys under which they insert.
    InsertsUnlockedAtTakeover,
    /// Partition: a scan of the newest versions does not wait while a large transaction becomes rows slice by slice.
    ReadAmongSlices,
    /// Changes: what does not fit into a reply is left out, and not told with the next one either.
    FollowSkipsWhatIsTooLong,
    /// Deadlocks: cycles of more than two are overlooked.
    DeadlocksOfTwoOnly,
    /// Clocks: what a frame brings of its sender's clock is ignored.
    IgnoreClockOfFrames,
    /// Lease: it is longer than the election timeout.
    LeaseLongerThanElection,
    /// Lease: a follower that restarts forgets that a leader's lease may rest on it.
    ForgetPromiseAtRestart,
    /// Recovery: whether a replica may have lost something follows from the durability of the life that begins.
    AmnesiaByPresentDurability,
    /// Recovery: a majority of amnesiacs goes on without asking the other voters what they have.
    AgreeWithoutAll,
    /// Recovery: a replica that may have lost the end of its log votes and campaigns all the same.
    VoteAfterLostTail,
    /// Recovery: entries that the checkpoint covers are applied again when the log is read.
    ApplyTwiceAfterRestart,
    /// Driver: what promises that something is on the disk is sent at once.
    SendBeforeDurable,
    /// Driver: a checkpoint is made of a state that a copy is just replacing. (This one was real.)
    CheckpointWhileInstalling,
    /// Driver: a refused connection is taken for proof that the peer's process is gone.
    BelieveRefusal,
    /// Log: a flush counts as durable although one before it is still under way.
    CountBeyondHole,
    /// Log: valid frames behind the end of the log stay there, and are part of it when new ones reach them.
    LeaveStrayFrames,
    /// Log: the keeper prepares the next segment again before the log has gone on to it. (This one was real.)
    PrepareSegmentTwice,
    /// Log: what recovery has read is not made durable.
    TrustWhatIsRead,
    /// Log: a flush that was under way when the log stopped is reported durable.
    ReportAfterFailure,
}

impl Bug {
    pub const ALL: &[Bug] = &[
        Bug::DecideBeforeHome,
        Bug::AbortWhenHomeIsSilent,
        Bug::ReadParentWithoutLock,
        Bug::LookPastStagedChildren,
        Bug::TakeInFlightForAborted,
        Bug::AcknowledgeBeforeMajority,
        Bug::BackupServes,
        Bug::GuessAbort,
        Bug::InsertsUnlockedAtTakeover,
        Bug::ReadAmongSlices,
        Bug::FollowSkipsWhatIsTooLong,
        Bug::DeadlocksOfTwoOnly,
        Bug::IgnoreClockOfFrames,
        Bug::LeaseLongerThanElection,
        Bug::ForgetPromiseAtRestart,
        Bug::AmnesiaByPresentDurability,
        Bug::AgreeWithoutAll,
        Bug::VoteAfterLostTail,
        Bug::ApplyTwiceAfterRestart,
        Bug::SendBeforeDurable,
        Bug::CheckpointWhileInstalling,
        Bug::BelieveRefusal,
        Bug::CountBeyondHole,
        Bug::LeaveStrayFrames,
        Bug::PrepareSegmentTwice,
        Bug::TrustWhatIsRead,
        Bug::ReportAfterFailure,
    ];
}

impl Bug {
    /// The part of the product that has it.
    pub fn part(self) -> &'static str {
        match self {
            Bug::DecideBeforeHome | Bug::AbortWhenHomeIsSilent => "coordinator",
            Bug::ReadParentWithoutLock | Bug::LookPastStagedChildren => "foreign keys",
            Bug::TakeInFlightForAborted => "resolver",
            Bug::SendBeforeDurable | Bug::CheckpointWhileInstalling | Bug::BelieveRefusal => "driver",
            Bug::AcknowledgeBeforeMajority
            | Bug::BackupServes
            | Bug::GuessAbort
            | Bug::InsertsUnlockedAtTakeover
            | Bug::ReadAmongSlices => "partition",
            Bug::FollowSkipsWhatIsTooLong => "changes",
            Bug::DeadlocksOfTwoOnly => "deadlocks",
            Bug::IgnoreClockOfFrames => "clocks",
            Bug::LeaseLongerThanElection | Bug::ForgetPromiseAtRestart => "lease",
            Bug::AmnesiaByPresentDurability
            | Bug::AgreeWithoutAll
            | Bug::VoteAfterLostTail
            | Bug::ApplyTwiceAfterRestart => "recovery",
            Bug::CountBeyondHole
            | Bug::LeaveStrayFrames
            | Bug::PrepareSegmentTwice
            | Bug::TrustWhatIsRead
            | Bug::ReportAfterFailure => "log",
        }
    }

    pub fn is_in_log(self) -> bool {
        self.part() == "log"
    }
}

#[cfg(feature = "planted-bugs")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// What this thread drives has the bug from now on.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    /// The bug that this thread has: threads that it starts are to have it as well.
    pub fn planted() -> Option<Bug> {
        PLANTED.get()
    }

    pub fn is_planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}

#[cfg(feature = "planted-bugs")]
pub use switch::{is_planted, plant, planted};

#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
pub const fn is_planted(_: Bug) -> bool {
    false
}
