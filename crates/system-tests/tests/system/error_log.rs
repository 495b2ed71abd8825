//! The error log: its formats, its file, and `performance_schema.error_log`.

use std::fs;
use std::path::Path;

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb, wait_until};

fn variable(client: &mut Client, name: &str) -> String {
    client.text(&format!("SELECT @@GLOBAL.{name}")).unwrap().concat()
}

/// Has the server say something: a query log that cannot be written.
fn provoke(client: &mut Client, server: &TestServer) {
    let log_path = server.data_dir().join("general.log");
    client.run(&format!("SET GLOBAL general_log_file='{}'", log_path.display())).unwrap();
    client.run("SET GLOBAL general_log=ON").unwrap();
    fs::remove_file(&log_path).unwrap();
    wait_until("the server notices that its general log is gone", || {
        client.query("SELECT 1").unwrap();
        entries(client).iter().any(|entry| entry.contains("was deleted; a new file is begun"))
    });
    client.run("SET GLOBAL general_log=OFF").unwrap();
}

fn entries(client: &mut Client) -> Vec<String> {
    client
        .text("SELECT PRIO, ERROR_CODE, SUBSYSTEM, DATA FROM performance_schema.error_log ORDER BY LOGGED")
        .unwrap()
}

#[test]
fn entries_are_in_mysqls_format_and_in_the_table() {
    if target_is_mariadb() {
        return skip("MariaDB's format is another one");
    }
    let mut server = TestServer::start();
    let mut client = server.client();
    assert_eq!(variable(&mut client, "log_error"), "stderr");
    provoke(&mut client, &server);
    let found = entries(&mut client);
    assert!(found[0].starts_with("System,MY-000000,Server,ready for connections"), "{found:?}");
    assert!(found.iter().any(|entry| entry.starts_with("Warning,MY-000000,Server,general log: ")), "{found:?}");
    // It waits for the thread that writes.
    client.run("FLUSH ERROR LOGS").unwrap();
    let text = server.server().log();
    let line = text.lines().find(|line| line.contains("was deleted")).unwrap();
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.len() == 27 && time.ends_with('Z'), "{line}");
    assert!(rest.starts_with("0 [Warning] [MY-000000] [Server] general log: '"), "{line}");
    // It takes a privilege on the table.
    client.run("CREATE USER u").unwrap();
    let mut user = Client::log_in(server.port(), &Login::user("u", "")).unwrap();
    assert_eq!(user.run("SELECT DATA FROM performance_schema.error_log").unwrap_err().errno(), 1142);
    client.run("GRANT SELECT ON performance_schema.error_log TO u").unwrap();
    assert_eq!(entries(&mut user).len(), entries(&mut client).len());
    assert_eq!(user.run("FLUSH ERROR LOGS").unwrap_err().errno(), 1227);
    let buffered = TestServer::counter(&mut client, "Error_log_buffered_events");
    assert_eq!(buffered, entries(&mut client).len() as i64);
    // Errors alone are told from now on.
    client.run("SET GLOBAL log_error_verbosity=1").unwrap();
    let log_path = server.data_dir().join("general.log");
    client.run("SET GLOBAL general_log=ON").unwrap();
    fs::remove_file(&log_path).unwrap();
    wait_until("the general log is begun anew", || client.query("SELECT 1").is_ok() && log_path.exists());
    assert_eq!(entries(&mut client).len() as i64, buffered);
    server.stop();
}

#[test]
fn a_file_of_json_lines_is_rotated_by_flush() {
    if target_is_mariadb() {
        return skip("MariaDB has no JSON sink");
    }
    let arguments = ["--set", "log_error=shoal", "--set", "log_error_services=log_filter_internal; log_sink_json"];
    let mut server = TestServer::start_with(&arguments);
    let mut client = server.client();
    let named = variable(&mut client, "log_error");
    assert!(Path::new(&named).starts_with(server.data_dir().canonicalize().unwrap()), "{named}");
    assert!(named.ends_with("/shoal.err"), "{named}");
    let file = format!("{named}.00.json");
    let messages = |path: &str| -> Vec<String> {
        let parsed = fs::read_to_string(path).unwrap();
        let parsed = parsed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        parsed.map(|entry| format!("{} {}", entry["label"], entry["msg"])).collect()
    };
    assert!(messages(&file)[0].contains("ready for connections"), "{:?}", messages(&file));
    provoke(&mut client, &server);
    let old = format!("{file}.old");
    fs::rename(&file, &old).unwrap();
    client.run("FLUSH ERROR LOGS").unwrap();
    assert!(messages(&old).iter().any(|message| message.contains("was deleted")), "{:?}", messages(&old));
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    // Text in MySQL's format besides, in the file that the variable names.
    client.run("SET GLOBAL log_error_services='log_sink_internal; log_sink_json'").unwrap();
    assert_eq!(variable(&mut client, "log_error_services"), "log_sink_internal; log_sink_json");
    server.stop();
    let (text, json) = (fs::read_to_string(&named).unwrap(), messages(&file));
    assert!(text.contains("[System] [MY-000000] [Server] stopping"), "{text}");
    assert!(json.iter().any(|message| message.contains("stopping")), "{json:?}");
    let on_stderr = server.server().log();
    assert!(!on_stderr.contains("MY-000000"), "{on_stderr}");
}

#[test]
fn wrong_settings_are_refused_with_their_names() {
    if target_is_mariadb() {
        return skip("MariaDB has other variables");
    }
    let server = TestServer::start();
    let mut client = server.client();
    for services in ["log_sink_paper", "log_filter_internal", ""] {
        let sql = format!("SET GLOBAL log_error_services='{services}'");
        assert_eq!(client.run(&sql).unwrap_err().errno(), 1231, "{services}");
    }
    assert_eq!(client.run("SET GLOBAL log_error='x'").unwrap_err().errno(), 1238);
    assert_eq!(client.run("SET log_error_verbosity=3").unwrap_err().errno(), 1229);
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(shoal_system_tests::shoal_binary());
    command.args(["dev", "--mysql-port", "0", "--http-port", "0", "--set", "log_error=/no/such/folder/x.err"]);
    let output = command.arg("--data-dir").arg(folder.path().join("data")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(told.contains("log_error: cannot write '/no/such/folder/x.err'"), "{told}");
}
