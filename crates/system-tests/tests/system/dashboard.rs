//! The page for operators, as a program sees it: who is let in, what they see, what they may end, and what is refused.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use shoal_system_tests::http::{connect, get, parse, read_all, send};
use shoal_system_tests::page::Page;
use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb, wait_until};

fn started() -> Option<(TestServer, String)> {
    if target_is_mariadb() {
        skip("MariaDB has no HTTP");
        return None;
    }
    let server = TestServer::start();
    let address = server.http();
    Some((server, address))
}

fn log_in(server: &TestServer, user: &str, password: &str) -> Client {
    Client::log_in(server.port(), &Login::user(user, password)).unwrap()
}

const ASKED: [&str; 5] = ["session", "overview", "history", "statements", "log"];

#[test]
fn nobody_sees_anything_before_a_login() {
    let Some((_server, address)) = started() else { return };
    for path in ["/", "/style.css", "/dashboard.js", "/panels.js", "/charts.js", "/icon.svg"] {
        let answer = get(&address, path);
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.head.lines().find(|line| line.starts_with("content-security-policy: ")).unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{path}");
    }
    let page = Page::of(&address);
    for path in ASKED {
        let answer = page.get(path);
        assert_eq!(answer.status, 401, "{path}: {}", answer.body);
        assert!(answer.body.len() < 100, "{}", answer.body);
    }
    assert_eq!(page.post("kill", &json!({ "node": 1, "id": 1, "query_only": true })).status, 401);
    let port = address.rsplit(':').next().unwrap();
    for token in ["", "0", &"0".repeat(64), &"x".repeat(5000)] {
        let page = Page { address: address.clone(), cookie: Some(format!("a=b; shoal-{port}={token}")) };
        assert_eq!(page.get("session").status, 401, "{token}");
    }
}

#[test]
fn right_passwords_open_and_wrong_ones_tell_nothing() {
    let Some((server, address)) = started() else { return };
    server.sql(
        "CREATE USER ann IDENTIFIED BY 'right'; CREATE USER old IDENTIFIED WITH mysql_native_password BY 'right'",
    );
    server.sql(
        "CREATE USER locked IDENTIFIED BY 'right' ACCOUNT LOCK; CREATE USER tls IDENTIFIED BY 'right' REQUIRE SSL",
    );
    server.sql("CREATE USER stale IDENTIFIED BY 'right' PASSWORD EXPIRE");
    for user in ["ann", "old"] {
        let mut page = Page::of(&address);
        let answer = page.try_log_in(user, "right");
        assert_eq!(answer.status, 200, "{user}: {}", answer.body);
        let cookie = answer.head.lines().find(|line| line.starts_with("set-cookie: ")).unwrap();
        for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/api"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        assert_eq!(page.json("session")["user"], json!(user));
        let token = page.cookie.clone();
        assert_eq!(page.post("logout", &json!({})).status, 200);
        page.cookie = token;
        assert_eq!(page.get("session").status, 401, "the token is worth nothing any more");
    }
    // Whether there is such a user, and how a password is kept, does not show.
    let refused = |user: &str, password: &str| {
        let mut page = Page::of(&address);
        let answer = page.try_log_in(user, password);
        assert!(page.cookie.is_none(), "{user}");
        (answer.status, answer.body.replace(user, "USER"))
    };
    let expected = refused("nobody", "wrong");
    assert_eq!(expected.0, 401);
    for (user, password) in [
        ("ann", "wrong"),
        ("old", "wrong"),
        ("ann", "right "),
        ("", "wrong"),
        ("locked", "wrong"),
        ("tls", "wrong"),
    ] {
        let found = refused(user, password);
        assert_eq!(found.0, 401, "{user}");
        assert!(user.is_empty() || found == expected, "{user}: {found:?}");
    }
    for (user, status) in [("locked", 401), ("tls", 401), ("stale", 403)] {
        assert_eq!(refused(user, "right").0, status, "{user}");
    }
    assert_eq!(refused("ann", "").0, 401);
}

