//! Temporary tables: what nobody else sees, and what is left of them.

use shoal_system_tests::{Client, Login, TestServer, Value, skip, target_is_mariadb, wait_until};

const MEBIBYTE: i64 = 1 << 20;

fn temporary_tables(client: &mut Client) -> i64 {
    TestServer::counter(client, "Shoal_temporary_tables")
}

fn temporary_bytes(client: &mut Client) -> i64 {
    TestServer::counter(client, "Shoal_memory_temporary_tables_bytes")
}

/// A temporary table `big` of so many rows of about a kilobyte.
fn fill(client: &mut Client, rows: u32) {
    client.execute("CREATE TEMPORARY TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(2000))").unwrap();
    client.execute("INSERT INTO big (pad) VALUES (REPEAT('x', 1000))").unwrap();
    let mut there = 1;
    while there < rows {
        // MySQL does not read a temporary table in the statement that writes it.
        client.execute("CREATE TEMPORARY TABLE half SELECT pad FROM big").unwrap();
        client.execute("INSERT INTO big (pad) SELECT pad FROM half").unwrap();
        client.execute("DROP TEMPORARY TABLE half").unwrap();
        there *= 2;
    }
}

#[test]
fn many_sessions_have_tables_of_the_same_name_and_none_sees_anothers() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (0, -1)");
    let mut sessions: Vec<Client> = (0..24).map(|_| server.client()).collect();
    for (number, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.text("SELECT v FROM t WHERE id=0").unwrap(), ["-1"]);
        session.execute("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, UNIQUE (v))").unwrap();
        session.execute(&format!("INSERT INTO t VALUES (0, {number}), (1, 1000)")).unwrap();
    }
    std::thread::scope(|scope| {
        for (number, session) in sessions.iter_mut().enumerate() {
            scope.spawn(move || {
                for round in 2..60 {
                    session.execute(&format!("INSERT INTO t VALUES ({round}, {})", 1000 + round)).unwrap();
                    session.execute("UPDATE t SET v=v+1000 WHERE id=1").unwrap();
                    session.execute("UPDATE t SET v=v-1000 WHERE id=1").unwrap();
                    // The text that found the other table's row has a plan of its own here.
                    assert_eq!(session.text("SELECT v FROM t WHERE id=0").unwrap(), [number.to_string()]);
                }
                assert_eq!(session.text("SELECT COUNT(*) FROM t").unwrap(), ["60"]);
                session.execute("DROP TABLE t").unwrap();
                assert_eq!(session.text("SELECT v FROM t WHERE id=0").unwrap(), ["-1"]);
            });
        }
    });
    assert_eq!(server.sql("SELECT * FROM t"), "0\t-1\n");
}

#[test]
fn the_binary_protocol_finds_the_temporary_table_while_there_is_one() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10)); INSERT INTO t VALUES (1, 'shared')");
    let mut client = server.client();
    let find = client.prepare("SELECT v FROM t WHERE id=?").unwrap();
    let add = client.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let found =
        |client: &mut Client| client.run_statement(&find, &[Value::Int(1)]).unwrap().rows().unwrap().text();
    assert_eq!(found(&mut client), ["shared"]);
    let make = client.prepare("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v VARCHAR(10))").unwrap();
    client.run_statement(&make, &[]).unwrap();
    assert!(found(&mut client).is_empty());
    client.run_statement(&add, &[Value::Int(1), Value::text("own")]).unwrap();
    assert_eq!(found(&mut client), ["own"]);
    client.execute("ALTER TABLE t ADD COLUMN w INT FIRST").unwrap();
    assert_eq!(found(&mut client), ["own"]);
    client.execute("DROP TABLE t").unwrap();
    assert_eq!(found(&mut client), ["shared"]);
}

