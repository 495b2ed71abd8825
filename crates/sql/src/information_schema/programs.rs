//! Stored programs: ROUTINES, PARAMETERS, TRIGGERS and EVENTS.

use std::sync::Arc;

use shoal_cluster::{Program, ProgramKind};
use shoal_types::{SqlType, Value};

use super::cell::{row, yes_no};
use super::column::type_facts;
use super::{CATALOG, Rows};
use crate::account::Privileges;
use crate::program::compile::Signature;

/// The programs of a kind that the reader may know of.
fn programs(rows: &Rows<'_>, kinds: &'static [ProgramKind]) -> Vec<Arc<Program>> {
    let viewer = rows.viewer();
    let sees = |program: &&Arc<Program>| match (&program.trigger, program.kind) {
        (Some(place), _) => viewer.may_use_table(&program.database, &place.table, Privileges::TRIGGER),
        (None, ProgramKind::Event) => viewer.may_use_database(&program.database, Privileges::EVENT),
        _ => {
            let needed = Privileges::EXECUTE.with(Privileges::ALTER_ROUTINE).with(Privileges::CREATE_ROUTINE);
            viewer.may_use_database(&program.database, needed)
                || viewer.is_account(&program.definer)
                || viewer.may_use_routine(program, needed)
        }
    };
    let all = viewer.catalog.databases.values().flat_map(|database| database.programs.all());
    all.filter(|program| kinds.contains(&program.kind)).filter(sees).cloned().collect()
}

fn definer(program: &Program) -> String {
    format!("{}@{}", program.definer.0, program.definer.1)
}

/// Microseconds since 1970 in the reader's zone.
fn time(rows: &Rows<'_>, micros: i64) -> Value {
    Value::DateTime(rows.variables.time_zone.from_utc_micros(micros, 0))
}

pub fn routines(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let found = programs(rows, &[ProgramKind::Procedure, ProgramKind::Function]);
    found.iter().map(|program| routine(rows, program)).collect()
}

fn routine(rows: &Rows<'_>, program: &Arc<Program>) -> Vec<Value> {
    let returns = Signature::of(program).ok().and_then(|signature| signature.returns);
    let facts = returns.as_ref().map(type_facts).unwrap_or_default();
    let has_result = returns.is_some();
    row![
        &program.name,
        CATALOG,
        &program.database,
        &program.name,
        program.kind.word(),
        &facts.data_type,
        facts.character_length,
        facts.octet_length,
        facts.numeric_precision,
        facts.numeric_scale,
        facts.datetime_precision,
        facts.charset,
        facts.collation,
        has_result.then_some(&facts.column_type),
        "SQL",
        &program.body,
        Value::Null,
        "SQL",
        "SQL",
        yes_no(program.is_deterministic),
        &program.data_access,
        Value::Null,
        if program.is_invokers { "INVOKER" } else { "DEFINER" },
        time(rows, program.created_us),
        time(rows, program.altered_us),
        &program.sql_mode,
        &program.comment,
        definer(program),
        &program.character_set_client,
        program.collation_connection.name(),
        program.database_collation.name(),
    ]
}

pub fn parameters(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for program in programs(rows, &[ProgramKind::Procedure, ProgramKind::Function]) {
        let Ok(signature) = Signature::of(&program) else { continue };
        if let Some(returns) = &signature.returns {
            found.push(parameter(&program, 0, None, returns));
        }
        let is_function = program.kind == ProgramKind::Function;
        for (number, (name, direction, sql_type)) in signature.parameters.iter().enumerate() {
            // Those of functions are IN, which is shown as well.
            let mode = if is_function { "IN" } else { direction };
            found.push(parameter(&program, number + 1, Some((mode, name)), sql_type));
        }
    }
    found
}

fn parameter(program: &Program, number: usize, named: Option<(&str, &String)>, sql_type: &SqlType) -> Vec<Value> {
    let facts = type_facts(sql_type);
    row![
        CATALOG,
        &program.database,
        &program.name,
        number,
        named.map(|(mode, _)| mode),
        named.map(|(_, name)| name),
        &facts.data_type,
        facts.character_length,
        facts.octet_length,
        facts.numeric_precision,
        facts.numeric_scale,
        facts.datetime_precision,
        facts.charset,
        facts.collation,
        &facts.column_type,
        program.kind.word(),
    ]
}

pub fn triggers(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for program in programs(rows, &[ProgramKind::Trigger]) {
        let Some(place) = &program.trigger else { continue };
        found.push(row![
            CATALOG,
            &program.database,
            &program.name,
            &place.event,
            CATALOG,
            &program.database,
            &place.table,
            place.order,
            Value::Null,
            &program.body,
            "ROW",
            if place.is_before { "BEFORE" } else { "AFTER" },
            Value::Null,
            Value::Null,
            "OLD",
            "NEW",
            time(rows, program.created_us),
            &program.sql_mode,
            definer(&program),
            &program.character_set_client,
            program.collation_connection.name(),
            program.database_collation.name(),
        ]);
    }
    found
}

pub fn events(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for program in programs(rows, &[ProgramKind::Event]) {
        let Some(schedule) = &program.schedule else { continue };
        let is_once = schedule.at_us.is_some();
        let zone = shoal_types::TimeZone::parse(&schedule.zone).unwrap_or(shoal_types::TimeZone::UTC);
        let time_of = |micros: Option<i64>| {
            micros.map_or(Value::Null, |micros| Value::DateTime(zone.from_utc_micros(micros, 0)))
        };
        found.push(row![
            CATALOG,
            &program.database,
            &program.name,
            definer(&program),
            &schedule.zone,
            "SQL",
            &program.body,
            if is_once { "ONE TIME" } else { "RECURRING" },
            time_of(schedule.at_us),
            (!is_once).then_some(&schedule.every),
            (!is_once).then_some(&schedule.unit),
            &program.sql_mode,
            time_of(schedule.starts_us),
            time_of(schedule.ends_us),
            &schedule.status,
            if schedule.is_preserved { "PRESERVE" } else { "NOT PRESERVE" },
            time(rows, program.created_us),
            time(rows, program.altered_us),
            time_of(schedule.last_run_us),
            &program.comment,
            1u32,
            &program.character_set_client,
            program.collation_connection.name(),
            program.database_collation.name(),
        ]);
    }
    found
}
