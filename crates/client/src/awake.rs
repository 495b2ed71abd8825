//! The runtime of a client's thread: what was appended leaves before it sleeps, links are looked at while it waits.
//!
//! A thread that waits for an answer looks for it for a while before it sleeps, and leaves its core to whoever wants it after
//! every look. When nothing has come for so long, it sleeps until a link or a timer wakes it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use shoal_cluster::Node;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// A core that was yielded for longer than this is wanted by somebody with much to do: who yields to him waits for his turn, who is
/// woken gets the core at once.
const AWAY_MAX: Duration = Duration::from_micros(500);
/// For so long nobody looks then.
const QUIET: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Awake {
    /// Wakes the task that looks.
    waker: RefCell<Option<Waker>>,
    /// It has looked in vain since the thread went on last.
    is_tired: Cell<bool>,
    sleeps: Cell<bool>,
    /// The core is wanted by others until then.
    quiet_until: Cell<Option<Instant>>,
}

thread_local! {
    static AWAKE: Awake = Awake::default();
}

/// A runtime for this thread alone, which serves the node's links on it.
pub(crate) fn runtime(node: &Arc<Node>) -> std::io::Result<LocalRuntime> {
    let (sleeping, waking) = (Arc::clone(node), Arc::clone(node));
    Builder::new_current_thread()
        .enable_all()
        // The poller is asked when there is nothing else to do; a thread that serves one program seldom has more.
        .event_interval(31)
        .on_thread_park(move || {
            sleeping.flush_before_sleep();
            AWAKE.with(|awake| {
                let is_quiet = awake.quiet_until.get().is_some_and(|until| Instant::now() < until);
                let waker = if awake.is_tired.get() || is_quiet { None } else { awake.waker.borrow_mut().take() };
                match waker {
                    Some(waker) => waker.wake(),
                    None => {
                        awake.sleeps.set(true);
                        sleeping.fall_asleep();
                    }
                }
            });
        })
        .on_thread_unpark(move || {
            AWAKE.with(|awake| {
                if awake.sleeps.replace(false) {
                    awake.is_tired.set(false);
                    waking.wake();
                }
            });
        })
        .build_local(LocalOptions::default())
}

/// The task that looks, for `duration` at a time.
pub(crate) async fn look(node: Arc<Node>, duration: Duration) {
    if duration.is_zero() {
        return;
    }
    loop {
        let mut is_woken = false;
        poll_fn(|context| {
            if std::mem::replace(&mut is_woken, true) {
                return Poll::Ready(());
            }
            AWAKE.with(|awake| *awake.waker.borrow_mut() = Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
        let start = Instant::now();
        while start.elapsed() < duration {
            // The runtime asks for events, and runs what they wake, before it comes back here.
            tokio::task::yield_now().await;
            node.flush_before_sleep();
            let left_at = Instant::now();
            std::thread::yield_now();
            let back_at = Instant::now();
            if back_at - left_at > AWAY_MAX {
                AWAKE.with(|awake| awake.quiet_until.set(Some(back_at + QUIET)));
                break;
            }
        }
        AWAKE.with(|awake| awake.is_tired.set(true));
    }
}
