//! Every moment at which the machine could have crashed during some work, on a disk that keeps what was synced and any
//! part of the rest; and disks that fail.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use shoal_cluster::{Change, Durability, Node, NodeOptions};
use shoal_log::testing::{CrashImage, CrashPoint, Fault, MemoryFileSystem, Operation};
use shoal_types::Outcome;

use super::support::*;
use crate::*;

const ROWS: i64 = 8;
const STEPS: i64 = 60;
/// Crash points that are looked at, evenly spread.
const POINTS: usize = 60;

fn disk_options(disk: &MemoryFileSystem) -> NodeOptions {
    NodeOptions {
        file_system: Arc::new(disk.clone()),
        log_segment_bytes: 32 << 10,
        first_log_segment_bytes: 32 << 10,
        ..options(Path::new("/data"), 3)
    }
}

/// Transactions over all partitions, definitions and checkpoints; the marker is the number of the last acknowledged step.
async fn work(disk: &MemoryFileSystem) {
    let node = TestNode::on(disk_options(disk));
    let table = node.create("t", Shape::UniqueK).await;
    load(&node, &table, (0..ROWS).map(|id| (id, Some(id)))).await;
    disk.record_history();
    let mut transaction = node.transaction();
    for step in 1..=STEPS {
        transaction.begin(Isolation::RepeatableRead);
        for id in 0..ROWS {
            set_k(&mut transaction, &table, id, Some(step * 100 + id)).await.unwrap();
        }
        transaction.commit().await.unwrap();
        disk.set_marker(step as u64);
        match step % 6 {
            2 => drop(node.create(&format!("s{step}"), Shape::UniqueK).await),
            4 => {
                let dropped = node.table(&format!("s{}", step - 2)).id();
                node.node.change(vec![Change::DropTable(dropped)]).await.unwrap();
            }
            5 => node.node.checkpoint().unwrap(),
            _ => {}
        }
    }
}

/// Opens what a crash has left and returns the step that it shows.
async fn check(disk: &MemoryFileSystem, context: &str) -> i64 {
    let node = Node::open(disk_options(disk)).unwrap_or_else(|error| panic!("{context}: {error}"));
    let node = TestNode::from(node);
    node.settle().await;
    let table = node.table("t");
    let mut transaction = node.transaction();
    let rows = rows_of(&mut transaction, scan_all(&table, 0, true, SNAPSHOT)).await.unwrap();
    let step = rows[0].1.unwrap() / 100;
    assert_eq!(rows, (0..ROWS).map(|id| (id, Some(step * 100 + id))).collect::<Vec<_>>(), "{context}");
    let keys: Vec<_> = (0..ROWS).map(|id| k_key(&table, step * 100 + id)).collect();
    let found = transaction.get_unique(&table, 1, &keys, SNAPSHOT).await.unwrap();
    assert_eq!(found, (0..ROWS).map(|id| Some(key(&table, id))).collect::<Vec<_>>(), "{context}");
    let mut known: Vec<_> = node.node.catalog().tables_by_id.keys().copied().collect();
    known.sort_unstable();
    for partition in 0..3 {
        assert_eq!(node.node.partition(partition).tables(), known, "{context}");
    }
    // Life goes on.
    for id in 0..ROWS {
        set_k(&mut transaction, &table, id, Some((step + 1) * 100 + id)).await.unwrap();
    }
    transaction.commit().await.unwrap();
    step
}

fn images(point: &CrashPoint, seed: usize) -> Vec<CrashImage> {
    let mut random = seed as u64 + 1;
    let mut keep = |count: usize| -> Vec<bool> {
        let mut next = || {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            random >> 63 == 1
        };
        (0..count).map(|_| next()).collect()
    };
    let some = CrashImage { fragments: keep(point.fragment_count()), names: keep(point.name_change_count()) };
    vec![point.uniform_image(false), point.uniform_image(true), some]
}

