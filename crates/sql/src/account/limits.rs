//! Limits of accounts at this node: connections at a time (MAX_USER_CONNECTIONS, `max_user_connections`), and connects, statements and
//! statements that change something in an hour.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use shoal_cluster::User;
use shoal_types::{Error, ErrorCode, Result};

use super::key::AccountKey;

const HOUR: Duration = Duration::from_secs(3600);

/// Accounts that have limits and connections.
#[derive(Debug, Default)]
pub struct AccountUse(Mutex<HashMap<AccountKey, Use>>);

#[derive(Debug)]
struct Use {
    connections: u32,
    /// The limits as of the newest connection.
    statements_max: u32,
    updates_max: u32,
    counts: Counts,
}

/// Of the hour that began at `since`.
#[derive(Clone, Copy, Debug)]
struct Counts {
    connects: u32,
    statements: u32,
    updates: u32,
    since: Instant,
}

impl Counts {
    fn from(since: Instant) -> Counts {
        Counts { connects: 0, statements: 0, updates: 0, since }
    }

    /// Those of the hour in which `now` is.
    fn of_hour(&mut self, now: Instant) -> &mut Counts {
        if now.saturating_duration_since(self.since) >= HOUR {
            *self = Counts::from(now);
        }
        self
    }
}

/// One connection of an account that has limits; given back when it is dropped.
#[derive(Debug)]
pub struct AccountSlot {
    accounts: Weak<AccountUse>,
    key: AccountKey,
}

impl AccountUse {
    /// Counts a connection. `max_user_connections`: the variable, for accounts without a limit of their own; 0 is none. `None`: the
    /// account has no limits.
    ///
    /// # Errors
    /// 1203 and 1226: there are too many.
    pub fn admit(self: &Arc<AccountUse>, user: &User, max_user_connections: u32) -> Result<Option<AccountSlot>> {
        let limits = [
            user.connections_max,
            user.connects_per_hour_max,
            user.statements_per_hour_max,
            user.updates_per_hour_max,
            max_user_connections,
        ];
        if limits == [0; 5] {
            return Ok(None);
        }
        let mut accounts = self.lock();
        let (now, key) = (Instant::now(), (user.user.clone(), user.host.clone()));
        let used = accounts.entry(key.clone()).or_insert(Use {
            connections: 0,
            statements_max: 0,
            updates_max: 0,
            counts: Counts::from(now),
        });
        if user.connections_max == 0 && max_user_connections > 0 && used.connections >= max_user_connections {
            let message =
                format!("User {} already has more than 'max_user_connections' active connections", user.user);
            return Err(Error::new(ErrorCode::TooManyUserConnections, message));
        }
        let counts = used.counts.of_hour(now);
        check(&user.user, user.connections_max, used.connections, "max_user_connections")?;
        check(&user.user, user.connects_per_hour_max, counts.connects, "max_connections_per_hour")?;
        counts.connects += 1;
        used.connections += 1;
        (used.statements_max, used.updates_max) = (user.statements_per_hour_max, user.updates_per_hour_max);
        Ok(Some(AccountSlot { accounts: Arc::downgrade(self), key }))
    }

    /// FLUSH USER_RESOURCES: the hour begins anew for all, or for one account whose limits were given anew.
    pub fn begin_hour(&self, of: Option<&AccountKey>) {
        let now = Instant::now();
        let mut accounts = self.lock();
        for (_, used) in accounts.iter_mut().filter(|(key, _)| of.is_none_or(|of| of == *key)) {
            used.counts = Counts::from(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountKey, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Errors: 1226.
fn check(user: &str, limit: u32, count: u32, name: &str) -> Result<()> {
    if limit == 0 || count < limit {
        return Ok(());
    }
    let message = format!("User '{user}' has exceeded the '{name}' resource (current value: {limit})");
    Err(Error::new(ErrorCode::UserLimitReached, message))
}

impl AccountSlot {
    /// Counts a statement of the account, of which all sessions here have so many an hour. Errors: 1226.
    pub fn count_statement(&self, changes_something: bool) -> Result<()> {
        let Some(accounts) = self.accounts.upgrade() else { return Ok(()) };
        let mut accounts = accounts.lock();
        let Some(used) = accounts.get_mut(&self.key) else { return Ok(()) };
        if (used.statements_max, used.updates_max) == (0, 0) {
            return Ok(());
        }
        let counts = used.counts.of_hour(Instant::now());
        check(&self.key.0, used.statements_max, counts.statements, "max_questions")?;
        counts.statements = counts.statements.saturating_add(1);
        if changes_something {
            check(&self.key.0, used.updates_max, counts.updates, "max_updates")?;
            counts.updates = counts.updates.saturating_add(1);
        }
        Ok(())
    }
}

impl Drop for AccountSlot {
    fn drop(&mut self) {
        let Some(accounts) = self.accounts.upgrade() else { return };
        let mut accounts = accounts.lock();
        if let Some(used) = accounts.get_mut(&self.key) {
            used.connections = used.connections.saturating_sub(1);
            if used.connections == 0 && used.counts.since.elapsed() >= HOUR {
                accounts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted_for_an_account_and_begin_anew_with_its_hour() {
        let accounts = Arc::new(AccountUse::default());
        let user = User {
            user: "ann".into(),
            host: "%".into(),
            statements_per_hour_max: 4,
            updates_per_hour_max: 1,
            ..User::default()
        };
        assert!(accounts.admit(&User::default(), 0).unwrap().is_none());
        let (one, other) =
            (accounts.admit(&user, 0).unwrap().unwrap(), accounts.admit(&user, 0).unwrap().unwrap());
        one.count_statement(true).unwrap();
        other.count_statement(false).unwrap();
        let error = other.count_statement(true).unwrap_err();
        assert!(error.message().contains("the 'max_updates' resource (current value: 1)"), "{error}");
        one.count_statement(false).unwrap();
        let error = one.count_statement(false).unwrap_err();
        assert!(error.message().contains("the 'max_questions' resource (current value: 4)"), "{error}");
        accounts.begin_hour(Some(&("bob".to_owned(), "%".to_owned())));
        assert_eq!(one.count_statement(false).unwrap_err().errno(), 1226);
        accounts.begin_hour(Some(&one.key));
        one.count_statement(true).unwrap();
        let mut counts = Counts::from(Instant::now());
        counts.statements = 7;
        assert_eq!(counts.of_hour(counts.since + HOUR / 2).statements, 7);
        assert_eq!(counts.of_hour(counts.since + HOUR).statements, 0);
    }
}
