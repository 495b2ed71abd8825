//! Waiting for other transactions: deadlocks, timeouts, and leaving nothing behind when a wait is given up.
//!
//! A wait is where the partition is: in the session's own task if the partition is led here, in a task that serves the
//! session's node if it is led elsewhere. Both wait by [`wait_in_partition`].

use std::time::Duration;

use shoal_cluster::{Node, Waiter};
use shoal_partition::{Blocked, WaitToken};
use shoal_types::{Error, ErrorCode, Result, TransactionId};
use tokio::time::Instant;

use crate::deadlock;
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

pub(crate) enum WaitEnd {
    Woken,
    Deadlock,
    Timeout,
}

/// Waits, under the waiter's present token, until the operation that is blocked in `partition` is worth another try. Arm the waiter
/// again before that.
pub(crate) async fn wait_in_partition(
    node: &Node,
    waiter: &Waiter,
    transaction: Option<TransactionId>,
    partition: u32,
    blocked: &Blocked,
    timeout: Duration,
) -> WaitEnd {
    let Some(id) = transaction else {
        // A snapshot reader waits for commits that are being applied: those always end.
        waiter.wait().await;
        return WaitEnd::Woken;
    };
    let _waiting = Waiting { node, partition, transaction: id, token: WaitToken(waiter.token()) };
    if !node.wait_for_graph().enter(id, &blocked.holders) {
        return WaitEnd::Deadlock;
    }
    if waiter.is_done() {
        return WaitEnd::Woken;
    }
    let deadline = Instant::now() + timeout;
    let mut pause = FIRST_LOOK;
    loop {
        let look_at = (Instant::now() + pause).min(deadline);
        if tokio::time::timeout_at(look_at, waiter.wait()).await.is_ok() {
            return WaitEnd::Woken;
        }
        if look_at == deadline {
            return WaitEnd::Timeout;
        }
        if !node.refresh_wait(id) {
            return WaitEnd::Deadlock;
        }
        tokio::select! {
            biased;
            _ = waiter.wait() => return WaitEnd::Woken,
            is_victim = deadlock::is_victim_between_nodes(node, id) => {
                if is_victim {
                    return WaitEnd::Deadlock;
                }
            }
        }
        pause = (pause * 2).min(LONGEST_LOOK);
    }
}

/// Error 1213.
pub(crate) fn deadlock_error() -> Error {
    Error::new(ErrorCode::LockDeadlock, "Deadlock found when trying to get lock; try restarting transaction")
}

/// Error 1205.
pub(crate) fn timeout_error() -> Error {
    Error::new(ErrorCode::LockWaitTimeout, "Lock wait timeout exceeded; try restarting transaction")
}

impl Transaction {
    /// Waits until the operation that is blocked in `partition` is worth another try.
    ///
    /// # Errors
    /// 1213: this wait would close a circle; the transaction has been rolled back. 1205: it has taken too long.
    pub(crate) async fn wait(&mut self, partition: u32, blocked: Blocked) -> Result<()> {
        let timeout = self.lock_wait_timeout;
        let end = wait_in_partition(&self.node, &self.waiter, self.id, partition, &blocked, timeout).await;
        self.waiter.arm(1);
        match end {
            WaitEnd::Woken => Ok(()),
            WaitEnd::Deadlock => {
                self.rollback();
                Err(deadlock_error())
            }
            WaitEnd::Timeout => Err(timeout_error()),
        }
    }
}
