//! What is known of one other node: its links by lane, which of its processes they lead to, and what the handler is told.
//!
//! A link is one connection to the peer, after its handshake. A link that closes fails the calls that wait on it; nothing is ever sent
//! twice. What goes out over it is in `send` and `write`, what comes in is in `serve`.
//!
//! All links of a peer lead to one incarnation. A hello of another one is let in only when the links to the old one are
//! gone (`make_way` in `handshake` sees to that). The handler hears of a peer in order and one thing at a time, and never
//! under a lock: events wait in a queue, and whichever thread finds it unattended empties it.

mod report;
mod send;
mod serve;
mod write;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock};
use shoal_types::NodeId;
use tokio::sync::{Notify, watch};

use crate::calls::Calls;
use crate::cut_off::{CutOff, CutOffPauses};
use crate::hello::Hello;
use crate::options::LinkOptions;
use crate::output::Output;
use crate::served::Served;
use crate::socket::{Transporter, WriteHalf};

pub use report::PeerState;

/// The node's hybrid logical clock, which goes out with every frame.
pub(crate) type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A cut wire, for tests: bytes neither leave nor arrive, and nothing is closed because of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Nothing arrives from the peer.
    pub inbound: bool,
    /// Nothing leaves for the peer.
    pub outbound: bool,
}

/// What the handler is to hear of.
pub(crate) enum Event {
    Up(Box<Hello>),
    Down(u64),
    Dead(u64),
    Refused(String),
    CutOff(String, Duration),
    KeptAway(String),
}

struct State {
    incarnation: u64,
    /// When the process `incarnation` was found to be gone.
    dead_since: Option<Instant>,
    links: usize,
    /// Links that have ended, with whatever was on its way.
    links_lost: u64,
    since: Instant,
    last_trouble: Option<String>,
    /// The refusal that the handler was told of; it is told again when it changes.
    refusal: Option<String>,
    cut_off: CutOff,
    events: VecDeque<Event>,
    is_delivering: bool,
    /// Closed links of whose incarnation a frame may still be being handled.
    leaving: Vec<Arc<Link>>,
    /// Links that were closed while nothing may leave: their sockets stay open until the block is lifted.
    buried: Vec<Arc<Link>>,
}

impl State {
    fn is_leaving(&mut self, incarnation: u64) -> bool {
        self.leaving.retain(|link| link.is_read());
        self.leaving.iter().any(|link| link.incarnation != incarnation)
    }
}

/// Another node, or a client.
pub(crate) struct Peer {
    pub node: NodeId,
    pub address: Option<String>,
    state: Mutex<State>,
    /// Changed under the lock of `state` only.
    lanes: RwLock<Vec<Option<Arc<Link>>>>,
    /// The incarnation whose link through shared memory ended before anything came: it may be unable to map it.
    refuses_memory: AtomicU64,
    /// The newest link did not go through a network.
    is_near: AtomicBool,
    is_inbound_blocked: AtomicBool,
    is_outbound_blocked: AtomicBool,
    block: watch::Sender<Block>,
    /// Counts changes of up, down and dead.
    changes: watch::Sender<u64>,
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
}

/// One connection to the peer.
pub(crate) struct Link {
    peer: Arc<Peer>,
    pub lane: u16,
    pub incarnation: u64,
    clock: Clock,
    options: LinkOptions,
    socket: WriteHalf,
    output: Mutex<Output>,
    calls: Mutex<Calls>,
    served: Mutex<Served>,
    /// The link's own task has something to look at: the socket is full, a block was lifted, the link closed.
    attention: Notify,
    is_closed: AtomicBool,
    /// Frames may still be handled: its reader has not ended.
    is_read: AtomicBool,
    reads: AtomicU64,
    writes: AtomicU64,
    pongs: AtomicU64,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Link {{ node: {}, lane: {} }}", self.node(), self.lane)
    }
}

/// Why a link is not taken, after all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAdded {
    /// The peer has links to this incarnation, which is another one.
    OtherIncarnation(u64),
    /// The process was found to be gone since the link's handshake began.
    Dead,
    /// What the incarnation before this one has sent is still being handled.
    Leaving,
    /// The peer is kept away.
    CutOff,
}

