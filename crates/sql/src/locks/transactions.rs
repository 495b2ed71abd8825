//! Transactions of this node's sessions, and those that hold locks in the partitions that it leads.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{ObservedTransaction, ObservedWaits};
use shoal_types::TransactionId;

use super::owners::running;
use crate::server::Server;
use crate::session::SessionShared;

/// Transactions that have locked and written nothing have no id; InnoDB shows numbers beyond this for them, too.
const READ_ONLY_ID: u64 = 1 << 48;

/// A session's transaction, or one that another node's session or another interface has in a partition here.
pub(crate) struct OpenTransaction {
    /// `trx_id`.
    pub id: u64,
    /// What it has in the partitions here.
    pub observed: ObservedTransaction,
    pub session: Option<Arc<SessionShared>>,
    /// Microseconds since 1970; `None`: not known at this node.
    pub started: Option<i64>,
    /// Since when it waits for a lock here.
    pub wait_started: Option<i64>,
    /// The running statement, and what that is doing.
    pub query: Option<String>,
    pub state: &'static str,
}

impl OpenTransaction {
    /// The number that KILL takes; 0: its session is not here.
    pub fn thread(&self) -> u32 {
        self.session.as_ref().map_or(0, |session| session.id)
    }

    pub fn has_locks(&self) -> bool {
        self.observed.id.0 != 0
    }

    /// Whole seconds that it has lasted.
    pub fn age_s(&self, now: i64) -> u64 {
        self.started.map_or(0, |started| seconds_between(started, now))
    }
}

pub(crate) fn seconds_between(started: i64, now: i64) -> u64 {
    u64::try_from(now.saturating_sub(started) / 1_000_000).unwrap_or(0)
}

/// Open transactions, the oldest first; those of which that is not known last.
pub(crate) fn open_transactions(server: &Server) -> Vec<OpenTransaction> {
    let now = server.clock_micros();
    let ago = |time: std::time::Duration| now - i64::try_from(time.as_micros()).unwrap_or(0);
    let waits = server.node.wait_for_graph().list(usize::MAX);
    let waits: HashMap<TransactionId, i64> =
        waits.into_iter().rev().map(|wait| (wait.waiter, ago(wait.since))).collect();
    let mut observed: BTreeMap<TransactionId, ObservedTransaction> =
        server.node.observed_transactions().into_iter().map(|one| (one.id, one)).collect();
    let mut found = Vec::new();
    for session in server.all_sessions() {
        let began = session.began.load(Ordering::Relaxed);
        let id = session.transaction.id();
        if id.is_none() && (began == 0 || session.transaction.table_count() == 0) {
            continue;
        }
        let (query, state, since) = running(&session);
        let nothing = ObservedTransaction::nothing_of(id.unwrap_or(TransactionId(0)));
        found.push(OpenTransaction {
            id: id.map_or(READ_ONLY_ID + u64::from(session.id), |id| id.0),
            observed: id.and_then(|id| observed.remove(&id)).unwrap_or(nothing),
            started: Some(if began == 0 { ago(since.elapsed()) } else { began }),
            wait_started: id.and_then(|id| waits.get(&id).copied()),
            query,
            state,
            session: Some(session),
        });
    }
    found.extend(observed.into_values().map(|observed| OpenTransaction {
        id: observed.id.0,
        session: None,
        started: None,
        wait_started: waits.get(&observed.id).copied(),
        query: None,
        state: "",
        observed,
    }));
    found.sort_by_key(|one| (one.started.is_none(), one.started, one.id));
    found
}

/// Waits for locks, with the lock that each transaction waits for.
pub(crate) struct LockWaits {
    /// By partition.
    pub found: Vec<(u32, ObservedWaits)>,
}

impl LockWaits {
    pub fn of(server: &Server) -> LockWaits {
        LockWaits { found: server.node.observed_lock_waits() }
    }

    /// Every (partition, wanted lock, lock in the way).
    pub fn pairs(
        &self,
    ) -> impl Iterator<Item = (u32, &shoal_cluster::ObservedLock, &shoal_cluster::ObservedLock)> {
        self.found.iter().flat_map(|(partition, waits)| {
            let pair = |&(waiting, blocking): &(usize, usize)| {
                (*partition, &waits.locks[waiting], &waits.locks[blocking])
            };
            waits.edges.iter().map(pair)
        })
    }

    /// What a transaction waits for.
    pub fn wanted_by(&self, id: TransactionId) -> Option<(u32, &shoal_cluster::ObservedLock)> {
        self.found.iter().find_map(|(partition, waits)| {
            let lock = waits.locks.iter().find(|lock| lock.transaction == id && lock.is_waiting)?;
            Some((*partition, lock))
        })
    }
}
