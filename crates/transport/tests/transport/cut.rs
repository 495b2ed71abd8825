//! A link that is cut at any byte: nothing is carried out twice, and only what may have been carried out is said to be lost.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use shoal_transport::{CallError, Transporter};

use crate::common::{COUNT, Event, Node, TRANSPORTER, answer, listener, options, peer, until};

/// Calls that are made one after the other.
const CALLS: u8 = 4;

/// Bytes that still pass in each direction before the wire is cut for once.
struct Wire {
    left: [AtomicI64; 2],
}

impl Wire {
    /// Takes connections and passes on what comes, to the node at `address`.
    fn lay(listener: TcpListener, address: String, wire: Arc<Wire>) {
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(&address)) else { return };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                for (direction, from, to) in [(0, &near, &far), (1, &far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let wire = Arc::clone(&wire);
                    std::thread::spawn(move || wire.pass_on(direction, from, to));
                }
            }
        });
    }

    fn pass_on(&self, direction: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let left = self.left[direction].fetch_sub(count as i64, Ordering::SeqCst);
            let is_cut = (0..count as i64).contains(&left);
            let passing = if is_cut { left as usize } else { count };
            if to.write_all(&buffer[..passing]).is_err() || is_cut {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// Calls over a wire that is cut once `bytes` have gone in `direction`. Returns how many came to nothing or an unknown end.
fn call_over_cut_wire(direction: usize, bytes: i64) -> usize {
    let (near_listener, near) = listener();
    let (far_listener, far) = listener();
    let wire = Arc::new(Wire { left: [AtomicI64::new(i64::MAX), AtomicI64::new(i64::MAX)] });
    wire.left[direction].store(bytes, Ordering::SeqCst);
    Wire::lay(near_listener, far, wire);
    let mut one = options(1, 100, vec![peer(2, "127.0.0.1:1", false)]);
    let mut two = options(2, 200, vec![peer(1, &near, true)]);
    for options in [&mut one, &mut two] {
        (options.lanes, options.workers, options.transporter) = (1, 1, Transporter::Tcp);
        options.redial_pause_max = Duration::from_millis(5);
    }
    let one = Node::start(one, Some(far_listener));
    let two = Node::start(two, None);
    two.recorder.expect(&[Event::Up(1, 100)]);
    let mut broken = 0;
    let (mut carried_out, mut unknown) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        match answer(two.call(1, COUNT, &[number])) {
            Ok(reply) => {
                assert_eq!(reply.payload, [number]);
                carried_out.push(number);
            }
            Err(CallError::LinkLost) => {
                unknown.push(number);
                broken += 1;
            }
            Err(CallError::NoLink) => broken += 1,
            Err(error) => panic!("cut after {bytes} bytes: {error}"),
        }
    }
    // The link comes back, and what comes over it then is behind everything that came before.
    let last = CALLS;
    until("a call is answered again", || answer(two.call(1, COUNT, &[last])).is_ok());
    let mut seen: Vec<u8> = one.recorder.messages(1).concat();
    seen.retain(|&number| number != last);
    let mut once = seen.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), seen.len(), "cut after {bytes} bytes: {seen:?} were carried out");
    assert!(carried_out.iter().all(|number| once.contains(number)), "{carried_out:?}, but {once:?}");
    let not_told = once.iter().find(|number| !carried_out.contains(number) && !unknown.contains(number));
    assert_eq!(not_told, None, "cut after {bytes} bytes: said not to have been sent");
    broken
}

/// Bytes of the handshake between two cuts.
const HANDSHAKE_STEP: i64 = 16;

#[test]
fn a_link_that_is_cut_at_any_byte_carries_nothing_out_twice_and_tells_what_is_unknown() {
    if std::env::var_os(TRANSPORTER).is_some() {
        return; // The wire carries TCP, whatever the others go over.
    }
    for direction in 0..2 {
        // A cut handshake harms no call; behind it comes what matters, byte by byte, until a cut comes too late.
        let mut bytes = 0;
        while call_over_cut_wire(direction, bytes) == 0 {
            bytes += HANDSHAKE_STEP;
        }
        bytes = (bytes - HANDSHAKE_STEP).max(0);
        let mut has_broken = false;
        loop {
            let broken = call_over_cut_wire(direction, bytes);
            if has_broken && broken == 0 {
                break;
            }
            has_broken |= broken > 0;
            bytes += 1;
        }
    }
}
