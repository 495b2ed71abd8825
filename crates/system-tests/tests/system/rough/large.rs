//! Large things: they work, or are refused at once with MySQL's error.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use shoal_system_tests::{Error, TestServer, skip, target_is_mariadb};
use shoal_testkit::Client;

use super::number;

const ROWS: usize = 20_000;

fn fill(client: &mut Client) {
    client
        .execute("CREATE TABLE large (id INT PRIMARY KEY, n INT NOT NULL, u INT NOT NULL, UNIQUE KEY (u))")
        .unwrap();
    for first in (0..ROWS).step_by(5000) {
        let rows: Vec<String> = (first..first + 5000).map(|id| format!("({id}, {}, {id})", id % 10)).collect();
        client.execute(&format!("INSERT INTO large VALUES {}", rows.join(","))).unwrap();
    }
}

#[test]
fn a_statement_deletes_thousands_of_rows_whatever_it_finds_them_by() {
    let server = TestServer::start();
    let mut client = server.client();
    fill(&mut client);
    assert_eq!(client.execute("DELETE FROM large WHERE n = 3").unwrap().affected_rows, 2000);
    assert_eq!(client.execute("DELETE FROM large WHERE u BETWEEN 0 AND 99").unwrap().affected_rows, 90);
    assert_eq!(client.execute("DELETE FROM large ORDER BY id DESC LIMIT 1500").unwrap().affected_rows, 1500);
    assert_eq!(client.execute("DELETE FROM large WHERE n = 4 LIMIT 7").unwrap().affected_rows, 7);
    let left = 20_000 - 2000 - 90 - 1500 - 7;
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large"), left);
    // The keys of the unique index went with their rows.
    client.execute("INSERT INTO large VALUES (900000, 0, 3), (900001, 0, 13)").unwrap();
    assert_eq!(client.execute("INSERT INTO large VALUES (900002, 0, 115)").unwrap_err().errno(), 1062);
    assert_eq!(client.execute("DELETE FROM large").unwrap().affected_rows, left as u64 + 2);
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large"), 0);
}

#[test]
fn a_deletion_of_many_rows_is_seen_by_its_transaction_alone_and_can_be_taken_back() {
    let server = TestServer::start();
    let (mut client, mut other) = (server.client(), server.client());
    fill(&mut client);
    client.execute("BEGIN").unwrap();
    client.execute("INSERT INTO large VALUES (900000, 3, 900000)").unwrap();
    client.execute("SAVEPOINT before_it").unwrap();
    // One row of its own among them.
    assert_eq!(client.execute("DELETE FROM large WHERE n = 3").unwrap().affected_rows, 2001);
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large"), 18_000);
    assert_eq!(number(&mut other, "SELECT COUNT(*) FROM large"), 20_000);
    client.execute("ROLLBACK TO before_it").unwrap();
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large WHERE n = 3"), 2001);
    client.execute("ROLLBACK").unwrap();
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large"), 20_000);
}

/// The rows before the one that fails are deleted in batches already when the statement fails.
#[test]
fn a_deletion_that_fails_on_the_way_has_deleted_nothing() {
    let server = TestServer::start();
    let mut client = server.client();
    fill(&mut client);
    client.execute("CREATE TABLE kept (id INT PRIMARY KEY)").unwrap();
    client.execute("BEGIN").unwrap();
    client.execute("INSERT INTO kept VALUES (1)").unwrap();
    // The sum is out of range for the last id alone.
    let fails = "DELETE FROM large WHERE 9223372036854755809 + id > 0";
    let error = client.execute(fails).unwrap_err();
    assert_eq!(error.errno(), 1690, "{error}");
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large"), 20_000);
    client.execute("COMMIT").unwrap();
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM large"), 20_000);
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM kept"), 1);
}

