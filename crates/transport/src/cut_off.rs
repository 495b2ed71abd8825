//! Peers that are kept away: what came from them cannot be what a node sends.
//!
//! All links to such a peer end, with the reason, and none is made until a pause is over. The next pause is twice as long,
//! so that a peer which comes back with the same costs less and less. A peer that behaved well for long begins anew.

use std::time::{Duration, Instant};

/// A peer that gave no cause for this many of the longest pauses is kept away for the shortest one again.
const FORGOTTEN_AFTER_PAUSES: u32 = 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CutOffPauses {
    pub first: Duration,
    pub max: Duration,
}

/// One peer's pauses.
#[derive(Debug, Default)]
pub(crate) struct CutOff {
    /// The end of the newest pause, and how long it is.
    newest: Option<(Instant, Duration)>,
    reason: String,
}

impl CutOff {
    /// The pause that begins. `None`: one is under way already.
    pub(crate) fn begin(&mut self, now: Instant, reason: &str, pauses: CutOffPauses) -> Option<Duration> {
        let pause = match self.newest {
            Some((end, _)) if now < end => return None,
            Some((end, last)) if now < end + pauses.max * FORGOTTEN_AFTER_PAUSES => (last * 2).min(pauses.max),
            _ => pauses.first,
        };
        self.newest = Some((now + pause, pause));
        self.reason = reason.to_owned();
        Some(pause)
    }

    /// What is left of the pause.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        let (end, _) = self.newest?;
        end.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Why; of the newest pause.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSES: CutOffPauses = CutOffPauses { first: Duration::from_secs(1), max: Duration::from_secs(5) };

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_long_time_without_cause() {
        let mut cut_off = CutOff::default();
        let mut now = Instant::now();
        assert_eq!(cut_off.left(now), None);
        for seconds in [1, 2, 4, 5, 5] {
            let pause = Duration::from_secs(seconds);
            assert_eq!(cut_off.begin(now, "noise", PAUSES), Some(pause));
            assert_eq!(cut_off.begin(now, "more of it", PAUSES), None, "it is kept away already");
            assert_eq!((cut_off.left(now), cut_off.reason()), (Some(pause), "noise"));
            now += pause;
            assert_eq!(cut_off.left(now), None);
        }
        now += PAUSES.max * FORGOTTEN_AFTER_PAUSES;
        assert_eq!(cut_off.begin(now, "noise", PAUSES), Some(PAUSES.first));
    }
}
