//! What of a leader's log is on its disk: its partition is told as it comes to be, for the witness.

use shoal_partition::{DiskMark, Partition};

/// Of one replica. `P` are positions of the log.
pub struct OnDisk<P> {
    /// When the log is durable up to there, everything up to the mark is.
    waiting: Option<(P, DiskMark)>,
}

impl<P> Default for OnDisk<P> {
    fn default() -> OnDisk<P> {
        OnDisk { waiting: None }
    }
}

impl<P: Copy + Ord> OnDisk<P> {
    /// Called now and then, with where the log ends and how much of it is durable.
    pub fn pass(&mut self, partition: &mut Partition, end: impl FnOnce() -> P, durable: impl FnOnce() -> P) {
        if let Some((position, mark)) = self.waiting {
            if durable() < position {
                return;
            }
            partition.note_on_disk(mark);
            self.waiting = None;
        }
        // What counts has been appended before.
        self.waiting = partition.disk_mark().map(|mark| (end(), mark));
    }
}
