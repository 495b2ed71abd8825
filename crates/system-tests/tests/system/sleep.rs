//! SLEEP() waits wherever it stands, lets other sessions work, and ends with a KILL QUERY or max_execution_time.

use std::time::{Duration, Instant};

use shoal_system_tests::{Client, Error, Reply, TestServer, wait_until};

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

/// Runs a statement that sleeps for 60 seconds and kills it when it shows; returns how it ended.
fn killed(sleeper: &mut Client, other: &mut Client, sql: &str) -> Result<Reply, Error> {
    let id = sleeper.connection_id();
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
    assert!(told.elapsed() < ENDS_WITHIN, "{sql} ended after {:?}", told.elapsed());
    outcome
}

#[test]
fn sleep_ends_when_its_statement_is_told_to() {
    let server = TestServer::start();
    let (mut sleeper, mut other) = (server.client(), server.client());
    other.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB").unwrap();
    other.execute("INSERT INTO t VALUES (1,1)").unwrap();
    for sql in [
        "INSERT INTO t VALUES (2, SLEEP(60))",
        "UPDATE t SET v=SLEEP(60) WHERE id=1",
        "DELETE FROM t WHERE SLEEP(60)=0",
        "SELECT id, SLEEP(60) FROM t",
        "SELECT id FROM t WHERE SLEEP(60)",
        "SELECT (SELECT SLEEP(60) FROM t)",
    ] {
        let outcome = killed(&mut sleeper, &mut other, sql);
        assert!(matches!(outcome, Err(Error::Server { errno: 1317, .. })), "{sql}: {outcome:?}");
    }
    assert_eq!(other.text("SELECT * FROM t").unwrap(), ["1,1"]);
    sleeper.execute("SET max_execution_time=50").unwrap();
    let started = Instant::now();
    let outcome = sleeper.query("SELECT id FROM t WHERE SLEEP(60)");
    assert!(matches!(outcome, Err(Error::Server { errno: 3024, .. })), "{outcome:?}");
    assert!(started.elapsed() < Duration::from_millis(50) + ENDS_WITHIN);
}

/// MySQL: SLEEP() that is the only thing invoked by a statement returns 1 when it is interrupted, whatever interrupts it.
#[test]
fn a_select_without_tables_survives_a_kill_of_its_sleep() {
    let server = TestServer::start();
    let (mut sleeper, mut other) = (server.client(), server.client());
    for (sql, row) in [
        ("SELECT SLEEP(60)", "1"),
        ("SELECT 5, SLEEP(60), SLEEP(60)+1", "5,1,2"),
        ("SELECT (SELECT SLEEP(60)), SLEEP(60)", "1,1"),
        ("SELECT SLEEP(60) ORDER BY 1 LIMIT 1", "1"),
    ] {
        match killed(&mut sleeper, &mut other, sql) {
            Ok(Reply::Rows(rows)) => assert_eq!(rows.text(), [row], "{sql}"),
            outcome => panic!("{sql}: {outcome:?}"),
        }
    }
    for sql in
        ["SELECT * FROM (SELECT SLEEP(60)) d", "SELECT 1 WHERE SLEEP(60)=0", "SELECT SLEEP(60) UNION SELECT 2"]
    {
        let outcome = killed(&mut sleeper, &mut other, sql);
        assert!(matches!(outcome, Err(Error::Server { errno: 1317, .. })), "{sql}: {outcome:?}");
    }
    assert_eq!(sleeper.text("SELECT SLEEP(0.01)").unwrap(), ["0"]);
    assert_eq!(sleeper.text("SELECT /*+ MAX_EXECUTION_TIME(20) */ SLEEP(60)").unwrap(), ["1"]);
    sleeper.execute("SET max_execution_time=20").unwrap();
    assert_eq!(sleeper.text("SELECT SLEEP(60)").unwrap(), ["1"]);
    sleeper.execute("SET max_execution_time=0").unwrap();
    sleeper.send_query("SELECT SLEEP(61)").unwrap();
    let id = sleeper.connection_id();
    let running =
        format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID={id} AND INFO LIKE '%61%'");
    wait_until("the statement runs", || other.text(&running).unwrap() == ["1"]);
    other.execute(&format!("KILL {id}")).unwrap();
    assert!(sleeper.receive_reply().is_err());
}
