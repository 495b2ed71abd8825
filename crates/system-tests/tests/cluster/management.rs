//! Without a management node: everything but definitions goes on.

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_system_tests::wait_until;

#[test]
fn without_the_management_node_reads_and_writes_go_on_and_definitions_say_why_not() {
    let mut cluster = StartedCluster::start(&Layout::default());
    let workload = Workload::start(&cluster, Plan::new());
    let mut client = cluster.client(1);
    client.execute("CREATE TABLE numbered (id INT PRIMARY KEY AUTO_INCREMENT, v INT)").unwrap();
    workload.wait_for_commits_everywhere(20);
    cluster.kill_node(3);
    workload.wait_for_commits_everywhere(50);
    for value in 0..20 {
        client.execute(&format!("INSERT INTO numbered (v) VALUES ({value})")).unwrap();
    }
    assert_eq!(client.text("SELECT COUNT(DISTINCT id) FROM numbered").unwrap(), ["20"]);
    for sql in ["CREATE TABLE refused (id INT PRIMARY KEY)", "DROP TABLE numbered", "CREATE USER u"] {
        let error = client.execute(sql).unwrap_err();
        assert!(error.to_string().contains("management node"), "{sql}: {error}");
    }
    // Another session is not in the way of what was refused.
    assert_eq!(cluster.client(2).text("SELECT COUNT(*) FROM numbered").unwrap(), ["20"]);
    cluster.start_again(3);
    wait_until("definitions are taken again", || {
        client.execute("CREATE TABLE IF NOT EXISTS taken (id INT PRIMARY KEY)").is_ok()
    });
    wait_until("the other node to know the table", || {
        cluster.client(2).text("SELECT COUNT(*) FROM taken").is_ok()
    });
    check(&cluster, &workload.finish());
}

#[test]
fn a_cluster_that_was_stopped_in_an_orderly_way_has_everything() {
    let mut cluster = StartedCluster::start(&Layout::default());
    let mut client = cluster.client(1);
    client.execute("CREATE TABLE kept (id INT PRIMARY KEY)").unwrap();
    client.execute("INSERT INTO kept VALUES (1),(2),(3)").unwrap();
    for node in [3, 1, 2] {
        cluster.stop_node(node);
    }
    let (_, port) = cluster.node(1).mysql.unwrap();
    // The log is also that of the life before.
    let waits = |cluster: &StartedCluster| cluster.log(1).matches("node 1: waiting for").count();
    let before = waits(&cluster);
    cluster.spawn(1);
    wait_until("node 1 waits for the others", || waits(&cluster) > before);
    // As long as it cannot serve, the system refuses its clients.
    let refused = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    for node in [2, 3] {
        cluster.spawn(node);
    }
    for node in [1, 2] {
        wait_until("the rows are there", || {
            let count = cluster.try_client(node).and_then(|mut client| client.text("SELECT COUNT(*) FROM kept"));
            count.is_ok_and(|count| count == ["3"])
        });
    }
}
