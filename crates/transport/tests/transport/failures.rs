//! Links that break: reconnecting, refusals, proof of death, incarnations, cut wires.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use shoal_transport::{Block, CallError, Hello, TransportOptions, Transporter};
use shoal_types::NodeId;

use crate::common::{DEADLINE, ECHO, Event, HOLD, Node, answer, listener, options, pair, peer, until};
use crate::raw;

#[test]
fn a_closed_link_fails_its_calls_and_comes_back_by_itself() {
    let (one, two) = pair(|_| ());
    let call = one.call(2, HOLD, b"held");
    two.recorder.held(1);
    one.transport.close_peer(NodeId(2), "for the test");
    assert_eq!(answer(call), Err(CallError::LinkLost));
    one.recorder.expect(&[Event::Down(2, 200), Event::Up(2, 200)]);
    assert_eq!(answer(one.call(2, ECHO, b"again")).unwrap().payload, b"again");
    let cancelled = |event: &Event| *event == Event::Cancelled(b"held".to_vec());
    until("the held request is cancelled", || two.recorder.events_so_far().iter().any(cancelled));
    assert!(!one.recorder.events_so_far().iter().any(|event| matches!(event, Event::Dead(..))));
}

#[test]
fn a_process_that_is_gone_is_proven_dead_on_both_sides() {
    let (one, two) = pair(|options| (options.lanes, options.workers) = (2, 2));
    drop(two);
    one.recorder.expect(&[Event::Down(2, 200), Event::Dead(2, 200)]);
    let state = one.transport.peer_state(NodeId(2)).unwrap();
    assert!(state.is_dead && !state.is_up);

    let (one, two) = pair(|options| (options.lanes, options.workers) = (2, 2));
    drop(one);
    two.recorder.expect(&[Event::Down(1, 100), Event::Dead(1, 100)]);
}

#[test]
fn a_process_that_still_listens_is_not_dead() {
    let (first_listener, first) = listener();
    let (still_listening, second) = listener();
    let one = Node::start(options(1, 100, vec![peer(2, &second, false)]), Some(first_listener));
    let two = Node::start(options(2, 200, vec![peer(1, &first, true)]), None);
    one.recorder.expect(&[Event::Up(2, 200)]);
    drop(two);
    one.recorder.expect(&[Event::Down(2, 200)]);
    // Several probes have come: the first at once.
    for _ in 0..4 {
        still_listening.accept().unwrap();
    }
    assert_eq!(one.recorder.events_so_far(), []);
    drop(still_listening);
    one.recorder.expect(&[Event::Dead(2, 200)]);
}

/// Passes bytes on, both ways, between whoever connects and `to`. Dropped, it refuses connections and closes what it has, as a
/// firewall does that rejects and resets, while both ends live on.
struct Middlebox {
    address: String,
    is_cut: Arc<AtomicBool>,
    accepting: Option<std::thread::JoinHandle<()>>,
}

impl Middlebox {
    fn between(listener: TcpListener, to: &str) -> Middlebox {
        let address = listener.local_addr().unwrap().to_string();
        let (is_cut, to) = (Arc::new(AtomicBool::new(false)), to.to_string());
        let stops = Arc::clone(&is_cut);
        let accepting = std::thread::spawn(move || {
            let mut sockets = Vec::new();
            for socket in listener.incoming() {
                if stops.load(Ordering::Relaxed) {
                    break;
                }
                let (from, to) = (socket.unwrap(), TcpStream::connect(&to).unwrap());
                for (mut one, mut other) in [(&from, &to), (&to, &from)]
                    .map(|(one, other)| (one.try_clone().unwrap(), other.try_clone().unwrap()))
                {
                    std::thread::spawn(move || std::io::copy(&mut one, &mut other));
                }
                sockets.extend([from, to]);
            }
            drop(listener);
            for socket in sockets {
                let _ = socket.shutdown(Shutdown::Both);
            }
        });
        Middlebox { address, is_cut, accepting: Some(accepting) }
    }
}

