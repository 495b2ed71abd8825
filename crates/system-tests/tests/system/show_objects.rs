//! SHOW, information_schema and EXPLAIN tell the same truth as the tables themselves.

use shoal_system_tests::{TestServer, skip, target_is_mariadb};

const TABLES: &str = "CREATE TABLE boats (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE, \
    built YEAR, KEY by_year (built)) COMMENT='of the harbour'; \
    INSERT INTO boats (name, built) VALUES ('Ada',1990),('Bea',2001),('Cid',2001)";

#[test]
fn partitions_hold_all_rows_of_their_table() {
    if target_is_mariadb() {
        return skip("MariaDB's tables have no partitions of their own");
    }
    let server = TestServer::start();
    server.sql(TABLES);
    let sums = "SELECT SUM(p.TABLE_ROWS), MAX(t.TABLE_ROWS), COUNT(*)=MAX(PARTITION_ORDINAL_POSITION) \
        FROM information_schema.partitions p JOIN information_schema.tables t USING (TABLE_SCHEMA, TABLE_NAME) \
        WHERE TABLE_NAME='boats'";
    assert_eq!(server.sql(sums), "3\t3\t1\n");
}

#[test]
fn a_tables_size_grows_with_its_rows() {
    let server = TestServer::start();
    server.sql("CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200), UNIQUE KEY (v))");
    let sizes = "SELECT TABLE_ROWS, DATA_LENGTH, AVG_ROW_LENGTH, INDEX_LENGTH FROM information_schema.tables WHERE TABLE_NAME='s'";
    let numbers =
        |text: String| text.trim().split('\t').map(|number| number.parse().unwrap()).collect::<Vec<u64>>();
    let empty = numbers(server.sql(sizes));
    let values: Vec<String> = (0..500).map(|n| format!("('{n:0>150}')")).collect();
    server.sql(&format!("INSERT INTO s (v) VALUES {}; ANALYZE TABLE s", values.join(",")));
    let full = numbers(server.sql(sizes));
    assert!(full[1] >= empty[1] + 500 * 100 && full[3] > empty[3], "{empty:?} {full:?}");
    assert!((100..1000).contains(&full[2]), "{full:?}");
    let status = server.sql("SHOW TABLE STATUS LIKE 's'");
    assert!(status.contains(&format!("\t{}\t", full[1])), "{status}");
}

#[test]
fn explain_leaves_the_query_as_a_note() {
    if target_is_mariadb() {
        return skip("MariaDB leaves it after EXPLAIN EXTENDED alone");
    }
    let server = TestServer::start();
    server.sql(TABLES);
    for explain in ["EXPLAIN", "EXPLAIN FORMAT=JSON"] {
        let notes =
            server.sql(&format!("{explain} SELECT name AS n FROM boats WHERE id<3 ORDER BY built; SHOW WARNINGS"));
        let note =
            notes.lines().find(|line| line.starts_with("Note\t1003\t")).unwrap_or_else(|| panic!("{notes}"));
        assert!(note.contains("`boats`") && note.contains("order by"), "{note}");
    }
}

#[test]
fn where_chooses_among_the_shown_columns() {
    let server = TestServer::start();
    server.sql(TABLES);
    assert_eq!(server.sql("SHOW TABLES WHERE Tables_in_test = 'boats'"), "boats\n");
    assert_eq!(server.sql("SHOW COLUMNS FROM boats WHERE `Key` = 'UNI'").split('\t').next(), Some("name"));
    assert_eq!(server.sql("SHOW INDEX FROM boats WHERE Non_unique = 1").split('\t').nth(2), Some("by_year"));
    assert!(server.sql_error("SHOW TABLES WHERE nonsense = 1").contains("1054"));
}

#[test]
fn a_limit_of_warnings_leaves_the_warnings_there() {
    let server = TestServer::start();
    let shown =
        server.sql("SELECT 1/0, 2/0; SHOW WARNINGS LIMIT 1; SHOW WARNINGS LIMIT 1,1; SHOW COUNT(*) WARNINGS");
    assert_eq!(shown.lines().filter(|line| line.starts_with("Warning\t1365")).count(), 2, "{shown}");
    assert!(shown.ends_with("\n2\n"), "{shown}");
}

#[test]
fn checking_and_summing_a_table_read_its_rows() {
    let server = TestServer::start();
    server.sql(TABLES);
    assert_eq!(server.sql("CHECK TABLE boats"), "test.boats\tcheck\tstatus\tOK\n");
    let before = server.sql("CHECKSUM TABLE boats");
    server.sql("UPDATE boats SET built = 1991 WHERE id = 1");
    assert_ne!(server.sql("CHECKSUM TABLE boats"), before);
    server.sql("UPDATE boats SET built = 1990 WHERE id = 1");
    assert_eq!(server.sql("CHECKSUM TABLE boats"), before);
}

#[test]
fn an_account_sees_only_what_it_may_use() {
    let server = TestServer::start();
    server.sql(TABLES);
    server.sql("CREATE DATABASE hidden; CREATE TABLE hidden.t (a INT); CREATE USER guest; GRANT SELECT ON test.boats TO guest");
    let mut guest = server.program("mariadb");
    guest.args(["--user=guest", "--batch", "--skip-column-names"]);
    let sql = "SHOW DATABASES; SELECT TABLE_SCHEMA FROM information_schema.tables WHERE TABLE_NAME IN ('t','boats'); \
        SHOW PROCESSLIST";
    let output = server.finish(guest, sql.as_bytes());
    let text = output.text();
    assert!(output.status.success(), "{}", output.errors());
    assert!(text.contains("test\n") && !text.contains("hidden") && !text.contains("root"), "{text}");
}

#[test]
fn the_default_engine_is_one_wherever_it_is_shown() {
    if target_is_mariadb() {
        return skip("MariaDB has no engine ndbcluster");
    }
    let server = TestServer::start();
    for set in ["", "SET default_storage_engine='ndb';", "SET default_storage_engine=innodb;"] {
        let shown = server.sql(&format!(
            "{set} DROP TABLE IF EXISTS e; CREATE TABLE e (a INT PRIMARY KEY); SELECT @@default_storage_engine;
             SELECT ENGINE FROM information_schema.engines WHERE SUPPORT='DEFAULT';
             SELECT ENGINE FROM information_schema.tables WHERE TABLE_NAME='e';"
        ));
        let engine = if set.contains("ndb'") { "ndbcluster" } else { "InnoDB" };
        assert_eq!(shown, format!("{engine}\n").repeat(3), "{set}");
        let listed = server.sql(&format!("{set} SHOW ENGINES; SHOW CREATE TABLE e"));
        assert!(listed.contains(&format!("{engine}\tDEFAULT")), "{listed}");
        assert_eq!(listed.matches("\tDEFAULT\t").count(), 1, "{listed}");
        assert!(listed.contains(&format!("ENGINE={engine}")), "{listed}");
    }
    assert!(server.sql_error("SET default_storage_engine='turtle'").contains("ERROR 1286"));
}
