//! The slow query log and the general log: MySQL's format, read back by MySQL's tools, and what becomes of a server whose logs
//! cannot be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_system_tests::server::find_program;
use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb, wait_until};

const LOG_ALL: &str = "SET GLOBAL slow_query_log=ON; SET long_query_time=0";

fn variable(client: &mut Client, name: &str) -> String {
    client.text(&format!("SELECT @@GLOBAL.{name}")).unwrap().concat()
}

/// A log after what was asked so far is in it.
fn flushed(client: &mut Client, log: &str) -> String {
    client.execute("FLUSH LOGS").unwrap();
    let path = variable(client, log);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn slow_log(client: &mut Client) -> String {
    flushed(client, "slow_query_log_file")
}

/// The lines of a log with its moments and durations made alike.
fn without_times(line: &str) -> String {
    let mut shown = String::new();
    for part in line.split_inclusive([' ', '=', ';', '\t']) {
        let word = part.trim_end_matches([' ', '=', ';', '\t']);
        let is_time = word.contains('.') && word.parse::<f64>().is_ok() || word.len() == 27 && word.ends_with('Z');
        let is_timestamp = word.len() == 10 && word.parse::<u64>().is_ok();
        shown.push_str(if is_time || is_timestamp { "*" } else { word });
        shown.push_str(&part[word.len()..]);
    }
    shown
}

#[test]
fn the_slow_query_log_has_the_format_of_mysql() {
    if target_is_mariadb() {
        return skip("MariaDB's format is another one");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    client.execute("INSERT INTO t VALUES (1,1),(2,2),(3,3)").unwrap();
    client.run(LOG_ALL).unwrap();
    client.query("SELECT id FROM t WHERE id=2").unwrap();
    client.run("SELECT v FROM t ; SELECT 1;").unwrap();
    let text = slow_log(&mut client);
    let path = variable(&mut client, "slow_query_log_file");
    assert!(Path::new(&path).starts_with(server.data_dir().canonicalize().unwrap()), "{path}");
    assert!(path.ends_with("-slow.log"), "{path}");
    let lines: Vec<String> = text.lines().map(without_times).collect();
    assert!(lines[0].starts_with('/') && lines[0].ends_with("(Shoal). started with:"), "{}", lines[0]);
    assert_eq!(lines[1], format!("Tcp port: {}  Unix socket: ", server.port()));
    assert_eq!(lines[2], "Time                 Id Command    Argument");
    let expected = [
        ("0", "0", "SET long_query_time=0", "use test;"),
        ("1", "1", "SELECT id FROM t WHERE id=2", ""),
        ("3", "3", "SELECT v FROM t", ""),
        ("1", "0", "SELECT 1", ""),
    ];
    let mut at = 3;
    for (sent, examined, statement, uses) in expected {
        assert_eq!(lines[at], "# Time: *");
        let id = client.connection_id();
        assert_eq!(lines[at + 1], format!("# User@Host: root[root] @ localhost []  Id: {id:5}"));
        assert_eq!(
            lines[at + 2],
            format!("# Query_time: *  Lock_time: * Rows_sent: {sent}  Rows_examined: {examined}")
        );
        at += 3;
        if !uses.is_empty() {
            assert_eq!(lines[at], uses);
            at += 1;
        }
        assert_eq!(lines[at], "SET timestamp=*;");
        assert_eq!(lines[at + 1], format!("{statement};"));
        at += 2;
    }
}

#[test]
fn only_what_the_variables_ask_for_is_in_the_slow_query_log() {
    if target_is_mariadb() {
        return skip("MariaDB has other variables");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    client.execute("INSERT INTO t VALUES (1,1),(2,2),(3,3)").unwrap();
    let before = TestServer::counter(&mut client, "Slow_queries");
    client.run("SET GLOBAL slow_query_log=ON; SET long_query_time=0.05").unwrap();
    client.run("SELECT 'quick'; SELECT SLEEP(0.06), 'slow'").unwrap();
    // Without an index, at least so many rows.
    client.run("SET GLOBAL log_queries_not_using_indexes=ON").unwrap();
    client.run("SELECT COUNT(v+0) AS scanned FROM t; SELECT v AS looked_up FROM t WHERE id=1").unwrap();
    client.run("SET min_examined_row_limit=4").unwrap();
    client.run("SELECT COUNT(v+0) AS too_few FROM t").unwrap();
    client.run("SET min_examined_row_limit=0; SET GLOBAL log_queries_not_using_indexes=OFF").unwrap();
    // Administrative statements by request.
    client.run("SET long_query_time=0").unwrap();
    client.run("ALTER TABLE t ADD COLUMN unseen INT; SET GLOBAL log_slow_admin_statements=ON").unwrap();
    client.run("ALTER TABLE t ADD COLUMN seen INT; SET long_query_time=10").unwrap();
    let text = slow_log(&mut client);
    for (part, is_there) in [
        ("'slow'", true),
        ("'quick'", false),
        ("AS scanned", true),
        ("AS looked_up", false),
        ("AS too_few", false),
        ("COLUMN unseen", false),
        ("COLUMN seen", true),
    ] {
        assert_eq!(text.contains(part), is_there, "{part}:\n{text}");
    }
    let slow = TestServer::counter(&mut client, "Slow_queries") - before;
    assert!(slow >= 5, "{slow} slow queries were counted");
    // The microsecond is the unit, and a year the most.
    client.run("SET long_query_time=0.0000015").unwrap();
    assert_eq!(client.text("SELECT @@long_query_time=0.000002 OR @@long_query_time=0.000001").unwrap(), ["1"]);
    client.run("SET long_query_time=-1").unwrap();
    assert_eq!(client.text("SELECT @@long_query_time").unwrap(), ["0"]);
}

#[test]
fn the_extra_fields_are_those_of_mysql() {
    if target_is_mariadb() {
        return skip("MariaDB has no log_slow_extra");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.run(LOG_ALL).unwrap();
    client.run("SET GLOBAL log_slow_extra=ON").unwrap();
    assert_eq!(client.query("SELECT * FROM missing").unwrap_err().errno(), 1146);
    let text = slow_log(&mut client);
    let line = text.lines().find(|line| line.contains(" Errno: 1146 ")).expect(&text);
    let id = client.connection_id();
    let expected = format!(
        "# Query_time: *  Lock_time: * Rows_sent: 0  Rows_examined: 0 Thread_id: {id} Errno: 1146 Killed: 0 \
         Bytes_received: 22 Bytes_sent: 0 Read_first: 0 Read_last: 0 Read_key: 0 Read_next: 0 Read_prev: 0 \
         Read_rnd: 0 Read_rnd_next: 0 Sort_merge_passes: 0 Sort_range_count: 0 Sort_rows: 0 Sort_scan_count: 0 \
         Created_tmp_disk_tables: 0 Created_tmp_tables: 0 Start: * End: *"
    );
    assert_eq!(without_times(line), expected);
}

#[test]
fn the_general_log_has_every_command_before_it_runs() {
    if target_is_mariadb() {
        return skip("MariaDB's format is another one");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.run("SET GLOBAL general_log=ON").unwrap();
    let mut other = server.client();
    other.query("SELECT 1").unwrap();
    other.run("SELECT 2; SELECT 3").unwrap();
    assert_eq!(other.query("SELECT * FROM missing").unwrap_err().errno(), 1146);
    assert_eq!(other.query("SELEC 'unparsed'").unwrap_err().errno(), 1064);
    other.run("PREPARE s FROM 'SELECT ?'; SET @a='it''s'; EXECUTE s USING @a").unwrap();
    other.ping().unwrap();
    other.use_database("test").unwrap();
    other.run("SET sql_log_off=ON; SELECT 'unseen'; SET sql_log_off=OFF").unwrap();
    let text = flushed(&mut client, "general_log_file");
    let mine = format!("\t{:5} ", other.connection_id());
    let lines: Vec<&str> = text.lines().filter_map(|line| line.split_once(&mine)).map(|(_, rest)| rest).collect();
    let expected = [
        "Connect\troot@localhost on test using TCP/IP",
        "Query\tSELECT 1",
        "Query\tSELECT 2",
        "Query\tSELECT 3",
        "Query\tSELECT * FROM missing",
        "Query\tPREPARE s FROM 'SELECT ?'",
        "Prepare\tSELECT ?",
        "Query\tSET @a='it''s'",
        "Query\tEXECUTE s USING @a",
        "Execute\tSELECT 'it\\'s'",
        "Ping\t",
        "Init DB\ttest",
        "Query\tSET sql_log_off=ON",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn passwords_are_in_no_log() {
    if target_is_mariadb() {
        return skip("MariaDB writes them");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.run(LOG_ALL).unwrap();
    client.run("SET GLOBAL general_log=ON, GLOBAL log_output='FILE,TABLE'").unwrap();
    for sql in [
        "CREATE USER a IDENTIFIED BY 'hunter2'",
        "ALTER USER a IDENTIFIED WITH mysql_native_password BY \"hunter2\"",
        "SET PASSWORD FOR a = 'hunter2'",
        "PREPARE s FROM 'CREATE USER b IDENTIFIED BY \"hunter2\"'",
        "EXECUTE s",
        "SET @q = 'CREATE USER c IDENTIFIED BY \"hunter2\"'",
        "PREPARE s FROM @q",
        "SELECT 1; ALTER USER a IDENTIFIED BY 'hunter2'; SELECT missing; ALTER USER a IDENTIFIED BY 'hunter2'",
        "CREATE USER a IDENTIFIED BY 'hunter2'",
        "CREATE USER d IDENTIFIED 'hunter2' BY",
    ] {
        // Whether it works is not the question.
        let _ = client.run(sql);
    }
    let general = flushed(&mut client, "general_log_file");
    let slow = slow_log(&mut client);
    assert!(general.contains("CREATE USER a IDENTIFIED BY <secret>"), "{general}");
    assert!(slow.contains("CREATE USER a IDENTIFIED BY <secret>"), "{slow}");
    assert!(!general.contains("hunter2"), "{general}");
    assert!(!slow.contains("hunter2"), "{slow}");
    let rows = client.text("SELECT argument FROM mysql.general_log UNION ALL SELECT sql_text FROM mysql.slow_log");
    let rows = rows.unwrap();
    assert!(rows.iter().any(|row| row.contains("CREATE USER a IDENTIFIED BY <secret>")));
    // But for the statement of this test that asks.
    assert!(!rows.iter().any(|row| row.contains("hunter2")), "{rows:?}");
}

#[test]
fn the_logs_can_be_read_as_tables() {
    if target_is_mariadb() {
        return skip("MariaDB's tables have fewer columns");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.run("SET GLOBAL log_output='TABLE'").unwrap();
    client.run(LOG_ALL).unwrap();
    client.run("SELECT 5 AS five; SET long_query_time=10; SET GLOBAL slow_query_log=OFF").unwrap();
    let id = client.connection_id();
    let rows = client.text(
        "SELECT user_host, query_time < '00:00:10', lock_time, rows_sent, rows_examined, db, sql_text, thread_id, \
         ABS(TIMESTAMPDIFF(SECOND, start_time, NOW())) < 600 FROM mysql.slow_log WHERE sql_text LIKE '%five'",
    );
    assert_eq!(
        rows.unwrap(),
        [format!("root[root] @ localhost [],1,00:00:00.000000,1,0,test,SELECT 5 AS five,{id},1")]
    );
    assert!(!Path::new(&variable(&mut client, "slow_query_log_file")).exists());
    // Who may not read everything reads nothing here.
    client.run("CREATE USER reader; GRANT SELECT ON test.* TO reader").unwrap();
    let mut reader = Client::log_in(server.port(), &Login::user("reader", "")).unwrap();
    assert_eq!(reader.query("SELECT COUNT(*) FROM mysql.slow_log").unwrap_err().errno(), 1142);
}

#[test]
fn logs_are_rotated_by_flush_and_moved_by_set_global() {
    if target_is_mariadb() {
        return skip("MariaDB's files have other names");
    }
    let server = TestServer::start_with(&["--set=slow_query_log=ON", "--set=long_query_time=0"]);
    let mut client = server.client();
    client.query("SELECT 'first'").unwrap();
    let path = variable(&mut client, "slow_query_log_file");
    let rotated = format!("{path}.1");
    client.execute("FLUSH SLOW LOGS").unwrap();
    fs::rename(&path, &rotated).unwrap();
    client.query("SELECT 'second'").unwrap();
    client.execute("FLUSH SLOW LOGS").unwrap();
    client.query("SELECT 'third'").unwrap();
    client.run("SET GLOBAL slow_query_log_file='elsewhere.log'").unwrap();
    client.query("SELECT 'fourth'").unwrap();
    client.execute("FLUSH GENERAL LOGS").unwrap();
    let elsewhere = variable(&mut client, "slow_query_log_file");
    assert_eq!(PathBuf::from(&elsewhere), server.data_dir().canonicalize().unwrap().join("elsewhere.log"));
    client.execute("FLUSH LOGS").unwrap();
    let [old, new, moved] = [&rotated, &path, &elsewhere].map(|path| fs::read_to_string(path).unwrap());
    assert!(old.contains("'first'") && old.contains("'second'"), "{old}");
    assert!(new.contains("'third'") && !new.contains("'second'"), "{new}");
    assert!(moved.contains("'fourth'") && !moved.contains("'third'"), "{moved}");
    assert!(new.starts_with('/') && moved.starts_with('/'));
}

#[test]
fn values_that_cannot_be_are_refused() {
    if target_is_mariadb() {
        return skip("MariaDB has other rules");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.run("SET GLOBAL general_log=ON").unwrap();
    let path = variable(&mut client, "general_log_file");
    for sql in [
        "SET GLOBAL general_log_file='/nowhere/at/all.log'",
        "SET GLOBAL general_log_file='/'",
        "SET GLOBAL general_log_file='my.cnf'",
        "SET GLOBAL log_output='DISK'",
        "SET GLOBAL slow_query_log=7",
    ] {
        assert_eq!(client.run(sql).unwrap_err().errno(), 1231, "{sql}");
    }
    assert_eq!(client.run("SET slow_query_log=ON").unwrap_err().errno(), 1229);
    assert_eq!(variable(&mut client, "general_log_file"), path);
    client.query("SELECT 'still written'").unwrap();
    assert!(flushed(&mut client, "general_log_file").contains("'still written'"));
    client.run("CREATE USER u").unwrap();
    let mut user = Client::log_in(server.port(), &Login::user("u", "")).unwrap();
    assert_eq!(user.run("SET GLOBAL general_log=OFF").unwrap_err().errno(), 1227);
    assert_eq!(user.run("SET sql_log_off=ON").unwrap_err().errno(), 1227);
    assert_eq!(user.run("FLUSH LOGS").unwrap_err().errno(), 1227);
}

#[test]
fn a_log_that_cannot_be_written_is_told_once_and_hurts_nobody() {
    if target_is_mariadb() || !Path::new("/dev/full").exists() {
        return skip("there is no /dev/full");
    }
    let mut server = TestServer::start();
    let mut client = server.client();
    let log_path = server.data_dir().join("general.log");
    client.run(&format!("SET GLOBAL general_log_file='{}'", log_path.display())).unwrap();
    client.run("SET GLOBAL general_log=ON").unwrap();
    // Until it is written, it may be about to be opened.
    wait_until("the log is written", || {
        client.query("SELECT 'first'").unwrap();
        fs::read_to_string(&log_path).is_ok_and(|text| text.contains("SELECT 'first'"))
    });
    // The disk is full: a link leads to the device that always is.
    fs::remove_file(&log_path).unwrap();
    std::os::unix::fs::symlink("/dev/full", &log_path).unwrap();
    let lost = |client: &mut Client| TestServer::counter(client, "Shoal_query_log_lost");
    wait_until("entries are lost", || lost(&mut client) > 50);
    let said = |server: &mut TestServer, what: &str| server.server().log().matches(what).count();
    assert_eq!(said(&mut server, "general log: cannot write"), 1, "{}", server.server().log());
    assert_eq!(said(&mut server, "was deleted"), 1);
    // There is room again.
    fs::remove_file(&log_path).unwrap();
    wait_until("the log is written again", || {
        client.query("SELECT 'back'").unwrap();
        fs::read_to_string(&log_path).is_ok_and(|text| text.contains("SELECT 'back'"))
    });
    assert_eq!(said(&mut server, "is written again"), 1);
    server.stop();
}

#[test]
fn what_was_logged_is_in_the_file_after_an_orderly_end() {
    if target_is_mariadb() {
        return skip("MariaDB's files have other names");
    }
    let mut server = TestServer::start_with(&["--set=general_log=ON"]);
    let mut client = server.client();
    let path = variable(&mut client, "general_log_file");
    client.query("SELECT 'last words'").unwrap();
    server.stop();
    assert!(fs::read_to_string(path).unwrap().contains("'last words'"));
}

#[test]
fn mysqls_tools_read_the_slow_query_log() {
    if target_is_mariadb() {
        return skip("the tools are tested with Shoal's log");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    client.execute("INSERT INTO t VALUES (1,1),(2,2),(3,3)").unwrap();
    client.run(LOG_ALL).unwrap();
    for id in 1..=5 {
        client.query(&format!("SELECT v FROM t WHERE id={id}")).unwrap();
    }
    // With all that may stand beside a statement.
    client
        .run("SET GLOBAL log_slow_extra=ON; SET GLOBAL log_trace_context=ON; SET GLOBAL long_query_time=0")
        .unwrap();
    let login =
        Login { extra_capabilities: CLIENT_QUERY_ATTRIBUTES, database: "test".into(), ..Login::user("root", "") };
    let mut traced = Client::log_in(server.port(), &login).unwrap();
    for id in 1..=5 {
        let body = with_attribute("traceparent", TRACE, &format!("SELECT v FROM t WHERE id={id}"));
        traced.command(COM_QUERY, &body).unwrap();
        traced.receive_reply().unwrap().rows().unwrap();
    }
    // As logs are rotated. Else there would be a heading in the middle of the file, where pt-query-digest takes none.
    let current = variable(&mut client, "slow_query_log_file");
    let path = format!("{current}.1");
    fs::rename(current, &path).unwrap();
    client.execute("FLUSH SLOW LOGS").unwrap();
    // MariaDB's program knows no moments as MySQL has written them since 5.7, and reads the rest.
    let timeless = server.data_dir().join("timeless.log");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# Time: ")).collect();
    fs::write(&timeless, lines.join("\n")).unwrap();
    for (program, options, parts) in [
        ("mariadb-dumpslow", &["-s", "c"][..], &["SELECT v FROM t WHERE id=N", "root[root]@"][..]),
        ("pt-query-digest", &["--no-version-check", "--limit=100%"], &["SELECT t", "SELECT v FROM t WHERE id="]),
    ] {
        if find_program(program).is_none() {
            skip(&format!("{program} is not installed"));
            continue;
        }
        let mut command = Command::new(program);
        command.args(options).arg(if program == "mariadb-dumpslow" {
            timeless.as_path()
        } else {
            Path::new(&path)
        });
        let output = server.finish(command, b"");
        let text = output.text();
        assert!(output.status.success(), "{program}: {text}{}", output.errors());
        for part in parts {
            assert!(text.contains(part), "{program} does not say {part:?}:\n{text}");
        }
        let counts_ten = |line: &str| {
            line.starts_with("Count: 10 ") || line.starts_with("# Count ") && line.trim_end().ends_with(" 10")
        };
        assert!(text.lines().any(counts_ten), "{program} does not count 10 of them:\n{text}");
    }
}

const COM_QUERY: u8 = 3;
const COM_STMT_EXECUTE: u8 = 0x17;
const CLIENT_QUERY_ATTRIBUTES: u32 = 1 << 27;
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Attributes of a query, as MySQL's clients send them: one text with a name.
fn with_attribute(name: &str, value: &str, sql: &str) -> Vec<u8> {
    let mut body = vec![1, 1, 0, 1, 254, 0, name.len() as u8];
    body.extend_from_slice(name.as_bytes());
    body.push(value.len() as u8);
    body.extend_from_slice(value.as_bytes());
    body.extend_from_slice(sql.as_bytes());
    body
}

#[test]
fn entries_tell_of_traces_if_they_are_to() {
    if target_is_mariadb() {
        return skip("MariaDB knows no traces");
    }
    let server = TestServer::start_with(&[
        "--set",
        "audit_log=ON",
        "--set",
        "audit_log_statements=ON",
        "--set",
        "audit_log_file=audit.json",
    ]);
    let mut client = server.client();
    client.run(LOG_ALL).unwrap();
    let commented = format!("SELECT 1 /*action='run',traceparent='{TRACE}'*/");
    client.query(&commented).unwrap();
    client.execute("SET GLOBAL log_trace_context=ON").unwrap();
    client.query(&commented).unwrap();
    client.query("SELECT 2 /*traceparent='00-none'*/").unwrap();
    let prepared = client.prepare(&format!("SELECT 3 /*traceparent='{TRACE}'*/")).unwrap();
    client.run_statement(&prepared, &[]).unwrap();
    client.execute("SET GLOBAL long_query_time=0").unwrap();
    let login = Login { extra_capabilities: CLIENT_QUERY_ATTRIBUTES, ..Login::user("root", "") };
    let mut other = Client::log_in(server.port(), &login).unwrap();
    for body in [
        with_attribute("traceparent", TRACE, "SELECT 4"),
        with_attribute("traceparent", "00-none", "SELECT 5"),
        with_attribute("tracestate", TRACE, "SELECT 6"),
        // What was said of one statement is not said of the next.
        b"\0\x01SELECT 7".to_vec(),
    ] {
        other.command(COM_QUERY, &body).unwrap();
        other.receive_reply().unwrap().rows().unwrap();
    }
    // Of a prepared statement it stands behind the parameters, here the number 9.
    let prepared = other.prepare("SELECT ?").unwrap();
    let mut body = prepared.id.to_le_bytes().to_vec();
    body.extend_from_slice(&[8, 1, 0, 0, 0, 2, 0, 1, 1, 0, 0, 254, 0, 11]);
    body.extend_from_slice(b"traceparent");
    body.extend_from_slice(&[9, TRACE.len() as u8]);
    body.extend_from_slice(TRACE.as_bytes());
    other.command(COM_STMT_EXECUTE, &body).unwrap();
    // The row in its binary form is nobody's concern.
    other.receive_reply().ok();
    let slow = slow_log(&mut client);
    let told: Vec<&str> = slow.lines().filter(|line| line.contains("Traceparent")).collect();
    assert_eq!(told.len(), 4, "{slow}");
    for line in told {
        assert!(line.starts_with("# Query_time: ") && line.ends_with(&format!(" Traceparent: {TRACE}")), "{line}");
    }
    let audit = fs::read_to_string(server.data_dir().join("audit.json")).unwrap();
    assert_eq!(audit.matches(&format!("\"traceparent\":\"{TRACE}\"")).count(), 4, "{audit}");
}
