//! Locks that pass on when a commit is in the log: nothing is seen that is not there in the end, nothing is lost on the way.

use super::network::*;
use super::replicas::{Rows, assert_everywhere};
use super::*;

const BESIDE: TableId = TableId(8);

fn is_wait<T>(step: &Step<T>) -> bool {
    matches!(step, Step::Wait(_))
}

fn locked(bed: &mut Bed, transaction: TransactionId, id: i32) -> Step<Option<TestRow>> {
    bed.get(&newest(transaction), id, Some(EXCLUSIVE))
}

/// Reads the row under its lock and adds one, as `UPDATE t SET k = k + 1` does.
fn add_one(bed: &mut Bed, transaction: TransactionId) -> bool {
    match locked(bed, transaction, 1) {
        Step::Ready(Some(found)) => {
            assert!(matches!(bed.update(transaction, &row(1, found.k.unwrap() + 1)), Step::Ready(true)));
            true
        }
        Step::Ready(None) => panic!("the row is gone"),
        Step::Wait(_) => false,
    }
}

#[test]
fn writers_of_one_row_share_a_flush_and_lose_no_update() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let writers: Vec<TransactionId> = (0..20).map(|_| bed.begin()).collect();
    for (position, &writer) in writers.iter().enumerate() {
        assert_eq!(add_one(&mut bed, writer), position == 0);
    }
    // Nothing is durable meanwhile: each proposal wakes the next one.
    bed.propose(writers[0]);
    for &writer in &writers[1..] {
        assert_eq!(std::mem::take(&mut bed.woken), [WaitToken(writer.0)]);
        assert!(add_one(&mut bed, writer));
        bed.propose(writer);
    }
    // One that comes later need not queue.
    let last = bed.begin();
    assert!(add_one(&mut bed, last));
    bed.propose(last);
    assert_eq!(bed.all(), [row(1, 0)], "nobody has been told of anything");
    bed.persist();
    assert_eq!(bed.committed.len(), 1 + 21);
    assert_eq!(bed.all(), [row(1, 21)]);
    let activity = bed.partition.activity();
    assert_eq!((activity.transactions, activity.row_locks), (0, 0));
}

#[test]
fn a_log_that_ends_between_two_such_commits_has_the_first_alone() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    for _ in 0..3 {
        let writer = bed.begin();
        assert!(add_one(&mut bed, writer));
        bed.propose(writer);
    }
    for length in bed.log.len() - 3..=bed.log.len() {
        let mut copy = Partition::new(single(1 << 30));
        for (index, term, data) in &bed.log[..length] {
            copy.replay(*index, *term, data).unwrap();
        }
        copy.start().unwrap();
        assert_eq!(all_rows(&mut copy), [row(1, (length + 3 - bed.log.len()) as i32)]);
    }
}

#[test]
fn a_lock_that_came_early_goes_back_when_its_holder_gives_up() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let [first, second, third] = [bed.begin(), bed.begin(), bed.begin()];
    assert!(add_one(&mut bed, first));
    bed.propose(first);
    assert!(add_one(&mut bed, second));
    assert!(!add_one(&mut bed, third));
    // Not even letting go of it under READ COMMITTED frees the row: what is in flight would be overlooked.
    bed.partition.unlock_row(second, TABLE, &key(1));
    bed.partition.rollback(second);
    bed.drain();
    assert_eq!(std::mem::take(&mut bed.woken), [WaitToken(third.0)]);
    assert!(add_one(&mut bed, third));
    bed.partition.rollback(third);
    let fourth = bed.begin();
    assert!(add_one(&mut bed, fourth));
    bed.commit(fourth);
    assert_eq!(bed.all(), [row(1, 2)]);
    assert_eq!(bed.partition.activity().row_locks, 0);
}