#[test]
fn a_login_ends_with_the_password_or_the_account() {
    let Some((server, address)) = started() else { return };
    server.sql("CREATE USER ann IDENTIFIED BY 'one'; CREATE USER bob IDENTIFIED BY 'one'; CREATE USER eve IDENTIFIED BY 'one'");
    let pages = ["ann", "bob", "eve"].map(|user| Page::log_in(&address, user, "one"));
    let statuses = || pages.iter().map(|page| page.get("session").status).collect::<Vec<_>>();
    assert_eq!(statuses(), [200, 200, 200]);
    server.sql("ALTER USER ann IDENTIFIED BY 'two'; DROP USER bob; ALTER USER eve ACCOUNT LOCK");
    assert_eq!(statuses(), [401, 401, 401]);
    server.sql("ALTER USER eve ACCOUNT UNLOCK; CREATE USER bob IDENTIFIED BY 'one'");
    assert_eq!(statuses(), [401, 401, 401], "nobody comes back without a password");
}

/// Failures over HTTP and MySQL are counted together: neither is a way around the other's limits.
#[test]
fn wrong_passwords_are_slowed_down_and_lock_accounts() {
    let Some((server, address)) = started() else { return };
    server.sql("CREATE USER ann IDENTIFIED BY 'right'; CREATE USER bob IDENTIFIED WITH mysql_native_password BY 'right' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 1");
    for user in ["ann", "nobody"] {
        let attempt = || {
            let begun = Instant::now();
            assert_eq!(Page::of(&address).try_log_in(user, "wrong").status, 401);
            begun.elapsed()
        };
        for _ in 0..3 {
            attempt();
        }
        let slow: Duration = (0..3).map(|_| attempt()).sum();
        assert!(slow >= Duration::from_millis(250 + 500 + 1000), "{user}: {slow:?}");
    }
    for _ in 0..2 {
        assert_eq!(Page::of(&address).try_log_in("bob", "wrong").status, 401);
    }
    let error = Client::log_in(server.port(), &Login::user("bob", "wrong")).err().unwrap();
    assert_eq!(error.errno(), 3955, "{error}");
    let answer = Page::of(&address).try_log_in("bob", "right");
    assert!(answer.status == 401 && answer.body.contains("blocked"), "{}", answer.body);
    let failures = server.client().text("SHOW GLOBAL STATUS LIKE 'Aborted_connects'").unwrap();
    assert!(
        failures[0].rsplit(|one: char| !one.is_ascii_digit()).next().unwrap().parse::<u32>().unwrap() >= 15,
        "{failures:?}"
    );
}

