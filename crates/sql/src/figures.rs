//! What monitoring is shown of statements and connections.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::counters::COUNTER_NAMES;
use crate::server::Server;
use crate::statement_times::{KIND_NAMES, Times};

/// Figures of a process with sessions, since it began or as they are now.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// What sessions count, past and present, by the names of SHOW STATUS.
    pub counters: Vec<(&'static str, u64)>,
    /// How long statements took, by kind.
    pub times: Vec<(&'static str, Times)>,
    /// Sessions that there are.
    pub sessions: usize,
    /// Those that are at work on a statement.
    pub sessions_running: usize,
    /// max_connections.
    pub sessions_limit: u64,
    /// The most that there have been at once.
    pub sessions_most: u32,
    /// All that were begun.
    pub sessions_begun: u64,
    /// Connections that ended before a session.
    pub login_failures: u64,
    /// Connections with TLS.
    pub tls_connections: u64,
    /// Bytes from MySQL clients.
    pub received_bytes: u64,
    /// Bytes to them.
    pub sent_bytes: u64,
    /// When the server's certificate ends, in seconds since 1970.
    pub certificate_end_s: Option<i64>,
    /// Entries that never reached the file of their query log.
    pub query_log_lost: u64,
    /// What other interfaces add to SHOW STATUS.
    pub interfaces: Vec<(&'static str, u64)>,
}

impl Figures {
    /// A counter by its name in SHOW STATUS; 0 if there is none.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }
}

impl Server {
    /// What monitoring is shown of statements and connections.
    pub fn figures(&self) -> Figures {
        let sessions = self.all_sessions();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            counters: COUNTER_NAMES.iter().copied().zip(self.totals()).collect(),
            times: KIND_NAMES.into_iter().zip(self.statement_times.merged()).collect(),
            sessions: sessions.len(),
            sessions_running: sessions.iter().filter(|session| session.is_running()).count(),
            sessions_limit: self.global_text("max_connections").parse().unwrap_or(0),
            sessions_most: self.max_used_connections.load(Ordering::Relaxed),
            sessions_begun: read(&self.connections),
            login_failures: read(&self.aborted_connects),
            tls_connections: read(&self.encrypted_connects),
            received_bytes: read(&self.traffic_received),
            sent_bytes: read(&self.traffic_sent),
            certificate_end_s: self.tls_facts().and_then(|facts| facts.not_after_s),
            query_log_lost: self.query_logs.lost(),
            interfaces: self.status_of_interfaces(),
        }
    }
}
