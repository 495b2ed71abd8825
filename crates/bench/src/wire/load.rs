//! What the sessions of a load do: the transactions of sysbench's scripts, by statements of the text protocol.

use std::fmt::Write as _;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{Answer, Connection, Target};
use crate::measure::interrupt;
use crate::measure::latency::Latencies;

/// Of a statement over a range, as in sysbench.
const RANGE_ROWS: u64 = 100;
const POINT_SELECTS: u32 = 10;
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// oltp_read_only: ten rows by key, four statements over 100 rows each, in a transaction.
    ReadOnly,
    /// 100 rows by one statement.
    Range,
    /// oltp_write_only: two updates, a delete and an insert in a transaction.
    Write,
    /// Connects, asks one question, and goes.
    Connect,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::ReadOnly => "read-only",
            Kind::Range => "range",
            Kind::Write => "write",
            Kind::Connect => "connect",
        }
    }
}

/// What all sessions reached together.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Transactions, statements over ranges, or connections.
    pub events: u64,
    /// Statements that were refused, as writers of the same row can be.
    pub refused: u64,
    /// Connections that went on with a session of TLS.
    pub resumed: u64,
    pub received_bytes: u64,
    pub seconds: f64,
    pub latencies: Latencies,
}

/// One session's source of chance.
struct Chance(u64);

