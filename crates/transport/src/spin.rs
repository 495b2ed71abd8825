//! Waiting awake: a worker that has just had something to do looks for more for a moment before it sleeps.
//!
//! Waking a sleeping thread costs its waker an interrupt to another core, and itself the way back from that core's idle state: on
//! virtual machines more than most statements. Between two statements of a client, or two messages of a replica, there is
//! less time than that. So after work a worker goes on polling for the time that it is given (NDB: SchedulerSpinTimer), and leaves its
//! core to whoever wants it after every look. One that sleeps for long anyway does not: an idle server uses no core. Nor does one whose
//! core was taken for long: who yields to somebody with much to do waits for his turn, who is woken gets the core at once. Only where each thread has a core of its own may it never sleep (`NEVER_SLEEP`).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::shared;

/// As a time for which to look: the thread has a core of its own, and polls for ever.
pub const NEVER_SLEEP: Duration = Duration::MAX;

/// A worker that slept for longer than this is not busy: it would mostly look in vain.
const BUSY_GAP: Duration = Duration::from_millis(1);
/// A core that was yielded for longer than this is wanted by somebody with much to do.
const AWAY_MAX: Duration = Duration::from_micros(500);
/// For so long nobody looks then.
const QUIET: Duration = Duration::from_millis(5);

/// Looks into shared memory for each question to the system whether a socket has something: that costs as much as all of them.
const LOOKS_PER_QUESTION: u32 = 4;
/// After work from a socket so many questions come with one look each: more such work is likely.
const SOCKET_WARMTH: u32 = 64;

/// Who looks for more to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eagerness {
    /// Threads that have slept for a moment only: servers.
    #[default]
    WhenBusy,
    /// Whoever wakes: a thread that waits for one answer.
    Always,
    /// Nobody sleeps who has begun to look.
    Sleepless,
}

#[derive(Default)]
struct Spin {
    eagerness: Cell<Eagerness>,
    /// Wakes the task that looks.
    waker: RefCell<Option<Waker>>,
    /// It has looked since the last sleep.
    is_over: Cell<bool>,
    slept_at: Cell<Option<Instant>>,
    /// The core is wanted by others until then.
    quiet_until: Cell<Option<Instant>>,
    is_busy: Cell<bool>,
    /// Counts questions down since work has come from a socket.
    socket_warmth: Cell<u32>,
}

thread_local! {
    static SPIN: Spin = Spin::default();
}

/// To be called when the runtime is about to sleep: it does not if the task is woken. Returns whether it does.
pub fn before_sleep() -> bool {
    SPIN.with(|spin| {
        let now = Instant::now();
        let is_quiet = spin.quiet_until.get().is_some_and(|until| now < until);
        let may_look = match spin.eagerness.get() {
            Eagerness::Sleepless => true,
            Eagerness::Always => !spin.is_over.get() && !is_quiet,
            Eagerness::WhenBusy => spin.is_busy.get() && !spin.is_over.get() && !is_quiet,
        };
        if may_look {
            let waker = spin.waker.borrow_mut().take();
            if let Some(waker) = waker {
                waker.wake();
                return false;
            }
        }
        spin.slept_at.set(Some(now));
        true
    })
}

/// To be called when the runtime goes on. Returns whether it has slept.
pub fn after_sleep() -> bool {
    SPIN.with(|spin| {
        let Some(slept_at) = spin.slept_at.take() else { return false };
        spin.is_busy.set(slept_at.elapsed() < BUSY_GAP);
        spin.is_over.set(false);
        true
    })
}

/// To be called when work has come from a socket.
pub(crate) fn note_socket() {
    SPIN.with(|spin| spin.socket_warmth.set(SOCKET_WARMTH));
}

/// How often to look before the system is asked again.
fn looks_per_question() -> u32 {
    SPIN.with(|spin| match spin.socket_warmth.get().checked_sub(1) {
        Some(left) => {
            spin.socket_warmth.set(left);
            1
        }
        None if shared::is_used() => LOOKS_PER_QUESTION,
        None => 1,
    })
}

/// Leaves the core to whoever wants it. Returns when the thread was back, unless that is somebody with much to do.
fn yield_core() -> Option<Instant> {
    let left_at = Instant::now();
    std::thread::yield_now();
    let back_at = Instant::now();
    if back_at - left_at > AWAY_MAX {
        SPIN.with(|spin| spin.quiet_until.set(Some(back_at + QUIET)));
        return None;
    }
    Some(back_at)
}

