//! Deadlocks as the product finds them, with its rules (`shoal_partition`): whoever closes a cycle within a node gives way at once; a look at
//! every tick finds what was not noticed then; and while somebody has waited for a moment, a node asks all others, twice, who
//! waits for whom, and ends the waits of the victims that wait with it.

use shoal_partition::{Millis, WaitEdge, WaitToken, is_deadlocked, victims, victims_of_both};
use shoal_types::{NodeId, TransactionId};

use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::sights::Sight;

/// Waits that are younger are not asked about, and nodes are asked no more often.
const SUSPECT_AFTER_US: u64 = 25_000;

impl Process {
    /// Who waits for whom in the partitions that are led here.
    pub fn local_edges(&self, now: Millis) -> Vec<WaitEdge> {
        let led = self.replicas.iter().filter(|(id, _)| self.serves(**id, now));
        led.flat_map(|(_, replica)| replica.partition.wait_edges()).collect()
    }

    /// A wait of this transaction has begun.
    pub fn end_if_deadlocked(&mut self, env: &mut Env<'_>, transaction: TransactionId) {
        if is_deadlocked(&self.local_edges(env.now), transaction) {
            env.ctx.see(Sight::DeadlockHere);
            self.condemn(env, transaction);
        }
    }

    /// Ends the waits that a transaction has here.
    fn condemn(&mut self, env: &mut Env<'_>, victim: TransactionId) {
        let waits = self.waiting.iter().filter(|(_, waiting)| waiting.transaction == Some(victim));
        let me = self.me;
        env.ctx.tell(|| format!("node {me} ends the waits of {victim:?}, which give way"));
        for token in waits.map(|(&token, _)| token).collect::<Vec<WaitToken>>() {
            self.end_wait(env, token, Reply::Deadlock);
        }
    }

    fn waits_here(&self, transaction: TransactionId) -> bool {
        self.waiting.values().any(|waiting| waiting.transaction == Some(transaction))
    }

    pub fn search_deadlocks(&mut self, env: &mut Env<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        for victim in victims(&self.local_edges(env.now)) {
            self.condemn(env, victim);
        }
        let now_us = env.ctx.now_us;
        let is_old = |since_us: u64| now_us - since_us >= SUSPECT_AFTER_US;
        let has_waited = self.waiting.values().any(|one| one.transaction.is_some() && is_old(one.since_us));
        // A link on which a question was swallowed is found to be silent by then, and the question has failed.
        let is_stale = now_us - self.deadlocks.begun_us > env.ctx.knobs.silence_ms * 1000;
        if has_waited && (self.deadlocks.left == 0 || is_stale) && is_old(self.deadlocks.begun_us) {
            self.deadlocks.begun_us = now_us;
            self.ask_for_edges(env, None);
        }
    }

    fn ask_for_edges(&mut self, env: &mut Env<'_>, first: Option<Vec<WaitEdge>>) {
        let linked = self.peers.iter().filter(|(_, peer)| peer.link.is_some());
        let peers: Vec<NodeId> = linked.map(|(&peer, _)| peer).collect();
        let edges = self.local_edges(env.now);
        let search = &mut self.deadlocks;
        search.number += 1;
        (search.left, search.edges, search.first) = (peers.len(), edges, first);
        let number = search.number;
        for peer in peers {
            self.call(env, peer, Request::WaitEdges, Owner::Edges(number));
        }
    }

    /// A node has answered, or will not.
    pub fn edges_told(&mut self, env: &mut Env<'_>, number: u64, answer: Answer) {
        let search = &mut self.deadlocks;
        if search.number != number || search.left == 0 {
            return;
        }
        search.left -= 1;
        if let Ok(Reply::Edges(mut edges)) = answer {
            search.edges.append(&mut edges);
        }
        if search.left > 0 {
            return;
        }
        let edges = std::mem::take(&mut search.edges);
        match search.first.take() {
            None if victims(&edges).is_empty() => {}
            None => self.ask_for_edges(env, Some(edges)),
            Some(first) => {
                for victim in victims_of_both(&first, &edges) {
                    if self.waits_here(victim) {
                        env.ctx.see(Sight::DeadlockBetweenNodes);
                        self.condemn(env, victim);
                    }
                }
            }
        }
    }
}
