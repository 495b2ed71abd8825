//! Definitions in a cluster whose nodes die in the middle of things.

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_system_tests::cluster::{DevCluster, Layout, StartedCluster};
use shoal_system_tests::{Client, Error, wait_until};

const ROWS: u64 = 64;
const CLIENTS: u64 = 8;
/// The node with sessions alone, which dies.
const COORDINATOR: u32 = 4;
/// Of two changes each: more changes than are kept without a snapshot.
const USERS: u32 = 150;

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// The table `t` with enough rows that an ALTER TABLE by copy takes a while.
fn create_table_that_takes_time(client: &mut Client) {
    run(client, &["CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, c INT, pad VARCHAR(100))"]);
    run(client, &["INSERT INTO t (c, pad) VALUES (1, REPEAT('x', 100))"]);
    for _ in 0..15 {
        run(client, &["INSERT INTO t (c, pad) SELECT c, pad FROM t"]);
    }
}

/// A table that was copied had a sequence of its own, which began anew for the other nodes.
#[test]
fn numbers_go_on_when_another_node_has_copied_the_table() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let (mut writer, nodes) = (cluster.client(1), cluster.sql_nodes());
    run(
        &mut writer,
        &[
            "CREATE TABLE numbered (id BIGINT AUTO_INCREMENT PRIMARY KEY, c INT, d INT)",
            "CREATE TABLE keyless (c INT, d INT)",
        ],
    );
    for (round, alter) in ["DROP COLUMN d", "MODIFY c BIGINT", "ENGINE=InnoDB, FORCE"].into_iter().enumerate() {
        for table in ["numbered", "keyless"] {
            run(&mut writer, &[&format!("INSERT INTO {table} (c) VALUES (1),(2),(3),(4),(5)")]);
            run(&mut cluster.client(2), &[&format!("ALTER TABLE {table} {alter}, ALGORITHM=COPY")]);
            for &node in &nodes {
                run(&mut cluster.client(node), &[&format!("INSERT INTO {table} (c) VALUES (6)")]);
            }
            let rows = writer.text(&format!("SELECT COUNT(*) FROM {table}")).unwrap();
            assert_eq!(rows, [(8 * (round + 1)).to_string()], "{alter} of {table}");
        }
    }
    let made_of_others = [
        "CREATE TABLE selected AS SELECT c FROM keyless",
        "CREATE TABLE selected_with_id (id INT AUTO_INCREMENT PRIMARY KEY) AS SELECT c FROM keyless",
        "ALTER TABLE keyless ADD COLUMN id INT AUTO_INCREMENT PRIMARY KEY",
    ];
    for (table, definition) in ["selected", "selected_with_id", "keyless"].into_iter().zip(made_of_others) {
        run(&mut cluster.client(2), &[definition]);
        for &node in &nodes {
            run(&mut cluster.client(node), &[&format!("INSERT INTO {table} (c) VALUES (7)")]);
        }
        assert_eq!(writer.text(&format!("SELECT COUNT(*) FROM {table}")).unwrap(), ["27"], "{definition}");
    }
}

/// Moves something from one row to another; most pairs lie in partitions of two nodes.
fn transfer(client: &mut Client, number: u64) -> Result<(), Error> {
    let (from, to) = (number % ROWS, (number * 7 + 3) % ROWS);
    client.execute("BEGIN")?;
    client.execute(&format!("UPDATE t SET v=v-1 WHERE id={from}"))?;
    client.execute(&format!("UPDATE t SET v=v+1 WHERE id={to}"))?;
    client.execute("COMMIT")?;
    Ok(())
}

/// Clients of the coordinator at work, until it is gone.
fn work(cluster: &StartedCluster, started: &AtomicU64) {
    std::thread::scope(|scope| {
        for first in 0..CLIENTS {
            scope.spawn(move || {
                let Ok(mut client) = cluster.try_client(COORDINATOR) else { return };
                let mut number = first;
                // A deadlock or a new definition costs one of them; the coordinator's end costs all.
                let mut failures = 0;
                while failures < 50 {
                    match transfer(&mut client, number) {
                        Ok(()) => started.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Io(_)) => return,
                        Err(_) => {
                            failures += 1;
                            continue;
                        }
                    };
                    number += CLIENTS;
                }
            });
        }
        wait_until("transfers at the coordinator", || started.load(Ordering::Relaxed) > 200);
        cluster.kill(COORDINATOR);
    });
}

