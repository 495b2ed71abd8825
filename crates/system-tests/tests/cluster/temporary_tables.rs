//! Temporary tables on a cluster: each is where its session is connected, and joins with what lies elsewhere.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::{Client, TestServer, wait_until};

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn every_node_has_temporary_tables_of_its_own_sessions_and_joins_them_with_rows_elsewhere() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let nodes = cluster.sql_nodes();
    let mut setup = cluster.client(1);
    run(
        &mut setup,
        &[
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
            "CREATE TABLE sums (node INT PRIMARY KEY, s BIGINT)",
        ],
    );
    run(&mut setup, &["INSERT INTO t (v) VALUES (1), (2), (3), (4), (5), (6), (7), (8)"]);
    let mut clients: Vec<Client> = nodes.iter().map(|&node| cluster.client(node)).collect();
    for (client, node) in clients.iter_mut().zip(&nodes) {
        run(
            client,
            &[
                "CREATE TEMPORARY TABLE picked (n INT AUTO_INCREMENT PRIMARY KEY, id INT, UNIQUE (id))",
                "INSERT INTO picked (id) SELECT id FROM t WHERE v > 2 ORDER BY id",
                "INSERT INTO picked (id) VALUES (1000)",
                "UPDATE picked SET n=n+100 ORDER BY n DESC",
                "BEGIN",
                &format!("INSERT INTO sums SELECT {node}, SUM(v) FROM t JOIN picked USING (id)"),
                "DELETE FROM picked WHERE id=1000",
                "COMMIT",
            ],
        );
        assert_eq!(client.text("SELECT MIN(n), MAX(n), COUNT(*) FROM picked").unwrap(), ["101,106,6"]);
    }
    let count = nodes.len().to_string();
    assert_eq!(setup.text("SELECT COUNT(*), MIN(s), MAX(s) FROM sums").unwrap(), [format!("{count},33,33")]);
    // Both roll back, wherever the rows of the other are led.
    for (client, node) in clients.iter_mut().zip(&nodes) {
        run(
            client,
            &["BEGIN", "UPDATE picked SET id=-id", &format!("UPDATE sums SET s=0 WHERE node={node}"), "ROLLBACK"],
        );
        assert_eq!(client.text("SELECT MIN(id) FROM picked").unwrap(), ["3"]);
    }
    assert_eq!(setup.text("SELECT MIN(s) FROM sums").unwrap(), ["33"]);
    // A definition elsewhere makes another dictionary, over which the session's tables still lie.
    run(
        &mut setup,
        &["CREATE TABLE picked (other INT)", "INSERT INTO picked VALUES (7)", "ALTER TABLE t ADD COLUMN w INT"],
    );
    for client in &mut clients {
        assert_eq!(client.text("SELECT COUNT(*), MAX(w) FROM picked JOIN t USING (id)").unwrap(), ["6,NULL"]);
        run(client, &["DROP TABLE picked"]);
        assert_eq!(client.text("SELECT * FROM picked").unwrap(), ["7"]);
        let mut tables = || TestServer::counter(client, "Shoal_temporary_tables");
        wait_until("it is gone", || tables() == 0);
    }
}
