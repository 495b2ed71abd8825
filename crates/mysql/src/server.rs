//! Listeners and workers: one thread a core, each with its own loop (`shoal_transport::worker_loop`).
//!
//! An acceptor thread counts a new connection against max_connections and hands its socket to the workers in turn;
//! from then on the connection stays on that thread. Stopping: no new connections, idle ones are closed with 1053,
//! running statements may finish until the deadline, then they are cut off.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use shoal_sql::frontend::Frontend;
use shoal_transport::time_slice;
use shoal_transport::worker_loop::{Eagerness, WhenIdle, WorkerLoop, WorkerOptions};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::auth::Authenticator;
use crate::connection::{self, Admission, Peer};
use crate::constants::Capabilities;
use crate::login::LoginServices;
use crate::packet::PacketWriter;
use crate::proxy::ProxyNetworks;
use crate::refusal::Refusal;
use crate::socket::AsyncSocket;
use crate::stream::Stream;
use crate::worker::{Stopping, TICK, Worker};

/// The host of clients on a loopback address or a Unix socket, as a reverse look-up would name it.
const LOCAL_HOST: &str = "localhost";
const LISTEN_BACKLOG: i32 = 1024;
/// Pause of an acceptor that was refused a socket by the system (too many open files).
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Threads of a worker for password hashing; they exist only while one is being checked.
const BLOCKING_THREADS: usize = 2;

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

/// Called on each worker's thread, inside its runtime, before the first connection: to spawn what else lives there.
pub type WorkerStart = Arc<dyn Fn(usize) + Send + Sync>;

/// How a server runs.
#[derive(Clone, Default)]
pub struct Options {
    /// Worker threads; 0 is one a core.
    pub workers: usize,
    /// Called once on each worker's thread, with the worker's number.
    pub on_worker_start: Option<WorkerStart>,
    /// How long a busy worker looks for more to do before it sleeps.
    pub spin: Duration,
    /// Offers TLS.
    pub tls: Option<Arc<shoal_tls::Acceptor>>,
    /// What clients prove to be known by.
    pub authenticator: Arc<Authenticator>,
    /// Whose word is taken for whom they have connected (the PROXY protocol).
    pub proxies: ProxyNetworks,
    /// How the system finds out that a silent client is gone.
    pub keepalive: Keepalive,
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
    fn apply(&self, socket: &tokio::net::TcpStream) -> io::Result<()> {
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
        SockRef::from(socket).set_tcp_keepalive(&options)
    }
}

/// A running server.
pub struct Server<F: Frontend> {
    frontend: Arc<F>,
    stopping: watch::Sender<Stopping>,
    keepalive: Keepalive,
    acceptors: Vec<thread::JoinHandle<()>>,
    workers: Vec<RunningWorker>,
    arrivals: Vec<mpsc::UnboundedSender<Arrival<F>>>,
}

struct RunningWorker {
    thread: thread::JoinHandle<()>,
    /// It has closed its connections, because the server stops. What else lives there goes on.
    drained: Arc<AtomicBool>,
}

/// An address of this process's own where nobody listens yet: until [`ReservedAddress::listen`], clients are refused by the
/// system, as balancers and clients with other hosts to try would have it; nor does anybody else get the port as a free one.
#[derive(Debug)]
pub struct ReservedAddress(Socket);

impl ReservedAddress {
    /// Port 0 is any free one. Processes that mean this port may take it as well; the first to listen has it.
    pub fn bind(address: SocketAddr) -> io::Result<ReservedAddress> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        Ok(ReservedAddress(socket))
    }

    /// With the port that the system has chosen, if port 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let address = self.0.local_addr()?;
        address.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
    }

    /// Lets clients connect from now on.
    pub fn listen(self) -> io::Result<TcpListener> {
        self.0.listen(LISTEN_BACKLOG)?;
        Ok(self.0.into())
    }
}

/// A listening socket for `address`; port 0 is any free one.
pub fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    ReservedAddress::bind(address)?.listen()
}

/// Starts to serve `frontend`. Connections are accepted when this returns.
pub fn start<F>(frontend: Arc<F>, listeners: Listeners, options: Options) -> io::Result<Server<F>>
where
    F: Frontend + Send + Sync,
{
    let mut server = start_workers(frontend, options)?;
    server.listen(listeners)?;
    Ok(server)
}

