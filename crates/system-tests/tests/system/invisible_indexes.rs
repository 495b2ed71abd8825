//! Indexes that plans leave alone, and those whose parts descend: what EXPLAIN says that a query reads.

use shoal_system_tests::{Client, TestServer};
use shoal_testkit::client::Value;

/// `possible_keys`, `key` and `Extra` of the plan's only table.
fn plan(client: &mut Client, query: &str) -> [String; 3] {
    let rows = client.query(&format!("EXPLAIN {query}")).unwrap().rows;
    let text = |place: usize| match &rows[0][place] {
        Value::Null => "-".to_owned(),
        value => value.to_string(),
    };
    [5, 6, 11].map(text)
}

#[test]
fn a_plan_uses_an_invisible_index_only_if_the_session_says_so() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY k (k) INVISIBLE)").unwrap();
    client.execute("INSERT INTO t VALUES (1,1),(2,1),(3,2)").unwrap();
    let find = "SELECT * FROM t WHERE k = 1";
    let (used, unused) = (["k", "k", "-"], ["-", "-", "Using where"]);
    assert_eq!(plan(&mut client, find), unused);
    assert_eq!(plan(&mut client, "UPDATE t SET id = id WHERE k = 1")[1], "-");
    client.execute("SET optimizer_switch = 'use_invisible_indexes=on'").unwrap();
    assert_eq!(plan(&mut client, find), used);
    assert_eq!(plan(&mut client, "UPDATE t SET id = id WHERE k = 1")[1], "k");
    // Prepared statements follow the switch, as they follow the index.
    client.execute("PREPARE p FROM 'SELECT id FROM t FORCE INDEX (k) WHERE k = 2'").unwrap();
    assert_eq!(client.text("EXECUTE p").unwrap(), ["3"]);
    client.execute("SET optimizer_switch = 'default'").unwrap();
    assert_eq!(client.execute("EXECUTE p").err().unwrap().errno(), 1176);
    client.execute("ALTER TABLE t ALTER INDEX k VISIBLE").unwrap();
    assert_eq!(plan(&mut client, find), used);
    assert_eq!(client.text("EXECUTE p").unwrap(), ["3"]);
}

#[test]
fn an_index_with_a_descending_part_serves_that_order_and_the_opposite_one() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, m INT, k INT, KEY m (m DESC, k))").unwrap();
    client.execute("INSERT INTO t VALUES (1,5,1),(2,7,1),(3,5,2),(4,NULL,2)").unwrap();
    assert_eq!(plan(&mut client, "SELECT id FROM t ORDER BY m DESC, k LIMIT 2")[1..], ["m", "-"]);
    assert_eq!(
        plan(&mut client, "SELECT id FROM t ORDER BY m, k DESC LIMIT 2")[1..],
        ["m", "Backward index scan"]
    );
    assert_eq!(plan(&mut client, "SELECT id FROM t ORDER BY m, k LIMIT 2")[1..], ["-", "Using filesort"]);
    assert_eq!(client.text("SELECT id FROM t ORDER BY m DESC, k LIMIT 3").unwrap(), ["2", "1", "3"]);
    assert_eq!(client.text("SELECT id FROM t ORDER BY m, k DESC LIMIT 3").unwrap(), ["4", "3", "1"]);
}

#[test]
fn explain_says_when_rows_come_in_no_order() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    client.execute("CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) USING HASH) ENGINE=NDB").unwrap();
    assert_eq!(plan(&mut client, "SELECT * FROM t")[2], "Unordered scan");
    client.execute("CREATE TABLE u (id INT PRIMARY KEY, v INT)").unwrap();
    assert_eq!(plan(&mut client, "SELECT * FROM u")[2], "-");
}
