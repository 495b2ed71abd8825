//! Accounts that wrong passwords have locked: FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME. Known to this process alone, as in MySQL: a
//! restart forgets it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use shoal_sql::frontend::{Account, Lockout};

const DAY: Duration = Duration::from_secs(86_400);

/// By an account's user and host. Only accounts that exist have a place here.
#[derive(Debug, Default)]
pub struct Lockouts(Mutex<HashMap<(String, String), Standing>>);

#[derive(Debug)]
struct Standing {
    failures: u32,
    locked_since: Option<Instant>,
    /// The account's rules as they were; others begin anew.
    lockout: Lockout,
}

/// An account is locked: for so many days in all, and so many from now. `None`: until somebody unlocks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locked {
    pub days: Option<(u32, u32)>,
    pub attempts: u32,
}

impl Lockouts {
    /// Counts a login that was right or wrong, at `now`. `Some`: the account is locked, whatever the password was.
    pub fn record(&self, account: &Account, succeeded: bool, now: Instant) -> Option<Locked> {
        let lockout = account.lockout;
        if !lockout.is_on() {
            return None;
        }
        let mut standings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (account.user.clone(), account.host.clone());
        let fresh = || Standing { failures: 0, locked_since: None, lockout };
        let standing = standings.entry(key.clone()).or_insert_with(fresh);
        let is_over = |since: Instant| lockout.days.is_some_and(|days| now - since >= DAY * days);
        if standing.lockout != lockout || standing.locked_since.is_some_and(is_over) {
            *standing = fresh();
        }
        if standing.locked_since.is_none() && !succeeded {
            standing.failures += 1;
            standing.locked_since = (standing.failures >= lockout.attempts).then_some(now);
        }
        let Some(since) = standing.locked_since else {
            if succeeded {
                standings.remove(&key);
            }
            return None;
        };
        let remaining =
            |days: u32| (DAY * days).saturating_sub(now - since).as_secs().div_ceil(DAY.as_secs()) as u32;
        Some(Locked { days: lockout.days.map(|days| (days, remaining(days))), attempts: lockout.attempts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::decoy;

    fn account(attempts: u32, days: Option<u32>, unlocks: u32) -> Account {
        Account { lockout: Lockout { attempts, days, unlocks }, ..decoy("ann", "%") }
    }

    #[test]
    fn wrong_passwords_in_a_row_lock_an_account_for_its_days() {
        let (lockouts, start) = (Lockouts::default(), Instant::now());
        let ann = account(2, Some(3), 0);
        assert_eq!(lockouts.record(&ann, false, start), None);
        assert_eq!(lockouts.record(&ann, true, start), None, "a right one begins the row anew");
        assert_eq!(lockouts.record(&ann, false, start), None);
        let locked = |remaining| Some(Locked { days: Some((3, remaining)), attempts: 2 });
        assert_eq!(lockouts.record(&ann, false, start), locked(3));
        assert_eq!(lockouts.record(&ann, true, start + DAY + DAY / 2), locked(2));
        assert_eq!(lockouts.record(&ann, true, start + 3 * DAY), None);
        assert_eq!(lockouts.record(&ann, false, start + 3 * DAY), None);
    }

    #[test]
    fn an_account_is_unlocked_by_a_statement_or_never() {
        let (lockouts, start) = (Lockouts::default(), Instant::now());
        assert!(lockouts.record(&account(1, None, 0), false, start).is_some_and(|locked| locked.days.is_none()));
        assert!(lockouts.record(&account(1, None, 0), true, start + 1000 * DAY).is_some());
        assert_eq!(lockouts.record(&account(1, None, 1), true, start), None);
        for (attempts, days) in [(0, None), (0, Some(3)), (1, Some(0))] {
            assert_eq!(lockouts.record(&account(attempts, days, 0), false, start), None);
        }
    }
}
