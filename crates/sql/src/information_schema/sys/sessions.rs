//! `processlist` and `session`: what each session runs, and has run last.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use shoal_types::Value;

use super::format::Form;
use crate::information_schema::performance::format::shown_text;
use crate::information_schema::{Rows, row};
use crate::session::SessionShared;

pub fn processlist(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    make(rows, Form::ForPeople)
}

pub fn raw_processlist(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    make(rows, Form::Raw)
}

/// Sessions are all that `processlist` lists: the process's own threads run no statements.
pub fn session(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    make(rows, Form::ForPeople)
}

pub fn raw_session(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    make(rows, Form::Raw)
}

/// Those that have been at it for longest first.
fn make(rows: &Rows<'_>, form: Form) -> Vec<Vec<Value>> {
    let since =
        |session: &Arc<SessionShared>| session.activity.lock().unwrap_or_else(PoisonError::into_inner).since;
    let mut sessions = rows.server.all_sessions();
    sessions.sort_by_cached_key(since);
    sessions.iter().map(|session| of_session(session, form)).collect()
}

fn of_session(session: &Arc<SessionShared>, form: Form) -> Vec<Value> {
    let database = session.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
    let is_idle = activity.command == "Sleep";
    let last = activity.statements.last();
    // As in MySQL the figures of an idle session are those of its last statement.
    let costs = last.filter(|_| is_idle).map(|event| event.costs);
    let last_ns = last.map(|event| event.ended_ns.saturating_sub(event.began_ns));
    let running_ns = Instant::now().saturating_duration_since(activity.since).as_nanos() as u64;
    let latency = if is_idle { last_ns } else { Some(running_ns) };
    let current = if is_idle { Value::Null } else { shown_text(&activity.text, true) };
    let last_text =
        last.filter(|_| is_idle).map_or(Value::Null, |event| shown_text(event.text(), event.backslashes));
    let attribute = |wanted: &str| {
        let found = session.attributes.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone())
    };
    let mut row = row![session.id, session.id, format!("{}@{}", session.user, session.host), database];
    row.extend(row![activity.command, (!activity.state.is_empty()).then_some(activity.state)]);
    row.extend(row![activity.since.elapsed().as_secs() as i64, current, "PRIMARY"]);
    row.push(latency.map_or(Value::Null, |ns| form.time(ns)));
    row.extend([Value::Null, form.time(0), form.time(0)]);
    row.extend(row![costs.map(|costs| costs.rows_examined), costs.map(|costs| costs.rows_sent)]);
    row.extend(row![costs.map(|costs| costs.rows_affected), 0_u64, 0_u64]);
    row.push(Value::str(if costs.is_some_and(|costs| costs.full_scans > 0) { "YES" } else { "NO" }));
    row.extend([last_text, last_ns.filter(|_| is_idle).map_or(Value::Null, |ns| form.time(ns)), form.no_bytes()]);
    row.extend(std::iter::repeat_n(Value::Null, 6));
    row.extend(row![attribute("_pid"), attribute("program_name")]);
    row
}
