//! How connections end: killed, timed out, dropped, refused, stopped; and what hostile bytes can do.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::fake::State;
use crate::common::raw::{BASIC, Raw, packet, response};
use crate::common::{PATIENCE, Running, eventually};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn waiting(server: &Running) -> usize {
    server.fake.waiting.load(Ordering::SeqCst)
}

fn sessions(server: &Running) -> i64 {
    server.fake.sessions.load(Ordering::SeqCst)
}

fn open(server: &Running) -> i64 {
    server.fake.open.load(Ordering::SeqCst)
}

/// A connection of root with its id.
fn root_with_id(server: &Running) -> (Raw, u32) {
    let mut raw = Raw::connect(server.port);
    let id = raw.greeting().connection_id;
    raw.send(1, &response(BASIC, "root", b"", None, "caching_sha2_password"));
    assert_eq!(raw.receive().1[0], 0);
    (raw, id)
}

#[test]
fn a_kill_ends_a_statement_that_waits() {
    let server = Running::start();
    let (mut victim, id) = root_with_id(&server);
    victim.query("WAIT");
    eventually("the statement waits", || waiting(&server) == 1);
    let mut killer = Raw::root(server.port);
    killer.command(0x0c, &id.to_le_bytes());
    assert_eq!(killer.receive().1[0], 0);
    assert_eq!(victim.receive_error().1, 1317);
    victim.expect_end();
    assert_eq!((waiting(&server), sessions(&server)), (0, 1));
    killer.command(0x0c, &u32::MAX.to_le_bytes());
    assert_eq!(killer.receive_error().1, 1094);
}

#[test]
fn a_kill_ends_an_idle_connection() {
    let server = Running::start();
    let (mut victim, id) = root_with_id(&server);
    let mut killer = Raw::root(server.port);
    killer.command(0x0c, &id.to_le_bytes());
    assert_eq!(killer.receive().1[0], 0);
    victim.expect_end();
    eventually("the session is closed", || sessions(&server) == 1);
}

#[test]
fn a_client_that_goes_away_ends_its_waiting_statement() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("WAIT");
    eventually("the statement waits", || waiting(&server) == 1);
    drop(raw);
    eventually("nothing is left", || (waiting(&server), sessions(&server), open(&server)) == (0, 0, 0));
}

#[test]
fn commands_sent_behind_a_waiting_one_do_not_disturb_it() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("RELEASABLE");
    eventually("the statement waits", || waiting(&server) == 1);
    raw.command(14, b"");
    server.fake.release.notify_one();
    for _ in 0..5 {
        raw.receive();
    }
    raw.expect(b"\x07\0\0\x01\0\0\0\x02\0\0\0");
}

#[test]
fn a_connection_that_idles_past_wait_timeout_is_told_and_closed() {
    let server = Running::with(State { wait_timeout_s: 1, ..State::default() });
    let mut raw = Raw::root(server.port);
    raw.query("RELEASABLE");
    eventually("the statement waits", || waiting(&server) == 1);
    let started = Instant::now();
    server.fake.release.notify_one();
    for _ in 0..5 {
        raw.receive();
    }
    assert_eq!(raw.receive_error(), (0, 4031, raw_inactive_text()));
    assert!(started.elapsed() >= Duration::from_millis(900));
    raw.expect_end();
}

fn raw_inactive_text() -> String {
    "#HY000The client was disconnected by the server because of inactivity. See wait_timeout and \
     interactive_timeout for configuring this behavior."
        .to_owned()
}

#[test]
fn half_a_handshake_ends_at_connect_timeout() {
    let server = Running::with(State { connect_timeout_s: 1, ..State::default() });
    let mut silent = Raw::connect(server.port);
    silent.greeting();
    let mut halting = Raw::connect(server.port);
    halting.greeting();
    halting.bytes(&[50, 0, 0, 1, 1, 2, 3]);
    silent.expect_end();
    halting.expect_end();
    eventually("both are counted", || server.fake.aborted.load(Ordering::SeqCst) == 2);
    eventually("both are closed", || open(&server) == 0);
}

#[test]
fn one_connection_too_many_is_refused_in_place_of_the_greeting() {
    let server = Running::with(State { connections_max: 1, ..State::default() });
    let first = Raw::root(server.port);
    let mut second = Raw::connect(server.port);
    second.expect(&packet(0, b"\xff\x10\x04Too many connections"));
    second.expect_end();
    drop(first);
    eventually("the first is gone", || open(&server) == 0);
    Raw::root(server.port).ping();
}

#[test]
fn a_defect_in_one_statement_ends_its_connection_alone() {
    let server = Running::start();
    let mut other = Raw::root(server.port);
    let mut raw = Raw::root(server.port);
    raw.query("PANIC");
    raw.expect_end();
    other.ping();
    eventually("its place is free", || open(&server) == 1);
}

#[test]
fn stopping_lets_statements_finish_and_closes_idle_connections() {
    let mut server = Running::start();
    let mut idle = Raw::root(server.port);
    let mut busy = Raw::root(server.port);
    let mut half = Raw::connect(server.port);
    half.greeting();
    busy.query("RELEASABLE");
    eventually("the statement waits", || waiting(&server) == 1);
    let stopping = server.take_server();
    let stopper = std::thread::spawn(move || stopping.stop(PATIENCE));
    assert_eq!(idle.receive_error().1, 1053);
    idle.expect_end();
    assert_eq!(half.receive_error().1, 1053);
    server.fake.release.notify_one();
    for _ in 0..5 {
        busy.receive();
    }
    assert_eq!(busy.receive_error().1, 1053);
    stopper.join().unwrap();
    assert_eq!((sessions(&server), open(&server)), (0, 0));
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err(), "nobody listens any more");
}