#[test]
fn a_session_that_begins_anew_has_none_and_a_client_that_vanishes_leaves_none() {
    if target_is_mariadb() {
        return skip("the figures are Shoal's");
    }
    let server = TestServer::start();
    let mut watcher = server.client();
    let mut client = server.client();
    fill(&mut client, 4096);
    assert!(temporary_bytes(&mut watcher) > 4 * MEBIBYTE);
    client.reset_connection().unwrap();
    assert_eq!(client.execute("SELECT * FROM big").unwrap_err().errno(), 1146);
    wait_until("nothing is left of a reset connection", || temporary_bytes(&mut watcher) < MEBIBYTE);
    assert_eq!(temporary_tables(&mut watcher), 0);
    fill(&mut client, 256);
    client.change_user(&Login { database: "test".into(), ..Login::default() }).unwrap();
    assert_eq!(client.execute("SELECT * FROM big").unwrap_err().errno(), 1146);
    // Some go in the middle of a transaction, without a word.
    let used = TestServer::counter(&mut watcher, "Shoal_memory_used_bytes");
    for round in 0..8 {
        let mut vanishing = server.client();
        fill(&mut vanishing, 1024);
        vanishing.execute("CREATE TEMPORARY TABLE other LIKE big").unwrap();
        if round % 2 == 0 {
            vanishing.execute("BEGIN").unwrap();
            vanishing.execute("DELETE FROM big WHERE id % 2 = 0").unwrap();
            vanishing.execute("INSERT INTO other SELECT * FROM big").unwrap();
            vanishing.execute("DROP TEMPORARY TABLE big").unwrap();
        }
        drop(vanishing.into_stream());
    }
    wait_until("nothing is left of clients that have vanished", || {
        temporary_tables(&mut watcher) == 0 && temporary_bytes(&mut watcher) < MEBIBYTE
    });
    wait_until("their memory is free", || {
        TestServer::counter(&mut watcher, "Shoal_memory_used_bytes") < used + MEBIBYTE
    });
}

#[test]
fn memory_is_the_servers_and_one_that_does_not_fit_is_full() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let server = TestServer::start_with(&["--set", "DataMemory=24M"]);
    let mut client = server.client();
    client.execute("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(2000))").unwrap();
    let insert = format!("INSERT INTO t (pad) VALUES {}", vec!["(REPEAT('x', 1000))"; 100].join(","));
    let mut statements = 0;
    let refusal = loop {
        match client.execute(&insert) {
            Ok(_) => statements += 1,
            Err(error) => break error,
        }
        assert!(statements < 1000, "it is never full");
    };
    assert_eq!(refusal.errno(), 1114, "{refusal}");
    assert!(refusal.to_string().contains("'t'"), "{refusal}");
    assert!(statements > 50);
    assert_eq!(client.text("SELECT COUNT(*) FROM t").unwrap(), [(statements * 100).to_string()]);
    // Others have no room either, until it is gone.
    server.sql("CREATE TABLE shared (id INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(2000))");
    let mut other = server.client();
    let shared = insert.replacen("INTO t", "INTO shared", 1);
    let refused = (0..20).find_map(|_| other.execute(&shared).err());
    assert_eq!(refused.map(|error| error.errno()), Some(1114));
    client.execute("DROP TABLE t").unwrap();
    for _ in 0..50 {
        other.execute(&shared).unwrap();
    }
}

#[test]
fn what_goes_through_temporary_tables_leaves_nothing_behind() {
    if target_is_mariadb() {
        return skip("the figures are Shoal's");
    }
    let server = TestServer::start_with(&["--set", "DataMemory=64M"]);
    let mut client = server.client();
    // Each round writes 4 MiB: together far more than there is room for, in tables, logs or versions.
    for round in 0..40 {
        fill(&mut client, 2048);
        client.execute("UPDATE big SET pad=REVERSE(pad)").unwrap();
        match round % 4 {
            0 => {
                client.execute("DROP TEMPORARY TABLE big").unwrap();
            }
            1 => {
                client.execute("TRUNCATE TABLE big").unwrap();
                client.execute("DROP TABLE big").unwrap();
            }
            2 => {
                client.execute("BEGIN").unwrap();
                client.execute("DELETE FROM big").unwrap();
                client.execute("DROP TEMPORARY TABLE big").unwrap();
                client.execute("ROLLBACK").unwrap();
            }
            _ => client = server.client(),
        }
    }
    wait_until("all of it is gone", || temporary_bytes(&mut client) < MEBIBYTE);
}

