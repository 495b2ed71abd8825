//! Counters and lists that operators read.

use shoal_system_tests::{Client, TestServer, skip, target_is_mariadb};

/// The growth of a session counter over some statements, not counting what asks for it.
fn growth(client: &mut Client, counter: &str, sql: &str) -> i64 {
    let before = TestServer::counter(client, counter);
    client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    TestServer::counter(client, counter) - before
}

#[test]
fn statements_are_counted_by_kind() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    let kinds = [
        ("Com_insert", "INSERT INTO t VALUES (1,1),(2,2); INSERT INTO t VALUES (3,3)", 2),
        ("Com_select", "SELECT 1; SELECT * FROM t; SELECT COUNT(*) FROM t", 3),
        ("Com_update", "UPDATE t SET v=5 WHERE id=1", 1),
        ("Com_delete", "DELETE FROM t WHERE id=99", 1),
        ("Com_replace", "REPLACE INTO t VALUES (1,2)", 1),
        ("Com_begin", "BEGIN; COMMIT; START TRANSACTION; ROLLBACK", 2),
        ("Com_commit", "BEGIN; COMMIT", 1),
        ("Com_rollback", "ROLLBACK", 1),
        ("Com_create_table", "CREATE TABLE t2 (id INT PRIMARY KEY)", 1),
        ("Com_drop_table", "DROP TABLE t2", 1),
        ("Com_set_option", "SET @a=1", 1),
    ];
    for (counter, sql, expected) in kinds {
        assert_eq!(growth(&mut client, counter, sql), expected, "{counter} over {sql}");
    }
    // The second reading counts itself as well.
    assert_eq!(growth(&mut client, "Questions", "SELECT 1"), 2);
}

#[test]
fn a_server_without_a_cluster_is_its_one_data_node() {
    if target_is_mariadb() {
        return skip("the Ndb counters are Shoal's");
    }
    let server = TestServer::start();
    let mut client = server.client();
    for (name, value) in
        [("Ndb_number_of_data_nodes", "1"), ("Ndb_number_of_ready_data_nodes", "1"), ("Ndb_cluster_node_id", "1")]
    {
        let rows = client.text(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
        assert_eq!(rows, [format!("{name},{value}")]);
    }
}

#[test]
fn handler_counters_tell_key_reads_from_scans() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, KEY (v))").unwrap();
    let rows: Vec<String> = (0..100).map(|id| format!("({id},{},0)", id / 10)).collect();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(","));
    assert_eq!(growth(&mut client, "Handler_write", &insert), 100);
    assert_eq!(growth(&mut client, "Handler_read_key", "SELECT * FROM t WHERE id=5"), 1);
    assert_eq!(growth(&mut client, "Handler_update", "UPDATE t SET v=99 WHERE id<10"), 10);
    assert_eq!(growth(&mut client, "Handler_delete", "DELETE FROM t WHERE id BETWEEN 90 AND 99"), 10);
    assert!(growth(&mut client, "Handler_read_rnd_next", "SELECT id FROM t WHERE w+1=5") >= 90);
    assert_eq!(growth(&mut client, "Handler_read_rnd_next", "SELECT * FROM t WHERE id=5"), 0);
}

#[test]
fn round_trips_are_counted() {
    if target_is_mariadb() {
        return skip("the Ndb counters are Shoal's");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    let rows: Vec<String> = (0..100).map(|id| format!("({id},{id})")).collect();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(","));
    assert!(growth(&mut client, "Ndb_execute_count", &insert) <= 3);
    assert_eq!(growth(&mut client, "Ndb_execute_count", "SELECT v FROM t WHERE id=1"), 1);
    assert_eq!(growth(&mut client, "Ndb_execute_count", "SELECT 1"), 0);
    assert_eq!(growth(&mut client, "Ndb_scan_count", "SELECT v FROM t WHERE id=1"), 0);
    assert_eq!(growth(&mut client, "Ndb_scan_count", "SELECT COUNT(v) FROM t"), 1);
}

#[test]
fn sessions_are_listed_with_what_they_do() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    a.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1,1); BEGIN; UPDATE t SET v=2")
        .unwrap();
    b.send_query("UPDATE t SET v=12345").unwrap();
    let list = format!(
        "SELECT USER, DB, COMMAND, INFO FROM information_schema.processlist WHERE ID={}",
        b.connection_id()
    );
    shoal_system_tests::wait_until("the waiting statement is listed", || {
        a.text(&list).unwrap() == ["root,test,Query,UPDATE t SET v=12345"]
    });
    let shown = a.query("SHOW PROCESSLIST").unwrap();
    let names: Vec<&str> = shown.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..8], ["Id", "User", "Host", "db", "Command", "Time", "State", "Info"]);
    assert_eq!(shown.rows.len(), 2);
    a.execute("ROLLBACK").unwrap();
    b.receive_reply().unwrap();
    assert_eq!(TestServer::counter(&mut a, "Threads_connected"), 2);
    drop(b);
    shoal_system_tests::wait_until("the session is gone", || {
        TestServer::counter(&mut a, "Threads_connected") == 1
    });
}

#[test]
fn an_explanation_names_access_key_and_rows() {
    let server = TestServer::start();
    let mut client = server.client();
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, KEY by_v (v)); CREATE TABLE u (id INT PRIMARY KEY, t_id INT)")
        .unwrap();
    let rows: Vec<String> = (0..500).map(|id| format!("({id},{},0)", id % 100)).collect();
    client.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    client.execute("INSERT INTO u VALUES (1,1),(2,2),(3,3)").unwrap();
    let mut explain = |sql: &str, column: &str| {
        let rows = client.query(&format!("EXPLAIN {sql}")).unwrap();
        let place = rows.columns.iter().position(|found| found.name == column);
        let place = place.unwrap_or_else(|| panic!("no column {column}"));
        let values: Vec<String> = rows.rows.iter().map(|row| row[place].to_string()).collect();
        values.join(",")
    };
    assert_eq!(explain("SELECT * FROM t WHERE id=5", "type"), "const");
    assert_eq!(explain("SELECT * FROM t WHERE id=5", "key"), "PRIMARY");
    assert_eq!(explain("SELECT * FROM t WHERE v=5", "type"), "ref");
    assert_eq!(explain("SELECT * FROM t WHERE v=5", "key"), "by_v");
    assert_eq!(explain("SELECT * FROM t WHERE w=5", "type"), "ALL");
    assert_eq!(explain("SELECT * FROM t WHERE id BETWEEN 5 AND 7", "type"), "range");
    assert_eq!(explain("SELECT * FROM u JOIN t ON t.id=u.t_id", "type"), "ALL,eq_ref");
    assert_eq!(explain("SELECT * FROM u JOIN t ON t.id=u.t_id", "table"), "u,t");
    assert_eq!(explain("SELECT 1", "id"), "1");
}
