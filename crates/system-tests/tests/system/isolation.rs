//! Transactions side by side: which anomalies each isolation level allows, locks, deadlocks, partial rollback.
//!
//! The expectations are InnoDB's: a plain SELECT reads its snapshot, while changes and locking reads see the newest
//! committed version. A statement that must wait is sent, seen to get no answer, and answered later.

use std::time::{Duration, Instant};

use shoal_system_tests::{Client, TestServer};

/// Long enough for an answer that is on its way; a statement without one by then is taken to wait for a lock.
const BLOCKED: Duration = Duration::from_millis(150);

struct Duel {
    server: TestServer,
    a: Client,
    b: Client,
}

impl Duel {
    /// Two sessions of one isolation level over `t(id, v)` with the rows (1,10), (2,20), (5,50).
    fn new(level: &str) -> Duel {
        let server = TestServer::start();
        let mut setup = server.client();
        setup.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY by_v (v)) ENGINE=InnoDB").unwrap();
        setup.execute("INSERT INTO t VALUES (1,10),(2,20),(5,50)").unwrap();
        let session = || {
            let mut client = server.client();
            let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
            client.execute(&set).unwrap();
            client
        };
        let (a, b) = (session(), session());
        Duel { server, a, b }
    }
}

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn value(client: &mut Client, sql: &str) -> String {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).join(" ")
}

/// Sends a statement that has to wait for a lock.
fn send_blocked(client: &mut Client, sql: &str) {
    client.send_query(sql).unwrap();
    assert!(!client.answers_within(BLOCKED).unwrap(), "{sql} did not wait");
}

const V1: &str = "SELECT v FROM t WHERE id=1";

/// The copy's rows are later than the snapshot, so the table looked empty.
#[test]
fn a_snapshot_from_before_a_definition_is_refused_and_not_shown_an_empty_table() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    for definition in ["ALTER TABLE t ADD COLUMN w INT, ALGORITHM=COPY", "CREATE TABLE u AS SELECT * FROM t"] {
        run(&mut a, &["START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
        run(&mut b, &[definition]);
        let table = if definition.starts_with("CREATE") { "u" } else { "t" };
        let error = a.run(&format!("SELECT COUNT(*) FROM {table}")).unwrap_err();
        assert!(error.to_string().contains("1412"), "{definition}: {error}");
        run(&mut a, &["ROLLBACK"]);
        assert_eq!(value(&mut a, &format!("SELECT COUNT(*) FROM {table}")), "3");
    }
}

#[test]
fn uncommitted_changes_are_not_read() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let Duel { mut a, mut b, server: _server } = Duel::new(level);
        run(&mut a, &["BEGIN", "UPDATE t SET v=11 WHERE id=1", "INSERT INTO t VALUES (3,30)"]);
        assert_eq!(value(&mut b, V1), "10", "{level}");
        assert_eq!(value(&mut b, "SELECT COUNT(*) FROM t"), "3", "{level}");
        assert_eq!(value(&mut a, V1), "11", "its own change, {level}");
        run(&mut a, &["ROLLBACK"]);
        assert_eq!(value(&mut b, V1), "10", "aborted, {level}");
    }
}

#[test]
fn intermediate_values_are_not_read() {
    let Duel { mut a, mut b, server: _server } = Duel::new("READ COMMITTED");
    run(&mut b, &["BEGIN"]);
    run(&mut a, &["BEGIN", "UPDATE t SET v=101 WHERE id=1"]);
    assert_eq!(value(&mut b, V1), "10");
    run(&mut a, &["UPDATE t SET v=11 WHERE id=1", "COMMIT"]);
    assert_eq!(value(&mut b, V1), "11");
}

#[test]
fn read_committed_reads_the_newest_committed_version_in_each_statement() {
    let Duel { mut a, mut b, server: _server } = Duel::new("READ COMMITTED");
    run(&mut a, &["BEGIN"]);
    assert_eq!(value(&mut a, V1), "10");
    run(&mut b, &["UPDATE t SET v=11 WHERE id=1", "INSERT INTO t VALUES (3,30)"]);
    assert_eq!(value(&mut a, V1), "11");
    assert_eq!(value(&mut a, "SELECT COUNT(*) FROM t"), "4");
}

#[test]
fn repeatable_read_keeps_its_snapshot_over_updates_inserts_and_deletes() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN"]);
    assert_eq!(value(&mut a, V1), "10");
    run(&mut b, &["UPDATE t SET v=11 WHERE id=1", "INSERT INTO t VALUES (3,30)", "DELETE FROM t WHERE id=5"]);
    assert_eq!(value(&mut a, V1), "10");
    assert_eq!(value(&mut a, "SELECT id FROM t ORDER BY id"), "1 2 5");
    assert_eq!(value(&mut a, "SELECT id FROM t FORCE INDEX (by_v) WHERE v > 15 ORDER BY v"), "2 5");
    run(&mut a, &["COMMIT"]);
    assert_eq!(value(&mut a, "SELECT id FROM t ORDER BY id"), "1 2 3");
}

