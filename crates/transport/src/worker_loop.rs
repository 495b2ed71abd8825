//! What a worker's thread does between the pieces of work of its tasks: one loop ([`WorkerLoop::run`]).
//!
//! 1. **Run** the tasks that are ready: sessions, links between nodes.
//! 2. When none is ready, see to **what they have left** ([`WhenIdle::before_sleep`]): flush the log, once for all sessions; write to
//!    the links, one write each; look into the rings of links in shared memory. That may make tasks ready.
//! 3. **Look on**, awake, for a while: ask the system for events, look into the rings.
//! 4. **Sleep** until something wakes a task. Before, the other processes are told to ring ([`WhenIdle::fall_asleep`]).
//!
//! Waiting awake (3) is there because waking a sleeping thread costs its waker an interrupt to another core, and itself the way back from that core's
//! idle state: on virtual machines more than most statements. Between two statements of a client, or two messages of a replica, there
//! is less time than that. So after work a worker goes on looking for the time that it is given (NDB: SchedulerSpinTimer), and leaves
//! its core to whoever wants it after every look. One that sleeps for long anyway does not: an idle server uses no core. Nor does one
//! whose core was taken for long: who yields to somebody with much to do waits for his turn, who is woken gets the core at once. Only
//! where each thread has a core of its own may it never sleep (`NEVER_SLEEP`).
//!
//! A worker with so much to do that it never comes to 2 is seen to by its tasks: between two statements, and about every
//! millisecond of a long one, they call [`look_in_passing`](crate::look_in_passing) for the rings; what a thread has to flush and to send is
//! counted by statements (`cluster/storage/flush.rs`). That happens in the midst of a turn of the loop and is the only thing that does.
//!
//! The loop is the one future that the thread's runtime knows; the tasks live in a [`LocalSet`], which the loop polls. So it is the loop
//! that decides when the runtime polls sockets and timers (`ask_for_events`) and when it sleeps. Measured with 64 bytes that go back and
//! forth over 1 and 8 sockets, that costs the same as tasks of the runtime and a hook that it calls before it sleeps.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::shared;

/// As a time for which to look on: the thread has a core of its own, and does so for ever.
pub const NEVER_SLEEP: Duration = Duration::MAX;

/// A worker that slept for longer than this is not busy: it would mostly look in vain.
const BUSY_GAP: Duration = Duration::from_millis(1);
/// A core that was yielded for longer than this is wanted by somebody with much to do.
const AWAY_MAX: Duration = Duration::from_micros(500);
/// For so long nobody looks then.
const QUIET: Duration = Duration::from_millis(5);

/// So many times in a row what tasks have left may make others ready before the system is asked for events.
const ROUNDS_PER_QUESTION: u32 = 16;

/// Who looks on before it sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eagerness {
    /// Threads that have slept for a moment only: servers.
    #[default]
    WhenBusy,
    /// Whoever has woken: a thread that waits for one answer.
    Always,
}

/// What a worker does when none of its tasks is ready.
pub trait WhenIdle {
    /// What tasks have appended leaves, and what has come is looked for. May make tasks ready.
    fn before_sleep(&self);
    /// The thread does sleep, after `before_sleep`: whoever has something for it rings. Makes tasks ready for which something has come.
    fn fall_asleep(&self);
    /// The thread goes on after `fall_asleep`.
    fn wake(&self);
}

/// How a worker's thread runs.
#[derive(Clone, Copy, Debug)]
pub struct WorkerOptions {
    /// For how long it looks on before it sleeps; zero: not at all.
    pub spin: Duration,
    /// How much it looks on before it sleeps.
    pub eagerness: Eagerness,
    /// Threads for what blocks (`spawn_blocking`).
    pub blocking_threads: usize,
}

/// A thread's tasks, and the runtime that serves their sockets and timers.
pub struct WorkerLoop {
    tasks: LocalSet,
    runtime: Runtime,
    spin: Spin,
}

impl WorkerLoop {
    /// A loop for the calling thread. Fails when the system does not give what polls sockets.
    pub fn new(options: WorkerOptions) -> io::Result<WorkerLoop> {
        let runtime =
            Builder::new_current_thread().enable_all().max_blocking_threads(options.blocking_threads).build()?;
        Ok(WorkerLoop { tasks: LocalSet::new(), runtime, spin: Spin::new(&options) })
    }

    /// Runs `main`, and with it all tasks that it and they have spawned (`spawn_local`), until `main` ends. Tasks that are left go on with the
    /// next call.
    pub fn block_on<F: Future>(&self, idle: &impl WhenIdle, main: F) -> F::Output {
        self.runtime.block_on(self.run(idle, main))
    }