#[test]
fn a_commit_is_one_for_temporary_and_other_tables_whatever_its_size() {
    let server = TestServer::start();
    server.sql("CREATE TABLE kept (id INT PRIMARY KEY, pad VARCHAR(2000))");
    let mut client = server.client();
    fill(&mut client, 8192);
    client.execute("BEGIN").unwrap();
    client.execute("INSERT INTO kept SELECT id, pad FROM big").unwrap();
    client.execute("UPDATE big SET pad='short'").unwrap();
    client.execute("SAVEPOINT s").unwrap();
    client.execute("DELETE FROM big").unwrap();
    client.execute("ROLLBACK TO s").unwrap();
    client.execute("COMMIT").unwrap();
    assert_eq!(client.text("SELECT COUNT(*) FROM big WHERE pad='short'").unwrap(), ["8192"]);
    assert_eq!(client.text("SELECT COUNT(*) FROM kept").unwrap(), ["8192"]);
    client.execute("BEGIN").unwrap();
    client.execute("DELETE FROM kept").unwrap();
    client.execute("DELETE FROM big").unwrap();
    client.execute("ROLLBACK").unwrap();
    assert_eq!(client.text("SELECT COUNT(*) FROM big").unwrap(), ["8192"]);
    assert_eq!(client.text("SELECT COUNT(*) FROM kept").unwrap(), ["8192"]);
    // A snapshot from before the table was made is in nobody's way.
    client.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    client.execute("CREATE TEMPORARY TABLE late SELECT id FROM kept").unwrap();
    assert_eq!(client.text("SELECT COUNT(*) FROM late JOIN big USING (id)").unwrap(), ["8192"]);
    client.execute("COMMIT").unwrap();
}

#[test]
fn who_may_create_them_in_a_database_may_do_anything_with_them() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY); CREATE DATABASE other; \
         CREATE USER maker IDENTIFIED WITH mysql_native_password BY 'x'; GRANT CREATE TEMPORARY TABLES ON test.* TO maker",
    );
    let mut maker = Client::log_in(server.port(), &Login::user("maker", "x")).unwrap();
    for allowed in [
        "CREATE TEMPORARY TABLE test.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO test.t VALUES (1, 1)",
        "UPDATE test.t SET v=2",
        "SELECT * FROM test.t",
        "SHOW CREATE TABLE test.t",
        "ALTER TABLE test.t ADD COLUMN w INT",
        "CREATE INDEX i ON test.t (w)",
        "DELETE FROM test.t",
        "TRUNCATE TABLE test.t",
        "CREATE TEMPORARY TABLE test.copy LIKE test.t",
        "DROP TABLE test.copy",
        "DROP TABLE test.t",
    ] {
        maker.run(allowed).unwrap_or_else(|error| panic!("{allowed}: {error}"));
    }
    for (refused, errno) in [
        ("SELECT * FROM test.t", 1142),
        ("DROP TABLE test.t", 1142),
        ("CREATE TEMPORARY TABLE test.copy LIKE test.t", 1142),
        ("CREATE TEMPORARY TABLE test.copy SELECT * FROM test.t", 1142),
        ("CREATE TEMPORARY TABLE other.t (id INT)", 1044),
        ("CREATE TABLE test.u (id INT)", 1142),
    ] {
        assert_eq!(maker.execute(refused).unwrap_err().errno(), errno, "{refused}");
    }
}

#[test]
fn a_server_that_is_read_only_takes_them() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY); CREATE USER u IDENTIFIED WITH mysql_native_password BY 'x'");
    server.sql("GRANT ALL ON test.* TO u; SET GLOBAL read_only = ON");
    let mut client =
        Client::log_in(server.port(), &Login { database: "test".into(), ..Login::user("u", "x") }).unwrap();
    for allowed in [
        "CREATE TEMPORARY TABLE own (id INT PRIMARY KEY)",
        "BEGIN",
        "INSERT INTO own VALUES (1), (2)",
        "UPDATE own SET id=id+10",
        "COMMIT",
        "ALTER TABLE own ADD COLUMN v INT",
        "TRUNCATE TABLE own",
        "DROP TABLE own",
    ] {
        client.execute(allowed).unwrap_or_else(|error| panic!("{allowed}: {error}"));
    }
    for refused in ["INSERT INTO t VALUES (1)", "DROP TABLE t", "CREATE TABLE u (id INT)"] {
        assert_eq!(client.execute(refused).unwrap_err().errno(), 1290, "{refused}");
    }
    server.sql("SET GLOBAL read_only = OFF");
}
