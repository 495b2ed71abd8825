//! Checkpoints of partitions, each at its own moment, while commits go on.

use shoal_log::Lsn;
use shoal_replication::{Checkpoint, may_finish};
use shoal_types::{Error, Result};

use crate::base::errors::log_error;
use crate::replication::Replication;
use crate::storage::records::group_of;

const BLOCK_BYTES: usize = 64 << 10;

impl Replication {
    /// Writes a checkpoint of a partition. Nothing before the position that this yields is needed for it any more.
    pub(crate) fn checkpoint_partition(&self, partition: u32) -> Result<Lsn> {
        let group = group_of(partition);
        if self.partition(partition).is_installing() {
            // What is here is neither the old state nor the new one.
            return Ok(self.checkpointed_lsn());
        }
        if self.partition(partition).is_witness() {
            let (low_water, _) = self.begin_checkpoint(partition);
            // The log is cut behind this.
            self.log().sync().map_err(log_error)?;
            return Ok(low_water);
        }
        let mut writer = {
            let _one_at_a_time = self.lock_checkpoint_files();
            self.checkpoints().create(group, &[], self.checkpoint_options()).map_err(log_error)?
        };
        // A copy may have come while the lock was waited for.
        let (low_water, begun) = self.begin_checkpoint(partition);
        let Checkpoint::Writing(mut cursor) = begun else { return Ok(low_water) };
        let mut block = Vec::with_capacity(BLOCK_BYTES * 2);
        let written = loop {
            block.clear();
            if self.is_closing() {
                break Err(Error::unknown("the node is stopping"));
            }
            match self.partition(partition).next_checkpoint_block(&mut cursor, BLOCK_BYTES, &mut block) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            if let Err(error) = writer.append(&block) {
                break Err(log_error(error));
            }
        };
        let finished = written.and_then(|()| {
            // What is in the checkpoint must be in the log as well: other partitions may have a share in it.
            self.log().sync().map_err(log_error)?;
            let _one_at_a_time = self.lock_checkpoint_files();
            // The newest file counts: it must not be older than the state that another node's copy has brought meanwhile.
            match may_finish(&self.partition(partition), &cursor) {
                true => writer.finish().map_err(log_error),
                false => Err(Error::unknown(format!("partition {partition} was replaced by a copy meanwhile"))),
            }
        });
        self.partition(partition).end_checkpoint(cursor);
        let finished = finished?;
        self.checkpoints().remove_older(group, finished.number).map_err(log_error)?;
        Ok(low_water)
    }

    fn begin_checkpoint(&self, partition: u32) -> (Lsn, Checkpoint) {
        let (completed, checkpointed) = (self.completed_lsn(), self.checkpointed_lsn());
        let mut guard = self.partition(partition);
        let begun = shoal_replication::begin_checkpoint(&mut guard, completed, checkpointed);
        self.settle_and_release(partition, guard);
        begun
    }
}
