//! Money moved between accounts while nodes die, and the check that nothing was lost, halved or invented.
//!
//! [`Workload::start`] makes the tables and runs client threads on all nodes with sessions: transfers in
//! transactions (each with a row in a journal under an id that the client made), counters raised by single statements, and
//! readers. What a client was told is its record: committed, not committed, or unknown. Readers judge as they
//! go: the sum of all balances is the same in every snapshot, and a counter is never below what anybody had been told before the
//! read began, nor above what had been tried when it ended. [`Workload::finish`] stops the clients, and [`check`] compares
//! what is in the tables with the records.

mod check;
mod client;
mod definitions;
mod outage;
mod record;

pub use check::check;
pub use client::Random;
pub use definitions::Definitions;
use outage::Outage;
pub use record::{Failure, Record, Told, Transfer, told_by};

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::cluster::Nodes;

/// What every account has at the beginning.
pub const BALANCE: i64 = 1000;
/// A healthy cluster makes some progress within this time, however busy the machine.
const PROGRESS_WITHIN: Duration = Duration::from_secs(60);
/// Violations that are told; the others are more of the same.
const VIOLATIONS_TOLD: usize = 12;

/// How much is done by how many.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub accounts: u64,
    pub counters: u64,
    pub threads: u64,
    /// Clients connect to these nodes, all nodes with sessions if empty.
    pub nodes: Vec<u32>,
}

impl Plan {
    /// A plan with a seed from `SHOAL_TEST_SEED`, else of the moment.
    pub fn new() -> Plan {
        let given = std::env::var("SHOAL_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let moment = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(0, |elapsed| elapsed.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
        };
        Plan { seed: given.unwrap_or_else(moment), accounts: 24, counters: 6, threads: 4, nodes: Vec::new() }
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan::new()
    }
}

/// A counter as all clients know it together.
#[derive(Debug, Default)]
struct Counter {
    /// Increments that were acknowledged.
    acknowledged: AtomicU64,
    /// Increments that were begun and have not failed for sure.
    possible: AtomicU64,
}

/// What the clients share.
struct Shared {
    nodes: Nodes,
    plan: Plan,
    sql_nodes: Vec<u32>,
    counters: Vec<Counter>,
    stop: AtomicBool,
    committed: AtomicU64,
    reads: AtomicU64,
    outage: Outage,
    /// Committed transactions by the node that the client was connected to.
    committed_at: Vec<AtomicU64>,
    violations: Mutex<Vec<String>>,
    errors: Mutex<BTreeSet<String>>,
    /// Statements that the server has not answered for as long as a client waits.
    hangs: Mutex<Vec<String>>,
    slow: Mutex<Vec<String>>,
}

impl Shared {
    fn violation(&self, what: String) {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

/// Everything that the clients were told.
pub struct History {
    pub plan: Plan,
    pub transfers: Vec<Transfer>,
    /// Acknowledged and possible increments of each counter.
    pub counters: Vec<(u64, u64)>,
    /// Tags that accounts have had.
    pub tags: BTreeSet<String>,
    /// Kinds of errors that clients were told.
    pub errors: BTreeSet<String>,
}

impl History {
    pub fn count(&self, told: Told) -> usize {
        self.transfers.iter().filter(|transfer| transfer.told == told).count()
    }
}

/// Clients that are at work.
pub struct Workload {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<Record>>,
}

impl Workload {
    /// Makes the tables and starts the clients.
    pub fn start(nodes: &Nodes, plan: Plan) -> Workload {
        eprintln!("the transfers' seed: SHOAL_TEST_SEED={}", plan.seed);
        let sql_nodes = if plan.nodes.is_empty() { nodes.sql_nodes() } else { plan.nodes.clone() };
        create_tables(nodes, sql_nodes[0], &plan);
        let shared = Arc::new(Shared {
            nodes: nodes.clone(),
            counters: (0..plan.counters).map(|_| Counter::default()).collect(),
            committed_at: sql_nodes.iter().map(|_| AtomicU64::new(0)).collect(),
            sql_nodes,
            plan,
            stop: AtomicBool::new(false),
            committed: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            outage: Outage::default(),
            violations: Mutex::default(),
            errors: Mutex::default(),
            hangs: Mutex::default(),
            slow: Mutex::default(),
        });
        let clients = (0..shared.plan.threads).map(|thread| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || client::run(&shared, thread))
        });
        Workload { clients: clients.collect(), shared }
    }

    /// Transactions that were acknowledged so far.
    pub fn committed(&self) -> u64 {
        self.shared.committed.load(Ordering::Relaxed)
    }

    /// From now on the time is measured for which nobody but clients of one node is told of a commit.
    pub fn watch_for_outages(&self, but_of: u32) {
        self.shared.outage.watch(self.shared.sql_nodes.iter().position(|&one| one == but_of));
    }

    /// The longest of these times, the one that lasts included.
    pub fn longest_outage(&self) -> Duration {
        self.shared.outage.longest()
    }

