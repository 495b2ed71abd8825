//! Clients that never give up, and count what they were promised.
//!
//! Each client owns a few counters and increments them in turn; what fails is tried again after a millisecond, at another
//! node when the connection is gone. Afterwards every acknowledged increment must be there, and no more than were tried:
//! an increment that failed may be there or not, since a client cannot always be told. The counters of one client are
//! spread over the partitions by their keys, so the longest time between two successes is the longest outage of any of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use shoal_testkit::client::Login;
use shoal_testkit::{Client, Error};

/// Counters of one client.
pub const COUNTERS: usize = 16;
/// Ids of the counters of one client lie below this many times its number plus one.
const IDS_PER_CLIENT: usize = 100;
/// The other half of a pair.
const PARTNER: usize = 50;
const RETRY_AFTER: Duration = Duration::from_millis(1);
/// A statement that is not answered within this time has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Different texts of errors that are kept.
const ERRORS_KEPT_MAX: usize = 20;

pub const TABLE: &str = "shoal_bench.counters";

/// What a client does to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One statement, one row.
    Single,
    /// A transaction on two rows that must always be equal.
    Pair,
}

/// What a client was promised, and how it fared.
#[derive(Clone, Debug)]
struct Tally {
    acknowledged: Vec<u64>,
    failed: Vec<u64>,
    errors: BTreeMap<String, u64>,
    last_success: Instant,
    longest_gap: Duration,
    /// Successes since the window began.
    successes: usize,
}

/// Since the window began.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The longest time between two successes; one that has not ended counts as well.
    pub longest_gap: Duration,
    /// Every counter of the client was written since then.
    pub all_written: bool,
}

/// What is wrong with the counters of one client, and of how many increments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub acknowledged: u64,
    pub failed: u64,
    /// Acknowledged and not there.
    pub lost: u64,
    /// There, although nobody tried.
    pub invented: u64,
    /// Pairs whose halves differ.
    pub halves: u64,
}

impl Audit {
    pub fn add(&mut self, other: &Audit) {
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
        self.lost += other.lost;
        self.invented += other.invented;
        self.halves += other.halves;
    }

    pub fn is_clean(&self) -> bool {
        (self.lost, self.invented, self.halves) == (0, 0, 0)
    }
}

pub struct CountingClient {
    number: usize,
    work: Work,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    /// Ports in the order of preference, and whether to leave the node that is connected to now.
    ports: Mutex<Vec<u16>>,
    reconnect: AtomicBool,
    tally: Mutex<Tally>,
}

/// Makes the counters of `clients` clients.
pub fn make_table(client: &mut Client, clients: usize) -> Result<(), Error> {
    client.execute("CREATE DATABASE IF NOT EXISTS shoal_bench")?;
    client.execute(&format!("CREATE TABLE {TABLE} (id INT PRIMARY KEY, n BIGINT NOT NULL)"))?;
    for number in 0..clients {
        let ids = (0..COUNTERS).flat_map(|counter| [id_of(number, counter), id_of(number, counter) + PARTNER]);
        let values: Vec<String> = ids.map(|id| format!("({id}, 0)")).collect();
        client.execute(&format!("INSERT INTO {TABLE} VALUES {}", values.join(", ")))?;
    }
    Ok(())
}

/// The counters by their ids.
pub fn read_table(client: &mut Client) -> Result<BTreeMap<usize, u64>, Error> {
    let lines = client.text(&format!("SELECT id, n FROM {TABLE}"))?;
    let pair = |line: &String| {
        let (id, count) = line.split_once(',')?;
        Some((id.parse().ok()?, count.parse().ok()?))
    };
    Ok(lines.iter().filter_map(pair).collect())
}

fn id_of(client: usize, counter: usize) -> usize {
    client * IDS_PER_CLIENT + counter + 1
}

impl CountingClient {
    /// `ports`: the nodes, the preferred one first.
    pub fn start(number: usize, work: Work, ports: Vec<u16>) -> io::Result<CountingClient> {
        let tally = Tally {
            acknowledged: vec![0; COUNTERS],
            failed: vec![0; COUNTERS],
            errors: BTreeMap::new(),
            last_success: Instant::now(),
            longest_gap: Duration::ZERO,
            successes: 0,
        };
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            ports: Mutex::new(ports),
            reconnect: AtomicBool::new(false),
            tally: Mutex::new(tally),
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name(format!("client-{number}"));
        let thread = thread.spawn(move || theirs.run(number, work))?;
        Ok(CountingClient { number, work, shared, thread: Some(thread) })
    }

    /// From now on the client prefers these nodes, and connects anew.
    pub fn prefer(&self, ports: Vec<u16>) {
        *lock(&self.shared.ports) = ports;
        self.shared.reconnect.store(true, Ordering::Relaxed);
    }

    pub fn begin_window(&self) {
        let mut tally = lock(&self.shared.tally);
        tally.longest_gap = Duration::ZERO;
        tally.successes = 0;
    }

    pub fn window(&self) -> Window {
        let tally = lock(&self.shared.tally);
        Window {
            longest_gap: tally.longest_gap.max(tally.last_success.elapsed()),
            // One more: the first success may have been on its way when the window began.
            all_written: tally.successes > COUNTERS,
        }
    }

