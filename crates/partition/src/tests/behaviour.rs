//! Single behaviours of reads, writes, versions, memory and definitions.

use super::*;

#[test]
fn a_full_memory_refuses_the_statement_and_a_delete_makes_room() {
    let mut bed = Bed::with(schema(IndexMethod::BTree), 64 << 10);
    let mut id = 0;
    let error = loop {
        let transaction = bed.begin();
        let bytes = bed.codec.encode(&row(id, id));
        match bed.partition.insert(transaction, TABLE, &bytes, TOKEN) {
            Ok(step) => assert!(step.is_ready()),
            Err(error) => {
                bed.partition.rollback(transaction);
                break error;
            }
        }
        bed.commit(transaction);
        id += 1;
    };
    assert!(error.is(ErrorCode::RecordFileFull));
    let used = bed.partition.config().budget.used_bytes();
    assert_eq!(
        error.message(),
        format!(
            "The table 't' is full: DataMemory 64K used up ({used} bytes in use); raise DataMemory or delete rows"
        )
    );
    assert!(id > 100);

    let transaction = bed.begin();
    for victim in 0..10 {
        assert!(matches!(bed.delete(transaction, victim), Step::Ready(true)));
    }
    let clock = bed.clock + 10;
    bed.partition.set_gc_horizon(Timestamp(clock));
    bed.commit(transaction);
    bed.fill((0..5).map(|new| row(1000 + new, 1)));
    assert_eq!(bed.partition.row_count(TABLE), id as u64 - 10 + 5);
}

#[test]
fn a_statement_that_moves_rows_forward_in_its_own_index_meets_each_once() {
    let mut bed = Bed::new();
    bed.fill((0..20).map(|id| row(id, id)));
    let transaction = bed.begin();
    let before_statement = bed.partition.savepoint(transaction);
    let view = ReadView { own_writes_before: before_statement, ..newest(transaction) };
    let mut cursor = Cursor::new(TABLE, BY_K, KeyBounds::ALL, Direction::Forward);
    let mut met = Vec::new();
    while !cursor.is_finished() {
        let mut batch = Vec::new();
        bed.partition
            .scan(&view, &mut cursor, Some(EXCLUSIVE), 3, &mut |row| {
                batch.push(decode(row));
                VisitAnswer::Continue
            })
            .unwrap();
        for found in batch {
            met.push(found.id);
            let moved = TestRow { k: Some(found.k.unwrap() + 10), ..found };
            assert!(matches!(bed.update(transaction, &moved), Step::Ready(true)));
        }
    }
    assert_eq!(met, (0..20).collect::<Vec<_>>());
    bed.commit(transaction);
    assert_eq!(bed.all().iter().map(|row| row.k.unwrap()).collect::<Vec<_>>(), (10..30).collect::<Vec<_>>());
}

#[test]
fn a_version_that_nobody_can_see_is_dropped_while_it_is_replaced() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1)]);
    let update = |bed: &mut Bed, k, horizon| {
        let transaction = bed.begin();
        bed.update(transaction, &row(1, k));
        bed.propose(transaction);
        bed.partition.set_gc_horizon(Timestamp(horizon));
        bed.persist();
        bed.partition.activity().old_versions
    };
    let old_snapshot = bed.clock;
    assert_eq!(update(&mut bed, 2, old_snapshot), 1);
    assert_eq!(update(&mut bed, 3, old_snapshot), 2);
    assert!(matches!(bed.get(&at(None, old_snapshot), 1, None), Step::Ready(Some(found)) if found.k == Some(1)));
    let future = bed.clock + 1;
    assert_eq!(update(&mut bed, 4, future), 0);
}

#[test]
fn old_versions_keep_their_index_entries_and_no_others_longer() {
    let mut bed = Bed::new();
    // k goes 1, 2, 1, 3 with a snapshot between each.
    let mut snapshots = Vec::new();
    for (step, k) in [1, 2, 1, 3].into_iter().enumerate() {
        let transaction = bed.begin();
        match step {
            0 => assert!(bed.insert(transaction, &row(5, k)).is_ready()),
            _ => assert!(matches!(bed.update(transaction, &row(5, k)), Step::Ready(true))),
        }
        bed.commit(transaction);
        snapshots.push(bed.clock);
    }
    let found = |bed: &mut Bed, snapshot, k| {
        let key = bed.codec.index_key(BY_K, &row(0, k));
        let mut cursor = Cursor::new(TABLE, BY_K, KeyBounds::with_prefix(key), Direction::Forward);
        let mut rows = Vec::new();
        assert!(bed.scan(&at(None, snapshot), &mut cursor, None, 10, &mut rows).is_ready());
        !rows.is_empty()
    };
    for oldest in 0..4 {
        bed.partition.set_gc_horizon(Timestamp(snapshots[oldest]));
        bed.partition.collect_garbage(100);
        for (step, k) in [1, 2, 1, 3].into_iter().enumerate().skip(oldest) {
            for other in 1..4 {
                assert_eq!(found(&mut bed, snapshots[step], other), other == k, "snapshot {step}, k {other}");
            }
        }
    }
    let fragment = &bed.partition.fragments[&TABLE];
    assert!(fragment.ordered.iter().all(|index| index.tree.len() == 1));
}