#[test]
fn hundreds_of_tables_are_there_after_a_restart_and_go_with_their_database() {
    const TABLES: i64 = 400;
    let mut server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE DATABASE many").unwrap();
    for table in 0..TABLES {
        let columns = "id INT AUTO_INCREMENT PRIMARY KEY, k INT, u INT, KEY (k), UNIQUE KEY (u)";
        client.execute(&format!("CREATE TABLE many.t{table} ({columns})")).unwrap();
    }
    for table in (0..TABLES).step_by(3) {
        client.execute(&format!("DROP TABLE many.t{table}")).unwrap();
        client.execute(&format!("INSERT INTO many.t{} (k, u) VALUES (1, 1)", table + 1)).unwrap_or_default();
    }
    client.execute("ALTER TABLE many.t4 RENAME TO many.renamed").unwrap();
    let count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'many'";
    let left = TABLES - (TABLES + 2) / 3;
    assert_eq!(number(&mut client, count), left);
    drop(client);
    server.stop();
    server.restart();
    let mut client = server.client();
    assert_eq!(number(&mut client, count), left);
    assert_eq!(number(&mut client, "SELECT u FROM many.renamed"), 1);
    assert_eq!(client.execute("INSERT INTO many.renamed (u) VALUES (1)").unwrap_err().errno(), 1062);
    client.execute("DROP DATABASE many").unwrap();
    assert_eq!(number(&mut client, count), 0);
}

#[test]
fn a_thousand_columns_and_sixty_four_indexes_work() {
    let server = TestServer::start();
    let mut client = server.client();
    let columns: Vec<String> = (1..1000).map(|column| format!("c{column} INT")).collect();
    client.execute(&format!("CREATE TABLE wide (id INT PRIMARY KEY, {})", columns.join(", "))).unwrap();
    let row: Vec<String> = (0..1000).map(|value| value.to_string()).collect();
    client.execute(&format!("INSERT INTO wide VALUES ({})", row.join(","))).unwrap();
    client.execute("UPDATE wide SET c500 = c499 + c999").unwrap();
    assert_eq!(number(&mut client, "SELECT c500 FROM wide WHERE c998 = 998"), 499 + 999);
    // With the primary key, 64.
    let keys: Vec<String> = (1..=63).map(|key| format!("KEY k{key} (c{key})")).collect();
    client
        .execute(&format!(
            "CREATE TABLE indexed (id INT PRIMARY KEY, {}, {})",
            columns[..64].join(", "),
            keys.join(", ")
        ))
        .unwrap();
    client.execute(&format!("INSERT INTO indexed VALUES ({})", row[..65].join(","))).unwrap();
    client.execute("UPDATE indexed SET c63 = c63 * 2").unwrap();
    assert_eq!(number(&mut client, "SELECT id FROM indexed FORCE INDEX (k63) WHERE c63 = 126"), 0);
    let one_more = format!(
        "CREATE TABLE refused (id INT PRIMARY KEY, {}, {}, KEY more (c1))",
        columns[..64].join(", "),
        keys.join(", ")
    );
    assert_eq!(client.execute(&one_more).unwrap_err().errno(), 1069);
    assert_eq!(client.execute("CREATE INDEX more ON indexed (c1)").unwrap_err().errno(), 1069);
}

#[test]
fn a_value_as_large_as_packets_may_be_comes_back_and_a_larger_one_is_refused_at_once() {
    if target_is_mariadb() {
        return skip("the option is Shoal's");
    }
    let server = TestServer::start_with(&["--set=max_allowed_packet=20M"]);
    let mut client = server.client();
    client.execute("CREATE TABLE value (id INT PRIMARY KEY, v LONGBLOB)").unwrap();
    let value = "v".repeat(18 << 20);
    client.execute(&format!("INSERT INTO value VALUES (1, '{value}')")).unwrap();
    assert_eq!(client.text("SELECT v FROM value WHERE id = 1").unwrap(), [value]);
    let larger = "v".repeat(20 << 20);
    // The server may have closed the connection before all of it was sent.
    let error = client.execute(&format!("INSERT INTO value VALUES (2, '{larger}')")).unwrap_err();
    assert!([0, 1153].contains(&error.errno()), "{error}");
    assert_eq!(number(&mut server.client(), "SELECT COUNT(*) FROM value"), 1);
}

fn values(ids: std::ops::Range<usize>) -> String {
    ids.map(|id| format!("({id},'r{id}')")).collect::<Vec<_>>().join(",")
}

