//! `mandatory_roles`: roles that all accounts have.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use shoal_parser::ast::AccountName;
use shoal_types::{Error, ErrorCode, Result};

use super::{AccountKey, Privileges, global_of, quoted, require_global};
use crate::server::Server;
use crate::session::Session;
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

/// SET GLOBAL mandatory_roles. Errors: 1227, 1231, 3880.
pub fn check(session: &Session, text: &str) -> Result<()> {
    require_global(session, Privileges::ROLE_ADMIN.with(Privileges::SUPER))?;
    let definition = crate::variables::registry::require("mandatory_roles")?;
    let roles = parse(text).ok_or_else(|| definition.wrong_value(text))?;
    let catalog = session.server.node.catalog();
    for role in &roles {
        if global_of(&catalog, role).intersects(Privileges::SYSTEM_USER) {
            let message =
                format!("Cannot set mandatory_roles: AuthId {} has 'SYSTEM_USER' privilege.", quoted(role));
            return Err(Error::new(ErrorCode::SystemUserInMandatoryRoles, message));
        }
    }
    Ok(())
}

/// GRANT SYSTEM_USER to a mandatory role. Errors: 3897.
pub fn check_system_user(server: &Server, key: &AccountKey, bits: Privileges) -> Result<()> {
    if bits.intersects(Privileges::SYSTEM_USER) && server.mandatory_roles.list().contains(key) {
        let message =
            format!("AuthId {} is set as mandatory_roles. Cannot grant the 'SYSTEM_USER' privilege.", quoted(key));
        return Err(Error::new(ErrorCode::CannotGrantSystemPrivToMandatoryRole, message));
    }
    Ok(())
}

pub fn check_not_mandatory(server: &Server, key: &AccountKey) -> Result<()> {
    if !server.mandatory_roles.list().contains(key) {
        return Ok(());
    }
    let message = format!(
        "The role {} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role \
         identifier from the global variable mandatory_roles.",
        quoted(key)
    );
    Err(Error::new(ErrorCode::MandatoryRole, message))
}

#[cfg(test)]
mod tests {
    use super::super::access::tests::key;
    use super::*;

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
