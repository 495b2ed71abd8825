//! Background work: checkpoints, cutting the log behind them, versions that nobody needs, memory that is free.
//!
//! A checkpoint round writes every partition's state and the dictionary, each at its own moment, while commits go on. The
//! log is cut only when the whole round is on disk, at the earliest of those moments, so whatever the round was
//! interrupted by, checkpoints and log together are complete.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shoal_types::{Error, Result};

use crate::base::cluster_log::Severity;
use crate::base::wait::lock;
use crate::node::Node;

/// How often there is a look at what is to be done.
const INTERVAL: Duration = Duration::from_millis(200);
/// After a checkpoint that failed.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// How often what tables take is summed up, and freed memory given back to the system.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);
/// A checkpoint is worth its while when the log has grown to this part of the data.
const DATA_SHARE: u64 = 4;

/// The thread's off switch.
#[derive(Default)]
pub(crate) struct Keeper {
    stop: Mutex<bool>,
    changed: Condvar,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    pub(crate) fn start(self: &Arc<Keeper>, node: Weak<Node>) -> Result<()> {
        let keeper = Arc::clone(self);
        let handle = std::thread::Builder::new()
            .name("shoal-keeper".into())
            .spawn(move || keeper.run(&node))
            .map_err(|error| Error::unknown(format!("cannot start the keeper thread: {error}")))?;
        *lock(&self.handle) = Some(handle);
        Ok(())
    }

    fn run(&self, node: &Weak<Node>) {
        let mut not_before = Instant::now();
        let (mut measured, mut in_use) = (Instant::now(), 0);
        while !self.sleep() {
            let Some(node) = node.upgrade() else { return };
            node.drop_old_versions(node.horizon());
            node.compact();
            if measured.elapsed() >= MEASURE_INTERVAL {
                measured = Instant::now();
                in_use = node.measure_memory(in_use);
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

    /// Sleeps for an interval; true when it is time to end.
    fn sleep(&self) -> bool {
        let stop = lock(&self.stop);
        let waited = self.changed.wait_timeout_while(stop, INTERVAL, |stop| !*stop);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Ends the thread, and waits for it if this is another one.
    pub(crate) fn stop(&self) {
        *lock(&self.stop) = true;
        self.changed.notify_all();
        let handle = lock(&self.handle).take();
        if let Some(handle) = handle
            && handle.thread().id() != std::thread::current().id()
        {
            let _ = handle.join();
        }
    }
}

impl Node {
    fn wants_checkpoint(&self) -> bool {
        let grown = self.log().end_lsn().bytes_since(self.checkpointed_lsn());
        grown >= self.options().checkpoint_log_bytes.max(self.memory_budget().used_bytes() / DATA_SHARE)
    }

    /// Writes a checkpoint of everything and cuts the log behind it. One at a time; others wait.
    pub fn checkpoint(&self) -> Result<()> {
        let _one_at_a_time = lock(&self.checkpointing);
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
