//! A scheduler for the simulator: threads of which only one runs at a time, in an order and at a time that a seed decides.
//!
//! A thread gives way at locks, when it takes them and when it lets go of them, at every wait and sleep, and wherever the simulated disk calls [`pause`]. Which of those that are
//! ready goes on next is drawn at random; when none is ready, the time moves on to the next that will be. When none will
//! ever be, that is a deadlock, and the run fails.
//!
//! [`crash`] ends all threads of a run in the middle of what they do, as the death of a process does: each unwinds from where it
//! stands. Whatever they do to the disk while they unwind comes after the crash and counts no more.
//!
//! What is not simulated: atomics are as strong as they can be, since threads change over only where they give way.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LockResult, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// A run in which threads change over more often does not come to an end.
const TURNS_MAX: u64 = 1_000_000;
/// A thread that takes a lock gives way once in so many times.
const GIVES_WAY_ONE_IN: u64 = 4;
/// One that lets go of a lock gets no time for a while once in so many times: others do much with the lock until it goes on.
const SLEEPS_ONE_IN: u64 = 32;
const SLEEP_US_MAX: u64 = 4_000;

const STUCK: &str = "all threads wait for each other, or go on for ever";

/// How a run has ended.
#[derive(Debug)]
pub enum Outcome<T> {
    /// With what the run's function returned.
    Finished(T),
    /// The simulated machine crashed.
    Crashed,
    /// A thread panicked, or all of them wait for each other.
    Failed(String),
}

/// What a thread unwinds with when its process is gone.
struct Gone;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can go on from this moment on.
    ReadyAt(u64),
    /// It waits for this lock or condition, or until this moment.
    Waits(usize, Option<u64>),
    Ended,
}

struct Task {
    state: State,
    name: String,
    /// Where it gave way last.
    stands_at: Option<&'static Location<'static>>,
    wake: Arc<std::sync::Condvar>,
    /// Threads that wait for the end of this one wait for this address.
    end: Box<u8>,
}

struct Run {
    tasks: Vec<Task>,
    current: usize,
    now_us: u64,
    /// How often threads have changed over.
    turns: u64,
    random: u64,
    is_over: bool,
    failure: Option<String>,
}

struct Schedule {
    run: std::sync::Mutex<Run>,
    start: Instant,
    threads: std::sync::Mutex<Vec<thread::JoinHandle<()>>>,
}

thread_local! {
    static OWN: RefCell<Option<(Arc<Schedule>, usize)>> = const { RefCell::new(None) };
    static KEEPS_TURN: Cell<bool> = const { Cell::new(false) };
}

fn own() -> Option<(Arc<Schedule>, usize)> {
    OWN.with_borrow(Clone::clone)
}

fn held<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn ready_at(&self, task: usize) -> Option<u64> {
        match self.tasks[task].state {
            State::ReadyAt(at) => Some(at),
            State::Waits(_, until) => until,
            State::Ended => None,
        }
    }

    /// The task that goes on next.
    fn choose(&mut self) -> Option<usize> {
        self.turns += 1;
        if self.turns > TURNS_MAX {
            return None;
        }
        let due = |run: &Run, now: u64| -> Vec<usize> {
            (0..run.tasks.len()).filter(|&task| run.ready_at(task).is_some_and(|at| at <= now)).collect()
        };
        let mut ready = due(self, self.now_us);
        if ready.is_empty() {
            self.now_us = (0..self.tasks.len()).filter_map(|task| self.ready_at(task)).min()?;
            ready = due(self, self.now_us);
        }
        let place = self.below(ready.len() as u64) as usize;
        ready.get(place).copied()
    }

    fn wake(&mut self, address: usize, all: bool) {
        let waits = |task: &Task| matches!(task.state, State::Waits(on, _) if on == address);
        let waiting: Vec<usize> = (0..self.tasks.len()).filter(|&task| waits(&self.tasks[task])).collect();
        let woken = match (all, waiting.len() as u64) {
            (_, 0) => return,
            (true, _) => &waiting[..],
            (false, count) => {
                let place = self.below(count) as usize;
                &waiting[place..=place]
            }
        };
        for &task in woken {
            self.tasks[task].state = State::ReadyAt(self.now_us);
        }
    }

    /// All threads wait for each other, or go on for ever.
    fn end_stuck(&mut self) {
        let mut text = STUCK.to_owned();
        for task in self.tasks.iter().filter(|task| task.state != State::Ended) {
            let place = task.stands_at.map_or(String::new(), |place| format!(" at {place}"));
            text += &format!("; {}{place}", task.name);
        }
        self.end(Some(text));
    }

    fn end(&mut self, failure: Option<String>) {
        self.is_over = true;
        if let Some(failure) = failure {
            self.failure.get_or_insert(failure);
        }
        for task in &self.tasks {
            task.wake.notify_all();
        }
    }
}

