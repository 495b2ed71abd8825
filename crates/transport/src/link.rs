//! A link: one connection between two nodes, after its handshake.
//!
//! Any thread may append frames and flush; the socket is written directly, without the reactor. Frames that come in are
//! read and handled by a local task of one worker (`serve`), which also watches for silence. A link that closes fails the
//! calls that wait on it; nothing is ever sent twice.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::Duration;

use shoal_types::NodeId;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

use crate::calls::{CallError, Calls, Reply};
use crate::cut_off::CutOffPauses;
use crate::frame::{self, Class, Frame, FrameError, Head, PAYLOAD_BYTES_MAX, TooLarge};
use crate::input::Input;
use crate::outbox;
use crate::output::{Batch, Output};
use crate::peer::Peer;
use crate::responder::{Responder, Served};
use crate::shared;
use crate::socket::{ReadHalf, Transporter, WriteHalf};
use crate::transport::Handler;

/// Beyond this much that is unwritten, a frame is written at once and not gathered with others.
const GATHERED_BYTES_MAX: usize = 64 << 10;

/// What links need to know of the options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkOptions {
    pub heartbeat: Duration,
    pub heartbeats_missed_max: u32,
    pub unsent_bytes_max: usize,
    pub cut_off: CutOffPauses,
}

/// Why no more of a link's frames are handled.
enum End {
    Closed(String),
    /// What has come cannot be what a node sends.
    Spoilt(String),
}

