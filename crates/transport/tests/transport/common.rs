//! Nodes for tests: transports in one process, each with threads and runtimes of its own, and a handler that records.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shoal_tls::{Identity, NodeTls};
use shoal_transport::{
    Call, CallError, Handler, Hello, PeerAddress, Reply, Responder, Transport, TransportOptions, Transporter,
};
use shoal_types::NodeId;
use tempfile::TempDir;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, watch};

/// Longer than anything here takes on a loaded machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Requests by what the recorder does with them.
pub const ECHO: u8 = 1;
/// Kept until it is cancelled.
pub const HOLD: u8 = 2;
pub const DROP: u8 = 3;
/// Answered with as many bytes as the payload (a u32) says.
pub const BYTES: u8 = 4;
pub const REFUSE: u8 = 5;
/// Recorded as a message, and echoed.
pub const COUNT: u8 = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Up(u32, u64),
    Down(u32, u64),
    Dead(u32, u64),
    Refused(u32, String),
    CutOff(u32, String),
    Untrusted(Option<Identity>, String),
    KeptAway(u32, String),
    Cancelled(Vec<u8>),
}

#[derive(Default)]
struct Recorded {
    events: VecDeque<Event>,
    messages: Vec<Vec<u8>>,
    held: usize,
    refusal: Option<String>,
    checks: usize,
}

#[derive(Default)]
pub struct Recorder {
    /// Taken by `on_down`.
    pub gate: Mutex<()>,
    /// Taken by `on_message`, after it has recorded.
    pub message_gate: Mutex<()>,
    /// What the node's frames say, and the newest that has come.
    pub clock: AtomicU64,
    pub seen_clock: AtomicU64,
    recorded: Mutex<Recorded>,
    changed: Condvar,
}

impl Recorder {
    fn record(&self, change: impl FnOnce(&mut Recorded)) {
        change(&mut self.recorded.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait<T>(&self, what: &str, mut look: impl FnMut(&mut Recorded) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        let mut recorded = self.recorded.lock().unwrap();
        loop {
            if let Some(found) = look(&mut recorded) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}; events: {:?}", recorded.events);
            recorded = self.changed.wait_timeout(recorded, left).unwrap().0;
        }
    }

    /// The next event.
    pub fn next(&self) -> Event {
        self.wait("an event", |recorded| recorded.events.pop_front())
    }

    pub fn expect(&self, events: &[Event]) {
        for event in events {
            assert_eq!(self.next(), *event);
        }
    }

    pub fn events_so_far(&self) -> Vec<Event> {
        self.recorded.lock().unwrap().events.iter().cloned().collect()
    }

    /// Waits for `count` messages and takes them.
    pub fn messages(&self, count: usize) -> Vec<Vec<u8>> {
        self.wait("messages", |recorded| {
            (recorded.messages.len() >= count).then(|| std::mem::take(&mut recorded.messages))
        })
    }

    pub fn message_count(&self) -> usize {
        self.recorded.lock().unwrap().messages.len()
    }

    /// Waits until `count` HOLD requests have come.
    pub fn held(&self, count: usize) {
        self.wait("held requests", |recorded| (recorded.held >= count).then_some(()));
    }

    /// Waits until that many more hellos have been judged.
    pub fn checked(&self, more: usize) {
        let goal = self.recorded.lock().unwrap().checks + more;
        self.wait("hellos", |recorded| (recorded.checks >= goal).then_some(()));
    }

    pub fn refuse_with(&self, reason: &str) {
        self.record(|recorded| recorded.refusal = Some(reason.to_string()));
    }
}

/// The handler of a test node.
struct Recording(Arc<Recorder>);

impl Handler for Recording {
    fn check(&self, _theirs: &Hello) -> Result<(), String> {
        self.0.record(|recorded| recorded.checks += 1);
        self.0.recorded.lock().unwrap().refusal.clone().map_or(Ok(()), Err)
    }

    fn clock(&self) -> u64 {
        self.0.clock.load(Ordering::Relaxed)
    }

    fn observe_clock(&self, clock: u64) -> Result<(), String> {
        self.0.seen_clock.fetch_max(clock, Ordering::Relaxed);
        Ok(())
    }

