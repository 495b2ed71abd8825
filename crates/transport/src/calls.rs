//! The caller's table of replies that are awaited on a link.
//!
//! A call's id is its slot in the table below and the slot's generation above, so that a reply that comes after its
//! call was given up meets another generation and is dropped. Slots are reused; a call costs no allocation but its
//! reply's payload.

use std::task::{Context, Poll, Waker};

use crate::frame::PAYLOAD_BYTES_MAX;

/// Calls in flight on one link at most; ids beyond are refused as damage by the other side.
pub(crate) const CALLS_MAX: u32 = 1 << 17;

/// What the peer's handler answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// As the handler has it; the transport does not look at it.
    pub kind: u8,
    /// The frame's bytes behind its head.
    pub payload: Vec<u8>,
}

/// Why a call has no reply. `was_sent` tells whether the peer may have acted on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing was sent.
    #[error("there is no link to the node")]
    NoLink,
    /// The peer may have acted on the call.
    #[error("the link to the node broke before it answered")]
    LinkLost,
    /// The peer's handler dropped the call, or its answer was too large; its reason.
    #[error("the node did not answer: {0}")]
    Unanswered(String),
    /// Nothing was sent.
    #[error("a frame of {bytes} bytes is larger than the limit of {PAYLOAD_BYTES_MAX}")]
    TooLarge {
        /// Of the payload.
        bytes: usize,
    },
    /// Nothing was sent.
    #[error("more than {CALLS_MAX} calls wait on one link")]
    TooManyCalls,
}

impl CallError {
    /// False: the peer has seen nothing of the call. True: it may have acted on it, wholly, partly or not at all.
    pub fn was_sent(&self) -> bool {
        matches!(self, CallError::LinkLost | CallError::Unanswered(_))
    }
}

/// How a call ends.
pub(crate) type CallResult = Result<Reply, CallError>;

#[derive(Debug)]
enum Slot {
    Free,
    Waiting(Option<Waker>),
    Done(CallResult),
}

#[derive(Debug)]
struct Entry {
    generation: u32,
    slot: Slot,
}

/// The calls of one link that wait for replies.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    entries: Vec<Entry>,
    free: Vec<u32>,
    is_closed: bool,
}

fn split(id: u64) -> (usize, u32) {
    (id as u32 as usize, (id >> 32) as u32)
}

impl Calls {
    /// The id of a call that begins.
    pub(crate) fn begin(&mut self) -> Result<u64, CallError> {
        if self.is_closed {
            return Err(CallError::NoLink);
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.entries.len() == CALLS_MAX as usize => return Err(CallError::TooManyCalls),
            None => {
                self.entries.push(Entry { generation: 0, slot: Slot::Free });
                self.entries.len() as u32 - 1
            }
        };
        let entry = &mut self.entries[index as usize];
        // Generation 0 is skipped: no call has id 0.
        entry.generation = entry.generation.checked_add(1).unwrap_or(1);
        entry.slot = Slot::Waiting(None);
        Ok(u64::from(entry.generation) << 32 | u64::from(index))
    }

    fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        let (index, generation) = split(id);
        self.entries.get_mut(index).filter(|entry| entry.generation == generation)
    }

    /// Stores a call's result; the waker is to be woken when the table is unlocked. Nobody may wait any more.
    pub(crate) fn complete(&mut self, id: u64, result: impl FnOnce() -> CallResult) -> Option<Waker> {
        let entry = self.entry(id)?;
        let Slot::Waiting(waker) = &mut entry.slot else { return None };
        let waker = waker.take();
        entry.slot = Slot::Done(result());
        waker
    }

    pub(crate) fn poll(&mut self, id: u64, context: &mut Context<'_>) -> Poll<CallResult> {
        let entry = self.entry(id).expect("a call's entry is its own until it is forgotten");
        match &mut entry.slot {
            Slot::Waiting(waker) => {
                if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                    *waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
            slot => {
                let Slot::Done(result) = std::mem::replace(slot, Slot::Free) else {
                    unreachable!("a call whose entry is free was forgotten")
                };
                self.free.push(id as u32);
                Poll::Ready(result)
            }
        }
    }

    /// Forgets a call. True if its reply had not come.
    pub(crate) fn forget(&mut self, id: u64) -> bool {
        let Some(entry) = self.entry(id) else { return false };
        let was_waiting = matches!(entry.slot, Slot::Waiting(_));
        entry.slot = Slot::Free;
        self.free.push(id as u32);
        was_waiting
    }

    /// The link is gone: every call that waits has lost it. Returns whom to wake.
    pub(crate) fn close(&mut self) -> Vec<Waker> {
        self.is_closed = true;
        let mut wakers = Vec::new();
        for entry in &mut self.entries {
            if let Slot::Waiting(waker) = &mut entry.slot {
                wakers.extend(waker.take());
                entry.slot = Slot::Done(Err(CallError::LinkLost));
            }
        }
        wakers
    }

    #[cfg(test)]
    pub(crate) fn in_flight(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(byte: u8) -> CallResult {
        Ok(Reply { kind: byte, payload: vec![byte] })
    }

    #[test]
    fn a_reply_for_a_call_that_was_forgotten_does_not_reach_the_next_one_in_its_slot() {
        let mut calls = Calls::default();
        let first = calls.begin().unwrap();
        assert!(calls.forget(first));
        let second = calls.begin().unwrap();
        assert_eq!(first as u32, second as u32, "the slot is used again");
        calls.complete(first, || reply(1));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(calls.poll(second, context).is_pending());
        calls.complete(second, || reply(2));
        assert_eq!(calls.poll(second, context), Poll::Ready(reply(2)));
        assert_eq!(calls.in_flight(), 0);
    }

    #[test]
    fn closing_fails_what_waits_and_refuses_what_comes() {
        let mut calls = Calls::default();
        let done = calls.begin().unwrap();
        let waiting = calls.begin().unwrap();
        calls.complete(done, || reply(1));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(calls.poll(waiting, context).is_pending());
        assert_eq!(calls.close().len(), 1);
        assert_eq!(calls.poll(done, context), Poll::Ready(reply(1)));
        assert_eq!(calls.poll(waiting, context), Poll::Ready(Err(CallError::LinkLost)));
        assert_eq!(calls.begin(), Err(CallError::NoLink));
    }

    #[test]
    fn ids_from_outside_are_only_looked_up() {
        let mut calls = Calls::default();
        let id = calls.begin().unwrap();
        for strange in [0, u64::MAX, id + 1, id ^ 1 << 33] {
            assert!(calls.complete(strange, || panic!("no such call")).is_none());
        }
    }
}
