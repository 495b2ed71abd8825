//! Servers, clients that move money between them, snapshot readers, and messages that come in any order or not at all.
//!
//! What must hold: a transaction's marker rows are in all partitions that it wrote to or in none, as its client was told
//! if it was told; every snapshot shows that too, with all the money there, and with every transaction that a client
//! was told of before the snapshot was taken; and when all is over nothing is locked, prepared or remembered.

use std::collections::BTreeSet;

use shoal_partition::*;
use shoal_txn::two_phase::{Answer, Coordinator, Participant, Request, take_home};
use shoal_types::*;

use crate::server::{Asker, FIRST_MARKER, Send, Server};

/// What a server is asked.
#[derive(Clone, Debug)]
pub enum Call {
    Coordinator {
        asker: Asker,
        request: Request,
    },
    /// A prepared participant asks the home.
    Ask {
        transaction: TransactionId,
        participant: usize,
    },
    /// The home tells a participant.
    Tell {
        transaction: TransactionId,
        decision: Decision,
        home: usize,
    },
    Confirm {
        transaction: TransactionId,
        confirmation: Confirmation,
    },
}

/// What a client hears.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Prepared(usize, Option<Timestamp>),
    Refused(usize),
    HomeCommitted(Timestamp),
    HomeRefused,
    HomeAnswered(HomeOutcome),
    Decided(usize),
    LostContact(usize),
}

#[derive(Clone, Debug)]
pub enum Message {
    Call { to: usize, call: Call },
    Hear { asker: Asker, event: Event },
}

/// One transaction of the test.
struct Record {
    wrote_to: Vec<usize>,
    answer: Option<Answer>,
}

/// A client's process with its transaction.
struct Client {
    transaction: TransactionId,
    number: usize,
    /// (partition, account, amount), in the order of locking.
    work: Vec<(usize, i32, i32)>,
    done: usize,
    joined: Vec<(usize, Participant)>,
    coordinator: Option<Coordinator>,
}

struct Reader {
    id: u64,
    snapshot: Timestamp,
    /// Transactions that clients had been told of.
    told: usize,
    partition: usize,
    /// The leader that the cursor belongs to: another one has other row ids.
    term: u64,
    cursor: Cursor,
    rows: Vec<Vec<(i32, i32)>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub committed: usize,
    pub not_committed: usize,
    pub unknown: usize,
    pub restarts_with_prepared: usize,
    pub deaths_while_committing: usize,
    pub decided_late: usize,
    pub asked_home: usize,
    pub snapshots: usize,
    pub snapshots_waited: usize,
    pub installed_checkpoints: usize,
}

impl Counters {
    pub fn add(&mut self, other: Counters) {
        self.committed += other.committed;
        self.not_committed += other.not_committed;
        self.unknown += other.unknown;
        self.restarts_with_prepared += other.restarts_with_prepared;
        self.deaths_while_committing += other.deaths_while_committing;
        self.decided_late += other.decided_late;
        self.asked_home += other.asked_home;
        self.snapshots += other.snapshots;
        self.snapshots_waited += other.snapshots_waited;
        self.installed_checkpoints += other.installed_checkpoints;
    }
}

/// One of the things that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Deliver(usize),
    Persist(usize),
    Work(usize),
    Read(usize),
}

pub struct World {
    pub servers: Vec<Server>,
    clients: Vec<Option<Client>>,
    readers: Vec<Reader>,
    pub messages: Vec<Message>,
    records: Vec<Record>,
    told: Vec<usize>,
    /// Clients and readers that wait, until something else goes on.
    waiting_clients: BTreeSet<usize>,
    waiting_readers: BTreeSet<u64>,
    next_reader: u64,
    money: i64,
    /// The latest node number given to a client's process.
    nodes: u32,
    pub counters: Counters,
}

pub const ACCOUNTS: i32 = 4;