    fn on_message(&self, _from: NodeId, _kind: u8, payload: &[u8]) {
        self.0.record(|recorded| recorded.messages.push(payload.to_vec()));
        let _gate = self.0.message_gate.lock().unwrap();
    }

    fn on_request(&self, _from: NodeId, kind: u8, payload: &[u8], mut responder: Responder) {
        match kind {
            ECHO => {
                responder.reply(kind, |buffer| buffer.extend_from_slice(payload));
            }
            COUNT => {
                self.0.record(|recorded| recorded.messages.push(payload.to_vec()));
                responder.reply(kind, |buffer| buffer.extend_from_slice(payload));
            }
            HOLD => {
                self.0.record(|recorded| recorded.held += 1);
                let (recorder, payload) = (Arc::clone(&self.0), payload.to_vec());
                tokio::task::spawn_local(async move {
                    responder.cancelled().await;
                    assert!(responder.is_cancelled());
                    recorder.record(|recorded| recorded.events.push_back(Event::Cancelled(payload)));
                });
            }
            BYTES => {
                let count = u32::from_le_bytes(payload.try_into().unwrap()) as usize;
                responder.reply(kind, |buffer| buffer.resize(buffer.len() + count, 7));
            }
            REFUSE => responder.refuse("not today"),
            _ => drop(responder),
        }
    }

    fn on_up(&self, peer: NodeId, hello: &Hello) {
        assert_eq!(hello.node, peer);
        self.0.record(|recorded| recorded.events.push_back(Event::Up(peer.0, hello.incarnation)));
    }

    fn on_down(&self, peer: NodeId, incarnation: u64) {
        let _gate = self.0.gate.lock().unwrap();
        self.0.record(|recorded| recorded.events.push_back(Event::Down(peer.0, incarnation)));
    }

    fn on_dead(&self, peer: NodeId, incarnation: u64) {
        self.0.record(|recorded| recorded.events.push_back(Event::Dead(peer.0, incarnation)));
    }

    fn on_refused(&self, peer: NodeId, reason: &str) {
        self.0.record(|recorded| recorded.events.push_back(Event::Refused(peer.0, reason.to_string())));
    }

    fn on_kept_away(&self, peer: NodeId, reason: &str) {
        self.0.record(|recorded| recorded.events.push_back(Event::KeptAway(peer.0, reason.to_string())));
    }

    fn on_untrusted(&self, claimed: Option<Identity>, reason: &str) {
        self.0.record(|recorded| recorded.events.push_back(Event::Untrusted(claimed, reason.to_string())));
    }

