//! `mandatory_roles`, roles that all accounts have: which ones may be, and what may not be done with them.

use shoal_types::{Error, ErrorCode, Result};

use super::mandatory_list::parse;
use super::{AccountKey, Privileges, global_of, quoted, require_global};
use crate::server::Server;
use crate::session::Session;

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
