//! `sys.innodb_lock_waits`: who waits for whose lock of a row, and how to end that.

use std::collections::HashMap;

use shoal_types::{Time, TransactionId, Value};

use super::Rows;
use super::cell::row;
use super::innodb_trx::moment;
use super::metadata_locks::format_statement;
use crate::locks::names::{LockNames, lock_id, lock_mode};
use crate::locks::transactions::{LockWaits, OpenTransaction, open_transactions, seconds_between};

fn duration(seconds: u64) -> Value {
    Value::Time(Time::from_micros(i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX), 0).value)
}

pub fn lock_waits(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    waits_with(rows, true)
}

pub fn raw_lock_waits(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    waits_with(rows, false)
}

/// The longest wait first.
fn waits_with(rows: &Rows<'_>, shortened: bool) -> Vec<Vec<Value>> {
    let now = rows.server.clock_micros();
    let names = LockNames::new(&rows.server.node);
    let waits = LockWaits::of(rows.server);
    let open: HashMap<TransactionId, OpenTransaction> =
        open_transactions(rows.server).into_iter().map(|one| (one.observed.id, one)).collect();
    let query = |one: &OpenTransaction| {
        one.query.as_ref().map(|query| if shortened { format_statement(query) } else { query.clone() })
    };
    let mut found = Vec::new();
    for (partition, wanted, blocking) in waits.pairs() {
        let (waiter, blocker) = (open.get(&wanted.transaction), open.get(&blocking.transaction));
        let (Some(place), Some(waiter), Some(blocker)) = (names.place(wanted), waiter, blocker) else { continue };
        let waited = waiter.wait_started.map_or(0, |started| seconds_between(started, now));
        let (database, table) = (place.database(), place.table.name());
        let row = row![
            moment(rows, waiter.wait_started),
            duration(waited),
            waited as i64,
            format!("`{}`.`{}`", database.replace('`', "``"), table.replace('`', "``")),
            database,
            table,
            format!("p{partition}"),
            Value::Null,
            place.index_name(),
            "RECORD",
            waiter.id,
            moment(rows, waiter.started),
            duration(waiter.age_s(now)),
            waiter.observed.row_locks,
            waiter.observed.writes,
            waiter.thread(),
            query(waiter),
            lock_id(partition, wanted),
            lock_mode(wanted),
            blocker.id,
            blocker.thread(),
            query(blocker),
            lock_id(partition, blocking),
            lock_mode(blocking),
            moment(rows, blocker.started),
            duration(blocker.age_s(now)),
            blocker.observed.row_locks,
            blocker.observed.writes,
            blocker.session.as_ref().map(|session| format!("KILL QUERY {}", session.id)),
            blocker.session.as_ref().map(|session| format!("KILL {}", session.id)),
        ];
        found.push((waiter.wait_started, row));
    }
    found.sort_by_key(|(started, _)| (started.is_none(), *started));
    found.into_iter().map(|(_, row)| row).collect()
}
