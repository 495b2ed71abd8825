//! The leader's side: requests of transactions, wherever they are coordinated.
//!
//! A request that has to wait is kept and served again from its beginning when its token is woken; it has changed nothing until
//! then. Its transaction's end strikes it out.

use shoal_partition::*;
use shoal_two_phase::{self as two_phase, End, PartHere};
use shoal_types::{NodeId, PartitionId, Result, Timestamp, TransactionId};

use crate::message::{Body, Part, Reply, Request};
use crate::process::{Env, Process};
use crate::rows::*;
use crate::sights::Sight;
use crate::under_way::{Waiting, WaitingRequest};

/// What a request has come to.
pub enum Served {
    Reply(Reply),
    /// It waits under its token.
    Waits,
    /// The reply comes when a proposal's fate is known.
    Later,
}

impl Process {
    pub fn reply(&mut self, env: &mut Env<'_>, to: NodeId, number: u64, reply: Reply) {
        if number != 0 {
            self.send(env, to, Body::Reply(number, reply));
        }
    }

    pub fn serve(&mut self, env: &mut Env<'_>, from: NodeId, number: u64, request: Request) {
        match request {
            Request::Checkpoint(partition, piece) => {
                return self.take_piece(env, (from, number), partition, piece);
            }
            Request::EndedAmong(transactions) => {
                let ended = transactions.into_iter().filter(|&id| !self.coordinates(id)).collect();
                return self.reply(env, from, number, Reply::Ended(ended));
            }
            Request::WaitEdges => {
                let edges = self.local_edges(env.now);
                return self.reply(env, from, number, Reply::Edges(edges));
            }
            Request::Pulse => {
                let visible = self.visible;
                return self.reply(env, from, number, Reply::Visible(visible, 0));
            }
            _ => {}
        }
        let Some(partition) = request.partition() else { return };
        if !self.replicas.contains_key(&partition) {
            return self.reply(env, from, number, Reply::NotLeader(None));
        }
        let token = WaitToken(self.next_token());
        let served = match self.execute(env, (from, number), token, &request) {
            Ok(served) => served,
            Err(error) => Served::Reply(Reply::Refused(error.message().to_owned())),
        };
        self.settle(env, partition);
        match served {
            Served::Reply(reply) => self.reply(env, from, number, reply),
            Served::Later => {}
            Served::Waits => {
                let transaction = match &request {
                    Request::Work(part, ..) | Request::Batch(part, ..) | Request::CheckRead(part) => {
                        Some(part.transaction)
                    }
                    _ => None,
                };
                if let Request::Scan(..) = request {
                    env.ctx.see(Sight::SnapshotWaited);
                }
                let since_us = env.ctx.now_us;
                let waiting = WaitingRequest { from, number, request, transaction, partition, since_us };
                self.waiting.insert(token, waiting);
                if let Some(transaction) = transaction {
                    self.end_if_deadlocked(env, transaction);
                }
            }
        }
    }

    /// A session here still runs the transaction.
    pub fn coordinates(&self, transaction: TransactionId) -> bool {
        self.sessions.values().any(|session| session.transaction == transaction)
    }

    /// Serves those again whose tokens were woken.
    pub fn serve_woken(&mut self, env: &mut Env<'_>) {
        while let Some(token) = self.woken.pop_front() {
            if let Some(WaitingRequest { from, number, request, .. }) = self.waiting.remove(&token) {
                self.serve(env, from, number, request);
            }
        }
    }