    async fn run<F: Future>(&self, idle: &impl WhenIdle, main: F) -> F::Output {
        let ready = Arc::new(Ready::new(current_waker().await));
        let waker = Waker::from(Arc::clone(&ready));
        let woken = Arc::new(Woken { is_set: AtomicBool::new(true), ready: Arc::clone(&ready) });
        let main_waker = Waker::from(Arc::clone(&woken));
        let mut main = pin!(main);
        // However often the loop comes by, `main` is polled only when it was woken itself.
        let main = poll_fn(move |_| match woken.is_set.swap(false, Ordering::AcqRel) {
            true => main.as_mut().poll(&mut Context::from_waker(&main_waker)),
            false => Poll::Pending,
        });
        let mut all = pin!(self.tasks.run_until(main));
        let mut rounds = 0;
        loop {
            ready.forget();
            // Some 60 polls of tasks at most; those that are ready then leave `ready` set.
            if let Poll::Ready(output) = all.as_mut().poll(&mut Context::from_waker(&waker)) {
                // What its tasks have done last leaves as well.
                idle.before_sleep();
                return output;
            }
            if ready.is_set() {
                ask_for_events().await;
                continue;
            }
            idle.before_sleep();
            if ready.is_set() {
                rounds += 1;
                if rounds == ROUNDS_PER_QUESTION {
                    rounds = 0;
                    ask_for_events().await;
                }
                continue;
            }
            rounds = 0;
            if self.spin.look_on(&ready).await {
                continue;
            }
            idle.fall_asleep();
            self.spin.note_sleep();
            ready.sleep().await;
            self.spin.note_wake();
            idle.wake();
        }
    }
}

impl Drop for WorkerLoop {
    fn drop(&mut self) {
        // What tasks drop may want to find their runtime.
        let _runtime = self.runtime.enter();
        drop(std::mem::take(&mut self.tasks));
    }
}

/// The runtime polls sockets and timers, and makes the tasks ready that wait for them, before it comes back.
async fn ask_for_events() {
    tokio::task::yield_now().await;
}

async fn current_waker() -> Waker {
    poll_fn(|context| Poll::Ready(context.waker().clone())).await
}

/// Whether tasks of the loop are ready.
struct Ready {
    state: AtomicU8,
    /// Wakes the thread.
    thread: Waker,
}

/// The loop runs, and looks at the state before it sleeps.
const AWAKE: u8 = 0;
/// A task is ready.
const SET: u8 = 1;
/// The thread has to be woken.
const ASLEEP: u8 = 2;

impl Ready {
    fn new(thread: Waker) -> Ready {
        Ready { state: AtomicU8::new(AWAKE), thread }
    }

    fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// All tasks are about to be looked at.
    fn forget(&self) {
        self.state.swap(AWAKE, Ordering::AcqRel);
    }

    /// Waits until a task is ready.
    async fn sleep(&self) {
        if self.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return;
        }
        poll_fn(|_| match self.is_set() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(SET, Ordering::AcqRel) == ASLEEP {
            self.thread.wake_by_ref();
        }
    }
}

/// Whether `main` is ready.
struct Woken {
    is_set: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_set.store(true, Ordering::Release);
        self.ready.wake_by_ref();
    }
}

/// Whether the thread looks on before it sleeps.
struct Spin {
    duration: Duration,
    eagerness: Eagerness,
    slept_at: Cell<Instant>,
    /// The core is wanted by others until then.
    quiet_until: Cell<Option<Instant>>,
    is_busy: Cell<bool>,
    #[cfg(test)]
    looks: Cell<u64>,
}

impl Spin {
    fn new(options: &WorkerOptions) -> Spin {
        Spin {
            duration: options.spin,
            eagerness: options.eagerness,
            slept_at: Cell::new(Instant::now()),
            quiet_until: Cell::default(),
            is_busy: Cell::default(),
            #[cfg(test)]
            looks: Cell::default(),
        }
    }

    fn may_look(&self, now: Instant) -> bool {
        let is_wanted = match self.eagerness {
            Eagerness::WhenBusy => self.is_busy.get(),
            Eagerness::Always => true,
        };
        self.duration == NEVER_SLEEP || is_wanted && self.quiet_until.get().is_none_or(|until| now >= until)
    }

    /// Looks on, if that is worth it. Returns whether a task is ready.
    async fn look_on(&self, ready: &Ready) -> bool {
        if self.duration.is_zero() {
            return false;
        }
        let start = Instant::now();
        if !self.may_look(start) {
            return false;
        }
        let mut now = start;
        while now - start < self.duration {
            ask_for_events().await;
            for _ in 0..shared::looks_per_question() {
                if ready.is_set() {
                    return true;
                }
                #[cfg(test)]
                self.looks.set(self.looks.get() + 1);
                match self.yield_core() {
                    Some(back_at) => now = back_at,
                    None if self.duration == NEVER_SLEEP => {}
                    None => return false,
                }
                shared::look();
            }
            if ready.is_set() {
                return true;
            }
        }
        false
    }

    /// Leaves the core to whoever wants it. Returns when the thread was back, unless that is somebody with much to do.
    fn yield_core(&self) -> Option<Instant> {
        let left_at = Instant::now();
        std::thread::yield_now();
        let back_at = Instant::now();
        if back_at - left_at > AWAY_MAX {
            self.quiet_until.set(Some(back_at + QUIET));
            return None;
        }
        Some(back_at)
    }

