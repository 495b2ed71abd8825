//! GRANT and REVOKE, and the statements that SHOW GRANTS lists.

use shoal_cluster::{Catalog, Change, User};
use shoal_parser::ast::{
    AccountName, Grant, Grantable, ObjectType, Privilege, PrivilegeLevel, Revoke, RoleSelection,
};
use shoal_parser::quote_identifier;
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use super::check::{on_column, on_database, on_table};
use super::columns::{self, ColumnPrivileges};
use super::routines::{self, Routine};
use super::{Level, Privileges, account_key, require_global};
use crate::ddl::errors;
use crate::information_schema;
use crate::session::Session;

/// What a grant is about: database (empty: all) and table (empty: all).
struct Scope {
    level: Level,
    database: String,
    table: String,
}

pub fn grant(session: &mut Session, catalog: &Catalog, statement: &Grant) -> Result<Vec<Change>> {
    let (privileges, object, level) = privileges_of(&statement.what, "GRANT")?;
    let scope = scope_of(session, level)?;
    if let Some(routine) = routine_of(object, &scope)? {
        let option = if statement.with_grant_option { Privileges::GRANT_OPTION } else { Privileges::NONE };
        let bits = routines::bits_of(privileges)?.with(option);
        routines::check_grantor(session, catalog, &routine, bits)?;
        let mut changes = Vec::new();
        for name in &statement.to {
            let mut user = grantee(session, catalog, name)?;
            routines::add(&mut user, &routine, bits);
            changes.push(Change::PutUser(user));
        }
        return Ok(changes);
    }
    if let Some((account, roles)) = &statement.as_user {
        check_context(session, catalog, &scope, account, roles.as_ref())?;
    }
    let mut bits = bits_of(privileges, &scope)?;
    let columns = columns::named(privileges, scope.level)?;
    if statement.with_grant_option {
        bits = bits.with(Privileges::GRANT_OPTION);
    }
    if scope.level == Level::Table {
        match catalog.table(&scope.database, &scope.table) {
            Some(table) => columns::check_exist(table, &columns)?,
            None if bits.contains(Privileges::CREATE) && columns.is_empty() => {}
            None if columns.is_empty() && is_virtual(&scope) => {}
            None if columns.is_empty() && catalog.view(&scope.database, &scope.table).is_some() => {}
            None => return Err(crate::databases::no_such_table(&scope.database, &scope.table)),
        }
    }
    check_grantor(session, catalog, &scope, bits, &columns)?;
    let mut changes = Vec::new();
    for name in &statement.to {
        let mut user = grantee(session, catalog, name)?;
        super::mandatory::check_system_user(&session.server, &(user.user.clone(), user.host.clone()), bits)?;
        add(&mut user, &scope, bits);
        columns::add(&mut user, &scope.database, &scope.table, &columns);
        changes.push(Change::PutUser(user));
    }
    Ok(changes)
}

/// Errors: 1410, there is no such account.
fn grantee(session: &Session, catalog: &Catalog, name: &AccountName) -> Result<User> {
    let found = catalog.users.get(&account_key(session, name)?);
    let missing = "You are not allowed to create a user with GRANT";
    found.map(|user| User::clone(user)).ok_or_else(|| Error::new(ErrorCode::CantCreateUserWithGrant, missing))
}

/// The routine that a statement is about; `None`: it is about tables. Errors: 1064, it names no single one.
fn routine_of(object: ObjectType, scope: &Scope) -> Result<Option<Routine>> {
    let Some(kind) = routines::kind_of(object) else { return Ok(None) };
    if scope.level != Level::Table {
        return Err(errors::syntax("*"));
    }
    Ok(Some(Routine { database: scope.database.clone(), kind, name: scope.table.to_lowercase() }))
}

fn revoke_of_routine(
    session: &mut Session,
    catalog: &Catalog,
    statement: &Revoke,
    (routine, privileges): (&Routine, &[Privilege]),
) -> Result<Vec<Change>> {
    let bits = routines::bits_of(privileges)?;
    routines::check_grantor(session, catalog, routine, bits)?;
    let mut changes = Vec::new();
    for name in &statement.from {
        let key = account_key(session, name)?;
        let mut user = catalog.users.get(&key).map(|user| User::clone(user));
        if let Some(user) = user.take_if(|user| routines::remove(user, routine, bits)) {
            changes.push(Change::PutUser(user));
            continue;
        }
        let error = routines::no_such_grant(&key, routine);
        if !statement.if_exists {
            return Err(error);
        }
        session.warn(WarningLevel::Warning, ErrorCode::NonexistingProcGrant, error.message());
    }
    Ok(changes)
}

