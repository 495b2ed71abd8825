//! What sessions of a cluster may rely on, on whichever node they are.

use std::panic::AssertUnwindSafe;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use shoal_system_tests::cluster::{DevCluster, Layout, StartedCluster};
use shoal_system_tests::transfer::{Told, told_by};
use shoal_system_tests::{Client, Error, program, shoal_binary, wait_until};

const COMMAND_DEADLINE: Duration = Duration::from_secs(60);

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn a_consistent_snapshot_is_taken_when_it_is_asked_for() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut reader, mut writer) = (cluster.client(1), cluster.client(2));
    run(
        &mut writer,
        &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,0),(2,0),(3,0),(4,0)"],
    );
    for round in 1..=10 {
        run(&mut reader, &["START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
        run(&mut writer, &[&format!("UPDATE t SET v={round}")]);
        let before = format!("{}", (round - 1) * 4);
        assert_eq!(reader.text("SELECT SUM(v) FROM t").unwrap(), [before], "round {round}");
        run(&mut reader, &["COMMIT"]);
    }
}

#[test]
fn numbers_rise_on_each_node_and_are_never_given_twice() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)"]);
    run(
        &mut one,
        &["INSERT INTO t VALUES (1,0)", "INSERT INTO t (v) VALUES (1),(2)", "INSERT INTO t (v) VALUES (3)"],
    );
    assert_eq!(one.text("SELECT id FROM t ORDER BY id").unwrap(), ["1", "2", "3", "4"]);
    run(&mut one, &["INSERT INTO t VALUES (100,4),(NULL,5)"]);
    assert_eq!(one.text("SELECT MAX(id) FROM t").unwrap(), ["101"]);
    run(&mut one, &["UPDATE t SET id=150 WHERE v=5"]);
    for v in 0..200 {
        for client in [&mut one, &mut other] {
            run(client, &[&format!("INSERT INTO t (v) VALUES ({v})")]);
        }
    }
    assert_eq!(one.text("SELECT COUNT(*), COUNT(DISTINCT id) FROM t").unwrap(), ["406,406"]);
}

/// Blocks of numbers that one node fetches go on where its last one ended, as long as nobody else needs any.
#[test]
fn numbers_of_one_client_have_no_gaps_whatever_statements_take_them() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(
        &mut one,
        &["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)", "INSERT INTO t (v) VALUES (1),(2),(3)"],
    );
    for _ in 0..6 {
        run(&mut one, &["INSERT INTO t (v) SELECT v FROM t", "INSERT INTO t (v) VALUES (4)"]);
    }
    assert_eq!(one.text("SELECT COUNT(*), MIN(id), MAX(id) FROM t").unwrap(), ["255,1,255"]);
    // An added column is numbered from 1 on, in the order of the rows, and goes on behind them on every node.
    run(&mut other, &["CREATE TABLE u (v INT)"]);
    for v in 0..20 {
        for client in [&mut one, &mut other] {
            run(client, &[&format!("INSERT INTO u VALUES ({v})")]);
        }
    }
    run(&mut other, &["ALTER TABLE u ADD n INT AUTO_INCREMENT PRIMARY KEY"]);
    let expected: Vec<String> = (0..40).map(|row| format!("{},{}", row / 2, row + 1)).collect();
    assert_eq!(one.text("SELECT v, n FROM u").unwrap(), expected);
    run(&mut one, &["INSERT INTO u (v) VALUES (100)"]);
    assert_eq!(other.text("SELECT n > 40 FROM u WHERE v = 100").unwrap(), ["1"]);
}

#[test]
fn a_node_that_is_read_only_refuses_writes_and_holds_rows_that_others_write() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE t (id INT PRIMARY KEY)", "SET GLOBAL super_read_only = ON"]);
    assert_eq!(one.execute("INSERT INTO t VALUES (0)").err().unwrap().errno(), 1290);
    // Rows of all partitions, of which the read-only node leads some.
    for id in 0..40 {
        run(&mut other, &[&format!("INSERT INTO t VALUES ({id})")]);
    }
    run(&mut other, &["CREATE TABLE u (id INT PRIMARY KEY)", "CREATE USER app"]);
    assert_eq!(one.text("SELECT COUNT(*) FROM t").unwrap(), ["40"]);
    assert_eq!(other.text("SELECT @@super_read_only").unwrap(), ["0"]);
}

