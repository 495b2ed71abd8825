//! Listeners, and the hand-over of accepted sockets to the worker threads of the process.
//!
//! The server has no workers of its own: the process calls [`Server::start_worker`] on each of its worker threads, and an acceptor
//! thread hands new connections to them in turn. A connection stays on its thread.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use shoal_tls::Acceptor;
use shoal_types::{Error, ErrorCode};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::connection::Connection;
use crate::counters::{COUNTER_NAMES, Counter, Counters};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::settings::{Port, Settings};
use crate::stream::Stream;
use crate::worker::Worker;

/// Pause of an acceptor that was refused a socket by the system (too many open files), or has no worker yet.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

/// A socket that was just accepted.
struct Arrival {
    socket: std::net::TcpStream,
    port: Arc<Port>,
    place: OwnedSemaphorePermit,
}

#[derive(Default)]
struct Workers {
    senders: Vec<mpsc::UnboundedSender<Arrival>>,
    /// Those of the workers, and of the acceptor.
    counters: Vec<Arc<Counters>>,
}

/// The server.
pub struct Server {
    settings: Settings,
    host: Arc<dyn Host>,
    /// With which clients encrypt, if they have to.
    tls: Option<Arc<Acceptor>>,
    /// For connections.
    places: Arc<Semaphore>,
    workers: Mutex<Workers>,
    /// Worker threads with connections that have not ended.
    busy: AtomicUsize,
    stopping: watch::Sender<bool>,
    acceptor: Mutex<Option<thread::JoinHandle<()>>>,
}

/// Sockets bound to the settings' ports; clients are refused by the system before [`Server::accept`].
pub struct Listeners(Vec<(Socket, Arc<Port>)>);

impl Listeners {
    /// Takes the addresses.
    ///
    /// # Errors
    /// An address that is taken, by its name.
    pub fn bind(settings: &Settings) -> Result<Listeners, String> {
        let mut listeners = Vec::with_capacity(settings.ports.len());
        for port in &settings.ports {
            let listener = bind(port.address, settings).map_err(|error| {
                format!("cannot listen for HandlerSocket clients on {}: {error}", port.address)
            })?;
            listeners.push((listener, Arc::new(port.clone())));
        }
        Ok(Listeners(listeners))
    }

    /// Where the read-only port and the writing one listen.
    pub fn addresses(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let of = |may_write: bool| {
            let found = self.0.iter().find(|(_, port)| port.may_write == may_write);
            found.and_then(|(socket, _)| socket.local_addr().ok()?.as_socket())
        };
        (of(false), of(true))
    }
}

