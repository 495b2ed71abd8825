//! The thread that goes on with what large transactions leave to do in partitions, a slice at a time: see `shoal_partition`'s `large`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, Weak};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use shoal_types::{Error, Result};

use crate::base::wait::lock;
use crate::node::Node;

/// Between two slices of one partition, when no other has any: whoever waits for it comes in between.
const PAUSE: Duration = Duration::from_micros(20);

#[derive(Default)]
pub(crate) struct Slices {
    /// Partitions with something to do, each once. They take turns.
    wanted: Mutex<VecDeque<u32>>,
    handle: OnceLock<Thread>,
    thread: Mutex<Option<JoinHandle<()>>>,
    stopping: AtomicBool,
}

impl Slices {
    /// Something is left to do in this partition.
    #[cold]
    pub(crate) fn want(&self, partition: u32) {
        let mut wanted = lock(&self.wanted);
        if wanted.contains(&partition) {
            return;
        }
        wanted.push_back(partition);
        if wanted.len() == 1
            && let Some(thread) = self.handle.get()
        {
            thread.unpark();
        }
    }

    /// Starts the thread, which ends when the node is gone or [`Slices::stop`] is called.
    pub(crate) fn start(&self, node: Weak<Node>) -> Result<()> {
        let work = move || {
            let mut memory_seen = 0;
            while let Some(node) = node.upgrade() {
                if node.slices.stopping.load(Ordering::Acquire) {
                    return;
                }
                let next = lock(&node.slices.wanted).pop_front();
                let Some(partition) = next else {
                    memory_seen = node.release_memory(memory_seen);
                    drop(node);
                    std::thread::park();
                    continue;
                };
                let is_only = lock(&node.slices.wanted).is_empty();
                node.go_on_in(partition);
                drop(node);
                match is_only {
                    true => std::thread::park_timeout(PAUSE),
                    false => std::thread::yield_now(),
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("shoal-slices".into())
            .spawn(work)
            .map_err(|error| Error::unknown(format!("cannot start the thread of large transactions: {error}")))?;
        let _ = self.handle.set(thread.thread().clone());
        thread.thread().unpark();
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    /// Has the thread give back memory that it holds free.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.handle.get() {
            thread.unpark();
        }
    }

    /// Ends the thread, and waits for it if this is another one. What is left is done by whoever needs it.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        if let Some(thread) = lock(&self.thread).take() {
            thread.thread().unpark();
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Node {
    /// Does a slice of what large transactions leave to do in a partition.
    fn go_on_in(&self, partition: u32) {
        let horizon = self.horizon();
        let mut guard = self.partition(partition);
        guard.set_gc_horizon(horizon);
        guard.go_on();
        if !guard.is_single() {
            return self.settle_and_release(partition, guard);
        }
        let committed = std::mem::take(&mut guard.outputs().committed);
        drop(guard);
        for token in committed {
            self.waits().signal(token.0);
        }
    }
}
