//! The canned-answer responder: the MySQL protocol with fixed replies and no database behind it.
//!
//! What it is for: it shows how fast the *client* can go. A server that does all the work of a database
//! can at best approach the throughput measured against this one, so the benchmark reports Shoal's share of it.
//!
//! How it works: an acceptor greets each connection and hands it to one of two workers, round-robin. A worker
//! waits in epoll, takes what one `recv` gives, and answers it with one `send`. Replies are built once at start;
//! the steady state allocates nothing.
//!
//! What it does not do: check a password, remember a statement's text, or understand SQL beyond "does it start
//! with SELECT". Every SELECT has one row with one column `c`, shaped like sysbench's `oltp_point_select`.

mod connection;
mod protocol;

pub use connection::Connection;
pub use protocol::Replies;

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::measure::poll::Poll;
use connection::Progress;

/// Workers that answer queries; the acceptor sleeps in `accept` and does not count.
const WORKERS: usize = 2;

/// Listens on `port` (0 means any free one), prints the ready line and serves until the process ends.
pub fn serve(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("canned is ready: mysql {}", listener.local_addr()?);
    io::stdout().flush()?;
    serve_on(listener)
}

pub(crate) fn serve_on(listener: TcpListener) -> io::Result<()> {
    let replies = Arc::new(Replies::new());
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let poll = Arc::new(Poll::new()?);
        let (sender, receiver) = channel();
        let worker = Worker {
            poll: Arc::clone(&poll),
            arrivals: receiver,
            connections: Vec::new(),
            replies: Arc::clone(&replies),
        };
        thread::Builder::new().name("canned".into()).spawn(move || worker.run())?;
        workers.push((sender, poll));
    }
    for (number, stream) in listener.incoming().enumerate() {
        // A connection that fails while it is being greeted concerns nobody else.
        let _ = stream.and_then(|stream| greet(stream, &workers[number % WORKERS]));
    }
    Ok(())
}

fn greet(mut stream: TcpStream, worker: &(Sender<TcpStream>, Arc<Poll>)) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&protocol::greeting())?;
    stream.set_nonblocking(true)?;
    let descriptor = stream.as_raw_fd();
    // The stream is in the channel before the first event can fire, so the worker always finds it there.
    let (sender, poll) = worker;
    if sender.send(stream).is_ok() {
        poll.watch(descriptor)?;
    }
    Ok(())
}

struct Worker {
    poll: Arc<Poll>,
    arrivals: Receiver<TcpStream>,
    /// Indexed by file descriptor.
    connections: Vec<Option<Connection>>,
    replies: Arc<Replies>,
}

impl Worker {
    fn run(mut self) {
        let mut ready = Vec::with_capacity(256);
        while self.poll.wait(&mut ready, None).is_ok() {
            for &descriptor in &ready {
                self.serve(descriptor);
            }
        }
    }

    fn serve(&mut self, descriptor: usize) {
        if self.slot(descriptor).is_none() {
            self.take_arrivals();
        }
        let replies = Arc::clone(&self.replies);
        let Some(connection) = self.slot(descriptor) else {
            return;
        };
        let progress = connection.serve(&replies);
        if matches!(progress, Err(_) | Ok(Progress::Closed)) {
            self.connections[descriptor] = None;
        }
    }

    fn slot(&mut self, descriptor: usize) -> &mut Option<Connection> {
        if descriptor >= self.connections.len() {
            self.connections.resize_with(descriptor + 1, || None);
        }
        &mut self.connections[descriptor]
    }

    fn take_arrivals(&mut self) {
        while let Ok(stream) = self.arrivals.try_recv() {
            let descriptor = stream.as_raw_fd() as usize;
            *self.slot(descriptor) = Some(Connection::new(stream));
        }
    }
}

#[cfg(test)]
mod tests;
