//! Golden SQL scripts: `NAME.test` holds SQL, `NAME.result` what every statement must print.
//!
//! A script is SQL, each statement ending in `;` at the end of a line. Lines that begin with `#` are comments. A line
//! that begins with `--` and one of these words directs what follows:
//! - `--sorted`: the next result has no order of its own; its rows are compared sorted.
//! - `--mysql WHY`: MariaDB answers the next statement in another way than MySQL 8.4; the expectation was written
//!   by hand after MySQL, is not compared with MariaDB and survives an update.
//! - `--quiet`: of the next statement, only rows and errors count, not warnings or numbers of affected rows.
//! - `--session NAME`: the following statements run in another connection.
//!
//! A result has one block a statement: the statement after `> `, column names, rows with tabs between values,
//! warnings as level and number, or the error as number and SQLSTATE. Messages are left out: they differ in wording.
//!
//! MariaDB is the oracle where it agrees with MySQL 8.4: `SHOAL_TEST_SERVER=mariadb SHOAL_GOLDEN=update` writes results.

mod diff;
mod script;

pub use diff::unified;
pub use script::{Directive, Step, parse};

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Client, Error, Reply, TestServer, Value, target_is_mariadb};

const CONTEXT_LINES: usize = 4;

/// All scripts of a folder, by name.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    paths.sort();
    paths
}

/// Runs one script in a database of its own. Returns the difference to the expected result, if any.
pub fn check(server: &TestServer, path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let steps = parse(&text);
    let result_path = path.with_extension("result");
    let expected = fs::read_to_string(&result_path).unwrap_or_default();
    let by_hand = hand_written(&steps, &expected);
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let actual = run(server, &name, &steps, &by_hand);
    if std::env::var("SHOAL_GOLDEN").is_ok_and(|mode| mode == "update") {
        assert!(target_is_mariadb(), "results are written with MariaDB as the oracle");
        fs::write(&result_path, &actual).unwrap();
        return None;
    }
    let label = result_path.file_name().unwrap().to_string_lossy();
    unified(&label, &expected, &actual, CONTEXT_LINES)
}

/// The expected blocks of the steps that MariaDB is not asked about, by the number of the step.
fn hand_written(steps: &[Step], expected: &str) -> BTreeMap<usize, String> {
    let mut blocks = BTreeMap::new();
    if !target_is_mariadb() {
        return blocks;
    }
    let mut rest = expected;
    for (number, step) in steps.iter().enumerate() {
        let head = heading(&step.sql);
        let Some(start) = rest.find(&head) else { continue };
        let body = &rest[start + head.len()..];
        let end = body.find("\n> ").map_or(body.len(), |end| end + 1);
        if step.has(Directive::Mysql) {
            blocks.insert(number, body[..end].to_string());
        }
        rest = &body[end..];
    }
    blocks
}

fn run(server: &TestServer, name: &str, steps: &[Step], by_hand: &BTreeMap<usize, String>) -> String {
    let database = format!("golden_{name}");
    let mut setup = server.client();
    setup.execute(&format!("DROP DATABASE IF EXISTS {database}")).unwrap();
    setup.execute(&format!("CREATE DATABASE {database}")).unwrap();
    let mut sessions: BTreeMap<&str, Client> = BTreeMap::new();
    let mut out = String::new();
    for (number, step) in steps.iter().enumerate() {
        let session = step.session.as_str();
        let client = sessions.entry(session).or_insert_with(|| server.client_in(&database));
        out += &heading(&step.sql);
        let printed = print_step(client, step);
        match by_hand.get(&number) {
            Some(block) => out += block,
            None => {
                out += &printed;
                out.push('\n');
            }
        }
    }
    let _ = setup.execute(&format!("DROP DATABASE IF EXISTS {database}"));
    out
}

fn heading(sql: &str) -> String {
    sql.lines().fold(String::new(), |text, line| text + "> " + line + "\n")
}

fn print_step(client: &mut Client, step: &Step) -> String {
    match client.run(&step.sql) {
        Ok(replies) => {
            let mut out = String::new();
            let mut warnings = 0;
            for reply in replies {
                warnings += print_reply(&mut out, &reply, step);
            }
            if step.has(Directive::Quiet) {
                return out;
            }
            if warnings > 0 && !step.sql.to_ascii_uppercase().starts_with("SHOW WARNINGS") {
                print_warnings(&mut out, client);
            }
            out
        }
        Err(Error::Server { errno, sqlstate, .. }) => {
            let sqlstate = mysql_sqlstate(errno, &sqlstate);
            format!("ERROR {errno} ({sqlstate})\n")
        }
        Err(error) => panic!("{}: {error}", step.sql),
    }
}

/// Where MariaDB gives an error another SQLSTATE than MySQL, MySQL's.
fn mysql_sqlstate(errno: u16, sqlstate: &str) -> &str {
    match errno {
        1366 if target_is_mariadb() => "HY000",
        _ => sqlstate,
    }
}

fn print_reply(out: &mut String, reply: &Reply, step: &Step) -> u16 {
    match reply {
        Reply::Done(done) if step.has(Directive::Quiet) => done.warnings,
        Reply::Done(done) => {
            if done.affected_rows > 0 {
                let _ = writeln!(out, "affected rows: {}", done.affected_rows);
            }
            if !done.info.is_empty() {
                let _ = writeln!(out, "info: {}", printable(done.info.as_bytes()));
            }
            done.warnings
        }
        Reply::Rows(rows) => {
            let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
            let _ = writeln!(out, "{}", names.join("\t"));
            let mut lines: Vec<String> = rows.rows.iter().map(|row| print_row(row)).collect();
            if step.has(Directive::Sorted) {
                lines.sort();
            }
            for line in lines {
                let _ = writeln!(out, "{line}");
            }
            rows.warnings
        }
    }
}

fn print_row(row: &[Value]) -> String {
    let values: Vec<String> = row
        .iter()
        .map(|value| match value {
            Value::Null => "NULL".to_string(),
            Value::Bytes(bytes) if bytes.is_empty() => "''".to_string(),
            Value::Bytes(bytes) => printable(bytes),
            other => other.to_string(),
        })
        .collect();
    values.join("\t")
}

/// One line, whatever the bytes: control characters and what is no UTF-8 are escaped.
fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => out += "\\n",
                '\t' => out += "\\t",
                '\\' => out += "\\\\",
                control if control.is_control() => {
                    let _ = write!(out, "\\x{:02x}", control as u32);
                }
                other => out.push(other),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn print_warnings(out: &mut String, client: &mut Client) {
    let rows = client.query("SHOW WARNINGS").unwrap();
    for row in &rows.rows {
        let _ = writeln!(out, "{}: {}", row[0].to_string().to_lowercase(), row[1]);
    }
}
