//! KILL QUERY and max_execution_time end every statement wherever it is: in joins, sorts, groups and writes, in waits for rows, tables
//! and names.

use std::time::{Duration, Instant};

use shoal_system_tests::{Client, Error, TestServer, Value, skip, target_is_mariadb, wait_until};

/// What is promised is 100 ms; a machine that is busy with other things gets more.
const SOON: Duration = Duration::from_secs(2);

/// `d` has the digits, `big` 100,000 rows with equal values in `same` and no two equal ones in `id`.
fn with_tables() -> TestServer {
    let server = TestServer::start();
    let mut setup = server.client();
    for sql in [
        "CREATE TABLE d (n INT PRIMARY KEY)",
        "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
        "CREATE TABLE big (id INT PRIMARY KEY, same INT, text VARCHAR(100))",
        "CREATE TABLE sink (a INT, b INT, c VARCHAR(400))",
    ] {
        setup.execute(sql).unwrap();
    }
    let cross = "d a, d b, d c, d e, d f";
    setup
        .execute(&format!(
            "INSERT INTO big SELECT a.n + 10*b.n + 100*c.n + 1000*e.n + 10000*f.n, 1, CONCAT('text of ', a.n, f.n) \
             FROM {cross}"
        ))
        .unwrap();
    server
}

fn is_executing(client: &mut Client, id: u32, word: &str) -> bool {
    let sql =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%{word}%'");
    client.text(&sql).unwrap() == ["1"]
}

/// Has a statement killed when it has run for a while; how long the answer took then.
fn kill_while_it_runs(server: &TestServer, sql: &str) -> Duration {
    let mut victim = server.client();
    let mut killer = server.client();
    let id = victim.connection_id();
    victim.send_query(sql).unwrap();
    wait_until("the statement to begin", || is_executing(&mut killer, id, "never"));
    assert!(!victim.answers_within(Duration::from_millis(300)).unwrap(), "{sql} has ended");
    let killed = Instant::now();
    killer.execute(&format!("KILL QUERY {id}")).unwrap();
    let answer = victim.receive_reply();
    let took = killed.elapsed();
    assert!(matches!(answer, Err(Error::Server { errno: 1317, .. })), "{sql}: {answer:?}");
    assert_eq!(victim.text("SELECT 1").unwrap(), ["1"], "the connection stays");
    println!("{took:?} {sql}");
    took
}

