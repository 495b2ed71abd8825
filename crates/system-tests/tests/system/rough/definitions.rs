//! Definitions beside writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use shoal_system_tests::TestServer;

use super::number;

/// A transaction meets a table for the first time after that was defined anew: MySQL opens it as it is by then. Shoal
/// answered 1412, because its plan was of the old definition and the transaction had begun.
#[test]
fn a_transaction_takes_a_table_as_it_is_when_it_first_uses_it() {
    let server = TestServer::start();
    let (mut client, mut other) = (server.client(), server.client());
    client
        .run("CREATE TABLE one (id INT PRIMARY KEY, n INT); CREATE TABLE two (id INT PRIMARY KEY, n INT)")
        .unwrap();
    client.run("INSERT INTO one VALUES (1, 0); INSERT INTO two VALUES (1, 0)").unwrap();
    for definition in [
        "ALTER TABLE two ADD COLUMN c INT DEFAULT 7",
        "CREATE INDEX by_n ON two (n)",
        "ALTER TABLE two DROP COLUMN c",
        "TRUNCATE TABLE two",
    ] {
        let add = "UPDATE two SET n = n + 1 WHERE id = 1";
        // The plan is in the session's cache.
        client.execute(add).unwrap();
        let statement =
            client.prepare("INSERT INTO two (id, n) VALUES (9, 9) ON DUPLICATE KEY UPDATE n = n + 1").unwrap();
        client.run_statement(&statement, &[]).unwrap();
        client.execute("BEGIN").unwrap();
        client.execute("UPDATE one SET n = n + 1 WHERE id = 1").unwrap();
        other.execute(definition).unwrap();
        client.execute(add).unwrap_or_else(|error| panic!("after {definition}: {error}"));
        client.run_statement(&statement, &[]).unwrap_or_else(|error| panic!("after {definition}: {error}"));
        client.execute("COMMIT").unwrap();
    }
    assert_eq!(number(&mut client, "SELECT n FROM one"), 4, "what came before the definition is there");
    assert_eq!(client.text("SELECT id, n FROM two").unwrap(), ["9,9"]);
}

#[test]
fn no_row_is_lost_and_no_error_comes_beside_definitions_in_a_loop() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("CREATE TABLE t (id BIGINT PRIMARY KEY, n INT NOT NULL); CREATE TABLE other (id INT)").unwrap();
    client.execute("INSERT INTO t VALUES (0, 0), (1, 0), (2, 0), (3, 0)").unwrap();
    let is_over = AtomicBool::new(false);
    let added: i64 = thread::scope(|scope| {
        let (server, is_over) = (&server, &is_over);
        let writers: Vec<_> = (0..4)
            .map(|session| {
                scope.spawn(move || {
                    let mut client = server.client();
                    let mut added = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let id = 1_000_000 + added * 4 + session;
                        client.execute("BEGIN").unwrap();
                        client.execute(&format!("UPDATE t SET n = n + 1 WHERE id = {session}")).unwrap();
                        client.execute(&format!("INSERT INTO t (id, n) VALUES ({id}, 1)")).unwrap();
                        client.execute("INSERT INTO other VALUES (1)").unwrap();
                        client.execute("COMMIT").unwrap();
                        added += 1;
                    }
                    added
                })
            })
            .collect();
        for _ in 0..5 {
            for definition in [
                "ALTER TABLE t ADD COLUMN extra INT DEFAULT 7",
                "CREATE INDEX by_n ON t (n)",
                "ALTER TABLE t DROP COLUMN extra",
                "DROP INDEX by_n ON t",
                "TRUNCATE TABLE other",
            ] {
                client.execute(definition).unwrap_or_else(|error| panic!("{definition}: {error}"));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(added > 0);
    assert_eq!(number(&mut client, "SELECT SUM(n) FROM t WHERE id < 4"), added);
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM t WHERE id >= 1000000"), added);
}
