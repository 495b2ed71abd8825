//! Links come up: dialling, accepting, and asking whether a process that went away is dead.

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixListener};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use crate::frame::Class;
use crate::handshake::{Established, HandshakeError, read_frame, refuse};
use crate::hello::{CLIENT, Hello};
use crate::input::Input;
use crate::peer::Peer;
use crate::socket::{Socket, Transporter, connect_unix, unix_address};
use crate::tls::ignore_rest;
use crate::transport::{Arrival, Transport};

/// The first pause after a link broke or an attempt failed; each one after is twice as long. A process that is killed
/// closes its links and its listener within this time, so the second attempt mostly finds out that it is dead.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// Sockets that have not said hello yet; more are closed.
const STRANGERS_MAX: usize = 256;
/// Pause of the acceptor when the system has no socket for it (too many open files).
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

struct Pause {
    next: Duration,
    max: Duration,
}

impl Pause {
    fn new(max: Duration) -> Pause {
        Pause { next: PAUSE_MIN, max }
    }

    async fn wait(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(self.max);
    }

    fn reset(&mut self) {
        self.next = PAUSE_MIN;
    }
}

impl Transport {
    /// Serves a link that is up until it closes.
    async fn serve(&self, established: Established) {
        let handler = Arc::clone(&self.handler);
        established.link.serve(handler, established.socket, established.input).await;
    }

    /// Keeps one lane to a peer up.
    pub(crate) async fn keep_dialled(self: Arc<Self>, peer: Arc<Peer>, lane: u16) {
        let mut pause = Pause::new(self.options.redial_pause_max);
        loop {
            peer.unblocked().await;
            while let Some(left) = peer.cut_off_left() {
                sleep(left).await;
            }
            let changes = peer.change_count();
            match self.dial(&peer, lane).await {
                Ok(established) => {
                    pause.reset();
                    let link = Arc::clone(&established.link);
                    self.serve(established).await;
                    if link.transporter() == Transporter::SharedMemory && !link.has_received() {
                        peer.refuse_memory(link.incarnation);
                    }
                    // The first attempt after a break comes at once.
                    continue;
                }
                Err(HandshakeError::Refused(reason)) => peer.was_refused(&reason),
                Err(HandshakeError::KeptAway(reason)) => peer.was_kept_away(&reason),
                Err(HandshakeError::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    if self.refusal_is_proof(&peer).await {
                        peer.is_proven_dead(changes);
                    }
                }
                // Untrusted are sides that dial.
                Err(HandshakeError::Io(_) | HandshakeError::Untrusted { .. }) => {}
            }
            peer.deliver(&*self.handler);
            pause.wait().await;
        }
    }

