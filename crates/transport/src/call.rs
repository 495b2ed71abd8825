//! The future that waits for a call's reply.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::calls::{CallError, CallResult};
use crate::peer::Link;

#[derive(Debug)]
enum State {
    /// The link's buffer is full; the frame waits here for room.
    Queued {
        link: Arc<Link>,
        kind: u8,
        payload: Vec<u8>,
    },
    Sent {
        link: Arc<Link>,
        id: u64,
    },
    Failed(CallError),
    Finished,
}

/// A call on its way: resolves to the reply. The request is on its way from the start, polled or not, unless the link's
/// buffer was full then. Dropping it tells the peer that nobody waits any more.
#[derive(Debug)]
#[must_use = "a call that is dropped is cancelled"]
pub struct Call {
    state: State,
}

impl Call {
    pub(crate) fn failed(error: CallError) -> Call {
        Call { state: State::Failed(error) }
    }

    pub(crate) fn start(link: Arc<Link>, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> Call {
        let state = if link.has_room() {
            Call::send(link, kind, payload)
        } else {
            let mut queued = Vec::new();
            payload(&mut queued);
            State::Queued { link, kind, payload: queued }
        };
        Call { state }
    }

    fn send(link: Arc<Link>, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) -> State {
        match link.send_request(kind, payload) {
            Ok(id) => State::Sent { link, id },
            Err(error) => State::Failed(error),
        }
    }
}

impl Future for Call {
    type Output = CallResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallResult> {
        if let State::Queued { link, .. } = &self.state {
            if !link.poll_room(context) {
                return Poll::Pending;
            }
            let State::Queued { link, kind, payload } = std::mem::replace(&mut self.state, State::Finished) else {
                unreachable!("the state was matched above")
            };
            self.state = Call::send(link, kind, |buffer| buffer.extend_from_slice(&payload));
        }
        if let State::Sent { link, id } = &self.state {
            let poll = link.calls().poll(*id, context);
            if poll.is_ready() {
                self.state = State::Finished;
            }
            return poll;
        }
        match std::mem::replace(&mut self.state, State::Finished) {
            State::Failed(error) => Poll::Ready(Err(error)),
            _ => panic!("a call was polled after it had finished"),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let State::Sent { link, id } = &self.state {
            let was_waiting = link.calls().forget(*id);
            if was_waiting {
                link.send_cancel(*id);
            }
        }
    }
}