impl Schedule {
    /// Gives way in a state, until this task's turn comes.
    #[track_caller]
    fn give_way(&self, me: usize, state: impl FnOnce(&mut Run) -> State) {
        let mut run = held(&self.run);
        if !run.is_over {
            let state = state(&mut run);
            run.tasks[me].state = state;
            run.tasks[me].stands_at = Some(Location::caller());
            match run.choose() {
                Some(next) => {
                    run.current = next;
                    run.tasks[next].wake.notify_all();
                }
                None => run.end_stuck(),
            }
            let wake = Arc::clone(&run.tasks[me].wake);
            while run.current != me && !run.is_over {
                run = wake.wait(run).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let is_over = run.is_over;
        if !is_over {
            run.tasks[me].state = State::ReadyAt(0);
        }
        drop(run);
        if is_over {
            leave();
        }
    }

    #[track_caller]
    fn wait_for(&self, me: usize, address: usize, limit: Option<Duration>) {
        self.give_way(me, |run| {
            let until = limit.map(|limit| run.now_us + u64::try_from(limit.as_micros()).unwrap_or(u64::MAX / 2));
            State::Waits(address, until)
        });
    }

    fn is_over(&self) -> bool {
        held(&self.run).is_over
    }

    fn task_ends(&self, me: usize, failure: Option<String>) {
        let mut run = held(&self.run);
        run.tasks[me].state = State::Ended;
        let end = &raw const *run.tasks[me].end as usize;
        run.wake(end, true);
        if let Some(failure) = failure {
            run.end(Some(failure));
        } else if !run.is_over {
            match run.choose() {
                Some(next) => {
                    run.current = next;
                    run.tasks[next].wake.notify_all();
                }
                None => run.end_stuck(),
            }
        }
    }

    fn add_task(&self, name: &str) -> usize {
        let mut run = held(&self.run);
        let state = State::ReadyAt(run.now_us);
        let (name, wake, end) = (name.to_owned(), Arc::default(), Box::new(0));
        run.tasks.push(Task { state, name, stands_at: None, wake, end });
        run.tasks.len() - 1
    }
}

/// Unwinds, unless that is happening.
fn leave() {
    if !thread::panicking() {
        resume_unwind(Box::new(Gone));
    }
}

fn failure_of(panic: &(dyn Any + Send)) -> Option<String> {
    if panic.is::<Gone>() {
        return None;
    }
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    Some(format!("panic: {}", text.unwrap_or_default()))
}

/// Runs `main` and all threads that it spawns. It is to join them before it returns.
pub fn simulate<T>(seed: u64, main: impl FnOnce() -> T) -> Outcome<T> {
    let run =
        Run { tasks: Vec::new(), current: 0, now_us: 0, turns: 0, random: seed, is_over: false, failure: None };
    let schedule = Arc::new(Schedule {
        run: std::sync::Mutex::new(run),
        start: Instant::now(),
        threads: std::sync::Mutex::default(),
    });
    let me = schedule.add_task("main");
    OWN.set(Some((Arc::clone(&schedule), me)));
    let outcome = catch_unwind(AssertUnwindSafe(main));
    let failure = outcome.as_ref().err().and_then(|panic| failure_of(panic.as_ref()));
    held(&schedule.run).end(failure);
    OWN.set(None);
    let threads = std::mem::take(&mut *held(&schedule.threads));
    for thread in threads {
        let _ = thread.join();
    }
    let failure = held(&schedule.run).failure.take();
    match (failure, outcome) {
        (Some(failure), _) => Outcome::Failed(failure),
        (None, Ok(value)) => Outcome::Finished(value),
        (None, Err(_)) => Outcome::Crashed,
    }
}

/// The process is gone: nothing behind this line happens, in any of its threads.
pub fn crash() {
    if let Some((schedule, _)) = own() {
        held(&schedule.run).end(None);
        leave();
    }
}

/// Is this a thread whose process is gone, and which only unwinds?
pub fn is_gone() -> bool {
    own().is_some_and(|(schedule, _)| schedule.is_over())
}

/// Lets others run for so long.
#[track_caller]
pub fn pause(us: u64) {
    if let Some((schedule, me)) = own() {
        schedule.give_way(me, |run| State::ReadyAt(run.now_us + us));
    }
}

/// Nobody else has a turn between the last lock that `body` lets go of and what the caller does then.
pub fn keep_turn<T>(body: impl FnOnce() -> T) -> T {
    let before = KEEPS_TURN.replace(true);
    let result = body();
    KEEPS_TURN.set(before);
    result
}

/// The time since the run began, in microseconds.
pub fn now_us() -> u64 {
    own().map_or(0, |(schedule, _)| held(&schedule.run).now_us)
}

pub(crate) fn now() -> Instant {
    match own() {
        None => Instant::now(),
        Some((schedule, _)) => schedule.start + Duration::from_micros(now_us()),
    }
}

pub(crate) fn sleep(time: Duration) {
    match own() {
        None => thread::sleep(time),
        Some(_) => pause(u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 2)),
    }
}

// ---- threads ----

/// A thread that was spawned.
#[derive(Debug)]
pub enum JoinHandle<T> {
    /// A thread of the system.
    Standard(thread::JoinHandle<T>),
    /// A thread of the run, by its number.
    Simulated(usize),
}

/// Spawns a thread of this run, or of the operating system if this is none.
///
/// # Errors
/// The operating system has no thread left.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let builder = thread::Builder::new().name(name.to_string());
    let Some((schedule, _)) = own() else {
        return builder.spawn(body).map(JoinHandle::Standard);
    };
    let task = schedule.add_task(name);
    let shared = Arc::clone(&schedule);
    #[cfg(feature = "planted-bugs")]
    let planted = shoal_planted::planted();
    let thread = builder.spawn(move || {
        #[cfg(feature = "planted-bugs")]
        shoal_planted::plant(planted);
        OWN.set(Some((Arc::clone(&shared), task)));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut run = held(&shared.run);
            let wake = Arc::clone(&run.tasks[task].wake);
            while run.current != task && !run.is_over {
                run = wake.wait(run).unwrap_or_else(PoisonError::into_inner);
            }
            let is_over = run.is_over;
            drop(run);
            if is_over {
                leave();
            }
            body();
        }));
        let failure = outcome.err().and_then(|panic| failure_of(panic.as_ref()));
        shared.task_ends(task, failure);
    })?;
    held(&schedule.threads).push(thread);
    Ok(JoinHandle::Simulated(task))
}

