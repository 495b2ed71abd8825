//! All nodes of a run, and the one loop in which everything happens.

use std::collections::BTreeMap;

use shoal_partition::{Millis, WaitEdge};
use shoal_types::{NodeId, PartitionId};

use crate::context::{Context, Event, Trace};
use crate::disk::Disk;
use crate::knobs::{Durability, Knobs};
use crate::process::{Env, Process};
use crate::random::Random;
use crate::sights::Sight;
use crate::stuck::Watch;

/// Late enough to be set back.
const WALL_CLOCK_START_US: u64 = 1 << 40;
/// A process that dies earlier after its start was hardly there.
const SOON_US: u64 = 50_000;

/// A host with its disk, and the process on it if there is one.
#[derive(Default)]
pub struct Machine {
    pub disk: Disk,
    pub process: Option<Process>,
    pub is_paused: bool,
    /// What happened to the process while it was paused.
    pub held: Vec<Event>,
    pub lives: u64,
    pub slow_disk_us: u64,
    /// What the next process begins with.
    pub durability: Durability,
    pub started_at_us: u64,
    pub died_at_us: u64,
}

pub struct World {
    pub ctx: Context,
    pub machines: BTreeMap<NodeId, Machine>,
    pub watch: Watch,
}

/// What the node's clocks show: the monotonic one, and the one of the wall.
fn clocks(ctx: &Context, node: NodeId) -> (Millis, u64) {
    let place = node.0 as usize - 1;
    let (ahead_ms, faster) = ctx.knobs.clock_ms[place];
    let now = Millis(ahead_ms + ctx.now_us * (1000 + faster) / 1_000_000);
    let step_us = ctx.wall_steps_us.get(&node).copied().unwrap_or(0);
    (now, (WALL_CLOCK_START_US + ctx.knobs.wall_us[place] + ctx.now_us).saturating_add_signed(step_us))
}

impl World {
    pub fn new(seed: u64, trace: Trace) -> World {
        let mut random = Random::new(seed);
        let knobs = Knobs::draw(&mut random);
        let machines = knobs
            .nodes()
            .map(|node| (node, Machine { durability: knobs.durability, ..Machine::default() }))
            .collect();
        let mut world = World { ctx: Context::new(knobs, random, trace), machines, watch: Watch::default() };
        let nodes: Vec<NodeId> = world.machines.keys().copied().collect();
        for node in nodes {
            world.start(node);
        }
        world
    }

    pub fn machine(&mut self, node: NodeId) -> &mut Machine {
        self.machines.get_mut(&node).expect("the node is one of the cluster's")
    }

    pub fn process(&mut self, node: NodeId) -> Option<&mut Process> {
        self.machine(node).process.as_mut()
    }

    pub fn clock(&self, node: NodeId) -> Millis {
        clocks(&self.ctx, node).0
    }

