//! Scans of all kinds against a plain sorted list.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Change, Table};
use shoal_types::{TimeZone, Value};

use super::support::*;
use crate::*;

const LONG: Duration = Duration::from_secs(60);

fn k_range(table: &Table, start: Option<i64>, end: Option<i64>) -> KeyRange {
    let key = |k: Option<i64>| k.map(|k| k_key(table, k)).unwrap_or_default();
    KeyRange { start: key(start), end: key(end) }
}

#[test]
fn ordered_scans_merge_partitions_into_index_order_in_both_directions_over_several_ranges() {
    let node = TestNode::new(5);
    run(async {
        let table = node.create("t", Shape::IndexedK).await;
        let rows: Vec<(i64, Option<i64>)> = (0..2000).map(|id| (id, Some(id * 7919 % 500))).collect();
        load(&node, &table, rows.iter().copied()).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        // Own writes are merged in as well.
        transaction.insert_many(&table, &[row(&table, 5000, Some(250), "")], false).await.unwrap();
        transaction.start_statement();
        let limits = [(Some(0), Some(30)), (Some(100), Some(101)), (Some(240), Some(400)), (Some(490), None)];
        let ranges: Vec<KeyRange> = limits.iter().map(|&(start, end)| k_range(&table, start, end)).collect();
        let inside = |k: i64| limits.iter().any(|&(start, end)| start <= Some(k) && end.is_none_or(|end| k < end));
        let mut expected: Vec<i64> =
            rows.iter().filter_map(|row| row.1).chain([250]).filter(|&k| inside(k)).collect();
        expected.sort_unstable();
        for descending in [false, true] {
            for mode in [SNAPSHOT, FOR_SHARE] {
                let request =
                    ScanRequest { ranges: ranges.clone(), descending, mode, ..scan_all(&table, 1, true, mode) };
                let found = rows_of(&mut transaction, request).await.unwrap();
                let found: Vec<i64> = found.into_iter().filter_map(|row| row.1).collect();
                assert_eq!(found, expected);
            }
            expected.reverse();
        }
        let request = ScanRequest { ranges, ..scan_all(&table, 1, false, SNAPSHOT) };
        let mut found: Vec<i64> =
            rows_of(&mut transaction, request).await.unwrap().into_iter().filter_map(|row| row.1).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    });
}

#[test]
fn a_visitor_that_stops_sees_no_more_rows_and_read_committed_unlocks_what_it_skips() {
    let node = TestNode::new(3);
    run(async {
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, (0..300).map(|id| (id, Some(id)))).await;
        // A participant that has not heard of the decision yet holds the locks of the rows, or has passed them on early.
        node.node.settle_tables(std::slice::from_ref(&table), LONG).await.unwrap();
        for ordered in [false, true] {
            let mut transaction = node.begun(Isolation::ReadCommitted);
            let mut scan = transaction.scan(scan_all(&table, 1, ordered, FOR_UPDATE));
            let mut seen = 0;
            let mut visit = |_: shoal_types::row::RowRef<'_>| {
                seen += 1;
                Ok(if seen == 100 { Visit::TakeAndStop } else { Visit::Skip })
            };
            while scan.next(&mut transaction, &mut visit).await.unwrap() {}
            assert_eq!(seen, 100);
            let locks: usize = (0..3).map(|partition| node.node.partition(partition).activity().row_locks).sum();
            // Merged batches lock ahead of what is shown.
            assert!(if ordered { locks < 201 } else { locks == 1 }, "{locks} locks");
            transaction.rollback();
        }
    });
}

#[test]
fn rows_are_found_by_primary_key_whatever_part_of_it_chooses_the_partition() {
    let node = TestNode::new(7);
    run(async {
        for partition_columns in [vec![0], vec![2], vec![0, 2], vec![1]] {
            let id = node.node.next_table_id();
            let mut schema = schema(id, &format!("t{id}"), Shape::Plain);
            schema.columns[1].nullable = false;
            schema.columns[2].nullable = false;
            let part = |column| shoal_types::IndexColumn { column, prefix_length: 0, descending: column == 1 };
            schema.indexes[0].columns = vec![part(2), part(0), part(1)];
            schema.partition_columns = partition_columns;
            let name = schema.name.clone();
            node.node
                .change(vec![
                    Change::PutDatabase { name: "d".into(), collation: Default::default() },
                    Change::PutTable(schema),
                ])
                .await
                .unwrap();
            let table: Arc<Table> = node.table(&name);
            let mut transaction = node.begun(Isolation::RepeatableRead);
            let rows: Vec<_> =
                (0..50).map(|id| row(&table, id % 7, Some(id), &format!("name {}", id % 5))).collect();
            let outcomes = transaction.insert_many(&table, &rows, false).await.unwrap();
            assert!(outcomes.iter().all(|outcome| *outcome == Inserted::Done));
            transaction.commit().await.unwrap();
            for id in 0..50i64 {
                let values = [Value::Str(format!("name {}", id % 5).into()), Value::Int(id % 7), Value::Int(id)];
                let mut primary_key = Vec::new();
                table.keys[0].append_from_values(&values, &TimeZone::UTC, &mut primary_key).unwrap();
                for mode in [SNAPSHOT, FOR_UPDATE] {
                    let found = transaction.get(&table, &primary_key, mode, |row| row.map(read)).await.unwrap();
                    assert_eq!(found, Some((id % 7, Some(id))));
                }
                let found = transaction.get_newest(&table, &primary_key, |row| row.is_some()).await.unwrap();
                assert!(found);
            }
            transaction.rollback();
        }
    });
}