#[test]
fn pages_of_other_servers_cannot_have_anything_done() {
    let Some((server, address)) = started() else { return };
    server.sql("CREATE USER ann IDENTIFIED BY 'right'");
    let page = Page::log_in(&address, "root", "");
    let json_type = "Content-Type: application/json\r\n";
    let kill = r#"{"node":1,"id":999999,"query_only":true}"#;
    assert_eq!(page.post_with("kill", json_type, kill).status, 404, "there is no such connection");
    for (headers, status) in [
        (format!("{json_type}Origin: http://evil.example\r\n"), 403),
        (format!("{json_type}Origin: null\r\n"), 403),
        (format!("{json_type}Origin: http://127.0.0.1:1\r\n"), 403),
        (format!("{json_type}Sec-Fetch-Site: cross-site\r\n"), 403),
        (format!("{json_type}Sec-Fetch-Site: same-site\r\nOrigin: http://{address}\r\n"), 403),
        (format!("{json_type}Host: evil.example\r\n"), 421),
        (format!("{json_type}Host: evil.example\r\nOrigin: http://evil.example\r\n"), 421),
        ("Content-Type: application/x-www-form-urlencoded\r\n".into(), 415),
        ("Content-Type: text/plain\r\n".into(), 415),
        (String::new(), 415),
        (format!("{json_type}Origin: http://{address}\r\n"), 404),
        (format!("{json_type}Sec-Fetch-Site: same-origin\r\n"), 404),
    ] {
        let answer = page.post_with("kill", &headers, kill);
        assert_eq!(answer.status, status, "{headers}: {}", answer.body);
        assert!(!answer.head.to_ascii_lowercase().contains("access-control"), "{}", answer.head);
    }
    assert_eq!(page.request("GET", "statements", "Host: evil.example\r\n", "").status, 421);
    assert_eq!(page.request("GET", "statements", "Sec-Fetch-Site: cross-site\r\n", "").status, 403);
    // Through a proxy everybody seems to be of this machine.
    let forwarded = format!("{json_type}X-Forwarded-For: 10.0.0.9\r\n");
    let anybody = Page::of(&address).post_with("login", &forwarded, r#"{"user":"root","password":""}"#);
    assert_eq!(anybody.status, 403, "{}", anybody.body);
    let somebody = Page::of(&address).post_with("login", &forwarded, r#"{"user":"ann","password":"right"}"#);
    assert_eq!(somebody.status, 200, "{}", somebody.body);
}

#[test]
fn statements_are_ended_by_those_who_may() {
    let Some((server, address)) = started() else { return };
    server
        .sql("CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'x'; CREATE USER eye IDENTIFIED BY 'x'; GRANT PROCESS ON *.* TO eye");
    server.sql("CREATE USER boss IDENTIFIED BY 'x'; CREATE ROLE killer; GRANT PROCESS, CONNECTION_ADMIN ON *.* TO killer; GRANT killer TO boss; SET DEFAULT ROLE killer TO boss");
    let [ann, eye, boss] = ["ann", "eye", "boss"].map(|user| Page::log_in(&address, user, "x"));
    let sleeper = |mut client: Client| {
        let id = client.connection_id();
        (id, thread::spawn(move || client.query("SELECT SLEEP(600)").map(|_| client)))
    };
    let (root, of_root) = sleeper(server.client());
    let (own, of_ann) = sleeper(log_in(&server, "ann", "x"));
    wait_until("both sleep", || {
        boss.session(1, root).is_some_and(|one| one["running"] == json!(true))
            && ann.session(1, own).is_some_and(|one| one["running"] == json!(true))
    });
    let kill = |page: &Page, id: u32, query_only: bool| {
        page.post("kill", &json!({ "node": 1, "id": id, "query_only": query_only })).status
    };
    assert!(ann.session(1, root).is_none(), "the statements of others need PROCESS");
    assert_eq!(kill(&ann, root, true), 404, "and so does that there are any");
    assert!(eye.session(1, root).is_some());
    assert_eq!(kill(&eye, root, true), 403);
    assert_eq!(kill(&eye, own, false), 403);
    assert!(!of_root.is_finished() && !of_ann.is_finished());
    assert_eq!((ann.get("log").status, eye.get("log").status), (403, 200));
    assert_eq!(kill(&ann, own, true), 200, "one's own");
    let mut client = of_ann.join().unwrap().expect("SLEEP tells by its value that it was ended");
    client.query("SELECT 1").unwrap();
    assert_eq!(kill(&boss, root, false), 200);
    assert!(of_root.join().unwrap().is_err(), "the connection has ended");
    wait_until("it is not listed any more", || boss.session(1, root).is_none());
    for body in [
        json!({}),
        json!([]),
        json!({ "node": 1, "id": -1, "query_only": true }),
        json!({ "node": 1, "id": 5_000_000_000u64, "query_only": true }),
        json!({ "node": 1, "id": 1, "query_only": 1 }),
    ] {
        assert_eq!(boss.post("kill", &body).status, 400, "{body}");
    }
}

#[test]
fn who_waits_for_whom_is_shown_and_texts_are_only_texts() {
    let Some((server, address)) = started() else { return };
    let (mut holder, mut waiter) = (server.client(), server.client());
    holder.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100)); ").unwrap();
    holder.execute("INSERT INTO t VALUES (1, 'a')").unwrap();
    holder.execute("BEGIN").unwrap();
    holder.execute("UPDATE t SET v = 'b' WHERE id = 1").unwrap();
    let (holding, waiting) = (holder.connection_id(), waiter.connection_id());
    let hostile =
        "UPDATE t SET v = '</script><img src=x onerror=alert(1)>\u{1}\u{2028}\\\"' WHERE id = 1 /* \u{fc} */";
    let blocked = thread::spawn(move || waiter.execute(hostile).map(|_| ()));
    let page = Page::log_in(&address, "root", "");
    let mut told = json!(null);
    wait_until("the wait is shown", || {
        told = page.json("statements")["nodes"]["1"].clone();
        told["waits"].as_array().is_some_and(|waits| !waits.is_empty())
    });
    let of =
        |id: u32| told["sessions"].as_array().unwrap().iter().find(|one| one["id"] == json!(id)).unwrap().clone();
    assert_eq!(told["waits"][0]["waiter"], of(waiting)["transaction"]);
    assert_eq!(told["waits"][0]["blockers"], json!([of(holding)["transaction"]]));
    assert_eq!(of(waiting)["text"], json!(hostile));
    assert_eq!(of(holding)["running"], json!(false));
    let raw = page.get("statements");
    assert!(raw.head.contains("content-type: application/json") && raw.head.contains("nosniff"), "{}", raw.head);
    assert!(!raw.body.contains('\u{1}'), "control characters are escaped");
    holder.execute("COMMIT").unwrap();
    blocked.join().unwrap().unwrap();
    wait_until("nobody waits", || page.json("statements")["nodes"]["1"]["waits"] == json!([]));
    assert_eq!(page.session(1, holding).unwrap()["transaction"], json!(null));
}

