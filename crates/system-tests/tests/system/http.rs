//! Operators' HTTP: metrics and health of one server, and clients that mean no good.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use shoal_system_tests::http::{connect, get, parse, samples, send, try_get};
use shoal_system_tests::{TestServer, skip, target_is_mariadb, wait_until};
use shoal_testkit::process::Signal;

fn started() -> Option<(TestServer, String)> {
    if target_is_mariadb() {
        skip("MariaDB has no HTTP");
        return None;
    }
    let server = TestServer::start();
    let address = server.http();
    Some((server, address))
}

fn scrape(address: &str) -> std::collections::BTreeMap<String, f64> {
    let answer = get(address, "/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("text/plain; version=0.0.4"), "{}", answer.head);
    samples(&answer.body)
}

#[test]
fn metrics_tell_of_statements_memory_and_the_log() {
    let Some((server, address)) = started() else { return };
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))").unwrap();
    client.query("SELECT * FROM t WHERE v LIKE '%nothing%'").unwrap();
    client.execute("SET SESSION long_query_time = 0").unwrap();
    client.execute("BEGIN").unwrap();
    client.execute("INSERT INTO t VALUES (1000, '')").unwrap();
    client.execute("ROLLBACK").unwrap();
    let before = scrape(&address);
    for id in 0..50 {
        client.execute(&format!("INSERT INTO t VALUES ({id}, REPEAT('x', 200))")).unwrap();
        client.query(&format!("SELECT v FROM t WHERE id = {id}")).unwrap();
    }
    client.query("SELECT nothing FROM t").unwrap_err();
    let after = scrape(&address);
    let grown = |name: &str| after[name] - before[name];
    assert_eq!(grown("shoal_commands_total{command=\"insert\"}"), 50.0);
    assert_eq!(grown("shoal_commands_total{command=\"select\"}"), 50.0);
    assert_eq!(grown("shoal_transactions_committed_total"), 50.0);
    for kind in ["insert", "select"] {
        let name = |part: &str| format!("shoal_statement_duration_seconds_{part}{{kind=\"{kind}\"");
        assert_eq!(grown(&(name("count") + "}")), 50.0);
        assert_eq!(grown(&(name("bucket") + ",le=\"+Inf\"}")), 50.0);
        assert!(grown(&(name("sum") + "}")) > 0.0);
        let bounds: Vec<f64> =
            after.iter().filter(|(key, _)| key.starts_with(&name("bucket"))).map(|(_, value)| *value).collect();
        assert!(bounds.len() > 20 && bounds.iter().all(|below| *below <= after[&(name("count") + "}")]));
    }
    assert_eq!(grown("shoal_statement_errors_total{kind=\"other\"}"), 1.0, "what cannot be planned has no kind");
    assert_eq!(grown("shoal_questions_total"), 101.0);
    assert!(grown("shoal_log_appended_bytes_total") > 10_000.0);
    assert!(grown("shoal_sent_bytes_total") >= 0.0);
    for name in [
        "shoal_ready",
        "shoal_uptime_seconds",
        "shoal_memory_limit_bytes",
        "shoal_memory_used_bytes",
        "shoal_disk_free_bytes",
        "shoal_process_resident_bytes",
        "shoal_process_open_files",
        "shoal_process_cpu_seconds_total",
        "shoal_connections",
        "shoal_partitions",
        "shoal_slow_statements_total",
        "shoal_plan_cache_hits_total",
        "shoal_plan_cache_misses_total",
        "shoal_transactions_rolled_back_total",
        "shoal_full_scans_total",
        "shoal_partition_requests_total",
        "shoal_rows_read_total",
        "shoal_tables",
        "shoal_tls_certificate_expiry_timestamp_seconds",
    ] {
        assert!(after[name] > 0.0, "{name}");
    }
    assert_eq!(after["shoal_partition_replicas{role=\"leader\"}"], after["shoal_partitions"]);
    assert_eq!(after["shoal_disk_full"], 0.0);
}

#[test]
fn a_server_that_drains_is_alive_and_not_ready() {
    let Some((mut server, address)) = started() else { return };
    let ready = get(&address, "/readyz");
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert!(ready.body.contains("\"ready\":true"), "{}", ready.body);
    let mut client = server.client();
    let sleeping = thread::spawn(move || client.query("SELECT SLEEP(3)"));
    wait_until("the statement runs", || scrape(&address)["shoal_connections_running"] >= 1.0);
    server.server().signal(Signal::Terminate).unwrap();
    wait_until("the server drains", || get(&address, "/readyz").status == 503);
    let draining = get(&address, "/readyz");
    assert!(draining.body.contains("stopping") && draining.body.contains("\"ready\":false"), "{}", draining.body);
    assert_eq!(get(&address, "/healthz").status, 200);
    assert_eq!(scrape(&address)["shoal_ready"], 0.0);
    sleeping.join().unwrap().unwrap();
    assert!(server.server().wait(Duration::from_secs(60)).unwrap().success());
    assert!(try_get(&address, "/healthz").is_err());
}

