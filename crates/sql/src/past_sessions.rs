//! What sessions that have ended had counted, by whom they belonged to: performance_schema's accounts, users and hosts, and the status
//! and the statements of each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::counters::{COUNTER_NAMES, Counters};
use crate::statement_events::SumsByKind;

/// `performance_schema_accounts_size`: so many are told apart; what comes from others is counted together.
const ACCOUNTS_MAX: usize = 1000;

/// Whom a session belongs to: its user and its host, as the client gave them; `None`: more than are told apart.
pub(crate) type Owner = Option<(String, String)>;

/// Sums over sessions.
#[derive(Clone, Debug)]
pub(crate) struct SessionSums {
    /// In the order of `Counter`.
    pub counters: Vec<u64>,
    pub statements: SumsByKind,
    /// That there are now.
    pub connections: u64,
    /// That there have been, those of now included.
    pub connections_total: u64,
}

impl Default for SessionSums {
    fn default() -> SessionSums {
        SessionSums {
            counters: vec![0; COUNTER_NAMES.len()],
            statements: SumsByKind::default(),
            connections: 0,
            connections_total: 0,
        }
    }
}

impl SessionSums {
    pub fn add_counters(&mut self, counters: &Counters) {
        for (sum, value) in self.counters.iter_mut().zip(counters.values()) {
            *sum += value;
        }
    }

    pub fn add(&mut self, other: &SessionSums) {
        for (sum, value) in self.counters.iter_mut().zip(&other.counters) {
            *sum += value;
        }
        self.statements.add(&other.statements);
        self.connections += other.connections;
        self.connections_total += other.connections_total;
    }
}

/// By owner.
#[derive(Debug, Default)]
pub(crate) struct PastSessions(Mutex<HashMap<Owner, SessionSums>>);

impl PastSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, SessionSums>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session has ended.
    pub fn add(&self, user: &str, host: &str, counters: &Counters, statements: &SumsByKind) {
        let mut owners = self.lock();
        let owner = Some((user.to_owned(), host.to_owned()));
        let is_known = owners.len() < ACCOUNTS_MAX || owners.contains_key(&owner);
        let sums = owners.entry(owner.filter(|_| is_known)).or_default();
        sums.add_counters(counters);
        sums.statements.add(statements);
        sums.connections_total += 1;
    }

    pub fn sums(&self) -> HashMap<Owner, SessionSums> {
        self.lock().clone()
    }

    /// TRUNCATE TABLE accounts, users or hosts: who has no sessions any more is forgotten.
    pub fn forget_owners(&self) {
        let mut owners = self.lock();
        let mut all = SessionSums::default();
        owners.drain().for_each(|(_, sums)| all.add(&sums));
        // What they had counted goes on counting in the sums of all.
        all.connections_total = 0;
        owners.insert(None, all);
    }

    /// TRUNCATE TABLE status_by_account and its like.
    pub fn forget_status(&self) {
        for sums in self.lock().values_mut() {
            sums.counters.fill(0);
        }
    }

    /// TRUNCATE TABLE of summaries of statements.
    pub fn forget_statements(&self) {
        for sums in self.lock().values_mut() {
            sums.statements.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_beyond_the_bound_are_counted_together() {
        let past = PastSessions::default();
        let (counters, statements) = (Counters::default(), SumsByKind::default());
        for number in 0..ACCOUNTS_MAX + 50 {
            past.add("ann", &format!("host{number}"), &counters, &statements);
        }
        past.add("ann", "host7", &counters, &statements);
        let sums = past.sums();
        assert!(sums.len() <= ACCOUNTS_MAX + 1);
        assert_eq!(sums[&None].connections_total, 50);
        assert_eq!(sums[&Some(("ann".to_owned(), "host7".to_owned()))].connections_total, 2);
    }
}
