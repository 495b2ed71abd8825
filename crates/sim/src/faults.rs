//! What goes wrong, and how much of it may go wrong at a time.
//!
//! Where all nodes have `disk` durability, and nothing that counted in memory is missing on a disk, any number of processes may die. Where entries count in memory, a majority's memory must
//! survive: a process dies only while all others are whole, that is, have caught up with what they may have lost. Or all
//! die at once: then what is on the disks is what there is.

use shoal_types::{NodeId, PartitionId};

use crate::context::{Event, Undo};
use crate::knobs::{Durability, Fault};
use crate::process::Process;
use crate::sights::Sight;
use crate::world::World;

impl World {
    /// One fault, and the time of the next.
    pub fn fault(&mut self) {
        if !self.ctx.is_rough {
            return;
        }
        let (low, high) = self.ctx.knobs.fault_every_ms;
        let next_us = self.ctx.random.between(low, high) * 1000;
        self.ctx.plan(next_us, Event::Fault);
        let total: u64 = self.ctx.knobs.faults.iter().map(|(_, weight)| weight).sum();
        if total == 0 {
            return;
        }
        let mut draw = self.ctx.random.below(total);
        for (fault, weight) in self.ctx.knobs.faults.clone() {
            if draw < weight {
                return self.cause(fault);
            }
            draw -= weight;
        }
    }

    fn any_node(&mut self) -> NodeId {
        let nodes = self.machines.len() as u64;
        NodeId(1 + self.ctx.random.below(nodes) as u32)
    }

    fn undo_later(&mut self, low_ms: u64, high_ms: u64, undo: Undo) {
        let delay_us = self.ctx.random.between(low_ms * 1000, high_ms * 1000);
        self.ctx.plan(delay_us, Event::Undo(undo));
    }

    fn cause(&mut self, fault: Fault) {
        let (node, other) = (self.any_node(), self.any_node());
        match fault {
            Fault::Crash => self.crash_for_a_while(node),
            Fault::CrashSeveral => {
                let all = self.ctx.random.one_in(3);
                if all && self.counts_in_memory() {
                    self.crash_everything();
                    return;
                }
                for node in self.ctx.knobs.nodes() {
                    if all || self.ctx.random.one_in(2) {
                        self.crash_for_a_while(node);
                    }
                }
            }
            Fault::Pause => {
                self.pause(node);
                self.undo_later(10, 900, Undo::Resume(node));
            }
            Fault::Cut => {
                self.cut(node, other);
                self.cut(other, node);
            }
            Fault::CutOneWay => self.cut(node, other),
            Fault::Isolate => {
                for other in self.ctx.knobs.nodes().filter(|&other| other != node) {
                    self.cut(node, other);
                    self.cut(other, node);
                }
            }
            Fault::Reset => {
                self.ctx.network.close(node, other);
                self.ctx.tell(|| format!("the link between {node} and {other} is reset"));
            }
            Fault::SlowDisk => {
                self.machine(node).slow_disk_us = 20_000 + self.ctx.random.below(150_000);
                self.undo_later(50, 600, Undo::QuickDisk(node));
            }
            Fault::SlowLink => {
                let slow_us = self.ctx.random.below(120_000);
                self.ctx.network.slow_down(node, other, slow_us);
                self.undo_later(50, 600, Undo::SpeedUp(node, other));
            }
            Fault::HandOver => self.hand_over(),
            Fault::Wipe => self.wipe(node),
            Fault::KillClient => self.kill_client(node),
            Fault::QuickRestart => self.restart_quickly(node),
            Fault::RestartUnderLease => self.restart_under_lease(),
            Fault::Refuse if node != other => {
                self.ctx.network.refuse(node, other);
                self.ctx.tell(|| format!("connections between {node} and {other} are refused"));
                self.undo_later(20, 700, Undo::Admit(node, other));
            }
            Fault::Refuse => {}
            Fault::CutInQuiet => self.cut_in_quiet(node),
            Fault::ClockStep => self.step_clock(node),
            Fault::SwitchDurability => self.switch_durability(node),
        }
    }

