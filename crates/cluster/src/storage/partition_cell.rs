//! Where a partition of this process lies.

use shoal_partition::Partition;

/// A partition on cache lines of its own.
#[repr(align(128))]
pub(crate) struct PartitionCell {
    /// Whoever waits gets it in the end, and soon (parking_lot's eventual fairness): a long statement takes it again and again.
    pub(super) partition: parking_lot::Mutex<Partition>,
    /// This node is a voter of the partition's group.
    pub(super) hosted: bool,
}

impl PartitionCell {
    pub(crate) fn new(partition: Partition, hosted: bool) -> PartitionCell {
        PartitionCell { partition: parking_lot::Mutex::new(partition), hosted }
    }
}
