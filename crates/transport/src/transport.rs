//! The transport of one node: its peers, its workers, and the public operations.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use shoal_types::NodeId;
use tokio::sync::{mpsc, watch};

use crate::call::Call;
use crate::calls::CallError;
use crate::handler::Handler;
use crate::hello::{CLIENT, Hello, NODE_ID_MAX};
use crate::input::Input;
use crate::options::TransportOptions;
use crate::outbox;
use crate::peer::{Block, Clock, Link, Peer, PeerState};
use crate::shared;
use crate::socket::DetachedSocket;

/// A socket that said hello, on its way to the worker of its lane.
pub(crate) struct Arrival {
    pub socket: DetachedSocket,
    pub input: Input,
    pub hello: Hello,
}

/// Sockets on their way to a worker.
struct ArrivalQueue {
    sender: mpsc::UnboundedSender<Arrival>,
    receiver: Mutex<Option<mpsc::UnboundedReceiver<Arrival>>>,
}

/// A node's links to its peers: frames, calls, who is up.
pub struct Transport {
    /// Tells transports of one process apart.
    id: u64,
    pub(crate) options: TransportOptions,
    pub(crate) handler: Arc<dyn Handler>,
    /// The handler's.
    pub(crate) clock: Clock,
    me: Mutex<Hello>,
    peers: Vec<OnceLock<Arc<Peer>>>,
    listener: Mutex<Option<TcpListener>>,
    workers: Vec<ArrivalQueue>,
    stopping: watch::Sender<bool>,
    /// When the handler was last told of a stranger without a certificate.
    pub(crate) untrusted_told: Mutex<Option<Instant>>,
    /// Peers of which the handler has something to hear that may have no link whose task would tell it.
    to_tell: mpsc::UnboundedSender<Arc<Peer>>,
    /// Until worker 0 has started.
    telling: Mutex<Option<mpsc::UnboundedReceiver<Arc<Peer>>>>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Transport {{ node: {} }}", self.node())
    }
}

static TRANSPORTS: AtomicU64 = AtomicU64::new(0);

impl Transport {
    /// Panics if the options contradict themselves.
    pub fn new(options: TransportOptions, handler: Arc<dyn Handler>) -> Arc<Transport> {
        options.assert_valid();
        let peers: Vec<OnceLock<Arc<Peer>>> = (0..=NODE_ID_MAX).map(|_| OnceLock::new()).collect();
        for peer in &options.peers {
            peers[peer.node.0 as usize].get_or_init(|| Peer::new(peer.node, peer.address.clone()));
        }
        let worker = || {
            let (sender, receiver) = mpsc::unbounded_channel();
            ArrivalQueue { sender, receiver: Mutex::new(Some(receiver)) }
        };
        let (to_tell, telling) = mpsc::unbounded_channel();
        Arc::new(Transport {
            id: TRANSPORTS.fetch_add(1, Ordering::Relaxed),
            clock: {
                let handler = Arc::clone(&handler);
                Arc::new(move || handler.clock())
            },
            handler,
            me: Mutex::new(options.me.clone()),
            peers,
            listener: Mutex::new(None),
            workers: (0..options.workers).map(|_| worker()).collect(),
            stopping: watch::Sender::default(),
            untrusted_told: Mutex::default(),
            to_tell,
            telling: Mutex::new(Some(telling)),
            options,
        })
    }

    /// Where other nodes dial. To be given before worker 0 starts.
    pub fn listen(&self, listener: TcpListener) {
        *self.listener.lock() = Some(listener);
    }

    /// Serves the lanes of a worker; to be called once for each of `options.workers`, inside the worker's loop.
    pub fn start_worker(self: &Arc<Self>, worker: usize) {
        let Some(arrivals) = self.workers[worker].receiver.lock().take() else {
            panic!("worker {worker} of the transport was started twice")
        };
        // Not stopped with the others: what the last frames say must leave.
        tokio::task::spawn_local(outbox::work(self.id, worker as u16));
        self.spawn(Arc::clone(self).welcome_arrivals(arrivals));
        for peer in &self.options.peers {
            let Some(known) = self.peer(peer.node) else { continue };
            let lanes = (0..self.options.lanes).filter(|lane| usize::from(*lane) % self.workers.len() == worker);
            for lane in lanes.filter(|_| peer.dial) {
                self.spawn(Arc::clone(self).keep_dialled(Arc::clone(&known), lane));
            }
            if worker == 0 && !peer.dial && peer.address.is_some() {
                self.spawn(Arc::clone(self).keep_probing(known));
            }
        }
        if worker == 0
            && let Some(mut telling) = self.telling.lock().take()
        {
            let transport = Arc::clone(self);
            self.spawn(async move {
                while let Some(peer) = telling.recv().await {
                    peer.deliver(&*transport.handler);
                }
            });
        }
        if worker == 0
            && let Some(listener) = self.listener.lock().take()
        {
            match self.options.tls {
                None => self.spawn(Arc::clone(self).accept(listener)),
                Some(_) => self.accept_on_thread(listener),
            }
        }
    }

