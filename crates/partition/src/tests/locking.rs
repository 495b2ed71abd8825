//! Who waits for whom, in which order, and what a locking scan keeps out.

use super::*;

fn is_wait_for<T>(step: Step<T>, holder: TransactionId) -> bool {
    matches!(step, Step::Wait(blocked) if blocked.holders.contains(&holder))
}

#[test]
fn writers_of_one_row_get_it_in_the_order_they_came() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let writers: Vec<TransactionId> = (0..5).map(|_| bed.begin()).collect();
    for (position, &writer) in writers.iter().enumerate() {
        assert_eq!(bed.update(writer, &row(1, position as i32)).is_ready(), position == 0);
    }
    for position in 0..4 {
        bed.commit(writers[position]);
        assert_eq!(std::mem::take(&mut bed.woken), [WaitToken(writers[position + 1].0)]);
        assert!(matches!(bed.update(writers[position + 1], &row(1, position as i32 + 1)), Step::Ready(true)));
    }
    bed.commit(writers[4]);
    assert_eq!(bed.all(), [row(1, 4)]);
}

#[test]
fn the_second_insert_of_a_key_waits_and_then_finds_the_duplicate_or_the_gap() {
    for first_commits in [true, false] {
        let mut bed = Bed::new();
        let (first, second) = (bed.begin(), bed.begin());
        assert!(matches!(bed.insert(first, &row(1, 1)), Step::Ready(None)));
        assert!(is_wait_for(bed.insert(second, &row(1, 2)), first));
        if first_commits {
            bed.commit(first)
        } else {
            bed.partition.rollback(first)
        }
        bed.drain();
        assert_eq!(bed.woken, [WaitToken(second.0)]);
        let Step::Ready(duplicate) = bed.insert(second, &row(1, 2)) else { panic!("still waiting") };
        assert_eq!(duplicate, first_commits.then(|| row(1, 1)));
    }
}

/// The end of a transaction may overtake its operation that waits: that must not wait for as long as locks are waited for.
#[test]
fn what_a_transaction_waits_for_is_over_when_it_ends() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0), row(5, 0)]);
    let (holder, waiter) = (bed.begin(), bed.begin());
    assert!(bed.update(holder, &row(1, 1)).is_ready());
    assert!(is_wait_for(bed.update(waiter, &row(1, 2)), holder));
    bed.partition.rollback(waiter);
    bed.drain();
    assert_eq!(std::mem::take(&mut bed.woken), [WaitToken(waiter.0)]);
    // The same with a range that somebody else covers.
    let mut cursor = Cursor::new(TABLE, PRIMARY, ids(5, 9), Direction::Forward);
    assert!(bed.scan(&newest(holder), &mut cursor, Some(EXCLUSIVE), 10, &mut Vec::new()).is_ready());
    let inserter = bed.begin();
    assert!(is_wait_for(bed.insert(inserter, &row(7, 0)), holder));
    bed.partition.rollback(inserter);
    bed.drain();
    assert_eq!(bed.woken, [WaitToken(inserter.0)]);
    assert_eq!(bed.partition.wait_edges(), []);
}

/// `blocker` has what `waiter` wants.
fn held(waiter: TransactionId, blocker: TransactionId) -> WaitEdge {
    WaitEdge { waiter, blocker, is_held: true }
}

#[test]
fn nobody_inserts_into_what_a_locking_scan_has_covered() {
    let mut bed = Bed::new();
    bed.fill([row(10, 1), row(20, 2), row(30, 3)]);
    let reader = bed.begin();
    let mut cursor = Cursor::new(TABLE, PRIMARY, ids(10, 25), Direction::Forward);
    let mut rows = Vec::new();
    assert!(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut rows).is_ready());
    assert_eq!(rows, [row(10, 1), row(20, 2)]);

    let inside = bed.begin();
    assert!(is_wait_for(bed.insert(inside, &row(15, 5)), reader));
    assert!(bed.partition.wait_edges().contains(&held(inside, reader)));
    let outside = bed.begin();
    assert!(bed.insert(outside, &row(26, 5)).is_ready());
    bed.commit(outside);

    let mut again = Vec::new();
    let mut cursor = Cursor::new(TABLE, PRIMARY, ids(10, 25), Direction::Backward);
    assert!(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut again).is_ready());
    assert_eq!(again, [row(20, 2), row(10, 1)]);
    bed.commit(reader);
    assert_eq!(bed.woken, [WaitToken(inside.0)]);
    assert!(bed.insert(inside, &row(15, 5)).is_ready());
}

