//! The kinds of faults.

/// What is done to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Kill,
    KillTwo,
    KillAll,
    Pause,
    Cut,
    CutOneWay,
    Island,
    Reject,
    Reset,
    Lose,
    Narrow,
    Delay,
    Clock,
    FullDisk,
    DyingDisk,
    RollingRestart,
}

use Kind::*;

impl Kind {
    pub const ALL: [Kind; 16] = [
        Kill,
        KillTwo,
        KillAll,
        Pause,
        Cut,
        CutOneWay,
        Island,
        Reject,
        Reset,
        Lose,
        Narrow,
        Delay,
        Clock,
        FullDisk,
        DyingDisk,
        RollingRestart,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kill => "kill",
            KillTwo => "kill-two",
            KillAll => "kill-all",
            Pause => "pause",
            Cut => "cut",
            CutOneWay => "cut-one-way",
            Island => "island",
            Reject => "reject",
            Reset => "reset",
            Lose => "lose",
            Narrow => "narrow",
            Delay => "delay",
            Clock => "clock",
            FullDisk => "full-disk",
            DyingDisk => "dying-disk",
            RollingRestart => "rolling-restart",
        }
    }

    pub fn parse(name: &str) -> Result<Kind, String> {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("{name} is no kind of fault; --help lists them"))
    }

    pub fn describe(self) -> &'static str {
        match self {
            Kill => "a node is killed",
            KillTwo => "two nodes are killed, one after the other",
            KillAll => "all nodes are killed at once",
            Pause => "a node is stopped for a while (SIGSTOP)",
            Cut => "two data nodes do not reach each other",
            CutOneWay => "packets are lost one way between two data nodes",
            Island => "a data node reaches nobody",
            Reject => "a firewall rejects what is sent to a data node",
            Reset => "all connections of a node are reset",
            Lose => "a part of what a node sends is lost",
            Narrow => "what a node sends goes through a narrow line",
            Delay => "what a node sends arrives late and out of order",
            Clock => "a node's clock jumps",
            FullDisk => "a data node's disk fills up",
            DyingDisk => "a data node's disk answers EIO",
            RollingRestart => "all nodes are restarted in turn",
        }
    }

    /// Whether the others hear nothing at all when it begins, or learn of it by a closed connection; `None`: no node is lost, or too many.
    pub fn is_silent(self) -> Option<bool> {
        match self {
            Pause | Cut | CutOneWay | Island => Some(true),
            Kill | Reject | Reset | DyingDisk | RollingRestart => Some(false),
            KillTwo | KillAll | Lose | Narrow | Delay | Clock | FullDisk => None,
        }
    }

    /// Many seconds, where others take one or two: it is rarer.
    pub fn takes_long(self) -> bool {
        matches!(self, FullDisk | RollingRestart)
    }

    /// Nodes must be hosts of their own.
    pub fn needs_network(self) -> bool {
        matches!(self, Cut | CutOneWay | Island | Reject | Reset | Lose | Narrow | Delay)
    }
}
