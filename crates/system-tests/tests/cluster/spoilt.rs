//! A node that sends what no node sends: valid frames, spoilt contents. It is cut off with the reason, nothing of it is
//! stored, and the others go on. The test itself is that node: it has the transport of a real one and an id of the configuration.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_transport::worker_loop::{Eagerness, WhenIdle, WorkerLoop, WorkerOptions};
use shoal_transport::{Client, Handler, Hello, PeerAddress, Responder, Transport, TransportOptions, Transporter};
use shoal_types::NodeId;
use tokio::sync::oneshot;

/// The frames' kinds.
const RAFT: u8 = 1;
const GOSSIP: u8 = 2;
const EVENTS: u8 = 3;
const OPERATION: u8 = 16;
const SERVICE: u8 = 17;
const ROUTED: u8 = 18;

/// Kinds of Raft's messages.
const APPEND: u8 = 3;
const APPEND_RESPONSE: u8 = 4;
const REQUEST_VOTE: u8 = 5;
const HEARTBEAT: u8 = 8;

const WITHIN: Duration = Duration::from_secs(60);

/// What the node has heard.
enum Heard {
    Up,
    Down,
    KeptAway(String),
    /// A heartbeat of this partition's leader in this term.
    Heartbeat {
        partition: u32,
        term: u64,
    },
}

struct Ears {
    sender: Mutex<Sender<Heard>>,
    clock: u64,
    /// What calls of operations are answered with: nothing if there is none.
    reply: Option<Vec<u8>>,
}

impl Ears {
    fn tell(&self, heard: Heard) {
        // The test may have heard enough.
        let _ = self.sender.lock().unwrap_or_else(PoisonError::into_inner).send(heard);
    }
}

impl Handler for Ears {
    fn check(&self, _: &Hello) -> Result<(), String> {
        Ok(())
    }

    fn clock(&self) -> u64 {
        self.clock
    }

    fn on_message(&self, _: NodeId, kind: u8, payload: &[u8]) {
        // Partition u32, kind, bits of the fields that follow, flags; from, to and term are the first of them.
        if kind == RAFT && payload.len() >= 32 && payload[4] == HEARTBEAT && payload[5] & 7 == 7 {
            let word = |at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
            let partition = u32::from_le_bytes(payload[..4].try_into().unwrap());
            self.tell(Heard::Heartbeat { partition, term: word(24) });
        }
    }

    fn on_request(&self, _: NodeId, kind: u8, _: &[u8], responder: Responder) {
        match (&self.reply, kind) {
            (Some(reply), OPERATION) => {
                responder.reply(0, |buffer| buffer.extend_from_slice(reply));
            }
            _ => responder.refuse("this node answers nothing"),
        }
    }

    fn on_up(&self, _: NodeId, _: &Hello) {
        self.tell(Heard::Up);
    }

    fn on_down(&self, _: NodeId, _: u64) {
        self.tell(Heard::Down);
    }

    fn on_dead(&self, _: NodeId, _: u64) {}

    fn on_refused(&self, _: NodeId, _: &str) {}

    fn on_kept_away(&self, _: NodeId, reason: &str) {
        self.tell(Heard::KeptAway(reason.to_owned()));
    }
}

struct Flushing(Arc<Transport>);

impl WhenIdle for Flushing {
    fn before_sleep(&self) {
        self.0.flush();
    }
    fn fall_asleep(&self) {}
    fn wake(&self) {}
}

