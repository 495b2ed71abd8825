//! Unique secondary indexes, which are unique over all partitions.

use std::sync::Arc;

use shoal_cluster::{Change, Table, unique, unique_table_schema};
use shoal_types::{Index, IndexId, IndexMethod};

use super::support::*;
use crate::*;

async fn unique(transaction: &mut Transaction, table: &Arc<Table>, k: i64) -> Option<Vec<u8>> {
    let found = transaction.get_unique(table, 1, &[k_key(table, k)], SNAPSHOT).await.unwrap();
    found.into_iter().next().unwrap()
}

#[test]
fn a_duplicate_is_reported_with_the_row_that_has_the_key_and_leaves_nothing_of_its_own() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        load(&node, &table, (0..20).map(|id| (id, Some(id)))).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        let duplicate = Inserted::Duplicate { index: 1, primary_key: key(&table, 7) };
        let rows = [
            row(&table, 100, Some(100), ""),
            row(&table, 101, Some(7), ""),
            row(&table, 3, Some(103), ""),
            row(&table, 104, None, ""),
            row(&table, 105, None, ""),
        ];
        let outcomes = transaction.insert_many(&table, &rows, false).await.unwrap();
        assert_eq!(outcomes, [Inserted::Done, duplicate.clone()]);
        transaction.rollback();
        let outcomes = transaction.insert_many(&table, &rows, true).await.unwrap();
        let primary = Inserted::Duplicate { index: 0, primary_key: key(&table, 3) };
        assert_eq!(outcomes, [Inserted::Done, duplicate.clone(), primary, Inserted::Done, Inserted::Done]);
        assert_eq!(set_k(&mut transaction, &table, 8, Some(7)).await.unwrap(), duplicate);
        transaction.commit().await.unwrap();
        assert_eq!(newest_k(&node, &table, 8).await, Some(Some(8)));
        assert_eq!(newest_k(&node, &table, 101).await, None);
        assert_eq!(unique(&mut transaction, &table, 103).await, None);
        assert_eq!(unique(&mut transaction, &table, 100).await, Some(key(&table, 100)));
        assert_eq!(row_count(&node, &table).await, 23);
    });
}

#[test]
fn keys_follow_their_rows_through_updates_moves_and_deletes() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        load(&node, &table, (0..10).map(|id| (id, Some(id)))).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        set_k(&mut transaction, &table, 1, Some(50)).await.unwrap();
        // The key that was given up is free within the transaction.
        set_k(&mut transaction, &table, 2, Some(1)).await.unwrap();
        let (old, new) = (row(&table, 3, Some(3), "text"), row(&table, 30, Some(3), "moved"));
        transaction.get(&table, &key(&table, 3), FOR_UPDATE, |_| ()).await.unwrap();
        assert_eq!(transaction.replace_row(&table, &old, &new).await.unwrap(), Inserted::Done);
        transaction.get(&table, &key(&table, 4), FOR_UPDATE, |_| ()).await.unwrap();
        transaction.delete_row(&table, &row(&table, 4, Some(4), "text")).await.unwrap();
        set_k(&mut transaction, &table, 5, None).await.unwrap();
        transaction.commit().await.unwrap();
        for (k, id) in [(50, Some(1)), (1, Some(2)), (2, None), (3, Some(30)), (4, None), (5, None), (6, Some(6))]
        {
            let expected = id.map(|id| key(&table, id));
            assert_eq!(unique(&mut transaction, &table, k).await, expected, "k = {k}");
        }
    });
}

#[test]
fn of_two_transactions_that_want_a_key_the_second_waits_for_the_first() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        for commits in [true, false] {
            let mut first = node.begun(Isolation::RepeatableRead);
            let id = if commits { 1 } else { 11 };
            first.insert_many(&table, &[row(&table, id, Some(id), "")], false).await.unwrap();
            let mut second = node.begun(Isolation::RepeatableRead);
            let rows = [row(&table, id + 1, Some(id), "")];
            let (outcome, _) = tokio::join!(second.insert_many(&table, &rows, false), async {
                while node.node.wait_for_graph().is_empty() {
                    tokio::task::yield_now().await;
                }
                match commits {
                    true => first.commit().await.unwrap(),
                    false => first.rollback(),
                }
            });
            let duplicate = Inserted::Duplicate { index: 1, primary_key: key(&table, id) };
            assert_eq!(outcome.unwrap(), [if commits { duplicate } else { Inserted::Done }]);
        }
    });
}

