//! Links that work: calls, messages, cancellation, back-pressure.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use shoal_transport::{CallError, HEADER_BYTES, PAYLOAD_BYTES_MAX, look_in_passing};
use shoal_types::NodeId;

use crate::common::{
    BYTES, DEADLINE, DROP, ECHO, Event, HOLD, Node, REFUSE, answer, listener, options, pair, transporter, until,
};
use crate::raw;

#[test]
fn calls_are_answered_in_both_directions() {
    let (one, two) = pair(|_| ());
    for (node, other) in [(&one, NodeId(2)), (&two, NodeId(1))] {
        assert_eq!(node.transport.peer_state(other).unwrap().transporter, Some(transporter()));
    }
    for (node, other) in [(&one, 2), (&two, 1)] {
        let reply = answer(node.call(other, ECHO, b"hello")).unwrap();
        assert_eq!((reply.kind, &reply.payload[..]), (ECHO, &b"hello"[..]));
    }
    let state = one.transport.peer_state(NodeId(2)).unwrap();
    assert!(state.is_up && state.bytes_received > 0 && state.bytes_sent > 0);
    assert_eq!((state.incarnation, state.links, state.last_trouble), (200, 1, None));
}

#[test]
fn a_call_goes_over_the_lane_of_its_worker() {
    let (one, two) = pair(|options| (options.lanes, options.workers) = (2, 2));
    for worker in 0..2 {
        let (sender, receiver) = mpsc::channel();
        let transport = Arc::clone(&one.transport);
        one.on_worker(worker, move || {
            let lane = transport.own_lane();
            tokio::task::spawn_local(async move {
                let reply = transport.call(NodeId(2), ECHO, |buffer| buffer.push(9)).await;
                sender.send((lane, reply.unwrap().payload)).unwrap();
            });
        });
        assert_eq!(receiver.recv_timeout(DEADLINE).unwrap(), (Some(worker as u16), vec![9]));
    }
    assert_eq!(two.transport.own_lane(), None);
}

#[test]
fn many_calls_in_flight_get_their_own_answers() {
    let (one, _two) = pair(|options| (options.lanes, options.workers) = (2, 2));
    let (sender, receiver) = mpsc::channel();
    for worker in 0..2 {
        let transport = Arc::clone(&one.transport);
        let sender = sender.clone();
        one.on_worker(worker, move || {
            for number in 0..2000_u32 {
                let call =
                    transport.call(NodeId(2), ECHO, |buffer| buffer.extend_from_slice(&number.to_le_bytes()));
                let sender = sender.clone();
                tokio::task::spawn_local(async move {
                    sender.send((number, call.await.unwrap().payload)).unwrap();
                });
            }
        });
    }
    for _ in 0..4000 {
        let (number, payload) = receiver.recv_timeout(DEADLINE).unwrap();
        assert_eq!(payload, number.to_le_bytes());
    }
}

#[test]
fn a_hundred_thousand_messages_arrive_in_the_order_of_their_lane() {
    const COUNT: u32 = 100_000;
    let (one, two) = pair(|options| options.lanes = 2);
    for number in 0..COUNT {
        let lane = (number % 2) as u16;
        assert!(one.send(2, lane, &[lane.to_le_bytes().to_vec(), number.to_le_bytes().to_vec()].concat()));
    }
    let messages = two.recorder.messages(COUNT as usize);
    for lane in 0..2_u16 {
        let of_lane = messages.iter().filter(|message| message[..2] == lane.to_le_bytes());
        let numbers: Vec<u32> =
            of_lane.map(|message| u32::from_le_bytes(message[2..].try_into().unwrap())).collect();
        let expected: Vec<u32> = (0..COUNT).filter(|number| number % 2 == u32::from(lane)).collect();
        assert!(numbers == expected, "lane {lane} lost, repeated or reordered messages");
    }
}

