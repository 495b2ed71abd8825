//! The audit log: who came, who was turned away, and who changed what.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shoal_system_tests::page::Page;
use shoal_system_tests::rest::{Rest, key, operation};
use shoal_system_tests::{Client, Login, SmallDisk, TestServer, wait_until};

fn server(more: &[&str]) -> TestServer {
    TestServer::start_with(&[&["--set", "audit_log=ON", "--set", "audit_log_file=audit.json"][..], more].concat())
}

fn path(server: &TestServer) -> PathBuf {
    server.data_dir().join("audit.json")
}

fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The entries once everything so far is in the file.
fn settled(server: &TestServer) -> Vec<Value> {
    server.client().execute("FLUSH LOGS").unwrap();
    entries(&path(server))
}

fn of_event<'a>(entries: &'a [Value], event: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["event"] == event).collect()
}

fn queries(entries: &[Value], class: &str) -> Vec<String> {
    let of_class = entries.iter().filter(|entry| entry["class"] == class);
    of_class.map(|entry| format!("{} {}", entry["errno"], entry["query"].as_str().unwrap_or_default())).collect()
}

/// The page for operators is another way in, and to KILL.
#[test]
fn what_is_done_over_http_is_in_it() {
    let server = server(&[]);
    let address = server.http();
    let page = Page::log_in(&address, "root", "");
    assert_eq!(Page::of(&address).try_log_in("nobody", "secret").status, 401);
    let mut client = server.client();
    let id = client.connection_id();
    let body = serde_json::json!({ "node": 1, "id": id, "query_only": false });
    assert_eq!(page.post("kill", &body).status, 200);
    wait_until("the connection has ended", || client.query("SELECT 1").is_err());
    let entries = settled(&server);
    let by_http = |event: &str| {
        let found = of_event(&entries, event).into_iter().find(|entry| entry["connection_id"] == 0);
        found.unwrap_or_else(|| panic!("{event}: {entries:?}")).clone()
    };
    assert_eq!((&by_http("connect")["user"], &by_http("connect")["host"]), (&"root".into(), &"localhost".into()));
    assert_eq!(
        (&by_http("failed login")["user"], &by_http("failed login")["errno"]),
        (&"nobody".into(), &1045.into())
    );
    assert_eq!(by_http("done")["query"], format!("KILL CONNECTION {id}"));
    assert!(!fs::read_to_string(path(&server)).unwrap().contains("secret"));
}

#[test]
fn connections_definitions_and_accounts_are_in_it_and_passwords_are_not() {
    let server = server(&[]);
    let mut client = server.client();
    for sql in [
        "CREATE USER nina IDENTIFIED WITH mysql_native_password BY 'very secret'",
        "GRANT SELECT ON test.* TO nina",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "SELECT * FROM t",
        "PREPARE s FROM 'ALTER TABLE t ADD COLUMN n INT'",
        "EXECUTE s",
        "SET GLOBAL max_connections = 5000",
        "SET @mine = 1",
    ] {
        client.execute(sql).or_else(|_| client.query(sql).map(|_| Default::default())).unwrap();
    }
    assert_eq!(client.execute("DROP TABLE nowhere").unwrap_err().errno(), 1051);
    let id = client.connection_id();
    let login = |password: &str| {
        let login = Login { user: "nina".into(), password: password.into(), ..Login::default() };
        Client::log_in(server.port(), &login)
    };
    assert_eq!(login("wrong").err().unwrap().errno(), 1045);
    let mut nina = login("very secret").unwrap();
    assert!(nina.change_user(&Login::user("nina", "also wrong")).is_err());
    drop((nina, client));
    wait_until("the ends are in the log", || of_event(&settled(&server), "disconnect").len() >= 4);
    let entries = settled(&server);
    let text = fs::read_to_string(path(&server)).unwrap();
    assert!(!text.contains("very secret") && !text.contains("wrong"), "{text}");
    assert_eq!(
        queries(&entries, "definition"),
        [
            "0 CREATE DATABASE IF NOT EXISTS test",
            "0 CREATE TABLE t (id INT PRIMARY KEY)",
            "0 ALTER TABLE t ADD COLUMN n INT",
            "1051 DROP TABLE nowhere"
        ]
    );
    let accounts = queries(&entries, "account");
    assert_eq!(
        accounts,
        [
            "0 CREATE USER nina IDENTIFIED WITH mysql_native_password BY <secret>",
            "0 GRANT SELECT ON test.* TO nina"
        ]
    );
    let administration = queries(&entries, "administration");
    assert_eq!(administration[0], "0 SET GLOBAL max_connections = 5000");
    assert!(queries(&entries, "statement").is_empty());
    let failed = of_event(&entries, "failed login");
    assert_eq!(failed.len(), 2, "{failed:?}");
    for entry in failed {
        assert_eq!(
            (&entry["user"], &entry["host"], &entry["errno"]),
            (&"nina".into(), &"localhost".into(), &1045.into())
        );
        assert!(entry["message"].as_str().unwrap().contains("Access denied"), "{entry}");
    }
    let mine: Vec<&str> = entries
        .iter()
        .filter(|entry| entry["connection_id"] == id)
        .map(|entry| entry["event"].as_str().unwrap())
        .collect();
    assert_eq!((mine[0], mine[mine.len() - 1]), ("connect", "disconnect"));
    assert_eq!(of_event(&entries, "connect")[1]["account"], "root@localhost");
}

