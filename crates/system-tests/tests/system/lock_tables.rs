//! What performance_schema, information_schema and sys tell of locks, waits and deadlocks.

use shoal_system_tests::{Client, TestServer, wait_until};
use shoal_testkit::client::Login;

const WAITS: &str = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Rows, each with commas between its values.
fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn one(client: &mut Client, sql: &str) -> String {
    rows(client, sql).join(" ")
}

fn wait_for_waits(observer: &mut Client, count: usize) {
    wait_until("sessions wait for locks", || one(observer, WAITS) == count.to_string());
}

#[test]
fn a_wait_for_a_row_is_shown_with_who_is_in_the_way_and_how_to_end_that() {
    let server = TestServer::start();
    let (mut holder, mut waiter, mut observer) =
        (server.client_in("test"), server.client_in("test"), server.client_in("test"));
    run(&mut holder, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,1),(2,2),(3,3)"]);
    run(&mut holder, &["BEGIN", "UPDATE t SET b = 10 WHERE a = 2", "SELECT * FROM t WHERE a = 3 FOR SHARE"]);
    let locks = "SELECT INDEX_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, LOCK_DATA FROM performance_schema.data_locks \
                 WHERE OBJECT_SCHEMA = 'test' AND OBJECT_NAME = 't' ORDER BY LOCK_TYPE DESC, LOCK_DATA";
    assert_eq!(
        rows(&mut observer, locks),
        [
            "NULL,TABLE,IX,GRANTED,NULL",
            "PRIMARY,RECORD,X,REC_NOT_GAP,GRANTED,2",
            "PRIMARY,RECORD,S,REC_NOT_GAP,GRANTED,3"
        ]
    );
    run(&mut waiter, &["BEGIN", "UPDATE t SET b = 5 WHERE a = 1"]);
    waiter.send_query("UPDATE t SET b = 20 WHERE a = 2").unwrap();
    wait_for_waits(&mut observer, 1);
    // Both tables lead to each other.
    let joined = "SELECT r.THREAD_ID, r.LOCK_MODE, r.LOCK_STATUS, r.LOCK_DATA, b.THREAD_ID, b.LOCK_STATUS, b.LOCK_DATA \
                  FROM performance_schema.data_lock_waits w \
                  JOIN performance_schema.data_locks r ON r.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
                  JOIN performance_schema.data_locks b ON b.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID";
    let (holds, waits) = (holder.connection_id(), waiter.connection_id());
    assert_eq!(one(&mut observer, joined), format!("{waits},X,REC_NOT_GAP,WAITING,2,{holds},GRANTED,2"));
    let open = "SELECT trx_mysql_thread_id, trx_state, trx_query, trx_rows_locked, trx_rows_modified, \
                trx_isolation_level, trx_requested_lock_id IS NULL, trx_wait_started IS NULL, \
                trx_started > NOW() - INTERVAL 1 HOUR FROM information_schema.INNODB_TRX ORDER BY trx_started, trx_id";
    assert_eq!(
        rows(&mut observer, open),
        [
            format!("{holds},RUNNING,NULL,2,1,REPEATABLE READ,1,1,1"),
            format!("{waits},LOCK WAIT,UPDATE t SET b = 20 WHERE a = 2,1,1,REPEATABLE READ,0,0,1")
        ]
    );
    let requested = "SELECT COUNT(*) FROM information_schema.INNODB_TRX t JOIN performance_schema.data_locks l \
                     ON l.ENGINE_LOCK_ID = t.trx_requested_lock_id AND l.ENGINE_TRANSACTION_ID = t.trx_id";
    assert_eq!(one(&mut observer, requested), "1");
    let views = "SELECT locked_table, locked_index, locked_type, waiting_pid, waiting_query, waiting_lock_mode, \
                 blocking_pid, blocking_query, sql_kill_blocking_query, sql_kill_blocking_connection FROM sys.";
    let expected = format!(
        "`test`.`t`,PRIMARY,RECORD,{waits},UPDATE t SET b = 20 WHERE a = 2,X,REC_NOT_GAP,{holds},NULL,\
         KILL QUERY {holds},KILL {holds}"
    );
    assert_eq!(one(&mut observer, &format!("{views}innodb_lock_waits")), expected);
    assert_eq!(one(&mut observer, &format!("{views}x$innodb_lock_waits")), expected);
    let status = one(&mut observer, "SHOW ENGINE INNODB STATUS");
    assert!(status.starts_with("InnoDB,,") && status.contains("------- TRX HAS BEEN WAITING "), "{status}");
    assert!(status.contains(" SEC FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS space id "), "{status}");
    assert!(status.contains("index PRIMARY of table `test`.`t` trx id "), "{status}");
    assert!(status.contains("lock_mode X locks rec but not gap waiting"), "{status}");
    assert!(status.contains("\nROW OPERATIONS\n") && status.contains("\nBUFFER POOL AND MEMORY\n"), "{status}");
    assert!(!status.contains("LATEST DETECTED DEADLOCK"), "{status}");
    // What the view says ends the wait.
    let kill = one(&mut observer, "SELECT sql_kill_blocking_connection FROM sys.innodb_lock_waits");
    run(&mut observer, &[&kill]);
    waiter.receive_reply().unwrap();
    run(&mut waiter, &["COMMIT"]);
    assert_eq!(one(&mut observer, "SELECT b FROM t WHERE a = 2"), "20");
    assert_eq!(one(&mut observer, "SELECT COUNT(*) FROM performance_schema.data_locks"), "0");
    assert_eq!(one(&mut observer, "SELECT COUNT(*) FROM information_schema.INNODB_TRX"), "0");
    let metric = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_row_lock_waits'";
    assert_eq!(one(&mut observer, metric), "1");
    // NOWAIT does not wait, and leaves nothing.
    run(&mut waiter, &["BEGIN", "SELECT * FROM t WHERE a = 1 FOR UPDATE"]);
    assert_eq!(observer.text("SELECT * FROM t WHERE a = 1 FOR UPDATE NOWAIT").unwrap_err().errno(), 3572);
    assert_eq!(one(&mut observer, WAITS), "0");
    assert_eq!(one(&mut observer, metric), "1");
}

