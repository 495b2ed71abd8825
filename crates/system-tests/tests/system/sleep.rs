//! SLEEP() waits wherever it stands, lets other sessions work, and ends with a KILL QUERY or max_execution_time.

use std::time::{Duration, Instant};

use shoal_system_tests::{Client, Error, TestServer, wait_until};

/// What the statements of these tests sleep at least.
const PAUSE: Duration = Duration::from_millis(200);
/// How soon a statement ends that was told to.
const ENDS_WITHIN: Duration = Duration::from_millis(100);

fn timed(client: &mut Client, sql: &str) -> Duration {
    let started = Instant::now();
    client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    started.elapsed()
}

#[test]
fn every_statement_that_evaluates_sleep_waits() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB").unwrap();
    for sql in [
        "INSERT INTO t VALUES (1, SLEEP(0.2))",
        "INSERT INTO t VALUES (2, SLEEP(0.1)), (3, SLEEP(0.1))",
        "INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE v=1+SLEEP(0.2)",
        "INSERT INTO t SELECT id+10, SLEEP(0.1) FROM t",
        "REPLACE INTO t VALUES (4, SLEEP(0.2))",
        "UPDATE t SET v=SLEEP(0.2)+5 WHERE id=1",
        "UPDATE t SET v=SLEEP(0.1)+6 WHERE v<100",
        "UPDATE t SET v=8 WHERE id=1 AND SLEEP(0.2)=0",
        "UPDATE t a JOIN t b ON a.id=b.id SET a.v=SLEEP(0.2)+9 WHERE a.id=2",
        "DELETE FROM t WHERE id=3 AND SLEEP(0.2)=0",
        "DELETE FROM t WHERE v=9 AND SLEEP(0.2)=1",
        "SELECT SLEEP(0.1) FROM t WHERE id<3",
        "SELECT id FROM t WHERE SLEEP(0.1)",
        "SELECT a.id FROM t a JOIN t b ON a.id=b.id WHERE SLEEP(0.1)=1",
        "SELECT COUNT(*) FROM t WHERE SLEEP(0.1)=0",
        "SELECT SUM(SLEEP(0.1)) FROM t",
        "SELECT id FROM t GROUP BY id HAVING SLEEP(0.1)",
        "SELECT id FROM t ORDER BY SLEEP(0.1)",
        "SELECT (SELECT SLEEP(0.2))",
        "SELECT * FROM (SELECT SLEEP(0.2)) d",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM t WHERE SLEEP(0.1))",
        "INSERT INTO t VALUES (50, (SELECT SLEEP(0.2)))",
        "SET @a = SLEEP(0.2)",
        "DO SLEEP(0.2)",
    ] {
        let took = timed(&mut client, sql);
        assert!(took >= PAUSE, "{sql} took {took:?}");
    }
    assert_eq!(client.text("SELECT v FROM t WHERE id=1").unwrap(), ["8"]);
}

#[test]
fn sleep_ends_when_its_statement_is_told_to() {
    let server = TestServer::start();
    let (mut sleeper, mut other) = (server.client(), server.client());
    other.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB").unwrap();
    other.execute("INSERT INTO t VALUES (1,1)").unwrap();
    let id = sleeper.connection_id();
    for sql in [
        "INSERT INTO t VALUES (2, SLEEP(60))",
        "UPDATE t SET v=SLEEP(60) WHERE id=1",
        "DELETE FROM t WHERE SLEEP(60)=0",
        "SELECT id, SLEEP(60) FROM t",
        "SELECT id FROM t WHERE SLEEP(60)",
        "SELECT (SELECT SLEEP(60) FROM t)",
    ] {
        sleeper.send_query(sql).unwrap();
        let running =
            format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID={id} AND INFO LIKE '%60%'");
        wait_until("the statement runs", || other.text(&running).unwrap() == ["1"]);
        let mut told = Instant::now();
        other.execute(&format!("KILL QUERY {id}")).unwrap();
        if !sleeper.answers_within(ENDS_WITHIN).unwrap() {
            // The first came before the statement had begun in earnest.
            told = Instant::now();
            other.execute(&format!("KILL QUERY {id}")).unwrap();
        }
        let outcome = sleeper.receive_reply();
        assert!(matches!(outcome, Err(Error::Server { errno: 1317, .. })), "{sql}: {outcome:?}");
        assert!(told.elapsed() < ENDS_WITHIN, "{sql} ended after {:?}", told.elapsed());
    }
    assert_eq!(other.text("SELECT * FROM t").unwrap(), ["1,1"]);
    sleeper.execute("SET max_execution_time=50").unwrap();
    let started = Instant::now();
    let outcome = sleeper.query("SELECT id FROM t WHERE SLEEP(60)");
    assert!(matches!(outcome, Err(Error::Server { errno: 3024, .. })), "{outcome:?}");
    assert!(started.elapsed() < Duration::from_millis(50) + ENDS_WITHIN);
}