#[test]
fn rows_that_are_moved_to_a_new_definition_when_a_coordinator_dies_are_all_there_once() {
    let layout = Layout { sql_nodes: 1, ..Layout::default() };
    let mut cluster = StartedCluster::start(&layout);
    let mut client = cluster.client(1);
    run(&mut client, &["CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, name INT NOT NULL)"]);
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id},0,{id})")).collect();
    run(&mut client, &[&format!("INSERT INTO t VALUES {}", rows.join(","))]);
    let names: Vec<String> = (0..ROWS).map(|id| id.to_string()).collect();
    let by_name = format!("SELECT COUNT(*) FROM t WHERE name IN ({})", names.join(","));
    for round in 0..4 {
        work(&cluster, &AtomicU64::new(0));
        let definition = match round % 2 {
            0 => format!("ALTER TABLE t ADD COLUMN c{round} INT"),
            _ => format!("CREATE UNIQUE INDEX u{round} ON t (name)"),
        };
        run(&mut client, &["SET lock_wait_timeout=30", &definition]);
        for node in cluster.data_nodes() {
            let mut other = cluster.client(node);
            assert_eq!(
                other.text("SELECT SUM(v), COUNT(*) FROM t").unwrap(),
                [format!("0,{ROWS}")],
                "{definition}"
            );
            assert_eq!(other.text(&by_name).unwrap(), [ROWS.to_string()], "{definition}");
        }
        cluster.kill_node(COORDINATOR);
        cluster.start_again(COORDINATOR);
    }
}

#[test]
fn a_dictionary_with_a_long_past_is_the_same_for_whoever_starts_again() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let mut client = cluster.client(1);
    run(&mut client, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,2)"]);
    run(&mut client, &["CREATE TABLE gone (id INT PRIMARY KEY)", "DROP TABLE gone"]);
    for number in 0..USERS {
        run(&mut client, &[&format!("CREATE USER u{number}"), &format!("DROP USER u{number}")]);
    }
    run(&mut client, &["CREATE USER stays", "GRANT SELECT ON test.* TO stays", "ALTER TABLE t ADD KEY (v)"]);
    wait_until("the changes to be compacted", || cluster.logs().contains("are compacted"));
    let expected = client.text("SHOW CREATE TABLE t").unwrap();
    let same = |id: u32| {
        let mut client = cluster.client(id);
        assert_eq!(client.text("SHOW CREATE TABLE t").unwrap(), expected, "node {id}");
        assert_eq!(client.text("SELECT id FROM t WHERE v=2").unwrap(), ["1"], "node {id}");
        assert_eq!(client.text("SELECT user FROM mysql.user WHERE user LIKE '%stays%'").unwrap(), ["stays"]);
        client.execute("SELECT * FROM gone").unwrap_err();
    };
    cluster.kill_and_wait(2);
    same(2);
    // The one with the dictionary.
    cluster.kill_and_wait(3);
    run(&mut cluster.client(2), &["CREATE TABLE after_one (id INT PRIMARY KEY)"]);
    same(1);
    cluster.kill_all_and_wait();
    [1, 2].into_iter().for_each(same);
    run(&mut cluster.client(1), &["CREATE TABLE after_all (id INT PRIMARY KEY)", "DROP TABLE after_one"]);
}

