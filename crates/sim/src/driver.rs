//! Carrying out what partitions ask for, in the order that `Outputs` demands: messages, log, and what waits for the log.
//!
//! This is the simulated counterpart of the cluster's own driver; where the two differ, the simulator proves nothing.

use shoal_partition::{Message, encode_message};
use shoal_planted::{Bug, is_planted};
use shoal_types::{NodeId, PartitionId};

use crate::context::Event;
use crate::disk::Record;
use crate::knobs::Durability;
use crate::message::Body;
use crate::process::{Env, InFlight, Process};
use crate::sights::Sight;

impl Process {
    /// Does what a partition wants done, while nobody else touches it.
    pub fn settle(&mut self, env: &mut Env<'_>, partition: PartitionId) {
        let Some(replica) = self.replicas.get_mut(&partition) else { return };
        let is_single = replica.partition.is_single();
        let applied = replica.partition.applied_timestamp();
        let outputs = replica.partition.outputs();
        let mut messages: Vec<Message> = outputs.messages.drain(..).collect();
        let number = outputs.number;
        for message in outputs.messages_after_persist.drain(..) {
            match number <= replica.durable_number || is_planted(Bug::SendBeforeDurable) {
                true => messages.push(message),
                false => replica.unsent.push_back((number, message)),
            }
        }
        let committed = std::mem::take(&mut outputs.committed);
        let lost = std::mem::take(&mut outputs.lost);
        let unknown = std::mem::take(&mut outputs.unknown);
        self.woken.extend(outputs.woken.drain(..));
        let wanted = std::mem::take(&mut outputs.wants_checkpoint);
        let mut records = Vec::new();
        let must_sync = outputs.must_sync();
        if outputs.must_persist() {
            if let Some(start) = outputs.log_start.take() {
                records.push((partition, Record::Start(start)));
            }
            // A group of one needs no vote on disk: its term is that of its last entry.
            if let Some(vote) = outputs.hard_state.take().filter(|_| !is_single) {
                records.push((partition, Record::Vote(vote)));
            }
            records.extend(outputs.append.drain(..).map(|entry| {
                let (index, term, data) = (entry.index(), entry.term(), entry.data().to_vec());
                (partition, Record::Entry { index, term, data })
            }));
        }
        self.observe(applied);
        self.visible = self.visible.max(applied);
        for message in messages {
            self.send_raft(env, partition, &message);
        }
        if !records.is_empty() {
            let me = self.me;
            if env.ctx.says() {
                let text: Vec<String> = records.iter().map(|(_, record)| record.to_string()).collect();
                env.ctx.tell(|| format!("node {me} logs of partition {partition}: {}", text.join(", ")));
            }
            let end = env.disk.append(records);
            self.in_flight.push_back(InFlight { end, partition, number, must_sync });
            self.see_to(env, end, must_sync);
        }
        for token in committed {
            self.proposal_committed(env, partition, token);
        }
        for token in lost {
            self.proposal_lost(env, partition, token);
        }
        for token in unknown {
            self.proposal_unknown(env, token);
        }
        for replica in wanted {
            self.want_checkpoint(env, partition, NodeId(replica as u32));
        }
        let Some(replica) = self.replicas.get_mut(&partition) else { return };
        if replica.partition.has_ending() && !std::mem::replace(&mut replica.going_on, true) {
            env.ctx.see(Sight::AppliedInSlices);
            let delay = env.ctx.random.below(env.ctx.knobs.delay_us.1);
            env.ctx.plan(delay, Event::Slice(self.me, self.life, partition));
        }
    }

    /// Does a slice of what large transactions leave to do.
    pub fn slice(&mut self, env: &mut Env<'_>, partition: PartitionId) {
        let Some(replica) = self.replicas.get_mut(&partition) else { return };
        replica.going_on = false;
        replica.partition.go_on();
        self.settle(env, partition);
    }

