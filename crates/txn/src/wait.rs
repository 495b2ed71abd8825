//! Waiting for other transactions: deadlocks, timeouts, and leaving nothing behind when a wait is given up.

use std::time::Duration;

use shoal_cluster::Node;
use shoal_partition::{Blocked, WaitToken};
use shoal_types::{Error, ErrorCode, Result, TransactionId};
use tokio::time::Instant;

use crate::transaction::Transaction;

/// The wait-for graph is looked at again after so long, and then after twice as long each time: queues move on.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// A wait in a partition that is under way; dropped, it is given up.
struct Waiting<'a> {
    node: &'a Node,
    partition: u32,
    transaction: TransactionId,
    token: WaitToken,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.node.wait_for_graph().leave(self.transaction);
        // Nothing is left to cancel if the wait came to its end.
        self.node.partition(self.partition).cancel_wait(self.transaction, self.token);
    }
}

enum WaitEnd {
    Woken,
    Deadlock,
    Timeout,
}

impl Transaction {
    /// Waits until the operation that is blocked in `partition` is worth another try.
    ///
    /// # Errors
    /// 1213: this wait would close a circle; the transaction has been rolled back. 1205: it has taken too long.
    pub(crate) async fn wait(&mut self, partition: u32, blocked: Blocked) -> Result<()> {
        let end = match self.id {
            Some(id) => self.wait_for_lock(id, partition, blocked).await,
            None => {
                // A snapshot reader waits for commits that are being applied: those always end.
                self.waiter.wait().await;
                WaitEnd::Woken
            }
        };
        self.waiter.arm(1);
        match end {
            WaitEnd::Woken => Ok(()),
            WaitEnd::Deadlock => {
                self.rollback();
                let message = "Deadlock found when trying to get lock; try restarting transaction";
                Err(Error::new(ErrorCode::LockDeadlock, message))
            }
            WaitEnd::Timeout => {
                let message = "Lock wait timeout exceeded; try restarting transaction";
                Err(Error::new(ErrorCode::LockWaitTimeout, message))
            }
        }
    }

    async fn wait_for_lock(&self, id: TransactionId, partition: u32, blocked: Blocked) -> WaitEnd {
        let node = &*self.node;
        let _waiting = Waiting { node, partition, transaction: id, token: self.token() };
        if !node.wait_for_graph().enter(id, &blocked.holders) {
            return WaitEnd::Deadlock;
        }
        if self.waiter.is_done() {
            return WaitEnd::Woken;
        }
        let start = Instant::now();
        let deadline = start + self.lock_wait_timeout;
        let mut pause = FIRST_LOOK;
        loop {
            let look_at = (Instant::now() + pause).min(deadline);
            if tokio::time::timeout_at(look_at, self.waiter.wait()).await.is_ok() {
                return WaitEnd::Woken;
            }
            if look_at == deadline {
                return WaitEnd::Timeout;
            }
            if !node.refresh_wait(id) {
                return WaitEnd::Deadlock;
            }
            pause = (pause * 2).min(LONGEST_LOOK);
        }
    }
}
