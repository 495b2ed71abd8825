//! The real `mariadb` client against the protocol server. Without that program on the machine these tests have nothing to say.

use std::process::{Command, Output};

use crate::common::Running;

/// Runs the client, or `None` where it is not installed.
fn mariadb(server: &Running, arguments: &[&str], input: Option<&std::path::Path>) -> Option<Output> {
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--batch", "--skip-column-names"]);
    command.arg(format!("--port={}", server.port)).args(arguments);
    if let Some(path) = input {
        command.arg(format!("--execute=LOAD {}", path.display()));
    }
    match command.output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: the mariadb client is not installed");
            None
        }
        Err(error) => panic!("mariadb: {error}"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[test]
fn every_kind_of_account_can_log_in() {
    let server = Running::start();
    for (user, password) in
        [("root", ""), ("native", "secret"), ("sha", "geheim"), ("sha", "geheim"), ("native_empty", "")]
    {
        let user_argument = format!("--user={user}");
        let password_argument = format!("--password={password}");
        let arguments = [user_argument.as_str(), &password_argument, "--execute=ECHO hello"];
        let Some(output) = mariadb(&server, &arguments, None) else { return };
        assert_eq!(text(&output.stdout), "hello", "{user}: {}", text(&output.stderr));
    }
}

#[test]
fn a_unix_socket_serves_like_tcp() {
    let server = Running::start();
    let socket = format!("--socket={}", server.socket.display());
    for (user, password) in [("native", "secret"), ("sha", "geheim")] {
        let (user, password) = (format!("--user={user}"), format!("--password={password}"));
        let arguments = ["--protocol=socket", &socket, &user, &password, "--execute=ECHO hello"];
        let Some(output) = mariadb(&server, &arguments, None) else { return };
        assert_eq!(text(&output.stdout), "hello", "{}", text(&output.stderr));
    }
}

#[test]
fn a_wrong_password_is_told_as_access_denied() {
    let server = Running::start();
    for user in ["native", "sha", "nobody"] {
        let arguments = [&format!("--user={user}"), "--password=wrong", "--execute=ECHO hello"];
        let Some(output) = mariadb(&server, &arguments, None) else { return };
        let expected =
            format!("ERROR 1045 (28000): Access denied for user '{user}'@'localhost' (using password: YES)");
        assert_eq!(text(&output.stderr), expected);
    }
}

#[test]
fn results_of_several_statements_and_errors_arrive() {
    let server = Running::start();
    let Some(output) = mariadb(&server, &["--user=root", "--execute=NULLS; ECHO b; INSERT"], None) else { return };
    assert_eq!(text(&output.stdout), "NULL\t-1\nx\tNULL\nb", "{}", text(&output.stderr));
    let output = mariadb(&server, &["--user=root", "--execute=NONSENSE"], None).expect("installed");
    assert!(text(&output.stderr).contains("ERROR 1064 (42000) at line 1: You have an error"));
}

#[test]
fn a_local_file_is_loaded() {
    let server = Running::start();
    let path = std::env::temp_dir().join(format!("shoal-mysql-test-{}.csv", std::process::id()));
    std::fs::write(&path, vec![b'x'; 300_000]).unwrap();
    let loaded = mariadb(&server, &["--user=root", "--local-infile=1", "-vvv"], Some(&path));
    std::fs::remove_file(&path).unwrap();
    let Some(output) = loaded else { return };
    assert!(text(&output.stdout).contains("300000 rows affected"), "{}", text(&output.stdout));
}

#[test]
fn a_large_result_arrives_whole() {
    let server = Running::start();
    let Some(output) = mariadb(&server, &["--user=root", "--execute=LARGE 1000"], None) else { return };
    assert_eq!(output.stdout.len(), 1000 * 10_001);
}
