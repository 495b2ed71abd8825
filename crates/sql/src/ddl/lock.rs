//! Metadata locks as definitions take them.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use shoal_cluster::{HeldTables, Table};
use shoal_types::{Result, TableId};

use crate::session::{Session, SessionShared, ShownDefinition};

/// Locks that are given back when this is dropped.
pub struct TableLocks {
    ids: Vec<TableId>,
    // Tables are given back before they are shown as free.
    _exclusive: Option<HeldTables>,
    _shown: Option<ShownLocks>,
}

/// A session's tables as `metadata_locks` shows them, until this is dropped.
struct ShownLocks {
    session: Arc<SessionShared>,
    number: u64,
}

impl ShownLocks {
    fn waiting_for(session: &Arc<SessionShared>, tables: &[TableId]) -> ShownLocks {
        let shown = ShownLocks { session: Arc::clone(session), number: session.next_definition() };
        let definition = ShownDefinition { number: shown.number, tables: tables.to_vec(), is_granted: false };
        shown.definitions().push(definition);
        shown
    }

    fn definitions(&self) -> MutexGuard<'_, Vec<ShownDefinition>> {
        self.session.definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_granted(&self) {
        let mut definitions = self.definitions();
        let own = definitions.iter_mut().find(|one| one.number == self.number);
        own.into_iter().for_each(|one| one.is_granted = true);
    }
}

impl Drop for ShownLocks {
    fn drop(&mut self) {
        self.definitions().retain(|one| one.number != self.number);
    }
}

impl TableLocks {
    /// Whether the table is one of those that are locked. A name can have come to mean another while the locks were waited for.
    pub fn cover(&self, table: &Table) -> bool {
        self.ids.contains(&table.id())
    }
}

/// Waits until no transaction uses these tables, and keeps others from beginning to. Errors: 1205 after lock_wait_timeout, 1317 if
/// the statement is killed.
pub async fn exclusive(session: &Session, tables: &[Arc<Table>]) -> Result<TableLocks> {
    let ids: Vec<TableId> = tables.iter().map(|table| table.id()).collect();
    if tables.is_empty() {
        return Ok(TableLocks { ids, _exclusive: None, _shown: None });
    }
    let timeout = Duration::from_secs(session.variables.lock_wait_timeout_s);
    session.set_activity_state("Waiting for table metadata lock");
    let shown = ShownLocks::waiting_for(&session.shared, &ids);
    let waiting = session.server.node.exclusive_tables(tables, timeout);
    let exclusive = session.shared.interrupt.guard(waiting).await;
    session.set_activity_state("executing");
    let exclusive = exclusive?;
    shown.set_granted();
    Ok(TableLocks { ids, _exclusive: Some(exclusive), _shown: Some(shown) })
}

/// Waits until the outcome of all that was prepared in these tables is known. Errors: as `exclusive`.
pub async fn settle(session: &Session, tables: &[Arc<Table>]) -> Result<()> {
    let timeout = Duration::from_secs(session.variables.lock_wait_timeout_s);
    session.set_activity_state("Waiting for table metadata lock");
    let settled = session.shared.interrupt.guard(session.server.node.settle_tables(tables, timeout)).await;
    session.set_activity_state("executing");
    settled
}

impl Session {
    /// What SHOW PROCESSLIST shows in its State column.
    pub(super) fn set_activity_state(&self, state: &'static str) {
        self.shared.activity.lock().unwrap_or_else(std::sync::PoisonError::into_inner).state = state;
    }
}
