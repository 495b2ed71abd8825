//! Two-phase commit at one partition: as a participant, and as the home.

use raft::eraftpb::Entry;

use super::*;

pub(crate) const HOME: PartitionId = PartitionId(9);

impl Bed {
    pub(crate) fn tick(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp(self.clock)
    }

    fn token(transaction: TransactionId) -> CommitToken {
        CommitToken(transaction.0)
    }

    /// Proposes a PREPARE with the next timestamp, which it returns.
    pub(crate) fn propose_prepare(&mut self, transaction: TransactionId) -> Timestamp {
        let timestamp = self.tick();
        let writes = self.partition.savepoint(transaction).0;
        let start = self.partition.propose_prepare(transaction, HOME, timestamp, writes, Bed::token(transaction));
        assert_eq!(start.unwrap(), CommitStart::Proposed);
        self.drain();
        timestamp
    }

    pub(crate) fn prepare(&mut self, transaction: TransactionId) -> Timestamp {
        let timestamp = self.propose_prepare(transaction);
        self.persist();
        timestamp
    }

    pub(crate) fn decide(&mut self, transaction: TransactionId, decision: Decision) -> DecisionStart {
        let start = self.partition.propose_decision(transaction, decision, Bed::token(transaction)).unwrap();
        self.persist();
        start
    }

    pub(crate) fn home_commit(&mut self, transaction: TransactionId, participants: &[PartitionId]) -> Timestamp {
        let timestamp = self.tick();
        let writes = self.partition.savepoint(transaction).0;
        let token = Bed::token(transaction);
        self.partition.propose_home_commit(transaction, timestamp, participants, writes, token).unwrap();
        self.persist();
        timestamp
    }

    /// The same partition after a crash: from its log alone.
    pub(crate) fn restart(&mut self) {
        let mut copy = Partition::new(single(1 << 30));
        for (index, term, data) in &self.log {
            copy.replay(*index, *term, data).unwrap();
        }
        copy.start().unwrap();
        self.partition = copy;
        self.persist();
    }

