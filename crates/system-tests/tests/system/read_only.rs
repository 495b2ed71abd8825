//! `read_only` and `super_read_only`: whose writes are refused, and when.

use shoal_system_tests::handlersocket::HandlerSocketPorts;
use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

/// What changes rows, definitions or accounts, in tables that are there.
const WRITES: &[&str] = &[
    "INSERT INTO t VALUES (9, 9)",
    "INSERT INTO t SELECT id + 10, v FROM t",
    "REPLACE INTO t VALUES (1, 5)",
    "UPDATE t SET v = 2",
    "UPDATE t, other SET t.v = 3 WHERE t.id = other.id",
    "DELETE FROM t WHERE id = 77",
    "DELETE t FROM t, other WHERE t.id = other.id",
    "LOAD DATA LOCAL INFILE 'nothing' INTO TABLE t",
    "TRUNCATE TABLE t",
    "CREATE TABLE more (id INT PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)",
    "CREATE TABLE copy AS SELECT * FROM t",
    "DROP TABLE t",
    "DROP TABLE IF EXISTS nothing",
    "ALTER TABLE t ADD COLUMN w INT",
    "CREATE INDEX v ON t (v)",
    "RENAME TABLE t TO s",
    "CREATE DATABASE d",
    "DROP DATABASE test",
    "CREATE USER someone",
    "ALTER USER app IDENTIFIED BY 'x'",
    "SET PASSWORD FOR app = 'x'",
    "RENAME USER app TO somebody",
    "DROP USER app",
    "GRANT SELECT ON *.* TO app",
    "REVOKE INSERT ON *.* FROM app",
    "START TRANSACTION READ WRITE",
    "EXECUTE writer",
];

const READS: &[&str] = &[
    "SELECT * FROM t",
    "SELECT * FROM t FOR UPDATE",
    "SELECT COUNT(*) INTO @n FROM t",
    "SHOW TABLES",
    "ANALYZE TABLE t",
    "DROP TEMPORARY TABLE IF EXISTS t",
    "SET @x = 1",
    "SET SESSION sql_mode = ''",
    "DO 1",
    "EXPLAIN UPDATE t SET v = 1",
    "FLUSH PRIVILEGES",
    "BEGIN",
    "COMMIT",
    "START TRANSACTION READ ONLY",
    "COMMIT",
];

fn prepared(server: &TestServer) -> (Client, Client) {
    let mut root = server.client();
    root.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE other (id INT PRIMARY KEY); INSERT INTO t VALUES (1, 1);
         INSERT INTO other VALUES (1);
         CREATE USER app; GRANT ALL ON *.* TO app WITH GRANT OPTION; REVOKE SUPER, CONNECTION_ADMIN ON *.* FROM app",
    )
    .unwrap();
    let mut app = Client::log_in(server.port(), &Login::user("app", "")).unwrap();
    for client in [&mut root, &mut app] {
        client.run("USE test; PREPARE writer FROM 'INSERT INTO t VALUES (9, 9)'").unwrap();
    }
    (root, app)
}

fn assert_refused(client: &mut Client, option: &str) {
    for statement in WRITES {
        let error = client.execute(statement).map(|_| ()).expect_err(statement);
        assert_eq!(error.errno(), 1290, "{statement}: {error}");
        assert!(error.to_string().contains(&format!("the {option} option so it cannot")), "{statement}: {error}");
    }
}

fn assert_reads(client: &mut Client) {
    for statement in READS {
        if let Err(error) = client.run(statement) {
            panic!("{statement}: {error}");
        }
    }
    assert_eq!(client.text("SELECT id, v FROM t").unwrap(), ["1,1"]);
}

fn switches(client: &mut Client) -> [String; 2] {
    ["SELECT @@read_only", "SELECT @@super_read_only"].map(|question| client.text(question).unwrap().concat())
}

#[test]
fn read_only_refuses_the_writes_of_those_who_do_not_administer() {
    if target_is_mariadb() {
        return skip("MariaDB has other privileges");
    }
    let server = TestServer::start();
    let (mut root, mut app) = prepared(&server);
    root.execute("SET GLOBAL read_only = ON").unwrap();
    assert_refused(&mut app, "--read-only");
    assert_reads(&mut app);
    // Administrators go on, and so does whoever is given the right, from his next statement on.
    root.execute("INSERT INTO t VALUES (2, 2)").unwrap();
    root.execute("CREATE USER other").unwrap();
    root.execute("GRANT CONNECTION_ADMIN ON *.* TO app").unwrap();
    app.execute("INSERT INTO t VALUES (3, 3)").unwrap();
    root.execute("REVOKE CONNECTION_ADMIN ON *.* FROM app").unwrap();
    assert_eq!(app.execute("INSERT INTO t VALUES (4, 4)").err().unwrap().errno(), 1290);
    root.execute("SET GLOBAL read_only = OFF").unwrap();
    app.run("INSERT INTO t VALUES (4, 4); CREATE TABLE more (id INT PRIMARY KEY); EXECUTE writer").unwrap();
    assert_eq!(root.text("SELECT id FROM t ORDER BY id").unwrap(), ["1", "2", "3", "4", "9"]);
}

