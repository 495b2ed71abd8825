//! What the connections of one worker share: buffers, a coarse clock, the list of connections, traffic counters.
//!
//! A worker is one thread, so everything here is single-threaded. Time is counted in ticks of a second by one timer per
//! worker: a connection sets its deadline by a plain store, and the tick wakes those whose deadline has passed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::compression::Codecs;
use crate::packet::{PacketReader, PacketWriter};

/// Length of a tick. Deadlines are kept to a tick.
pub const TICK: Duration = Duration::from_secs(1);
const NO_DEADLINE: u64 = u64::MAX;

/// Capacity of a fresh buffer, and the most that an idle one may keep.
const BUFFER_SIZE: usize = 16 * 1024;
const BUFFER_SIZE_KEPT_MAX: usize = 64 * 1024;
/// Buffers that wait for use; more are given back to the allocator.
const BUFFERS_KEPT_MAX: usize = 64;

/// How far the server has come in stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopping {
    No,
    /// Statements that run may end; nothing starts.
    Draining,
    /// Whatever still runs is cut off.
    Now,
}

#[derive(Debug)]
pub struct Worker {
    ticks: Cell<u64>,
    stopping: Cell<Stopping>,
    connections: RefCell<HashMap<u64, Rc<Control>>>,
    next_key: Cell<u64>,
    /// Connections whose transactions hold locks.
    lock_holders: Cell<u32>,
    input_buffers: RefCell<Vec<Vec<u8>>>,
    output_buffers: RefCell<Vec<Vec<u8>>>,
    codecs: Rc<Codecs>,
    received: Cell<u64>,
    sent: Cell<u64>,
}

/// How the worker reaches the task of one connection.
#[derive(Debug)]
pub struct Control {
    waker: Waker,
    deadline: Cell<u64>,
    expired: Cell<bool>,
    holds_locks: Cell<bool>,
}

/// A connection's place in its worker's list; leaves it when dropped.
#[derive(Debug)]
pub struct Registration {
    worker: Rc<Worker>,
    control: Rc<Control>,
    key: u64,
}

impl Worker {
    pub fn new() -> Rc<Worker> {
        Rc::new(Worker {
            ticks: Cell::new(0),
            stopping: Cell::new(Stopping::No),
            connections: RefCell::default(),
            next_key: Cell::new(0),
            lock_holders: Cell::new(0),
            input_buffers: RefCell::default(),
            output_buffers: RefCell::default(),
            codecs: Rc::default(),
            received: Cell::new(0),
            sent: Cell::new(0),
        })
    }

    pub fn register(self: &Rc<Worker>, waker: Waker) -> Registration {
        let control = Rc::new(Control {
            waker,
            deadline: Cell::new(NO_DEADLINE),
            expired: Cell::new(false),
            holds_locks: Cell::new(false),
        });
        let key = self.next_key.get();
        self.next_key.set(key + 1);
        self.connections.borrow_mut().insert(key, Rc::clone(&control));
        Registration { worker: Rc::clone(self), control, key }
    }

    /// Lets a tick pass: wakes the connections whose deadline is over.
    pub fn tick(&self) {
        let now = self.ticks.get() + 1;
        self.ticks.set(now);
        for control in self.connections.borrow().values() {
            if control.deadline.get() <= now {
                control.expired.set(true);
                control.deadline.set(NO_DEADLINE);
                control.waker.wake_by_ref();
            }
        }
    }

    pub fn stop(&self, stopping: Stopping) {
        self.stopping.set(stopping.max(self.stopping.get()));
        for control in self.connections.borrow().values() {
            control.waker.wake_by_ref();
        }
    }

    pub fn stopping(&self) -> Stopping {
        self.stopping.get()
    }

    #[cfg(test)]
    fn connection_count(&self) -> usize {
        self.connections.borrow().len()
    }

    pub fn lend_input(&self, reader: &mut PacketReader) {
        let buffer = self.input_buffers.borrow_mut().pop();
        reader.give_buffer(buffer.unwrap_or_else(|| vec![0; BUFFER_SIZE]));
    }

    pub fn take_back_input(&self, reader: &mut PacketReader) {
        keep(&self.input_buffers, reader.take_buffer());
    }