/// How many partitions a node leads, as the management client shows it.
fn led_by(cluster: &StartedCluster, id: u64) -> usize {
    let mut command = Command::new(shoal_binary());
    command.arg("mgm").arg("--config").arg(cluster.config_file()).args(["--json", "-e", "show"]);
    let output = program::run(command, b"", COMMAND_DEADLINE, || false).unwrap();
    let shown: Value = serde_json::from_str(&output.text()).unwrap_or_default();
    let nodes = shown["nodes"].as_array().cloned().unwrap_or_default();
    let node = nodes.into_iter().find(|node| node["id"] == id).unwrap_or_default();
    node["leads"].as_array().map_or(0, Vec::len)
}

/// A transfer between two of a client's 16 rows in two statements.
fn transfer(client: &mut Client, first: u64, number: u64) -> Result<(), Error> {
    client.execute("BEGIN")?;
    client.execute(&format!("UPDATE t SET v=v-1 WHERE id={}", first + number % 16))?;
    client.execute(&format!("UPDATE t SET v=v+1 WHERE id={}", first + (number + 1) % 16))?;
    client.execute("COMMIT")?;
    Ok(())
}

#[test]
fn leading_follows_the_clients_and_no_transaction_notices() {
    let cluster = StartedCluster::start(&Layout::default());
    let mut client = cluster.client(2);
    run(&mut client, &["CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)"]);
    let rows: Vec<String> = (0..64).map(|id| format!("({id},0)")).collect();
    run(&mut client, &[&format!("INSERT INTO t VALUES {}", rows.join(","))]);
    let partitions = led_by(&cluster, 1) + led_by(&cluster, 2);
    assert!(led_by(&cluster, 1) > 0);
    // The work goes on while somebody looks: it is where it comes from over some seconds that counts, not what it was before a pause.
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for first in (0..64).step_by(16) {
            let (cluster, is_over) = (&cluster, &is_over);
            scope.spawn(move || {
                let mut client = cluster.client(2);
                for number in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    transfer(&mut client, first, number)
                        .unwrap_or_else(|error| panic!("transfer {number}: {error}"));
                }
            });
        }
        // Many that wait for node 1 at the same time: however busy the machine is, it answers all of them when its turn comes.
        for reader in 0..24 {
            let (cluster, is_over) = (&cluster, &is_over);
            scope.spawn(move || {
                let mut client = cluster.client(2);
                for number in (reader..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    client.text(&format!("SELECT v FROM t WHERE id={}", number % 64)).unwrap();
                }
            });
        }
        // Whatever comes of it, the clients end.
        let waited = std::panic::catch_unwind(AssertUnwindSafe(|| {
            wait_until("node 2 to lead everything", || led_by(&cluster, 2) == partitions);
        }));
        is_over.store(true, Ordering::Relaxed);
        waited.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert_eq!(client.text("SELECT SUM(v) FROM t").unwrap(), ["0"]);
}

#[test]
fn status_counts_the_data_nodes_of_the_cluster() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let mut nodes = Vec::new();
    for number in [1, 2] {
        let mut client = cluster.client(number);
        let mut value = |name: &str| {
            let sql = format!(
                "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='{name}'"
            );
            client.text(&sql).unwrap().join(" ")
        };
        assert_eq!(value("Ndb_number_of_data_nodes"), "2");
        wait_until("both are ready", || value("Ndb_number_of_ready_data_nodes") == "2");
        nodes.push(value("Ndb_cluster_node_id"));
    }
    assert_ne!(nodes[0], nodes[1]);
}

