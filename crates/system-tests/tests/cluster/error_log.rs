//! The error log of a cluster's nodes: every kind of node has it as its section of config.ini says.

use std::fs;

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::wait_until;

#[test]
fn every_node_writes_its_own_file() {
    let everywhere =
        ["log_error=node.err", "log_error_services=log_sink_internal,log_sink_json", "log_error_verbosity=3"];
    let everywhere = everywhere.map(str::to_owned).to_vec();
    let mut cluster = StartedCluster::start(&Layout { everywhere, ..Layout::default() });
    let text = |cluster: &StartedCluster, id: u32| {
        let file = cluster.data_dir(id).join(format!("shoal_{id}")).join("node.err");
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    for id in 1..=3 {
        let ready = format!("[System] [MY-000000] [Server] node {id} is ready, roles ");
        wait_until("the node tells that it is ready", || text(&cluster, id).contains(&ready));
        let json = cluster.data_dir(id).join(format!("shoal_{id}")).join("node.err.00.json");
        for line in fs::read_to_string(json).unwrap().lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        assert!(!cluster.log(id).contains("MY-000000"), "{}", cluster.log(id));
    }
    // What happens to another node is a note, and in the table of the node that saw it.
    cluster.kill_node(2);
    wait_until("node 1 notices", || {
        text(&cluster, 1).contains("[Note] [MY-000000] [Cluster] a node is not connected any more")
    });
    let mut client = cluster.client(1);
    let noted = "SELECT COUNT(*) > 0 FROM performance_schema.error_log WHERE PRIO='Note' AND SUBSYSTEM='Cluster' \
                 AND DATA LIKE 'a node is not connected any more (peer: 2)'";
    assert_eq!(client.text(noted).unwrap(), ["1"]);
}
