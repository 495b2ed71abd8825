//! What the server wants from the process around it: who may do what, and the settings that sessions have.

use std::sync::Arc;

use shoal_cluster::{Node, Table};
use shoal_types::{Result, TimeZone, Value};

/// What an account may do with a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    pub select: bool,
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
}

/// An account of the dictionary, by user and host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    pub host: String,
}

impl Account {
    /// `user@host`; without a host it is `%`.
    pub fn parse(text: &str) -> Account {
        let (user, host) = text.rsplit_once('@').unwrap_or((text, "%"));
        let bare = |name: &str| name.trim_matches(['\'', '`', '"']).to_owned();
        Account { user: bare(user), host: bare(host).to_lowercase() }
    }
}

/// What a connection takes over from the server's settings when it begins.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// In which timestamps are shown and read.
    pub zone: TimeZone,
    /// The server's clock, microseconds since 1970 UTC.
    pub now_micros: fn() -> i64,
}

/// The process that the server belongs to.
pub trait Host: Send + Sync + 'static {
    fn node(&self) -> &Arc<Node>;
    /// By the dictionary as it is now. `by_secret`: the client has proven itself; if not, an account that has a password is
    /// not to be had.
    fn rights(&self, account: &Account, by_secret: bool, database: &str, table: &str) -> Rights;
    /// Writes of the account are refused for now. Asked before each of them, so it is to be quick.
    fn refuses_writes(&self, account: &Account) -> bool;
    fn surroundings(&self) -> Surroundings;
    /// The value of a column's DEFAULT (expression), which takes more than this server knows.
    fn expression_default(&self, table: &Arc<Table>, column: usize) -> Result<Value>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_written_as_in_statements() {
        let account = |user: &str, host: &str| Account { user: user.into(), host: host.into() };
        assert_eq!(Account::parse("root@localhost"), account("root", "localhost"));
        assert_eq!(Account::parse("'app'@'10.%'"), account("app", "10.%"));
        assert_eq!(Account::parse("app"), account("app", "%"));
    }
}
