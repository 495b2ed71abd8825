//! The runtime of a client's thread: what was appended leaves before it sleeps, links are looked at while it waits.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Node, spin};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// A runtime for this thread alone, which serves the node's links on it.
pub(crate) fn runtime(node: &Arc<Node>) -> std::io::Result<LocalRuntime> {
    let (sleeping, waking) = (Arc::clone(node), Arc::clone(node));
    Builder::new_current_thread()
        .enable_all()
        // The poller is asked when there is nothing else to do; a thread that serves one program seldom has more.
        .event_interval(31)
        .on_thread_park(move || {
            sleeping.flush_before_sleep();
            if spin::before_sleep() {
                sleeping.fall_asleep();
            }
        })
        .on_thread_unpark(move || {
            if spin::after_sleep() {
                waking.wake();
            }
        })
        .build_local(LocalOptions::default())
}

/// The task that looks, for `duration` at a time: however long the thread has slept, its program waits for an answer now.
pub(crate) async fn look(node: Arc<Node>, duration: Duration) {
    spin::look_for_work(duration, spin::Eagerness::Always, || node.flush_before_sleep()).await;
}