pub fn revoke(session: &mut Session, catalog: &Catalog, statement: &Revoke) -> Result<Vec<Change>> {
    let everything = statement.what == Grantable::AllAndGrantOption;
    if !everything {
        let (privileges, object, level) = privileges_of(&statement.what, "REVOKE")?;
        if let Some(routine) = routine_of(object, &scope_of(session, level)?)? {
            return revoke_of_routine(session, catalog, statement, (&routine, privileges));
        }
    }
    let (scope, bits, columns) = if everything {
        require_global(session, Privileges::CREATE_USER)?;
        (None, Privileges::NONE, Vec::new())
    } else {
        let (privileges, _, level) = privileges_of(&statement.what, "REVOKE")?;
        let scope = scope_of(session, level)?;
        let bits = bits_of(privileges, &scope)?;
        let columns = columns::named(privileges, scope.level)?;
        check_grantor(session, catalog, &scope, bits, &columns)?;
        (Some(scope), bits, columns)
    };
    let mut changes = Vec::new();
    for name in &statement.from {
        let key = account_key(session, name)?;
        let Some(user) = catalog.users.get(&key) else {
            if statement.ignore_unknown_user {
                super::messages::warn_missing(session, &key);
                continue;
            }
            return Err(no_such_grant(&key, scope.as_ref()));
        };
        let mut user = User::clone(user);
        match &scope {
            None => {
                user.grants.clear();
                user.column_grants.clear();
                user.routine_grants.clear();
            }
            Some(scope) if remove(&mut user, scope, bits, &columns) => {}
            Some(scope) => {
                let error = no_such_grant(&key, Some(scope));
                if !statement.if_exists {
                    return Err(error);
                }
                let code = ErrorCode::from_errno(error.errno()).unwrap_or(ErrorCode::NonexistingGrant);
                session.warn(WarningLevel::Warning, code, error.message());
                continue;
            }
        }
        changes.push(Change::PutUser(user));
    }
    Ok(changes)
}

/// GRANT ... AS account [WITH ROLE ...]: whose privileges count, besides one's own. Without partial revokes nobody has less at one place than
/// everywhere, so all that there is to see to is that there are the account and its roles. Errors: 3835, 3836.
fn check_context(
    session: &Session,
    catalog: &Catalog,
    scope: &Scope,
    account: &AccountName,
    roles: Option<&RoleSelection>,
) -> Result<()> {
    if scope.level != Level::Global {
        let text = "GRANT ... AS is currently supported only for global privileges.";
        return Err(Error::new(ErrorCode::UnsupportedUseOfGrantAs, text));
    }
    let unknown = || {
        let text = "Either some of the authorization IDs in the AS clause are invalid or the current user lacks privileges to \
                    execute the statement.";
        Error::new(ErrorCode::UnknownAuthIdForGrantAs, text)
    };
    let user = catalog.users.get(&account_key(session, account)?).ok_or_else(unknown)?;
    if let Some(RoleSelection::Roles(names)) = roles {
        super::role::used(session, user, names).map_err(|_| unknown())?;
    }
    Ok(())
}

/// A table of performance_schema and its kin.
fn is_virtual(scope: &Scope) -> bool {
    matches!(information_schema::virtual_table(&scope.database, &scope.table), Ok(Some(_)))
}

fn privileges_of<'s>(
    what: &'s Grantable,
    statement: &str,
) -> Result<(&'s [Privilege], ObjectType, &'s PrivilegeLevel)> {
    match what {
        Grantable::Privileges { privileges, object, level } => Ok((privileges, *object, level)),
        Grantable::Roles(_) | Grantable::Proxy(_) => {
            Err(Error::unknown(format!("internal: {statement} of what is no privilege")))
        }
        Grantable::AllAndGrantOption => Err(errors::syntax("ALL PRIVILEGES, GRANT OPTION")),
    }
}

fn scope_of(session: &Session, level: &PrivilegeLevel) -> Result<Scope> {
    let current =
        || session.state.database.clone().ok_or_else(|| Error::new(ErrorCode::NoDb, "No database selected"));
    let (level, database, table) = match level {
        PrivilegeLevel::Global => (Level::Global, String::new(), String::new()),
        PrivilegeLevel::CurrentSchema => (Level::Database, current()?, String::new()),
        PrivilegeLevel::Schema(name) => (Level::Database, name.value.clone(), String::new()),
        PrivilegeLevel::Object(name) => {
            let database = match &name.schema {
                Some(schema) => schema.value.clone(),
                None => current()?,
            };
            (Level::Table, database, name.name.value.clone())
        }
    };
    Ok(Scope { level, database, table })
}

fn bits_of(privileges: &[Privilege], scope: &Scope) -> Result<Privileges> {
    let mut bits = Privileges::NONE;
    for privilege in privileges.iter().filter(|privilege| privilege.columns.is_empty()) {
        bits = bits.with(Privileges::by_name(&privilege.name, scope.level)?);
    }
    Ok(bits)
}

