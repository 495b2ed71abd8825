//! `performance_schema.metadata_locks` and `sys.schema_table_lock_waits`: who uses tables, and which definitions want them.
//!
//! A transaction that has locked or written something holds its tables as SHARED_WRITE, others as SHARED_READ: what it did to each
//! table by itself is not kept. Of a transaction with very many tables the first are named.

use std::sync::{Arc, PoisonError};

use shoal_types::{TableId, Value};

use super::Rows;
use super::cell::row;
use crate::locks::names::LockNames;
use crate::locks::owners::running;
use crate::session::SessionShared;

/// A session's use of a table, or its wish for it.
struct Held {
    session: Arc<SessionShared>,
    table: TableId,
    kind: &'static str,
    is_granted: bool,
}

impl Held {
    fn status(&self) -> &'static str {
        if self.is_granted { "GRANTED" } else { "PENDING" }
    }

    fn is_exclusive(&self) -> bool {
        self.kind == "EXCLUSIVE"
    }

    /// The other one cannot have the table before this one lets go of it: definitions keep newcomers out from when they ask.
    fn blocks(&self, other: &Held) -> bool {
        let is_in_the_way = self.is_granted && (self.is_exclusive() || other.is_exclusive());
        let comes_first = !self.is_granted && self.is_exclusive() && !other.is_exclusive();
        self.table == other.table && self.session.id != other.session.id && (is_in_the_way || comes_first)
    }
}

fn held(rows: &Rows<'_>) -> Vec<Held> {
    let mut found = Vec::new();
    for session in rows.server.all_sessions() {
        let shown = &session.transaction;
        let kind = if shown.id().is_some() { "SHARED_WRITE" } else { "SHARED_READ" };
        let mut add = |table: TableId, kind: &'static str, is_granted: bool| {
            found.push(Held { session: Arc::clone(&session), table, kind, is_granted });
        };
        shown.tables().into_iter().for_each(|table| add(table, kind, true));
        shown.awaited_table().into_iter().for_each(|table| add(table, kind, false));
        for definition in session.definitions.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            definition.tables.iter().for_each(|&table| add(table, "EXCLUSIVE", definition.is_granted));
        }
    }
    found
}

pub fn metadata_locks(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let names = LockNames::new(&rows.server.node);
    let of_table = |held: &Held| {
        let table = names.table(held.table)?;
        Some(row![
            "TABLE",
            &table.schema.database,
            table.name(),
            Value::Null,
            u64::from(held.table.0),
            held.kind,
            "TRANSACTION",
            held.status(),
            Value::Null,
            u64::from(held.session.id),
            Value::Null,
        ])
    };
    let mut found: Vec<Vec<Value>> = held(rows).iter().filter_map(of_table).collect();
    found.extend(rows.server.user_locks.list().into_iter().map(|(name, connection, is_granted)| {
        row![
            "USER LEVEL LOCK",
            Value::Null,
            name,
            Value::Null,
            0_u64,
            "EXCLUSIVE",
            "EXPLICIT",
            if is_granted { "GRANTED" } else { "PENDING" },
            Value::Null,
            u64::from(connection),
            Value::Null,
        ]
    }));
    found
}

pub fn table_lock_waits(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    waits_with(rows, true)
}

pub fn raw_table_lock_waits(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    waits_with(rows, false)
}

fn waits_with(rows: &Rows<'_>, shortened: bool) -> Vec<Vec<Value>> {
    let names = LockNames::new(&rows.server.node);
    let all = held(rows);
    let mut found = Vec::new();
    for waiting in all.iter().filter(|one| !one.is_granted) {
        let Some(table) = names.table(waiting.table) else { continue };
        let (query, _, since) = running(&waiting.session);
        for blocking in all.iter().filter(|one| one.blocks(waiting)) {
            let (waiter, blocker) = (&waiting.session, &blocking.session);
            found.push(row![
                &table.schema.database,
                table.name(),
                u64::from(waiter.id),
                u64::from(waiter.id),
                format!("{}@{}", waiter.user, waiter.host),
                waiting.kind,
                "TRANSACTION",
                query.as_ref().map(|query| if shortened { format_statement(query) } else { query.clone() }),
                since.elapsed().as_secs() as i64,
                0_u64,
                0_u64,
                u64::from(blocker.id),
                u64::from(blocker.id),
                format!("{}@{}", blocker.user, blocker.host),
                blocking.kind,
                "TRANSACTION",
                format!("KILL QUERY {}", blocker.id),
                format!("KILL {}", blocker.id),
            ]);
        }
    }
    found
}

/// As sys.format_statement() shortens statements: to 64 characters, the middle left out.
pub(super) fn format_statement(text: &str) -> String {
    const CHARS_MAX: usize = 64;
    let line = text.replace('\n', " ");
    let count = line.chars().count();
    if count <= CHARS_MAX {
        return line;
    }
    let kept = CHARS_MAX / 2 - 2;
    let (start, end): (String, String) =
        (line.chars().take(kept).collect(), line.chars().skip(count - kept).collect());
    format!("{start} ... {end}")
}

#[cfg(test)]
mod tests {
    use super::format_statement;

    #[test]
    fn long_statements_lose_their_middle() {
        assert_eq!(format_statement("SELECT\n1"), "SELECT 1");
        let shown = format_statement(&format!("SELECT '{}' FROM t", "ü".repeat(100)));
        assert!(
            shown.starts_with("SELECT 'ü") && shown.ends_with("ü' FROM t") && shown.contains(" ... "),
            "{shown}"
        );
        assert_eq!(shown.chars().count(), 65);
    }
}
