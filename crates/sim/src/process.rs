//! A node's process: its replicas, what it knows of the others, what is under way in it.
//!
//! `start` reads checkpoints and log back, as a node does. `driver` carries out what partitions ask for, `background`
//! passes the time, `server` answers requests, `client` is the client's side.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use shoal_partition::*;
use shoal_replication::{
    Agreements, Copies, HandOver, InFlight, Leaders, OnDisk, PeerHorizons, Recovered, ReplicaPlan, Unsent,
    may_serve, recovered, replay,
};
use shoal_two_phase::Resolver;
use shoal_types::{NodeId, PartitionId, Timestamp, TransactionId};

use crate::context::{Context, Event};
use crate::disk::{CheckpointFile, Disk};
use crate::knobs::{Durability, Knobs};
use crate::message::{Body, Failure, Packet, Request};
use crate::rows::Codec;
use crate::session::Session;
use crate::sights::Sight;
use crate::tables::Database;
use crate::under_way::{DeadlockSearch, Installing, Keeper, Outgoing, Waiting, WaitingRequest};

/// A call that has no reply after so long has failed.
const CALL_TIMEOUT_US: u64 = 700_000;
const BUDGET_BYTES: u64 = 1 << 30;
/// Units of a timestamp in a microsecond.
const UNITS_PER_US: u64 = 16;

/// What a process works with during one event.
pub struct Env<'a> {
    pub ctx: &'a mut Context,
    pub disk: &'a mut Disk,
    /// Its monotonic clock.
    pub now: Millis,
    pub wall_us: u64,
    pub slow_disk_us: u64,
}

pub struct Replica {
    pub partition: Partition,
    pub unsent: Unsent,
    pub on_disk: OnDisk<u64>,
    /// The timestamp of what it has proposed and is about to log.
    pub proposed_at: Timestamp,
    /// The term in which it was last seen to lead with a lease.
    pub served_term: u64,
    /// The term in which it serves: the clock has been moved beyond the snapshots that leaders before it may have shown.
    pub serving_term: u64,
    /// Nodes that have not said which snapshots are read there, and until when they are waited for.
    pub asking: Option<(BTreeSet<NodeId>, Millis)>,
    /// The table is being created.
    pub creating: bool,
    /// No transaction may join it here: another node is about to lead it.
    pub handing_over: Option<HandOver>,
    /// A slice of what large transactions leave to do is planned.
    pub going_on: bool,
}

/// Another node, as this one sees it.
#[derive(Default)]
pub struct Peer {
    /// The link in use.
    pub link: Option<u64>,
    pub life: u64,
    /// Lives up to this are known to be over.
    pub dead_life: u64,
    pub heard_at: Millis,
    pub reports: BTreeMap<PartitionId, ReplicaReport>,
}

/// Who waits for a reply.
#[derive(Clone, Debug)]
pub enum Owner {
    /// A session, and the partition that it asked.
    Session(u64, PartitionId),
    /// A participant in doubt has asked the home.
    InDoubt(PartitionId, TransactionId),
    /// A home has told a participant.
    Told {
        home: PartitionId,
        transaction: TransactionId,
        participant: PartitionId,
    },
    /// Whether the coordinators of what has not prepared still run.
    Orphans,
    /// The same of what has been decided.
    Coordinators,
    /// A leader of this partition and term wants to know which snapshots are read.
    Pulse(PartitionId, u64),
    Transfer(PartitionId, NodeId),
    /// This search for deadlocks.
    Edges(u64),
    /// The follower of a partition, with the number of its question.
    Follower(PartitionId, u64),
}

pub struct Call {
    pub to: NodeId,
    pub owner: Owner,
}

/// An output batch of a partition that is in the log.
pub struct InLog {
    pub partition: PartitionId,
    pub number: u64,
    pub timestamp: Timestamp,
}