#[test]
fn many_keys_are_read_in_one_round_trip() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..1000).map(|id| (id, Some(-id)))).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        let keys: Vec<Vec<u8>> = (0..2000).step_by(3).map(|id| key(&table, id)).collect();
        let mut found = vec![None; keys.len()];
        let mut visit = |position: usize, row: shoal_types::row::RowRef<'_>| {
            found[position] = Some(read(row));
            Ok(())
        };
        transaction.get_many(&table, &keys, FOR_SHARE, &mut visit).await.unwrap();
        for (position, found) in found.into_iter().enumerate() {
            let id = position as i64 * 3;
            assert_eq!(found, (id < 1000).then_some((id, Some(-id))));
        }
        assert_eq!(transaction.counters.execute_count, 1);
        assert_eq!(transaction.counters.primary_key_operations, 667);
    });
}

/// Up to 256 rows were shown at a time, of whatever size.
#[test]
fn large_rows_are_shown_a_few_at_a_time() {
    const ROW_BYTES: usize = 60_000;
    let node = TestNode::new(3);
    run(async {
        let table = node.create("t", Shape::IndexedK).await;
        let mut transaction = node.transaction();
        let text = "x".repeat(ROW_BYTES);
        let rows: Vec<_> = (0..200).map(|id| row(&table, id, Some(id), &text)).collect();
        transaction.insert_many(&table, &rows, false).await.unwrap();
        transaction.commit().await.unwrap();
        for (ordered, mode) in [(false, SNAPSHOT), (true, SNAPSHOT), (false, FOR_UPDATE), (true, FOR_UPDATE)] {
            let mut transaction = node.begun(Isolation::RepeatableRead);
            let mut scan = transaction.scan(scan_all(&table, 1, ordered, mode));
            let (mut all, mut more) = (Vec::new(), true);
            while more {
                let mut shown = 0;
                let mut visit = |row: shoal_types::row::RowRef<'_>| {
                    shown += row.bytes().len();
                    all.push(read(row).0);
                    Ok(Visit::Take)
                };
                more = scan.next(&mut transaction, &mut visit).await.unwrap();
                assert!(shown < 3 << 20, "{shown} bytes at a time, ordered {ordered}");
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..200), "ordered {ordered}");
        }
    });
}

/// Batches of some partitions are copied and one partition is walked over, so what is behind the end of a batch, a refused row or a
/// pause must neither be lost nor come twice.
#[test]
fn rows_are_merged_by_key_and_primary_key_whatever_is_refused_and_wherever_the_visitor_stops() {
    for partitions in [2, 5] {
        let node = TestNode::new(partitions);
        run(async {
            let table = node.create("t", Shape::IndexedK).await;
            let rows: Vec<(i64, Option<i64>)> =
                (0..1500).map(|number| (number * 1117 % 1511, Some(number % 9))).collect();
            load(&node, &table, rows.iter().copied()).await;
            let mut transaction = node.begun(Isolation::RepeatableRead);
            for (index, descending, divisor) in
                [(0, false, 1), (0, true, 3), (1, false, 1), (1, true, 1), (1, false, 400)]
            {
                let wanted = |row: (i64, Option<i64>)| row.0 % divisor == 0;
                let mut expected: Vec<_> = rows.iter().copied().filter(|&row| wanted(row)).collect();
                expected.sort_unstable_by_key(|&(id, k)| if index == 0 { (None, id) } else { (k, id) });
                if descending {
                    expected.reverse();
                }
                for stop_at in [usize::MAX, 1, 2, 127, 128, 129, 600] {
                    let request = ScanRequest { descending, ..scan_all(&table, index, true, SNAPSHOT) };
                    let mut scan = transaction.scan(request);
                    assert!(scan.probes_ahead());
                    let mut found = Vec::new();
                    let mut visit = |row: shoal_types::row::RowRef<'_>| {
                        found.push(read(row));
                        Ok(if found.len() == stop_at { Visit::TakeAndStop } else { Visit::Take })
                    };
                    let mut probe = |row: shoal_types::row::RowRef<'_>| wanted(read(row));
                    while scan.next_probing(&mut transaction, Some(&mut probe), &mut visit).await.unwrap() {}
                    let end = expected.len().min(stop_at);
                    assert_eq!(
                        found,
                        expected[..end],
                        "index {index}, {partitions} partitions, stop at {stop_at}"
                    );
                }
            }
        });
    }
}