#[test]
fn an_update_cannot_move_a_row_into_a_locked_range_of_a_secondary_index() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10), row(2, 50)]);
    let (reader, writer) = (bed.begin(), bed.begin());
    let range = KeyBounds {
        start: Bound::Included(bed.codec.index_key(BY_K, &row(0, 5))),
        end: Bound::Included(bed.codec.index_key(BY_K, &row(0, 20))),
    };
    let mut cursor = Cursor::new(TABLE, BY_K, range, Direction::Forward);
    let mut rows = Vec::new();
    assert!(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut rows).is_ready());
    assert_eq!(rows.len(), 1);
    assert!(matches!(bed.update(writer, &row(2, 40)), Step::Ready(true)));
    assert!(is_wait_for(bed.update(writer, &row(2, 15)), reader));
    bed.partition.cancel_wait(writer, WaitToken(writer.0));
    bed.partition.rollback(reader);
    bed.drain();
    assert!(bed.woken.is_empty());
    assert!(matches!(bed.update(writer, &row(2, 15)), Step::Ready(true)));
}

#[test]
fn a_scan_that_stops_early_leaves_the_rest_of_its_range_open() {
    let mut bed = Bed::new();
    bed.fill([row(10, 1), row(20, 2)]);
    let reader = bed.begin();
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    bed.partition.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut |_| VisitAnswer::Stop).unwrap();
    let writer = bed.begin();
    assert!(is_wait_for(bed.insert(writer, &row(5, 1)), reader));
    bed.partition.cancel_wait(writer, WaitToken(writer.0));
    assert!(bed.insert(writer, &row(11, 1)).is_ready());
    assert!(bed.insert(writer, &row(30, 1)).is_ready());
}

#[test]
fn a_locking_scan_waits_for_a_staged_row_when_it_gets_there_and_not_before() {
    let mut bed = Bed::new();
    bed.fill([row(10, 1), row(30, 3)]);
    let (writer, reader) = (bed.begin(), bed.begin());
    assert!(bed.insert(writer, &row(20, 2)).is_ready());
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    let mut rows = Vec::new();
    assert!(is_wait_for(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut rows), writer));
    assert_eq!(rows, [row(10, 1)]);
    bed.commit(writer);
    assert_eq!(bed.woken, [WaitToken(reader.0)]);
    assert!(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut rows).is_ready());
    assert_eq!(rows, [row(10, 1), row(20, 2), row(30, 3)]);
}

#[test]
fn under_read_committed_rows_that_do_not_match_are_let_go_and_gaps_stay_open() {
    let mut bed = Bed::new();
    bed.fill((0..10).map(|id| row(id, id)));
    let (reader, writer) = (bed.begin(), bed.begin());
    let lock = LockRequest { lock_gaps: false, ..EXCLUSIVE };
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    bed.partition
        .scan(&newest(reader), &mut cursor, Some(lock), 100, &mut |row| {
            if decode(row).id == 4 { VisitAnswer::Continue } else { VisitAnswer::ContinueUnlocked }
        })
        .unwrap();
    assert_eq!(bed.partition.activity().row_locks, 1);
    assert!(bed.insert(writer, &row(50, 1)).is_ready());
    assert!(matches!(bed.update(writer, &row(3, 30)), Step::Ready(true)));
    assert!(is_wait_for(bed.update(writer, &row(4, 40)), reader));
    bed.partition.unlock_row(reader, TABLE, &key(4));
    bed.drain();
    assert_eq!(bed.woken, [WaitToken(writer.0)]);
    assert!(matches!(bed.update(writer, &row(4, 40)), Step::Ready(true)));
    // A row that was written stays locked.
    bed.partition.unlock_row(writer, TABLE, &key(4));
    assert!(is_wait_for(bed.update(reader, &row(4, 41)), writer));
}

#[test]
fn a_missing_key_stays_locked_for_repeatable_read_alone() {
    for lock_gaps in [true, false] {
        let mut bed = Bed::new();
        let (reader, writer) = (bed.begin(), bed.begin());
        let found = bed.get(&newest(reader), 1, Some(LockRequest { lock_gaps, ..EXCLUSIVE }));
        assert!(matches!(found, Step::Ready(None)));
        assert_eq!(bed.insert(writer, &row(1, 1)).is_ready(), !lock_gaps);
    }
}

#[test]
fn nowait_fails_at_once_and_skip_locked_passes_by() {
    let mut bed = Bed::new();
    bed.fill((0..5).map(|id| row(id, id)));
    let (holder, reader) = (bed.begin(), bed.begin());
    assert!(matches!(bed.update(holder, &row(2, 20)), Step::Ready(true)));
    let nowait = LockRequest { policy: LockPolicy::NoWait, ..EXCLUSIVE };
    let skip = LockRequest { policy: LockPolicy::SkipLocked, ..EXCLUSIVE };
    let error = bed.partition.get(&newest(reader), TABLE, &key(2), Some(nowait)).map(|_| ()).unwrap_err();
    assert!(error.is(ErrorCode::LockNowait));
    assert!(matches!(bed.get(&newest(reader), 2, Some(skip)), Step::Ready(None)));
    let mut rows = Vec::new();
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    assert!(bed.scan(&newest(reader), &mut cursor, Some(skip), 2, &mut rows).is_ready());
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [0, 1, 3, 4]);
}

