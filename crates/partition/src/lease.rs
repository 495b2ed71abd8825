//! The leader's lease, and the promise on the other side that makes it safe.
//!
//! A leader stamps each heartbeat with its own time; followers echo the stamp. Once a majority (the leader included) has
//! echoed stamps from `t` on, nobody else can have been elected before `t + lease_ms`: each of that majority has
//! promised, by answering, to refuse its vote for a while, and any election needs a vote of one of them. `time` tells why the lease is
//! the shorter of the two, and how long they are.
//!
//! The promise is kept here and not by Raft's own rule, for Raft forgets it with its leader's name: when the replica
//! restarts, or hears of a later term. It is void in two cases, in which the leader cannot be serving: proof that its
//! process is gone, and a vote request on its own orders (leadership handed over; a leader that gives such orders
//! never serves again in that term).

use raft::eraftpb::{Message, MessageType};

use crate::time::Millis;

const STAMP_BYTES: usize = 8;

/// A leader's side.
#[derive(Default)]
pub(crate) struct Lease {
    /// The newest time at which each other replica is known to have been following, as of its answers.
    answered: Vec<(u64, Millis)>,
    until: Option<Millis>,
}

impl Lease {
    /// A term begins or ends.
    pub(crate) fn clear(&mut self) {
        self.answered.clear();
        self.until = None;
    }

    pub(crate) fn holds(&self, now: Millis) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// When the replica was last known to follow.
    pub(crate) fn answered(&self, replica: u64) -> Option<Millis> {
        self.answered.iter().find(|&&(other, _)| other == replica).map(|&(_, sent)| sent)
    }

    pub(crate) fn forget(&mut self, replica: u64) {
        self.answered.retain(|&(other, _)| other != replica);
    }

    /// A replica has answered what was sent at `sent`. `others_needed`: how many make a majority with the leader.
    pub(crate) fn extend(&mut self, replica: u64, sent: Millis, others_needed: usize, lease_ms: u64) {
        match self.answered.iter_mut().find(|(other, _)| *other == replica) {
            Some((_, newest)) => *newest = sent.max(*newest),
            None => self.answered.push((replica, sent)),
        }
        let as_late = |time: Millis| self.answered.iter().filter(|&&(_, other)| other >= time).count();
        let start =
            self.answered.iter().map(|&(_, time)| time).filter(|&time| as_late(time) >= others_needed).max();
        if let Some(start) = start {
            self.until = self.until.max(Some(start.plus(lease_ms)));
        }
    }
}

/// Appends the time to a heartbeat's context.
pub(crate) fn stamp(heartbeat: &mut Message, now: Millis) {
    let mut context = heartbeat.context.to_vec();
    context.extend_from_slice(&now.0.to_le_bytes());
    heartbeat.context = context.into();
}

/// The stamp at the end of an answer's context.
pub(crate) fn stamp_of(answer: &Message) -> Option<Millis> {
    let (_, stamp) = answer.context.split_last_chunk::<STAMP_BYTES>()?;
    Some(Millis(u64::from_le_bytes(*stamp)))
}

/// Takes it off.
pub(crate) fn take_stamp(answer: &mut Message) -> Option<Millis> {
    let sent = stamp_of(answer)?;
    let rest = answer.context[..answer.context.len() - STAMP_BYTES].to_vec();
    answer.context = rest.into();
    Some(sent)
}

/// A follower's side: votes are refused for a while after the leader was heard.
#[derive(Default)]
pub(crate) struct Promise {
    /// To whom, zero for whoever led before the restart; and the tick at which it was given.
    given: Option<(u64, u64)>,
    /// Requests for votes that came too early, at most one of each replica.
    deferred: Vec<Message>,
}

pub(crate) fn asks_for_vote(message: &Message) -> bool {
    matches!(message.msg_type, MessageType::MsgRequestVote | MessageType::MsgRequestPreVote)
}

impl Promise {
    /// The leader's heartbeat has been accepted.
    pub(crate) fn give(&mut self, leader: u64, tick: u64) {
        self.given = Some((leader, tick));
        self.deferred.clear();
    }

