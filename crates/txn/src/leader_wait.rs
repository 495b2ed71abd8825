//! Waiting for a partition's leader to be known.

use std::time::Duration;

use shoal_cluster::Node;
use shoal_types::{Error, Result};
use tokio::time::Instant;

/// How long an operation waits for a partition to get a leader.
const LEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The map is looked at again after so long even if nobody says that it has changed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Waiting for a partition's leader, up to a deadline that begins with the first wait.
#[derive(Default)]
pub(crate) struct LeaderWait {
    deadline: Option<Instant>,
}

impl LeaderWait {
    /// Waits until the map may have changed. `seen` is its version as it was before the attempt that failed.
    ///
    /// # Errors
    /// `error`, when it has taken too long.
    pub async fn wait(&mut self, node: &Node, seen: u64, error: Error) -> Result<()> {
        let Some(remote) = node.remote() else { return Err(error) };
        let now = Instant::now();
        if now >= *self.deadline.get_or_insert(now + LEADER_TIMEOUT) {
            return Err(error);
        }
        // Either end is a reason to look again.
        let _ = tokio::time::timeout(LOOK_AGAIN, remote.map_changed(seen)).await;
        Ok(())
    }
}

/// The version of the map, to be read before an attempt that may find it outdated.
pub(crate) fn map_version(node: &Node) -> u64 {
    node.remote().map_or(0, |remote| remote.map_version())
}
