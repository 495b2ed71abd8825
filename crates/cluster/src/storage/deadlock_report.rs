//! What is told of a deadlock: the cycle of waits, with the locks and what its transactions have.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use shoal_partition::{ObservedLock, ObservedTransaction, Partition, WaitEdge, cycle_through};
use shoal_types::TransactionId;

/// Waits of a cycle that a report names.
const REPORTED_WAITS_MAX: usize = 16;

/// A wait of a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockWait {
    /// Who waits for the next one of the cycle, the last for the first; what it has in partitions here.
    pub waiter: ObservedTransaction,
    /// What it waits for, with the partition; `None`: that is another node's.
    pub wanted: Option<(u32, ObservedLock)>,
    /// As the next one has it, or wants it before.
    pub blocking: Option<ObservedLock>,
}

/// A cycle of waits, at the moment before its victim gives way.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// Who gives way.
    pub victim: TransactionId,
    /// The victim's wait first. Of a very long cycle these are not all.
    pub waits: Vec<DeadlockWait>,
}

/// Called with every deadlock, by the thread that has found it; it holds no partition.
pub type DeadlockHook = Box<dyn Fn(Deadlock) + Send + Sync>;

/// The deadlocks of a node's transactions.
#[derive(Default)]
pub(crate) struct Deadlocks {
    found: AtomicU64,
    hook: OnceLock<DeadlockHook>,
    /// When the hook was last called.
    told: Mutex<Option<Instant>>,
}

/// Deadlocks that follow each other sooner are counted and not told: a storm of them is not to be made longer by describing it.
const TOLD_EVERY: Duration = Duration::from_millis(10);

/// What is wanted, with the partition, and what is in the way.
pub(super) type SeenWait = ((u32, ObservedLock), ObservedLock);

/// What a partition knows of a wait.
pub(super) fn seen_in(
    number: u32,
    partition: &Partition,
    waiter: TransactionId,
    blocker: TransactionId,
) -> Option<SeenWait> {
    let (wanted, blocking) = partition.observed_wait(waiter, blocker)?;
    Some(((number, wanted), blocking))
}

impl Deadlocks {
    pub(super) fn set_hook(&self, hook: DeadlockHook) {
        let _ = self.hook.set(hook);
    }

    pub(super) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Deadlocks that nothing more is told of.
    pub(super) fn count(&self, number: u64) {
        self.found.fetch_add(number, Ordering::Relaxed);
    }

    pub(super) fn report(&self, deadlock: Deadlock) {
        self.count(1);
        if let Some(hook) = self.hook.get()
            && self.is_time_to_tell(Instant::now())
        {
            hook(deadlock);
        }
    }

    fn is_time_to_tell(&self, now: Instant) -> bool {
        let mut told = self.told.lock();
        let is_time = told.is_none_or(|last| now.duration_since(last) >= TOLD_EVERY);
        if is_time {
            *told = Some(now);
        }
        is_time
    }
}

impl Deadlock {
    /// What these edges and partitions tell of a victim's cycle.
    pub(super) fn of(
        victim: TransactionId,
        edges: &[WaitEdge],
        look: impl Fn(TransactionId, TransactionId) -> Option<SeenWait>,
        observe: impl Fn(TransactionId) -> ObservedTransaction,
    ) -> Deadlock {
        let cycle = cycle_through(edges, victim);
        let wait = |place: usize| {
            let (waiter, blocker) = (cycle[place], cycle[(place + 1) % cycle.len()]);
            let (wanted, blocking) = look(waiter, blocker).unzip();
            DeadlockWait { waiter: observe(waiter), wanted, blocking }
        };
        Deadlock { victim, waits: (0..cycle.len().min(REPORTED_WAITS_MAX)).map(wait).collect() }
    }
}