#[test]
fn messages_of_a_worker_leave_together_before_it_sleeps() {
    let (one, two) = pair(|options| options.heartbeat = Duration::from_secs(60));
    let before = two.transport.peer_state(NodeId(1)).unwrap().bytes_received;
    let transport = Arc::clone(&one.transport);
    let (sender, receiver) = mpsc::channel();
    one.on_worker(0, move || {
        for number in 0..100_u8 {
            assert!(transport.send(NodeId(2), 0, 0, |buffer| buffer.push(number)));
        }
        sender.send(transport.peer_state(NodeId(2)).unwrap().bytes_sent).unwrap();
        drop(transport);
    });
    let sent_before_the_worker_slept = receiver.recv_timeout(DEADLINE).unwrap();
    let messages = two.recorder.messages(100);
    assert_eq!(messages, (0..100_u8).map(|number| vec![number]).collect::<Vec<_>>());
    let expected = 100 * (HEADER_BYTES as u64 + 1);
    until("the sender has counted", || {
        one.transport.peer_state(NodeId(2)).unwrap().bytes_sent == sent_before_the_worker_slept + expected
    });
    assert_eq!(two.transport.peer_state(NodeId(1)).unwrap().bytes_received - before, expected);
}

#[test]
fn a_thread_that_is_no_worker_writes_at_once_unless_it_gathers() {
    let (one, two) = pair(|options| options.heartbeat = Duration::from_secs(60));
    let sent = || one.transport.peer_state(NodeId(2)).unwrap().bytes_sent;
    let before = sent();
    assert!(one.send(2, 0, b"a"));
    assert_eq!(sent() - before, HEADER_BYTES as u64 + 1);
    one.transport.gather(|| {
        assert!(one.send(2, 0, b"b"));
        one.transport.gather(|| assert!(one.send(2, 0, b"c")));
        assert_eq!(sent() - before, HEADER_BYTES as u64 + 1);
    });
    assert_eq!(sent() - before, 3 * (HEADER_BYTES as u64 + 1));
    assert_eq!(two.recorder.messages(3), [b"a", b"b", b"c"]);
}

#[test]
fn a_dropped_call_is_cancelled_at_the_peer() {
    let (one, two) = pair(|_| ());
    for (node, other) in [(&one, NodeId(2)), (&two, NodeId(1))] {
        assert_eq!(node.transport.peer_state(other).unwrap().transporter, Some(transporter()));
    }
    let first = one.call(2, HOLD, b"first");
    let second = one.call(2, HOLD, b"second");
    two.recorder.held(2);
    drop(first);
    two.recorder.expect(&[Event::Cancelled(b"first".to_vec())]);
    assert_eq!(two.recorder.events_so_far(), []);
    drop(second);
    two.recorder.expect(&[Event::Cancelled(b"second".to_vec())]);
    assert_eq!(answer(one.call(2, ECHO, b"slots are free again")).unwrap().payload, b"slots are free again");
}

#[test]
fn every_frame_brings_its_senders_clock_before_it_is_handled() {
    let (one, two) = pair(|_| ());
    one.recorder.clock.store(70, Ordering::Relaxed);
    two.recorder.clock.store(90, Ordering::Relaxed);
    // A request and its reply.
    answer(one.call(2, ECHO, b"")).unwrap();
    assert_eq!(two.recorder.seen_clock.load(Ordering::Relaxed), 70);
    assert_eq!(one.recorder.seen_clock.load(Ordering::Relaxed), 90);
    one.recorder.clock.store(71, Ordering::Relaxed);
    assert!(one.send(2, 0, b"one-way"));
    two.recorder.messages(1);
    assert_eq!(two.recorder.seen_clock.load(Ordering::Relaxed), 71);
    // Heartbeats, when nobody has anything to say.
    two.recorder.clock.store(91, Ordering::Relaxed);
    until("a heartbeat has come", || one.recorder.seen_clock.load(Ordering::Relaxed) == 91);
}

#[test]
fn a_request_that_is_dropped_or_refused_is_answered_with_a_reason() {
    let (one, _two) = pair(|_| ());
    let CallError::Unanswered(reason) = answer(one.call(2, DROP, b"")).unwrap_err() else { panic!() };
    assert!(reason.contains("given up"), "{reason}");
    let error = answer(one.call(2, REFUSE, b"")).unwrap_err();
    assert_eq!(error, CallError::Unanswered("not today".to_string()));
    assert!(error.was_sent());
}

