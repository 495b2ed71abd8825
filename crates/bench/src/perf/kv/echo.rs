//! A server that sends back what it gets, with two threads in epoll: what sockets alone cost.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::measure::poll::Poll;

const WORKERS: usize = 2;
const READ_BYTES: usize = 64 << 10;

/// Listens on `port` (0 means any free one), prints the ready line and serves until the process ends.
pub fn serve(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("echo is ready: mysql {}", listener.local_addr()?);
    io::stdout().flush()?;
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let poll = Arc::new(Poll::new()?);
        let (sender, arrivals) = channel();
        let worker = Worker { poll: Arc::clone(&poll), arrivals: Mutex::new(arrivals), connections: Vec::new() };
        thread::Builder::new().name("echo".into()).spawn(move || worker.run())?;
        workers.push((sender, poll));
    }
    for (number, stream) in listener.incoming().enumerate() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let descriptor = stream.as_raw_fd();
        let (sender, poll) = &workers[number % WORKERS];
        // In the channel before the first event can fire, so the worker always finds it there.
        if sender.send(stream).is_ok() {
            poll.watch(descriptor)?;
        }
    }
    Ok(())
}

struct Worker {
    poll: Arc<Poll>,
    arrivals: Mutex<Receiver<TcpStream>>,
    /// Indexed by file descriptor.
    connections: Vec<Option<TcpStream>>,
}

impl Worker {
    fn run(mut self) {
        let mut ready = Vec::with_capacity(256);
        let mut buffer = vec![0; READ_BYTES];
        while self.poll.wait(&mut ready, None).is_ok() {
            for &descriptor in &ready {
                self.serve(descriptor, &mut buffer);
            }
        }
    }

    fn serve(&mut self, descriptor: usize, buffer: &mut [u8]) {
        if self.connections.get(descriptor).is_none_or(Option::is_none) {
            let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            while let Ok(stream) = arrivals.try_recv() {
                let number = stream.as_raw_fd() as usize;
                if number >= self.connections.len() {
                    self.connections.resize_with(number + 1, || None);
                }
                self.connections[number] = Some(stream);
            }
        }
        let Some(stream) = self.connections.get_mut(descriptor).and_then(Option::as_mut) else { return };
        let is_over = match stream.read(buffer) {
            Ok(0) => true,
            // A client that does not read what it sent is no client of a benchmark.
            Ok(bytes) => stream.write_all(&buffer[..bytes]).is_err(),
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        };
        if is_over {
            self.connections[descriptor] = None;
        }
    }
}
