//! What is no node: damaged frames, strangers, clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use shoal_transport::{CLIENT, CallError, Client, ClientError, Hello, TransportOptions};
use shoal_types::NodeId;

use crate::common::{DEADLINE, ECHO, Event, HOLD, Node, REFUSE, listener, options, until};
use crate::raw;

#[test]
fn damaged_frames_end_the_link_with_a_reason_and_the_node_goes_on() {
    let (socket, address) = listener();
    let node = TransportOptions { cut_off_pause: Duration::ZERO, ..options(1, 100, vec![]) };
    let node = Node::start(node, Some(socket));
    let mut damaged = raw::frame(0, b"payload");
    *damaged.last_mut().unwrap() ^= 1;
    let mut too_long = raw::frame(0, b"");
    too_long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let unknown_class = raw::frame(77, b"");
    let impossible_call = raw::frame(1, b"");
    let second_hello = raw::frame(7, b"");
    for (bytes, reason) in [
        (damaged, "damaged on the way"),
        (too_long, "claims 4294967295 bytes"),
        (unknown_class, "unknown class 77"),
        (impossible_call, "impossible id"),
        (second_hello, "second handshake"),
    ] {
        let mut peer = raw::slow_peer(&address);
        node.recorder.expect(&[Event::Up(2, 1)]);
        peer.write_all(&raw::frame(0, b"good")).unwrap();
        assert_eq!(node.recorder.messages(1), [b"good"]);
        peer.write_all(&bytes).unwrap();
        let Event::CutOff(2, why) = node.recorder.next() else { panic!("not cut off") };
        assert!(why.contains(reason), "{why}");
        node.recorder.expect(&[Event::Down(2, 1)]);
        let trouble = node.transport.peer_state(NodeId(2)).unwrap().last_trouble.unwrap();
        assert!(trouble.contains(reason), "{trouble}");
    }
}

#[test]
fn strangers_are_turned_away_without_harm() {
    let (socket, address) = listener();
    let node = Node::start(options(1, 100, vec![]), Some(socket));
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 100], &raw::frame(0, b"no hello"), &raw::frame(7, b"???")] {
        let mut stranger = TcpStream::connect(&address).unwrap();
        stranger.set_read_timeout(Some(DEADLINE)).unwrap();
        stranger.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // A reset is as good as an end.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer[8] == 9, "{answer:?}");
    }
    assert_eq!(node.recorder.events_so_far(), []);
    let me = Hello { node: CLIENT, ..Hello::default() };
    assert!(Client::connect(&address, &me, DEADLINE).is_ok());
}

#[test]
fn clients_call_over_connections_of_their_own() {
    let (socket, address) = listener();
    let node = Node::start(options(1, 100, vec![]), Some(socket));
    let me = Hello { node: CLIENT, ..Hello::default() };
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(&address, &me, DEADLINE).unwrap()).collect();
    for round in 0..10_u8 {
        for (number, client) in clients.iter_mut().enumerate() {
            let payload = [round, number as u8];
            assert_eq!(client.call(ECHO, &payload, DEADLINE).unwrap().payload, payload);
        }
    }
    assert_eq!((clients[0].node().node, clients[0].node().incarnation), (NodeId(1), 100));
    let error = clients[0].call(REFUSE, b"", DEADLINE).unwrap_err();
    assert!(
        matches!(&error, ClientError::Call(CallError::Unanswered(reason)) if reason == "not today"),
        "{error}"
    );
    let error = clients[1].call(HOLD, b"", Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    // A client that goes away cancels what it waited for.
    clients.clear();
    until("the handler hears of it", || !node.recorder.events_so_far().is_empty());
    let cancelled = |event: &Event| *event == Event::Cancelled(vec![]);
    until("the request is cancelled", || node.recorder.events_so_far().iter().any(cancelled));

    node.recorder.refuse_with("clients of another version are not let in; upgrade");
    let error = Client::connect(&address, &me, DEADLINE).unwrap_err();
    assert!(matches!(&error, ClientError::Refused { reason, .. } if reason.contains("upgrade")), "{error}");
}