/// A connection that stays open for the next request does not hold up the end.
#[test]
fn idle_and_half_sent_connections_do_not_hold_up_a_stop() {
    let Some((mut server, address)) = started() else { return };
    let mut idle = connect(&address);
    idle.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let mut half = connect(&address);
    half.write_all(b"GET /metrics HT").unwrap();
    let begun = Instant::now();
    server.stop();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn bad_requests_are_refused_and_the_server_goes_on() {
    let Some((_server, address)) = started() else { return };
    let long = "x".repeat(100_000);
    let many: String = (0..200).map(|number| format!("H{number}: x\r\n")).collect();
    let cases = [
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 400..=431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {long}\r\n\r\n"), 431..=431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431..=431),
        ("GET / HTTP/1.1\r\n\r\n".into(), 400..=400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".into(), 400..=400),
        ("GET / HTTP/9.9\r\nHost: a\r\n\r\n".into(), 400..=505),
        ("\0\u{1}\u{2}garbage\r\n\r\n".into(), 400..=400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n".into(), 400..=400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde".into(), 413..=413),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n".into(), 400..=413),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n".into(), 400..=413),
        ("POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n".into(), 405..=405),
        ("GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".into(), 404..=404),
    ];
    for (request, statuses) in cases {
        let shown = &request[..request.len().min(60)];
        let text = send(&address, request.as_bytes()).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let answer = parse(&text).unwrap_or_else(|| panic!("{shown}: {text}"));
        assert!(statuses.contains(&answer.status), "{shown}: {text}");
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{shown}: {text}");
    }
    // TLS to a port that has none.
    let text = send(&address, &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).unwrap();
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 400"), "{text}");
    assert_eq!(get(&address, "/healthz").body, "ok\n");
}

/// Two ways to say where a body ends: what is hidden behind is never answered.
#[test]
fn a_request_cannot_be_smuggled() {
    let Some((_server, address)) = started() else { return };
    let hidden = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    for headers in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length: 0\r\nContent-Length: 40\r\n",
        "Content-Length: 40\r\n",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{headers}\r\n0\r\n\r\n{hidden}");
        let text = send(&address, request.as_bytes()).unwrap();
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{headers}: {text}");
        assert!(text.starts_with("HTTP/1.1 4"), "{headers}: {text}");
    }
}

#[test]
fn requests_in_a_row_on_one_connection_are_all_answered() {
    let Some((_server, address)) = started() else { return };
    let one = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let last = "HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let text = send(&address, format!("{one}{one}{last}").as_bytes()).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200").count(), 3, "{text}");
    assert!(!text.contains("# HELP"), "a HEAD has no body");
}

/// Clients that connect and say nothing, or a byte now and then, keep others out for some seconds at most.
#[test]
fn slow_senders_lose_their_places() {
    let Some((server, address)) = started() else { return };
    let mut slow: Vec<TcpStream> = (0..200).map(|_| connect(&address)).collect();
    let begun = Instant::now();
    let mut refused = 0;
    for stream in &mut slow {
        // Those beyond the limit are closed already.
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    }
    // Statements do not notice.
    server.client().query("SELECT 1").unwrap();
    wait_until("the slow ones lose their places", || {
        for stream in &mut slow {
            let _ = stream.write_all(b"y");
        }
        match try_get(&address, "/healthz") {
            Ok(answer) if answer.status == 200 => true,
            Ok(answer) => {
                assert_eq!(answer.status, 503);
                assert!(answer.body.contains("too many"), "{}", answer.body);
                refused += 1;
                false
            }
            Err(_) => false,
        }
    });
    assert!(refused > 0, "200 connections were within the limit");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert!(scrape(&address)["shoal_http_refused_connections_total"] >= 136.0);
}

#[test]
fn a_port_that_is_taken_is_named() {
    if target_is_mariadb() {
        return skip("the option is Shoal's");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(shoal_system_tests::shoal_binary());
    command.args(["dev", "--mysql-port", "0", "--http-port", &port, "--data-dir"]).arg(folder.path());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("--http-port") && errors.contains(&port), "{errors}");
}