#[test]
fn ranges_and_keys_of_unique_indexes_are_shown_as_what_they_lock() {
    let server = TestServer::start();
    let (mut holder, mut waiter, mut observer) =
        (server.client_in("test"), server.client_in("test"), server.client_in("test"));
    run(
        &mut holder,
        &[
            "CREATE TABLE t (a INT PRIMARY KEY, e VARCHAR(30), UNIQUE KEY by_e (e))",
            "INSERT INTO t VALUES (10,'ten'),(20,'twenty'),(30,'thirty')",
        ],
    );
    // The rows of a range, and the gaps between them.
    run(&mut holder, &["BEGIN", "SELECT a FROM t WHERE a BETWEEN 15 AND 25 FOR UPDATE"]);
    let mode_of_20 = "SELECT LOCK_MODE FROM performance_schema.data_locks WHERE LOCK_DATA = '20' AND LOCK_MODE NOT LIKE '%GAP%'";
    assert_eq!(one(&mut observer, mode_of_20), "X");
    waiter.send_query("INSERT INTO t VALUES (22,'twenty-two')").unwrap();
    wait_for_waits(&mut observer, 1);
    let modes = "SELECT r.LOCK_MODE, r.LOCK_STATUS, b.LOCK_MODE, b.LOCK_STATUS, r.LOCK_DATA = b.LOCK_DATA \
                 FROM performance_schema.data_lock_waits w \
                 JOIN performance_schema.data_locks r ON r.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
                 JOIN performance_schema.data_locks b ON b.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID";
    let shown = one(&mut observer, modes);
    let behind = ["X,GAP,INSERT_INTENTION,WAITING,X,GAP,GRANTED,1", "X,INSERT_INTENTION,WAITING,X,GRANTED,1"];
    assert!(behind.contains(&shown.as_str()), "{shown}");
    run(&mut holder, &["ROLLBACK"]);
    waiter.receive_reply().unwrap();
    // A key that is not there yet: of a hidden table, shown as the index that it keeps.
    run(&mut holder, &["BEGIN", "INSERT INTO t VALUES (40,'o''clock')"]);
    waiter.send_query("INSERT INTO t VALUES (41,'O''CLOCK')").unwrap();
    wait_for_waits(&mut observer, 1);
    let key = "SELECT locked_index, waiting_lock_mode, LOCK_DATA FROM sys.innodb_lock_waits \
               JOIN performance_schema.data_locks ON ENGINE_LOCK_ID = blocking_lock_id";
    assert_eq!(one(&mut observer, key), "by_e,X,REC_NOT_GAP,'o''clock', 40");
    run(&mut holder, &["COMMIT"]);
    assert_eq!(waiter.receive_reply().unwrap_err().errno(), 1062);
}