#[test]
fn bodies_and_heads_have_limits() {
    let Some((_server, address)) = started() else { return };
    let page = Page::of(&address);
    let json_type = "Content-Type: application/json\r\n";
    for (body, status) in [
        (String::new(), 400),
        ("{".into(), 400),
        ("[".repeat(4000), 400),
        ("null".into(), 400),
        ("{\"user\":1,\"password\":2}".into(), 400),
        ("{\"user\":\"a\"}".into(), 400),
        ("\u{0}\u{1}".into(), 400),
        (format!("{{\"user\":\"{}\",\"password\":\"\"}}", "x".repeat(5000)), 413),
        ("x".repeat(100_000), 413),
    ] {
        let answer = page.post_with("login", json_type, &body);
        assert_eq!(answer.status, status, "{} bytes: {}", body.len(), answer.body);
    }
    let raw = |head: &str| {
        parse(
            &send(
                &address,
                format!("POST /api/login HTTP/1.1\r\nHost: {address}\r\n{json_type}{head}\r\n\r\n").as_bytes(),
            )
            .unwrap(),
        )
        .unwrap()
        .status
    };
    assert_eq!(raw("Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0"), 400);
    assert_eq!(raw("Content-Length: 99999999999"), 413);
    assert_eq!(raw("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400);
    assert_eq!(raw("Content-Length: -1"), 400);
    for (method, path, status) in [
        ("GET", "login", 405),
        ("POST", "overview", 405),
        ("GET", "nothing", 404),
        ("DELETE", "session", 405),
        ("GET", "../metrics", 404),
    ] {
        assert_eq!(page.request(method, path, "", "").status, status, "{method} {path}");
    }
    // A body that never comes holds its connection for seconds, and nobody else.
    let mut slow = connect(&address);
    slow.write_all(
        format!("POST /api/login HTTP/1.1\r\nHost: {address}\r\n{json_type}Content-Length: 50\r\n\r\n{{")
            .as_bytes(),
    )
    .unwrap();
    let begun = Instant::now();
    assert_eq!(get(&address, "/healthz").status, 200);
    assert_eq!(parse(&read_all(&mut slow).unwrap()).unwrap().status, 408);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn figures_of_the_last_minutes_are_kept() {
    let Some((server, address)) = started() else { return };
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    client.execute("INSERT INTO t VALUES (1, 1)").unwrap();
    let page = Page::log_in(&address, "root", "");
    let overview = page.json("overview");
    assert_eq!(overview["cluster"], json!(null));
    let node = &overview["nodes"][0];
    assert_eq!((&node["state"], &node["roles"]), (&json!("STARTED"), &json!(["data", "sql"])));
    assert!(node["figures"]["memory"]["limit_bytes"].as_u64().unwrap() > 0, "{node}");
    let warned = overview["warnings"].to_string();
    assert!(
        warned.contains("Accounts without a password: 'root'@'localhost'") && warned.contains("advice"),
        "{warned}"
    );
    wait_until("there are samples with statements in them", || {
        for _ in 0..20 {
            client.query("SELECT v FROM t WHERE id = 1").unwrap();
            client.execute("UPDATE t SET v = v + 1 WHERE id = 1").unwrap();
        }
        let history = page.json("history?seconds=60")["nodes"]["1"].clone();
        let at =
            |name: &str| history["fields"].as_array().unwrap().iter().position(|field| field == name).unwrap() + 1;
        let rows = history["rows"].as_array().unwrap();
        let positive = |name: &str| rows.iter().any(|row| row[at(name)].as_f64().unwrap() > 0.0);
        [
            "reads",
            "writes",
            "read_p99_us",
            "write_p50_us",
            "commits",
            "memory_limit_bytes",
            "resident_bytes",
            "log_bytes",
            "disk_size_bytes",
        ]
        .into_iter()
        .all(positive)
    });
    assert_eq!(page.json("history?seconds=0")["nodes"]["1"]["rows"], json!([]));
    assert_eq!(page.json("log")["events"], json!(null));
}

#[test]
fn the_costliest_statements_are_told_with_a_sample_and_its_plan_to_those_who_may() {
    let Some((server, address)) = started() else { return };
    server.sql("CREATE TABLE fish (id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO fish VALUES (1, 'perch'), (2, 'pike')");
    server
        .sql("CREATE USER ann IDENTIFIED BY 'x'; CREATE USER eye IDENTIFIED BY 'x'; GRANT PROCESS ON *.* TO eye");
    let mut client = server.client_in("test");
    for id in 0..20 {
        client.query(&format!("SELECT name FROM fish WHERE id = {id}")).unwrap();
        client.query(&format!("SELECT id FROM fish WHERE name LIKE 'p%' LIMIT {}", id + 2)).unwrap();
    }
    client.query("SELECT nothing FROM fish").unwrap_err();
    client.query("SELECT SLEEP(0.2), 'slow'").unwrap();
    let [root, ann, eye] =
        [("root", ""), ("ann", "x"), ("eye", "x")].map(|(user, word)| Page::log_in(&address, user, word));
    assert_eq!((ann.get("digests").status, eye.get("digests").status), (403, 200));
    let digests = eye.json("digests")["digests"].as_array().unwrap().clone();
    let of = |part: &str| {
        digests
            .iter()
            .find(|one| one["text"].as_str().unwrap().contains(part))
            .unwrap_or_else(|| panic!("{part}: {digests:?}"))
    };
    assert!(digests[0]["text"].as_str().unwrap().contains("SLEEP"), "the costliest is the first: {}", digests[0]);
    assert!(digests[0]["p95_us"].as_u64().unwrap() >= 200_000);
    let scan = of("LIKE");
    assert_eq!(
        (&scan["count"], &scan["rows_examined"], &scan["database"], &scan["full_scans"]),
        (&json!(20), &json!(40), &json!("test"), &json!(20))
    );
    assert_eq!((&of("`nothing`")["errors"], &of("`nothing`")["count"]), (&json!(1), &json!(1)));
    let body = json!({ "database": "test", "digest": scan["digest"] });
    let shown =
        |page: &Page| -> serde_json::Value { serde_json::from_str(&page.post("digest", &body).body).unwrap() };
    let told = shown(&root);
    assert_eq!(told["sample"], json!("SELECT id FROM fish WHERE name LIKE 'p%' LIMIT 2"));
    assert!(told["plan"].as_str().unwrap().contains("fish"), "{told}");
    // Who may not read the table is not told how that would be done, nor who may not see the statement that there is one.
    assert!(shown(&eye)["no_plan"].as_str().unwrap().contains("denied"), "{}", shown(&eye));
    assert_eq!(ann.post("digest", &body).status, 403);
    assert_eq!(root.post("digest", &json!({ "database": "test", "digest": "00" })).status, 404);
    assert_eq!(root.post("digest", &json!({})).status, 400);
    let slow = json!({ "database": of("CREATE TABLE")["database"], "digest": of("CREATE TABLE")["digest"] });
    assert!(root.post("digest", &slow).body.contains("have no plan"));
    server.sql("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest");
    assert!(!root.get("digests").body.contains("LIKE"));
}
