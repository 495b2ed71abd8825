//! Without faults: what the judge is worth, and that the clients' work is what the tables show.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::transfer::{Plan, Told, Workload, check};

#[test]
fn transfers_on_all_nodes_add_up() {
    let mut cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let workload = Workload::start(&cluster, Plan::new());
    workload.wait_for_commits_everywhere(100);
    let history = workload.finish();
    check(&cluster, &history);
    assert_eq!(history.count(Told::Unknown), 0, "{:?}", history.errors);
    assert!(cluster.stop().success());
}
