//! Large transactions: half of one is never seen, and never there after a crash.

use super::*;

fn is_wait<T>(step: &Step<T>) -> bool {
    matches!(step, Step::Wait(_))
}

/// A bed with the rows 0 to 9, whose `k` is 0, and a transaction that has set it to 1 in all of them.
fn changing_all() -> (Bed, TransactionId) {
    let mut bed = Bed::new();
    bed.fill((0..10).map(|id| row(id, 0)));
    bed.committed.clear();
    bed.partition.config.slice_writes = 4;
    bed.in_slices = true;
    let writer = bed.begin();
    for id in 0..10 {
        assert!(matches!(bed.update(writer, &row(id, 1)), Step::Ready(true)));
    }
    (bed, writer)
}

fn log_part(bed: &mut Bed, transaction: TransactionId) -> bool {
    let part = bed.partition.next_part(transaction, 60);
    let is_one = part.is_some();
    part.into_iter().for_each(|part| bed.partition.propose_part(transaction, part, CommitToken(77)).unwrap());
    is_one
}

fn log_parts(bed: &mut Bed, transaction: TransactionId) -> usize {
    let mut parts = 0;
    while log_part(bed, transaction) {
        parts += 1;
        bed.persist();
    }
    parts
}

fn restarted(bed: &Bed, entries: usize) -> Partition {
    let mut copy = Partition::new(single(1 << 30));
    for (index, term, data) in &bed.log[..entries] {
        copy.replay(*index, *term, data).unwrap();
    }
    copy.start().unwrap();
    copy
}

fn ks(rows: &[TestRow]) -> Vec<i32> {
    rows.iter().map(|row| row.k.unwrap()).collect()
}

#[test]
fn nobody_sees_half_of_a_commit_that_is_applied_in_slices() {
    let (mut bed, writer) = changing_all();
    let before = bed.clock;
    bed.propose(writer);
    let after = bed.clock;
    bed.persist();
    bed.partition.go_on();
    bed.drain();
    assert!(bed.partition.has_ending() && bed.committed == [CommitToken(writer.0)]);
    // Who sees the commit sees what is a row, and waits for the rest; who does not sees what was there before.
    for snapshot in [after, u64::MAX] {
        assert!(matches!(bed.get(&at(None, snapshot), 0, None), Step::Ready(Some(TestRow { k: Some(1), .. }))));
        assert!(is_wait(&bed.get(&at(None, snapshot), 9, None)));
        let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
        assert!(is_wait(&bed.scan(&at(None, snapshot), &mut cursor, None, 100, &mut Vec::new())));
    }
    let (mut cursor, mut rows) = (Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward), Vec::new());
    assert!(!is_wait(&bed.scan(&at(None, before), &mut cursor, None, 100, &mut rows)));
    assert_eq!(ks(&rows), [0; 10]);
    // Other rows go on; these stay locked.
    let other = bed.begin();
    assert!(matches!(bed.insert(other, &row(10, 5)), Step::Ready(None)));
    assert!(is_wait(&bed.update(other, &row(0, 7))));
    let third = bed.begin();
    assert!(matches!(bed.insert(third, &row(11, 5)), Step::Ready(None)));
    bed.commit(third);
    assert_eq!(bed.committed[1..], [CommitToken(third.0)], "what comes later in the log need not wait");
    bed.woken.clear();
    while bed.partition.has_ending() {
        bed.partition.go_on();
        bed.drain();
    }
    assert!(bed.woken.contains(&TOKEN) && bed.woken.contains(&WaitToken(other.0)));
    assert!(matches!(bed.update(other, &row(0, 7)), Step::Ready(true)));
    bed.partition.rollback(other);
    assert_eq!(ks(&bed.all()), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5]);
}