/// Rows of all partitions, whichever node leads them, are merged by key: what the golden script `row_order` says of one process.
#[test]
fn rows_without_order_by_come_in_the_order_of_their_keys_on_every_node() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(300), KEY (k))"]);
    // More rows than come in one batch of a partition.
    let ids: Vec<i64> = (0..3000).map(|number| number * 1_237 % 3_001 - 1500).collect();
    for part in ids.chunks(500) {
        let rows: Vec<String> = part.iter().map(|id| format!("({id},{},'{id}')", id.rem_euclid(7))).collect();
        run(&mut other, &[&format!("INSERT INTO t VALUES {}", rows.join(","))]);
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    let expected = |wanted: &dyn Fn(i64) -> bool| -> Vec<String> {
        sorted.iter().filter(|&&id| wanted(id)).map(i64::to_string).collect()
    };
    for client in [&mut one, &mut other] {
        assert_eq!(client.text("SELECT id FROM t").unwrap(), expected(&|_| true));
        assert_eq!(
            client.text("SELECT id FROM t WHERE s LIKE '%77'").unwrap(),
            expected(&|id| { id.abs() % 100 == 77 })
        );
        assert_eq!(client.text("SELECT id FROM t LIMIT 3").unwrap(), expected(&|_| true)[..3]);
        assert_eq!(client.text("SELECT id FROM t WHERE k = 4").unwrap(), expected(&|id| id.rem_euclid(7) == 4));
        let by_k = client.text("SELECT id, k FROM t FORCE INDEX (k) WHERE k IN (5, 2)").unwrap();
        let of = |k: i64| sorted.iter().filter(move |id| id.rem_euclid(7) == k).map(move |id| format!("{id},{k}"));
        assert_eq!(by_k, of(2).chain(of(5)).collect::<Vec<_>>());
        let listed = "SELECT id FROM t WHERE id IN (700, -3, 12, -1400, 8, 1311)";
        assert_eq!(client.text(listed).unwrap(), ["-1400", "-3", "8", "12", "700", "1311"]);
    }
    run(&mut other, &["DELETE FROM t LIMIT 10", "UPDATE t SET s = 'changed' WHERE k = 3 LIMIT 5"]);
    let left = &sorted[10..];
    let changed: Vec<String> =
        left.iter().filter(|id| id.rem_euclid(7) == 3).take(5).map(i64::to_string).collect();
    assert_eq!(one.text("SELECT id FROM t LIMIT 1").unwrap(), [left[0].to_string()]);
    assert_eq!(one.text("SELECT id FROM t WHERE s = 'changed'").unwrap(), changed);
}

#[test]
fn keys_of_prefixes_and_generated_ones_are_the_same_for_all_nodes() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE t (name VARCHAR(40), v INT, PRIMARY KEY (name(3)))"]);
    for number in 100..140 {
        run(&mut one, &[&format!("INSERT INTO t VALUES ('{number}-first', {number})")]);
        let error = other.execute(&format!("INSERT INTO t VALUES ('{number}-second', 0)")).err().unwrap();
        assert_eq!(error.errno(), 1062);
        assert!(error.to_string().contains(&format!("Duplicate entry '{number}' for key")), "{error}");
        let find = format!("SELECT v FROM t WHERE name = '{number}-first'");
        assert_eq!(other.text(&find).unwrap(), [number.to_string()]);
    }
    run(&mut other, &["UPDATE t SET name = CONCAT(name, '-changed') WHERE v < 120"]);
    let expected: Vec<String> = (100..140).map(|number: u32| number.to_string()).collect();
    assert_eq!(one.text("SELECT v FROM t").unwrap(), expected);
    run(&mut other, &["SET sql_generate_invisible_primary_key = ON", "CREATE TABLE g (v INT)"]);
    run(&mut other, &["INSERT INTO g VALUES (3), (1), (2)"]);
    assert_eq!(one.text("SELECT my_row_id, v FROM g").unwrap(), ["1,3", "2,1", "3,2"]);
}

/// The rows' hidden keys must not come from the AUTO_INCREMENT column's sequence, nor be alike on two nodes.
#[test]
fn windows_see_the_rows_of_all_partitions_on_every_node() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE w (id INT PRIMARY KEY, g INT, v INT)"]);
    let v = |id: i64| id * 37 % 101;
    let rows: Vec<String> = (0..500).map(|id| format!("({id},{},{})", id % 7, v(id))).collect();
    run(&mut one, &[&format!("INSERT INTO w VALUES {}", rows.join(","))]);
    let mut expected = Vec::new();
    for id in 0..500i64 {
        let group: Vec<i64> = (0..500).filter(|other| other % 7 == id % 7).collect();
        let rank = group.iter().filter(|other| v(**other) > v(id)).count() + 1;
        let before: Vec<i64> = group.iter().copied().filter(|other| *other <= id).collect();
        let sum: i64 = before.iter().rev().take(3).map(|other| v(*other)).sum();
        let lag = if before.len() > 1 { v(before[before.len() - 2]).to_string() } else { "NULL".to_owned() };
        expected.push(format!("{} {rank} {sum} {lag}", before.len()));
    }
    let sql = "SELECT CONCAT_WS(' ', n, r, s, IFNULL(l, 'NULL')) FROM (SELECT id, ROW_NUMBER() OVER w n, \
               RANK() OVER (PARTITION BY g ORDER BY v DESC) r, SUM(v) OVER (w ROWS 2 PRECEDING) s, LAG(v) OVER w l \
               FROM w WINDOW w AS (PARTITION BY g ORDER BY id)) q ORDER BY id";
    for client in [&mut one, &mut other] {
        assert_eq!(client.text(sql).unwrap(), expected);
        let top = "SELECT COUNT(*) FROM (SELECT v, MAX(v) OVER (PARTITION BY g) m FROM w) q WHERE v = m";
        let joined =
            "SELECT COUNT(*) FROM w JOIN (SELECT g, MAX(v) m FROM w GROUP BY g) q ON w.g = q.g AND w.v = m";
        assert_eq!(client.text(top).unwrap(), client.text(joined).unwrap());
    }
}

