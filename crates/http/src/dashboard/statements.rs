//! Sessions of this node as a viewer may see them, and who waits for whom.

use std::sync::Arc;

use serde_json::{Value, json};
use shoal_sql::operators::OperatorSession;
use shoal_sql::server::Server;

use super::AccountKey;

/// Rows that are shown of each.
const SESSIONS_MAX: usize = 200;
const WAITS_MAX: usize = 200;

/// Numbers of transactions are texts: they have more bits than numbers of a browser.
pub fn statements(server: &Arc<Server>, account: &AccountKey) -> Value {
    let (sessions, total) = server.operator_sessions(account, SESSIONS_MAX);
    let sees_all = server.operator_access(account).is_some_and(|access| access.sees_all);
    let waits = if sees_all { server.node.wait_for_graph().list(WAITS_MAX) } else { Vec::new() };
    let waits = waits.iter().map(|wait| {
        json!({
            "waiter": wait.waiter.0.to_string(),
            "blockers": wait.blockers.iter().map(|blocker| blocker.0.to_string()).collect::<Vec<_>>(),
            "millis": wait.since.as_millis() as u64,
        })
    });
    json!({
        "sessions": sessions.iter().map(session).collect::<Vec<_>>(),
        "sessions_in_sight": total,
        "waits": waits.collect::<Vec<_>>(),
    })
}

fn session(session: &OperatorSession) -> Value {
    json!({
        "id": session.id,
        "user": session.user,
        "host": session.host,
        "database": session.database,
        "command": session.command,
        "state": session.state,
        "running": session.is_running(),
        "millis": session.millis,
        "text": session.text,
        "transaction": (session.transaction != 0).then(|| session.transaction.to_string()),
    })
}