#[test]
fn parts_are_a_commit_only_with_their_commit() {
    let (mut bed, writer) = changing_all();
    let parts = log_parts(&mut bed, writer);
    assert!(parts > 2, "{parts} parts");
    bed.propose(writer);
    bed.persist();
    let entries = bed.log.len();
    assert!(bed.log[entries - 1].2.len() < 30, "the commit itself is short");
    assert_eq!(ks(&all_rows(&mut restarted(&bed, entries))), [1; 10]);
    for cut in 1..=parts {
        let mut copy = restarted(&bed, entries - cut);
        assert_eq!(ks(&all_rows(&mut copy)), [0; 10]);
        assert!(copy.parts.is_empty() && copy.logged_parts().next().is_none());
    }
}

#[test]
fn a_checkpoint_between_two_parts_has_the_first_ones() {
    let (mut bed, writer) = changing_all();
    for _ in 0..2 {
        assert!(log_part(&mut bed, writer));
    }
    bed.persist();
    // One more is in the log and not applied: it is none of the checkpoint's.
    assert!(log_part(&mut bed, writer));
    let mut cursor = bed.partition.begin_checkpoint();
    let mut block = Vec::new();
    while bed.partition.next_checkpoint_block(&mut cursor, 1 << 20, &mut block).unwrap() {}
    bed.partition.end_checkpoint(cursor);
    log_parts(&mut bed, writer);
    bed.propose(writer);
    bed.persist();
    let mut copy = Partition::new(single(1 << 30));
    copy.install_checkpoint_block(&block).unwrap();
    for (index, term, data) in &bed.log {
        copy.replay(*index, *term, data).unwrap();
    }
    copy.start().unwrap();
    assert_eq!(ks(&all_rows(&mut copy)), [1; 10]);
}

