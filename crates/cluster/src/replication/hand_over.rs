//! Who leads what, beside elections: leading is handed over when a node stops or has no room, goes back to the node that is
//! first in a partition's list when that can have it, and follows the work when nearly all of it comes from one node.
//!
//! How is [`HandOver`]'s. Operations that join a partition wait meanwhile as they do for a new leader.

use std::sync::atomic::{AtomicU32, Ordering};

use shoal_partition::Millis;
use shoal_replication::{HandOver, HandedOver};
use shoal_types::NodeId;

use crate::base::wait::lock;
use crate::membership::peers::Membership;
use crate::replication::Replication;
use crate::replication::leading::Origin;

/// How often the origins of the work are looked at.
const LOOK_MS: u64 = 500;
/// Looks in a row that must agree, before leading goes to where the work is, and before it goes back where it belongs.
const LOOKS_TO_FOLLOW: u32 = 2;
const LOOKS_TO_RETURN: u32 = 10;

impl Replication {
    /// A session of this or another node works in a partition that this node leads.
    #[inline]
    pub fn note_asked(&self, partition: u32, from: NodeId) {
        self.replicas[partition as usize].leading.note(from);
    }

    /// The transaction may not join the partition here, because another node is about to lead it. It has joined its first partition so
    /// many milliseconds ago, 0 if none.
    #[inline]
    pub fn is_handed_over(&self, partition: u32, joined_for_ms: impl FnOnce() -> u64) -> bool {
        let leading = &self.replicas[partition as usize].leading;
        leading.closed.load(Ordering::Acquire) && !leading.admits(joined_for_ms(), self.now())
    }

    /// One look at all that this node leads; from the cluster's thread.
    pub(crate) fn check_leadership(&self) {
        let Some(cluster) = &self.cluster else { return };
        let now = self.now();
        self.go_on_handing_over(now);
        // Again and again: a successor may have become fit only now.
        if self.draining.load(Ordering::Relaxed) || self.log().disk_space_low() {
            self.hand_over_all();
            return;
        }
        let last = self.looked_at.load(Ordering::Relaxed);
        if now.0 < last + LOOK_MS {
            return;
        }
        self.looked_at.store(now.0, Ordering::Relaxed);
        for partition in self.hosted() {
            if let Some(successor) = self.better_leader(cluster, partition) {
                self.begin_hand_over(partition, successor, false);
            }
        }
    }

    /// Who should lead a partition instead of this node, which does.
    fn better_leader(&self, cluster: &Membership, partition: u32) -> Option<NodeId> {
        let me = cluster.options.me;
        let leading = &self.replicas[partition as usize].leading;
        if cluster.leaders.of(partition) != Some(me) {
            leading.elsewhere.store(0, Ordering::Relaxed);
            leading.balanced.store(0, Ordering::Relaxed);
            return None;
        }
        let origin = leading.look(me);
        let count = |counter: &AtomicU32, agrees: bool| {
            let looks = if agrees { counter.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
            counter.store(looks, Ordering::Relaxed);
            looks
        };
        let elsewhere = count(&leading.elsewhere, matches!(origin, Origin::Elsewhere(_)));
        let balanced = count(&leading.balanced, origin == Origin::Balanced);
        let replicas = cluster.options.placement(partition).replicas;
        let comes_before_me = |node: NodeId| {
            let place = |wanted: NodeId| replicas.iter().position(|&one| one == wanted);
            place(node) < place(me)
        };
        match origin {
            Origin::Elsewhere(node) if elsewhere >= LOOKS_TO_FOLLOW => cluster.can_take_over(node).then_some(node),
            Origin::Balanced if balanced >= LOOKS_TO_RETURN => {
                replicas.iter().copied().find(|&node| comes_before_me(node) && cluster.can_take_over(node))
            }
            _ => None,
        }
    }

    fn begin_hand_over(&self, partition: u32, to: NodeId, presses: bool) {
        let begun = HandOver::begin(&self.partition(partition), to, presses, self.now());
        let Some(begun) = begun else { return };
        let leading = &self.replicas[partition as usize].leading;
        let mut handing_over = lock(&leading.handing_over);
        match &mut *handing_over {
            Some(known) => known.press(presses),
            None => {
                *handing_over = Some(begun);
                leading.closed.store(true, Ordering::Release);
                self.hand_overs.store(true, Ordering::Release);
            }
        }
    }

    fn go_on_handing_over(&self, now: Millis) {
        if !self.hand_overs.load(Ordering::Acquire) {
            return;
        }
        let mut goes_on = false;
        for partition in self.hosted() {
            let leading = &self.replicas[partition as usize].leading;
            let Some(mut state) = *lock(&leading.handing_over) else { continue };
            let is_over = self.step_down(partition, &mut state, now);
            *lock(&leading.handing_over) = (!is_over).then_some(state);
            leading.closed.store(!is_over, Ordering::Release);
            goes_on |= !is_over;
        }
        self.hand_overs.store(goes_on, Ordering::Release);
    }

    /// True: there is nothing more to do.
    fn step_down(&self, partition: u32, state: &mut HandOver, now: Millis) -> bool {
        let mut guard = self.partition(partition);
        let step = state.go_on(&mut guard, now);
        if step == HandedOver::Resigned {
            self.settle_and_release(partition, guard);
        }
        step == HandedOver::Over
    }

    /// Other nodes are to lead what this one leads, as far as they can.
    pub(crate) fn hand_over_all(&self) {
        let Some(cluster) = &self.cluster else { return };
        for partition in self.hosted() {
            let me = cluster.options.me;
            let mut others = cluster.options.placement(partition).replicas.into_iter().filter(|&node| node != me);
            if let Some(successor) = others.find(|&node| cluster.can_take_over(node)) {
                self.begin_hand_over(partition, successor, true);
            }
        }
    }

    /// From now on other nodes are to lead what this one leads.
    pub(crate) fn begin_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// This node is about to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// This node leads a partition that another could lead.
    pub fn leads_for_others(&self) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        self.hosted().any(|partition| {
            let guard = self.partition(partition);
            let mut others = cluster.options.placement(partition).replicas.into_iter();
            guard.is_leader() && others.any(|node| node != cluster.options.me && cluster.is_up(node))
        })
    }

    /// Another replica of everything this node leads could lead it.
    pub(crate) fn has_successors(&self) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        let mut led = (0..cluster.options.partition_count())
            .filter(|&one| cluster.leaders.of(one) == Some(cluster.options.me));
        led.all(|one| cluster.options.placement(one).replicas.into_iter().any(|node| cluster.can_take_over(node)))
    }
}
