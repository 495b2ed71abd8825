//! What statements cost, by their digests.

use shoal_system_tests::TestServer;
use shoal_testkit::client::{Client, Login, Value};

const TABLE: &str = "performance_schema.events_statements_summary_by_digest";

/// Columns of the digest of this text in database `test`, separated by tabs.
fn of(server: &TestServer, columns: &str, text: &str) -> String {
    let text = text.replace('\'', "''");
    server
        .sql(&format!("SELECT {columns} FROM {TABLE} WHERE SCHEMA_NAME = 'test' AND DIGEST_TEXT = '{text}'"))
        .trim()
        .to_owned()
}

#[test]
fn statements_that_differ_in_literals_are_counted_together() {
    let mut server = TestServer::start();
    server.sql("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    let mut client = server.client_in("test");
    for a in 0..20 {
        client.execute(&format!("INSERT INTO t VALUES ({a},{})", a * 10)).unwrap();
    }
    client.execute("insert  into t values (100,-1)").unwrap();
    assert_eq!(
        of(&server, "COUNT_STAR, SUM_ROWS_AFFECTED, SUM_ERRORS", "INSERT INTO `t` VALUES (...)"),
        "21\t21\t0"
    );
    // Of prepared statements as of texts.
    let select = client.prepare("SELECT b FROM t WHERE a = ?").unwrap();
    for a in [1i64, 2, 3] {
        client.run_statement(&select, &[Value::Int(a)]).unwrap();
    }
    client.text("SELECT b FROM t WHERE a = 7").unwrap();
    client.text("SELECT b FROM t WHERE a IN (1, 2, 3)").unwrap();
    client.text("SELECT b FROM t WHERE a IN (1)").unwrap();
    let point = "SELECT `b` FROM `t` WHERE `a` = ?";
    assert_eq!(of(&server, "COUNT_STAR, SUM_ROWS_SENT, SUM_NO_INDEX_USED", point), "4\t4\t0");
    assert_eq!(of(&server, "COUNT_STAR, SUM_ROWS_SENT", "SELECT `b` FROM `t` WHERE `a` IN (...)"), "2\t4");
    assert_eq!(of(&server, "SUM_TIMER_WAIT >= MAX_TIMER_WAIT AND MIN_TIMER_WAIT <= AVG_TIMER_WAIT", point), "1");
    assert_eq!(of(&server, "QUANTILE_95 <= QUANTILE_999 AND QUANTILE_999 <= MAX_TIMER_WAIT", point), "1");
    assert_eq!(of(&server, "FIRST_SEEN <= LAST_SEEN AND LAST_SEEN > NOW() - INTERVAL 1 HOUR", point), "1");
    assert_eq!(of(&server, "DIGEST REGEXP '^[0-9a-f]{64}$'", point), "1");
    // A scan that no index helps, and a statement that fails.
    client.text("SELECT a FROM t WHERE b > 15").unwrap();
    let scan = "SELECT `a` FROM `t` WHERE `b` > ?";
    assert_eq!(
        of(&server, "SUM_SELECT_SCAN, SUM_NO_INDEX_USED, SUM_ROWS_EXAMINED, SUM_ROWS_SENT", scan),
        "1\t1\t21\t18"
    );
    assert!(client.execute("INSERT INTO t VALUES (1,1)").is_err());
    assert_eq!(of(&server, "COUNT_STAR, SUM_ERRORS", "INSERT INTO `t` VALUES (...)"), "22\t1");
    // What cannot be parsed has none, and passwords are in no sample.
    assert!(client.execute("SELEKT 'hidden'").is_err());
    client.execute("CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'hidden'").unwrap();
    assert_eq!(server.sql(&format!("SELECT COUNT(*) FROM {TABLE} WHERE QUERY_SAMPLE_TEXT LIKE '%hidd%en%' AND QUERY_SAMPLE_TEXT NOT LIKE '%LIKE%'")).trim(), "0");
    assert_eq!(of(&server, "QUERY_SAMPLE_TEXT", scan), "SELECT a FROM t WHERE b > 15");
    // The costliest first, for people.
    let analysis = server.sql("SELECT query, exec_count, full_scan FROM sys.statement_analysis WHERE db = 'test'");
    assert!(analysis.contains(&format!("{scan}\t1\t*")), "{analysis}");
    let sorted = "SELECT total_latency FROM sys.x$statement_analysis";
    let times: Vec<u64> = server.sql(sorted).lines().map(|line| line.parse().unwrap()).collect();
    assert!(times.is_sorted_by(|one, next| one >= next) && times.len() > 5, "{times:?}");
    // Others may not read it; TRUNCATE forgets.
    let mut ann = Client::log_in(server.port(), &Login::user("ann", "hidden")).unwrap();
    assert_eq!(ann.text(&format!("SELECT COUNT(*) FROM {TABLE}")).unwrap_err().errno(), 1142);
    server.sql(&format!("TRUNCATE TABLE {TABLE}"));
    assert_eq!(of(&server, "COUNT_STAR", point), "");
    client.run_statement(&select, &[Value::Int(1)]).unwrap();
    assert_eq!(of(&server, "COUNT_STAR", point), "1");
    server.stop();
}

#[test]
fn the_table_of_digests_has_a_bound_and_can_be_switched_off() {
    let mut server = TestServer::start_with(&["--set", "performance_schema_digests_size=20"]);
    let mut client = server.client_in("test");
    for number in 0..200 {
        client.text(&format!("SELECT 1 AS column_{number}")).unwrap();
    }
    let counts = server.sql(&format!("SELECT COUNT(*), SUM(DIGEST IS NULL), SUM(COUNT_STAR) > 150 FROM {TABLE}"));
    assert_eq!(counts.trim(), "21\t1\t1");
    let lost = server.sql("SHOW GLOBAL STATUS LIKE 'Performance_schema_digest_lost'");
    assert!(lost.trim().rsplit('\t').next().unwrap().parse::<u64>().unwrap() > 150, "{lost}");
    server.stop();
    let server = TestServer::start_with(&["--set", "performance_schema_digests_size=0"]);
    server.sql("SELECT 1");
    assert_eq!(server.sql(&format!("SELECT COUNT(*) FROM {TABLE}")).trim(), "0");
}
