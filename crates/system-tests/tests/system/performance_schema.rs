//! performance_schema of threads, statements, variables and accounts, against known work.

use shoal_system_tests::{Client, TestServer, wait_until};
use shoal_testkit::client::{Login, Value};

/// The one row of a query, its columns separated by commas.
fn row(client: &mut Client, sql: &str) -> String {
    let mut rows = client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
    rows.remove(0)
}

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn the_newest_ten_statements_of_a_session_are_kept_with_what_they_cost() {
    let server = TestServer::start();
    let mut observer = server.client();
    let mut client = server.client_in("test");
    run(&mut client, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,10),(2,20),(3,30)"]);
    for a in 1..=7 {
        client.text(&format!("SELECT b FROM t WHERE a = {a}")).unwrap();
    }
    client.text("SELECT a FROM t WHERE b > 10").unwrap();
    assert_eq!(client.execute("INSERT INTO t VALUES (1,1)").unwrap_err().errno(), 1062);
    let point = client.prepare("SELECT b FROM t WHERE a = ?").unwrap();
    client.run_statement(&point, &[Value::Int(2)]).unwrap();
    let of =
        format!("FROM performance_schema.events_statements_history WHERE THREAD_ID = {}", client.connection_id());
    assert_eq!(row(&mut observer, &format!("SELECT COUNT(*), MAX(EVENT_ID) - MIN(EVENT_ID) {of}")), "10,9");
    let shown = observer
        .text(&format!(
            "SELECT EVENT_NAME, SQL_TEXT, ROWS_SENT, ROWS_EXAMINED, SELECT_SCAN, NO_INDEX_USED, MYSQL_ERRNO, \
             RETURNED_SQLSTATE {of} ORDER BY EVENT_ID DESC LIMIT 4"
        ))
        .unwrap();
    assert_eq!(
        shown,
        [
            "statement/com/Execute,SELECT b FROM t WHERE a = ?,1,1,0,0,0,00000",
            "statement/sql/insert,INSERT INTO t VALUES (1,1),0,0,0,0,1062,23000",
            "statement/sql/select,SELECT a FROM t WHERE b > 10,2,3,1,1,0,00000",
            "statement/sql/select,SELECT b FROM t WHERE a = 7,0,0,0,0,0,00000",
        ]
    );
    let checked = format!(
        "SELECT COUNT(*) {of} AND TIMER_END - TIMER_START = TIMER_WAIT AND TIMER_WAIT > 0 AND CURRENT_SCHEMA = 'test' \
         AND LENGTH(DIGEST) = 64 AND EXECUTION_ENGINE = 'PRIMARY'"
    );
    assert_eq!(row(&mut observer, &checked), "10");
    assert_eq!(
        row(&mut observer, &format!("SELECT MESSAGE_TEXT {of} AND ERRORS = 1")),
        "Duplicate entry '1' for key 't.PRIMARY'"
    );
    // The same digest as in the summary.
    let digest = format!(
        "SELECT COUNT(DISTINCT h.DIGEST), SUM(d.COUNT_STAR) FROM (SELECT DISTINCT DIGEST, DIGEST_TEXT {of}) h JOIN \
         performance_schema.events_statements_summary_by_digest d ON d.DIGEST = h.DIGEST \
         WHERE h.DIGEST_TEXT = 'SELECT `b` FROM `t` WHERE `a` = ?'"
    );
    assert_eq!(row(&mut observer, &digest), "1,8");
    // Of what one runs oneself the text is there; of others that are idle, what they have run last.
    let current = "SELECT SQL_TEXT, END_EVENT_ID IS NULL FROM performance_schema.events_statements_current WHERE THREAD_ID = ";
    assert!(row(&mut observer, &format!("{current}CONNECTION_ID()")).ends_with("CONNECTION_ID(),1"));
    assert_eq!(
        row(&mut observer, &format!("{current}{}", client.connection_id())),
        "SELECT b FROM t WHERE a = ?,0"
    );
    // No password is kept, and each statement of several is one.
    run(&mut client, &["CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'hidden'"]);
    client.run("SELECT 1; SELECT 2").unwrap();
    let texts = observer.text(&format!("SELECT SQL_TEXT {of} ORDER BY EVENT_ID DESC LIMIT 3")).unwrap();
    assert_eq!(
        texts,
        ["SELECT 2", "SELECT 1;", "CREATE USER ann IDENTIFIED WITH mysql_native_password BY <secret>"]
    );
    run(&mut observer, &["TRUNCATE TABLE performance_schema.events_statements_history"]);
    assert_eq!(row(&mut observer, &format!("SELECT COUNT(*) {of}")), "0");
    client.text("SELECT 3").unwrap();
    assert_eq!(row(&mut observer, &format!("SELECT COUNT(*) {of}")), "1");
}