impl World {
    /// Clocks differ, and so the order of prepare and commit timestamps does.
    pub fn new(partitions: usize, clients: usize, skew: u64) -> World {
        let balances = [3; ACCOUNTS as usize];
        let server = |number: usize| Server::new(number, (number as u64 * skew) % 700, &balances);
        World {
            servers: (0..partitions).map(server).collect(),
            clients: (0..clients).map(|_| None).collect(),
            readers: Vec::new(),
            messages: Vec::new(),
            records: Vec::new(),
            told: Vec::new(),
            waiting_clients: BTreeSet::new(),
            waiting_readers: BTreeSet::new(),
            next_reader: 0,
            money: partitions as i64 * 3 * i64::from(ACCOUNTS),
            nodes: 0,
            counters: Counters::default(),
        }
    }

    /// The newest applied commit: what a snapshot is taken at.
    fn latest_snapshot(&self) -> Timestamp {
        let applied = self.servers.iter().map(|server| server.partition.applied_timestamp());
        applied.max().unwrap_or_default()
    }

    // ---- clients ----

    pub fn is_idle(&self, client: usize) -> bool {
        self.clients[client].is_none()
    }

    /// A transaction begins; every one of its clients' processes has a number of its own.
    pub fn begin(&mut self, client: usize, mut work: Vec<(usize, i32, i32)>) {
        work.sort_unstable();
        let mut wrote_to: Vec<usize> = work.iter().map(|&(partition, ..)| partition).collect();
        wrote_to.dedup();
        let number = self.records.len();
        self.nodes += 1;
        assert!(self.nodes < 4096, "a node's number has 12 bits");
        let transaction = TransactionId(u64::from(self.nodes) << 52 | number as u64);
        self.records.push(Record { wrote_to, answer: None });
        let (joined, coordinator) = (Vec::new(), None);
        self.clients[client] = Some(Client { transaction, number, work, done: 0, joined, coordinator });
    }

    /// The next operation, or the commit. Nothing if it has to wait.
    fn work(&mut self, client: usize) {
        let Some(mut state) = self.clients[client].take() else { return };
        let Some(&(to, account, amount)) = state.work.get(state.done) else {
            self.commit(client, state);
            return;
        };
        let server = &mut self.servers[to];
        let position = state.joined.iter().position(|&(partition, _)| partition == to);
        let (term, writes) =
            position.map_or((server.term, 0), |at| (state.joined[at].1.term, state.joined[at].1.writes));
        if !server.check_joined(state.transaction, term, writes) {
            self.roll_back(state);
            return;
        }
        match server.add(state.transaction, account, amount) {
            None => {
                self.waiting_clients.insert(client);
                self.clients[client] = Some(state);
            }
            Some(false) => self.roll_back(state),
            Some(true) => {
                if position.is_none() {
                    server.mark(state.transaction, state.number);
                }
                let writes = server.partition.savepoint(state.transaction).0;
                let participant = Participant { partition: PartitionId(to as u32), term, writes };
                match position {
                    Some(at) => state.joined[at].1 = participant,
                    None => state.joined.push((to, participant)),
                }
                state.done += 1;
                self.clients[client] = Some(state);
            }
        }
    }

    fn roll_back(&mut self, state: Client) {
        self.go_on();
        for server in &mut self.servers {
            server.partition.rollback(state.transaction);
            server.drain();
        }
        self.told(state.number, Answer::NotCommitted);
    }

    fn commit(&mut self, client: usize, mut state: Client) {
        if state.coordinator.is_none() {
            let mut others: Vec<Participant> = state.joined.iter().map(|&(_, participant)| participant).collect();
            let near = PartitionId((state.number % self.servers.len()) as u32);
            let home = take_home(&mut others, |partition| partition == near).unwrap();
            state.coordinator = Some(Coordinator::new(state.transaction, home, others));
        }
        self.clients[client] = Some(state);
        self.after_coordinator(client);
    }

    /// Sends what the coordinator wants sent, and tells the client.
    fn after_coordinator(&mut self, client: usize) {
        let Some(state) = &mut self.clients[client] else { return };
        let (transaction, number) = (state.transaction, state.number);
        let Some(coordinator) = &mut state.coordinator else { return };
        for request in coordinator.take_requests() {
            let to = request.partition().0 as usize;
            self.messages.push(Message::Call {
                to,
                call: Call::Coordinator { asker: Asker { client, transaction }, request },
            });
        }
        let (answer, is_finished) = (coordinator.answer(), coordinator.is_finished());
        if let Some(answer) = answer {
            self.told(number, answer);
        }
        if is_finished {
            self.clients[client] = None;
        }
    }