pub struct Process {
    pub me: NodeId,
    pub life: u64,
    pub replicas: BTreeMap<PartitionId, Replica>,
    pub peers: BTreeMap<NodeId, Peer>,
    pub horizons: PeerHorizons,
    pub leaders: Leaders,
    /// Appended and not handed back.
    pub in_flight: InFlight<u64, InLog>,
    /// Everything before this is handed back.
    pub completed: u64,
    pub is_syncing: bool,
    pub sync_wanted: u64,
    /// The hybrid logical clock, and the newest commit that was seen.
    pub clock: Timestamp,
    pub visible: Timestamp,
    pub calls: BTreeMap<u64, Call>,
    pub next_call: u64,
    next_token: u64,
    pub proposals: BTreeMap<CommitToken, Waiting>,
    pub waiting: BTreeMap<WaitToken, WaitingRequest>,
    pub woken: VecDeque<WaitToken>,
    pub sessions: BTreeMap<u64, Session>,
    next_transaction: u64,
    pub keeper: Keeper,
    pub checkpointed: u64,
    pub outgoing: BTreeMap<(PartitionId, NodeId), Outgoing>,
    pub incoming: Copies<CheckpointFile>,
    pub installing: VecDeque<Installing>,
    /// What voters have agreed on, this life among them.
    pub agreements: Agreements,
    pub resolver: Resolver,
    pub ticks: u64,
    pub synced_at: Millis,
    /// When clients had done so much, the newest sync that has ended, and the one under way, began: everything that they had been
    /// told of then is, as far as this node has a share in it, on its disk.
    pub synced_moment: u64,
    pub syncing_moment: u64,
    /// It has come back from a pause and has not served since.
    pub is_fresh_from_pause: bool,
    /// The terms in which partitions have served here.
    pub home_terms: BTreeMap<PartitionId, u64>,
    pub codec: Codec,
    pub database: Database,
    pub durability: Durability,
    /// Durability was switched to disk: all that was acknowledged from memory is on the disk when this is.
    pub switches_at: Option<u64>,
    /// The replicas have been found to know all that they ever promised.
    pub noted_whole: bool,
    /// Why it cannot go on.
    pub stopped: Option<String>,
    pub deadlocks: DeadlockSearch,
}

impl Process {
    /// Starts a process on what the disk has.
    pub fn start(me: NodeId, life: u64, durability: Durability, env: &mut Env<'_>) -> Process {
        let knobs = env.ctx.knobs.clone();
        let is_initialised = env.disk.promises.initialised;
        let amnesia = env.disk.promises.begin_process(durability == Durability::Replicated);
        if is_initialised && amnesia && durability == Durability::Disk {
            env.ctx.see(Sight::AmnesiacWithDisk);
        }
        let peers = knobs.nodes().filter(|&node| node != me).map(|node| (node, Peer::default())).collect();
        let mut process = Process {
            me,
            life,
            replicas: BTreeMap::new(),
            peers,
            horizons: PeerHorizons::default(),
            leaders: Leaders::new(knobs.all_partitions().count() as u32),
            in_flight: InFlight::default(),
            completed: env.disk.end(),
            is_syncing: false,
            sync_wanted: 0,
            clock: Timestamp::ZERO,
            visible: Timestamp::ZERO,
            calls: BTreeMap::new(),
            // A reply to a call of an earlier life finds nobody: in the product it ends with its link.
            next_call: life << 32,
            next_token: 0,
            proposals: BTreeMap::new(),
            waiting: BTreeMap::new(),
            woken: VecDeque::new(),
            sessions: BTreeMap::new(),
            next_transaction: 0,
            keeper: Keeper::default(),
            checkpointed: 0,
            outgoing: BTreeMap::new(),
            incoming: Copies::default(),
            installing: VecDeque::new(),
            agreements: Agreements::default(),
            resolver: Resolver::default(),
            ticks: 0,
            synced_at: env.now,
            synced_moment: 0,
            syncing_moment: 0,
            is_fresh_from_pause: false,
            home_terms: BTreeMap::new(),
            codec: Codec::default(),
            database: Database::default(),
            durability,
            switches_at: None,
            noted_whole: false,
            stopped: None,
            deadlocks: DeadlockSearch::default(),
        };
        for partition in knobs.all_partitions().filter(|&partition| knobs.hosts(me, partition)) {
            match recover(&knobs, me, life, amnesia, partition, env.disk) {
                Ok(recovered) => process.adopt(partition, recovered),
                Err(error) => {
                    process.stop(env, &format!("partition {partition} cannot be recovered: {error}"));
                    return process;
                }
            }
        }
        let replicas = process.replicas.values().map(|replica| &replica.partition);
        let Recovered { visible, clock } = recovered(replicas);
        (process.clock, process.visible) = (clock, visible);
        if process.clock.0 > env.wall_us * UNITS_PER_US {
            env.ctx.see(Sight::StartedBehind);
        }
        process.begin(env);
        process
    }

