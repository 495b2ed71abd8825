//! Single statements: those that run, and the newest that have ended.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use shoal_types::{ErrorCode, Value};

use super::format::{picoseconds, shown_text, zeros};
use crate::information_schema::{Rows, row};
use crate::session::SessionShared;
use crate::statement_events::Event;

/// `MESSAGE_TEXT` shows so much of an error.
const MESSAGE_CHARS_MAX: usize = 128;

/// What each session runs, or has run last.
pub fn current(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |session: &Arc<SessionShared>| {
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        if activity.command == "Sleep" {
            return activity.statements.last().map(|event| ended(session.id, event));
        }
        let (since, command, text) = (activity.since, activity.command, activity.text.clone());
        let next_id = activity.statements.next_id();
        // Its statement waits for nobody who makes texts fit to be shown.
        drop(activity);
        let database = session.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (began, now) = (rows.server.picoseconds(since), rows.server.picoseconds(Instant::now()));
        let mut row = row![session.id, next_id, Value::Null];
        row.extend(row![kind_of_command(command), Value::Null, began, now, now.saturating_sub(began)]);
        row.extend(row![0_u64, shown_text(&text, true), Value::Null, Value::Null, database]);
        row.extend(std::iter::repeat_n(Value::Null, 4));
        row.extend(row![0_i64, Value::Null, Value::Null]);
        row.extend(zeros(18));
        row.extend(tail());
        Some(row)
    };
    rows.server.all_sessions().iter().filter_map(of).collect()
}

/// What the statement is turns out when it has been read; until then it is what the protocol calls it.
fn kind_of_command(command: &str) -> &'static str {
    if command == "Execute" { "statement/com/Execute" } else { "statement/com/Query" }
}

pub fn history(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |session: &Arc<SessionShared>| -> Vec<Vec<Value>> {
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.statements.history().map(|event| ended(session.id, event)).collect()
    };
    rows.server.all_sessions().iter().flat_map(of).collect()
}

/// Not collected, as by default in MySQL: `setup_consumers` says so.
pub fn history_long(_: &Rows<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

fn ended(session: u32, event: &Event) -> Vec<Value> {
    let identity = event.digest.as_ref().map(|counts| counts.identity());
    let digest = identity.and_then(|identity| identity.digest.as_deref());
    let digest_text = identity.filter(|identity| identity.digest.is_some()).map(|identity| identity.text.as_str());
    let costs = &event.costs;
    let state = ErrorCode::from_errno(costs.errno).map_or(*b"HY000", |code| *code.sqlstate());
    let state = if costs.errno == 0 { *b"00000" } else { state };
    let mut row = row![session, event.id, event.id, event.kind.name(), Value::Null];
    row.extend([event.began_ns, event.ended_ns].map(|ns| Value::UInt(picoseconds(ns))));
    row.push(Value::UInt(picoseconds(event.ended_ns.saturating_sub(event.began_ns))));
    row.extend(row![0_u64, shown_text(event.text(), event.backslashes), digest, digest_text]);
    row.push(if event.database.is_empty() { Value::Null } else { Value::str(event.database.as_str()) });
    row.extend(std::iter::repeat_n(Value::Null, 4));
    let message = event.message.as_ref().map(|text| text.chars().take(MESSAGE_CHARS_MAX).collect::<String>());
    row.extend(row![i64::from(costs.errno), Value::Str(state.to_vec()), message]);
    row.extend(row![u64::from(costs.errno != 0), costs.warnings, costs.rows_affected]);
    row.extend(row![costs.rows_sent, costs.rows_examined]);
    // Temporary tables, joins and ranges; scans; sorts; the index.
    row.extend(zeros(6));
    row.push(Value::UInt(costs.full_scans));
    row.extend(zeros(4));
    row.extend(row![u64::from(costs.full_scans > 0), 0_u64]);
    row.extend(tail());
    row
}

/// NESTING_EVENT_ID to EXECUTION_ENGINE.
fn tail() -> Vec<Value> {
    let mut row = vec![Value::Null, Value::Null, Value::Int(0), Value::Null];
    row.extend(zeros(3));
    row.push(Value::str("PRIMARY"));
    row
}
