//! Stages of definitions: those that go on, and the newest that have ended.

use std::sync::PoisonError;
use std::time::Instant;

use shoal_types::Value;

use crate::definition_stages::Stage;
use crate::information_schema::{Rows, row};

pub fn current(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_sessions(rows, |stages| stages.current.iter().cloned().collect())
}

pub fn history(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    of_sessions(rows, |stages| stages.history.iter().cloned().collect())
}

fn of_sessions(
    rows: &Rows<'_>,
    choose: impl Fn(&crate::definition_stages::Stages) -> Vec<Stage>,
) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for session in rows.server.all_sessions() {
        // Times are made when the session's lock is free again.
        let stages = choose(&session.activity.lock().unwrap_or_else(PoisonError::into_inner).stages);
        found.extend(stages.iter().map(|stage| shown(rows, session.id, stage)));
    }
    found
}

fn shown(rows: &Rows<'_>, session: u32, stage: &Stage) -> Vec<Value> {
    let began = rows.server.picoseconds(stage.began);
    let ended = rows.server.picoseconds(stage.ended.unwrap_or_else(Instant::now));
    let end_id = stage.ended.map(|_| stage.statement);
    row![
        session,
        stage.statement,
        end_id,
        stage.kind.name(),
        Value::Null,
        began,
        ended,
        ended.saturating_sub(began),
        stage.completed,
        stage.estimated,
        stage.statement,
        "STATEMENT",
    ]
}
