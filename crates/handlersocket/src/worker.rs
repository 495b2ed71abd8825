//! What the connections of one worker thread share: buffers, counters, and the word that the door closes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::counters::Counters;

/// An idle buffer that has grown beyond this is given back to the allocator.
const BUFFER_SIZE_KEPT_MAX: usize = 512 * 1024;
const BUFFERS_KEPT_MAX: usize = 64;

pub struct Worker {
    pub counters: Arc<Counters>,
    pub is_closing: Cell<bool>,
    pub closing: Notify,
    buffers: RefCell<Vec<Vec<u8>>>,
}

impl Worker {
    pub fn new(counters: Arc<Counters>) -> Rc<Worker> {
        Rc::new(Worker {
            counters,
            is_closing: Cell::new(false),
            closing: Notify::new(),
            buffers: RefCell::default(),
        })
    }

    pub fn close(&self) {
        self.is_closing.set(true);
        self.closing.notify_waiters();
    }

    /// A buffer, of whatever content.
    pub fn lend(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_default()
    }

    pub fn take_back(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len() < BUFFERS_KEPT_MAX && (1..=BUFFER_SIZE_KEPT_MAX).contains(&buffer.capacity()) {
            buffers.push(buffer);
        }
    }
}