#[test]
fn the_snapshot_begins_with_the_first_read_or_when_asked_for() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["START TRANSACTION"]);
    run(&mut b, &["UPDATE t SET v=11 WHERE id=1"]);
    assert_eq!(value(&mut a, V1), "11");
    run(&mut a, &["COMMIT", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
    run(&mut b, &["UPDATE t SET v=12 WHERE id=1"]);
    assert_eq!(value(&mut a, V1), "11");
}

#[test]
fn a_write_waits_for_the_other_writer_and_then_sees_its_value() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let Duel { mut a, mut b, server: _server } = Duel::new(level);
        run(&mut a, &["BEGIN", "UPDATE t SET v=v+1 WHERE id=1"]);
        run(&mut b, &["BEGIN"]);
        send_blocked(&mut b, "UPDATE t SET v=v+1 WHERE id=1");
        run(&mut a, &["COMMIT"]);
        assert_eq!(b.receive_reply().unwrap().done().unwrap().affected_rows, 1);
        run(&mut b, &["COMMIT"]);
        assert_eq!(value(&mut a, V1), "12", "{level}");
    }
}

#[test]
fn an_update_is_not_lost_when_the_read_takes_the_lock() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let Duel { mut a, mut b, server: _server } = Duel::new(level);
        run(&mut a, &["BEGIN"]);
        assert_eq!(value(&mut a, "SELECT v FROM t WHERE id=1 FOR UPDATE"), "10");
        run(&mut b, &["BEGIN"]);
        send_blocked(&mut b, "SELECT v FROM t WHERE id=1 FOR UPDATE");
        run(&mut a, &["UPDATE t SET v=10+1 WHERE id=1", "COMMIT"]);
        let read = b.receive_reply().unwrap().rows().unwrap().text();
        assert_eq!(read, ["11"], "{level}");
        run(&mut b, &["UPDATE t SET v=11+1 WHERE id=1", "COMMIT"]);
        assert_eq!(value(&mut a, V1), "12", "{level}");
    }
}

#[test]
fn a_locking_read_sees_the_newest_version_inside_an_old_snapshot() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN"]);
    assert_eq!(value(&mut a, V1), "10");
    run(&mut b, &["UPDATE t SET v=11 WHERE id=1"]);
    assert_eq!(value(&mut a, V1), "10");
    assert_eq!(value(&mut a, "SELECT v FROM t WHERE id=1 FOR UPDATE"), "11");
    run(&mut a, &["UPDATE t SET v=v+1 WHERE id=1"]);
    assert_eq!(value(&mut a, V1), "12", "its own change");
}

#[test]
fn shared_locks_go_together_and_hold_writers_off() {
    let Duel { mut a, mut b, server } = Duel::new("REPEATABLE READ");
    let mut c = server.client();
    run(&mut a, &["BEGIN", "SELECT v FROM t WHERE id=1 LOCK IN SHARE MODE"]);
    run(&mut b, &["BEGIN", "SELECT v FROM t WHERE id=1 LOCK IN SHARE MODE"]);
    send_blocked(&mut c, "UPDATE t SET v=99 WHERE id=1");
    run(&mut a, &["COMMIT"]);
    assert!(!c.answers_within(BLOCKED).unwrap(), "one share lock is left");
    run(&mut b, &["COMMIT"]);
    c.receive_reply().unwrap();
    assert_eq!(value(&mut a, V1), "99");
}

#[test]
fn a_locked_range_lets_no_phantom_in() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    let range = "SELECT id FROM t WHERE id BETWEEN 2 AND 5 ORDER BY id FOR UPDATE";
    run(&mut a, &["BEGIN"]);
    assert_eq!(value(&mut a, range), "2 5");
    send_blocked(&mut b, "INSERT INTO t VALUES (3,30)");
    assert_eq!(value(&mut a, range), "2 5");
    run(&mut a, &["COMMIT"]);
    b.receive_reply().unwrap();
    assert_eq!(value(&mut a, "SELECT id FROM t ORDER BY id"), "1 2 3 5");
}

#[test]
fn a_locked_range_of_a_secondary_index_lets_no_phantom_in() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    let range = "SELECT id FROM t FORCE INDEX (by_v) WHERE v BETWEEN 15 AND 60 ORDER BY v FOR UPDATE";
    run(&mut a, &["BEGIN"]);
    assert_eq!(value(&mut a, range), "2 5");
    send_blocked(&mut b, "INSERT INTO t VALUES (9,40)");
    run(&mut a, &["ROLLBACK"]);
    b.receive_reply().unwrap();
}

