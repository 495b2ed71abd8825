//! What transactions over several nodes need to know of each other: where partitions are led, which snapshots peers may read,
//! and which transactions the sessions of this node coordinate.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_types::{NodeId, TableId, Timestamp, TransactionId};

use crate::base::wait::lock;
use crate::membership::remote::{Place, Remote};
use crate::replication::Replication;

/// Bits of a transaction's id that count; those above name its coordinator's node.
const TRANSACTION_COUNTER_BITS: u32 = 52;

impl Replication {
    /// Makes this node one of several. Once, before the first transaction; ids of transactions name the node from here on.
    pub fn set_remote(&self, remote: Arc<dyn Remote>) {
        let node = u64::from(remote.node().0);
        if self.remote.set(remote).is_ok() {
            let counter = (1 << TRANSACTION_COUNTER_BITS) - 1;
            let renamed = |next: u64| Some(node << TRANSACTION_COUNTER_BITS | next & counter);
            // The closure always yields a value.
            let _ = self.next_transaction.fetch_update(Ordering::AcqRel, Ordering::Acquire, renamed);
        }
    }

    /// The other nodes; `None` in a process that is the whole database.
    #[inline]
    pub fn remote(&self) -> Option<&Arc<dyn Remote>> {
        self.remote.get()
    }

    /// Where a partition is led.
    #[inline]
    pub fn place(&self, partition: u32) -> Place {
        match self.remote.get() {
            None => Place::Local,
            Some(remote) => remote.place(partition),
        }
    }

    /// No snapshot before this is in use or will be taken, by any node.
    pub fn horizon(&self) -> Timestamp {
        let here = self.snapshots().horizon();
        match self.remote.get() {
            None => here,
            Some(remote) => here.min(lock(&self.peers.horizons).least(remote.peers())),
        }
    }

    /// A peer's transactions read no snapshot before `horizon` any more.
    pub fn note_peer_horizon(&self, peer: NodeId, horizon: Timestamp) {
        lock(&self.peers.horizons).note(peer, horizon);
    }

    /// The process of this peer is gone; its successor has to speak first.
    pub fn forget_peer_horizon(&self, peer: NodeId) {
        lock(&self.peers.horizons).forget(peer);
    }

    /// A transaction of this node's sessions is about to take part on another node.
    pub fn begin_coordinating(&self, transaction: TransactionId) {
        lock(&self.peers.coordinated).insert(transaction);
    }

    /// It has ended, as far as its session is concerned.
    pub fn end_coordinating(&self, transaction: TransactionId) {
        lock(&self.peers.coordinated).remove(&transaction);
    }

    /// A session of this node still runs the transaction.
    pub fn coordinates(&self, transaction: TransactionId) -> bool {
        lock(&self.peers.coordinated).contains(&transaction)
    }

    /// Rows of a table in a partition, by the word of the node that leads it.
    pub fn note_remote_rows(&self, partition: u32, table: TableId, rows: u64) {
        lock(&self.peers.rows).insert((partition, table), rows);
    }

    /// The same as it was noted last.
    pub fn remote_rows(&self, partition: u32, table: TableId) -> u64 {
        lock(&self.peers.rows).get(&(partition, table)).copied().unwrap_or(0)
    }
}
