//! Transactions that work in temporary tables as well as in others: both or neither, whatever the others' node is like.

use std::sync::Arc;

use shoal_cluster::{Change, Node, NodeOptions, Table, temporary_table_id, unique_table_schema};
use shoal_types::{Result, TableSchema};

use super::support::*;
use crate::*;

/// The node of temporary tables beside another one, and a table there of the same definition as `like`.
async fn temporary(node: &TestNode, like: &Table) -> (Arc<Node>, Arc<Table>) {
    let options = NodeOptions::for_temporary_tables(node.node.options(), node.node.memory_budget());
    let beside = Node::open(options).unwrap();
    let mut schema = TableSchema { id: temporary_table_id(1), ..like.schema.clone() };
    let unique = temporary_table_id(2);
    schema.indexes[1].unique_table = Some(unique);
    let hidden = TableSchema { database: String::new(), ..schema.clone() };
    let changes =
        vec![Change::PutTable(unique_table_schema(&hidden, &hidden.indexes[1], unique)), Change::PutTable(hidden)];
    beside.change(changes).await.unwrap();
    let table = Table::temporary(beside.catalog().table_by_id(schema.id).unwrap(), schema);
    (beside, Arc::new(table))
}

async fn ids(transaction: &mut Transaction, table: &Arc<Table>) -> Result<Vec<i64>> {
    transaction.start_statement();
    let mut ids: Vec<i64> =
        rows_of(transaction, scan_all(table, 0, false, SNAPSHOT)).await?.into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    Ok(ids)
}

async fn insert(transaction: &mut Transaction, table: &Arc<Table>, id: i64) -> Inserted {
    transaction.start_statement();
    let rows = [row(table, id, Some(id), "text")];
    transaction.insert_many(table, &rows, false).await.unwrap().remove(0)
}

#[test]
fn savepoints_rollbacks_and_commits_are_those_of_both() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        // It was begun, and has its snapshot, before there was such a table.
        insert(&mut transaction, &table, 1).await;
        let before = transaction.savepoint();
        assert_eq!(ids(&mut transaction, &table).await.unwrap(), [1]);
        let (beside, own) = temporary(&node, &table).await;
        transaction.set_temporary_node(Arc::clone(&beside));
        assert!(!transaction.has_work_in_temporary());
        for id in 2..5 {
            insert(&mut transaction, &table, id).await;
            insert(&mut transaction, &own, id * 10).await;
        }
        assert!(transaction.has_work_in_temporary());
        let savepoint = transaction.savepoint();
        insert(&mut transaction, &own, 50).await;
        insert(&mut transaction, &table, 5).await;
        let taken =
            transaction.insert_many(&own, &[row(&own, 60, Some(20), "text")], false).await.unwrap().remove(0);
        assert!(matches!(taken, Inserted::Duplicate { index: 1, .. }), "{taken:?}");
        transaction.rollback_to(&savepoint);
        transaction.start_statement();
        assert_eq!(ids(&mut transaction, &own).await.unwrap(), [20, 30, 40]);
        assert_eq!(ids(&mut transaction, &table).await.unwrap(), [1, 2, 3, 4]);
        // Everything since before there was a temporary table.
        transaction.rollback_to(&before);
        transaction.start_statement();
        assert_eq!(ids(&mut transaction, &own).await.unwrap(), Vec::<i64>::new());
        assert_eq!(ids(&mut transaction, &table).await.unwrap(), [1]);
        for id in 2..5 {
            insert(&mut transaction, &table, id).await;
            insert(&mut transaction, &own, id * 10).await;
        }
        transaction.commit().await.unwrap();
        transaction.begin(Isolation::RepeatableRead);
        assert_eq!(ids(&mut transaction, &own).await.unwrap(), [20, 30, 40]);
        insert(&mut transaction, &own, 80).await;
        insert(&mut transaction, &table, 8).await;
        transaction.rollback();
        transaction.start_statement();
        assert_eq!(ids(&mut transaction, &own).await.unwrap(), [20, 30, 40]);
        assert_eq!(ids(&mut transaction, &table).await.unwrap(), [1, 2, 3, 4]);
        assert_eq!((transaction.row_count(&own), beside.partition(0).activity().transactions), (3, 0));
    });
}

#[test]
fn a_commit_that_the_others_refuse_commits_nothing_in_temporary_tables() {
    let node = TestNode::new(4);
    run(async {
        let table = node.create("t", Shape::UniqueK).await;
        let (beside, own) = temporary(&node, &table).await;
        let mut transaction = node.begun(Isolation::RepeatableRead);
        transaction.set_temporary_node(beside);
        insert(&mut transaction, &own, 1).await;
        insert(&mut transaction, &table, 1).await;
        // A definition that this transaction's node has not heard of ends its part in the table.
        let schema = TableSchema { version: table.schema.version + 1, ..table.schema.clone() };
        node.node.change(vec![Change::PutTable(schema)]).await.unwrap();
        transaction.commit().await.unwrap_err();
        assert_eq!(ids(&mut transaction, &own).await.unwrap(), Vec::<i64>::new());
        insert(&mut transaction, &own, 2).await;
        transaction.commit().await.unwrap();
        assert_eq!(ids(&mut transaction, &own).await.unwrap(), [2]);
    });
}