#[test]
fn statements_are_summed_by_kind_account_and_thread() {
    let server = TestServer::start();
    let mut observer = server.client();
    run(
        &mut observer,
        &[
            "CREATE TABLE test.t (a INT PRIMARY KEY)",
            "CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'a'",
            "GRANT ALL ON test.* TO ann",
        ],
    );
    let sums = "COUNT_STAR, SUM_ROWS_SENT, SUM_ROWS_AFFECTED, SUM_ERRORS, SUM_SELECT_SCAN, \
                MIN_TIMER_WAIT <= AVG_TIMER_WAIT AND AVG_TIMER_WAIT <= MAX_TIMER_WAIT AND MAX_TIMER_WAIT <= SUM_TIMER_WAIT";
    let of_ann = |kind: &str| {
        format!(
            "SELECT {sums} FROM performance_schema.events_statements_summary_by_user_by_event_name \
             WHERE USER = 'ann' AND EVENT_NAME = 'statement/sql/{kind}'"
        )
    };
    let mut ann = Client::log_in(server.port(), &Login::user("ann", "a")).unwrap();
    ann.execute("INSERT INTO test.t VALUES (1),(2),(3)").unwrap();
    ann.execute("INSERT INTO test.t VALUES (1)").unwrap_err();
    for _ in 0..5 {
        ann.text("SELECT * FROM test.t").unwrap();
    }
    ann.execute("SELEKT").unwrap_err();
    assert_eq!(row(&mut observer, &of_ann("insert")), "2,0,3,1,0,1");
    assert_eq!(row(&mut observer, &of_ann("select")), "5,15,0,0,5,1");
    assert_eq!(row(&mut observer, &of_ann("error")), "1,0,0,1,0,1");
    let by_thread = format!(
        "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_thread_by_event_name WHERE THREAD_ID = {} \
         AND EVENT_NAME = 'statement/sql/select'",
        ann.connection_id()
    );
    assert_eq!(row(&mut observer, &by_thread), "5");
    // They stay when the session has ended, by host and in all as well.
    let accounts =
        "SELECT USER, CURRENT_CONNECTIONS, TOTAL_CONNECTIONS FROM performance_schema.accounts WHERE USER = 'ann'";
    assert_eq!(row(&mut observer, accounts), "ann,1,1");
    drop(ann);
    wait_until("the session has ended", || row(&mut observer, accounts) == "ann,0,1");
    assert_eq!(row(&mut observer, &of_ann("select")), "5,15,0,0,5,1");
    for table in ["by_account_by_event_name", "by_host_by_event_name", "global_by_event_name"] {
        let sql = format!(
            "SELECT SUM(COUNT_STAR) >= 5 FROM performance_schema.events_statements_summary_{table} \
             WHERE EVENT_NAME = 'statement/sql/select'"
        );
        assert_eq!(row(&mut observer, &sql), "1", "{table}");
    }
    let status = "SELECT VARIABLE_VALUE FROM performance_schema.status_by_user WHERE USER = 'ann' AND VARIABLE_NAME = 'Com_select'";
    assert_eq!(row(&mut observer, status), "5");
    run(&mut observer, &["TRUNCATE TABLE performance_schema.events_statements_summary_by_user_by_event_name"]);
    assert_eq!(row(&mut observer, &of_ann("select")).split(',').next(), Some("0"));
    run(&mut observer, &["TRUNCATE TABLE performance_schema.status_by_account"]);
    assert_eq!(row(&mut observer, status), "0");
    run(&mut observer, &["TRUNCATE TABLE performance_schema.users"]);
    assert_eq!(observer.text(accounts).unwrap(), Vec::<String>::new());
    // By time: every statement is in one bucket.
    let histogram = "SELECT SUM(COUNT_BUCKET) = MAX(COUNT_BUCKET_AND_LOWER), MAX(BUCKET_QUANTILE), SUM(COUNT_BUCKET) > 10 \
                     FROM performance_schema.events_statements_histogram_global";
    assert_eq!(row(&mut observer, histogram), "1,1,1");
    run(&mut observer, &["TRUNCATE TABLE performance_schema.events_statements_histogram_global"]);
    // TRUNCATE and what asks.
    assert_eq!(
        row(
            &mut observer,
            "SELECT SUM(COUNT_BUCKET) <= 2 FROM performance_schema.events_statements_histogram_global"
        ),
        "1"
    );
    run(&mut observer, &["TRUNCATE TABLE performance_schema.events_waits_summary_global_by_event_name"]);
    assert!(observer.execute("TRUNCATE TABLE performance_schema.setup_actors").is_err());
}