/// The task that looks, for `duration` at a time, or for ever ([`NEVER_SLEEP`]). `before_look` is what has to be done before every sleep.
pub async fn look_for_work(duration: Duration, eagerness: Eagerness, before_look: impl Fn()) {
    if duration.is_zero() {
        return;
    }
    let is_sleepless = duration == NEVER_SLEEP;
    SPIN.with(|spin| spin.eagerness.set(if is_sleepless { Eagerness::Sleepless } else { eagerness }));
    loop {
        let mut is_woken = false;
        poll_fn(|context| {
            if std::mem::replace(&mut is_woken, true) {
                return Poll::Ready(());
            }
            SPIN.with(|spin| *spin.waker.borrow_mut() = Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
        let start = Instant::now();
        let mut now = start;
        'awake: while now - start < duration {
            // The runtime asks for events, and runs what they wake, before it comes back here.
            tokio::task::yield_now().await;
            before_look();
            for _ in 0..looks_per_question() {
                match yield_core() {
                    Some(back_at) => now = back_at,
                    None if is_sleepless => {}
                    None => break 'awake,
                }
                if shared::look() {
                    break;
                }
            }
        }
        SPIN.with(|spin| spin.is_over.set(true));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A runtime with the hooks, and a count of its sleeps.
    fn runtime() -> (tokio::runtime::LocalRuntime, Arc<AtomicUsize>) {
        let sleeps = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sleeps);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || {
                before_sleep();
                let sleeps_now = SPIN.with(|spin| spin.slept_at.get().is_some());
                counted.fetch_add(usize::from(sleeps_now), Ordering::Relaxed);
            })
            .on_thread_unpark(|| {
                after_sleep();
            })
            .build_local(tokio::runtime::LocalOptions::default());
        (runtime.unwrap(), sleeps)
    }

    /// Bytes that come back and forth over a socket from another thread, at once.
    fn exchange(duration: Duration, count: usize, pause: Duration) -> (usize, usize) {
        let (runtime, sleeps) = runtime();
        let looks = Rc::new(Cell::new(0));
        let (mine, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let other = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut theirs = theirs;
            let mut byte = [0];
            while theirs.read_exact(&mut byte).is_ok() {
                let wait_until = Instant::now() + pause;
                while Instant::now() < wait_until {
                    std::thread::yield_now();
                }
                theirs.write_all(&byte).unwrap();
            }
        });
        let counted = Rc::clone(&looks);
        runtime.block_on(async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            tokio::task::spawn_local(look_for_work(duration, Eagerness::WhenBusy, move || {
                counted.set(counted.get() + 1)
            }));
            mine.set_nonblocking(true).unwrap();
            let mut mine = tokio::net::UnixStream::from_std(mine).unwrap();
            let mut byte = [0];
            for number in 0..count {
                mine.write_all(&[number as u8]).await.unwrap();
                mine.read_exact(&mut byte).await.unwrap();
                assert_eq!(byte[0], number as u8);
            }
        });
        drop(runtime);
        other.join().unwrap();
        (looks.get(), sleeps.load(Ordering::Relaxed))
    }

    #[test]
    fn a_busy_worker_looks_and_an_idle_one_or_one_without_the_time_sleeps() {
        let measure = |duration: Duration, count: usize, pause: Duration| {
            std::thread::spawn(move || exchange(duration, count, pause)).join().unwrap()
        };
        let (looks, _) = measure(BUSY_GAP, 200, Duration::ZERO);
        assert!(looks > 0);
        let (looks, sleeps) = measure(Duration::ZERO, 200, Duration::ZERO);
        assert!(looks == 0 && sleeps > 0, "{looks} looks, {sleeps} sleeps");
        let (looks, sleeps) = measure(BUSY_GAP, 20, BUSY_GAP * 3);
        assert!(sleeps >= 20, "{looks} looks, {sleeps} sleeps");
        let (looks, sleeps) = measure(NEVER_SLEEP, 20, BUSY_GAP * 3);
        assert!(looks > 20 && sleeps <= 1, "{looks} looks, {sleeps} sleeps");
    }
}