#[test]
fn write_skew_is_prevented_by_locking_reads() {
    // Together the two accounts may not fall below zero; each session takes from one of them after a look at both.
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    let together = "SELECT SUM(v) FROM t FORCE INDEX (PRIMARY) WHERE id IN (1,2) FOR UPDATE";
    run(&mut a, &["BEGIN"]);
    assert_eq!(value(&mut a, together), "30");
    run(&mut b, &["BEGIN"]);
    send_blocked(&mut b, together);
    run(&mut a, &["UPDATE t SET v=v-30 WHERE id=1", "COMMIT"]);
    assert_eq!(b.receive_reply().unwrap().rows().unwrap().text(), ["0"]);
    run(&mut b, &["ROLLBACK"]);
    assert_eq!(value(&mut a, "SELECT v FROM t ORDER BY id"), "-20 20 50");
}

#[test]
fn write_skew_with_plain_reads_is_possible_under_repeatable_read() {
    // Documented, as in InnoDB: plain reads take no locks.
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "SELECT SUM(v) FROM t WHERE id IN (1,2)"]);
    run(&mut b, &["BEGIN", "SELECT SUM(v) FROM t WHERE id IN (1,2)"]);
    run(&mut a, &["UPDATE t SET v=0 WHERE id=1"]);
    run(&mut b, &["UPDATE t SET v=0 WHERE id=2", "COMMIT"]);
    run(&mut a, &["COMMIT"]);
    assert_eq!(value(&mut a, "SELECT SUM(v) FROM t WHERE id IN (1,2)"), "0");
}

#[test]
fn a_deadlock_ends_at_once_with_1213_for_one_of_the_two() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "UPDATE t SET v=11 WHERE id=1"]);
    run(&mut b, &["BEGIN", "UPDATE t SET v=21 WHERE id=2"]);
    send_blocked(&mut a, "UPDATE t SET v=12 WHERE id=2");
    let started = Instant::now();
    b.send_query("UPDATE t SET v=22 WHERE id=1").unwrap();
    let results = [a.receive_reply(), b.receive_reply()];
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    let victims: Vec<u16> =
        results.iter().filter_map(|result| result.as_ref().err().map(|error| error.errno())).collect();
    assert_eq!(victims, [1213]);
    // The victim's whole transaction is gone, the survivor goes on.
    let (survivor, victim) = match results[0].is_ok() {
        true => (&mut a, &mut b),
        false => (&mut b, &mut a),
    };
    run(survivor, &["COMMIT"]);
    run(victim, &["BEGIN", "COMMIT"]);
    let rows = value(victim, "SELECT v FROM t WHERE id IN (1,2) ORDER BY id");
    assert!(rows == "11 12" || rows == "22 21", "{rows}");
}

#[test]
fn a_deadlock_of_three_is_found() {
    let Duel { mut a, mut b, server } = Duel::new("REPEATABLE READ");
    let mut c = server.client();
    run(&mut a, &["BEGIN", "UPDATE t SET v=0 WHERE id=1"]);
    run(&mut b, &["BEGIN", "UPDATE t SET v=0 WHERE id=2"]);
    run(&mut c, &["BEGIN", "UPDATE t SET v=0 WHERE id=5"]);
    send_blocked(&mut a, "UPDATE t SET v=1 WHERE id=2");
    send_blocked(&mut b, "UPDATE t SET v=1 WHERE id=5");
    c.send_query("UPDATE t SET v=1 WHERE id=1").unwrap();
    // Whoever is chosen, the other two end one after the other once each commits.
    let mut victims = 0;
    let mut waiting = vec![a, b, c];
    let started = Instant::now();
    while !waiting.is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "{} still wait", waiting.len());
        waiting.retain_mut(|client| {
            if !client.answers_within(Duration::from_millis(5)).unwrap() {
                return true;
            }
            match client.receive_reply() {
                Ok(_) => run(client, &["COMMIT"]),
                Err(error) => {
                    assert_eq!(error.errno(), 1213, "{error}");
                    victims += 1;
                }
            }
            false
        });
    }
    assert_eq!(victims, 1);
}

#[test]
fn a_lock_that_is_waited_for_too_long_is_1205_and_undoes_the_statement_alone() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "UPDATE t SET v=11 WHERE id=1"]);
    run(&mut b, &["SET innodb_lock_wait_timeout=1", "BEGIN", "UPDATE t SET v=21 WHERE id=2"]);
    let started = Instant::now();
    let error = b.execute("UPDATE t SET v=v+1 WHERE id IN (1,5)").unwrap_err();
    assert_eq!(error.errno(), 1205, "{error}");
    let waited = started.elapsed();
    assert!(waited > Duration::from_millis(700) && waited < Duration::from_secs(10), "{waited:?}");
    run(&mut b, &["COMMIT"]);
    run(&mut a, &["ROLLBACK"]);
    assert_eq!(value(&mut a, "SELECT v FROM t ORDER BY id"), "10 21 50");
}

