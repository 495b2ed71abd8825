//! What transactions have left behind whose coordinators, or whose links, are gone.
//!
//! Only what was there a round before is seen to. Participants in doubt ask the home; homes tell participants again and ask
//! whether coordinators still run; what nobody coordinates any more and is not prepared is rolled back; what everybody
//! has confirmed is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use shoal_partition::{CommitToken, Confirmation, Decision, HomeOutcome};
use shoal_types::{NodeId, PartitionId, TransactionId};

use crate::context::Event;
use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::server::Waiting;
use crate::sights::Sight;

const ROUND_US: (u64, u64) = (40_000, 90_000);

pub fn coordinator_of(transaction: TransactionId) -> NodeId {
    NodeId((transaction.0 >> 52) as u32)
}

impl Process {
    pub fn resolve(&mut self, env: &mut Env<'_>) {
        let mut unsettled = BTreeSet::new();
        let mut asking: BTreeMap<NodeId, BTreeSet<TransactionId>> = BTreeMap::new();
        let nodes: Vec<NodeId> = env.ctx.knobs.nodes().collect();
        let served: Vec<PartitionId> = self.hosted().into_iter().filter(|&id| self.serves(id, env.now)).collect();
        for &id in &served {
            for (transaction, home) in self.partition(id).in_doubt() {
                unsettled.insert((id, transaction));
                if self.seen_unsettled.contains(&(id, transaction)) {
                    self.call_leader(env, Request::OutcomeOf(home, transaction), Owner::InDoubt(id, transaction));
                }
            }
            for decision in self.partition(id).unconfirmed() {
                let transaction = decision.transaction;
                unsettled.insert((id, transaction));
                if !self.seen_unsettled.contains(&(id, transaction)) {
                    continue;
                }
                for participant in decision.participants {
                    let request = Request::Decide(participant, transaction, Decision::Commit(decision.timestamp));
                    self.call_leader(env, request, Owner::Told { home: id, transaction, participant });
                }
                if decision.coordinator {
                    asking.entry(coordinator_of(transaction)).or_default().insert(transaction);
                }
            }
            for &node in &nodes {
                for transaction in self.partition(id).transactions_of(node) {
                    unsettled.insert((id, transaction));
                    if self.seen_unsettled.contains(&(id, transaction)) {
                        asking.entry(node).or_default().insert(transaction);
                    }
                }
            }
            let token = CommitToken(self.next_token());
            if let Ok(true) = self.partition(id).propose_forget(token) {
                self.proposals.insert(token, Waiting::Nobody);
            }
            self.settle(env, id);
        }
        for (node, transactions) in asking {
            self.call(env, node, Request::EndedAmong(transactions.into_iter().collect()), Owner::Ended);
        }
        self.seen_unsettled = unsettled;
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
        let decision = match answer {
            Ok(Reply::Outcome(HomeOutcome::Committed(timestamp))) => Decision::Commit(timestamp),
            Ok(Reply::Outcome(HomeOutcome::Aborted)) => Decision::Abort,
            _ => return,
        };
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

    /// A coordinators' node has said which transactions it runs no more.
    pub fn coordinators_told(&mut self, env: &mut Env<'_>, answer: Answer) {
        let Ok(Reply::Ended(transactions)) = answer else { return };
        for id in self.hosted() {
            if !self.serves(id, env.now) {
                continue;
            }
            for &transaction in &transactions {
                self.partition(id).confirm(transaction, Confirmation::Coordinator);
                if self.partition(id).transactions_of(coordinator_of(transaction)).contains(&transaction) {
                    env.ctx.see(Sight::OrphanEnded);
                    self.end_transaction(id, transaction);
                }
            }
            self.settle(env, id);
        }
    }
}
