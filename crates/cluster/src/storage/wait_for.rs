//! The wait-for graph of the process: who waits for whom in locks' queues, and for how long yet.
//!
//! A wait is entered with those directly in its way. Only a transaction that others wait for can close a cycle with a wait of its
//! own, so whoever holds nothing that is wanted (a statement of one row with autocommit, say) enters and leaves in constant time.
//! Waits are entered and given up under their partition's hold; what is granted may stay here for a moment longer. What the graph names
//! are suspects: see [`deadlock`](crate::storage::deadlock).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use shoal_partition::waits_for_itself;
use shoal_types::TransactionId;

use crate::base::wait::lock;

type HashSet<T> = std::collections::HashSet<T, foldhash::fast::RandomState>;
type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// Why a wait was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitVerdict {
    /// It is part of a cycle, and the one that gives way.
    Deadlock,
    /// It has lasted for as long as it may.
    Timeout,
}

struct LockWait {
    token: u64,
    blockers: Vec<TransactionId>,
    since: Instant,
    deadline: Instant,
    verdict: Option<WaitVerdict>,
}

/// A wait as operators are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedWait {
    /// Who waits.
    pub waiter: TransactionId,
    /// Those directly in its way.
    pub blockers: Vec<TransactionId>,
    /// For how long.
    pub since: Duration,
}

/// Waits since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// Waits that have begun.
    pub begun: u64,
    /// Ended because they had lasted for too long.
    pub timeouts: u64,
    /// Those that are over, together.
    pub time: Duration,
    /// The longest of these.
    pub longest: Duration,
}

#[derive(Default)]
struct Waits {
    counts: WaitCounts,
    /// A transaction waits for one thing at a time, or for one in each partition that it has asked at the same time.
    by_transaction: HashMap<TransactionId, Vec<LockWait>>,
    /// Who waits for a transaction: as often as its waits name it.
    blocking: HashMap<TransactionId, Vec<TransactionId>>,
}

/// Who waits for whom at this node: where deadlocks are found.
#[derive(Default)]
pub struct WaitForGraph {
    waits: Mutex<Waits>,
    monitor: Monitor,
}

#[derive(Default)]
struct Monitor {
    /// It looks by itself and need not be woken.
    awake: AtomicBool,
    stopping: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    handle: OnceLock<Thread>,
}

impl Waits {
    fn add(&mut self, waiter: TransactionId, wait: LockWait) {
        for &blocker in &wait.blockers {
            self.blocking.entry(blocker).or_default().push(waiter);
        }
        self.by_transaction.entry(waiter).or_default().push(wait);
        self.counts.begun += 1;
    }

    fn remove(&mut self, waiter: TransactionId, token: u64) -> Option<LockWait> {
        let waits = self.by_transaction.get_mut(&waiter)?;
        let position = waits.iter().position(|wait| wait.token == token)?;
        let wait = waits.swap_remove(position);
        let took = wait.since.elapsed();
        self.counts.time += took;
        self.counts.longest = self.counts.longest.max(took);
        if waits.is_empty() {
            self.by_transaction.remove(&waiter);
        }
        for blocker in &wait.blockers {
            if let Some(waiters) = self.blocking.get_mut(blocker) {
                if let Some(position) = waiters.iter().position(|&other| other == waiter) {
                    waiters.swap_remove(position);
                }
                if waiters.is_empty() {
                    self.blocking.remove(blocker);
                }
            }
        }
        Some(wait)
    }

    fn verdict(&self, waiter: TransactionId, token: u64) -> Option<WaitVerdict> {
        self.by_transaction.get(&waiter)?.iter().find(|wait| wait.token == token)?.verdict
    }

    /// Somebody has left a queue from its middle: whoever was directly behind it waits for those that it waited for.
    fn close_ranks(&mut self, gone: TransactionId, blockers: &[TransactionId]) {
        for waiter in self.blocking.get(&gone).cloned().unwrap_or_default() {
            for wait in self.by_transaction.get_mut(&waiter).into_iter().flatten() {
                if !wait.blockers.contains(&gone) {
                    continue;
                }
                for &blocker in blockers.iter().filter(|&&blocker| blocker != waiter) {
                    if !wait.blockers.contains(&blocker) {
                        wait.blockers.push(blocker);
                        self.blocking.entry(blocker).or_default().push(waiter);
                    }
                }
            }
        }
    }

    fn blockers_of(&self, transaction: TransactionId) -> impl Iterator<Item = TransactionId> {
        self.by_transaction.get(&transaction).into_iter().flatten().flat_map(|wait| wait.blockers.iter().copied())
    }

