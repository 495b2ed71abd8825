//! Waiting for other transactions: deadlocks, timeouts, and leaving nothing behind when a wait is given up.
//!
//! A wait is where the partition is: in the session's own task if the partition is led here, in a task that serves the
//! session's node if it is led elsewhere. Both wait by [`wait_in_partition`], and no wait sets a timer: the node's lock monitor ends
//! those that last for too long or are part of a deadlock.

use std::time::Duration;

use shoal_cluster::{Node, WaitVerdict, Waiter};
use shoal_partition::{Blocked, WaitToken};
use shoal_types::{Error, ErrorCode, Result, TransactionId};

use crate::transaction::Transaction;

/// A wait in a partition that is under way; dropped, it is given up.
struct Waiting<'a> {
    node: &'a Node,
    partition: u32,
    transaction: TransactionId,
    token: u64,
    /// The partition has ended it: nothing is left to give up.
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // Under one hold: nobody comes to stand behind a wait that is in the queue and in the graph no more.
            let mut guard = self.node.partition(self.partition);
            self.node.wait_for_graph().give_up(self.transaction, self.token);
            guard.cancel_wait(self.transaction, WaitToken(self.token));
        }
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
    let token = waiter.token();
    let mut waiting = Waiting { node, partition, transaction: id, token, is_over: false };
    // Whoever was ahead may have given up since. Under the hold the graph gets what the queue says.
    let is_suspect = {
        let guard = node.partition(partition);
        let blockers = guard.blockers(id, WaitToken(token), blocked);
        node.wait_for_graph().enter(id, &blockers, token, timeout)
    };
    if is_suspect
        && !waiter.is_done()
        && let Some(deadlock) = node.deadlock_of(id)
    {
        node.report_deadlock(deadlock);
        return WaitEnd::Deadlock;
    }
    waiter.wait().await;
    match node.wait_for_graph().leave(id, token) {
        Some(WaitVerdict::Deadlock) => WaitEnd::Deadlock,
        Some(WaitVerdict::Timeout) => WaitEnd::Timeout,
        None => {
            waiting.is_over = true;
            WaitEnd::Woken
        }
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
