//! Rows by key over HTTP and JSON: what is done, who may, and what is refused.

use std::thread;

use serde_json::{Value, json};
use shoal_system_tests::http::{get, parse, samples, send};
use shoal_system_tests::rest::{Rest, key, operation, refusal};
use shoal_system_tests::{TestServer, skip, target_is_mariadb};

fn started() -> Option<(TestServer, Rest)> {
    if target_is_mariadb() {
        skip("MariaDB has no REST");
        return None;
    }
    let server = TestServer::start_with(&["--set", "http_rest=ON"]);
    let root = Rest::of(&server.http(), "root", "");
    Some((server, root))
}

#[test]
fn rows_are_written_and_read_back_as_sql_has_them() {
    let Some((server, root)) = started() else { return };
    server.sql(
        "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, name VARCHAR(30) NOT NULL DEFAULT 'none', price DECIMAL(30,9), \
         raw VARBINARY(10), at DATETIME(3), stamp TIMESTAMP NULL, doc JSON, ratio DOUBLE, bits BIT(9), day DATE, latin VARCHAR(10) CHARACTER SET latin1, \
         kind ENUM('small','large'), flag BOOL)",
    );
    let row = json!({
        "id": 18_446_744_073_709_551_000_u64, "name": "p\u{e4}rch \"1\"", "price": "12345678901234567890.123456789", "raw": "AP8=",
        "at": "2024-02-29 12:34:56.789", "stamp": "2024-02-29 12:34:56", "doc": {"b": [1, null], "a": "x"}, "ratio": 1e300, "bits": "AQI=",
        "day": "2024-02-29", "latin": "\u{fc}", "kind": "large", "flag": true,
    });
    assert_eq!(
        root.done("test/t/pk-insert", &json!({ "data": row, "operationId": "i" })),
        json!({ "operationId": "i" })
    );
    let id = 18_446_744_073_709_551_000_u64;
    let read = root.done("test/t/pk-read", &json!({ "filters": key("id", id), "operationId": "r" }));
    let mut expected = row.clone();
    expected["flag"] = json!(1);
    assert_eq!((&read["operationId"], &read["data"]), (&json!("r"), &expected));
    let seen = server.sql("SELECT HEX(raw), price, bits+0, HEX(latin), doc->'$.b[0]' FROM t");
    assert_eq!(seen.trim(), "00FF\t12345678901234567890.123456789\t258\tFC\t1");
    // An exact number needs no string, and a default comes where nothing is said.
    let made = root.done("test/t/pk-insert", &json!({ "data": { "id": 7, "price": 0.000_000_001 } }));
    assert_eq!(made, json!({}));
    let some = json!({ "filters": key("ID", 7), "readColumns": [{ "column": "name" }, { "column": "price", "dataReturnType": "default" }] });
    assert_eq!(root.done("test/t/pk-read", &some)["data"], json!({ "name": "none", "price": "0.000000001" }));
    root.done("test/t/pk-update", &json!({ "filters": key("id", 7), "data": { "name": "seven", "doc": null } }));
    root.done("test/t/pk-upsert", &json!({ "data": { "id": 7, "price": 5 } }));
    root.done("test/t/pk-upsert", &json!({ "data": { "id": 8, "name": "eight" } }));
    assert_eq!(
        server.sql("SELECT id, name, price FROM t WHERE id < 10 ORDER BY id").trim(),
        "7\tseven\t5.000000000\n8\teight\tNULL"
    );
    root.done("test/t/pk-delete", &json!({ "filters": key("id", 8) }));
    for verb in ["pk-read", "pk-delete"] {
        assert_eq!(root.refused(&format!("test/t/{verb}"), &json!({ "filters": key("id", 8) })), (404, 1032));
    }
    server.sql("CREATE TABLE numbered (id INT PRIMARY KEY AUTO_INCREMENT, v INT UNIQUE)");
    assert_eq!(root.done("test/numbered/pk-insert", &json!({ "data": { "v": 1 } })), json!({ "lastInsertId": 1 }));
    let metrics = samples(&get(&root.address, "/metrics").body);
    assert!(
        metrics["shoal_rest_writes_total"] >= 7.0 && metrics["shoal_rest_failures_total"] >= 2.0,
        "{metrics:?}"
    );
}

