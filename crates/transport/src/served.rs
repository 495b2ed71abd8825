//! The answering side's table of calls on a link.
//!
//! It is indexed by the slot part of the caller's ids, so it is as small as the caller's own. A slot that the
//! caller uses again belongs to the newer call; the older one was cancelled before, by the order of frames on a link.

use std::task::{Context, Poll, Waker};

use crate::calls::CALLS_MAX;

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

    /// Somebody waits for the answer.
    pub(crate) fn is_wanted(&mut self, id: u64) -> bool {
        self.wanted(id).is_some()
    }

    /// Ready when nobody waits for the answer any more; until then the task is woken when that is so.
    pub(crate) fn poll_cancelled(&mut self, id: u64, context: &mut Context<'_>) -> Poll<()> {
        match self.wanted(id) {
            None => Poll::Ready(()),
            Some(entry) => {
                entry.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The call needs no answer any more. Returns whom to wake.
    pub(crate) fn cancel(&mut self, id: u64) -> Option<Waker> {
        let entry = self.wanted(id)?;
        entry.is_wanted = false;
        entry.waker.take()
    }

    /// The call is being answered. False: nobody waits for that.
    pub(crate) fn finish(&mut self, id: u64) -> bool {
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
