//! Two-phase commit at one partition: as a participant, and as the home.

use super::*;

const HOME: PartitionId = PartitionId(9);

impl Bed {
    fn tick(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp(self.clock)
    }

    fn token(transaction: TransactionId) -> CommitToken {
        CommitToken(transaction.0)
    }

    /// Proposes a PREPARE with the next timestamp, which it returns.
    fn propose_prepare(&mut self, transaction: TransactionId) -> Timestamp {
        let timestamp = self.tick();
        let writes = self.partition.savepoint(transaction).0;
        let start = self.partition.propose_prepare(transaction, HOME, timestamp, writes, Bed::token(transaction));
        assert_eq!(start.unwrap(), CommitStart::Proposed);
        self.drain();
        timestamp
    }

    fn prepare(&mut self, transaction: TransactionId) -> Timestamp {
        let timestamp = self.propose_prepare(transaction);
        self.persist();
        timestamp
    }

    fn decide(&mut self, transaction: TransactionId, decision: Decision) -> DecisionStart {
        let start = self.partition.propose_decision(transaction, decision, Bed::token(transaction)).unwrap();
        self.persist();
        start
    }

    fn home_commit(&mut self, transaction: TransactionId, participants: &[PartitionId]) -> Timestamp {
        let timestamp = self.tick();
        let writes = self.partition.savepoint(transaction).0;
        let token = Bed::token(transaction);
        self.partition.propose_home_commit(transaction, timestamp, participants, writes, token).unwrap();
        self.persist();
        timestamp
    }

    /// The same partition after a crash: from its log alone.
    fn restart(&mut self) {
        let mut copy = Partition::new(single(1 << 30));
        for (index, term, data) in &self.log {
            copy.replay(*index, *term, data).unwrap();
        }
        copy.start().unwrap();
        self.partition = copy;
        self.persist();
    }

    /// No lock, workspace or decision is left, and the memory accounts are even.
    fn assert_idle(&mut self) {
        let horizon = self.tick();
        self.partition.set_gc_horizon(horizon);
        self.partition.collect_garbage(usize::MAX);
        assert_eq!(self.partition.activity(), Activity::default());
        let bytes = self.partition.usage(TABLE).unwrap().bytes;
        assert_eq!(self.partition.config().budget.used_bytes(), bytes);
    }
}

#[test]
fn a_prepared_transaction_is_invisible_and_locked_until_it_is_decided() {
    for restarts in [false, true] {
        for decision in [Some(()), None] {
            let mut bed = Bed::new();
            bed.fill([row(1, 10), row(2, 20), row(3, 30)]);
            let before = bed.all();
            let transaction = bed.begin();
            assert!(matches!(bed.update(transaction, &row(1, 11)), Step::Ready(true)));
            assert!(matches!(bed.delete(transaction, 2), Step::Ready(true)));
            assert!(matches!(bed.insert(transaction, &row(4, 40)), Step::Ready(None)));
            let timestamp = bed.prepare(transaction);
            assert_eq!(bed.committed.last(), Some(&CommitToken(transaction.0)));
            if restarts {
                bed.restart();
            }
            assert_eq!(bed.partition.in_doubt(), [(transaction, HOME)]);
            // The log decides, not the coordinator.
            bed.partition.rollback(transaction);
            assert_eq!(bed.partition.activity().prepared, 1);
            let other = bed.begin();
            for id in [1, 2, 4] {
                let blocked = bed.get(&newest(other), id, Some(EXCLUSIVE));
                assert!(matches!(blocked, Step::Wait(blocked) if blocked.holders == [transaction]));
                bed.partition.cancel_wait(other, WaitToken(other.0));
            }
            assert!(matches!(bed.get(&newest(other), 3, Some(EXCLUSIVE)), Step::Ready(Some(_))));
            bed.partition.rollback(other);

            let commit = Timestamp(timestamp.0 + 5);
            bed.clock = commit.0;
            let decision = decision.map_or(Decision::Abort, |()| Decision::Commit(commit));
            assert_eq!(bed.decide(transaction, decision), DecisionStart::Proposed);
            let after = match decision {
                Decision::Commit(_) => vec![row(1, 11), row(3, 30), row(4, 40)],
                Decision::Abort => before.clone(),
            };
            assert_eq!(bed.all(), after);
            assert_eq!(bed.decide(transaction, decision), DecisionStart::Done);
            bed.assert_idle();
            bed.restart();
            assert_eq!(bed.all(), after);
            bed.assert_idle();
        }
    }
}