#[test]
fn the_latest_deadlock_is_told_with_its_statements() {
    let server = TestServer::start();
    let (mut one_side, mut other, mut observer) =
        (server.client_in("test"), server.client_in("test"), server.client_in("test"));
    run(&mut observer, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,0),(2,0)"]);
    run(&mut one_side, &["BEGIN", "UPDATE t SET b = 1 WHERE a = 1"]);
    run(&mut other, &["BEGIN", "UPDATE t SET b = 2 WHERE a = 2"]);
    one_side.send_query("UPDATE t SET b = 11 WHERE a = 2").unwrap();
    wait_for_waits(&mut observer, 1);
    assert_eq!(other.execute("UPDATE t SET b = 22 WHERE a = 1").unwrap_err().errno(), 1213);
    one_side.receive_reply().unwrap();
    let status = one(&mut observer, "SHOW ENGINE INNODB STATUS");
    let (_, deadlock) = status.split_once("LATEST DETECTED DEADLOCK").expect("a deadlock");
    let (deadlock, _) = deadlock.split_once("\nTRANSACTIONS\n").expect("transactions come behind it");
    for part in [
        "*** (1) TRANSACTION:\nTRANSACTION ",
        "UPDATE t SET b = 22 WHERE a = 1\n",
        "*** (1) HOLDS THE LOCK(S):\nRECORD LOCKS",
        "*** (1) WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS",
        "*** (2) TRANSACTION:\nTRANSACTION ",
        "UPDATE t SET b = 11 WHERE a = 2\n",
        "*** (2) WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS",
        "index PRIMARY of table `test`.`t` trx id ",
        "PHYSICAL RECORD: 1\n",
        "PHYSICAL RECORD: 2\n",
        "*** WE ROLL BACK TRANSACTION (1)\n",
    ] {
        assert!(deadlock.contains(part), "{part} is not in {deadlock}");
    }
    let metric = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'";
    assert_eq!(one(&mut observer, metric), "1");
}

#[test]
fn a_definition_that_waits_for_a_transaction_is_shown_with_those_behind_it() {
    let server = TestServer::start();
    let (mut user, mut definer, mut late) =
        (server.client_in("test"), server.client_in("test"), server.client_in("test"));
    let mut observer = server.client_in("test");
    run(
        &mut user,
        &["CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "BEGIN", "SELECT * FROM t"],
    );
    let locks = "SELECT OWNER_THREAD_ID, OBJECT_TYPE, OBJECT_NAME, LOCK_TYPE, LOCK_DURATION, LOCK_STATUS \
                 FROM performance_schema.metadata_locks WHERE OBJECT_SCHEMA = 'test' ORDER BY OWNER_THREAD_ID";
    let (uses, defines, comes_late) = (user.connection_id(), definer.connection_id(), late.connection_id());
    assert_eq!(one(&mut observer, locks), format!("{uses},TABLE,t,SHARED_READ,TRANSACTION,GRANTED"));
    definer.send_query("ALTER TABLE t ADD COLUMN b INT").unwrap();
    let pending = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING'";
    wait_until("the definition waits", || one(&mut observer, pending) == "1");
    late.send_query("SELECT * FROM t").unwrap();
    wait_until("a reader waits behind it", || one(&mut observer, pending) == "2");
    assert_eq!(
        rows(&mut observer, locks)[1..],
        [
            format!("{defines},TABLE,t,EXCLUSIVE,TRANSACTION,PENDING"),
            format!("{comes_late},TABLE,t,SHARED_READ,TRANSACTION,PENDING")
        ]
    );
    let waits = "SELECT object_name, waiting_pid, waiting_lock_type, waiting_query, blocking_pid, blocking_lock_type, \
                 sql_kill_blocking_connection FROM sys.schema_table_lock_waits ORDER BY waiting_pid";
    assert_eq!(
        rows(&mut observer, waits),
        [
            format!("t,{defines},EXCLUSIVE,ALTER TABLE t ADD COLUMN b INT,{uses},SHARED_READ,KILL {uses}"),
            format!("t,{comes_late},SHARED_READ,SELECT * FROM t,{defines},EXCLUSIVE,KILL {defines}")
        ]
    );
    run(&mut user, &["COMMIT"]);
    definer.receive_reply().unwrap();
    late.receive_reply().unwrap();
    assert_eq!(one(&mut observer, "SELECT COUNT(*) FROM performance_schema.metadata_locks"), "0");
    // User locks are in the same table.
    run(&mut user, &["SELECT GET_LOCK('job', 0)"]);
    let user_lock =
        "SELECT OBJECT_TYPE, OBJECT_NAME, LOCK_STATUS, OWNER_THREAD_ID FROM performance_schema.metadata_locks";
    assert_eq!(one(&mut observer, user_lock), format!("USER LEVEL LOCK,job,GRANTED,{uses}"));
}

#[test]
fn a_transaction_with_many_locks_shows_the_first_of_them_and_the_one_that_is_waited_for() {
    let server = TestServer::start();
    let (mut holder, mut waiter, mut observer) =
        (server.client_in("test"), server.client_in("test"), server.client_in("test"));
    run(&mut holder, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "BEGIN"]);
    for start in (0..20_000).step_by(5000) {
        let values: Vec<String> = (start..start + 5000).map(|a| format!("({a},0)")).collect();
        run(&mut holder, &[&format!("INSERT INTO t VALUES {}", values.join(","))]);
    }
    let count =
        "SELECT COUNT(*), COUNT(DISTINCT LOCK_DATA) FROM performance_schema.data_locks WHERE LOCK_TYPE = 'RECORD'";
    assert_eq!(one(&mut observer, count), "1000,1000");
    let locked = "SELECT trx_rows_locked, trx_rows_modified FROM information_schema.INNODB_TRX";
    assert_eq!(one(&mut observer, locked), "20000,20000");
    waiter.send_query("INSERT INTO t VALUES (19999,1)").unwrap();
    wait_for_waits(&mut observer, 1);
    let waited = "SELECT LOCK_DATA, LOCK_STATUS FROM performance_schema.data_locks \
                  JOIN performance_schema.data_lock_waits ON ENGINE_LOCK_ID = BLOCKING_ENGINE_LOCK_ID";
    assert_eq!(one(&mut observer, waited), "19999,GRANTED");
    run(&mut holder, &["ROLLBACK"]);
    waiter.receive_reply().unwrap();
}