    fn note_sleep(&self) {
        self.slept_at.set(Instant::now());
    }

    fn note_wake(&self) {
        self.is_busy.set(self.slept_at.get().elapsed() < BUSY_GAP);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::time::Duration;

    use super::*;

    /// Counts what the loop comes to.
    #[derive(Default)]
    struct Counts {
        idle: Cell<usize>,
        sleeps: Cell<usize>,
        wakes: Cell<usize>,
    }

    impl WhenIdle for Counts {
        fn before_sleep(&self) {
            self.idle.set(self.idle.get() + 1);
        }

        fn fall_asleep(&self) {
            self.sleeps.set(self.sleeps.get() + 1);
        }

        fn wake(&self) {
            self.wakes.set(self.wakes.get() + 1);
        }
    }

    fn worker(spin: Duration) -> WorkerLoop {
        WorkerLoop::new(WorkerOptions { spin, eagerness: Eagerness::WhenBusy, blocking_threads: 1 }).unwrap()
    }

    /// What a task had sent last stayed where it was when the loop ended with it.
    #[test]
    fn what_the_last_task_leaves_is_seen_to_before_the_loop_ends() {
        let counts = Counts::default();
        let before = worker(Duration::ZERO).block_on(&counts, async { counts.idle.get() });
        assert!(counts.idle.get() > before);
    }

    /// Bytes that come back and forth over a socket from another thread, at once. Returns looks and sleeps.
    fn exchange(duration: Duration, count: usize, pause: Duration) -> (u64, usize) {
        let worker = worker(duration);
        let counts = Counts::default();
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
        worker.block_on(&counts, async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            mine.set_nonblocking(true).unwrap();
            let mut mine = tokio::net::UnixStream::from_std(mine).unwrap();
            let mut byte = [0];
            for number in 0..count {
                mine.write_all(&[number as u8]).await.unwrap();
                mine.read_exact(&mut byte).await.unwrap();
                assert_eq!(byte[0], number as u8);
            }
        });
        other.join().unwrap();
        assert_eq!(counts.sleeps, counts.wakes);
        (worker.spin.looks.get(), counts.sleeps.get())
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
        assert!(looks > 20 && sleeps == 0, "{looks} looks, {sleeps} sleeps");
    }

    /// Is ready again at once, without asking for events.
    async fn go_last() {
        let mut is_again = false;
        poll_fn(|context| {
            context.waker().wake_by_ref();
            match std::mem::replace(&mut is_again, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    #[test]
    fn events_come_although_tasks_are_always_ready() {
        let worker = worker(Duration::ZERO);
        let counts = Counts::default();
        let has_slept = Rc::new(Cell::new(false));
        let seen = Rc::clone(&has_slept);
        let counted = &counts;
        let idle = worker.block_on(&counts, async move {
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                seen.set(true);
            });
            let deadline = Instant::now() + Duration::from_secs(20);
            while !has_slept.get() {
                assert!(Instant::now() < deadline, "the timer was never looked at");
                go_last().await;
            }
            counted.idle.get()
        });
        assert_eq!(idle, 0, "there was always something to do");
    }

    #[test]
    fn another_thread_wakes_a_worker_that_sleeps_and_one_that_looks_on() {
        for spin in [Duration::ZERO, NEVER_SLEEP] {
            let worker = worker(spin);
            let counts = Counts::default();
            let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
            let sending = std::thread::spawn(move || {
                for number in 0..1000 {
                    sender.send(number).unwrap();
                    std::thread::yield_now();
                }
            });
            worker.block_on(&counts, async {
                for number in 0..1000 {
                    assert_eq!(receiver.recv().await, Some(number));
                }
            });
            sending.join().unwrap();
        }
    }

    /// What a worker sees to when it is idle may be what its tasks wait for.
    #[test]
    fn what_is_done_when_idle_makes_tasks_ready_without_a_sleep() {
        #[derive(Default)]
        struct Wakes {
            waker: Cell<Option<Waker>>,
            sleeps: Cell<usize>,
        }
        impl WhenIdle for Wakes {
            fn before_sleep(&self) {
                if let Some(waker) = self.waker.take() {
                    waker.wake();
                }
            }
            fn fall_asleep(&self) {
                self.sleeps.set(self.sleeps.get() + 1);
            }
            fn wake(&self) {}
        }
        let wakes = Wakes::default();
        worker(Duration::ZERO).block_on(&wakes, async {
            for _ in 0..5 * ROUNDS_PER_QUESTION {
                let mut is_again = false;
                poll_fn(|context| {
                    wakes.waker.set(Some(context.waker().clone()));
                    match std::mem::replace(&mut is_again, true) {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                })
                .await;
            }
        });
        assert_eq!(wakes.sleeps.get(), 0);
    }

    #[test]
    fn tasks_that_are_left_go_on_with_the_next_call() {
        let worker = worker(Duration::ZERO);
        let counts = Counts::default();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        worker.block_on(&counts, async {
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                sender.send(7).unwrap();
            });
        });
        assert_eq!(worker.block_on(&counts, receiver), Ok(7));
    }
}
