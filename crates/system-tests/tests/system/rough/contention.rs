//! Many sessions and few rows.

use shoal_system_tests::TestServer;

use super::{at_once, number};

const DEADLOCK: u16 = 1213;

/// Autocommit statements on one row hold one lock each: whoever waits for it must get it, and nobody is a deadlock's victim.
#[test]
fn sixty_four_clients_add_to_one_row_without_an_error_and_nothing_is_lost() {
    let server = TestServer::start();
    server.client().run("CREATE TABLE hot (id INT PRIMARY KEY, n INT); INSERT INTO hot VALUES (1, 0)").unwrap();
    at_once(&server, 64, |_, client| {
        for _ in 0..40 {
            let done = client.execute("UPDATE hot SET n = n + 1 WHERE id = 1").unwrap();
            assert_eq!(done.affected_rows, 1);
        }
    });
    assert_eq!(number(&mut server.client(), "SELECT n FROM hot"), 64 * 40);
}

/// The same with an index on the column, and keys of which few have most of the work.
#[test]
fn skewed_updates_of_single_rows_are_never_deadlocks() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE skewed (id INT PRIMARY KEY, k INT NOT NULL, KEY (k))").unwrap();
    let rows: Vec<String> = (1..=500).map(|id| format!("({id}, 0)")).collect();
    client.execute(&format!("INSERT INTO skewed VALUES {}", rows.join(","))).unwrap();
    at_once(&server, 64, |session, client| {
        let mut seed = session as u64 + 1;
        for _ in 0..30 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The product of three is small most of the time.
            let part = |shift: u32| (seed >> shift) % 8;
            let id = 1 + part(10) * part(20) * part(30);
            let done = client.execute(&format!("UPDATE skewed SET k = k + 1 WHERE id = {id}")).unwrap();
            assert_eq!(done.affected_rows, 1);
        }
    });
    assert_eq!(number(&mut client, "SELECT SUM(k) FROM skewed"), 64 * 30);
    assert_eq!(number(&mut client, "SELECT SUM(k) FROM skewed FORCE INDEX (k) WHERE k > 0"), 64 * 30);
}

/// Real deadlocks: one of the two gets 1213, the other goes on, and money is neither made nor lost.
#[test]
fn transfers_in_both_directions_end_in_deadlocks_alone_and_keep_the_sum() {
    let server = TestServer::start();
    server
        .client()
        .run("CREATE TABLE account (id INT PRIMARY KEY, balance INT); INSERT INTO account VALUES (0, 1000), (1, 1000)")
        .unwrap();
    let transferred: Vec<u32> = at_once(&server, 16, |session, client| {
        let (from, to) = (session % 2, (session + 1) % 2);
        let mut done = 0;
        for _ in 0..20 {
            let statements = [
                "BEGIN".to_string(),
                format!("UPDATE account SET balance = balance - 1 WHERE id = {from}"),
                format!("UPDATE account SET balance = balance + 1 WHERE id = {to}"),
                "COMMIT".to_string(),
            ];
            let outcome = statements.iter().try_for_each(|sql| client.execute(sql).map(drop));
            match outcome {
                Ok(()) => done += 1,
                Err(error) => assert_eq!(error.errno(), DEADLOCK, "{error}"),
            }
        }
        done
    });
    assert!(transferred.iter().sum::<u32>() > 0, "no transfer came through");
    let mut client = server.client();
    assert_eq!(number(&mut client, "SELECT SUM(balance) FROM account"), 2000);
    let expected: i64 = (0..16).map(|session| [-1, 1][session % 2] * i64::from(transferred[session])).sum();
    assert_eq!(number(&mut client, "SELECT balance FROM account WHERE id = 0"), 1000 + expected);
}

#[test]
fn workers_of_a_queue_take_every_job_once() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("CREATE TABLE job (id INT PRIMARY KEY); CREATE TABLE done (id INT PRIMARY KEY)").unwrap();
    let jobs: Vec<String> = (0..300).map(|id| format!("({id})")).collect();
    client.execute(&format!("INSERT INTO job VALUES {}", jobs.join(","))).unwrap();
    at_once(&server, 8, |_, client| {
        loop {
            client.execute("BEGIN").unwrap();
            let found = client.text("SELECT id FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED").unwrap();
            let Some(id) = found.first() else {
                client.execute("ROLLBACK").unwrap();
                // The last jobs may be in the hands of others, who never give them back.
                return;
            };
            client.execute(&format!("DELETE FROM job WHERE id = {id}")).unwrap();
            // A job that was taken twice is a duplicate key.
            client.execute(&format!("INSERT INTO done VALUES ({id})")).unwrap();
            client.execute("COMMIT").unwrap();
        }
    });
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM done"), 300);
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM job"), 0);
}