#[test]
fn innodb_tells_of_its_tables_and_only_those_with_process_see_locks() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    run(
        &mut client,
        &[
            "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20) NOT NULL, KEY by_b (b), UNIQUE KEY u (b, a))",
            "INSERT INTO t VALUES (1,'x')",
            "BEGIN",
            "UPDATE t SET b = 'y'",
            "CREATE USER ann",
        ],
    );
    run(&mut client, &["BEGIN", "UPDATE t SET b = 'z'"]);
    let tables = "SELECT NAME, N_COLS, ROW_FORMAT FROM information_schema.INNODB_TABLES WHERE NAME = 'test/t'";
    assert_eq!(one(&mut client, tables), "test/t,5,Dynamic");
    let indexes = "SELECT i.NAME, i.TYPE, i.N_FIELDS FROM information_schema.INNODB_INDEXES i \
                   JOIN information_schema.INNODB_TABLES t USING (TABLE_ID) WHERE t.NAME = 'test/t' ORDER BY INDEX_ID";
    assert_eq!(rows(&mut client, indexes), ["PRIMARY,3,4", "u,2,3", "by_b,0,2"]);
    let columns = "SELECT c.NAME, POS, MTYPE, LEN FROM information_schema.INNODB_COLUMNS c \
                   JOIN information_schema.INNODB_TABLES t USING (TABLE_ID) WHERE t.NAME = 'test/t' ORDER BY POS";
    assert_eq!(rows(&mut client, columns)[0], "a,0,6,4");
    let pool = "SELECT POOL_SIZE > 0, POOL_SIZE = FREE_BUFFERS + DATABASE_PAGES, HIT_RATE \
                FROM information_schema.INNODB_BUFFER_POOL_STATS";
    assert_eq!(one(&mut client, pool), "1,1,1000");
    let empty = "SELECT COUNT(*) FROM information_schema.INNODB_FOREIGN";
    assert_eq!(one(&mut client, empty), "0");
    let mut ann = Client::log_in(server.port(), &Login::user("ann", "")).unwrap();
    for denied in ["SELECT * FROM information_schema.INNODB_TRX", "SHOW ENGINE INNODB STATUS", tables] {
        assert_eq!(ann.text(denied).unwrap_err().errno(), 1227, "{denied}");
    }
    let hidden = "SELECT COUNT(*) FROM performance_schema.data_locks";
    assert_eq!(ann.text(hidden).unwrap_err().errno(), 1142);
    assert_ne!(one(&mut client, hidden), "0");
    server.sql("GRANT PROCESS ON *.* TO ann; GRANT SELECT ON performance_schema.data_locks TO ann");
    assert_eq!(one(&mut ann, "SELECT COUNT(*) FROM information_schema.INNODB_TRX"), "1");
    assert_ne!(one(&mut ann, hidden), "0");
}
