//! What statements say about accounts that there are already, or are not.

use shoal_types::{Error, ErrorCode, WarningLevel};

use super::key::{AccountKey, shown};
use crate::session::Session;

/// "Operation CREATE USER failed for 'a'@'%','b'@'%'".
pub fn failed(operation: &str, accounts: &[AccountKey]) -> Error {
    let names: Vec<String> = accounts.iter().map(shown).collect();
    Error::new(ErrorCode::CannotUser, format!("Operation {operation} failed for {}", names.join(",")))
}

pub fn no_such_grant((user, host): &AccountKey) -> Error {
    let message = format!("There is no such grant defined for user '{user}' on host '{host}'");
    Error::new(ErrorCode::NonexistingGrant, message)
}

pub fn note_present(session: &mut Session, present: Vec<AccountKey>) {
    for key in present {
        session.warn(
            WarningLevel::Note,
            ErrorCode::UserAlreadyExists,
            format!("Authorization ID {} already exists.", shown(&key)),
        );
    }
}

pub fn note_missing(session: &mut Session, missing: Vec<AccountKey>) {
    for key in missing {
        session.warn(
            WarningLevel::Note,
            ErrorCode::UserDoesNotExist,
            format!("Authorization ID {} does not exist.", shown(&key)),
        );
    }
}

/// REVOKE ... IGNORE UNKNOWN USER.
pub fn warn_missing(session: &mut Session, key: &AccountKey) {
    let message = format!("Authorization ID {} does not exist.", shown(key));
    session.warn(WarningLevel::Warning, ErrorCode::UserDoesNotExist, message);
}
