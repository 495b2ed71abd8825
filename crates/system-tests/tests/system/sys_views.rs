//! The views of sys, against known work.

use shoal_system_tests::{Client, TestServer};

fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn indexes_that_nobody_needs_are_named() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    run(
        &mut client,
        &[
            "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, d INT, KEY b (b), KEY bc (b,c), KEY bc2 (b,c), \
             UNIQUE KEY d (d), KEY dc (d,c))",
            "INSERT INTO t VALUES (1,1,1,1),(2,1,2,2),(3,2,2,3)",
        ],
    );
    let redundant = "SELECT redundant_index_name, dominant_index_name, sql_drop_index FROM sys.schema_redundant_indexes \
                     WHERE table_schema = 'test' ORDER BY 1, 2";
    let drop = |name: &str| format!("ALTER TABLE `test`.`t` DROP INDEX `{name}`");
    assert_eq!(
        rows(&mut client, redundant),
        [
            format!("b,bc,{}", drop("b")),
            format!("b,bc2,{}", drop("b")),
            format!("bc2,bc,{}", drop("bc2")),
            format!("dc,d,{}", drop("dc")),
        ]
    );
    let flattened = "SELECT index_columns, non_unique FROM sys.x$schema_flattened_keys WHERE index_name = 'bc'";
    assert_eq!(rows(&mut client, flattened), ["b,c,1"]);
    let unused = "SELECT index_name FROM sys.schema_unused_indexes WHERE object_schema = 'test' ORDER BY 1";
    assert_eq!(rows(&mut client, unused), ["b", "bc", "bc2", "dc"]);
    client.text("SELECT a, d FROM t FORCE INDEX (bc) WHERE b = 1 AND c = 2").unwrap();
    assert_eq!(rows(&mut client, unused), ["b", "bc2", "dc"]);
    let used = "SELECT rows_selected, rows_inserted FROM sys.schema_index_statistics WHERE index_name = 'bc'";
    assert_eq!(rows(&mut client, used), ["1,0"]);
    let tables = "SELECT rows_fetched, rows_inserted FROM sys.x$schema_table_statistics WHERE table_name = 't'";
    assert_eq!(rows(&mut client, tables), ["1,3"]);
    client.text("SELECT COUNT(d) FROM t WHERE c + 0 = 2").unwrap();
    let scans = "SELECT object_name, rows_full_scanned FROM sys.schema_tables_with_full_table_scans";
    assert_eq!(rows(&mut client, scans), ["t,3"]);
    let overview = "SELECT object_type, count FROM sys.schema_object_overview WHERE db = 'test'";
    assert_eq!(rows(&mut client, overview), ["BASE TABLE,1", "INDEX (BTREE),9"]);
}

#[test]
fn auto_increment_columns_tell_how_full_they_are() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    run(
        &mut client,
        &[
            "CREATE TABLE small (id TINYINT AUTO_INCREMENT PRIMARY KEY)",
            "CREATE TABLE large (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
            "INSERT INTO small VALUES (63)",
            "INSERT INTO large VALUES (7)",
        ],
    );
    let shown = "SELECT table_name, column_type, is_unsigned, max_value, auto_increment, auto_increment_ratio \
                 FROM sys.schema_auto_increment_columns WHERE table_schema = 'test'";
    assert_eq!(rows(&mut client, shown), ["small,tinyint,0,127,64,0.5039", "large,int unsigned,1,4294967295,8,0"]);
}

#[test]
fn sessions_users_and_statements_are_told_for_people_and_as_numbers() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    let mut observer = server.client();
    run(&mut client, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,1),(2,2)"]);
    for _ in 0..4 {
        client.text("SELECT a FROM t WHERE b = 1").unwrap();
    }
    client.execute("INSERT INTO t VALUES (1,1)").unwrap_err();
    let id = client.connection_id();
    let session = format!(
        "SELECT db, command, last_statement, current_statement, full_scan FROM sys.session WHERE conn_id = {id}"
    );
    assert_eq!(rows(&mut observer, &session), ["test,Sleep,INSERT INTO t VALUES (1,1),NULL,NO"]);
    let own = "SELECT command, current_statement LIKE 'SELECT command%' FROM sys.processlist WHERE conn_id = CONNECTION_ID()";
    assert_eq!(rows(&mut observer, own), ["Query,1"]);
    let latency = format!("SELECT last_statement_latency > 0 FROM sys.x$session WHERE conn_id = {id}");
    assert_eq!(rows(&mut observer, &latency), ["1"]);
    let scans = "SELECT exec_count, no_index_used_count, no_index_used_pct, rows_sent, rows_examined, rows_examined_avg \
                 FROM sys.x$statements_with_full_table_scans WHERE query = 'SELECT `a` FROM `t` WHERE `b` = ?'";
    assert_eq!(rows(&mut observer, scans), ["4,4,100,4,8,2"]);
    let errors = "SELECT exec_count, errors, error_pct FROM sys.statements_with_errors_or_warnings \
                  WHERE query = 'INSERT INTO `t` VALUES (...)'";
    assert_eq!(rows(&mut observer, errors), ["1,1,100"]);
    let slowest = "SELECT COUNT(*) > 0, MIN(avg_latency) >= (SELECT MAX(avg_latency) FROM sys.x$statement_analysis) \
                   FROM sys.x$statements_with_runtimes_in_95th_percentile";
    assert!(rows(&mut observer, slowest)[0].starts_with('1'));
    let user = "SELECT statements >= 7, table_scans, current_connections, statement_latency LIKE '%s' FROM sys.user_summary WHERE user = 'root'";
    let shown = rows(&mut observer, user);
    assert!(shown[0].starts_with("1,4,2,1"), "{shown:?}");
    let kinds = "SELECT total, rows_sent, full_scans FROM sys.x$user_summary_by_statement_type WHERE user = 'root' AND statement = 'insert'";
    assert_eq!(rows(&mut observer, kinds), ["2,0,0"]);
    assert_eq!(rows(&mut observer, "SELECT COUNT(*) FROM sys.host_summary"), ["1"]);
    assert_eq!(rows(&mut observer, "SELECT mysql_version = VERSION() FROM sys.version"), ["1"]);
    let metrics = "SELECT Variable_value > 0, Type FROM sys.metrics WHERE Variable_name = 'com_select'";
    assert_eq!(rows(&mut observer, metrics), ["1,Global Status"]);
    assert_eq!(rows(&mut observer, "SELECT COUNT(*) FROM sys.sys_config"), ["6"]);
    // Every view can be read.
    for view in rows(&mut observer, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sys'")
    {
        rows(&mut observer, &format!("SELECT * FROM sys.`{view}`"));
    }
}
