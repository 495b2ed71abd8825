//! The value of `mandatory_roles`, as text and as the server keeps it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use shoal_parser::ast::AccountName;

use super::key::AccountKey;
use crate::variables::Globals;

/// The roles of `mandatory_roles`, which all accounts have.
#[derive(Debug, Default)]
pub struct MandatoryRoles {
    version: AtomicU64,
    roles: RwLock<Arc<Vec<AccountKey>>>,
}

impl MandatoryRoles {
    /// As the server was started. A value that is no list of accounts is none.
    pub fn of(globals: &Globals) -> MandatoryRoles {
        let roles = MandatoryRoles::default();
        roles.set(parse(&globals.named_text("mandatory_roles")).unwrap_or_default());
        roles
    }

    /// Rises with every change.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn list(&self) -> Arc<Vec<AccountKey>> {
        Arc::clone(&self.roles.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set(&self, mut roles: Vec<AccountKey>) {
        roles.sort();
        roles.dedup();
        *self.roles.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roles);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// The value of `mandatory_roles`. `None`: it is no list of accounts.
pub fn parse(text: &str) -> Option<Vec<AccountKey>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let statement = format!("DROP ROLE {text}");
    let parsed = shoal_parser::parse_first(statement.as_bytes(), 0, shoal_parser::ParserMode::NONE).ok()?;
    let shoal_parser::ast::Statement::DropRole(roles) = parsed.statement else { return None };
    if parsed.next.is_some() || roles.if_exists {
        return None;
    }
    let key = |name: AccountName| match name {
        AccountName::Named { user, host } if !user.is_empty() => {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Some((text(user), host.map_or_else(|| "%".to_owned(), text).to_lowercase()))
        }
        _ => None,
    };
    roles.accounts.into_iter().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::key;

    #[test]
    fn mandatory_roles_are_a_list_of_accounts() {
        assert_eq!(parse(" ").unwrap(), []);
        let expected = [key("r1"), ("r 2".to_owned(), "h.org".to_owned())];
        assert_eq!(parse("r1, `r 2`@'H.org'").unwrap(), expected);
        for wrong in ["r1,", "''", "a b", "r; DROP USER x", "IF EXISTS r", "CURRENT_USER"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
