//! The loop of a client's thread: what was appended leaves before it sleeps, links are looked at while it waits.

use shoal_cluster::worker_loop::{Eagerness, WorkerLoop, WorkerOptions};

use crate::options::Options;

/// Threads for the names of hosts, which the system looks up at its leisure; they exist only while it does.
const BLOCKING_THREADS: usize = 8;

/// A loop for this thread alone, which serves the node's links on it.
pub(crate) fn worker_loop(options: &Options) -> std::io::Result<WorkerLoop> {
    // However long the thread has slept, its program waits for an answer now.
    let eagerness = Eagerness::Always;
    WorkerLoop::new(WorkerOptions { spin: options.spin, eagerness, blocking_threads: BLOCKING_THREADS })
}
