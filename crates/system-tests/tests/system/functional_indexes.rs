//! Functional indexes: which queries use them, and what becomes of them in crashes and dumps.

use shoal_system_tests::{TestServer, skip, target_is_mariadb};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, name VARCHAR(20), doc JSON, INDEX sum ((a+b)), \
                     KEY low ((LOWER(name)) DESC, a), UNIQUE ten ((a*10)), KEY n ((CAST(doc->>'$.n' AS CHAR(30))))); \
                     INSERT INTO t VALUES (1,1,2,'Ann','{\"n\":\"x\"}'),(2,2,3,'BOB','{\"n\":\"y\"}'),(3,3,3,'Cy','{}'), \
                     (4,NULL,1,NULL,NULL)";

/// The column `key` of EXPLAIN, of all tables.
fn keys(server: &TestServer, query: &str) -> String {
    let explained = server.sql(&format!("EXPLAIN {query}"));
    let key = |line: &str| line.split('\t').nth(6).unwrap_or_default().to_owned();
    explained.lines().map(key).collect::<Vec<_>>().join(",")
}

#[test]
fn expressions_that_are_indexed_find_their_index_and_the_same_rows() {
    if target_is_mariadb() {
        return skip("MariaDB has no functional key parts");
    }
    let server = TestServer::start();
    server.sql(TABLE);
    for (query, key, rows) in [
        ("SELECT id FROM t WHERE a+b=5", "sum", "2\n"),
        ("SELECT id FROM t WHERE 3<=a+b AND a+b<6 ORDER BY id", "sum", "1\n2\n"),
        ("SELECT id FROM t WHERE b+a=5", "NULL", "2\n"),
        ("SELECT id FROM t WHERE LOWER(name)='bob' AND a=2", "low", "2\n"),
        ("SELECT id FROM t WHERE LOWER(name) LIKE 'b%'", "low", "2\n"),
        ("SELECT id FROM t WHERE LOWER(b)='3' ORDER BY id", "NULL", "2\n3\n"),
        ("SELECT id FROM t ORDER BY LOWER(name) DESC LIMIT 1", "low", "3\n"),
        ("SELECT id FROM t WHERE a*10 IN (10,30,40) ORDER BY id", "ten", "1\n3\n"),
        ("SELECT id FROM t WHERE CAST(doc->>'$.n' AS CHAR(30))='y'", "n", "2\n"),
        ("SELECT id FROM t WHERE CAST(doc->>'$.m' AS CHAR(30)) IS NULL AND id=1", "PRIMARY", "1\n"),
        ("SELECT x.id FROM t y JOIN t x ON x.a*10=y.a*5 WHERE y.id=2", "PRIMARY,ten", "1\n"),
        ("SELECT COUNT(*) FROM t WHERE a+b>=3 GROUP BY LOWER(name) HAVING COUNT(*)>1", "sum", ""),
    ] {
        assert_eq!(keys(&server, query), key, "{query}");
        // The plan is made, kept and taken again.
        for _ in 0..2 {
            assert_eq!(server.sql(query), rows, "{query}");
        }
    }
    assert_eq!(keys(&server, "UPDATE t SET b=0 WHERE a+b=5"), "sum");
    assert_eq!(keys(&server, "DELETE FROM t WHERE a+b=5"), "sum");
    server.sql("ALTER TABLE t ALTER INDEX sum INVISIBLE");
    assert_eq!(keys(&server, "SELECT id FROM t WHERE a+b=5"), "NULL");
    let mut client = server.client();
    for (path, id) in [("$.n", "2"), ("$.m", ""), ("$.n", "2")] {
        let query = format!("SELECT id FROM t WHERE CAST(doc->>'{path}' AS CHAR(30))='y'");
        assert_eq!(client.text(&query).unwrap().join(","), id, "{query}");
    }
}

#[test]
fn functional_indexes_outlive_a_crash_and_come_back_from_a_dump() {
    if target_is_mariadb() {
        return skip("MariaDB has no functional key parts");
    }
    let mut server = TestServer::start();
    server.sql(TABLE);
    server.sql("ALTER TABLE t ADD COLUMN z INT DEFAULT 5, ADD INDEX ((z+id)); UPDATE t SET a=20 WHERE id=2");
    server.sql("CREATE TABLE no_key (a INT, INDEX ((a+1))); INSERT INTO no_key VALUES (2); CREATE DATABASE copy");
    server.kill();
    server.restart();
    assert_eq!(keys(&server, "SELECT id FROM t WHERE z+id=7"), "functional_index");
    assert_eq!(server.sql("SELECT id FROM t WHERE z+id=7"), "2\n");
    assert_eq!(server.sql("SELECT id FROM t WHERE a+b=23"), "2\n");
    assert_eq!(server.sql("SELECT a FROM no_key WHERE a+1=3"), "2\n");
    assert!(server.sql_error("INSERT INTO t (id,a) VALUES (9,20)").contains("1062"));
    let before = server.dump(&[], "test");
    server.restore("copy", &before);
    assert_eq!(String::from_utf8_lossy(&server.dump(&[], "copy")), String::from_utf8_lossy(&before));
}