#[test]
fn parts_of_what_is_rolled_back_are_void_from_the_next_entry_on() {
    let (mut bed, writer) = changing_all();
    assert!(log_part(&mut bed, writer));
    bed.partition.rollback(writer);
    bed.partition.go_on_to_the_end();
    assert_eq!(bed.partition.activity(), Activity { proposals: 1, ..Activity::default() });
    bed.fill([row(20, 3)]);
    let mut copy = Partition::new(single(1 << 30));
    for (index, term, data) in &bed.log {
        copy.replay(*index, *term, data).unwrap();
    }
    assert!(copy.parts.is_empty());
    assert_eq!(ks(&all_rows(&mut copy)), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
}

#[test]
fn a_large_rollback_lets_go_slice_by_slice() {
    let (mut bed, writer) = changing_all();
    let waiter = bed.begin();
    assert!(is_wait(&bed.update(waiter, &row(0, 2))));
    bed.partition.rollback(writer);
    assert!(bed.partition.has_ending());
    assert!(bed.partition.has_part(TransactionId(99), 0, 0) && !bed.partition.has_part(writer, 0, 10));
    assert_eq!(bed.partition.expect_joined(writer).unwrap_err().errno(), 1297);
    let prepared = bed.partition.propose_prepare(writer, PartitionId(9), Timestamp(1 << 40), 10, CommitToken(9));
    assert_eq!(prepared.unwrap_err().errno(), 1297, "it is gone, and not committing");
    while bed.partition.has_ending() {
        bed.partition.go_on();
    }
    assert!(matches!(bed.update(waiter, &row(0, 2)), Step::Ready(true)));
    bed.commit(waiter);
    bed.partition.go_on_to_the_end();
    assert_eq!(ks(&bed.all()), [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bed.partition.activity().transactions, 0);
}

#[test]
fn who_follows_the_log_is_told_of_parts_as_of_a_commit() {
    let (mut bed, writer) = changing_all();
    let place = bed.partition.begin_to_follow(&[TABLE], &mut |_| {}).unwrap();
    let parts = log_parts(&mut bed, writer);
    bed.propose(writer);
    bed.persist();
    bed.partition.go_on_to_the_end();
    let (mut prepared, mut writes, mut decided) = (0, 0, None);
    let mut see = |change: LoggedChange<'_>| match change {
        LoggedChange::Prepared { transaction, writes: all } if transaction == writer => {
            prepared += 1;
            writes += all.len();
        }
        LoggedChange::Decided { transaction, commit } if transaction == writer => decided = commit,
        other => panic!("{other:?}"),
    };
    bed.partition.follow(place, &[TABLE], 1 << 20, &mut see).unwrap();
    assert_eq!((prepared, writes, decided), (parts, 10, Some(Timestamp(bed.clock))));
}

#[test]
fn who_was_behind_a_large_transaction_in_a_queue_holds_what_it_gets() {
    let (mut bed, writer) = changing_all();
    bed.fill([row(20, 0)]);
    let (reader, other) = (bed.begin(), bed.begin());
    let shared = LockRequest { mode: LockMode::Shared, ..EXCLUSIVE };
    assert!(!is_wait(&bed.get(&newest(reader), 20, Some(shared))));
    assert!(is_wait(&bed.update(writer, &row(20, 1))));
    assert!(is_wait(&bed.get(&newest(other), 20, Some(shared))));
    bed.woken.clear();
    bed.partition.rollback(writer);
    assert!(bed.partition.has_ending(), "it goes away in slices");
    bed.drain();
    assert!(bed.woken.contains(&WaitToken(other.0)), "nobody is in its way any more");
    for transaction in [other, reader] {
        bed.partition.rollback(transaction);
    }
    bed.partition.go_on_to_the_end();
    assert_eq!(bed.partition.activity(), Activity::default());
}

#[test]
fn locks_of_which_only_hashes_are_kept_are_locks_until_their_transaction_is_gone() {
    let (mut bed, writer) = changing_all();
    assert_eq!(bed.partition.transaction(writer).unwrap().locks.len(), 4);
    assert_eq!(bed.partition.activity().row_locks, 10);
    // Whoever comes for one waits for its holder, or goes past it.
    let (other, third) = (bed.begin(), bed.begin());
    assert!(is_wait(&bed.update(other, &row(9, 2))));
    let skip = LockRequest { policy: LockPolicy::SkipLocked, ..EXCLUSIVE };
    let (mut cursor, mut rows) = (Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward), Vec::new());
    assert!(!is_wait(&bed.scan(&newest(third), &mut cursor, Some(skip), 100, &mut rows)));
    assert!(rows.is_empty());
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Backward);
    assert!(is_wait(&bed.scan(&newest(third), &mut cursor, Some(EXCLUSIVE), 100, &mut rows)));
    let edges = bed.partition.wait_edges();
    let mut edges: Vec<_> = edges.into_iter().map(|edge| (edge.waiter, edge.blocker)).collect();
    edges.sort_unstable();
    assert_eq!(edges, [(other, writer), (third, other)]);
    // What is undone stays locked.
    bed.partition.rollback_to(writer, SavepointMark(2));
    for id in 2..8 {
        assert!(is_wait(&bed.update(bed_waiter(id), &row(id, 3))));
    }
    bed.partition.rollback(writer);
    bed.partition.go_on_to_the_end();
    bed.drain();
    assert!(bed.woken.contains(&WaitToken(other.0)));
    assert!(matches!(bed.update(other, &row(9, 2)), Step::Ready(true)));
    bed.commit(other);
    for id in 2..8 {
        assert!(matches!(bed.update(bed_waiter(id), &row(id, 3)), Step::Ready(true)));
        bed.partition.rollback(bed_waiter(id));
    }
    bed.partition.rollback(third);
    bed.partition.go_on_to_the_end();
    assert_eq!(bed.partition.activity(), Activity { old_versions: 1, ..Activity::default() });
    assert_eq!(ks(&bed.all()), [0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
}

/// Transactions that none of the bed's own are.
fn bed_waiter(id: i32) -> TransactionId {
    TransactionId(1000 + id as u64)
}