impl Chance {
    fn new(session: u64) -> Chance {
        Chance((session + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }

    /// Groups of eleven digits, as sysbench fills its columns.
    fn digits(&mut self, groups: u32, text: &mut String) {
        for group in 0..groups {
            let dash = if group == 0 { "" } else { "-" };
            let _ = write!(text, "{dash}{:011}", self.below(100_000_000_000));
        }
    }
}

/// One session of a load: `rows` of the table `sbtest1`.
struct Session {
    connection: Connection,
    chance: Chance,
    rows: u64,
    sql: String,
    refused: u64,
}

impl Session {
    /// `false`: the server refused it.
    fn run(&mut self) -> io::Result<bool> {
        let is_done = !matches!(self.connection.query(&self.sql)?, Answer::Refused(_));
        self.refused += u64::from(!is_done);
        self.sql.clear();
        Ok(is_done)
    }

    fn say(&mut self, sql: &str) -> io::Result<bool> {
        self.sql.push_str(sql);
        self.run()
    }

    fn range(&mut self, before: &str, after: &str) -> io::Result<bool> {
        let from = 1 + self.chance.below(self.rows);
        let to = from + RANGE_ROWS - 1;
        let _ = write!(self.sql, "SELECT {before} FROM sbtest1 WHERE id BETWEEN {from} AND {to}{after}");
        self.run()
    }

    /// `false`: a statement was refused, and the transaction is rolled back.
    fn read_only(&mut self) -> io::Result<bool> {
        let mut is_done = self.say("BEGIN")?;
        for _ in 0..POINT_SELECTS {
            let id = 1 + self.chance.below(self.rows);
            let _ = write!(self.sql, "SELECT c FROM sbtest1 WHERE id={id}");
            is_done &= self.run()?;
        }
        is_done &= self.range("c", "")?;
        is_done &= self.range("SUM(k)", "")?;
        is_done &= self.range("c", " ORDER BY c")?;
        is_done &= self.range("DISTINCT c", " ORDER BY c")?;
        Ok(self.say("COMMIT")? && is_done)
    }

    fn write(&mut self) -> io::Result<bool> {
        if !self.say("BEGIN")? || !self.changes()? {
            self.say("ROLLBACK")?;
            return Ok(false);
        }
        self.say("COMMIT")
    }

    fn changes(&mut self) -> io::Result<bool> {
        let id = 1 + self.chance.below(self.rows);
        let _ = write!(self.sql, "UPDATE sbtest1 SET k=k+1 WHERE id={id}");
        if !self.run()? {
            return Ok(false);
        }
        self.sql.push_str("UPDATE sbtest1 SET c='");
        self.chance.digits(10, &mut self.sql);
        let id = 1 + self.chance.below(self.rows);
        let _ = write!(self.sql, "' WHERE id={id}");
        if !self.run()? {
            return Ok(false);
        }
        let id = 1 + self.chance.below(self.rows);
        let _ = write!(self.sql, "DELETE FROM sbtest1 WHERE id={id}");
        if !self.run()? {
            return Ok(false);
        }
        let _ = write!(self.sql, "INSERT INTO sbtest1 (id, k, c, pad) VALUES ({id}, {}, '", 1 + id / 2);
        self.chance.digits(10, &mut self.sql);
        self.sql.push_str("', '");
        self.chance.digits(5, &mut self.sql);
        self.sql.push_str("')");
        self.run()
    }
}

/// When sessions begin, and when they are to end.
struct Signals {
    start: Barrier,
    is_over: AtomicBool,
}

/// Runs `threads` sessions for `time`; they are connected before that begins.
pub fn run(target: &Target, kind: Kind, threads: usize, rows: u64, time: Duration) -> io::Result<Figures> {
    let is_lasting = kind != Kind::Connect;
    let sessions = (0..threads).map(|_| is_lasting.then(|| Connection::open(target)).transpose());
    let sessions = sessions.collect::<io::Result<Vec<_>>>()?;
    let signals = Signals { start: Barrier::new(threads + 1), is_over: AtomicBool::new(false) };
    thread::scope(|scope| {
        let signals = &signals;
        let handles = sessions.into_iter().enumerate().map(|(number, connection)| {
            scope.spawn(move || {
                signals.start.wait();
                let mut figures = Figures::default();
                let ran = match connection {
                    Some(connection) => repeat(connection, kind, number as u64, rows, signals, &mut figures),
                    None => connect(target, signals, &mut figures),
                };
                ran.map(|()| figures)
            })
        });
        let handles: Vec<_> = handles.collect();
        signals.start.wait();
        let started = Instant::now();
        while started.elapsed() < time && !interrupt::requested() {
            thread::sleep(LOOK_EVERY.min(time));
        }
        signals.is_over.store(true, Ordering::Relaxed);
        let mut all = Figures { seconds: started.elapsed().as_secs_f64(), ..Figures::default() };
        for handle in handles {
            all.add(&handle.join().map_err(|_| io::Error::other("a session has panicked"))??);
        }
        Ok(all)
    })
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.events += other.events;
        self.refused += other.refused;
        self.resumed += other.resumed;
        self.received_bytes += other.received_bytes;
        self.latencies.add(&other.latencies);
    }
}

fn repeat(
    connection: Connection,
    kind: Kind,
    number: u64,
    rows: u64,
    signals: &Signals,
    figures: &mut Figures,
) -> io::Result<()> {
    let before = connection.received();
    let chance = Chance::new(number);
    let mut session = Session { connection, chance, rows, sql: String::new(), refused: 0 };
    loop {
        let began = Instant::now();
        let is_done = match kind {
            Kind::ReadOnly => session.read_only()?,
            Kind::Range | Kind::Connect => session.range("c", "")?,
            Kind::Write => session.write()?,
        };
        // What ends after the time does not count.
        if signals.is_over.load(Ordering::Relaxed) {
            break;
        }
        figures.events += u64::from(is_done);
        figures.latencies.record(began.elapsed());
    }
    figures.refused = session.refused;
    figures.received_bytes = session.connection.received() - before;
    session.connection.quit()
}

fn connect(target: &Target, signals: &Signals, figures: &mut Figures) -> io::Result<()> {
    while !signals.is_over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let mut connection = Connection::open(target)?;
        let answer = connection.query("SELECT 1")?;
        if answer != Answer::Rows(1) {
            return Err(io::Error::other(format!("SELECT 1 was answered with {answer:?}")));
        }
        figures.resumed += u64::from(connection.is_resumed());
        connection.quit()?;
        figures.events += 1;
        figures.latencies.record(began.elapsed());
    }
    Ok(())
}
