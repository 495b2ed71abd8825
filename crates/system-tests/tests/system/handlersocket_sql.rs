//! HandlerSocket and SQL are two doors to the same rows, locks, definitions and privileges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shoal_system_tests::handlersocket::HandlerSocketPorts;
use shoal_system_tests::{TestServer, skip, target_is_mariadb, wait_until};

#[test]
fn definitions_are_never_kept_waiting_by_open_indexes_which_follow_them() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY (b)); INSERT INTO t VALUES (1,10,100)")
        .unwrap();
    let mut writer = ports.writer();
    writer.follow(&[
        ("P|0|test|t||id,a|b", "0|1"),
        ("P|1|test|t|b|a,b", "0|1"),
        ("0|=|1|1", "0|2|1|10"),
        ("1|=|1|100", "0|2|10|100"),
    ]);
    client.run("SET lock_wait_timeout=5; ALTER TABLE t ADD COLUMN first VARCHAR(9) DEFAULT 'x' FIRST").unwrap();
    writer.follow(&[("0|=|1|1", "0|2|1|10"), ("1|=|1|100", "0|2|10|100"), ("0|+|2|2|20", "0|1")]);
    client.run("ALTER TABLE t DROP INDEX b").unwrap();
    writer.follow(&[("0|=|1|2", "0|2|2|20"), ("1|=|1|100", "2|1|idxnum")]);
    client.run("ALTER TABLE t DROP COLUMN a").unwrap();
    writer.follow(&[("0|=|1|1", "2|1|fld"), ("0|+|1|3", "2|1|fld")]);
    client.run("ALTER TABLE t ADD COLUMN a INT DEFAULT 5").unwrap();
    writer.follow(&[("0|=|1|1", "0|2|1|5")]);
    client.run("RENAME TABLE t TO u").unwrap();
    writer.follow(&[("0|=|1|1", "1|1|open_table")]);
    client
        .run("CREATE TABLE t (a INT, id VARCHAR(5) PRIMARY KEY, b INT); INSERT INTO t VALUES (7,'1',NULL)")
        .unwrap();
    writer.follow(&[("0|=|1|1", "0|2|1|7")]);
    client.run("TRUNCATE TABLE t").unwrap();
    writer.follow(&[("0|=|1|1", "0|2")]);
    client.run("DROP TABLE t, u").unwrap();
    writer.follow(&[("0|=|1|1", "1|1|open_table")]);
}

#[test]
fn clients_have_the_rights_of_the_ports_account_as_they_are_now() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_account_wr=app@%"]);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE hidden (id INT PRIMARY KEY)").unwrap();
    let mut writer = ports.writer();
    assert_eq!(writer.ask("P|0|test|t||id,v"), "3|1|denied");
    client.run("CREATE USER app; GRANT SELECT ON test.t TO app").unwrap();
    writer.follow(&[
        ("P|0|test|t||id,v", "0|1"),
        ("P|1|test|hidden||id", "3|1|denied"),
        ("0|=|1|1", "0|2"),
        ("0|+|2|1|1", "3|1|denied"),
    ]);
    client.run("GRANT INSERT ON test.t TO app").unwrap();
    writer.follow(&[("0|+|2|1|1", "0|1"), ("0|=|1|1|1|0|U|1|2", "3|1|denied"), ("0|=|1|1|1|0|D", "3|1|denied")]);
    client.run("GRANT UPDATE ON test.t TO app; REVOKE SELECT ON test.t FROM app").unwrap();
    writer.follow(&[("0|=|1|1|1|0|U|1|2", "3|1|denied"), ("0|=|1|1", "3|1|denied"), ("0|+|2|2|1", "0|1")]);
    client.run("GRANT SELECT ON test.t TO app").unwrap();
    writer.follow(&[("0|=|1|1|1|0|U|1|2", "0|1|1")]);
    // No secret was said, so a password is in the way.
    client.run("ALTER USER app IDENTIFIED BY 'reef'").unwrap();
    writer.follow(&[("0|=|1|1", "3|1|denied")]);
    client.run("DROP USER app").unwrap();
    writer.follow(&[("0|=|1|1", "3|1|denied")]);
    assert_eq!(ports.reader().ask("P|0|test|hidden||id"), "0|1");
}

