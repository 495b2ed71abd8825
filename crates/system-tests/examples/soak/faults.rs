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

/// Every kind, in the order of the enumeration: its name on the command line, and what it does.
const KINDS: [(Kind, &str, &str); 16] = [
    (Kill, "kill", "a node is killed"),
    (KillTwo, "kill-two", "two nodes are killed, one after the other"),
    (KillAll, "kill-all", "all nodes are killed at once"),
    (Pause, "pause", "a node is stopped for a while (SIGSTOP)"),
    (Cut, "cut", "two data nodes do not reach each other"),
    (CutOneWay, "cut-one-way", "packets are lost one way between two data nodes"),
    (Island, "island", "a data node reaches nobody"),
    (Reject, "reject", "a firewall rejects what is sent to a data node"),
    (Reset, "reset", "all connections of a node are reset"),
    (Lose, "lose", "a part of what a node sends is lost"),
    (Narrow, "narrow", "what a node sends goes through a narrow line"),
    (Delay, "delay", "what a node sends arrives late and out of order"),
    (Clock, "clock", "a node's clock jumps"),
    (FullDisk, "full-disk", "a data node's disk fills up"),
    (DyingDisk, "dying-disk", "a data node's disk answers EIO (from the end of its process on)"),
    (RollingRestart, "rolling-restart", "all nodes are restarted in turn"),
];

impl Kind {
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.into_iter().map(|(kind, ..)| kind)
    }

    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    pub fn describe(self) -> &'static str {
        KINDS[self as usize].2
    }

    pub fn parse(name: &str) -> Result<Kind, String> {
        let found = Kind::all().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("{name} is no kind of fault; --help lists them"))
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