    /// The transaction waits for itself, as far as is known here.
    fn is_suspect(&self, transaction: TransactionId) -> bool {
        self.blocking.contains_key(&transaction)
            && waits_for_itself(transaction, |waiter, ahead| ahead.extend(self.blockers_of(waiter)))
    }
}

impl WaitForGraph {
    /// A wait begins, under a token that [`WaitForGraph::leave`] is given as well; the partition in whose queue it is must be held, so that
    /// `blockers` are those of this moment. True: it may have closed a cycle, see
    /// `Node::deadlock_of`.
    pub fn enter(&self, waiter: TransactionId, blockers: &[TransactionId], token: u64, timeout: Duration) -> bool {
        let since = Instant::now();
        let deadline = since + timeout;
        let suspect = {
            let mut waits = lock(&self.waits);
            waits.add(waiter, LockWait { token, blockers: blockers.to_vec(), since, deadline, verdict: None });
            waits.is_suspect(waiter)
        };
        if !self.monitor.awake.swap(true, Ordering::AcqRel)
            && let Some(monitor) = self.monitor.handle.get()
        {
            monitor.unpark();
        }
        suspect
    }

    /// A wait is over: the waiter has got what it waited for. Or it has a verdict, because it was ended from outside; then it is to be
    /// [given up](WaitForGraph::give_up).
    pub fn leave(&self, waiter: TransactionId, token: u64) -> Option<WaitVerdict> {
        let mut waits = lock(&self.waits);
        let verdict = waits.verdict(waiter, token);
        if verdict.is_none() {
            waits.remove(waiter, token);
        }
        verdict
    }

    /// The waiter leaves without what it waited for. Call it, as [`WaitForGraph::enter`], with the partition held in whose queue the wait is.
    pub fn give_up(&self, waiter: TransactionId, token: u64) {
        let mut waits = lock(&self.waits);
        if let Some(wait) = waits.remove(waiter, token) {
            waits.close_ranks(waiter, &wait.blockers);
        }
    }

    /// Transactions that wait.
    pub fn len(&self) -> usize {
        lock(&self.waits).by_transaction.len()
    }

    /// Nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What waits have come to.
    pub fn counts(&self) -> WaitCounts {
        lock(&self.waits).counts
    }

    /// The waits that there are, the longest first; at most `count`.
    pub fn list(&self, count: usize) -> Vec<ObservedWait> {
        let now = Instant::now();
        let mut found: Vec<ObservedWait> = {
            let waits = lock(&self.waits);
            let each =
                waits.by_transaction.iter().flat_map(|(&id, waits)| waits.iter().map(move |wait| (id, wait)));
            each.map(|(waiter, wait)| ObservedWait {
                waiter,
                blockers: wait.blockers.clone(),
                since: now.duration_since(wait.since),
            })
            .collect()
        };
        found.sort_by_key(|wait| std::cmp::Reverse(wait.since));
        found.truncate(count);
        found
    }

    /// Somebody has waited here for so long.
    pub fn has_waited(&self, time: Duration) -> bool {
        let now = Instant::now();
        let waits = lock(&self.waits);
        waits.by_transaction.values().flatten().any(|wait| now.duration_since(wait.since) >= time)
    }

    /// Ends the waits of a transaction that have no verdict yet; the tokens to be signalled.
    pub(super) fn judge(&self, waiter: TransactionId, verdict: WaitVerdict) -> Vec<u64> {
        let mut waits = lock(&self.waits);
        let waits = waits.by_transaction.get_mut(&waiter).into_iter().flatten();
        let judge = |wait: &mut LockWait| {
            wait.verdict = Some(verdict);
            wait.token
        };
        waits.filter(|wait| wait.verdict.is_none()).map(judge).collect()
    }

    /// Whether the transaction waits for something in this process.
    pub fn waits(&self, waiter: TransactionId) -> bool {
        lock(&self.waits).by_transaction.contains_key(&waiter)
    }

    /// Those whose waits end as deadlocks' victims: they are about to leave their queues.
    pub(super) fn condemned(&self) -> HashSet<TransactionId> {
        let waits = lock(&self.waits);
        let is_victim =
            |waits: &Vec<LockWait>| waits.iter().any(|wait| wait.verdict == Some(WaitVerdict::Deadlock));
        waits.by_transaction.iter().filter(|(_, waits)| is_victim(waits)).map(|(&waiter, _)| waiter).collect()
    }

    /// Gives those their verdict whose time is up.
    pub(super) fn expire(&self, now: Instant) -> Vec<u64> {
        let mut expired = Vec::new();
        let mut waits = lock(&self.waits);
        for wait in waits.by_transaction.values_mut().flatten() {
            if wait.deadline <= now && wait.verdict.is_none() {
                wait.verdict = Some(WaitVerdict::Timeout);
                expired.push(wait.token);
            }
        }
        waits.counts.timeouts += expired.len() as u64;
        expired
    }

