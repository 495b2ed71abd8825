//! One operation on one partition, wherever that is led: it goes to the leader, waits for locks, and begins again when the leader has changed.

use shoal_partition::Step;
use shoal_types::{NodeId, Result};

use crate::leader_wait::{LeaderWait, map_version};
use crate::transaction::Transaction;

/// An operation on one partition that may be tried several times. What a try has not done leaves nothing behind.
pub(crate) trait PartitionOperation {
    type Output;

    /// A try at a partition that is led here.
    fn try_here(&mut self, transaction: &mut Transaction, partition: u32) -> Result<Step<Self::Output>>;

    /// A try at the leader on another node, which waits for locks itself.
    async fn try_at(
        &mut self,
        transaction: &mut Transaction,
        partition: u32,
        node: NodeId,
    ) -> Result<Self::Output>;
}

impl Transaction {
    /// Runs an operation until it is done, or fails for another reason than that the partition's leader was not where it was thought to be.
    #[inline]
    pub(crate) async fn run_at<O: PartitionOperation>(
        &mut self,
        partition: u32,
        mut operation: O,
    ) -> Result<O::Output> {
        let mut leader_wait = LeaderWait::default();
        loop {
            let seen = map_version(&self.node);
            let step = match self.route(partition).await? {
                None => operation.try_here(self, partition),
                Some(node) => operation.try_at(self, partition, node).await.map(Step::Ready),
            };
            match step {
                Ok(Step::Ready(output)) => return Ok(output),
                Ok(Step::Wait(blocked)) => self.wait(partition, blocked).await?,
                Err(error) => self.try_again(&mut leader_wait, seen, error).await?,
            }
        }
    }
}