    fn on_cut_off(&self, peer: NodeId, reason: &str, _pause: Duration) {
        self.0.record(|recorded| recorded.events.push_back(Event::CutOff(peer.0, reason.to_string())));
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A running node. Dropped, it goes like a process: no goodbye but closed sockets.
pub struct Node {
    pub transport: Arc<Transport>,
    pub recorder: Arc<Recorder>,
    jobs: Vec<mpsc::UnboundedSender<Job>>,
    stopping: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

pub fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

pub fn peer(node: u32, address: &str, dial: bool) -> PeerAddress {
    PeerAddress { node: NodeId(node), address: Some(address.to_string()), dial, requires_tls: false }
}

pub fn options(node: u32, incarnation: u64, peers: Vec<PeerAddress>) -> TransportOptions {
    let me = Hello { cluster: "test".into(), node: NodeId(node), incarnation, ..Hello::default() };
    let tls = is_encrypted().then(|| Authority::shared().tls(node));
    TransportOptions { me, peers, transporter: transporter(), tls, ..TransportOptions::default() }
}

/// Certificates of a cluster.
pub struct Authority {
    directory: TempDir,
    authority: shoal_tls::Authority,
}

impl Authority {
    pub fn new() -> Authority {
        let directory = tempfile::tempdir().unwrap();
        let authority = shoal_tls::Authority::of_directory(directory.path(), "test").unwrap();
        Authority { directory, authority }
    }

    /// Of the nodes of this process.
    pub fn shared() -> &'static Authority {
        static SHARED: OnceLock<Authority> = OnceLock::new();
        SHARED.get_or_init(Authority::new)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A new certificate, which is valid for so long.
    pub fn issue(&self, me: Identity, valid_for: Duration) -> Arc<NodeTls> {
        // Nodes of tests that run at the same time must not replace each other's.
        let own = self.path().join(format!("{me}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&own).unwrap();
        self.authority.issue(&own, me, valid_for).unwrap();
        Arc::new(NodeTls::open(&[own, self.path().to_owned()], me).unwrap().unwrap())
    }

    pub fn issue_into(&self, directory: &Path, me: Identity, valid_for: Duration) {
        self.authority.issue(directory, me, valid_for).unwrap();
    }

    pub fn tls(&self, node: u32) -> Arc<NodeTls> {
        self.issue(Identity::Node(node), Duration::from_secs(86_400))
    }
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Names the transporter of a test run; without it: shared memory.
pub const TRANSPORTER: &str = "SHOAL_TEST_TRANSPORTER";

pub fn transporter() -> Transporter {
    match std::env::var(TRANSPORTER).as_deref() {
        Ok("unix") => Transporter::Unix,
        Ok("tcp" | "tls") => Transporter::Tcp,
        _ => Transporter::SharedMemory,
    }
}

fn is_encrypted() -> bool {
    std::env::var(TRANSPORTER).is_ok_and(|transporter| transporter == "tls")
}

impl Node {
    pub fn start(options: TransportOptions, listener: Option<TcpListener>) -> Node {
        let recorder = Arc::new(Recorder::default());
        let workers = options.workers;
        let transport = Transport::new(options, Arc::new(Recording(Arc::clone(&recorder))));
        listener.into_iter().for_each(|listener| transport.listen(listener));
        let stopping = watch::Sender::new(false);
        let (mut jobs, mut threads) = (Vec::new(), Vec::new());
        for worker in 0..workers {
            let (sender, mut receiver) = mpsc::unbounded_channel::<Job>();
            jobs.push(sender);
            let (transport, mut stopping) = (Arc::clone(&transport), stopping.subscribe());
            threads.push(std::thread::spawn(move || {
                // With no hook that flushes: frames leave all the same.
                let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
                let runtime = runtime.unwrap();
                runtime.block_on(async {
                    transport.start_worker(worker);
                    loop {
                        tokio::select! {
                            Some(job) = receiver.recv() => job(),
                            _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
                        }
                    }
                });
            }));
        }
        Node { transport, recorder, jobs, stopping, threads }
    }

    /// Runs a job on a worker.
    pub fn on_worker(&self, worker: usize, job: impl FnOnce() + Send + 'static) {
        assert!(self.jobs[worker].send(Box::new(job)).is_ok());
    }

    /// A call from a thread that is no worker.
    pub fn call(&self, to: u32, kind: u8, payload: &[u8]) -> Call {
        self.transport.call(NodeId(to), kind, |buffer| buffer.extend_from_slice(payload))
    }

    pub fn send(&self, to: u32, lane: u16, payload: &[u8]) -> bool {
        self.transport.send(NodeId(to), lane, 0, |buffer| buffer.extend_from_slice(payload))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stopping.send_replace(true);
        for thread in self.threads.drain(..) {
            let result = thread.join();
            assert!(result.is_ok() || std::thread::panicking());
        }
    }
}

/// Waits for a future from outside the runtimes.
pub fn wait<F: Future>(future: F) -> F::Output {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(DEADLINE, future).await.expect("waited in vain") })
}

pub fn answer(call: Call) -> Result<Reply, CallError> {
    wait(call)
}

/// Waits until a condition holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

/// Nodes 1 and 2, connected; 2 dials.
pub fn pair(change: impl Fn(&mut TransportOptions)) -> (Node, Node) {
    let ((first_listener, first), (second_listener, second)) = (listener(), listener());
    let mut one = options(1, 100, vec![peer(2, &second, false)]);
    let mut two = options(2, 200, vec![peer(1, &first, true)]);
    change(&mut one);
    change(&mut two);
    let lanes = two.lanes;
    let one = Node::start(one, Some(first_listener));
    let two = Node::start(two, Some(second_listener));
    one.recorder.expect(&[Event::Up(2, 200)]);
    two.recorder.expect(&[Event::Up(1, 100)]);
    for (node, other) in [(&one, NodeId(2)), (&two, NodeId(1))] {
        until("all lanes are up", || node.transport.peer_state(other).unwrap().links == usize::from(lanes));
    }
    (one, two)
}
