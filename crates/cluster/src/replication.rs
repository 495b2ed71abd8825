//! Replication: the groups that partitions are. A commit is what a group has agreed on; a group of one agrees with itself.
//!
//! [`driver`] does what a partition's outputs ask for, [`completion`] hands the durable log back to the partitions, [`commit`] and
//! [`two_phase`] bring entries into the log. [`leases`] tells who serves, [`hand_over`] changes that between transactions, [`agreement`] after
//! a crash of everything. [`transfer`] brings replicas up to date whose logs end too early.

pub(crate) mod agreement;
pub(crate) mod checkpoint;
pub(crate) mod commit;
pub(crate) mod completion;
pub(crate) mod completion_buffers;
pub(crate) mod coordination;
pub(crate) mod driver;
pub(crate) mod hand_over;
pub(crate) mod known_of_peers;
pub(crate) mod leading;
pub(crate) mod leases;
pub(crate) mod transfer;
pub(crate) mod transfers;
pub(crate) mod two_phase;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use shoal_log::Lsn;
use shoal_partition::Millis;
use shoal_replication::{Agreements, OnDisk, Unsent};
use shoal_types::{NodeId, Timestamp, TransactionId};

use crate::base::clock::{micros_of, since_boot, wall_micros};
use crate::base::handle::Handle;
use crate::membership::links::Operations;
use crate::membership::peers::Membership;
use crate::membership::remote::Remote;
use crate::replication::completion_buffers::CompletionBuffers;
use crate::replication::known_of_peers::KnownOfPeers;
use crate::replication::leading::Leading;
use crate::replication::transfers::Transfers;
use crate::storage::Storage;

/// What replicating a partition keeps besides the partition itself.
#[repr(align(128))]
struct ReplicaCell {
    /// The term in which this replica leads and serves: its clock has been moved beyond the snapshots that its predecessor
    /// may have shown.
    serving_term: AtomicU64,
    unsent: Mutex<Unsent>,
    on_disk: Mutex<OnDisk<Lsn>>,
    /// The lane by which its messages go.
    lane: AtomicU32,
    leading: Leading,
}

impl ReplicaCell {
    fn new(partition: u32, replicas: &[NodeId]) -> ReplicaCell {
        ReplicaCell {
            serving_term: AtomicU64::new(0),
            unsent: Mutex::default(),
            on_disk: Mutex::default(),
            lane: AtomicU32::new(partition),
            leading: Leading::new(replicas),
        }
    }
}

/// The layer above storage, and beside that above membership.
pub struct Replication {
    storage: Storage,
    /// What this node knows of the cluster that it belongs to.
    cluster: Option<Arc<Membership>>,
    replicas: Box<[ReplicaCell]>,
    completion: Mutex<CompletionBuffers>,
    remote: OnceLock<Arc<dyn Remote>>,
    peers: KnownOfPeers,
    operations: OnceLock<Arc<dyn Operations>>,
    next_transaction: AtomicU64,
    /// The replicas of this node's data directory have taken part in the cluster: what they do not know, others do.
    initialised: AtomicBool,
    /// They have been found to know all that they ever promised, and the data directory says so.
    noted_whole: AtomicBool,
    /// Partitions that this node begins to lead, and their terms: it asks who reads which snapshots.
    asking: Mutex<BTreeSet<(u32, u64)>>,
    /// What voters have agreed on, this incarnation of this node among them.
    agreements: Mutex<Agreements>,
    transfers: Transfers,
    /// The node is about to stop and should lead nothing.
    draining: AtomicBool,
    /// A partition is being handed over.
    hand_overs: AtomicBool,
    /// When it was looked at last where the work comes from, in milliseconds of this process.
    looked_at: AtomicU64,
    /// Background work is to end: the node is being closed.
    closing: AtomicBool,
    handle: Handle<Replication>,
}

impl Deref for Replication {
    type Target = Storage;

    #[inline]
    fn deref(&self) -> &Storage {
        &self.storage
    }
}

impl Replication {
    /// `initialised`: the replicas have taken part in the cluster.
    pub(crate) fn new(
        storage: Storage,
        cluster: Option<Arc<Membership>>,
        initialised: bool,
        handle: Handle<Replication>,
    ) -> Replication {
        let cell = |partition: u32| {
            let placement = cluster.as_ref().map(|cluster| cluster.options.placement(partition));
            ReplicaCell::new(partition, &placement.map_or(Vec::new(), |placement| placement.replicas))
        };
        Replication {
            replicas: (0..storage.all_partitions() as u32).map(cell).collect(),
            completion: Mutex::default(),
            remote: OnceLock::new(),
            peers: KnownOfPeers::default(),
            operations: OnceLock::new(),
            next_transaction: AtomicU64::new(first_transaction_id(storage.clock().latest())),
            initialised: AtomicBool::new(initialised),
            noted_whole: AtomicBool::new(false),
            asking: Mutex::default(),
            agreements: Mutex::default(),
            transfers: Transfers::default(),
            draining: AtomicBool::new(false),
            hand_overs: AtomicBool::new(false),
            looked_at: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            cluster,
            storage,
            handle,
        }
    }

    /// The other nodes and this node's place among them.
    #[inline]
    pub fn cluster(&self) -> Option<&Arc<Membership>> {
        self.cluster.as_ref()
    }

    /// What executes operations that other nodes ask for. Once, before the links are up.
    pub fn set_operations(&self, operations: Arc<dyn Operations>) {
        let _ = self.operations.set(operations);
    }

    pub(crate) fn operations(&self) -> Option<&Arc<dyn Operations>> {
        self.operations.get()
    }

    pub(crate) fn coordinator_gone(&self, peer: NodeId) {
        if let Some(operations) = self.operations.get() {
            operations.coordinator_gone(peer);
        }
    }

    pub fn next_transaction_id(&self) -> TransactionId {
        TransactionId(self.next_transaction.fetch_add(1, Ordering::Relaxed))
    }

    /// The clock that leases run by.
    #[inline]
    pub fn now(&self) -> Millis {
        since_boot()
    }

    /// Background work ends as soon as it can.
    pub(crate) fn begin_closing(&self) {
        self.closing.store(true, Ordering::Release);
    }

    /// The node has been closed or stopped.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_stopped() || self.is_closing()
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }
}

/// The first transaction id after a start: later than all before it, since they count slower than microseconds.
fn first_transaction_id(newest: Timestamp) -> u64 {
    const NODE: u64 = 1;
    NODE << 52 | wall_micros().max(micros_of(newest) + 1) & ((1 << 52) - 1)
}