/// Starts the worker threads alone: nobody is let in before [`Server::listen`].
pub fn start_workers<F>(frontend: Arc<F>, options: Options) -> io::Result<Server<F>>
where
    F: Frontend + Send + Sync,
{
    let count = match options.workers {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    let (stopping, _) = watch::channel(Stopping::No);
    let services = LoginServices {
        frontend,
        authenticator: options.authenticator,
        tls: options.tls,
        proxies: Arc::new(options.proxies),
    };
    let mut senders = Vec::with_capacity(count);
    let mut workers = Vec::with_capacity(count);
    for number in 0..count {
        let (sender, arrivals) = mpsc::unbounded_channel();
        senders.push(sender);
        let drained = Arc::new(AtomicBool::new(false));
        let worker_thread = WorkerThread {
            number,
            drained: Arc::clone(&drained),
            services: services.clone(),
            arrivals,
            stopping: stopping.subscribe(),
            on_start: options.on_worker_start.clone(),
            spin: options.spin,
        };
        let name = format!("mysql-{number}");
        let thread = thread::Builder::new().name(name).spawn(move || worker_thread.run())?;
        workers.push(RunningWorker { thread, drained });
    }
    Ok(Server {
        frontend: services.frontend,
        stopping,
        keepalive: options.keepalive,
        acceptors: Vec::new(),
        workers,
        arrivals: senders,
    })
}

impl<F: Frontend + Send + Sync> Server<F> {
    /// Accepts connections here as well.
    pub fn listen(&mut self, listeners: Listeners) -> io::Result<()> {
        let acceptor = Acceptor {
            frontend: Arc::clone(&self.frontend),
            workers: self.arrivals.clone(),
            stopping: self.stopping.subscribe(),
            keepalive: self.keepalive,
        };
        let accepting = thread::Builder::new().name("mysql-accept".into());
        self.acceptors.push(accepting.spawn(move || acceptor.run(listeners))?);
        Ok(())
    }

    /// Stops: waits up to `patience` for statements that run, then cuts them off. Returns when all connections are
    /// closed.
    pub fn stop(self, patience: Duration) {
        self.stopping.send_replace(Stopping::Draining);
        let deadline = Instant::now() + patience;
        let is_drained = |one: &RunningWorker| one.drained.load(Ordering::Acquire) || one.thread.is_finished();
        while !self.workers.iter().all(is_drained) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.stopping.send_replace(Stopping::Now);
        drop(self.arrivals);
        for thread in self.workers.into_iter().map(|worker| worker.thread).chain(self.acceptors) {
            let _ = thread.join();
        }
    }
}

/// What a worker does when it is idle is the frontend's.
struct FrontendIdle<F>(Arc<F>);

impl<F: Frontend> WhenIdle for FrontendIdle<F> {
    fn before_sleep(&self) {
        self.0.before_sleep();
    }

    fn fall_asleep(&self) {
        self.0.fall_asleep();
    }

    fn wake(&self) {
        self.0.wake();
    }
}

/// A socket that was just accepted.
enum AcceptedSocket {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// A connection that was just made, and to which kind of listener.
struct Accepted {
    socket: AcceptedSocket,
    peer: Peer,
    is_administrative: bool,
}

struct Arrival<F: Frontend> {
    socket: AcceptedSocket,
    peer: Peer,
    admission: Admission<F>,
}

struct WorkerThread<F: Frontend> {
    number: usize,
    drained: Arc<AtomicBool>,
    services: LoginServices<F>,
    arrivals: mpsc::UnboundedReceiver<Arrival<F>>,
    stopping: watch::Receiver<Stopping>,
    on_start: Option<WorkerStart>,
    spin: Duration,
}

impl<F: Frontend + Send + Sync> WorkerThread<F> {
    fn run(self) {
        // A system that does not let it only serves a little later.
        let _ = time_slice::shorten();
        let options =
            WorkerOptions { spin: self.spin, eagerness: Eagerness::WhenBusy, blocking_threads: BLOCKING_THREADS };
        match WorkerLoop::new(options) {
            Ok(worker) => worker.block_on(&FrontendIdle(Arc::clone(&self.services.frontend)), self.serve()),
            Err(error) => tracing::error!("worker {} cannot start: {error}", self.number),
        }
    }

    async fn serve(mut self) {
        if let Some(on_start) = &self.on_start {
            on_start(self.number);
        }
        let worker = Worker::new();
        let mut memory_seen = 0;
        let mut connections = JoinSet::new();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        // One that has closed its connections goes on for what else lives here, until all have: other workers' statements need that.
        while worker.stopping() != Stopping::Now || !connections.is_empty() {
            if worker.stopping() != Stopping::No && connections.is_empty() {
                self.drained.store(true, Ordering::Release);
            }
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.welcome(arrival, &worker, &mut connections),
                // A connection that panicked has told so by itself; the others go on.
                Some(_) = connections.join_next() => {}
                _ = ticks.tick() => {
                    worker.tick();
                    self.publish_traffic(&worker);
                    memory_seen = self.services.frontend.release_memory(memory_seen);
                }
                changed = self.stopping.changed() => worker.stop(match changed {
                    Ok(()) => *self.stopping.borrow_and_update(),
                    // The server's handle is gone.
                    Err(_) => Stopping::Now,
                }),
            }
        }
        self.publish_traffic(&worker);
    }

    fn welcome(&self, arrival: Arrival<F>, worker: &Rc<Worker>, connections: &mut JoinSet<()>) {
        let socket = match arrival.socket {
            AcceptedSocket::Tcp(socket) => tokio::net::TcpStream::from_std(socket).map(AsyncSocket::Tcp),
            AcceptedSocket::Unix(socket) => tokio::net::UnixStream::from_std(socket).map(AsyncSocket::Unix),
        };
        // A socket that the poller does not take is already broken.
        if let Ok(socket) = socket {
            let connection = connection::serve(
                self.services.clone(),
                Stream::new(socket),
                arrival.peer,
                Rc::clone(worker),
                arrival.admission,
            );
            connections.spawn_local(connection);
        }
    }

    fn publish_traffic(&self, worker: &Worker) {
        let (received, sent) = worker.take_traffic();
        if received > 0 || sent > 0 {
            self.services.frontend.count_traffic(received, sent);
        }
    }
}

struct Acceptor<F: Frontend> {
    frontend: Arc<F>,
    workers: Vec<mpsc::UnboundedSender<Arrival<F>>>,
    stopping: watch::Receiver<Stopping>,
    keepalive: Keepalive,
}

impl<F: Frontend + Send + Sync> Acceptor<F> {
    fn run(self, listeners: Listeners) {
        let runtime = match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
            Ok(runtime) => runtime,
            Err(error) => return tracing::error!("cannot accept connections: {error}"),
        };
        if let Err(error) = runtime.block_on(self.accept(listeners)) {
            tracing::error!("cannot accept connections: {error}");
        }
    }

    async fn accept(mut self, listeners: Listeners) -> io::Result<()> {
        let (sender, mut accepted) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        for listener in listeners.tcp {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tasks.spawn_local(accept_tcp(listener, self.keepalive, false, sender.clone()));
        }
        for listener in listeners.administrative {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tasks.spawn_local(accept_tcp(listener, self.keepalive, true, sender.clone()));
        }
        for listener in listeners.unix {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::UnixListener::from_std(listener)?;
            tasks.spawn_local(accept_unix(listener, sender.clone()));
        }
        let mut turn = 0;
        while *self.stopping.borrow_and_update() == Stopping::No {
            tokio::select! {
                Some(accepted) = accepted.recv() => {
                    turn = (turn + 1) % self.workers.len();
                    self.hand_over(accepted, turn);
                }
                changed = self.stopping.changed() => if changed.is_err() { break },
            }
        }
        Ok(())
    }

    fn hand_over(&self, accepted: Accepted, worker: usize) {
        let Accepted { socket, peer, is_administrative } = accepted;
        match Admission::new(&self.frontend, is_administrative) {
            Ok(admission) => {
                let _ = self.workers[worker].send(Arrival { socket, peer, admission });
            }
            Err(refusal) => refuse(&socket, &refusal),
        }
    }
}