/// One can give and take what one has, with GRANT OPTION. Errors: 1045, 1044, 1142.
fn check_grantor(
    session: &Session,
    catalog: &Catalog,
    scope: &Scope,
    bits: Privileges,
    columns: &ColumnPrivileges,
) -> Result<()> {
    let access = &session.state.access;
    let (user, host) = &access.account;
    let present = access.look(catalog, |account| match (account, scope.level) {
        (None, _) => Privileges::NONE,
        (Some(account), Level::Table) => on_table(account, &scope.database, &scope.table),
        // For everything the database's name is empty, and no database's grants match that.
        (Some(account), Level::Global | Level::Database) => on_database(account, &scope.database),
    });
    // Accounts that have all privileges may be older than this one.
    let present = match present.contains(Privileges::SUPER) {
        true => present.with(Privileges::ROLE_ADMIN),
        false => present,
    };
    // Of a column one has what one has of its table.
    let lacks = |user: Option<&User>| {
        let lacking = columns.iter().map(|(column, bits)| {
            let own = user.map_or(Privileges::NONE, |user| on_column(user, &scope.database, &scope.table, column));
            bits.without(own).without(present)
        });
        lacking.fold(Privileges::NONE, Privileges::with)
    };
    let needed = bits.with(Privileges::GRANT_OPTION).with(access.look(catalog, lacks));
    if present.contains(needed) {
        return Ok(());
    }
    Err(match scope.level {
        Level::Global => {
            let message = format!("Access denied for user '{user}'@'{host}' (using password: YES)");
            Error::new(ErrorCode::AccessDenied, message)
        }
        Level::Database => {
            let message = format!("Access denied for user '{user}'@'{host}' to database '{}'", scope.database);
            Error::new(ErrorCode::DbAccessDenied, message)
        }
        Level::Table => {
            let missing = needed.without(present).first_name();
            let host = &session.shared.host;
            let message =
                format!("{missing} command denied to user '{user}'@'{host}' for table '{}'", scope.table);
            Error::new(ErrorCode::TableAccessDenied, message)
        }
    })
}

fn add(user: &mut User, scope: &Scope, bits: Privileges) {
    let known =
        user.grants.iter_mut().find(|(database, table, _)| *database == scope.database && *table == scope.table);
    match known {
        Some((.., present)) => *present |= bits.0,
        None if bits.is_empty() => {}
        None => user.grants.push((scope.database.clone(), scope.table.clone(), bits.0)),
    }
}

/// `false`: there is nothing granted there.
fn remove(user: &mut User, scope: &Scope, bits: Privileges, columns: &ColumnPrivileges) -> bool {
    let had_columns = columns::tables(user).contains(&(scope.database.as_str(), scope.table.as_str()));
    let all_had = columns::remove(user, &scope.database, &scope.table, columns, bits);
    let of_table = !bits.is_empty() || columns.is_empty();
    if !of_table {
        return all_had;
    }
    remove_from_all(user, scope, bits) | had_columns && all_had
}

/// The same of what is about the whole table, or more.
fn remove_from_all(user: &mut User, scope: &Scope, bits: Privileges) -> bool {
    let position =
        user.grants.iter().position(|(database, table, _)| *database == scope.database && *table == scope.table);
    let Some(position) = position else { return scope.level == Level::Global };
    let left = Privileges(user.grants[position].2).without(bits);
    if left.is_empty() {
        user.grants.remove(position);
    } else {
        user.grants[position].2 = left.0;
    }
    true
}

fn no_such_grant(key: &(String, String), scope: Option<&Scope>) -> Error {
    match scope {
        Some(scope) if scope.level == Level::Table => {
            let (user, host) = key;
            let message = format!(
                "There is no such grant defined for user '{user}' on host '{host}' on table '{}'",
                scope.table
            );
            Error::new(ErrorCode::NonexistingTableGrant, message)
        }
        _ => super::messages::no_such_grant(key),
    }
}