#[test]
fn errors_are_counted_by_number() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    for _ in 0..3 {
        client.execute("SELECT * FROM nothing").unwrap_err();
    }
    client.execute("SELEKT").unwrap_err();
    let of = |number: u16| {
        format!(
            "SELECT ERROR_NAME, SQL_STATE, SUM_ERROR_RAISED, FIRST_SEEN <= LAST_SEEN \
             FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER = {number}"
        )
    };
    assert_eq!(row(&mut client, &of(1146)), "ER_NO_SUCH_TABLE,42S02,3,1");
    assert_eq!(row(&mut client, &of(1064)), "ER_PARSE_ERROR,42000,1,1");
    run(&mut client, &["TRUNCATE TABLE performance_schema.events_errors_summary_global_by_error"]);
    assert_eq!(client.text(&of(1146)).unwrap(), Vec::<String>::new());
}

#[test]
fn threads_variables_and_attributes_of_sessions_are_seen_by_others() {
    let server = TestServer::start();
    let mut observer = server.client();
    let mut client = server.client_in("test");
    let id = client.connection_id();
    run(&mut client, &["SET @depth = 12.5, @name = 'perch'", "SET SESSION sort_buffer_size = 65536"]);
    let thread = format!(
        "SELECT TYPE, PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_DB, PROCESSLIST_COMMAND, INSTRUMENTED \
         FROM performance_schema.threads WHERE THREAD_ID = {id}"
    );
    assert_eq!(row(&mut observer, &thread), format!("FOREGROUND,{id},root,test,Sleep,YES"));
    let os = format!(
        "SELECT COUNT(*) FROM performance_schema.threads s JOIN performance_schema.threads b \
         ON b.THREAD_OS_ID = s.THREAD_OS_ID AND b.TYPE = 'BACKGROUND' WHERE s.THREAD_ID = {id}"
    );
    assert_eq!(row(&mut observer, &os), "1", "the system's thread that serves the session is listed");
    let user_variables = format!(
        "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.user_variables_by_thread WHERE THREAD_ID = {id}"
    );
    assert_eq!(observer.text(&user_variables).unwrap(), ["depth,12.5", "name,perch"]);
    let variable = format!(
        "SELECT VARIABLE_VALUE FROM performance_schema.variables_by_thread WHERE THREAD_ID = {id} AND VARIABLE_NAME = "
    );
    assert_eq!(row(&mut observer, &format!("{variable}'sort_buffer_size'")), "65536");
    assert_eq!(row(&mut observer, &format!("{variable}'autocommit'")), "ON");
    client.reset_connection().unwrap();
    assert_eq!(observer.text(&user_variables).unwrap(), Vec::<String>::new());
    assert_ne!(row(&mut observer, &format!("{variable}'sort_buffer_size'")), "65536");
    let status = format!(
        "SELECT VARIABLE_VALUE FROM performance_schema.status_by_thread WHERE THREAD_ID = {id} AND VARIABLE_NAME = 'Com_set_option'"
    );
    assert_eq!(row(&mut observer, &status), "2");
    // Where values come from.
    let info = "SELECT VARIABLE_SOURCE, SET_USER, SET_TIME > NOW() - INTERVAL 1 HOUR, MIN_VALUE, MAX_VALUE \
                FROM performance_schema.variables_info WHERE VARIABLE_NAME = 'profiling_history_size'";
    assert_eq!(row(&mut observer, info), "COMPILED,NULL,NULL,0,100");
    run(&mut observer, &["SET GLOBAL profiling_history_size = 20"]);
    assert_eq!(row(&mut observer, info), "DYNAMIC,root,1,0,100");
    // The command line's client says what it is.
    let attributes = "SELECT COUNT(*) FROM performance_schema.session_account_connect_attrs \
                      WHERE PROCESSLIST_ID = CONNECTION_ID() AND ATTR_NAME = '_client_name' AND ATTR_VALUE <> ''";
    assert_eq!(server.sql(attributes).trim(), "1");
}

