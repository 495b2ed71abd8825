//! The SQL side of a process: what sessions share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use shoal_cluster::{Catalog, Node};
use shoal_types::{Error, ErrorCode, Result};

use crate::account::bootstrap;
use crate::account::limits::{AccountSlot, AccountUse};
use crate::account::mandatory_list::MandatoryRoles;
use crate::counters::{COUNTER_NAMES, Counters};
use crate::ddl::publish;
use crate::digests::Digests;
use crate::error_counts::ErrorCounts;
use crate::execute::connection_memory::ConnectionsMemory;
use crate::hosts::Hosts;
use crate::locks::deadlock::LatestDeadlock;
use crate::past_sessions::PastSessions;
use crate::query_log::QueryLogs;
use crate::read_only::ReadOnly;
use crate::session::SessionShared;
use crate::statement_times::StatementTimes;
use crate::table_usage::TableUsage;
use crate::temporary::TemporaryNode;
use crate::user_locks::UserLockTable;
use crate::variables::Globals;

/// What SHOW VARIABLES LIKE 'version' and the handshake say.
pub const VERSION: &str = concat!("8.4.0-Shoal-", env!("CARGO_PKG_VERSION"));

/// The public key for passwords, in PEM.
pub type PublicKey = Box<dyn Fn() -> String + Send + Sync>;

/// The server's side of TLS, as statements ask for it.
pub trait TlsControl: Send + Sync {
    /// Reads the files of certificates again, or says why not.
    fn reload(&self) -> Result<(), String>;
    /// What it serves with at the moment.
    fn facts(&self) -> TlsFacts;
}

/// What status variables tell of it.
#[derive(Clone, Debug, Default)]
pub struct TlsFacts {
    /// From when on the server's certificate is valid, as OpenSSL prints it.
    pub not_before: String,
    /// Until when it is valid.
    pub not_after: String,
    /// Its end in seconds since 1970.
    pub not_after_s: Option<i64>,
    /// The cipher suites that are offered, with colons between them.
    pub ciphers: String,
    /// Clients' certificates are checked.
    pub checks_clients: bool,
}

/// A parameter of the configuration.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// As NDB has it.
    pub name: String,
    /// What becomes of it here.
    pub description: String,
    /// `unsigned`, `bool`, `string` or `enum`.
    pub kind: &'static str,
    /// Empty if there is none.
    pub default: String,
    /// The least and the greatest number.
    pub range: Option<(u64, u64)>,
    /// Empty for one that does what it says.
    pub status: &'static str,
}

/// The configuration, as tables show it.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// All that may be configured; a parameter's number is its place, from 1 on.
    pub parameters: Vec<Parameter>,
    /// What this node has, by parameters' names.
    pub values: Vec<(String, String)>,
}

/// Names and values that an interface adds to SHOW STATUS.
pub type InterfaceStatus = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

/// One per process.
pub struct Server {
    /// The node whose rows it serves.
    pub node: Arc<Node>,
    pub(crate) globals: RwLock<Globals>,
    pub(crate) sessions: Mutex<BTreeMap<u32, Arc<SessionShared>>>,
    /// Counts of sessions that have ended.
    pub(crate) past: Mutex<Vec<u64>>,
    /// The same by account, and what their statements came to.
    pub(crate) past_sessions: PastSessions,
    pub(crate) error_counts: ErrorCounts,
    pub(crate) read_only: ReadOnly,
    /// Logs of statements; whoever stops the process stops them.
    pub query_logs: QueryLogs,
    pub(crate) statement_times: StatementTimes,
    pub(crate) digests: Digests,
    pub(crate) latest_deadlock: LatestDeadlock,
    pub(crate) table_usage: TableUsage,
    pub(crate) temporary: TemporaryNode,
    pub(crate) user_locks: Arc<UserLockTable>,
    pub(crate) account_use: Arc<AccountUse>,
    pub(crate) mandatory_roles: MandatoryRoles,
    pub(crate) hosts: Hosts,
    pub(crate) connections_memory: Arc<ConnectionsMemory>,
    pub(crate) traffic_received: AtomicU64,
    pub(crate) traffic_sent: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) aborted_connects: AtomicU64,
    pub(crate) encrypted_connects: AtomicU64,
    pub(crate) resumed_connects: AtomicU64,
    tls: std::sync::OnceLock<Box<dyn TlsControl>>,
    password_key: std::sync::OnceLock<PublicKey>,
    pub(crate) max_used_connections: AtomicU32,
    pub(crate) admitted: AtomicU32,
    pub(crate) next_id: AtomicU32,
    started: Instant,
    listening: std::sync::OnceLock<(u16, String)>,
    configuration: std::sync::OnceLock<Configuration>,
    pub(crate) interface_status: std::sync::OnceLock<InterfaceStatus>,
}