/// Waits for the end of a thread of this run.
pub fn join(handle: JoinHandle<()>) {
    join_unless_own(handle);
}

pub(crate) fn join_unless_own(handle: JoinHandle<()>) {
    match (handle, own()) {
        (JoinHandle::Standard(handle), _) => {
            if handle.thread().id() != thread::current().id() {
                let _ = handle.join();
            }
        }
        (JoinHandle::Simulated(task), Some((schedule, me))) if task != me => loop {
            let run = held(&schedule.run);
            if run.is_over || run.tasks[task].state == State::Ended {
                return;
            }
            let end = &raw const *run.tasks[task].end as usize;
            drop(run);
            schedule.wait_for(me, end, None);
        },
        (JoinHandle::Simulated(_), _) => {}
    }
}

// ---- locks ----

#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    inner: std::sync::Mutex<T>,
}

pub(crate) struct MutexGuard<'a, T> {
    guard: Option<std::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex { inner: std::sync::Mutex::new(value) }
    }

    fn address(&self) -> usize {
        &raw const *self as usize
    }

    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if let Some((schedule, me)) = own()
            && !thread::panicking()
        {
            let gives_way = held(&schedule.run).below(GIVES_WAY_ONE_IN) == 0;
            if gives_way {
                schedule.give_way(me, |run| State::ReadyAt(run.now_us));
            }
            loop {
                match self.inner.try_lock() {
                    Ok(guard) => return Ok(MutexGuard { guard: Some(guard), mutex: self }),
                    Err(TryLockError::Poisoned(error)) => {
                        return Ok(MutexGuard { guard: Some(error.into_inner()), mutex: self });
                    }
                    Err(TryLockError::WouldBlock) => schedule.wait_for(me, self.address(), None),
                }
            }
        }
        Ok(MutexGuard { guard: Some(held(&self.inner)), mutex: self })
    }
}