    /// No lock, workspace or decision is left, and the memory accounts are even.
    pub(crate) fn assert_idle(&mut self) {
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
                assert_eq!(bed.partition.newest_timestamp(), timestamp);
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
    let term = bed.partition.last_index().1;
    assert!(bed.partition.has_part(transaction, term, 1));
    assert!(!bed.partition.has_part(transaction, term, 2) && !bed.partition.has_part(transaction, term + 1, 1));
    let timestamp = bed.tick();
    let error = bed.partition.propose_prepare(transaction, HOME, timestamp, 2, CommitToken(1)).unwrap_err();
    assert!(error.rolls_back_transaction());
    assert_eq!(error.outcome(), Outcome::NotCommitted);
    assert!(bed.partition.propose_home_commit(transaction, timestamp, &[HOME], 2, CommitToken(1)).is_err());
    let unknown = bed.begin();
    assert!(bed.partition.has_part(unknown, 0, 0), "it joins now");
    assert!(!bed.partition.has_part(unknown, term, 0), "it has locked nothing yet, or not any more");
    assert!(bed.partition.expect_joined(unknown).is_err());
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

/// t (..., UNIQUE KEY (k)), unique within the partition.
fn unique_schema() -> TableSchema {
    let mut schema = schema(IndexMethod::BTree);
    schema.indexes[1].unique = true;
    schema
}

#[test]
fn a_restarted_participant_holds_the_unique_keys_that_its_transaction_takes_and_gives_up() {
    let mut bed = Bed::with(unique_schema(), 1 << 30);
    bed.fill([row(1, 10), row(2, 20), row(3, 30)]);
    let transaction = bed.begin();
    bed.update(transaction, &row(1, 11));
    bed.delete(transaction, 2);
    bed.insert(transaction, &row(4, 40));
    // The same key as before: nothing is given up or taken.
    bed.update(transaction, &TestRow { name: "z", ..row(3, 30) });
    let timestamp = bed.prepare(transaction);
    let locks = bed.partition.activity().row_locks;
    bed.restart();
    assert_eq!(bed.partition.activity().row_locks, locks);
    for (id, k) in [(5, 10), (6, 11), (7, 20), (8, 40)] {
        let other = bed.begin();
        let blocked = bed.insert(other, &row(id, k));
        assert!(matches!(blocked, Step::Wait(blocked) if blocked.holders == [transaction]), "k = {k}");
        bed.partition.rollback(other);
    }
    bed.decide(transaction, Decision::Commit(timestamp));
    let other = bed.begin();
    assert!(matches!(bed.insert(other, &row(5, 10)), Step::Ready(None)));
    assert!(matches!(bed.insert(other, &row(6, 11)), Step::Ready(Some(owner)) if owner == row(1, 11)));
    bed.partition.rollback(other);
    bed.assert_idle();
}

#[test]
fn a_writer_and_a_locking_scan_wait_for_a_prepared_insert_after_a_restart() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10), row(9, 90)]);
    let transaction = bed.begin();
    bed.insert(transaction, &row(5, 50));
    bed.prepare(transaction);
    bed.restart();
    let other = bed.begin();
    let mut rows = Vec::new();
    let mut cursor = Cursor::new(TABLE, BY_K, KeyBounds::ALL, Direction::Forward);
    let blocked = bed.scan(&newest(other), &mut cursor, Some(EXCLUSIVE), 9, &mut rows);
    assert!(matches!(blocked, Step::Wait(blocked) if blocked.holders == [transaction]));
    assert_eq!(rows, [row(1, 10)]);
    bed.woken.clear();
    bed.decide(transaction, Decision::Abort);
    assert_eq!(bed.woken, [WaitToken(other.0)]);
    assert!(bed.scan(&newest(other), &mut cursor, Some(EXCLUSIVE), 9, &mut rows).is_ready());
    assert_eq!(rows, [row(1, 10), row(9, 90)]);
    bed.partition.rollback(other);
    bed.assert_idle();
}

#[test]
fn a_decision_that_comes_twice_or_with_its_prepare_still_in_flight_is_applied_once() {
    for decision in [Decision::Abort, Decision::Commit(Timestamp(50))] {
        let mut bed = Bed::new();
        let transaction = bed.begin();
        bed.insert(transaction, &row(1, 10));
        bed.propose_prepare(transaction);
        for token in [70, 71] {
            let start = bed.partition.propose_decision(transaction, decision, CommitToken(token)).unwrap();
            assert_eq!(start, DecisionStart::Proposed);
        }
        bed.persist();
        assert_eq!(bed.committed[bed.committed.len() - 3..], [1, 70, 71].map(CommitToken));
        assert_eq!(bed.all().len(), usize::from(decision != Decision::Abort));
        bed.clock = 50;
        bed.restart();
        assert_eq!(bed.all().len(), usize::from(decision != Decision::Abort));
        bed.assert_idle();
    }
}

#[test]
fn a_commit_decided_at_a_timestamp_before_others_is_seen_by_the_snapshots_from_then_on() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10), row(2, 20), row(3, 30)]);
    let transaction = bed.begin();
    bed.update(transaction, &row(1, 11));
    bed.delete(transaction, 2);
    bed.insert(transaction, &row(4, 40));
    let prepared = bed.prepare(transaction);
    bed.clock += 10;
    bed.fill([row(5, 50)]);
    let newest = bed.partition.newest_timestamp();
    let commit = Timestamp(prepared.0 + 5);
    bed.decide(transaction, Decision::Commit(commit));
    assert_eq!(bed.partition.newest_timestamp(), newest);
    let seen = |bed: &mut Bed, snapshot: u64| {
        let mut rows = Vec::new();
        let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
        assert!(bed.scan(&at(None, snapshot), &mut cursor, None, 99, &mut rows).is_ready());
        rows
    };
    assert_eq!(seen(&mut bed, commit.0 - 1), [row(1, 10), row(2, 20), row(3, 30)]);
    assert_eq!(seen(&mut bed, commit.0), [row(1, 11), row(3, 30), row(4, 40)]);
    assert_eq!(seen(&mut bed, newest.0), [row(1, 11), row(3, 30), row(4, 40), row(5, 50)]);
    // The garbage of the earlier timestamp lies behind that of the later one.
    bed.partition.set_gc_horizon(commit);
    assert_eq!(seen(&mut bed, commit.0), [row(1, 11), row(3, 30), row(4, 40)]);
    bed.assert_idle();
}