impl Server {
    /// A server on a node, with the values that global variables start with. It listens nowhere.
    pub fn new(node: Arc<Node>, globals: Globals) -> Arc<Server> {
        let connections_memory = Arc::<ConnectionsMemory>::default();
        connections_memory.set_limit_bytes(globals.global_connection_memory_limit());
        let server = Arc::new(Server {
            node,
            read_only: ReadOnly::of(&globals),
            mandatory_roles: MandatoryRoles::of(&globals),
            query_logs: QueryLogs::default(),
            statement_times: StatementTimes::default(),
            digests: Digests::new(globals.digests_size()),
            latest_deadlock: LatestDeadlock::default(),
            table_usage: TableUsage::default(),
            temporary: TemporaryNode::default(),
            globals: RwLock::new(globals),
            sessions: Mutex::default(),
            past: Mutex::new(vec![0; COUNTER_NAMES.len()]),
            past_sessions: PastSessions::default(),
            error_counts: ErrorCounts::default(),
            user_locks: Arc::default(),
            account_use: Arc::default(),
            hosts: Hosts::default(),
            connections_memory,
            traffic_received: AtomicU64::new(0),
            traffic_sent: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            aborted_connects: AtomicU64::new(0),
            encrypted_connects: AtomicU64::new(0),
            resumed_connects: AtomicU64::new(0),
            tls: std::sync::OnceLock::new(),
            password_key: std::sync::OnceLock::new(),
            max_used_connections: AtomicU32::new(0),
            admitted: AtomicU32::new(0),
            next_id: AtomicU32::new(1),
            started: Instant::now(),
            listening: std::sync::OnceLock::new(),
            configuration: std::sync::OnceLock::new(),
            interface_status: std::sync::OnceLock::new(),
        });
        let told = Arc::downgrade(&server);
        server.node.set_deadlock_hook(Box::new(move |deadlock| {
            if let Some(server) = told.upgrade() {
                server.latest_deadlock.keep(server.all_sessions(), server.clock_micros(), &deadlock);
            }
        }));
        server
    }

    /// What `ndbinfo.config_params` and `config_values` tell. Once.
    pub fn set_configuration(&self, configuration: Configuration) {
        let _ = self.configuration.set(configuration);
    }

    pub(crate) fn configuration(&self) -> Option<&Configuration> {
        self.configuration.get()
    }

    /// What @@port and @@datadir say. The query logs begin.
    pub fn set_listening(&self, port: u16, data_dir: &std::path::Path) {
        let directory = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        let _ = self.listening.set((port, directory.display().to_string()));
        self.query_logs.start(port, &directory, &self.globals.read().unwrap_or_else(PoisonError::into_inner));
    }

    /// What ALTER INSTANCE RELOAD TLS and status variables ask; without it there is no TLS.
    pub fn set_tls(&self, tls: Box<dyn TlsControl>) {
        let _ = self.tls.set(tls);
    }

    /// Where `Caching_sha2_password_rsa_public_key` comes from.
    pub fn set_password_key(&self, key: PublicKey) {
        let _ = self.password_key.set(key);
    }

    pub(crate) fn public_password_key(&self) -> String {
        self.password_key.get().map(|key| key()).unwrap_or_default()
    }