#[test]
fn a_write_waits_for_the_locks_of_transactions_and_gives_up_in_time() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_wrlock_timeout=1"]);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1,1),(2,2)").unwrap();
    let mut writer = ports.writer();
    writer.follow(&[("P|0|test|t||v", "0|1")]);
    client.run("BEGIN; UPDATE t SET v=10 WHERE id=1").unwrap();
    writer.follow(&[("0|=|1|1", "0|1|1"), ("0|=|1|1|1|0|+|1", "1|1|146"), ("0|=|1|2|1|0|+|1", "0|1|1")]);
    writer.send(b"0\t=\t1\t1\t1\t0\t+\t1\n");
    client.run("COMMIT").unwrap();
    assert_eq!(writer.answer(), "0|1|1");
    assert_eq!(client.text("SELECT v FROM t ORDER BY id").unwrap(), ["11", "3"]);
}

#[test]
fn batches_that_deadlock_are_run_again_and_lose_nothing() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    const ROUNDS: usize = 200;
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1,0),(2,0),(3,0),(4,0)")
        .unwrap();
    let workers = (0..4usize).map(|worker| {
        thread::spawn(move || {
            let mut writer = ports.writer();
            assert_eq!(writer.ask("P|0|test|t||v"), "0|1");
            for round in 0..ROUNDS {
                let keys = (0..4).map(|place| if worker % 2 == 0 { place } else { 3 - place });
                let requests: Vec<String> =
                    keys.map(|key| format!("0|=|1|{}|1|0|+|1", (key + round) % 4 + 1)).collect();
                let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
                assert_eq!(writer.ask_all(&requests), ["0|1|1"; 4]);
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.join().unwrap();
    }
    let expected = (4 * ROUNDS).to_string();
    assert_eq!(client.text("SELECT v FROM t ORDER BY id").unwrap(), vec![expected; 4]);
}

#[test]
fn both_doors_see_one_history_of_a_row() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    server.client().run("CREATE TABLE t (id INT PRIMARY KEY, v BIGINT); INSERT INTO t VALUES (1,0)").unwrap();
    let over = AtomicBool::new(false);
    let mut reader = ports.reader();
    let mut reading_client = server.client();
    assert_eq!(reader.ask("P|0|test|t||v"), "0|1");
    thread::scope(|scope| {
        let (server, over) = (&server, &over);
        scope.spawn(move || {
            let (mut writer, mut client) = (ports.writer(), server.client());
            assert_eq!(writer.ask("P|0|test|t||v"), "0|1");
            for _ in 0..300 {
                assert_eq!(writer.ask("0|=|1|1|1|0|+|1"), "0|1|1");
                client.execute("UPDATE t SET v=v+1 WHERE id=1").unwrap();
            }
            over.store(true, Ordering::Release);
        });
        let mut last = 0u64;
        let mut see = |text: &str| {
            let seen: u64 = text.parse().unwrap();
            assert!(seen >= last, "{seen} after {last}");
            last = seen;
        };
        while !over.load(Ordering::Acquire) {
            see(reader.ask("0|=|1|1").strip_prefix("0|1|").unwrap());
            see(&reading_client.text("SELECT v FROM t WHERE id=1").unwrap()[0]);
        }
    });
    assert_eq!(reader.ask("0|=|1|1"), "0|1|600");
}

#[test]
fn what_was_answered_is_there_after_a_crash() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (mut server, ports) = HandlerSocketPorts::start(&[]);
    server.client().run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let mut writer = ports.writer();
    assert_eq!(writer.ask("P|0|test|t||id"), "0|1");
    let requests: Vec<String> = (0..500).map(|id| format!("0|+|1|{id}")).collect();
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    assert!(writer.ask_all(&requests).iter().all(|answer| answer == "0|1"));
    server.kill();
    server.restart();
    assert_eq!(server.client().text("SELECT COUNT(*) FROM t").unwrap(), ["500"]);
}

#[test]
fn the_door_counts_and_closes_in_good_order() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (mut server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let mut writer = ports.writer();
    writer.follow(&[
        ("P|0|test|t||id", "0|1"),
        ("P|0|test|t||id", "0|1"),
        ("0|+|1|1", "0|1"),
        ("0|=|1|1", "0|1|1"),
    ]);
    let mut count = |name: &str| TestServer::counter(&mut client, name);
    let counted = ["Hs_connections", "Hs_table_open", "Hs_table_close", "Hs_inserts", "Hs_finds"].map(&mut count);
    assert_eq!(counted, [1, 2, 1, 1, 1]);
    assert!(count("Hs_table_lock") >= 2 && count("Hs_table_lock") == count("Hs_table_unlock"));
    drop(writer);
    wait_until("the index to be closed", || count("Hs_table_close") == 2);
    let mut idle = ports.reader();
    idle.stream().set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    server.stop();
    assert_eq!(idle.answer(), "closed");
}
