//! Partitions whose leaders are in other processes: the seam between transactions and the links.
//!
//! Transactions ask [`Node::place`] where a partition is led. Without a [`Remote`] everything is here, and the question
//! costs one load and one branch. With one, the answer follows the cluster map, and operations on partitions that are led
//! elsewhere travel as frames: `call` for a request and its reply, `send` for what needs none. What the frames mean is
//! written in the crate above; here they are bytes.
//!
//! Frames from one thread to one node arrive in the order in which they were handed over, `send` and `call` alike, as long as the
//! link between them lives. A call that fails has failed for good: whether its request was executed is known only
//! for [`CallError::NotSent`].

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use shoal_types::{Error, ErrorCode, NodeId, Result, TableId, Timestamp, TransactionId};

use crate::base::wait::lock;
use crate::node::{Node, PartitionGuard};

/// Bits of a transaction's id that count; those above name its coordinator's node.
const TRANSACTION_COUNTER_BITS: u32 = 52;

/// Where a partition's leader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Local,
    Remote(NodeId),
    /// Nobody is known to lead it just now.
    Unknown,
}

/// Why a call has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// Nothing of the request has left this process.
    NotSent,
    /// The link broke, or the other side gave up: the request was executed, or will be, or never.
    Lost,
}

/// A reply that is on its way. Dropping it tells the other side that nobody waits any more.
pub type Call = Pin<Box<dyn Future<Output = Result<Vec<u8>, CallError>>>>;

/// The other nodes of a cluster. Implementations are shared by all threads; every call returns at once.
pub trait Remote: Send + Sync + 'static {
    /// This node.
    fn node(&self) -> NodeId;

    /// Where the partition is led, as far as this node knows.
    fn place(&self, partition: u32) -> Place;

    /// All nodes of the cluster that are connected just now, without this one: whoever may lead partitions or coordinate
    /// transactions.
    fn peers(&self) -> Vec<NodeId>;

    /// Those of them that may lead partitions. The others have no locks, and a native client among them need not answer soon.
    fn peers_with_partitions(&self) -> Vec<NodeId> {
        self.peers()
    }

    /// Every partition has one replica, so all that one node leads is in one log: what is appended as one batch is atomic.
    fn has_single_groups(&self) -> bool;

    /// Sends a request. The bytes are taken before this returns.
    fn call(&self, to: NodeId, request: &[u8]) -> Call;

    /// Sends a request whose reply nobody wants. False: it was surely not sent.
    fn send(&self, to: NodeId, request: &[u8]) -> bool;

    /// Has something finished on this thread, after the session that has begun it went on.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>) {
        tokio::task::spawn_local(task);
    }

    /// `node` has answered that it does not lead the partition, or could not be reached; `hint` is who it thinks does.
    fn misplaced(&self, partition: u32, node: NodeId, hint: Option<NodeId>);

    /// Raised whenever `place` or `peers` answers differently.
    fn map_version(&self) -> u64;

    /// Ready as soon as `map_version` is not `seen`.
    fn map_changed(&self, seen: u64) -> Pin<Box<dyn Future<Output = ()>>>;
}

/// What this node knows of the others' doings, and of its own among them.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    horizons: PeerHorizons,
    /// Transactions of this node's sessions that have a part on other nodes.
    coordinated: Mutex<HashSet<TransactionId>>,
    /// Rows of tables in the partitions that others lead, as they said last.
    rows: Mutex<HashMap<(u32, TableId), u64>>,
}

/// The oldest snapshots that other nodes' transactions may read.
#[derive(Debug, Default)]
struct PeerHorizons {
    oldest: Mutex<HashMap<NodeId, Timestamp>>,
}

impl PeerHorizons {
    fn note(&self, node: NodeId, horizon: Timestamp) {
        let mut oldest = lock(&self.oldest);
        let known = oldest.entry(node).or_insert(horizon);
        *known = (*known).max(horizon);
    }

    /// The least of the peers' horizons; a peer that has not spoken yet holds everything back.
    fn least(&self, peers: &[NodeId]) -> Timestamp {
        let oldest = lock(&self.oldest);
        let of = |peer: &NodeId| oldest.get(peer).copied().unwrap_or(Timestamp::ZERO);
        peers.iter().map(of).min().unwrap_or(Timestamp::MAX)
    }

    fn forget(&self, node: NodeId) {
        lock(&self.oldest).remove(&node);
    }
}

impl Node {
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

    /// Holds a partition that this node leads.
    ///
    /// # Errors
    /// [`not_leader`] when it does not.
    #[inline]
    pub fn leader(&self, partition: u32) -> Result<PartitionGuard<'_>> {
        let guard = self.partition(partition);
        match guard.is_single() || (self.serves_term(partition, guard.term()) && guard.serves(self.now())) {
            true => Ok(guard),
            false => Err(not_leader(partition)),
        }
    }

    /// No snapshot before this is in use or will be taken, by any node.
    pub fn horizon(&self) -> Timestamp {
        let here = self.snapshots().horizon();
        match self.remote.get() {
            None => here,
            Some(remote) => here.min(self.peers.horizons.least(&remote.peers())),
        }
    }

    /// A peer's transactions read no snapshot before `horizon` any more.
    pub fn note_peer_horizon(&self, peer: NodeId, horizon: Timestamp) {
        self.peers.horizons.note(peer, horizon);
    }

    /// The process of this peer is gone; its successor has to speak first.
    pub fn forget_peer_horizon(&self, peer: NodeId) {
        self.peers.horizons.forget(peer);
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

impl PartitionGuard<'_> {
    /// The term in which this replica leads: a leader's log ends with an entry of its own term. Meaningless elsewhere.
    #[inline]
    pub fn leader_term(&self) -> u64 {
        self.last_index().1
    }
}

/// Error 1297: this node does not lead the partition, and nothing was done. It passes: look at the map again.
pub fn not_leader(partition: u32) -> Error {
    let message = format!(
        "Got temporary error: partition {partition} has no leader here; a new one is being chosen, try again"
    );
    Error::new(ErrorCode::GetTemporaryErrmsg, message)
}

/// The operation met a partition without a leader and did nothing.
pub fn is_not_leader(error: &Error) -> bool {
    error.is(ErrorCode::GetTemporaryErrmsg) && !error.rolls_back_transaction()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_of_peers_rises_alone_and_a_silent_peer_holds_it_back() {
        let horizons = PeerHorizons::default();
        let (first, second) = (NodeId(2), NodeId(3));
        assert_eq!(horizons.least(&[]), Timestamp::MAX);
        horizons.note(first, Timestamp(10));
        assert_eq!(horizons.least(&[first, second]), Timestamp::ZERO);
        horizons.note(second, Timestamp(20));
        horizons.note(first, Timestamp(5));
        assert_eq!(horizons.least(&[first, second]), Timestamp(10));
        horizons.forget(first);
        assert_eq!((horizons.least(&[first]), horizons.least(&[second])), (Timestamp::ZERO, Timestamp(20)));
    }
}