#[test]
fn a_decision_earlier_than_its_prepare_or_a_prepare_earlier_than_a_commit_is_refused() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10)]);
    let newest = bed.partition.newest_timestamp();
    let transaction = bed.begin();
    bed.update(transaction, &row(1, 11));
    assert!(bed.partition.propose_prepare(transaction, HOME, newest, 1, CommitToken(1)).is_err());
    let itself = bed.partition.config().id;
    let later = Timestamp(newest.0 + 10);
    assert!(bed.partition.propose_prepare(transaction, itself, later, 1, CommitToken(1)).is_err());
    bed.clock = later.0;
    let timestamp = bed.prepare(transaction);
    let early = Decision::Commit(Timestamp(timestamp.0 - 1));
    assert!(bed.partition.propose_decision(transaction, early, CommitToken(1)).is_err());
    assert!(bed.partition.insert(transaction, TABLE, &bed.codec.encode(&row(2, 2)), TOKEN).is_err());
    bed.decide(transaction, Decision::Abort);
    bed.assert_idle();
}

#[test]
fn a_table_altered_while_a_transaction_is_prepared_keeps_the_accounts_even() {
    for decision in [Decision::Abort, Decision::Commit(Timestamp(50))] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10)]);
        let transaction = bed.begin();
        bed.update(transaction, &row(1, 11));
        bed.insert(transaction, &row(2, 20));
        bed.prepare(transaction);
        let mut altered = schema(IndexMethod::BTree);
        altered.version = 2;
        altered.indexes.remove(2);
        bed.partition.alter_fragment(Arc::new(altered), CommitToken(1)).unwrap();
        bed.persist();
        bed.decide(transaction, decision);
        bed.clock = 50;
        bed.assert_idle();
    }
}

#[test]
fn writes_to_a_table_dropped_while_they_are_prepared_are_void() {
    for restarts in [false, true] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10)]);
        let transaction = bed.begin();
        bed.update(transaction, &row(1, 11));
        let timestamp = bed.prepare(transaction);
        bed.partition.drop_fragment(TABLE, CommitToken(1)).unwrap();
        bed.persist();
        if restarts {
            bed.restart();
        }
        bed.decide(transaction, Decision::Commit(timestamp));
        assert_eq!(bed.partition.config().budget.used_bytes(), 0);
        assert_eq!(bed.partition.activity(), Activity::default());
    }
}

#[test]
fn the_transactions_of_a_node_that_is_gone_are_those_that_are_not_prepared() {
    let mut bed = Bed::new();
    let of_node = |node: u64, number: u64| TransactionId(node << 52 | number);
    for (node, number) in [(1, 7), (1, 3), (2, 5), (1, 9)] {
        bed.insert(of_node(node, number), &row(number as i32, 1));
    }
    bed.prepare(of_node(1, 9));
    assert_eq!(bed.partition.transactions_of(NodeId(1)), [of_node(1, 3), of_node(1, 7)]);
    assert_eq!(bed.partition.transactions_of(NodeId(2)), [of_node(2, 5)]);
    assert_eq!(bed.partition.transactions_of(NodeId(3)), []);
}

