//! How often rows are read and written, by table and index.

use shoal_system_tests::{Client, TestServer};
use shoal_testkit::client::Value;

/// COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE and COUNT_DELETE by index (`None`: by none) of table `t`.
fn counts(client: &mut Client, index: Option<&str>) -> [u64; 4] {
    let condition = index.map_or("IS NULL".to_owned(), |name| format!("= '{name}'"));
    let sql = format!(
        "SELECT COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE OBJECT_SCHEMA = 'test' AND OBJECT_NAME = 't' AND INDEX_NAME {condition} AND COUNT_READ = COUNT_FETCH \
         AND COUNT_WRITE = COUNT_INSERT + COUNT_UPDATE + COUNT_DELETE AND COUNT_STAR = COUNT_READ + COUNT_WRITE"
    );
    let rows = client.text(&sql).unwrap();
    let numbers: Vec<u64> = rows[0].split(',').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

#[test]
fn rows_are_counted_by_the_index_that_finds_them() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    let mut observer = server.client();
    client.execute("CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, KEY b (b), UNIQUE KEY c (c))").unwrap();
    client.execute("INSERT INTO t VALUES (1,1,1),(2,1,2),(3,1,3),(4,2,4),(5,2,5)").unwrap();
    assert_eq!(counts(&mut observer, None), [0, 5, 0, 0]);
    // Seven reads by the primary key, found or not, as text, prepared, and in a transaction.
    let point = client.prepare("SELECT b FROM t WHERE a = ?").unwrap();
    for a in [1i64, 2, 77] {
        client.text(&format!("SELECT b FROM t WHERE a = {a}")).unwrap();
        client.run_statement(&point, &[Value::Int(a)]).unwrap();
    }
    client.run("BEGIN; SELECT b FROM t WHERE a = 3; COMMIT").unwrap();
    assert_eq!(counts(&mut observer, Some("PRIMARY")), [7, 0, 0, 0]);
    // Three rows by a secondary index, one by the unique one, all by none.
    client.text("SELECT a, c FROM t WHERE b = 1").unwrap();
    client.text("SELECT a, b FROM t WHERE c = 4").unwrap();
    client.text("SELECT COUNT(b) FROM t WHERE b + 0 > 0").unwrap();
    assert_eq!(counts(&mut observer, Some("b"))[0], 3);
    assert_eq!(counts(&mut observer, Some("c"))[0], 1);
    assert_eq!(counts(&mut observer, None), [5, 5, 0, 0]);
    // Writes by the index that has found their rows.
    client.execute("UPDATE t SET b = 9 WHERE a = 1").unwrap();
    client.execute("UPDATE t SET c = c + 100 WHERE b = 2").unwrap();
    client.execute("DELETE FROM t WHERE a = 2").unwrap();
    assert_eq!(counts(&mut observer, Some("PRIMARY")), [9, 0, 1, 1]);
    assert_eq!(counts(&mut observer, Some("b")), [5, 0, 2, 0]);
    let total = "SELECT COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE, SUM_TIMER_WAIT \
                 FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_SCHEMA = 'test' AND OBJECT_NAME = 't'";
    assert_eq!(observer.text(total).unwrap(), ["20,5,3,1,0"]);
    observer.execute("TRUNCATE TABLE performance_schema.table_io_waits_summary_by_table").unwrap();
    assert_eq!(observer.text(total).unwrap(), ["0,0,0,0,0"]);
    client.text("SELECT b FROM t WHERE a = 3").unwrap();
    assert_eq!(counts(&mut observer, Some("PRIMARY")), [1, 0, 0, 0]);
}

#[test]
fn many_sessions_lose_no_count_and_a_joins_lookups_count() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    client.execute("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY b (b))").unwrap();
    client.execute("CREATE TABLE u (a INT PRIMARY KEY)").unwrap();
    client.execute("INSERT INTO t VALUES (1,1),(2,2),(3,3)").unwrap();
    client.execute("INSERT INTO u VALUES (1),(2)").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client_in("test");
                for number in 0..50 {
                    client.text(&format!("SELECT b FROM t WHERE a = {}", number % 3 + 1)).unwrap();
                }
            });
        }
    });
    assert_eq!(counts(&mut client, Some("PRIMARY"))[0], 400);
    client.text("SELECT u.a, t.b FROM u STRAIGHT_JOIN t ON t.a = u.a + 0").unwrap();
    assert_eq!(counts(&mut client, Some("PRIMARY"))[0], 402);
}