/// A process of a node of the configuration, with a link to one node.
struct Fake {
    to: NodeId,
    transport: Arc<Transport>,
    heard: Receiver<Heard>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How a fake node differs from one that only listens.
#[derive(Clone, Default)]
struct Manner {
    clock: u64,
    reply: Option<Vec<u8>>,
}

impl Fake {
    fn start(cluster: &StartedCluster, id: u32, to: u32, manner: Manner) -> Fake {
        let address = address_of(cluster, to);
        let known =
            Client::connect(&address, &Hello { cluster: "reef".into(), ..Hello::default() }, WITHIN).unwrap();
        let theirs = known.node().clone();
        // Roles as the layout has them: data and sql, or sql alone.
        let roles = if id <= 3 { theirs.roles } else { hello_roles_of_sql_node() };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let me =
            Hello { node: NodeId(id), roles, incarnation: now.as_nanos() as u64, details: Vec::new(), ..theirs };
        let options = TransportOptions {
            me,
            peers: vec![PeerAddress { node: NodeId(to), address: Some(address), dial: true, requires_tls: false }],
            transporter: Transporter::Tcp,
            ..TransportOptions::default()
        };
        let (sender, heard) = channel();
        let ears = Ears { sender: Mutex::new(sender), clock: manner.clock, reply: manner.reply };
        let transport = Transport::new(options, Arc::new(ears));
        let working = Arc::clone(&transport);
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let options =
                WorkerOptions { spin: Duration::ZERO, eagerness: Eagerness::WhenBusy, blocking_threads: 1 };
            let worker = WorkerLoop::new(options).unwrap();
            worker.block_on(&Flushing(Arc::clone(&working)), async {
                working.start_worker(0);
                let _ = stopped.await;
            });
        });
        Fake { to: NodeId(to), transport, heard, stop: Some(stop), thread: Some(thread) }
    }

    /// Waits until something has been heard that is wanted.
    fn hear<T>(&self, what: &str, mut wanted: impl FnMut(Heard) -> Option<T>) -> T {
        let deadline = Instant::now() + WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = self.heard.recv_timeout(left).unwrap_or_else(|_| panic!("waited in vain: {what}"));
            if let Some(found) = wanted(heard) {
                return found;
            }
        }
    }

    fn wait_until_up(&self) {
        self.hear("a link", |heard| matches!(heard, Heard::Up).then_some(()));
    }

    fn wait_until_down(&self) {
        self.hear("the end of the link", |heard| matches!(heard, Heard::Down).then_some(()));
    }

    fn send(&self, kind: u8, payload: &[u8]) {
        assert!(self.transport.send(self.to, 0, kind, |buffer| buffer.extend_from_slice(payload)));
    }

    /// A heartbeat of a partition that the other node leads.
    fn heartbeat(&self) -> (u32, u64) {
        self.hear("a heartbeat", |heard| match heard {
            Heard::Heartbeat { partition, term } => Some((partition, term)),
            _ => None,
        })
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.transport.stop();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The bit of the role in a hello.
fn hello_roles_of_sql_node() -> u8 {
    4
}

fn address_of(cluster: &StartedCluster, node: u32) -> String {
    let text = std::fs::read_to_string(cluster.config_file()).unwrap();
    let section = text.split("\n\n").find(|section| section.contains(&format!("NodeId={node}\n"))).unwrap();
    let port = section.lines().find_map(|line| line.strip_prefix("ServerPort=")).unwrap();
    format!("127.0.0.1:{port}")
}

/// The management node hears of it from the node that has cut the other off.
fn wait_for_log(cluster: &StartedCluster, node: u32, words: &[&str]) {
    let deadline = Instant::now() + WITHIN;
    let path = cluster.data_dir(4).join("shoal_4_cluster.log");
    let log = || std::fs::read_to_string(&path).unwrap_or_default();
    let by = format!(" -- Node {node}: ");
    let says = |line: &str| line.contains(&by) && words.iter().all(|word| line.contains(word));
    while !log().lines().any(says) {
        assert!(Instant::now() < deadline, "node {node} does not say {words:?}:\n{}", log());
        thread::sleep(Duration::from_millis(2));
    }
}

fn raft(partition: u32, kind: u8, fields: [u64; 9], rest: &[u8]) -> Vec<u8> {
    let present = fields.iter().enumerate().fold(0u16, |bits, (bit, &field)| bits | u16::from(field != 0) << bit);
    let mut bytes = partition.to_le_bytes().to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(&present.to_le_bytes());
    bytes.push(0);
    fields.iter().filter(|&&field| field != 0).for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
    // No context.
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(rest);
    bytes
}

const NO_ENTRIES: [u8; 4] = [0; 4];

fn entry(term: u64, index: u64, data: &[u8]) -> Vec<u8> {
    let mut bytes = 1u32.to_le_bytes().to_vec();
    bytes.extend_from_slice(&term.to_le_bytes());
    bytes.extend_from_slice(&index.to_le_bytes());
    bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn words(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A transaction's insert of what is no row, into every table that there may be, of every partition.
/// Their first byte names no version of the table that a node might still hear of.
fn inserts_of_no_row() -> Vec<Vec<u8>> {
    let mut requests = Vec::new();
    for partition in 0..8u32 {
        for table in 1..64u32 {
            let transaction = 1u64 << 40 | u64::from(partition << 8 | table);
            let head = words(&[&[1], &partition.to_le_bytes(), &transaction.to_le_bytes(), &[0; 12]]);
            let rest = words(&[&u64::MAX.to_le_bytes(), &u32::MAX.to_le_bytes(), &[0; 8], &[0; 4]]);
            let write =
                words(&[&1u32.to_le_bytes(), &[1], &table.to_le_bytes(), &3u32.to_le_bytes(), &[1, 0xff, 0xff]]);
            requests.push(words(&[&head, &rest, &write, &[0]]));
        }
    }
    requests
}

/// Two data nodes that are real, the third data node and nodes with sessions that are not.
fn start() -> (StartedCluster, Layout) {
    let layout = Layout { data_nodes: 3, replicas: 3, sql_nodes: 16, ..Layout::default() };
    let mut cluster = StartedCluster::new(&layout);
    cluster.start_some(&layout, 1..=4);
    cluster.stop_node(3);
    (cluster, layout)
}

/// Everything lives, and no more than what clients were told of is stored.
fn goes_on(cluster: &mut StartedCluster, workload: Workload) {
    workload.wait_for_commits_everywhere(20);
    assert!([1, 2, 4].into_iter().all(|node| cluster.is_running(node)), "{}", cluster.logs());
    cluster.start_again(3);
    workload.wait_for_commits_everywhere(10);
    check(cluster, &workload.finish());
}

#[test]
fn a_node_that_sends_spoilt_contents_is_cut_off_with_the_reason() {
    let (mut cluster, _) = start();
    let workload = Workload::start(&cluster, Plan { nodes: vec![1, 2], threads: 2, ..Plan::new() });
    workload.wait_for_commits_everywhere(5);
    let u64s = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let raft_of_no_voter = raft(0, HEARTBEAT, [6, 2, 1, 0, 0, 9, 0, 0, 0], &NO_ENTRIES);
    // Absent fields: tag 4 is a list of partitions, tag 5 their terms.
    let gossip_of_no_voter = [0x22, 1, 0, 0x2a, 1, 1];
    // Tag 2 is the version of the dictionary, and a number of ten bytes.
    let gossip_of_versions = words(&[&[0x10], &[0xff; 9], &[1]]);
    let roll_back_nowhere = words(&[&[4], &u64s(&[7]), &1u32.to_le_bytes(), &4_000_000u32.to_le_bytes()]);
    let decide_in_2550 = words(&[&[9], &0u32.to_le_bytes(), &u64s(&[7, u64::MAX - 9])]);
    let cases: Vec<(u8, Vec<Vec<u8>>, &str)> = vec![
        (99, vec![vec![1, 2, 3]], "unknown kind 99"),
        (RAFT, vec![raft_of_no_voter], "is not from one of the others"),
        (
            RAFT,
            vec![raft(0, HEARTBEAT, [2, 1, 1, 0, 0, 0, 0, 0, 0], &NO_ENTRIES)],
            "is not from one of the others",
        ),
        (RAFT, vec![vec![0; 3]], "shorter than a partition's number"),
        (GOSSIP, vec![vec![0xff; 10]], "gossip cannot be read"),
        (GOSSIP, vec![gossip_of_no_voter.to_vec()], "without a replica of partition 0 leads it"),
        (GOSSIP, vec![gossip_of_versions], "the dictionary has come to version"),
        (EVENTS, vec![vec![0xff; 10]], "events cannot be read"),
        (OPERATION, vec![vec![1, 0, 0]], "fields do not fit its length"),
        (OPERATION, vec![roll_back_nowhere], "partition 4000000, which does not exist"),
        (OPERATION, vec![decide_in_2550], "years ahead of the clocks"),
        (OPERATION, inserts_of_no_row(), "are no row of"),
        (ROUTED, vec![vec![0; 7]], "has no address"),
        (SERVICE, vec![vec![0; 7]], "unknown kind 17"),
    ];
    for (place, (kind, payloads, reason)) in cases.into_iter().enumerate() {
        let (id, to) = (5 + place as u32, 1 + place as u32 % 2);
        let mut fake = Fake::start(&cluster, id, to, Manner::default());
        fake.wait_until_up();
        // Whoever leads the partition refuses a row; others say only that they do not lead it.
        let last = if payloads.len() > 1 { vec![to, 3 - to] } else { vec![to] };
        for to in last {
            if fake.to != NodeId(to) {
                fake = Fake::start(&cluster, id, to, Manner::default());
                fake.wait_until_up();
            }
            for payload in &payloads {
                // The link may have ended.
                fake.transport.send(NodeId(to), 0, kind, |buffer| buffer.extend_from_slice(payload));
            }
            fake.wait_until_down();
            wait_for_log(&cluster, to, &[&format!("Node {id} is cut off for 1000 ms"), reason]);
        }
    }
    // What it answers, and what its clock shows.
    let reply = Some(words(&[&u64s(&[u64::MAX - 9]), &[0; 4]]));
    let fake = Fake::start(&cluster, 19, 1, Manner { reply, ..Manner::default() });
    fake.wait_until_down();
    wait_for_log(&cluster, 1, &["Node 19 is cut off", "years ahead of the clocks"]);
    let fake = Fake::start(&cluster, 20, 2, Manner { clock: u64::MAX - 9, ..Manner::default() });
    fake.wait_until_down();
    wait_for_log(&cluster, 2, &["Node 20 is cut off", "years ahead of the clocks"]);
    goes_on(&mut cluster, workload);
}

#[test]
fn a_replica_that_sends_spoilt_messages_is_kept_away_longer_each_time() {
    let (mut cluster, _) = start();
    let workload = Workload::start(&cluster, Plan { nodes: vec![1, 2], threads: 2, ..Plan::new() });
    workload.wait_for_commits_everywhere(5);
    let fake = Fake::start(&cluster, 3, 1, Manner::default());
    fake.wait_until_up();
    let (partition, term) = fake.heartbeat();
    // Entries that the leader has not got.
    let ahead = raft(partition, APPEND_RESPONSE, [3, 1, term, 0, 1 << 40, 0, 0, 0, 0], &NO_ENTRIES);
    let second_leader = raft(partition, HEARTBEAT, [3, 1, term, 0, 0, 1 << 40, 0, 0, 0], &NO_ENTRIES);
    let damaged = entry(term + 1, 2, &[200, 1, 2, 3]);
    let cases = [
        (ahead, "acknowledges entry 1099511627776"),
        (second_leader, "a second leader of term"),
        (
            raft(partition, REQUEST_VOTE, [3, 1, 1 << 50, 1, 1, 0, 0, 0, 0], &NO_ENTRIES),
            "is of term 1125899906842624",
        ),
        (raft(partition, APPEND, [3, 1, term + 1, 1, 1, 0, 0, 0, 0], &damaged), "an entry that cannot be read"),
    ];
    for (times, (message, reason)) in cases.into_iter().enumerate() {
        if times > 0 {
            fake.wait_until_up();
        }
        fake.send(RAFT, &message);
        fake.wait_until_down();
        wait_for_log(&cluster, 1, &[&format!("Node 3 is cut off for {} ms", 1000 << times), reason]);
        // The reason is what it is told when it comes again too early.
        let told = |heard| if let Heard::KeptAway(reason) = heard { Some(reason) } else { None };
        assert!(fake.hear("why it is kept away", told).contains(reason));
    }
    drop(fake);
    let fake = Fake::start(&cluster, 3, 2, Manner::default());
    fake.wait_until_up();
    fake.send(RAFT, &raft(4000, HEARTBEAT, [3, 2, 1, 0, 0, 0, 0, 0, 0], &NO_ENTRIES));
    fake.wait_until_down();
    wait_for_log(&cluster, 2, &["Node 3 is cut off", "partition 4000, which is not kept here"]);
    drop(fake);
    goes_on(&mut cluster, workload);
}