#[test]
fn who_has_only_read_what_is_in_flight_waits_before_it_ends() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let (writer, reader) = (bed.begin(), bed.begin());
    assert!(add_one(&mut bed, writer));
    bed.propose(writer);
    assert!(matches!(locked(&mut bed, reader, 1), Step::Ready(Some(found)) if found == row(1, 1)));
    let blocked = bed.partition.await_predecessors(reader, WaitToken(reader.0)).unwrap();
    assert_eq!(blocked.holders, [writer]);
    // A scan looks into indexes, which know only what is applied.
    let mut cursor = Cursor::new(TABLE, BY_K, KeyBounds::ALL, Direction::Forward);
    assert!(is_wait(&bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut Vec::new())));
    bed.persist();
    assert!(bed.woken.contains(&WaitToken(reader.0)));
    assert!(bed.partition.await_predecessors(reader, WaitToken(reader.0)).is_none());
    let mut rows = Vec::new();
    assert!(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut rows).is_ready());
    assert_eq!(rows, [row(1, 1)]);
    bed.partition.rollback(reader);
    assert_eq!(bed.partition.activity().row_locks, 0);
}

/// A row of the table that stands beside the test table.
fn write_beside(bed: &mut Bed, transaction: TransactionId, row: &TestRow) {
    let bytes = bed.codec.encode(row);
    let token = WaitToken(transaction.0);
    let inserted = bed.partition.insert(transaction, BESIDE, &bytes, token).unwrap();
    assert!(matches!(inserted, Step::Ready(WriteOutcome::Done)));
    bed.drain();
}

/// Whether a locking scan of the table beside, for some values of k, ends without waiting.
fn scans_beside(bed: &mut Bed, transaction: TransactionId, k: i32, lock_gaps: bool) -> bool {
    let lock = LockRequest { lock_gaps, ..EXCLUSIVE };
    let range = KeyBounds::with_prefix(bed.codec.index_key(BY_K, &row(0, k)));
    let mut cursor = Cursor::new(BESIDE, BY_K, range, Direction::Forward);
    bed.scan(&newest(transaction), &mut cursor, Some(lock), 10, &mut Vec::new()).is_ready()
}

/// Whoever deleted a row that another client had just updated waited for the disk before it could look for rows that refer to it.
#[test]
fn a_scan_of_another_table_waits_for_what_a_predecessor_has_done_there_and_for_nothing_else() {
    let mut bed = Bed::new();
    let beside = TableSchema { id: BESIDE, name: "beside".into(), ..schema(IndexMethod::BTree) };
    bed.partition.create_fragment(std::sync::Arc::new(beside), CommitToken(0)).unwrap();
    bed.persist();
    bed.fill([row(1, 0)]);
    let filler = bed.begin();
    write_beside(&mut bed, filler, &row(5, 5));
    bed.commit(filler);
    let (writer, next) = (bed.begin(), bed.begin());
    assert!(add_one(&mut bed, writer));
    write_beside(&mut bed, writer, &row(6, 6));
    let moved = bed.codec.encode(&TestRow { k: Some(7), ..row(5, 5) });
    let token = WaitToken(writer.0);
    assert!(bed.partition.update(writer, BESIDE, &moved, token).unwrap().is_ready());
    bed.propose(writer);
    assert!(add_one(&mut bed, next));
    assert!(bed.partition.has_predecessors(next));
    assert!(scans_beside(&mut bed, next, 1, true), "the writer has done nothing there");
    for (k, what) in [(5, "the row that it has changed"), (6, "its new row"), (7, "where its row is now")] {
        assert!(!scans_beside(&mut bed, next, k, true), "{what}");
    }
    assert!(!scans_beside(&mut bed, next, 1, false), "nothing but the predecessor's end keeps its rows in sight");
    let mut cursor = Cursor::new(TABLE, BY_K, KeyBounds::ALL, Direction::Forward);
    assert!(is_wait(&bed.scan(&newest(next), &mut cursor, Some(EXCLUSIVE), 10, &mut Vec::new())));
    bed.persist();
    for k in [5, 6, 7] {
        assert!(scans_beside(&mut bed, next, k, true), "{k}");
    }
    bed.commit(next);
    assert_eq!(bed.all(), [row(1, 2)]);
    assert_eq!(bed.partition.activity().row_locks, 0);
}

