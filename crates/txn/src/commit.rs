//! Commits in this process's log: what is left to do when a batch has been appended.

use std::sync::Arc;

use shoal_cluster::{Appending, Node, Waiter, note_turn};
use shoal_types::{Error, Outcome, Result};

/// A batch was appended without waking the writer: somebody must see to its flush, even if the session goes away.
struct FlushPromise<'a> {
    node: Option<&'a Node>,
}

impl Drop for FlushPromise<'_> {
    fn drop(&mut self) {
        if let Some(node) = self.node {
            node.wake_log_writer();
        }
    }
}

/// Waits until what was appended under the waiter's token is durable and applied.
///
/// # Errors
/// With `Outcome::Unknown`: the log stopped before that.
pub(crate) async fn wait_until_durable(node: &Arc<Node>, waiter: &Waiter, appending: Appending) -> Result<()> {
    match appending.needs_flush {
        true => flush(node, waiter).await?,
        false => node.complete(appending.end),
    }
    match waiter.wait().await {
        true => Ok(()),
        false => Err(never_durable()),
    }
}

/// The wait for durability has ended without it.
pub(crate) fn never_durable() -> Error {
    let message = "the log stopped before the transaction was durable; it may be committed or not";
    Error::unknown(message).with_outcome(Outcome::Unknown)
}

/// Has the log flushed.
async fn flush(node: &Arc<Node>, waiter: &Waiter) -> Result<()> {
    note_turn(waiter.session());
    if node.flush_later() {
        return Ok(());
    }
    let mut promise = FlushPromise { node: Some(node) };
    // Sessions of this thread that are ready go first, and append what they have.
    tokio::task::yield_now().await;
    if !waiter.is_done() {
        // The batch is in the log's memory: whether any of it reached the disk is not known.
        node.flush_inline().map_err(|error| error.with_outcome(Outcome::Unknown))?;
    }
    promise.node = None;
    Ok(())
}

/// Something appended by a task that may never be polled again: it is flushed all the same.
pub(crate) struct Unflushed {
    node: Arc<Node>,
    appending: Appending,
    is_seen_to: bool,
}

impl Unflushed {
    pub fn new(node: &Arc<Node>, appending: Appending) -> Unflushed {
        Unflushed { node: Arc::clone(node), appending, is_seen_to: !appending.needs_flush }
    }

    /// Somebody has to flush for it.
    pub fn needs_flush(&self) -> bool {
        self.appending.needs_flush
    }

    /// As [`wait_until_durable`].
    pub async fn wait(mut self, waiter: &Waiter) -> Result<()> {
        let outcome = wait_until_durable(&self.node, waiter, self.appending).await;
        self.is_seen_to = true;
        outcome
    }
}

impl Drop for Unflushed {
    fn drop(&mut self) {
        if !self.is_seen_to {
            self.node.wake_log_writer();
        }
    }
}