#[test]
fn payloads_up_to_the_bound_pass_and_larger_ones_are_refused() {
    // The workers are busy for longer than some heartbeats.
    let (one, _two) = pair(|options| options.heartbeat = Duration::from_secs(60));
    let size = 9 << 20;
    let reply = answer(one.call(2, ECHO, &vec![3; size])).unwrap();
    assert!(reply.payload == vec![3; size]);
    let too_large = PAYLOAD_BYTES_MAX + 1;
    let error = answer(one.call(2, ECHO, &vec![3; too_large])).unwrap_err();
    assert_eq!(error, CallError::TooLarge { bytes: too_large });
    assert!(!error.was_sent());
    let error = answer(one.call(2, BYTES, &(too_large as u32).to_le_bytes())).unwrap_err();
    assert!(
        matches!(&error, CallError::Unanswered(reason) if reason.contains("larger than the limit")),
        "{error}"
    );
    assert!(answer(one.call(2, ECHO, b"the link lives")).is_ok());
}

#[test]
fn a_node_without_a_link_is_told_apart_from_a_lost_call() {
    let (one, _two) = pair(|_| ());
    let error = answer(one.call(3, ECHO, b"")).unwrap_err();
    assert_eq!((error.was_sent(), error), (false, CallError::NoLink));
    assert!(!one.send(3, 0, b""));
    assert!(!one.send(999, 0, b""));
    assert_eq!(one.transport.peer_state(NodeId(3)), None);
}

#[test]
fn a_peer_that_does_not_read_stops_messages_and_makes_calls_wait_for_room() {
    let (socket, address) = listener();
    let mut limited = options(1, 100, vec![]);
    limited.unsent_bytes_max = 1 << 20;
    limited.heartbeat = Duration::from_secs(60);
    let node = Node::start(limited, Some(socket));
    let mut peer = raw::slow_peer(&address);
    node.recorder.expect(&[Event::Up(2, 1)]);
    let message = vec![1; 100_000];
    let mut sent = 0;
    while node.send(2, 0, &message) {
        sent += 1;
        assert!(sent < 10_000, "a gigabyte waits on a link whose limit is a megabyte");
    }
    let mut call = node.call(2, ECHO, b"late");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        std::future::poll_fn(|context| {
            assert!(Pin::new(&mut call).poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    });
    // Everything that was accepted arrives once the peer reads, and then the call.
    peer.set_read_timeout(Some(DEADLINE)).unwrap();
    let answering = std::thread::spawn(move || {
        for number in 0..sent {
            let (class, payload) = raw::read(&mut peer);
            assert_eq!((class, payload.len()), (0, 100_000), "message {number}");
        }
        let (class, payload) = raw::read(&mut peer);
        assert_eq!((class, &payload[..]), (1, &b"late"[..]));
        // Closing is the answer.
    });
    assert_eq!(answer(call), Err(CallError::LinkLost));
    answering.join().unwrap();
}

/// A worker whose hooks look into shared memory is kept from them by a task that is always ready, so that this does it.
#[test]
fn a_worker_that_never_sleeps_hears_its_peers_all_the_same() {
    let (one, two) = pair(|options| options.heartbeat = DEADLINE * 2);
    let (started, hears) = mpsc::channel();
    let transport = Arc::clone(&one.transport);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    one.on_worker(0, move || {
        transport.fall_asleep();
        transport.wake();
        started.send(()).unwrap();
        tokio::task::spawn_local(async move {
            while !over.load(Ordering::Relaxed) {
                look_in_passing();
                tokio::task::yield_now().await;
            }
        });
    });
    hears.recv().unwrap();
    for number in 0..20_u8 {
        assert_eq!(answer(two.call(1, ECHO, &[number])).unwrap().payload, [number]);
    }
    is_over.store(true, Ordering::Relaxed);
}
