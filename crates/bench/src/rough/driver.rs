//! Many connections on one thread: what a client costs must not hide what a server does.
//!
//! Every connection has a [`Script`] that gives its next statement when the last one is answered. One epoll loop serves
//! them all; a statement costs the client one send and one receive. Of results only the number of rows and the first
//! value are kept. An *event* is what a script calls one: a statement, or all of a transaction.
//!
//! What it does not do: connect anew, or talk the binary protocol.

mod connection;
mod tally;

pub use connection::Answer;
pub use tally::Tally;

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::measure::interrupt;
use crate::measure::poll::Poll;
use shoal_testkit::Client;
use shoal_testkit::client::Login;

use connection::Connection;

/// How long the loop sleeps at most before it looks at the time.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a connection does.
pub trait Script: Send {
    /// Writes the next statement. `last`: what the one before it was answered with, if this is not the first.
    fn next(&mut self, last: Option<&Answer>, statement: &mut String) -> Next;
}

/// What a statement is to its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An event of its own.
    Event,
    /// The first statement of an event.
    Begin,
    /// One in the middle.
    Middle,
    /// The last one of an event.
    End,
    /// Not part of an event, like a ROLLBACK after an error.
    Apart,
    /// No statement was written: the script is through.
    Done,
}

/// A script of one statement that is repeated.
pub struct Repeat(pub String);

impl Script for Repeat {
    fn next(&mut self, _: Option<&Answer>, statement: &mut String) -> Next {
        statement.push_str(&self.0);
        Next::Event
    }
}

/// A script out of a closure.
impl<F: FnMut(Option<&Answer>, &mut String) -> Next + Send> Script for F {
    fn next(&mut self, last: Option<&Answer>, statement: &mut String) -> Next {
        self(last, statement)
    }
}

/// When the work ends.
#[derive(Clone)]
pub struct Until {
    /// Events before this are not counted.
    pub warm_up: Duration,
    pub time: Duration,
    /// Ends it before its time.
    pub stop: Arc<AtomicBool>,
    /// No answer within this time means that the server hangs.
    pub patience: Duration,
}

impl Until {
    pub fn time(warm_up: Duration, time: Duration) -> Until {
        Until { warm_up, time, stop: Arc::default(), patience: Duration::from_secs(60) }
    }

    /// For as long as nobody says `stop`.
    pub fn stopped(stop: &Arc<AtomicBool>) -> Until {
        let (warm_up, day) = (Duration::ZERO, Duration::from_secs(24 * 3600));
        Until { warm_up, time: day, stop: Arc::clone(stop), patience: Duration::from_secs(300) }
    }
}

/// Connected sessions that wait for the start.
pub struct Driver {
    connections: Vec<Connection>,
    poll: Poll,
}

impl Driver {
    /// One connection for every script.
    pub fn connect(port: u16, database: &str, scripts: Vec<Box<dyn Script>>) -> io::Result<Driver> {
        let poll = Poll::new()?;
        let login = Login { database: database.into(), ..Login::default() };
        let mut connections: Vec<Connection> = Vec::with_capacity(scripts.len());
        for script in scripts {
            let client = Client::log_in(port, &login).map_err(io::Error::other)?;
            connections.push(Connection::new(client.into_stream(), script)?);
        }
        for connection in &connections {
            poll.watch(connection.stream.as_raw_fd())?;
        }
        Ok(Driver { connections, poll })
    }

    /// Runs all scripts and returns what they reached. A connection that breaks or is not answered is an error.
    pub fn run(mut self, until: &Until) -> io::Result<Tally> {
        let started = Instant::now();
        let mut tally = Tally::new(started + until.warm_up);
        let by_descriptor = self.by_descriptor();
        let end = started + until.warm_up + until.time;
        for connection in &mut self.connections {
            connection.go_on(false, started, &mut tally)?;
        }
        let mut ready = Vec::with_capacity(256);
        let mut is_ending = false;
        let mut answered = started;
        loop {
            self.poll.wait(&mut ready, Some(LOOK_EVERY))?;
            let now = Instant::now();
            if !is_ending && (now >= end || until.stop.load(Ordering::Relaxed) || interrupt::requested()) {
                is_ending = true;
                tally.end(now.min(end));
            }
            for &descriptor in &ready {
                let connection = &mut self.connections[by_descriptor[descriptor]];
                connection.receive(is_ending, &mut tally)?;
                answered = now;
            }
            let open = self.connections.iter().filter(|connection| connection.is_waiting()).count();
            if open == 0 {
                break;
            }
            if now.duration_since(answered) > until.patience {
                let error = format!("{open} sessions were not answered within {:?}", until.patience);
                return Err(io::Error::other(error));
            }
        }
        tally.end(Instant::now());
        Ok(tally)
    }

    fn by_descriptor(&self) -> Vec<usize> {
        let most = self.connections.iter().map(|connection| connection.stream.as_raw_fd()).max();
        let mut places = vec![0; most.map_or(0, |most| most as usize + 1)];
        for (place, connection) in self.connections.iter().enumerate() {
            places[connection.stream.as_raw_fd() as usize] = place;
        }
        places
    }
}

#[cfg(test)]
mod tests;
