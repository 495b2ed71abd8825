//! What becomes of a replica when a node starts: what it reads back from its disk, and what it may do with that.

use shoal_partition::{PartitionConfig, Timing};

/// One replica's part in its group.
#[derive(Clone, Debug)]
pub struct ReplicaPlan {
    /// Its number in the group, which is its node's id.
    pub replica: u64,
    /// All voters of the group.
    pub voters: Vec<u64>,
    /// The voter without rows.
    pub witness: Option<u64>,
    /// Its group's heartbeats, leases and elections.
    pub timing: Timing,
    /// What was promised may be lost and must not be voted about: see [`Promises`](crate::Promises).
    pub amnesia: bool,
    /// Tells this process from those before it.
    pub life: u64,
}

impl ReplicaPlan {
    /// The partition as it is made, before checkpoint and log are read back.
    pub fn config(self, single: PartitionConfig) -> PartitionConfig {
        let ReplicaPlan { replica, voters, witness, timing, amnesia, life } = self;
        if voters == [replica] || !voters.contains(&replica) {
            // Alone it has all there is; and of what is not here nothing is kept.
            return PartitionConfig { replica, voters: vec![replica], ..single };
        }
        PartitionConfig { replica, voters, witness, timing, amnesia, life, ..single }
    }
}
