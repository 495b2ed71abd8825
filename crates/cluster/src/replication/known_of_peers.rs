//! What transactions over several nodes need to know of each other (`coordination`).

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use shoal_replication::PeerHorizons;
use shoal_types::{TableId, TransactionId};

/// What this node knows of transactions and rows on the other nodes.
#[derive(Debug, Default)]
pub(crate) struct KnownOfPeers {
    pub(super) horizons: Mutex<PeerHorizons>,
    /// Transactions of this node's sessions that have a part on other nodes.
    pub(super) coordinated: Mutex<HashSet<TransactionId>>,
    /// Rows of tables in the partitions that others lead, as they said last.
    pub(super) rows: Mutex<HashMap<(u32, TableId), u64>>,
}
