//! What is left after crashes, cut logs and clean shutdowns.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use shoal_cluster::{Change, Node};
use shoal_types::TableId;

use super::support::*;
use crate::*;

/// The newest segment of the log that has frames, and where its last one ends.
fn log_tail(directory: &Path) -> (PathBuf, usize) {
    let mut segments: Vec<PathBuf> = directory
        .join("log")
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    segments.sort();
    let used = segments.into_iter().rev().find_map(|path| {
        let bytes = std::fs::read(&path).unwrap();
        let end = bytes.iter().rposition(|&byte| byte != 0)? + 1;
        (end > 4096).then_some((path, end))
    });
    used.unwrap()
}

/// A copy of the directory whose log ends at `end`, as a crash could have left it.
fn cut_copy(directory: &Path, end: usize) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("log")).unwrap();
    for file in directory.join("log").read_dir().unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join("log").join(file.file_name())).unwrap();
    }
    let (path, used) = log_tail(copy.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[end.min(used)..].fill(0);
    std::fs::write(&path, bytes).unwrap();
    copy
}

/// Opens a copy for each of some places at which the log may have been cut.
async fn for_each_cut(directory: &Path, start: usize, check: impl AsyncFn(TestNode)) {
    let (_, end) = log_tail(directory);
    for number in 0..=24 {
        let cut = start + (end - start) * number / 24;
        let node = TestNode::at(cut_copy(directory, cut), 4);
        node.settle().await;
        check(node).await;
    }
}

#[test]
fn a_transaction_over_several_partitions_survives_a_cut_log_whole_or_not_at_all() {
    run(async {
        let node = TestNode::new(4);
        let table = node.create("t", Shape::UniqueK).await;
        load(&node, &table, (0..16).map(|id| (id, Some(id)))).await;
        let (_, start) = log_tail(node.directory.path());
        let mut transaction = node.transaction();
        for round in 1..40 {
            transaction.begin(Isolation::RepeatableRead);
            for id in 0..16 {
                set_k(&mut transaction, &table, id, Some(round * 100 + id)).await.unwrap();
            }
            transaction.commit().await.unwrap();
        }
        drop((transaction, table));
        node.rest().await;
        let directory = node.stop(false);
        let rounds = std::cell::RefCell::new(std::collections::BTreeSet::new());
        for_each_cut(directory.path(), start, async |node| {
            let table = node.table("t");
            let mut transaction = node.transaction();
            let rows = rows_of(&mut transaction, scan_all(&table, 0, true, SNAPSHOT)).await.unwrap();
            let round = rows[0].1.unwrap() / 100;
            let expected: Vec<_> = (0..16).map(|id| (id, Some(round * 100 + id))).collect();
            assert_eq!(rows, expected);
            for id in 0..16 {
                let found = transaction.get_unique(&table, 1, &[k_key(&table, round * 100 + id)], SNAPSHOT).await;
                assert_eq!(found.unwrap(), [Some(key(&table, id))]);
            }
            rounds.borrow_mut().insert(round);
        })
        .await;
        assert!(rounds.borrow().len() > 10, "the cuts all left the same: {rounds:?}");
    });
}

#[test]
fn a_definition_survives_a_cut_log_in_all_partitions_or_in_none() {
    run(async {
        let node = TestNode::new(4);
        node.create("first", Shape::Plain).await;
        let (_, start) = log_tail(node.directory.path());
        for number in 0..6 {
            let table = node.create(&format!("t{number}"), Shape::UniqueK).await;
            if number % 2 == 1 {
                node.node.change(vec![Change::DropTable(table.id())]).await.unwrap();
            }
        }
        node.rest().await;
        let directory = node.stop(false);
        for_each_cut(directory.path(), start, async |node| {
            let catalog = node.node.catalog();
            let mut known: Vec<TableId> = catalog.tables_by_id.keys().copied().collect();
            known.sort_unstable();
            for partition in 0..4 {
                assert_eq!(node.node.partition(partition).tables(), known);
            }
            let next = node.node.next_table_id();
            assert!(known.iter().all(|&id| id < next));
        })
        .await;
    });
}

#[test]
fn sequences_go_on_exactly_after_a_shutdown_and_never_back_after_a_crash() {
    run(async {
        let mut node = TestNode::new(2);
        node.create("t", Shape::Counted).await;
        let mut used = 0;
        for round in 0..20 {
            let table = node.table("t");
            for _ in 0..7 {
                let mut transaction = node.transaction();
                let id = table.next_auto_increment.fetch_add(1, Ordering::Relaxed) as i64;
                assert!(id > used, "round {round}: {id} after {used}");
                used = id;
                let outcome = transaction.insert_many(&table, &[row(&table, id, None, "")], false).await.unwrap();
                assert_eq!(outcome, [Inserted::Done]);
                transaction.commit().await.unwrap();
            }
            drop(table);
            let clean = round % 2 == 0;
            node.rest().await;
            node = node.restart(clean);
            if clean {
                assert_eq!(node.table("t").next_auto_increment.load(Ordering::Relaxed) as i64, used + 1);
            }
        }
    });
}