#[test]
fn all_statements_by_option_and_the_end_of_the_log_is_its_last_entry() {
    let server = server(&["--set", "audit_log_statements=ON"]);
    let mut client = server.client();
    client.query("SELECT 'some', \"text\"").unwrap();
    let statement = client.prepare("SELECT ? + 1").unwrap();
    client.run_statement(&statement, &[shoal_system_tests::Value::Int(41)]).unwrap();
    assert!(client.query("SELEC 'my password'").is_err());
    let entries = settled(&server);
    let statements = queries(&entries, "statement");
    assert_eq!(statements, ["0 SELECT 'some', \"text\"", "0 SELECT 41 + 1", "1064 "]);
    client.execute("SET GLOBAL audit_log = OFF").unwrap();
    client.query("SELECT 'unseen'").unwrap();
    client.execute("SET GLOBAL audit_log = ON").unwrap();
    let text = fs::read_to_string(path(&server)).unwrap();
    assert!(text.contains("SET GLOBAL audit_log = 'OFF'") && !text.contains("unseen"), "{text}");
}

#[test]
fn the_file_is_put_aside_by_size_and_begun_again_when_it_is_moved_or_gone() {
    let server = server(&["--set", "audit_log_statements=ON"]);
    let mut client = server.client();
    let aside = || {
        let files = fs::read_dir(server.data_dir()).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("audit.json."))
            .collect::<Vec<_>>()
    };
    client.execute("SET GLOBAL audit_log_rotate_on_size = 20000").unwrap();
    for number in 0..2000 {
        client.query(&format!("SELECT {number}")).unwrap();
    }
    client.execute("SET GLOBAL audit_log_rotate_on_size = 0").unwrap();
    let old = aside();
    assert!(!old.is_empty());
    let count: usize = old
        .iter()
        .chain([&path(&server)])
        .map(|file| {
            entries(file)
                .iter()
                .filter(|entry| entry["query"].as_str().is_some_and(|query| query.starts_with("SELECT ")))
                .count()
        })
        .sum();
    assert_eq!(count, 2000, "none is lost between files");
    // Another program moves it away.
    fs::rename(path(&server), server.data_dir().join("moved.json")).unwrap();
    client.query("SELECT 'to the old file'").unwrap();
    client.execute("FLUSH LOGS").unwrap();
    client.query("SELECT 'to the new file'").unwrap();
    let text = |name: &str| fs::read_to_string(server.data_dir().join(name)).unwrap_or_default();
    wait_until("the new file", || text("audit.json").contains("to the new file"));
    assert!(text("moved.json").contains("to the old file"));
    fs::remove_file(path(&server)).unwrap();
    wait_until("a file after it was deleted", || {
        client.query("SELECT 'after it was deleted'").unwrap();
        text("audit.json").contains("after it was deleted")
    });
}

#[test]
fn a_full_disk_costs_entries_and_a_message_and_nothing_else() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let file = disk.path().join("audit.json");
    let setting = format!("audit_log_file={}", file.display());
    let mut server =
        TestServer::start_with(&["--set", "audit_log=ON", "--set", "audit_log_statements=ON", "--set", &setting]);
    let mut client = server.client();
    client.query("SELECT 1").unwrap();
    wait_until("the log is written", || fs::metadata(&file).is_ok_and(|found| found.len() > 0));
    let filler = disk.path().join("filler");
    let _ = fs::write(&filler, vec![0; 64 << 20]);
    wait_until("the log cannot be written", || {
        client.query("SELECT 2").unwrap();
        server.server().log().contains("audit log: cannot write")
    });
    assert!(TestServer::counter(&mut client, "Shoal_query_log_lost") > 0);
    fs::remove_file(&filler).unwrap();
    wait_until("it is written again", || {
        client.query("SELECT 3").unwrap();
        fs::read_to_string(&file).unwrap_or_default().contains("SELECT 3")
    });
}

/// REST is another way to rows.
#[test]
fn requests_over_rest_are_in_it() {
    let server = server(&["--set", "http_rest=ON", "--set", "audit_log_statements=ON"]);
    server.sql("CREATE TABLE t (id INT PRIMARY KEY)");
    let root = Rest::of(&server.http(), "root", "");
    root.done("test/t/pk-insert", &serde_json::json!({ "data": { "id": 4711 } }));
    let read = || operation("test/t/pk-read", serde_json::json!({ "filters": key("id", 4711) }));
    let again = operation("test/t/pk-insert", serde_json::json!({ "data": { "id": 4711 } }));
    assert_eq!(root.refused("batch", &serde_json::json!({ "operations": [read(), read(), again] })), (409, 1062));
    assert_eq!(Rest::of(&server.http(), "nobody", "secret").post("test/t/pk-read", &read()["body"]).status, 401);
    let entries = settled(&server);
    let done = queries(&entries, "statement");
    for expected in ["0 pk-insert test.t", "1062 pk-read test.t x 2, pk-insert test.t"] {
        assert!(done.iter().any(|query| query == expected), "{expected}: {done:?}");
    }
    let over_rest = |entry: &&Value| entry["message"] == "over REST";
    assert_eq!(entries.iter().filter(over_rest).count(), 1, "the second request needed no password to be checked");
    assert!(of_event(&entries, "failed login").iter().any(|entry| entry["user"] == "nobody"));
}
