//! Time as a partition knows it: milliseconds of a monotonic clock that the caller reads.
//!
//! Raft counts ticks. [`Ticker`] derives them from the readings: ticks never run ahead of the clock, and after a pause
//! at most [`TICKS_AT_ONCE_MAX`] of them are made up for.
//!
//! A lease is safe if it ends before any follower that granted it may help to elect another leader. A follower that
//! hears from its leader refuses votes for `promise_ticks` ticks. Up to `TICKS_AT_ONCE_MAX` of them may be made up for
//! at once, and the first after these may fall due at once as well; the others take `tick_ms` each by the follower's
//! clock. The leader counts from the moment it sent, which is earlier. So a lease of `(promise_ticks -
//! TICKS_AT_ONCE_MAX - 1) * tick_ms` would be safe with perfect clocks; a tenth is taken off it for clocks that run at
//! different speeds.
//!
//! A promise is much shorter than the silence after which the others elect another leader: it is all that they wait for once they
//! know that something is wrong, because a connection was closed ([`crate::Partition::peer_lost`]).

use shoal_types::{Error, Result};

/// A reading of a monotonic clock that runs on while the process is paused and the host suspended. Readings of different processes have
/// nothing to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// The earliest reading.
    pub const ZERO: Millis = Millis(0);

    /// So many milliseconds later.
    pub fn plus(self, ms: u64) -> Millis {
        Millis(self.0.saturating_add(ms))
    }

    /// Milliseconds since `earlier`; zero if it is not earlier.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Ticks that a late caller makes up for in one call.
pub const TICKS_AT_ONCE_MAX: u64 = 2;
const TICKS_PER_HEARTBEAT: u64 = 5;
/// A lease outlasts two heartbeats, and one that is lost or late.
const PROMISE_TICKS: u64 = 18;
/// Clocks may differ in speed by one part in this many.
const DRIFT_DIVISOR: u64 = 10;
/// An election timeout is at least so many heartbeats.
const HEARTBEATS_PER_ELECTION_MIN: u64 = 4;

/// How long a group's replicas wait. All of them must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub(crate) tick_ms: u64,
    pub(crate) heartbeat_ticks: u64,
    pub(crate) election_ticks: u64,
    pub(crate) promise_ticks: u64,
    pub(crate) lease_ms: u64,
}

impl Timing {
    /// A leader speaks every `heartbeat_ms`; after `election_ms` without a word from it the others elect a new one.
    pub fn new(heartbeat_ms: u64, election_ms: u64) -> Result<Timing> {
        if heartbeat_ms < TICKS_PER_HEARTBEAT || election_ms / heartbeat_ms < HEARTBEATS_PER_ELECTION_MIN {
            return Err(Error::unknown(format!(
                "a heartbeat of {heartbeat_ms} ms does not go with an election timeout of {election_ms} ms: a \
                 heartbeat takes at least {TICKS_PER_HEARTBEAT} ms and the timeout at least \
                 {HEARTBEATS_PER_ELECTION_MIN} heartbeats"
            )));
        }
        let tick_ms = heartbeat_ms / TICKS_PER_HEARTBEAT;
        let election_ticks = election_ms.div_ceil(tick_ms);
        let promise_ticks = PROMISE_TICKS;
        let lease_ms = (promise_ticks - TICKS_AT_ONCE_MAX - 1) * tick_ms * (DRIFT_DIVISOR - 1) / DRIFT_DIVISOR;
        Ok(Timing { tick_ms, heartbeat_ticks: TICKS_PER_HEARTBEAT, election_ticks, promise_ticks, lease_ms })
    }

    /// Call `Partition::tick` about this often.
    pub fn tick_ms(&self) -> u64 {
        self.tick_ms
    }

    /// How long a follower waits for a leader that it does not hear before it campaigns, at least.
    pub fn election_ms(&self) -> u64 {
        self.election_ticks * self.tick_ms
    }

    /// A leader serves for so long after a majority was last known to follow it.
    pub fn lease_ms(&self) -> u64 {
        self.lease_ms
    }
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { tick_ms: 10, heartbeat_ticks: 5, election_ticks: 60, promise_ticks: 18, lease_ms: 135 }
    }
}

/// Turns clock readings into ticks.
#[derive(Default)]
pub(crate) struct Ticker {
    now: Millis,
    /// The reading at which the last tick fell due.
    base: Option<Millis>,
    /// Ticks since the beginning.
    count: u64,
}

impl Ticker {
    /// The newest reading.
    pub(crate) fn now(&self) -> Millis {
        self.now
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// How many ticks are due.
    pub(crate) fn advance(&mut self, now: Millis, tick_ms: u64) -> u64 {
        self.now = self.now.max(now);
        let base = *self.base.get_or_insert(self.now);
        let due = self.now.since(base) / tick_ms;
        let made_up = due.min(TICKS_AT_ONCE_MAX);
        self.base = Some(if due > made_up { self.now } else { base.plus(due * tick_ms) });
        self.count += made_up;
        made_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_what_new_makes_of_it() {
        assert_eq!(Timing::new(50, 600).unwrap(), Timing::default());
    }

    #[test]
    fn the_lease_ends_before_a_follower_may_vote_for_another() {
        for heartbeat_ms in [5, 10, 33, 50, 100, 1500] {
            for election_ms in [heartbeat_ms * 4, heartbeat_ms * 5 + 1, heartbeat_ms * 40] {
                let timing = Timing::new(heartbeat_ms, election_ms).unwrap();
                assert!(timing.lease_ms > 0, "{timing:?}");
                // The worst follower: ticks are overdue when it hears from the leader.
                let mut ticker = Ticker::default();
                ticker.advance(Millis(0), timing.tick_ms);
                let heard = Millis(timing.tick_ms * 50 - 1);
                let mut ticks = ticker.advance(heard, timing.tick_ms);
                let mut now = heard;
                while ticks < timing.promise_ticks {
                    now = now.plus(1);
                    ticks += ticker.advance(now, timing.tick_ms);
                }
                let waited_ms = now.since(heard);
                assert!(timing.lease_ms * 10 <= waited_ms * 9 + 9, "{timing:?} {waited_ms}");
            }
        }
    }

    #[test]
    fn ticks_never_run_ahead_of_the_clock_and_a_pause_is_not_made_up_for() {
        let mut ticker = Ticker::default();
        assert_eq!(ticker.advance(Millis(1000), 10), 0);
        assert_eq!(ticker.advance(Millis(1009), 10), 0);
        assert_eq!(ticker.advance(Millis(1010), 10), 1);
        assert_eq!(ticker.advance(Millis(1035), 10), 2);
        assert_eq!(ticker.advance(Millis(1039), 10), 0);
        assert_eq!(ticker.advance(Millis(1040), 10), 1);
        assert_eq!(ticker.advance(Millis(9999), 10), TICKS_AT_ONCE_MAX);
        assert_eq!(ticker.advance(Millis(10_008), 10), 0);
        // A reading of the past changes nothing.
        assert_eq!(ticker.advance(Millis(5), 10), 0);
        assert_eq!(ticker.now(), Millis(10_008));
        assert_eq!(ticker.count(), 6);
    }

    #[test]
    fn timeouts_too_short_for_their_heartbeat_are_refused() {
        assert!(Timing::new(1, 1000).is_err());
        assert!(Timing::new(100, 399).is_err());
        assert!(Timing::new(0, 0).is_err());
    }
}
