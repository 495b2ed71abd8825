//! Ordinary clients on ordinary work: sysbench, mariadb-dump, LOAD DATA.

use shoal_system_tests::TestServer;

fn figure(report: &str, name: &str) -> u64 {
    report
        .lines()
        .find_map(|line| line.trim().strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no `{name}` in:\n{report}"))
}

/// Prepares a small table, runs the script to a number of events, and cleans up.
fn sysbench_round(script: &str, more: &[&str]) {
    let server = TestServer::start();
    let mut options = vec!["--tables=1", "--table-size=2000", "--threads=4"];
    options.extend_from_slice(more);
    let creating = match script {
        // These scripts have no working `prepare` of their own for several threads.
        "select_random_points" | "select_random_ranges" => "oltp_read_only",
        other => other,
    };
    server.sysbench(creating, "prepare", &options);
    assert_eq!(server.sql("SELECT COUNT(*) FROM sbtest1"), "2000\n");
    options.extend(["--events=400", "--time=0"]);
    let report = server.sysbench(script, "run", &options);
    assert_eq!(figure(&report, "total number of events:"), 400, "{report}");
    server.sysbench(creating, "cleanup", &options[..3]);
    assert_eq!(server.sql("SHOW TABLES"), "");
}

#[test]
fn sysbench_read_write_prepares_runs_and_cleans_up() {
    sysbench_round("oltp_read_write", &[]);
}

#[test]
fn sysbench_read_write_without_prepared_statements() {
    sysbench_round("oltp_read_write", &["--db-ps-mode=disable"]);
}

#[test]
fn sysbench_point_select() {
    sysbench_round("oltp_point_select", &[]);
    sysbench_round("oltp_point_select", &["--db-ps-mode=disable"]);
}

#[test]
fn sysbench_read_only() {
    sysbench_round("oltp_read_only", &[]);
}

#[test]
fn sysbench_random_points_and_ranges() {
    sysbench_round("select_random_points", &[]);
    sysbench_round("select_random_ranges", &[]);
}

#[test]
fn sysbench_updates() {
    sysbench_round("oltp_update_index", &[]);
    sysbench_round("oltp_update_non_index", &[]);
}

#[test]
fn sysbench_write_only() {
    sysbench_round("oltp_write_only", &[]);
}

#[test]
fn sysbench_delete() {
    sysbench_round("oltp_delete", &[]);
}

#[test]
fn sysbench_insert_adds_a_row_an_event() {
    let server = TestServer::start();
    let options = ["--tables=1", "--table-size=100", "--threads=4"];
    server.sysbench("oltp_insert", "prepare", &options);
    let run = [&options[..], &["--events=300", "--time=0"]].concat();
    server.sysbench("oltp_insert", "run", &run);
    assert_eq!(server.sql("SELECT COUNT(*), COUNT(DISTINCT id) FROM sbtest1"), "400\t400\n");
}

#[test]
fn sysbench_bulk_insert_fills_a_table_a_thread() {
    let server = TestServer::start();
    let options = ["--threads=2"];
    server.sysbench("bulk_insert", "prepare", &options);
    server.sysbench("bulk_insert", "run", &["--threads=2", "--events=50000", "--time=0"]);
    let count = "SELECT (SELECT COUNT(*) FROM sbtest1) + (SELECT COUNT(*) FROM sbtest2)";
    assert_eq!(server.sql(count), "50000\n");
    server.sysbench("bulk_insert", "cleanup", &options);
}

const MANY_TYPES: &str = "\
CREATE TABLE numbers (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  tiny TINYINT, utiny TINYINT UNSIGNED, small SMALLINT, medium MEDIUMINT, big BIGINT, ubig BIGINT UNSIGNED,
  price DECIMAL(30,10) NOT NULL DEFAULT '0.0000000000', ratio DOUBLE, rough FLOAT, flags BIT(12),
  KEY by_price (price), UNIQUE KEY by_big (big)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO numbers (tiny,utiny,small,medium,big,ubig,price,ratio,rough,flags) VALUES
  (-128,0,-32768,-8388608,-9223372036854775808,0,'-12345678901234567890.0123456789',-1.5e300,-0.25,b'0'),
  (127,255,32767,8388607,9223372036854775807,18446744073709551615,'99999999999999999999.9999999999',3.5,1024,b'111111111111'),
  (NULL,NULL,NULL,NULL,NULL,NULL,1,NULL,NULL,NULL);
CREATE TABLE moments (
  id INT PRIMARY KEY, born DATE, at TIME, at6 TIME(6), seen DATETIME, seen3 DATETIME(3),
  stamp TIMESTAMP(6) NULL, vintage YEAR
);
INSERT INTO moments VALUES
  (1,'1000-01-01','-838:59:59','-01:02:03.000004','1000-01-01 00:00:00','9999-12-31 23:59:59.999','2024-02-29 12:34:56.789012',1901),
  (2,'9999-12-31','838:59:59','23:59:59.999999','2024-12-31 23:59:59','2024-01-01 00:00:00.001','1970-01-02 00:00:00.000001',2155),
  (3,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE texts (
  id INT PRIMARY KEY, fixed CHAR(10), name VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  latin VARCHAR(50) CHARACTER SET latin1, bin BINARY(4), vbin VARBINARY(20), body MEDIUMTEXT, picture LONGBLOB,
  mood ENUM('glad','sad','it''s'), colours SET('red','green','blue') DEFAULT 'red,blue', UNIQUE KEY (name)
) DEFAULT CHARSET=utf8mb4;
INSERT INTO texts VALUES
  (1,'ab','Ünïcödé 🐟','Größe',x'00010203',x'ff00fe','line\\none\\ttab \\'quote\\' \"double\" back\\\\slash',x'0000270a0d1aff22','it''s','red,green'),
  (2,'','','','ab','',REPEAT('lorem ',3000),REPEAT(x'00ff',5000),'glad',''),
  (3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
";

/// Everything in the three tables, as text that no client converts.
const CONTENTS: &str = "\
SELECT id,tiny,utiny,small,medium,big,ubig,price,ratio,rough,HEX(flags) FROM numbers ORDER BY id;
SELECT id,born,at,at6,seen,seen3,stamp,vintage FROM moments ORDER BY id;
SELECT id,HEX(fixed),HEX(name),HEX(latin),HEX(bin),HEX(vbin),MD5(body),LENGTH(body),MD5(picture),LENGTH(picture),mood,colours FROM texts ORDER BY id;
";

#[test]
fn a_dump_restores_every_type_and_dumps_the_same_again() {
    let server = TestServer::start();
    server.sql(MANY_TYPES);
    let dump = dump(&server, "test");
    // By default the tables are locked instead of read in one transaction.
    let locking = server.dump(&["--hex-blob"], "test");
    assert_eq!(String::from_utf8_lossy(&locking), String::from_utf8_lossy(&dump));
    server.sql("CREATE DATABASE copy");
    server.restore("copy", &dump);
    let contents = server.sql(CONTENTS);
    assert_eq!(contents.lines().count(), 9);
    assert_eq!(server.sql(&format!("USE copy;{CONTENTS}")), contents);
    let again = self::dump(&server, "copy");
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&dump));
    // What AUTO_INCREMENT had reached was dumped as well.
    server.sql("INSERT INTO copy.numbers (price) VALUES (1)");
    assert_eq!(server.sql("SELECT MAX(id) FROM copy.numbers"), "4\n");
}

fn dump(server: &TestServer, database: &str) -> Vec<u8> {
    server.dump(&["--hex-blob", "--single-transaction"], database)
}

#[test]
fn load_data_local_reads_a_file_of_the_client() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql(
        "CREATE TABLE towns (id INT PRIMARY KEY, name VARCHAR(40), people INT, note VARCHAR(40)) \
         DEFAULT CHARSET=utf8mb4",
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("towns.csv");
    let rows = "id,name,people\n1,\"Oslo\",700000\n2,\"Den \"\"Haag\"\"\",500000\n3,\\N,\\N\n4,Ærø,6000\n";
    std::fs::write(&file, rows).unwrap();
    let load = format!(
        "LOAD DATA LOCAL INFILE '{}' INTO TABLE towns CHARACTER SET utf8mb4 \
         FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' IGNORE 1 LINES (id, name, @people) \
         SET people=@people DIV 1000, note=CONCAT('town ',id)",
        file.display()
    );
    let output = server.mariadb(&["--local-infile=1", "-vvv"], load.as_bytes());
    assert!(output.status.success(), "{}", output.errors());
    assert!(output.text().contains("Records: 4  Deleted: 0  Skipped: 0  Warnings: 0"), "{}", output.text());
    assert_eq!(
        server.sql("SELECT id, name, people, note FROM towns ORDER BY id"),
        "1\tOslo\t700\ttown 1\n2\tDen \"Haag\"\t500\ttown 2\n3\tNULL\tNULL\ttown 3\n4\tÆrø\t6\ttown 4\n"
    );
    // LOCAL cannot stop in the middle: duplicates are skipped with a warning.
    let output = server.mariadb(&["--local-infile=1", "-vvv"], load.as_bytes());
    assert!(output.text().contains("Records: 4  Deleted: 0  Skipped: 4  Warnings: 4"), "{}", output.text());
}

#[test]
fn the_interactive_status_command_of_the_client_works() {
    let server = TestServer::start();
    let output = server.mariadb(&["--table"], b"status\n");
    let text = output.text() + &output.errors();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Server version:") && text.contains("Uptime:"), "{text}");
}

#[test]
fn slap_generates_its_own_load() {
    let server = TestServer::start();
    let mut command = server.program("mariadb-slap");
    command.args(["--auto-generate-sql", "--auto-generate-sql-add-autoincrement"]);
    command.args(["--concurrency=4", "--iterations=2", "--number-of-queries=400", "--engine=innodb"]);
    let output = server.finish(command, b"");
    assert!(output.status.success(), "{}{}", output.text(), output.errors());
}

#[test]
fn a_script_of_many_statements_streams_through_the_client() {
    let server = TestServer::start();
    let mut script = String::from("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));\nBEGIN;\n");
    for id in 0..5000 {
        script += &format!("INSERT INTO t VALUES ({id}, 'row {id}');\n");
    }
    script += "COMMIT;\nSELECT COUNT(*), MIN(v), MAX(id) FROM t;\n";
    assert_eq!(server.sql(&script), "5000\trow 0\t4999\n");
    // All rows come back, one by one as they arrive.
    let output = server.mariadb(&["--batch", "--quick", "--skip-column-names"], b"SELECT * FROM t ORDER BY id");
    let expected: String = (0..5000).map(|id| format!("{id}\trow {id}\n")).collect();
    assert_eq!(output.text(), expected);
}
