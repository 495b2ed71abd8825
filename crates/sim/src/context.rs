//! What all nodes of a run share: time, chance, the network, what happens next, what clients have seen.
//!
//! Events of one moment happen in the order in which they were planned. Everything that varies is drawn from one seeded
//! generator, in an order that the run itself determines: the same seed gives the same run.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use shoal_partition::decode_message;
use shoal_types::{NodeId, PartitionId};

use crate::follower::Follower;
use crate::history::History;
use crate::knobs::Knobs;
use crate::message::{Body, Failure, Packet};
use crate::network::Network;
use crate::random::Random;
use crate::sights::{Sight, Sights};

/// Something that will happen. Those of a process name its life: they die with it.
#[derive(Clone, Debug)]
pub enum Event {
    Deliver(Packet),
    Tick(NodeId, u64),
    /// The disk has written the log up to this position.
    Synced(NodeId, u64, u64),
    /// What is in memory counts as persisted up to this position.
    InMemory(NodeId, u64, u64),
    /// A client, or a transaction of one, goes on.
    Client(NodeId, u64, u64),
    /// A call has no reply.
    CallFails(NodeId, u64, u64, Failure),
    Keeper(NodeId, u64),
    Resolve(NodeId, u64),
    /// The next block of a checkpoint that is being installed.
    Install(NodeId, u64),
    /// A slice of what a large transaction leaves to do.
    Slice(NodeId, u64, PartitionId),
    Fault,
    Undo(Undo),
}

/// The end of a fault.
#[derive(Clone, Copy, Debug)]
pub enum Undo {
    Start(NodeId),
    Resume(NodeId),
    Mend(NodeId, NodeId),
    SpeedUp(NodeId, NodeId),
    QuickDisk(NodeId),
    Admit(NodeId, NodeId),
    /// It starts, and dies again after so long.
    StartAndDie(NodeId, u64),
    Die(NodeId),
    /// All of them, where that may be.
    AllDie,
    /// It is started again, and does not hear the other one for a moment.
    RestartApart {
        node: NodeId,
        leader: NodeId,
        deaf: NodeId,
    },
    /// A link to this other node, which had hardly come up, breaks.
    LoseLink(NodeId, NodeId),
}

impl Event {
    /// The process concerned, and its life if that matters.
    pub fn process(&self) -> Option<(NodeId, Option<u64>)> {
        match self {
            Event::Deliver(packet) => Some((packet.to, None)),
            Event::Tick(node, life)
            | Event::Synced(node, life, _)
            | Event::InMemory(node, life, _)
            | Event::Client(node, life, _)
            | Event::CallFails(node, life, ..)
            | Event::Keeper(node, life)
            | Event::Resolve(node, life)
            | Event::Slice(node, life, _)
            | Event::Install(node, life) => Some((*node, Some(*life))),
            Event::Fault | Event::Undo(_) => None,
        }
    }
}

struct Planned {
    at_us: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Planned) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Planned) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Planned) -> Ordering {
        (self.at_us, self.number).cmp(&(other.at_us, other.number))
    }
}

/// Where a run's story goes.
pub enum Trace {
    Off,
    Print,
    Keep(Vec<String>),
}

pub struct Context {
    pub knobs: Rc<Knobs>,
    pub random: Random,
    pub network: Network,
    pub history: History,
    pub sights: Sights,
    pub trace: Trace,
    pub now_us: u64,
    /// Clients begin nothing any more.
    pub is_closing: bool,
    /// The network loses, doubles and delays.
    pub is_rough: bool,
    /// The processes there are: their lives, and whether they are paused.
    pub running: BTreeMap<NodeId, (u64, bool)>,
    /// What follows the changes of each partition with data.
    pub followers: BTreeMap<PartitionId, Follower>,
    /// Clients begin nothing before this.
    pub quiet_until_us: u64,
    /// By node: how far its wall clock has been set forwards or back.
    pub wall_steps_us: BTreeMap<NodeId, i64>,
    planned: BinaryHeap<Reverse<Planned>>,
    next_number: u64,
    violation: Option<String>,
}