/// Statements that would take minutes at least; each bears the word by which it is found.
const ENDLESS: [&str; 23] = [
    "SELECT /* never */ SLEEP(1000) FROM d",
    "SELECT /* never */ COUNT(*) FROM big a, big b, big c",
    "SELECT /* never */ a.id FROM big a, big b WHERE a.id + b.id < 0",
    "SELECT /* never */ COUNT(*) FROM big a JOIN big b ON a.same = b.same",
    "SELECT /* never */ a.id FROM big a JOIN big b ON a.same = b.same WHERE a.text > b.text AND a.id + b.id < 0",
    "SELECT /* never */ a.id FROM big a LEFT JOIN big b ON a.text > CONCAT(b.text, 'x') AND a.id + b.id < 0",
    "SELECT /* never */ COUNT(DISTINCT a.id + b.id) FROM big a, big b",
    "SELECT /* never */ a.id % 7, SUM(b.id) FROM big a, big b GROUP BY a.id % 7",
    "SELECT /* never */ a.text FROM big a, d b, d c, d e, d f ORDER BY CONCAT(a.text, b.n, c.n, e.n, f.n) LIMIT 3",
    "SELECT /* never */ SUM(id * 1e0) OVER (ORDER BY id ROWS BETWEEN 50000 PRECEDING AND CURRENT ROW) FROM big",
    "SELECT /* never */ BIT_OR(id) OVER (PARTITION BY same ORDER BY id ROWS BETWEEN 1 PRECEDING AND 90000 FOLLOWING) FROM big",
    "SELECT /* never */ COUNT(*) FROM (SELECT 1 UNION ALL SELECT 2) a, (SELECT 1 FROM big) b, (SELECT 1 FROM big) c",
    "SELECT /* never */ COUNT(*) FROM big a WHERE a.id < ANY (SELECT b.id - a.id * 2 FROM big b WHERE b.same <> a.id)",
    "SELECT /* never */ COUNT(*) FROM big a WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.same + a.id < 0)",
    "INSERT /* never */ INTO sink SELECT a.id, b.id, 'x' FROM big a, big b WHERE a.id + b.id < 0",
    "UPDATE /* never */ big a JOIN big b ON a.same = b.same SET a.text = 'x' WHERE a.id + b.id < 0",
    "DELETE /* never */ a FROM big a, big b WHERE a.id + b.id < 0",
    "DO /* never */ (SELECT COUNT(*) FROM big a, big b, big c)",
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT a.id FROM r, big a, big b WHERE a.id + b.id < 0) \
     SELECT /* never */ COUNT(*) FROM r",
    "SELECT /* never */ COUNT(*) FROM big a, LATERAL (SELECT COUNT(*) AS c FROM big b WHERE b.same + a.id < 0) l",
    "SELECT /* never */ COUNT(*) FROM big a, big b, JSON_TABLE(CONCAT('[', b.id, ']'), '$[*]' COLUMNS (v INT PATH '$')) j",
    "SELECT /* never */ COUNT(*) FROM JSON_TABLE(CONCAT(REPEAT('[1,', 90), '1', REPEAT(']', 90)), '$' COLUMNS ( \
     NESTED PATH '$**[*]' COLUMNS (NESTED PATH '$**[*]' COLUMNS (NESTED PATH '$**[*]' COLUMNS (NESTED PATH '$**[*]' COLUMNS ( \
     NESTED PATH '$**[*]' COLUMNS (NESTED PATH '$**[*]' COLUMNS (NESTED PATH '$**[*]' COLUMNS (v INT PATH '$'))))))))) j",
    "INSERT /* never */ INTO sink VALUES (1, 1 IN (SELECT a.id FROM big a, big b WHERE a.id + b.id < 0), 'x')",
];

#[test]
fn kill_query_ends_whatever_runs() {
    let server = with_tables();
    for sql in ENDLESS {
        assert!(kill_while_it_runs(&server, sql) < SOON, "{sql}");
    }
    assert_eq!(server.client().text("SELECT COUNT(*), SUM(same) FROM big").unwrap(), ["100000,100000"]);
}

#[test]
fn max_execution_time_ends_every_select_and_nothing_else() {
    if target_is_mariadb() {
        return skip("it has max_statement_time");
    }
    let server = with_tables();
    let mut client = server.client();
    client.execute("SET max_execution_time = 50").unwrap();
    for sql in ENDLESS.into_iter().filter(|sql| sql.starts_with("SELECT")) {
        let started = Instant::now();
        let answer = client.query(sql);
        assert!(matches!(answer, Err(Error::Server { errno: 3024, .. })), "{sql}: {answer:?}");
        assert!(started.elapsed() < SOON, "{sql}");
    }
    client.execute("INSERT INTO sink SELECT id, SLEEP(0.1), 'x' FROM d, big WHERE n = 0 AND id = 0").unwrap();
    client.execute("DO SLEEP(0.1)").unwrap();
    client.execute("SET max_execution_time = 0").unwrap();
    let hinted = client.query("SELECT /*+ MAX_EXECUTION_TIME(50) */ COUNT(*) FROM big a, big b, big c");
    assert!(matches!(hinted, Err(Error::Server { errno: 3024, .. })), "{hinted:?}");
}