#[test]
fn a_deleted_key_can_come_back_under_an_old_snapshot() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1)]);
    let old = bed.clock;
    let transaction = bed.begin();
    assert!(matches!(bed.delete(transaction, 1), Step::Ready(true)));
    bed.commit(transaction);
    let gone = bed.clock;
    bed.fill([row(1, 9)]);
    for (snapshot, expected) in [(old, Some(1)), (gone, None), (bed.clock, Some(9))] {
        let Step::Ready(found) = bed.get(&at(None, snapshot), 1, None) else { panic!("a read waited") };
        assert_eq!(found.and_then(|row| row.k), expected);
    }
    let clock = bed.clock;
    bed.partition.set_gc_horizon(Timestamp(clock));
    bed.partition.collect_garbage(10);
    assert_eq!(bed.partition.activity().old_versions, 0);
}

#[test]
fn an_index_that_is_added_shows_all_rows_and_one_that_is_dropped_gives_its_memory_back() {
    let mut plain = schema(IndexMethod::BTree);
    plain.indexes.truncate(1);
    let mut bed = Bed::with(plain.clone(), 1 << 30);
    bed.fill((0..50).map(|id| row(id, 100 - id)));
    let budget = bed.partition.config().budget.clone();
    let bytes_plain = budget.used_bytes();

    bed.partition.alter_fragment(Arc::new(schema(IndexMethod::BTree)), CommitToken(5)).unwrap();
    bed.persist();
    assert!(budget.used_bytes() > bytes_plain);
    bed.codec = Codec::new(&schema(IndexMethod::BTree));
    let mut cursor = Cursor::new(TABLE, BY_K, KeyBounds::ALL, Direction::Forward);
    let mut rows = Vec::new();
    assert!(bed.scan(&ReadView::newest(None, TOKEN), &mut cursor, None, 7, &mut rows).is_ready());
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), (0..50).rev().collect::<Vec<_>>());

    bed.partition.alter_fragment(Arc::new(plain), CommitToken(6)).unwrap();
    bed.persist();
    assert_eq!(budget.used_bytes(), bytes_plain);
    assert_eq!(bed.committed.len(), 3);
}

#[test]
fn a_dropped_table_gives_its_memory_back_and_late_writes_to_it_are_void() {
    let mut bed = Bed::new();
    bed.fill((0..50).map(|id| row(id, id)));
    let writer = bed.begin();
    assert!(bed.insert(writer, &row(100, 1)).is_ready());
    bed.partition.drop_fragment(TABLE, CommitToken(9)).unwrap();
    bed.commit(writer);
    assert_eq!(bed.partition.config().budget.used_bytes(), 0);
    assert!(bed.partition.schema(TABLE).is_none());
    assert_eq!(bed.partition.activity(), Activity::default());
    let error = bed.partition.get(&ReadView::newest(None, TOKEN), TABLE, &key(1), None).map(|_| ()).unwrap_err();
    assert!(error.is(ErrorCode::NoSuchTable));
}

#[test]
fn a_locally_unique_index_refuses_duplicates_but_not_nulls() {
    let mut unique = schema(IndexMethod::BTree);
    unique.indexes[1].unique = true;
    let mut bed = Bed::with(unique, 1 << 30);
    bed.fill([row(1, 10), row(2, 20)]);
    let transaction = bed.begin();
    assert!(matches!(bed.insert(transaction, &row(3, 10)), Step::Ready(Some(found)) if found.id == 1));
    assert!(matches!(bed.update(transaction, &row(2, 10)), Step::Ready(false)));
    let null = |id| TestRow { id, k: None, name: "" };
    assert!(matches!(bed.insert(transaction, &null(4)), Step::Ready(None)));
    assert!(matches!(bed.insert(transaction, &null(5)), Step::Ready(None)));
    // A key that the transaction itself has given up, or taken.
    assert!(matches!(bed.update(transaction, &row(1, 11)), Step::Ready(true)));
    assert!(matches!(bed.insert(transaction, &row(6, 10)), Step::Ready(None)));
    assert!(matches!(bed.insert(transaction, &row(7, 11)), Step::Ready(Some(found)) if found.id == 1));
    // Another transaction waits for the keys on both sides.
    for k in [10, 11] {
        let other = bed.begin();
        assert!(matches!(bed.insert(other, &row(8, k)), Step::Wait(blocked) if blocked.holders == [transaction]));
        bed.partition.rollback(other);
    }
    bed.commit(transaction);
    assert_eq!(bed.all().len(), 5);
}

#[test]
fn a_row_inserted_and_deleted_by_one_transaction_was_never_there() {
    let mut bed = Bed::new();
    let transaction = bed.begin();
    assert!(bed.insert(transaction, &row(1, 1)).is_ready());
    assert!(matches!(bed.delete(transaction, 1), Step::Ready(true)));
    assert_eq!(bed.propose(transaction), CommitStart::ReadOnly);
    assert_eq!(bed.partition.activity(), Activity::default());
    assert_eq!(bed.partition.config().budget.used_bytes(), 0);
}

#[test]
fn a_commit_timestamp_that_is_not_later_changes_nothing() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1)]);
    let transaction = bed.begin();
    assert!(bed.insert(transaction, &row(2, 2)).is_ready());
    let stale = bed.partition.newest_timestamp();
    assert!(bed.partition.propose_commit(transaction, stale, CommitToken(1)).is_err());
    assert!(bed.partition.has_writes(transaction));
    bed.commit(transaction);
    assert_eq!(bed.all().len(), 2);
}

#[test]
fn estimates_are_exact_for_few_rows() {
    let mut bed = Bed::new();
    bed.fill((0..100).map(|id| row(id, id / 10)));
    assert_eq!(bed.partition.estimate_rows(TABLE, PRIMARY, &ids(10, 19)).unwrap(), 10);
    let key = bed.codec.index_key(BY_K, &row(0, 3));
    assert_eq!(bed.partition.estimate_rows(TABLE, BY_K, &KeyBounds::with_prefix(key)).unwrap(), 10);
}