#[test]
fn large_answers_are_whole_and_give_their_memory_back() {
    let Some((server, root)) = started() else { return };
    server.sql("CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)");
    server.sql("INSERT INTO big VALUES (1, REPEAT('\u{e4}', 200000))");
    let one = json!({ "filters": key("id", 1), "operationId": "o" });
    let read = root.done("test/big/pk-read", &one);
    assert_eq!((&read["operationId"], read["data"]["v"].as_str().map(str::len)), (&json!("o"), Some(400_000)));
    let reads = |count: usize| {
        let list: Vec<Value> = (0..count).map(|_| operation("test/big/pk-read", one.clone())).collect();
        json!({ "operations": list })
    };
    // Twelve times all of them would take more than answers have together.
    for _ in 0..12 {
        let rows = root.done("batch", &reads(30));
        assert!(rows.as_array().unwrap().iter().all(|row| row["body"]["data"] == read["data"]));
    }
    assert_eq!(root.refused("batch", &reads(60)), (413, 1153));
}

#[test]
fn a_batch_is_one_transaction() {
    let Some((server, root)) = started() else { return };
    server.sql("CREATE TABLE a (id INT PRIMARY KEY, v INT, UNIQUE KEY u (v)); CREATE TABLE `b c` (x INT, y VARCHAR(10), PRIMARY KEY (y, x))");
    server.sql("INSERT INTO a VALUES (1, 10), (2, 20); INSERT INTO `b c` VALUES (1, 'one')");
    let batch = |operations: Vec<Value>| json!({ "operations": operations });
    let both = json!([{ "column": "x", "value": 1 }, { "column": "y", "value": "one" }]);
    let answer = root.done(
        "batch",
        &batch(vec![
            operation("test/a/pk-read", json!({ "filters": key("id", 1), "operationId": "first" })),
            operation("test/a/pk-update", json!({ "filters": key("id", 1), "data": { "v": 11 } })),
            operation("test/a/pk-read", json!({ "filters": key("id", 1) })),
            operation("test/a/pk-read", json!({ "filters": key("id", 3), "operationId": "none" })),
            operation("test/b%20c/pk-read", json!({ "filters": both })),
            operation("/0.1.0/test/a/pk-insert", json!({ "data": { "id": 3, "v": 30 } })),
            operation("test/a/pk-read", json!({ "filters": key("id", 3) })),
        ]),
    );
    assert_eq!(
        answer,
        json!([
            { "code": 200, "body": { "operationId": "first", "data": { "id": 1, "v": 10 } } },
            { "code": 200, "body": {} },
            { "code": 200, "body": { "data": { "id": 1, "v": 11 } } },
            { "code": 404, "body": { "operationId": "none" } },
            { "code": 200, "body": { "data": { "x": 1, "y": "one" } } },
            { "code": 200, "body": {} },
            { "code": 200, "body": { "data": { "id": 3, "v": 30 } } },
        ])
    );
    // What fails leaves nothing, whatever it was, and says which one it was.
    let before = server.sql("SELECT * FROM a ORDER BY id");
    for (last, status, errno) in [
        (operation("test/a/pk-insert", json!({ "data": { "id": 1, "v": 99 } })), 409, 1062),
        (operation("test/a/pk-upsert", json!({ "data": { "id": 9, "v": 20 } })), 409, 1062),
        (operation("test/a/pk-insert", json!({ "data": { "id": 9, "v": "x" } })), 400, 1366),
        (operation("test/a/pk-insert", json!({ "data": { "id": 9, "v": 99_999_999_999_u64 } })), 400, 1264),
        (operation("test/a/pk-update", json!({ "filters": key("id", 9), "data": { "v": 1 } })), 404, 1032),
        (operation("test/a/pk-delete", json!({ "filters": key("id", 9) })), 404, 1032),
        (operation("test/a/pk-insert", json!({ "data": { "id": 9, "w": 1 } })), 400, 1054),
        (operation("test/nothing/pk-delete", json!({ "filters": key("id", 9) })), 404, 1146),
        (operation("test/a/pk-read", json!({ "filters": key("v", 20) })), 400, 1210),
        (operation("test/b%20c/pk-read", json!({ "filters": key("x", 1) })), 400, 1210),
    ] {
        let first = operation("test/a/pk-insert", json!({ "data": { "id": 5, "v": 50 } }));
        let answer = root.post("batch", &batch(vec![first, last.clone()]));
        assert_eq!(refusal(&answer), (status, errno), "{last}: {}", answer.body);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((&body["operation"], &body["outcome"]), (&json!(1), &json!("not committed")), "{body}");
    }
    assert_eq!(server.sql("SELECT * FROM a ORDER BY id"), before);
}

