//! Temporary tables: what nobody else sees, and what is left of them.

use shoal_system_tests::{Client, Login, Reply, TestServer, Value, skip, target_is_mariadb, wait_until};

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
    let listed = "SELECT COUNT(*), MIN(N_COLS) FROM information_schema.INNODB_TEMP_TABLE_INFO";
    let is_shoal = !target_is_mariadb();
    for (number, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.text("SELECT v FROM t WHERE id=0").unwrap(), ["-1"]);
        session.execute("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, UNIQUE (v))").unwrap();
        session.execute(&format!("INSERT INTO t VALUES (0, {number}), (1, 1000)")).unwrap();
    }
    assert!(!is_shoal || server.sql(listed) == "24\t5\n");
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
    assert!(!is_shoal || server.sql(listed) == "0\tNULL\n");
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

/// Has a session run a statement without end, ends that, and hands the session back.
fn kill_in_the_middle(server: &TestServer, mut session: Client, sql: &str) -> Client {
    let id = session.connection_id();
    let running = std::thread::scope(|scope| {
        let statement = scope.spawn(|| (session.execute(sql).map(drop), session));
        let mut watcher = server.client();
        let seen =
            format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID={id} AND COMMAND='Query'");
        wait_until("it runs", || watcher.text(&seen).unwrap() == ["1"]);
        watcher.execute(&format!("KILL QUERY {id}")).unwrap();
        statement.join().unwrap()
    });
    let (outcome, session) = running;
    assert_eq!(outcome.unwrap_err().errno(), 1317, "{sql}");
    session
}

#[test]
fn a_definition_that_is_killed_half_way_leaves_nothing() {
    let server = TestServer::start();
    let mut session = server.client();
    fill(&mut session, 2048);
    server.sql("CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, v INT)");
    session.execute("INSERT INTO n (v) SELECT id FROM big").unwrap();
    let endless = "SELECT a.id FROM n a, n b, n c, n d WHERE a.id+b.id+c.id+d.id > 0";
    for definition in ["CREATE TABLE half", "CREATE TEMPORARY TABLE half"] {
        session = kill_in_the_middle(&server, session, &format!("{definition} {endless}"));
        assert_eq!(session.execute("SELECT * FROM half").unwrap_err().errno(), 1146, "{definition}");
    }
    session.execute("BEGIN").unwrap();
    session.execute("UPDATE big SET pad='kept' WHERE id=1").unwrap();
    session = kill_in_the_middle(&server, session, &format!("CREATE TEMPORARY TABLE half {endless}"));
    session.execute("CREATE TEMPORARY TABLE half (id INT)").unwrap();
    session.execute("COMMIT").unwrap();
    assert_eq!(session.text("SELECT pad FROM big WHERE id=1").unwrap(), ["kept"]);
    session.execute("DROP TABLE half").unwrap();
    let tables = || target_is_mariadb() || temporary_tables(&mut session) == 1;
    wait_until("nothing is left but what was there", tables);
}

#[test]
fn what_belongs_to_the_table_that_is_hidden_is_not_the_temporary_ones() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE log (n INT); \
         CREATE TABLE child (p INT, FOREIGN KEY (p) REFERENCES t (id) ON DELETE CASCADE); \
         CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
         INSERT INTO t VALUES (1); INSERT INTO child VALUES (1)",
    );
    let mut client = server.client();
    client.execute("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, KEY ((v + id)))").unwrap();
    client.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)").unwrap();
    client.execute("DELETE FROM t WHERE v + id = 2").unwrap();
    assert_eq!(client.text("SELECT id FROM t WHERE v + id > 2 ORDER BY id").unwrap(), ["2", "3"]);
    assert_eq!(client.text("SELECT n FROM log").unwrap(), ["1"]);
    assert_eq!(client.text("SELECT p FROM child").unwrap(), ["1"]);
    // The parent is looked for where all see it.
    client.execute("INSERT INTO child VALUES (1)").unwrap();
    assert_eq!(client.execute("INSERT INTO child VALUES (2)").unwrap_err().errno(), 1452);
    let trigger = "CREATE TRIGGER own AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id)";
    assert_eq!(client.execute(trigger).unwrap_err().errno(), 1361);
    client.execute("DROP TABLE t").unwrap();
    client.execute("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(client.text("SELECT n FROM log ORDER BY n").unwrap(), ["1", "2"]);
    client.execute("SET sql_generate_invisible_primary_key=ON").unwrap();
    client.execute("CREATE TEMPORARY TABLE keyless (a INT)").unwrap();
    client.execute("INSERT INTO keyless VALUES (5)").unwrap();
    assert_eq!(client.text("SELECT my_row_id, a FROM keyless").unwrap(), ["1,5"]);
    client.execute("SET sql_generate_invisible_primary_key=OFF, sql_require_primary_key=ON").unwrap();
    assert_eq!(client.execute("CREATE TEMPORARY TABLE none (a INT)").unwrap_err().errno(), 3750);
}

#[test]
fn stored_programs_use_the_callers_temporary_tables() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); \
         CREATE PROCEDURE counted() SELECT COUNT(*) FROM t; \
         CREATE FUNCTION sum_of() RETURNS INT READS SQL DATA RETURN (SELECT SUM(id) FROM t)",
    );
    let mut client = server.client();
    client
        .execute(
            "CREATE PROCEDURE fill(n INT) BEGIN CREATE TEMPORARY TABLE made (id INT PRIMARY KEY); \
             WHILE n > 0 DO INSERT INTO made VALUES (n); SET n = n - 1; END WHILE; END",
        )
        .unwrap();
    let counted = |client: &mut Client| match client.run("CALL counted()").unwrap().remove(0) {
        Reply::Rows(rows) => rows.text(),
        other => panic!("{other:?}"),
    };
    client.run("CALL fill(5)").unwrap();
    assert_eq!(client.text("SELECT COUNT(*) FROM made").unwrap(), ["5"]);
    assert_eq!(client.execute("CALL fill(5)").unwrap_err().errno(), 1050);
    assert_eq!(counted(&mut client), ["2"]);
    assert_eq!(client.text("SELECT sum_of()").unwrap(), ["3"]);
    client.execute("CREATE TEMPORARY TABLE t SELECT id * 10 AS id FROM made").unwrap();
    assert_eq!(counted(&mut client), ["5"]);
    assert_eq!(client.text("SELECT sum_of()").unwrap(), ["150"]);
    client.execute("DROP TABLE t").unwrap();
    assert_eq!(counted(&mut client), ["2"]);
    assert_eq!(client.text("SELECT sum_of()").unwrap(), ["3"]);
}
