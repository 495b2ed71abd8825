//! Accounts: who may log in, and what they may do.
//!
//! Accounts and their privileges are part of the dictionary, so every node knows them and a change is seen by running
//! sessions at their next statement. Privileges exist for everything, for databases (by pattern) and for tables. Columns
//! have none of their own, and there are no roles.

pub mod bootstrap;
mod check;
mod grant;
pub mod limits;
mod matching;
mod privilege;
mod user;

pub use check::{
    check_admin, check_database, check_kill, check_plan, global_of, has_global, may_see_table, of_account,
    require, require_global,
};
pub use grant::grants_text;
pub use matching::{find, find_user, matching};
pub use privilege::{Level, Privileges};

use shoal_parser::ast::{AccountName, Statement};
use shoal_types::{Error, ErrorCode, Result};

use crate::session::Session;

/// CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT, REVOKE.
pub async fn run(session: &mut Session, statement: &Statement) -> Result<()> {
    let changes = match statement {
        Statement::CreateUser(definition) => user::create(session, definition)?,
        Statement::AlterUser(definition) => user::alter(session, definition)?,
        Statement::DropUser(accounts) => user::drop(session, accounts)?,
        Statement::RenameUsers(pairs) => user::rename(session, pairs)?,
        Statement::SetPassword(set) => user::set_password(session, set)?,
        Statement::Grant(grant) => grant::grant(session, grant)?,
        Statement::Revoke(revoke) => grant::revoke(session, revoke)?,
        _ => return Err(Error::unsupported("this statement about accounts")),
    };
    if changes.is_empty() {
        return Ok(());
    }
    let node = std::sync::Arc::clone(&session.server.node);
    node.change(changes).await
}

/// An account's user and host as statements name them: without a host it is `%`, hosts are in lower case.
fn account_key(session: &Session, name: &AccountName) -> Result<(String, String)> {
    let AccountName::Named { user, host } = name else { return Ok(session.state.account.clone()) };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let user = text(user);
    let host = host.as_deref().map_or_else(|| "%".to_owned(), text).to_lowercase();
    if user.chars().count() > USER_NAME_MAX {
        return Err(too_long(&user, "user name", USER_NAME_MAX));
    }
    if host.chars().count() > HOST_NAME_MAX {
        return Err(too_long(&host, "host name", HOST_NAME_MAX));
    }
    Ok((user, host))
}

const USER_NAME_MAX: usize = 32;
const HOST_NAME_MAX: usize = 255;

fn too_long(text: &str, what: &str, limit: usize) -> Error {
    let message = format!("String '{text}' is too long for {what} (should be no longer than {limit})");
    Error::new(ErrorCode::WrongStringLength, message)
}

/// `'user'@'host'` for messages.
fn shown((user, host): &(String, String)) -> String {
    format!("'{user}'@'{host}'")
}
