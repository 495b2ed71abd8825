//! The coordinator of a two-phase commit, without I/O: what to ask of which partition, and what the client may be told.
//!
//! One of the partitions is the *home* of the decision. All others prepare; once every one of them has, the home
//! commits its own writes together with the decision, and from then on the transaction is committed. Before the home
//! is asked, whatever goes wrong ends in a rollback. Afterwards only the home knows the outcome; when contact to
//! it is lost, it is asked until it answers or the caller gives up, and then the outcome is unknown. The home answers
//! about this transaction until the coordinator has confirmed that it knows.
//!
//! The caller carries requests out ([`Coordinator::take_requests`]), in any order and all at once, reports what came of
//! each one, and answers the client as soon as [`Coordinator::answer`] says how. It goes on until the coordinator
//! [is finished](Coordinator::is_finished), client or not. Prepared participants that no longer hear from a
//! coordinator ask the home, and the home goes on telling those that have not confirmed, so nothing is lost when a
//! coordinator stops in the middle.
//!
//! Every request that depends on what the transaction has staged in a partition carries the term of the leader with
//! which it was staged, and the number of writes. The leader refuses it if either does not fit ([`propose_end`]).
//!
//! [`Resolver`] sees to what is left when a coordinator has gone.

#![warn(missing_docs)]

mod part;
mod resolver;

pub use part::{End, PartHere, propose_end};
pub use resolver::{InDoubt, Orphans, Resolver, Undelivered, by_coordinator, decision_learnt};

use shoal_partition::{Decision, HomeOutcome};
use shoal_planted::{Bug, is_planted};
use shoal_types::{PartitionId, Timestamp, TransactionId};

/// A partition in which the transaction has locks or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Where.
    pub partition: PartitionId,
    /// The term of the leader with which the transaction joined the partition.
    pub term: u64,
    /// Writes staged there.
    pub writes: u32,
}

/// What is to be asked of a partition's leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `Partition::propose_prepare`; report [`Coordinator::prepared`] when it is applied, or
    /// [`Coordinator::refused`].
    Prepare {
        /// Who prepares.
        participant: Participant,
        /// The partition whose log decides.
        home: PartitionId,
    },
    /// `Partition::propose_home_commit` at a timestamp later than `after`; report [`Coordinator::home_committed`] when
    /// it is applied, or [`Coordinator::home_refused`].
    HomeCommit {
        /// The transaction's part in its home.
        home: Participant,
        /// The latest timestamp at which a participant has prepared.
        after: Timestamp,
        /// The others, which are prepared.
        participants: Vec<PartitionId>,
    },
    /// `Partition::outcome_of`; report [`Coordinator::home_answered`].
    OutcomeOf {
        /// Who has decided.
        home: PartitionId,
    },
    /// `Partition::propose_decision`. Commits: report [`Coordinator::decided`] when it is applied.
    Decide {
        /// A participant other than the home.
        partition: PartitionId,
        /// What it is to apply.
        decision: Decision,
    },
    /// `Partition::rollback`. Nothing is to be reported.
    Rollback {
        /// A participant that has not prepared.
        partition: PartitionId,
    },
    /// `Partition::confirm` for these participants and for the coordinator. Nothing is to be reported.
    Confirm {
        /// Who keeps the decision until all have it.
        home: PartitionId,
        /// Those that have applied it.
        participants: Vec<PartitionId>,
    },
}

impl Request {
    /// The partition whose leader is to be asked.
    pub fn partition(&self) -> PartitionId {
        match self {
            Request::Prepare { participant, .. } => participant.partition,
            Request::HomeCommit { home, .. } => home.partition,
            Request::OutcomeOf { home } | Request::Confirm { home, .. } => *home,
            Request::Decide { partition, .. } | Request::Rollback { partition } => *partition,
        }
    }
}

/// What the client may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At this timestamp, whatever happens from now on.
    Committed(Timestamp),
    /// Nothing of it, and nothing will be.
    NotCommitted,
    /// It may be committed or not, and nobody can be asked.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Participants prepare.
    Preparing,
    /// The home has been asked to commit, and its reply may come.
    Committing,
    /// It may not; the home is asked for the outcome.
    Asking {
        under_way: bool,
    },
    Committed(Timestamp),
    Aborted,
    GivenUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Asked to prepare; perhaps it has.
    Asked,
    Prepared,
    /// Ended there: nothing was left to write, or it was refused.
    Ended,
    /// Asked to apply the decision.
    Told,
    /// It was told, and no reply will come.
    OutOfContact,
    Confirmed,
}

