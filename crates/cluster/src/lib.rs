//! Nodes: partitions, the log, the dictionary and the router between them.
//!
//! - [`node`]: what sessions share; `recovery` opens it, `options` say how.
//! - `commit`, `two_phase`: from staged writes to a durable, applied, visible transaction. `clock`, `snapshot`: its times.
//! - [`dictionary`], [`table`], [`unique`], `ddl`, `meta`, `sequence`: definitions and how they are kept.
//! - `keeper`: checkpoints, and what they let go of.
//! - [`router`]: which partition a key belongs to. [`remote`]: partitions that other nodes lead.
//! - [`wait`], `deadlock`, `metadata_lock`: sleeping and being woken.

mod clock;
mod commit;
mod ddl;
mod deadlock;
pub mod dictionary;
mod keeper;
mod meta;
mod metadata_lock;
pub mod node;
mod options;
mod recovery;
pub mod remote;
pub mod router;
mod sequence;
mod snapshot;
pub mod table;
mod two_phase;
pub mod unique;
pub mod wait;

pub use clock::HybridClock;
pub use commit::Appending;
pub use deadlock::WaitForGraph;
pub use dictionary::{Catalog, Change, Database, User};
pub use metadata_lock::{ExclusiveTables, MetadataLock, MetadataLocks};
pub use node::{MemoryUsage, Node, PartitionGuard};
pub use options::{Durability, FATAL_EXIT_CODE, FatalHook, FlushBy, NodeOptions, RecoveryProgress};
pub use remote::{Call, CallError, Place, Remote};
pub use router::Router;
pub use sequence::Sequence;
pub use shoal_log::Lsn;
pub use snapshot::Snapshots;
pub use table::Table;
pub use unique::unique_table_schema;
pub use wait::{WaitSlots, Waiter};
