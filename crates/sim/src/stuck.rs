//! Does anybody wait without end? Looks at all nodes at once, as nobody in the cluster can.
//!
//! While all nodes run and hear each other and every partition is served, a cycle of waits is broken soon, long before the waits in it
//! would end by themselves, and somebody's transaction is committed again and again. A cycle is its waits: where one is broken, and
//! whoever gets the row next closes another one with some of the same waits, nothing stays.

use std::collections::BTreeMap;

use shoal_partition::{WaitEdge, waits_for_itself};

use crate::world::World;

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

impl World {
    pub fn watch_waits(&mut self) {
        let now_us = self.ctx.now_us;
        if now_us - self.watch.looked_at_us < LOOK_EVERY_US {
            return;
        }
        self.watch.looked_at_us = now_us;
        if !self.is_calm() {
            (self.watch.calm_since_us, self.watch.committed_at_us) = (now_us, now_us);
        }
        self.watch_cycles(now_us);
        self.watch_commits(now_us);
    }

    fn watch_cycles(&mut self, now_us: u64) {
        let seen = std::mem::take(&mut self.watch.waits);
        let since = |edge: WaitEdge| (edge, seen.get(&edge).copied().unwrap_or(now_us));
        self.watch.waits = self.all_edges().into_iter().map(since).collect();
        let calm_since_us = self.watch.calm_since_us;
        let longest_us = CYCLE_US_MAX + self.ctx.knobs.silence_ms * 1000;
        let is_long = |since_us: u64| now_us - since_us.max(calm_since_us) > longest_us;
        let long = self.watch.waits.iter().filter(|&(_, &since_us)| is_long(since_us));
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
        if let Some(edge) = in_cycle {
            self.ctx.accuse(format!("a deadlock stays: {edge:?} is part of the cycles in {edges:?}"));
        }
    }

    fn all_edges(&self) -> Vec<WaitEdge> {
        let processes =
            self.machines.iter().filter_map(|(&node, machine)| Some((node, machine.process.as_ref()?)));
        let waiting = processes.filter(|(_, process)| !process.waiting.is_empty());
        waiting.flat_map(|(node, process)| process.local_edges(self.clock(node))).collect()
    }

    fn watch_commits(&mut self, now_us: u64) {
        let commits = self.ctx.history.committed.len();
        let may_rest = !self.ctx.is_rough || now_us < self.ctx.quiet_until_us;
        if commits != self.watch.commits || may_rest {
            (self.watch.commits, self.watch.committed_at_us) = (commits, now_us);
        }
        if now_us - self.watch.committed_at_us > NO_COMMIT_US_MAX {
            self.ctx.accuse("nobody goes on: no transaction was committed for long, and all nodes run");
        }
    }

    /// All nodes run and hear each other, and every partition is served.
    fn is_calm(&self) -> bool {
        let nodes: Vec<_> = self.machines.keys().copied().collect();
        let pairs = nodes.iter().flat_map(|&one| nodes.iter().map(move |&other| (one, other)));
        self.ctx.network.is_calm()
            && nodes.iter().all(|&node| self.ctx.is_running(node))
            && pairs.filter(|(one, other)| one != other).all(|(one, other)| {
                let process = self.machines.get(&one).and_then(|machine| machine.process.as_ref());
                let link = process.and_then(|process| process.peers.get(&other)).and_then(|peer| peer.link);
                link.is_some() && link == self.ctx.network.link(one, other)
            })
            && self.machines.values().all(|machine| machine.slow_disk_us == 0)
            && self.ctx.knobs.all_partitions().all(|id| self.server_of(id).is_some())
    }
}
