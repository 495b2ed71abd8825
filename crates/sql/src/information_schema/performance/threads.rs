//! `threads`: sessions, and the process's own threads.

use std::sync::{Arc, PoisonError};

use shoal_types::Value;

use super::format::{shown_text, zeros};
use crate::information_schema::{Rows, row};
use crate::session::SessionShared;

/// The process's own threads have their numbers behind this one, sessions those that KILL takes.
const FIRST_OF_PROCESS: u64 = 1 << 32;

pub fn threads(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = of_process();
    found.extend(rows.server.all_sessions().iter().map(of_session));
    found
}

fn of_session(session: &Arc<SessionShared>) -> Vec<Value> {
    let database = session.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
    let mut row = row![
        session.id,
        "thread/sql/one_connection",
        "FOREGROUND",
        session.id,
        &session.user,
        &session.host,
        database,
        activity.command,
        activity.since.elapsed().as_secs() as i64,
        (!activity.state.is_empty()).then_some(activity.state),
        if activity.text.is_empty() { Value::Null } else { shown_text(&activity.text, true) },
        Value::Null,
        Value::Null,
        "YES",
        "YES",
        if session.tls.is_some() { "SSL/TLS" } else { "TCP/IP" },
        session.os_thread,
        Value::Null,
        "PRIMARY",
    ];
    row.extend(zeros(4));
    row.push(Value::str("NO"));
    row
}

/// The threads of the process by the system's names; none where the system does not tell.
fn of_process() -> Vec<Vec<Value>> {
    let Ok(entries) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let mut threads: Vec<(u64, String)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
            Some((number, name.trim().to_owned()))
        })
        .collect();
    threads.sort_unstable();
    threads.into_iter().map(|(number, name)| of_thread(number, &name)).collect()
}

fn of_thread(number: u64, name: &str) -> Vec<Value> {
    let mut row = row![FIRST_OF_PROCESS + number, format!("thread/shoal/{name}"), "BACKGROUND"];
    row.extend(std::iter::repeat_n(Value::Null, 10));
    row.extend(row!["NO", "NO", Value::Null, number, Value::Null, Value::Null]);
    row.extend(zeros(4));
    row.push(Value::str("NO"));
    row
}
