//! What the connections of one worker thread share: buffers, counters, and the word that the server closes.

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
    /// Buffers for input keep their length, as all of it has been written to once.
    inputs: RefCell<Vec<Vec<u8>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
}

impl Worker {
    pub fn new(counters: Arc<Counters>) -> Rc<Worker> {
        Rc::new(Worker {
            counters,
            is_closing: Cell::new(false),
            closing: Notify::new(),
            inputs: RefCell::default(),
            outputs: RefCell::default(),
        })
    }

    pub fn close(&self) {
        self.is_closing.set(true);
        self.closing.notify_waiters();
    }

    /// A buffer of any length and content.
    pub fn lend_input(&self) -> Vec<u8> {
        self.inputs.borrow_mut().pop().unwrap_or_default()
    }

    pub fn take_back_input(&self, buffer: Vec<u8>) {
        keep(&self.inputs, buffer);
    }

    /// An empty buffer.
    pub fn lend_output(&self) -> Vec<u8> {
        self.outputs.borrow_mut().pop().unwrap_or_default()
    }

    pub fn take_back_output(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        keep(&self.outputs, buffer);
    }
}

fn keep(pool: &RefCell<Vec<Vec<u8>>>, buffer: Vec<u8>) {
    let mut pool = pool.borrow_mut();
    if pool.len() < BUFFERS_KEPT_MAX && (1..=BUFFER_SIZE_KEPT_MAX).contains(&buffer.capacity()) {
        pool.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_unless_they_have_grown_large() {
        let worker = Worker::new(Arc::default());
        worker.take_back_input(vec![7; 100]);
        worker.take_back_output(vec![7; 100]);
        assert_eq!(worker.lend_input().len(), 100);
        let output = worker.lend_output();
        assert!(output.is_empty() && output.capacity() >= 100);
        worker.take_back_output(vec![0; BUFFER_SIZE_KEPT_MAX + 1]);
        assert_eq!(worker.lend_output().capacity(), 0);
    }
}
