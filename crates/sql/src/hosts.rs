//! Hosts whose connections break off before a client is let in, and those that are let in no more: `max_connect_errors`.
//!
//! As in MySQL, wrong passwords do not count, a client that is let in clears its host's count, and connections from this machine are
//! not looked at. Each node has its own.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use shoal_types::{Error, ErrorCode, Result};

use crate::frontend::LoginOutcome;

/// Hosts that are remembered; beyond that the one is forgotten that has been quiet for longest.
const HOSTS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Hosts(Mutex<HashMap<String, HostErrors>>);

/// Moments are microseconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct HostErrors {
    /// Connections that broke off, since a client was let in.
    pub broken_off: u64,
    /// All that broke off.
    pub handshake_errors: u64,
    pub authentication_errors: u64,
    /// Connections that were refused because of the others.
    pub blocked: u64,
    pub first_seen: i64,
    pub last_seen: i64,
    pub first_error: i64,
    pub last_error: i64,
}

impl Hosts {
    /// Before a client is greeted. Errors: 1129.
    pub fn check(&self, host: &str, errors_max: impl FnOnce() -> u64, now: i64) -> Result<()> {
        let mut hosts = self.lock();
        let Some(known) = hosts.get_mut(host) else { return Ok(()) };
        known.last_seen = now;
        if known.broken_off == 0 || known.broken_off < errors_max() {
            return Ok(());
        }
        known.blocked += 1;
        known.last_error = now;
        let message = format!(
            "Host '{host}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'"
        );
        Err(Error::new(ErrorCode::HostIsBlocked, message))
    }

    pub fn note(&self, host: &str, outcome: LoginOutcome, now: i64) {
        let mut hosts = self.lock();
        if outcome == LoginOutcome::LetIn {
            if let Some(known) = hosts.get_mut(host) {
                (known.broken_off, known.last_seen) = (0, now);
            }
            return;
        }
        if hosts.len() >= HOSTS_MAX && !hosts.contains_key(host) {
            let quiet = hosts.iter().min_by_key(|(_, known)| known.last_seen).map(|(host, _)| host.clone());
            quiet.and_then(|quiet| hosts.remove(&quiet));
        }
        let known = hosts.entry(host.to_owned()).or_insert_with(|| HostErrors {
            first_seen: now,
            first_error: now,
            ..HostErrors::default()
        });
        (known.last_seen, known.last_error) = (now, now);
        match outcome {
            LoginOutcome::BrokenOff => {
                known.broken_off += 1;
                known.handshake_errors += 1;
            }
            LoginOutcome::WrongPassword => known.authentication_errors += 1,
            LoginOutcome::LetIn => {}
        }
    }

    /// TRUNCATE TABLE performance_schema.host_cache.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// In the order of their names.
    pub fn list(&self) -> Vec<(String, HostErrors)> {
        let mut all: Vec<_> = self.lock().iter().map(|(host, known)| (host.clone(), known.clone())).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HostErrors>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_connections_break_off_is_blocked_until_it_is_cleared() {
        let hosts = Hosts::default();
        let errno = |host: &str| hosts.check(host, || 2, 5).err().map_or(0, |error| error.errno());
        for _ in 0..5 {
            hosts.note("10.0.0.1", LoginOutcome::WrongPassword, 1);
        }
        hosts.note("10.0.0.1", LoginOutcome::BrokenOff, 2);
        hosts.note("10.0.0.1", LoginOutcome::LetIn, 2);
        hosts.note("10.0.0.1", LoginOutcome::BrokenOff, 3);
        assert_eq!(errno("10.0.0.1"), 0, "one who was let in has cleared the first");
        hosts.note("10.0.0.1", LoginOutcome::BrokenOff, 4);
        assert_eq!([errno("10.0.0.1"), errno("10.0.0.2")], [1129, 0]);
        let (host, known) = hosts.list().remove(0);
        assert_eq!(
            (host.as_str(), known.broken_off, known.authentication_errors, known.blocked),
            ("10.0.0.1", 2, 5, 1)
        );
        assert_eq!((known.first_seen, known.last_seen, known.last_error), (1, 5, 5));
        hosts.clear();
        assert_eq!(errno("10.0.0.1"), 0);
    }

    #[test]
    fn hosts_without_number_take_no_memory_without_end() {
        let hosts = Hosts::default();
        for number in 0..HOSTS_MAX + 10 {
            hosts.note(&format!("h{number}"), LoginOutcome::BrokenOff, number as i64);
        }
        let list = hosts.list();
        assert_eq!(list.len(), HOSTS_MAX);
        assert!(!list.iter().any(|(host, _)| host == "h9") && list.iter().any(|(host, _)| host == "h10"));
    }
}
