//! What connections may hold: limits of one and of all, and clients that do not read what they have asked for.

use std::process::{Child, Command, Stdio};

use shoal_system_tests::{Client, Login, TestServer, Value, process, wait_until};

const MIB: u64 = 1 << 20;

/// With tables, and the account `plain`, which may raise no limits.
fn server(settings: &[&str]) -> TestServer {
    let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let server = TestServer::start_with(&arguments);
    server.sql(
        "CREATE USER plain; GRANT ALL ON test.* TO plain;
         CREATE TABLE t (id INT PRIMARY KEY, k INT, pad VARCHAR(500));
         INSERT INTO t SELECT a.n * 100 + b.n, a.n, REPEAT('p', 480) FROM
           (WITH d AS (SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION
             SELECT 7 UNION SELECT 8 UNION SELECT 9) SELECT x.n * 100 + y.n * 10 + z.n AS n FROM d x, d y, d z) a,
           (WITH d AS (SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION
             SELECT 7 UNION SELECT 8 UNION SELECT 9) SELECT x.n * 10 + y.n AS n FROM d x, d y) b",
    );
    server
}

fn plain(server: &TestServer) -> Result<Client, u16> {
    let login = Login { user: "plain".into(), database: "test".into(), ..Login::default() };
    Client::log_in(server.port(), &login).map_err(|error| error.errno())
}

fn held(server: &TestServer) -> u64 {
    TestServer::counter(&mut server.client(), "Global_connection_memory") as u64
}

const HUNGRY: [&str; 11] = [
    "SELECT * FROM t ORDER BY k, pad DESC, id DESC",
    "SELECT pad, id, COUNT(*) FROM t GROUP BY pad, id",
    "SELECT DISTINCT pad, id FROM t",
    "SELECT a.id FROM t a JOIN (SELECT id, pad, RAND() r FROM t) b ON a.pad = b.pad AND a.id = b.id",
    "SELECT LENGTH(GROUP_CONCAT(pad)) FROM t",
    "SELECT (SELECT COUNT(*) FROM (SELECT DISTINCT pad, id FROM t) u)",
    "SELECT id, pad, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) FROM t",
    "SELECT id, RANK() OVER (ORDER BY CONCAT(pad, id)) FROM t",
    "(SELECT pad, id FROM t) UNION (SELECT pad, id FROM t) ORDER BY id",
    "WITH RECURSIVE r AS (SELECT 1 AS n, pad FROM t UNION ALL SELECT n + 1, pad FROM r WHERE n < 3) SELECT COUNT(*) FROM r",
    "SELECT COUNT(*), MAX(pad) FROM (SELECT 1 AS one) o, LATERAL (SELECT one, pad FROM t) l",
];

#[test]
fn a_connection_that_holds_too_much_is_told_so_and_closed() {
    let server = server(&["connection_memory_limit=4M", "group_concat_max_len=1G"]);
    for sql in HUNGRY {
        let mut client = plain(&server).unwrap();
        let error = client.query(sql).expect_err(sql);
        assert_eq!(error.errno(), 4082, "{sql}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("Connection closed. Connection memory limit 4194304 bytes exceeded. Consumed "),
            "{text}"
        );
        assert!(client.ping().is_err(), "{sql}: the connection goes on");
    }
    let mut root = server.client();
    for sql in HUNGRY {
        root.query(sql).unwrap_or_else(|error| panic!("an administrator has no limit: {sql}: {error}"));
    }
    let mut client = plain(&server).unwrap();
    assert_eq!(client.query("SELECT * FROM t").unwrap().rows.len(), 100_000, "what is sent is not held");
    assert_eq!(client.execute("SET connection_memory_limit=DEFAULT").unwrap_err().errno(), 1227);
    assert_eq!(client.execute("SET global_connection_memory_tracking=ON").unwrap_err().errno(), 1227);
    root.execute("SET GLOBAL connection_memory_limit=1").unwrap();
    assert_eq!(root.text("SELECT @@GLOBAL.connection_memory_limit").unwrap(), ["2097152"], "there is a least");
}

#[test]
fn what_a_connection_keeps_between_statements_counts() {
    let server = server(&["connection_memory_limit=6M"]);
    let piece = vec![b'x'; 600_000];
    // Values that come ahead of their statement.
    let mut client = plain(&server).unwrap();
    let statement = client.prepare("SELECT LENGTH(?), LENGTH(?)").unwrap();
    for parameter in [0, 1] {
        client.send_long_data(&statement, parameter, &piece).unwrap();
    }
    let done = client.run_statement(&statement, &[Value::Null, Value::Null]);
    assert!(done.is_ok(), "{done:?}");
    let refused = (0..20).find_map(|_| {
        client
            .send_long_data(&statement, 0, &piece)
            .err()
            .map(|_| 0)
            .or_else(|| client.send_long_data(&statement, 1, &piece).err().map(|_| 0))
    });
    let errno = refused.unwrap_or_else(|| client.ping().unwrap_err().errno());
    assert!(errno == 4082 || errno == 0, "{errno}");
    // User variables.
    let mut client = plain(&server).unwrap();
    let error = (0..20).find_map(|number| client.execute(&format!("SET @v{number} = REPEAT('x', 600000)")).err());
    assert_eq!(error.unwrap().errno(), 4082);
    let mut client = plain(&server).unwrap();
    let error = (0..20)
        .find_map(|number| client.query(&format!("SELECT LENGTH(@v{number} := REPEAT('x', 600000))")).err());
    assert_eq!(error.unwrap().errno(), 4082);
    // A variable that is set again does not count twice.
    let mut client = plain(&server).unwrap();
    for _ in 0..50 {
        client.execute("SET @same = REPEAT('x', 600000)").unwrap();
    }
    // One packet, prepared statements and cursors.
    let mut client = plain(&server).unwrap();
    let error = client.query(&format!("SELECT LENGTH('{}')", "x".repeat(7_000_000))).unwrap_err();
    assert!(matches!(error.errno(), 4082 | 0), "{error}");
    let mut client = plain(&server).unwrap();
    let text = format!("SELECT 1 IN ({})", vec!["1"; 20_000].join(","));
    let error = (0..50).find_map(|_| client.prepare(&text).err());
    assert_eq!(error.unwrap().errno(), 4082);
    assert!(client.ping().is_err());
}

