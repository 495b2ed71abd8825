//! Ids, timestamps and positions. Newtypes, so that no bare integer crosses a function boundary.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A table, or a hidden table that implements a global unique index. Never reused.
    TableId(u32)
);
id!(
    /// An index within its table; 0 is the primary key.
    IndexId(u32)
);
id!(
    /// A partition of the hash space, and the Raft group that replicates it.
    PartitionId(u32)
);
id!(
    /// One Shoal process.
    NodeId(u32)
);
id!(
    /// A transaction: unique among all transactions that any node ever ran (node in the upper bits).
    TransactionId(u64)
);
id!(
    /// A hybrid logical clock reading: microseconds since 1970 in the upper 52 bits, a counter in the lower 12.
    Timestamp(u64)
);

impl TransactionId {
    /// The node whose coordinator began the transaction.
    pub fn node(self) -> NodeId {
        NodeId((self.0 >> 52) as u32)
    }
}

impl Timestamp {
    /// Later than every timestamp that is ever given out: "the newest committed version".
    pub const MAX: Timestamp = Timestamp(u64::MAX);
    /// Before every timestamp that is ever given out.
    pub const ZERO: Timestamp = Timestamp(0);
}

/// Buckets of the hash space; frozen on disk and on the wire.
pub const HASH_BUCKETS: u32 = 4096;

/// The bucket of a row whose memcomparable partition key is `partition_key`.
/// XXH3 over the key; frozen on disk and on the wire.
pub fn hash_bucket(partition_key: &[u8]) -> u32 {
    (key_hash(partition_key) >> 52) as u32
}

/// XXH3 (64 bits) of a memcomparable key: partitioning takes its upper bits, hash indexes its lower bits.
pub fn key_hash(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}