    /// The monitor's thread runs.
    pub(super) fn set_monitor(&self, thread: JoinHandle<()>) {
        let _ = self.monitor.handle.set(thread.thread().clone());
        self.monitor.awake.store(true, Ordering::Release);
        *lock(&self.monitor.thread) = Some(thread);
    }

    /// The monitor is to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.monitor.stopping.load(Ordering::Acquire)
    }

    /// From now on whoever enters wakes the monitor. False: somebody has entered meanwhile.
    pub(super) fn fall_asleep(&self) -> bool {
        self.monitor.awake.store(false, Ordering::Release);
        self.is_empty() || self.monitor.awake.swap(true, Ordering::AcqRel)
    }

    /// Ends the monitor, and waits for it if this is another thread.
    pub(crate) fn stop(&self) {
        self.monitor.stopping.store(true, Ordering::Release);
        if let Some(thread) = lock(&self.monitor.thread).take() {
            thread.thread().unpark();
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn id(number: u64) -> TransactionId {
        TransactionId(number)
    }

    fn ids(numbers: &[u64]) -> Vec<TransactionId> {
        numbers.iter().copied().map(TransactionId).collect()
    }

    #[test]
    fn who_closes_a_cycle_is_suspected_and_who_is_in_nobodys_way_never_is() {
        let graph = WaitForGraph::default();
        assert!(!graph.enter(id(1), &ids(&[2]), 1, MINUTE));
        assert!(!graph.enter(id(2), &ids(&[3, 4]), 2, MINUTE));
        assert!(!graph.enter(id(5), &ids(&[1]), 5, MINUTE));
        assert!(graph.enter(id(4), &ids(&[1]), 4, MINUTE));
        assert_eq!(graph.leave(id(4), 4), None);
        graph.leave(id(2), 2);
        assert!(!graph.enter(id(4), &ids(&[1]), 6, MINUTE));
        assert_eq!(graph.len(), 3);
        let listed: Vec<(TransactionId, Vec<TransactionId>)> =
            graph.list(2).into_iter().map(|wait| (wait.waiter, wait.blockers)).collect();
        assert_eq!(listed, [(id(1), ids(&[2])), (id(5), ids(&[1]))]);
        for (waiter, token) in [(1, 1), (5, 5), (4, 6)] {
            graph.leave(id(waiter), token);
        }
        assert!(graph.is_empty() && lock(&graph.waits).blocking.is_empty());
    }

    /// Victims leave queues from their middle: a cycle through those behind them was only found when the monitor looked.
    #[test]
    fn who_was_behind_somebody_that_gave_up_waits_for_what_that_waited_for() {
        let graph = WaitForGraph::default();
        graph.enter(id(2), &ids(&[1]), 2, MINUTE);
        graph.enter(id(3), &ids(&[2]), 3, MINUTE);
        graph.enter(id(4), &ids(&[3]), 4, MINUTE);
        graph.give_up(id(3), 3);
        graph.give_up(id(2), 2);
        assert!(graph.enter(id(1), &ids(&[4]), 1, MINUTE));
        graph.leave(id(1), 1);
        graph.leave(id(4), 4);
        assert!(graph.is_empty() && lock(&graph.waits).blocking.is_empty());
    }

    #[test]
    fn two_waits_of_one_transaction_are_two() {
        let graph = WaitForGraph::default();
        graph.enter(id(1), &ids(&[2]), 10, Duration::ZERO);
        graph.enter(id(1), &ids(&[3]), 11, MINUTE);
        assert_eq!(graph.expire(Instant::now()), [10]);
        assert_eq!((graph.counts().begun, graph.counts().timeouts), (2, 1));
        assert_eq!(graph.leave(id(1), 10), Some(WaitVerdict::Timeout));
        graph.give_up(id(1), 10);
        assert!(graph.condemned().is_empty());
        assert_eq!(graph.judge(id(1), WaitVerdict::Deadlock), [11]);
        assert!(graph.condemned().contains(&id(1)) && graph.waits(id(1)) && !graph.waits(id(2)));
        // Who has a verdict gets no second one.
        assert!(graph.judge(id(1), WaitVerdict::Timeout).is_empty());
        assert_eq!(graph.leave(id(1), 11), Some(WaitVerdict::Deadlock));
        graph.give_up(id(1), 11);
        assert!(graph.condemned().is_empty());
        assert!(graph.judge(id(1), WaitVerdict::Deadlock).is_empty());
    }
}
