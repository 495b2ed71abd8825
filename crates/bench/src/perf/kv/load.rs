//! The client: connections that each send a batch of requests, wait for all replies, and send the next.
//!
//! One thread for one connection, two for more, each with its own epoll. All replies of a door have one length, which the first
//! request of every connection finds out; one that has another length ends the run as a failure, because its batch never ends.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::latency::Latencies;
use crate::measure::poll::Poll;

use super::door::{self, Door, FIRST_KEY, Opened};

/// Of the client.
pub const THREADS: usize = 2;
const READ_BYTES: usize = 256 << 10;
/// A batch that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// A reply is complete when nothing more comes for so long.
const SILENCE: Duration = Duration::from_millis(60);
/// Rows that one connection may insert in one run.
const INSERTS_MAX: u32 = 1_000_000;
const CONNECTIONS_MAX: u32 = 64;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub door: Door,
    pub port: u16,
    pub secret: Option<&'static str>,
    pub connections: usize,
    /// Requests that a connection sends at once.
    pub depth: usize,
    pub rows: u32,
    pub time: Duration,
    /// Makes the values, and the keys of inserts, of this run unlike those of others.
    pub generation: u32,
}

/// What was done. Latencies are those of whole batches.
#[derive(Clone, Debug)]
pub struct Figures {
    pub operations: u64,
    pub took: Duration,
    pub latencies: Latencies,
}

impl Figures {
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.took.as_secs_f64()
    }

    /// Those of two parts of one run.
    pub fn and(mut self, other: Figures) -> Figures {
        self.operations += other.operations;
        self.took = self.took.max(other.took);
        self.latencies.add(&other.latencies);
        self
    }
}

struct Connection {
    opened: Opened,
    reply_bytes: usize,
    awaited_bytes: usize,
    sent_at: Instant,
    keys: Keys,
}

/// Keys at random, or the next ones that are not there yet.
pub struct Keys {
    state: u64,
    rows: u32,
    next: Option<u32>,
}

impl Keys {
    /// Of the connection with this number.
    pub fn new(job: &Job, number: usize) -> Keys {
        let seed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(job.generation);
        // Every connection of every run inserts rows of its own.
        let next = job.door.inserts().then(|| {
            let block = job.generation * CONNECTIONS_MAX + number as u32;
            2 * FIRST_KEY + block * INSERTS_MAX
        });
        Keys { state: seed, rows: job.rows, next }
    }

    pub fn next(&mut self) -> u32 {
        if let Some(next) = &mut self.next {
            *next += 1;
            return *next;
        }
        // Xorshift: quick, and good enough to miss no row.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        FIRST_KEY + (self.state >> 33) as u32 % self.rows
    }
}

/// Runs a job.
///
/// # Errors
/// A connection fails, or a reply is not what it should be.
pub fn run(job: &Job) -> io::Result<Figures> {
    let threads = job.connections.min(THREADS);
    let barrier = Barrier::new(threads);
    let shares: Vec<Vec<Connection>> = (0..threads)
        .map(|thread| (thread..job.connections).step_by(threads).map(|number| connect(job, number)).collect())
        .collect::<io::Result<_>>()?;
    let results = thread::scope(|scope| {
        let barrier = &barrier;
        let run = |share| scope.spawn(move || drive(job, share, barrier));
        let handles: Vec<_> = shares.into_iter().map(run).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, io::Result<Figures>>| match handle.join() {
            Ok(result) => result,
            Err(_) => Err(io::Error::other("a client thread panicked")),
        };
        handles.into_iter().map(join).collect::<io::Result<Vec<Figures>>>()
    })?;
    results.into_iter().reduce(Figures::and).ok_or_else(|| io::Error::other("no connections"))
}

fn connect(job: &Job, number: usize) -> io::Result<Connection> {
    let opened = job.door.open(job.port, job.secret)?;
    let keys = Keys::new(job, number);
    let mut connection = Connection { opened, reply_bytes: 0, awaited_bytes: 0, sent_at: Instant::now(), keys };
    connection.learn_reply(job)?;
    Ok(connection)
}

