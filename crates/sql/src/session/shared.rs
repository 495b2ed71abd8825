//! What others may see of a session, and how they reach it.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shoal_txn::ShownTransaction;
use shoal_types::TableId;

use super::Interrupt;
use crate::counters::Counters;
use crate::frontend::TlsSession;

/// A session as others know it.
pub struct SessionShared {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub tls: Option<TlsSession>,
    /// Name and level.
    pub compression: Option<(&'static str, u8)>,
    pub database: Mutex<Option<String>>,
    pub interrupt: Interrupt,
    pub counters: Counters,
    pub activity: Mutex<Activity>,
    pub transaction: Arc<ShownTransaction>,
    /// When BEGIN was said, in microseconds since 1970; 0: the transaction is that of the running statement.
    pub began: AtomicI64,
    /// Tables that its definitions have for themselves, or wait for.
    pub definitions: Mutex<Vec<ShownDefinition>>,
}

/// Tables that a definition has for itself.
pub struct ShownDefinition {
    /// Tells a session's definitions apart.
    pub number: u64,
    pub tables: Vec<TableId>,
    /// It has them; otherwise it waits.
    pub is_granted: bool,
}

/// The running statement, for SHOW PROCESSLIST.
pub struct Activity {
    pub command: &'static str,
    pub since: Instant,
    pub text: Vec<u8>,
    pub state: &'static str,
}

impl SessionShared {
    /// A number for a definition that is about to want tables.
    pub fn next_definition(&self) -> u64 {
        let definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        definitions.iter().map(|one| one.number + 1).max().unwrap_or(0)
    }

    /// It is at work on a statement.
    pub fn is_running(&self) -> bool {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).command != "Sleep"
    }
}
