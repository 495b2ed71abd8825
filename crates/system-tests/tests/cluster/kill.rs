//! kill -9 of every kind of node, and of all of them.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::transfer::{Plan, Workload, check};

#[test]
fn every_kind_of_node_is_killed_in_turn_under_transfers() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let workload = Workload::start(&cluster, Plan::new());
    workload.wait_for_commits_everywhere(30);
    for node in cluster.all() {
        cluster.kill_and_wait(node.id);
        workload.wait_for_commits_everywhere(20);
    }
    check(&cluster, &workload.finish());
}

#[test]
fn all_nodes_killed_at_once_come_back_with_everything_acknowledged() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let workload = Workload::start(&cluster, Plan::new());
    for _ in 0..2 {
        workload.wait_for_commits_everywhere(50);
        cluster.kill_all_and_wait();
    }
    workload.wait_for_commits_everywhere(50);
    check(&cluster, &workload.finish());
}
