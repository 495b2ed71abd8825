//! GET_LOCK and its kin between sessions: who waits, who is woken, and how a lock comes free.

use std::time::Duration;

use shoal_system_tests::{Client, TestServer, Value, skip, target_is_mariadb, wait_until};

/// Long enough for an answer that is on its way; a statement without one by then is taken to wait.
const BLOCKED: Duration = Duration::from_millis(150);

fn value(client: &mut Client, sql: &str) -> String {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).join(" ")
}

fn send_blocked(client: &mut Client, sql: &str) {
    client.send_query(sql).unwrap();
    assert!(!client.answers_within(BLOCKED).unwrap(), "{sql} did not wait");
}

fn answer(client: &mut Client) -> String {
    client.receive_reply().unwrap().rows().unwrap().text().join(" ")
}

#[test]
fn a_session_holds_several_locks_and_each_as_often_as_it_took_it() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    let id = a.connection_id().to_string();
    assert_eq!(value(&mut a, "SELECT GET_LOCK('one', 1), GET_LOCK('two', 1), GET_LOCK('one', 0)"), "1,1,1");
    assert_eq!(
        value(&mut b, "SELECT IS_FREE_LOCK('one'), IS_USED_LOCK('two'), IS_FREE_LOCK('three')"),
        format!("0,{id},1")
    );
    assert_eq!(value(&mut b, "SELECT GET_LOCK('one', 0), RELEASE_LOCK('one'), RELEASE_LOCK('three')"), "0,0,NULL");
    assert_eq!(value(&mut a, "SELECT RELEASE_LOCK('one')"), "1");
    assert_eq!(value(&mut b, "SELECT GET_LOCK('one', 0)"), "0", "it was taken twice");
    assert_eq!(value(&mut a, "SELECT RELEASE_LOCK('one'), RELEASE_LOCK('one')"), "1,NULL");
    assert_eq!(value(&mut b, "SELECT GET_LOCK('one', 0), IS_USED_LOCK('three')"), "1,NULL");
    a.execute("DO GET_LOCK('two', 0), GET_LOCK('four', 0)").unwrap();
    assert_eq!(value(&mut a, "SELECT RELEASE_ALL_LOCKS()"), "3");
    assert_eq!(value(&mut b, "SELECT IS_FREE_LOCK('two'), IS_FREE_LOCK('four')"), "1,1");
}

#[test]
fn whoever_waits_gets_the_lock_when_it_is_given_back_or_its_holder_goes() {
    let server = TestServer::start();
    let (mut a, mut b, mut c) = (server.client(), server.client(), server.client());
    a.execute("SET @held = GET_LOCK('migration', 10)").unwrap();
    send_blocked(&mut b, "SELECT 'b', GET_LOCK('migration', 60)");
    send_blocked(&mut c, "SELECT GET_LOCK('migration', 600)");
    assert_eq!(value(&mut a, "SELECT @held, RELEASE_LOCK('migration')"), "1,1");
    assert_eq!(answer(&mut b), "b,1");
    assert!(!c.answers_within(BLOCKED).unwrap(), "b has it");
    drop(b);
    assert_eq!(answer(&mut c), "1");
    send_blocked(&mut a, "SELECT GET_LOCK('migration', 60)");
    c.reset_connection().unwrap();
    assert_eq!(answer(&mut a), "1");
}

#[test]
fn locks_are_free_of_transactions() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    a.execute("CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    a.execute("BEGIN").unwrap();
    a.execute("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(value(&mut a, "SELECT GET_LOCK('l', 0)"), "1");
    a.execute("ROLLBACK").unwrap();
    assert_eq!(value(&mut b, "SELECT GET_LOCK('l', 0)"), "0");
    assert_eq!(value(&mut a, "SELECT RELEASE_LOCK('l')"), "1");
}

#[test]
fn a_wait_ends_with_its_time_or_a_kill() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    assert_eq!(value(&mut a, "SELECT GET_LOCK('l', 0)"), "1");
    assert_eq!(value(&mut b, "SELECT GET_LOCK('l', 1)"), "0");
    send_blocked(&mut b, "SELECT GET_LOCK('l', 60)");
    a.execute(&format!("KILL QUERY {}", b.connection_id())).unwrap();
    match b.receive_reply() {
        Err(error) => assert_eq!(error.errno(), 1317),
        Ok(reply) => assert!(target_is_mariadb(), "{reply:?}"),
    }
    assert_eq!(value(&mut a, "SELECT RELEASE_LOCK('l'), IS_FREE_LOCK('l')"), "1,1", "nobody waits any more");
    assert_eq!(value(&mut b, "SELECT GET_LOCK('l', 0)"), "1");
    send_blocked(&mut a, "SELECT GET_LOCK('l', 60)");
    let mut c = server.client();
    c.execute(&format!("KILL {}", a.connection_id())).unwrap();
    assert!(a.receive_reply().is_err());
    c.execute(&format!("KILL {}", b.connection_id())).unwrap();
    wait_until("a killed session's locks are free", || value(&mut c, "SELECT IS_FREE_LOCK('l')") == "1");
}

