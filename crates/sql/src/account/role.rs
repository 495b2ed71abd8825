//! CREATE and DROP ROLE, GRANT and REVOKE of roles, default roles, SET ROLE.

use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_cluster::{Catalog, Change, GrantedRole, PasswordRules, User};
use shoal_parser::ast::{AccountName, DropAccounts, Grant, Revoke, RoleSelection};
use shoal_types::password::DEFAULT_PLUGIN;
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use super::access::{closure, is_granted};
use super::check::require_global_named;
use super::mandatory::check_not_mandatory;
use super::messages::{failed, note_missing, note_present, warn_missing};
use super::{AccountKey, Privileges, account_key, quoted, require_global};
use crate::session::Session;

/// Accounts as a statement changes them, one step after the other.
pub struct Accounts<'c> {
    catalog: &'c Catalog,
    /// `None`: dropped.
    changed: BTreeMap<AccountKey, Option<User>>,
}

impl<'c> Accounts<'c> {
    pub fn of(catalog: &'c Catalog) -> Accounts<'c> {
        Accounts { catalog, changed: BTreeMap::new() }
    }

    pub fn get(&self, key: &AccountKey) -> Option<&User> {
        match self.changed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.catalog.users.get(key).map(|user| &**user),
        }
    }

    fn get_mut(&mut self, key: &AccountKey) -> Option<&mut User> {
        if !self.changed.contains_key(key) {
            let user = User::clone(self.catalog.users.get(key)?);
            self.changed.insert(key.clone(), Some(user));
        }
        self.changed.get_mut(key)?.as_mut()
    }

    /// Drops the account, and takes it from all that had it as a role.
    pub fn drop(&mut self, key: &AccountKey) {
        let has = |user: &User| user.roles.iter().any(|granted| granted.role == *key);
        let all = self.catalog.users.iter().filter(|(_, user)| has(user)).map(|(holder, _)| holder.clone());
        for holder in all.collect::<Vec<_>>() {
            if let Some(user) = self.get_mut(&holder) {
                user.roles.retain(|granted| granted.role != *key);
            }
        }
        let all = self.catalog.users.iter().filter(|(_, user)| user.default_roles.contains(key));
        for holder in all.map(|(holder, _)| holder.clone()).collect::<Vec<_>>() {
            if let Some(user) = self.get_mut(&holder) {
                user.default_roles.retain(|role| role != key);
            }
        }
        self.changed.insert(key.clone(), None);
    }

    pub fn changes(self) -> Vec<Change> {
        let change = |(key, user): (AccountKey, Option<User>)| match user {
            Some(user) => Change::PutUser(user),
            None => Change::DropUser { user: key.0, host: key.1 },
        };
        self.changed.into_iter().map(change).collect()
    }
}

