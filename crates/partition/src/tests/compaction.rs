//! Memory that deleted rows took is given back, and nobody sees a difference.

use super::*;

const ROWS: i32 = 150_000;

fn delete_where(bed: &mut Bed, is_victim: impl Fn(i32) -> bool) {
    let transaction = bed.begin();
    for id in (0..ROWS).filter(|&id| is_victim(id)) {
        assert!(bed.delete(transaction, id).is_ready());
    }
    bed.commit(transaction);
}

fn seen_at(bed: &mut Bed, snapshot: u64) -> Vec<TestRow> {
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    let mut rows = Vec::new();
    while !cursor.is_finished() {
        assert!(bed.scan(&at(None, snapshot), &mut cursor, None, 1000, &mut rows).is_ready());
    }
    rows
}

/// Nobody looks at what is older than now.
fn forget_old_versions(bed: &mut Bed) {
    bed.partition.set_gc_horizon(Timestamp(bed.clock));
    while bed.partition.collect_garbage(1000) > 0 {}
}

fn compact(bed: &mut Bed) {
    for _ in 0..100_000 {
        if !bed.partition.compact(64) {
            return;
        }
    }
    panic!("compaction does not end");
}

#[test]
fn compaction_gives_memory_back_and_changes_no_row_and_no_old_version() {
    let mut bed = Bed::new();
    bed.fill((0..ROWS).map(|id| row(id, id % 100)));
    let snapshot = bed.clock;
    let full = bed.partition.measured_memory(TABLE);
    let before = seen_at(&mut bed, snapshot);
    delete_where(&mut bed, |id| id % 10 != 0);
    compact(&mut bed);
    assert_eq!(seen_at(&mut bed, snapshot), before, "the snapshot still needs every row");
    forget_old_versions(&mut bed);
    let sparse = bed.partition.measured_memory(TABLE);
    compact(&mut bed);
    let left = bed.all();
    assert!(left.iter().map(|row| row.id).eq((0..ROWS).step_by(10)));
    let compacted = bed.partition.measured_memory(TABLE);
    assert!(sparse.row_bytes > full.row_bytes * 9 / 10, "{full:?}, then {sparse:?}");
    assert!(compacted.row_bytes * 2 < full.row_bytes, "{full:?}, then {compacted:?}");
    assert!(compacted.index_bytes < sparse.index_bytes, "{sparse:?}, then {compacted:?}");
    assert!(compacted.index_bytes * 4 < full.index_bytes, "{full:?}, then {compacted:?}");
    delete_where(&mut bed, |_| true);
    forget_old_versions(&mut bed);
    compact(&mut bed);
    let empty = bed.partition.measured_memory(TABLE);
    assert!(empty.bytes() < full.bytes() / 20, "{full:?}, in the end {empty:?}");
    assert_eq!(bed.partition.config().budget.used_bytes(), 0);
}

#[test]
fn rows_that_are_written_while_others_move_stay_what_they_are() {
    let mut bed = Bed::new();
    bed.fill((0..ROWS).map(|id| row(id, 1)));
    delete_where(&mut bed, |id| id % 5 != 0);
    forget_old_versions(&mut bed);
    for round in 0..200 {
        bed.partition.compact(100);
        let (updated, new) = (round * 5, ROWS + round);
        let transaction = bed.begin();
        assert!(matches!(bed.update(transaction, &row(updated, 7)), Step::Ready(true)));
        assert!(bed.insert(transaction, &row(new, 8)).is_ready());
        bed.commit(transaction);
    }
    compact(&mut bed);
    let expected = (0..ROWS)
        .step_by(5)
        .map(|id| row(id, if id < 1000 { 7 } else { 1 }))
        .chain((0..200).map(|round| row(ROWS + round, 8)));
    assert!(bed.all().into_iter().eq(expected));
}

/// Row numbers are in the transaction's workspace and the cursor's position while the slots around them are packed.
#[test]
fn a_transaction_and_a_cursor_go_on_with_rows_whose_slots_have_been_packed() {
    let mut bed = Bed::new();
    bed.fill((0..ROWS).map(|id| row(id, 1)));
    let kept = |id: i32| id % 10 == 0;
    let writer = bed.begin();
    for id in (0..ROWS).step_by(20) {
        assert!(matches!(bed.update(writer, &row(id, 2)), Step::Ready(true)));
    }
    let snapshot = bed.clock;
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    let mut seen = Vec::new();
    assert!(bed.scan(&at(None, snapshot), &mut cursor, None, 10_000, &mut seen).is_ready());
    delete_where(&mut bed, |id| !kept(id));
    bed.partition.set_gc_horizon(Timestamp(snapshot));
    while bed.partition.collect_garbage(1000) > 0 {}
    compact(&mut bed);
    while !cursor.is_finished() {
        assert!(bed.scan(&at(None, snapshot), &mut cursor, None, 1000, &mut seen).is_ready());
    }
    assert!(seen.into_iter().eq((0..ROWS).map(|id| row(id, 1))), "the snapshot is older than the deletion");
    forget_old_versions(&mut bed);
    compact(&mut bed);
    let packed = bed.partition.measured_memory(TABLE);
    bed.commit(writer);
    let expected = (0..ROWS).step_by(10).map(|id| row(id, if id % 20 == 0 { 2 } else { 1 }));
    assert!(bed.all().into_iter().eq(expected));
    forget_old_versions(&mut bed);
    compact(&mut bed);
    let after = bed.partition.measured_memory(TABLE);
    assert!(after.bytes() < packed.bytes() * 11 / 10, "{packed:?}, then {after:?}");
}