pub(crate) struct Link {
    peer: Arc<Peer>,
    pub lane: u16,
    pub incarnation: u64,
    handler: Arc<dyn Handler>,
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

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Appended {
    Yes,
    Closed,
    TooLarge(usize),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that panics runs under these locks but payload writers, whose half frames are taken back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(crate) fn new(
        peer: Arc<Peer>,
        lane: u16,
        incarnation: u64,
        handler: Arc<dyn Handler>,
        options: LinkOptions,
        socket: WriteHalf,
    ) -> Arc<Link> {
        Arc::new(Link {
            peer,
            lane,
            incarnation,
            handler,
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

    pub(crate) fn has_received(&self) -> bool {
        self.reads.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, Calls> {
        lock(&self.calls)
    }

    pub(crate) fn served(&self) -> MutexGuard<'_, Served> {
        lock(&self.served)
    }

    /// Pings that were answered so far.
    pub(crate) fn pongs(&self) -> u64 {
        self.pongs.load(Ordering::Relaxed)
    }

    fn append(self: &Arc<Self>, head: Head, payload: impl FnOnce(&mut Vec<u8>)) -> Appended {
        let mut output = lock(&self.output);
        if output.is_closed() {
            return Appended::Closed;
        }
        let head = Head { clock: self.handler.clock(), ..head };
        if let Err(TooLarge(bytes)) = frame::append(&mut output.pending, head, payload) {
            return Appended::TooLarge(bytes);
        }
        let is_much = output.pending.len() >= GATHERED_BYTES_MAX;
        drop(output);
        if is_much {
            self.flush();
        } else {
            outbox::appended(self);
        }
        Appended::Yes
    }

    /// Whether a frame that can wait or be dropped should be appended now.
    pub(crate) fn has_room(&self) -> bool {
        lock(&self.output).unsent_bytes() < self.options.unsent_bytes_max
    }

    /// `has_room` (or closed), or the task is woken when it is.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> bool {
        let mut output = lock(&self.output);
        if output.is_closed() || output.unsent_bytes() < self.options.unsent_bytes_max {
            return true;
        }
        output.wait(context.waker());
        false
    }

    /// A frame that may be lost: false if there is no room for it.
    pub(crate) fn send_message(self: &Arc<Self>, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> bool {
        let head = Head { kind, ..Head::of(Class::Message) };
        self.has_room() && self.append(head, payload) == Appended::Yes
    }

    pub(crate) fn send_request(
        self: &Arc<Self>,
        kind: u8,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u64, CallError> {
        let id = self.calls().begin()?;
        let error = match self.append(Head { kind, call: id, ..Head::of(Class::Request) }, payload) {
            Appended::Yes => return Ok(id),
            Appended::Closed => CallError::NoLink,
            Appended::TooLarge(bytes) => CallError::TooLarge { bytes },
        };
        self.calls().forget(id);
        Err(error)
    }

    pub(crate) fn send_cancel(self: &Arc<Self>, id: u64) {
        self.append(Head { call: id, ..Head::of(Class::Cancel) }, |_| ());
    }

    /// Replies are appended even when there is no room: not to read requests until there is could stop both sides for
    /// ever.
    pub(crate) fn send_reply(self: &Arc<Self>, kind: u8, id: u64, payload: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self.append(Head { kind, call: id, ..Head::of(Class::Reply) }, payload) {
            Appended::Yes => true,
            Appended::Closed => false,
            Appended::TooLarge(bytes) => {
                self.send_unanswered(id, &CallError::TooLarge { bytes }.to_string());
                false
            }
        }
    }

    pub(crate) fn send_unanswered(self: &Arc<Self>, id: u64, reason: &str) {
        let head = Head { call: id, ..Head::of(Class::Unanswered) };
        self.append(head, |buffer| buffer.extend_from_slice(reason.as_bytes()));
    }

    pub(crate) fn ping(self: &Arc<Self>) {
        self.append(Head::of(Class::Ping), |_| ());
    }

    /// Writes what has been appended, as far as the socket takes it.
    pub(crate) fn flush(self: &Arc<Self>) {
        self.write(|bytes| self.socket.send(bytes));
    }

    /// Goes on after the socket was full. Through the reactor, which has to learn when it is full again.
    fn resume(self: &Arc<Self>) {
        lock(&self.output).unstick();
        self.write(|bytes| self.socket.send_when_writable(bytes));
    }

    fn write(self: &Arc<Self>, mut send: impl FnMut(&[u8]) -> io::Result<usize>) {
        if self.peer.is_outbound_blocked() {
            return;
        }
        loop {
            let Some(mut batch) = lock(&self.output).take() else { return };
            let before = batch.sent_bytes;
            let result = send_all(&mut batch, &mut send);
            self.writes.fetch_add(1, Ordering::Relaxed);
            self.peer.count_sent(batch.sent_bytes - before);
            let mut output = lock(&self.output);
            let wakers = output.put_back(batch, self.options.unsent_bytes_max);
            let is_stuck = output.is_stuck();
            drop(output);
            wakers.into_iter().for_each(std::task::Waker::wake);
            if let Err(error) = result {
                return self.close(&format!("it cannot be written to: {error}"));
            }
            if is_stuck {
                return self.attention.notify_one();
            }
        }
    }

    /// Ends the link; the reason is for the operator. The handler hears of it from the link's own task, because the
    /// current thread may hold locks that the handler needs.
    pub(crate) fn close(self: &Arc<Self>, reason: &str) {
        let Some(mut wakers) = lock(&self.output).close() else { return };
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

    /// Reads, handles and watches until the link is closed. Runs on the lane's worker.
    pub(crate) async fn serve(self: Arc<Self>, socket: ReadHalf, input: Input) {
        let _closing = CloseOnDrop { link: Arc::clone(&self), tells_handler: true };
        self.is_read.store(true, Ordering::Release);
        let reader = tokio::task::spawn_local(Arc::clone(&self).read(socket, input));
        self.watch().await;
        reader.abort();
    }

    async fn watch(self: &Arc<Self>) {
        let heartbeat = self.options.heartbeat;
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + heartbeat, heartbeat);
        // Ticks that were missed because this process was stopped say nothing about the peer.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_watched = self.node() != crate::hello::CLIENT;
        let (mut reads, mut writes, mut silent_ticks) = (0, 0, 0);
        loop {
            let is_stuck = {
                let output = lock(&self.output);
                if output.is_closed() {
                    return;
                }
                output.is_stuck()
            };
            tokio::select! {
                () = self.socket.writable(), if is_stuck && !self.peer.is_outbound_blocked() => self.resume(),
                () = self.attention.notified() => self.flush(),
                _ = ticks.tick(), if is_watched => {
                    shared::look();
                    let now = self.reads.load(Ordering::Relaxed);
                    silent_ticks = if now == reads { silent_ticks + 1 } else { 0 };
                    reads = now;
                    if silent_ticks > self.options.heartbeats_missed_max {
                        let heartbeat_ms = heartbeat.as_millis();
                        self.close(&format!("nothing came for {silent_ticks} heartbeats of {heartbeat_ms} ms"));
                    }
                    let now = self.writes.load(Ordering::Relaxed);
                    if now == writes || silent_ticks > 0 {
                        self.ping();
                    }
                    writes = self.writes.load(Ordering::Relaxed);
                }
            }
        }
    }

    async fn read(self: Arc<Self>, mut socket: ReadHalf, mut input: Input) {
        let _reading = Reading(Arc::clone(&self));
        let _closing = CloseOnDrop { link: Arc::clone(&self), tells_handler: false };
        let reason = loop {
            match self.handle_frames(&mut input) {
                Ok(()) => {}
                Err(End::Closed(reason)) => break reason,
                Err(End::Spoilt(reason)) => {
                    if self.node() != crate::hello::CLIENT {
                        self.peer.cut_off(&reason, self.options.cut_off);
                    }
                    break reason;
                }
            }
            match socket.read(input.room()).await {
                Ok(0) => break "the peer closed it".to_string(),
                Ok(bytes) => {
                    if self.peer.is_inbound_blocked() {
                        self.peer.inbound_unblocked().await;
                    }
                    self.reads.fetch_add(1, Ordering::Relaxed);
                    self.peer.count_received(bytes);
                    match self.transporter() {
                        Transporter::SharedMemory => shared::look_after_work(),
                        Transporter::Tcp | Transporter::Unix => shared::look_in_passing(),
                    }
                }
                Err(error) => break format!("it cannot be read from: {error}"),
            }
        };
        if self.peer.is_inbound_blocked() {
            self.peer.inbound_unblocked().await;
        }
        self.close(&reason);
    }

    fn handle_frames(self: &Arc<Self>, input: &mut Input) -> Result<(), End> {
        let spoilt = |error: FrameError| End::Spoilt(error.to_string());
        while let Some(frame) = input.next_frame(PAYLOAD_BYTES_MAX).map_err(spoilt)? {
            // The next life of the peer may be up: what the one before it has said is void.
            if self.is_closed() {
                return Err(End::Closed("it was closed".into()));
            }
            self.handle(frame)?;
        }
        Ok(())
    }

    fn handle(self: &Arc<Self>, Frame { head, payload }: Frame<'_>) -> Result<(), End> {
        let Head { class, kind, call, clock } = head;
        // Whatever is done because of the frame is later than what the sender had done.
        if self.node() != crate::hello::CLIENT {
            self.handler.observe_clock(clock).map_err(End::Spoilt)?;
        }
        match class {
            Class::Message => self.handler.on_message(self.node(), kind, payload),
            Class::Request => {
                if !self.served().begin(call) {
                    return Err(End::Spoilt(format!("a request has the impossible id {call:#x}")));
                }
                self.handler.on_request(self.node(), kind, payload, Responder::new(Arc::clone(self), call));
            }
            Class::Reply => {
                let waker = self.calls().complete(call, || Ok(Reply { kind, payload: payload.to_vec() }));
                waker.into_iter().for_each(std::task::Waker::wake);
            }
            Class::Unanswered => {
                let reason = || String::from_utf8_lossy(payload).into_owned();
                let waker = self.calls().complete(call, || Err(CallError::Unanswered(reason())));
                waker.into_iter().for_each(std::task::Waker::wake);
            }
            Class::Cancel => {
                let waker = self.served().cancel(call);
                waker.into_iter().for_each(std::task::Waker::wake);
            }
            Class::Ping => {
                self.append(Head::of(Class::Pong), |_| ());
            }
            Class::Pong => {
                self.pongs.fetch_add(1, Ordering::Relaxed);
            }
            Class::Refused => {
                let reason = String::from_utf8_lossy(payload);
                return Err(End::Closed(format!("the peer ended it: {reason}")));
            }
            Class::Hello | Class::Ready | Class::KeptAway => {
                return Err(End::Spoilt("a second handshake came".to_string()));
            }
        }
        Ok(())
    }
}

fn send_all(batch: &mut Batch, send: &mut impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
    while batch.sent_bytes < batch.bytes.len() {
        match send(&batch.bytes[batch.sent_bytes..]) {
            Ok(bytes) => batch.sent_bytes += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Notes that a link's reader has ended, and handles no frame any more.
struct Reading(Arc<Link>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.is_read.store(false, Ordering::Release);
    }
}

/// Closes a link when its tasks end, however they end: its worker may have stopped, or a handler panicked.
struct CloseOnDrop {
    link: Arc<Link>,
    tells_handler: bool,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.link.close("its worker stopped serving it");
        if self.tells_handler {
            self.link.peer.deliver(&*self.link.handler);
        }
    }
}
