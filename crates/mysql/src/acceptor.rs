//! Who lets clients in: a thread that accepts their sockets, counts them against max_connections and hands them to the workers in turn.
//!
//! What a connection costs here is in every application that connects for each request: the system's calls are one to wait, one to
//! accept, one that makes the socket non-blocking and one that wakes a worker. Everything else that a socket needs it takes over from its listener.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use shoal_sql::frontend::Frontend;
use socket2::{SockRef, TcpKeepalive};
use tokio::sync::mpsc;

use crate::connection::{Admission, Peer};
use crate::constants::Capabilities;
use crate::packet::PacketWriter;
use crate::refusal::Refusal;

/// The host of clients on a loopback address or a Unix socket, as a reverse look-up would name it.
const LOCAL_HOST: &str = "localhost";
/// Pause of an acceptor that was refused a socket by the system (too many open files).
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Where the server listens.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Bound and listening. The acceptor's thread takes connections and hands them to the workers.
    pub tcp: Vec<TcpListener>,
    /// Unix sockets, as those in `tcp`.
    pub unix: Vec<UnixListener>,
    /// As those in `tcp`, for administrators alone; `max_connections` does not count here.
    pub administrative: Vec<TcpListener>,
}

/// Probes of silent connections; what is `None` is as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keepalive {
    /// How long a connection is silent before the first.
    pub time: Option<Duration>,
    /// Between two probes.
    pub interval: Option<Duration>,
    /// So many without an answer are the end.
    pub probes: Option<u32>,
}

impl Keepalive {
    fn apply(&self, socket: &SockRef<'_>) -> io::Result<()> {
        let mut options = TcpKeepalive::new();
        if let Some(time) = self.time {
            options = options.with_time(time);
        }
        if let Some(interval) = self.interval {
            options = options.with_interval(interval);
        }
        if let Some(probes) = self.probes {
            options = options.with_retries(probes);
        }
        socket.set_tcp_keepalive(&options)
    }
}

