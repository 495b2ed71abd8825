//! Random SQL on a cluster: its answers agree with each other, and with those of one process.

use shoal_system_tests::TestServer;
use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::random_sql::{Oracles, Report, World, run_seed};

const STATEMENTS: usize = 120;

#[test]
fn a_cluster_agrees_with_itself_and_with_one_process() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let server = TestServer::start();
    let node = *cluster.sql_nodes().last().expect("a node takes clients");
    let (_, port) = cluster.node(node).mysql.expect("the node has a port");
    let mut report = Report::default();
    run_seed(&mut World::alone(port), Oracles::Own, 1, STATEMENTS, &mut report);
    run_seed(&mut World::beside_its_like(port, server.port()), Oracles::MariaDb, 2, STATEMENTS, &mut report);
    assert!(report.failures.is_empty(), "{}\n{}", report.failures.join("\n"), cluster.logs());
}
