//! Frames that come in over a link are read and handled by a local task of one worker, which also watches for silence.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::MissedTickBehavior;

use super::Link;
use crate::calls::{CallError, Reply};
use crate::frame::{Class, Frame, FrameError, Head, PAYLOAD_BYTES_MAX};
use crate::handler::Handler;
use crate::hello::CLIENT;
use crate::input::Input;
use crate::responder::Responder;
use crate::shared;
use crate::socket::{ReadHalf, Transporter};

/// Why no more of a link's frames are handled.
enum End {
    Closed(String),
    /// What has come cannot be what a node sends.
    Spoilt(String),
}

impl Link {
    /// Reads, handles and watches until the link is closed. Runs on the lane's worker.
    pub(crate) async fn serve(self: Arc<Self>, handler: Arc<dyn Handler>, socket: ReadHalf, input: Input) {
        let _closing = CloseOnDrop { link: Arc::clone(&self), told: Some(Arc::clone(&handler)) };
        self.is_read.store(true, Ordering::Release);
        let reader = tokio::task::spawn_local(Arc::clone(&self).read(handler, socket, input));
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
                let output = self.output.lock();
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

    async fn read(self: Arc<Self>, handler: Arc<dyn Handler>, mut socket: ReadHalf, mut input: Input) {
        let _reading = Reading(Arc::clone(&self));
        let _closing = CloseOnDrop { link: Arc::clone(&self), told: None };
        let reason = loop {
            match self.handle_frames(&*handler, &mut input) {
                Ok(()) => {}
                Err(End::Closed(reason)) => break reason,
                Err(End::Spoilt(reason)) => {
                    if self.node() != CLIENT {
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

    fn handle_frames(self: &Arc<Self>, handler: &dyn Handler, input: &mut Input) -> Result<(), End> {
        let spoilt = |error: FrameError| End::Spoilt(error.to_string());
        while let Some(frame) = input.next_frame(PAYLOAD_BYTES_MAX).map_err(spoilt)? {
            // The next life of the peer may be up: what the one before it has said is void.
            if self.is_closed() {
                return Err(End::Closed("it was closed".into()));
            }
            self.handle(handler, frame)?;
        }
        Ok(())
    }

    fn handle(self: &Arc<Self>, handler: &dyn Handler, Frame { head, payload }: Frame<'_>) -> Result<(), End> {
        let Head { class, kind, call, clock } = head;
        // Whatever is done because of the frame is later than what the sender had done.
        if self.node() != CLIENT {
            handler.observe_clock(clock).map_err(End::Spoilt)?;
        }
        match class {
            Class::Message => handler.on_message(self.node(), kind, payload),
            Class::Request => {
                if !self.served().begin(call) {
                    return Err(End::Spoilt(format!("a request has the impossible id {call:#x}")));
                }
                handler.on_request(self.node(), kind, payload, Responder::new(Arc::clone(self), call));
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
    /// Hears that the link has closed.
    told: Option<Arc<dyn Handler>>,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.link.close("its worker stopped serving it");
        if let Some(handler) = &self.told {
            self.link.peer.deliver(&**handler);
        }
    }
}