/// Ten clients move money between five rows, in any order: no sum is ever another one, and conflicts are told as such.
#[test]
fn concurrent_batches_with_conflicts_keep_sums() {
    let Some((server, root)) = started() else { return };
    server.sql("CREATE TABLE account (id INT PRIMARY KEY, amount INT); INSERT INTO account VALUES (0,100),(1,100),(2,100),(3,100),(4,100)");
    let address = root.address.clone();
    let read = |rest: &Rest| -> Vec<i64> {
        let reads = (0..5).map(|id| operation("test/account/pk-read", json!({ "filters": key("id", id) })));
        let rows = rest.done("batch", &json!({ "operations": reads.collect::<Vec<_>>() }));
        rows.as_array().unwrap().iter().map(|row| row["body"]["data"]["amount"].as_i64().unwrap()).collect()
    };
    let done: usize = thread::scope(|scope| {
        let movers: Vec<_> = (0..10_u64)
            .map(|client| {
                let address = &address;
                scope.spawn(move || {
                    let rest = Rest::of(address, "root", "");
                    let mut done = 0;
                    for turn in 0..20 {
                        let (from, to) = ((client + turn) % 5, (client * 3 + turn * 2 + 1) % 5);
                        if from == to {
                            continue;
                        }
                        // Whoever writes a row first wins it; values are told apart by who wrote them.
                        let write = |id: u64, amount: u64| {
                            operation(
                                "test/account/pk-update",
                                json!({ "filters": key("id", id), "data": { "amount": amount } }),
                            )
                        };
                        let amount = 50 + client;
                        let answer = rest.post(
                            "batch",
                            &json!({ "operations": [write(from, amount), write(to, 200 - amount)] }),
                        );
                        assert!(matches!(answer.status, 200 | 409), "{}", answer.body);
                        done += usize::from(answer.status == 200);
                    }
                    done
                })
            })
            .collect();
        movers.into_iter().map(|mover| mover.join().unwrap()).sum()
    });
    assert!(done > 100, "only {done} batches were done");
    let rows = read(&root);
    assert!(
        rows.iter().all(|amount| (50..60).contains(amount) || (141..=150).contains(amount) || *amount == 100),
        "{rows:?}"
    );
    // A snapshot shows both rows of a batch or none.
    server.sql("UPDATE account SET amount = 100");
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let rest = Rest::of(&address, "root", "");
            for turn in 0..100_i64 {
                let write = |id: u64, amount: i64| {
                    operation(
                        "test/account/pk-update",
                        json!({ "filters": key("id", id), "data": { "amount": amount } }),
                    )
                };
                rest.done("batch", &json!({ "operations": [write(0, 100 - turn), write(4, 100 + turn)] }));
            }
        });
        let rest = Rest::of(&address, "root", "");
        while !writer.is_finished() {
            let rows = read(&rest);
            assert_eq!(rows[0] + rows[4], 200, "{rows:?}");
        }
        writer.join().unwrap();
    });
}