#[test]
fn shared_locks_go_together_and_an_upgrade_waits_for_the_other_reader() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1)]);
    let shared = LockRequest { mode: LockMode::Shared, ..EXCLUSIVE };
    let (one, two) = (bed.begin(), bed.begin());
    assert!(bed.get(&newest(one), 1, Some(shared)).is_ready());
    assert!(bed.get(&newest(two), 1, Some(shared)).is_ready());
    assert!(is_wait_for(bed.update(one, &row(1, 2)), two));
    // Both want more: that is a deadlock, visible in the edges.
    assert!(is_wait_for(bed.update(two, &row(1, 3)), one));
    let edges = bed.partition.wait_edges();
    assert!(edges.contains(&held(one, two)) && edges.contains(&held(two, one)));
    bed.partition.rollback(two);
    bed.drain();
    assert_eq!(bed.woken, [WaitToken(two.0), WaitToken(one.0)]);
    assert!(matches!(bed.update(one, &row(1, 2)), Step::Ready(true)));
}

/// Who was told to be behind a transaction that gives up before the wait is entered anywhere else would be in no cycle's way.
#[test]
fn who_is_in_the_way_of_a_wait_is_told_as_it_is_now() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0)]);
    let (holder, first, second) = (bed.begin(), bed.begin(), bed.begin());
    assert!(bed.update(holder, &row(1, 1)).is_ready());
    assert!(is_wait_for(bed.update(first, &row(1, 2)), holder));
    let Step::Wait(blocked) = bed.update(second, &row(1, 3)) else { panic!("the row is locked") };
    assert_eq!(blocked.holders, [first]);
    assert_eq!(bed.partition.blockers(second, WaitToken(second.0), &blocked), [first]);
    bed.partition.cancel_wait(first, WaitToken(first.0));
    assert_eq!(bed.partition.blockers(second, WaitToken(second.0), &blocked), [holder]);
}

#[test]
fn a_snapshot_read_waits_for_an_earlier_commit_of_the_same_row_alone() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1), row(2, 2)]);
    let writer = bed.begin();
    assert!(matches!(bed.update(writer, &row(1, 10)), Step::Ready(true)));
    let before = bed.clock;
    bed.propose(writer);
    let after = bed.clock;
    assert!(matches!(bed.get(&at(None, after), 2, None), Step::Ready(Some(_))));
    assert!(matches!(bed.get(&at(None, before), 1, None), Step::Ready(Some(found)) if found.k == Some(1)));
    assert!(
        matches!(bed.get(&ReadView::newest(None, TOKEN), 1, None), Step::Ready(Some(found)) if found.k == Some(1))
    );
    assert!(is_wait_for(bed.get(&at(None, after), 1, None), writer));
    bed.persist();
    assert_eq!(bed.woken, [TOKEN]);
    assert!(matches!(bed.get(&at(None, after), 1, None), Step::Ready(Some(found)) if found.k == Some(10)));
}

#[test]
fn a_transaction_that_is_rolled_back_while_it_waits_is_forgotten() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1)]);
    let (holder, waiter, next) = (bed.begin(), bed.begin(), bed.begin());
    assert!(matches!(bed.update(holder, &row(1, 2)), Step::Ready(true)));
    assert!(!bed.update(waiter, &row(1, 3)).is_ready());
    assert!(!bed.update(next, &row(1, 4)).is_ready());
    bed.partition.rollback(waiter);
    bed.commit(holder);
    assert_eq!(bed.woken, [WaitToken(waiter.0), WaitToken(next.0)]);
    bed.partition.rollback(next);
    assert_eq!(bed.partition.activity().row_locks, 0);
}

#[test]
fn looking_ahead_takes_no_lock_and_leaves_out_what_skip_locked_would() {
    let mut bed = Bed::new();
    bed.fill((0..5).map(|id| row(id, id)));
    let (holder, reader) = (bed.begin(), bed.begin());
    assert!(matches!(bed.update(holder, &row(1, 10)), Step::Ready(true)));
    let shared = LockRequest { mode: LockMode::Shared, ..EXCLUSIVE };
    assert!(bed.get(&newest(holder), 3, Some(shared)).is_ready());
    let mut look = |request: LockRequest| {
        let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
        let mut ids = Vec::new();
        let mut visit = |row: shoal_types::row::RowRef<'_>| {
            ids.push(decode(row).id);
            VisitAnswer::Continue
        };
        let state = bed.partition.look(&newest(reader), &mut cursor, request, 10, &mut visit).unwrap();
        assert_eq!(state, ScanState::Done);
        ids
    };
    assert_eq!(look(EXCLUSIVE), [0, 1, 2, 3, 4]);
    let skip = LockRequest { policy: LockPolicy::SkipLocked, ..EXCLUSIVE };
    assert_eq!(look(skip), [0, 2, 4]);
    assert_eq!(look(LockRequest { mode: LockMode::Shared, ..skip }), [0, 2, 3, 4]);
    assert_eq!(bed.partition.activity().row_locks, 2);
}