async fn accept_tcp(
    listener: tokio::net::TcpListener,
    keepalive: Keepalive,
    is_administrative: bool,
    accepted: mpsc::Sender<Accepted>,
) {
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                let Ok(socket) = prepare(socket, keepalive) else { continue };
                let address = peer.ip().to_canonical();
                let peer = match address.is_loopback() {
                    true => local_peer(Some(address)),
                    false => Peer { host: address.to_string(), address: Some(address), is_local: false },
                };
                let connection = Accepted { socket: AcceptedSocket::Tcp(socket), peer, is_administrative };
                if accepted.send(connection).await.is_err() {
                    return;
                }
            }
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
    }
}

fn local_peer(address: Option<IpAddr>) -> Peer {
    Peer { host: LOCAL_HOST.to_owned(), address, is_local: true }
}

fn prepare(socket: tokio::net::TcpStream, keepalive: Keepalive) -> io::Result<std::net::TcpStream> {
    socket.set_nodelay(true)?;
    keepalive.apply(&socket)?;
    socket.into_std()
}

async fn accept_unix(listener: tokio::net::UnixListener, accepted: mpsc::Sender<Accepted>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let Ok(socket) = socket.into_std() else { continue };
                let socket = AcceptedSocket::Unix(socket);
                let connection = Accepted { socket, peer: local_peer(None), is_administrative: false };
                if accepted.send(connection).await.is_err() {
                    return;
                }
            }
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
    }
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
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let connect = async |keepalive: Keepalive| {
                let socket = tokio::net::TcpStream::connect(address).await.unwrap();
                prepare(socket, keepalive).unwrap()
            };
            let default = connect(Keepalive::default()).await;
            let second = Duration::from_secs(1);
            let given = Keepalive { time: Some(second * 7), interval: None, probes: Some(3) };
            let given = connect(given).await;
            let (default, given) = (SockRef::from(&default), SockRef::from(&given));
            assert!(default.keepalive().unwrap() && given.keepalive().unwrap());
            assert_eq!(given.tcp_keepalive_time().unwrap(), second * 7);
            assert_eq!(given.tcp_keepalive_retries().unwrap(), 3);
            assert_eq!(given.tcp_keepalive_interval().unwrap(), default.tcp_keepalive_interval().unwrap());
        });
    }
}
