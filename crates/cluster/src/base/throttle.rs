//! Work that takes long and should not get in the way of what clients wait for: reading a directory back, taking a copy in.
//!
//! Its threads have a lower priority. They also pause ([`Pace`]) while others want the cores, on a host with several nodes or with
//! clients, so that those go on and the background work takes longer. Where nobody else wants the cores, it takes all of them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};
use shoal_types::{Error, Result};

use crate::base::wait::lock;

/// About a tenth of the weight of a thread that serves clients (sched(7)).
const NICE: i32 = 10;

/// How often it is looked up who else wants the cores.
const WINDOW: Duration = Duration::from_millis(100);
/// Older figures say nothing about now.
const STALE: Duration = Duration::from_secs(1);
/// The cores are all in use if less than this share of their time is left over.
const IDLE_SHARE: f64 = 0.1;
/// Other processes have work to do if they use more than this share.
const OTHERS_SHARE: f64 = 0.1;
/// The length of a pause as a multiple of the background work before it: its maximum (a quarter of a core is left for the work), and by how
/// much it grows and shrinks from one window to the next.
const PAUSES_MAX: f64 = 3.0;
const MORE: f64 = 1.0;
const LESS: f64 = 0.5;
/// Pauses that are shorter are saved up.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// How much the background work of this process has to pause.
///
/// A low priority alone does not do. A thread that yields its core, or sleeps for a moment, finds it taken for a whole slice; and the kernel
/// does much of the background work itself, at its own priority (memory that is touched for the first time). So, while no core is idle
/// and other processes are at work, background threads pause in proportion to their work: longer from window to window up to a limit,
/// and shorter again as soon as there is room.
pub(crate) struct Throttle(Mutex<ThrottleState>);

struct ThrottleState {
    /// How many works share what is left for the background.
    works: u32,
    pauses: f64,
    since: Instant,
    usage: Option<Usage>,
}

/// The pace of one thread's background work.
pub(crate) struct Pace {
    throttle: Arc<Throttle>,
    /// Processor time of this thread, up to the last pause.
    worked: Duration,
    /// Pauses that are still to be made.
    due: Duration,
}

/// Processor time since the system, or this process, has started.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// Of all cores, in the system's ticks.
    total: f64,
    idle: f64,
    cores: f64,
    own: Duration,
}