#[test]
fn a_scan_that_is_led_on_locks_no_more_than_it_was_led_to() {
    let mut bed = Bed::new();
    bed.fill((0..10).map(|id| row(id * 10, id)));
    let (reader, writer) = (bed.begin(), bed.begin());
    let until = |id: i32| KeyBounds {
        start: std::ops::Bound::Unbounded,
        end: std::ops::Bound::Excluded(key(id).to_vec()),
    };
    let mut cursor = Cursor::new(TABLE, PRIMARY, until(25), Direction::Forward);
    let mut rows = Vec::new();
    let limited = bed.partition.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 1, &mut |row| {
        rows.push(decode(row));
        VisitAnswer::Continue
    });
    assert!(matches!(limited.unwrap(), Step::Ready(ScanState::More)));
    cursor.extend(until(45));
    assert!(bed.scan(&newest(reader), &mut cursor, Some(EXCLUSIVE), 10, &mut rows).is_ready());
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
    assert!(matches!(bed.update(writer, &row(50, 0)), Step::Ready(true)));
    assert!(bed.insert(writer, &row(46, 0)).is_ready());
    assert!(is_wait_for(bed.insert(writer, &row(44, 0)), reader));
}

#[test]
fn what_operators_are_shown_of_locks_names_rows_gaps_and_who_is_in_the_way() {
    let mut bed = Bed::new();
    bed.fill([row(10, 1), row(20, 2), row(30, 3)]);
    let (holder, writer, inserter) = (bed.begin(), bed.begin(), bed.begin());
    let mut cursor = Cursor::new(TABLE, PRIMARY, ids(15, 25), Direction::Forward);
    assert!(bed.scan(&newest(holder), &mut cursor, Some(EXCLUSIVE), 10, &mut Vec::new()).is_ready());
    assert!(bed.update(holder, &row(10, 1)).is_ready());
    let id = |lock: &ObservedLock| match &lock.key {
        ObservedKey::Values(values) => values[0].clone(),
        other => panic!("no row: {other:?}"),
    };
    // The range is told by the row behind it, and the row in it as one whose gap is locked as well.
    let shown: Vec<(LockKind, Value)> =
        bed.partition.observed_locks(holder, 0, 100).locks.iter().map(|lock| (lock.kind, id(lock))).collect();
    let expected = [(LockKind::Gap, 30), (LockKind::NextKey, 20), (LockKind::Record, 10)]
        .map(|(kind, id)| (kind, Value::Int(id)));
    assert_eq!(shown, expected);
    let ends = [2, 3, 4].map(|count| bed.partition.observed_locks(holder, 0, count).next);
    assert_eq!(ends, [Some(2), Some(3), None]);
    // In stretches it is the same.
    let stretches = (0..4).flat_map(|from| bed.partition.observed_locks(holder, from, 1).locks);
    assert_eq!(stretches.map(|lock| (lock.kind, id(&lock))).collect::<Vec<_>>(), expected);
    assert!(is_wait_for(bed.update(writer, &row(20, 5)), holder));
    assert!(is_wait_for(bed.insert(inserter, &row(22, 0)), holder));
    let waits = bed.partition.observed_waits();
    let mut pairs: Vec<_> =
        waits.edges.iter().map(|&(one, other)| (&waits.locks[one], &waits.locks[other])).collect();
    pairs.sort_by_key(|(waiting, _)| waiting.transaction);
    let [(row_wait, row_lock), (insertion, range)] = pairs[..] else { panic!("{waits:?}") };
    assert_eq!((row_wait.transaction, row_wait.kind, id(row_wait)), (writer, LockKind::Record, Value::Int(20)));
    assert_eq!((row_lock.transaction, row_lock.number, row_lock.is_waiting), (holder, row_wait.number, false));
    assert_eq!((insertion.kind, id(insertion)), (LockKind::InsertIntention, Value::Int(30)));
    assert_eq!((range.kind, id(range)), (LockKind::Gap, Value::Int(30)));
    assert!(row_wait.is_waiting && insertion.is_waiting);
    assert_eq!(bed.partition.observed_wait(inserter, holder), Some((insertion.clone(), range.clone())));
    let held = bed.partition.observed_transaction(holder).unwrap();
    assert_eq!((held.row_locks, held.writes, held.is_waiting), (2, 1, false));
}
