//! Listeners and workers: one thread a core, each with its own loop (`shoal_transport::worker_loop`).
//!
//! An acceptor (`acceptor`) hands new connections to the workers in turn; from then on a connection stays on that thread.
//! Stopping: no new connections, idle ones are closed with 1053, running statements may finish until the deadline, then
//! they are cut off.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use shoal_sql::frontend::Frontend;
use shoal_transport::time_slice;
use shoal_transport::worker_loop::{Eagerness, WhenIdle, WorkerLoop, WorkerOptions};
use socket2::{Domain, Socket, Type};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::acceptor::{AcceptedSocket, Acceptor, Arrival};
pub use crate::acceptor::{Keepalive, Listeners};
use crate::auth::Authenticator;
use crate::connection;
use crate::login::LoginServices;
use crate::proxy::ProxyNetworks;
use crate::socket::AsyncSocket;
use crate::stream::Stream;
use crate::worker::{Stopping, TICK, Worker};

const LISTEN_BACKLOG: i32 = 1024;
/// Threads of a worker for password hashing; they exist only while one is being checked.
const BLOCKING_THREADS: usize = 2;
/// Of a worker thread: stored programs that call each other are on its stack together. What is not used of it takes no memory.
const STACK_BYTES: usize = 64 << 20;

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

/// A running server.
pub struct Server<F: Frontend> {
    frontend: Arc<F>,
    stopping: watch::Sender<Stopping>,
    keepalive: Keepalive,
    acceptors: Vec<Acceptor>,
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
        let builder = thread::Builder::new().name(name).stack_size(STACK_BYTES);
        let thread = builder.spawn(move || worker_thread.run())?;
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
        let acceptor = Acceptor::start(&self.frontend, self.arrivals.clone(), listeners, self.keepalive)?;
        self.acceptors.push(acceptor);
        Ok(())
    }

    /// Stops: waits up to `patience` for statements that run, then cuts them off. Returns when all connections are
    /// closed.
    pub fn stop(self, patience: Duration) {
        drop(self.acceptors);
        self.stopping.send_replace(Stopping::Draining);
        let deadline = Instant::now() + patience;
        let is_drained = |one: &RunningWorker| one.drained.load(Ordering::Acquire) || one.thread.is_finished();
        while !self.workers.iter().all(is_drained) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.stopping.send_replace(Stopping::Now);
        drop(self.arrivals);
        for worker in self.workers {
            let _ = worker.thread.join();
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
        shoal_sql::note_stack(STACK_BYTES);
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
