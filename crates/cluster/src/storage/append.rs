//! Appending to the log, and taking back what it has made durable.

use std::sync::MutexGuard;

use shoal_log::{AppendClass, Durability, Lsn};
use shoal_types::{Outcome, Result};

use crate::base::errors::{log_error, shutting_down};
use crate::base::wait::lock;
use crate::storage::Storage;
use crate::storage::sequencer::{Appending, InLog, Sequencer};

impl Storage {
    /// Whoever holds this appends.
    #[inline]
    pub(crate) fn sequencer(&self) -> MutexGuard<'_, Sequencer> {
        lock(&self.sequencer)
    }

    /// Moves what may be handed back, now that the log reports `end`, into `taken`; where that ends, `None` if there is nothing.
    pub(crate) fn take_due(&self, end: Lsn, taken: &mut Vec<InLog>) -> Option<Lsn> {
        let durable = || self.log().durable_lsn();
        lock(&self.sequencer).in_flight.take_due(end, durable, |in_log| taken.push(in_log))
    }

    pub(crate) fn check_not_stopped(&self) -> Result<()> {
        match self.is_stopped() {
            true => Err(shutting_down()),
            false => Ok(()),
        }
    }

    /// Appends what has been collected. After an error the partitions have entries that the log has not: the node
    /// stops.
    pub(crate) fn append_batch(&self, sequencer: &mut Sequencer) -> Result<Appending> {
        let needs_flush = self.log().durability() == Durability::Disk;
        let appended = match needs_flush {
            true => self.log().append_unflushed(&sequencer.batch, AppendClass::Internal),
            // The log's writer sees to it in its own time.
            false => self.log().append(&sequencer.batch, AppendClass::Internal),
        };
        sequencer.batch.clear();
        let batch = sequencer.in_flight.end_batch();
        match appended {
            Ok(end) => {
                let must_sync = batch.must_sync;
                sequencer.in_flight.appended(batch, end);
                if must_sync && !needs_flush {
                    // It is handed back when it is durable.
                    self.log().request_sync();
                }
                Ok(Appending { end, signals: 0, needs_flush })
            }
            Err(error) => {
                self.stop(&format!("the log refused a batch: {error}"));
                Err(log_error(error).with_outcome(Outcome::Unknown))
            }
        }
    }

    /// Tells all that wait for the log that it will not come.
    pub(crate) fn lose_in_flight(&self) {
        let tokens: Vec<u64> = lock(&self.sequencer).in_flight.drain().map(|in_log| in_log.token).collect();
        for token in tokens {
            self.waits().signal_lost(token);
        }
    }
}
