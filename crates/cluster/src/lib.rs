//! A node: partitions, the log, the dictionary, and what it knows of the other nodes.
//!
//! The folders are layers, from the top: `node`, `management`, `dictionary`, `replication`, then `storage` and `membership` side by side,
//! `base`. Each knows those beneath it and none above, which `layers` checks. ARCHITECTURE.md has a picture of them.

#![warn(missing_docs)]

mod base;
mod dictionary;
#[cfg(test)]
mod layers;
pub mod management;
mod membership;
mod node;
mod replication;
mod storage;

pub use base::clock::HybridClock;
pub use base::cluster_log::{Event, Severity};
pub use base::options::{Durability, FATAL_EXIT_CODE, FatalHook, FlushBy, NodeOptions, RecoveryProgress};
pub use base::panics::report_panics;
pub use base::router::Router;
pub use base::topology::{ClusterOptions, NodeEntry, Placement, Roles, TlsOptions, timing};
pub use base::wait::{WaitSlots, Waiter};
pub use dictionary::catalog::{
    Catalog, Change, ColumnGrant, Database, GrantedRole, Lockout, PasswordRules, ProxyGrant, RoutineGrant,
    TlsRequirement, User, View,
};
pub use dictionary::ddl::HeldTables;
pub use dictionary::holds::TableHold;
pub use dictionary::meta_group::DefinitionLock;
pub use dictionary::meta_state::BeingFilled;
pub use dictionary::metadata_lock::{ExclusiveTables, FrozenTables, MetadataLocks};
pub use dictionary::program::{Program, ProgramKind, Programs, Schedule, TriggerPlace};
pub use dictionary::sequence::Sequence;
pub use dictionary::table::Table;
pub use dictionary::table_lock::MetadataLock;
pub use dictionary::temporary::temporary_table_id;
pub use dictionary::unique::unique_table_schema;
pub use dictionary::{table_map, unique};
pub use management::observed::{
    ObservedNode, ObservedPartition, ObservedPeer, ObservedPlacement, ObservedProcess, ObservedReplica, Readiness,
};
pub use management::{OperatorAnswers, Process, Stop};
pub use membership::join::{JoinError, JoinOptions, join};
pub use membership::links::{Operations, Served};
pub use membership::peers::{Membership, Peer};
pub use membership::remote;
pub use membership::remote::{Call, Place, Remote, RequestError};
pub use node::Node;
pub use replication::commit::ENTRY_BYTES_MAX;
pub use replication::two_phase::EntryOf;
pub use shoal_log::Lsn;
pub use shoal_partition::MemoryBudget;
pub use shoal_partition::Timing;
pub use shoal_partition::{LockKind, ObservedKey, ObservedLock, ObservedTransaction, ObservedWaits};
pub use shoal_transport::{LANES_MAX, PeerState, Transporter, look_in_passing, worker_loop};
pub use storage::deadlock_report::{Deadlock, DeadlockHook, DeadlockWait};
pub use storage::memory::MemoryUsage;
pub use storage::partitions::PartitionGuard;
pub use storage::sequencer::Appending;
pub use storage::snapshot::Snapshots;
pub use storage::wait_for::{ObservedWait, WaitCounts, WaitForGraph, WaitVerdict};
