//! What the current thread has appended to links and not yet written.
//!
//! On a worker's thread frames are gathered: everything that is appended while the worker runs leaves in one write a
//! link. The worker's loop calls `flush` when it is idle; a local task does the same a little earlier when the queue
//! of ready tasks does not become empty. Other threads gather nothing, unless they say so (`gather`).

use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::peer::Link;
use crate::shared;

#[derive(Default)]
struct Outbox {
    /// Links with frames of this thread.
    unwritten: Vec<Arc<Link>>,
    /// An empty list that keeps its capacity.
    spare: Vec<Arc<Link>>,
    /// Wakes the task that flushes; none: this thread is no worker.
    waker: Option<Waker>,
    /// Calls of `gather` that run.
    gathering: usize,
    /// The lane of this worker by transport.
    lanes: Vec<(u64, u16)>,
}

thread_local! {
    static OUTBOX: RefCell<Outbox> = RefCell::default();
}

/// A frame was appended to `link`: writes it now, or remembers to.
pub(crate) fn appended(link: &Arc<Link>) {
    let is_remembered = OUTBOX.try_with(|outbox| outbox.borrow_mut().remember(link));
    if !is_remembered.unwrap_or(false) {
        link.flush();
    }
}

impl Outbox {
    fn remember(&mut self, link: &Arc<Link>) -> bool {
        match &self.waker {
            Some(waker) if self.unwritten.is_empty() => waker.wake_by_ref(),
            Some(_) => {}
            None if self.gathering > 0 => {}
            None => return false,
        }
        if !self.unwritten.iter().any(|unwritten| Arc::ptr_eq(unwritten, link)) {
            self.unwritten.push(Arc::clone(link));
        }
        true
    }
}

/// Writes what this thread has appended.
pub(crate) fn flush() {
    let take = |outbox: &RefCell<Outbox>| {
        let mut outbox = outbox.borrow_mut();
        let spare = std::mem::take(&mut outbox.spare);
        std::mem::replace(&mut outbox.unwritten, spare)
    };
    let Ok(mut unwritten) = OUTBOX.try_with(take) else { return };
    for link in unwritten.drain(..) {
        link.flush();
    }
    let _ = OUTBOX.try_with(|outbox| outbox.borrow_mut().spare = unwritten);
}

/// Writes what is left when the outermost `gather` ends, however it ends.
struct Gathering;

impl Drop for Gathering {
    fn drop(&mut self) {
        let end = |outbox: &RefCell<Outbox>| {
            let mut outbox = outbox.borrow_mut();
            outbox.gathering -= 1;
            outbox.gathering == 0 && outbox.waker.is_none()
        };
        if OUTBOX.try_with(end).unwrap_or(false) {
            flush();
        }
    }
}

/// What `work` appends leaves in one write a link when it returns; on a worker, when the worker writes anyway.
pub(crate) fn gather<T>(work: impl FnOnce() -> T) -> T {
    OUTBOX.with(|outbox| outbox.borrow_mut().gathering += 1);
    let _gathering = Gathering;
    work()
}

/// The lane of the current thread in `transport`, if it is one of its workers.
pub(crate) fn lane_of(transport: u64) -> Option<u16> {
    let find = |outbox: &RefCell<Outbox>| {
        let outbox = outbox.borrow();
        outbox.lanes.iter().find(|(of, _)| *of == transport).map(|(_, lane)| *lane)
    };
    OUTBOX.try_with(find).ok().flatten()
}

/// Ends a thread's life as a worker of one transport.
struct Worker {
    transport: u64,
}

impl Drop for Worker {
    fn drop(&mut self) {
        flush();
        let _ = OUTBOX.try_with(|outbox| {
            let mut outbox = outbox.borrow_mut();
            outbox.lanes.retain(|(of, _)| *of != self.transport);
            outbox.waker = None;
        });
    }
}

/// Makes the current thread a worker of `transport`, as long as the future lives. To be spawned as a local task.
pub(crate) fn work(transport: u64, lane: u16) -> impl Future<Output = ()> {
    OUTBOX.with(|outbox| outbox.borrow_mut().lanes.push((transport, lane)));
    let worker = Worker { transport };
    async move {
        let _worker = worker;
        poll_fn(|context| {
            OUTBOX.with(|outbox| outbox.borrow_mut().waker = Some(context.waker().clone()));
            flush();
            shared::look();
            Poll::Pending
        })
        .await
    }
}