    /// Spawns a local task that ends when the transport stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut stopping = self.stopping.subscribe();
        tokio::task::spawn_local(async move {
            tokio::select! {
                biased;
                _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
                () = task => {}
            }
        });
    }

    /// Closes the listener and all links, for good. The workers do it as soon as they run.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
        for peer in self.known_peers() {
            for link in peer.links() {
                link.flush();
                link.close("this node stops");
            }
        }
    }

    /// Changes what this node says about itself in handshakes to come.
    pub fn update_hello(&self, change: impl FnOnce(&mut Hello)) {
        let mut me = self.me.lock();
        change(&mut me);
        TransportOptions { me: me.clone(), ..self.options.clone() }.assert_valid();
    }

    /// This node.
    pub fn node(&self) -> NodeId {
        self.options.me.node
    }

    pub(crate) fn hello_for(&self, lane: u16, lanes: u16) -> Hello {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall_clock_us = since.map_or(0, |since| since.as_micros() as u64);
        Hello { lane, lanes, wall_clock_us, ..self.me.lock().clone() }
    }

    pub(crate) fn peer(&self, node: NodeId) -> Option<Arc<Peer>> {
        self.peers.get(node.0 as usize)?.get().cloned()
    }

    /// The peer of a hello, which may be a node that the options do not name. Clients are peers of their own, each.
    pub(crate) fn peer_of(&self, hello: &Hello) -> Arc<Peer> {
        if hello.node == CLIENT {
            return Peer::new(CLIENT, None);
        }
        Arc::clone(self.peers[hello.node.0 as usize].get_or_init(|| Peer::new(hello.node, None)))
    }

    fn known_peers(&self) -> impl Iterator<Item = &Arc<Peer>> {
        self.peers.iter().filter_map(OnceLock::get)
    }

    fn link(&self, to: NodeId, lane: u16) -> Option<Arc<Link>> {
        self.peers.get(to.0 as usize)?.get()?.link(lane)
    }

    /// The worker of a lane takes over an accepted socket.
    pub(crate) fn hand_over(&self, arrival: Arrival) {
        let worker = usize::from(arrival.hello.lane) % self.workers.len();
        // A worker that has gone takes its lane with it.
        let _ = self.workers[worker].sender.send(arrival);
    }

    /// Sends a one-way frame; `payload` appends its payload and must not use the transport. False: it was dropped because
    /// the lane has no link, too much waits on it, or the payload is too large.
    pub fn send(&self, to: NodeId, lane: u16, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.link(to, lane).is_some_and(|link| link.send_message(kind, payload))
    }

    /// Calls a peer on the lane of the current worker, or on another one if that is down or this is no worker. `payload`
    /// appends the request and must not use the transport.
    pub fn call(&self, to: NodeId, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> Call {
        let lane = outbox::lane_of(self.id).unwrap_or(0);
        let link = self.link(to, lane).or_else(|| self.peer(to)?.links().into_iter().next());
        match link {
            Some(link) => Call::start(link, kind, payload),
            None => Call::failed(CallError::NoLink),
        }
    }

    /// The lane that calls of the current thread prefer; none outside this transport's workers.
    pub fn own_lane(&self) -> Option<u16> {
        outbox::lane_of(self.id)
    }

    /// Writes what this thread has appended. For a worker that is idle.
    pub fn flush(&self) {
        outbox::flush();
    }

    /// Wakes the tasks of this thread for whose links something has come. For workers that look for work before they sleep.
    pub fn look(&self) {
        shared::look();
    }

    /// The worker is about to sleep, after `flush`. From its first call on, links of this thread rely on it and on `wake`.
    pub fn fall_asleep(&self) {
        shared::fall_asleep();
    }

    /// The worker goes on after `fall_asleep`.
    pub fn wake(&self) {
        shared::wake();
    }

    /// For threads that are no workers, which write every frame at once: what `work` sends leaves in one write a link when
    /// it returns. Good also for not writing to sockets under a lock.
    pub fn gather<T>(&self, work: impl FnOnce() -> T) -> T {
        outbox::gather(work)
    }

    /// At least one link to the node is up.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.peer_state(node).is_some_and(|state| state.is_up)
    }

    /// `None` for nodes that nobody has heard of.
    pub fn peer_state(&self, node: NodeId) -> Option<PeerState> {
        Some(self.peer(node)?.snapshot())
    }

    /// Of all nodes that were heard of.
    pub fn peer_states(&self) -> Vec<PeerState> {
        self.known_peers().map(|peer| peer.snapshot()).collect()
    }

    /// Closes all links to a node. The side that dials comes back at once.
    pub fn close_peer(&self, node: NodeId, reason: &str) {
        for link in self.peer(node).map_or(Vec::new(), |peer| peer.links()) {
            link.close(reason);
        }
    }

    /// A node has sent what no node sends: ends its links with this reason, and makes none for a while, which is longer each time
    /// (see `TransportOptions::cut_off_pause`). The handler hears of it (`on_cut_off`) from a worker's task, so callers may hold
    /// locks that it takes.
    pub fn cut_off(&self, node: NodeId, reason: &str) {
        let Some(peer) = self.peer(node) else { return };
        if peer.cut_off(reason, self.options.link().cut_off).is_some() {
            // After the workers there is nobody to hear of it.
            let _ = self.to_tell.send(peer);
        }
    }

    /// No link to the node is made just now, because of what it has sent.
    pub fn is_cut_off(&self, node: NodeId) -> bool {
        self.peer(node).is_some_and(|peer| peer.cut_off_left().is_some())
    }

    /// Cuts the wire to a node, or mends it. What was on its way waits, as it does in a network that comes back; links
    /// that are silent for too long meanwhile are closed, and the peer does not learn of it.
    pub fn block(&self, node: NodeId, block: Block) {
        if let Some(peer) = self.peer(node) {
            peer.set_block(block);
        }
    }
}