    pub fn end_long_waits(&mut self, env: &mut Env<'_>) {
        let now_us = env.ctx.now_us;
        let late: Vec<WaitToken> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.since_us + env.ctx.knobs.lock_wait_us < now_us)
            .map(|(&token, _)| token)
            .collect();
        for token in late {
            env.ctx.see(Sight::WaitedTooLong);
            self.end_wait(env, token, Reply::Refused("waited too long".into()));
        }
    }

    /// The request gives up what it waits for, and is answered.
    pub fn end_wait(&mut self, env: &mut Env<'_>, token: WaitToken, reply: Reply) {
        let Some(waiting) = self.waiting.remove(&token) else { return };
        if let Some(transaction) = waiting.transaction {
            self.partition(waiting.partition).cancel_wait(transaction, token);
            self.settle(env, waiting.partition);
        }
        self.reply(env, waiting.from, waiting.number, reply);
    }

    fn not_leader(&mut self, env: &mut Env<'_>, id: PartitionId) -> Reply {
        let is_fresh = self.is_fresh_from_pause;
        let partition = self.partition(id);
        if is_fresh && partition.is_leader() {
            env.ctx.see(Sight::LeaseExpiredInPause);
        }
        Reply::NotLeader(partition.leader().map(|leader| NodeId(leader as u32)))
    }

    /// The leader's term, if the transaction's part is here as its coordinator knows it.
    fn hold(&mut self, env: &mut Env<'_>, part: &Part) -> Result<u64, Reply> {
        let now = env.now;
        if !self.serves(part.partition, now) {
            let refusal = self.not_leader(env, part.partition);
            return Err(if part.term == 0 { refusal } else { Reply::Lost });
        }
        let handing_over = self.replicas[&part.partition].handing_over;
        if part.term == 0 && handing_over.is_some_and(|handing_over| !handing_over.admits(part.joined_for_ms, now))
        {
            env.ctx.see(Sight::JoinRefused);
            return Err(self.not_leader(env, part.partition));
        }
        let partition = self.partition(part.partition);
        let term = partition.term();
        match partition.has_part(part.transaction, part.term, part.writes) {
            true => Ok(term),
            false => Err(Reply::Lost),
        }
    }

    fn execute(
        &mut self,
        env: &mut Env<'_>,
        (from, number): (NodeId, u64),
        token: WaitToken,
        request: &Request,
    ) -> Result<Served> {
        let done = |reply| Ok(Served::Reply(reply));
        match request {
            Request::Work(part, operation, mark) => match self.hold(env, part) {
                Ok(term) => {
                    let served = self.work(part, term, *operation, *mark, token);
                    if self.partition(part.partition).has_predecessors(part.transaction) {
                        env.ctx.see(Sight::LockedEarly);
                    }
                    served
                }
                Err(refusal) => done(refusal),
            },
            Request::Batch(part, operations, mark) => match self.hold(env, part) {
                Ok(_) => self.batch(env, (from, number), part, (operations, *mark), token),
                Err(refusal) => done(refusal),
            },
            Request::CheckRead(part) => match self.hold(env, part) {
                Ok(_) if self.awaits_predecessors(part.partition, part.transaction, token) => Ok(Served::Waits),
                Ok(_) => {
                    self.partition(part.partition).rollback(part.transaction);
                    done(Reply::Fine)
                }
                Err(refusal) => done(refusal),
            },
            Request::Commit(part) if !self.serves(part.partition, env.now) => {
                done(self.not_leader(env, part.partition))
            }
            Request::Commit(part) => {
                match part.writes == 0 && self.awaits_predecessors(part.partition, part.transaction, token) {
                    true => Ok(Served::Waits),
                    false => self.commit(env, (from, number), part),
                }
            }
            Request::Rollback(partition, transaction) => {
                self.end_transaction(*partition, *transaction);
                done(Reply::Fine)
            }
            Request::TwoPhase(_, two_phase::Request::Rollback { partition }) => {
                let Request::TwoPhase(transaction, _) = request else { return done(Reply::Fine) };
                self.end_transaction(*partition, *transaction);
                done(Reply::Fine)
            }
            _ => {
                let Some(partition) = request.partition() else { return done(Reply::Lost) };
                if !self.serves(partition, env.now) {
                    return done(self.not_leader(env, partition));
                }
                self.execute_as_leader(env, (from, number), token, request)
            }
        }
    }

    /// What needs a lease and no part of a transaction.
    fn execute_as_leader(
        &mut self,
        env: &mut Env<'_>,
        asker: (NodeId, u64),
        token: WaitToken,
        request: &Request,
    ) -> Result<Served> {
        let reply = match request {
            Request::ReadNewest(partition, id) => {
                let view = ReadView::newest(None, token);
                match self.partition(*partition).get(&view, TABLE, &key(*id), None)? {
                    Step::Ready(row) => Reply::Value(row.map(decode).map(|(_, k)| k)),
                    Step::Wait(_) => return Ok(Served::Waits),
                }
            }
            Request::Visible(partition) => {
                let term = self.partition(*partition).term();
                Reply::Visible(self.visible.max(Timestamp(1)), term)
            }
            Request::Follow(partition, place) => Reply::Changes(self.changes(*partition, *place)),
            Request::Scan(partition, snapshot, term) => return self.scan(*partition, *snapshot, *term, token),
            Request::TwoPhase(transaction, request) => {
                return self.serve_coordinator(env, asker, *transaction, request, token);
            }
            Request::OutcomeOf(home, transaction) => Reply::Outcome(self.outcome_of(*home, *transaction)),
            Request::Decide(partition, transaction, decision) => {
                return self.decide(*partition, *transaction, *decision, asker);
            }
            Request::Confirm(home, transaction, participant) => {
                let confirmation = Confirmation::Participant(*participant);
                self.partition(*home).confirm(*transaction, confirmation);
                Reply::Fine
            }
            _ => Reply::Lost,
        };
        Ok(Served::Reply(reply))
    }

    /// Something that the transaction has seen under an early lock is not committed yet: the request waits under its token.
    fn awaits_predecessors(&mut self, partition: PartitionId, id: TransactionId, token: WaitToken) -> bool {
        self.partition(partition).await_predecessors(id, token).is_some()
    }

    // ---- endings ----

    pub fn commit(&mut self, env: &mut Env<'_>, (from, number): (NodeId, u64), part: &Part) -> Result<Served> {
        let timestamp = self.timestamp_for(env, part.partition);
        let token = CommitToken(self.next_token());
        match self.propose_end(part, End::Commit, timestamp, token)? {
            Some(CommitStart::Proposed) => {
                self.proposals.insert(token, Waiting::Commit { from, number, timestamp });
                Ok(Served::Later)
            }
            Some(CommitStart::ReadOnly) => Ok(Served::Reply(Reply::Committed(Timestamp::ZERO))),
            None => Ok(Served::Reply(Reply::Lost)),
        }
    }

    fn propose_end(
        &mut self,
        part: &Part,
        end: End<'_>,
        timestamp: Timestamp,
        token: CommitToken,
    ) -> Result<Option<CommitStart>> {
        let Part { partition, transaction, term, writes, .. } = *part;
        let part = PartHere { transaction, term, writes };
        two_phase::propose_end(self.partition(partition), part, end, timestamp, token)
    }

    /// Rolls a transaction back unless it is prepared; requests of it that wait here do nothing more.
    pub fn end_transaction(&mut self, partition: PartitionId, transaction: TransactionId) {
        self.strike_out(partition, transaction);
        self.partition(partition).rollback(transaction);
    }

    pub fn strike_out(&mut self, partition: PartitionId, transaction: TransactionId) {
        self.waiting
            .retain(|_, waiting| waiting.transaction != Some(transaction) || waiting.partition != partition);
    }

    /// The link to a coordinator's node has broken: what it has not prepared is rolled back.
    pub fn end_transactions_of(&mut self, env: &mut Env<'_>, node: NodeId) {
        for partition in self.hosted() {
            for transaction in self.partition(partition).transactions_of(node) {
                self.end_transaction(partition, transaction);
            }
            self.settle(env, partition);
        }
    }

    fn outcome_of(&mut self, home: PartitionId, transaction: TransactionId) -> HomeOutcome {
        let outcome = self.partition(home).outcome_of(transaction);
        if outcome == HomeOutcome::Aborted {
            self.strike_out(home, transaction);
        }
        outcome
    }

    pub fn decide_learnt(
        &mut self,
        env: &mut Env<'_>,
        (partition, home): (PartitionId, PartitionId),
        transaction: TransactionId,
        decision: Decision,
    ) {
        let committed = matches!(decision, Decision::Commit(_));
        let token = CommitToken(self.next_token());
        if let Decision::Commit(timestamp) = decision {
            self.observe(timestamp);
        }
        if let Ok(DecisionStart::Proposed) =
            self.partition(partition).propose_decision(transaction, decision, token)
        {
            self.proposals.insert(token, Waiting::Learnt { home, transaction, committed });
        }
        self.settle(env, partition);
    }

    fn decide(
        &mut self,
        partition: PartitionId,
        transaction: TransactionId,
        decision: Decision,
        (from, number): (NodeId, u64),
    ) -> Result<Served> {
        let token = CommitToken(self.next_token());
        match decision {
            Decision::Commit(timestamp) => self.observe(timestamp),
            Decision::Abort => self.strike_out(partition, transaction),
        }
        Ok(match self.partition(partition).propose_decision(transaction, decision, token)? {
            DecisionStart::Done => Served::Reply(Reply::Fine),
            DecisionStart::Proposed => {
                self.proposals.insert(token, Waiting::Decide { from, number });
                Served::Later
            }
        })
    }

    fn serve_coordinator(
        &mut self,
        env: &mut Env<'_>,
        (from, number): (NodeId, u64),
        transaction: TransactionId,
        request: &two_phase::Request,
        token: WaitToken,
    ) -> Result<Served> {
        match request {
            two_phase::Request::Prepare { participant, home } => {
                let two_phase::Participant { partition, term, writes } = *participant;
                let part = Part { partition, transaction, term, writes, joined_for_ms: 0 };
                if writes == 0 && self.awaits_predecessors(partition, transaction, token) {
                    return Ok(Served::Waits);
                }
                let timestamp = self.timestamp_for(env, partition);
                let token = CommitToken(self.next_token());
                match self.propose_end(&part, End::Prepare { home: *home }, timestamp, token)? {
                    Some(CommitStart::Proposed) => {}
                    Some(CommitStart::ReadOnly) => return Ok(Served::Reply(Reply::Prepared(None))),
                    None => return Ok(Served::Reply(Reply::Lost)),
                }
                self.proposals.insert(token, Waiting::Prepare { from, number, timestamp });
            }
            two_phase::Request::HomeCommit { home, after, participants } => {
                let two_phase::Participant { partition, term, writes } = *home;
                let part = Part { partition, transaction, term, writes, joined_for_ms: 0 };
                self.observe(*after);
                let timestamp = self.timestamp_for(env, partition);
                let token = CommitToken(self.next_token());
                if self.propose_end(&part, End::HomeCommit { participants }, timestamp, token)?.is_none() {
                    return Ok(Served::Reply(Reply::Lost));
                }
                self.proposals.insert(token, Waiting::Commit { from, number, timestamp });
            }
            two_phase::Request::OutcomeOf { home } => {
                let outcome = self.outcome_of(*home, transaction);
                return Ok(Served::Reply(Reply::Outcome(outcome)));
            }
            two_phase::Request::Decide { partition, decision } => {
                return self.decide(*partition, transaction, *decision, (from, number));
            }
            two_phase::Request::Confirm { home, participants } => {
                let partition = self.partition(*home);
                for &participant in participants {
                    partition.confirm(transaction, Confirmation::Participant(participant));
                }
                partition.confirm(transaction, Confirmation::Coordinator);
                return Ok(Served::Reply(Reply::Fine));
            }
            two_phase::Request::Rollback { .. } => return Ok(Served::Reply(Reply::Fine)),
        }
        Ok(Served::Later)
    }

    // ---- what became of proposals ----

    pub fn proposal_committed(&mut self, env: &mut Env<'_>, partition: PartitionId, token: CommitToken) {
        match self.proposals.remove(&token) {
            Some(Waiting::Commit { from, number, timestamp }) => {
                self.reply(env, from, number, Reply::Committed(timestamp));
            }
            Some(Waiting::Prepare { from, number, timestamp }) => {
                self.reply(env, from, number, Reply::Prepared(Some(timestamp)));
            }
            Some(Waiting::Decide { from, number }) => self.reply(env, from, number, Reply::Fine),
            Some(Waiting::Learnt { home, transaction, committed }) => {
                env.ctx.see(Sight::DecidedByHome);
                if committed {
                    self.tell_leader(env, Request::Confirm(home, transaction, partition));
                }
            }
            Some(Waiting::Table) => self.table_proposed(partition),
            Some(Waiting::Nobody) | None => {}
        }
    }

    /// Whether the table is there shows when the partition serves: the next one is made, or the same again.
    fn table_proposed(&mut self, partition: PartitionId) {
        if let Some(replica) = self.replicas.get_mut(&partition) {
            replica.creating = false;
        }
    }

    pub fn proposal_lost(&mut self, env: &mut Env<'_>, partition: PartitionId, token: CommitToken) {
        match self.proposals.remove(&token) {
            Some(Waiting::Commit { from, number, .. }) => self.reply(env, from, number, Reply::NotCommitted),
            Some(Waiting::Prepare { from, number, .. } | Waiting::Decide { from, number }) => {
                self.reply(env, from, number, Reply::Lost);
            }
            Some(Waiting::Table) => self.table_proposed(partition),
            Some(Waiting::Learnt { .. } | Waiting::Nobody) | None => {}
        }
    }

    pub fn proposal_unknown(&mut self, env: &mut Env<'_>, partition: PartitionId, token: CommitToken) {
        match self.proposals.remove(&token) {
            Some(
                Waiting::Commit { from, number, .. }
                | Waiting::Prepare { from, number, .. }
                | Waiting::Decide { from, number },
            ) => self.reply(env, from, number, Reply::Unknown),
            Some(Waiting::Table) => self.table_proposed(partition),
            Some(Waiting::Learnt { .. } | Waiting::Nobody) | None => {}
        }
    }
}
