//! CREATE, ALTER and DROP DATABASE.

use std::sync::{Arc, PoisonError};

use shoal_cluster::Change;
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use super::draft::check_object_name;
use super::{foreign_keys, lock, options, publish};
use crate::account::{self, Privileges};
use crate::counters::Counter;
use crate::databases::{self, is_system};
use crate::dml::Affected;
use crate::session::Session;

/// Errors: 1044 for the system's databases.
pub fn check_changeable(session: &Session, name: &str) -> Result<()> {
    if !is_system(name) {
        return Ok(());
    }
    let (user, host) = &session.state.access.account;
    let message = format!("Access denied for user '{user}'@'{host}' to database '{name}'");
    Err(Error::new(ErrorCode::DbAccessDenied, message))
}

pub async fn create(session: &mut Session, statement: &ast::CreateDatabase) -> Result<Affected> {
    session.count(Counter::ComCreateDb);
    let name = statement.name.value.clone();
    check_object_name(&name, true)?;
    check_changeable(session, &name)?;
    account::require(session, &name, None, Privileges::CREATE)?;
    let server = session.variables.collation_server;
    let mut notes = Vec::new();
    let collation = options::database_collation(&statement.options, server, server, &mut notes)?;
    let node = Arc::clone(&session.server.node);
    let created = publish::change(&node, |catalog| {
        if catalog.database(&name).is_some() {
            return if statement.if_not_exists { Ok((Vec::new(), false)) } else { Err(exists(&name)) };
        }
        Ok((vec![Change::PutDatabase { name: name.clone(), collation }], true))
    })
    .await?;
    super::add_notes(session, notes);
    if !created {
        let error = exists(&name);
        session.warn(WarningLevel::Note, ErrorCode::DbCreateExists, error.message());
    }
    Ok(Affected { rows: 1, ..Affected::default() })
}

fn exists(name: &str) -> Error {
    Error::new(ErrorCode::DbCreateExists, format!("Can't create database '{name}'; database exists"))
}

pub async fn alter(session: &mut Session, statement: &ast::AlterDatabase) -> Result<Affected> {
    let name = match (&statement.name, &session.state.database) {
        (Some(name), _) => name.value.clone(),
        (None, Some(current)) => current.clone(),
        (None, None) => return Err(Error::new(ErrorCode::NoDb, "No database selected")),
    };
    check_changeable(session, &name)?;
    account::require(session, &name, None, Privileges::ALTER)?;
    let server = session.variables.collation_server;
    let mut notes = Vec::new();
    let node = Arc::clone(&session.server.node);
    let collation = publish::change(&node, |catalog| {
        let present = catalog.database(&name).ok_or_else(|| databases::no_such_database(&name))?.collation;
        let collation = options::database_collation(&statement.options, present, server, &mut notes)?;
        Ok((vec![Change::PutDatabase { name: name.clone(), collation }], collation))
    })
    .await?;
    super::add_notes(session, notes);
    if session.state.database.as_deref() == Some(name.as_str()) {
        session.variables.collation_database = collation;
    }
    Ok(Affected { rows: 1, ..Affected::default() })
}

/// DROP DATABASE; affects as many rows as it had tables.
pub async fn drop(session: &mut Session, name: &ast::Ident, if_exists: bool) -> Result<Affected> {
    session.count(Counter::ComDropDb);
    let name = name.value.clone();
    check_changeable(session, &name)?;
    account::require(session, &name, None, Privileges::DROP)?;
    let checks_keys = session.variables.foreign_key_checks;
    let node = Arc::clone(&session.server.node);
    let dropped = loop {
        let tables = match node.catalog().database(&name) {
            Some(database) => database.tables.values().cloned().collect(),
            None => Vec::new(),
        };
        let locks = lock::exclusive(session, &tables).await?;
        let dropped = publish::change(&node, |catalog| match catalog.database(&name) {
            // A table came while the locks were waited for.
            Some(database) if !database.tables.values().all(|table| locks.cover(table)) => Ok((Vec::new(), None)),
            Some(database) => {
                let tables: Vec<_> = database.tables.values().cloned().collect();
                if checks_keys {
                    foreign_keys::check_drop(catalog, &tables)?;
                }
                let tables = tables.len() as u64;
                Ok((vec![Change::DropDatabase { name: name.clone() }], Some(Some(tables))))
            }
            None if if_exists => Ok((Vec::new(), Some(None))),
            None => Err(missing(&name)),
        });
        if let Some(dropped) = dropped.await? {
            break dropped;
        }
    };
    match dropped {
        None => session.warn(WarningLevel::Note, ErrorCode::DbDropExists, missing(&name).message()),
        Some(_) if session.state.database.as_deref() == Some(name.as_str()) => forget_current(session),
        Some(_) => {}
    }
    Ok(Affected { rows: dropped.unwrap_or(0), ..Affected::default() })
}

fn missing(name: &str) -> Error {
    Error::new(ErrorCode::DbDropExists, format!("Can't drop database '{name}'; database doesn't exist"))
}

/// The session's database is gone: none is selected.
fn forget_current(session: &mut Session) {
    session.state.database = None;
    session.variables.collation_database = session.variables.collation_server;
    *session.shared.database.lock().unwrap_or_else(PoisonError::into_inner) = None;
    session.settings_changed();
}
