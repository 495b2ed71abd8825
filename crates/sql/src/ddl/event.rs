//! CREATE, ALTER and DROP EVENT.

use std::sync::Arc;

use shoal_cluster::{Change, Program, ProgramKind, Schedule};
use shoal_parser::ast::{self, EventDefinition, EventSchedule, EventStatus};
use shoal_types::{Error, ErrorCode, Result, TemporalContext, Value, WarningLevel};

use super::draft::check_object_name;
use super::{program, publish};
use crate::account::{self, Privileges};
use crate::databases;
use crate::dml::Affected;
use crate::program::{compile, schedule};
use crate::session::Session;
use crate::variables::registry;

const KIND: ProgramKind = ProgramKind::Event;

/// What a statement says of when an event runs.
struct Times {
    at_us: Option<i64>,
    every: String,
    unit: String,
    starts_us: Option<i64>,
    ends_us: Option<i64>,
}

pub async fn create(session: &mut Session, definition: &EventDefinition) -> Result<Affected> {
    let (database, name) = super::qualified(session, &definition.name)?;
    check_object_name(&name, false)?;
    super::database::check_changeable(session, &database)?;
    databases::check_exists(&session.server.node.catalog(), &database)?;
    account::require(session, &database, None, Privileges::EVENT)?;
    let definer = definition.definer.as_ref();
    let mut event = program::draft(session, KIND, (&database, &name), definer, &definition.body_text)?;
    event.schedule =
        Some(Schedule { status: "ENABLED".to_owned(), zone: zone_text(session), ..Schedule::default() });
    apply(session, &mut event, definition).await?;
    compile::compile(&Arc::new(event.clone()), &[])?;
    if is_over(session, &event)? {
        let message = "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was dropped \
                       immediately after creation.";
        session.warn(WarningLevel::Note, ErrorCode::EventCannotCreateInThePast, message);
        return Ok(Affected::default());
    }
    let node = Arc::clone(&session.server.node);
    let exists = publish::change(&node, |catalog| {
        databases::check_exists(catalog, &database)?;
        match catalog.program(&database, KIND, &name) {
            Some(_) if definition.if_not_exists => Ok((Vec::new(), true)),
            Some(_) => Err(already_exists(&name)),
            None => Ok((vec![Change::PutProgram(Box::new(event.clone()))], false)),
        }
    })
    .await?;
    if exists {
        session.warn(WarningLevel::Note, ErrorCode::EventAlreadyExists, already_exists(&name).message());
    }
    Ok(Affected::default())
}

pub async fn alter(session: &mut Session, definition: &EventDefinition) -> Result<Affected> {
    let (database, name) = super::qualified(session, &definition.name)?;
    super::database::check_changeable(session, &database)?;
    account::require(session, &database, None, Privileges::EVENT)?;
    let renamed = match &definition.rename_to {
        None => (database.clone(), name.clone()),
        Some(to) => super::qualified(session, to)?,
    };
    if renamed.0 != database {
        super::database::check_changeable(session, &renamed.0)?;
        account::require(session, &renamed.0, None, Privileges::EVENT)?;
    }
    if definition.rename_to.is_some() && renamed == (database.clone(), name.clone()) {
        return Err(Error::new(ErrorCode::EventSameName, "Same old and new event name"));
    }
    let catalog = session.server.node.catalog();
    let present = catalog.program(&database, KIND, &name).ok_or_else(|| unknown(&name))?;
    let mut event = Program::clone(present);
    // Whoever alters an event is its definer from then on.
    let definer = definition.definer.as_ref();
    let body = definition.body_text.as_slice();
    let draft = program::draft(session, KIND, (&renamed.0, &renamed.1), definer, body)?;
    (event.database, event.name) = renamed.clone();
    event.definer = draft.definer;
    event.altered_us = draft.altered_us;
    (event.sql_mode, event.collation_connection) = (draft.sql_mode, draft.collation_connection);
    event.character_set_client = draft.character_set_client;
    if definition.body.is_some() {
        event.body = draft.body;
    }
    apply(session, &mut event, definition).await?;
    compile::compile(&Arc::new(event.clone()), &[])?;
    let node = Arc::clone(&session.server.node);
    publish::change(&node, |catalog| {
        databases::check_exists(catalog, &renamed.0)?;
        if catalog.program(&database, KIND, &name).is_none() {
            return Err(unknown(&name));
        }
        let mut changes = Vec::new();
        if renamed != (database.clone(), name.clone()) {
            let is_same = renamed.0 == database && renamed.1.eq_ignore_ascii_case(&name);
            if !is_same && catalog.program(&renamed.0, KIND, &renamed.1).is_some() {
                return Err(already_exists(&renamed.1));
            }
            changes.push(Change::DropProgram { database: database.clone(), kind: KIND, name: name.clone() });
        }
        changes.push(Change::PutProgram(Box::new(event.clone())));
        Ok((changes, ()))
    })
    .await?;
    Ok(Affected::default())
}