#[test]
fn readers_wait_for_prepared_writes_that_their_snapshot_may_have_to_show() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10), row(2, 20)]);
    let early = bed.tick();
    let transaction = bed.begin();
    bed.update(transaction, &row(1, 11));
    let timestamp = bed.propose_prepare(transaction);
    // Nobody can have committed it yet: the newest state is the old one. A later snapshot may have to show it.
    let latest = ReadView::newest(None, TOKEN);
    assert!(matches!(bed.get(&latest, 1, None), Step::Ready(Some(found)) if found == row(1, 10)));
    assert!(matches!(bed.get(&at(None, timestamp.0), 1, None), Step::Wait(_)));
    bed.persist();
    let mut waiting = Vec::new();
    for view in [latest, at(None, timestamp.0)] {
        assert!(matches!(bed.get(&view, 1, None), Step::Wait(_)));
        assert!(matches!(bed.get(&view, 2, None), Step::Ready(Some(_))));
        let range = |from, to| Cursor::new(TABLE, PRIMARY, ids(from, to), Direction::Forward);
        assert!(matches!(bed.scan(&view, &mut range(0, 9), None, 9, &mut waiting), Step::Wait(_)));
        assert!(matches!(bed.scan(&view, &mut range(2, 9), None, 9, &mut waiting), Step::Ready(())));
    }
    assert!(matches!(bed.get(&at(None, early.0), 1, None), Step::Ready(Some(found)) if found == row(1, 10)));
    bed.woken.clear();
    bed.decide(transaction, Decision::Commit(timestamp));
    assert_eq!(bed.woken.len(), 5);
    assert!(matches!(bed.get(&latest, 1, None), Step::Ready(Some(found)) if found == row(1, 11)));
    assert!(matches!(bed.get(&at(None, timestamp.0), 1, None), Step::Ready(Some(found)) if found == row(1, 11)));
    assert!(matches!(bed.get(&at(None, early.0), 1, None), Step::Ready(Some(found)) if found == row(1, 10)));
    bed.assert_idle();
}

#[test]
fn a_home_remembers_its_decision_until_all_have_confirmed() {
    let mut bed = Bed::new();
    let others = [PartitionId(4), PartitionId(5)];
    let transaction = bed.begin();
    bed.insert(transaction, &row(1, 10));
    let timestamp = bed.home_commit(transaction, &others);
    assert_eq!(bed.all(), [row(1, 10)]);
    bed.restart();
    assert_eq!(bed.all(), [row(1, 10)]);
    assert_eq!(bed.partition.outcome_of(transaction), HomeOutcome::Committed(timestamp));
    let everybody = Unconfirmed { transaction, timestamp, participants: others.to_vec(), coordinator: true };
    assert_eq!(bed.partition.unconfirmed(), [everybody]);

    bed.partition.confirm(transaction, Confirmation::Participant(others[0]));
    bed.partition.confirm(transaction, Confirmation::Coordinator);
    assert_eq!(bed.partition.unconfirmed()[0].participants, [others[1]]);
    assert!(!bed.partition.propose_forget(CommitToken(1)).unwrap());
    bed.partition.confirm(transaction, Confirmation::Participant(others[1]));
    assert_eq!(bed.partition.unconfirmed(), []);
    assert!(bed.partition.propose_forget(CommitToken(1)).unwrap());
    assert!(!bed.partition.propose_forget(CommitToken(2)).unwrap(), "a FORGET for it is under way");
    bed.persist();
    bed.assert_idle();
    bed.restart();
    bed.assert_idle();
}

#[test]
fn asking_the_home_about_an_active_transaction_rolls_it_back_for_good() {
    let mut bed = Bed::new();
    let transaction = bed.begin();
    bed.insert(transaction, &row(1, 10));
    assert_eq!(bed.partition.outcome_of(transaction), HomeOutcome::Aborted);
    let timestamp = bed.tick();
    let late = bed.partition.propose_home_commit(transaction, timestamp, &[HOME], 1, CommitToken(1));
    assert!(late.unwrap_err().rolls_back_transaction());

    let transaction = bed.begin();
    bed.insert(transaction, &row(1, 10));
    let timestamp = bed.tick();
    bed.partition.propose_home_commit(transaction, timestamp, &[HOME], 1, CommitToken(1)).unwrap();
    assert_eq!(bed.partition.outcome_of(transaction), HomeOutcome::InFlight);
    bed.persist();
    assert_eq!(bed.partition.outcome_of(transaction), HomeOutcome::Committed(timestamp));
}

#[test]
fn a_transaction_whose_early_writes_are_gone_is_refused() {
    let mut bed = Bed::new();
    let transaction = bed.begin();
    bed.insert(transaction, &row(2, 20));
    bed.partition.expect_writes(transaction, 1).unwrap();
    let timestamp = bed.tick();
    let error = bed.partition.propose_prepare(transaction, HOME, timestamp, 2, CommitToken(1)).unwrap_err();
    assert!(error.rolls_back_transaction());
    assert_eq!(error.outcome(), Outcome::NotCommitted);
    assert!(bed.partition.propose_home_commit(transaction, timestamp, &[HOME], 2, CommitToken(1)).is_err());
    let unknown = bed.begin();
    assert!(bed.partition.propose_prepare(unknown, HOME, timestamp, 0, CommitToken(1)).is_err());
    assert!(bed.partition.propose_decision(transaction, Decision::Commit(timestamp), CommitToken(1)).is_err());
    assert_eq!(bed.decide(transaction, Decision::Abort), DecisionStart::Done);
    bed.assert_idle();
}

#[test]
fn a_participant_with_nothing_left_to_write_ends_when_it_is_asked_to_prepare() {
    let mut bed = Bed::new();
    let transaction = bed.begin();
    bed.insert(transaction, &row(1, 10));
    bed.delete(transaction, 1);
    let timestamp = bed.tick();
    let start = bed.partition.propose_prepare(transaction, HOME, timestamp, 2, CommitToken(1)).unwrap();
    assert_eq!(start, CommitStart::ReadOnly);
    bed.assert_idle();
}
