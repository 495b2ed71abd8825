//! What a node tells about itself, and the log of what happens in the cluster.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use shoal_types::{NodeId, Result};

use crate::clock::wall_micros;
use crate::node::Node;
use crate::services::temporary;
use crate::wait::lock;

/// Events that are kept in memory.
const EVENTS_MAX: usize = 1000;

/// Something that happened, for CLUSTERLOG.
#[derive(Clone, Debug)]
pub struct Event {
    /// Microseconds since 1970.
    pub at_us: u64,
    pub category: &'static str,
    pub text: String,
}

pub(crate) type Events = Mutex<VecDeque<Event>>;

/// What a management command may want of the process; the command line sets it.
pub trait Process: Send + Sync + 'static {
    /// Ends the process in an orderly way; `restart`: and starts it again.
    fn stop(&self, restart: bool);
}

impl Node {
    pub(crate) fn log_event(&self, category: &'static str, text: &str) {
        let Some(cluster) = &self.cluster else { return };
        tracing::info!(category, text);
        let mut events = lock(&cluster.events);
        if events.len() == EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(Event { at_us: wall_micros(), category, text: text.to_owned() });
    }

    /// The newest events, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.cluster.as_ref().map_or_else(Vec::new, |cluster| lock(&cluster.events).iter().cloned().collect())
    }

    /// Another node does not want this one: a node that nobody knows yet ends with that reason.
    pub(crate) fn refused_by(&self, _peer: NodeId, reason: &str) {
        let Some(cluster) = &self.cluster else { return };
        if !self.is_started() && cluster.peers_up().is_empty() {
            self.stop(reason);
        }
    }

    /// What this node knows of itself, as JSON.
    pub(crate) fn state_json(&self) -> String {
        let Some(cluster) = &self.cluster else { return "{}".into() };
        let memory = self.memory_usage();
        let partitions: Vec<String> = self
            .hosted()
            .map(|partition| {
                let guard = self.partition(partition);
                format!(
                    "{{\"partition\":{partition},\"leads\":{},\"term\":{},\"applied\":{},\"last\":{}}}",
                    guard.is_leader(),
                    guard.term(),
                    guard.applied_index(),
                    guard.last_index().0
                )
            })
            .collect();
        format!(
            "{{\"node\":{},\"started\":{},\"catalog\":{},\"memory_used\":{},\"memory_limit\":{},\"partitions\":[{}]}}",
            cluster.options.me,
            self.is_started(),
            self.catalog_version(),
            memory.used_bytes,
            memory.limit_bytes,
            partitions.join(",")
        )
    }

    pub(crate) async fn management_command(&self, line: &str) -> Result<String> {
        Err(temporary(format!("the command '{line}' is not known")))
    }

    /// Hands leading back to those that should lead, when they can.
    pub(crate) fn balance_leaders(&self, turn: u32) {
        const TURNS: u32 = 40;
        let Some(cluster) = &self.cluster else { return };
        if !turn.is_multiple_of(TURNS) || cluster.draining.load(Ordering::Relaxed) {
            return;
        }
        let me = cluster.options.me;
        for partition in self.hosted() {
            let mut guard = self.partition(partition);
            let Some(&preferred) = cluster.options.placement(partition).replicas.first() else { continue };
            let hands_over = preferred != me
                && guard.is_leader()
                && !guard.is_single()
                && cluster.is_started(preferred)
                && guard.is_caught_up(u64::from(preferred.0));
            if hands_over {
                if let Err(error) = guard.transfer_leader(u64::from(preferred.0)) {
                    tracing::debug!(partition, %error, "leading was not handed over");
                }
                self.settle_and_release(partition, guard);
            }
        }
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

    /// Before an orderly stop: others lead what this node leads, as far as there are any.
    pub fn hand_over_leaders(&self) {
        let Some(cluster) = &self.cluster else { return };
        cluster.draining.store(true, Ordering::Relaxed);
        for partition in self.hosted() {
            let mut guard = self.partition(partition);
            if guard.is_single() || !guard.is_leader() {
                continue;
            }
            let others = cluster.options.placement(partition).replicas;
            let other = others.into_iter().find(|&node| {
                node != cluster.options.me && cluster.is_up(node) && guard.is_caught_up(u64::from(node.0))
            });
            if let Some(other) = other {
                let _ = guard.transfer_leader(u64::from(other.0));
            }
            self.settle_and_release(partition, guard);
        }
    }
}
