//! The transport between processes: what a kill and a stop look like from another one. Each check starts this program
//! again as node 2, which dials node 1 and listens.

#[path = "transport/common.rs"]
#[allow(dead_code)]
mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{ECHO, Event, HOLD, Node, answer, listener, options, peer, until};
use shoal_transport::{CallError, TransportOptions};
use shoal_types::NodeId;

const CHILD: &str = "--child";

fn fast_heartbeats(options: &mut TransportOptions) {
    options.heartbeat = Duration::from_millis(50);
}

/// Node 2, until it is killed: `--child LISTENER'S-PEER`.
fn run_child(first: &str) {
    let (socket, address) = listener();
    let mut options = options(2, 200, vec![peer(1, first, true)]);
    (options.lanes, options.workers) = (2, 2);
    fast_heartbeats(&mut options);
    println!("{address}");
    let _node = Node::start(options, Some(socket));
    // Until it is killed; the end of its standard input means that the check is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

struct Process(Child);

impl Process {
    fn signal(&self, signal: i32) {
        // SAFETY: kill takes no pointers; the child is not reaped before `drop`, so the id is its own.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, signal) }, 0);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Node 1 here, node 2 in a process of its own.
fn start() -> (Node, Process) {
    let (socket, first) = listener();
    let mut child = Command::new(std::env::current_exe().unwrap());
    let mut child = child.args([CHILD, &first]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut second = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut second).unwrap();
    let mut options = options(1, 100, vec![peer(2, second.trim(), false)]);
    options.workers = 2;
    fast_heartbeats(&mut options);
    let node = Node::start(options, Some(socket));
    node.recorder.expect(&[Event::Up(2, 200)]);
    until("both lanes are up", || node.transport.peer_state(NodeId(2)).unwrap().links == 2);
    assert_eq!(answer(node.call(2, ECHO, b"hello")).unwrap().payload, b"hello");
    (node, Process(child))
}

fn a_killed_process_is_proven_dead() {
    let mut times: Vec<Duration> = (0..10)
        .map(|_| {
            let (node, process) = start();
            let call = node.call(2, HOLD, b"");
            let killed = Instant::now();
            process.signal(libc::SIGKILL);
            assert_eq!(answer(call), Err(CallError::LinkLost));
            node.recorder.expect(&[Event::Down(2, 200), Event::Dead(2, 200)]);
            killed.elapsed()
        })
        .collect();
    times.sort();
    println!("    from the kill to its proof: {:?} in the middle, {:?} at worst", times[5], times[9]);
}

fn a_stopped_process_is_down_by_silence_and_comes_back_as_the_same() {
    let (node, process) = start();
    process.signal(libc::SIGSTOP);
    // Never answered: the process may still run for a moment.
    let call = node.call(2, HOLD, b"");
    assert_eq!(answer(call), Err(CallError::LinkLost));
    node.recorder.expect(&[Event::Down(2, 200)]);
    let trouble = node.transport.peer_state(NodeId(2)).unwrap().last_trouble.unwrap();
    assert!(trouble.contains("nothing came for"), "{trouble}");
    process.signal(libc::SIGCONT);
    node.recorder.expect(&[Event::Up(2, 200)]);
    assert_eq!(answer(node.call(2, ECHO, b"again")).unwrap().payload, b"again");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, first] = &arguments[..]
        && child == CHILD
    {
        return run_child(first);
    }
    for (name, check) in [
        ("a_killed_process_is_proven_dead", a_killed_process_is_proven_dead as fn()),
        (
            "a_stopped_process_is_down_by_silence_and_comes_back_as_the_same",
            a_stopped_process_is_down_by_silence_and_comes_back_as_the_same,
        ),
    ] {
        println!("test {name} ...");
        check();
        println!("test {name} ... ok");
    }
}
