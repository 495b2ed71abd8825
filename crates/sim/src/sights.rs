//! Situations that a good many runs should have been in. A simulator that never meets them proves nothing about them.

use std::fmt;

macro_rules! sights {
    ($($(#[$doc:meta])* $name:ident => $text:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sight {
            $($(#[$doc])* $name),*
        }

        impl Sight {
            pub const ALL: &[Sight] = &[$(Sight::$name),*];

            pub fn text(self) -> &'static str {
                match self {
                    $(Sight::$name => $text),*
                }
            }
        }
    };
}

sights! {
    TakeoverWithPrepared => "a new leader found prepared transactions",
    WitnessElected => "a witness was elected",
    WitnessHandedOver => "a witness handed leadership over",
    AmnesiaCured => "a replica that might have lost the end of its log caught up",
    AmnesiaForgotten => "too many replicas of a group had lost track at once, and the group went on from the newest log",
    LeaseExpiredInPause => "a leader came back from a pause and refused, its lease having run out",
    RolledBackTo => "a transaction took back its last write and went on",
    RangeReadAgain => "a range was read twice under locks, and nothing had come or gone",
    Resigned => "a leader resigned when the transactions that had joined were done",
    JoinRefused => "a transaction could not join a partition that was being handed over",
    DiedAtDecision => "all nodes died just after a transaction over several partitions was committed in memory",
    CopyRefused => "a copy of a partition was refused that was no news",
    CheckpointInstalled => "a checkpoint was installed at run time",
    TornTail => "a torn end of a log was dropped",
    CoordinatorDiedUndecided => "a coordinator died while its participants were prepared",
    CoordinatorDiedDecided => "a coordinator died between the home's commit and the decision's arrival",
    HomeChangedInDoubt => "a home got a new leader while a participant was in doubt",
    CrashAfterCut => "a node crashed after its log had been cut behind checkpoints",
    EntriesDoubled => "entries were sent twice",
    WholeClusterDown => "all nodes were down at once",
    DataNodeWiped => "a data node began with an empty directory",
    Committed => "a transaction was committed",
    CommittedOverPartitions => "a transaction over several partitions was committed",
    Unknown => "a client was told that the outcome is unknown",
    NotCommitted => "a client was told that its transaction is not committed",
    DecidedByHome => "a participant in doubt learnt the outcome from the home",
    SnapshotRead => "a snapshot was read and found right",
    SnapshotReadAgain => "a snapshot was read twice",
    SnapshotWaited => "a snapshot's reader waited for a transaction",
    LockingSum => "a sum under locks was right",
    RegisterRead => "a register was read",
    ReadAndWrote => "a transaction that read a register and wrote another was committed",
    DeadlockHere => "a wait would have closed a cycle within its node, and its transaction gave way",
    DeadlockBetweenNodes => "a cycle of waits over several nodes was found, and its youngest transaction gave way",
    WaitedTooLong => "a wait for a lock was given up",
    ChangesFollowed => "changes were told to a follower",
    FollowedAcrossLeaders => "a follower went on at another node than the one that had told it the last changes",
    FollowedDecision => "a follower was told of a prepared transaction, and later of its decision",
    FollowerGap => "a follower was told of a gap and began again",
    ListRead => "a list was read under locks by a transaction that was committed",
    ListReadNewest => "a list was read without locks by a transaction that was committed",
    ListsInSnapshot => "all lists were read in a snapshot",
    BatchCommitted => "a batch of single rows was committed in one phase",
    BlockTaken => "a block of numbers was taken from a sequence",
    FoundAfterUnknown => "a client that had been told that the outcome is unknown found its request carried out",
    RepeatedAfterUnknown => "a client that had been told that the outcome is unknown did its request again",
    ChildRefused => "a row was refused because it had no parent",
    ParentKept => "a row stayed as it was because others referred to it",
    Cascaded => "rows went with their parents, or got other keys, in a transaction that was committed",
    AppliedInSlices => "a transaction became rows, or went away, in slices",
    LockedEarly => "a row was locked while the commit that had changed it was in the log and not applied",
    OrphanEnded => "a transaction without a coordinator was ended",
    DiedTwice => "a process died soon after it had started",
    RestartedWithinLease => "a node came back while a lease that rested on it went on",
    RefusedAlive => "connections of a process that lived were refused",
    LeaderChangedInQuiet => "a partition got a new leader while nobody wrote",
    ClockSteppedForward => "a wall clock was set forwards",
    ClockSteppedBack => "a wall clock was set back",
    StartedBehind => "a node started with its wall clock behind its newest commit",
    SwitchedToDisk => "durability was switched to disk while a node ran",
    SwitchedToReplicated => "durability was switched to replicated while a node ran",
    AmnesiacWithDisk => "a node that had acknowledged from memory died, and started with durability disk",
    LogFlushOvertook => "the log: a flush was done before the one before it",
    LogTornTail => "the log: recovery cut a torn tail",
    LogProcessKilled => "the log: the process died in the middle of something and the machine did not",
    LogSectorsLost => "the log: the machine crashed and lost sectors that were not synced",
    LogOperationFailed => "the log: an operation of the disk failed",
    LogWriteBackFailed => "the log: a write was lost in the page cache, and one sync was told",
    LogToldLate => "the log: a start failed, and that an earlier process's write was lost had been told to nobody",
    LogDiskFull => "the log: a batch was refused because the disk was full",
    LogDurabilitySwitched => "the log: the durability was switched while it ran",
    LogCut => "the log: it was cut behind a checkpoint",
    LogClosed => "the log: it was closed in good order",
    LogRotRefused => "the log: a flipped bit was refused",
    LogRotInLastFrame => "the log: a flipped bit in what nobody knew to be durable was cut as a torn tail",
}

#[derive(Clone, Debug)]
pub struct Sights([u64; Sight::ALL.len()]);

impl Default for Sights {
    fn default() -> Sights {
        Sights([0; Sight::ALL.len()])
    }
}

impl Sights {
    pub fn see(&mut self, sight: Sight) {
        self.0[sight as usize] += 1;
    }

    pub fn count(&self, sight: Sight) -> u64 {
        self.0[sight as usize]
    }

    pub fn add(&mut self, other: &Sights) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    pub fn never_seen(&self) -> Vec<Sight> {
        Sight::ALL.iter().copied().filter(|&sight| self.count(sight) == 0).collect()
    }
}

impl fmt::Display for Sights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &sight in Sight::ALL {
            writeln!(f, "{:>10}  {}", self.count(sight), sight.text())?;
        }
        Ok(())
    }
}
