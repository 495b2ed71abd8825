//! ndbinfo in a cluster: every node's rows, whichever node is asked, and a warning for a node that has none to give.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::wait_until;

#[test]
fn all_nodes_tell_their_rows_to_whoever_asks() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let mut client = cluster.client(1);
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    for id in 0..20 {
        client.run(&format!("INSERT INTO t VALUES ({id}, 1)")).unwrap();
    }
    // Node 3 is the management node, node 4 has sessions alone.
    for asked in [1, 2, 4] {
        let mut client = cluster.client(asked);
        let mut text = |sql: &str| client.text(sql).unwrap_or_else(|error| panic!("{sql} at {asked}: {error}"));
        wait_until("all nodes have started", || {
            text("SELECT node_id, status FROM ndbinfo.nodes ORDER BY node_id")
                == ["1,STARTED", "2,STARTED", "3,STARTED", "4,STARTED"]
        });
        let types = text("SELECT node_id, node_type FROM ndbinfo.config_nodes WHERE node_id<5 ORDER BY node_id");
        assert_eq!(types, ["1,NDB", "2,NDB", "3,MGM", "4,API"]);
        let mut processes: Vec<String> =
            cluster.all().iter().map(|node| format!("{},{}", node.id, node.process)).collect();
        processes.sort();
        assert_eq!(text("SELECT node_id, process_id FROM ndbinfo.processes ORDER BY node_id"), processes);
        // Both replicas have applied all that was committed.
        let rows = "SELECT node_id, SUM(fixed_elem_count) FROM ndbinfo.memory_per_fragment \
                    WHERE fq_name='test/def/t' GROUP BY node_id ORDER BY node_id";
        wait_until("both replicas have all rows", || text(rows) == ["1,20", "2,20"]);
        let links = text("SELECT node_id, remote_node_id FROM ndbinfo.transporters WHERE status='CONNECTED'");
        for link in ["1,2", "2,1", "1,3", "3,1", "4,2"] {
            assert!(links.iter().any(|one| one == link), "{link}: {links:?}");
        }
        let agreed = "SELECT arbitrator, arb_connected, consensus_count FROM ndbinfo.arbitrator_validity_summary";
        assert_eq!(text(agreed), ["3,Yes,2"]);
        let memory = "SELECT node_id FROM ndbinfo.memoryusage WHERE memory_type='Data memory' ORDER BY node_id";
        assert_eq!(text(memory), ["1", "2"]);
        let configured = "SELECT v.node_id, v.config_value FROM ndbinfo.config_values v JOIN ndbinfo.config_params p \
                          ON p.param_number=v.config_param WHERE p.param_name='NoOfReplicas' ORDER BY v.node_id";
        assert_eq!(text(configured), ["1,2", "2,2", "3,2", "4,2"]);
        let host = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                    WHERE VARIABLE_NAME='Ndb_config_from_host'";
        assert_eq!(text(host).len(), 1);
    }
}

#[test]
fn a_node_that_is_gone_has_no_rows_and_a_warning() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1", "--no-restart"]);
    let mut client = cluster.client(1);
    client.run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    cluster.kill(4);
    let nodes = "SELECT node_id FROM ndbinfo.nodes ORDER BY node_id";
    wait_until("node 4 is missed", || client.text(nodes).unwrap() == ["1", "2", "3"]);
    assert_eq!(client.query(nodes).unwrap().warnings, 1);
    let warnings = client.text("SHOW WARNINGS").unwrap().join("; ");
    assert!(warnings.contains("ndbinfo.nodes lacks node 4"), "{warnings}");
    // One that stands still is waited for, but not for long.
    cluster.pause(2);
    let begun = std::time::Instant::now();
    client.query(nodes).unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(6), "{:?}", begun.elapsed());
    cluster.resume(2);
    wait_until("node 2 tells again", || client.text(nodes).unwrap() == ["1", "2", "3"]);
}
