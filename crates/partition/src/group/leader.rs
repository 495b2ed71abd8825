//! Who leads: elections at once when the leader is known to be dead, leadership handed over, what may be served.

use raft::{INVALID_ID, StateRole};
use shoal_planted::{Bug, is_planted};
use shoal_types::{Error, NodeId, Result, Transient};

use super::{Group, Phase, raft_error};
use crate::api::Role;
use crate::time::Millis;

/// Ticks between the campaigns of replicas that saw their leader die at the same time.
const CAMPAIGN_STAGGER_TICKS: usize = 3;
/// The witness waits for so many election timeouts before it campaigns.
const WITNESS_PATIENCE: usize = 3;

impl Group {
    /// One value to draw from, another for each replica, so that they do not all campaign at once; the preferred
    /// leader's is the shortest, the witness leaves it to the others for long.
    pub(super) fn election_timeout_ticks(&self) -> usize {
        let election_ticks = self.timing.election_ticks as usize;
        if self.is_witness() {
            return election_ticks * WITNESS_PATIENCE;
        }
        let place = self.voters.iter().position(|&voter| voter == self.replica).unwrap_or(0);
        election_ticks + place * election_ticks.div_ceil(4)
    }

    pub(crate) fn role(&self) -> Role {
        match self.running().map(|node| node.raft.state) {
            Some(StateRole::Leader) => Role::Leader,
            Some(StateRole::Candidate | StateRole::PreCandidate) => Role::Candidate,
            _ => Role::Follower,
        }
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.role() == Role::Leader
    }

    pub(crate) fn term(&self) -> u64 {
        match &self.phase {
            Phase::Recovering(tail) => tail.hard_state.term.max(tail.last().1),
            Phase::Running(node) => node.raft.term,
        }
    }

    pub(crate) fn leader(&self) -> Option<u64> {
        self.running().map(|node| node.raft.leader_id).filter(|&leader| leader != INVALID_ID)
    }

    /// The term in which this replica leads, or zero, as of the last turn.
    pub(crate) fn leading(&self) -> u64 {
        self.leading
    }

    /// Leads, and everything from before its term is applied: transactions may join. Leaves the lease open.
    pub(crate) fn is_established(&self) -> bool {
        self.single
            || (self.leading != 0
                && self.applied_term == self.leading
                && self.ceded != self.leading
                && !self.is_witness())
    }

    pub(crate) fn is_witness(&self) -> bool {
        self.witness == Some(self.replica)
    }

    /// Holds all that it has ever acknowledged, and rows to lead with.
    pub(super) fn may_campaign(&self) -> bool {
        self.amnesia.is_none() && !self.installing && self.restarting_at.is_none()
    }

    pub(crate) fn serves(&self, now: Millis) -> bool {
        if is_planted(Bug::BackupServes) && !self.is_witness() {
            return self.applied_term > 0;
        }
        self.single || (self.is_established() && self.lease.holds(now))
    }

    /// Why this replica does not do what only a serving leader may do.
    pub(crate) fn refusal(&self) -> Error {
        let id = self.partition;
        if self.leading == 0 {
            let leader = self.leader().filter(|&leader| leader != self.replica).map(|id| NodeId(id as u32));
            let text = match leader {
                Some(leader) => format!("partition {id} is led by node {leader}; try again there"),
                None => format!("partition {id} has no leader at the moment; try again"),
            };
            return Error::transient(Transient::NotLeader { leader }, text);
        }
        if self.is_handing_over() {
            let text = format!("partition {id} is being handed over to another node; try again");
            return Error::transient(Transient::HandingOver, text);
        }
        let text =
            format!("partition {id} is not ready to serve: its leader waits for the other nodes; try again");
        Error::transient(Transient::NotServing, text)
    }

    fn is_handing_over(&self) -> bool {
        self.ceded == self.leading || self.running().is_some_and(|node| node.raft.lead_transferee.is_some())
    }

    /// Hands an entry to the group; returns its index and term if this replica leads.
    pub(crate) fn propose(&mut self, data: Vec<u8>) -> Result<(u64, u64)> {
        if !self.single && (!self.is_established() || self.is_handing_over()) {
            return Err(self.refusal());
        }
        let node = self.node()?;
        node.propose(Vec::new(), data).map_err(raft_error)?;
        Ok((node.raft.raft_log.last_index(), node.raft.term))
    }

    /// Tells another replica to take over once it has everything.
    pub(crate) fn transfer_leader(&mut self, to: u64) -> Result<()> {
        if self.leading == 0 {
            return Err(self.refusal());
        }
        if !self.voters.contains(&to) || self.witness == Some(to) {
            return Err(Error::unknown(format!("node {to} holds no replica of partition {}", self.partition)));
        }
        if to != self.replica {
            self.node()?.transfer_leader(to);
        }
        Ok(())
    }

    /// The way to the replica is broken; `is_dead`: its process is gone for certain. Who followed it campaigns when its own promise ends, at
    /// once if there is none, and follows it again if it is heard before.
    pub(crate) fn peer_lost(&mut self, replica: u64, is_dead: bool) -> Result<()> {
        let was_heard_last = self.promise.was_last_given_to(replica);
        if is_dead {
            self.promise.void(replica);
        }
        self.lease.forget(replica);
        let others = self.voters.iter().filter(|&&voter| voter != replica);
        let place = others.take_while(|&&voter| voter != self.replica).count();
        let campaigns = self.may_campaign() && !self.is_witness();
        let promised = self.promise.rest(self.ticker.count(), self.timing.promise_ticks) as usize;
        let node = self.node()?;
        if node.raft.state == StateRole::Leader {
            node.report_unreachable(replica);
            self.mind_witness()?;
        } else if node.raft.leader_id == replica || (node.raft.leader_id == INVALID_ID && was_heard_last) {
            // In the second case its link was lost before it was known to be dead.
            node.raft.leader_id = INVALID_ID;
            if !campaigns {
                // Its vote is all that this replica has to give.
            } else if place == 0 && promised == 0 {
                node.campaign().map_err(raft_error)?;
            } else {
                let timeout = node.raft.randomized_election_timeout();
                let elapsed = timeout.saturating_sub(promised + place * CAMPAIGN_STAGGER_TICKS);
                node.raft.election_elapsed = node.raft.election_elapsed.max(elapsed);
            }
        }
        self.answer_deferred()
    }
}
