//! What others may see of a session, and how they reach it.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shoal_txn::ShownTransaction;
use shoal_types::{SqlType, TableId, Value};

use super::Interrupt;
use crate::counters::Counters;
use crate::definition_stages::Stages;
use crate::frontend::TlsSession;
use crate::profile::Profiles;
use crate::statement_events::SessionStatements;
use crate::variables::SessionVariables;

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
    /// What its client says of itself: name and value.
    pub attributes: Vec<(String, String)>,
    pub(crate) user_variables: Arc<Mutex<UserVariables>>,
    /// The texts of its system variables; what is not here has its default.
    pub(crate) variables: Mutex<Arc<BTreeMap<&'static str, String>>>,
    /// Of its statements; nobody else looks at them.
    pub(crate) profiles: Mutex<Profiles>,
    /// The system's number of the thread that it stays on.
    pub(crate) os_thread: Option<u64>,
}

/// Tables that a definition has for itself.
pub struct ShownDefinition {
    /// Tells a session's definitions apart.
    pub number: u64,
    pub tables: Vec<TableId>,
    /// It has them; otherwise it waits.
    pub is_granted: bool,
}

/// By their names in lower case.
pub type UserVariables = HashMap<String, (Value, SqlType)>;

/// The running statement, for SHOW PROCESSLIST.
pub struct Activity {
    pub command: &'static str,
    pub since: Instant,
    pub text: Vec<u8>,
    pub state: &'static str,
    /// What it has run.
    pub(crate) statements: SessionStatements,
    /// How far its definitions are.
    pub(crate) stages: Stages,
}

impl SessionShared {
    /// A number for a definition that is about to want tables.
    pub fn next_definition(&self) -> u64 {
        let definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        definitions.iter().map(|one| one.number + 1).max().unwrap_or(0)
    }

    /// Others see what its system variables are now.
    pub(crate) fn show_variables(&self, variables: &SessionVariables) {
        *self.variables.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&variables.texts);
    }

    /// It is at work on a statement.
    pub fn is_running(&self) -> bool {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).command != "Sleep"
    }
}