pub async fn drop(session: &mut Session, statement: &ast::DropObjects) -> Result<Affected> {
    let node = Arc::clone(&session.server.node);
    for named in &statement.names {
        let (database, name) = super::qualified(session, named)?;
        super::database::check_changeable(session, &database)?;
        account::require(session, &database, None, Privileges::EVENT)?;
        let missing = publish::change(&node, |catalog| {
            if catalog.program(&database, KIND, &name).is_none() {
                return Ok((Vec::new(), true));
            }
            let drop = Change::DropProgram { database: database.clone(), kind: KIND, name: name.clone() };
            Ok((vec![drop], false))
        })
        .await?;
        if missing {
            if !statement.if_exists {
                return Err(unknown(&name));
            }
            let message = format!("Event {name} does not exist");
            session.warn(WarningLevel::Note, ErrorCode::SpDoesNotExist, message);
        }
    }
    Ok(Affected::default())
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorCode::EventDoesNotExist, format!("Unknown event '{name}'"))
}

fn already_exists(name: &str) -> Error {
    Error::new(ErrorCode::EventAlreadyExists, format!("Event '{name}' already exists"))
}

fn zone_text(session: &Session) -> String {
    registry::find("time_zone").map(|found| session.variables.text(found)).unwrap_or_default()
}

/// What a statement says of an event.
async fn apply(session: &mut Session, event: &mut Program, definition: &EventDefinition) -> Result<()> {
    if let Some(comment) = &definition.comment {
        event.comment = String::from_utf8_lossy(comment).into_owned();
    }
    let times = match &definition.schedule {
        None => None,
        Some(written) => Some(times(session, written).await?),
    };
    let zone = zone_text(session);
    let Some(schedule) = &mut event.schedule else { return Ok(()) };
    if let Some(times) = times {
        schedule.zone = zone;
        schedule.last_run_us = None;
        (schedule.at_us, schedule.every, schedule.unit) = (times.at_us, times.every, times.unit);
        (schedule.starts_us, schedule.ends_us) = (times.starts_us, times.ends_us);
    }
    if let Some(preserve) = definition.preserve {
        schedule.is_preserved = preserve;
    }
    if let Some(status) = definition.status {
        schedule.status = match status {
            EventStatus::Enable => "ENABLED",
            EventStatus::Disable => "DISABLED",
            EventStatus::DisableOnReplica => "REPLICA_SIDE_DISABLED",
        }
        .to_owned();
    }
    Ok(())
}

/// Errors: 1542, 1543; 1525, it is no time.
async fn times(session: &mut Session, written: &EventSchedule) -> Result<Times> {
    match written {
        EventSchedule::At(at) => {
            let at_us = Some(moment(session, at, "AT").await?);
            Ok(Times { at_us, every: String::new(), unit: String::new(), starts_us: None, ends_us: None })
        }
        EventSchedule::Every { amount, unit, starts, ends } => {
            let value = session.evaluate(std::slice::from_ref(amount)).await?.pop();
            let every = value.map_or(Value::Null, |(value, _)| value).to_text();
            let every = String::from_utf8_lossy(&every).into_owned();
            let unit = unit.keyword().to_owned();
            if schedule::interval(&every, &unit, 1).is_none() {
                let message = "INTERVAL is either not positive or too big";
                return Err(Error::new(ErrorCode::EventIntervalNotPositive, message));
            }
            let starts_us = match starts {
                Some(starts) => moment(session, starts, "STARTS").await?,
                None => session.server.clock_micros() / 1_000_000 * 1_000_000,
            };
            let ends_us = match ends {
                Some(ends) => Some(moment(session, ends, "ENDS").await?),
                None => None,
            };
            if ends_us.is_some_and(|ends| ends < starts_us) {
                let message = "ENDS is either invalid or before STARTS";
                return Err(Error::new(ErrorCode::EventEndsBeforeStarts, message));
            }
            Ok(Times { at_us: None, every, unit, starts_us: Some(starts_us), ends_us })
        }
    }
}

/// A time as microseconds since 1970 UTC.
async fn moment(session: &mut Session, expression: &ast::Expr, word: &str) -> Result<i64> {
    let value = session.evaluate(std::slice::from_ref(expression)).await?.pop();
    let value = value.map_or(Value::Null, |(value, _)| value);
    let zone = session.variables.time_zone.clone();
    let context = TemporalContext { zone: zone.clone(), ..TemporalContext::default() };
    match value.to_datetime(&context).value {
        Some(time) if !value.is_null() => Ok(zone.to_utc_micros(time)),
        _ => {
            let shown = if value.is_null() {
                "NULL".into()
            } else {
                String::from_utf8_lossy(&value.to_text()).into_owned()
            };
            Err(Error::new(ErrorCode::WrongValue, format!("Incorrect {word} value: '{shown}'")))
        }
    }
}

/// It would never run. With ON COMPLETION PRESERVE it stays, disabled. Errors: 1544, and it is to stay.
fn is_over(session: &Session, event: &Program) -> Result<bool> {
    let Some(schedule) = &event.schedule else { return Ok(false) };
    let now = session.server.clock_micros();
    let last = schedule.at_us.or(schedule.ends_us);
    // Seconds are what users write.
    if last.is_none_or(|last| last / 1_000_000 >= now / 1_000_000) {
        return Ok(false);
    }
    if schedule.is_preserved {
        let message = "Event execution time is in the past. Event has been disabled";
        return Err(Error::new(ErrorCode::EventExecTimeInThePast, message));
    }
    Ok(true)
}
