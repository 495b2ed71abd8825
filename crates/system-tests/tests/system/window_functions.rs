//! Window functions over more rows than a golden script has: against subqueries that say the same, and what EXPLAIN tells of
//! them.

use shoal_system_tests::{Client, TestServer};

/// 1,000 rows in `t`: groups of very different sizes, equal values, NULLs, numbers of very different sizes in `f`.
fn with_rows() -> TestServer {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT, f DOUBLE, s VARCHAR(20), KEY (g))").unwrap();
    let row = |id: u64| {
        let v = if id.is_multiple_of(11) { "NULL".to_owned() } else { (id * 7919 % 83).to_string() };
        format!("({id},{},{v},{},'{}')", id * 31 % 17 * (id % 3), [1e16, 1.0, 0.25][id as usize % 3], id * 13 % 29)
    };
    let rows: Vec<String> = (0..1_000).map(row).collect();
    client.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    server
}

/// A window function, and a subquery over the row `o` that yields the same.
const PAIRS: [(&str, &str); 12] = [
    ("ROW_NUMBER() OVER (PARTITION BY g ORDER BY id)", "SELECT COUNT(*) FROM t WHERE g = o.g AND id <= o.id"),
    (
        "RANK() OVER (PARTITION BY g ORDER BY v)",
        "SELECT COUNT(*) + 1 FROM t WHERE g = o.g AND v < o.v OR g = o.g AND v IS NULL AND o.v IS NOT NULL",
    ),
    ("DENSE_RANK() OVER (ORDER BY g DESC)", "SELECT COUNT(DISTINCT g) + 1 FROM t WHERE g > o.g"),
    ("SUM(v) OVER (PARTITION BY g)", "SELECT SUM(v) FROM t WHERE g = o.g"),
    ("SUM(v) OVER (PARTITION BY g ORDER BY id)", "SELECT SUM(v) FROM t WHERE g = o.g AND id <= o.id"),
    (
        "AVG(v) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 3 FOLLOWING)",
        "SELECT AVG(v) FROM t WHERE id BETWEEN o.id - 5 AND o.id + 3",
    ),
    (
        "COUNT(v) OVER (ORDER BY id RANGE BETWEEN 9 PRECEDING AND 4 PRECEDING)",
        "SELECT COUNT(v) FROM t WHERE id BETWEEN o.id - 9 AND o.id - 4",
    ),
    (
        "MIN(v) OVER (ORDER BY id DESC ROWS BETWEEN 20 PRECEDING AND CURRENT ROW)",
        "SELECT MIN(v) FROM t WHERE id BETWEEN o.id AND o.id + 20",
    ),
    (
        "MAX(s) OVER (ORDER BY id RANGE BETWEEN 7 PRECEDING AND 2 FOLLOWING)",
        "SELECT MAX(s) FROM t WHERE id BETWEEN o.id - 7 AND o.id + 2",
    ),
    ("LAG(s, 3, 'none') OVER (ORDER BY id)", "SELECT IFNULL(MAX(s), 'none') FROM t WHERE id = o.id - 3"),
    ("FIRST_VALUE(id) OVER (PARTITION BY s ORDER BY id DESC)", "SELECT MAX(id) FROM t WHERE s = o.s"),
    (
        "COUNT(*) OVER (PARTITION BY g, s ORDER BY v RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING)",
        "SELECT COUNT(*) FROM t WHERE g = o.g AND s = o.s AND (v BETWEEN o.v - 2 AND o.v + 2 OR v IS NULL AND o.v IS NULL)",
    ),
];

#[test]
fn windows_say_what_subqueries_say() {
    let server = with_rows();
    let mut client = server.client();
    for (window, subquery) in PAIRS {
        let sql = format!("SELECT {window} FROM t ORDER BY id");
        let expected = client.text(&format!("SELECT ({subquery}) FROM t o ORDER BY id")).unwrap();
        assert_eq!(client.text(&sql).unwrap(), expected, "{window}");
    }
    // All at once: several orders, shared sorts, and the rows of the last one.
    let windows: Vec<String> =
        PAIRS.iter().enumerate().map(|(number, (window, _))| format!("{window} AS c{number}")).collect();
    let all = format!("WITH w AS (SELECT id, {} FROM t)", windows.join(", "));
    for (number, (window, _)) in PAIRS.iter().enumerate() {
        let alone = client.text(&format!("SELECT {window} FROM t ORDER BY id")).unwrap();
        assert_eq!(client.text(&format!("{all} SELECT c{number} FROM w ORDER BY id")).unwrap(), alone, "{window}");
    }
}

#[test]
fn sums_of_doubles_are_exact_unless_speed_is_asked_for() {
    let server = with_rows();
    let mut client = server.client();
    let sql = "SELECT COUNT(*) FROM (SELECT id, SUM(f) OVER (ORDER BY id ROWS 1 PRECEDING) s, f + LAG(f, 1, 0) OVER (ORDER BY id) e FROM t) q WHERE s <> e";
    assert_eq!(client.text(sql).unwrap(), ["0"]);
    client.execute("SET windowing_use_high_precision = OFF").unwrap();
    assert_ne!(
        client.text(sql).unwrap(),
        ["0"],
        "what a large number has swallowed is lost when that is taken away"
    );
}

fn explained(client: &mut Client, sql: &str) -> Vec<String> {
    client.text(&format!("EXPLAIN FORMAT=TREE {sql}")).unwrap()[0].lines().map(str::to_owned).collect()
}

#[test]
fn explain_tells_which_windows_share_a_sort() {
    let server = with_rows();
    let mut client = server.client();
    let shared = "SELECT ROW_NUMBER() OVER (PARTITION BY g ORDER BY v), SUM(v) OVER (PARTITION BY g) FROM t";
    let lines = explained(&mut client, shared);
    let sorts = |lines: &[String]| lines.iter().filter(|line| line.contains("-> Sort: ")).count();
    assert_eq!(sorts(&lines), 1, "{lines:#?}");
    let text = lines.join("\n");
    assert!(text.contains("-> Window aggregate: row_number() OVER (PARTITION BY"), "{text}");
    assert!(text.contains("-> Window aggregate with buffering: sum("), "{text}");
    let apart = "SELECT ROW_NUMBER() OVER (ORDER BY v), RANK() OVER (ORDER BY g) FROM t ORDER BY v";
    let lines = explained(&mut client, apart);
    assert_eq!(sorts(&lines), 2, "the last sort is that of ORDER BY: {lines:#?}");
    let told = server.sql(&format!("EXPLAIN {apart}; SHOW WARNINGS"));
    assert!(told.contains("Using temporary; Using filesort"), "{told}");
    assert!(told.contains("3598\tTo get information about window functions use EXPLAIN FORMAT=JSON"), "{told}");
    let json = client.text(&format!("EXPLAIN FORMAT=JSON {apart}")).unwrap().join("");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let windows = json["query_block"]["windowing"]["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 2, "{json}");
    assert!(windows.iter().all(|window| window["using_filesort"] == true), "{json}");
    assert_eq!(windows[1]["functions"][0], "row_number", "{json}");
}
