//! Frames that go out over a link. Any thread may append them; what a worker's thread appends leaves later, in one write (`outbox`).

use std::sync::Arc;
use std::task::Context;

use super::Link;
use crate::calls::CallError;
use crate::frame::{self, Class, Head, TooLarge};
use crate::outbox;

/// Beyond this much that is unwritten, a frame is written at once and not gathered with others.
const GATHERED_BYTES_MAX: usize = 64 << 10;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    Yes,
    Closed,
    TooLarge(usize),
}

impl Link {
    pub(super) fn append(self: &Arc<Self>, head: Head, payload: impl FnOnce(&mut Vec<u8>)) -> Appended {
        let mut output = self.output.lock();
        if output.is_closed() {
            return Appended::Closed;
        }
        let head = Head { clock: (self.clock)(), ..head };
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
        self.output.lock().unsent_bytes() < self.options.unsent_bytes_max
    }

    /// `has_room` (or closed), or the task is woken when it is.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> bool {
        let mut output = self.output.lock();
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
}