#[test]
fn whatever_a_crash_leaves_is_a_state_with_all_acknowledged_transactions_whole() {
    let disk = MemoryFileSystem::new();
    run(work(&disk));
    let history = disk.history();
    assert!(history.len() > POINTS, "only {} crash points", history.len());
    let mut steps = std::collections::BTreeSet::new();
    for number in 0..POINTS {
        let number = number * (history.len() - 1) / (POINTS - 1);
        let point = &history[number];
        for (image_number, image) in images(point, number).iter().enumerate() {
            let context = format!("crash point {number}, image {image_number}");
            let disk = point.crash(image);
            let step = run(check(&disk, &context));
            assert!(
                step >= point.marker() as i64,
                "{context}: step {} was acknowledged, {step} found",
                point.marker()
            );
            steps.insert(step);
            // And it can crash again at once.
            let again = disk.crash_point();
            let after = run(check(&again.crash(&again.uniform_image(false)), &context));
            assert_eq!(after, step + 1, "{context}");
        }
    }
    assert!(steps.len() > 20, "{steps:?}");
}

#[test]
fn the_first_failed_sync_stops_the_node_and_its_commit_is_unknown() {
    for operation in [Operation::Sync, Operation::Write] {
        let disk = MemoryFileSystem::new();
        let stops = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&stops);
        let options = NodeOptions {
            on_fatal: Arc::new(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            }),
            ..disk_options(&disk)
        };
        let node = TestNode::on(options);
        run(async {
            let table = node.create("t", Shape::Plain).await;
            load(&node, &table, [(1, Some(1))]).await;
            disk.fail(operation, 0, Fault::InputOutput);
            let mut transaction = node.transaction();
            set_k(&mut transaction, &table, 1, Some(2)).await.unwrap();
            let error = transaction.commit().await.unwrap_err();
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            assert!(node.node.is_stopped());
            assert_eq!(stops.load(Ordering::SeqCst), 1);
            let inserted = transaction.insert_many(&table, &[row(&table, 2, None, "")], false).await.unwrap();
            assert_eq!(inserted, [Inserted::Done]);
            assert!(transaction.commit().await.is_err());
        });
    }
}

#[test]
fn a_full_disk_is_error_1021_until_there_is_room_again() {
    let disk = MemoryFileSystem::new();
    let node = TestNode::on(disk_options(&disk));
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, [(1, Some(0))]).await;
        let mut transaction = node.transaction();
        // Segments fill up faster than anybody looks for the next one.
        disk.set_space(Some(300 << 10));
        let mut committed = 0;
        let error = loop {
            set_k(&mut transaction, &table, 1, Some(committed + 1)).await.unwrap();
            match transaction.commit().await {
                Ok(()) => committed += 1,
                Err(error) => break error,
            }
            assert!(committed < 100_000, "the disk never filled up");
        };
        assert_eq!((error.errno(), error.outcome()), (1021, Outcome::NotCommitted), "{error}");
        assert!(!node.node.is_stopped());
        assert_eq!(newest_k(&node, &table, 1).await, Some(Some(committed)));
        assert!(!transaction.is_active());

        disk.set_space(None);
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            set_k(&mut transaction, &table, 1, Some(committed + 1)).await.unwrap();
            match transaction.commit().await {
                Ok(()) => break,
                Err(error) => assert_eq!(error.errno(), 1021, "{error}"),
            }
            assert!(Instant::now() < deadline, "nobody has seen that there is room again");
            tokio::task::yield_now().await;
        }
        assert_eq!(newest_k(&node, &table, 1).await, Some(Some(committed + 1)));
    });
}

#[test]
fn replicated_commits_do_not_wait_for_the_disk_and_are_there_after_a_clean_shutdown() {
    let disk = MemoryFileSystem::new();
    let options = || NodeOptions { durability: Durability::Replicated, ..disk_options(&disk) };
    let node = TestNode::on(options());
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..ROWS).map(|id| (id, Some(0)))).await;
        let mut transaction = node.transaction();
        for step in 1..200 {
            for id in 0..ROWS {
                set_k(&mut transaction, &table, id, Some(step)).await.unwrap();
            }
            transaction.commit().await.unwrap();
            assert_eq!(newest_k(&node, &table, step % ROWS).await, Some(Some(step)));
        }
        node.node.checkpoint().unwrap();
        set_k(&mut transaction, &table, 0, Some(1000)).await.unwrap();
        transaction.commit().await.unwrap();
    });
    node.node.close().unwrap();
    drop(node);
    let point = disk.crash_point();
    let left = point.crash(&point.uniform_image(false));
    let node = TestNode::on(NodeOptions { file_system: Arc::new(left), ..options() });
    run(async {
        node.settle().await;
        let table = node.table("t");
        assert_eq!(newest_k(&node, &table, 0).await, Some(Some(1000)));
        assert_eq!(newest_k(&node, &table, 1).await, Some(Some(199)));
    });
}
