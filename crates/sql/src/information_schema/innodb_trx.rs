//! `information_schema.INNODB_TRX`: transactions that are open.

use shoal_txn::Isolation;
use shoal_types::Value;

use super::Rows;
use super::cell::row;
use crate::account::Privileges;
use crate::locks::names::lock_id;
use crate::locks::transactions::{LockWaits, OpenTransaction, open_transactions};

/// So much of a statement is shown.
const QUERY_CHARS_MAX: usize = 1024;

/// Microseconds since 1970 as a DATETIME of the session's time zone.
pub(super) fn moment(rows: &Rows<'_>, micros: Option<i64>) -> Value {
    micros.map_or(Value::Null, |micros| rows.moment(u64::try_from(micros / 1_000_000).unwrap_or(0)))
}

pub(crate) fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

pub fn transactions(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    if !rows.viewer().is_global(Privileges::PROCESS) {
        return Vec::new();
    }
    let waits = LockWaits::of(rows.server);
    let make = |one: &OpenTransaction| {
        let wanted = waits.wanted_by(one.observed.id).filter(|_| one.has_locks());
        let shown = one.session.as_ref().map(|session| &session.transaction);
        let tables = shown.map_or(0, |shown| shown.table_count());
        let locked = if one.has_locks() { tables } else { 0 };
        row![
            one.id,
            if one.wait_started.is_some() { "LOCK WAIT" } else { "RUNNING" },
            moment(rows, one.started),
            wanted.map(|(partition, lock)| lock_id(partition, lock)),
            moment(rows, one.wait_started),
            one.observed.row_locks + one.observed.writes,
            one.thread(),
            one.query.as_ref().map(|query| query.chars().take(QUERY_CHARS_MAX).collect::<String>()),
            Some(one.state).filter(|state| !state.is_empty()),
            if one.query.is_some() { tables } else { 0 },
            locked,
            one.observed.row_locks + u64::from(locked),
            one.observed.work_bytes,
            one.observed.row_locks,
            one.observed.writes,
            0_u64,
            shown.map_or("REPEATABLE READ", |shown| isolation_name(shown.isolation())),
            1_i64,
            1_i64,
            Value::Null,
            0_i64,
            0_u64,
            i64::from(!one.has_locks()),
            0_i64,
            Value::Null,
        ]
    };
    open_transactions(rows.server).iter().map(make).collect()
}
