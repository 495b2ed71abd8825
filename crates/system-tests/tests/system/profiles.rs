//! Profiles of a server that is busy, by those who may ask for them.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flate2::read::GzDecoder;
use shoal_system_tests::http::{connect, get};
use shoal_system_tests::rest::Rest;
use shoal_system_tests::{TestServer, skip, target_is_mariadb};

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// `GET` as somebody; the body is what it is.
fn ask(who: &Rest, path: &str) -> Answer {
    let mut stream = connect(&who.address);
    let (address, authorization) = (&who.address, who.authorization());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Answer { status: head[9..12].parse().unwrap(), head, body: bytes[end + 4..].to_vec() }
}

/// The fields of a protobuf message: numbers, and bytes of those that have a length.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let value = varint(&mut message);
        let bytes = match tag & 7 {
            0 => &[][..],
            2 => message.split_off(..value as usize).unwrap(),
            kind => panic!("field {} of kind {kind}", tag >> 3),
        };
        found.push((tag >> 3, value, bytes));
    }
    found
}

/// The samples of a profile, and the names in it.
fn read(body: &[u8]) -> (usize, Vec<String>) {
    let mut message = Vec::new();
    GzDecoder::new(body).read_to_end(&mut message).unwrap();
    let fields = fields(&message);
    let of = |wanted| fields.iter().filter(move |(number, ..)| *number == wanted).map(|(_, _, bytes)| *bytes);
    (of(2).count(), of(6).map(|text| String::from_utf8(text.to_vec()).unwrap()).collect())
}

fn started(arguments: &[&str]) -> Option<TestServer> {
    if target_is_mariadb() {
        skip("MariaDB has no profiles over HTTP");
        return None;
    }
    Some(TestServer::start_with(arguments))
}

/// Takes a fraction of a second, in expressions.
const BUSY: &str = "SELECT SUM(CRC32(CONCAT(a.COLUMN_NAME, b.COLUMN_NAME))) FROM information_schema.COLUMNS a, \
                    (SELECT COLUMN_NAME FROM information_schema.COLUMNS LIMIT 30) b";

/// Keeps a session busy while `asks` works.
fn while_busy<T>(server: &TestServer, asks: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.client();
            while !is_done.load(Ordering::Relaxed) {
                client.query(BUSY).unwrap();
            }
        });
        let outcome = asks();
        is_done.store(true, Ordering::Relaxed);
        outcome
    })
}

#[test]
fn a_busy_server_tells_what_its_processor_does() {
    let Some(server) = started(&["--set", "http_profiles=ON"]) else { return };
    let root = Rest::of(&server.http(), "root", "");
    let profile = while_busy(&server, || ask(&root, "/debug/pprof/profile?seconds=1&frequency=500"));
    assert!(profile.status == 200 && profile.head.contains("application/octet-stream"), "{}", profile.head);
    let (samples, names) = read(&profile.body);
    assert!(samples > 10, "{samples}");
    for part in ["shoal_expr::", "shoal_mysql::"] {
        assert!(names.iter().any(|name| name.contains(part)), "no {part} in {names:?}");
    }
    let picture =
        while_busy(&server, || ask(&root, "/debug/pprof/profile?seconds=1&frequency=500&format=flamegraph"));
    assert!(picture.status == 200 && picture.head.contains("image/svg+xml"), "{}", picture.head);
    let picture = String::from_utf8(picture.body).unwrap();
    assert!(picture.contains("<svg") && picture.contains("shoal_expr::"), "{} bytes", picture.len());
    // Nothing of it stays behind: statements are answered as before.
    assert_eq!(server.sql("SELECT 1").trim(), "1");
}

#[test]
fn profiles_are_for_those_who_may_end_sessions_of_others_and_one_is_taken_at_a_time() {
    let Some(server) = started(&["--set", "http_profiles=ON"]) else { return };
    server.sql("CREATE USER ann@localhost IDENTIFIED BY 'a', ops@localhost IDENTIFIED BY 'o'");
    server.sql("GRANT PROCESS ON *.* TO ann@localhost; GRANT CONNECTION_ADMIN ON *.* TO ops@localhost");
    let of = |user: &str, password: &str| Rest::of(&server.http(), user, password);
    let short = "/debug/pprof/profile?seconds=1";
    assert_eq!(ask(&Rest::nobody(&server.http()), short).status, 401);
    assert_eq!(ask(&of("ops", "wrong"), short).status, 401);
    assert_eq!(ask(&of("ann", "a"), short).status, 403);
    let ops = of("ops", "o");
    let statuses = thread::scope(|scope| {
        let asked = [0; 3].map(|_| scope.spawn(|| ask(&ops, short).status));
        asked.map(|thread| thread.join().unwrap())
    });
    assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
    assert_eq!(ask(&ops, "/debug/pprof/profile?seconds=0").status, 400);
    assert_eq!(ask(&ops, "/debug/pprof/goroutine").status, 404);
    // A build with jemalloc yields one, another one says so.
    let heap = ask(&ops, "/debug/pprof/heap");
    match heap.status {
        200 => assert!(read(&heap.body).1.contains(&"inuse_space".to_owned())),
        status => {
            assert!(
                status == 501 && String::from_utf8_lossy(&heap.body).contains("--features jemalloc"),
                "{status}"
            );
        }
    }
}

#[test]
fn profiles_are_off_unless_somebody_has_turned_them_on() {
    let Some(server) = started(&[]) else { return };
    let answer = ask(&Rest::of(&server.http(), "root", ""), "/debug/pprof/profile?seconds=1");
    assert!(
        answer.status == 404 && String::from_utf8_lossy(&answer.body).contains("http_profiles"),
        "{}",
        answer.head
    );
    assert_eq!(get(&server.http(), "/debug/pprof/profile?seconds=1").status, 404);
}