/// A node that started once took the table that another node was filling for what a crash had left behind: all rows were lost.
#[test]
fn a_node_that_starts_leaves_alone_what_another_is_filling() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let mut client = cluster.client(1);
    create_table_that_takes_time(&mut client);
    let rows = client.text("SELECT COUNT(*) FROM t").unwrap();
    let (stop, done) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while stop.load(Ordering::Relaxed) == 0 {
                for sql in [
                    "ALTER TABLE t ADD COLUMN d INT DEFAULT 7, ALGORITHM=COPY",
                    "ALTER TABLE t DROP COLUMN d, ALGORITHM=COPY",
                ] {
                    match client.execute(sql) {
                        Err(Error::Server { errno: 1297 | 1412, .. }) => {}
                        // It had been made when its author was told otherwise, which errors say.
                        Err(Error::Server { errno: 1060 | 1091, .. }) => {}
                        other => drop(other.unwrap()),
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..4 {
            let before = done.load(Ordering::Relaxed);
            wait_until("more definitions", || done.load(Ordering::Relaxed) > before + 1);
            cluster.kill_and_wait(COORDINATOR);
        }
        stop.store(1, Ordering::Relaxed);
    });
    assert_eq!(cluster.client(2).text("SELECT COUNT(*) FROM t").unwrap(), rows);
}

/// A node that started while another one's ALTER TABLE copied rows once knew nothing of its locks: what it wrote meanwhile went with
/// the old table.
#[test]
fn what_is_written_at_a_node_that_starts_during_a_definition_is_kept() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let mut client = cluster.client(1);
    create_table_that_takes_time(&mut client);
    let stop = AtomicU64::new(0);
    let mut written = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while stop.load(Ordering::Relaxed) == 0 {
                match client.execute("ALTER TABLE t ENGINE=InnoDB, ALGORITHM=COPY") {
                    Err(Error::Server { errno: 1297 | 1412, .. }) => {}
                    other => drop(other.unwrap()),
                }
            }
        });
        for _ in 0..6 {
            cluster.kill_and_wait(COORDINATOR);
            let mut starting = cluster.client(COORDINATOR);
            for _ in 0..20 {
                let sql = "INSERT INTO t (c, pad) VALUES (2, 'y')";
                written += u64::from(starting.execute(sql).is_ok());
            }
        }
        stop.store(1, Ordering::Relaxed);
    });
    let kept = cluster.client(2).text("SELECT COUNT(*) FROM t WHERE c = 2").unwrap();
    assert_eq!(kept, [written.to_string()]);
}

/// Its definition waits for the table's users when the node dies. Nobody waits for it when they are done.
#[test]
fn a_table_that_a_dead_node_waited_for_is_free() {
    let mut cluster = StartedCluster::start(&Layout { sql_nodes: 1, ..Layout::default() });
    let (mut user, mut other) = (cluster.client(2), cluster.client(2));
    run(&mut user, &["CREATE TABLE t (id INT PRIMARY KEY, c INT)", "BEGIN", "INSERT INTO t VALUES (1, 1)"]);
    let mut definer = cluster.client(COORDINATOR);
    let defining = std::thread::spawn(move || definer.execute("ALTER TABLE t ADD INDEX (c)"));
    run(&mut other, &["SET innodb_lock_wait_timeout=1"]);
    let mut id = 1;
    wait_until("the definition to wait for the table", || {
        id += 1;
        matches!(other.execute(&format!("INSERT INTO t VALUES ({id}, 1)")), Err(Error::Server { errno: 1205, .. }))
    });
    cluster.kill_node(COORDINATOR);
    defining.join().unwrap().unwrap_err();
    let gone = format!("Node 2: Node {COORDINATOR} Disconnected");
    wait_until("the node to be missed", || cluster.logs().contains(&gone));
    run(&mut user, &["COMMIT"]);
    run(&mut other, &["SET innodb_lock_wait_timeout=20", &format!("INSERT INTO t VALUES ({id}, 1)")]);
    run(&mut user, &["ALTER TABLE t ADD COLUMN d INT"]);
}

/// Ends the threads of a test whatever becomes of it.
struct Ending<'a>(&'a AtomicU64);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(1, Ordering::Relaxed);
    }
}