/// The entry that another bed's log ends with, as a replica gets it from a leader of this term.
fn entry_of(bed: &Bed, index: u64, term: u64) -> Entry {
    let data = bed.log.last().unwrap().2.clone();
    Entry { index, term, data: data.into(), ..Entry::default() }
}

#[test]
fn a_deposed_leader_gives_the_locks_of_its_own_transactions_to_the_prepared_ones_of_the_log() {
    let mut leader = Bed::new();
    leader.fill([row(1, 10)]);
    let prepared = TransactionId(1 << 52);
    leader.update(prepared, &row(1, 11));
    leader.prepare(prepared);

    let mut deposed = Bed::new();
    deposed.fill([row(1, 10), row(2, 20)]);
    let (holder, waiter, bystander) = (TransactionId(50), TransactionId(51), TransactionId(52));
    assert!(deposed.update(bystander, &row(2, 21)).is_ready());
    assert!(deposed.update(holder, &row(1, 12)).is_ready());
    assert!(!deposed.update(holder, &row(2, 22)).is_ready());
    // It is the waiter that would get the lock next.
    assert!(!deposed.update(waiter, &row(1, 13)).is_ready());
    let next = deposed.partition.last_index().0 + 1;
    deposed.partition.apply_committed(&entry_of(&leader, next, 9)).unwrap();
    deposed.drain();
    assert_eq!(deposed.woken, [WaitToken(holder.0), WaitToken(waiter.0)]);
    assert_eq!(deposed.partition.in_doubt(), [(prepared, HOME)]);
    assert_eq!(deposed.partition.active_transactions(), [bystander]);
    let blocked = deposed.get(&newest(TransactionId(53)), 1, Some(EXCLUSIVE));
    assert!(matches!(blocked, Step::Wait(blocked) if blocked.holders == [prepared]));
}

#[test]
fn a_prepare_or_home_commit_that_another_leader_overwrites_is_rolled_back_and_its_readers_go_on() {
    for is_home in [false, true] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10)]);
        let transaction = bed.begin();
        bed.update(transaction, &row(1, 11));
        let token = CommitToken(5);
        let timestamp = bed.tick();
        if is_home {
            bed.partition.propose_home_commit(transaction, timestamp, &[HOME], 1, token).unwrap();
        } else {
            bed.partition.propose_prepare(transaction, HOME, timestamp, 1, token).unwrap();
            bed.partition.propose_decision(transaction, Decision::Abort, CommitToken(6)).unwrap();
        }
        let view = ReadView { token: WaitToken(8), ..at(None, timestamp.0) };
        assert!(!bed.get(&view, 1, None).is_ready());
        let empty = Entry { index: bed.partition.applied_index() + 1, term: 9, ..Entry::default() };
        bed.partition.apply_committed(&empty).unwrap();
        let lost = std::mem::take(&mut bed.partition.outputs().lost);
        assert_eq!(lost, if is_home { vec![token] } else { vec![token, CommitToken(6)] });
        bed.drain();
        assert_eq!(bed.woken, [WaitToken(8)]);
        assert_eq!(bed.all(), [row(1, 10)]);
        bed.assert_idle();
    }
}

#[test]
fn a_forget_that_is_lost_comes_again() {
    let mut bed = Bed::new();
    let transaction = bed.begin();
    bed.insert(transaction, &row(1, 10));
    bed.home_commit(transaction, &[]);
    bed.partition.confirm(transaction, Confirmation::Coordinator);
    assert!(bed.partition.propose_forget(CommitToken(1)).unwrap());
    // The new term's entry comes before ours.
    let empty = Entry { index: bed.partition.applied_index() + 1, term: 9, ..Entry::default() };
    bed.partition.apply_committed(&empty).unwrap();
    assert_eq!(std::mem::take(&mut bed.partition.outputs().lost), [CommitToken(1)]);
    assert!(bed.partition.propose_forget(CommitToken(2)).unwrap());
}