/// The table with a unique index over `k` that is being built, and the index's hidden table, which is empty.
async fn begin_to_build(node: &TestNode, table: &Table) -> (Arc<Table>, Arc<Table>) {
    let mut schema = table.schema.clone();
    let id = node.node.next_table_id();
    schema.version += 1;
    schema.indexes.push(Index {
        building: true,
        unique_table: Some(id),
        ..Index::new(IndexId(1), "by_k", &[1], true, IndexMethod::BTree)
    });
    let hidden = unique_table_schema(&schema, &schema.indexes[1], id);
    node.node.change(vec![Change::PutTable(hidden), Change::PutTable(schema)]).await.unwrap();
    (node.table("t"), node.node.catalog().tables_by_id.get(&id).cloned().unwrap())
}

/// A writer once deleted an entry by its key alone, which was that of another row with the same value.
#[test]
fn while_a_unique_index_is_built_a_row_takes_no_entry_but_its_own_away() {
    let node = TestNode::new(4);
    run(async {
        let plain = node.create("t", Shape::Plain).await;
        load(&node, &plain, [(1, Some(7)), (2, Some(7)), (3, Some(3)), (4, Some(4))]).await;
        let (table, hidden) = begin_to_build(&node, &plain).await;
        // The build has come as far as the first row.
        let entry = unique::unique_row(&k_key(&table, 7), &key(&table, 1)).unwrap();
        let mut builder = node.begun(Isolation::ReadCommitted);
        assert_eq!(builder.insert_many(&hidden, &[entry], false).await.unwrap(), [Inserted::Done]);
        builder.commit().await.unwrap();
        let mut writer = node.begun(Isolation::RepeatableRead);
        // Its value has the first row's entry, its new one none.
        assert_eq!(set_k(&mut writer, &table, 2, Some(20)).await.unwrap(), Inserted::Done);
        assert_eq!(unique(&mut writer, &table, 7).await, Some(key(&table, 1)));
        assert_eq!(unique(&mut writer, &table, 20).await, Some(key(&table, 2)));
        // Rows that have no entry yet are changed and deleted, moved to another key and in batches.
        let (old, new) = (row(&table, 3, Some(3), "text"), row(&table, 30, Some(33), "moved"));
        writer.get(&table, &key(&table, 3), FOR_UPDATE, |_| ()).await.unwrap();
        assert_eq!(writer.replace_row(&table, &old, &new).await.unwrap(), Inserted::Done);
        writer.get(&table, &key(&table, 4), FOR_UPDATE, |_| ()).await.unwrap();
        let end = writer.replace_many(&table, &[(row(&table, 4, Some(4), "text"), None)]).await.unwrap();
        assert_eq!(end, BatchEnd::default());
        // Who comes with a key that has its entry is refused.
        let duplicate = Inserted::Duplicate { index: 1, primary_key: key(&table, 1) };
        let rows = [row(&table, 5, Some(7), "")];
        assert_eq!(writer.insert_many(&table, &rows, false).await.unwrap(), [duplicate]);
        // The row's own entry goes with it.
        writer.get(&table, &key(&table, 1), FOR_UPDATE, |_| ()).await.unwrap();
        writer.delete_row(&table, &row(&table, 1, Some(7), "text")).await.unwrap();
        assert_eq!(writer.insert_many(&table, &rows, false).await.unwrap(), [Inserted::Done]);
        writer.commit().await.unwrap();
        for (k, id) in [(7, Some(5)), (20, Some(2)), (3, None), (33, Some(30)), (4, None)] {
            let expected = id.map(|id| key(&table, id));
            assert_eq!(unique(&mut writer, &table, k).await, expected, "k = {k}");
        }
    });
}
