//! What transactions have left behind whose coordinators, or whose links, are gone: requests and replies around what
//! [`Resolver`](crate::two_phase::Resolver) finds.

use std::sync::{Arc, MutexGuard, PoisonError};

use shoal_cluster::{EntryOf, Node, PartitionGuard, Place};
use shoal_partition::{Confirmation, Decision, DecisionStart, HomeOutcome};
use shoal_types::{NodeId, PartitionId, Result, Timestamp, TransactionId};

use super::{Served, Server};
use crate::commit::{Unflushed, wait_until_durable};
use crate::protocol;
use crate::two_phase::{InDoubt, Resolver, Undelivered, by_coordinator, decision_learnt};

/// What a coordinator is given to say which of its transactions have ended.
const ANSWERS_WITHIN: std::time::Duration = std::time::Duration::from_millis(500);

impl Server {
    fn led_partitions(&self) -> Vec<u32> {
        (0..self.node.partition_count()).filter(|&partition| self.node.leader(partition).is_ok()).collect()
    }

    /// The partitions that this node serves, one after the other.
    fn served_partitions(&self) -> impl Iterator<Item = PartitionGuard<'_>> {
        (0..self.node.partition_count()).filter_map(|partition| self.node.leader(partition).ok())
    }

    fn resolver(&self) -> MutexGuard<'_, Resolver> {
        self.resolver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- transactions without an end ----

    /// Rolls back what a node's transactions have here: its process is gone.
    pub fn end_transactions_of(&self, node: NodeId) {
        for partition in 0..self.node.partition_count() {
            let transactions = self.node.partition(partition).transactions_of(node);
            transactions.into_iter().for_each(|transaction| self.end_transaction(transaction, &[partition]));
        }
    }

    fn end_transaction(&self, transaction: TransactionId, partitions: &[u32]) {
        self.strike_out(transaction);
        for &partition in partitions {
            self.node.partition(partition).rollback(transaction);
        }
    }

    /// Asks the coordinators of transactions that have been here for a while whether they still run, and ends those that
    /// do not, or whose coordinators are not reached. Worth a call every few seconds.
    pub async fn end_orphans(&self) {
        let Some(remote) = self.node.remote() else { return };
        let partitions = self.led_partitions();
        let reached = remote.peers();
        let (is_other, is_reached) = (|node| node != remote.node(), |node| reached.contains(&node));
        let orphans = self.resolver().orphans(self.served_partitions(), is_other, is_reached);
        orphans.lost.into_iter().for_each(|transaction| self.end_transaction(transaction, &partitions));
        for transaction in self.ended_among(orphans.doubtful).await {
            self.end_transaction(transaction, &partitions);
        }
    }

    /// Those of the transactions whose coordinators say that they run no more.
    async fn ended_among(&self, transactions: Vec<TransactionId>) -> Vec<TransactionId> {
        let Some(remote) = self.node.remote() else { return Vec::new() };
        let mut ended = Vec::new();
        for (node, transactions) in by_coordinator(transactions) {
            if node == remote.node() {
                ended.extend(transactions.into_iter().filter(|&transaction| !self.node.coordinates(transaction)));
                continue;
            }
            let mut request = Vec::new();
            protocol::put_ended_among(&mut request, transactions.iter().copied());
            // Who does not answer is asked again, and does not keep the others from being asked.
            let Ok(Ok(reply)) = tokio::time::timeout(ANSWERS_WITHIN, remote.call(node, &request)).await else {
                continue;
            };
            let said = protocol::read_ended(&reply).unwrap_or_default();
            ended.extend(said.into_iter().filter(|transaction| transactions.contains(transaction)));
        }
        ended
    }

    // ---- decisions ----

    pub(super) fn outcome_of(&self, home: u32, transaction: TransactionId) -> Option<HomeOutcome> {
        let mut guard = self.node.leader(home).ok()?;
        let outcome = guard.outcome_of(transaction);
        drop(guard);
        if outcome == HomeOutcome::Aborted {
            self.strike_out(transaction);
        }
        Some(outcome)
    }

    pub(super) fn confirm(
        &self,
        home: u32,
        transaction: TransactionId,
        coordinator: bool,
        participants: impl Iterator<Item = PartitionId>,
    ) {
        // A home that is led elsewhere by now asks again.
        let Ok(mut guard) = self.node.leader(home) else { return };
        participants.for_each(|one| guard.confirm(transaction, Confirmation::Participant(one)));
        if coordinator {
            guard.confirm(transaction, Confirmation::Coordinator);
        }
    }

    /// Applies a decision; the reply says whether it is applied.
    pub(super) fn start_decision(
        self: &Arc<Self>,
        partition: u32,
        transaction: TransactionId,
        commit: Option<Timestamp>,
        reply: &mut Vec<u8>,
    ) -> Result<Served> {
        self.check_partition(partition)?;
        match commit {
            Some(timestamp) => self.node.clock().observe_peer(timestamp)?,
            None => self.strike_out(transaction),
        }
        let decision = commit.map_or(Decision::Abort, Decision::Commit);
        let mut waiter = self.node.waiter();
        let token = waiter.arm(1);
        let after = commit.unwrap_or(Timestamp::ZERO);
        let appended =
            self.node.append_entry(partition, EntryOf::Decision, after, &[], token, |partition, _, token| {
                Ok(partition.propose_decision(transaction, decision, token)? == DecisionStart::Proposed)
            });
        match appended {
            // Whoever is told "no" tells us again.
            Err(_) => protocol::put_decided(reply, false),
            Ok((_, appending)) if appending.signals == 0 => protocol::put_decided(reply, true),
            Ok((_, appending)) if !appending.needs_flush => {
                self.node.complete(appending.end);
                let reply = |is_applied| {
                    let mut reply = Vec::new();
                    protocol::put_decided(&mut reply, is_applied);
                    reply
                };
                return Ok(Served::AtSignal(waiter, Box::new(reply)));
            }
            Ok((_, appending)) => {
                let unflushed = Unflushed::new(&self.node, appending);
                return Ok(Served::Later(Box::pin(async move {
                    let is_applied = unflushed.wait(&waiter).await.is_ok();
                    let mut reply = Vec::new();
                    protocol::put_decided(&mut reply, is_applied);
                    reply
                })));
            }
        }
        Ok(Served::Done)
    }

    /// Sees to prepared transactions that wait for a decision, and to decisions that wait for confirmations. Worth a call
    /// a second, and one when a node has died or a partition has got a new leader.
    pub async fn resolve(self: &Arc<Self>) {
        self.resolve_in_doubt().await;
        self.repeat_decisions().await;
        self.forget_decisions().await;
    }

    async fn resolve_in_doubt(self: &Arc<Self>) {
        let peers = self.node.remote().map(|remote| (remote.node(), remote.peers()));
        let is_reached = |node| peers.as_ref().is_none_or(|(me, peers)| node == *me || peers.contains(&node));
        let in_doubt = self.resolver().in_doubt(self.served_partitions(), is_reached);
        for InDoubt { partition, transaction, home } in in_doubt {
            let (partition, home) = (partition.0, home.0);
            let mut request = Vec::new();
            protocol::put_outcome_of(&mut request, home, transaction);
            let Some(reply) = call_leader(self, home, &request).await else { continue };
            let outcome = protocol::read_outcome(&reply).ok().flatten();
            let commit = match outcome.and_then(decision_learnt) {
                Some(Decision::Commit(timestamp)) => Some(timestamp),
                Some(Decision::Abort) => None,
                None => continue,
            };
            request.clear();
            protocol::put_decide(&mut request, partition, transaction, commit);
            let applied = call_leader(self, partition, &request).await;
            if commit.is_some() && applied.is_some_and(|reply| protocol::read_decided(&reply).unwrap_or(false)) {
                request.clear();
                protocol::put_confirm(&mut request, home, transaction, false, [partition].into_iter());
                send_to_leader(self, home, &request);
            }
        }
    }

    async fn repeat_decisions(self: &Arc<Self>) {
        let found = self.resolver().undelivered(self.served_partitions());
        let asking = found.iter().filter(|one| one.decision.coordinator).map(|one| one.decision.transaction);
        let ended = self.ended_among(asking.collect()).await;
        let mut request = Vec::new();
        for Undelivered { home, decision } in found {
            let (home, transaction) = (home.0, decision.transaction);
            let mut confirmed = Vec::new();
            for &participant in &decision.participants {
                request.clear();
                protocol::put_decide(&mut request, participant.0, transaction, Some(decision.timestamp));
                let reply = call_leader(self, participant.0, &request).await;
                if reply.is_some_and(|reply| protocol::read_decided(&reply).unwrap_or(false)) {
                    confirmed.push(participant);
                }
            }
            self.confirm(home, transaction, ended.contains(&transaction), confirmed.into_iter());
        }
    }

    async fn forget_decisions(self: &Arc<Self>) {
        for home in self.led_partitions() {
            let mut waiter = self.node.waiter();
            let token = waiter.arm(1);
            let forget = |partition: &mut shoal_partition::Partition, _, token| partition.propose_forget(token);
            let appended =
                self.node.append_entry(home, EntryOf::Housekeeping, Timestamp::ZERO, &[], token, forget);
            if let Ok((_, appending)) = appended
                && appending.signals > 0
            {
                // What is not forgotten now is forgotten another time.
                let _ = wait_until_durable(&self.node, &waiter, appending).await;
            }
        }
    }
}

/// Has a request executed by the partition's leader, here or elsewhere. `None`: it cannot be reached just now.
async fn call_leader(server: &Arc<Server>, partition: u32, request: &[u8]) -> Option<Vec<u8>> {
    match server.node.place(partition) {
        Place::Local => Some(serve_here(server, request).await),
        Place::Remote(node) => server.node.remote()?.call(node, request).await.ok(),
        Place::Unknown => None,
    }
}

fn send_to_leader(server: &Arc<Server>, partition: u32, request: &[u8]) {
    match (server.node.place(partition), server.node.remote()) {
        (Place::Local, _) => {
            server.serve(own_id(&server.node), request, &mut Vec::new());
        }
        (Place::Remote(node), Some(remote)) => {
            remote.send(node, request);
        }
        _ => {}
    }
}

/// Executes a request of this node itself.
pub(crate) async fn serve_here(server: &Arc<Server>, request: &[u8]) -> Vec<u8> {
    let mut reply = Vec::new();
    let served = server.serve(own_id(&server.node), request, &mut reply);
    served.reply(reply).await
}

fn own_id(node: &Node) -> NodeId {
    node.remote().map_or(NodeId(0), |remote| remote.node())
}
