//! Does anybody wait without end? Looks at all nodes at once, as nobody in the cluster can.
//!
//! While all nodes run and hear each other and every partition is served, a cycle of waits is broken soon, long before the waits in it
//! would end by themselves, and somebody's transaction is committed again and again. A cycle is its waits: where one is broken, and
//! whoever gets the row next closes another one with some of the same waits, nothing stays.

use std::collections::BTreeMap;

use shoal_partition::{WaitEdge, waits_for_itself};

const LOOK_EVERY_US: u64 = 5_000;
/// A search asks twice, over links that are late; and the one before it may wait for an answer that a cut has swallowed, until its link is
/// taken to be silent.
const CYCLE_US_MAX: u64 = 350_000;
const NO_COMMIT_US_MAX: u64 = 1_200_000;

#[derive(Default)]
pub struct Watch {
    looked_at_us: u64,
    /// Nothing has been wrong with nodes and links since.
    calm_since_us: u64,
    /// Since when each wait is seen.
    waits: BTreeMap<WaitEdge, u64>,
    commits: usize,
    committed_at_us: u64,
}

impl Watch {
    /// It is time to look; `is_calm`: all nodes run and hear each other, and every partition is served.
    pub fn is_due(&mut self, now_us: u64, is_calm: impl FnOnce() -> bool) -> bool {
        if now_us - self.looked_at_us < LOOK_EVERY_US {
            return false;
        }
        self.looked_at_us = now_us;
        if !is_calm() {
            (self.calm_since_us, self.committed_at_us) = (now_us, now_us);
        }
        true
    }

    /// What is wrong with the waits of all nodes, if links are silent for so long before they are broken.
    pub fn see_waits(&mut self, now_us: u64, waits: Vec<WaitEdge>, silence_ms: u64) -> Option<String> {
        let seen = std::mem::take(&mut self.waits);
        let since = |edge: WaitEdge| (edge, seen.get(&edge).copied().unwrap_or(now_us));
        self.waits = waits.into_iter().map(since).collect();
        let calm_since_us = self.calm_since_us;
        let longest_us = CYCLE_US_MAX + silence_ms * 1000;
        let is_long = |since_us: u64| now_us - since_us.max(calm_since_us) > longest_us;
        let long = self.waits.iter().filter(|&(_, &since_us)| is_long(since_us));
        let edges: Vec<WaitEdge> = long.map(|(&edge, _)| edge).collect();
        let in_cycle = edges.iter().find(|&&WaitEdge { waiter, blocker, .. }| {
            let ahead_of =
                |waiter| edges.iter().filter(move |edge| edge.waiter == waiter).map(|edge| edge.blocker);
            blocker == waiter
                || waits_for_itself(waiter, |one, ahead| match one == waiter {
                    true => ahead.push(blocker),
                    false => ahead.extend(ahead_of(one)),
                })
        });
        in_cycle.map(|edge| format!("a deadlock stays: {edge:?} is part of the cycles in {edges:?}"))
    }

    /// What is wrong with the number of commits.
    pub fn see_commits(&mut self, now_us: u64, commits: usize, may_rest: bool) -> Option<String> {
        if commits != self.commits || may_rest {
            (self.commits, self.committed_at_us) = (commits, now_us);
        }
        let is_stuck = now_us - self.committed_at_us > NO_COMMIT_US_MAX;
        is_stuck.then(|| "nobody goes on: no transaction was committed for long, and all nodes run".to_owned())
    }
}
