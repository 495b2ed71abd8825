//! Background work: checkpoints, cutting the log behind them, versions that nobody needs, memory that is free.
//!
//! A checkpoint round writes every partition's state and the dictionary, each at its own moment, while commits go on. The
//! log is cut only when the whole round is on disk, at the earliest of those moments, so whatever the round was
//! interrupted by, checkpoints and log together are complete.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use shoal_types::Result;

use crate::base::cluster_log::Severity;
use crate::base::wait::lock;
use crate::node::Node;
use crate::node::keeper::Keeper;

/// After a checkpoint that failed.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// How often what tables take is summed up, and freed memory given back to the system.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);
/// A checkpoint is worth its while when the log has grown to this part of the data.
const DATA_SHARE: u64 = 4;

impl Node {
    /// Starts the thread that does this until the node is gone or closes.
    pub(super) fn start_background_work(self: &Arc<Node>) -> Result<()> {
        let node = Arc::downgrade(self);
        self.keeper.start(move |keeper| work(keeper, &node))
    }

    /// One that was replaced is taken; one that ends soon is told of.
    fn look_after_certificate(&self) {
        let tls = self.cluster().and_then(|cluster| cluster.options.tls.own.as_ref());
        if let Some(warning) = tls.and_then(|tls| tls.warning()) {
            self.log_event_as(Severity::Warning, "connection", &warning);
        }
    }

    fn wants_checkpoint(&self) -> bool {
        let grown = self.log().end_lsn().bytes_since(self.checkpointed_lsn());
        if self.options().keeps_nothing {
            return grown >= self.options().checkpoint_log_bytes;
        }
        grown >= self.options().checkpoint_log_bytes.max(self.memory_budget().used_bytes() / DATA_SHARE)
    }

    /// Writes a checkpoint of everything, unless nothing is kept, and cuts the log behind it. One at a time; others wait.
    pub fn checkpoint(&self) -> Result<()> {
        let _one_at_a_time = lock(&self.checkpointing);
        if self.options().keeps_nothing {
            self.cut_log(self.completed_lsn());
            return Ok(());
        }
        let begun = Instant::now();
        let mut low_water = self.checkpoint_dictionary()?;
        for partition in self.hosted().collect::<Vec<_>>() {
            low_water = low_water.min(self.checkpoint_partition(partition)?);
        }
        self.cut_log(low_water);
        self.log_event("checkpoint", &format!("Local checkpoint completed in {} ms", begun.elapsed().as_millis()));
        Ok(())
    }
}

fn work(keeper: &Keeper, node: &Weak<Node>) {
    let mut not_before = Instant::now();
    let (mut measured, mut in_use) = (Instant::now(), 0);
    while !keeper.sleep() {
        let Some(node) = node.upgrade() else { return };
        node.drop_old_versions(node.horizon());
        node.compact();
        if measured.elapsed() >= MEASURE_INTERVAL {
            measured = Instant::now();
            in_use = node.measure_memory(in_use);
            node.look_after_certificate();
        }
        if node.wants_checkpoint()
            && Instant::now() >= not_before
            && let Err(error) = node.checkpoint()
        {
            tracing::warn!(%error, "a checkpoint failed; the older one and the log still count");
            let text = format!("Local checkpoint failed: {error}; the older one and the log still count");
            node.log_event_as(Severity::Error, "checkpoint", &text);
            not_before = Instant::now() + RETRY_AFTER;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::base::options::NodeOptions;
    use crate::node::Node;

    #[test]
    fn a_checkpoint_cuts_the_log_behind_it() {
        let directory = tempfile::tempdir().unwrap();
        let options = NodeOptions::new(directory.path());
        let node =
            Node::open(NodeOptions { data_memory: Some(1 << 20), background_work: false, ..options }).unwrap();
        let before = node.checkpointed_lsn();
        node.checkpoint().unwrap();
        assert!(node.checkpointed_lsn() > before, "{before:?}");
        node.close().unwrap();
    }
}