    pub fn errors(&self) -> BTreeMap<String, u64> {
        lock(&self.shared.tally).errors.clone()
    }

    /// Ends the client. What it counted stays for [`CountingClient::audit`].
    pub fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Compares what was promised with what is there.
    pub fn audit(&self, counters: &BTreeMap<usize, u64>) -> Audit {
        let tally = lock(&self.shared.tally);
        let mut audit = Audit::default();
        for counter in 0..COUNTERS {
            let id = id_of(self.number, counter);
            let found = counters.get(&id).copied().unwrap_or(0);
            let (acknowledged, failed) = (tally.acknowledged[counter], tally.failed[counter]);
            audit.acknowledged += acknowledged;
            audit.failed += failed;
            audit.lost += acknowledged.saturating_sub(found);
            audit.invented += found.saturating_sub(acknowledged + failed);
            let partner = counters.get(&(id + PARTNER)).copied().unwrap_or(0);
            audit.halves += u64::from(self.work == Work::Pair && partner != found);
        }
        audit
    }
}

impl Drop for CountingClient {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, number: usize, work: Work) {
        let mut connection = None;
        let mut counter = 0;
        while !self.stop.load(Ordering::Relaxed) {
            if self.reconnect.swap(false, Ordering::Relaxed) {
                connection = None;
            }
            let Some(client) = &mut connection else {
                connection = self.connect();
                if connection.is_none() {
                    thread::sleep(RETRY_AFTER);
                }
                continue;
            };
            match increment(client, work, id_of(number, counter)) {
                Ok(()) => {
                    self.succeeded(counter);
                    counter = (counter + 1) % COUNTERS;
                }
                Err(error) => {
                    self.failed(counter, &error);
                    if !matches!(error, Error::Server { .. }) || (work == Work::Pair && rollback(client).is_err())
                    {
                        connection = None;
                    }
                    thread::sleep(RETRY_AFTER);
                }
            }
        }
    }

    fn connect(&self) -> Option<Client> {
        let ports = lock(&self.ports).clone();
        let login = Login { patience: PATIENCE, ..Login::default() };
        ports.into_iter().find_map(|port| Client::log_in(port, &login).ok())
    }

    fn succeeded(&self, counter: usize) {
        let mut tally = lock(&self.tally);
        tally.acknowledged[counter] += 1;
        tally.successes += 1;
        tally.longest_gap = tally.longest_gap.max(tally.last_success.elapsed());
        tally.last_success = Instant::now();
    }

    fn failed(&self, counter: usize, error: &Error) {
        let mut tally = lock(&self.tally);
        tally.failed[counter] += 1;
        let text = error.to_string();
        if tally.errors.len() < ERRORS_KEPT_MAX || tally.errors.contains_key(&text) {
            *tally.errors.entry(text).or_default() += 1;
        }
    }
}

fn increment(client: &mut Client, work: Work, id: usize) -> Result<(), Error> {
    let update = |id: usize| format!("UPDATE {TABLE} SET n = n + 1 WHERE id = {id}");
    match work {
        Work::Single => client.execute(&update(id)).map(|_| ()),
        Work::Pair => {
            client.execute("START TRANSACTION")?;
            client.execute(&update(id))?;
            client.execute(&update(id + PARTNER))?;
            client.execute("COMMIT").map(|_| ())
        }
    }
}

fn rollback(client: &mut Client) -> Result<(), Error> {
    client.execute("ROLLBACK").map(|_| ())
}

/// No thread panics while it holds one of these.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(work: Work) -> CountingClient {
        // No node: the client only counts what the test tells it.
        let mut client = CountingClient::start(1, work, Vec::new()).unwrap();
        client.stop();
        client
    }

    fn counters(found: u64) -> BTreeMap<usize, u64> {
        (0..COUNTERS).map(|counter| (id_of(1, counter), if counter == 0 { found } else { 0 })).collect()
    }

    #[test]
    fn an_acknowledged_increment_that_is_not_there_is_lost() {
        let client = client(Work::Single);
        client.shared.succeeded(0);
        client.shared.succeeded(0);
        assert_eq!(client.audit(&counters(1)).lost, 1);
        assert!(client.audit(&counters(2)).is_clean());
        assert_eq!(client.audit(&counters(3)).invented, 1);
    }

    #[test]
    fn a_failed_increment_may_be_there_or_not() {
        let client = client(Work::Single);
        client.shared.failed(0, &Error::Protocol("cut off".into()));
        assert!(client.audit(&counters(0)).is_clean());
        assert!(client.audit(&counters(1)).is_clean());
        assert_eq!(client.audit(&counters(2)).invented, 1);
    }

    #[test]
    fn halves_of_a_pair_must_agree() {
        let client = client(Work::Pair);
        client.shared.succeeded(0);
        let mut counters = counters(1);
        assert_eq!(client.audit(&counters).halves, 1);
        counters.insert(id_of(1, 0) + PARTNER, 1);
        assert!(client.audit(&counters).is_clean());
    }

    #[test]
    fn a_window_shows_the_gap_that_has_not_ended() {
        let client = client(Work::Single);
        client.shared.succeeded(0);
        client.begin_window();
        let first = client.window();
        assert!(!first.all_written);
        assert!(client.window().longest_gap > first.longest_gap);
    }
}
