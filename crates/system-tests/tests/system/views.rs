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
