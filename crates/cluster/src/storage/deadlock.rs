//! The search for deadlocks, and the end of waits.
//!
//! The graph of waits ([`wait_for`](crate::storage::wait_for)) names suspects and the partitions' own queues decide: they are held all at
//! once, so that a deadlock is reported only if all its waits exist at one moment. Who closes a cycle
//! gives way: it has just been running, while the youngest may be one that has given way before.
//!
//! One thread, the *lock monitor*, ends waits that have lasted for too long and looks for cycles that nobody has noticed when they
//! closed, as often as a twentieth of a processor allows. No session sets a timer. It sleeps while nobody waits.
//!
//! Cycles over several nodes are `shoal-txn`'s: it asks the nodes, and condemns victims here.
//!
//! Whoever finds a deadlock reports it before its victim gives way ([`Storage::report_deadlock`]): what the others of the cycle
//! are doing can still be seen then.

use std::time::{Duration, Instant};

use shoal_partition::{ObservedTransaction, WaitEdge, is_deadlocked, victims};
use shoal_types::{Error, Result, TransactionId};

use crate::storage::Storage;
use crate::storage::deadlock_report::{Deadlock, DeadlockHook, seen_in};
use crate::storage::partitions::PartitionGuard;
use crate::storage::wait_for::WaitVerdict;

/// The monitor's pause while waits are suspected: so many times what its last look took, within these bounds.
const PAUSE_OF_WORK: u32 = 20;
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// While waits end by themselves.
const CALM_PAUSE: Duration = Duration::from_millis(5);
/// Waits that are younger are not suspected: most end by themselves.
const SUSPECT_AFTER: Duration = Duration::from_millis(2);
/// Looks at which nobody waited before the monitor sleeps until it is woken.
const IDLE_LOOKS: u32 = 200;

impl Storage {
    /// Who is told of deadlocks. Once.
    pub fn set_deadlock_hook(&self, hook: DeadlockHook) {
        self.deadlocks.set_hook(hook);
    }

    /// Deadlocks that were reported since the process began.
    pub fn deadlocks_found(&self) -> u64 {
        self.deadlocks.found()
    }

    /// A deadlock's victim is about to give way.
    pub fn report_deadlock(&self, deadlock: Deadlock) {
        self.deadlocks.report(deadlock);
    }

    /// A cycle over several nodes, by what these have told: what partitions here know of it.
    pub fn deadlock_between_nodes(&self, victim: TransactionId, edges: &[WaitEdge]) -> Deadlock {
        let partitions = 0..self.partition_count();
        let look = |waiter, blocker| {
            partitions.clone().find_map(|number| seen_in(number, &self.partition(number), waiter, blocker))
        };
        let observe = |id| {
            let parts = partitions.clone().filter_map(|number| self.partition(number).observed_transaction(id));
            parts.fold(ObservedTransaction::nothing_of(id), ObservedTransaction::plus)
        };
        Deadlock::of(victim, edges, look, observe)
    }

    /// Starts the lock monitor, which ends when the node is gone or the threads of this layer are to end.
    pub(crate) fn start_lock_monitor(&self) -> Result<()> {
        let storage = self.handle.clone();
        let watch = move || {
            let mut idle = 0;
            while let Some(storage) = storage.upgrade() {
                if storage.graph.is_stopping() {
                    return;
                }
                let pause = storage.watch_waits();
                idle = if pause.is_some() { 0 } else { idle + 1 };
                let sleeps = idle > IDLE_LOOKS && storage.graph.fall_asleep();
                drop(storage);
                match sleeps {
                    true => std::thread::park(),
                    false => std::thread::park_timeout(pause.unwrap_or(CALM_PAUSE)),
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("shoal-locks".into())
            .spawn(watch)
            .map_err(|error| Error::unknown(format!("cannot start the lock monitor's thread: {error}")))?;
        self.graph.set_monitor(thread);
        Ok(())
    }

    /// The cycle in which the transaction waits for itself: all its waits exist at this moment, in partitions of this process.
    pub fn deadlock_of(&self, transaction: TransactionId) -> Option<Deadlock> {
        let (guards, edges) = self.hold_wait_edges();
        if !is_deadlocked(&edges, transaction) {
            return None;
        }
        // From now on it is a victim that is still to leave, so that nobody finds a second one.
        self.graph.judge(transaction, WaitVerdict::Deadlock);
        Some(deadlock_in(&guards, transaction, &edges))
    }

    /// All waits in this process, and the partitions, held. Those of a victim that is still to leave its queue are left out: its cycle
    /// is broken already and needs no second victim.
    fn hold_wait_edges(&self) -> (Vec<PartitionGuard<'_>>, Vec<WaitEdge>) {
        let guards: Vec<_> = (0..self.partition_count()).map(|partition| self.partition(partition)).collect();
        let mut edges: Vec<WaitEdge> = guards.iter().flat_map(|guard| guard.wait_edges()).collect();
        let condemned = self.graph.condemned();
        edges.retain(|edge| !condemned.contains(&edge.waiter));
        (guards, edges)
    }

    /// Has a transaction's waits in this process end as a deadlock's victim. False: it does not wait here.
    pub fn condemn(&self, transaction: TransactionId) -> bool {
        let tokens = self.graph.judge(transaction, WaitVerdict::Deadlock);
        tokens.iter().for_each(|&token| self.waits.signal(token));
        !tokens.is_empty()
    }

    /// One look of the monitor; how long it pauses then, `None` if nobody waits.
    fn watch_waits(&self) -> Option<Duration> {
        let began = Instant::now();
        for token in self.graph.expire(began) {
            self.waits.signal(token);
        }
        if !self.graph.has_waited(SUSPECT_AFTER) {
            return (!self.graph.is_empty()).then_some(CALM_PAUSE);
        }
        let edges: Vec<WaitEdge> =
            (0..self.partition_count()).flat_map(|partition| self.partition(partition).wait_edges()).collect();
        // What is seen partition by partition is a suspicion.
        if !victims(&edges).is_empty() {
            self.break_cycles();
        }
        Some((began.elapsed() * PAUSE_OF_WORK).clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
    }

    /// Ends the cycles of waits within this process, all of whose waits exist at this moment: the youngest of each has its wait ended.
    fn break_cycles(&self) {
        let (guards, edges) = self.hold_wait_edges();
        let mut tokens = Vec::new();
        let mut found = Vec::new();
        for victim in victims(&edges) {
            let mut ended = self.graph.judge(victim, WaitVerdict::Deadlock);
            if !ended.is_empty() {
                found.push(victim);
            }
            tokens.append(&mut ended);
        }
        // One is described: all partitions are held meanwhile, and only the latest is kept.
        let latest = found.pop().map(|victim| deadlock_in(&guards, victim, &edges));
        drop(guards);
        self.deadlocks.count(found.len() as u64);
        latest.into_iter().for_each(|deadlock| self.report_deadlock(deadlock));
        tokens.into_iter().for_each(|token| self.waits.signal(token));
    }
}

/// A victim's deadlock in partitions that are held.
fn deadlock_in(guards: &[PartitionGuard<'_>], victim: TransactionId, edges: &[WaitEdge]) -> Deadlock {
    let look =
        |waiter, blocker| (0..).zip(guards).find_map(|(number, guard)| seen_in(number, guard, waiter, blocker));
    let observe = |id| {
        let parts = guards.iter().filter_map(|guard| guard.observed_transaction(id));
        parts.fold(ObservedTransaction::nothing_of(id), ObservedTransaction::plus)
    };
    Deadlock::of(victim, edges, look, observe)
}
