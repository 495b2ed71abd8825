//! CREATE and DROP TRIGGER.

use std::sync::Arc;

use shoal_cluster::{Catalog, Change, Program, ProgramKind, Table, TriggerPlace};
use shoal_parser::ast::{self, CreateTrigger, TriggerEvent, TriggerOrder, TriggerTime};
use shoal_types::{Error, ErrorCode, Result, WarningLevel};

use super::draft::check_object_name;
use super::{lock, program, publish};
use crate::account::{self, Privileges};
use crate::databases::{self, no_such_table};
use crate::dml::Affected;
use crate::dml::triggers::columns;
use crate::program::compile;
use crate::session::Session;

pub async fn create(session: &mut Session, create: &CreateTrigger) -> Result<Affected> {
    let (database, table) = super::qualified(session, &create.table)?;
    let named = match &create.name.schema {
        Some(_) => super::qualified(session, &create.name)?,
        None => (database.clone(), create.name.name.value.clone()),
    };
    let (schema, name) = named;
    if schema != database {
        return Err(Error::new(ErrorCode::TrgInWrongSchema, "Trigger in wrong schema"));
    }
    check_object_name(&name, false)?;
    super::database::check_changeable(session, &database)?;
    account::require(session, &database, Some(&table), Privileges::TRIGGER)?;
    if session.temporary_table(&database, &table).is_some() {
        return Err(not_for_triggers(&table));
    }
    let draft = program::draft(
        session,
        ProgramKind::Trigger,
        (&database, &name),
        create.definer.as_ref(),
        &create.body_text,
    )?;
    let event = match create.event {
        TriggerEvent::Insert => "INSERT",
        TriggerEvent::Update => "UPDATE",
        TriggerEvent::Delete => "DELETE",
    };
    let is_before = create.time == TriggerTime::Before;
    let place = TriggerPlace { table: table.clone(), is_before, event: event.to_owned(), order: 0 };
    let draft = Program { trigger: Some(place), ..draft };
    let node = Arc::clone(&session.server.node);
    let exists = loop {
        let present = catalog_table(session, &database, &table);
        let locks = lock::exclusive(session, &present).await?;
        let created = publish::change(&node, |catalog| {
            databases::check_exists(catalog, &database)?;
            let Some(changed) = catalog.table(&database, &table) else {
                if catalog.view(&database, &table).is_some() {
                    return Err(not_for_triggers(&table));
                }
                return Err(no_such_table(&database, &table));
            };
            if !locks.cover(changed) {
                return Ok((Vec::new(), None));
            }
            if catalog.program(&database, ProgramKind::Trigger, &name).is_some() {
                return if create.if_not_exists { Ok((Vec::new(), Some(true))) } else { Err(already_exists()) };
            }
            compile::compile(&Arc::new(draft.clone()), &columns(changed).1)?;
            let mut changes = placed(catalog, &draft, create.order.as_ref())?;
            changes.push(newer(changed));
            Ok((changes, Some(false)))
        });
        if let Some(exists) = created.await? {
            break exists;
        }
    };
    if exists {
        session.warn(WarningLevel::Note, ErrorCode::TrgAlreadyExists, already_exists().message());
    }
    Ok(Affected::default())
}

fn not_for_triggers(table: &str) -> Error {
    let message = format!("Trigger's '{table}' is a view, temporary table or system table");
    Error::new(ErrorCode::TrgOnViewOrTempTable, message)
}

fn catalog_table(session: &Session, database: &str, table: &str) -> Vec<Arc<Table>> {
    session.server.node.catalog().table(database, table).cloned().into_iter().collect()
}

fn already_exists() -> Error {
    Error::new(ErrorCode::TrgAlreadyExists, "Trigger already exists")
}

/// The next version of a table: plans that do not know of the change cannot go on.
fn newer(table: &Table) -> Change {
    let mut schema = table.schema.clone();
    schema.version += 1;
    Change::PutTable(schema)
}