impl Connection {
    /// Asks once, to know how long replies are, and looks at the answer.
    fn learn_reply(&mut self, job: &Job) -> io::Result<()> {
        let key = self.keys.next();
        let mut request = Vec::new();
        self.opened.append(job.door, key, job.generation, &mut request);
        self.opened.stream.write_all(&request)?;
        let mut reply = vec![0; READ_BYTES];
        let mut length = 0;
        self.opened.stream.set_read_timeout(Some(PATIENCE))?;
        loop {
            match self.opened.stream.read(&mut reply[length..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => length += bytes,
                Err(error) if length > 0 && is_timeout(&error) => break,
                Err(error) => return Err(error),
            }
            self.opened.stream.set_read_timeout(Some(SILENCE))?;
        }
        self.opened.stream.set_read_timeout(Some(PATIENCE))?;
        self.reply_bytes = length;
        let shown = String::from_utf8_lossy(&reply[..length]).into_owned();
        let is_right = match job.door {
            Door::Echo => reply[..length] == request,
            Door::HandlerSocketUpdate => reply[..length] == *b"0\t1\t1\n",
            Door::HandlerSocketInsert => reply[..length] == *b"0\t1\n",
            door => {
                debug_assert!(door.tells_value());
                reply[..length].windows(door::VALUE_BYTES).any(|part| is_value_of(key, job, part))
            }
        };
        if is_right { Ok(()) } else { Err(io::Error::other(format!("the reply for key {key} is {shown:?}"))) }
    }

    fn send(&mut self, job: &Job, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.clear();
        for _ in 0..job.depth {
            let key = self.keys.next();
            self.opened.append(job.door, key, job.generation, buffer);
        }
        self.awaited_bytes = self.reply_bytes * job.depth;
        self.sent_at = Instant::now();
        // Before a batch everything has been answered, so the socket's buffers are empty, and larger than a batch.
        self.opened.stream.write_all(buffer)
    }

    /// Takes what has come. True: the batch is complete.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let bytes = match self.opened.stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        self.awaited_bytes = self.awaited_bytes.checked_sub(bytes).ok_or_else(|| {
            let text = String::from_utf8_lossy(&buffer[..bytes.min(200)]).into_owned();
            io::Error::other(format!("a reply is longer than {} bytes: {text:?}", self.reply_bytes))
        })?;
        Ok(self.awaited_bytes == 0)
    }
}

/// Rows that updates of other runs have changed have values of some generation.
pub fn is_value_of(key: u32, job: &Job, part: &[u8]) -> bool {
    let mut value = Vec::new();
    (0..=job.generation).any(|generation| {
        value.clear();
        door::append_value(key, generation, &mut value);
        value == part
    })
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// One thread's share.
fn drive(job: &Job, mut share: Vec<Connection>, barrier: &Barrier) -> io::Result<Figures> {
    let mut latencies = Latencies::default();
    let mut requests = Vec::with_capacity(READ_BYTES);
    let mut replies = vec![0; READ_BYTES];
    let poll = Poll::new()?;
    let is_alone = share.len() == 1;
    let mut by_descriptor = Vec::new();
    for (number, connection) in share.iter().enumerate() {
        connection.opened.stream.set_nonblocking(!is_alone)?;
        let descriptor = connection.opened.stream.as_raw_fd();
        poll.watch(descriptor)?;
        by_descriptor.resize(by_descriptor.len().max(descriptor as usize + 1), usize::MAX);
        by_descriptor[descriptor as usize] = number;
    }
    barrier.wait();
    let start = Instant::now();
    let end = start + job.time;
    let mut operations = 0;
    for connection in &mut share {
        connection.send(job, &mut requests)?;
    }
    let (mut running, mut ready) = (share.len(), Vec::new());
    while running > 0 {
        if !is_alone {
            poll.wait(&mut ready, Some(PATIENCE))?;
            if ready.is_empty() {
                return Err(io::Error::other(format!("a batch was not answered within {PATIENCE:?}")));
            }
        } else {
            ready.clear();
            ready.push(share[0].opened.stream.as_raw_fd() as usize);
        }
        for &descriptor in &ready {
            let connection = &mut share[by_descriptor[descriptor]];
            if !connection.receive(&mut replies)? {
                continue;
            }
            let now = Instant::now();
            latencies.record(now - connection.sent_at);
            operations += job.depth as u64;
            if now >= end {
                running -= 1;
            } else {
                connection.send(job, &mut requests)?;
            }
        }
    }
    Ok(Figures { operations, took: start.elapsed(), latencies })
}
