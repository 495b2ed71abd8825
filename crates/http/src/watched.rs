//! The node as this server knows it: how far its process has come, and the node itself once it is open.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use shoal_sql::server::Server;

use crate::dashboard::{Accounts, Dashboard};
use crate::profiles::{HeapProfile, Profiles};
use crate::rest::Rest;

/// How far the process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// The data directory is being read back.
    Opening,
    /// The node is open and waits for others, or for its accounts.
    Starting,
    /// The ready line has been printed.
    Serving,
    /// An orderly end has begun.
    Stopping,
}

impl Stage {
    /// As answers say it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Opening => "opening",
            Stage::Starting => "starting",
            Stage::Serving => "serving",
            Stage::Stopping => "stopping",
        }
    }
}

const STAGES: [Stage; 4] = [Stage::Opening, Stage::Starting, Stage::Serving, Stage::Stopping];

/// Shared by the command line, which tells, and the HTTP server, which shows.
#[derive(Default)]
pub struct Watched {
    stage: AtomicU8,
    server: OnceLock<Arc<Server>>,
    /// Bytes of the data directory that have been read back, of so many.
    recovered_bytes: AtomicU64,
    recovery_bytes: AtomicU64,
    pub(crate) http: HttpCounters,
    pub(crate) dashboard: Dashboard,
    pub(crate) rest: Rest,
    pub(crate) profiles: Profiles,
    since: OnceLock<Instant>,
}

/// What this server counts of itself.
#[derive(Default)]
pub(crate) struct HttpCounters {
    pub requests: AtomicU64,
    pub refused_connections: AtomicU64,
}

impl Watched {
    pub fn new() -> Arc<Watched> {
        let watched = Watched::default();
        let _ = watched.since.set(Instant::now());
        Arc::new(watched)
    }

    /// The process has come further. Stages never go back.
    pub fn reach(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
    }

    pub fn stage(&self) -> Stage {
        STAGES[usize::from(self.stage.load(Ordering::Acquire)).min(STAGES.len() - 1)]
    }

    /// The node is open. Once.
    pub fn set_server(&self, server: &Arc<Server>) {
        let _ = self.server.set(Arc::clone(server));
        self.reach(Stage::Starting);
    }

    /// Who may log in to the page. Once.
    pub fn set_accounts(&self, accounts: Box<dyn Accounts>) {
        self.dashboard.set_accounts(accounts);
    }

    /// Rows are read and written over HTTP, too.
    pub fn turn_rest_on(&self) {
        self.rest.turn_on();
    }

    /// Profiles of the process are taken over HTTP, too; `heap`: if the allocator has one.
    pub fn turn_profiles_on(&self, heap: Option<HeapProfile>) {
        self.profiles.turn_on(heap);
    }

    pub fn server(&self) -> Option<&Arc<Server>> {
        self.server.get()
    }

    pub fn note_recovery(&self, done_bytes: u64, total_bytes: u64) {
        self.recovered_bytes.store(done_bytes, Ordering::Relaxed);
        self.recovery_bytes.store(total_bytes, Ordering::Relaxed);
    }

    /// Bytes that have been read back, and that are to be.
    pub fn recovery(&self) -> (u64, u64) {
        (self.recovered_bytes.load(Ordering::Relaxed), self.recovery_bytes.load(Ordering::Relaxed))
    }

    pub fn uptime_s(&self) -> f64 {
        self.since.get().map_or(0.0, |since| since.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_never_go_back() {
        let watched = Watched::new();
        assert_eq!(watched.stage(), Stage::Opening);
        watched.reach(Stage::Stopping);
        watched.reach(Stage::Serving);
        assert_eq!(watched.stage(), Stage::Stopping);
    }
}