    fn told(&mut self, number: usize, answer: Answer) {
        let record = &mut self.records[number];
        match record.answer {
            Some(before) => assert_eq!(before, answer, "transaction {number} was answered twice"),
            None => {
                record.answer = Some(answer);
                match answer {
                    Answer::Committed(_) => self.counters.committed += 1,
                    Answer::NotCommitted => self.counters.not_committed += 1,
                    Answer::Unknown => self.counters.unknown += 1,
                }
                if matches!(answer, Answer::Committed(_)) {
                    self.told.push(number);
                }
            }
        }
    }

    fn hear(&mut self, asker: Asker, event: Event) {
        let Asker { client, transaction } = asker;
        let Some(state) = self.clients[client].as_mut().filter(|state| state.transaction == transaction) else {
            return;
        };
        let Some(coordinator) = &mut state.coordinator else { return };
        let partition = |number: usize| PartitionId(number as u32);
        match event {
            Event::Prepared(number, timestamp) => coordinator.prepared(partition(number), timestamp),
            Event::Refused(number) => coordinator.refused(partition(number)),
            Event::HomeCommitted(timestamp) => coordinator.home_committed(timestamp),
            Event::HomeRefused => coordinator.home_refused(),
            Event::HomeAnswered(outcome) => coordinator.home_answered(outcome),
            Event::Decided(number) => coordinator.decided(partition(number)),
            Event::LostContact(number) => coordinator.lost_contact(partition(number)),
        }
        self.after_coordinator(client);
    }

    pub fn ask_again(&mut self, client: usize) {
        if let Some(coordinator) = self.clients[client].as_mut().and_then(|state| state.coordinator.as_mut()) {
            coordinator.ask_again();
            self.after_coordinator(client);
        }
    }

    pub fn give_up(&mut self, client: usize) {
        if let Some(coordinator) = self.clients[client].as_mut().and_then(|state| state.coordinator.as_mut()) {
            coordinator.give_up();
            self.after_coordinator(client);
        }
    }

    /// The client's process dies, and somebody notices: servers roll back what it has not prepared.
    pub fn kill(&mut self, client: usize) {
        self.go_on();
        let Some(state) = self.clients[client].take() else { return };
        self.counters.deaths_while_committing += usize::from(state.coordinator.is_some());
        let node = state.transaction.node();
        for server in &mut self.servers {
            for transaction in server.partition.transactions_of(node) {
                server.partition.rollback(transaction);
            }
            server.drain();
        }
    }

    // ---- readers ----

    pub fn begin_read(&mut self) {
        let snapshot = self.latest_snapshot();
        self.next_reader += 1;
        self.readers.push(Reader {
            id: self.next_reader,
            snapshot,
            told: self.told.len(),
            partition: 0,
            term: 0,
            cursor: Server::cursor(),
            rows: vec![Vec::new(); self.servers.len()],
        });
    }

    pub fn readers(&self) -> usize {
        self.readers.len()
    }

    /// The partition that a reader has come to.
    pub fn reads_from(&self, reader: usize) -> usize {
        self.readers[reader].partition
    }

    fn read(&mut self, number: usize) {
        let reader = &mut self.readers[number];
        let server = &mut self.servers[reader.partition];
        // A restart may have lost versions that the snapshot needs.
        if reader.snapshot < server.partition.oldest_snapshot() {
            self.readers.swap_remove(number);
            return;
        }
        if reader.term != server.term {
            reader.term = server.term;
            reader.cursor = Server::cursor();
            reader.rows[reader.partition].clear();
        }
        match server.scan(reader.snapshot, &mut reader.cursor, &mut reader.rows[reader.partition]) {
            None => {
                self.counters.snapshots_waited += 1;
                self.waiting_readers.insert(reader.id);
            }
            Some(false) => {}
            Some(true) => {
                reader.partition += 1;
                reader.term = 0;
                if reader.partition == self.servers.len() {
                    let reader = self.readers.swap_remove(number);
                    self.check_snapshot(&reader.rows, &self.told[..reader.told], reader.snapshot);
                    self.counters.snapshots += 1;
                }
            }
        }
    }