impl<T> std::ops::Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("a guard has its lock until it is dropped")
    }
}

impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("a guard has its lock until it is dropped")
    }
}

impl<T> MutexGuard<'_, T> {
    /// Unlocks, and lets those who wait for that be ready. Returns the run and this thread's number in it.
    fn release(&mut self) -> Option<(Arc<Schedule>, usize)> {
        drop(self.guard.take()?);
        let (schedule, me) = own()?;
        held(&schedule.run).wake(self.mutex.address(), true);
        Some((schedule, me))
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        let Some((schedule, me)) = self.release() else { return };
        if thread::panicking() || KEEPS_TURN.get() || held(&schedule.run).below(SLEEPS_ONE_IN) > 0 {
            return;
        }
        schedule.give_way(me, |run| State::ReadyAt(run.now_us + run.below(SLEEP_US_MAX)));
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar {
    inner: std::sync::Condvar,
}

impl Condvar {
    pub fn new() -> Condvar {
        Condvar::default()
    }

    fn address(&self) -> usize {
        &raw const *self as usize
    }

    #[track_caller]
    fn wait_simulated<'a, T>(
        &self,
        (schedule, me): (Arc<Schedule>, usize),
        mut guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        let mutex = guard.mutex;
        // Nothing happens between this and the wait.
        guard.release();
        schedule.wait_for(me, self.address(), limit);
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        match own() {
            Some(own) => Ok(self.wait_simulated(own, guard, None)),
            None => {
                if let Some(inner) = guard.guard.take() {
                    guard.guard = Some(self.inner.wait(inner).unwrap_or_else(PoisonError::into_inner));
                }
                Ok(guard)
            }
        }
    }

    /// Whether the time is over is left to the caller to find out.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        match own() {
            Some(own) => Ok((self.wait_simulated(own, guard, Some(limit)), ())),
            None => {
                if let Some(inner) = guard.guard.take() {
                    let waited = self.inner.wait_timeout(inner, limit);
                    guard.guard = Some(waited.unwrap_or_else(PoisonError::into_inner).0);
                }
                Ok((guard, ()))
            }
        }
    }

    fn notify(&self, all: bool) {
        if let Some((schedule, _)) = own() {
            held(&schedule.run).wake(self.address(), all);
        }
        match all {
            true => self.inner.notify_all(),
            false => self.inner.notify_one(),
        }
    }

    pub fn notify_one(&self) {
        self.notify(false);
    }

    pub fn notify_all(&self) {
        self.notify(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(seed: u64) -> Vec<u32> {
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        let outcome = simulate(seed, move || {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let seen = Arc::clone(&shared);
                    spawn("counter", move || {
                        for _ in 0..5 {
                            pause(3);
                            held(&seen).push(number);
                        }
                    })
                    .expect("there are threads")
                })
                .collect();
            threads.into_iter().for_each(join);
        });
        assert!(matches!(outcome, Outcome::Finished(())), "{outcome:?}");
        let seen = held(&seen).clone();
        assert_eq!(seen.len(), 20);
        seen
    }

    #[test]
    fn a_seed_decides_the_order_in_which_threads_run() {
        assert_eq!(order_of(1), order_of(1));
        assert!((2..9).any(|seed| order_of(seed) != order_of(1)));
    }

    #[test]
    fn threads_that_wait_for_each_other_are_a_failure_and_a_crash_ends_all() {
        let outcome = simulate(1, || {
            let (mutex, condition) = (Mutex::new(()), Condvar::new());
            drop(condition.wait(mutex.lock().expect("never poisoned")));
        });
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        let outcome = simulate(1, || {
            let sleeper = spawn("sleeper", || pause(1_000_000)).expect("there are threads");
            crash();
            join(sleeper);
        });
        assert!(matches!(outcome, Outcome::Crashed), "{outcome:?}");
    }
}