    fn adopt(&mut self, id: PartitionId, partition: Partition) {
        let replica = Replica {
            partition,
            unsent: Unsent::default(),
            on_disk: OnDisk::default(),
            proposed_at: Timestamp::ZERO,
            served_term: 0,
            serving_term: 0,
            asking: None,
            creating: false,
            handing_over: None,
            going_on: false,
        };
        self.replicas.insert(id, replica);
    }

    /// Has every replica take part.
    fn begin(&mut self, env: &mut Env<'_>) {
        for partition in self.hosted() {
            let started = self.partition(partition).start();
            self.check(env, partition, started);
            self.settle(env, partition);
        }
        // A start waits for its disk.
        env.disk.sync(env.disk.end());
        self.complete(env, env.disk.end());
        for event in [
            Event::Tick(self.me, self.life),
            Event::Keeper(self.me, self.life),
            Event::Resolve(self.me, self.life),
        ] {
            let delay = env.ctx.random.below(10_000);
            env.ctx.plan(delay, event);
        }
        if env.ctx.knobs.is_data(self.me) {
            for slot in 0..env.ctx.knobs.clients_per_node {
                env.ctx.plan(1000, Event::Client(self.me, self.life, slot));
            }
        }
    }

    /// The process cannot go on.
    pub fn stop(&mut self, env: &mut Env<'_>, reason: &str) {
        env.ctx.accuse(format!("node {} stops: {reason}", self.me));
        self.stopped.get_or_insert_with(|| reason.to_owned());
    }

    pub fn check<T>(&mut self, env: &mut Env<'_>, partition: PartitionId, result: shoal_types::Result<T>) {
        if let Err(error) = result {
            self.stop(env, &format!("partition {partition}: {error}"));
        }
    }

    pub fn hosted(&self) -> Vec<PartitionId> {
        self.replicas.keys().copied().collect()
    }

    /// It knows all that it ever promised.
    pub fn is_whole(&self) -> bool {
        let mut replicas = self.replicas.values();
        replicas.all(|replica| !replica.partition.is_amnesiac() && !replica.partition.is_installing())
    }

    /// A replica that this node has.
    pub fn partition(&mut self, partition: PartitionId) -> &mut Partition {
        &mut self.replicas.get_mut(&partition).expect("the node holds a replica of the partition").partition
    }

    pub fn serves(&self, partition: PartitionId, now: Millis) -> bool {
        let replica = self.replicas.get(&partition);
        replica.is_some_and(|replica| may_serve(&replica.partition, replica.serving_term, now))
    }

    // ---- clocks and numbers ----

    pub fn observe(&mut self, seen: Timestamp) {
        self.clock = self.clock.max(seen);
    }

    pub fn tick_clock(&mut self, env: &Env<'_>) -> Timestamp {
        self.clock = Timestamp((self.clock.0 + 1).max(env.wall_us * UNITS_PER_US));
        self.clock
    }

    /// Later than all timestamps of the partition.
    pub fn timestamp_for(&mut self, env: &Env<'_>, partition: PartitionId) -> Timestamp {
        let newest = self.partition(partition).newest_timestamp();
        self.observe(newest);
        let timestamp = self.tick_clock(env);
        if let Some(replica) = self.replicas.get_mut(&partition) {
            replica.proposed_at = timestamp;
        }
        timestamp
    }

    pub fn next_token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    pub fn next_transaction(&mut self) -> TransactionId {
        self.next_transaction += 1;
        TransactionId(u64::from(self.me.0) << 52 | self.life << 32 | self.next_transaction)
    }