struct Other {
    participant: Participant,
    progress: Progress,
}

/// The commit of one transaction over several partitions: takes what partitions answer, and says what to ask of which.
pub struct Coordinator {
    transaction: TransactionId,
    home: Participant,
    others: Vec<Other>,
    phase: Phase,
    /// The latest prepare timestamp.
    prepared_at: Timestamp,
    requests: Vec<Request>,
    /// The home has been told that nobody here will ask again.
    has_confirmed: bool,
}

/// Takes the best home out of a transaction's partitions: one that it has written to, near if there is such a one. `None`
/// if it has written nowhere.
pub fn take_home(
    participants: &mut Vec<Participant>,
    is_near: impl Fn(PartitionId) -> bool,
) -> Option<Participant> {
    let written = |participant: &Participant| participant.writes > 0;
    let near = |participant: &Participant| written(participant) && is_near(participant.partition);
    let position = participants.iter().position(near).or_else(|| participants.iter().position(written))?;
    Some(participants.remove(position))
}

impl Coordinator {
    /// Begins with the first requests. `others` may hold participants with locks alone: they are asked to prepare as
    /// well, since their locks are worth nothing if their leader has changed.
    pub fn new(transaction: TransactionId, home: Participant, others: Vec<Participant>) -> Coordinator {
        let others: Vec<Other> =
            others.into_iter().map(|participant| Other { participant, progress: Progress::Asked }).collect();
        let prepare = |other: &Other| Request::Prepare { participant: other.participant, home: home.partition };
        let requests = others.iter().map(prepare).collect();
        let phase = Phase::Preparing;
        let prepared_at = Timestamp::ZERO;
        let mut coordinator =
            Coordinator { transaction, home, others, phase, prepared_at, requests, has_confirmed: false };
        coordinator.commit_if_prepared();
        coordinator
    }

    /// The transaction that is committed.
    pub fn transaction(&self) -> TransactionId {
        self.transaction
    }

    /// The partition whose log decides.
    pub fn home(&self) -> PartitionId {
        self.home.partition
    }

    /// What is to be sent now.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// `Some` as soon as the client may be answered.
    pub fn answer(&self) -> Option<Answer> {
        match self.phase {
            Phase::Preparing | Phase::Committing | Phase::Asking { .. } => None,
            Phase::Committed(timestamp) => Some(Answer::Committed(timestamp)),
            Phase::Aborted => Some(Answer::NotCommitted),
            Phase::GivenUp => Some(Answer::Unknown),
        }
    }

    /// No reply is expected any more (requests may be left to be sent). Until then the home may ask whether this
    /// coordinator still runs; afterwards, "no" is the answer.
    pub fn is_finished(&self) -> bool {
        match self.phase {
            Phase::Preparing | Phase::Committing | Phase::Asking { .. } => false,
            Phase::Committed(_) => self.has_confirmed,
            Phase::Aborted | Phase::GivenUp => true,
        }
    }

    /// Contact is lost to the home after it was asked to commit: the caller has [`Coordinator::ask_again`] called from
    /// time to time.
    pub fn is_asking(&self) -> bool {
        matches!(self.phase, Phase::Asking { .. })
    }

    fn other(&mut self, partition: PartitionId) -> Option<&mut Other> {
        self.others.iter_mut().find(|other| other.participant.partition == partition)
    }

    // ---- what came of the requests ----

    /// The participant is prepared: at this timestamp, or, with none, it had nothing left to write and is done.
    pub fn prepared(&mut self, partition: PartitionId, timestamp: Option<Timestamp>) {
        if self.phase != Phase::Preparing {
            return;
        }
        if let Some(other) = self.other(partition).filter(|other| other.progress == Progress::Asked) {
            other.progress = if timestamp.is_some() { Progress::Prepared } else { Progress::Ended };
            self.prepared_at = self.prepared_at.max(timestamp.unwrap_or_default());
            self.commit_if_prepared();
        }
    }