#[test]
fn accounts_may_what_they_may_in_sql() {
    let Some((server, root)) = started() else { return };
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, open INT, secret INT); INSERT INTO t VALUES (1, 2, 3)");
    server.sql("CREATE USER ann IDENTIFIED BY 'right'; GRANT SELECT (id, open), UPDATE (open) ON test.t TO ann");
    server.sql("CREATE USER bob IDENTIFIED BY 'right'; CREATE ROLE writer; GRANT ALL ON test.t TO writer; GRANT writer TO bob; SET DEFAULT ROLE writer TO bob");
    server.sql("CREATE USER eve IDENTIFIED BY 'right'; CREATE USER locked IDENTIFIED BY 'right' ACCOUNT LOCK; CREATE USER stale IDENTIFIED BY 'right' PASSWORD EXPIRE");
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|user| Rest::of(&root.address, user, "right"));
    let read = |columns: &[&str]| {
        let columns: Vec<Value> = columns.iter().map(|column| json!({ "column": column })).collect();
        json!({ "filters": key("id", 1), "readColumns": columns })
    };
    assert_eq!(ann.done("test/t/pk-read", &read(&["open"]))["data"], json!({ "open": 2 }));
    assert_eq!(ann.refused("test/t/pk-read", &read(&["open", "secret"])), (403, 1143));
    assert_eq!(ann.refused("test/t/pk-read", &read(&[])), (403, 1143), "all columns are too many");
    ann.done("test/t/pk-update", &json!({ "filters": key("id", 1), "data": { "open": 5 } }));
    assert_eq!(
        ann.refused("test/t/pk-update", &json!({ "filters": key("id", 1), "data": { "secret": 5 } })),
        (403, 1143)
    );
    for (verb, body) in [
        ("pk-insert", json!({ "data": { "id": 2, "open": 1 } })),
        ("pk-upsert", json!({ "data": { "id": 1, "open": 1 } })),
        ("pk-delete", json!({ "filters": key("id", 1) })),
    ] {
        assert_eq!(ann.refused(&format!("test/t/{verb}"), &body), (403, 1142), "{verb}");
        assert_eq!(eve.refused(&format!("test/t/{verb}"), &body), (403, 1142), "{verb}");
    }
    // Whether there is such a table is told to those who may use it.
    assert_eq!(eve.refused("test/none/pk-read", &read(&["a"])), (403, 1142));
    assert_eq!(root.refused("test/none/pk-read", &read(&["a"])), (404, 1146));
    bob.done("test/t/pk-insert", &json!({ "data": { "id": 2, "open": 1 } }));
    let denied = operation("test/t/pk-read", read(&["secret"]));
    let batch = json!({ "operations": [operation("test/t/pk-update", json!({ "filters": key("id", 1), "data": { "open": 9 } })), denied] });
    assert_eq!(ann.refused("batch", &batch), (403, 1143));
    assert_eq!(server.sql("SELECT open FROM t WHERE id = 1").trim(), "5", "nothing of the batch was done");
    // Rights and passwords count from the next request on.
    server.sql("REVOKE SELECT (id, open), UPDATE (open) ON test.t FROM ann; ALTER USER bob IDENTIFIED BY 'other'");
    assert_eq!(ann.refused("test/t/pk-read", &read(&["open"])), (403, 1142));
    assert_eq!(bob.refused("test/t/pk-read", &read(&["open"])), (401, 1045));
    for (user, password, status) in [
        ("ann", "wrong", 401),
        ("nobody", "", 401),
        ("locked", "right", 401),
        ("stale", "right", 403),
        ("", "", 401),
    ] {
        let refused = Rest::of(&root.address, user, password).refused("test/t/pk-read", &read(&["open"]));
        assert_eq!(refused.0, status, "{user}: {refused:?}");
    }
    let answer = Rest::nobody(&root.address).post("test/t/pk-read", &read(&["open"]));
    assert_eq!(refusal(&answer), (401, 1045));
    assert!(answer.head.contains("www-authenticate: Basic"), "{}", answer.head);
    // Through a proxy everybody seems to be of this machine, also somebody who has come without one before.
    root.done("test/t/pk-read", &read(&[]));
    let forwarded = "Content-Type: application/json\r\nX-Forwarded-For: 10.0.0.9\r\n";
    assert_eq!(root.request("test/t/pk-read", forwarded, &read(&[]).to_string()).status, 403);
    server.sql("SET GLOBAL super_read_only = ON");
    let write = json!({ "filters": key("id", 1), "data": { "open": 7 } });
    assert_eq!(root.refused("test/t/pk-update", &write), (403, 1290));
    assert_eq!(root.done("test/t/pk-read", &read(&["open"]))["data"], json!({ "open": 5 }));
    server.sql("SET GLOBAL super_read_only = OFF");
    root.done("test/t/pk-update", &write);
}