    /// The statements since the last call that took long, with their seconds of the hour.
    pub fn slow_statements(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.slow.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Increments of a counter that have been acknowledged so far.
    pub fn acknowledged(&self, counter: u64) -> u64 {
        self.shared.counters[counter as usize].acknowledged.load(Ordering::SeqCst)
    }

    /// Waits until so many more transactions have been acknowledged.
    pub fn wait_for_commits(&self, more: u64) {
        let goal = self.committed() + more;
        self.wait_for(&format!("{more} more commits"), || self.committed() >= goal);
    }

    /// Waits until clients of one node have had so many more transactions acknowledged.
    pub fn wait_for_commits_at(&self, node: u32, more: u64) {
        let place = self.shared.sql_nodes.iter().position(|&one| one == node);
        let count = &self.shared.committed_at[place.unwrap_or_else(|| panic!("no clients are at node {node}"))];
        let goal = count.load(Ordering::Relaxed) + more;
        self.wait_for(&format!("{more} more commits at node {node}"), || count.load(Ordering::Relaxed) >= goal);
    }

    /// Waits until clients of the other nodes, all together, have had so many more transactions acknowledged.
    pub fn wait_for_commits_of_others(&self, node: u32, more: u64) {
        let others = || {
            let counts = self.shared.sql_nodes.iter().zip(&self.shared.committed_at);
            counts.filter(|(one, _)| **one != node).map(|(_, count)| count.load(Ordering::Relaxed)).sum::<u64>()
        };
        let goal = others() + more;
        self.wait_for(&format!("{more} more commits beside node {node}"), || others() >= goal);
    }

    /// Waits until clients of every node have had so many more transactions acknowledged.
    pub fn wait_for_commits_everywhere(&self, more: u64) {
        let counts = || self.shared.committed_at.iter().map(|count| count.load(Ordering::Relaxed));
        let goals: Vec<u64> = counts().map(|count| count + more).collect();
        let what = format!("{more} more commits at each node");
        self.wait_for(&what, || counts().zip(&goals).all(|(count, &goal)| count >= goal));
    }

    fn wait_for(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let started = Instant::now();
        while !condition() {
            let violations = self.shared.violations.lock().unwrap_or_else(PoisonError::into_inner).clone();
            assert!(violations.is_empty(), "{}", told(&violations));
            self.expect_answers();
            if started.elapsed() > PROGRESS_WITHIN {
                let errors = self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner).clone();
                panic!(
                    "no progress: {what} within {PROGRESS_WITHIN:?}; the clients were told {errors:#?}\nunanswered: \
                     {:?}\ncommits by node: {:?}\n{}{}",
                    self.shared.hangs.lock().unwrap_or_else(PoisonError::into_inner),
                    self.shared.sql_nodes.iter().zip(&self.shared.committed_at).collect::<Vec<_>>(),
                    self.shared.nodes.doings(),
                    self.shared.nodes.logs()
                );
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Panics if a statement was not answered for as long as a client waits.
    fn expect_answers(&self) {
        let hangs = self.shared.hangs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !hangs.is_empty() {
            let (doings, logs) = (self.shared.nodes.doings(), self.shared.nodes.logs());
            panic!("unanswered for as long as clients wait: {hangs:?}\n{doings}\n{logs}");
        }
    }

    /// Stops the clients. Panics with what readers have found.
    pub fn finish(mut self) -> History {
        self.shared.stop.store(true, Ordering::Relaxed);
        let records: Vec<Record> =
            std::mem::take(&mut self.clients).into_iter().map(|client| client.join().unwrap()).collect();
        let mut transfers = Vec::new();
        let mut tags = BTreeSet::new();
        for record in records {
            transfers.extend(record.transfers);
            tags.extend(record.tags);
        }
        let violations = self.shared.violations.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(violations.is_empty(), "{}", told(&violations));
        let numbers = |counter: &Counter| {
            (counter.acknowledged.load(Ordering::Relaxed), counter.possible.load(Ordering::Relaxed))
        };
        self.expect_answers();
        let history = History {
            plan: self.shared.plan.clone(),
            transfers,
            counters: self.shared.counters.iter().map(numbers).collect(),
            tags,
            errors: self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        eprintln!(
            "transfers: {} committed, {} not, {} unknown; {} reads; errors {:#?}",
            history.count(Told::Committed),
            history.count(Told::NotCommitted),
            history.count(Told::Unknown),
            self.shared.reads.load(Ordering::Relaxed),
            history.errors
        );
        history
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

fn told(violations: &[String]) -> String {
    let shown: Vec<&str> = violations.iter().take(VIOLATIONS_TOLD).map(String::as_str).collect();
    format!("{} violations:\n{}", violations.len(), shown.join("\n"))
}

fn create_tables(nodes: &Nodes, node: u32, plan: &Plan) {
    let accounts: Vec<String> =
        (0..plan.accounts).map(|id| format!("({id},{BALANCE},'{}')", tag(id, 0, 0))).collect();
    let counters: Vec<String> = (0..plan.counters).map(|id| format!("({id},0)")).collect();
    let statements = [
        "DROP TABLE IF EXISTS accounts, journal, counters".to_string(),
        "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, tag VARCHAR(40) NOT NULL, \
         UNIQUE KEY by_tag (tag), KEY by_balance (balance))"
            .into(),
        "CREATE TABLE journal (id BIGINT PRIMARY KEY, source BIGINT NOT NULL, target BIGINT NOT NULL, \
         amount BIGINT NOT NULL, KEY by_source (source))"
            .into(),
        "CREATE TABLE counters (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)".into(),
        format!("INSERT INTO accounts VALUES {}", accounts.join(",")),
        format!("INSERT INTO counters VALUES {}", counters.join(",")),
    ];
    let mut client = nodes.client(node);
    for sql in statements {
        client.execute(&sql).unwrap_or_else(|error| panic!("{sql:.80}: {error}\n{}", nodes.logs()));
    }
}

/// What an account is called after a change of its name by a thread.
fn tag(account: u64, thread: u64, number: u64) -> String {
    format!("account-{account}-{thread}-{number}")
}
