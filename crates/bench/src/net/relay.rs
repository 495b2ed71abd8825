//! A line of a chosen bandwidth in user space, where the kernel makes none: bytes between clients and a server are handed on no faster than it
//! carries, each direction for itself. Its clients are on the server's machine, and that is what the server sees.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const CHUNK_BYTES: usize = 16 << 10;
/// What may pass at once after a pause.
const BURST: Duration = Duration::from_millis(1);

/// One direction of the line.
struct Direction {
    megabits: Arc<AtomicU32>,
    /// When what was sent so far will have passed.
    free_at: Mutex<Instant>,
}

impl Direction {
    fn new(megabits: &Arc<AtomicU32>) -> Direction {
        Direction { megabits: Arc::clone(megabits), free_at: Mutex::new(Instant::now()) }
    }

    /// Waits until so many bytes have passed.
    fn pass(&self, bytes: usize) {
        let megabits = u64::from(self.megabits.load(Ordering::Relaxed).max(1));
        let takes = Duration::from_nanos(bytes as u64 * 8 * 1000 / megabits);
        let now = Instant::now();
        let until = {
            let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            *free_at = (*free_at).max(now - BURST) + takes;
            *free_at
        };
        thread::sleep(until.saturating_duration_since(now));
    }

    fn hand_on(&self, mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
        let mut bytes = vec![0; CHUNK_BYTES];
        loop {
            match from.read(&mut bytes)? {
                0 => return to.shutdown(Shutdown::Write),
                count => {
                    self.pass(count);
                    to.write_all(&bytes[..count])?;
                }
            }
        }
    }
}

/// In front of one server, until it is dropped.
pub struct Relay {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    /// `megabits` may change at any time.
    pub fn to(server: u16, megabits: &Arc<AtomicU32>) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let directions = Arc::new([Direction::new(megabits), Direction::new(megabits)]);
        let relay = Relay { address, is_over: Arc::clone(&is_over) };
        thread::spawn(move || {
            for client in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                // A connection that cannot be had ends, as it would without a relay.
                let _ = client.and_then(|client| connect(client, server, &directions));
            }
        });
        Ok(relay)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It waits for somebody.
        let _ = TcpStream::connect(self.address);
    }
}

fn connect(client: TcpStream, server: u16, directions: &Arc<[Direction; 2]>) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    for (place, from, to) in
        [(0, client.try_clone()?, server.try_clone()?), (1, server.try_clone()?, client.try_clone()?)]
    {
        let directions = Arc::clone(directions);
        thread::spawn(move || {
            let others = (from.try_clone(), to.try_clone());
            if directions[place].hand_on(from, to).is_err()
                && let (Ok(from), Ok(to)) = others
            {
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Both);
            }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_no_faster_than_the_line_carries() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let relay = Relay::to(port, &Arc::new(AtomicU32::new(100))).unwrap();
        let client = thread::spawn(move || {
            let mut received = Vec::new();
            TcpStream::connect(("127.0.0.1", relay.port())).unwrap().read_to_end(&mut received).unwrap();
            received.len()
        });
        let (mut stream, _) = listener.accept().unwrap();
        let began = Instant::now();
        stream.write_all(&vec![7; 2_500_000]).unwrap();
        drop(stream);
        assert_eq!(client.join().unwrap(), 2_500_000);
        // 20 megabits at 100 a second.
        assert!(began.elapsed() > Duration::from_millis(190), "{:?}", began.elapsed());
    }
}
