//! Multi-valued indexes: which queries use them, that they find what a scan finds, and what becomes of them in crashes and dumps.

use shoal_system_tests::{TestServer, skip, target_is_mariadb};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, zip INT, doc JSON, \
                     KEY tags ((CAST(doc->'$.tags' AS UNSIGNED ARRAY))), \
                     KEY names (zip, (CAST(doc->'$.names' AS CHAR(10) ARRAY))), \
                     UNIQUE codes ((CAST(doc->'$.codes' AS SIGNED ARRAY))))";

/// A column of EXPLAIN, of all tables.
fn explained(server: &TestServer, query: &str, column: usize) -> String {
    let explained = server.sql(&format!("EXPLAIN {query}"));
    let field = |line: &str| line.split('\t').nth(column).unwrap_or_default().to_owned();
    explained.lines().map(field).collect::<Vec<_>>().join(",")
}

#[test]
fn predicates_about_arrays_find_their_index() {
    if target_is_mariadb() {
        return skip("MariaDB has no multi-valued indexes");
    }
    let server = TestServer::start();
    server.sql(TABLE);
    server.sql(
        "INSERT INTO t VALUES (1,10,'{\"tags\":[1,2,2,3],\"names\":[\"ann\",\"bob\"],\"codes\":[-1,5]}'), \
         (2,10,'{\"tags\":3,\"names\":[\"bob\"],\"codes\":7}'),(3,20,'{\"tags\":[],\"names\":\"cy\"}'),(4,NULL,NULL)",
    );
    for (condition, key, kind, rows) in [
        ("3 MEMBER OF (doc->'$.tags')", "tags", "ref", "1\n2\n"),
        ("JSON_CONTAINS(doc->'$.tags', '[2,3]')", "tags", "ref", "1\n"),
        ("JSON_OVERLAPS(doc->'$.tags', '[2,3,9]')", "tags", "range", "1\n2\n"),
        ("JSON_OVERLAPS('[2,3,9]', doc->'$.tags')", "tags", "range", "1\n2\n"),
        ("zip=10 AND 'bob' MEMBER OF (doc->'$.names')", "names", "ref", "1\n2\n"),
        ("5 MEMBER OF (doc->'$.codes')", "codes", "const", "1\n"),
        ("JSON_OVERLAPS(doc->'$.codes', '[5,-1,7]')", "codes", "range", "1\n2\n"),
        // No elements, none that could be there, another expression, or rows that the index does not have.
        ("JSON_CONTAINS(doc->'$.tags', '[]')", "NULL", "ALL", "1\n3\n"),
        ("JSON_OVERLAPS(doc->'$.tags', '[\"x\"]')", "NULL", "ALL", ""),
        ("3 MEMBER OF (doc->'$.tag')", "NULL", "ALL", ""),
        ("NOT (3 MEMBER OF (doc->'$.tags'))", "NULL", "ALL", "3\n"),
        ("zip=20", "NULL", "ALL", "3\n"),
        ("zip=10 AND 5 MEMBER OF (doc->'$.names')", "NULL", "ALL", ""),
    ] {
        let query = format!("SELECT id FROM t WHERE {condition}");
        assert_eq!(explained(&server, &query, 6), key, "{query}");
        assert_eq!(explained(&server, &query, 4), kind, "{query}");
        // The plan is made, kept and taken again.
        for _ in 0..2 {
            assert_eq!(server.sql(&format!("{query} ORDER BY id")), rows, "{query}");
        }
    }
    assert_eq!(explained(&server, "UPDATE t SET zip=0 WHERE 3 MEMBER OF (doc->'$.tags')", 6), "tags");
    assert_eq!(explained(&server, "DELETE FROM t WHERE 3 MEMBER OF (doc->'$.tags')", 6), "tags");
    server.sql("ALTER TABLE t ALTER INDEX tags INVISIBLE");
    assert_eq!(explained(&server, "SELECT id FROM t WHERE 3 MEMBER OF (doc->'$.tags')", 6), "NULL");
    let expression =
        "SELECT EXPRESSION FROM information_schema.STATISTICS WHERE TABLE_NAME='t' AND INDEX_NAME='codes'";
    assert_eq!(server.sql(expression), "cast(`doc`->'$.codes' as signed array)\n");
}

/// A generator of its own, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn array(&mut self, values: u64) -> String {
        let elements: Vec<String> = (0..self.below(5)).map(|_| self.below(values).to_string()).collect();
        format!("[{}]", elements.join(","))
    }
}

