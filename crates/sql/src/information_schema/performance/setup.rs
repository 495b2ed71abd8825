//! What is collected: `setup_actors`, `setup_consumers` and their like. It is fixed, so nobody changes them.

use shoal_types::Value;

use crate::definition_stages::StageKind;
use crate::information_schema::{DATABASES, Rows, row};
use crate::statement_events::EventKind;

/// The instrument of rows read and written.
const TABLE_IO: &str = "wait/io/table/sql/handler";

pub fn actors(_: &Rows<'_>) -> Vec<Vec<Value>> {
    vec![row!["%", "%", "%", "YES", "YES"]]
}

pub fn consumers(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let digests = rows.server.digests.is_on();
    let consumers = [
        ("events_stages_current", true),
        ("events_stages_history", true),
        ("events_stages_history_long", false),
        ("events_statements_cpu", false),
        ("events_statements_current", true),
        ("events_statements_history", true),
        ("events_statements_history_long", false),
        ("events_transactions_current", false),
        ("events_transactions_history", false),
        ("events_transactions_history_long", false),
        ("events_waits_current", false),
        ("events_waits_history", false),
        ("events_waits_history_long", false),
        ("global_instrumentation", true),
        ("thread_instrumentation", true),
        ("statements_digest", digests),
    ];
    consumers.map(|(name, is_on)| row![name, if is_on { "YES" } else { "NO" }]).into()
}

pub fn instruments(_: &Rows<'_>) -> Vec<Vec<Value>> {
    let io = row![TABLE_IO, "YES", "NO", "", "", 0_i64, "Rows are counted, without their times"];
    let errors = row!["error", "YES", Value::Null, "global_statistics", "", 0_i64, Value::Null];
    let statement = |kind: &EventKind| row![kind.name(), "YES", "YES", "", "", 0_i64, Value::Null];
    let stage = |kind: &StageKind| row![kind.name(), "YES", "YES", "progress", "", 0_i64, Value::Null];
    let statements = EventKind::ALL.iter().map(statement);
    [errors].into_iter().chain(StageKind::ALL.iter().map(stage)).chain(statements).chain([io]).collect()
}

/// Rows of virtual tables are not counted.
pub fn objects(_: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found: Vec<Vec<Value>> =
        DATABASES.iter().map(|database| row!["TABLE", *database, "%", "NO", "NO"]).collect();
    found.push(row!["TABLE", "%", "%", "YES", "NO"]);
    found
}

pub fn threads(_: &Rows<'_>) -> Vec<Vec<Value>> {
    vec![row!["thread/sql/one_connection", "YES", "YES", "user", 0_i64, Value::Null]]
}

/// Times are kept by a clock of nanoseconds.
pub fn timers(_: &Rows<'_>) -> Vec<Vec<Value>> {
    vec![row!["NANOSECOND", 1_000_000_000_i64, 1_i64, Value::Null]]
}