/// Links between nodes live on the workers' threads: those of a worker that was done ended while others had statements that wait for them.
#[test]
fn what_lives_on_a_worker_goes_on_until_the_last_statement_has_ended() {
    let (called, calls) = std::sync::mpsc::channel();
    let callers = Arc::new(Mutex::new(Vec::new()));
    let made = Arc::clone(&callers);
    let on_start = move |worker: usize| {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        made.lock().unwrap().push(sender);
        let called = called.clone();
        tokio::task::spawn_local(async move {
            while let Some(()) = receiver.recv().await {
                called.send(worker).unwrap();
            }
        });
    };
    let mut server = Running::with_workers(State::default(), Some(Arc::new(on_start)));
    let mut busy = Raw::root(server.port);
    let mut idle = Raw::root(server.port);
    busy.query("RELEASABLE");
    eventually("the statement waits", || waiting(&server) == 1);
    let stopping = server.take_server();
    let stopper = std::thread::spawn(move || stopping.stop(PATIENCE));
    assert_eq!(idle.receive_error().1, 1053);
    idle.expect_end();
    for caller in callers.lock().unwrap().iter() {
        caller.send(()).expect("the worker goes on");
    }
    let mut answers: Vec<usize> = (0..2).map(|_| calls.recv_timeout(PATIENCE).expect("both answer")).collect();
    answers.sort_unstable();
    assert_eq!(answers, [0, 1]);
    server.fake.release.notify_one();
    stopper.join().unwrap();
}

#[test]
fn stopping_cuts_off_what_outlasts_its_patience() {
    let mut server = Running::start();
    let mut busy = Raw::root(server.port);
    busy.query("WAIT");
    eventually("the statement waits", || waiting(&server) == 1);
    server.take_server().stop(Duration::ZERO);
    assert_eq!(busy.receive_error().1, 1053);
    assert_eq!((waiting(&server), sessions(&server)), (0, 0));
}

#[test]
fn packets_too_large_or_out_of_order_end_the_connection_with_their_error() {
    let server = Running::with(State { packet_size_max: 1000, ..State::default() });
    let mut raw = Raw::root(server.port);
    raw.bytes(&[0xe9, 3, 0, 0]);
    assert_eq!(raw.receive_error().1, 1153);
    raw.expect_end();
    let mut raw = Raw::root(server.port);
    raw.send(1, b"\x0e");
    assert_eq!(raw.receive_error().1, 1156);
    raw.expect_end();
    let mut raw = Raw::connect(server.port);
    raw.greeting();
    raw.bytes(&[0xff, 0xff, 0xff, 1]);
    assert_eq!(raw.receive_error().1, 1153, "before the login too");
}

#[test]
fn long_data_over_the_limit_is_reported_by_the_execution() {
    let server = Running::with(State { packet_size_max: 1000, ..State::default() });
    let mut raw = Raw::root(server.port);
    raw.command(0x16, b"PARAMETERS ?");
    for _ in 0..5 {
        raw.receive();
    }
    for _ in 0..3 {
        raw.command(0x18, &[&b"\x01\0\0\0\0\0"[..], &[b'x'; 500]].concat());
    }
    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0");
    assert_eq!(raw.receive_error().1, 1105);
    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0\0\x01\x01\0\x05");
    assert_eq!(raw.receive().1, [1]);
}

#[test]
fn malformed_commands_are_errors_and_the_connection_goes_on() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.command(0x16, b"PARAMETERS ?");
    for _ in 0..5 {
        raw.receive();
    }
    for body in [
        &b"\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0"[..],
        b"\x01\0\0\0\0\x01\0\0\0\0\x01",
        b"\x01\0\0\0\0\x01\0\0\0",
        b"\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x01\0\0\0\0\x01\0\0\0\0\x01\x63\0\x01",
    ] {
        raw.command(0x17, body);
        assert_eq!(raw.receive_error().1, 1210, "{body:?}");
    }
    raw.command(0x17, b"\x01\0");
    assert_eq!(raw.receive_error().1, 1835);
    raw.command(0x1c, b"\x01");
    assert_eq!(raw.receive_error().1, 1835);
    raw.command(0x0c, b"");
    assert_eq!(raw.receive_error().1, 1835);
    raw.command(0x04, b"no end of the name");
    assert_eq!(raw.receive_error().1, 1835);
    raw.ping();
}

#[test]
fn many_connections_opened_and_dropped_leave_nothing_behind() {
    let server = Running::start();
    for round in 0..500 {
        let mut raw = Raw::connect(server.port);
        match round % 3 {
            0 => drop(raw),
            1 => {
                raw.greeting();
            }
            _ => {
                raw.greeting();
                raw.bytes(&[200, 0, 0, 1, 7]);
            }
        }
    }
    eventually("all are gone", || open(&server) == 0);
    Raw::root(server.port).ping();
}

#[test]
fn random_bytes_never_bring_the_server_down() {
    let server = Running::start();
    let chunk = prop::collection::vec(any::<u8>(), 0..300);
    let input = (any::<bool>(), prop::collection::vec((0u8..3, chunk), 1..12));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(60));
    let outcome = runner.run(&input, |(login, chunks)| {
        let mut raw = if login { Raw::root(server.port) } else { Raw::connect(server.port) };
        for (shape, chunk) in &chunks {
            let bytes = match shape {
                0 => chunk.clone(),
                1 => packet(0, chunk),
                _ => packet(1, chunk),
            };
            let _ = raw.stream.write_all(&bytes);
        }
        drop(raw);
        Raw::root(server.port).ping();
        Ok(())
    });
    outcome.unwrap();
}
