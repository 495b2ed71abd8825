//! Several sessions at once: locks, deadlocks, timeouts, isolation levels, definitions.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Change, Table};
use shoal_types::Result;

use super::support::*;
use crate::*;

const SHORT: Duration = Duration::from_millis(20);

/// Lets other tasks of this thread run until `condition` holds.
async fn until(condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "the condition never came about");
        tokio::task::yield_now().await;
    }
}

fn assert_idle(node: &TestNode) {
    for partition in 0..node.node.partition_count() {
        let activity = node.node.partition(partition).activity();
        assert_eq!((activity.transactions, activity.row_locks, activity.proposals), (0, 0, 0));
    }
    assert!(node.node.wait_for_graph().is_empty());
    assert_eq!(node.node.snapshots().in_use(), 0);
}

#[test]
fn the_transaction_that_closes_a_circle_is_the_deadlocks_victim_at_once() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..10).map(|id| (id, Some(0)))).await;
        let mut first = node.begun(Isolation::RepeatableRead);
        let mut second = node.begun(Isolation::RepeatableRead);
        set_k(&mut first, &table, 1, Some(1)).await.unwrap();
        set_k(&mut second, &table, 2, Some(2)).await.unwrap();
        let waiting = async {
            set_k(&mut first, &table, 2, Some(1)).await.unwrap();
            first.commit().await.unwrap();
        };
        let closing = async {
            until(|| node.node.wait_for_graph().len() == 1).await;
            let error = set_k(&mut second, &table, 1, Some(2)).await.unwrap_err();
            assert_eq!((error.errno(), error.rolls_back_transaction()), (1213, true));
            assert!(!second.is_active());
        };
        tokio::join!(waiting, closing);
        assert_eq!(newest_k(&node, &table, 2).await, Some(Some(1)));
        node.rest().await;
        assert_idle(&node);
    });
}

#[test]
fn a_lock_wait_ends_in_1205_nowait_in_3572_and_skip_locked_skips() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..10).map(|id| (id, Some(id)))).await;
        let mut holder = node.begun(Isolation::RepeatableRead);
        set_k(&mut holder, &table, 3, Some(33)).await.unwrap();
        let mut other = node.begun(Isolation::RepeatableRead);
        other.set_lock_wait_timeout(SHORT);
        let error = set_k(&mut other, &table, 3, Some(0)).await.unwrap_err();
        assert_eq!((error.errno(), error.rolls_back_transaction()), (1205, false));
        assert!(other.is_active());
        let no_wait = ReadMode { wait: LockWait::NoWait, ..FOR_UPDATE };
        let error = other.get(&table, &key(&table, 3), no_wait, |_| ()).await.unwrap_err();
        assert_eq!(error.errno(), 3572);
        let skip = ReadMode { wait: LockWait::SkipLocked, ..FOR_UPDATE };
        let mut rows = rows_of(&mut other, scan_all(&table, 0, false, skip)).await.unwrap();
        rows.sort_unstable();
        assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
        other.rollback();
        holder.rollback();
        node.rest().await;
        assert_idle(&node);
    });
}

/// The second wait was under the first one's token, and nobody was woken by it.
#[test]
fn keys_that_have_to_be_waited_for_in_several_partitions_are_all_waited_for() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..40).map(|id| (id, Some(0)))).await;
        let id_in = |partition: u32| {
            let ids = &mut (0..40).filter(|&id| node.node.router().partition_of(&key(&table, id)) == partition);
            ids.next().unwrap()
        };
        let (one, other) = (id_in(0), id_in(2));
        let mut holders = [node.begun(Isolation::RepeatableRead), node.begun(Isolation::RepeatableRead)];
        set_k(&mut holders[0], &table, one, Some(1)).await.unwrap();
        set_k(&mut holders[1], &table, other, Some(1)).await.unwrap();
        let keys = [key(&table, one), key(&table, other)];
        let mut reader = node.begun(Isolation::RepeatableRead);
        reader.set_lock_wait_timeout(Duration::from_secs(5));
        let mut found = 0;
        let reading = async {
            let mut visit = |_: usize, row: shoal_types::row::RowRef<'_>| {
                assert_eq!(read(row).1, Some(1));
                found += 1;
                Ok(())
            };
            reader.get_many(&table, &keys, FOR_UPDATE, &mut visit).await.unwrap();
        };
        let ending = async {
            for (holder, partition) in holders.iter_mut().zip([0, 2]) {
                until(|| node.node.partition(partition).wait_edges().len() == 1).await;
                holder.commit().await.unwrap();
            }
        };
        tokio::join!(reading, ending);
        assert_eq!(found, 2);
        reader.rollback();
        node.rest().await;
        assert_idle(&node);
    });
}