impl Context {
    pub fn new(knobs: Knobs, random: Random, trace: Trace) -> Context {
        let history = History::new(&knobs);
        let followers = knobs.data_partitions().map(|id| (id, Follower::default())).collect();
        Context {
            knobs: Rc::new(knobs),
            random,
            network: Network::default(),
            history,
            sights: Sights::default(),
            trace,
            now_us: 0,
            is_closing: false,
            is_rough: false,
            running: BTreeMap::new(),
            followers,
            quiet_until_us: 0,
            wall_steps_us: BTreeMap::new(),
            planned: BinaryHeap::new(),
            next_number: 0,
            violation: None,
        }
    }

    pub fn plan(&mut self, in_us: u64, event: Event) {
        self.next_number += 1;
        self.planned.push(Reverse(Planned { at_us: self.now_us + in_us, number: self.next_number, event }));
    }

    /// Moves the time on to the next event.
    pub fn next_event(&mut self) -> Option<Event> {
        let Reverse(next) = self.planned.pop()?;
        self.now_us = next.at_us;
        Some(next.event)
    }

    /// Drops the events that are not to happen.
    pub fn retain(&mut self, keeps: impl Fn(&Event) -> bool) {
        self.planned.retain(|Reverse(planned)| keeps(&planned.event));
    }

    /// There is a process, and it is not paused.
    pub fn is_running(&self, node: NodeId) -> bool {
        self.running.get(&node).is_some_and(|&(_, is_paused)| !is_paused)
    }

    pub fn life_of(&self, node: NodeId) -> Option<u64> {
        self.running.get(&node).map(|&(life, _)| life)
    }

    /// Somebody wants the story.
    pub fn says(&self) -> bool {
        !matches!(self.trace, Trace::Off)
    }

    /// Adds to the story.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        match &mut self.trace {
            Trace::Off => {}
            Trace::Print => println!("{:>10} {}", self.now_us, line()),
            Trace::Keep(lines) => lines.push(format!("{} {}", self.now_us, line())),
        }
    }

    /// Something is wrong with the database. The first thing counts.
    pub fn accuse(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.tell(|| format!("WRONG: {what}"));
        self.violation.get_or_insert(what);
    }

    pub fn take_violation(&mut self) -> Option<String> {
        self.violation.take()
    }

    pub fn see(&mut self, sight: Sight) {
        self.sights.see(sight);
    }

    /// Sends a message on its way.
    pub fn post(&mut self, packet: Packet) {
        let (from, to) = (packet.from, packet.to);
        if from == to {
            let delay = self.random.between(1, 20);
            return self.plan(delay, Event::Deliver(packet));
        }
        if self.network.is_cut(from, to) {
            return;
        }
        let is_raft = matches!(packet.body, Body::Raft(..));
        let delay = self.delay_us() + self.network.extra_us(from, to);
        if is_raft && self.is_rough {
            if self.random.per_mille(self.knobs.loss_per_mille) {
                return;
            }
            if self.random.per_mille(self.knobs.double_per_mille) {
                let again = delay + self.delay_us() * self.random.between(1, 8);
                self.note_doubled(&packet);
                self.plan(again, Event::Deliver(packet.clone()));
            }
        }
        self.plan(delay, Event::Deliver(packet));
    }

    fn delay_us(&mut self) -> u64 {
        let (low, high) = self.knobs.delay_us;
        let delay = self.random.between(low, high);
        match self.is_rough && self.random.per_mille(self.knobs.late_per_mille) {
            true => delay + self.random.below(60_000),
            false => delay,
        }
    }

    fn note_doubled(&mut self, packet: &Packet) {
        if let Body::Raft(_, bytes) = &packet.body
            && decode_message(bytes).is_ok_and(|message| !message.entries.is_empty())
        {
            self.see(Sight::EntriesDoubled);
        }
    }
}