#[test]
fn super_read_only_refuses_the_writes_of_all_and_the_two_follow_each_other() {
    if target_is_mariadb() {
        return skip("MariaDB has no super_read_only");
    }
    let server = TestServer::start();
    let (mut root, mut app) = prepared(&server);
    assert_eq!(switches(&mut root), ["0", "0"]);
    root.execute("SET GLOBAL super_read_only = ON").unwrap();
    assert_eq!(switches(&mut root), ["1", "1"]);
    assert_refused(&mut root, "--super-read-only");
    assert_refused(&mut app, "--super-read-only");
    assert_reads(&mut root);
    root.execute("SET GLOBAL super_read_only = OFF").unwrap();
    assert_eq!(switches(&mut root), ["1", "0"]);
    root.execute("INSERT INTO t VALUES (2, 2)").unwrap();
    assert_eq!(app.execute("INSERT INTO t VALUES (3, 3)").err().unwrap().errno(), 1290);
    root.execute("SET GLOBAL super_read_only = 1").unwrap();
    root.execute("SET GLOBAL read_only = 0").unwrap();
    assert_eq!(switches(&mut root), ["0", "0"]);
    app.execute("INSERT INTO t VALUES (3, 3)").unwrap();
    assert_eq!(app.execute("SET SESSION read_only = ON").err().unwrap().errno(), 1229);
    root.execute("REVOKE SYSTEM_VARIABLES_ADMIN ON *.* FROM app").unwrap();
    assert_eq!(app.execute("SET GLOBAL read_only = ON").err().unwrap().errno(), 1227);
}

#[test]
fn a_transaction_that_has_written_is_rolled_back_when_it_commits() {
    if target_is_mariadb() {
        return skip("MariaDB commits it");
    }
    let server = TestServer::start();
    let (mut root, mut app) = prepared(&server);
    let mut reader = Client::log_in(server.port(), &Login::user("app", "")).unwrap();
    app.run("BEGIN; INSERT INTO t VALUES (2, 2)").unwrap();
    reader.run("USE test; BEGIN; SELECT * FROM t").unwrap();
    root.execute("SET GLOBAL read_only = ON").unwrap();
    let error = app.execute("COMMIT").err().unwrap();
    assert_eq!(error.errno(), 1290, "{error}");
    app.execute("COMMIT").unwrap();
    reader.execute("COMMIT").unwrap();
    assert_eq!(app.text("SELECT id FROM t").unwrap(), ["1"]);
    // Nobody waits for its locks.
    root.execute("INSERT INTO t VALUES (2, 20)").unwrap();
    // Statements that commit implicitly are refused as a commit is.
    root.execute("SET GLOBAL read_only = OFF").unwrap();
    app.run("SET autocommit = 0; INSERT INTO t VALUES (3, 3)").unwrap();
    root.execute("SET GLOBAL read_only = ON").unwrap();
    assert_eq!(app.execute("SET autocommit = 1").err().unwrap().errno(), 1290);
    assert_eq!(root.text("SELECT id FROM t ORDER BY id").unwrap(), ["1", "2"]);
    // Whoever has a transaction open does not set it.
    for begin in ["BEGIN", "LOCK TABLES t WRITE"] {
        root.execute(begin).unwrap();
        assert_eq!(root.execute("SET GLOBAL read_only = OFF").err().unwrap().errno(), 1192, "{begin}");
        root.run("COMMIT; UNLOCK TABLES").unwrap();
    }
}

#[test]
fn a_server_may_start_read_only() {
    if target_is_mariadb() {
        return skip("MariaDB has no super_read_only");
    }
    let mut server = TestServer::start();
    server.stop();
    server.server().setup_mut().arguments.extend(["--set", "super_read_only=ON"].map(str::to_owned));
    server.restart();
    let mut root = server.client();
    assert_eq!(switches(&mut root), ["1", "1"]);
    assert_eq!(root.execute("CREATE DATABASE d").err().unwrap().errno(), 1290);
    root.run("SET GLOBAL read_only = OFF; CREATE DATABASE d").unwrap();
}

#[test]
fn handlersocket_answers_readonly_to_writes_of_accounts_that_are_refused() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_account_wr=app@%"]);
    let (mut root, _) = prepared(&server);
    let mut writer = ports.writer();
    writer.follow(&[("P|0|test|t||id,v", "0|1"), ("0|+|2|2|2", "0|1")]);
    root.execute("SET GLOBAL read_only = ON").unwrap();
    let refused = [
        ("0|=|1|1", "0|2|1|1"),
        ("0|+|2|3|3", "2|1|readonly"),
        ("0|=|1|1|1|0|U|1|9", "2|1|readonly"),
        ("0|=|1|1|1|0|D", "2|1|readonly"),
        ("0|=|1|1|1|0|+?|0|1", "2|1|readonly"),
        ("0|=|1|2", "0|2|2|2"),
    ];
    writer.follow(&refused);
    // Those that would be written together are refused as well.
    let together = ["0|+|2|4|4", "0|+|2|5|5", "0|=|1|1|1|0|U|1|9", "0|=|1|2|1|0|U|2|9"];
    assert_eq!(writer.ask_all(&together), ["2|1|readonly"; 4]);
    root.execute("GRANT SUPER ON *.* TO app").unwrap();
    writer.follow(&[("0|+|2|3|3", "0|1"), ("0|=|1|3|1|0|D", "0|1|1")]);
    root.execute("SET GLOBAL super_read_only = ON").unwrap();
    writer.follow(&refused);
    root.execute("SET GLOBAL read_only = OFF").unwrap();
    writer.follow(&[("0|=|1|1|1|0|U|1|9", "0|1|1")]);
    assert_eq!(root.text("SELECT id, v FROM t ORDER BY id").unwrap(), ["1,9", "2,2"]);
}
