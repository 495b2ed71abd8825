//! Changes within a column: in memory once, counted one by one, taken back to the byte.

use super::network::*;
use super::replicas::Rows;
use super::*;

const BODY: usize = 3;
const ID: i32 = 5;

/// The test table with a `body LONGBLOB` behind its other columns.
fn bodied(method: IndexMethod) -> TableSchema {
    let mut schema = schema(method);
    schema.columns.push(column("body", SqlType { length: u32::MAX, ..SqlType::new(BaseType::Text) }, true));
    schema
}

fn encode(codec: &Codec, k: i32, body: &[u8]) -> Vec<u8> {
    let values = [Value::Int(ID.into()), Value::Int(k.into()), Value::str("a"), Value::Str(body.to_vec())];
    let mut bytes = Vec::new();
    codec.layout.encode(&values, &TimeZone::UTC, &mut bytes).unwrap();
    bytes
}

/// A bed with one row of this body, committed.
fn bed(method: IndexMethod, body: &[u8]) -> Bed {
    let mut bed = Bed::with(bodied(method), 1 << 30);
    let transaction = bed.begin();
    let bytes = encode(&bed.codec, 1, body);
    assert!(bed.partition.insert(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
    bed.commit(transaction);
    bed
}

fn splice(partition: &mut Partition, id: TransactionId, at: usize, removed: usize, inserted: &[u8]) {
    let splice = ColumnSplice { column: BODY, at, removed, inserted };
    let step = partition.splice(id, TABLE, &key(ID), splice, TOKEN).unwrap();
    assert!(matches!(step, Step::Ready(WriteOutcome::Done)));
}

fn body_of(partition: &mut Partition, view: &ReadView) -> Option<Vec<u8>> {
    match partition.get(view, TABLE, &key(ID), None).unwrap() {
        Step::Ready(row) => row.map(|row| row.raw(BODY).to_vec()),
        Step::Wait(_) => panic!("nobody is waited for"),
    }
}

fn used(bed: &Bed) -> u64 {
    bed.partition.config().budget.used_bytes()
}

#[test]
fn a_value_that_grows_by_pieces_is_in_memory_once_and_every_piece_counts_as_a_write() {
    let mut bed = bed(IndexMethod::BTree, b"");
    let before = used(&bed);
    let transaction = bed.begin();
    let term = bed.partition.last_index().1;
    let mut expected = Vec::new();
    for piece in 0..160u32 {
        let bytes = vec![piece as u8; 64 << 10];
        splice(&mut bed.partition, transaction, expected.len(), 0, &bytes);
        expected.extend_from_slice(&bytes);
        assert!(bed.partition.has_part(transaction, term, piece + 1));
        assert!(!bed.partition.has_part(transaction, term, piece));
    }
    assert_eq!(body_of(&mut bed.partition, &newest(transaction)).as_ref(), Some(&expected));
    let staged = used(&bed) - before;
    assert!(staged < (160 * (64 << 10)) + 160 * 200 + 1000, "{staged}");
    assert_eq!(bed.partition.commit_bytes_max(transaction), 25 + 9 + encode(&bed.codec, 1, &expected).len());
    let horizon = Timestamp(bed.clock + 10);
    bed.partition.set_gc_horizon(horizon);
    bed.commit(transaction);
    assert_eq!(body_of(&mut bed.partition, &ReadView::newest(None, TOKEN)), Some(expected));
    assert_eq!(used(&bed), bed.partition.usage(TABLE).unwrap().bytes);
}

#[test]
fn going_back_restores_every_version_and_its_reservation() {
    let mut bed = bed(IndexMethod::Hash, b"0123456789");
    let before = used(&bed);
    let transaction = bed.begin();
    let mut versions = vec![(SavepointMark(0), b"0123456789".to_vec(), before)];
    let long = vec![b'x'; 70_000];
    let changes: [(usize, usize, &[u8]); 9] = [
        (10, 0, b"ab"),
        (12, 0, b"cd"),
        (3, 5, b"-----"),
        (0, 14, b""),
        (0, 0, b""),
        (0, 0, &long),
        (69_990, 10, b"the end"),
        (100, 69_000, b""),
        (5, 500, b"12"),
    ];
    for (at, removed, inserted) in changes {
        let mut body = versions.last().unwrap().1.clone();
        body.splice(at..at + removed, inserted.iter().copied());
        splice(&mut bed.partition, transaction, at, removed, inserted);
        assert_eq!(body_of(&mut bed.partition, &newest(transaction)).as_ref(), Some(&body));
        versions.push((bed.partition.savepoint(transaction), body, used(&bed)));
    }
    assert_eq!(versions.last().unwrap().0, SavepointMark(changes.len() as u32));
    // One by one, and several at a time with other writes between.
    for (mark, body, used_then) in versions.iter().rev().skip(1) {
        for count in [1, 3] {
            for _ in 0..count {
                splice(&mut bed.partition, transaction, 0, 0, b"other");
            }
            bed.partition.rollback_to(transaction, *mark);
            assert_eq!(body_of(&mut bed.partition, &newest(transaction)).as_ref(), Some(body));
            assert_eq!(bed.partition.savepoint(transaction), *mark);
            // What lies before the mark is as it was, but for the versions that have their rows back.
            assert!(used(&bed) <= *used_then + 80_000, "{mark:?}");
        }
    }
    assert_eq!(used(&bed), before);
    for _ in 0..3 {
        splice(&mut bed.partition, transaction, 1, 1, b"gone");
    }
    bed.partition.rollback(transaction);
    assert_eq!(used(&bed), before);
    assert_eq!(body_of(&mut bed.partition, &ReadView::newest(None, TOKEN)), Some(b"0123456789".to_vec()));
}

#[test]
fn a_scan_that_began_before_a_change_shows_the_row_as_it_was_staged_then() {
    for (method, index) in
        [(IndexMethod::BTree, PRIMARY), (IndexMethod::BTree, BY_K), (IndexMethod::Hash, PRIMARY)]
    {
        let mut bed = bed(method, b"committed");
        let transaction = bed.begin();
        for (at, piece) in [(9, &b"+1"[..]), (11, b"+2"), (13, b"+3")] {
            splice(&mut bed.partition, transaction, at, 0, piece);
        }
        for (mark, expected) in ["committed", "committed+1", "committed+1+2", "committed+1+2+3"].iter().enumerate()
        {
            let view = ReadView { own_writes_before: SavepointMark(mark as u32), ..newest(transaction) };
            let mut cursor = Cursor::new(TABLE, index, KeyBounds::ALL, Direction::Forward);
            let mut shown = Vec::new();
            while !cursor.is_finished() {
                let mut see = |row: RowRef<'_>| {
                    shown.push(String::from_utf8(row.raw(BODY).to_vec()).unwrap());
                    VisitAnswer::Continue
                };
                assert!(bed.partition.scan(&view, &mut cursor, None, 10, &mut see).unwrap().is_ready());
            }
            assert_eq!(shown, [*expected], "{method:?} {index:?}");
        }
    }
}

#[test]
fn whatever_a_transaction_does_to_a_row_its_versions_and_the_budget_stay_exact() {
    for seed in 1..200 {
        let mut random = Random(seed);
        let mut bed = bed(if seed % 2 == 0 { IndexMethod::BTree } else { IndexMethod::Hash }, b"begin");
        let before = used(&bed);
        let transaction = bed.begin();
        let mut versions: Vec<Option<Vec<u8>>> = vec![Some(b"begin".to_vec())];
        for _ in 0..30 {
            let now: Option<Vec<u8>> = versions.last().unwrap().clone();
            match (random.below(8), now) {
                (0, Some(_)) => {
                    assert!(bed.delete(transaction, ID).is_ready());
                    versions.push(None);
                }
                (1, Some(body)) => {
                    let bytes = encode(&bed.codec, random.below(100) as i32, &body);
                    assert!(bed.partition.update(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
                    versions.push(Some(body));
                }
                (2, _) => {
                    let mark = random.below(versions.len() as u64) as usize;
                    bed.partition.rollback_to(transaction, SavepointMark(mark as u32));
                    versions.truncate(mark + 1);
                }
                (_, Some(mut body)) => {
                    let at = random.below(body.len() as u64 + 1) as usize;
                    let removed = random.below((body.len() - at) as u64 + 1) as usize;
                    let inserted = vec![b'a' + random.below(26) as u8; random.below(30_000) as usize];
                    splice(&mut bed.partition, transaction, at, removed, &inserted);
                    body.splice(at..at + removed, inserted);
                    versions.push(Some(body));
                }
                (_, None) => {
                    let bytes = encode(&bed.codec, 3, b"anew");
                    assert!(bed.partition.insert(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
                    versions.push(Some(b"anew".to_vec()));
                }
            }
            assert_eq!(&body_of(&mut bed.partition, &newest(transaction)), versions.last().unwrap(), "{seed}");
            assert_eq!(bed.partition.savepoint(transaction).0 as usize, versions.len() - 1);
        }
        if random.one_in(2) {
            bed.partition.rollback(transaction);
            assert_eq!(used(&bed), before);
            continue;
        }
        let horizon = Timestamp(bed.clock + 10);
        bed.partition.set_gc_horizon(horizon);
        bed.commit(transaction);
        assert_eq!(&body_of(&mut bed.partition, &ReadView::newest(None, TOKEN)), versions.last().unwrap());
        assert_eq!(used(&bed), bed.partition.usage(TABLE).unwrap().bytes, "{seed}");
    }
}

#[test]
fn a_change_for_which_there_is_no_memory_leaves_the_row_as_it_was() {
    let mut bed = Bed::with(bodied(IndexMethod::BTree), 64 << 10);
    let transaction = bed.begin();
    let bytes = encode(&bed.codec, 1, b"small");
    assert!(bed.partition.insert(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
    let mark = bed.partition.savepoint(transaction);
    let before = used(&bed);
    let large = ColumnSplice { column: BODY, at: 5, removed: 0, inserted: &[0; 65_500] };
    let error = bed.partition.splice(transaction, TABLE, &key(ID), large, TOKEN).err().unwrap();
    assert!(error.is(ErrorCode::RecordFileFull));
    assert_eq!((bed.partition.savepoint(transaction), used(&bed)), (mark, before));
    assert_eq!(body_of(&mut bed.partition, &newest(transaction)), Some(b"small".to_vec()));
    // Columns of a key are changed as any update changes them.
    let name = ColumnSplice { column: 2, at: 1, removed: 0, inserted: b"bc" };
    assert!(bed.partition.splice(transaction, TABLE, &key(ID), name, TOKEN).unwrap().is_ready());
    let nobody = bed.partition.splice(transaction, TABLE, &key(6), name, TOKEN).unwrap();
    assert!(matches!(nobody, Step::Ready(WriteOutcome::NotFound)));
    for wrong in [(BODY, 6, 0), (BODY, 0, 6), (9, 0, 0)] {
        let wrong = ColumnSplice { column: wrong.0, at: wrong.1, removed: wrong.2, inserted: b"x" };
        assert!(bed.partition.splice(transaction, TABLE, &key(ID), wrong, TOKEN).is_err());
    }
}

#[test]
fn replicas_and_followers_are_told_the_row_as_it_is_in_the_end() {
    let mut network = Network::new(3);
    let leader = network.elect();
    let schema = bodied(IndexMethod::BTree);
    let rows = Rows { codec: Codec::new(&schema), clock: 1 };
    network.at(leader).create_fragment(Arc::new(schema), CommitToken(1)).unwrap();
    network.advance(HEARTBEAT_MS);
    let place = network.at(leader).begin_to_follow(&[TABLE], &mut |_| {}).unwrap();
    for (transaction, timestamp) in [(TransactionId(7), 2), (TransactionId(8), 3)] {
        let partition = network.at(leader);
        if timestamp == 2 {
            let bytes = encode(&rows.codec, 1, b"");
            assert!(partition.insert(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
        }
        for piece in 0..20 {
            splice(partition, transaction, 0, 0, &[timestamp as u8 + piece; 1000]);
        }
        assert!(matches!(
            partition.propose_commit(transaction, Timestamp(timestamp), CommitToken(9)),
            Ok(CommitStart::Proposed)
        ));
        network.settle();
    }
    network.advance(HEARTBEAT_MS * 2);
    let expected = body_of(network.at(leader), &ReadView::newest(None, TOKEN)).unwrap();
    assert_eq!(expected.len(), 40_000);
    let mut seen = Vec::new();
    let followed = network.at(leader).follow(place, &[TABLE], 1 << 20, &mut |change| {
        if let LoggedChange::Committed { writes, .. } = change {
            seen.extend(
                writes.iter().map(|write| (write.kind, rows.codec.layout.row(write.row).raw(BODY).to_vec())),
            );
        }
    });
    assert!(followed.unwrap().is_at_end);
    assert_eq!(seen, [(ChangeKind::Insert, expected[20_000..].to_vec()), (ChangeKind::Update, expected.clone())]);
    for replica in 1..=3 {
        let partition = network.at(replica);
        let bytes = partition.usage(TABLE).unwrap().bytes;
        assert_eq!(partition.config().budget.used_bytes(), bytes, "at {replica}");
        let mut stored = None;
        let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
        let mut see = |row: RowRef<'_>| {
            stored = Some(row.raw(BODY).to_vec());
            VisitAnswer::Continue
        };
        partition.scan(&ReadView::newest(None, TOKEN), &mut cursor, None, 10, &mut see).unwrap();
        assert_eq!(stored.as_ref(), Some(&expected), "at {replica}");
    }
}