    pub fn lend_output(&self, writer: &mut PacketWriter) {
        let buffer = self.output_buffers.borrow_mut().pop();
        writer.give_buffer(buffer.unwrap_or_else(|| Vec::with_capacity(BUFFER_SIZE)));
    }

    pub fn take_back_output(&self, writer: &mut PacketWriter) {
        keep(&self.output_buffers, writer.take_buffer());
    }

    /// What connections compress with.
    pub fn codecs(&self) -> &Rc<Codecs> {
        &self.codecs
    }

    pub fn count_received(&self, bytes: usize) {
        self.received.set(self.received.get() + bytes as u64);
    }

    pub fn count_sent(&self, bytes: usize) {
        self.sent.set(self.sent.get() + bytes as u64);
    }

    /// Bytes received and sent since the last call.
    pub fn take_traffic(&self) -> (u64, u64) {
        (self.received.take(), self.sent.take())
    }
}

fn keep(pool: &RefCell<Vec<Vec<u8>>>, buffer: Vec<u8>) {
    let mut pool = pool.borrow_mut();
    if pool.len() < BUFFERS_KEPT_MAX && (1..=BUFFER_SIZE_KEPT_MAX).contains(&buffer.capacity()) {
        pool.push(buffer);
    }
}

impl Registration {
    pub fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    pub fn waker(&self) -> &Waker {
        &self.control.waker
    }

    /// Lets the connection expire in `seconds`, rounded up to the next tick but one.
    pub fn set_deadline(&self, seconds: u64) {
        self.control.deadline.set(self.worker.ticks.get().saturating_add(seconds).saturating_add(1));
    }

    pub fn clear_deadline(&self) {
        self.control.deadline.set(NO_DEADLINE);
        self.control.expired.set(false);
    }

    pub fn is_expired(&self) -> bool {
        self.control.expired.get()
    }

    /// Between two statements: whether the connection's transaction keeps others waiting.
    pub fn set_holds_locks(&self, holds_locks: bool) {
        if self.control.holds_locks.replace(holds_locks) != holds_locks {
            let holders = self.worker.lock_holders.get();
            self.worker.lock_holders.set(if holds_locks { holders + 1 } else { holders - 1 });
        }
    }

    /// Lets the worker's connections that hold locks go first, unless this is one of them: the sooner they are done, the fewer wait
    /// for them, and the fewer meet crosswise.
    pub async fn let_lock_holders_pass(&self) {
        let mut may_go = self.worker.lock_holders.get() == 0 || self.control.holds_locks.get();
        // Not the runtime's `yield_now`, which looks for events first.
        poll_fn(|context| {
            if std::mem::replace(&mut may_go, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.set_holds_locks(false);
        self.worker.connections.borrow_mut().remove(&self.key);
    }
}

/// The waker of the task that runs.
pub async fn current_waker() -> Waker {
    poll_fn(|context: &mut Context<'_>| Poll::Ready(context.waker().clone())).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_deadline_passes_after_its_seconds_and_not_before() {
        let worker = Worker::new();
        let count = Arc::new(Count::default());
        let registration = worker.register(Arc::clone(&count).into());
        registration.set_deadline(2);
        worker.tick();
        worker.tick();
        assert!(!registration.is_expired());
        worker.tick();
        assert!(registration.is_expired());
        worker.tick();
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "woken once");
        registration.clear_deadline();
        assert!(!registration.is_expired());
    }

    #[test]
    fn a_connection_that_ended_is_no_longer_listed() {
        let worker = Worker::new();
        let registration = worker.register(Arc::new(Count::default()).into());
        assert_eq!(worker.connection_count(), 1);
        drop(registration);
        assert_eq!(worker.connection_count(), 0);
    }

    #[test]
    fn a_buffer_that_grew_large_is_not_kept() {
        let worker = Worker::new();
        let mut writer = PacketWriter::default();
        worker.lend_output(&mut writer);
        writer.packet(&[0; 2 * BUFFER_SIZE_KEPT_MAX]);
        writer.sent(writer.unsent().len());
        worker.take_back_output(&mut writer);
        assert!(worker.output_buffers.borrow().is_empty());
        worker.lend_output(&mut writer);
        worker.take_back_output(&mut writer);
        assert_eq!(worker.output_buffers.borrow().len(), 1);
    }
}
