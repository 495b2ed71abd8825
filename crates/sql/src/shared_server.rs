//! The server as protocols use it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use shoal_types::Result;

use crate::frontend::{Account, Compressions, ConnectInfo, Entrance, Frontend, LoginOutcome, RefusedLogin};
use crate::query_log::settings::AUDIT;
use crate::query_log::{AuditClass, AuditEntry};
use crate::server::{Server, VERSION};
use crate::session::{Session, too_many_connections};

/// The server as interfaces hold it.
#[derive(Clone)]
pub struct SharedServer(pub Arc<Server>);

impl Frontend for SharedServer {
    type Session = Session;

    fn version(&self) -> &str {
        VERSION
    }

    fn account(&self, user: &str, host: &str) -> Option<Account> {
        crate::account::find(&self.0.node.catalog(), user, host)
    }

    async fn connect(&self, info: ConnectInfo) -> Result<Session> {
        if let Some(database) = &info.database {
            let used = self.0.node.catalog_version();
            if self.0.node.catalog().database(database).is_none() {
                self.0.node.has_newer_catalog(used).await?;
            }
        }
        Session::open(Arc::clone(&self.0), info)
    }

    fn next_connection_id(&self) -> u32 {
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn admit(&self) -> Result<Entrance> {
        let limit = self.0.globals.read().unwrap_or_else(PoisonError::into_inner).max_connections();
        match u64::from(self.0.admitted.fetch_add(1, Ordering::AcqRel)).cmp(&limit) {
            std::cmp::Ordering::Less => Ok(Entrance::Ordinary),
            std::cmp::Ordering::Equal => Ok(Entrance::Spare),
            std::cmp::Ordering::Greater => {
                self.0.admitted.fetch_sub(1, Ordering::AcqRel);
                Err(too_many_connections())
            }
        }
    }

    fn release(&self) {
        self.0.admitted.fetch_sub(1, Ordering::AcqRel);
    }

    fn max_allowed_packet(&self) -> usize {
        self.0.globals.read().unwrap_or_else(PoisonError::into_inner).max_allowed_packet()
    }

    fn connect_timeout_s(&self) -> u64 {
        self.0.globals.read().unwrap_or_else(PoisonError::into_inner).connect_timeout_s()
    }

    fn count_encrypted_connect(&self, is_resumed: bool) {
        self.0.encrypted_connects.fetch_add(1, Ordering::Relaxed);
        self.0.resumed_connects.fetch_add(u64::from(is_resumed), Ordering::Relaxed);
    }

    fn requires_secure_transport(&self) -> bool {
        self.0.global_text("require_secure_transport") == "ON"
    }

    fn compressions(&self) -> Compressions {
        let permitted = self.0.global_text("protocol_compression_algorithms");
        let permits = |name: &str| permitted.split(',').any(|one| one == name);
        Compressions { zlib: permits("zlib"), zstd: permits("zstd"), uncompressed: permits("uncompressed") }
    }

    fn count_traffic(&self, received: u64, sent: u64) {
        self.0.traffic_received.fetch_add(received, Ordering::Relaxed);
        self.0.traffic_sent.fetch_add(sent, Ordering::Relaxed);
    }

    fn before_sleep(&self) {
        self.0.node.flush_before_sleep();
    }

    fn fall_asleep(&self) {
        self.0.node.fall_asleep();
    }

    fn release_memory(&self, seen: u64) -> u64 {
        self.0.node.release_memory(seen)
    }

    fn wake(&self) {
        self.0.node.wake();
    }

    fn check_host(&self, host: &str) -> Result<()> {
        let errors_max = || self.0.global_text("max_connect_errors").parse().unwrap_or(u64::MAX);
        self.0.hosts.check(host, errors_max, self.0.clock_micros())
    }

    fn note_login(&self, host: &str, outcome: LoginOutcome) {
        self.0.hosts.note(host, outcome, self.0.clock_micros());
    }

    fn note_refused_login(&self, refused: RefusedLogin<'_>) {
        let logs = &self.0.query_logs;
        if logs.bits() & AUDIT == 0 {
            return;
        }
        logs.audit(AuditEntry {
            at: self.0.clock_micros(),
            class: AuditClass::Connection,
            event: "failed login",
            connection: refused.connection_id,
            user: refused.user.to_owned(),
            host: refused.host.to_owned(),
            account: String::new(),
            database: String::new(),
            errno: refused.errno,
            text: refused.message.as_bytes().to_vec(),
            trace: String::new(),
            tls: refused.tls,
        });
    }

    fn count_aborted_connect(&self) {
        self.0.aborted_connects.fetch_add(1, Ordering::Relaxed);
    }
}
