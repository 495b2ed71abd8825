//! Partitions whose leaders are in other processes: the seam between transactions and the links.
//!
//! Transactions ask `Node::place` where a partition is led. Without a [`Remote`] everything is here, and the question
//! costs one load and one branch. With one, the answer follows the cluster map, and operations on partitions that are led
//! elsewhere travel as frames: `call` for a request and its reply, `send` for what needs none. What the frames mean is
//! written in the crate above; here they are bytes.
//!
//! Frames from one thread to one node arrive in the order in which they were handed over, `send` and `call` alike, as long as the
//! link between them lives. A call that fails has failed for good: whether its request was executed is known only
//! for [`RequestError::NotSent`].

use std::pin::Pin;

use shoal_types::{Error, ErrorCode, NodeId, Transient};

/// Where a partition's leader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This node leads it.
    Local,
    /// This one leads it, as far as is known here.
    Remote(NodeId),
    /// Nobody is known to lead it just now.
    Unknown,
}

/// Why a call has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// Nothing of the request has left this process.
    NotSent,
    /// The link broke, or the other side gave up: the request was executed, or will be, or never.
    Lost,
}

/// A reply that is on its way. Dropping it tells the other side that nobody waits any more.
pub type Call = Pin<Box<dyn Future<Output = Result<Vec<u8>, RequestError>>>>;

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

/// Error 1297: this node does not lead the partition, and nothing was done. It passes: look at the map again.
pub fn not_leader(partition: u32) -> Error {
    let message = format!(
        "Got temporary error: partition {partition} has no leader here; a new one is being chosen, try again"
    );
    Error::transient(Transient::NotLeader { leader: None }, message)
}

/// The operation met a partition without a leader and did nothing.
pub fn is_not_leader(error: &Error) -> bool {
    error.is(ErrorCode::GetTemporaryErrmsg) && !error.rolls_back_transaction()
}
