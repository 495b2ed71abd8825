//! Nodes: partitions, the log, the dictionary and the router between them.
//!
//! - [`node`]: what sessions share; `recovery` opens it, `options` say how.
//! - `commit`, `two_phase`: from staged writes to a durable, applied, visible transaction. `clock`, `snapshot`: its times.
//! - [`dictionary`], [`table`], [`table_map`], [`unique`], `ddl`, `meta`, `sequence`: definitions and how they are kept; in a cluster by `meta_group`, in
//!   rows (`meta_rows`) that are compacted (`compaction`), which all nodes `follow`. `settle`: what they wait for.
//! - `keeper`: checkpoints, and what they let go of.
//! - [`management`], `events`, `cluster_log`, `single_user`: what operators see and command.
//! - `machine_memory`: what a node takes that was not told.
//! - `join`: how a process that is no node yet becomes one.
//! - [`router`]: which partition a key belongs to. [`remote`]: partitions that other nodes lead.
//! - [`wait`], `deadlock`, `metadata_lock`: sleeping and being woken, and waits that are ended.

mod background;
mod clock;
mod cluster_log;
mod commit;
mod compaction;
mod ddl;
mod deadlock;
pub mod dictionary;
mod events;
mod flush;
mod follow;
mod hand_over;
mod identity;
mod join;
mod keeper;
mod live;
mod machine_memory;
pub mod management;
mod mesh;
mod meta;
mod meta_group;
mod meta_rows;
mod metadata_lock;
pub mod news;
mod node;
mod options;
mod panics;
mod ready;
mod recovery;
pub mod remote;
mod replication;
pub mod router;
mod routes;
mod sequence;
mod services;
mod settle;
mod single_user;
mod slices;
mod snapshot;
pub mod table;
pub mod table_map;
mod thread;
mod topology;
mod transfer;
mod two_phase;
pub mod unique;
pub mod wait;

pub use clock::HybridClock;
pub use cluster_log::{Event, Severity};
pub use commit::{Appending, ENTRY_BYTES_MAX};
pub use ddl::HeldTables;
pub use deadlock::{WaitEdge, WaitForGraph, WaitVerdict, victims};
pub use dictionary::{Catalog, Change, Database, User};
pub use join::{JoinError, join};
pub use live::{Cluster, Peer};
pub use management::{Process, Stop};
pub use mesh::{Operations, Served};
pub use meta_group::DefinitionLock;
pub use metadata_lock::{ExclusiveTables, MetadataLock, MetadataLocks};
pub use node::{MemoryUsage, Node, PartitionGuard};
pub use options::{Durability, FATAL_EXIT_CODE, FatalHook, FlushBy, NodeOptions, RecoveryProgress};
pub use panics::report_panics;
pub use remote::{Call, CallError, Place, Remote};
pub use router::Router;
pub use sequence::Sequence;
pub use shoal_log::Lsn;
pub use shoal_partition::MemoryBudget;
pub use shoal_partition::Timing;
pub use shoal_transport::{LANES_MAX, Transporter, look_in_passing, spin};
pub use snapshot::Snapshots;
pub use table::Table;
pub use topology::{ClusterOptions, NodeEntry, Placement, Roles};
pub use two_phase::EntryOf;
pub use unique::unique_table_schema;
pub use wait::{WaitSlots, Waiter};