/// A socket that was just accepted.
pub enum AcceptedSocket {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// A client on its way to its worker.
pub struct Arrival<F: Frontend> {
    pub socket: AcceptedSocket,
    pub peer: Peer,
    pub admission: Admission<F>,
}

/// The running thread; it ends, and listens no more, when this is dropped.
pub struct Acceptor {
    /// Closed when it is to end.
    until: Option<UnixStream>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Acceptor {
    pub fn start<F: Frontend + Send + Sync>(
        frontend: &Arc<F>,
        workers: Vec<mpsc::UnboundedSender<Arrival<F>>>,
        listeners: Listeners,
        keepalive: Keepalive,
    ) -> io::Result<Acceptor> {
        let mut open = Vec::new();
        for (listeners, is_administrative) in [(listeners.tcp, false), (listeners.administrative, true)] {
            for listener in listeners {
                prepare(&listener, keepalive)?;
                open.push(Listener::Tcp { listener, is_administrative });
            }
        }
        for listener in listeners.unix {
            listener.set_nonblocking(true)?;
            open.push(Listener::Unix(listener));
        }
        let (until, end) = UnixStream::pair()?;
        let mut accepting = Accepting { frontend: Arc::clone(frontend), workers, turn: 0 };
        let thread =
            thread::Builder::new().name("mysql-accept".into()).spawn(move || accepting.run(&open, &end))?;
        Ok(Acceptor { until: Some(until), thread: Some(thread) })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.until = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Listener {
    Tcp { listener: TcpListener, is_administrative: bool },
    Unix(UnixListener),
}

struct Accepting<F: Frontend> {
    frontend: Arc<F>,
    workers: Vec<mpsc::UnboundedSender<Arrival<F>>>,
    /// The worker that gets the next one.
    turn: usize,
}

impl<F: Frontend> Accepting<F> {
    /// Until `end` is closed on its other side.
    fn run(&mut self, listeners: &[Listener], end: &UnixStream) {
        let sockets = listeners.iter().map(|listener| match listener {
            Listener::Tcp { listener, .. } => listener.as_fd(),
            Listener::Unix(listener) => listener.as_fd(),
        });
        let mut places: Vec<_> = [end.as_fd()]
            .into_iter()
            .chain(sockets)
            .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN))
            .collect();
        loop {
            if let Err(error) = poll(&mut places, None)
                && error != rustix::io::Errno::INTR
            {
                return tracing::error!("cannot wait for connections: {error}");
            }
            let [end, ready @ ..] = places.as_slice() else { return };
            if !end.revents().is_empty() {
                return;
            }
            let ready = listeners.iter().zip(ready).filter(|(_, place)| !place.revents().is_empty());
            for (listener, _) in ready {
                match self.accept(listener) {
                    Ok(()) => {}
                    // Gone before it was taken.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(_) => thread::sleep(ACCEPT_RETRY),
                }
            }
        }
    }

    fn accept(&mut self, listener: &Listener) -> io::Result<()> {
        match listener {
            Listener::Tcp { listener, is_administrative } => {
                let (socket, address) = listener.accept()?;
                socket.set_nonblocking(true)?;
                self.hand_over(AcceptedSocket::Tcp(socket), peer_at(address.ip()), *is_administrative);
            }
            Listener::Unix(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                self.hand_over(AcceptedSocket::Unix(socket), local_peer(None), false);
            }
        }
        Ok(())
    }

    fn hand_over(&mut self, socket: AcceptedSocket, peer: Peer, is_administrative: bool) {
        self.turn = (self.turn + 1) % self.workers.len();
        match Admission::new(&self.frontend, is_administrative) {
            Ok(admission) => {
                let _ = self.workers[self.turn].send(Arrival { socket, peer, admission });
            }
            Err(refusal) => refuse(&socket, &refusal),
        }
    }
}

fn peer_at(address: IpAddr) -> Peer {
    let address = address.to_canonical();
    match address.is_loopback() {
        true => local_peer(Some(address)),
        false => Peer { host: address.to_string(), address: Some(address), is_local: false },
    }
}

fn local_peer(address: Option<IpAddr>) -> Peer {
    Peer { host: LOCAL_HOST.to_owned(), address, is_local: true }
}

/// Gives a listener what its connections are to have: accepted sockets take these options over (tcp(7), socket(7)).
fn prepare(listener: &TcpListener, keepalive: Keepalive) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = SockRef::from(listener);
    listener.set_tcp_nodelay(true)?;
    keepalive.apply(&listener)
}

/// Tells a client in place of the greeting why it is not let in. The few bytes always fit a fresh socket's buffer.
fn refuse(socket: &AcceptedSocket, refusal: &Refusal) {
    let mut output = PacketWriter::default();
    refusal.write(Capabilities::default(), &mut output);
    let _ = match socket {
        AcceptedSocket::Tcp(socket) => SockRef::from(socket).send(output.unsent()),
        AcceptedSocket::Unix(socket) => SockRef::from(socket).send(output.unsent()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keepalive_is_as_the_system_has_it_but_for_what_is_given() {
        let connect = |keepalive: Keepalive| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            prepare(&listener, keepalive).unwrap();
            let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            // The client is there already.
            listener.accept().unwrap().0
        };
        let default = connect(Keepalive::default());
        let second = Duration::from_secs(1);
        let given = connect(Keepalive { time: Some(second * 7), interval: None, probes: Some(3) });
        assert!(default.nodelay().unwrap() && given.nodelay().unwrap());
        let (default, given) = (SockRef::from(&default), SockRef::from(&given));
        assert!(default.keepalive().unwrap() && given.keepalive().unwrap());
        assert_eq!(given.tcp_keepalive_time().unwrap(), second * 7);
        assert_eq!(given.tcp_keepalive_retries().unwrap(), 3);
        assert_eq!(given.tcp_keepalive_interval().unwrap(), default.tcp_keepalive_interval().unwrap());
    }
}