/// The trigger in its place, and those that it moves. Errors: 3011.
fn placed(catalog: &Catalog, draft: &Program, order: Option<&TriggerOrder>) -> Result<Vec<Change>> {
    let Some(place) = &draft.trigger else { return Ok(Vec::new()) };
    let is_alike = |other: &&Arc<Program>| {
        other
            .trigger
            .as_ref()
            .is_some_and(|other| other.is_before == place.is_before && other.event == place.event)
    };
    let triggers = catalog.triggers(&draft.database, &place.table).iter().filter(is_alike);
    let mut programs: Vec<Program> = triggers.map(|program| Program::clone(program)).collect();
    let at = match order {
        None => programs.len(),
        Some(TriggerOrder::Follows(other) | TriggerOrder::Precedes(other)) => {
            let found = programs.iter().position(|program| other.is(&program.name)).ok_or_else(|| {
                let message = format!(
                    "Referenced trigger '{}' for the given action time and event type does not exist.",
                    other.value
                );
                Error::new(ErrorCode::ReferencedTrgDoesNotExist, message)
            })?;
            found + usize::from(matches!(order, Some(TriggerOrder::Follows(_))))
        }
    };
    programs.insert(at, draft.clone());
    let mut changes = Vec::new();
    for (number, mut program) in programs.into_iter().enumerate() {
        if let Some(place) = &mut program.trigger
            && place.order != number as u32 + 1
        {
            place.order = number as u32 + 1;
            changes.push(Change::PutProgram(Box::new(program)));
        }
    }
    Ok(changes)
}

pub async fn drop(session: &mut Session, statement: &ast::DropObjects) -> Result<Affected> {
    let node = Arc::clone(&session.server.node);
    for named in &statement.names {
        let (database, name) = super::qualified(session, named)?;
        super::database::check_changeable(session, &database)?;
        let kind = ProgramKind::Trigger;
        let table = node.catalog().program(&database, kind, &name).and_then(|program| program.trigger.clone());
        let Some(TriggerPlace { table, .. }) = table else {
            let error = Error::new(ErrorCode::TrgDoesNotExist, "Trigger does not exist");
            if !statement.if_exists {
                return Err(error);
            }
            session.warn(WarningLevel::Note, ErrorCode::TrgDoesNotExist, error.message());
            continue;
        };
        account::require(session, &database, Some(&table), Privileges::TRIGGER)?;
        loop {
            let present = catalog_table(session, &database, &table);
            let locks = lock::exclusive(session, &present).await?;
            let dropped = publish::change(&node, |catalog| {
                let changed = catalog.table(&database, &table);
                if changed.is_some_and(|changed| !locks.cover(changed)) {
                    return Ok((Vec::new(), false));
                }
                let drop = Change::DropProgram { database: database.clone(), kind, name: name.clone() };
                Ok((std::iter::once(drop).chain(changed.map(|table| newer(table))).collect(), true))
            });
            if dropped.await? {
                break;
            }
        }
    }
    Ok(Affected::default())
}

/// The changes that take a dropped table's triggers along.
pub fn dropped_with(catalog: &Catalog, table: &Table) -> Vec<Change> {
    let schema = &table.schema;
    let triggers = catalog.triggers(&schema.database, &schema.name).iter();
    let drop = |program: &Arc<Program>| Change::DropProgram {
        database: program.database.clone(),
        kind: ProgramKind::Trigger,
        name: program.name.clone(),
    };
    triggers.map(drop).collect()
}

/// The changes that give a renamed table's triggers its new name. Errors: 1435, it goes to another database.
pub fn renamed_with(catalog: &Catalog, (database, table): (&str, &str), to: (&str, &str)) -> Result<Vec<Change>> {
    let triggers = catalog.triggers(database, table);
    if !triggers.is_empty() && database != to.0 {
        return Err(Error::new(ErrorCode::TrgInWrongSchema, "Trigger in wrong schema"));
    }
    let renamed = triggers.iter().map(|program| {
        let mut program = Program::clone(program);
        if let Some(place) = &mut program.trigger {
            place.table = to.1.to_owned();
        }
        Change::PutProgram(Box::new(program))
    });
    Ok(renamed.collect())
}