/// Columns come and go without a copy, indexes are built beside writers, and nodes die meanwhile: rows of all versions stay what they
/// are, and every index has all of them.
#[test]
fn columns_and_indexes_come_and_go_while_nodes_die() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let mut client = cluster.client(COORDINATOR);
    run(&mut client, &["CREATE TABLE t (id BIGINT PRIMARY KEY, k INT, v VARCHAR(40))"]);
    let rows: Vec<String> = (0..5000).map(|id| format!("({id},{id},'row {id}')")).collect();
    run(&mut client, &[&format!("INSERT INTO t VALUES {}", rows.join(","))]);
    let stop = AtomicU64::new(0);
    let passes = |error: &Error| {
        !matches!(error, Error::Server { .. })
            || [1297, 1412, 1205, 1213, 1053].contains(&error.errno())
            || error.to_string().contains("may be committed or not")
    };
    let defined = AtomicU64::new(0);
    let written: u64 = std::thread::scope(|scope| {
        let ending = Ending(&stop);
        let writers: Vec<_> = (0..3_u64)
            .map(|writer| {
                let (cluster, stop) = (&cluster, &stop);
                scope.spawn(move || {
                    let mut client = cluster.client(COORDINATOR);
                    let mut written = 0;
                    for number in 0.. {
                        if stop.load(Ordering::Relaxed) != 0 {
                            break;
                        }
                        let id = 10_000 + number * 3 + writer;
                        let sql = match number % 3 {
                            0 => format!("UPDATE t SET k = k + 1, v = CONCAT(v, '') WHERE id = {}", number % 5000),
                            _ => format!("INSERT INTO t (id, k, v) VALUES ({id}, 1, 'new')"),
                        };
                        match client.execute(&sql) {
                            Ok(_) => written += u64::from(number % 3 != 0),
                            Err(error) if error.errno() == 0 => client = cluster.client(COORDINATOR),
                            // It may be there all the same: it is not counted, nor left there.
                            Err(error) => {
                                assert!(passes(&error), "{sql}: {error}");
                                let delete = format!("DELETE FROM t WHERE id = {id}");
                                wait_until("the row to be gone", || client.execute(&delete).is_ok());
                            }
                        }
                    }
                    written
                })
            })
            .collect();
        let definer = scope.spawn(|| {
            let mut client = cluster.client(COORDINATOR);
            while stop.load(Ordering::Relaxed) == 0 {
                for sql in [
                    "ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7 AFTER id",
                    "CREATE INDEX by_k ON t (k, v)",
                    "CREATE UNIQUE INDEX one ON t (k, id)",
                    "ALTER TABLE t ADD INDEX by_c (c), MODIFY v VARCHAR(50) FIRST",
                    "DROP INDEX one ON t",
                    "ALTER TABLE t DROP COLUMN c, DROP INDEX by_k",
                ] {
                    match client.execute(sql) {
                        // What was made when its author was told otherwise.
                        Err(Error::Server { errno: 1060 | 1061 | 1091 | 1072, .. }) => {}
                        Err(error) => assert!(passes(&error), "{sql}: {error}"),
                        Ok(_) => drop(defined.fetch_add(1, Ordering::Relaxed)),
                    }
                }
            }
        });
        for node in [1, 2, 1] {
            let before = defined.load(Ordering::Relaxed);
            wait_until("more definitions", || defined.load(Ordering::Relaxed) > before + 3);
            cluster.kill_and_wait(node);
        }
        let before = defined.load(Ordering::Relaxed);
        wait_until("more definitions", || defined.load(Ordering::Relaxed) > before + 3);
        drop(ending);
        definer.join().unwrap();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    let last = [
        "ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7",
        "CREATE INDEX by_k ON t (k)",
        "CREATE UNIQUE INDEX one ON t (k, id)",
    ];
    for sql in last {
        wait_until("the last definitions", || match client.execute(sql) {
            Ok(_) | Err(Error::Server { errno: 1060 | 1061, .. }) => true,
            Err(error) => {
                assert!(passes(&error), "{sql}: {error}");
                false
            }
        });
    }
    let count = (5000 + written).to_string();
    for node in cluster.sql_nodes() {
        let mut client = cluster.client(node);
        let by_unique_key = " JOIN t b FORCE INDEX (one) ON b.k = t.k AND b.id = t.id";
        for condition in ["", " WHERE c = 7", " WHERE v > ''", " FORCE INDEX (by_k) WHERE k >= 0", by_unique_key] {
            let sql = format!("SELECT COUNT(*) FROM t{condition}");
            assert_eq!(client.text(&sql).unwrap().concat(), count, "{sql}");
        }
        assert!(client.text("CHECK TABLE t").unwrap().concat().contains("OK"));
    }
}