    fn commit_if_prepared(&mut self) {
        if self.others.iter().any(|other| other.progress == Progress::Asked) {
            return;
        }
        self.phase = Phase::Committing;
        let prepared = self.others.iter().filter(|other| other.progress == Progress::Prepared);
        let participants = prepared.map(|other| other.participant.partition).collect();
        self.requests.push(Request::HomeCommit { home: self.home, after: self.prepared_at, participants });
        if is_planted(Bug::DecideBeforeHome) {
            for other in self.others.iter().filter(|other| other.progress == Progress::Prepared) {
                let (partition, decision) = (other.participant.partition, Decision::Commit(self.prepared_at));
                self.requests.push(Request::Decide { partition, decision });
            }
        }
    }

    /// The participant did not prepare, and never will.
    pub fn refused(&mut self, partition: PartitionId) {
        if self.phase != Phase::Preparing {
            return;
        }
        if let Some(other) = self.other(partition) {
            other.progress = Progress::Ended;
            // What is left of it there, if anything.
            self.requests.push(Request::Rollback { partition });
            self.abort();
        }
    }

    /// The home's commit was applied, at this timestamp.
    pub fn home_committed(&mut self, timestamp: Timestamp) {
        match self.phase {
            Phase::Committing | Phase::Asking { .. } => self.commit(timestamp),
            _ => {}
        }
    }

    /// The home's leader did not commit and never will: it refused, or its entry was overwritten.
    pub fn home_refused(&mut self) {
        match self.phase {
            Phase::Committing | Phase::Asking { .. } => self.abort(),
            _ => {}
        }
    }

    /// The home has told the outcome that it was asked for.
    pub fn home_answered(&mut self, outcome: HomeOutcome) {
        let Phase::Asking { .. } = self.phase else {
            return;
        };
        match outcome {
            HomeOutcome::Committed(timestamp) => self.commit(timestamp),
            HomeOutcome::Aborted => self.abort(),
            HomeOutcome::InFlight => self.phase = Phase::Asking { under_way: false },
        }
    }

    /// The participant has applied the decision to commit.
    pub fn decided(&mut self, partition: PartitionId) {
        if let Phase::Committed(_) = self.phase
            && let Some(other) = self.other(partition)
            && matches!(other.progress, Progress::Told | Progress::OutOfContact)
        {
            other.progress = Progress::Confirmed;
            self.confirm_if_decided();
        }
    }

    /// No reply will come to the last request to this partition; nobody knows whether it was carried out.
    pub fn lost_contact(&mut self, partition: PartitionId) {
        let is_home = partition == self.home.partition;
        match self.phase {
            Phase::Preparing if !is_home => self.abort(),
            Phase::Committing if is_home && is_planted(Bug::AbortWhenHomeIsSilent) => self.abort(),
            Phase::Committing if is_home => {
                self.phase = Phase::Asking { under_way: false };
                self.ask_again();
            }
            Phase::Asking { .. } if is_home => self.phase = Phase::Asking { under_way: false },
            Phase::Committed(_) => {
                if let Some(other) = self.other(partition).filter(|other| other.progress == Progress::Told) {
                    other.progress = Progress::OutOfContact;
                    self.confirm_if_decided();
                }
            }
            _ => {}
        }
    }

    // ---- patience ----

    /// Asks the home again, unless it is being asked.
    pub fn ask_again(&mut self) {
        if self.phase == (Phase::Asking { under_way: false }) {
            self.phase = Phase::Asking { under_way: true };
            self.requests.push(Request::OutcomeOf { home: self.home.partition });
        }
    }

    /// The caller's patience is over. An outcome that is not known by now is told as unknown; participants that have not
    /// confirmed are left to the home.
    pub fn give_up(&mut self) {
        match self.phase {
            Phase::Preparing => self.abort(),
            Phase::Committing | Phase::Asking { .. } => self.phase = Phase::GivenUp,
            Phase::Committed(_) => {
                for other in self.others.iter_mut().filter(|other| other.progress == Progress::Told) {
                    other.progress = Progress::OutOfContact;
                }
                self.confirm_if_decided();
            }
            Phase::Aborted | Phase::GivenUp => {}
        }
    }

    // ---- endings ----

