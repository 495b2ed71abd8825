//! Foreign keys under clients that work against each other, beside other interfaces, and in dumps.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_system_tests::handlersocket::HandlerSocketPorts;
use shoal_system_tests::{Client, TestServer};

const CLIENTS: u64 = 6;
const ROUNDS: u64 = 150;
const PARENTS: u64 = 12;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// 1062, 1205, 1213, 1451, 1452: what clients that meet each other there are told.
fn attempt(client: &mut Client, sql: &str, done: &AtomicU64) {
    match client.execute(sql) {
        Ok(_) => {
            done.fetch_add(u64::from(sql.starts_with("INSERT INTO c")), Ordering::Relaxed);
        }
        Err(error) => assert!([1062, 1205, 1213, 1451, 1452].contains(&error.errno()), "{sql}: {error}"),
    }
}

fn work(client: &mut Client, seed: u64, done: &AtomicU64) {
    let mut dice = Dice(seed);
    for round in 0..ROUNDS {
        let (parent, other) = (dice.roll(PARENTS), dice.roll(PARENTS));
        let id = seed * 1_000_000 + round;
        match dice.roll(8) {
            0..=2 => attempt(client, &format!("INSERT INTO c VALUES ({id}, {parent}), ({id}0000, {other})"), done),
            3 => attempt(client, &format!("UPDATE c SET p = {parent} WHERE p = {other} LIMIT 2"), done),
            4 => attempt(client, &format!("DELETE FROM p WHERE id = {parent}"), done),
            5 => attempt(client, &format!("UPDATE p SET id = {other} WHERE id = {parent}"), done),
            6 => {
                attempt(client, "BEGIN", done);
                attempt(client, &format!("INSERT INTO c VALUES ({id}, {parent})"), done);
                attempt(client, &format!("DELETE FROM p WHERE id IN ({parent}, {other})"), done);
                attempt(client, if round % 2 == 0 { "COMMIT" } else { "ROLLBACK" }, done);
            }
            _ => attempt(client, &format!("INSERT IGNORE INTO p VALUES ({parent}), ({other})"), done),
        }
    }
}

fn no_orphan_is_left(actions: &str) {
    let server = TestServer::start();
    server.sql(&format!(
        "CREATE TABLE p (id INT PRIMARY KEY); \
         CREATE TABLE c (id BIGINT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) {actions}); \
         INSERT INTO p VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11)"
    ));
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for seed in 1..=CLIENTS {
            let (server, done) = (&server, &done);
            scope.spawn(move || work(&mut server.client(), seed, done));
        }
    });
    let orphans = "SELECT COUNT(*) FROM c LEFT JOIN p ON p.id = c.p WHERE c.p IS NOT NULL AND p.id IS NULL";
    assert_eq!(server.sql(orphans), "0\n");
    let children = done.into_inner();
    assert!(children > 20, "only {children} statements inserted children");
}

#[test]
fn no_orphan_is_left_where_children_restrict() {
    no_orphan_is_left("");
}

#[test]
fn no_orphan_is_left_where_deletes_and_updates_cascade() {
    no_orphan_is_left("ON DELETE CASCADE ON UPDATE CASCADE");
}

#[test]
fn no_orphan_is_left_where_children_are_set_to_null() {
    no_orphan_is_left("ON DELETE SET NULL ON UPDATE SET NULL");
}

#[test]
fn a_child_waits_for_a_parent_that_is_about_to_go() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1); \
         CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))",
    );
    let mut one = server.client();
    one.execute("BEGIN").unwrap();
    one.execute("DELETE FROM p WHERE id = 1").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.client().execute("INSERT INTO c VALUES (1, 1)"));
        shoal_system_tests::wait_until("the child waits", || {
            server.sql("SELECT COUNT(*) FROM performance_schema.data_lock_waits") == "1\n"
        });
        one.execute("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap().unwrap_err().errno(), 1452);
    });
    assert_eq!(server.sql("SELECT COUNT(*) FROM c"), "0\n");
}

#[test]
fn cascades_end_at_fifteen_levels_with_nothing_done() {
    let server = TestServer::start();
    let mut statements = String::from("CREATE TABLE t0 (id INT PRIMARY KEY);");
    for level in 1..=16 {
        let above = level - 1;
        statements += &format!(
            "CREATE TABLE t{level} (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t{above} (id) ON DELETE CASCADE);"
        );
    }
    (0..=16).for_each(|level| statements += &format!("INSERT INTO t{level} VALUES (1);"));
    server.sql(&statements);
    let mut client = server.client();
    assert_eq!(client.execute("DELETE FROM t0").unwrap_err().errno(), 3008);
    assert_eq!(server.sql("SELECT COUNT(*) FROM t16"), "1\n");
    client.execute("DELETE FROM t2").unwrap();
    assert_eq!(server.sql("SELECT (SELECT COUNT(*) FROM t1), (SELECT COUNT(*) FROM t16)"), "1\t0\n");
}

#[test]
fn other_interfaces_leave_foreign_keys_to_sql() {
    let (server, ports) = HandlerSocketPorts::start(&[]);
    server.sql(
        "CREATE TABLE p (id INT PRIMARY KEY, v INT); INSERT INTO p VALUES (1, 1); \
         CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id)); \
         CREATE TABLE k (id INT PRIMARY KEY, v INT CHECK (v > 0))",
    );
    let mut door = ports.writer();
    door.follow(&[
        ("P|1|test|p||id,v", "0|1"),
        ("P|2|test|c||id,p", "0|1"),
        ("P|3|test|k||id,v", "0|1"),
        // Parents may come, and be read.
        ("1|+|2|2|2", "0|1"),
        ("1|=|1|2", "0|2|2|2"),
    ]);
    for refused in ["1|=|1|1|1|0|D", "1|=|1|1|1|0|U|1|5", "2|+|2|1|9", "3|+|2|1|1"] {
        let answer = door.ask(refused);
        assert!(!answer.starts_with('0'), "{refused}: {answer}");
    }
    assert_eq!(server.sql("SELECT (SELECT COUNT(*) FROM p), (SELECT COUNT(*) FROM c)"), "2\t0\n");
}

#[test]
fn a_dump_brings_constraints_back() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE a_child (id INT PRIMARY KEY, p INT, CHECK (p < 100)); \
         CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1), (2); \
         ALTER TABLE a_child ADD CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE; \
         INSERT INTO a_child VALUES (1, 1), (2, 2), (3, NULL); CREATE DATABASE copy",
    );
    let before = server.dump(&[], "test");
    server.restore("copy", &before);
    assert_eq!(String::from_utf8_lossy(&server.dump(&[], "copy")), String::from_utf8_lossy(&before));
    server.sql("DELETE FROM copy.parent WHERE id = 2");
    assert_eq!(server.sql("SELECT id, p FROM copy.a_child ORDER BY id"), "1\t1\n3\tNULL\n");
}
