//! Heads of requests, valid ones with damage: whatever comes, the answer is one of HTTP's or none, and the next client is served.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use shoal_http::{HttpServer, Watched};

/// One server for all cases: it has to live through them.
fn address() -> SocketAddr {
    static SERVER: OnceLock<HttpServer> = OnceLock::new();
    let start = || {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        HttpServer::start(listener, Watched::new(), None).unwrap()
    };
    SERVER.get_or_init(start).address()
}

/// What comes back until the server closes; the request comes in pieces.
fn send(request: &[u8], piece: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(address()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for part in request.chunks(piece) {
        // A server that has had enough is for the reading side to notice.
        if stream.write_all(part).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    let is_in_time = ended.as_ref().err().is_none_or(|error| error.kind() != std::io::ErrorKind::WouldBlock);
    assert!(is_in_time, "no end for {:?}", String::from_utf8_lossy(request));
    answer
}

const HEADERS: [&str; 12] = [
    "Host: a",
    "Host: b",
    "Connection: close",
    "Connection: keep-alive",
    "Content-Length: 0",
    "Content-Length: 5",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding : identity",
    "Expect: 100-continue",
    " folded: line",
];

fn request() -> impl Strategy<Value = String> {
    let line = (
        select(vec!["GET", "HEAD", "POST", "CONNECT", "", "get", "\u{1}"]),
        select(vec!["/", "/metrics", "/healthz", "/readyz", "*", "http://x/", "//", "/%00", "?"]),
        select(vec!["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", ""]),
    );
    let head = (line, vec(select(HEADERS.to_vec()), 0..5), select(vec!["\r\n", "\n", "\r"]));
    head.prop_map(|((method, path, version), headers, end)| {
        let lines: String = headers.iter().map(|header| format!("{header}{end}")).collect();
        format!("{method} {path} {version}{end}{lines}{end}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn damaged_heads_are_answered_or_refused_and_the_server_lives(
        requests in vec(request(), 1..3),
        changes in vec((any::<Index>(), any::<u8>()), 0..3),
        piece in 1..200usize,
    ) {
        let mut bytes = requests.concat().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let answer = send(&bytes, piece);
        prop_assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{:?}", String::from_utf8_lossy(&answer));
        // No more answers than there were requests: nothing of one is taken for another.
        let text = String::from_utf8_lossy(&answer).into_owned();
        prop_assert!(text.matches("HTTP/1.1 ").count() <= bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count().max(1));
        let lives = send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 1000);
        prop_assert!(lives.starts_with(b"HTTP/1.1 200 "), "{:?}", String::from_utf8_lossy(&lives));
    }
}
