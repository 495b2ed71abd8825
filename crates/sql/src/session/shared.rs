//! What others may see of a session, and how they reach it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

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
    /// The number of the transaction that holds locks; 0: none.
    pub transaction: Arc<AtomicU64>,
}

/// The running statement, for SHOW PROCESSLIST.
pub struct Activity {
    pub command: &'static str,
    pub since: Instant,
    pub text: Vec<u8>,
    pub state: &'static str,
}

impl SessionShared {
    /// It is at work on a statement.
    pub fn is_running(&self) -> bool {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).command != "Sleep"
    }
}
