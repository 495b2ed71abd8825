//! One client thread: transfers, increments and reads in a random order on one node, reconnecting as long as it takes.

use std::io::ErrorKind;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::record::is_excused;
use super::{BALANCE, Failure, Record, Shared, Told, Transfer, tag, told_by};
use crate::cluster::Nodes;
use crate::{Client, Error, second_of_hour};

/// Between two attempts to connect.
const RECONNECT_AFTER: Duration = Duration::from_millis(20);
const AMOUNT_MAX: u64 = 50;
/// A statement that takes as long is told of with an outage.
const SLOW: Duration = Duration::from_millis(200);

/// SplitMix64: good enough to choose, and the same everywhere.
pub struct Random(u64);

impl Random {
    /// Streams of one seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    thread: u64,
    /// Which of the nodes with sessions it is connected to.
    place: usize,
    random: Random,
    record: Record,
    number: u64,
}

/// Works until it is told to stop.
pub(super) fn run(shared: &Shared, thread: u64) -> Record {
    let place = thread as usize % shared.sql_nodes.len();
    let random = Random::new(shared.plan.seed, thread + 1);
    let mut worker = Worker { shared, thread, place, random, record: Record::default(), number: 0 };
    let mut client = None;
    while !shared.stop.load(Ordering::Relaxed) {
        if client.is_none() {
            client = worker.connect();
        }
        if let Some(connected) = &mut client
            && !worker.work(connected)
        {
            client = None;
        }
    }
    worker.record
}

/// The server has not answered for as long as a client waits.
fn is_timeout(error: &Error) -> bool {
    matches!(error, Error::Io(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()))
}

/// `Err` with a connection that can go on is an error of the server.
fn can_go_on(error: &Error) -> bool {
    matches!(error, Error::Server { errno, .. } if ![1053, 1152, 1927, 3169, 4031].contains(errno))
}

