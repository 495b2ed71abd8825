//! A program's text: read, and shown as MySQL shows it.

use shoal_cluster::{Program, ProgramKind, TriggerPlace};
use shoal_parser::ast::{CreateRoutine, RoutineStatement, Statement};
use shoal_parser::quote_identifier as quote;
use shoal_types::{Error, Result};

use crate::syntax_error::syntax_error;
use crate::variables::sql_mode::SqlModes;

/// The syntax tree of a program.
pub struct Parsed(Statement);

impl Parsed {
    /// Of a procedure or function.
    pub fn routine(&self) -> Option<&CreateRoutine> {
        match &self.0 {
            Statement::CreateProcedure(routine) | Statement::CreateFunction(routine) => Some(routine),
            _ => None,
        }
    }

    pub fn body(&self) -> &RoutineStatement {
        match &self.0 {
            Statement::CreateProcedure(routine) | Statement::CreateFunction(routine) => &routine.body,
            Statement::CreateTrigger(trigger) => &trigger.body,
            // `parse` yields no other statement.
            _ => unreachable!("a program is a routine or a trigger"),
        }
    }
}

/// Reads a program by the sql_mode that it was made with.
pub fn parse(program: &Program, modes: SqlModes) -> Result<Parsed> {
    let text = match program.kind {
        ProgramKind::Procedure | ProgramKind::Function => format!("CREATE {}", routine(program)),
        ProgramKind::Trigger => format!("CREATE {}", trigger(program)),
        // Its schedule is no part of what it does.
        ProgramKind::Event => format!("CREATE PROCEDURE {}() {}", quote(&program.name), program.body),
    };
    let parsed = shoal_parser::parse_first(text.as_bytes(), 0, modes.for_parser());
    let statement = parsed.map_err(|error| syntax_error(&error))?.statement;
    match statement {
        Statement::CreateProcedure(_) | Statement::CreateFunction(_) | Statement::CreateTrigger(_) => {
            Ok(Parsed(statement))
        }
        _ => Err(Error::unknown("a stored program in the dictionary is none")),
    }
}

/// The text behind CREATE DEFINER of SHOW CREATE PROCEDURE and FUNCTION.
pub fn routine(program: &Program) -> String {
    let mut text = format!("{} {}({})", program.kind.word(), quote(&program.name), program.parameters);
    if program.kind == ProgramKind::Function {
        text.push_str(&format!(" RETURNS {}", program.returns));
    }
    text.push('\n');
    if program.data_access != "CONTAINS SQL" {
        text.push_str(&format!("    {}\n", program.data_access));
    }
    if program.is_deterministic {
        text.push_str("    DETERMINISTIC\n");
    }
    if program.is_invokers {
        text.push_str("    SQL SECURITY INVOKER\n");
    }
    if !program.comment.is_empty() {
        text.push_str(&format!("    COMMENT {}\n", crate::ddl::show_create::quoted(program.comment.as_bytes())));
    }
    text.push_str(&program.body);
    text
}

/// That of SHOW CREATE TRIGGER.
pub fn trigger(program: &Program) -> String {
    let place = program.trigger.as_ref();
    let TriggerPlace { table, is_before, event, .. } = place.unwrap_or(&NOWHERE);
    let time = if *is_before { "BEFORE" } else { "AFTER" };
    format!("TRIGGER {} {time} {event} ON {} FOR EACH ROW {}", quote(&program.name), quote(table), program.body)
}

static NOWHERE: TriggerPlace =
    TriggerPlace { table: String::new(), is_before: false, event: String::new(), order: 0 };

/// `CREATE DEFINER=... `.
pub fn create(program: &Program) -> String {
    let (user, host) = &program.definer;
    let what = match program.kind {
        ProgramKind::Trigger => trigger(program),
        ProgramKind::Event => event(program),
        _ => routine(program),
    };
    format!("CREATE DEFINER={}@{} {what}", quote(user), quote(host))
}

/// That of SHOW CREATE EVENT. Times are in the zone that the event was made in.
pub fn event(program: &Program) -> String {
    let Some(schedule) = &program.schedule else { return String::new() };
    let zone = shoal_types::TimeZone::parse(&schedule.zone).unwrap_or(shoal_types::TimeZone::UTC);
    let time = |micros: i64| zone.from_utc_micros(micros, 0).to_string();
    let mut text = format!("EVENT {} ON SCHEDULE ", quote(&program.name));
    match schedule.at_us {
        Some(at) => text.push_str(&format!("AT '{}'", time(at))),
        None => {
            let amount = match schedule.every.parse::<u64>() {
                Ok(_) => schedule.every.clone(),
                Err(_) => format!("'{}'", schedule.every),
            };
            text.push_str(&format!("EVERY {amount} {}", schedule.unit));
            if let Some(starts) = schedule.starts_us {
                text.push_str(&format!(" STARTS '{}'", time(starts)));
            }
            if let Some(ends) = schedule.ends_us {
                text.push_str(&format!(" ENDS '{}'", time(ends)));
            }
        }
    }
    text.push_str(if schedule.is_preserved { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" });
    text.push_str(match schedule.status.as_str() {
        "ENABLED" => " ENABLE",
        "DISABLED" => " DISABLE",
        _ => " DISABLE ON REPLICA",
    });
    if !program.comment.is_empty() {
        text.push_str(&format!(" COMMENT {}", crate::ddl::show_create::quoted(program.comment.as_bytes())));
    }
    text.push_str(&format!(" DO {}", program.body));
    text
}