impl Peer {
    pub(crate) fn new(node: NodeId, address: Option<String>) -> Arc<Peer> {
        Arc::new(Peer {
            node,
            address,
            state: Mutex::new(State {
                incarnation: 0,
                dead_since: None,
                links: 0,
                links_lost: 0,
                since: Instant::now(),
                last_trouble: None,
                refusal: None,
                cut_off: CutOff::default(),
                events: VecDeque::new(),
                is_delivering: false,
                leaving: Vec::new(),
                buried: Vec::new(),
            }),
            lanes: RwLock::default(),
            refuses_memory: AtomicU64::new(0),
            is_near: AtomicBool::new(false),
            is_inbound_blocked: AtomicBool::new(false),
            is_outbound_blocked: AtomicBool::new(false),
            block: watch::Sender::default(),
            changes: watch::Sender::default(),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that panics runs under this lock.
        self.state.lock()
    }

    /// The link of a lane; lanes beyond the peer's wrap around.
    pub(crate) fn link(&self, lane: u16) -> Option<Arc<Link>> {
        let lanes = self.lanes.read();
        if lanes.is_empty() {
            return None;
        }
        lanes[usize::from(lane) % lanes.len()].clone()
    }

    /// All links that are up, in the order of lanes.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        self.lanes.read().iter().flatten().cloned().collect()
    }

    /// A link is up. It takes the place of an older one in its lane. `alive_at`: a moment at which the peer's process
    /// was alive, because it has answered something that was sent then.
    pub(crate) fn add(&self, link: &Arc<Link>, hello: &Hello, alive_at: Instant) -> Result<(), NotAdded> {
        let mut state = self.state();
        if state.cut_off.left(Instant::now()).is_some() {
            return Err(NotAdded::CutOff);
        }
        if state.incarnation != hello.incarnation {
            if state.links > 0 {
                return Err(NotAdded::OtherIncarnation(state.incarnation));
            }
            if state.is_leaving(hello.incarnation) {
                return Err(NotAdded::Leaving);
            }
            if state.incarnation != 0 && hello.incarnation > state.incarnation && state.dead_since.is_none() {
                let old = state.incarnation;
                state.events.push_back(Event::Dead(old));
            }
            state.incarnation = hello.incarnation;
        } else if state.dead_since.is_some_and(|dead_since| dead_since >= alive_at) {
            return Err(NotAdded::Dead);
        }
        state.dead_since = None;
        state.refusal = None;
        self.is_near.store(link.transporter() != Transporter::Tcp, Ordering::Relaxed);
        if state.links == 0 {
            state.since = Instant::now();
            state.last_trouble = None;
            state.events.push_back(Event::Up(Box::new(hello.clone())));
        }
        let mut lanes = self.lanes.write();
        if state.links == 0 {
            lanes.clear();
        }
        let count = usize::from(hello.lanes).max(lanes.len());
        lanes.resize(count, None);
        let replaced = lanes[usize::from(link.lane)].replace(Arc::clone(link));
        drop(lanes);
        state.links += usize::from(replaced.is_none());
        state.links_lost += u64::from(replaced.is_some());
        drop(state);
        if let Some(replaced) = replaced {
            replaced.close("a newer link took its lane");
        }
        self.changed();
        Ok(())
    }

    /// What other incarnations than this have sent is no longer being handled.
    pub(crate) fn has_left(&self, incarnation: u64) -> bool {
        !self.state().is_leaving(incarnation)
    }

    /// A link was closed.
    pub(crate) fn remove(&self, link: &Arc<Link>, reason: &str) {
        let mut state = self.state();
        let mut lanes = self.lanes.write();
        let slot = lanes.get_mut(usize::from(link.lane));
        let Some(slot) = slot.filter(|slot| slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)))
        else {
            return;
        };
        *slot = None;
        drop(lanes);
        state.leaving.retain(|link| link.is_read());
        state.leaving.push(Arc::clone(link));
        state.links -= 1;
        state.links_lost += 1;
        state.last_trouble = Some(reason.to_string());
        if state.links == 0 {
            state.since = Instant::now();
            state.events.push_back(Event::Down(link.incarnation));
        }
        drop(state);
        self.changed();
    }

    /// The process is gone, as `proof` has found by an attempt that began at `changes`. What was learnt of an earlier
    /// state of the links proves nothing.
    pub(crate) fn is_proven_dead(&self, changes: u64) {
        let mut state = self.state();
        if state.links > 0 || *self.changes.borrow() != changes {
            return;
        }
        if state.incarnation != 0 && state.dead_since.is_none() {
            state.dead_since = Some(Instant::now());
            let incarnation = state.incarnation;
            state.events.push_back(Event::Dead(incarnation));
            drop(state);
            self.changed();
        }
    }

    /// The links that there were last did not go through a network.
    pub(crate) fn is_near(&self) -> bool {
        self.is_near.load(Ordering::Relaxed)
    }

    /// Counts changes of links and deaths.
    pub(crate) fn change_count(&self) -> u64 {
        *self.changes.borrow()
    }

    /// The peer has sent what no node sends: its links end, and for the pause that is returned none is made. `None`: it is kept
    /// away already.
    pub(crate) fn cut_off(&self, reason: &str, pauses: CutOffPauses) -> Option<Duration> {
        let mut state = self.state();
        let pause = state.cut_off.begin(Instant::now(), reason, pauses)?;
        state.events.push_back(Event::CutOff(reason.to_owned(), pause));
        drop(state);
        for link in self.links() {
            link.close(reason);
        }
        Some(pause)
    }

    /// How long the peer is still kept away.
    pub(crate) fn cut_off_left(&self) -> Option<Duration> {
        self.state().cut_off.left(Instant::now())
    }

    /// Tells what has happened, in its order, unless another thread is at it.
    pub(crate) fn tell_events(&self, mut tell: impl FnMut(Event)) {
        let mut state = self.state();
        if state.is_delivering {
            return;
        }
        state.is_delivering = true;
        while let Some(event) = state.events.pop_front() {
            drop(state);
            tell(event);
            state = self.state();
        }
        state.is_delivering = false;
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Down after it was up, and nobody knows yet whether the process lives.
    pub(crate) fn is_missing(&self) -> bool {
        let state = self.state();
        state.incarnation != 0 && state.links == 0 && state.dead_since.is_none()
    }

    pub(crate) fn count_received(&self, bytes: usize) {
        self.bytes_received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.bytes_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_block(&self, block: Block) {
        self.is_inbound_blocked.store(block.inbound, Ordering::Relaxed);
        self.is_outbound_blocked.store(block.outbound, Ordering::Relaxed);
        self.block.send_replace(block);
        if !block.outbound {
            let buried = std::mem::take(&mut self.state().buried);
            drop(buried);
        }
        for link in self.links() {
            link.look_again();
        }
    }

    /// Whether shared memory has been tried with that process of the peer, in vain.
    pub(crate) fn refuses_memory(&self, incarnation: u64) -> bool {
        self.refuses_memory.load(Ordering::Relaxed) == incarnation && incarnation != 0
    }

    pub(crate) fn refuse_memory(&self, incarnation: u64) {
        self.refuses_memory.store(incarnation, Ordering::Relaxed);
    }

    pub(crate) fn is_inbound_blocked(&self) -> bool {
        self.is_inbound_blocked.load(Ordering::Relaxed)
    }

    pub(crate) fn is_outbound_blocked(&self) -> bool {
        self.is_outbound_blocked.load(Ordering::Relaxed)
    }

    pub(crate) async fn inbound_unblocked(&self) {
        // The sender lives as long as `self`.
        let _ = self.block.subscribe().wait_for(|block| !block.inbound).await;
    }

    /// Resolves when nothing is blocked: no handshake passes a wire that is cut one way.
    pub(crate) async fn unblocked(&self) {
        let _ = self.block.subscribe().wait_for(|block| *block == Block::default()).await;
    }

    /// Keeps the socket of a closed link open until the block is lifted.
    pub(crate) fn bury(&self, link: Arc<Link>) {
        self.state().buried.push(link);
    }
}

impl Link {
    pub(crate) fn new(
        peer: Arc<Peer>,
        lane: u16,
        incarnation: u64,
        clock: Clock,
        options: LinkOptions,
        socket: WriteHalf,
    ) -> Arc<Link> {
        Arc::new(Link {
            peer,
            lane,
            incarnation,
            clock,
            options,
            socket,
            output: Mutex::default(),
            calls: Mutex::default(),
            served: Mutex::default(),
            attention: Notify::new(),
            is_closed: AtomicBool::new(false),
            is_read: AtomicBool::new(false),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            pongs: AtomicU64::new(0),
        })
    }

    pub(crate) fn node(&self) -> NodeId {
        self.peer.node
    }

    pub(crate) fn transporter(&self) -> Transporter {
        self.socket.transporter()
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.socket.is_encrypted()
    }

    pub(crate) fn has_received(&self) -> bool {
        self.reads.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock()
    }

    pub(crate) fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock()
    }

    /// Pings that were answered so far.
    pub(crate) fn pongs(&self) -> u64 {
        self.pongs.load(Ordering::Relaxed)
    }

    /// Ends the link; the reason is for the operator. The handler hears of it from the link's own task, because the
    /// current thread may hold locks that the handler needs.
    pub(crate) fn close(self: &Arc<Self>, reason: &str) {
        let Some(mut wakers) = self.output.lock().close() else { return };
        self.is_closed.store(true, Ordering::Release);
        wakers.append(&mut self.calls().close());
        wakers.append(&mut self.served().close());
        self.peer.remove(self, reason);
        if self.peer.is_outbound_blocked() {
            // The peer must not notice through a wire that is cut.
            self.peer.bury(Arc::clone(self));
        } else {
            self.socket.shutdown();
        }
        self.attention.notify_one();
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// A frame of it may be being handled just now.
    pub(crate) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Acquire)
    }

    /// A block was set or lifted.
    pub(crate) fn look_again(&self) {
        self.attention.notify_one();
    }
}
