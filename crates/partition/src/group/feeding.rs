//! What the leader remembers of the witness and of whether it is needed (`witness`).

use std::collections::VecDeque;

/// A data replica that has not answered for so many heartbeats, or that lacks what was in the log so long ago, does not
/// keep up.
pub(super) const HEARTBEATS_MISSED_MAX: u64 = 3;

/// The leader's care for the witness, anew in each term.
#[derive(Default)]
pub(super) struct Feeding {
    pub(super) silent: bool,
    /// The tick since which all data replicas keep up.
    pub(super) healthy_since: Option<u64>,
    /// The end of the log some heartbeats ago, and at each heartbeat since.
    pub(super) ends: VecDeque<u64>,
    pub(super) looked_at: u64,
    /// The tick at which a snapshot was first seen to be on its way.
    pub(super) snapshot_since: Option<u64>,
    /// The witness cannot vote until it has caught up; until when that was true at least.
    pub(super) ailing_until: u64,
}

impl Feeding {
    pub(super) fn note_ailing(&mut self, tick: u64, heartbeat_ticks: u64) {
        self.ailing_until = tick + heartbeat_ticks * HEARTBEATS_MISSED_MAX;
    }
}