#[test]
fn rows_without_a_primary_key_are_numbered_one_by_one_and_all_kept() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE t (n INT AUTO_INCREMENT, v INT, KEY (n))"]);
    run(&mut one, &["INSERT INTO t (v) VALUES (1),(2)", "INSERT INTO t (v) VALUES (3)"]);
    assert_eq!(one.text("SELECT n FROM t ORDER BY v").unwrap(), ["1", "2", "3"]);
    for v in 10..60 {
        for client in [&mut one, &mut other] {
            run(client, &[&format!("INSERT INTO t (v) VALUES ({v}),({v})")]);
        }
    }
    assert_eq!(other.text("SELECT COUNT(*), COUNT(DISTINCT n) FROM t").unwrap(), ["203,203"]);
}

#[test]
fn every_node_has_query_logs_of_its_own() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(
        &mut one,
        &["SET GLOBAL slow_query_log=ON", "SET long_query_time=0", "CREATE TABLE t (id INT PRIMARY KEY)"],
    );
    run(&mut other, &["SET long_query_time=0", "INSERT INTO t VALUES (1)", "FLUSH LOGS"]);
    run(&mut one, &["INSERT INTO t VALUES (2)", "FLUSH LOGS"]);
    let path = |client: &mut Client| client.text("SELECT @@slow_query_log_file").unwrap().concat();
    let text = std::fs::read_to_string(path(&mut one)).unwrap();
    assert!(text.contains("use test;\n") && text.contains("\nINSERT INTO t VALUES (2);\n"), "{text}");
    assert!(!text.contains("VALUES (1)"), "{text}");
    assert_ne!(path(&mut one), path(&mut other));
    assert!(!std::path::Path::new(&path(&mut other)).exists());
}

#[test]
fn each_node_tells_what_its_own_sessions_have_done() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(&mut one, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,1),(2,2),(3,3),(4,4)"]);
    for id in 1..=4 {
        one.text(&format!("SELECT v FROM t WHERE id = {id}")).unwrap();
    }
    let reads = "SELECT COUNT_FETCH, COUNT_INSERT FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_NAME = 't'";
    assert_eq!(one.text(reads).unwrap(), ["4,4"]);
    assert_eq!(other.text(reads).unwrap(), ["0,0"]);
    let history =
        "SELECT COUNT(*) FROM performance_schema.events_statements_history WHERE SQL_TEXT LIKE 'SELECT v FROM t%'";
    assert_eq!(one.text(history).unwrap(), ["4"]);
    assert_eq!(other.text(history).unwrap(), ["0"]);
}

#[test]
fn checks_and_generated_columns_hold_on_every_node() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    run(
        &mut one,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0), twice INT AS (a * 2), KEY (twice))",
            "INSERT INTO t (id, a) VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
        ],
    );
    assert_eq!(other.text("SELECT id FROM t WHERE twice = 60").unwrap(), ["3"]);
    run(&mut other, &["UPDATE t SET a = a + 1"]);
    assert_eq!(one.text("SELECT twice FROM t ORDER BY id").unwrap(), ["22", "42", "62", "82"]);
    let refused = other.execute("UPDATE t SET a = a - 11 ORDER BY id").unwrap_err();
    assert!(refused.to_string().contains("3819"), "{refused}");
    run(&mut one, &["ALTER TABLE t ADD CONSTRAINT small CHECK (twice < 100)"]);
    let refused = other.execute("INSERT INTO t (id, a) VALUES (5, 50)").unwrap_err();
    assert!(refused.to_string().contains("'small'"), "{refused}");
    assert_eq!(other.text("SELECT SUM(a), SUM(twice) FROM t").unwrap(), ["104,208"]);
}

/// What clients that meet each other at foreign keys are told, and what comes of a node that dies.
fn is_expected(error: &Error) -> bool {
    told_by(error) == Told::Unknown || [1062, 1205, 1213, 1297, 1451, 1452, 1053, 2013].contains(&error.errno())
}