#[test]
fn a_future_that_is_dropped_while_it_waits_leaves_nothing_behind() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        load(&node, &table, (0..10).map(|id| (id, Some(id)))).await;
        let mut holder = node.begun(Isolation::RepeatableRead);
        set_k(&mut holder, &table, 3, Some(33)).await.unwrap();
        let mut other = node.begun(Isolation::RepeatableRead);
        let waited = tokio::time::timeout(SHORT, set_k(&mut other, &table, 3, Some(0))).await;
        assert!(waited.is_err());
        // In the hidden table this time.
        let waited = tokio::time::timeout(SHORT, set_k(&mut other, &table, 4, Some(33))).await;
        assert!(waited.is_err());
        assert!(node.node.wait_for_graph().is_empty());
        holder.commit().await.unwrap();
        let mut third = node.begun(Isolation::RepeatableRead);
        third.set_lock_wait_timeout(SHORT);
        assert_eq!(set_k(&mut third, &table, 3, Some(34)).await.unwrap(), Inserted::Done);
        third.commit().await.unwrap();
        drop(other);
        node.rest().await;
        assert_idle(&node);
        assert_eq!(newest_k(&node, &table, 4).await, Some(Some(4)));
    });
}

#[test]
fn repeatable_read_keeps_its_snapshot_and_read_committed_takes_one_a_statement() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..10).map(|id| (id, Some(0)))).await;
        let mut repeatable = node.begun(Isolation::RepeatableRead);
        let mut committed = node.begun(Isolation::ReadCommitted);
        let sum = |rows: Vec<(i64, Option<i64>)>| rows.iter().filter_map(|row| row.1).sum::<i64>();
        for transaction in [&mut repeatable, &mut committed] {
            let rows = rows_of(transaction, scan_all(&table, 0, false, SNAPSHOT)).await.unwrap();
            assert_eq!(sum(rows), 0);
        }
        let mut writer = node.begun(Isolation::RepeatableRead);
        for id in 0..10 {
            set_k(&mut writer, &table, id, Some(1)).await.unwrap();
        }
        writer.commit().await.unwrap();
        repeatable.start_statement();
        committed.start_statement();
        let rows = rows_of(&mut repeatable, scan_all(&table, 0, true, SNAPSHOT)).await.unwrap();
        assert_eq!(sum(rows), 0);
        let rows = rows_of(&mut committed, scan_all(&table, 0, true, SNAPSHOT)).await.unwrap();
        assert_eq!(sum(rows), 10);
        // Locking reads see the newest rows whatever the snapshot.
        let k = repeatable.get(&table, &key(&table, 1), FOR_SHARE, |row| row.map(read)).await.unwrap();
        assert_eq!(k, Some((1, Some(1))));
        repeatable.rollback();
        committed.rollback();
        drop(writer);
        node.rest().await;
        assert_idle(&node);
    });
}

#[test]
fn a_locking_range_read_keeps_inserts_out_of_its_range_under_repeatable_read() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, (0..10).map(|id| (id, Some(id * 10)))).await;
        for isolation in [Isolation::RepeatableRead, Isolation::ReadCommitted] {
            let mut reader = node.begun(isolation);
            let range = KeyRange { start: k_key(&table, 20), end: k_key(&table, 50) };
            let request = ScanRequest { ranges: vec![range], ..scan_all(&table, 1, true, FOR_UPDATE) };
            let rows = rows_of(&mut reader, request).await.unwrap();
            assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 3, 4]);
            let mut writer = node.begun(Isolation::RepeatableRead);
            writer.set_lock_wait_timeout(SHORT);
            let inserted = writer.insert_many(&table, &[row(&table, 100, Some(35), "")], false).await;
            match isolation {
                Isolation::ReadCommitted => assert_eq!(inserted.unwrap(), [Inserted::Done]),
                _ => assert_eq!(inserted.unwrap_err().errno(), 1205),
            }
            let outside = writer.insert_many(&table, &[row(&table, 101, Some(55), "")], false).await.unwrap();
            assert_eq!(outside, [Inserted::Done]);
            writer.rollback();
            reader.rollback();
        }
        node.rest().await;
        assert_idle(&node);
    });
}

