//! Definitions change beside running transactions, killed statements and crashes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shoal_system_tests::{Client, Error, TestServer, skip, target_is_mariadb, wait_until};

use crate::big_table::{big_table, state_of};

/// Long enough for an answer that is on its way.
const BLOCKED: Duration = Duration::from_millis(150);
/// The definition changed between planning and running; the statement did nothing and may be said again.
fn is_table_changed(error: &Error) -> bool {
    error.errno() == 1412 || error.to_string().contains("Table definition has changed")
}

#[test]
fn altering_under_writes_loses_no_acknowledged_row() {
    if target_is_mariadb() {
        return skip("what is tested is how Shoal copies");
    }
    let server = TestServer::start();
    server.sql("CREATE TABLE w (id BIGINT PRIMARY KEY, writer INT, v VARCHAR(40))");
    let done = AtomicBool::new(false);
    let write = |writer: u64| {
        let mut client = server.client();
        let mut acknowledged = 0;
        while !done.load(Ordering::Relaxed) {
            let id = writer * 1_000_000 + acknowledged;
            let sql = format!("INSERT INTO w (id,writer,v) VALUES ({id},{writer},'row {id}')");
            match client.execute(&sql) {
                Ok(_) => acknowledged += 1,
                Err(error) => assert!(is_table_changed(&error), "{error}"),
            }
        }
        acknowledged
    };
    let rows: u64 = std::thread::scope(|scope| {
        let writers: Vec<_> = (1..=3).map(|writer| scope.spawn(move || write(writer))).collect();
        let mut client = server.client();
        for round in 0..6 {
            for sql in [
                format!("ALTER TABLE w ADD COLUMN c{round} INT DEFAULT {round} FIRST"),
                format!("ALTER TABLE w ADD UNIQUE KEY u{round} (v, id)"),
                format!("ALTER TABLE w ADD KEY k{round} (writer, c{round})"),
                "ALTER TABLE w DROP PRIMARY KEY, ADD PRIMARY KEY (id)".to_owned(),
            ] {
                client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
        done.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(rows > 0);
    let expected = rows.to_string();
    for sql in [
        "SELECT COUNT(*) FROM w".to_owned(),
        "SELECT COUNT(*) FROM w FORCE INDEX (u3) WHERE v>=''".to_owned(),
        "SELECT COUNT(*) FROM w FORCE INDEX (k5) WHERE writer>=0".to_owned(),
        "SELECT COUNT(*) FROM w WHERE c0=0 AND c5=5".to_owned(),
    ] {
        assert_eq!(server.sql(&sql).trim(), expected, "{sql}");
    }
}

#[test]
fn a_definition_waits_for_transactions_and_newcomers_wait_for_it() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1,1)");
    let (mut user, mut definer, mut late) = (server.client(), server.client(), server.client());
    user.execute("BEGIN").unwrap();
    user.execute("UPDATE t SET v=2 WHERE id=1").unwrap();
    definer.send_query("ALTER TABLE t ADD COLUMN w INT DEFAULT 7").unwrap();
    assert!(!definer.answers_within(BLOCKED).unwrap(), "ALTER did not wait for the transaction");
    late.send_query("SELECT v FROM t").unwrap();
    assert!(!late.answers_within(BLOCKED).unwrap(), "a later reader overtook ALTER");
    // The transaction that is in nobody's way goes on.
    user.execute("INSERT INTO t VALUES (2,2)").unwrap();
    user.execute("COMMIT").unwrap();
    definer.receive_reply().unwrap();
    if let Err(error) = late.receive_reply() {
        assert!(is_table_changed(&error), "{error}");
    }
    assert_eq!(server.sql("SELECT * FROM t ORDER BY id"), "1\t2\t7\n2\t2\t7\n");
}

#[test]
fn lock_wait_timeout_ends_a_definition_that_waits() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY)");
    let (mut user, mut definer) = (server.client(), server.client());
    user.execute("BEGIN").unwrap();
    user.execute("INSERT INTO t VALUES (1)").unwrap();
    definer.execute("SET lock_wait_timeout=1").unwrap();
    assert_eq!(definer.execute("ALTER TABLE t ADD COLUMN v INT").unwrap_err().errno(), 1205);
    assert_eq!(definer.execute("DROP TABLE t").unwrap_err().errno(), 1205);
    user.execute("COMMIT").unwrap();
    definer.execute("ALTER TABLE t ADD COLUMN v INT").unwrap();
    assert_eq!(server.sql("SELECT * FROM t"), "1\tNULL\n");
}

#[test]
fn a_killed_copy_leaves_the_table_and_no_memory_behind() {
    if target_is_mariadb() {
        return skip("the states and counters are Shoal's");
    }
    let server = TestServer::start();
    big_table(&server, 15);
    server.sql("CREATE INDEX by_k ON big (k)");
    let mut control = server.client();
    let memory = |client: &mut Client| TestServer::counter(client, "Shoal_memory_used_bytes");
    let before = memory(&mut control);
    let mut definer = server.client();
    definer
        .send_query("ALTER TABLE big MODIFY k BIGINT, ADD COLUMN pad VARCHAR(100) DEFAULT 'xxxxxxxxxxxxxxxx'")
        .unwrap();
    let id = definer.connection_id();
    wait_until("the copy runs", || state_of(&mut control, id).starts_with("copy to tmp table"));
    control.execute(&format!("KILL QUERY {id}")).unwrap();
    assert_eq!(definer.receive_reply().unwrap_err().errno(), 1317);
    assert_eq!(server.sql("SELECT COUNT(*), SUM(k) FROM big"), "32768\t536887296\n");
    assert!(!server.sql("SHOW CREATE TABLE big").contains("pad"));
    wait_until("the copy's memory is free", || memory(&mut control) <= before + (1 << 20));
}