#[test]
fn a_directory_in_use_is_refused() {
    let node = TestNode::new(1);
    let error = Node::open(options(node.directory.path(), 1)).err().unwrap();
    assert!(error.message().contains("in use"), "{error}");
}

#[test]
fn a_checkpoint_cuts_the_log_and_carries_everything_over_a_restart() {
    run(async {
        let node = TestNode::with(4, |options| {
            options.log_segment_bytes = 256 << 10;
            options.first_log_segment_bytes = 256 << 10;
        });
        let table = node.create("t", Shape::UniqueK).await;
        load(&node, &table, (0..500).map(|id| (id, Some(id)))).await;
        let mut transaction = node.transaction();
        let log = node.node.log();
        let first = log.first_lsn();
        for round in 1..=8 {
            for id in 0..500 {
                set_k(&mut transaction, &table, id, Some(round * 1000 + id)).await.unwrap();
            }
            transaction.commit().await.unwrap();
            node.node.checkpoint().unwrap();
            log.maintain().unwrap();
            set_k(&mut transaction, &table, 0, Some(round)).await.unwrap();
            transaction.commit().await.unwrap();
        }
        assert!(log.first_lsn() > first, "the log was not cut");
        node.node.change(vec![Change::PutVariable { name: "v".into(), value: Some("1".into()) }]).await.unwrap();
        drop((transaction, table));
        node.rest().await;
        let node = node.restart(false);
        node.settle().await;
        let table = node.table("t");
        let mut transaction = node.transaction();
        let rows = rows_of(&mut transaction, scan_all(&table, 0, true, SNAPSHOT)).await.unwrap();
        let expected: Vec<_> = (0..500).map(|id| (id, Some(if id == 0 { 8 } else { 8000 + id }))).collect();
        assert_eq!(rows, expected);
        assert_eq!(node.node.catalog().variables.get("v").map(String::as_str), Some("1"));
        let found = transaction.get_unique(&table, 1, &[k_key(&table, 8007), k_key(&table, 8000)], SNAPSHOT).await;
        assert_eq!(found.unwrap(), [Some(key(&table, 7)), None]);
    });
}

#[test]
fn memory_that_a_dropped_table_used_is_free_again_and_the_budget_is_error_1114() {
    run(async {
        let node = TestNode::with(2, |options| options.data_memory = Some(1 << 20));
        let table = node.create("t", Shape::Plain).await;
        let empty = node.node.memory_usage().used_bytes;
        let mut transaction = node.transaction();
        let rows: Vec<_> = (0..50_000).map(|id| row(&table, id, None, "some text")).collect();
        let error = transaction.insert_many(&table, &rows, false).await.unwrap_err();
        assert_eq!(error.errno(), 1114);
        transaction.rollback();
        // So much is undone in slices.
        while node.node.memory_usage().used_bytes != empty {
            tokio::task::yield_now().await;
        }
        load(&node, &table, (0..1000).map(|id| (id, None))).await;
        assert!(node.node.memory_usage().used_bytes > empty);
        node.node.change(vec![Change::DropTable(table.id())]).await.unwrap();
        assert_eq!(node.node.memory_usage().used_bytes, empty);
    });
}

#[test]
fn a_commit_after_the_node_was_closed_is_refused_and_stops_nothing() {
    let node = TestNode::new(2);
    run(async {
        let table = node.create("t", Shape::Counted).await;
        load(&node, &table, [(1, None)]).await;
        let mut transaction = node.transaction();
        transaction.insert_many(&table, &[row(&table, 2, None, "")], false).await.unwrap();
        node.node.close().unwrap();
        let error = transaction.commit().await.unwrap_err();
        assert_eq!((error.errno(), error.outcome()), (1053, shoal_types::Outcome::NotCommitted));
        assert!(!node.node.is_stopped());
        let error = node.node.change(vec![Change::DropTable(table.id())]).await.unwrap_err();
        assert_eq!(error.errno(), 1053);
        node.node.close().unwrap();
    });
    let node = node.restart(false);
    run(async {
        assert_eq!(row_count(&node, &node.table("t")).await, 1);
    });
}