#[test]
fn the_index_finds_what_a_scan_finds_whatever_was_written() {
    if target_is_mariadb() {
        return skip("MariaDB has no multi-valued indexes");
    }
    let seed = 20_261_125;
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut server = TestServer::start();
    server.sql(TABLE);
    let mut client = server.client();
    for round in 0..400 {
        let (id, tags) = (random.below(40), random.array(12));
        let sql = match random.below(8) {
            0 => format!("DELETE FROM t WHERE JSON_OVERLAPS(doc->'$.tags', '{tags}') AND id % 3 = 0"),
            1 => format!(
                "UPDATE t SET doc=JSON_SET(doc,'$.tags',CAST('{tags}' AS JSON)) WHERE id BETWEEN {id} AND {id}+3"
            ),
            2 => format!("UPDATE t SET id=id+100 WHERE id={id}"),
            3 => "DELETE FROM t WHERE id>100".to_owned(),
            4 => ["BEGIN", "COMMIT", "ROLLBACK"][random.below(3) as usize].to_owned(),
            _ => {
                let codes = random.array(200);
                let doc = format!("{{\"tags\":{tags},\"codes\":{codes},\"names\":[\"n{}\",\"x\"]}}", id % 3);
                format!("REPLACE INTO t VALUES ({id},{},'{doc}')", id % 4)
            }
        };
        if let Err(error) = client.execute(&sql) {
            assert_eq!(error.errno(), 1062, "{sql}: {error}");
        }
        if round % 4 != 0 {
            continue;
        }
        let (one, several) = (random.below(12), random.array(12));
        for condition in [
            format!("{one} MEMBER OF (doc->'$.tags')"),
            format!("JSON_CONTAINS(doc->'$.tags','{several}')"),
            format!("JSON_OVERLAPS(doc->'$.tags','{several}')"),
            format!("JSON_OVERLAPS(doc->'$.codes','{several}')"),
            format!("{one} MEMBER OF (doc->'$.codes')"),
            "zip IN (1,2) AND JSON_OVERLAPS(doc->'$.names','[\"n1\",\"n2\",\"x\"]')".to_owned(),
        ] {
            let query = |hint: &str| format!("SELECT id FROM t {hint} WHERE {condition} ORDER BY id");
            let found = client.text(&query("")).unwrap();
            let scanned = client.text(&query("IGNORE INDEX (tags, codes, names)")).unwrap();
            assert_eq!(found, scanned, "round {round}: {condition}");
        }
    }
    client.execute("COMMIT").unwrap();
    let all = "SELECT id FROM t WHERE JSON_OVERLAPS(doc->'$.tags','[0,1,2,3,4,5,6,7,8,9,10,11]') ORDER BY id";
    let before = server.sql(all);
    assert!(!before.is_empty() && server.sql("CHECK TABLE t").contains("OK"));
    server.kill();
    server.restart();
    assert_eq!(server.sql(all), before);
    assert_eq!(server.sql(&all.replace(" WHERE", " IGNORE INDEX (tags) WHERE")), before);
}

#[test]
fn a_dump_goes_out_and_in_again() {
    if target_is_mariadb() {
        return skip("MariaDB has no multi-valued indexes");
    }
    let server = TestServer::start();
    server.sql(TABLE);
    server.sql("INSERT INTO t VALUES (1,10,'{\"tags\":[1,2],\"codes\":[4]}'),(2,10,'{\"tags\":[3]}')");
    let dump = server.dump(&[], "test");
    server.sql("CREATE DATABASE copy");
    server.restore("copy", &dump);
    assert_eq!(String::from_utf8_lossy(&server.dump(&[], "copy")), String::from_utf8_lossy(&dump));
    assert_eq!(server.sql("SELECT id FROM copy.t FORCE INDEX (tags) WHERE 2 MEMBER OF (doc->'$.tags')"), "1\n");
    let refused = server.client().execute("INSERT INTO copy.t VALUES (3,1,'{\"codes\":[9,4]}')").unwrap_err();
    assert_eq!(refused.errno(), 1062);
    assert!(refused.to_string().contains("'[4, 9]' for key 't.codes'"), "{refused}");
}

#[test]
fn a_search_through_several_elements_can_be_killed_and_locks_what_it_shows() {
    if target_is_mariadb() {
        return skip("MariaDB has no multi-valued indexes");
    }
    let server = TestServer::start();
    server.sql(TABLE);
    server.sql("INSERT INTO t VALUES (1,1,'{\"tags\":[1,2]}'),(2,1,'{\"tags\":[2,3]}'),(3,1,'{\"tags\":[7]}')");
    let mut one = server.client();
    let mut two = server.client();
    one.execute("BEGIN").unwrap();
    let locked = "SELECT id FROM t WHERE JSON_OVERLAPS(doc->'$.tags','[1,2,3]') ORDER BY id FOR UPDATE";
    assert_eq!(one.text(locked).unwrap(), ["1", "2"]);
    two.execute("SET innodb_lock_wait_timeout=1").unwrap();
    two.execute("UPDATE t SET zip=2 WHERE id=3").unwrap();
    assert_eq!(two.execute("UPDATE t SET zip=2 WHERE id=2").unwrap_err().errno(), 1205);
    // A row with one of the elements would be a phantom.
    let phantom = "INSERT INTO t VALUES (4,1,'{\"tags\":[9,2]}')";
    assert_eq!(two.execute(phantom).unwrap_err().errno(), 1205);
    two.execute("INSERT INTO t VALUES (5,1,'{\"tags\":[9,8]}')").unwrap();
    one.execute("COMMIT").unwrap();
    two.execute(phantom).unwrap();
}
