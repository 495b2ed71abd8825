use std::thread;

use super::*;
use crate::canned;

/// The port of a responder that lives as long as this process.
fn responder() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || canned::serve_on(listener));
    port
}

fn target(compression: Compression) -> Target {
    Target::new(("127.0.0.1", responder()), ("root", "sbtest"), compression, None, false).unwrap()
}

#[test]
fn every_load_comes_to_events_and_to_its_end() {
    let target = target(Compression::None);
    for kind in [Kind::ReadOnly, Kind::Range, Kind::Write, Kind::Connect] {
        let figures = load::run(&target, kind, 3, 1000, Duration::from_millis(200)).unwrap();
        assert!(figures.events > 0, "{kind:?}");
        assert_eq!((figures.refused, figures.resumed), (0, 0));
        assert!(figures.latencies.count() >= figures.events);
    }
}

#[test]
fn a_server_without_compression_is_told_of() {
    for compression in [Compression::Zlib, Compression::Zstd] {
        let error = load::run(&target(compression), Kind::Range, 1, 1000, Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), format!("the server offers no {}", compression.name()));
    }
}
