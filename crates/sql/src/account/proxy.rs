//! GRANT and REVOKE PROXY: which accounts' clients may be treated as another account. What becomes of their logins is in `proxied`.

use shoal_cluster::{Catalog, Change, ProxyGrant, User};
use shoal_parser::ast::{AccountName, Grant, Revoke};
use shoal_parser::quote_identifier;
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use super::messages::{no_such_grant, warn_missing};
use super::{AccountKey, Privileges, account_key, global_of};
use crate::ddl::errors;
use crate::session::Session;

/// Of whoever may let anybody be a proxy for anybody: the account without name and host stands for all.
fn everybody() -> AccountKey {
    (String::new(), String::new())
}

/// # Errors
/// 1410: there is no such proxy user. 1698: one may not.
pub fn grant(
    session: &mut Session,
    catalog: &Catalog,
    statement: &Grant,
    proxied: &AccountName,
) -> Result<Vec<Change>> {
    if statement.as_user.is_some() {
        return Err(errors::syntax("AS"));
    }
    let proxied = account_key(session, proxied)?;
    check_grantor(session, catalog, &proxied)?;
    let (grantor, host) = &session.state.access.account;
    let new = ProxyGrant {
        proxied,
        with_grant: statement.with_grant_option,
        grantor: format!("{grantor}@{host}"),
        granted_s: super::expiry::now_s(&session.server),
    };
    let mut changes = Vec::new();
    for name in &statement.to {
        let key = account_key(session, name)?;
        let Some(user) = catalog.users.get(&key) else {
            let text = "You are not allowed to create a user with GRANT";
            return Err(Error::new(ErrorCode::CantCreateUserWithGrant, text));
        };
        let mut user = User::clone(user);
        match user.proxies.iter_mut().find(|known| known.proxied == new.proxied) {
            Some(known) => {
                let with_grant = known.with_grant || new.with_grant;
                *known = ProxyGrant { with_grant, ..new.clone() };
            }
            None => user.proxies.push(new.clone()),
        }
        changes.push(Change::PutUser(user));
    }
    Ok(changes)
}

/// # Errors
/// 1141: there is no such grant. 1698: one may not.
pub fn revoke(
    session: &mut Session,
    catalog: &Catalog,
    statement: &Revoke,
    proxied: &AccountName,
) -> Result<Vec<Change>> {
    let proxied = account_key(session, proxied)?;
    check_grantor(session, catalog, &proxied)?;
    let mut changes = Vec::new();
    for name in &statement.from {
        let key = account_key(session, name)?;
        let known = catalog.users.get(&key);
        if known.is_none() && statement.ignore_unknown_user {
            warn_missing(session, &key);
            continue;
        }
        match known.filter(|user| user.proxies.iter().any(|known| known.proxied == proxied)) {
            Some(user) => {
                let mut user = User::clone(user);
                user.proxies.retain(|known| known.proxied != proxied);
                changes.push(Change::PutUser(user));
            }
            None => {
                let error = no_such_grant(&key);
                if !statement.if_exists {
                    return Err(error);
                }
                session.warn(WarningLevel::Warning, ErrorCode::NonexistingGrant, error.message());
            }
        }
    }
    Ok(changes)
}

/// Whoever was given the proxied account WITH GRANT OPTION lets others have it; so does the proxied account itself, if its client is of the host
/// that it names. Accounts that have all privileges may be older than this one.
fn check_grantor(session: &Session, catalog: &Catalog, proxied: &AccountKey) -> Result<()> {
    let account = &session.state.access.account;
    let own = catalog.users.get(account).map(|user| user.proxies.as_slice()).unwrap_or_default();
    let may_pass_on = |known: &ProxyGrant| known.with_grant && [proxied, &everybody()].contains(&&known.proxied);
    let is_itself = account == proxied && (&session.state.user, &session.state.host) == (&account.0, &account.1);
    let has_everything = || global_of(catalog, account).contains(Privileges::SUPER.with(Privileges::GRANT_OPTION));
    if own.iter().any(may_pass_on) || is_itself || has_everything() {
        return Ok(());
    }
    let message = format!("Access denied for user '{}'@'{}'", session.state.user, session.state.host);
    Err(Error::new(ErrorCode::AccessDeniedNoPassword, message))
}

/// What SHOW GRANTS says of it.
pub fn grants_text(user: &User) -> Vec<String> {
    let name = |(user, host): (&str, &str)| format!("{}@{}", quote_identifier(user), quote_identifier(host));
    let to = name((&user.user, &user.host));
    let line = |grant: &ProxyGrant| {
        let option = if grant.with_grant { " WITH GRANT OPTION" } else { "" };
        format!("GRANT PROXY ON {} TO {to}{option}", name((&grant.proxied.0, &grant.proxied.1)))
    };
    user.proxies.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_shown_as_the_statements_that_give_them() {
        let ann = ("ann".to_owned(), "localhost".to_owned());
        let one = ProxyGrant { proxied: ann, ..ProxyGrant::default() };
        let any = ProxyGrant { with_grant: true, ..ProxyGrant::default() };
        let proxies = vec![any, one];
        let user = User { user: "root".to_owned(), host: "localhost".to_owned(), proxies, ..User::default() };
        assert_eq!(
            grants_text(&user),
            [
                "GRANT PROXY ON ``@`` TO `root`@`localhost` WITH GRANT OPTION",
                "GRANT PROXY ON `ann`@`localhost` TO `root`@`localhost`",
            ]
        );
    }
}