impl Drop for Middlebox {
    fn drop(&mut self) {
        self.is_cut.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(&self.address);
        self.accepting.take().unwrap().join().unwrap();
    }
}

/// Refused connections were taken for proof of death whatever lay between: behind a rule that rejects, a leader that served
/// from its lease was replaced at once, and two served.
#[test]
fn a_refusal_that_a_process_on_the_way_may_have_made_is_no_proof_of_death() {
    let ((first_listener, first), (middle, _)) = (listener(), listener());
    let one = Node::start(options(1, 100, vec![]), Some(first_listener));
    let middlebox = Middlebox::between(middle, &first);
    let address = middlebox.address.clone();
    let options = TransportOptions {
        transporter: Transporter::SharedMemory,
        ..options(2, 200, vec![peer(1, &address, true)])
    };
    let two = Node::start(options, None);
    two.recorder.expect(&[Event::Up(1, 100)]);
    one.recorder.expect(&[Event::Up(2, 200)]);
    drop(middlebox);
    two.recorder.expect(&[Event::Down(1, 100)]);
    assert_eq!(two.transport.peer_state(NodeId(1)).unwrap().links_lost, 1);
    // Many attempts are refused before one comes through again.
    let refused = Instant::now();
    until("attempts were refused", || refused.elapsed() > Duration::from_millis(200));
    let _middlebox = Middlebox::between(TcpListener::bind(&address).unwrap(), &first);
    two.recorder.expect(&[Event::Up(1, 100)]);
    assert_eq!(answer(two.call(1, ECHO, b"alive")).unwrap().payload, b"alive");
}

#[test]
fn a_link_of_a_dead_process_that_comes_late_does_not_bring_it_back() {
    let ((first_listener, first), (second_listener, second)) = (listener(), listener());
    let options = TransportOptions {
        // Where this is configured, addresses of this host are believed when they refuse.
        transporter: Transporter::Tcp,
        ..options(1, 100, vec![peer(2, &second, false)])
    };
    let one = Node::start(options, Some(first_listener));
    let link = raw::slow_peer(&first);
    one.recorder.expect(&[Event::Up(2, 1)]);
    let mut late = TcpStream::connect(&first).unwrap();
    raw::greet(&mut late, &raw::second_node());
    drop(second_listener);
    drop(link);
    one.recorder.expect(&[Event::Down(2, 1), Event::Dead(2, 1)]);
    raw::ready(&mut late);
    late.set_read_timeout(Some(DEADLINE)).unwrap();
    assert!(!matches!(late.read(&mut [0]), Ok(1..)), "the link is up");
    // One that answers now was not dead after all.
    let _alive = raw::slow_peer(&first);
    one.recorder.expect(&[Event::Up(2, 1)]);
}

#[test]
fn a_newer_incarnation_proves_that_the_older_one_is_gone() {
    let (first_listener, first) = listener();
    // Node 2 listens nowhere, so nothing else can prove it.
    let one = Node::start(options(1, 100, vec![]), Some(first_listener));
    let start = |incarnation| Node::start(options(2, incarnation, vec![peer(1, &first, true)]), None);
    let two = start(200);
    one.recorder.expect(&[Event::Up(2, 200)]);
    drop(two);
    one.recorder.expect(&[Event::Down(2, 200)]);
    let two = start(201);
    one.recorder.expect(&[Event::Dead(2, 200), Event::Up(2, 201)]);
    drop(two);
    // A clock that was set back: let in, but no proof.
    let _two = start(150);
    one.recorder.expect(&[Event::Down(2, 201), Event::Up(2, 150)]);
}