#[test]
fn nowait_and_skip_locked_do_not_wait() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "SELECT v FROM t WHERE id=1 FOR UPDATE"]);
    run(&mut b, &["BEGIN"]);
    let error = b.query("SELECT v FROM t WHERE id=1 FOR UPDATE NOWAIT").unwrap_err();
    // MySQL has a number of its own for it, MariaDB the one of the timeout.
    assert!([3572, 1205].contains(&error.errno()), "{error}");
    assert_eq!(value(&mut b, "SELECT id FROM t WHERE id IN (1,2) ORDER BY id FOR UPDATE SKIP LOCKED"), "2");
}

#[test]
fn a_duplicate_key_undoes_its_statement_and_leaves_the_transaction_open() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "INSERT INTO t VALUES (7,70)"]);
    let error = a.execute("INSERT INTO t VALUES (8,80),(9,90),(7,71)").unwrap_err();
    assert_eq!(error.errno(), 1062, "{error}");
    assert!(error.to_string().contains("'7'"), "{error}");
    assert_eq!(value(&mut a, "SELECT id FROM t WHERE id > 5"), "7");
    assert_eq!(value(&mut b, "SELECT COUNT(*) FROM t WHERE id > 5"), "0");
    run(&mut a, &["COMMIT"]);
    assert_eq!(value(&mut b, "SELECT id FROM t WHERE id > 5"), "7");
}

#[test]
fn a_key_that_is_being_inserted_makes_the_other_inserter_wait() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "INSERT INTO t VALUES (7,70)"]);
    send_blocked(&mut b, "INSERT INTO t VALUES (7,71)");
    run(&mut a, &["COMMIT"]);
    assert_eq!(b.receive_reply().unwrap_err().errno(), 1062);
    run(&mut a, &["BEGIN", "INSERT INTO t VALUES (8,80)"]);
    send_blocked(&mut b, "INSERT INTO t VALUES (8,81)");
    run(&mut a, &["ROLLBACK"]);
    b.receive_reply().unwrap();
    assert_eq!(value(&mut a, "SELECT v FROM t WHERE id=8"), "81");
}

#[test]
fn savepoints_undo_what_came_after_them() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(
        &mut a,
        &[
            "BEGIN",
            "UPDATE t SET v=11 WHERE id=1",
            "SAVEPOINT one",
            "UPDATE t SET v=12 WHERE id=1",
            "INSERT INTO t VALUES (3,30)",
            "SAVEPOINT two",
            "DELETE FROM t WHERE id IN (1,2,3)",
            "ROLLBACK TO SAVEPOINT two",
        ],
    );
    assert_eq!(value(&mut a, "SELECT id, v FROM t ORDER BY id"), "1,12 2,20 3,30 5,50");
    run(&mut a, &["ROLLBACK TO one"]);
    assert_eq!(value(&mut a, "SELECT id, v FROM t ORDER BY id"), "1,11 2,20 5,50");
    let gone = a.execute("ROLLBACK TO two").unwrap_err();
    assert_eq!(gone.errno(), 1305, "{gone}");
    run(&mut a, &["RELEASE SAVEPOINT one"]);
    assert_eq!(a.execute("ROLLBACK TO one").unwrap_err().errno(), 1305);
    run(&mut a, &["COMMIT"]);
    assert_eq!(value(&mut b, "SELECT id, v FROM t ORDER BY id"), "1,11 2,20 5,50");
}

#[test]
fn a_lost_connection_rolls_back_and_frees_its_locks() {
    let Duel { mut a, mut b, server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["BEGIN", "UPDATE t SET v=99 WHERE id=1"]);
    send_blocked(&mut b, "UPDATE t SET v=v+1 WHERE id=1");
    drop(a);
    assert_eq!(b.receive_reply().unwrap().done().unwrap().affected_rows, 1);
    assert_eq!(value(&mut server.client(), V1), "11");
}

#[test]
fn without_autocommit_a_transaction_begins_by_itself() {
    let Duel { mut a, mut b, server: _server } = Duel::new("REPEATABLE READ");
    run(&mut a, &["SET autocommit=0", "UPDATE t SET v=11 WHERE id=1"]);
    assert_eq!(value(&mut b, V1), "10");
    run(&mut a, &["COMMIT"]);
    assert_eq!(value(&mut b, V1), "11");
    run(&mut a, &["UPDATE t SET v=12 WHERE id=1", "SET autocommit=1"]);
    assert_eq!(value(&mut b, V1), "12", "switching it on commits");
    run(&mut a, &["BEGIN", "UPDATE t SET v=13 WHERE id=1", "CREATE TABLE other (id INT PRIMARY KEY)"]);
    assert_eq!(value(&mut b, V1), "13", "a definition commits");
}