    /// Lets the node's process do something.
    pub fn with<T>(&mut self, node: NodeId, act: impl FnOnce(&mut Process, &mut Env<'_>) -> T) -> Option<T> {
        let World { ctx, machines, .. } = self;
        let Machine { disk, process, slow_disk_us, .. } = machines.get_mut(&node)?;
        let process = process.as_mut()?;
        let (now, wall_us) = clocks(ctx, node);
        let mut env = Env { ctx, disk, now, wall_us, slow_disk_us: *slow_disk_us };
        let outcome = act(process, &mut env);
        process.serve_woken(&mut env);
        Some(outcome)
    }

    // ---- processes ----

    pub fn start(&mut self, node: NodeId) {
        self.note_restart(node);
        let World { ctx, machines, .. } = self;
        let Some(machine) = machines.get_mut(&node) else { return };
        if machine.process.is_some() {
            return;
        }
        machine.lives += 1;
        machine.started_at_us = ctx.now_us;
        let life = machine.lives;
        ctx.tell(|| format!("node {node} starts, life {life}"));
        ctx.running.insert(node, (life, false));
        let (now, wall_us) = clocks(ctx, node);
        let slow_disk_us = machine.slow_disk_us;
        let mut env = Env { ctx, disk: &mut machine.disk, now, wall_us, slow_disk_us };
        machine.process = Some(Process::start(node, life, machine.durability, &mut env));
    }

    /// The process is gone at once. In good order: everything is on the disk.
    pub fn crash(&mut self, node: NodeId, in_good_order: bool) {
        self.note_coordinators(node);
        let World { ctx, machines, .. } = self;
        let Some(machine) = machines.get_mut(&node) else { return };
        let Some(process) = machine.process.take() else { return };
        machine.died_at_us = ctx.now_us;
        if machine.lives > 1 && ctx.now_us - machine.started_at_us < SOON_US {
            ctx.see(Sight::DiedTwice);
        }
        let is_whole = process.replicas.values().all(|replica| !replica.partition.is_amnesiac());
        ctx.tell(|| format!("node {node} {}", if in_good_order { "stops" } else { "dies" }));
        for session in process.sessions.into_values() {
            session.dies(ctx);
        }
        ctx.running.remove(&node);
        ctx.network.close_all(node);
        (machine.is_paused, machine.held) = (false, Vec::new());
        if in_good_order {
            let end = machine.disk.end();
            machine.disk.sync(end);
            machine.disk.promises.end_process(is_whole);
        } else {
            let damage = machine.disk.crash(&mut ctx.random);
            if damage.torn {
                ctx.see(Sight::TornTail);
            }
            if std::mem::take(&mut machine.disk.was_cut) {
                ctx.see(Sight::CrashAfterCut);
            }
            ctx.tell(|| format!("node {node} loses {} batches", damage.batches_lost));
        }
        if ctx.running.is_empty() {
            ctx.see(Sight::WholeClusterDown);
        }
    }

    /// Does a node come back while a lease that rested on it goes on?
    fn note_restart(&mut self, node: NodeId) {
        let Some(machine) = self.machines.get(&node).filter(|machine| machine.lives > 0) else { return };
        let down_us = self.ctx.now_us - machine.died_at_us;
        if machine.process.is_some() || down_us >= self.ctx.knobs.timing.lease_ms() * 1000 {
            return;
        }
        let hosted = self.ctx.knobs.all_partitions().filter(|&id| self.ctx.knobs.hosts(node, id));
        if hosted.collect::<Vec<_>>().into_iter().any(|id| self.server_of(id).is_some()) {
            self.ctx.see(Sight::RestartedWithinLease);
        }
    }

    /// Do transactions of this node's coordinators hang in the air?
    fn note_coordinators(&mut self, node: NodeId) {
        let Some(process) = self.machine(node).process.as_ref() else { return };
        let coordinating: Vec<_> = process
            .sessions
            .values()
            .filter(|session| session.is_coordinating())
            .map(|session| session.transaction)
            .collect();
        for transaction in coordinating {
            let others = self.machines.iter().filter(|(other, _)| **other != node);
            let replicas = others
                .filter_map(|(_, machine)| machine.process.as_ref())
                .flat_map(|process| process.replicas.values().map(|replica| &replica.partition));
            let (mut in_doubt, mut decided) = (false, false);
            for partition in replicas {
                in_doubt |= partition.in_doubt().iter().any(|&(id, _)| id == transaction);
                decided |= partition.unconfirmed().iter().any(|decision| decision.transaction == transaction);
            }
            match (in_doubt, decided) {
                (true, true) => self.ctx.see(Sight::CoordinatorDiedDecided),
                (true, false) => self.ctx.see(Sight::CoordinatorDiedUndecided),
                _ => {}
            }
        }
    }

    pub fn pause(&mut self, node: NodeId) {
        let machine = self.machine(node);
        if machine.process.is_some() && !machine.is_paused {
            machine.is_paused = true;
            if let Some(running) = self.ctx.running.get_mut(&node) {
                running.1 = true;
            }
            self.ctx.tell(|| format!("node {node} is paused"));
        }
    }

    /// The process goes on with what it had.
    pub fn resume(&mut self, node: NodeId) {
        let World { ctx, machines, .. } = self;
        let Some(machine) = machines.get_mut(&node).filter(|machine| machine.is_paused) else { return };
        machine.is_paused = false;
        if let Some(running) = ctx.running.get_mut(&node) {
            running.1 = false;
        }
        ctx.tell(|| format!("node {node} goes on"));
        if let Some(process) = &mut machine.process {
            process.is_fresh_from_pause = true;
        }
        for event in machine.held.drain(..) {
            let delay = ctx.random.below(300);
            ctx.plan(delay, event);
        }
    }

    // ---- events ----

    /// The next thing happens; false if nothing is left.
    pub fn step(&mut self) -> bool {
        let Some(event) = self.ctx.next_event() else { return false };
        match event.process() {
            None => match event {
                Event::Undo(undo) => self.undo(undo),
                _ => self.fault(),
            },
            Some((node, life)) => {
                let Some(machine) = self.machines.get_mut(&node) else { return true };
                let Some(process) = &machine.process else { return true };
                if life.is_some_and(|life| life != process.life) {
                    return true;
                }
                if machine.is_paused {
                    machine.held.push(event);
                    return true;
                }
                let is_tick = matches!(event, Event::Tick(..));
                self.with(node, |process, env| happen(process, env, event));
                if is_tick {
                    self.check_leaders();
                    self.watch_waits();
                }
            }
        }
        true
    }

    /// The node whose replica of the partition serves.
    pub fn server_of(&self, partition: PartitionId) -> Option<NodeId> {
        let serves = |(node, machine): &(&NodeId, &Machine)| {
            machine.process.as_ref().is_some_and(|process| process.serves(partition, self.clock(**node)))
        };
        self.machines.iter().find(serves).map(|(&node, _)| node)
    }

    /// At most one replica of a partition serves, paused ones and their clocks included.
    fn check_leaders(&mut self) {
        for partition in self.ctx.knobs.all_partitions() {
            let serves = |(node, machine): &(&NodeId, &Machine)| {
                let process = machine.process.as_ref();
                let replica = process.and_then(|process| process.replicas.get(&partition));
                replica.is_some_and(|replica| replica.partition.serves(self.clock(**node)))
            };
            let serving: Vec<NodeId> = self.machines.iter().filter(serves).map(|(&node, _)| node).collect();
            if serving.len() > 1 {
                self.ctx.accuse(format!("nodes {serving:?} all serve partition {partition}"));
            }
            if let Some(&node) = serving.first() {
                self.note_new_home(node, partition);
            }
        }
    }

    /// Has a partition got a new leader while others wait for its decisions?
    fn note_new_home(&mut self, node: NodeId, home: PartitionId) {
        let Some(process) = self.process(node) else { return };
        let term = process.partition(home).term();
        if process.home_terms.insert(home, term) == Some(term) {
            return;
        }
        if self.ctx.now_us < self.ctx.quiet_until_us {
            self.ctx.see(Sight::LeaderChangedInQuiet);
        }
        let replicas = self.machines.values().filter_map(|machine| machine.process.as_ref());
        let mut replicas = replicas.flat_map(|process| process.replicas.values());
        let waits = replicas.any(|replica| {
            replica.partition.is_leader() && replica.partition.in_doubt().iter().any(|&(_, of)| of == home)
        });
        if waits {
            self.ctx.see(Sight::HomeChangedInDoubt);
        }
    }

    // ---- waits ----

    /// Looks whether anybody waits without end.
    fn watch_waits(&mut self) {
        let now_us = self.ctx.now_us;
        let mut watch = std::mem::take(&mut self.watch);
        if watch.is_due(now_us, || self.is_calm()) {
            let deadlock = watch.see_waits(now_us, self.all_edges(), self.ctx.knobs.silence_ms);
            let may_rest = !self.ctx.is_rough || now_us < self.ctx.quiet_until_us;
            let standstill = watch.see_commits(now_us, self.ctx.history.committed.len(), may_rest);
            deadlock.into_iter().chain(standstill).for_each(|what| self.ctx.accuse(what));
        }
        self.watch = watch;
    }

    fn all_edges(&self) -> Vec<WaitEdge> {
        let processes =
            self.machines.iter().filter_map(|(&node, machine)| Some((node, machine.process.as_ref()?)));
        let waiting = processes.filter(|(_, process)| !process.waiting.is_empty());
        waiting.flat_map(|(node, process)| process.local_edges(self.clock(node))).collect()
    }

    /// All nodes run and hear each other, and every partition is served.
    fn is_calm(&self) -> bool {
        let nodes: Vec<_> = self.machines.keys().copied().collect();
        let pairs = nodes.iter().flat_map(|&one| nodes.iter().map(move |&other| (one, other)));
        self.ctx.network.is_calm()
            && nodes.iter().all(|&node| self.ctx.is_running(node))
            && pairs.filter(|(one, other)| one != other).all(|(one, other)| {
                let process = self.machines.get(&one).and_then(|machine| machine.process.as_ref());
                let link = process.and_then(|process| process.peers.get(&other)).and_then(|peer| peer.link);
                link.is_some() && link == self.ctx.network.link(one, other)
            })
            && self.machines.values().all(|machine| machine.slow_disk_us == 0)
            && self.ctx.knobs.all_partitions().all(|id| self.server_of(id).is_some())
    }
}

fn happen(process: &mut Process, env: &mut Env<'_>, event: Event) {
    match event {
        Event::Deliver(packet) => {
            if !env.ctx.network.is_cut(packet.from, packet.to) {
                process.receive(env, packet);
            }
        }
        Event::Tick(..) => process.tick(env),
        Event::Synced(_, _, end) => process.synced(env, end),
        Event::InMemory(_, _, end) => process.complete(env, end),
        Event::Client(_, _, which) => process.client(env, which),
        Event::CallFails(_, _, number, failure) => process.call_failed(env, number, failure),
        Event::Keeper(..) => process.keep(env),
        Event::Resolve(..) => process.resolve(env),
        Event::Install(..) => process.install(env),
        Event::Slice(_, _, partition) => process.slice(env, partition),
        Event::Fault | Event::Undo(_) => {}
    }
}
