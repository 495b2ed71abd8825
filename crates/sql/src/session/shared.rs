//! What others may see of a session, and how they reach it.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::Interrupt;
use crate::counters::Counters;

/// A session as others know it.
pub struct SessionShared {
    pub id: u32,
    pub user: String,
    pub host: String,
    /// Protocol and cipher of TLS.
    pub cipher: Option<(&'static str, String)>,
    pub database: Mutex<Option<String>>,
    pub interrupt: Interrupt,
    pub counters: Counters,
    pub activity: Mutex<Activity>,
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