/// Many rows of VALUES are resolved in turns: errors name the row, defaults and numbers are as for few.
#[test]
fn a_bulk_insert_is_what_a_small_one_is() {
    let server = TestServer::start();
    let mut client = server.client();
    client
        .execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10) NOT NULL DEFAULT 'd')")
        .unwrap();
    let done = client.execute(&format!("INSERT INTO t VALUES {}", values(1..2101))).unwrap();
    assert_eq!(done.info, "Records: 2100  Duplicates: 0  Warnings: 0");
    let error = client.execute(&format!("INSERT INTO t VALUES {},(9999)", values(3001..4101))).unwrap_err();
    assert!(
        matches!(&error, Error::Server { errno: 1136, message, .. } if message.ends_with("row 1101")),
        "{error}"
    );
    let defaults: Vec<&str> = (0..1200).map(|row| if row % 2 == 0 { "('x')" } else { "(DEFAULT)" }).collect();
    let done = client.execute(&format!("INSERT INTO t (v) VALUES {}", defaults.join(","))).unwrap();
    assert_eq!(done.last_insert_id, 2101);
    assert_eq!(
        client.text("SELECT COUNT(*), MAX(id), SUM(v='d'), SUM(v='x') FROM t").unwrap(),
        ["3300,3300,600,600"]
    );
    let twice = format!("INTO t VALUES {},(1,'dup')", values(5001..6101));
    assert_eq!(client.execute(&format!("INSERT {twice}")).unwrap_err().errno(), 1062);
    assert_eq!(client.execute(&format!("INSERT IGNORE {twice}")).unwrap().affected_rows, 1100);
    let again =
        format!("INSERT INTO t VALUES {} ON DUPLICATE KEY UPDATE v=CONCAT('n',VALUES(id))", values(1..1101));
    assert_eq!(client.execute(&again).unwrap().affected_rows, 2200);
    assert_eq!(client.text("SELECT v FROM t WHERE id IN (1,1100) ORDER BY id").unwrap(), ["n1", "n1100"]);
    let replaced = format!("REPLACE INTO t VALUES {},(1001,(SELECT 'sub'))", values(1..1001));
    assert_eq!(client.execute(&replaced).unwrap().affected_rows, 2002);
    assert_eq!(client.text("SELECT v FROM t WHERE id IN (1,1001) ORDER BY id").unwrap(), ["r1", "sub"]);
    for (sql, errno) in [("INTO t VALUES (nope,'x')", 1054), ("INTO nowhere VALUES (1,'x')", 1146)] {
        let bulk = format!("INSERT {sql},{}", values(7001..8101));
        assert_eq!(client.execute(&bulk).unwrap_err().errno(), errno);
    }
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM t"), 4400);
}

/// Parsing was one piece of work, and so was resolving: sessions of the same worker waited for all of it.
#[test]
fn other_sessions_have_their_turn_while_a_bulk_insert_is_parsed_and_resolved() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10))").unwrap();
    client.execute("INSERT INTO t VALUES (1,'x')").unwrap();
    // The last row is not like the others, so nothing is inserted.
    let bulk = format!("INSERT INTO t VALUES {},(1)", values(10..800_000));
    let is_over = AtomicBool::new(false);
    let (took, slowest) = thread::scope(|scope| {
        // As many as there are workers may be, so that one is beside it.
        let others: Vec<_> = (0..4)
            .map(|_| {
                let (mut other, is_over) = (server.client(), &is_over);
                scope.spawn(move || {
                    let mut slowest = Duration::ZERO;
                    while !is_over.load(Ordering::Relaxed) {
                        let started = Instant::now();
                        assert_eq!(other.text("SELECT v FROM t WHERE id=1").unwrap(), ["x"]);
                        slowest = slowest.max(started.elapsed());
                    }
                    slowest
                })
            })
            .collect();
        let started = Instant::now();
        assert_eq!(client.execute(&bulk).unwrap_err().errno(), 1136);
        let took = started.elapsed();
        is_over.store(true, Ordering::Relaxed);
        (took, others.into_iter().map(|other| other.join().unwrap()).max().unwrap())
    });
    println!("bulk insert {took:?}, slowest point read beside it {slowest:?}");
    assert!(slowest < took / 3, "a point read took {slowest:?} beside a bulk insert of {took:?}");
}