#[test]
fn a_statement_scans_what_was_there_before_it_began() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, (0..10).map(|id| (id, Some(id)))).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        transaction.start_statement();
        set_k(&mut transaction, &table, 1, Some(50)).await.unwrap();
        let rows = rows_of(&mut transaction, scan_all(&table, 1, true, FOR_UPDATE)).await.unwrap();
        assert!(rows.contains(&(1, Some(1))) && rows.len() == 10);
        transaction.start_statement();
        let rows = rows_of(&mut transaction, scan_all(&table, 1, true, SNAPSHOT)).await.unwrap();
        assert!(rows.contains(&(1, Some(50))) && rows.len() == 10);
        transaction.rollback();
    });
}

#[test]
fn a_definition_waits_for_the_transactions_that_use_its_table_and_they_notice_it_afterwards() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, [(1, Some(1))]).await;
        let mut user = node.begun(Isolation::RepeatableRead);
        set_k(&mut user, &table, 1, Some(2)).await.unwrap();
        let tables = [std::sync::Arc::clone(&table)];
        let timeout = Duration::from_secs(30);
        let define = async {
            let _exclusive = node.node.exclusive_tables(&tables, timeout).await?;
            assert_eq!(newest_k(&node, &table, 1).await, Some(Some(2)));
            let mut schema = table.schema.clone();
            schema.options.comment = "changed".into();
            node.node.change(vec![Change::PutTable(schema)]).await
        };
        let newcomer = async {
            until(|| {
                !node.node.metadata_locks().try_share(&table, false) || {
                    node.node.metadata_locks().release(&table);
                    false
                }
            })
            .await;
            let mut newcomer = node.begun(Isolation::RepeatableRead);
            let error = newcomer.get(&table, &key(&table, 1), SNAPSHOT, |_| ()).await.unwrap_err();
            assert!(error.message().contains("definition has changed"), "{error}");
            let newest = node.table("t");
            newcomer.get(&newest, &key(&newest, 1), SNAPSHOT, |row| row.map(read)).await
        };
        let end = async {
            until(|| {
                !node.node.metadata_locks().try_share(&table, false) || {
                    node.node.metadata_locks().release(&table);
                    false
                }
            })
            .await;
            user.commit().await
        };
        let (defined, seen, ended): (Result<()>, _, _) = tokio::join!(define, newcomer, end);
        defined.unwrap();
        ended.unwrap();
        assert_eq!(seen.unwrap(), Some((1, Some(2))));
        node.rest().await;
        assert_idle(&node);
    });
}

/// The rows of `limited`'s scan until `count` are taken, and the ids whose locks another transaction cannot get then.
async fn take_and_probe(
    node: &TestNode,
    table: &Arc<Table>,
    transaction: &mut Transaction,
    request: ScanRequest,
    is_wanted: impl Fn(i64) -> bool,
) -> (Vec<i64>, Vec<i64>) {
    let count = request.row_limit.unwrap_or(u64::MAX);
    let mut taken = Vec::new();
    let mut scan = transaction.scan(request);
    let mut probe = |row: shoal_types::row::RowRef<'_>| is_wanted(read(row).0);
    let mut visit = |row: shoal_types::row::RowRef<'_>| {
        let id = read(row).0;
        if !is_wanted(id) {
            return Ok(Visit::Skip);
        }
        taken.push(id);
        Ok(if taken.len() as u64 == count { Visit::TakeAndStop } else { Visit::Take })
    };
    while scan.next_probing(transaction, Some(&mut probe), &mut visit).await.unwrap() {}
    let mut locked = Vec::new();
    for id in 0..40 {
        let mut other = node.begun(Isolation::ReadCommitted);
        let no_wait = ReadMode { wait: LockWait::NoWait, ..FOR_UPDATE };
        if other.get(table, &key(table, id), no_wait, |_| ()).await.is_err() {
            locked.push(id);
        }
        other.rollback();
    }
    (taken, locked)
}