    fn send_raft(&mut self, env: &mut Env<'_>, partition: PartitionId, message: &Message) {
        let mut bytes = Vec::new();
        encode_message(message, &mut bytes);
        self.send(env, NodeId(message.to as u32), Body::Raft(partition, bytes));
    }

    /// Has what was appended synced, or handed back if that can be done without.
    fn see_to(&mut self, env: &mut Env<'_>, end: u64, must_sync: bool) {
        if self.durability == Durability::Disk || must_sync {
            self.want_sync(env, end);
        } else {
            let delay = env.ctx.random.below(200);
            env.ctx.plan(delay, Event::InMemory(self.me, self.life, end));
        }
    }

    /// Entries count in memory from now on, or on the disk. What counted in memory before is noted until the disk has it.
    pub fn switch_durability(&mut self, env: &mut Env<'_>, durability: Durability) {
        self.durability = durability;
        self.forgets_replicated_at = None;
        match durability {
            Durability::Replicated => {
                env.disk.replicated = true;
                env.ctx.see(Sight::SwitchedToReplicated);
            }
            Durability::Disk => env.ctx.see(Sight::SwitchedToDisk),
        }
    }

    /// Forgets that entries counted in memory when that is no longer so and the disk has them all.
    pub fn forget_replicated(&mut self, env: &mut Env<'_>) {
        if self.durability == Durability::Replicated || !env.disk.replicated || !self.is_whole() {
            return;
        }
        let end = *self.forgets_replicated_at.get_or_insert(env.disk.end());
        match env.disk.durable() >= end {
            true => env.disk.replicated = false,
            false => self.want_sync(env, end),
        }
    }

    pub fn want_sync(&mut self, env: &mut Env<'_>, end: u64) {
        self.sync_wanted = self.sync_wanted.max(end);
        if !self.is_syncing && self.sync_wanted > env.disk.durable() {
            self.is_syncing = true;
            self.syncing_moment = if self.is_whole() { env.ctx.history.now() } else { self.synced_moment };
            let (low, high) = env.ctx.knobs.sync_us;
            let delay = env.ctx.random.between(low, high) + env.slow_disk_us;
            env.ctx.plan(delay, Event::Synced(self.me, self.life, env.disk.end()));
        }
    }

    pub fn synced(&mut self, env: &mut Env<'_>, end: u64) {
        self.is_syncing = false;
        self.synced_moment = self.syncing_moment;
        env.disk.sync(end);
        self.complete(env, end);
        self.want_sync(env, 0);
    }

    /// Hands everything up to `end` back to the partitions, as far as nothing before it has to be synced first.
    pub fn complete(&mut self, env: &mut Env<'_>, end: u64) {
        let mut touched: Vec<(PartitionId, u64)> = Vec::new();
        let durable = env.disk.durable();
        while let Some(first) = self.in_flight.front() {
            if first.end > end || (first.must_sync && first.end > durable) {
                break;
            }
            match touched.iter_mut().find(|(partition, _)| *partition == first.partition) {
                Some((_, number)) => *number = (*number).max(first.number),
                None => touched.push((first.partition, first.number)),
            }
            self.completed = self.completed.max(first.end);
            self.in_flight.pop_front();
        }
        if self.in_flight.is_empty() {
            self.completed = self.completed.max(end.min(env.disk.end()));
        }
        let horizon = self.horizon();
        for (partition, number) in touched {
            self.partition(partition).set_gc_horizon(horizon);
            let persisted = self.partition(partition).persisted(number);
            self.check(env, partition, persisted);
            let Some(replica) = self.replicas.get_mut(&partition) else { continue };
            replica.durable_number = replica.durable_number.max(number);
            let mut due = Vec::new();
            while replica.unsent.front().is_some_and(|&(wanted, _)| wanted <= number) {
                due.extend(replica.unsent.pop_front());
            }
            for (_, message) in due {
                self.send_raft(env, partition, &message);
            }
            self.settle(env, partition);
        }
    }
}
