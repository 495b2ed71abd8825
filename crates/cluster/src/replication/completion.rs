//! Handing the durable log back to the partitions: applied, visible, woken.
//!
//! When the log reports a position durable, everything before it is handed back, in log order; the newest timestamp of that becomes
//! visible first, so that nobody who has seen a row applied can take a snapshot that does not have it. Readers that are quicker
//! than the applying wait for it in the partition.

use std::ops::ControlFlow;

use shoal_log::Lsn;
use shoal_replication::{apply_durable, settle_durable};
use shoal_types::{Error, Result, Timestamp};

use crate::base::wait::lock;
use crate::replication::Replication;
use crate::replication::completion_buffers::CompletionBuffers;
use crate::replication::driver::Held;
use crate::storage::partitions::PartitionGuard;
use crate::storage::sequencer::{Appended, Appending};

impl Replication {
    /// Hands everything before `end` back to the partitions. Called when the log reports it durable, or at once when
    /// commits need not be durable.
    pub fn complete(&self, end: Lsn) {
        let mut completion = lock(&self.completion);
        let CompletionBuffers { taken, durable, tokens, definitions, barriers } = &mut *completion;
        let Some(last) = self.take_due(end, taken) else {
            self.note_completed(end);
            return;
        };
        let end = end.min(last);
        let newest = taken.iter().map(|in_log| in_log.timestamp).max();
        self.snapshots().set_visible(newest.unwrap_or(Timestamp::ZERO));
        for in_log in taken.drain(..) {
            match in_log.what {
                Appended::Partition(partition, number) => durable.note(partition, number),
                Appended::Definition(show) => definitions.push((show, in_log.token)),
                Appended::Barrier => barriers.push(in_log.token),
            }
        }
        let horizon = self.horizon();
        let mut again = Vec::new();
        for (partition, number) in durable.drain() {
            let mut guard = self.partition(partition);
            if let Err(error) = apply_durable(&mut guard, number, horizon) {
                // Nobody is told that anything was committed.
                drop(guard);
                self.stop(&format!("partition {partition} cannot apply its log: {error}"));
                continue;
            }
            if !guard.is_single() {
                again.extend(self.settle_persisted(partition, guard, number));
                continue;
            }
            let outputs = guard.outputs();
            tokens.extend(outputs.committed.drain(..).map(|token| token.0));
            outputs.lost.clear();
            drop(guard);
            for token in tokens.drain(..) {
                self.waits().signal(token);
            }
        }
        // A definition is shown when its fragments are there.
        for (show, token) in definitions.drain(..) {
            show();
            self.waits().signal(token);
        }
        for token in barriers.drain(..) {
            self.waits().signal(token);
        }
        self.note_completed(end);
        drop(completion);
        for appending in again {
            self.flush_or_complete(appending);
        }
    }

    /// Waits until everything that has been appended so far is applied.
    pub async fn wait_until_applied(&self) -> Result<()> {
        let waiter = self.waiter();
        {
            // Nobody is in the middle of handing back.
            let _completion = lock(&self.completion);
            if !self.sequencer().push_barrier(waiter.token()) {
                return Ok(());
            }
        }
        self.wake_log_writer();
        match waiter.wait().await {
            true => Ok(()),
            false => Err(Error::unknown("the log stopped")),
        }
    }

    /// What `complete` does with a replicated partition after it has told it of an output batch.
    pub(crate) fn settle_persisted(
        &self,
        partition: u32,
        mut guard: PartitionGuard<'_>,
        number: u64,
    ) -> Option<Appending> {
        let mut held = Held { node: self, partition, timestamp: Timestamp::ZERO };
        match settle_durable(&mut guard, number, self.unsent(partition), &mut held) {
            Ok(appending) => (appending.end > Lsn::ZERO).then_some(appending),
            Err(error) => {
                self.stop(&format!("partition {partition} cannot log what it wants: {error}"));
                None
            }
        }
    }

    /// Has what was appended flushed, or handed back if it need not be. No partition may be held.
    pub(crate) fn flush_or_complete(&self, appending: Appending) {
        if appending.end == Lsn::ZERO {
            return;
        }
        if appending.needs_flush {
            let _ = self.flush_inline();
            return;
        }
        self.complete(appending.end);
    }

    pub(crate) fn settle_and_release(&self, partition: u32, mut guard: PartitionGuard<'_>) {
        let settled = self.settle(partition, &mut guard, Timestamp::ZERO);
        drop(guard);
        match settled {
            Ok(appending) => self.flush_or_complete(appending),
            Err(error) => self.stop(&format!("partition {partition} cannot log what it wants: {error}")),
        }
    }

    /// Starts the thread that goes on with large transactions.
    pub(crate) fn start_slices(&self) -> Result<()> {
        let handle = self.handle.clone();
        let mut memory_seen = 0;
        self.slices().start(move |partition| {
            let Some(node) = handle.upgrade() else { return ControlFlow::Break(()) };
            match partition {
                Some(partition) => node.go_on_in(partition),
                None => memory_seen = node.release_memory(memory_seen),
            }
            ControlFlow::Continue(())
        })
    }

    /// Does a slice of what large transactions leave to do in a partition.
    fn go_on_in(&self, partition: u32) {
        let horizon = self.horizon();
        let mut guard = self.partition(partition);
        guard.set_gc_horizon(horizon);
        guard.go_on();
        if !guard.is_single() {
            return self.settle_and_release(partition, guard);
        }
        let committed = std::mem::take(&mut guard.outputs().committed);
        drop(guard);
        for token in committed {
            self.waits().signal(token.0);
        }
    }
}
