//! Limits of accounts at this node: connections at a time (MAX_USER_CONNECTIONS, `max_user_connections`) and connects in an hour.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use shoal_cluster::User;
use shoal_types::{Error, ErrorCode, Result};

use super::AccountKey;

const HOUR: Duration = Duration::from_secs(3600);

/// Accounts that have connections.
#[derive(Debug, Default)]
pub struct AccountUse(Mutex<HashMap<AccountKey, Use>>);

#[derive(Debug)]
struct Use {
    connections: u32,
    connects: u32,
    /// When the hour began in which connects are counted.
    since: Instant,
}

/// One connection of an account; given back when it is dropped.
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
        let limits = (user.connections_max, user.connects_per_hour_max, max_user_connections);
        if limits == (0, 0, 0) {
            return Ok(None);
        }
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, key) = (Instant::now(), (user.user.clone(), user.host.clone()));
        let used = accounts.entry(key.clone()).or_insert(Use { connections: 0, connects: 0, since: now });
        if now - used.since >= HOUR {
            (used.connects, used.since) = (0, now);
        }
        if user.connections_max == 0 && max_user_connections > 0 && used.connections >= max_user_connections {
            let message =
                format!("User {} already has more than 'max_user_connections' active connections", user.user);
            return Err(Error::new(ErrorCode::TooManyUserConnections, message));
        }
        for (limit, count, name) in [
            (user.connections_max, used.connections, "max_user_connections"),
            (user.connects_per_hour_max, used.connects, "max_connections_per_hour"),
        ] {
            if limit > 0 && count >= limit {
                let message =
                    format!("User '{}' has exceeded the '{name}' resource (current value: {limit})", user.user);
                return Err(Error::new(ErrorCode::UserLimitReached, message));
            }
        }
        used.connections += 1;
        used.connects += 1;
        Ok(Some(AccountSlot { accounts: Arc::downgrade(self), key }))
    }
}

impl Drop for AccountSlot {
    fn drop(&mut self) {
        let Some(accounts) = self.accounts.upgrade() else { return };
        let mut accounts = accounts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = accounts.get_mut(&self.key) {
            used.connections = used.connections.saturating_sub(1);
            if used.connections == 0 && used.since.elapsed() >= HOUR {
                accounts.remove(&self.key);
            }
        }
    }
}