impl Usage {
    /// `None` where the system does not tell (proc(5), `/proc/stat`).
    fn now() -> Option<Usage> {
        Usage::of(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn of(stat: &str) -> Option<Usage> {
        let first = stat.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; what follows is part of these.
        let ticks: Vec<f64> = first.split_ascii_whitespace().take(8).filter_map(|one| one.parse().ok()).collect();
        let cores = stat.lines().skip(1).take_while(|line| line.starts_with("cpu")).count();
        let own = duration(clock_gettime(ClockId::ProcessCPUTime));
        Some(Usage { total: ticks.iter().sum(), idle: ticks.get(3)? + ticks.get(4)?, cores: cores as f64, own })
    }

    /// The shares of all cores' time since `before`, `elapsed` ago: nobody's, and other processes'.
    fn shares_since(&self, before: &Usage, elapsed: Duration) -> (f64, f64) {
        let idle = (self.idle - before.idle) / (self.total - before.total).max(1.0);
        let own = (self.own - before.own).as_secs_f64() / (elapsed.as_secs_f64() * self.cores.max(1.0));
        (idle, 1.0 - idle - own)
    }
}

fn duration(time: Timespec) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn thread_time() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

impl Throttle {
    pub(crate) fn new() -> Arc<Throttle> {
        let state = ThrottleState { works: 0, pauses: 0.0, since: Instant::now(), usage: Usage::now() };
        Arc::new(Throttle(Mutex::new(state)))
    }

    /// The length of a pause of one of the works, in times of the work before it.
    fn pauses(&self) -> f64 {
        let mut state = lock(&self.0);
        let elapsed = state.since.elapsed();
        if elapsed >= WINDOW {
            let usage = Usage::now();
            match usage.as_ref().zip(state.usage.as_ref()) {
                Some((now, before)) if elapsed < STALE => {
                    let shares = now.shares_since(before, elapsed);
                    state.adjust(shares);
                }
                // Nothing was done in the background for a while.
                _ => state.pauses = 0.0,
            }
            (state.usage, state.since) = (usage, Instant::now());
        }
        state.pauses * f64::from(state.works.max(1))
    }
}

impl ThrottleState {
    fn adjust(&mut self, (idle, others): (f64, f64)) {
        let change = if idle < IDLE_SHARE && others > OTHERS_SHARE { MORE } else { -LESS };
        self.pauses = (self.pauses + change).clamp(0.0, PAUSES_MAX);
    }
}

impl Pace {
    /// Of the current thread, which begins to work now.
    pub(crate) fn start(throttle: &Arc<Throttle>) -> Pace {
        lock(&throttle.0).works += 1;
        Pace { throttle: Arc::clone(throttle), worked: thread_time(), due: Duration::ZERO }
    }

    /// How long to pause after work that took so long, here or elsewhere.
    pub(crate) fn pause_after(&mut self, work: Duration) -> Duration {
        self.due += work.mul_f64(self.throttle.pauses());
        if self.due < PAUSE_MIN {
            return Duration::ZERO;
        }
        std::mem::take(&mut self.due).min(PAUSE_MAX)
    }

    /// Pauses in this thread, if need be, after the work that it has just done.
    pub(crate) fn keep(&mut self) {
        let worked = thread_time();
        let pause = self.pause_after(worked.saturating_sub(self.worked));
        self.worked = worked;
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        lock(&self.throttle.0).works -= 1;
    }
}

/// Lowers the priority of the current thread, for good: raising it again needs a privilege.
pub(crate) fn lower_priority() {
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a background thread could not be lowered");
    }
}

/// Runs `work` in a thread of its own with a lower priority.
pub(crate) async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let body = move || {
        lower_priority();
        // Nobody waits any more if the asker has gone.
        let _ = sender.send(work());
    };
    let thread = std::thread::Builder::new().name("shoal-background".into()).spawn(body);
    thread.map_err(|error| Error::unknown(format!("cannot start a background thread: {error}")))?;
    receiver.await.map_err(|_| Error::unknown("internal: work in the background failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority() -> i32 {
        // Linux keeps it by thread.
        rustix::process::getpriority_process(None).unwrap()
    }

    #[test]
    fn work_pauses_more_and_more_while_others_want_the_cores_and_less_when_they_do_not() {
        let throttle = Throttle::new();
        let after = |shares: (f64, f64)| {
            let mut state = lock(&throttle.0);
            state.adjust(shares);
            state.pauses
        };
        let mut pace = Pace::start(&throttle);
        assert_eq!([(); 6].map(|()| after((0.0, 0.6))), [1.0, 2.0, 3.0, 3.0, 3.0, 3.0]);
        // A core is idle, or what keeps them busy is this process.
        assert_eq!([after((0.5, 0.4)), after((0.0, 0.05))], [2.5, 2.0]);
        assert_eq!([(); 5].map(|()| after((1.0, 0.0)))[3..], [0.0, 0.0]);
        assert_eq!(pace.pause_after(PAUSE_MAX), Duration::ZERO);
        lock(&throttle.0).pauses = 2.0;
        assert_eq!(pace.pause_after(3 * PAUSE_MIN), 6 * PAUSE_MIN);
        let other = Pace::start(&throttle);
        assert_eq!(pace.pause_after(3 * PAUSE_MIN), 12 * PAUSE_MIN, "two share what is left");
        drop(other);
        // Short ones come together, and none is long.
        assert_eq!(
            [(); 3].map(|()| pace.pause_after(PAUSE_MIN / 5)),
            [Duration::ZERO, Duration::ZERO, PAUSE_MIN * 6 / 5]
        );
        assert_eq!(pace.pause_after(PAUSE_MAX), PAUSE_MAX);
    }

    #[test]
    fn usage_is_that_of_all_cores() {
        let stat = "cpu  100 10 40 800 50 5 5 10 0 0\ncpu0 1 1\ncpu1 1 1\nintr 5\n";
        let before = Usage { own: Duration::ZERO, ..Usage::of(stat).unwrap() };
        assert_eq!((before.total, before.idle, before.cores), (1020.0, 850.0, 2.0));
        let own = Duration::from_millis(100);
        let later = Usage { total: before.total + 100.0, idle: before.idle + 25.0, own, ..before };
        let (idle, others) = later.shares_since(&before, Duration::from_millis(500));
        assert!((idle - 0.25).abs() < 1e-9 && (others - 0.65).abs() < 1e-9, "{idle} {others}");
        assert!(Usage::of("cpu").is_none() && Usage::of("").is_none() && Usage::of("cpu 1 2\n").is_none());
    }

    #[test]
    fn background_work_stands_back_and_its_asker_does_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let before = priority();
        let there = runtime.block_on(in_background(priority)).unwrap();
        assert!(there > before || there == 19, "{there} and {before}");
        assert_eq!(priority(), before);
        assert!(runtime.block_on(in_background(|| panic!("on purpose"))).is_err());
    }
}