/// Frames that had been read were handled after the link was closed, when the peer's next process could already be up.
#[test]
fn frames_that_lie_in_a_closed_link_are_not_handled() {
    let (socket, address) = listener();
    let one = Node::start(options(1, 100, vec![]), Some(socket));
    let mut peer = raw::slow_peer(&address);
    one.recorder.expect(&[Event::Up(2, 1)]);
    let gate = one.recorder.message_gate.lock().unwrap();
    peer.write_all(&[raw::frame(0, b"first"), raw::frame(0, b"second"), raw::frame(0, b"third")].concat())
        .unwrap();
    until("the first is being handled", || one.recorder.message_count() == 1);
    one.transport.close_peer(NodeId(2), "for the test");
    drop(gate);
    one.recorder.expect(&[Event::Down(2, 1)]);
    assert_eq!(one.recorder.messages(1), [b"first"]);
}

#[test]
fn the_next_process_of_a_peer_is_up_when_nothing_of_the_last_one_is_being_handled() {
    let (socket, address) = listener();
    let one = Node::start(TransportOptions { workers: 2, ..options(1, 100, vec![]) }, Some(socket));
    let mut old = TcpStream::connect(&address).unwrap();
    raw::greet(&mut old, &Hello { lane: 1, lanes: 2, ..raw::second_node() });
    raw::ready(&mut old);
    one.recorder.expect(&[Event::Up(2, 1)]);
    let gate = one.recorder.message_gate.lock().unwrap();
    old.write_all(&raw::frame(0, b"old")).unwrap();
    until("the old frame is being handled", || one.recorder.message_count() == 1);
    let came = Instant::now();
    let greeting = std::thread::spawn(move || {
        let mut new = TcpStream::connect(&address).unwrap();
        raw::greet(&mut new, &Hello { incarnation: 2, lanes: 2, ..raw::second_node() });
        raw::ready(&mut new);
        new
    });
    // Longer than the old process is given to answer.
    until("the new process has knocked", || came.elapsed() > Duration::from_millis(600));
    assert_eq!(one.recorder.events_so_far(), []);
    drop(gate);
    one.recorder.expect(&[Event::Down(2, 1), Event::Dead(2, 1), Event::Up(2, 2)]);
    drop(greeting.join().unwrap());
}

#[test]
fn a_second_live_process_with_the_same_node_id_is_refused() {
    let (first_listener, first) = listener();
    let one = Node::start(options(1, 100, vec![]), Some(first_listener));
    let two = Node::start(options(2, 200, vec![peer(1, &first, true)]), None);
    one.recorder.expect(&[Event::Up(2, 200)]);
    let twin = Node::start(options(2, 300, vec![peer(1, &first, true)]), None);
    for (node, of) in [(&one, 2), (&twin, 1)] {
        let Event::Refused(peer, reason) = node.recorder.next() else { panic!() };
        assert_eq!(peer, of);
        assert!(reason.contains("node id 2 is in use by another process that is alive"), "{reason}");
        assert!(reason.contains("--node-id"), "{reason}");
    }
    assert_eq!(answer(two.call(1, ECHO, b"unharmed")).unwrap().payload, b"unharmed");
    // The place is free when the first one is gone.
    drop(two);
    one.recorder.expect(&[Event::Down(2, 200), Event::Dead(2, 200), Event::Up(2, 300)]);
}

#[test]
fn a_hello_takes_the_place_of_a_process_that_does_not_answer() {
    let (first_listener, first) = listener();
    let one = Node::start(options(1, 100, vec![]), Some(first_listener));
    let two = Node::start(options(2, 200, vec![peer(1, &first, true)]), None);
    one.recorder.expect(&[Event::Up(2, 200)]);
    // The worker of node 2 is stuck, as a stopped process is.
    let (release, released) = mpsc::channel::<()>();
    two.on_worker(0, move || {
        let _ = released.recv();
    });
    let _next = Node::start(options(2, 300, vec![peer(1, &first, true)]), None);
    one.recorder.expect(&[Event::Down(2, 200), Event::Dead(2, 200), Event::Up(2, 300)]);
    drop(release);
}