#[test]
fn a_crash_in_the_middle_of_a_copy_leaves_the_old_table() {
    if target_is_mariadb() {
        return skip("the states and counters are Shoal's");
    }
    let mut server = TestServer::start();
    big_table(&server, 15);
    server.sql("CREATE INDEX by_k ON big (k)");
    let mut control = server.client();
    let before = TestServer::counter(&mut control, "Shoal_memory_used_bytes");
    let mut definer = server.client();
    definer.send_query("ALTER TABLE big MODIFY k BIGINT, ADD UNIQUE KEY u (v, id)").unwrap();
    let id = definer.connection_id();
    wait_until("the copy runs", || state_of(&mut control, id).starts_with("copy to tmp table"));
    server.kill();
    server.restart();
    assert_eq!(server.sql("SELECT COUNT(*), SUM(k) FROM big"), "32768\t536887296\n");
    let definition = server.sql("SHOW CREATE TABLE big");
    assert!(definition.contains("`k` int DEFAULT NULL") && !definition.contains("UNIQUE"), "{definition}");
    let after = TestServer::counter(&mut server.client(), "Shoal_memory_used_bytes");
    assert!(after <= before + (1 << 20), "{after} bytes after the crash, {before} before");
    server.sql("ALTER TABLE big MODIFY k BIGINT, ADD UNIQUE KEY u (v, id)");
    assert_eq!(server.sql("SELECT COUNT(*) FROM big FORCE INDEX (u) WHERE v>='row'"), "32767\n");
}

#[test]
fn a_unique_key_over_duplicates_changes_nothing() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT); INSERT INTO t VALUES (1,1,NULL),(2,2,NULL),(3,1,5)",
    );
    for sql in [
        "ALTER TABLE t ADD UNIQUE KEY u (a)",
        "CREATE UNIQUE INDEX u ON t (a)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)",
    ] {
        let error = server.sql_error(sql);
        assert!(error.contains("1062") && error.contains("Duplicate entry '1' for key"), "{sql}: {error}");
    }
    assert!(!server.sql("SHOW CREATE TABLE t").contains("UNIQUE"));
    // NULLs are no duplicates of each other.
    server.sql("ALTER TABLE t ADD UNIQUE KEY v (b)");
    let mut client = server.client();
    assert_eq!(client.execute("INSERT INTO t VALUES (4,4,5)").unwrap_err().errno(), 1062);
    client.execute("INSERT INTO t VALUES (4,4,NULL)").unwrap();
    assert_eq!(client.text("SELECT id FROM t WHERE b=5").unwrap(), ["3"]);
}

#[test]
fn values_that_do_not_fit_the_new_type_stop_the_copy() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10), n INT); INSERT INTO t VALUES (1,300,'long text',NULL)");
    let mut client = server.client();
    for (sql, errno) in [
        ("ALTER TABLE t MODIFY a TINYINT", 1264),
        ("ALTER TABLE t MODIFY s VARCHAR(4)", 1265),
        ("ALTER TABLE t MODIFY s INT", 1366),
    ] {
        assert_eq!(client.execute(sql).unwrap_err().errno(), errno, "{sql}");
    }
    let error = client.execute("ALTER TABLE t MODIFY n INT NOT NULL").unwrap_err().errno();
    assert!(matches!(error, 1138 | 1265), "{error}");
    assert_eq!(server.sql("SELECT * FROM t"), "1\t300\tlong text\tNULL\n");
    client.execute("SET sql_mode=''").unwrap();
    client.execute("ALTER TABLE t MODIFY a TINYINT, MODIFY s VARCHAR(4), MODIFY n INT NOT NULL").unwrap();
    assert_eq!(server.sql("SELECT * FROM t"), "1\t127\tlong\t0\n");
}

#[test]
fn definitions_are_durable_before_they_are_acknowledged() {
    let mut server = TestServer::start();
    server.sql(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT); INSERT INTO a VALUES (1,1),(2,2);
         ALTER TABLE a ADD COLUMN w VARCHAR(5) DEFAULT 'x'; ALTER TABLE a ADD UNIQUE KEY u (v);
         CREATE TABLE gone (id INT); DROP TABLE gone; CREATE TABLE b LIKE a; RENAME TABLE b TO c;
         CREATE TABLE d AS SELECT id, w FROM a; TRUNCATE TABLE c; CREATE DATABASE other; CREATE TABLE other.t (i INT)",
    );
    let definitions = "SHOW TABLES; SHOW CREATE TABLE a; SHOW CREATE TABLE c; SHOW CREATE TABLE d; SHOW TABLES FROM other; \
                       SELECT * FROM a ORDER BY id; SELECT * FROM d ORDER BY id; SELECT COUNT(*) FROM c";
    let before = server.sql(definitions);
    server.kill();
    server.restart();
    assert_eq!(server.sql(definitions), before);
    assert_eq!(server.client().execute("INSERT INTO a VALUES (3,2,'y')").unwrap_err().errno(), 1062);
}