#[test]
fn what_is_inserted_or_deleted_stays_locked_until_it_is_applied() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let [inserter, deleter, one, other] = [bed.begin(), bed.begin(), bed.begin(), bed.begin()];
    assert!(bed.insert(inserter, &row(2, 0)).is_ready());
    assert!(matches!(bed.delete(deleter, 1), Step::Ready(true)));
    bed.propose(inserter);
    bed.propose(deleter);
    assert!(is_wait(&bed.update(one, &row(2, 5))));
    assert!(is_wait(&bed.insert(other, &row(1, 7))));
    bed.persist();
    assert!(matches!(bed.update(one, &row(2, 5)), Step::Ready(true)));
    assert!(matches!(bed.insert(other, &row(1, 7)), Step::Ready(None)));
    bed.commit(one);
    bed.commit(other);
    assert_eq!(bed.all(), [row(1, 7), row(2, 5)]);
}

#[test]
fn a_row_may_be_deleted_while_its_update_is_in_flight() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0), row(2, 0)]);
    let (writer, deleter) = (bed.begin(), bed.begin());
    assert!(add_one(&mut bed, writer));
    bed.propose(writer);
    assert!(matches!(bed.delete(deleter, 1), Step::Ready(true)));
    bed.propose(deleter);
    bed.persist();
    assert_eq!(bed.all(), [row(2, 0)]);
    let bytes = bed.partition.usage(TABLE).unwrap().bytes;
    assert_eq!(bed.partition.config().budget.used_bytes(), bytes);
}

#[test]
fn who_is_on_another_node_gets_a_row_when_its_commit_is_applied() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let (writer, remote, local) = (bed.begin(), bed.begin(), bed.begin());
    assert!(add_one(&mut bed, writer));
    bed.partition.join(remote).unwrap();
    assert!(!add_one(&mut bed, remote));
    assert!(!add_one(&mut bed, local), "first come, first served");
    bed.propose(writer);
    assert!(bed.woken.is_empty());
    bed.persist();
    assert_eq!(std::mem::take(&mut bed.woken), [WaitToken(remote.0)]);
    assert!(add_one(&mut bed, remote));
    bed.propose(remote);
    assert_eq!(std::mem::take(&mut bed.woken), [WaitToken(local.0)]);
    assert!(add_one(&mut bed, local));
    bed.commit(local);
    assert_eq!(bed.all(), [row(1, 3)]);
}

#[test]
fn a_snapshot_sees_the_last_of_the_commits_before_it_and_waits_for_that() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    for _ in 0..3 {
        let writer = bed.begin();
        assert!(add_one(&mut bed, writer));
        bed.propose(writer);
    }
    let snapshot = bed.clock - 1;
    let Step::Wait(blocked) = bed.get(&at(None, snapshot), 1, None) else { panic!("it saw something") };
    assert_eq!(blocked.holders, [TransactionId(3)]);
    bed.persist();
    assert!(matches!(bed.get(&at(None, snapshot), 1, None), Step::Ready(Some(found)) if found == row(1, 2)));
    assert!(matches!(bed.get(&at(None, bed.clock), 1, None), Step::Ready(Some(found)) if found == row(1, 3)));
}

#[test]
fn commits_that_followed_each_other_at_a_deposed_leader_are_lost_together() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    rows.insert(network.at(old), 10, &row(1, 0));
    network.settle();
    network.isolate(old);
    for number in 0..4 {
        let bytes = rows.codec.encode(&row(1, number + 1));
        let id = TransactionId(50 + number as u64);
        assert!(network.at(old).update(id, TABLE, &bytes, TOKEN).unwrap().is_ready(), "{number}");
        rows.clock += 1;
        // The last one has only staged.
        if number < 3 {
            let (timestamp, token) = (Timestamp(rows.clock), CommitToken(id.0));
            assert_eq!(network.at(old).propose_commit(id, timestamp, token).unwrap(), CommitStart::Proposed);
        }
    }
    network.settle();
    let new = network.elect_other_than(old);
    rows.insert(network.at(new), 60, &row(2, 2));
    network.settle();
    network.heal();
    assert_everywhere(&mut network, &[row(1, 0), row(2, 2)]);
    assert_eq!(network.site(old).lost, [CommitToken(50), CommitToken(51), CommitToken(52)]);
}
