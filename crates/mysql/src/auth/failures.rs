//! Failed logins in a row, by user and host, and the delay that they earn.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Failures that cost nothing: a mistyped password is no attack.
const FAILURES_FREE: u32 = 3;
const DELAY_FIRST: Duration = Duration::from_millis(250);
const DELAY_MAX: Duration = Duration::from_secs(4);
/// Pairs of user and host that are remembered; an attacker who fills the table starts it afresh.
const ENTRIES_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<(String, String), u32>>);

impl Failures {
    /// How long to wait before the next attempt is answered.
    pub fn delay(&self, user: &str, host: &str) -> Duration {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() {
            return Duration::ZERO;
        }
        let count = failures.get(&(user.to_owned(), host.to_owned())).copied().unwrap_or(0);
        match count.checked_sub(FAILURES_FREE) {
            None => Duration::ZERO,
            Some(excess) => DELAY_FIRST.saturating_mul(1 << excess.min(10)).min(DELAY_MAX),
        }
    }

    pub fn record(&self, user: &str, host: &str, succeeded: bool) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if succeeded {
            if !failures.is_empty() {
                failures.remove(&(user.to_owned(), host.to_owned()));
            }
            return;
        }
        if failures.len() >= ENTRIES_MAX {
            failures.clear();
        }
        let count = failures.entry((user.to_owned(), host.to_owned())).or_default();
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_grows_after_free_failures_and_ends_with_a_success() {
        let failures = Failures::default();
        for _ in 0..FAILURES_FREE {
            assert_eq!(failures.delay("ann", "h"), Duration::ZERO);
            failures.record("ann", "h", false);
        }
        assert_eq!(failures.delay("ann", "h"), DELAY_FIRST);
        failures.record("ann", "h", false);
        assert_eq!(failures.delay("ann", "h"), 2 * DELAY_FIRST);
        assert_eq!(failures.delay("bob", "h"), Duration::ZERO);
        for _ in 0..100 {
            failures.record("ann", "h", false);
        }
        assert_eq!(failures.delay("ann", "h"), DELAY_MAX);
        failures.record("ann", "h", true);
        assert_eq!(failures.delay("ann", "h"), Duration::ZERO);
    }
}