#[test]
fn a_refusal_is_reported_on_both_sides_once_whichever_side_refuses() {
    let (first_listener, first) = listener();
    let one = Node::start(options(1, 100, vec![]), Some(first_listener));
    one.recorder.refuse_with("cluster `a` meets cluster `b`; correct the configuration of node 2");
    let two = Node::start(options(2, 200, vec![peer(1, &first, true)]), None);
    let reason = "cluster `a` meets cluster `b`; correct the configuration of node 2".to_string();
    two.recorder.expect(&[Event::Refused(1, reason.clone())]);
    one.recorder.expect(&[Event::Refused(2, reason.clone())]);
    one.recorder.checked(3);
    assert_eq!((one.recorder.events_so_far(), two.recorder.events_so_far()), (vec![], vec![]), "told once");
    assert_eq!(two.transport.peer_state(NodeId(1)).unwrap().last_trouble, Some(reason));
    drop(two);

    // The side that dials refuses.
    let (first_listener, first) = listener();
    let two = Node::start(options(2, 200, vec![peer(1, &first, true)]), None);
    two.recorder.refuse_with("node 1 is too old; upgrade it");
    let one = Node::start(options(1, 100, vec![]), Some(first_listener));
    two.recorder.expect(&[Event::Refused(1, "node 1 is too old; upgrade it".into())]);
    one.recorder.expect(&[Event::Refused(2, "node 1 is too old; upgrade it".into())]);
}

#[test]
fn a_wrong_node_at_an_address_is_told_to_the_operator() {
    let (first_listener, first) = listener();
    let _one = Node::start(options(1, 100, vec![]), Some(first_listener));
    let two = Node::start(options(2, 200, vec![peer(3, &first, true)]), None);
    let Event::Refused(3, reason) = two.recorder.next() else { panic!() };
    assert!(reason.contains("node 1 answers at the address of node 3"), "{reason}");
    let same = Node::start(options(1, 200, vec![peer(3, &first, true)]), None);
    let Event::Refused(3, reason) = same.recorder.next() else { panic!() };
    assert!(reason.contains("node id 1 is the id of the node at this address"), "{reason}");
}

#[test]
fn a_node_that_starts_late_is_found() {
    let (first_listener, first) = listener();
    drop(first_listener);
    let two = Node::start(options(2, 200, vec![peer(1, &first, true)]), None);
    assert!(!two.send(1, 0, b"nobody there"));
    let address: std::net::SocketAddr = first.parse().unwrap();
    let _one = Node::start(options(1, 100, vec![]), Some(std::net::TcpListener::bind(address).unwrap()));
    two.recorder.expect(&[Event::Up(1, 100)]);
}

fn fast_heartbeats(options: &mut TransportOptions) {
    options.heartbeat = Duration::from_millis(20);
    options.heartbeats_missed_max = 10;
}

#[test]
fn a_silent_link_is_closed_and_a_cut_wire_mended() {
    let (one, two) = pair(fast_heartbeats);
    let cut = Block { inbound: true, outbound: true };
    let call = one.call(2, HOLD, b"");
    two.recorder.held(1);
    one.transport.block(NodeId(2), cut);
    assert_eq!(answer(call), Err(CallError::LinkLost));
    // Both sides notice by silence alone, and silence proves nothing.
    one.recorder.expect(&[Event::Down(2, 200)]);
    let trouble = one.transport.peer_state(NodeId(2)).unwrap().last_trouble.unwrap();
    assert!(trouble.contains("nothing came for"), "{trouble}");
    let down = |event: &Event| *event == Event::Down(1, 100);
    until("node 2 notices", || two.recorder.events_so_far().iter().any(down));
    let trouble = two.transport.peer_state(NodeId(1)).unwrap().last_trouble.unwrap();
    assert!(trouble.contains("nothing came for"), "{trouble}");
    one.transport.block(NodeId(2), Block::default());
    one.recorder.expect(&[Event::Up(2, 200)]);
    assert_eq!(answer(one.call(2, ECHO, b"mended")).unwrap().payload, b"mended");
    assert!(!two.recorder.events_so_far().iter().any(|event| matches!(event, Event::Dead(..))));
}