#[test]
fn prepared_statements_are_counted_until_they_are_closed() {
    let server = TestServer::start();
    let mut observer = server.client();
    let mut client = server.client_in("test");
    run(&mut client, &["CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1),(2)"]);
    let point = client.prepare("SELECT a FROM t WHERE a = ?").unwrap();
    for a in [1i64, 2, 3] {
        client.run_statement(&point, &[Value::Int(a)]).unwrap();
    }
    run(&mut client, &["PREPARE scan FROM 'SELECT a FROM t WHERE a + 0 > 0'"]);
    client.text("EXECUTE scan").unwrap();
    let shown = format!(
        "SELECT STATEMENT_NAME, SQL_TEXT, COUNT_EXECUTE, SUM_ROWS_SENT, SUM_SELECT_SCAN, SUM_TIMER_EXECUTE > 0 \
         FROM performance_schema.prepared_statements_instances WHERE OWNER_THREAD_ID = {} ORDER BY STATEMENT_ID",
        client.connection_id()
    );
    assert_eq!(
        observer.text(&shown).unwrap(),
        ["NULL,SELECT a FROM t WHERE a = ?,3,2,0,1", "scan,SELECT a FROM t WHERE a + 0 > 0,1,2,1,1"]
    );
    client.close_statement(&point).unwrap();
    run(&mut client, &["DEALLOCATE PREPARE scan"]);
    assert_eq!(observer.text(&shown).unwrap(), Vec::<String>::new());
}

#[test]
fn what_is_collected_is_told_and_is_not_to_be_changed() {
    let server = TestServer::start();
    let mut client = server.client();
    let consumers =
        "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' AND NAME LIKE 'events%'";
    let collected = [
        "events_stages_current",
        "events_stages_history",
        "events_statements_current",
        "events_statements_history",
    ];
    assert_eq!(client.text(consumers).unwrap(), collected);
    for table in ["actors", "instruments", "objects", "threads"] {
        let count = row(
            &mut client,
            &format!("SELECT COUNT(*) > 0 FROM performance_schema.setup_{table} WHERE ENABLED = 'YES'"),
        );
        assert_eq!(count, "1", "{table}");
    }
    let error = client.execute("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'").unwrap_err();
    assert_eq!(error.errno(), 1235);
    assert!(error.to_string().contains("setup_consumers"), "{error}");
    // Tools look at these.
    for table in [
        "replication_group_members",
        "replication_applier_status_by_worker",
        "log_status",
        "memory_summary_global_by_event_name",
    ] {
        assert_eq!(row(&mut client, &format!("SELECT COUNT(*) FROM performance_schema.{table}")), "0");
    }
    // Every table can be read, and says of its columns what it has.
    for table in client
        .text("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema'")
        .unwrap()
    {
        let rows = client.query(&format!("SELECT * FROM performance_schema.`{table}`")).unwrap();
        let counted = row(
            &mut client,
            &format!(
                "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = '{table}'"
            ),
        );
        assert_eq!(rows.columns.len().to_string(), counted, "{table}");
    }
    let column =
        "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'setup_actors' AND COLUMN_NAME = ";
    assert_eq!(row(&mut client, &format!("{column}'ENABLED'")), "enum('YES','NO')");
    assert_eq!(row(&mut client, &format!("{column}'USER'")), "char(32)");
}

#[test]
fn tables_of_others_statements_need_select() {
    let server = TestServer::start();
    let mut root = server.client();
    run(&mut root, &["CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'a'"]);
    let mut ann = Client::log_in(server.port(), &Login::user("ann", "a")).unwrap();
    for table in [
        "performance_schema.events_statements_history",
        "performance_schema.threads",
        "performance_schema.user_variables_by_thread",
        "performance_schema.session_connect_attrs",
        "performance_schema.host_cache",
        "sys.processlist",
    ] {
        assert_eq!(ann.text(&format!("SELECT * FROM {table}")).unwrap_err().errno(), 1142, "{table}");
    }
    for table in ["processlist", "session_account_connect_attrs", "global_status", "session_variables"] {
        ann.text(&format!("SELECT * FROM performance_schema.{table}")).unwrap();
    }
    assert_eq!(
        ann.execute("TRUNCATE TABLE performance_schema.events_statements_history").unwrap_err().errno(),
        1142
    );
    // sys shows what the reader may read.
    run(&mut root, &["GRANT SELECT ON sys.* TO ann"]);
    assert_eq!(ann.text("SELECT * FROM sys.processlist").unwrap_err().errno(), 1142);
    ann.text("SELECT * FROM sys.schema_redundant_indexes").unwrap();
    run(&mut root, &["GRANT SELECT ON performance_schema.* TO ann"]);
    ann.text("SELECT * FROM sys.processlist").unwrap();
    ann.text("SELECT * FROM performance_schema.events_statements_history").unwrap();
}
