//! Accounts: who may log in, and what they may do.
//!
//! Accounts and their privileges are part of the dictionary, so every node knows them and a change is seen by running
//! sessions at their next statement. Privileges exist for everything, for databases (by pattern), for tables and for
//! columns. Roles are accounts that others have been given (`role`); what they add is found in `access`.

pub mod access;
pub mod bootstrap;
mod check;
mod columns;
pub mod compared;
mod component;
pub mod expiry;
mod grant;
mod key;
pub mod limits;
pub mod mandatory;
pub mod mandatory_list;
mod matching;
mod messages;
mod password;
pub mod password_policy;
mod privilege;
pub mod proxied;
pub mod proxy;
pub mod random_password;
pub mod role;
pub mod routines;
#[cfg(test)]
mod tests;
mod user;

pub use check::{
    Asking, OperatorRights, RequestAccess, check_admin, check_alter_routine, check_database, check_execute,
    check_kill, check_plan, global_of, has_global, is_exempt_from_read_only, may_see_table, of_account, on_column,
    on_routine, on_table, operator_rights, require, require_global,
};
pub use grant::grants_text;
pub use key::{AccountKey, quoted};
pub use matching::{find, matching};
pub use privilege::{Level, Privileges};

use shoal_cluster::{Catalog, Change};
use shoal_parser::ast::{AccountName, Grantable, Statement};
use shoal_types::{Error, ErrorCode, Result, Value};

use self::compared::Compared;
use crate::ddl::publish;
use crate::session::Session;

/// CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, GRANT, REVOKE, CREATE and DROP ROLE, SET DEFAULT ROLE, and INSTALL and UNINSTALL
/// COMPONENT of the one that concerns passwords. Nobody else changes an
/// account between what is read of it here and what is written. Returns the rows that the statement shows: passwords that were chosen for it.
pub async fn run(session: &mut Session, statement: &Statement) -> Result<Vec<Vec<Value>>> {
    match random_password::chosen(session, statement)? {
        None => run_as_written(session, statement).await.map(|_| Vec::new()),
        Some((statement, passwords)) => {
            let changed = run_as_written(session, &statement).await?;
            Ok(random_password::rows(&passwords, &changed))
        }
    }
}

/// Returns the accounts that were changed.
async fn run_as_written(session: &mut Session, statement: &Statement) -> Result<Vec<AccountKey>> {
    let node = std::sync::Arc::clone(&session.server.node);
    session.compared_passwords = password::compare_ahead(session, statement).await;
    let changed = publish::change(&node, |catalog| {
        let changes = changes(session, catalog, statement)?;
        let accounts = changes.iter().filter_map(changed_account).collect();
        Ok((changes, accounts))
    });
    let changed: Result<Vec<AccountKey>> = changed.await;
    session.compared_passwords = Compared::default();
    let changed = changed?;
    if let Statement::AlterUser(definition) = statement
        && !definition.limits.is_empty()
    {
        for user in &definition.users {
            session.server.account_use.begin_hour(Some(&account_key(session, &user.account)?));
        }
    }
    if session.must_change_password {
        let user = node.catalog().users.get(&session.state.access.account).cloned();
        session.must_change_password = user.is_some_and(|user| expiry::has_expired(&session.server, &user));
    }
    Ok(changed)
}

fn changed_account(change: &Change) -> Option<AccountKey> {
    match change {
        Change::PutUser(user) => Some((user.user.clone(), user.host.clone())),
        _ => None,
    }
}

fn changes(session: &mut Session, catalog: &Catalog, statement: &Statement) -> Result<Vec<Change>> {
    match statement {
        Statement::CreateUser(definition) => user::create(session, catalog, definition),
        Statement::AlterUser(definition) => user::alter(session, catalog, definition),
        Statement::DropUser(accounts) => user::drop(session, catalog, accounts),
        Statement::RenameUsers(pairs) => user::rename(session, catalog, pairs),
        Statement::SetPassword(set) => user::set_password(session, catalog, set),
        Statement::CreateRole { if_not_exists, roles } => role::create(session, catalog, *if_not_exists, roles),
        Statement::DropRole(roles) => role::drop(session, catalog, roles),
        Statement::SetDefaultRole { roles, to } => role::set_default(session, catalog, roles, to),
        Statement::InstallComponents { urns, set } => match set.is_empty() {
            true => component::install(session, catalog, urns, true),
            false => Err(Error::unsupported("INSTALL COMPONENT ... SET")),
        },
        Statement::UninstallComponents(urns) => component::install(session, catalog, urns, false),
        Statement::Grant(grant) => match &grant.what {
            Grantable::Roles(roles) => role::grant(session, catalog, grant, roles),
            Grantable::Proxy(proxied) => proxy::grant(session, catalog, grant, proxied),
            _ => grant::grant(session, catalog, grant),
        },
        Statement::Revoke(revoke) => match &revoke.what {
            Grantable::Roles(roles) => role::revoke(session, catalog, revoke, roles),
            Grantable::Proxy(proxied) => proxy::revoke(session, catalog, revoke, proxied),
            _ => grant::revoke(session, catalog, revoke),
        },
        _ => Err(Error::unsupported("this statement about accounts")),
    }
}

/// An account's user and host as statements name them: without a host it is `%`, hosts are in lower case.
pub fn account_key(session: &Session, name: &AccountName) -> Result<AccountKey> {
    let AccountName::Named { user, host } = name else { return Ok(session.state.access.account.clone()) };
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
