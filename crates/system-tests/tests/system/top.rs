//! `shoal top`: once for scripts, and by its keys in a terminal.

use std::process::{Command, Output};
use std::thread;

use shoal_system_tests::terminal::Terminal;
use shoal_system_tests::{TestServer, shoal_binary, skip, target_is_mariadb, wait_until};

fn started() -> Option<TestServer> {
    if target_is_mariadb() {
        skip("MariaDB has no HTTP");
        return None;
    }
    Some(TestServer::start())
}

fn top(arguments: &[&str], password: &str) -> Output {
    Command::new(shoal_binary()).arg("top").args(arguments).env("SHOAL_PASSWORD", password).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn once_prints_what_runs_and_fails_with_a_reason() {
    let Some(server) = started() else { return };
    let address = server.http();
    let mut sleeper = server.client();
    let sleeping = thread::spawn(move || sleeper.query("SELECT SLEEP(600), '\u{1b}[2J\u{7}'").map(|_| ()));
    let mut shown = String::new();
    wait_until("the statement is shown", || {
        let printed = top(&[&address, "--once"], "");
        assert!(printed.status.success(), "{}", text(&printed.stderr));
        shown = text(&printed.stdout);
        shown.contains("SELECT SLEEP(600)")
    });
    for expected in [
        "all 2 partitions have leaders",
        "NODE",
        "data,sql",
        "STARTED",
        "executing",
        "Accounts without a password",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown}");
    let json = top(&[&address, "--json"], "");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["overview"]["nodes"][0]["state"], "STARTED");
    server.sql("CREATE USER ann IDENTIFIED BY 'right'");
    assert!(top(&[&address, "--once", "--user", "ann"], "right").status.success());
    let nobody = "127.0.0.1:1";
    for (arguments, reason) in [
        (vec![address.as_str(), "--once", "--user", "ann"], "Access denied"),
        (vec![nobody, "--once"], "is that the HTTP port of a node?"),
        (vec!["no-port", "--once"], "no-port"),
        (vec![&address], "use `shoal top --once`"),
    ] {
        let failed = top(&arguments, if arguments.contains(&"ann") { "wrong" } else { "" });
        assert!(
            !failed.status.success() && text(&failed.stderr).contains(reason),
            "{arguments:?}: {}",
            text(&failed.stderr)
        );
    }
    let mysql = format!("127.0.0.1:{}", server.port());
    assert!(!top(&[&mysql, "--once"], "").status.success(), "another protocol");
    server.sql("SELECT 1");
    let id = json["statements"]["nodes"]["1"]["sessions"][0]["id"].to_string();
    server.sql(&format!("KILL QUERY {id}"));
    sleeping.join().unwrap().unwrap();
}

#[test]
fn keys_choose_and_end_a_statement() {
    let Some(server) = started() else { return };
    let mut sleeper = server.client();
    let sleeping = thread::spawn(move || sleeper.query("SELECT SLEEP(600)").map(|_| ()));
    let command = format!("{} top {} --every 1", shoal_binary().display(), server.http());
    let mut terminal = Terminal::start(&command, &[]);
    // Blanks are not drawn: the cursor leaps over them.
    terminal.sees("SLEEP(600)");
    terminal.press(b"\x1b[B");
    terminal.sees(">");
    terminal.press(b"k");
    terminal.sees("y / n");
    assert!(!sleeping.is_finished());
    terminal.press(b"y");
    sleeping.join().unwrap().unwrap();
    terminal.press(b"d");
    terminal.sees("EXAMINED");
    terminal.press(b"q");
    let (status, seen) = terminal.finish();
    assert!(status.success());
    assert!(seen.contains("\u{1b}[?1049l"), "the terminal is as it was");
}