#[test]
fn statements_that_wait_are_ended_too() {
    let server = with_tables();
    let mut holder = server.client();
    holder.run("BEGIN").unwrap();
    holder.run("UPDATE big SET same = 2 WHERE id = 5").unwrap();
    holder.run("SELECT GET_LOCK('never', 0)").unwrap();
    for sql in [
        "UPDATE /* never */ big SET same = 3 WHERE id = 5",
        "SELECT /* never */ same FROM big WHERE id = 5 FOR UPDATE",
        "DELETE /* never */ FROM big ORDER BY id LIMIT 10",
        "ALTER TABLE big ADD COLUMN never INT",
        "TRUNCATE TABLE /* never */ big",
        "SELECT GET_LOCK('never', 1000)",
        "DO GET_LOCK('never', 1000)",
    ] {
        assert!(kill_while_it_runs(&server, sql) < SOON, "{sql}");
    }
    // A definition that waits keeps those out that come after it; they can be ended all the same.
    let mut definer = server.client();
    definer.send_query("ALTER TABLE big ADD COLUMN x INT").unwrap();
    assert!(!definer.answers_within(Duration::from_millis(100)).unwrap());
    assert!(kill_while_it_runs(&server, "SELECT /* never */ COUNT(*) FROM big") < SOON);
    assert!(kill_while_it_runs(&server, "UPDATE /* never */ big SET same = 3 WHERE id = 9") < SOON);
    holder.run("ROLLBACK").unwrap();
    definer.receive_reply().unwrap();
}

#[test]
fn other_sessions_have_their_turn_beside_a_long_statement() {
    let server = with_tables();
    // As many as there are workers, so that one is beside each of the others.
    let mut busy: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for client in &mut busy {
        client.send_query("SELECT COUNT(*) FROM big a, big b WHERE a.id + b.id < 0").unwrap();
    }
    let mut other = server.client();
    let mut slowest = Duration::ZERO;
    for id in 0..50 {
        let started = Instant::now();
        other.text(&format!("SELECT same FROM big WHERE id = {id}")).unwrap();
        slowest = slowest.max(started.elapsed());
    }
    println!("slowest point read beside four joins: {slowest:?}");
    assert!(slowest < SOON);
    for client in busy {
        other.execute(&format!("KILL {}", client.connection_id())).unwrap();
    }
}

#[test]
fn a_killed_load_leaves_a_connection_that_works() {
    let server = with_tables();
    let mut client = server.client();
    let rows: Vec<String> = (0..100_000).map(|n| format!("({n}, 1, 'x')")).collect();
    let insert = format!("INSERT /* never */ INTO sink VALUES {}", rows.join(","));
    let mut killer = server.client();
    client.execute("SET autocommit = 1").unwrap();
    client.send_query(&insert).unwrap();
    killer.execute(&format!("KILL QUERY {}", client.connection_id())).unwrap();
    // It is killed or was done before: all of it is there, or none.
    let outcome = client.receive_reply();
    let expected = if outcome.is_ok() { "100000" } else { "0" };
    assert_eq!(client.text("SELECT COUNT(*) FROM sink").unwrap(), [expected]);
}

#[test]
fn locks_of_a_client_that_vanishes_in_a_long_statement_are_free_soon() {
    let server = with_tables();
    let mut victim = server.client();
    victim.run("BEGIN").unwrap();
    victim.run("UPDATE big SET same = 7 WHERE id = 7").unwrap();
    victim.send_query("SELECT COUNT(*) FROM big a, big b, big c").unwrap();
    assert!(!victim.answers_within(Duration::from_millis(200)).unwrap());
    drop(victim);
    let gone = Instant::now();
    let mut other = server.client();
    other.execute("SET SESSION innodb_lock_wait_timeout = 50").unwrap();
    other.execute("UPDATE big SET same = 1 WHERE id = 7").unwrap();
    assert!(gone.elapsed() < SOON, "{:?}", gone.elapsed());
    assert!(matches!(other.query("SELECT same FROM big WHERE id = 7").unwrap().rows[0][0], Value::Bytes(_)));
}
