//! `shoal sql`: in scripts, with passwords and TLS, and by somebody at a terminal.

use std::process::Command;

use shoal_system_tests::program::Output;
use shoal_system_tests::terminal::Terminal;
use shoal_system_tests::{TestServer, shoal_binary, wait_until};

fn shell(server: &TestServer, arguments: &[&str], password: &str, input: &str) -> Output {
    let mut command = Command::new(shoal_binary());
    command.args(["sql", "-P", &server.port().to_string()]).args(arguments).env("SHOAL_PASSWORD", password);
    server.finish(command, input.as_bytes())
}

fn answer(server: &TestServer, arguments: &[&str], input: &str) -> String {
    let output = shell(server, arguments, "", input);
    assert!(output.status.success(), "{arguments:?}: {}", output.errors());
    output.text()
}

#[test]
fn scripts_get_lines_and_stop_at_the_first_error() {
    let server = TestServer::start();
    let script = "CREATE TABLE fish (id INT PRIMARY KEY, name VARCHAR(40));\n-- a comment; with a semicolon\n\
                  INSERT INTO fish VALUES (1, 'perch; or\\tnot'),\n (2, NULL);\nSELECT * FROM fish";
    assert_eq!(answer(&server, &["test"], script), "id\tname\n1\tperch; or\\tnot\n2\tNULL\n");
    let both =
        answer(&server, &["-D", "test", "-N", "-e", "SELECT COUNT(*) FROM fish; SELECT 2", "-e", "SELECT 3"], "");
    assert_eq!(both, "2\n2\n3\n");
    let table = answer(&server, &["test", "--table", "-e", "SELECT id, name FROM fish WHERE id = 2"], "");
    assert_eq!(table, "+----+------+\n| id | name |\n+----+------+\n|  2 | NULL |\n+----+------+\n");
    let lines = answer(&server, &["test", "-e", "SELECT id FROM fish WHERE id = 1\\G"], "");
    assert_eq!(lines.lines().last(), Some("id: 1"));

    let faulty = "SELECT 1;\n\nSELECT wrong;\nSELECT 2;\n";
    let output = shell(&server, &["-N"], "", faulty);
    assert_eq!((output.text().as_str(), output.status.code()), ("1\n", Some(1)));
    assert!(output.errors().contains("line 3: ERROR 1054 (42S22)"), "{}", output.errors());
    let output = shell(&server, &["-N", "--force"], "", faulty);
    assert_eq!(output.text(), "1\n2\n");
    assert!(output.errors().contains("line 3: ERROR 1054"), "{}", output.errors());

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "USE test;\nSELECT COUNT(*) FROM fish;").unwrap();
    assert_eq!(
        answer(&server, &["-N"], &format!("source {}\nSELECT DATABASE();\n", file.path().display())),
        "2\ntest\n"
    );
    // A dump of MySQL's tools goes through it, and comes out of it the same.
    server.sql("CREATE DATABASE copy");
    let mut dump = server.program("mariadb-dump");
    dump.args(["--skip-comments", "--hex-blob", "test"]);
    let dump = server.finish(dump, b"").text();
    assert!(dump.contains("perch; or"), "{dump}");
    answer(&server, &["copy"], &dump);
    assert_eq!(server.sql("SELECT * FROM copy.fish"), server.sql("SELECT * FROM test.fish"));
}

#[test]
fn passwords_go_encrypted_and_the_server_may_have_to_prove_who_it_is() {
    if shoal_system_tests::target_is_mariadb() {
        return shoal_system_tests::skip("MariaDB has no caching_sha2_password");
    }
    let (server, other) = (TestServer::start(), TestServer::start());
    server.sql("CREATE USER ann IDENTIFIED WITH caching_sha2_password BY 'geheim'");
    server.sql("CREATE USER bob IDENTIFIED WITH caching_sha2_password BY 'geheim'");
    server.sql("CREATE USER old IDENTIFIED WITH mysql_native_password BY 'geheim'");
    let cipher = "SHOW STATUS LIKE 'Ssl_version'";
    let as_user = |user: &str, more: &[&str], password: &str| {
        shell(&server, &[&["-N", "-u", user, "-e", cipher], more].concat(), password, "")
    };
    let tls = as_user("ann", &[], "geheim");
    assert_eq!(tls.text(), "Ssl_version\tTLSv1.3\n", "{}", tls.errors());
    // The whole exchange without TLS, by the server's key; then from the cache.
    for _ in 0..2 {
        let plain = as_user("bob", &["--ssl-mode", "disabled"], "geheim");
        assert_eq!(plain.text(), "Ssl_version\t\n", "{}", plain.errors());
    }
    assert_eq!(as_user("old", &[], "geheim").text(), "Ssl_version\tTLSv1.3\n");
    for user in ["ann", "bob", "old", "nobody"] {
        let refused = as_user(user, &["--ssl-mode=disabled"], "wrong");
        assert!(!refused.status.success() && refused.errors().contains("ERROR 1045"), "{}", refused.errors());
    }
    let authority = |server: &TestServer| server.client().text("SELECT @@ssl_ca").unwrap().remove(0);
    let verified = as_user("ann", &["--ssl-ca", &authority(&server)], "geheim");
    assert!(verified.status.success(), "{}", verified.errors());
    let refused = as_user("ann", &["--ssl-ca", &authority(&other)], "geheim");
    assert!(!refused.status.success() && refused.errors().contains("certificate"), "{}", refused.errors());
    let without = TestServer::start_with(&["--set", "tls_version="]);
    let refused = shell(&without, &["--ssl-mode=required", "-e", "SELECT 1"], "", "");
    assert!(refused.errors().contains("TLS is required"), "{}", refused.errors());
    let nobody = Command::new(shoal_binary()).args(["sql", "-P", "1", "-e", "SELECT 1"]).output().unwrap();
    let reason = String::from_utf8_lossy(&nobody.stderr).into_owned();
    assert!(!nobody.status.success() && reason.contains("see that a server runs there"), "{reason}");
}

