//! What the simulated node does for its partitions: the same code as the product's (`shoal_replication`), with a simulated log, links
//! and clocks around it.

use shoal_partition::{CommitToken, Message, Partition, encode_message};
use shoal_replication::{Batch, Durable, Host, apply_durable, take_records};
use shoal_types::{NodeId, PartitionId, Result, Timestamp};

use crate::context::Event;
use crate::disk::Record;
use crate::knobs::Durability;
use crate::message::Body;
use crate::process::{Env, InLog, Process};
use crate::sights::Sight;

/// What a partition wants done, in its order, to be done as soon as it is let go.
#[derive(Default)]
struct Actions(Vec<Action>);

enum Action {
    Send(Message),
    Applied(Timestamp),
    Committed(CommitToken),
    Lost(CommitToken),
    Unknown(CommitToken),
    WantCheckpoint(NodeId),
    Append(Vec<Record>, Option<Batch>),
}

impl Host for Actions {
    type Appended = ();

    fn send(&mut self, message: &Message) {
        self.0.push(Action::Send(message.clone()));
    }

    fn applied(&mut self, timestamp: Timestamp) {
        self.0.push(Action::Applied(timestamp));
    }

    fn committed(&mut self, token: CommitToken) {
        self.0.push(Action::Committed(token));
    }

    fn lost(&mut self, token: CommitToken) {
        self.0.push(Action::Lost(token));
    }

    fn unknown(&mut self, token: CommitToken) {
        self.0.push(Action::Unknown(token));
    }

    fn want_checkpoints(&mut self, replicas: &[u64]) {
        self.0.extend(replicas.iter().map(|&replica| Action::WantCheckpoint(NodeId(replica as u32))));
    }

    fn append(&mut self, partition: &mut Partition) -> Result<()> {
        let mut records = Vec::new();
        let batch = take_records(partition, |record| records.push(Record::of(record)));
        self.0.push(Action::Append(records, batch));
        Ok(())
    }
}

impl Process {
    /// Does what a partition wants done, while nobody else touches it.
    pub fn settle(&mut self, env: &mut Env<'_>, partition: PartitionId) {
        let Some(replica) = self.replicas.get_mut(&partition) else { return };
        let mut actions = Actions::default();
        let settled = shoal_replication::settle(&mut replica.partition, || &mut replica.unsent, &mut actions);
        self.carry_out(env, partition, settled, actions);
    }

    fn carry_out(&mut self, env: &mut Env<'_>, id: PartitionId, settled: Result<()>, actions: Actions) {
        self.check(env, id, settled);
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        let timestamp = std::mem::take(&mut replica.proposed_at);
        self.woken.extend(replica.partition.outputs().woken.drain(..));
        for action in actions.0 {
            match action {
                Action::Send(message) => self.send_raft(env, id, &message),
                Action::Applied(timestamp) => {
                    self.observe(timestamp);
                    self.visible = self.visible.max(timestamp);
                }
                Action::Committed(token) => self.proposal_committed(env, id, token),
                Action::Lost(token) => self.proposal_lost(env, id, token),
                Action::Unknown(token) => self.proposal_unknown(env, id, token),
                Action::WantCheckpoint(replica) => self.want_checkpoint(env, id, replica),
                Action::Append(records, batch) => self.append(env, id, records, batch, timestamp),
            }
        }
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        if replica.partition.has_ending() && !std::mem::replace(&mut replica.going_on, true) {
            env.ctx.see(Sight::AppliedInSlices);
            let delay = env.ctx.random.below(env.ctx.knobs.delay_us.1);
            env.ctx.plan(delay, Event::Slice(self.me, self.life, id));
        }
    }

    fn append(
        &mut self,
        env: &mut Env<'_>,
        partition: PartitionId,
        records: Vec<Record>,
        batch: Option<Batch>,
        timestamp: Timestamp,
    ) {
        let me = self.me;
        if env.ctx.says() {
            let text: Vec<String> = records.iter().map(|record| record.to_string()).collect();
            env.ctx.tell(|| format!("node {me} logs of partition {partition}: {}", text.join(", ")));
        }
        let end = env.disk.append(records.into_iter().map(|record| (partition, record)).collect());
        if let Some(Batch { number, must_sync }) = batch {
            self.in_flight.stage(InLog { partition, number, timestamp }, must_sync);
        }
        let batch = self.in_flight.end_batch();
        let must_sync = batch.must_sync;
        self.in_flight.appended(batch, end);
        self.see_to(env, end, must_sync);
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

    /// Entries count in memory from now on, or on the disk.
    pub fn switch_durability(&mut self, env: &mut Env<'_>, durability: Durability) {
        self.durability = durability;
        self.switches_at = None;
        match durability {
            Durability::Replicated => {
                env.disk.promises.acknowledge_from_memory();
                env.ctx.see(Sight::SwitchedToReplicated);
            }
            Durability::Disk => {
                self.switches_at = Some(env.disk.end());
                env.ctx.see(Sight::SwitchedToDisk);
            }
        }
    }

    /// Ends the switch to disk when that has all that counted in memory before.
    pub fn end_switch(&mut self, env: &mut Env<'_>) {
        let Some(end) = self.switches_at else { return };
        match env.disk.durable() >= end {
            true => {
                self.switches_at = None;
                let is_whole = self.is_whole();
                env.disk.promises.acknowledge_from_disk(is_whole);
            }
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
        let mut durable = Durable::default();
        let mut newest = Timestamp::ZERO;
        let on_disk = env.disk.durable();
        let last = self.in_flight.take_due(
            end,
            || on_disk,
            |in_log: InLog| {
                durable.note(in_log.partition.0, in_log.number);
                newest = newest.max(in_log.timestamp);
            },
        );
        self.visible = self.visible.max(newest);
        self.completed = self.completed.max(last.unwrap_or_default());
        if self.in_flight.is_empty() {
            self.completed = self.completed.max(end.min(env.disk.end()));
        }
        let horizon = self.horizon();
        for (partition, number) in durable.drain() {
            let id = PartitionId(partition);
            let Some(replica) = self.replicas.get_mut(&id) else { continue };
            let applied = apply_durable(&mut replica.partition, number, horizon);
            if applied.is_err() {
                self.check(env, id, applied);
                continue;
            }
            let mut actions = Actions::default();
            let (partition, unsent) = (&mut replica.partition, &mut replica.unsent);
            let settled = shoal_replication::settle_durable(partition, number, unsent, &mut actions);
            self.carry_out(env, id, settled, actions);
        }
    }
}
