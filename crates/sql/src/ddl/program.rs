//! CREATE, ALTER and DROP of stored procedures and functions.

use std::sync::Arc;

use shoal_cluster::{Change, Program, ProgramKind};
use shoal_parser::ast::{self, CreateRoutine, DataAccess, RoutineCharacteristics, SqlSecurity};
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use super::draft::check_object_name;
use super::publish;
use crate::account::{self, Privileges};
use crate::databases;
use crate::dml::Affected;
use crate::program::{call, compile};
use crate::session::Session;

/// A program of a session's settings that says nothing yet.
pub fn draft(
    session: &Session,
    kind: ProgramKind,
    (database, name): (&str, &str),
    definer: Option<&ast::AccountName>,
    body: &[u8],
) -> Result<Program> {
    let own = &session.state.access.account;
    let definer = definer.map_or_else(|| Ok(own.clone()), |account| account::account_key(session, account))?;
    if definer != *own {
        account::require_global(session, Privileges::SUPER)?;
    }
    let catalog = session.server.node.catalog();
    let collation = catalog.database(database).map(|database| database.collation);
    let variables = &session.variables;
    let now = session.server.clock_micros();
    Ok(Program {
        database: database.to_owned(),
        name: name.to_owned(),
        kind,
        definer,
        is_invokers: false,
        parameters: String::new(),
        returns: String::new(),
        body: text(body),
        is_deterministic: false,
        data_access: "CONTAINS SQL".to_owned(),
        comment: String::new(),
        sql_mode: variables.sql_mode.text(),
        character_set_client: variables.settings.character_set_client.name().to_owned(),
        collation_connection: variables.settings.collation_connection,
        database_collation: collation.unwrap_or(variables.collation_server),
        created_us: now,
        altered_us: now,
        trigger: None,
        schedule: None,
    })
}

/// Source as the dictionary keeps it.
pub fn text(source: &[u8]) -> String {
    String::from_utf8_lossy(source).trim().to_owned()
}

pub async fn create_routine(session: &mut Session, kind: ProgramKind, create: &CreateRoutine) -> Result<Affected> {
    let (database, name) = super::qualified(session, &create.name)?;
    check_object_name(&name, false)?;
    super::database::check_changeable(session, &database)?;
    databases::check_exists(&session.server.node.catalog(), &database)?;
    account::require(session, &database, None, Privileges::CREATE_ROUTINE)?;
    let mut program = draft(session, kind, (&database, &name), create.definer.as_ref(), &create.body_text)?;
    program.parameters = text(&create.parameters_text);
    program.returns = text(&create.returns_text);
    characterise(&mut program, &create.characteristics)?;
    compile::compile(&Arc::new(program.clone()), &[])?;
    put_new(session, program, create.if_not_exists).await
}

/// Puts a program that may not be there yet.
async fn put_new(session: &mut Session, program: Program, if_not_exists: bool) -> Result<Affected> {
    let node = Arc::clone(&session.server.node);
    let exists = publish::change(&node, |catalog| {
        databases::check_exists(catalog, &program.database)?;
        match catalog.program(&program.database, program.kind, &program.name) {
            Some(_) if if_not_exists => Ok((Vec::new(), true)),
            Some(_) => Err(already_exists(&program)),
            None => Ok((vec![Change::PutProgram(Box::new(program.clone()))], false)),
        }
    })
    .await?;
    if exists {
        let error = already_exists(&program);
        session.warn(WarningLevel::Note, ErrorCode::SpAlreadyExists, error.message());
    }
    Ok(Affected::default())
}

fn already_exists(program: &Program) -> Error {
    let message = format!("{} {} already exists", program.kind.word(), program.name);
    Error::new(ErrorCode::SpAlreadyExists, message)
}

fn characterise(program: &mut Program, characteristics: &RoutineCharacteristics) -> Result<()> {
    if characteristics.language.as_deref().is_some_and(|language| language != "SQL") {
        return Err(Error::unsupported("stored programs in languages other than SQL"));
    }
    if let Some(comment) = &characteristics.comment {
        program.comment = String::from_utf8_lossy(comment).into_owned();
    }
    if let Some(is_deterministic) = characteristics.deterministic {
        program.is_deterministic = is_deterministic;
    }
    if let Some(access) = characteristics.data_access {
        program.data_access = match access {
            DataAccess::ContainsSql => "CONTAINS SQL",
            DataAccess::NoSql => "NO SQL",
            DataAccess::ReadsSqlData => "READS SQL DATA",
            DataAccess::ModifiesSqlData => "MODIFIES SQL DATA",
        }
        .to_owned();
    }
    if let Some(security) = characteristics.security {
        program.is_invokers = security == SqlSecurity::Invoker;
    }
    Ok(())
}

pub async fn alter_routine(session: &mut Session, alter: &ast::AlterRoutine) -> Result<Affected> {
    let kind = if alter.function { ProgramKind::Function } else { ProgramKind::Procedure };
    let (database, name) = super::qualified(session, &alter.name)?;
    super::database::check_changeable(session, &database)?;
    let node = Arc::clone(&session.server.node);
    let altered_us = session.server.clock_micros();
    publish::change(&node, |catalog| {
        let Some(present) = catalog.program(&database, kind, &name) else {
            return Err(call::does_not_exist(kind, &database, &name));
        };
        account::check_alter_routine(&session.asking(), present)?;
        let mut program = Program::clone(present);
        characterise(&mut program, &alter.characteristics)?;
        program.altered_us = altered_us;
        Ok((vec![Change::PutProgram(Box::new(program))], ()))
    })
    .await?;
    Ok(Affected::default())
}

pub async fn drop_routine(
    session: &mut Session,
    kind: ProgramKind,
    statement: &ast::DropObjects,
) -> Result<Affected> {
    let node = Arc::clone(&session.server.node);
    for name in &statement.names {
        let (database, name) = super::qualified(session, name)?;
        super::database::check_changeable(session, &database)?;
        let missing = publish::change(&node, |catalog| {
            let Some(program) = catalog.program(&database, kind, &name) else { return Ok((Vec::new(), true)) };
            account::check_alter_routine(&session.asking(), program)?;
            let mut changes = account::routines::dropped_with(catalog, program);
            changes.push(Change::DropProgram { database: database.clone(), kind, name: name.clone() });
            Ok((changes, false))
        })
        .await?;
        if missing {
            let error = call::does_not_exist(kind, &database, &name);
            if !statement.if_exists {
                return Err(error);
            }
            session.warn(WarningLevel::Note, ErrorCode::SpDoesNotExist, error.message());
        }
    }
    Ok(Affected::default())
}