#[test]
fn a_script_that_takes_long_shows_how_much_of_it_is_done() {
    let server = TestServer::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.sql");
    std::fs::write(&file, "DO SLEEP(2.1);\nSELECT 6 * 7 AS answer;\n-- the rest\n").unwrap();
    let command = format!("{} sql -P {} < {}", shoal_binary().display(), server.port(), file.display());
    let (status, seen) = Terminal::start(&command, &[]).finish();
    assert!(status.success(), "{seen}");
    assert!(
        seen.contains("statements ") && seen.contains(&format!("/{} B", file.metadata().unwrap().len())),
        "{seen}"
    );
    // Rows have their own lines beside the bar.
    assert!(seen.contains("|     42 |\r\n"), "{seen}");
}

#[test]
fn a_server_that_asks_for_a_file_gets_none() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile = 1; CREATE TABLE t (a TEXT)");
    let output = shell(&server, &["test", "-e", "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t"], "", "");
    assert!(!output.status.success(), "{}", output.text());
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "0\n");
}

#[test]
fn somebody_types_and_ends_a_statement_with_ctrl_c() {
    let mut server = TestServer::start();
    let home = tempfile::tempdir().unwrap();
    let home_path = home.path().to_str().unwrap();
    let command = format!("{} sql -P {}", shoal_binary().display(), server.port());
    let mut terminal = Terminal::start(&command, &[("HOME", home_path)]);
    terminal.sees("sql> ");
    terminal.press(b"use test\r");
    terminal.sees("sql test> ");
    terminal.press(
        "CREATE TABLE fish (id INT, name TEXT); INSERT INTO fish VALUES (7, '鯉'), (8, NULL);\r".as_bytes(),
    );
    terminal.sees("Query OK, 2 rows affected");
    // A statement of several lines, and a table with a wide character.
    terminal.press(b"SELECT id, name\r");
    terminal.sees("    -> ");
    terminal.press(b"FROM fish;\r");
    terminal.sees("|  7 | 鯉   |");
    terminal.sees("2 rows in set (");
    terminal.press(b"SELECT 1 / 0;\r");
    terminal.sees("1 row in set, 1 warning (");
    terminal.press(b"SELECT no_such;\r");
    terminal.sees("ERROR 1054");
    terminal.press(b"\\s\r");
    terminal.sees("TLS:              TLSv1.3");

    let mut watcher = server.client();
    let mut runs = |count: &str| {
        let query = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT id, SLEEP%'";
        watcher.text(query).unwrap() == [count]
    };
    let before = terminal.seen().len();
    terminal.press(b"SELECT id, SLEEP(600) FROM fish;\r");
    wait_until("the statement runs", || runs("1"));
    terminal.press(b"\x03");
    terminal.sees_next(before, "ERROR 1317");
    wait_until("the statement has ended", || runs("0"));
    // The connection is as it was, and Ctrl-C forgets what was typed.
    terminal.press(b"SELECT 'half\r");
    terminal.sees("    '> ");
    let before = terminal.seen().len();
    terminal.press(b"\x03");
    terminal.sees_next(before, "sql test> ");
    terminal.press(b"SELECT CONCAT('who', 'le') FROM fish LIMIT 1\\G\r");
    terminal.sees("CONCAT('who', 'le'): whole");

    // A server that has been away is connected to again.
    let before = terminal.seen().len();
    let port = server.port();
    server.server().setup_mut().port = Some(port);
    server.restart();
    terminal.press(b"SELECT 'first';\r");
    terminal.sees_next(before, "the connection is lost");
    terminal.press(b"SELECT COUNT(*) + 40 FROM fish;\r");
    terminal.sees_next(before, "connected again");
    terminal.sees_next(before, "42");
    terminal.press(b"SET PASSWORD = 'never kept';\r");
    terminal.sees_next(before, "Query OK, 0 rows affected");
    terminal.press(b"exit\r");
    let (status, seen) = terminal.finish();
    assert!(status.success(), "{seen}");
    let history = std::fs::read_to_string(home.path().join(".shoal_sql_history")).unwrap();
    assert!(history.contains("SELECT 1 / 0;") && !history.contains("never kept"), "{history}");
}
