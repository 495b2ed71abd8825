//! The passing of time in a process: ticks, links, gossip of the other nodes, the end of amnesia, leaders at their places.

use std::collections::BTreeSet;

use shoal_partition::{Agreement, CommitToken, Incarnation, Millis, ReplicaReport, Role, decode_message};
use shoal_planted::{Bug, is_planted};
use shoal_replication::{HandOver, HandedOver, Standing, concerns};
use shoal_types::{NodeId, PartitionId, TableSchema};

use crate::context::Event;
use crate::knobs::Durability;
use crate::message::{Answer, Body, Failure, Gossip, Packet, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::sights::Sight;
use crate::tables::schemas;
use crate::under_way::Waiting;

const TICKS_PER_NEWS: u64 = 4;
/// How long a node that begins to lead waits for those that may be reading snapshots.
const SNAPSHOTS_PATIENCE_MS: u64 = 100;
const TICKS_PER_BALANCE: u64 = 40;

impl Process {
    pub fn tick(&mut self, env: &mut Env<'_>) {
        self.ticks += 1;
        for partition in self.hosted() {
            let was_amnesiac = self.partition(partition).is_amnesiac();
            let ticked = self.partition(partition).tick(env.now);
            self.check(env, partition, ticked);
            if was_amnesiac && !self.partition(partition).is_amnesiac() {
                env.ctx.see(Sight::AmnesiaCured);
            }
            self.note_leader(env, partition);
            self.have_table(env, partition);
            if let Some(replica) = self.replicas.get_mut(&partition) {
                replica.on_disk.pass(&mut replica.partition, || env.disk.end(), || env.disk.durable());
            }
            self.go_on_handing_over(env, partition);
            self.settle(env, partition);
        }
        self.mind_links(env);
        self.leave_amnesia(env);
        self.end_long_waits(env);
        self.search_deadlocks(env);
        self.ask_followers(env);
        if self.ticks.is_multiple_of(TICKS_PER_NEWS) {
            self.send_gossip(env);
        }
        if self.ticks.is_multiple_of(TICKS_PER_BALANCE) {
            self.balance_leaders(env);
        }
        self.end_switch(env);
        let is_replicated = self.durability == Durability::Replicated;
        if is_replicated && env.now.since(self.synced_at) >= env.ctx.knobs.global_checkpoint_ms {
            self.synced_at = env.now;
            self.want_sync(env, env.disk.end());
        }
        let next_us = env.ctx.knobs.timing.tick_ms() * 1000 - 500 + env.ctx.random.below(1000);
        env.ctx.plan(next_us, Event::Tick(self.me, self.life));
    }

    fn note_leader(&mut self, env: &mut Env<'_>, id: PartitionId) {
        let me = self.me;
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        let term = replica.partition.term();
        let standing = Standing::of(&replica.partition, replica.serving_term, env.now);
        match standing {
            Standing::Serves(term) => {
                self.is_fresh_from_pause = false;
                self.leaders.learn(id.0, me, term);
                return;
            }
            Standing::MustAsk(term) => {
                self.is_fresh_from_pause = false;
                return self.begin_to_serve(env, id, term);
            }
            Standing::Follows(leader, term) => {
                self.leaders.forget(id.0, me);
                if let Some(leader) = leader {
                    self.leaders.learn(id.0, NodeId(leader as u32), term);
                }
            }
        }
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        let leader = replica.partition.leader();
        if replica.partition.is_witness() && replica.partition.role() == Role::Leader {
            if replica.served_term != term {
                replica.served_term = term;
                env.ctx.see(Sight::WitnessElected);
                env.ctx.tell(|| format!("witness {me} leads partition {id} in term {term}"));
            }
        } else if replica.partition.is_witness()
            && replica.served_term != 0
            && let Some(leader) = leader.filter(|&leader| leader != u64::from(me.0))
        {
            replica.served_term = 0;
            env.ctx.see(Sight::WitnessHandedOver);
            env.ctx.tell(|| format!("witness {me} has handed partition {id} over to {leader}"));
        }
    }

    /// A snapshot that the leader before has shown must stay what it was: whoever reads one is asked first. Who does not
    /// answer soon is not waited for.
    fn begin_to_serve(&mut self, env: &mut Env<'_>, id: PartitionId, term: u64) {
        let up: BTreeSet<NodeId> =
            self.peers.iter().filter(|(_, peer)| peer.link.is_some()).map(|(&peer, _)| peer).collect();
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        let asked_in = replica.served_term == term && replica.asking.is_some();
        if !asked_in {
            replica.served_term = term;
            replica.asking = Some((up.clone(), env.now.plus(SNAPSHOTS_PATIENCE_MS)));
            for peer in up {
                self.call(env, peer, Request::Pulse, Owner::Pulse(id, term));
            }
        }
        self.serve_if_asked(env, id, term);
    }

    fn serve_if_asked(&mut self, env: &mut Env<'_>, id: PartitionId, term: u64) {
        let me = self.me;
        let Some(replica) = self.replicas.get_mut(&id).filter(|replica| replica.served_term == term) else {
            return;
        };
        let is_due = |(left, until): &(BTreeSet<NodeId>, Millis)| left.is_empty() || env.now >= *until;
        if replica.asking.as_ref().is_some_and(is_due) {
            (replica.serving_term, replica.asking) = (term, None);
            if !replica.partition.in_doubt().is_empty() {
                env.ctx.see(Sight::TakeoverWithPrepared);
            }
            env.ctx.tell(|| format!("node {me} serves partition {id} in term {term}"));
            self.leaders.learn(id.0, me, term);
        }
    }

    /// A node has said how late its snapshots are, or will not.
    fn pulse_heard(&mut self, env: &mut Env<'_>, id: PartitionId, term: u64, from: NodeId, answer: Answer) {
        if let Ok(Reply::Visible(visible, _)) = answer {
            self.observe(visible);
            self.visible = self.visible.max(visible);
        }
        if let Some(replica) = self.replicas.get_mut(&id)
            && replica.served_term == term
            && let Some((left, _)) = &mut replica.asking
        {
            left.remove(&from);
            self.serve_if_asked(env, id, term);
        }
    }

    /// Whoever leads sees to it that the tables are there, one after the other.
    fn have_table(&mut self, env: &mut Env<'_>, id: PartitionId) {
        let token = CommitToken(self.next_token());
        let serves = self.serves(id, env.now);
        let Some(replica) = self.replicas.get_mut(&id).filter(|replica| !replica.creating && serves) else {
            return;
        };
        let is_missing = |schema: &TableSchema| replica.partition.schema(schema.id).is_none();
        let Some(missing) = schemas().find(is_missing) else { return };
        if replica.partition.create_fragment(missing.into(), token).is_ok() {
            replica.creating = true;
            self.proposals.insert(token, Waiting::Table);
        }
    }

    fn balance_leaders(&mut self, env: &mut Env<'_>) {
        for id in self.hosted() {
            let Some(preferred) = env.ctx.knobs.placement(id).voters.first().copied() else { continue };
            if preferred != u64::from(self.me.0) {
                let presses = env.ctx.random.one_in(4);
                self.begin_hand_over(env, id, NodeId(preferred as u32), presses);
            }
        }
    }

    pub fn begin_hand_over(&mut self, env: &mut Env<'_>, id: PartitionId, to: NodeId, presses: bool) {
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        let begun = HandOver::begin(&replica.partition, to, presses, env.now);
        match &mut replica.handing_over {
            Some(known) => known.press(presses),
            None => replica.handing_over = begun,
        }
    }

    fn go_on_handing_over(&mut self, env: &mut Env<'_>, id: PartitionId) {
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        let Some(handing_over) = &mut replica.handing_over else { return };
        match handing_over.go_on(&mut replica.partition, env.now) {
            HandedOver::Waits => {}
            HandedOver::Resigned => {
                env.ctx.see(Sight::Resigned);
                self.settle(env, id);
            }
            HandedOver::Over => replica.handing_over = None,
        }
    }

    // ---- amnesia ----

    /// Groups of which nobody knows more go on from what there is.
    fn leave_amnesia(&mut self, env: &mut Env<'_>) {
        // Between two modes of durability nothing is noted.
        if self.noted_whole || self.switches_at.is_some() {
            return;
        }
        let mut all_known = true;
        for id in self.hosted() {
            if !self.partition(id).is_amnesiac() {
                continue;
            }
            let agreement = shoal_replication::agree(
                (u64::from(self.me.0), self.life),
                &self.replicas[&id].partition,
                !env.disk.promises.initialised,
                &self.reports(env, id),
            );
            if let Some(agreement) = agreement {
                self.take_agreement(env, id, &agreement);
            }
            all_known &= !self.partition(id).is_amnesiac();
        }
        if all_known {
            self.noted_whole = true;
            env.disk.promises.note_whole(self.durability == Durability::Replicated);
        }
    }

    fn take_agreement(&mut self, env: &mut Env<'_>, id: PartitionId, agreement: &Agreement) {
        if self.agreements.of(id.0).is_none_or(|known| known.newest < agreement.newest) {
            if env.disk.promises.initialised {
                env.ctx.see(Sight::AmnesiaForgotten);
            }
            let me = self.me;
            env.ctx.tell(|| format!("node {me} learns for partition {id}: {agreement:?}"));
        }
        let Some(replica) = self.replicas.get_mut(&id) else { return };
        if replica.partition.gives_up_log(agreement) {
            env.disk.promises.give_up_log();
            self.noted_whole = false;
        }
        let taken = self.agreements.take(id.0, &mut replica.partition, agreement);
        if matches!(taken, Ok(true)) {
            self.settle(env, id);
        }
        self.check(env, id, taken);
    }

    /// What the other voters that are connected have told.
    fn reports(&self, env: &Env<'_>, id: PartitionId) -> Vec<(Incarnation, &ReplicaReport)> {
        let report_of = |voter: u64| {
            let peer = self.peers.get(&NodeId(voter as u32)).filter(|peer| peer.link.is_some())?;
            Some(((voter, peer.life), peer.reports.get(&id)?))
        };
        let voters = env.ctx.knobs.placement(id).voters.iter();
        voters.filter_map(|&voter| report_of(voter)).collect()
    }

    // ---- links ----

    fn mind_links(&mut self, env: &mut Env<'_>) {
        let connects_one_in = env.ctx.knobs.connects_one_in;
        let peers: Vec<NodeId> = self.peers.keys().copied().collect();
        for peer in peers {
            let is_whole = env.ctx.network.is_whole(self.me, peer) && env.ctx.is_running(peer);
            let open = env.ctx.network.link(self.me, peer);
            let Some(known) = self.peers.get_mut(&peer) else { continue };
            if is_whole {
                known.heard_at = env.now;
            }
            match known.link {
                Some(link) if open != Some(link) && (is_whole || !env.ctx.network.is_cut(peer, self.me)) => {
                    self.link_broke(env, peer);
                }
                Some(_) if env.now.since(known.heard_at) > env.ctx.knobs.silence_ms => {
                    env.ctx.network.close(self.me, peer);
                    self.link_broke(env, peer);
                }
                None if is_whole
                    && !env.ctx.network.is_refused(self.me, peer)
                    && env.ctx.random.one_in(connects_one_in) =>
                {
                    let link = env.ctx.network.open(self.me, peer);
                    self.link_is_up(env, peer, link);
                }
                _ => {}
            }
        }
    }

    pub fn link_broke(&mut self, env: &mut Env<'_>, peer: NodeId) {
        let me = self.me;
        let Some(known) = self.peers.get_mut(&peer) else { return };
        known.link = None;
        known.reports.clear();
        let life = known.life;
        env.ctx.tell(|| format!("node {me} has lost its link to {peer}"));
        self.leaders.forget_node(peer);
        self.horizons.forget(peer);
        let lost: Vec<u64> =
            self.calls.iter().filter(|(_, call)| call.to == peer).map(|(&number, _)| number).collect();
        for number in lost {
            self.call_failed(env, number, Failure::Lost);
        }
        self.end_transactions_of(env, peer);
        for id in self.hosted() {
            let lost = self.partition(id).peer_lost(u64::from(peer.0));
            self.check(env, id, lost);
            self.settle(env, id);
        }
        let is_gone = match env.ctx.life_of(peer) == Some(life) && env.ctx.network.is_refused(me, peer) {
            true => {
                env.ctx.see(Sight::RefusedAlive);
                is_planted(Bug::BelieveRefusal)
            }
            false => env.ctx.life_of(peer) != Some(life),
        };
        if is_gone && !env.ctx.network.is_cut(peer, me) && env.ctx.random.per_mille(env.ctx.knobs.proof_per_mille)
        {
            self.peer_died(env, peer, life);
        }
    }

    fn link_is_up(&mut self, env: &mut Env<'_>, peer: NodeId, link: u64) {
        let Some(life) = env.ctx.life_of(peer) else { return };
        self.meet_life(env, peer, life);
        if let Some(known) = self.peers.get_mut(&peer) {
            known.link = Some(link);
        }
        let me = self.me;
        env.ctx.tell(|| format!("node {me} has a link to {peer}"));
    }

    /// A life of a peer has spoken: those before it are over.
    fn meet_life(&mut self, env: &mut Env<'_>, peer: NodeId, life: u64) {
        let Some(known) = self.peers.get_mut(&peer) else { return };
        if life <= known.life {
            return;
        }
        let before = std::mem::replace(&mut known.life, life);
        known.reports.clear();
        if before != 0 && known.dead_life < before {
            if self.peers[&peer].link.is_some() {
                self.link_broke(env, peer);
            }
            self.peer_died(env, peer, life - 1);
        }
    }

    fn peer_died(&mut self, env: &mut Env<'_>, peer: NodeId, life: u64) {
        let Some(known) = self.peers.get_mut(&peer) else { return };
        if known.dead_life >= life {
            return;
        }
        known.dead_life = life;
        let me = self.me;
        env.ctx.tell(|| format!("node {me} has proof that life {life} of {peer} is over"));
        for id in self.hosted() {
            let died = self.partition(id).peer_died(u64::from(peer.0));
            self.check(env, id, died);
            self.settle(env, id);
        }
    }

    // ---- what arrives ----

    pub fn receive(&mut self, env: &mut Env<'_>, packet: Packet) {
        let Packet { from, life, clock, body, .. } = packet;
        if from != self.me {
            let Some(known) = self.peers.get(&from) else { return };
            if life < known.life || life <= known.dead_life {
                return;
            }
            self.meet_life(env, from, life);
        }
        if !is_planted(Bug::IgnoreClockOfFrames) {
            self.observe(clock);
        }
        match body {
            Body::Raft(id, bytes) => self.receive_raft(env, from, id, &bytes),
            Body::Gossip(gossip) => self.receive_gossip(env, from, gossip),
            Body::Request(number, request) => self.serve(env, from, number, request),
            Body::Reply(number, reply) => {
                if let Some(call) = self.calls.remove(&number) {
                    self.hear(env, call.owner, call.to, Ok(reply));
                }
            }
        }
    }

    fn receive_raft(&mut self, env: &mut Env<'_>, from: NodeId, id: PartitionId, bytes: &[u8]) {
        if !self.replicas.contains_key(&id) {
            return;
        }
        match decode_message(bytes) {
            Ok(message) => {
                let partition = self.partition(id);
                let stepped = partition
                    .check_message(u64::from(from.0), &message)
                    .and_then(|()| partition.step_message(message));
                self.check(env, id, stepped);
            }
            Err(error) => self.stop(env, &format!("a message of its own kind cannot be read: {error}")),
        }
        self.settle(env, id);
    }

    pub fn call_failed(&mut self, env: &mut Env<'_>, number: u64, failure: Failure) {
        if let Some(call) = self.calls.remove(&number) {
            self.hear(env, call.owner, call.to, Err(failure));
        }
    }

    // ---- gossip ----

    fn send_gossip(&mut self, env: &mut Env<'_>) {
        let hosted = self.hosted();
        let reports = hosted.iter().filter_map(|&id| {
            let replica = &self.replicas[&id].partition;
            let others = self.reports(env, id);
            Some((id, shoal_replication::report(replica, !env.disk.promises.initialised, &others)?))
        });
        let reports = reports.collect();
        let led = env.ctx.knobs.all_partitions().filter(|id| self.leaders.of(id.0) == Some(self.me));
        let leads = led.map(|id| (id.0, self.leaders.term_of(id.0))).collect();
        let agreements =
            self.agreements.all().map(|(id, agreement)| (PartitionId(id), agreement.clone())).collect();
        let gossip = Gossip { reports, agreements, leads, horizon: self.own_horizon(), visible: self.visible };
        let peers: Vec<NodeId> = self.peers.keys().copied().collect();
        for peer in peers {
            self.send(env, peer, Body::Gossip(gossip.clone()));
        }
    }

    fn receive_gossip(&mut self, env: &mut Env<'_>, from: NodeId, gossip: Gossip) {
        for (id, agreement) in gossip.agreements {
            if concerns(&agreement, (u64::from(self.me.0), self.life)) {
                self.take_agreement(env, id, &agreement);
            }
        }
        self.leaders.hear(from, &gossip.leads);
        // Snapshots taken here from now on are not older.
        self.observe(gossip.visible);
        self.visible = self.visible.max(gossip.visible);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.reports = gossip.reports.into_iter().collect();
            self.horizons.note(from, gossip.horizon);
        }
    }

    /// What was learnt by a call goes to whom it belongs to.
    pub fn hear(&mut self, env: &mut Env<'_>, owner: Owner, from: NodeId, answer: Answer) {
        if let Ok(Reply::NotLeader(hint)) = &answer
            && let Some(partition) = owner.partition()
        {
            self.leaders.misplaced(partition.0, from, *hint);
        }
        match owner {
            Owner::Session(id, partition) => self.session_hears(env, id, partition, answer),
            Owner::InDoubt(partition, transaction) => self.home_told(env, partition, transaction, answer),
            Owner::Told { home, transaction, participant } => {
                self.participant_told(env, home, transaction, participant, answer);
            }
            Owner::Orphans => self.orphans_told(env, answer),
            Owner::Coordinators => self.coordinators_told(env, answer),
            Owner::Pulse(id, term) => self.pulse_heard(env, id, term, from, answer),
            Owner::Transfer(partition, to) => self.block_taken(env, partition, to, answer),
            Owner::Edges(number) => self.edges_told(env, number, answer),
            Owner::Follower(partition, number) => self.follower_hears(env, from, partition, number, answer),
        }
    }
}

impl Owner {
    fn partition(&self) -> Option<PartitionId> {
        match self {
            Owner::Session(_, partition) => Some(*partition),
            Owner::Told { participant, .. } => Some(*participant),
            Owner::Follower(partition, _) => Some(*partition),
            Owner::InDoubt(..)
            | Owner::Orphans
            | Owner::Coordinators
            | Owner::Pulse(..)
            | Owner::Transfer(..)
            | Owner::Edges(_) => None,
        }
    }
}
