//! What belongs to single sessions: attributes, status, system and user variables; and where system variables got their values.

use std::sync::{Arc, PoisonError};

use shoal_types::Value;

use crate::counters::COUNTER_NAMES;
use crate::information_schema::{Rows, row};
use crate::session::SessionShared;
use crate::variables::registry::{self, Kind};

fn attributes_of<'s>(sessions: impl Iterator<Item = &'s Arc<SessionShared>>) -> Vec<Vec<Value>> {
    let of = |session: &Arc<SessionShared>| -> Vec<Vec<Value>> {
        let attributes = session.attributes.iter().enumerate();
        attributes.map(|(place, (name, value))| row![session.id, name, value, place as i64]).collect()
    };
    sessions.flat_map(of).collect()
}

pub fn attributes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    attributes_of(rows.server.all_sessions().iter())
}

/// Those of the reader's own sessions.
pub fn own_attributes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let (user, host) = (&rows.shared.user, &rows.shared.host);
    let own = |session: &&Arc<SessionShared>| session.user == *user && session.host == *host;
    attributes_of(rows.server.all_sessions().iter().filter(own))
}

pub fn status(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |session: &Arc<SessionShared>| -> Vec<Vec<Value>> {
        let counts = COUNTER_NAMES.iter().zip(session.counters.values());
        counts.map(|(name, count)| row![session.id, *name, count.to_string()]).collect()
    };
    rows.server.all_sessions().iter().flat_map(of).collect()
}

pub fn variables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |session: &Arc<SessionShared>| -> Vec<Vec<Value>> {
        let texts = Arc::clone(&session.variables.lock().unwrap_or_else(PoisonError::into_inner));
        let definitions = registry::ALL.iter().filter(|definition| definition.in_session());
        let text = |definition: &registry::Definition| {
            let text = texts.get(definition.name).map_or(definition.default, String::as_str);
            if text == "NULL" { String::new() } else { text.to_owned() }
        };
        definitions.map(|definition| row![session.id, definition.name, text(definition)]).collect()
    };
    rows.server.all_sessions().iter().flat_map(of).collect()
}

pub fn user_variables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for session in rows.server.all_sessions() {
        let variables = session.user_variables.lock().unwrap_or_else(PoisonError::into_inner);
        let mut variables: Vec<_> = variables.iter().collect();
        variables.sort_unstable_by_key(|(name, _)| name.as_str());
        for (name, (value, _)) in variables {
            let text = if value.is_null() { Value::Null } else { Value::Str(value.to_text().to_vec()) };
            found.push(row![session.id, name, text]);
        }
    }
    found
}

/// Where the global values come from: the program, its start, or SET GLOBAL.
pub fn variables_info(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let globals = rows.server.globals.read().unwrap_or_else(PoisonError::into_inner);
    let make = |definition: &registry::Definition| {
        let (least, greatest) = match definition.kind {
            Kind::Integer(least, greatest) => (least.to_string(), greatest.to_string()),
            _ => ("0".to_owned(), "0".to_owned()),
        };
        let set = globals.set_by(definition.name);
        let source = match (set, globals.has(definition.name)) {
            (Some(_), _) => "DYNAMIC",
            (None, true) => "COMMAND_LINE",
            (None, false) => "COMPILED",
        };
        row![
            definition.name,
            source,
            "",
            least,
            greatest,
            set.map_or(Value::Null, |set| Value::DateTime(
                rows.variables.time_zone.from_utc_micros(set.micros, 6)
            )),
            set.map(|set| &set.user),
            set.map(|set| &set.host),
        ]
    };
    registry::ALL.iter().filter(|definition| definition.is_global()).map(make).collect()
}
