//! What the log takes of threads and of time, in one place, so that the simulator can put its own under it.
//!
//! Without the feature `simulated` these are the standard library's. With it they are the scheduler's (`schedule`) on
//! threads that it runs, and the standard library's on all others.

#[cfg(not(feature = "simulated"))]
mod standard {
    use std::io;
    use std::thread;
    use std::time::Instant;

    pub use std::sync::{Condvar, Mutex, MutexGuard};
    pub use std::thread::{JoinHandle, sleep};

    pub fn now() -> Instant {
        Instant::now()
    }

    pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name(name.to_string()).spawn(body)
    }

    /// Waits for the end of a thread, unless it is this one.
    pub fn join_unless_own(handle: JoinHandle<()>) {
        if handle.thread().id() != thread::current().id() {
            let _ = handle.join();
        }
    }
}

#[cfg(feature = "simulated")]
pub(crate) use crate::schedule::{Condvar, JoinHandle, Mutex, MutexGuard, join_unless_own, now, sleep, spawn};
#[cfg(not(feature = "simulated"))]
pub(crate) use standard::{Condvar, JoinHandle, Mutex, MutexGuard, join_unless_own, now, sleep, spawn};