impl Worker<'_> {
    fn connect(&mut self) -> Option<Client> {
        let nodes: &Nodes = &self.shared.nodes;
        let node = self.shared.sql_nodes[self.place];
        let process = nodes.node(node).process;
        match self.timed("connect", || nodes.try_client(node)) {
            Ok(client) => Some(client),
            // A host forgets a handshake of a process that is killed in the middle of it without a word, and the server speaks first.
            Err(error) if is_timeout(&error) && nodes.node(node).process != process => None,
            Err(error) => {
                self.note_error("connect", &error);
                thread::sleep(RECONNECT_AFTER);
                None
            }
        }
    }

    /// One piece of work. False: the connection is of no use any more.
    fn work(&mut self, client: &mut Client) -> bool {
        let outcome = match self.random.below(10) {
            0..5 => self.transfer(client),
            5..7 => self.increment(client),
            7 => self.read_sum(client),
            8 => self.read_twice(client),
            _ => self.read_counter(client),
        };
        match outcome {
            Ok(()) => true,
            Err(error) if can_go_on(&error) => self.timed("ROLLBACK", || client.execute("ROLLBACK")).is_ok(),
            Err(_) => false,
        }
    }

    fn note_error(&self, doing: &str, error: &Error) {
        let text = error.to_string();
        let node = self.shared.sql_nodes[self.place];
        if is_timeout(error) {
            self.shared.hangs.lock().unwrap_or_else(PoisonError::into_inner).push(format!("node {node}, {doing}"));
        }
        if !is_excused(error) {
            self.shared.violation(format!("node {node}, {doing}: an error that no fault explains: {text}"));
        }
        let mut errors = self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner);
        // Numbers differ; the kind of the error is what matters.
        errors.insert(format!("{doing}: {}", text.replace(|character: char| character.is_ascii_digit(), "#")));
    }

    /// Does something, and remembers it if it takes long.
    fn timed<T>(&self, what: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let (begun, second) = (Instant::now(), second_of_hour());
        let outcome = work();
        if begun.elapsed() >= SLOW {
            let node = self.shared.sql_nodes[self.place];
            let end = outcome.as_ref().err().map_or(String::new(), |error| format!(": {error}"));
            let text = format!("{second:.3} to {:.3}, node {node}: {what:.100}{end}", second_of_hour());
            self.shared.slow.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }
        outcome
    }

    fn note_commit(&self) {
        self.shared.committed.fetch_add(1, Ordering::Relaxed);
        self.shared.committed_at[self.place].fetch_add(1, Ordering::Relaxed);
        self.shared.outage.note_commit(self.place);
    }

    fn transfer(&mut self, client: &mut Client) -> Result<(), Error> {
        let accounts = self.shared.plan.accounts;
        let source = self.random.below(accounts);
        let target = (source + 1 + self.random.below(accounts - 1)) % accounts;
        let amount = 1 + self.random.below(AMOUNT_MAX) as i64;
        self.number += 1;
        let id = self.thread << 40 | self.number;
        let outcome = self.try_transfer(client, id, (source, target), amount);
        let (told, error) = match &outcome {
            Ok(()) => (Told::Committed, None),
            Err(failure) => (failure.told, Some(format!("{}: {}", failure.doing, failure.error))),
        };
        self.record.transfers.push(Transfer { id, source, target, amount, told, error });
        match outcome {
            Ok(()) => {
                self.note_commit();
                Ok(())
            }
            Err(failure) => {
                self.note_error(&format!("transfer, {}", failure.doing), &failure.error);
                Err(failure.error)
            }
        }
    }

    fn try_transfer(
        &mut self,
        client: &mut Client,
        id: u64,
        (source, target): (u64, u64),
        amount: i64,
    ) -> Result<(), Failure> {
        let renames = self.random.below(4) == 0;
        let locks_first = self.random.below(3) == 0;
        let in_order = self.random.below(4) != 0;
        let mut statements = vec!["BEGIN".to_string()];
        if locks_first {
            statements.push(format!("SELECT balance FROM accounts WHERE id IN ({source},{target}) FOR UPDATE"));
        }
        let new_name = match renames {
            true => {
                let name = tag(source, self.thread, self.number);
                self.record.tags.push(name.clone());
                format!(", tag='{name}'")
            }
            false => String::new(),
        };
        let mut updates = [
            format!("UPDATE accounts SET balance=balance-{amount}{new_name} WHERE id={source}"),
            format!("UPDATE accounts SET balance=balance+{amount} WHERE id={target}"),
        ];
        // Mostly in the order of the ids, else deadlocks are all there is.
        if in_order && source > target {
            updates.reverse();
        }
        statements.extend(updates);
        statements.push(format!("INSERT INTO journal VALUES ({id},{source},{target},{amount})"));
        for sql in &statements {
            let doing = sql.split(' ').next().unwrap_or_default();
            self.timed(sql, || client.run(sql)).map_err(|error| Failure {
                told: Told::NotCommitted,
                doing: doing.into(),
                error,
            })?;
        }
        self.timed("COMMIT", || client.execute("COMMIT")).map_err(|error| Failure {
            told: told_by(&error),
            doing: "COMMIT".into(),
            error,
        })?;
        Ok(())
    }

    fn increment(&mut self, client: &mut Client) -> Result<(), Error> {
        let id = self.random.below(self.shared.plan.counters);
        let counter = &self.shared.counters[id as usize];
        counter.possible.fetch_add(1, Ordering::SeqCst);
        let sql = format!("UPDATE counters SET n=n+1 WHERE id={id}");
        let outcome = self.timed(&sql, || client.execute(&sql));
        match outcome {
            Ok(done) => {
                if done.affected_rows != 1 {
                    self.shared.violation(format!("counter {id}: {} rows were affected", done.affected_rows));
                }
                counter.acknowledged.fetch_add(1, Ordering::SeqCst);
                self.note_commit();
                Ok(())
            }
            Err(error) => {
                if told_by(&error) == Told::NotCommitted {
                    counter.possible.fetch_sub(1, Ordering::SeqCst);
                }
                self.note_error("increment", &error);
                Err(error)
            }
        }
    }

    /// The newest value: not older than anything that was acknowledged before the read began.
    fn read_counter(&mut self, client: &mut Client) -> Result<(), Error> {
        let id = self.random.below(self.shared.plan.counters);
        let counter = &self.shared.counters[id as usize];
        let least = counter.acknowledged.load(Ordering::SeqCst);
        let found = self.number_of(client, &format!("SELECT n FROM counters WHERE id={id}"))? as u64;
        let most = counter.possible.load(Ordering::SeqCst);
        if found < least {
            let node = self.shared.sql_nodes[self.place];
            self.shared.violation(format!(
                "node {node}: counter {id} is read as {found} after {least} increments were acknowledged: a stale read"
            ));
        }
        // What failed for sure is taken back a moment after it failed, so the bound is never too low.
        if found > most {
            self.shared
                .violation(format!("counter {id} is read as {found}, but only {most} increments were tried"));
        }
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn read_sum(&mut self, client: &mut Client) -> Result<(), Error> {
        let level = ["READ COMMITTED", "REPEATABLE READ"][self.random.below(2) as usize];
        self.run(client, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
        self.judge_sum(client, level)?;
        self.run(client, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    }

    /// Two reads of one snapshot: the same sum, and the same rows.
    fn read_twice(&mut self, client: &mut Client) -> Result<(), Error> {
        self.run(client, "BEGIN")?;
        self.judge_sum(client, "a transaction's first read")?;
        let sql = "SELECT id, balance, tag FROM accounts ORDER BY id";
        let first = self.rows(client, sql)?;
        self.judge_sum(client, "a transaction's later read")?;
        let second = self.rows(client, sql)?;
        if first != second {
            self.shared.violation(format!("one snapshot, two answers: {first:?} and {second:?}"));
        }
        self.run(client, "COMMIT")
    }

    fn judge_sum(&mut self, client: &mut Client, how: &str) -> Result<(), Error> {
        let wanted = self.shared.plan.accounts as i64 * BALANCE;
        let sum = self.number_of(client, "SELECT SUM(balance) FROM accounts")?;
        if sum != wanted {
            let node = self.shared.sql_nodes[self.place];
            let looked = [0, 1].map(|_| self.compare_with_journal(client));
            self.shared.violation(format!(
                "node {node}, {how}: the balances add up to {sum}, not to {wanted}; beside the journal, and once more: \
                 {looked:#?}\n{}",
                self.shared.nodes.logs()
            ));
        }
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The accounts that have not what the journal says, and the newest transfers of theirs: in the transaction that has met
    /// the wrong sum, if it was one.
    fn compare_with_journal(&self, client: &mut Client) -> Result<Vec<String>, Error> {
        let split = |row: &String| row.split(',').map(|field| field.parse().unwrap_or(0)).collect::<Vec<i64>>();
        let accounts = self.rows(client, "SELECT id, balance FROM accounts ORDER BY id")?;
        let journal = self.rows(client, "SELECT source, target, amount, id FROM journal ORDER BY id")?;
        let journal: Vec<Vec<i64>> = journal.iter().map(split).collect();
        let mut found = Vec::new();
        for account in accounts.iter().map(split) {
            let of_account = || journal.iter().filter(|entry| entry[..2].contains(&account[0]));
            let change = |entry: &Vec<i64>| if entry[0] == account[0] { -entry[2] } else { entry[2] };
            let wanted = BALANCE + of_account().map(change).sum::<i64>();
            if account[1] != wanted {
                let newest: Vec<_> = of_account().rev().take(8).collect();
                found.push(format!("account {account:?}, by the journal {wanted}; {newest:?}"));
            }
        }
        Ok(found)
    }

    fn run(&self, client: &mut Client, sql: &str) -> Result<(), Error> {
        self.timed(sql, || client.run(sql)).map(|_| ()).inspect_err(|error| self.note_error(sql, error))
    }

    fn rows(&self, client: &mut Client, sql: &str) -> Result<Vec<String>, Error> {
        self.timed(sql, || client.text(sql)).inspect_err(|error| self.note_error(sql, error))
    }

    fn number_of(&self, client: &mut Client, sql: &str) -> Result<i64, Error> {
        let rows = self.rows(client, sql)?;
        let number = rows.first().and_then(|row| row.parse().ok());
        number.ok_or_else(|| {
            self.shared.violation(format!("{sql} returned {rows:?}"));
            Error::Protocol("no number".into())
        })
    }
}
