//! TRUNCATE of tables of performance_schema: what was counted is forgotten.

use std::sync::PoisonError;

use crate::information_schema;
use crate::server::Server;

/// What emptying a table does.
type Forget = fn(&Server);

/// Tables that can be emptied, by their names, and what that does. Summaries of statements by account, host, user, thread and of all
/// are sums of the same counts, so they are emptied together.
const FORGETTABLE: &[(&str, Forget)] = &[
    ("accounts", |server| server.past_sessions.forget_owners()),
    ("events_errors_summary_global_by_error", |server| server.error_counts.clear()),
    ("events_statements_histogram_by_digest", |server| server.digests.clear()),
    ("events_statements_histogram_global", |server| server.statement_times.forget_histogram()),
    ("events_statements_history", forget_history),
    ("events_statements_history_long", |_| ()),
    ("events_statements_summary_by_account_by_event_name", forget_statements),
    ("events_statements_summary_by_digest", |server| server.digests.clear()),
    ("events_statements_summary_by_host_by_event_name", forget_statements),
    ("events_statements_summary_by_thread_by_event_name", forget_statements),
    ("events_statements_summary_by_user_by_event_name", forget_statements),
    ("events_statements_summary_global_by_event_name", forget_statements),
    ("host_cache", |server| server.hosts.clear()),
    ("hosts", |server| server.past_sessions.forget_owners()),
    ("objects_summary_global_by_type", |server| server.table_usage.clear()),
    ("prepared_statements_instances", forget_prepared),
    ("events_stages_history", forget_stages),
    ("status_by_account", |server| server.past_sessions.forget_status()),
    ("status_by_host", |server| server.past_sessions.forget_status()),
    ("status_by_user", |server| server.past_sessions.forget_status()),
    ("table_io_waits_summary_by_index_usage", |server| server.table_usage.clear()),
    ("table_io_waits_summary_by_table", |server| server.table_usage.clear()),
    ("users", |server| server.past_sessions.forget_owners()),
];

/// What tables begin with that MySQL lets be emptied and that have no rows here.
const EMPTY: &[&str] = &[
    "events_stages_",
    "events_transactions_",
    "events_waits_",
    "file_summary_",
    "memory_summary_",
    "socket_summary_",
    "table_lock_waits_summary_",
];

/// The table of performance_schema of this name, if its rows can be forgotten, and how.
pub fn forgettable(database: &str, name: &str) -> Option<(&'static str, Forget)> {
    if !database.eq_ignore_ascii_case("performance_schema") {
        return None;
    }
    if let Some(found) = FORGETTABLE.iter().find(|(table, _)| table.eq_ignore_ascii_case(name)) {
        return Some(*found);
    }
    let table = information_schema::table_name(information_schema::virtual_table(database, name).ok()??);
    EMPTY.iter().any(|beginning| table.starts_with(beginning)).then_some((table, |_| ()))
}

fn forget_history(server: &Server) {
    for session in server.all_sessions() {
        session.activity.lock().unwrap_or_else(PoisonError::into_inner).statements.forget_history();
    }
}

fn forget_stages(server: &Server) {
    for session in server.all_sessions() {
        session.activity.lock().unwrap_or_else(PoisonError::into_inner).stages.history.clear();
    }
}

fn forget_statements(server: &Server) {
    server.past_sessions.forget_statements();
    for session in server.all_sessions() {
        session.activity.lock().unwrap_or_else(PoisonError::into_inner).statements.sums.clear();
    }
}

fn forget_prepared(server: &Server) {
    for session in server.all_sessions() {
        let mut activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.statements.prepared.values_mut().for_each(|prepared| prepared.sums = Default::default());
    }
}