/// Failures over REST and MySQL are counted together.
#[test]
fn wrong_passwords_lock_accounts() {
    let Some((server, root)) = started() else { return };
    server.sql("CREATE TABLE t (id INT PRIMARY KEY); CREATE USER bob IDENTIFIED BY 'right' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 1");
    let body = json!({ "filters": key("id", 1) });
    for _ in 0..3 {
        assert_eq!(Rest::of(&root.address, "bob", "wrong").post("test/t/pk-read", &body).status, 401);
    }
    let answer = Rest::of(&root.address, "bob", "right").post("test/t/pk-read", &body);
    assert!(answer.status == 401 && answer.body.contains("blocked"), "{}", answer.body);
}

#[test]
fn what_is_malformed_or_too_much_is_refused_and_the_server_goes_on() {
    let Some((server, root)) = started() else { return };
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, doc JSON, v VARCHAR(10)); CREATE TABLE keyless (v INT)");
    let status = |path: &str, body: &str| refusal(&root.post_text(path, body));
    for body in ["", "{", "\"\u{1}\"", "{\"filters\":[{\"column\":\"id\",\"value\":01}]}", "\u{feff}{}"] {
        assert_eq!(status("test/t/pk-read", body), (400, 3140), "{body}");
    }
    let bomb = format!("{{\"data\":{{\"id\":1,\"doc\":{}{}}}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(status("test/t/pk-insert", &bomb), (400, 3140));
    // As deep as MySQL's documents may be, and a level more.
    let deep =
        |levels: usize| format!("{{\"data\":{{\"id\":1,\"doc\":{}{}}}}}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(status("test/t/pk-insert", &deep(101)).0, 400);
    assert_eq!(root.post_text("test/t/pk-upsert", &deep(100)).status, 200);
    let oversized = format!("{{\"data\":{{\"id\":2,\"v\":\"{}\"}}}}", "x".repeat(2 << 20));
    assert_eq!(status("test/t/pk-insert", &oversized), (413, 1153));
    let many: Vec<Value> =
        (0..1001).map(|id| operation("test/t/pk-read", json!({ "filters": key("id", id) }))).collect();
    assert_eq!(root.refused("batch", &json!({ "operations": many })), (413, 1210));
    let most: Vec<Value> =
        (0..1000).map(|id| operation("test/t/pk-upsert", json!({ "data": { "id": id, "v": "x" } }))).collect();
    root.done("batch", &json!({ "operations": most }));
    assert_eq!(server.sql("SELECT COUNT(*) FROM t").trim(), "1000");
    assert_eq!(
        root.refused("test/t/pk-insert", &json!({ "data": { "id": 2000, "v": "longer than ten" } })),
        (400, 1406)
    );
    assert_eq!(root.refused("test/t/pk-read", &json!({ "filters": key("id", Value::Null) })), (400, 1048));
    assert_eq!(root.refused("test/keyless/pk-read", &json!({ "filters": key("v", 1) })), (400, 1235));
    assert_eq!(root.refused("test/t/scan", &json!({})).0, 404);
    let (json_type, read) = ("Content-Type: application/json\r\n", r#"{"filters":[{"column":"id","value":1}]}"#);
    for (headers, expected) in [
        ("Content-Type: text/plain\r\n".to_owned(), 415),
        (String::new(), 415),
        (format!("{json_type}Transfer-Encoding: chunked\r\n"), 400),
        (format!("{json_type}Content-Length: 5\r\n"), 400),
        (format!("{json_type}Host: evil.example\r\n"), 421),
        (format!("{json_type}Host: a\r\nHost: b\r\n"), 400),
        (format!("{json_type}Origin: http://evil.example\r\n"), 403),
        (format!("{json_type}Sec-Fetch-Site: cross-site\r\n"), 403),
        (format!("{json_type}X-Long: {}\r\n", "x".repeat(20_000)), 431),
        (json_type.to_owned(), 200),
    ] {
        let answer = root.request("test/t/pk-read", &headers, read);
        assert_eq!(answer.status, expected, "{:.80}: {}", headers, answer.body);
    }
    // A second request that hides behind the end of a body that was refused is never looked at.
    let hidden = "POST /0.1.0/test/t/pk-delete HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic cm9vdDo=\r\nContent-Type: application/json\r\n\
         Content-Length: 39\r\n\r\n{\"filters\":[{\"column\":\"id\",\"value\":1}]}";
    let smuggled = format!(
        "POST /0.1.0/test/t/pk-read HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{hidden}",
        root.address
    );
    let text = send(&root.address, smuggled.as_bytes()).unwrap();
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM t WHERE id = 1").trim(), "1");
    // What was understood and could not be done leaves the connection as it is.
    let missing = r#"{"filters":[{"column":"id","value":-1}]}"#;
    let request = |body: &str, more: &str| {
        let (address, length) = (&root.address, body.len());
        format!(
            "POST /0.1.0/test/t/pk-read HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic cm9vdDo=\r\n{json_type}Content-Length: {length}\r\n{more}\r\n{body}"
        )
    };
    let both = request(missing, "") + &request(read, "Connection: close\r\n");
    let text = send(&root.address, both.as_bytes()).unwrap();
    assert!(text.starts_with("HTTP/1.1 404 ") && text.contains("HTTP/1.1 200 OK"), "{text}");
    let get = get(&root.address, "/0.1.0/test/t/pk-read");
    assert!(get.status == 405 && get.head.contains("allow: POST"), "{}", get.head);
}

#[test]
fn it_is_off_unless_it_is_turned_on_and_describes_itself_where_it_is() {
    let Some((_server, root)) = started() else { return };
    let description = get(&root.address, "/openapi.json");
    assert_eq!(description.status, 200);
    let description: Value = serde_json::from_str(&description.body).unwrap();
    assert!(description["paths"]["/0.1.0/batch"]["post"].is_object());
    let page = get(&root.address, "/api-docs");
    assert!(page.status == 200 && page.body.contains("pk-upsert") && page.head.contains("default-src 'none'"));
    let off = TestServer::start();
    let rest = Rest::of(&off.http(), "root", "");
    let answer = rest.post("test/t/pk-read", &json!({ "filters": key("id", 1) }));
    assert!(answer.status == 404 && answer.body.contains("http_rest"), "{}", answer.body);
    assert_eq!(get(&rest.address, "/openapi.json").status, 404);
    assert!(
        parse(&send(&rest.address, b"GET /api-docs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap())
            .unwrap()
            .status
            == 404
    );
}