    /// Its newest heartbeat was this leader's.
    pub(crate) fn was_last_given_to(&self, leader: u64) -> bool {
        self.given.is_some_and(|(to, _)| to == leader)
    }

    /// The leader's process is gone.
    pub(crate) fn void(&mut self, leader: u64) {
        if self.given.is_some_and(|(to, _)| to == leader) {
            self.given = None;
        }
    }

    /// Keeps a request for a vote until the promise ends; false if there is no promise.
    pub(crate) fn defers(&mut self, request: &Message, tick: u64, promise_ticks: u64) -> bool {
        if !self.binds(tick, promise_ticks) || request.context == raft::CAMPAIGN_TRANSFER {
            return false;
        }
        self.deferred.retain(|other| other.from != request.from);
        self.deferred.push(request.clone());
        true
    }

    pub(crate) fn binds(&self, tick: u64, promise_ticks: u64) -> bool {
        self.given.is_some_and(|(_, given)| tick - given < promise_ticks)
    }

    /// Ticks until it ends.
    pub(crate) fn rest(&self, tick: u64, promise_ticks: u64) -> u64 {
        self.given.map_or(0, |(_, given)| (given + promise_ticks).saturating_sub(tick))
    }

    /// The requests that may be answered now.
    pub(crate) fn due(&mut self, tick: u64, promise_ticks: u64) -> Vec<Message> {
        if self.deferred.is_empty() || self.binds(tick, promise_ticks) {
            return Vec::new();
        }
        std::mem::take(&mut self.deferred)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_counts_from_what_a_majority_has_answered() {
        let mut lease = Lease::default();
        // Of five: two others are needed.
        lease.extend(2, Millis(100), 2, 50);
        assert!(!lease.holds(Millis(100)));
        lease.extend(3, Millis(120), 2, 50);
        assert!(lease.holds(Millis(149)) && !lease.holds(Millis(150)));
        lease.extend(3, Millis(140), 2, 50);
        assert!(!lease.holds(Millis(150)));
        lease.extend(4, Millis(130), 2, 50);
        assert!(lease.holds(Millis(179)) && !lease.holds(Millis(180)));
        // An answer that comes late takes nothing away.
        lease.extend(4, Millis(90), 2, 50);
        assert!(lease.holds(Millis(179)));
        lease.clear();
        assert!(!lease.holds(Millis(0)));
    }

    #[test]
    fn stamps_leave_the_rest_of_the_context_alone() {
        for context in [&b""[..], b"a read waits"] {
            let mut message = Message { context: context.to_vec().into(), ..Message::default() };
            stamp(&mut message, Millis(u64::MAX - 3));
            assert_eq!(take_stamp(&mut message), Some(Millis(u64::MAX - 3)));
            assert_eq!(message.context, context);
        }
        assert_eq!(take_stamp(&mut Message { context: vec![1; 7].into(), ..Message::default() }), None);
    }

    #[test]
    fn a_promise_defers_votes_until_it_ends_is_void_or_renewed() {
        let request = |from| Message { msg_type: MessageType::MsgRequestVote, from, ..Message::default() };
        let mut promise = Promise::default();
        assert!(!promise.defers(&request(2), 0, 10));
        promise.give(1, 5);
        assert!(promise.defers(&request(2), 14, 10) && promise.defers(&request(2), 14, 10));
        assert!(promise.due(14, 10).is_empty());
        assert_eq!(promise.due(15, 10).len(), 1);
        promise.give(1, 20);
        assert!(promise.defers(&request(3), 21, 10));
        promise.void(2);
        assert!(promise.due(21, 10).is_empty());
        promise.void(1);
        assert_eq!(promise.due(21, 10), [request(3)]);
        promise.give(1, 30);
        assert!(promise.defers(&request(3), 31, 10));
        promise.give(1, 32);
        assert!(promise.due(99, 10).is_empty());
        promise.give(1, 40);
        let ordered = Message { context: raft::CAMPAIGN_TRANSFER.to_vec().into(), ..request(3) };
        assert!(!promise.defers(&ordered, 41, 10));
    }
}