#[test]
fn long_data_without_memory_is_refused_at_the_execution() {
    let server = server(&["DataMemory=64M"]);
    let mut client = plain(&server).unwrap();
    let statements: Vec<_> = (0..40).map(|_| client.prepare("SELECT LENGTH(?)").unwrap()).collect();
    let piece = vec![b'x'; 60_000];
    for statement in &statements {
        for _ in 0..100 {
            client.send_long_data(statement, 0, &piece).unwrap();
        }
    }
    let outcomes: Vec<u16> = statements
        .iter()
        .map(|statement| client.run_statement(statement, &[Value::Null]).err().map_or(0, |error| error.errno()))
        .collect();
    assert!(outcomes.contains(&0) && outcomes.contains(&1041), "{outcomes:?}");
    assert!(outcomes.iter().all(|errno| matches!(errno, 0 | 1041)), "{outcomes:?}");
    let after: Vec<_> = client.query("SHOW STATUS LIKE 'Shoal_memory_statements_bytes'").unwrap().text();
    let bytes: u64 = after[0].rsplit(',').next().unwrap().parse().unwrap();
    assert!(bytes < MIB, "{bytes} bytes are still counted");
}

#[test]
fn all_connections_together_have_a_limit_and_are_counted() {
    let server = server(&["global_connection_memory_tracking=ON", "global_connection_memory_limit=24M"]);
    assert!(held(&server) > 0);
    let mut clients: Vec<Client> = (0..4).map(|_| plain(&server).unwrap()).collect();
    let statement = "SELECT id, pad FROM t WHERE id < 20000 ORDER BY pad, id DESC";
    let before = held(&server);
    let mut refused = 0;
    let mut cursors = Vec::new();
    for client in &mut clients {
        let prepared = client.prepare(statement).unwrap();
        match client.open_cursor(&prepared, &[]) {
            Ok(_) => cursors.push(prepared),
            Err(error) => {
                assert_eq!(error.errno(), 4081, "{error}");
                assert!(
                    error.to_string().contains("Global connection memory limit 25165824 bytes exceeded."),
                    "{error}"
                );
                assert!(client.ping().is_err());
                refused += 1;
            }
        }
    }
    assert!(!cursors.is_empty() && refused > 0, "{} and {refused}", cursors.len());
    let full = held(&server);
    assert!(full > before + 8 * MIB && full <= 25 * MIB, "{before}, then {full}");
    server.client().query(HUNGRY[0]).expect("administrators are not limited");
    drop(clients);
    wait_until("everything is given back", || held(&server) < before);
    server.sql("SET GLOBAL global_connection_memory_tracking=OFF");
    wait_until("nobody is counted", || held(&server) == 0);
}

/// More than sockets buffer, compressed or not.
const UNREAD: &str =
    "SELECT id, SHA2(id, 512), SHA2(id + 0.1, 512), SHA2(id + 0.2, 512), SHA2(id + 0.3, 512), 'unread' FROM t";

/// A client program whose output nobody reads.
fn stuck(server: &TestServer, options: &[&str]) -> Child {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "--host=127.0.0.1", "--user=root", "--quick", "--batch", "--database=test"])
        .arg(format!("--port={}", server.port()))
        .args(options)
        .args(["-e", UNREAD]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn clients_that_do_not_read_cost_no_memory() {
    let server = server(&[]);
    let mut client = server.client();
    client.query(UNREAD).unwrap();
    let before = process::resident_bytes(server.process()).unwrap();
    let mut silent: Vec<Client> = (0..8).map(|_| server.client()).collect();
    for client in &mut silent {
        client.send_query(UNREAD).unwrap();
    }
    let options: [&[&str]; 4] =
        [&["--skip-ssl"], &["--ssl"], &["--compress", "--skip-ssl"], &["--compress", "--ssl"]];
    let mut programs: Vec<Child> = options.iter().map(|options| stuck(&server, options)).collect();
    let sent = |client: &mut Client| TestServer::counter(client, "Bytes_sent");
    let mut last = sent(&mut client);
    let mut quiet = 0;
    // The figure is a second old at most.
    wait_until("nothing is sent any more", || {
        client.query("SELECT COUNT(*), MAX(pad) FROM t WHERE id < 5000").unwrap();
        let now = sent(&mut client);
        quiet = if now - last < 1_000_000 { quiet + 1 } else { 0 };
        last = now;
        quiet > 100
    });
    let running = client.query("SHOW PROCESSLIST").unwrap().text();
    assert!(running.iter().filter(|row| row.contains("unread")).count() >= 12, "{running:?}");
    let after = process::resident_bytes(server.process()).unwrap();
    assert!(after < before + 24 * MIB, "{} MiB, then {} MiB", before / MIB, after / MIB);
    for program in &mut programs {
        program.kill().unwrap();
        program.wait().unwrap();
    }
    for client in &mut silent {
        assert_eq!(
            client.receive_reply().unwrap().rows().unwrap().rows.len(),
            100_000,
            "who reads gets everything"
        );
    }
}