    /// All the money is there, and of every transaction all marks or none.
    fn check_snapshot(&self, rows: &[Vec<(i32, i32)>], told: &[usize], snapshot: Timestamp) {
        let accounts = rows.iter().flatten().filter(|&&(id, _)| id < FIRST_MARKER);
        let money: i64 = accounts.map(|&(_, balance)| i64::from(balance)).sum();
        assert_eq!(money, self.money, "money in the snapshot at {snapshot}: {rows:?}");
        let marks: Vec<BTreeSet<usize>> = rows
            .iter()
            .map(|rows| {
                let marks = rows.iter().filter(|&&(id, _)| id >= FIRST_MARKER);
                marks.map(|&(_, number)| number as usize).collect()
            })
            .collect();
        for (number, record) in self.records.iter().enumerate() {
            let there = record.wrote_to.iter().filter(|&&partition| marks[partition].contains(&number)).count();
            let whole = there == record.wrote_to.len();
            assert!(whole || there == 0, "half of transaction {number} at {snapshot}: {marks:?}");
            if told.contains(&number) {
                assert!(whole, "the snapshot at {snapshot} lacks transaction {number}, told before it was taken");
            }
            if whole && record.answer == Some(Answer::NotCommitted) {
                panic!("transaction {number} was told not to have committed");
            }
        }
    }

    // ---- what happens ----

    /// Everything that can go on, faults apart.
    pub fn moves(&self) -> Vec<Move> {
        let mut moves: Vec<Move> = (0..self.messages.len()).map(Move::Deliver).collect();
        moves.extend(
            self.servers
                .iter()
                .filter(|server| server.is_unpersisted())
                .map(|server| Move::Persist(server.number)),
        );
        let works = |client: &usize| {
            let state = self.clients[*client].as_ref();
            state.is_some_and(|state| state.coordinator.is_none()) && !self.waiting_clients.contains(client)
        };
        moves.extend((0..self.clients.len()).filter(works).map(Move::Work));
        let reads = |reader: &usize| !self.waiting_readers.contains(&self.readers[*reader].id);
        moves.extend((0..self.readers.len()).filter(reads).map(Move::Read));
        moves
    }

    pub fn make(&mut self, what: Move) {
        if matches!(what, Move::Deliver(_) | Move::Persist(_)) {
            self.go_on();
        }
        match what {
            Move::Deliver(number) => match self.messages.remove(number) {
                Message::Call { to, call } => self.serve(to, call),
                Message::Hear { asker, event } => self.hear(asker, event),
            },
            Move::Persist(number) => {
                self.servers[number].persist();
                self.collect_sends(number);
            }
            Move::Work(client) => self.work(client),
            Move::Read(reader) => self.read(reader),
        }
    }

    /// Something has changed: whoever waits should look again.
    fn go_on(&mut self) {
        self.waiting_clients.clear();
        self.waiting_readers.clear();
    }

    /// The message is for this server.
    pub fn is_for(&self, number: usize, server: usize) -> bool {
        matches!(&self.messages[number], Message::Call { to, .. } if *to == server)
    }

    fn serve(&mut self, to: usize, call: Call) {
        self.counters.asked_home += usize::from(matches!(call, Call::Ask { .. }));
        self.counters.decided_late += usize::from(self.decides_late(to, &call));
        self.servers[to].serve(call);
        self.collect_sends(to);
    }

    /// The commit's timestamp is earlier than that of another one that the partition has applied.
    fn decides_late(&self, to: usize, call: &Call) -> bool {
        let (transaction, decision) = match call {
            Call::Coordinator { asker, request: Request::Decide { decision, .. } } => {
                (&asker.transaction, decision)
            }
            Call::Tell { transaction, decision, .. } => (transaction, decision),
            _ => return false,
        };
        let partition = &self.servers[to].partition;
        let in_doubt = partition.in_doubt().iter().any(|(id, _)| id == transaction);
        in_doubt && matches!(decision, Decision::Commit(timestamp) if *timestamp < partition.applied_timestamp())
    }