#[test]
fn a_locking_scan_with_a_row_limit_locks_the_rows_that_it_shows() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, (0..40).map(|id| (id, Some(id / 20)))).await;
        for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
            let examined = |ids: std::ops::RangeInclusive<i64>| match isolation {
                Isolation::ReadCommitted => vec![*ids.end()],
                _ => ids.collect(),
            };
            for limit in [1, 2, 5, 30] {
                let request = ScanRequest { row_limit: Some(limit), ..scan_all(&table, 0, true, FOR_UPDATE) };
                let mut reader = node.begun(isolation);
                let (taken, locked) = take_and_probe(&node, &table, &mut reader, request.clone(), |_| true).await;
                let first: Vec<i64> = (0..limit as i64).collect();
                assert_eq!((&taken, &locked), (&first, &first), "{isolation:?} {limit}");
                reader.rollback();
                let request = ScanRequest { descending: true, ..request };
                let (taken, locked) = take_and_probe(&node, &table, &mut reader, request, |_| true).await;
                assert_eq!(taken, (40 - limit as i64..40).rev().collect::<Vec<_>>(), "{isolation:?} {limit}");
                assert_eq!(locked, (40 - limit as i64..40).collect::<Vec<_>>(), "{isolation:?} {limit}");
                reader.rollback();
            }
            let mut reader = node.begun(isolation);
            let one = ScanRequest { row_limit: Some(1), ..scan_all(&table, 0, true, FOR_UPDATE) };
            let (taken, locked) = take_and_probe(&node, &table, &mut reader, one.clone(), |id| id == 7).await;
            assert_eq!((taken, locked), (vec![7], examined(0..=7)), "{isolation:?}");
            reader.rollback();
            // Of many equal keys of an index, those that are shown.
            let three = ScanRequest { row_limit: Some(3), index: 1, ..one.clone() };
            let mut reader = node.begun(isolation);
            let (mut taken, locked) = take_and_probe(&node, &table, &mut reader, three, |_| true).await;
            taken.sort_unstable();
            assert_eq!(taken, locked, "{isolation:?}");
            reader.rollback();
            // What another one holds is in nobody's way but his who wants it.
            let mut holder = node.begun(isolation);
            set_k(&mut holder, &table, 1, Some(9)).await.unwrap();
            set_k(&mut holder, &table, 3, Some(9)).await.unwrap();
            let no_wait = ScanRequest { mode: ReadMode { wait: LockWait::NoWait, ..FOR_UPDATE }, ..one.clone() };
            let mut reader = node.begun(isolation);
            let (taken, locked) = take_and_probe(&node, &table, &mut reader, no_wait, |_| true).await;
            assert_eq!((taken, locked), (vec![0], vec![0, 1, 3]), "{isolation:?}");
            reader.rollback();
            let skip = ScanRequest { mode: ReadMode { wait: LockWait::SkipLocked, ..FOR_UPDATE }, ..one };
            let skip = ScanRequest { row_limit: Some(3), ..skip };
            let (taken, locked) = take_and_probe(&node, &table, &mut reader, skip, |_| true).await;
            assert_eq!((taken, locked), (vec![0, 2, 4], vec![0, 1, 2, 3, 4]), "{isolation:?}");
            reader.rollback();
            holder.rollback();
        }
        node.rest().await;
        assert_idle(&node);
    });
}

#[test]
fn a_locking_scan_that_has_waited_shows_what_is_there_then() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (1..40).map(|id| (id, Some(id)))).await;
        // Looking ahead does not wait for a partition that has not heard of the decision yet, and more than needed would be locked.
        until(|| (0..4).all(|partition| node.node.partition(partition).in_doubt().is_empty())).await;
        let mut holder = node.begun(Isolation::RepeatableRead);
        holder.modify(&table, &key(&table, 1), |_| Ok((Modification::Delete, ()))).await.unwrap();
        holder.insert_many(&table, &[row(&table, 0, Some(0), "")], false).await.unwrap();
        let mut reader = node.begun(Isolation::RepeatableRead);
        let two = ScanRequest { row_limit: Some(2), ..scan_all(&table, 0, true, FOR_UPDATE) };
        let reading = take_and_probe(&node, &table, &mut reader, two, |_| true);
        let ending = async {
            until(|| node.node.wait_for_graph().len() == 1).await;
            holder.commit().await.unwrap();
        };
        let ((taken, mut locked), ()) = tokio::join!(reading, ending);
        // Whoever has waited for the row that was deleted then may have its key.
        locked.retain(|&id| id != 1);
        assert_eq!((taken, locked), (vec![0, 2], vec![0, 2]));
        reader.rollback();
        node.rest().await;
        assert_idle(&node);
    });
}