    /// No snapshot before this is in use or will be taken.
    pub fn horizon(&self) -> Timestamp {
        let linked = self.peers.iter().filter(|(_, peer)| peer.link.is_some());
        self.own_horizon().min(self.horizons.least(linked.map(|(&peer, _)| peer)))
    }

    pub fn own_horizon(&self) -> Timestamp {
        let in_use = self.sessions.values().filter_map(Session::snapshot).min();
        in_use.unwrap_or(self.visible).min(self.visible)
    }

    // ---- messages ----

    /// Hands a message to the link; false if there is none.
    pub fn send(&mut self, env: &mut Env<'_>, to: NodeId, body: Body) -> bool {
        if to != self.me && self.peers.get(&to).is_none_or(|peer| peer.link.is_none()) {
            return false;
        }
        env.ctx.post(Packet { from: self.me, life: self.life, to, clock: self.clock, body });
        true
    }

    /// Asks a node. The owner hears of the reply, or of the failure, later.
    pub fn call(&mut self, env: &mut Env<'_>, to: NodeId, request: Request, owner: Owner) {
        self.next_call += 1;
        let number = self.next_call;
        let failed = !self.send(env, to, Body::Request(number, request));
        self.calls.insert(number, Call { to, owner });
        let (after_us, failure) = if failed { (1, Failure::NotSent) } else { (CALL_TIMEOUT_US, Failure::Lost) };
        env.ctx.plan(after_us, Event::CallFails(self.me, self.life, number, failure));
    }

    /// Asks the node that leads the request's partition, as far as is known, or, now and then, another one.
    pub fn call_leader(&mut self, env: &mut Env<'_>, request: Request, owner: Owner) {
        match self.leader_of(env, &request) {
            Some(leader) => self.call(env, leader, request, owner),
            None => {
                self.next_call += 1;
                self.calls.insert(self.next_call, Call { to: self.me, owner });
                let event = Event::CallFails(self.me, self.life, self.next_call, Failure::NotSent);
                env.ctx.plan(1, event);
            }
        }
    }

    /// Asks without wanting a reply.
    pub fn tell_leader(&mut self, env: &mut Env<'_>, request: Request) {
        if let Some(leader) = self.leader_of(env, &request) {
            self.send(env, leader, Body::Request(0, request));
        }
    }

    fn leader_of(&self, env: &mut Env<'_>, request: &Request) -> Option<NodeId> {
        let partition = request.partition()?;
        if !env.ctx.is_closing && env.ctx.random.per_mille(env.ctx.knobs.astray_per_mille) {
            let voters = env.ctx.knobs.placement(partition).voters.clone();
            return env.ctx.random.pick(&voters).map(|&voter| NodeId(voter as u32));
        }
        self.leaders.of(partition.0)
    }
}

/// A replica as checkpoint and log have it.
fn recover(
    knobs: &Knobs,
    me: NodeId,
    life: u64,
    amnesia: bool,
    id: PartitionId,
    disk: &Disk,
) -> shoal_types::Result<Partition> {
    let budget = Arc::new(MemoryBudget::new(BUDGET_BYTES));
    let placement = knobs.placement(id);
    let single = PartitionConfig::single(id, budget);
    let plan = ReplicaPlan {
        replica: u64::from(me.0),
        voters: placement.voters.clone(),
        witness: placement.witness,
        timing: knobs.timing,
        amnesia,
        life,
    };
    let config = plan.config(PartitionConfig { tail_bytes_max: knobs.tail_bytes_max, ..single });
    let config = PartitionConfig { slice_writes: knobs.slice_writes, ..config };
    let mut partition = Partition::new(config);
    for block in disk.checkpoint(id).iter().flat_map(|file| &file.blocks) {
        partition.install_checkpoint_block(block)?;
    }
    let records = disk.batches().flat_map(|batch| &batch.records).filter(|(of, _)| *of == id);
    for (_, record) in records {
        replay(&mut partition, record.as_log_record())?;
    }
    Ok(partition)
}
