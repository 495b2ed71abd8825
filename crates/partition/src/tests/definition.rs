//! Definitions and the transactions that they meet.

use super::*;
use crate::decision::{Decision, DecisionStart};

fn altered() -> Arc<TableSchema> {
    Arc::new(TableSchema { version: 2, ..schema(IndexMethod::BTree) })
}

/// Proposes a definition of the table: the next version, or its end.
fn define(bed: &mut Bed, drops: bool) {
    match drops {
        true => bed.partition.drop_fragment(TABLE, CommitToken(77)).unwrap(),
        false => bed.partition.alter_fragment(altered(), CommitToken(77)).unwrap(),
    }
    bed.drain();
}

fn term(bed: &Bed) -> u64 {
    bed.log.last().unwrap().1
}

/// All ways to end a transaction with what it has here refuse it.
fn assert_lost(bed: &mut Bed, transaction: TransactionId, writes: u32) {
    assert!(!bed.partition.has_part(transaction, term(bed), writes));
    assert!(bed.partition.expect_joined(transaction).unwrap_err().rolls_back_transaction());
    let (timestamp, token) = (bed.tick(), CommitToken(1));
    let prepared = bed.partition.propose_prepare(transaction, two_phase::HOME, timestamp, writes, token);
    assert!(prepared.unwrap_err().rolls_back_transaction());
    let committed = bed.partition.propose_home_commit(transaction, timestamp, &[], writes, token);
    assert!(committed.unwrap_err().rolls_back_transaction());
}

#[test]
fn a_definition_ends_what_has_used_its_table_and_nothing_else() {
    for drops in [false, true] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10), row(2, 20)]);
        let (writer, reader, idle) = (bed.begin(), bed.begin(), bed.begin());
        assert!(matches!(bed.update(writer, &row(1, 11)), Step::Ready(true)));
        assert!(matches!(bed.get(&newest(reader), 2, Some(EXCLUSIVE)), Step::Ready(Some(_))));
        bed.partition.join(idle).unwrap();
        define(&mut bed, drops);
        assert_lost(&mut bed, writer, 1);
        assert_lost(&mut bed, reader, 0);
        assert!(bed.partition.has_part(idle, term(&bed), 0));
        bed.persist();
        assert_lost(&mut bed, writer, 1);
        assert!(bed.partition.has_part(idle, term(&bed), 0));
        assert_eq!(bed.partition.activity().row_locks, 0);
        if !drops {
            assert_eq!(bed.all(), [row(1, 10), row(2, 20)]);
        }
    }
}

#[test]
fn nothing_is_prepared_or_committed_between_a_definition_and_its_being_applied() {
    for drops in [false, true] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10)]);
        define(&mut bed, drops);
        // The table is still what it was.
        let late = bed.begin();
        assert!(matches!(bed.update(late, &row(1, 11)), Step::Ready(true)));
        assert_lost(&mut bed, late, 1);
        let timestamp = bed.tick();
        let committed = bed.partition.propose_commit(late, timestamp, CommitToken(1));
        assert!(committed.unwrap_err().rolls_back_transaction());
        bed.persist();
        assert_eq!(bed.partition.activity(), Activity::default());
        if !drops {
            assert_eq!(bed.all(), [row(1, 10)]);
            bed.fill([row(2, 20)]);
            assert_eq!(bed.all(), [row(1, 10), row(2, 20)]);
        }
    }
}

#[test]
fn a_table_is_settled_when_the_outcome_of_all_that_has_used_it_is_known() {
    for commits in [true, false] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10)]);
        let (active, prepared, committing) = (bed.begin(), bed.begin(), bed.begin());
        assert!(matches!(bed.insert(active, &row(2, 20)), Step::Ready(None)));
        assert!(!bed.partition.await_settled(&[TABLE], WaitToken(50)));
        assert!(matches!(bed.insert(prepared, &row(3, 30)), Step::Ready(None)));
        assert!(matches!(bed.insert(committing, &row(4, 40)), Step::Ready(None)));
        bed.propose_prepare(prepared);
        assert!(bed.partition.await_settled(&[TableId(1), TABLE], WaitToken(51)));
        bed.persist();
        bed.propose(committing);
        assert!(bed.partition.await_settled(&[TABLE], WaitToken(52)));
        assert!(!bed.partition.await_settled(&[TableId(1)], WaitToken(53)));
        bed.persist();
        assert!(bed.partition.await_settled(&[TABLE], WaitToken(54)), "one is still in doubt");
        define(&mut bed, false);
        bed.persist();
        assert!(bed.partition.await_settled(&[TABLE], WaitToken(55)), "its writes are in doubt as before");
        let commit = bed.tick();
        let decision = if commits { Decision::Commit(commit) } else { Decision::Abort };
        assert_eq!(bed.decide(prepared, decision), DecisionStart::Proposed);
        assert!(!bed.partition.await_settled(&[TABLE], WaitToken(56)));
        for token in [51, 52, 54, 55] {
            assert!(bed.woken.contains(&WaitToken(token)), "{token} is woken");
        }
        let in_doubt = commits.then_some(row(3, 30));
        let rows: Vec<TestRow> = [Some(row(1, 10)), in_doubt, Some(row(4, 40))].into_iter().flatten().collect();
        assert_eq!(bed.all(), rows);
    }
}

#[test]
fn a_prepared_transaction_found_in_the_log_unsettles_its_tables_too() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10)]);
    let transaction = bed.begin();
    assert!(matches!(bed.update(transaction, &row(1, 11)), Step::Ready(true)));
    bed.prepare(transaction);
    bed.restart();
    assert!(bed.partition.await_settled(&[TABLE], WaitToken(50)));
    bed.decide(transaction, Decision::Abort);
    assert!(!bed.partition.await_settled(&[TABLE], WaitToken(51)));
}
