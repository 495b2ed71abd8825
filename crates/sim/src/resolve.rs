//! What transactions have left behind whose coordinators, or whose links, are gone: requests and replies around what the product's
//! resolver finds (`shoal_two_phase`).

use shoal_partition::{CommitToken, Confirmation, Decision};
use shoal_two_phase::{by_coordinator, decision_learnt};
use shoal_types::{NodeId, PartitionId, TransactionId};

use crate::context::Event;
use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::sights::Sight;
use crate::under_way::Waiting;

const ROUND_US: (u64, u64) = (40_000, 90_000);
/// A coordinator's node counts as not reached in one of so many rounds.
const LINK_LOST_ONE_IN: u64 = 8;

impl Process {
    pub fn resolve(&mut self, env: &mut Env<'_>) {
        let nodes: Vec<NodeId> = env.ctx.knobs.nodes().collect();
        let served: Vec<PartitionId> = self.hosted().into_iter().filter(|&id| self.serves(id, env.now)).collect();
        let replicas = || served.iter().map(|id| &self.replicas[id].partition);
        let is_reached = |node| node == self.me || self.peers.get(&node).is_some_and(|peer| peer.link.is_some());
        let orphans = self.resolver.orphans(replicas(), |_| true, is_reached);
        // A link may have ended without anything being wrong with whoever is behind it.
        let lost: Vec<NodeId> =
            nodes.iter().filter(|_| env.ctx.random.one_in(LINK_LOST_ONE_IN)).copied().collect();
        let in_doubt = self.resolver.in_doubt(replicas(), |node| !lost.contains(&node));
        let undelivered = self.resolver.undelivered(replicas());
        self.end_orphans(env, orphans.lost);
        for one in in_doubt {
            let request = Request::OutcomeOf(one.home, one.transaction);
            self.call_leader(env, request, Owner::InDoubt(one.partition, one.transaction));
        }
        let asking = undelivered.iter().filter(|one| one.decision.coordinator);
        let asking: Vec<TransactionId> = asking.map(|one| one.decision.transaction).collect();
        for one in undelivered {
            let transaction = one.decision.transaction;
            for participant in one.decision.participants {
                let request = Request::Decide(participant, transaction, Decision::Commit(one.decision.timestamp));
                self.call_leader(env, request, Owner::Told { home: one.home, transaction, participant });
            }
        }
        for (transactions, owner) in [(orphans.doubtful, Owner::Orphans), (asking, Owner::Coordinators)] {
            for (node, transactions) in by_coordinator(transactions) {
                let request = Request::EndedAmong(transactions.into_iter().collect());
                self.call(env, node, request, owner.clone());
            }
        }
        for id in served {
            let token = CommitToken(self.next_token());
            if let Ok(true) = self.partition(id).propose_forget(token) {
                self.proposals.insert(token, Waiting::Nobody);
            }
            self.settle(env, id);
        }
        let delay = env.ctx.random.between(ROUND_US.0, ROUND_US.1);
        env.ctx.plan(delay, Event::Resolve(self.me, self.life));
    }

    /// The home has answered a participant in doubt.
    pub fn home_told(
        &mut self,
        env: &mut Env<'_>,
        partition: PartitionId,
        transaction: TransactionId,
        answer: Answer,
    ) {
        let Ok(Reply::Outcome(outcome)) = answer else { return };
        let Some(decision) = decision_learnt(outcome) else { return };
        let in_doubt = self.partition(partition).in_doubt();
        let home = in_doubt.into_iter().find(|&(id, _)| id == transaction).map(|(_, home)| home);
        if let Some(home) = home.filter(|_| self.serves(partition, env.now)) {
            self.decide_learnt(env, (partition, home), transaction, decision);
        }
    }

    /// A participant has applied the decision, or has not.
    pub fn participant_told(
        &mut self,
        env: &mut Env<'_>,
        home: PartitionId,
        transaction: TransactionId,
        participant: PartitionId,
        answer: Answer,
    ) {
        if matches!(answer, Ok(Reply::Fine)) && self.serves(home, env.now) {
            let confirmation = Confirmation::Participant(participant);
            self.partition(home).confirm(transaction, confirmation);
        }
    }

    /// A coordinators' node has said which of the transactions that decisions wait for it runs no more.
    pub fn coordinators_told(&mut self, env: &mut Env<'_>, answer: Answer) {
        let Ok(Reply::Ended(transactions)) = answer else { return };
        for id in self.hosted().into_iter().filter(|&id| self.serves(id, env.now)).collect::<Vec<_>>() {
            for &transaction in &transactions {
                self.partition(id).confirm(transaction, Confirmation::Coordinator);
            }
        }
    }

    /// The same of those that have not prepared.
    pub fn orphans_told(&mut self, env: &mut Env<'_>, answer: Answer) {
        let Ok(Reply::Ended(transactions)) = answer else { return };
        self.end_orphans(env, transactions);
    }

    fn end_orphans(&mut self, env: &mut Env<'_>, transactions: Vec<TransactionId>) {
        for id in self.hosted().into_iter().filter(|&id| self.serves(id, env.now)).collect::<Vec<_>>() {
            for &transaction in &transactions {
                if self.partition(id).transactions_of(transaction.node()).contains(&transaction) {
                    env.ctx.see(Sight::OrphanEnded);
                }
                self.end_transaction(id, transaction);
            }
            self.settle(env, id);
        }
    }
}