    fn commit(&mut self, timestamp: Timestamp) {
        self.phase = Phase::Committed(timestamp);
        let decision = Decision::Commit(timestamp);
        for other in self.others.iter_mut().filter(|other| other.progress == Progress::Prepared) {
            other.progress = Progress::Told;
            self.requests.push(Request::Decide { partition: other.participant.partition, decision });
        }
        self.confirm_if_decided();
    }

    fn confirm_if_decided(&mut self) {
        if self.has_confirmed || self.others.iter().any(|other| other.progress == Progress::Told) {
            return;
        }
        self.has_confirmed = true;
        let confirmed = self.others.iter().filter(|other| other.progress == Progress::Confirmed);
        let participants = confirmed.map(|other| other.participant.partition).collect();
        self.requests.push(Request::Confirm { home: self.home.partition, participants });
    }

    fn abort(&mut self) {
        self.phase = Phase::Aborted;
        let decision = Decision::Abort;
        for other in &self.others {
            let partition = other.participant.partition;
            if matches!(other.progress, Progress::Asked | Progress::Prepared) {
                self.requests.push(Request::Decide { partition, decision });
            }
        }
        self.requests.push(Request::Rollback { partition: self.home.partition });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: PartitionId = PartitionId(0);
    const ONE: PartitionId = PartitionId(1);
    const TWO: PartitionId = PartitionId(2);

    fn participant(partition: PartitionId) -> Participant {
        Participant { partition, term: 3, writes: 1 }
    }

    /// A coordinator whose PREPAREs have been sent.
    fn begun() -> Coordinator {
        let mut coordinator =
            Coordinator::new(TransactionId(1), participant(HOME), vec![participant(ONE), participant(TWO)]);
        let prepare = |partition| Request::Prepare { participant: participant(partition), home: HOME };
        assert_eq!(coordinator.take_requests(), [prepare(ONE), prepare(TWO)]);
        coordinator
    }

    /// One whose home has been asked to commit.
    fn committing() -> Coordinator {
        let mut coordinator = begun();
        coordinator.prepared(ONE, Some(Timestamp(7)));
        assert_eq!(coordinator.take_requests(), []);
        coordinator.prepared(TWO, Some(Timestamp(5)));
        let (home, after) = (participant(HOME), Timestamp(7));
        let commit = Request::HomeCommit { home, after, participants: vec![ONE, TWO] };
        assert_eq!(coordinator.take_requests(), [commit]);
        assert_eq!(coordinator.answer(), None);
        coordinator
    }

    fn decide(partition: PartitionId, decision: Decision) -> Request {
        Request::Decide { partition, decision }
    }

    fn aborts() -> Vec<Request> {
        let rollback = Request::Rollback { partition: HOME };
        vec![decide(ONE, Decision::Abort), decide(TWO, Decision::Abort), rollback]
    }

    #[test]
    fn all_prepared_then_the_home_commits_then_all_are_told() {
        let mut coordinator = committing();
        coordinator.home_committed(Timestamp(9));
        assert_eq!(coordinator.answer(), Some(Answer::Committed(Timestamp(9))));
        let commit = Decision::Commit(Timestamp(9));
        assert_eq!(coordinator.take_requests(), [decide(ONE, commit), decide(TWO, commit)]);
        coordinator.decided(TWO);
        assert!(!coordinator.is_finished());
        coordinator.decided(ONE);
        assert!(coordinator.is_finished());
        let confirm = Request::Confirm { home: HOME, participants: vec![ONE, TWO] };
        assert_eq!(coordinator.take_requests(), [confirm]);
    }

    #[test]
    fn one_refusal_aborts_all() {
        let mut coordinator = begun();
        coordinator.prepared(ONE, Some(Timestamp(7)));
        coordinator.refused(TWO);
        assert_eq!(coordinator.answer(), Some(Answer::NotCommitted));
        let rollback = |partition| Request::Rollback { partition };
        let expected = [rollback(TWO), decide(ONE, Decision::Abort), rollback(HOME)];
        assert_eq!(coordinator.take_requests(), expected);
        assert!(coordinator.is_finished());
        coordinator.prepared(ONE, Some(Timestamp(7)));
        coordinator.home_committed(Timestamp(9));
        assert_eq!(coordinator.answer(), Some(Answer::NotCommitted));
    }

    #[test]
    fn contact_lost_before_the_home_was_asked_aborts() {
        let mut coordinator = begun();
        coordinator.lost_contact(ONE);
        assert_eq!(coordinator.take_requests(), aborts());
        let mut coordinator = begun();
        coordinator.give_up();
        assert_eq!(coordinator.take_requests(), aborts());
        assert_eq!(coordinator.answer(), Some(Answer::NotCommitted));
    }

    #[test]
    fn a_home_that_refuses_aborts_all() {
        let mut coordinator = committing();
        coordinator.home_refused();
        assert_eq!(coordinator.take_requests(), aborts());
        assert_eq!(coordinator.answer(), Some(Answer::NotCommitted));
    }

    #[test]
    fn a_home_out_of_contact_is_asked_until_it_tells() {
        let ask = Request::OutcomeOf { home: HOME };
        for outcome in [HomeOutcome::Committed(Timestamp(9)), HomeOutcome::Aborted] {
            let mut coordinator = committing();
            coordinator.lost_contact(HOME);
            assert!(coordinator.is_asking());
            assert_eq!(coordinator.take_requests(), std::slice::from_ref(&ask));
            coordinator.ask_again();
            assert_eq!(coordinator.take_requests(), [], "it is being asked");
            coordinator.lost_contact(HOME);
            coordinator.ask_again();
            assert_eq!(coordinator.take_requests(), std::slice::from_ref(&ask));
            coordinator.home_answered(HomeOutcome::InFlight);
            assert_eq!(coordinator.take_requests(), []);
            coordinator.ask_again();
            assert_eq!(coordinator.take_requests(), std::slice::from_ref(&ask));
            assert_eq!(coordinator.answer(), None);
            coordinator.home_answered(outcome);
            match outcome {
                HomeOutcome::Committed(timestamp) => {
                    assert_eq!(coordinator.answer(), Some(Answer::Committed(timestamp)));
                    assert_eq!(coordinator.take_requests().len(), 2);
                }
                _ => {
                    assert_eq!(coordinator.answer(), Some(Answer::NotCommitted));
                    assert_eq!(coordinator.take_requests(), aborts());
                }
            }
        }
    }

    #[test]
    fn an_outcome_that_nobody_tells_is_unknown() {
        let mut coordinator = committing();
        coordinator.lost_contact(HOME);
        coordinator.take_requests();
        coordinator.give_up();
        assert_eq!(coordinator.answer(), Some(Answer::Unknown));
        assert!(coordinator.is_finished());
        assert_eq!(coordinator.take_requests(), []);
    }

    #[test]
    fn participants_out_of_contact_are_left_to_the_home() {
        let mut coordinator = committing();
        coordinator.home_committed(Timestamp(9));
        coordinator.take_requests();
        coordinator.lost_contact(ONE);
        assert!(!coordinator.is_finished());
        coordinator.give_up();
        let confirm = Request::Confirm { home: HOME, participants: Vec::new() };
        assert_eq!(coordinator.take_requests(), [confirm]);
        assert!(coordinator.is_finished());
    }

    #[test]
    fn participants_with_nothing_to_write_are_no_part_of_the_decision() {
        let mut coordinator = begun();
        coordinator.prepared(ONE, None);
        coordinator.prepared(TWO, None);
        let (home, after) = (participant(HOME), Timestamp::ZERO);
        let commit = Request::HomeCommit { home, after, participants: Vec::new() };
        assert_eq!(coordinator.take_requests(), [commit]);
        coordinator.home_committed(Timestamp(9));
        let confirm = Request::Confirm { home: HOME, participants: Vec::new() };
        assert_eq!(coordinator.take_requests(), [confirm]);
    }

    #[test]
    fn the_home_is_a_partition_that_was_written_to_and_near_if_possible() {
        let reader = Participant { partition: PartitionId(4), term: 1, writes: 0 };
        let all = vec![reader, participant(ONE), participant(TWO)];
        let mut participants = all.clone();
        let home = take_home(&mut participants, |partition| partition == TWO || partition == PartitionId(4));
        assert_eq!(home, Some(participant(TWO)));
        assert_eq!(participants, [reader, participant(ONE)]);
        assert_eq!(take_home(&mut all.clone(), |_| false), Some(participant(ONE)));
        assert_eq!(take_home(&mut vec![reader], |_| true), None);
    }
}