    async fn dial(&self, peer: &Arc<Peer>, lane: u16) -> Result<Established, HandshakeError> {
        let socket = Socket::tcp(self.connect(peer).await?)?;
        let better = self.better_socket(&socket).await;
        let greeted = async {
            let socket = match (better, socket) {
                (None, Socket::Tcp(socket)) => self.encrypt(peer, socket).await?,
                (better, socket) => better.unwrap_or(socket),
            };
            self.greet(peer, lane, socket).await
        };
        match timeout(self.options.handshake_timeout, greeted).await {
            Ok(result) => result,
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    pub(crate) async fn connect(&self, peer: &Peer) -> io::Result<TcpStream> {
        let Some(address) = &peer.address else { return Err(io::ErrorKind::AddrNotAvailable.into()) };
        timeout(self.options.connect_timeout, TcpStream::connect(address)).await?
    }

    /// A Unix socket to where a TCP socket leads, if that is on this host.
    pub(crate) async fn better_socket(&self, socket: &Socket) -> Option<Socket> {
        let socket = socket.as_tcp()?;
        let there = socket.peer_addr().ok()?;
        let is_here = there.ip() == socket.local_addr().ok()?.ip();
        if !is_here || self.options.transporter == Transporter::Tcp {
            return None;
        }
        timeout(self.options.connect_timeout, connect_unix(there)).await.ok()?.ok()
    }

    /// Finds out whether a peer that dials this node, and does not any more, is dead: connects to where it listens.
    pub(crate) async fn keep_probing(self: Arc<Self>, peer: Arc<Peer>) {
        let mut changes = peer.changes();
        loop {
            // The sender lives as long as the peer.
            while !peer.is_missing() {
                let _ = changes.changed().await;
            }
            let mut pause = Pause::new(self.options.redial_pause_max);
            while peer.is_missing() {
                peer.unblocked().await;
                let changes = peer.change_count();
                let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
                if self.connect(&peer).await.is_err_and(|error| refused(&error))
                    && self.refusal_is_proof(&peer).await
                {
                    peer.is_proven_dead(changes);
                    peer.deliver(&*self.handler);
                }
                if peer.is_missing() {
                    pause.wait().await;
                }
            }
        }
    }

    /// Accepts connections; each goes to the worker of its lane once it has said hello.
    pub(crate) async fn accept(self: Arc<Self>, listener: TcpListener) {
        let listener = listener.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(listener));
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => return tracing::error!("cannot accept connections: {error}"),
        };
        // Without it nodes of this host come by TCP as well.
        let unix = listener.local_addr().and_then(unix_address).map(Into::into);
        let unix = unix.and_then(|address| UnixListener::bind_addr(&address)).ok();
        let accept_unix = async || match &unix {
            Some(unix) => unix.accept().await.map(|(socket, _)| Socket::Unix(socket)),
            None => std::future::pending().await,
        };
        let strangers = Rc::new(Semaphore::new(STRANGERS_MAX));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted.and_then(|(socket, _)| Socket::tcp(socket)),
                accepted = accept_unix() => accepted,
            };
            let Ok(socket) = accepted else {
                sleep(ACCEPT_RETRY).await;
                continue;
            };
            let transport = Arc::clone(&self);
            let strangers = Rc::clone(&strangers);
            self.spawn(async move {
                let Ok(_permit) = strangers.try_acquire() else { return };
                let hello = transport.hear(socket);
                match timeout(transport.options.handshake_timeout, hello).await {
                    Ok(Ok(arrival)) => transport.hand_over(arrival),
                    Ok(Err(HandshakeError::Untrusted { mut socket, claimed, reason })) => {
                        transport.tell_untrusted(claimed, &reason);
                        let _ = timeout(transport.options.handshake_timeout, ignore_rest(&mut socket)).await;
                    }
                    // One that does not say hello in time, or only looked whether somebody listens, is forgotten.
                    _ => {}
                }
            });
        }
    }

    async fn hear(&self, mut socket: Socket) -> Result<Arrival, HandshakeError> {
        socket.check_owner()?;
        let mut input = Input::default();
        socket = self.decrypt(socket, &mut input).await?;
        let hello = match read_frame(&mut socket, &mut input).await? {
            (Class::Hello, payload) => Hello::decode(&payload),
            (class, _) => Err(format!("{class:?} came in place of a hello")),
        };
        match hello {
            Ok(hello) => Ok(Arrival { socket: socket.detach()?, input, hello }),
            Err(reason) => Err(refuse(&mut socket, reason).await),
        }
    }

    /// Serves the accepted links of one worker.
    pub(crate) async fn welcome_arrivals(self: Arc<Self>, mut arrivals: mpsc::UnboundedReceiver<Arrival>) {
        while let Some(arrival) = arrivals.recv().await {
            let transport = Arc::clone(&self);
            self.spawn(async move { transport.welcome_arrival(arrival).await });
        }
    }

    async fn welcome_arrival(&self, Arrival { socket, input, hello }: Arrival) {
        let Ok(socket) = socket.attach() else { return };
        let peer = self.peer_of(&hello);
        let welcome = async {
            peer.unblocked().await;
            self.welcome(&peer, socket, input, &hello).await
        };
        match timeout(self.options.handshake_timeout, welcome).await {
            Ok(Ok(established)) => return self.serve(established).await,
            Ok(Err(HandshakeError::Refused(reason))) if hello.node != CLIENT => peer.was_refused(&reason),
            // The side that dialled tries again; clients are told why by the refusal itself.
            _ => {}
        }
        peer.deliver(&*self.handler);
    }
}
