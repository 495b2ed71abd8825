//! The thread that goes on with what large transactions leave to do in partitions, a slice at a time: see `shoal_partition`'s `large`.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use shoal_types::{Error, Result};

use crate::base::wait::lock;

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

    /// Starts the thread, which ends when `next` says so or [`Slices::stop`] is called. `next` gets the partition whose turn it is; `None`:
    /// there is nothing to do, and the thread sleeps until there is.
    pub(crate) fn start(
        self: &Arc<Self>,
        mut next: impl FnMut(Option<u32>) -> ControlFlow<()> + Send + 'static,
    ) -> Result<()> {
        let slices = Arc::clone(self);
        let work = move || {
            while !slices.stopping.load(Ordering::Acquire) {
                let partition = lock(&slices.wanted).pop_front();
                let is_only = partition.is_some() && lock(&slices.wanted).is_empty();
                if next(partition).is_break() {
                    return;
                }
                match partition {
                    None => std::thread::park(),
                    Some(_) if is_only => std::thread::park_timeout(PAUSE),
                    Some(_) => std::thread::yield_now(),
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