#[test]
fn what_a_large_transaction_needs_besides_rows_is_counted_until_it_ends() {
    let mut bed = Bed::new();
    let transaction = bed.begin();
    for id in 0..20_000 {
        assert!(bed.insert(transaction, &row(id, 1)).is_ready());
    }
    let budget = bed.partition.config().budget.clone();
    assert!(budget.work_bytes() > 5000 * 250, "{}", budget.work_bytes());
    bed.partition.reserve_commit(transaction).unwrap();
    let with_entry = budget.work_bytes();
    bed.partition.reserve_commit(transaction).unwrap();
    assert_eq!(budget.work_bytes(), with_entry, "asking again costs nothing");
    bed.partition.rollback(transaction);
    bed.partition.go_on_to_the_end();
    assert_eq!(budget.work_bytes(), 0);
    bed.fill((0..5000).map(|id| row(id, 1)));
    assert_eq!(budget.work_bytes(), 0);
}

#[test]
fn a_transaction_that_finds_no_memory_for_its_locks_goes_on_with_what_it_has() {
    let mut bed = Bed::with(schema(IndexMethod::BTree), 8 << 20);
    bed.fill((0..500).map(|id| row(id, 1)));
    let budget = bed.partition.config().budget.clone();
    let rest = budget.total_limit_bytes() - budget.used_bytes() - (48 << 10);
    budget.reserve_work(rest).unwrap();
    let transaction = bed.begin();
    let refused = (0..500).find_map(|id| {
        let key = bed.codec.encode(&row(id, 2));
        bed.partition.update(transaction, TABLE, &key, TOKEN).err().map(|error| (id, error))
    });
    let (id, error) = refused.unwrap();
    assert_eq!(error.errno(), 1206, "{error}");
    assert!(id > 100, "refused at {id}");
    bed.commit(transaction);
    assert_eq!(bed.all().iter().filter(|row| row.k == Some(2)).count(), id as usize);
    assert_eq!(budget.work_bytes(), rest);
}

/// What had nothing to drop ended a round, so a list of a million entries went by a few hundred in a round.
#[test]
fn the_list_of_old_versions_is_done_in_one_go_when_many_are_of_one_row_or_their_table_is_dropped() {
    let mut bed = Bed::new();
    bed.fill([row(1, 0), row(2, 0)]);
    for k in 1..100 {
        let transaction = bed.begin();
        for id in 1..3 {
            assert!(matches!(bed.update(transaction, &row(id, k)), Step::Ready(true)));
        }
        bed.commit(transaction);
    }
    assert_eq!((bed.partition.garbage.len(), bed.partition.activity().old_versions), (198, 198));
    bed.partition.set_gc_horizon(Timestamp(bed.clock));
    while bed.partition.collect_garbage(10) > 0 {}
    assert_eq!((bed.partition.garbage.len(), bed.partition.activity().old_versions), (0, 0));
    assert_eq!(bed.partition.memory().old_bytes, 0);
}

#[test]
fn a_table_that_is_full_of_old_versions_says_so() {
    let mut bed = Bed::with(schema(IndexMethod::BTree), 1 << 20);
    bed.fill((0..100).map(|id| row(id, 0)));
    let error = (1..1000).find_map(|k| {
        let transaction = bed.begin();
        for id in 0..100 {
            let key = bed.codec.encode(&row(id, k));
            if let Err(error) = bed.partition.update(transaction, TABLE, &key, TOKEN) {
                return Some(error);
            }
        }
        bed.commit(transaction);
        None
    });
    let error = error.unwrap();
    assert_eq!(error.errno(), 1114, "{error}");
    let old = bed.partition.memory().old_bytes;
    assert!(old > 1 << 18, "{old}");
    let text = format!("{old} bytes are old versions that open snapshots need: end transactions");
    assert!(error.message().contains(&text), "{error}");
}
