//! Views: whose privileges count, what becomes of them in dumps and crashes.

use shoal_system_tests::{Client, Login, TestServer};

#[test]
fn a_view_is_read_with_its_definers_rights_or_the_readers() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, secret INT); INSERT INTO t VALUES (1, 10), (2, 20); \
         CREATE VIEW shown AS SELECT id FROM t; \
         CREATE VIEW summed AS SELECT COUNT(*) AS c FROM t; \
         CREATE SQL SECURITY INVOKER VIEW own AS SELECT id FROM t; \
         CREATE SQL SECURITY INVOKER VIEW own_sum AS SELECT COUNT(*) AS c FROM t; \
         CREATE USER reader IDENTIFIED WITH mysql_native_password BY 'x'; \
         GRANT SELECT ON test.shown TO reader; GRANT SELECT ON test.summed TO reader; \
         GRANT SELECT ON test.own TO reader; GRANT SELECT ON test.own_sum TO reader",
    );
    let mut reader = Client::log_in(server.port(), &Login::user("reader", "x")).unwrap();
    assert_eq!(reader.text("SELECT id FROM test.shown ORDER BY id").unwrap(), ["1", "2"]);
    assert_eq!(reader.text("SELECT c FROM test.summed").unwrap(), ["2"]);
    for (refused, errno) in [
        ("SELECT * FROM test.t", 1142),
        ("SELECT * FROM test.own", 1142),
        ("SELECT * FROM test.own_sum", 1142),
        ("SELECT t.secret FROM test.shown JOIN test.t ON t.id = shown.id", 1142),
        ("CREATE VIEW test.mine AS SELECT id FROM test.t", 1142),
        ("DROP VIEW test.shown", 1142),
    ] {
        assert_eq!(reader.execute(refused).unwrap_err().errno(), errno, "{refused}");
    }
    server.sql("REVOKE SELECT ON test.shown FROM reader");
    assert_eq!(reader.execute("SELECT * FROM test.shown").unwrap_err().errno(), 1142);
    server.sql("GRANT SELECT ON test.t TO reader");
    assert_eq!(reader.text("SELECT id FROM test.own ORDER BY id").unwrap(), ["1", "2"]);
}

/// Both are asked: whoever writes, for the view; and whoever has defined it, for what is in it.
#[test]
fn rows_are_written_through_a_view_with_its_definers_rights_or_the_writers() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, hidden INT); INSERT INTO t VALUES (1, 10, 0), (2, 20, 0); \
         CREATE USER definer IDENTIFIED WITH mysql_native_password BY 'x'; \
         CREATE USER writer IDENTIFIED WITH mysql_native_password BY 'x'; \
         GRANT SELECT, INSERT, UPDATE ON test.t TO definer; \
         CREATE DEFINER = definer VIEW v AS SELECT id, a AS shown FROM t; \
         CREATE DEFINER = definer VIEW over_v AS SELECT id, shown FROM v; \
         CREATE SQL SECURITY INVOKER VIEW own AS SELECT id, a FROM t; \
         CREATE DEFINER = definer VIEW blind AS SELECT id, a AS shown FROM t; GRANT INSERT ON test.blind TO writer; \
         GRANT SELECT ON test.v TO definer; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON test.v TO writer; GRANT SELECT, INSERT, UPDATE ON test.over_v TO writer; \
         GRANT INSERT, UPDATE, DELETE ON test.own TO writer",
    );
    let mut writer = Client::log_in(server.port(), &Login::user("writer", "x")).unwrap();
    for sql in [
        "INSERT INTO test.v VALUES (3, 30)",
        "UPDATE test.v SET shown = 31 WHERE id = 3",
        "REPLACE INTO test.v VALUES (3, 32)",
    ] {
        let outcome = writer.execute(sql);
        // REPLACE deletes, which the definer may not.
        assert_eq!(
            outcome.err().map_or(0, |error| error.errno()),
            if sql.starts_with("REPLACE") { 1356 } else { 0 },
            "{sql}"
        );
    }
    for (refused, errno) in [
        ("INSERT INTO test.t VALUES (4, 40, 0)", 1142),
        ("INSERT INTO test.own VALUES (4, 40)", 1142),
        // Who writes through the view does not read past it.
        ("INSERT INTO test.v SELECT id + 100, hidden FROM test.t", 1142),
        ("INSERT INTO test.blind SELECT id + 100, shown FROM test.blind", 1142),
        // The definer may not delete.
        ("DELETE FROM test.v WHERE id = 3", 1356),
        // Nor write through the view that is in the view.
        ("INSERT INTO test.over_v VALUES (5, 50)", 1356),
        ("DELETE FROM test.over_v", 1142),
    ] {
        assert_eq!(writer.execute(refused).unwrap_err().errno(), errno, "{refused}");
    }
    server.sql("GRANT INSERT, UPDATE ON test.v TO definer; GRANT DELETE ON test.t TO definer; GRANT INSERT ON test.t TO writer");
    for sql in [
        "INSERT INTO test.over_v VALUES (5, 50)",
        "UPDATE test.over_v SET shown = 51 WHERE id = 5",
        "DELETE FROM test.v WHERE id = 3",
        "INSERT INTO test.own VALUES (6, 60)",
        "INSERT INTO test.blind VALUES (9, 90)",
    ] {
        writer.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(server.sql("SELECT id, a FROM t ORDER BY id"), "1\t10\n2\t20\n5\t51\n6\t60\n9\t90\n");
    server.sql("REVOKE INSERT ON test.v FROM writer");
    assert_eq!(writer.execute("INSERT INTO test.v VALUES (7, 70)").unwrap_err().errno(), 1142);
    // Whoever may everything may not what the definer may not.
    server.sql("REVOKE INSERT ON test.t FROM definer");
    let mut root = server.client();
    assert_eq!(root.execute("INSERT INTO v VALUES (8, 80)").unwrap_err().errno(), 1356);
}

#[test]
fn views_outlive_a_crash_and_come_back_from_a_dump() {
    let mut server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 10), (2, 20); \
         CREATE VIEW b_view (one, two) AS SELECT id, a * 2 FROM t; \
         CREATE VIEW a_view AS SELECT two FROM b_view WHERE one > 1 WITH CHECK OPTION; CREATE DATABASE copy",
    );
    server.kill();
    server.restart();
    assert_eq!(server.sql("SELECT * FROM a_view"), "40\n");
    let before = server.dump(&[], "test");
    server.restore("copy", &before);
    assert_eq!(String::from_utf8_lossy(&server.dump(&[], "copy")), String::from_utf8_lossy(&before));
    assert_eq!(server.sql("SELECT * FROM copy.a_view"), "40\n");
}
