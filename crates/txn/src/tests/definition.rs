//! Definitions beside transactions whose coordinators are gone, or are taken to be.
//!
//! Two nodes, as in `cluster`. Their metadata locks do not know of each other, so to the second node every coordinator on the first
//! is one that has vanished.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Change, Table};
use shoal_types::{Error, ErrorCode};

use super::all_here::support::{self, FOR_UPDATE, Shape, TestNode, key, newest_k, run, set_k};
use super::cluster::{Cluster, load};
use super::loopback::Fault;

/// A table with a row at each node.
async fn with_rows(cluster: &Cluster) -> (Arc<Table>, [i64; 2]) {
    let table = cluster.create(Shape::Plain).await;
    let ids = [0, 1].map(|position| cluster.ids_at(&table, position, 1)[0]);
    load(&cluster.nodes[0], &table, &ids).await;
    (table, ids)
}

/// The table as the node has it, with nothing new but its version.
async fn raise_version(node: &TestNode) -> Arc<Table> {
    let mut schema = node.table("t").schema.clone();
    schema.version += 1;
    node.node.change(vec![Change::PutTable(schema)]).await.unwrap();
    node.table("t")
}

fn assert_restart(error: &Error) {
    assert!(error.is(ErrorCode::GetTemporaryErrmsg) && error.rolls_back_transaction(), "{error}");
}

/// A commit of the first node whose participant on the second one never hears how it ended.
async fn commit_in_doubt(cluster: &Cluster, table: &Arc<Table>, ids: [i64; 2], commits: bool) {
    let mut transaction = cluster.begun(0);
    for id in ids {
        set_k(&mut transaction, table, id, Some(1)).await.unwrap();
    }
    // The first call prepares, the second one tells the outcome.
    match commits {
        true => cluster.network.break_call(1, Fault::LostBefore),
        false => cluster.network.break_call(0, Fault::Cut),
    }
    assert_eq!(transaction.commit().await.is_ok(), commits);
    drop(transaction);
    support::settled_tasks().await;
    cluster.network.heal();
}

#[test]
fn a_definition_waits_for_the_outcome_of_what_is_prepared_in_its_table() {
    for commits in [true, false] {
        let cluster = Cluster::with(false);
        run(async {
            let (table, ids) = with_rows(&cluster).await;
            commit_in_doubt(&cluster, &table, ids, commits).await;
            let second = &cluster.nodes[1];
            let tables = [second.table("t")];
            let refused = second.node.exclusive_tables(&tables, Duration::from_millis(30)).await;
            assert_eq!(refused.err().map(|error| error.errno()), Some(1205), "commits: {commits}");
            cluster.network.cut(false);
            let held = second.node.exclusive_tables(&tables, Duration::from_secs(30));
            let resolve = async {
                loop {
                    cluster.servers[1].resolve().await;
                    tokio::task::yield_now().await;
                }
            };
            let held = tokio::select! {
                held = held => held,
                () = resolve => unreachable!("it never ends"),
            };
            drop(held.unwrap());
            let expected = Some(Some(i64::from(commits)));
            for (node, id) in cluster.nodes.iter().zip(ids) {
                assert_eq!(newest_k(node, &table, id).await, expected);
            }
        });
    }
}

#[test]
fn a_definition_of_another_table_does_not_wait_for_what_is_prepared() {
    let cluster = Cluster::with(false);
    run(async {
        let (table, ids) = with_rows(&cluster).await;
        commit_in_doubt(&cluster, &table, ids, false).await;
        let other = cluster.nodes[1].create("other", Shape::Plain).await;
        cluster.nodes[1].node.exclusive_tables(&[other], Duration::from_millis(30)).await.unwrap();
    });
}

#[test]
fn what_has_joined_before_a_definition_cannot_prepare_after_it() {
    for (coordinator, writes) in [(0, true), (0, false), (1, true), (1, false)] {
        let cluster = Cluster::with(false);
        run(async {
            let (table, ids) = with_rows(&cluster).await;
            let mut transaction = cluster.begun(coordinator);
            set_k(&mut transaction, &table_of(&cluster, coordinator), ids[0], Some(1)).await.unwrap();
            let own = table_of(&cluster, coordinator);
            match writes {
                true => drop(set_k(&mut transaction, &own, ids[1], Some(1)).await.unwrap()),
                // What it has read decides about what it writes.
                false => transaction.get(&own, &key(&table, ids[1]), FOR_UPDATE, |_| ()).await.unwrap(),
            }
            raise_version(&cluster.nodes[1]).await;
            assert_restart(&transaction.commit().await.unwrap_err());
            for (node, id) in cluster.nodes.iter().zip(ids) {
                assert_eq!(newest_k(node, &table, id).await, Some(Some(0)), "{coordinator} {writes}");
            }
            drop(transaction);
            support::settled_tasks().await;
            cluster.assert_idle();
        });
    }
}

fn table_of(cluster: &Cluster, position: usize) -> Arc<Table> {
    cluster.nodes[position].table("t")
}

#[test]
fn what_was_planned_by_an_older_definition_cannot_join() {
    let cluster = Cluster::with(false);
    run(async {
        let (old, ids) = with_rows(&cluster).await;
        raise_version(&cluster.nodes[1]).await;
        for writes in [true, false] {
            let mut transaction = cluster.begun(0);
            let error = match writes {
                true => set_k(&mut transaction, &old, ids[1], Some(1)).await.unwrap_err(),
                false => transaction.get(&old, &key(&old, ids[1]), FOR_UPDATE, |_| ()).await.unwrap_err(),
            };
            assert_restart(&error);
        }
        let other = cluster.nodes[0].create("other", Shape::Plain).await;
        let there = cluster.ids_at(&other, 1, 1)[0];
        let mut transaction = cluster.begun(0);
        let row = support::row(&other, there, None, "");
        assert_restart(&transaction.insert_many(&other, &[row], false).await.unwrap_err());
        drop(transaction);
        // Reading what is committed needs no agreement about the future.
        assert_eq!(newest_k(&cluster.nodes[0], &old, ids[1]).await, Some(Some(0)));
        let new = raise_version(&cluster.nodes[0]).await;
        let mut transaction = cluster.begun(0);
        for id in ids {
            set_k(&mut transaction, &new, id, Some(2)).await.unwrap();
        }
        transaction.commit().await.unwrap();
        drop(transaction);
        support::settled_tasks().await;
        assert_eq!(newest_k(&cluster.nodes[1], &new, ids[1]).await, Some(Some(2)));
    });
}

#[test]
fn a_session_whose_node_was_passed_over_does_not_go_on_with_what_is_defined_anew() {
    let cluster = Cluster::with(false);
    run(async {
        let (_, ids) = with_rows(&cluster).await;
        let old = table_of(&cluster, 1);
        let mut transaction = cluster.begun(1);
        transaction.use_table(&old).await.unwrap();
        raise_version(&cluster.nodes[1]).await;
        assert_restart(&set_k(&mut transaction, &old, ids[1], Some(1)).await.unwrap_err());
        transaction.rollback();
        let mut transaction = cluster.begun(1);
        assert_eq!(set_k(&mut transaction, &old, ids[1], Some(1)).await.unwrap_err().errno(), 1412);
        set_k(&mut transaction, &table_of(&cluster, 1), ids[1], Some(1)).await.unwrap();
        transaction.commit().await.unwrap();
    });
}
