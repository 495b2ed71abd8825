//! A server of HTTP, over any bytes in pieces of any size, bodies of the page's questions included: what comes back are answers of HTTP or
//! nothing, it ends, and the server lives.

#![no_main]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use shoal_http::{HttpServer, Watched};

/// Longer than any patience of the server.
const PATIENCE: Duration = Duration::from_secs(30);

fn address() -> SocketAddr {
    static SERVER: OnceLock<HttpServer> = OnceLock::new();
    let start = || {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        HttpServer::start(listener, Watched::new(), None).expect("a server")
    };
    SERVER.get_or_init(start).address()
}

/// What comes back until the server closes.
fn send(request: &[u8], piece: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(address()).expect("the server lives");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    for part in request.chunks(piece) {
        // A server that has had enough is for the reading side to notice.
        if stream.write_all(part).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "no end");
    }
    answer
}

fuzz_target!(|input: &[u8]| {
    let Some((&piece, request)) = input.split_first() else { return };
    let answer = send(request, usize::from(piece) * 16 + 1);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."));
    // An answer for every head at most, and a head has the end of a line.
    let answers = answer.windows(9).filter(|bytes| bytes == b"HTTP/1.1 ").count();
    let ends = request.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    assert!(answers <= ends.max(1));
});
