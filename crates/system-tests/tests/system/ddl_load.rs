//! LOAD DATA LOCAL: formats, unfit rows, transactions, large files.

use std::fmt::Write as _;
use std::path::PathBuf;

use shoal_system_tests::{TestServer, target_is_mariadb};

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Files {
        Files { folder: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Runs statements with local files allowed; what the client prints, with counts.
fn run(server: &TestServer, sql: &str) -> String {
    let output = server.mariadb(&["--local-infile=1", "-vvv", "--show-warnings"], sql.as_bytes());
    output.text() + &output.errors()
}

#[test]
fn rows_of_odd_lengths_are_filled_and_cut_with_warnings() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5, b VARCHAR(5) NOT NULL)");
    let files = Files::new();
    let file = files.write("odd.txt", "1\t2\tabc\n2\n3\t4\ttoo long\textra\nx\t\\N\t\\N\n");
    let text = run(&server, &format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t", file.display()));
    assert!(text.contains("Records: 4  Deleted: 0  Skipped: 0"), "{text}");
    for errno in ["1261", "1262", "1265", "1366"] {
        assert!(text.contains(errno), "no warning {errno} in {text}");
    }
    let rows = server.sql("SELECT * FROM t ORDER BY id");
    assert!(rows.starts_with("0\tNULL\t\n1\t2\tabc\n2\t"), "{rows}");
    assert!(rows.ends_with("3\t4\ttoo l\n"), "{rows}");
}

#[test]
fn duplicates_are_ignored_or_replaced_as_asked() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO t VALUES (1,'old'),(2,'old')");
    let files = Files::new();
    let file = files.write("rows.txt", "1,new\n3,new\n");
    let load = |word: &str| {
        format!("LOAD DATA LOCAL INFILE '{}' {word} INTO TABLE t FIELDS TERMINATED BY ','", file.display())
    };
    let text = run(&server, &load("IGNORE"));
    assert!(text.contains("Records: 2  Deleted: 0  Skipped: 1"), "{text}");
    assert_eq!(server.sql("SELECT v FROM t ORDER BY id"), "old\nold\nnew\n");
    let text = run(&server, &load("REPLACE"));
    assert!(text.contains("Records: 2  Deleted:"), "{text}");
    assert_eq!(server.sql("SELECT v FROM t ORDER BY id"), "new\nold\nnew\n");
}

#[test]
fn what_was_loaded_in_a_transaction_is_rolled_back_with_it() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY)");
    let files = Files::new();
    let file = files.write("rows.txt", "1\n2\n3\n");
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t", file.display());
    let text = run(&server, &format!("BEGIN; {load}; SELECT COUNT(*) AS inside FROM t; ROLLBACK"));
    assert!(text.contains("inside\n") || text.contains("| inside"), "{text}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "0\n");
    run(&server, &load);
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "3\n");
}

#[test]
fn variables_and_set_make_columns_of_fields() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(9), b INT, c DATE)");
    let files = Files::new();
    let file = files.write("rows.csv", "id;when;n\n;31.12.2024;10\n;01.02.2023;\"2;0\"\n");
    let load = format!(
        "LOAD DATA LOCAL INFILE '{}' INTO TABLE t FIELDS TERMINATED BY ';' ENCLOSED BY '\"' IGNORE 1 LINES \
         (@skipped, @day, a) SET c=STR_TO_DATE(@day,'%d.%m.%Y'), b=CHAR_LENGTH(a)*2",
        file.display()
    );
    run(&server, &load);
    assert_eq!(server.sql("SELECT * FROM t ORDER BY id"), "1\t10\t4\t2024-12-31\n2\t2;0\t6\t2023-02-01\n");
}

#[test]
fn a_large_file_arrives_whole_and_a_missing_one_is_an_error() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200), KEY (v))");
    let files = Files::new();
    let mut text = String::new();
    for id in 0..40_000 {
        let _ = writeln!(text, "{id}\tvalue {id} {}", "é".repeat(id % 90));
    }
    let file = files.write("large.txt", &text);
    let loaded =
        run(&server, &format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t CHARACTER SET utf8mb4", file.display()));
    assert!(loaded.contains("Records: 40000  Deleted: 0  Skipped: 0  Warnings: 0"), "{loaded}");
    let sums = server.sql("SELECT COUNT(*), SUM(id), SUM(CHAR_LENGTH(v)) FROM t");
    let characters: usize = text.lines().map(|line| line.split_once('\t').unwrap().1.chars().count()).sum();
    assert_eq!(sums, format!("40000\t799980000\t{characters}\n"));
    let missing = run(&server, "LOAD DATA LOCAL INFILE '/nonexistent/file' INTO TABLE t");
    assert!(missing.contains("ERROR"), "{missing}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "40000\n");
}

#[test]
fn files_of_the_server_are_out_of_reach() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY)");
    if !target_is_mariadb() {
        let error = server.sql_error("LOAD DATA INFILE '/etc/passwd' INTO TABLE t");
        assert!(error.contains("1290"), "{error}");
    }
    server.sql("SET GLOBAL local_infile=0");
    let output = server.mariadb(&["--local-infile=1"], b"LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t");
    assert!(output.errors().contains("ERROR"), "{}", output.errors());
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "0\n");
}
