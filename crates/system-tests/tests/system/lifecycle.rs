//! The command line, starting and stopping.

use std::process::Command;
use std::time::{Duration, Instant};

use shoal_system_tests::terminal::Terminal;
use shoal_system_tests::{TestServer, harness_setup, program, shoal_binary, skip, target_is_mariadb};

fn shoal(arguments: &[&str]) -> program::Output {
    let mut command = Command::new(shoal_binary());
    command.args(arguments);
    program::run(command, b"", Duration::from_secs(20), || false).unwrap()
}

#[test]
fn version_and_help_are_told() {
    if target_is_mariadb() {
        return skip("it is Shoal's command line");
    }
    let version = shoal(&["--version"]);
    assert!(version.status.success());
    assert!(version.text().starts_with("shoal "), "{}", version.text());
    let help = shoal(&["help"]);
    assert!(help.status.success());
    assert!(help.text().contains("dev"), "{}", help.text());
    let dev = shoal(&["help", "dev"]).text();
    for option in ["--data-dir", "--mysql-port", "--set"] {
        assert!(dev.contains(option), "{option} is missing in:\n{dev}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_named() {
    if target_is_mariadb() {
        return skip("it is Shoal's command line");
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let wrong: [(&[&str], &str); 4] = [
        (&["devv"], "devv"),
        (&["dev", "--no-such-option"], "--no-such-option"),
        (&["dev", "--data-dir", data, "--mysql-port", "0", "--set", "DataMemroy=64M"], "DataMemroy"),
        (&["dev", "--data-dir", data, "--mysql-port", "0", "--set", "DataMemory=lots"], "lots"),
    ];
    for (arguments, named) in wrong {
        let output = shoal(arguments);
        let text = output.text() + &output.errors();
        assert!(!output.status.success(), "{arguments:?} was accepted:\n{text}");
        assert!(text.contains(named), "{arguments:?}: {named} is not named in:\n{text}");
    }
}

#[test]
fn a_port_that_is_taken_is_refused_by_name() {
    if target_is_mariadb() {
        return skip("it is Shoal's message");
    }
    let server = TestServer::start();
    let mut setup = harness_setup(&[]);
    setup.port = Some(server.port());
    let error = setup.start().err().expect("a refusal").to_string();
    assert!(error.contains(&server.port().to_string()), "{error}");
    assert!(error.contains("in use"), "{error}");
}

#[test]
fn terminating_keeps_what_is_committed_and_ends_open_sessions() {
    let mut server = TestServer::start();
    let mut idle = server.client();
    let mut open = server.client();
    open.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)")
        .unwrap();
    let started = Instant::now();
    server.stop();
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(idle.ping().is_err());
    assert!(open.execute("COMMIT").is_err());
    server.restart();
    assert_eq!(server.sql("SELECT id FROM t"), "1\n");
}

#[test]
fn a_loaded_server_starts_again_with_everything_it_had() {
    let mut server = TestServer::start();
    server.sysbench("oltp_read_write", "prepare", &["--tables=2", "--table-size=20000"]);
    let sums = "SELECT COUNT(*), SUM(id), SUM(k), SUM(CRC32(c)), SUM(CRC32(pad)) FROM";
    let all = format!("{sums} sbtest1; {sums} sbtest2");
    let before = server.sql(&all);
    assert_eq!(before.lines().count(), 2);
    for _ in 0..2 {
        server.stop();
        server.restart();
        assert_eq!(server.sql(&all), before);
        server.sql("UPDATE sbtest1 SET k=k WHERE id<100");
    }
    assert!(server.server().started_in() < Duration::from_secs(10));
}

#[test]
fn an_empty_server_is_up_at_once() {
    if target_is_mariadb() {
        return skip("the time is Shoal's");
    }
    let fastest = (0..3).map(|_| TestServer::start().server().started_in()).min().unwrap();
    // The goal is 0.3 s; other tests may hold the processors meanwhile.
    assert!(fastest < Duration::from_secs(2), "{fastest:?}");
}

/// SIGTERM killed a server that had just said that it was ready: it listened for signals only afterwards.
#[test]
fn a_server_that_is_stopped_as_soon_as_it_is_ready_ends_in_order() {
    let mut server = TestServer::start();
    for _ in 0..10 {
        server.stop();
        server.restart();
    }
    server.stop();
}

#[test]
fn somebody_at_a_terminal_is_told_what_to_do_next_and_programs_are_not() {
    if target_is_mariadb() {
        return skip("it is about `shoal dev`");
    }
    let folder = tempfile::tempdir().unwrap();
    for more in ["", "--data-nodes 2"] {
        let place = folder.path().join(format!("data{}", more.len()));
        let command = format!(
            "{} dev --mysql-port 0 --http-port 0 --data-dir {} {more}",
            shoal_binary().display(),
            place.display()
        );
        let mut terminal = Terminal::start(&command, &[]);
        terminal.sees("shoal is ready: mysql 127.0.0.1:");
        terminal.sees("stop it:      Ctrl-C");
        let seen = terminal.seen();
        assert!(
            seen.contains("connect with: shoal sql -P ") && seen.contains("look at it:   http://127.0.0.1:"),
            "{seen}"
        );
        // What is told works.
        let port = seen.split_once("shoal sql -P ").unwrap().1.split(',').next().unwrap();
        let one = Command::new(shoal_binary()).args(["sql", "-P", port, "-N", "-e", "SELECT 1"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&one.stdout), "1\n", "{one:?}");
        terminal.press(b"\x03");
        assert!(terminal.finish().0.success());
    }
    let mut server = TestServer::start();
    assert!(!server.server().log().contains("connect with:"), "{}", server.server().log());
}
