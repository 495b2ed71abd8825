//! The handle that answers a call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use shoal_types::NodeId;

use crate::peer::Link;

/// What a caller reads when a handler dropped its request.
const DROPPED: &str = "the request was given up by the node that should have answered it; look at its log";

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
        !self.link.served().is_wanted(self.id)
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
        responder.link.served().poll_cancelled(responder.id, context)
    }
}