#[test]
fn names_are_the_same_in_any_case_and_a_negative_time_is_for_ever() {
    if target_is_mariadb() {
        return skip("MariaDB tells names by case and refuses negative times");
    }
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    assert_eq!(value(&mut a, "SELECT GET_LOCK('Name', 0), GET_LOCK('NAME', -1)"), "1,1");
    send_blocked(&mut b, "SELECT GET_LOCK('name', -1)");
    assert_eq!(value(&mut a, "SELECT RELEASE_ALL_LOCKS()"), "2");
    assert_eq!(answer(&mut b), "1");
}

#[test]
fn max_execution_time_ends_waits_as_well_as_work() {
    if target_is_mariadb() {
        return skip("MariaDB has max_statement_time instead");
    }
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    a.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    a.execute("INSERT INTO t VALUES (1)").unwrap();
    a.execute("BEGIN").unwrap();
    assert_eq!(value(&mut a, "SELECT id, GET_LOCK('l', 0) FROM t FOR UPDATE"), "1,1");
    b.execute("SET max_execution_time = 20").unwrap();
    for sql in ["SELECT GET_LOCK('l', 600)", "SELECT * FROM t FOR UPDATE", "SELECT 1 WHERE SLEEP(600)"] {
        assert_eq!(b.query(sql).unwrap_err().errno(), 3024, "{sql}");
    }
}

#[test]
fn a_circle_of_waits_is_refused() {
    let server = TestServer::start();
    let (mut a, mut b, mut c) = (server.client(), server.client(), server.client());
    for (client, name) in [(&mut a, "a"), (&mut b, "b"), (&mut c, "c")] {
        assert_eq!(value(client, &format!("SELECT GET_LOCK('{name}', 0)")), "1");
    }
    send_blocked(&mut a, "SELECT GET_LOCK('b', 60)");
    send_blocked(&mut b, "SELECT GET_LOCK('c', 60)");
    let error = c.query("SELECT GET_LOCK('a', 60)").unwrap_err();
    assert_eq!(error.errno(), if target_is_mariadb() { 1213 } else { 3058 });
    assert_eq!(value(&mut c, "SELECT RELEASE_LOCK('c')"), "1");
    assert_eq!(answer(&mut b), "1");
}

/// The expression is evaluated again after the wait; what its other calls did must not be done twice.
#[test]
fn calls_beside_one_that_waits_act_once() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    b.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20)) ENGINE=InnoDB").unwrap();
    b.execute("INSERT INTO t VALUES (1,'first'), (2,'second')").unwrap();
    assert_eq!(value(&mut a, "SELECT GET_LOCK('l', 0), GET_LOCK('second', 0)"), "1,1");
    send_blocked(&mut b, "SELECT GET_LOCK('m', 0) + GET_LOCK('m', 0) + GET_LOCK('l', 60) + RELEASE_LOCK('m')");
    assert_eq!(value(&mut a, "SELECT RELEASE_LOCK('l')"), "1");
    assert_eq!(answer(&mut b), "4");
    assert_eq!(value(&mut b, "SELECT RELEASE_LOCK('m'), RELEASE_LOCK('m'), RELEASE_LOCK('l')"), "1,NULL,1");
    send_blocked(&mut b, "SELECT id, GET_LOCK(name, 60) FROM t WHERE id > 0 ORDER BY id");
    assert_eq!(value(&mut a, "SELECT RELEASE_LOCK('second')"), "1");
    assert_eq!(answer(&mut b), "1,1 2,1");
    let statement = b.prepare("SELECT GET_LOCK(?, 0)").unwrap();
    let reply = b.run_statement(&statement, &[Value::Bytes(b"third".to_vec())]).unwrap();
    assert_eq!(reply.rows().unwrap().text(), ["1"]);
    assert_eq!(value(&mut b, "SELECT RELEASE_ALL_LOCKS()"), "3");
}
