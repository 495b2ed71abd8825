//! One session after the other: what is written is read, kept over restarts, and gone when rolled back.

use super::support::*;
use crate::*;

#[test]
fn rows_are_inserted_read_scanned_changed_and_survive_a_crash() {
    let node = run(async {
        let node = TestNode::new(4);
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, (0..1000).map(|id| (id, Some(id % 10)))).await;
        let mut transaction = node.transaction();
        for id in [0, 17, 999] {
            let k = transaction.get(&table, &key(&table, id), SNAPSHOT, |row| row.map(read)).await.unwrap();
            assert_eq!(k, Some((id, Some(id % 10))));
        }
        assert_eq!(newest_k(&node, &table, 1000).await, None);
        let mut all = rows_of(&mut transaction, scan_all(&table, 0, false, SNAPSHOT)).await.unwrap();
        all.sort_unstable();
        assert_eq!(all, (0..1000).map(|id| (id, Some(id % 10))).collect::<Vec<_>>());
        transaction.commit().await.unwrap();
        transaction.begin(Isolation::RepeatableRead);
        assert_eq!(set_k(&mut transaction, &table, 5, Some(77)).await.unwrap(), Inserted::Done);
        let deleted =
            transaction.modify(&table, &key(&table, 6), |_| Ok((Modification::Delete, ()))).await.unwrap();
        assert!(deleted.is_some());
        assert_eq!(newest_k(&node, &table, 5).await, Some(Some(5)));
        transaction.commit().await.unwrap();
        assert_eq!(newest_k(&node, &table, 5).await, Some(Some(77)));
        assert_eq!(newest_k(&node, &table, 6).await, None);
        node
    });
    let node = node.restart(false).restart(true);
    run(async {
        node.settle().await;
        let table = node.table("t");
        assert_eq!(newest_k(&node, &table, 5).await, Some(Some(77)));
        assert_eq!(newest_k(&node, &table, 6).await, None);
        let mut transaction = node.transaction();
        assert_eq!(row_count(&node, &table).await, 999);
        let ordered = rows_of(&mut transaction, scan_all(&table, 0, true, SNAPSHOT)).await.unwrap();
        assert!(ordered.is_sorted() && ordered.len() == 999);
    });
}

#[test]
fn a_rollback_and_a_savepoint_take_back_what_came_after() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        load(&node, &table, (0..10).map(|id| (id, Some(id)))).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        set_k(&mut transaction, &table, 1, Some(100)).await.unwrap();
        let savepoint = transaction.savepoint();
        for id in 2..8 {
            set_k(&mut transaction, &table, id, Some(100 + id)).await.unwrap();
        }
        transaction.rollback_to(&savepoint);
        assert_eq!(set_k(&mut transaction, &table, 3, Some(102)).await.unwrap(), Inserted::Done);
        transaction.commit().await.unwrap();
        assert_eq!(newest_k(&node, &table, 1).await, Some(Some(100)));
        assert_eq!(newest_k(&node, &table, 2).await, Some(Some(2)));
        assert_eq!(newest_k(&node, &table, 3).await, Some(Some(102)));
        transaction.begin(Isolation::RepeatableRead);
        set_k(&mut transaction, &table, 1, None).await.unwrap();
        transaction.rollback();
        assert_eq!(newest_k(&node, &table, 1).await, Some(Some(100)));
        drop(transaction);
        // The partitions other than the home hear of the commit's decision in the background.
        settled_tasks().await;
        for partition in 0..4 {
            let activity = node.node.partition(partition).activity();
            assert_eq!((activity.transactions, activity.row_locks, activity.proposals), (0, 0, 0));
        }
    });
}
