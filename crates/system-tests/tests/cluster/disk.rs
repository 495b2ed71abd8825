//! One node's disk is full or broken: that node stops and says why, the cluster goes on.

use std::os::unix::fs::symlink;

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_system_tests::{DyingDisk, SmallDisk, skip};

#[test]
fn a_node_with_a_full_disk_stops_with_a_sentence_and_the_others_go_on() {
    let Some(disk) = SmallDisk::mount(512) else {
        return skip("mounting a small tmpfs is not permitted here");
    };
    let layout = Layout { settings: vec!["FragmentLogFileSize=4M".into()], ..Layout::default() };
    let mut cluster = StartedCluster::new(&layout);
    symlink(disk.path(), cluster.data_dir(2)).unwrap();
    cluster.start_all(&layout);
    let mut client = cluster.client(1);
    client.execute("CREATE TABLE filler (id INT PRIMARY KEY, v VARCHAR(8000))").unwrap();
    let plan = Plan { nodes: vec![1], ..Plan::new() };
    let workload = Workload::start(&cluster, plan);
    workload.wait_for_commits(20);
    let ballast = disk.fill(1 << 20);
    let mut id = 0;
    while cluster.is_running(2) {
        assert!(id < 100_000, "the disk never filled up");
        // It may fail in the moment in which the node stops.
        let _ = client.execute(&format!("INSERT INTO filler VALUES ({id},REPEAT('x',8000))"));
        id += 1;
    }
    assert!(!cluster.wait_until_ended(2).success(), "the node ended as if it had been asked to");
    let log = cluster.log(2);
    assert!(log.contains("full") || log.contains("No space"), "{log}");
    workload.wait_for_commits(50);
    std::fs::remove_file(ballast).unwrap();
    cluster.start_again(2);
    workload.wait_for_commits(20);
    check(&cluster, &workload.finish());
}

#[test]
fn a_node_whose_disk_answers_with_errors_stops_and_the_others_go_on() {
    let mut cluster = StartedCluster::start(&Layout::default());
    let workload = Workload::start(&cluster, Plan { nodes: vec![1], ..Plan::new() });
    workload.wait_for_commits(20);
    let dying = match DyingDisk::of(cluster.node(2).process) {
        Ok(dying) => dying,
        Err(reason) => return skip(&reason),
    };
    let status = cluster.wait_until_ended(2);
    assert!(!status.success(), "the node ended as if it had been asked to");
    drop(dying);
    let log = cluster.log(2);
    assert!(log.contains("Input/output error"), "{log}");
    workload.wait_for_commits(50);
    cluster.start_again(2);
    workload.wait_for_commits(20);
    check(&cluster, &workload.finish());
}
