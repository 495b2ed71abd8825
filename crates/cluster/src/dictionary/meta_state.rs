//! What a node keeps for the dictionary of its cluster (`meta_group`).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use shoal_types::{NodeId, TableId};

use crate::base::wait::lock;
use crate::dictionary::metadata_lock::ExclusiveTables;

/// What is kept for other nodes, by node and token.
pub(super) type KeptFor<T> = Mutex<HashMap<(NodeId, u64), T>>;

/// Locks, the tokens of locks, and what is under way.
#[derive(Default)]
pub(crate) struct MetaState {
    pub(crate) changing: tokio::sync::Mutex<()>,
    pub(crate) compacting: tokio::sync::Mutex<()>,
    pub(crate) fetching: tokio::sync::Mutex<()>,
    pub(crate) reconciling: tokio::sync::Mutex<()>,
    pub(crate) sequences: tokio::sync::Mutex<()>,
    pub(super) definitions: Arc<tokio::sync::Mutex<()>>,
    pub(super) definers: KeptFor<tokio::sync::OwnedMutexGuard<()>>,
    /// Tables that definitions of other nodes have for themselves.
    pub(super) tables: KeptFor<ExclusiveTables>,
    next_token: AtomicU64,
    /// Tokens under which this node wants, or has, locks at other nodes.
    pub(super) wanted: Arc<Mutex<HashSet<u64>>>,
    pub(super) is_checking_locks: AtomicBool,
    /// Tables that statements of this node are filling and nobody else sees yet.
    pub(super) being_filled: Arc<Mutex<HashSet<TableId>>>,
}

/// Tables that a statement is filling, until this is dropped: nobody takes them for what a crash has left behind.
pub struct BeingFilled {
    pub(super) tables: Vec<TableId>,
    pub(super) all: Arc<Mutex<HashSet<TableId>>>,
}

impl Drop for BeingFilled {
    fn drop(&mut self) {
        let mut all = lock(&self.all);
        for table in &self.tables {
            all.remove(table);
        }
    }
}

/// A token is wanted until this is dropped.
pub(crate) struct WantedToken {
    token: u64,
    wanted: Arc<Mutex<HashSet<u64>>>,
}

impl WantedToken {
    pub(crate) fn get(&self) -> u64 {
        self.token
    }
}

impl MetaState {
    /// A token that no other process has ever used, earlier ones of this node included.
    pub(crate) fn new_token(&self, incarnation: u64) -> WantedToken {
        let token = incarnation.wrapping_add(self.next_token.fetch_add(1, Ordering::Relaxed));
        lock(&self.wanted).insert(token);
        WantedToken { token, wanted: Arc::clone(&self.wanted) }
    }
}

impl Drop for WantedToken {
    fn drop(&mut self) {
        lock(&self.wanted).remove(&self.token);
    }
}