    pub fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Start(node) => self.start(node),
            Undo::Resume(node) => self.resume(node),
            Undo::AllDie => {
                if self.ctx.is_rough && self.crash_everything() {
                    self.ctx.see(Sight::DiedAtDecision);
                }
            }
            Undo::Mend(from, to) => self.ctx.network.mend(from, to),
            Undo::SpeedUp(from, to) => self.ctx.network.speed_up(from, to),
            Undo::QuickDisk(node) => self.machine(node).slow_disk_us = 0,
            Undo::Admit(node, other) => self.ctx.network.admit(node, other),
            Undo::StartAndDie(node, after_us) => {
                self.start(node);
                self.ctx.plan(after_us, Event::Undo(Undo::Die(node)));
            }
            Undo::Die(node) => self.crash_for_a_while(node),
            Undo::RestartApart { node, leader, deaf } => {
                if !self.may_die(node) {
                    return;
                }
                self.crash(node, false);
                let start_us = self.ctx.random.below(2_000);
                self.ctx.plan(start_us, Event::Undo(Undo::Start(node)));
                // Whoever hears nothing of the leader is told so again and again: it campaigns at once, before the lease is over.
                for number in 1..8 {
                    let soon_us = number * 8_000 + self.ctx.random.below(8_000);
                    self.ctx.plan(soon_us, Event::Undo(Undo::LoseLink(deaf, leader)));
                }
                for (from, to) in [(leader, node), (node, leader)] {
                    self.ctx.network.cut(from, to);
                    self.undo_later(100, 200, Undo::Mend(from, to));
                }
            }
            Undo::LoseLink(node, other) => {
                self.with(node, |process, env| process.link_broke(env, other));
            }
        }
    }

    /// Somebody acknowledges from memory, or has and does not have all of it on the disk yet.
    fn counts_in_memory(&self) -> bool {
        self.machines.values().any(|machine| {
            let runs =
                machine.process.as_ref().is_some_and(|process| process.durability == Durability::Replicated);
            runs || machine.disk.promises.from_memory || machine.durability == Durability::Replicated
        })
    }

    fn restart_quickly(&mut self, node: NodeId) {
        if !self.may_die(node) {
            return;
        }
        self.crash(node, false);
        let start_us = self.ctx.random.below(15_000);
        let undo = match self.ctx.random.one_in(2) {
            true => Undo::Start(node),
            false => Undo::StartAndDie(node, self.ctx.random.below(40_000)),
        };
        self.ctx.plan(start_us, Event::Undo(undo));
    }

    /// A voter that does not hear the leader wants to be elected, as soon as another one votes for it that has just
    /// come back, and comes back again and again.
    fn restart_under_lease(&mut self) {
        let partition = PartitionId(self.ctx.random.below(u64::from(self.ctx.knobs.partitions) + 1) as u32);
        let Some(leader) = self.server_of(partition) else { return };
        let voters = self.ctx.knobs.placement(partition).voters.iter().map(|&voter| NodeId(voter as u32));
        let mut others: Vec<NodeId> = voters.filter(|&voter| voter != leader).collect();
        if others.len() < 2 {
            return;
        }
        let deaf = others.swap_remove(self.ctx.random.below(others.len() as u64) as usize);
        let Some(restarted) = self.ctx.random.pick(&others).copied() else { return };
        self.ctx.tell(|| format!("{deaf} does not hear {leader}, which leads partition {partition}"));
        for (from, to) in [(leader, deaf), (deaf, leader)] {
            self.ctx.network.cut(from, to);
            self.undo_later(1_600, 2_000, Undo::Mend(from, to));
        }
        for number in 1..5 {
            self.undo_later(
                number * 350,
                number * 350 + 200,
                Undo::RestartApart { node: restarted, leader, deaf },
            );
        }
    }

    /// Ways from and to a node are cut, some or all, in one direction or both, while clients do nothing.
    fn cut_in_quiet(&mut self, node: NodeId) {
        self.ctx.quiet_until_us = self.ctx.now_us + self.ctx.random.between(100_000, 900_000);
        let directions = self.ctx.random.below(3);
        for other in self.ctx.knobs.nodes() {
            if self.ctx.random.one_in(3) {
                continue;
            }
            if directions != 0 {
                self.cut(node, other);
            }
            if directions != 1 {
                self.cut(other, node);
            }
        }
    }

    fn step_clock(&mut self, node: NodeId) {
        let longest_us = [20_000, 2_000_000, 3_600_000_000][self.ctx.random.below(3) as usize];
        let step_us = self.ctx.random.below(longest_us) as i64;
        let is_forward = self.ctx.random.one_in(2);
        let step_us = if is_forward { step_us } else { -step_us };
        *self.ctx.wall_steps_us.entry(node).or_default() += step_us;
        self.ctx.tell(|| format!("the wall clock of node {node} is set by {step_us} us"));
        let sight = if is_forward { Sight::ClockSteppedForward } else { Sight::ClockSteppedBack };
        self.ctx.see(sight);
    }

    /// Of a process that runs and of those to come; or of those alone.
    fn switch_durability(&mut self, node: NodeId) {
        let machine = self.machine(node);
        let wanted = match machine.durability {
            Durability::Disk => Durability::Replicated,
            Durability::Replicated => Durability::Disk,
        };
        machine.durability = wanted;
        let is_paused = machine.is_paused;
        self.ctx.tell(|| format!("the durability of node {node} is {wanted:?}"));
        if wanted == Durability::Disk && self.ctx.random.one_in(2) && self.may_die(node) {
            self.crash(node, false);
            return self.undo_later(5, 300, Undo::Start(node));
        }
        if !is_paused && !self.ctx.random.one_in(3) {
            self.with(node, |process, env| process.switch_durability(env, wanted));
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId) {
        if from != to {
            self.ctx.network.cut(from, to);
            self.ctx.tell(|| format!("the way from {from} to {to} is cut"));
            self.undo_later(20, 900, Undo::Mend(from, to));
        }
    }

    /// Its process runs and knows all that it ever promised.
    fn is_whole(&self, node: NodeId) -> bool {
        let process = self.machines.get(&node).and_then(|machine| machine.process.as_ref());
        process.is_some_and(Process::is_whole)
    }

    fn others_are_whole(&self, node: NodeId) -> bool {
        self.ctx.knobs.nodes().filter(|&other| other != node).all(|other| self.is_whole(other))
    }

    /// Nothing is lost for good if the process dies without warning.
    fn may_die(&self, node: NodeId) -> bool {
        let knobs = &self.ctx.knobs;
        let is_alone = knobs.all_partitions().any(|id| knobs.is_alone(id) && knobs.hosts(node, id));
        !self.counts_in_memory() || (!is_alone && self.others_are_whole(node))
    }

    fn crash_for_a_while(&mut self, node: NodeId) {
        let in_memory = self.counts_in_memory();
        let is_alone = self
            .ctx
            .knobs
            .all_partitions()
            .any(|partition| self.ctx.knobs.is_alone(partition) && self.ctx.knobs.hosts(node, partition));
        let in_good_order = (in_memory && is_alone) || self.ctx.random.one_in(6);
        if in_memory && !in_good_order && !self.others_are_whole(node) {
            return;
        }
        self.crash(node, in_good_order);
        self.undo_later(5, 700, Undo::Start(node));
    }

    /// Everybody's memory is gone at once. What clients were told may be lost, but for what all disks have had the time to sync,
    /// and for transactions over several partitions, which wait for the disk.
    fn crash_everything(&mut self) -> bool {
        let nodes: Vec<NodeId> = self.ctx.knobs.nodes().collect();
        if !nodes.iter().all(|&node| self.is_whole(node)) {
            return false;
        }
        let processes = self.machines.values().filter_map(|machine| machine.process.as_ref());
        let synced = processes.map(|process| process.synced_moment).min().unwrap_or(0);
        if synced < self.ctx.history.opened_at() {
            return false;
        }
        self.ctx.tell(|| format!("all nodes die at once; everything up to moment {synced} is synced"));
        for node in nodes {
            self.crash(node, false);
            self.undo_later(5, 700, Undo::Start(node));
        }
        self.ctx.history.forget_after(synced);
        true
    }

    fn hand_over(&mut self) {
        let partition = PartitionId(self.ctx.random.below(u64::from(self.ctx.knobs.partitions) + 1) as u32);
        let voters = self.ctx.knobs.placement(partition).voters.clone();
        let to = self.ctx.random.pick(&voters).copied().unwrap_or(1);
        let Some(server) = self.server_of(partition).filter(|&node| self.ctx.is_running(node)) else { return };
        self.ctx.tell(|| format!("partition {partition} is handed over to {to}"));
        self.with(server, |process, env| {
            // Refused for the witness, and while another hand-over is under way.
            let _ = process.partition(partition).transfer_leader(to);
            process.settle(env, partition);
        });
    }

    /// A data directory is lost, while everybody else has everything.
    fn wipe(&mut self, node: NodeId) {
        if !self.ctx.knobs.is_data(node) || !self.others_are_whole(node) || !self.is_whole(node) {
            return;
        }
        for partition in self.ctx.knobs.data_partitions() {
            let voters = self.ctx.knobs.placement(partition).voters.clone();
            let Some(server) = self.server_of(partition) else { return };
            let Some(process) = self.process(server) else { return };
            let end = process.partition(partition).last_index().0;
            let others = voters.iter().map(|&voter| NodeId(voter as u32)).filter(|&voter| voter != node);
            for other in others {
                let Some(process) = self.process(other) else { return };
                let replica = process.partition(partition);
                if !replica.is_witness() && replica.applied_index() != end {
                    return;
                }
            }
        }
        self.crash(node, false);
        self.ctx.tell(|| format!("node {node} begins with an empty directory"));
        self.ctx.see(Sight::DataNodeWiped);
        self.machine(node).disk.wipe();
        self.undo_later(5, 300, Undo::Start(node));
    }

    fn kill_client(&mut self, node: NodeId) {
        self.with(node, |process, env| {
            let Some(&id) = process.sessions.keys().next() else { return };
            let Some(session) = process.sessions.remove(&id) else { return };
            env.ctx.tell(|| format!("a client of transaction {} dies", session.transaction));
            process.replace_client(env, session);
        });
    }

    /// Ends all faults.
    pub fn heal(&mut self) {
        self.ctx.tell(|| "everything is healed".to_owned());
        self.ctx.is_rough = false;
        self.ctx.network.heal();
        self.ctx.retain(|event| !matches!(event, Event::Fault | Event::Undo(_)));
        for node in self.ctx.knobs.nodes() {
            self.machine(node).slow_disk_us = 0;
            self.resume(node);
            self.start(node);
        }
    }
}