#[test]
fn no_orphan_is_left_when_leaders_die_under_clients_of_foreign_keys() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let sql_node = cluster.all().last().map(|node| node.id).unwrap();
    let mut client = cluster.client(sql_node);
    run(
        &mut client,
        &[
            "CREATE TABLE p (id INT PRIMARY KEY, code INT UNIQUE)",
            "CREATE TABLE c (id BIGINT PRIMARY KEY, p INT, code INT, \
             FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE, FOREIGN KEY (code) REFERENCES p (code))",
        ],
    );
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (cluster, stop) = (&cluster, &stop);
            scope.spawn(move || {
                let mut client = cluster.client(sql_node);
                let mut number = worker;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    number += 4;
                    let parent = (number * 7) % 9;
                    let sql = match number % 5 {
                        0 => format!("DELETE FROM p WHERE id = {parent}"),
                        1 => format!("INSERT INTO p VALUES ({parent}, {parent})"),
                        _ => format!(
                            "INSERT INTO c VALUES ({number}, {parent}, {parent}), ({number}000000, {parent}, NULL)"
                        ),
                    };
                    match client.execute(&sql) {
                        Ok(_) => {}
                        Err(error) if error.errno() == 0 => client = cluster.client(sql_node),
                        Err(error) => assert!(is_expected(&error), "{sql}: {error}"),
                    }
                }
            });
        }
        let rows =
            || cluster.client(sql_node).text("SELECT COUNT(*) FROM c").map(|rows| rows[0].parse().unwrap_or(0));
        let mut before = 0u64;
        for node in cluster.all().iter().filter(|node| node.id != sql_node) {
            wait_until("rows come", || rows().is_ok_and(|rows| rows > before + 20));
            cluster.kill_and_wait(node.id);
            before = 0;
        }
        wait_until("rows come", || rows().is_ok_and(|rows| rows > 20));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    for (column, parent) in [("p", "id"), ("code", "code")] {
        let orphans = format!(
            "SELECT COUNT(*) FROM c LEFT JOIN p ON p.{parent} = c.{column} WHERE c.{column} IS NOT NULL AND p.id IS NULL"
        );
        assert_eq!(client.text(&orphans).unwrap(), ["0"]);
    }
}

#[test]
fn multi_valued_indexes_find_the_rows_of_all_nodes() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let mut client = cluster.client(1);
    client
        .execute(
            "CREATE TABLE t (id INT PRIMARY KEY, doc JSON, KEY tags ((CAST(doc->'$.tags' AS UNSIGNED ARRAY))), \
             UNIQUE codes ((CAST(doc->'$.codes' AS SIGNED ARRAY))))",
        )
        .unwrap();
    let row = |id: i32| {
        let (one, other) = (id % 7, id % 11);
        format!("({id},'{{\"tags\":[{one},{other},{id}],\"codes\":[{id},-{id}]}}')")
    };
    let rows: Vec<String> = (1..=300).map(row).collect();
    client.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    client.execute("UPDATE t SET doc=JSON_SET(doc,'$.codes',CAST('[1000,1001]' AS JSON)) WHERE id=5").unwrap();
    client.execute("DELETE FROM t WHERE 8 MEMBER OF (doc->'$.tags')").unwrap();
    for node in cluster.sql_nodes() {
        let mut client = cluster.client(node);
        for condition in [
            "3 MEMBER OF (doc->'$.tags')",
            "JSON_OVERLAPS(doc->'$.tags','[1,2,10,250]')",
            "JSON_CONTAINS(doc->'$.tags','[1,2]')",
            "JSON_OVERLAPS(doc->'$.codes','[-4,4,1001]')",
        ] {
            let query = |hint: &str| format!("SELECT id FROM t {hint} WHERE {condition} ORDER BY id");
            let found = client.text(&query("FORCE INDEX (tags, codes)")).unwrap();
            assert!(!found.is_empty() && found == client.text(&query("IGNORE INDEX (tags, codes)")).unwrap());
        }
        let locked = "SELECT COUNT(*) FROM t WHERE JSON_OVERLAPS(doc->'$.tags','[1,2,3]') FOR UPDATE";
        let counted = "SELECT COUNT(*) FROM t IGNORE INDEX (tags) WHERE JSON_OVERLAPS(doc->'$.tags','[1,2,3]')";
        assert_eq!(client.text(locked).unwrap(), client.text(counted).unwrap());
        let error = client.execute("INSERT INTO t VALUES (1000,'{\"codes\":[7777,1001]}')").unwrap_err();
        assert_eq!(error.errno(), 1062, "{error}");
        client.execute("INSERT INTO t VALUES (1000,'{\"codes\":[7777,5]}')").unwrap();
        client.execute("DELETE FROM t WHERE id=1000").unwrap();
    }
}