    fn collect_sends(&mut self, server: usize) {
        for send in std::mem::take(&mut self.servers[server].sends) {
            match send {
                Send::Call(to, call) => self.messages.push(Message::Call { to, call }),
                Send::Hear(asker, event) => self.messages.push(Message::Hear { asker, event }),
            }
        }
    }

    /// The message never arrives, and its sender notices.
    pub fn lose(&mut self, number: usize) {
        let (asker, partition) = match self.messages.remove(number) {
            Message::Call { to, call: Call::Coordinator { asker, .. } } => (asker, to),
            Message::Call { .. } => return,
            Message::Hear { asker, event } => match event {
                Event::Prepared(number, _) | Event::Refused(number) | Event::Decided(number) => (asker, number),
                Event::LostContact(number) => (asker, number),
                Event::HomeCommitted(_) | Event::HomeRefused | Event::HomeAnswered(_) => {
                    let coordinator =
                        self.clients[asker.client].as_ref().and_then(|state| state.coordinator.as_ref());
                    let Some(coordinator) = coordinator else { return };
                    (asker, coordinator.home().0 as usize)
                }
            },
        };
        self.messages.push(Message::Hear { asker, event: Event::LostContact(partition) });
    }

    /// The sender's patience ends; the message arrives all the same, perhaps much later.
    pub fn time_out(&mut self, number: usize) {
        if let Message::Call { to, call: Call::Coordinator { asker, .. } } = &self.messages[number] {
            self.messages.push(Message::Hear { asker: *asker, event: Event::LostContact(*to) });
        }
    }

    pub fn restart(&mut self, number: usize) {
        self.go_on();
        self.counters.restarts_with_prepared += usize::from(!self.servers[number].partition.in_doubt().is_empty());
        self.counters.installed_checkpoints += usize::from(self.servers[number].has_checkpoint());
        let latest = self.latest_snapshot();
        self.servers[number].restart(latest);
        self.collect_sends(number);
    }

    pub fn take_over(&mut self, number: usize) {
        let running: Vec<TransactionId> = self.clients.iter().flatten().map(|state| state.transaction).collect();
        self.servers[number].take_over(|transaction| running.contains(&transaction));
        self.collect_sends(number);
    }

    pub fn collect_garbage(&mut self, number: usize) {
        let horizon = self.readers.iter().map(|reader| reader.snapshot).min();
        let horizon = horizon.unwrap_or(Timestamp::MAX).min(self.latest_snapshot());
        self.servers[number].collect_garbage(horizon);
    }

    /// No more faults: everything that is under way ends.
    pub fn heal(&mut self) {
        for _ in 0..300 {
            while let Some(&what) = self.moves().first() {
                self.make(what);
            }
            if self.is_quiet() {
                return;
            }
            self.go_on();
            for number in 0..self.servers.len() {
                self.take_over(number);
            }
            for client in 0..self.clients.len() {
                self.ask_again(client);
            }
        }
        let activity: Vec<Activity> = self.servers.iter().map(|server| server.partition.activity()).collect();
        panic!("it does not come to an end: {activity:?}, messages {:?}", self.messages);
    }

    fn is_quiet(&self) -> bool {
        let idle = |server: &Server| {
            let activity = server.partition.activity();
            activity == Activity { old_versions: activity.old_versions, ..Activity::default() }
        };
        self.clients.iter().all(Option::is_none)
            && self.readers.is_empty()
            && self.servers.iter().all(|server| idle(server) && !server.is_unpersisted())
    }

    /// What must hold when all is over, and again after every server has been restarted.
    pub fn check_end(&mut self) {
        for _ in 0..2 {
            let told = self.told.len();
            self.begin_read();
            let snapshots = self.counters.snapshots;
            while !self.readers.is_empty() {
                self.read(0);
            }
            assert_eq!(self.counters.snapshots, snapshots + 1);
            assert_eq!(told, self.told.len());
            let horizon = self.latest_snapshot();
            for server in &mut self.servers {
                server.finish_checkpoint();
                server.collect_garbage(horizon);
                assert_eq!(server.partition.activity(), Activity::default());
                let usage = server.partition.usage(crate::server::TABLE).unwrap();
                assert_eq!(server.partition.config().budget.used_bytes(), usage.bytes);
            }
            for number in 0..self.servers.len() {
                self.restart(number);
            }
        }
    }
}