/// Roles are accounts that nobody can log in with.
pub fn create(
    session: &mut Session,
    catalog: &Catalog,
    if_not_exists: bool,
    roles: &[AccountName],
) -> Result<Vec<Change>> {
    require_global(session, Privileges::CREATE_USER.with(Privileges::CREATE_ROLE))?;
    let mut changes: Vec<Change> = Vec::new();
    let (mut named, mut present, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for name in roles {
        let key = account_key(session, name)?;
        if key.0.is_empty() {
            wrong.push(key);
        } else if catalog.users.contains_key(&key) || named.contains(&key) {
            present.push(key);
        } else {
            changes.push(Change::PutUser(User {
                user: key.0.clone(),
                host: key.1.clone(),
                plugin: DEFAULT_PLUGIN.to_owned(),
                locked: true,
                password: PasswordRules {
                    is_expired: true,
                    changed_s: super::expiry::now_s(&session.server),
                    ..PasswordRules::default()
                },
                ..User::default()
            }));
            named.push(key);
        }
    }
    if !if_not_exists {
        wrong.append(&mut present);
    }
    if !wrong.is_empty() {
        return Err(failed("CREATE ROLE", &wrong));
    }
    note_present(session, present);
    Ok(changes)
}

pub fn drop(session: &mut Session, catalog: &Catalog, roles: &DropAccounts) -> Result<Vec<Change>> {
    require_global(session, Privileges::CREATE_USER.with(Privileges::DROP_ROLE))?;
    drop_accounts(session, catalog, roles, "DROP ROLE")
}

/// DROP ROLE and DROP USER. Errors: 1396, 3628.
pub fn drop_accounts(
    session: &mut Session,
    catalog: &Catalog,
    named: &DropAccounts,
    operation: &str,
) -> Result<Vec<Change>> {
    let mut accounts = Accounts::of(catalog);
    let mut missing = Vec::new();
    for name in &named.accounts {
        let key = account_key(session, name)?;
        check_not_mandatory(&session.server, &key)?;
        match accounts.get(&key).is_some() {
            true => accounts.drop(&key),
            false => missing.push(key),
        }
    }
    if !missing.is_empty() && !named.if_exists {
        return Err(failed(operation, &missing));
    }
    note_missing(session, missing);
    Ok(accounts.changes())
}

/// RENAME USER: an account that others have as a role keeps its name. Errors: 3532.
pub fn check_renamed(session: &Session, catalog: &Catalog, key: &AccountKey) -> Result<()> {
    let has = |user: &Arc<User>| user.roles.iter().any(|granted| granted.role == *key);
    if session.server.mandatory_roles.list().contains(key) || catalog.users.values().any(has) {
        return Err(Error::new(ErrorCode::RenameRole, "Renaming of a role identifier is forbidden"));
    }
    Ok(())
}

pub fn grant(
    session: &mut Session,
    catalog: &Catalog,
    statement: &Grant,
    roles: &[AccountName],
) -> Result<Vec<Change>> {
    if statement.as_user.is_some() {
        return Err(crate::ddl::errors::syntax("AS"));
    }
    let roles = keys(session, roles)?;
    check_administers(session, catalog, &roles)?;
    let mut accounts = Accounts::of(catalog);
    for name in &statement.to {
        let to = account_key(session, name)?;
        if to.0.is_empty() {
            let message = "Cannot grant roles to an anonymous user.";
            return Err(Error::new(ErrorCode::CannotGrantRolesToAnonymousUser, message));
        }
        if accounts.get(&to).is_none() {
            return Err(unknown(&to));
        }
        for role in &roles {
            if role.0.is_empty() {
                let message = format!("Failed to grant {}` to {}", quoted(role), quoted(&to));
                return Err(Error::new(ErrorCode::FailedRoleGrant, message));
            }
            give(&mut accounts, role, &to, statement.with_grant_option)?;
        }
    }
    Ok(accounts.changes())
}

/// Gives one role to an account. Errors: 3523, 4027.
fn give(accounts: &mut Accounts<'_>, role: &AccountKey, to: &AccountKey, with_admin: bool) -> Result<()> {
    if accounts.get(role).is_none() {
        return Err(unknown(role));
    }
    if leads_to(accounts, role, to) {
        let (user, role) = (quoted(role), quoted(to));
        let message = format!(
            "User account {user} is directly or indirectly granted to the role {role}. The GRANT would create a loop"
        );
        return Err(Error::new(ErrorCode::RoleGrantedToItself, message));
    }
    let Some(user) = accounts.get_mut(to) else { return Err(unknown(to)) };
    match user.roles.binary_search_by(|granted| granted.role.cmp(role)) {
        Ok(position) => user.roles[position].with_admin |= with_admin,
        Err(position) => user.roles.insert(position, GrantedRole { role: role.clone(), with_admin }),
    }
    Ok(())
}

/// Whether `target` is this role, or one that it has by others.
fn leads_to(accounts: &Accounts<'_>, role: &AccountKey, target: &AccountKey) -> bool {
    let mut seen = vec![role.clone()];
    let mut at = 0;
    while at < seen.len() {
        if seen[at] == *target {
            return true;
        }
        let roles = accounts.get(&seen[at]).map(|user| user.roles.as_slice()).unwrap_or_default();
        let fresh: Vec<AccountKey> =
            roles.iter().map(|granted| granted.role.clone()).filter(|role| !seen.contains(role)).collect();
        seen.extend(fresh);
        at += 1;
    }
    false
}

pub fn revoke(
    session: &mut Session,
    catalog: &Catalog,
    statement: &Revoke,
    roles: &[AccountName],
) -> Result<Vec<Change>> {
    let roles = keys(session, roles)?;
    check_administers(session, catalog, &roles)?;
    let mut accounts = Accounts::of(catalog);
    for role in &roles {
        check_not_mandatory(&session.server, role)?;
    }
    for name in &statement.from {
        let from = account_key(session, name)?;
        if accounts.get(&from).is_none() {
            if !statement.ignore_unknown_user {
                return Err(unknown(&from));
            }
            warn_missing(session, &from);
            continue;
        }
        for role in &roles {
            let error = match accounts.get(role) {
                None => unknown(role),
                Some(_) => match take(&mut accounts, role, &from) {
                    true => continue,
                    false => not_granted(role, &from),
                },
            };
            if !statement.if_exists {
                return Err(error);
            }
            let code = ErrorCode::from_errno(error.errno()).unwrap_or(ErrorCode::UnknownAuthid);
            session.warn(WarningLevel::Warning, code, error.message());
        }
    }
    Ok(accounts.changes())
}

/// `false`: the account does not have the role.
fn take(accounts: &mut Accounts<'_>, role: &AccountKey, from: &AccountKey) -> bool {
    let Some(user) = accounts.get(from) else { return false };
    if !user.roles.iter().any(|granted| granted.role == *role) {
        return false;
    }
    if let Some(user) = accounts.get_mut(from) {
        user.roles.retain(|granted| granted.role != *role);
        user.default_roles.retain(|default| default != role);
    }
    true
}

/// ROLE_ADMIN, or to have been given all of these roles WITH ADMIN OPTION. Errors: 1227.
fn check_administers(session: &Session, catalog: &Catalog, roles: &[AccountKey]) -> Result<()> {
    let own = catalog.users.get(&session.state.access.account);
    let active = closure(catalog, &session.state.access.active(catalog));
    let holders = || own.into_iter().chain(active.iter().filter_map(|role| catalog.users.get(role)));
    let administers = |role: &AccountKey| {
        holders().any(|user| user.roles.iter().any(|granted| granted.role == *role && granted.with_admin))
    };
    if roles.iter().all(administers) {
        return Ok(());
    }
    require_global_named(session, Privileges::ROLE_ADMIN.with(Privileges::SUPER), "WITH ADMIN, ROLE_ADMIN, SUPER")
}

/// SET DEFAULT ROLE.
pub fn set_default(
    session: &mut Session,
    catalog: &Catalog,
    selection: &RoleSelection,
    to: &[AccountName],
) -> Result<Vec<Change>> {
    let mut accounts = Accounts::of(catalog);
    for name in to {
        let key = account_key(session, name)?;
        if key != session.state.access.account {
            require_global(session, Privileges::CREATE_USER)?;
        }
        let Some(user) = accounts.get(&key) else { return Err(unknown(&key)) };
        let chosen = default_roles(session, user, selection)?;
        if let Some(user) = accounts.get_mut(&key) {
            user.default_roles = chosen;
        }
    }
    Ok(accounts.changes())
}

/// The default roles that a statement gives an account. Errors: 3530, it has not been given one of them.
pub fn default_roles(session: &Session, user: &User, selection: &RoleSelection) -> Result<Vec<AccountKey>> {
    let mandatory = session.server.mandatory_roles.list();
    let mut chosen: Vec<AccountKey> = match selection {
        RoleSelection::None => Vec::new(),
        RoleSelection::All => {
            user.roles.iter().map(|granted| granted.role.clone()).chain(mandatory.iter().cloned()).collect()
        }
        RoleSelection::Roles(names) => keys(session, names)?,
        RoleSelection::AllExcept(_) => return Err(crate::ddl::errors::syntax("EXCEPT")),
        RoleSelection::Default => return Err(crate::ddl::errors::syntax("DEFAULT")),
    };
    if let Some(role) = chosen.iter().find(|role| !is_granted(user, role, &mandatory)) {
        return Err(not_granted(role, &(user.user.clone(), user.host.clone())));
    }
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

/// DEFAULT ROLE of CREATE USER: the account is given the roles as well. Errors: 3523.
pub fn give_defaults(
    session: &Session,
    catalog: &Catalog,
    user: &mut User,
    selection: &RoleSelection,
) -> Result<()> {
    if let RoleSelection::Roles(names) = selection {
        let key = (user.user.clone(), user.host.clone());
        let mut accounts = Accounts::of(catalog);
        accounts.changed.insert(key.clone(), Some(user.clone()));
        for role in keys(session, names)? {
            give(&mut accounts, &role, &key, false)?;
        }
        if let Some(given) = accounts.get(&key) {
            user.roles.clone_from(&given.roles);
        }
    }
    user.default_roles = default_roles(session, user, selection)?;
    Ok(())
}

/// SET ROLE. Errors: 3530.
pub fn set(session: &mut Session, selection: &RoleSelection) -> Result<()> {
    let catalog = session.server.node.catalog();
    let access = std::rc::Rc::clone(&session.state.access);
    let granted = access.granted(&catalog);
    let roles = match selection {
        RoleSelection::None => Vec::new(),
        RoleSelection::All => granted,
        RoleSelection::AllExcept(names) => {
            let but = keys(session, names)?;
            granted.into_iter().filter(|role| !but.contains(role)).collect()
        }
        RoleSelection::Default => {
            catalog.users.get(&access.account).map(|user| access.default_roles(user)).unwrap_or_default()
        }
        RoleSelection::Roles(names) => {
            let roles = keys(session, names)?;
            if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
                return Err(not_granted(role, &access.account));
            }
            roles
        }
    };
    access.activate(roles);
    Ok(())
}

/// The roles of SHOW GRANTS ... USING. Errors: 3530.
pub fn used(session: &Session, user: &User, names: &[AccountName]) -> Result<Vec<AccountKey>> {
    let roles = keys(session, names)?;
    let mandatory = session.server.mandatory_roles.list();
    match roles.iter().find(|role| !is_granted(user, role, &mandatory)) {
        Some(role) => Err(not_granted(role, &(user.user.clone(), user.host.clone()))),
        None => Ok(roles),
    }
}

/// What SHOW GRANTS says of an account's roles.
pub fn grants_text(user: &User, mandatory: &[AccountKey]) -> Vec<String> {
    let to = quoted(&(user.user.clone(), user.host.clone()));
    let mut plain: Vec<&AccountKey> =
        user.roles.iter().filter(|granted| !granted.with_admin).map(|granted| &granted.role).collect();
    plain.extend(mandatory.iter().filter(|role| !user.roles.iter().any(|granted| granted.role == **role)));
    plain.sort();
    let admin = user.roles.iter().filter(|granted| granted.with_admin).map(|granted| &granted.role).collect();
    [(plain, ""), (admin, " WITH ADMIN OPTION")]
        .into_iter()
        .filter(|(roles, _): &(Vec<&AccountKey>, _)| !roles.is_empty())
        .map(|(roles, option)| {
            let names: Vec<String> = roles.into_iter().map(quoted).collect();
            format!("GRANT {} TO {to}{option}", names.join(","))
        })
        .collect()
}

fn keys(session: &Session, names: &[AccountName]) -> Result<Vec<AccountKey>> {
    names.iter().map(|name| account_key(session, name)).collect()
}

fn unknown(key: &AccountKey) -> Error {
    Error::new(ErrorCode::UnknownAuthid, format!("Unknown authorization ID {}", quoted(key)))
}

fn not_granted(role: &AccountKey, to: &AccountKey) -> Error {
    Error::new(ErrorCode::RoleNotGranted, format!("{} is not granted to {}", quoted(role), quoted(to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::{catalog, key};

    #[test]
    fn no_role_leads_to_itself() {
        let catalog = catalog(&[("a", 0, &["b"]), ("b", 0, &["c"]), ("c", 0, &[]), ("d", 0, &[])]);
        let mut accounts = Accounts::of(&catalog);
        let error = give(&mut accounts, &key("a"), &key("c"), false).unwrap_err();
        assert_eq!(
            (error.errno(), error.message()),
            (
                4027,
                "User account `a`@`%` is directly or indirectly granted to the role `c`@`%`. The GRANT would create a loop"
            )
        );
        assert_eq!(give(&mut accounts, &key("a"), &key("a"), false).unwrap_err().errno(), 4027);
        assert_eq!(give(&mut accounts, &key("x"), &key("a"), false).unwrap_err().errno(), 3523);
        give(&mut accounts, &key("d"), &key("c"), false).unwrap();
        // What the same statement has given counts.
        assert_eq!(give(&mut accounts, &key("a"), &key("d"), false).unwrap_err().errno(), 4027);
    }

    #[test]
    fn a_dropped_role_is_taken_from_all_that_had_it() {
        let catalog = catalog(&[("a", 0, &["r", "s"]), ("r", 0, &[]), ("s", 0, &["r"]), ("t", 0, &[])]);
        let mut accounts = Accounts::of(&catalog);
        accounts.drop(&key("r"));
        assert_eq!(accounts.get(&key("r")), None);
        let roles = |name: &str| accounts.get(&key(name)).unwrap().roles.len();
        assert_eq!((roles("a"), roles("s")), (1, 0));
        let changes = accounts.changes();
        let dropped = changes.iter().filter(|change| matches!(change, Change::DropUser { .. })).count();
        assert_eq!((changes.len(), dropped), (3, 1));
    }

    #[test]
    fn roles_are_shown_as_the_statements_that_give_them() {
        let catalog = catalog(&[("a", 0, &["r", "s"])]);
        let mut user = User::clone(&catalog.users[&key("a")]);
        assert_eq!(grants_text(&user, &[]), ["GRANT `r`@`%`,`s`@`%` TO `a`@`%`"]);
        user.roles[0].with_admin = true;
        assert_eq!(
            grants_text(&user, &[key("m"), key("r")]),
            ["GRANT `m`@`%`,`s`@`%` TO `a`@`%`", "GRANT `r`@`%` TO `a`@`%` WITH ADMIN OPTION"]
        );
    }
}