#[test]
fn what_a_short_cut_held_up_arrives_in_order() {
    let (one, two) = pair(|options| options.heartbeat = Duration::from_secs(60));
    one.transport.block(NodeId(2), Block { inbound: false, outbound: true });
    for number in 0..100_u8 {
        assert!(one.send(2, 0, &[number]));
    }
    // The other direction works.
    assert!(two.send(1, 0, b"against the cut"));
    assert_eq!(one.recorder.messages(1), [b"against the cut"]);
    assert_eq!(two.recorder.message_count(), 0);
    one.transport.block(NodeId(2), Block::default());
    assert_eq!(two.recorder.messages(100), (0..100_u8).map(|number| vec![number]).collect::<Vec<_>>());

    two.transport.block(NodeId(1), Block { inbound: true, outbound: false });
    assert!(one.send(2, 0, b"waits"));
    assert!(two.send(1, 0, b"leaves"));
    assert_eq!(one.recorder.messages(1), [b"leaves"]);
    assert_eq!(two.recorder.message_count(), 0);
    two.transport.block(NodeId(1), Block::default());
    assert_eq!(two.recorder.messages(1), [b"waits"]);
}

#[test]
fn a_link_that_only_receives_is_not_taken_for_silent() {
    let (one, two) = pair(fast_heartbeats);
    let before = two.transport.peer_state(NodeId(1)).unwrap();
    until("many heartbeats passed", || {
        one.send(2, 0, b"x");
        two.recorder.message_count() > 100 && before.since.elapsed() > Duration::from_millis(500)
    });
    assert_eq!(one.recorder.events_so_far(), []);
    assert_eq!(two.recorder.events_so_far(), []);
}

#[test]
fn a_handler_may_take_locks_that_a_sender_holds() {
    // A sender that finds the link broken under a lock must not run the handler, which wants the same lock.
    let (socket, address) = listener();
    let one = Node::start(options(1, 100, vec![]), Some(socket));
    let peer = raw::slow_peer(&address);
    one.recorder.expect(&[Event::Up(2, 1)]);
    // Only the sender can find it broken: the worker is busy.
    let (release, released) = mpsc::channel::<()>();
    one.on_worker(0, move || {
        let _ = released.recv();
    });
    drop(peer);
    let (sender, receiver) = mpsc::channel();
    let (transport, recorder) = (Arc::clone(&one.transport), Arc::clone(&one.recorder));
    std::thread::spawn(move || {
        let _gate = recorder.gate.lock().unwrap();
        while transport.send(NodeId(2), 0, 0, |buffer| buffer.resize(buffer.len() + 1000, 0)) {}
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(DEADLINE).unwrap();
    drop(release);
    one.recorder.expect(&[Event::Down(2, 1)]);
    let trouble = one.transport.peer_state(NodeId(2)).unwrap().last_trouble.unwrap();
    assert!(trouble.contains("cannot be written to"), "{trouble}");
}

#[test]
fn a_stopped_transport_closes_links_and_listener_and_dials_no_more() {
    let (one, two) = pair(|_| ());
    let (socket, address) = listener();
    let three = Node::start(options(3, 300, vec![]), Some(socket));
    let transport = Arc::clone(&one.transport);
    one.on_worker(0, move || {
        assert!(transport.send(NodeId(2), 0, 0, |buffer| buffer.extend_from_slice(b"last words")));
        transport.stop();
    });
    assert_eq!(two.recorder.messages(1), [b"last words"]);
    two.recorder.expect(&[Event::Down(1, 100), Event::Dead(1, 100)]);
    three.transport.stop();
    let is_refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
    until("nobody listens", || TcpStream::connect(&address).is_err_and(is_refused));
}
