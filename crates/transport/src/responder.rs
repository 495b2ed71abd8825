//! The answering side of calls: who is being served on a link, and the handle that answers.
//!
//! The table is indexed by the slot part of the caller's ids, so it is as small as the caller's own. A slot that the
//! caller uses again belongs to the newer call; the older one was cancelled before, by the order of frames on a link.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use shoal_types::NodeId;

use crate::calls::CALLS_MAX;
use crate::link::Link;

/// What a caller reads when a handler dropped its request.
const DROPPED: &str = "the request was given up by the node that should have answered it; look at its log";

#[derive(Debug, Default)]
struct Entry {
    generation: u32,
    /// False: answered or cancelled.
    is_wanted: bool,
    waker: Option<Waker>,
}

/// The calls of a link's peer that this node is working on.
#[derive(Debug, Default)]
pub(crate) struct Served {
    entries: Vec<Entry>,
}

fn split(id: u64) -> (usize, u32) {
    (id as u32 as usize, (id >> 32) as u32)
}

impl Served {
    /// A request has come. False: its id is impossible.
    pub(crate) fn begin(&mut self, id: u64) -> bool {
        let (index, generation) = split(id);
        if index >= CALLS_MAX as usize || id == 0 {
            return false;
        }
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, Entry::default);
        }
        self.entries[index] = Entry { generation, is_wanted: true, waker: None };
        true
    }

    fn wanted(&mut self, id: u64) -> Option<&mut Entry> {
        let (index, generation) = split(id);
        self.entries.get_mut(index).filter(|entry| entry.generation == generation && entry.is_wanted)
    }

    /// The call needs no answer any more. Returns whom to wake.
    pub(crate) fn cancel(&mut self, id: u64) -> Option<Waker> {
        let entry = self.wanted(id)?;
        entry.is_wanted = false;
        entry.waker.take()
    }

    /// The call is being answered. False: nobody waits for that.
    fn finish(&mut self, id: u64) -> bool {
        self.wanted(id).is_some_and(|entry| {
            entry.is_wanted = false;
            entry.waker = None;
            true
        })
    }

    pub(crate) fn close(&mut self) -> Vec<Waker> {
        self.entries.drain(..).filter_map(|entry| entry.waker).collect()
    }
}

/// The obligation to answer one call. May travel to any thread. Dropped unused, it answers with an error.
#[derive(Debug)]
#[must_use = "a responder that is dropped answers with an error"]
pub struct Responder {
    link: Arc<Link>,
    id: u64,
    is_answered: bool,
}

impl Responder {
    pub(crate) fn new(link: Arc<Link>, id: u64) -> Responder {
        Responder { link, id, is_answered: false }
    }

    /// The caller's node; `CLIENT` for clients.
    pub fn caller(&self) -> NodeId {
        self.link.node()
    }

    /// Answers. False: the caller no longer waits, or the reply is larger than a frame may be (the caller is told).
    pub fn reply(mut self, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.is_answered = true;
        let is_wanted = self.link.served().finish(self.id);
        is_wanted && self.link.send_reply(kind, self.id, payload)
    }

    /// Answers that there is no answer; the caller sees `CallError::Unanswered` with this sentence.
    pub fn refuse(mut self, reason: &str) {
        self.give_up(reason);
    }

    fn give_up(&mut self, reason: &str) {
        self.is_answered = true;
        let is_wanted = self.link.served().finish(self.id);
        if is_wanted {
            self.link.send_unanswered(self.id, reason);
        }
    }

    /// Whether the caller has gone or given up.
    pub fn is_cancelled(&self) -> bool {
        self.link.served().wanted(self.id).is_none()
    }

    /// Resolves when the caller has gone or given up.
    pub fn cancelled(&mut self) -> Cancelled<'_> {
        Cancelled { responder: self }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.is_answered {
            self.give_up(DROPPED);
        }
    }
}

/// See `Responder::cancelled`.
#[derive(Debug)]
pub struct Cancelled<'a> {
    responder: &'a mut Responder,
}

impl Future for Cancelled<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let responder = &self.responder;
        match responder.link.served().wanted(responder.id) {
            None => Poll::Ready(()),
            Some(entry) => {
                entry.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_used_again_belongs_to_the_newer_call() {
        let mut served = Served::default();
        let (older, newer) = (1 << 32 | 5, 2 << 32 | 5);
        assert!(served.begin(older));
        assert!(served.wanted(older).is_some());
        served.cancel(older);
        assert!(served.begin(newer));
        assert!(!served.finish(older));
        assert!(served.finish(newer));
        assert!(!served.finish(newer), "answered once");
    }

    #[test]
    fn impossible_ids_are_refused_and_unknown_ones_ignored() {
        let mut served = Served::default();
        assert!(!served.begin(0));
        assert!(!served.begin(1 << 32 | u64::from(CALLS_MAX)));
        assert!(served.cancel(u64::MAX).is_none());
        assert!(served.entries.is_empty());
    }
}