/// SHOW GRANTS: the statements that give an account what it has.
pub fn grants_text(user: &User) -> Vec<String> {
    let to = format!("{}@{}", quote_identifier(&user.user), quote_identifier(&user.host));
    let mut grants: Vec<&(String, String, u64)> = user.grants.iter().collect();
    grants.sort_by(|left, right| (&left.0, &left.1).cmp(&(&right.0, &right.1)));
    let global = grants.iter().find(|(database, ..)| database.is_empty());
    let global = global.map_or(Privileges::NONE, |(.., bits)| Privileges(*bits));
    let mut lines = vec![grant_line(global, Level::Global, "*.*", &to)];
    let dynamic = global.names(true);
    if !dynamic.is_empty() {
        lines.push(finish(&dynamic.join(","), global, "*.*", &to));
    }
    let of_databases = grants.iter().filter(|(database, table, _)| !database.is_empty() && table.is_empty());
    for (database, _, bits) in of_databases {
        let object = format!("{}.*", quote_identifier(database));
        lines.push(grant_line(Privileges(*bits), Level::Database, &object, &to));
    }
    let of_tables = grants.iter().filter(|(_, table, _)| !table.is_empty());
    let mut of_tables: Vec<(&str, &str, u64)> =
        of_tables.map(|(database, table, bits)| (database.as_str(), table.as_str(), *bits)).collect();
    for (database, table) in columns::tables(user) {
        if !of_tables.iter().any(|(known, name, _)| (*known, *name) == (database, table)) {
            of_tables.push((database, table, 0));
        }
    }
    of_tables.sort_unstable();
    for (database, table, bits) in of_tables {
        let (bits, object) =
            (Privileges(bits), format!("{}.{}", quote_identifier(database), quote_identifier(table)));
        let privileges = columns::grant_text(user, database, table, bits);
        match bits.contains(Privileges::all_at(Level::Table)) || privileges.is_empty() {
            true => lines.push(grant_line(bits, Level::Table, &object, &to)),
            false => lines.push(finish(&privileges, bits, &object, &to)),
        }
    }
    lines.extend(routines::grants_text(user, &to));
    lines
}

fn grant_line(bits: Privileges, level: Level, object: &str, to: &str) -> String {
    let names = bits.names(false);
    let privileges = if level != Level::Global && bits.contains(Privileges::all_at(level)) {
        "ALL PRIVILEGES".to_owned()
    } else if names.is_empty() {
        "USAGE".to_owned()
    } else {
        names.join(", ")
    };
    finish(&privileges, bits, object, to)
}

fn finish(privileges: &str, bits: Privileges, object: &str, to: &str) -> String {
    let option = if bits.contains(Privileges::GRANT_OPTION) { " WITH GRANT OPTION" } else { "" };
    format!("GRANT {privileges} ON {object} TO {to}{option}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(database: &str, table: &str) -> Scope {
        let level = match (database.is_empty(), table.is_empty()) {
            (true, _) => Level::Global,
            (false, true) => Level::Database,
            (false, false) => Level::Table,
        };
        Scope { level, database: database.to_owned(), table: table.to_owned() }
    }

    #[test]
    fn grants_are_shown_as_the_statements_that_give_them() {
        let mut user = User { user: "nina".to_owned(), host: "%".to_owned(), ..User::default() };
        assert_eq!(grants_text(&user), ["GRANT USAGE ON *.* TO `nina`@`%`"]);
        add(&mut user, &scope("d", ""), Privileges::all_at(Level::Database));
        add(&mut user, &scope("d", "t"), Privileges::SELECT.with(Privileges::GRANT_OPTION));
        add(&mut user, &scope("", ""), Privileges::PROCESS.with(Privileges::CONNECTION_ADMIN));
        assert_eq!(
            grants_text(&user),
            [
                "GRANT PROCESS ON *.* TO `nina`@`%`",
                "GRANT CONNECTION_ADMIN ON *.* TO `nina`@`%`",
                "GRANT ALL PRIVILEGES ON `d`.* TO `nina`@`%`",
                "GRANT SELECT ON `d`.`t` TO `nina`@`%` WITH GRANT OPTION",
            ]
        );
    }

    #[test]
    fn what_is_taken_away_is_gone_and_what_was_never_given_cannot_be_taken() {
        let mut user = User::default();
        let (all, table) = (scope("", ""), scope("d", "t"));
        add(&mut user, &table, Privileges::SELECT.with(Privileges::INSERT));
        assert!(remove(&mut user, &table, Privileges::SELECT, &Vec::new()));
        assert_eq!(on_table(&user, "d", "t"), Privileges::INSERT);
        assert!(remove(&mut user, &table, Privileges::INSERT, &Vec::new()));
        assert!(user.grants.is_empty());
        assert!(!remove(&mut user, &table, Privileges::INSERT, &Vec::new()));
        assert!(remove(&mut user, &all, Privileges::INSERT, &Vec::new()));
        assert_eq!(no_such_grant(&("a".to_owned(), "%".to_owned()), Some(&table)).errno(), 1147);
        assert_eq!(no_such_grant(&("a".to_owned(), "%".to_owned()), Some(&all)).errno(), 1141);
    }

    #[test]
    fn a_grant_for_a_pattern_of_databases_covers_them() {
        let mut user = User::default();
        add(&mut user, &scope("shop%", ""), Privileges::SELECT);
        assert_eq!(on_table(&user, "shop_eu", "t"), Privileges::SELECT);
        assert_eq!(on_table(&user, "stock", "t"), Privileges::NONE);
    }
}