    pub(crate) fn tls_facts(&self) -> Option<TlsFacts> {
        self.tls.get().map(|tls| tls.facts())
    }

    /// # Errors
    /// 3888: the files are not what they must be, or there is no TLS.
    pub(crate) fn reload_tls(&self) -> Result<()> {
        let failed = |why: &str| {
            let text = format!("Failed to set up SSL because of the following SSL library error: {why}");
            Error::new(ErrorCode::SslLibraryError, text)
        };
        let tls = self.tls.get().ok_or_else(|| failed("this server was started without TLS"))?;
        tls.reload().map_err(|why| failed(&why))
    }

    pub(crate) fn listening(&self) -> Option<&(u16, String)> {
        self.listening.get()
    }

    /// Makes what a new data directory lacks: the account root@localhost without a password.
    pub async fn bootstrap(&self) -> Result<()> {
        let left_behind = publish::left_behind(&self.node).await;
        let building = publish::left_building(&self.node).await;
        publish::change(&self.node, |catalog| {
            let mut changes = bootstrap::bootstrap(catalog, &left_behind);
            changes.extend(building.iter().flat_map(|&table| publish::without_building(catalog, table, |_| true)));
            Ok((changes, ()))
        })
        .await
    }

    /// Counts a connection of the account `key` against its limits. Errors: 1203, 1226.
    pub(crate) fn admit_account(&self, catalog: &Catalog, key: &(String, String)) -> Result<Option<AccountSlot>> {
        let Some(user) = catalog.users.get(key) else { return Ok(None) };
        let limit = self.global_text("max_user_connections").parse().unwrap_or(0);
        self.account_use.admit(user, limit)
    }

    /// Picoseconds since the server began, as performance_schema counts time.
    pub(crate) fn picoseconds(&self, moment: Instant) -> u64 {
        self.nanoseconds(moment).saturating_mul(1000)
    }

    pub(crate) fn uptime_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    pub(crate) fn session(&self, id: u32) -> Option<Arc<SessionShared>> {
        self.lock_sessions().get(&id).cloned()
    }

    pub(crate) fn all_sessions(&self) -> Vec<Arc<SessionShared>> {
        self.lock_sessions().values().cloned().collect()
    }

    fn lock_sessions(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Arc<SessionShared>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, session: &Arc<SessionShared>) {
        let mut sessions = self.lock_sessions();
        sessions.insert(session.id, Arc::clone(session));
        self.max_used_connections.fetch_max(sessions.len() as u32, Ordering::Relaxed);
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self, session: &SessionShared) {
        self.lock_sessions().remove(&session.id);
        self.add_past(&session.counters);
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        self.past_sessions.add(&session.user, &session.host, &session.counters, &activity.statements.sums);
    }

    /// A moment as performance_schema counts time: nanoseconds since the server began.
    #[inline]
    pub(crate) fn nanoseconds(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }

    fn add_past(&self, counters: &Counters) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, value) in past.iter_mut().zip(counters.values()) {
            *sum += value;
        }
    }

    /// Status counters of all sessions, past and present.
    pub(crate) fn totals(&self) -> Vec<u64> {
        let sessions = self.lock_sessions();
        let mut sums = self.past.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for session in sessions.values() {
            for (sum, value) in sums.iter_mut().zip(session.counters.values()) {
                *sum += value;
            }
        }
        sums
    }

    /// Microseconds since 1970 UTC.
    pub(crate) fn clock_micros(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
    }
}

/// A database of two partitions in a folder of its own, as it is after its first start.
#[cfg(test)]
pub(crate) async fn started_server() -> (tempfile::TempDir, Arc<Server>) {
    let directory = tempfile::tempdir().unwrap();
    let options = shoal_cluster::NodeOptions {
        partitions: Some(2),
        data_memory: Some(256 << 20),
        background_work: false,
        ..shoal_cluster::NodeOptions::new(directory.path())
    };
    let server = Server::new(Node::open(options).unwrap(), Globals::default());
    server.bootstrap().await.unwrap();
    (directory, server)
}