fn bind(address: SocketAddr, settings: &Settings) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if settings.send_buffer_bytes > 0 {
        socket.set_send_buffer_size(settings.send_buffer_bytes)?;
    }
    if settings.receive_buffer_bytes > 0 {
        socket.set_recv_buffer_size(settings.receive_buffer_bytes)?;
    }
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Server {
    /// `tls`: of the process; it is used if the settings say so.
    pub fn new(settings: Settings, host: Arc<dyn Host>, tls: Option<Arc<Acceptor>>) -> Arc<Server> {
        let places = settings.connections_max.min(Semaphore::MAX_PERMITS);
        let tls = tls.filter(|_| settings.requires_tls);
        Arc::new(Server {
            settings,
            host,
            tls,
            places: Arc::new(Semaphore::new(places)),
            workers: Mutex::default(),
            busy: AtomicUsize::new(0),
            stopping: watch::Sender::new(false),
            acceptor: Mutex::default(),
        })
    }

    /// To be called on every worker thread, inside its local runtime.
    pub fn start_worker(self: &Arc<Server>) {
        let (sender, arrivals) = mpsc::unbounded_channel();
        let counters = Arc::new(Counters::default());
        {
            let mut workers = self.lock_workers();
            workers.senders.push(sender);
            workers.counters.push(Arc::clone(&counters));
        }
        self.busy.fetch_add(1, Ordering::AcqRel);
        tokio::task::spawn_local(Arc::clone(self).serve(arrivals, counters));
    }

    async fn serve(self: Arc<Server>, mut arrivals: mpsc::UnboundedReceiver<Arrival>, counters: Arc<Counters>) {
        let worker = Worker::new(counters);
        let mut stopping = self.stopping.subscribe();
        let mut connections = JoinSet::new();
        while !worker.is_closing.get() || !connections.is_empty() {
            tokio::select! {
                Some(arrival) = arrivals.recv(), if !worker.is_closing.get() => {
                    // A socket that the poller does not take is already broken.
                    let Ok(stream) = tokio::net::TcpStream::from_std(arrival.socket) else { continue };
                    let wait = self.settings.lock_wait_timeout;
                    let session = Session::new(
                        Arc::clone(&self.host),
                        arrival.port,
                        Arc::clone(&worker.counters),
                        wait,
                    );
                    let tls = self.tls.as_ref().map(|tls| TlsAcceptor::from(tls.config()));
                    let connection = Connection {
                        stream: Stream::Plain(stream),
                        worker: std::rc::Rc::clone(&worker),
                        session,
                        idle_timeout: self.settings.idle_timeout,
                        read_bytes: self.settings.read_bytes,
                    };
                    let place = arrival.place;
                    connections.spawn_local(async move {
                        connection.serve(tls).await;
                        drop(place);
                    });
                }
                Some(_) = connections.join_next() => {}
                _ = stopping.wait_for(|stopping| *stopping), if !worker.is_closing.get() => worker.close(),
            }
        }
        self.busy.fetch_sub(1, Ordering::AcqRel);
    }

    /// Lets clients in.
    ///
    /// # Errors
    /// Another process listens there by now, or no thread can be started.
    pub fn accept(self: &Arc<Server>, listeners: Listeners) -> io::Result<()> {
        let backlog = i32::try_from(self.settings.backlog).unwrap_or(i32::MAX);
        for (socket, _) in &listeners.0 {
            socket.listen(backlog)?;
        }
        let server = Arc::clone(self);
        let acceptor = thread::Builder::new().name("hs-accept".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let accepted = runtime.and_then(|runtime| runtime.block_on(server.accept_all(listeners)));
            if let Err(error) = accepted {
                tracing::error!("cannot accept connections: {error}");
            }
        })?;
        *self.acceptor.lock().unwrap_or_else(PoisonError::into_inner) = Some(acceptor);
        Ok(())
    }

    async fn accept_all(self: Arc<Server>, listeners: Listeners) -> io::Result<()> {
        let mut accepting = JoinSet::new();
        let counters = Arc::new(Counters::default());
        self.lock_workers().counters.push(Arc::clone(&counters));
        for (listener, port) in listeners.0 {
            let listener = tokio::net::TcpListener::from_std(listener.into())?;
            accepting.spawn(Arc::clone(&self).accept_at(listener, port, Arc::clone(&counters)));
        }
        let mut stopping = self.stopping.subscribe();
        let _ = stopping.wait_for(|stopping| *stopping).await;
        Ok(())
    }

    /// `counters` are those of the acceptor's thread, on which all ports are.
    async fn accept_at(
        self: Arc<Server>,
        listener: tokio::net::TcpListener,
        port: Arc<Port>,
        counters: Arc<Counters>,
    ) {
        let mut turn = 0;
        loop {
            match listener.accept().await {
                Ok((socket, _)) => {
                    let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                        counters.add(Counter::ConnectionsRefused, 1);
                        if self.tls.is_none() {
                            turn_away(&socket);
                        }
                        continue;
                    };
                    let Ok(socket) = prepare(socket) else { continue };
                    while self.lock_workers().senders.is_empty() {
                        tokio::time::sleep(ACCEPT_RETRY).await;
                    }
                    let workers = self.lock_workers();
                    turn = (turn + 1) % workers.senders.len();
                    let _ = workers.senders[turn].send(Arrival { socket, port: Arc::clone(&port), place });
                }
                Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
            }
        }
    }

    /// Stops: no new connections, idle ones are closed, others when they have been answered. Returns when all are closed, or
    /// after `patience`.
    pub fn stop(&self, patience: Duration) {
        self.stopping.send_replace(true);
        let deadline = Instant::now() + patience;
        while self.busy.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        let acceptor = self.acceptor.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(acceptor) = acceptor {
            let _ = acceptor.join();
        }
    }

    /// Names and values for SHOW STATUS.
    pub fn status(&self) -> Vec<(&'static str, u64)> {
        let mut sums = vec![0; COUNTER_NAMES.len()];
        for counters in &self.lock_workers().counters {
            counters.add_to(&mut sums);
        }
        COUNTER_NAMES.iter().copied().zip(sums).collect()
    }

    fn lock_workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says why the connection ends, if the client listens; nobody waits for him.
fn turn_away(socket: &tokio::net::TcpStream) {
    let mut line = Vec::new();
    Refusal::from(Error::new(ErrorCode::ConCount, "Too many connections")).append(&mut line);
    let _ = socket.try_write(&line);
    let _ = SockRef::from(socket).shutdown(std::net::Shutdown::Write);
}

fn prepare(socket: tokio::net::TcpStream) -> io::Result<std::net::TcpStream> {
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_keepalive(true)?;
    socket.into_std()
}
